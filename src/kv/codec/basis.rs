//! The Hadamard basis: a rotation that spreads every outlier channel over all of them, so that rows look normal.

use super::Side;
use crate::weights::SplitMix;

/// The least block that still spreads anything worth speaking of.
const LEAST_BLOCK: usize = 16;

/// Seeds of the signs. Stored pages depend on them: they never change.
const SEED_K: u64 = 0x676f_6c61_796b_6579;
const SEED_V: u64 = 0x676f_6c61_7976_616c;

/// No Hadamard basis has this many channels.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("heads of {dim} channels have no Hadamard basis: a multiple of {LEAST_BLOCK} is needed")]
pub struct BasisError {
    /// Channels of a head.
    pub dim: usize,
}

/// The sign of every channel: +1 or -1 by the top bits of SplitMix64 from a fixed seed per side (1 is minus).
pub fn signs(side: Side, d: usize) -> Vec<f32> {
    let mut rng = SplitMix(match side {
        Side::K => SEED_K,
        Side::V => SEED_V,
    });
    (0..d).map(|_| if rng.next() >> 63 == 0 { 1.0 } else { -1.0 }).collect()
}

/// An orthonormal basis of `d` channels: signs, then Sylvester's Hadamard matrix over its root, in blocks of the
/// largest power of two that divides `d`.
#[derive(Clone, Debug)]
pub struct Hadamard {
    signs: Vec<f32>,
    block: usize,
}

impl Hadamard {
    /// The basis of one side of heads of `d` channels.
    ///
    /// # Errors
    /// [`BasisError`] when blocks would have fewer than 16 channels.
    pub fn new(side: Side, d: usize) -> Result<Self, BasisError> {
        let block = if d == 0 { 0 } else { 1 << d.trailing_zeros() };
        if block < LEAST_BLOCK {
            return Err(BasisError { dim: d });
        }
        Ok(Self { signs: signs(side, d), block })
    }

    /// Channels of a block.
    pub fn block(&self) -> usize {
        self.block
    }

    /// `H S x`, for one row or several after each other.
    pub fn forward(&self, rows: &[f64]) -> Vec<f64> {
        let mut out = self.signed(rows);
        out.chunks_exact_mut(self.block).for_each(transform);
        out
    }

    /// `S H y`, the inverse of [`Hadamard::forward`].
    pub fn inverse(&self, rows: &[f64]) -> Vec<f64> {
        let mut out = rows.to_vec();
        out.chunks_exact_mut(self.block).for_each(transform);
        self.signed(&out)
    }

    fn signed(&self, rows: &[f64]) -> Vec<f64> {
        rows.iter().zip(self.signs.iter().cycle()).map(|(x, s)| x * f64::from(*s)).collect()
    }
}

/// The orthonormal Walsh-Hadamard transform in Sylvester's order; `x` has a power of two of channels.
fn transform(x: &mut [f64]) {
    let mut half = 1;
    while half < x.len() {
        for pair in x.chunks_exact_mut(2 * half) {
            let (low, high) = pair.split_at_mut(half);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
    let scale = 1.0 / (x.len() as f64).sqrt();
    x.iter_mut().for_each(|v| *v *= scale);
}
