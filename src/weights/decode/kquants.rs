//! Super-blocks of 256 with scales that are quantised themselves: Q2_K to Q6_K.
//!
//! `e` is the element in the super-block, `t = e / 32` its group of 32, `s = e / 16` its sub-block of 16.

use super::f16_at;

/// The two-bit code of element `e` in the 64 bytes that Q2_K and Q3_K share the order of.
fn two_bits(q: &[u8], e: usize) -> u8 {
    let (h, g, l) = (e / 128, e % 128 / 32, e % 32);
    (q[32 * h + l] >> (2 * g)) & 3
}

pub(super) fn q2_k(b: &[u8; 84], y: &mut [f32; 256]) {
    let (d, dmin) = (f16_at(b, 80), f16_at(b, 82));
    for (e, y) in y.iter_mut().enumerate() {
        let sc = b[e / 16];
        let (dl, ml) = (d * f32::from(sc & 15), dmin * f32::from(sc >> 4));
        *y = dl * f32::from(two_bits(&b[16..], e)) - ml;
    }
}

/// The six-bit scale (0..63, to be taken minus 32) of sub-block `s` in Q3_K's 12 scale bytes.
fn q3_scale(sc: &[u8], s: usize) -> u8 {
    let low = if s < 8 { sc[s] & 15 } else { sc[s - 8] >> 4 };
    let high = (sc[8 + s % 4] >> (2 * (s / 4))) & 3;
    low | high << 4
}

pub(super) fn q3_k(b: &[u8; 110], y: &mut [f32; 256]) {
    let d = f16_at(b, 108);
    for (e, y) in y.iter_mut().enumerate() {
        let dl = d * f32::from(q3_scale(&b[96..], e / 16) as i8 - 32);
        let high = (b[e % 32] >> (e / 32)) & 1;
        let q = two_bits(&b[32..], e) as i8 - if high == 1 { 0 } else { 4 };
        *y = dl * f32::from(q);
    }
}

/// Scale and minimum (six bits each) of group `t` in the 12 scale bytes of Q4_K and Q5_K.
fn k_scale_min(sc: &[u8], t: usize) -> (u8, u8) {
    if t < 4 {
        (sc[t] & 63, sc[t + 4] & 63)
    } else {
        (sc[t + 4] & 15 | sc[t - 4] >> 6 << 4, sc[t + 4] >> 4 | sc[t] >> 6 << 4)
    }
}

/// The nibble of element `e` in the 128 bytes of Q4_K and Q5_K.
fn k_nibble(q: &[u8], e: usize) -> u8 {
    let byte = q[32 * (e / 64) + e % 32];
    if e % 64 < 32 { byte & 15 } else { byte >> 4 }
}

pub(super) fn q4_k(b: &[u8; 144], y: &mut [f32; 256]) {
    let (d, dmin) = (f16_at(b, 0), f16_at(b, 2));
    for (e, y) in y.iter_mut().enumerate() {
        let (s, m) = k_scale_min(&b[4..16], e / 32);
        let (d1, m1) = (d * f32::from(s), dmin * f32::from(m));
        *y = d1 * f32::from(k_nibble(&b[16..], e)) - m1;
    }
}

pub(super) fn q5_k(b: &[u8; 176], y: &mut [f32; 256]) {
    let (d, dmin) = (f16_at(b, 0), f16_at(b, 2));
    for (e, y) in y.iter_mut().enumerate() {
        let (s, m) = k_scale_min(&b[4..16], e / 32);
        let (d1, m1) = (d * f32::from(s), dmin * f32::from(m));
        let fifth = (b[16 + e % 32] >> (e / 32)) & 1;
        *y = d1 * f32::from(k_nibble(&b[48..], e) | fifth << 4) - m1;
    }
}

pub(super) fn q6_k(b: &[u8; 210], y: &mut [f32; 256]) {
    let d = f16_at(b, 208);
    for (e, y) in y.iter_mut().enumerate() {
        let (h, g, l) = (e / 128, e % 128 / 32, e % 32);
        let low = (b[64 * h + 32 * (g & 1) + l] >> (4 * (g >> 1))) & 15;
        let high = (b[128 + 32 * h + l] >> (2 * g)) & 3;
        let q = (low | high << 4) as i8 - 32;
        *y = d * f32::from(b[192 + e / 16] as i8) * f32::from(q);
    }
}
