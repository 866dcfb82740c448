//! The codecs against what their layouts promise, bit by bit, and against the errors that their tables promise.

mod affine;
mod basis;
mod layout;
mod lloyd;
mod pack;
mod polar;
mod rotated;
mod spectral;

use super::Codec;
use crate::weights::SplitMix;

const DIMS: [usize; 5] = [64, 80, 96, 128, 256];
const PAGES: [usize; 3] = [16, 32, 64];

fn every_codec() -> Vec<Codec> {
    let mut all = vec![Codec::F32, Codec::F16];
    all.extend([3, 4, 5, 6, 8, 9, 16, 256].map(|levels| Codec::Aff { levels }));
    all.extend([16, 256].map(|levels| Codec::Token { levels }));
    all.extend([2, 3, 4, 5, 6, 8, 9, 16].map(|levels| Codec::Rot { levels }));
    all.extend([1, 2, 3, 4].map(|bits| Codec::Emb { bits }));
    all
}

/// Normally distributed numbers (Box and Muller).
fn normal(seed: u64, count: usize) -> Vec<f64> {
    let mut rng = SplitMix(seed);
    let mut unit = || ((rng.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    (0..count).map(|_| (-2.0 * unit().ln()).sqrt() * (std::f64::consts::TAU * unit()).cos()).collect()
}

/// Rows as heads have them: channels of different size and mean, tokens of different size.
fn rows(seed: u64, p: usize, d: usize) -> Vec<f64> {
    let (channel, token) = (normal(seed ^ 1, 2 * d), normal(seed ^ 2, p));
    let mut x = normal(seed, p * d);
    for (i, x) in x.iter_mut().enumerate() {
        let (t, c) = (i / d, i % d);
        *x = (*x * channel[c].exp() + 2.0 * channel[d + c]) * (0.7 * token[t]).exp();
    }
    x
}

fn square(x: impl IntoIterator<Item = f64>) -> f64 {
    x.into_iter().map(|x| x * x).sum()
}

/// `|x - y|^2 / |x|^2`
fn relative_error(x: &[f64], y: &[f64]) -> f64 {
    square(x.iter().zip(y).map(|(a, b)| a - b)) / square(x.iter().copied())
}
