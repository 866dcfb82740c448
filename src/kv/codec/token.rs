//! Symmetric grids within a token, as the `q8_0` and `q4_0` of llama.cpp's caches: 32 channels share an f16 scale, the
//! code is the signed multiple of it plus an offset. Scale `t * ceil(d / 32) + c / 32` is a half; two make a word.

use super::affine::{GROUP, per_group};
use super::{Coded, Page, from_half, pack_halves, to_half, unpack_halves};

/// The greatest multiple: 127 of 256 levels, 7 of 16. Code 0 is left to groups of zeros.
fn most(levels: u16) -> f64 {
    f64::from(levels.saturating_sub(1) / 2)
}

/// Metadata and codes of a page.
pub(super) fn encode(levels: u16, page: &Page<'_>) -> Coded {
    let most = most(levels);
    let scales: Vec<u16> = page
        .rows()
        .flat_map(|row| row.chunks(GROUP))
        .map(|group| to_half(group.iter().fold(0.0, |m: f64, x| m.max(x.abs())) / most.max(1.0)))
        .collect();
    let each = per_group(scales.iter().map(|half| from_half(u32::from(*half))), page.d);
    let codes = page.rows.iter().zip(each).map(|(x, scale)| {
        if scale <= 0.0 {
            return 0;
        }
        // The lower of two equally near multiples.
        ((x / scale - 0.5).ceil().clamp(-most, most) + most + 1.0) as u8
    });
    Coded { codes: codes.collect(), meta: pack_halves(&scales) }
}

/// The rows of a page.
pub(super) fn decode(levels: u16, meta: &[u32], codes: &[u8], d: usize) -> Vec<f64> {
    let zero = most(levels) + 1.0;
    codes
        .iter()
        .zip(per_group(unpack_halves(meta), d))
        .map(|(code, scale)| (f64::from(*code) - zero) * scale)
        .collect()
}
