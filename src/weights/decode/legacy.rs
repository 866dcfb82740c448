//! Blocks of 32 with one scale: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0.
//!
//! In the nibble formats byte `i` of the codes holds element `i` in its low and element `16 + i` in its high half.

use super::f16_at;

/// Low nibble for the first half of a block of 32, high nibble for the second.
pub(super) fn nibble(q: &[u8], e: usize) -> u8 {
    if e < 16 { q[e] & 15 } else { q[e - 16] >> 4 }
}

pub(super) fn q4_0(b: &[u8; 18], y: &mut [f32; 32]) {
    let d = f16_at(b, 0);
    for (e, y) in y.iter_mut().enumerate() {
        *y = d * f32::from(nibble(&b[2..], e) as i8 - 8);
    }
}

pub(super) fn q4_1(b: &[u8; 20], y: &mut [f32; 32]) {
    let (d, m) = (f16_at(b, 0), f16_at(b, 2));
    for (e, y) in y.iter_mut().enumerate() {
        *y = d * f32::from(nibble(&b[4..], e)) + m;
    }
}

/// The fifth bit of element `e`, in place.
fn fifth(qh: &[u8], e: usize) -> u8 {
    ((qh[e / 8] >> (e % 8)) & 1) << 4
}

pub(super) fn q5_0(b: &[u8; 22], y: &mut [f32; 32]) {
    let d = f16_at(b, 0);
    for (e, y) in y.iter_mut().enumerate() {
        let n = nibble(&b[6..], e) | fifth(&b[2..], e);
        *y = d * f32::from(n as i8 - 16);
    }
}

pub(super) fn q5_1(b: &[u8; 24], y: &mut [f32; 32]) {
    let (d, m) = (f16_at(b, 0), f16_at(b, 2));
    for (e, y) in y.iter_mut().enumerate() {
        let n = nibble(&b[8..], e) | fifth(&b[4..], e);
        *y = d * f32::from(n) + m;
    }
}

pub(super) fn q8_0(b: &[u8; 34], y: &mut [f32; 32]) {
    let d = f16_at(b, 0);
    for (e, y) in y.iter_mut().enumerate() {
        *y = d * f32::from(b[2 + e] as i8);
    }
}
