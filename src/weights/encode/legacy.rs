//! Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, with the rounding of ggml's reference encoders.

use super::{extreme, inverse, put_f16};

/// `floor(x * inverse + offset)` in 0..=max, with one rounding, as a compiler's fused multiply-add gives it.
fn code(x: f32, inverse: f32, offset: f64, max: u8) -> u8 {
    let sum = (f64::from(x) * f64::from(inverse) + offset) as f32;
    (sum as u8).min(max)
}

/// Writes 32 codes: nibbles to the last 16 bytes of `b`, and the fifth bits to `high` when the format has them.
fn put_codes(b: &mut [u8], codes: [u8; 32], high: Option<usize>) {
    let q = b.len() - 16;
    for i in 0..16 {
        b[q + i] = codes[i] & 15 | codes[i + 16] << 4;
    }
    if let Some(at) = high {
        for (e, c) in codes.iter().enumerate() {
            b[at + e / 8] |= (c >> 4) << (e % 8);
        }
    }
}

pub(super) fn q4_0(x: &[f32; 32]) -> [u8; 18] {
    let mut b = [0; 18];
    let d = extreme(x) / -8.0;
    put_f16(&mut b, 0, d);
    let id = inverse(d);
    put_codes(&mut b, x.map(|x| code(x, id, 8.5, 15)), None);
    b
}

pub(super) fn q5_0(x: &[f32; 32]) -> [u8; 22] {
    let mut b = [0; 22];
    let d = extreme(x) / -16.0;
    put_f16(&mut b, 0, d);
    let id = inverse(d);
    put_codes(&mut b, x.map(|x| code(x, id, 16.5, 31)), Some(2));
    b
}

/// Smallest value and step of `max` equal steps up to the largest value.
fn span(x: &[f32; 32], max: f32) -> (f32, f32) {
    let low = x.iter().copied().fold(f32::INFINITY, f32::min);
    let high = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    (low, (high - low) / max)
}

pub(super) fn q4_1(x: &[f32; 32]) -> [u8; 20] {
    let mut b = [0; 20];
    let (low, d) = span(x, 15.0);
    put_f16(&mut b, 0, d);
    put_f16(&mut b, 2, low);
    let id = inverse(d);
    put_codes(&mut b, x.map(|x| (((x - low) * id + 0.5) as u8).min(15)), None);
    b
}

pub(super) fn q5_1(x: &[f32; 32]) -> [u8; 24] {
    let mut b = [0; 24];
    let (low, d) = span(x, 31.0);
    put_f16(&mut b, 0, d);
    put_f16(&mut b, 2, low);
    let id = inverse(d);
    put_codes(&mut b, x.map(|x| (((x - low) * id + 0.5) as u8).min(31)), Some(4));
    b
}

pub(super) fn q8_0(x: &[f32; 32]) -> [u8; 34] {
    let mut b = [0; 34];
    let d = extreme(x).abs() / 127.0;
    put_f16(&mut b, 0, d);
    let id = inverse(d);
    for (b, x) in b[2..].iter_mut().zip(x) {
        *b = (x * id).round() as i8 as u8;
    }
    b
}
