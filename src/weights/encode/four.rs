//! Plain encoders of IQ4_NL and IQ4_XS: the value of largest size takes the level -127, the others the nearest one.

use super::{extreme, inverse, nearest, put_f16};
use crate::weights::decode::T16;

/// Index of the level nearest to `x`.
fn nearest_level(x: f32) -> u8 {
    // Levels ascend, so count the midpoints below x.
    (0..15).filter(|&i| 2.0 * x > f32::from(T16[i]) + f32::from(T16[i + 1])).count() as u8
}

/// The nibbles of 32 values in units of `step`.
fn levels(x: &[f32], step: f32) -> [u8; 16] {
    let id = inverse(step);
    std::array::from_fn(|i| nearest_level(x[i] * id) | nearest_level(x[i + 16] * id) << 4)
}

pub(super) fn iq4_nl(x: &[f32; 32]) -> [u8; 18] {
    let mut b = [0; 18];
    let d = put_f16(&mut b, 0, extreme(x) / -127.0);
    b[2..].copy_from_slice(&levels(x, d));
    b
}

pub(super) fn iq4_xs(x: &[f32; 256]) -> [u8; 136] {
    let mut b = [0; 136];
    let steps: [f32; 8] = std::array::from_fn(|i| extreme(&x[32 * i..32 * i + 32]) / -127.0);
    let d = put_f16(&mut b, 0, extreme(&steps) / -32.0);
    let mut high = 0u16;
    for (i, step) in steps.iter().enumerate() {
        let s = nearest(step * inverse(d), -32, 31);
        let stored = (s + 32) as u8;
        b[4 + i / 2] |= (stored & 15) << (4 * (i & 1));
        high |= u16::from(stored >> 4) << (2 * i);
        let codes = levels(&x[32 * i..32 * i + 32], d * s as f32);
        b[8 + 16 * i..24 + 16 * i].copy_from_slice(&codes);
    }
    b[2..4].copy_from_slice(&high.to_le_bytes());
    b
}
