//! Plain floats: the numbers of a page, token after token, without metadata.

use super::{Page, pack_halves, to_half, unpack_halves};

/// One word per number.
pub(super) fn words32(page: &Page<'_>) -> Vec<u32> {
    page.rows.iter().map(|x| (*x as f32).to_bits()).collect()
}

/// The numbers of [`words32`].
pub(super) fn rows32(words: &[u32], count: usize) -> Vec<f64> {
    words.iter().take(count).map(|w| f64::from(f32::from_bits(*w))).collect()
}

/// Two numbers per word, the first in the low half.
pub(super) fn words16(page: &Page<'_>) -> Vec<u32> {
    pack_halves(&page.rows.iter().map(|x| to_half(*x)).collect::<Vec<_>>())
}

/// The numbers of [`words16`].
pub(super) fn rows16(words: &[u32], count: usize) -> Vec<f64> {
    unpack_halves(words).take(count).collect()
}
