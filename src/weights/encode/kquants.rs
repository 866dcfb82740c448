//! Plain encoders of Q2_K to Q6_K: scales from the extremes of each sub-block, then nearest codes.

use super::{extreme, inverse, nearest, put_f16};

/// Scales and minima of `G` sub-blocks, and the codes of the whole super-block.
struct Affine<const G: usize> {
    scales: [u8; G],
    mins: [u8; G],
    codes: [u8; 256],
}

/// Encodes as `d * S * code - dmin * M` with codes to `max` and S, M to `smax`; d and dmin go to `b` at `at`.
fn affine<const G: usize>(x: &[f32; 256], b: &mut [u8], at: usize, max: i32, smax: i32) -> Affine<G> {
    let n = 256 / G;
    let spans: [(f32, f32); G] = std::array::from_fn(|g| {
        // The minimum is subtracted and cannot be negative, so the range always includes zero.
        let x = &x[g * n..(g + 1) * n];
        let low = x.iter().copied().fold(0.0, f32::min);
        let high = x.iter().copied().fold(0.0, f32::max);
        ((high - low) / max as f32, -low)
    });
    let top = |f: fn(&(f32, f32)) -> f32| spans.iter().map(f).fold(0.0, f32::max) / smax as f32;
    let d = put_f16(b, at, top(|s| s.0));
    let dmin = put_f16(b, at + 2, top(|s| s.1));
    let scales = spans.map(|s| nearest(s.0 * inverse(d), 0, smax) as u8);
    let mins = spans.map(|s| nearest(s.1 * inverse(dmin), 0, smax) as u8);
    let codes = std::array::from_fn(|e| {
        let (step, low) = (d * f32::from(scales[e / n]), dmin * f32::from(mins[e / n]));
        nearest((x[e] + low) * inverse(step), 0, max) as u8
    });
    Affine { scales, mins, codes }
}

/// Encodes as `d * S * q`, q in `-half..half`, in sub-blocks of 16 with S in `-slow..slow`; d goes to `b` at `at`.
fn signed(x: &[f32; 256], b: &mut [u8], at: usize, half: i32, slow: i32) -> ([i32; 16], [u8; 256]) {
    let steps: [f32; 16] = std::array::from_fn(|s| extreme(&x[16 * s..16 * s + 16]) / -half as f32);
    let d = put_f16(b, at, extreme(&steps) / -slow as f32);
    let scales = steps.map(|s| nearest(s * inverse(d), -slow, slow - 1));
    let codes = std::array::from_fn(|e| {
        let step = d * scales[e / 16] as f32;
        (nearest(x[e] * inverse(step), -half, half - 1) + half) as u8
    });
    (scales, codes)
}

/// Two-bit codes in the order that Q2_K, Q3_K and Q6_K's upper bits share.
fn put_two_bits(b: &mut [u8], codes: impl Fn(usize) -> u8) {
    for e in 0..256 {
        b[32 * (e / 128) + e % 32] |= (codes(e) & 3) << (2 * (e % 128 / 32));
    }
}

pub(super) fn q2_k(x: &[f32; 256]) -> [u8; 84] {
    let mut b = [0; 84];
    let a = affine::<16>(x, &mut b, 80, 3, 15);
    for (b, (s, m)) in b.iter_mut().zip(a.scales.iter().zip(a.mins)) {
        *b = s | m << 4;
    }
    put_two_bits(&mut b[16..80], |e| a.codes[e]);
    b
}

pub(super) fn q3_k(x: &[f32; 256]) -> [u8; 110] {
    let mut b = [0; 110];
    let (scales, codes) = signed(x, &mut b, 108, 4, 32);
    for (s, scale) in scales.iter().enumerate() {
        let scale = (scale + 32) as u8;
        b[96 + s % 8] |= (scale & 15) << (4 * (s / 8));
        b[104 + s % 4] |= (scale >> 4) << (2 * (s / 4));
    }
    put_two_bits(&mut b[32..96], |e| codes[e]);
    for (e, code) in codes.iter().enumerate() {
        b[e % 32] |= (code >> 2) << (e / 32);
    }
    b
}

/// Writes the eight six-bit scales and minima of Q4_K and Q5_K to their 12 bytes.
fn put_k_scales(b: &mut [u8], scales: &[u8; 8], mins: &[u8; 8]) {
    for t in 0..4 {
        b[t] = scales[t] | scales[t + 4] >> 4 << 6;
        b[t + 4] = mins[t] | mins[t + 4] >> 4 << 6;
        b[t + 8] = scales[t + 4] & 15 | mins[t + 4] << 4;
    }
}

/// Nibbles in the order of Q4_K and Q5_K.
fn put_nibbles(b: &mut [u8], codes: &[u8; 256]) {
    for (e, code) in codes.iter().enumerate() {
        b[32 * (e / 64) + e % 32] |= (code & 15) << (4 * (e % 64 / 32));
    }
}

pub(super) fn q4_k(x: &[f32; 256]) -> [u8; 144] {
    let mut b = [0; 144];
    let a = affine::<8>(x, &mut b, 0, 15, 63);
    put_k_scales(&mut b[4..16], &a.scales, &a.mins);
    put_nibbles(&mut b[16..], &a.codes);
    b
}

pub(super) fn q5_k(x: &[f32; 256]) -> [u8; 176] {
    let mut b = [0; 176];
    let a = affine::<8>(x, &mut b, 0, 31, 63);
    put_k_scales(&mut b[4..16], &a.scales, &a.mins);
    put_nibbles(&mut b[48..], &a.codes);
    for (e, code) in a.codes.iter().enumerate() {
        b[16 + e % 32] |= (code >> 4) << (e / 32);
    }
    b
}

pub(super) fn q6_k(x: &[f32; 256]) -> [u8; 210] {
    let mut b = [0; 210];
    let (scales, codes) = signed(x, &mut b, 208, 32, 128);
    for (b, scale) in b[192..208].iter_mut().zip(scales) {
        *b = scale as i8 as u8;
    }
    for (e, code) in codes.iter().enumerate() {
        let (h, g, l) = (e / 128, e % 128 / 32, e % 32);
        b[64 * h + 32 * (g & 1) + l] |= (code & 15) << (4 * (g >> 1));
    }
    put_two_bits(&mut b[128..192], |e| codes[e] >> 4);
    b
}
