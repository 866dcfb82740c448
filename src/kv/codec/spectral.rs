//! Rows on the eigenvectors of their covariance, with more bits for the channels that carry more.
//!
//! Keys are coded before the rotation, relative to their mean, with static deviations and no metadata. Values are
//! brought to length one first, are not centred, and have a gain per token (f16, half `t` of the metadata) that keeps
//! their length.
//!
//! Eigenvalues descend, so the number of bits does not grow from channel to channel: plane `j` (plane 0 holds the
//! heaviest bit of every code) covers the first `n_j` channels. A row of codes is its planes after each other, each in
//! whole bytes, bit `c` of a plane being channel `c`; rows are padded to words.

use super::jacobi::{Eigen, eigen};
use super::lloyd::Source;
use super::tables::Codebook;
use super::{Layout, Page, Side, pack_halves, to_half, unpack_halves};

/// Mean squared error of the best codebook of N(0, 1) with 0 to 8 bits.
pub const DISTORTION: [f64; 9] =
    [1.0, 0.363_38, 0.117_482, 0.034_548, 0.009_501, 0.002_505, 0.000_644, 0.000_164, 0.000_041];

/// Channels that get bits together.
pub const BLOCK: usize = 8;

/// The parts of a spectral codec do not fit each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a spectral codec of {dim} channels takes {dim} eigenvalues, {dim} times {dim} components of eigenvectors and a \
     mean of {dim}, and at least one channel; found {values}, {vectors} and {mean}"
)]
pub struct SpectralError {
    /// Channels.
    pub dim: usize,
    /// Eigenvalues given.
    pub values: usize,
    /// Components of eigenvectors given.
    pub vectors: usize,
    /// Components of the mean given.
    pub mean: usize,
}

/// Bits per channel, `[d]`, for eigenvalues in descending order and `mean_bits` bits per value on average: block by
/// block where a bit saves the most error. Never more than eight, and what is left of `mean_bits` under a block is not
/// spent.
pub fn allocate(values: &[f64], mean_bits: f64) -> Vec<u8> {
    let energy: Vec<f64> = values.chunks(BLOCK).map(|block| block.iter().map(|x| x.max(0.0)).sum()).collect();
    let mut bits = vec![0u8; energy.len()];
    let saving = |energy: f64, bits: u8| {
        let at = usize::from(bits);
        DISTORTION.get(at).zip(DISTORTION.get(at + 1)).map(|(before, after)| energy * (before - after))
    };
    let steps = (mean_bits.max(0.0) * values.len() as f64 / BLOCK as f64 + 1e-9) as usize;
    for _ in 0..steps.min(8 * energy.len()) {
        let mut best: Option<(usize, f64)> = None;
        for (i, (energy, bits)) in energy.iter().zip(&bits).enumerate() {
            // Of equal blocks the first, so that bits descend.
            if let Some(s) = saving(*energy, *bits)
                && best.is_none_or(|(_, most)| s > most)
            {
                best = Some((i, s));
            }
        }
        if let Some(b) = best.and_then(|(i, _)| bits.get_mut(i)) {
            *b += 1;
        }
    }
    (0..values.len()).map(|c| bits.get(c / BLOCK).copied().unwrap_or(0)).collect()
}

/// The codec of one side of one head.
#[derive(Clone, Debug)]
pub struct Spectral {
    side: Side,
    mean: Vec<f64>,
    eigen: Eigen,
    bits: Vec<u8>,
    /// Codebook by number of bits.
    books: Vec<Codebook>,
}

impl Spectral {
    /// The codec for keys around `mean`, `[d]` (values: zeros or nothing), with this spectrum and `mean_bits` bits of
    /// code per value.
    ///
    /// # Errors
    /// [`SpectralError`] when the sizes do not fit.
    pub fn new(side: Side, mean: &[f64], eigen: Eigen, mean_bits: f64) -> Result<Self, SpectralError> {
        let d = eigen.values.len();
        let centred = if mean.is_empty() { vec![0.0; d] } else { mean.to_vec() };
        if d == 0 || eigen.vectors.len() != d * d || centred.len() != d {
            let (vectors, mean) = (eigen.vectors.len(), centred.len());
            return Err(SpectralError { dim: d, values: d, vectors, mean });
        }
        let bits = allocate(&eigen.values, mean_bits);
        let most = bits.iter().copied().max().unwrap_or(0);
        Ok(Self { side, mean: centred, eigen, bits, books: (0..=most).map(codebook).collect() })
    }

    /// The codec for rows like these, `[n, d]`: the mean and covariance of keys, the second moments of values of length
    /// one.
    ///
    /// # Errors
    /// [`SpectralError`] for no channels.
    pub fn calibrate(side: Side, rows: &[f64], d: usize, mean_bits: f64) -> Result<Self, SpectralError> {
        let page = Page::new(rows, usize::MAX, usize::MAX, d);
        let count = page.rows().len().max(1) as f64;
        let mut mean = vec![0.0; d];
        if side == Side::K {
            for row in page.rows() {
                mean.iter_mut().zip(row).for_each(|(m, x)| *m += x / count);
            }
        }
        let mut moments = vec![0.0; d * d];
        for row in page.rows() {
            let (x, _) = prepared(side, &mean, row);
            for (a, to) in x.iter().zip(moments.chunks_mut(d.max(1))) {
                to.iter_mut().zip(&x).for_each(|(m, b)| *m += a * b / count);
            }
        }
        Self::new(side, &mean, eigen(&moments, d), mean_bits)
    }

    /// Bits per channel, descending.
    pub fn bits(&self) -> &[u8] {
        &self.bits
    }

    /// Squared error per row that the spectrum promises for normally distributed coordinates (of values: of rows of
    /// length one, before the gain).
    pub fn expected_error(&self) -> f64 {
        let each = self.eigen.values.iter().zip(&self.bits);
        each.map(|(value, bits)| value * DISTORTION.get(usize::from(*bits)).unwrap_or(&0.0)).sum()
    }

    fn dim(&self) -> usize {
        self.bits.len()
    }

    /// First bit of every plane of a row, and the end of the last.
    fn planes(&self) -> Vec<usize> {
        let covered = (0..8u8).map(|j| self.bits.iter().filter(|b| **b > j).count().div_ceil(8) * 8);
        std::iter::once(0)
            .chain(covered.scan(0, |at, n| {
                *at += n;
                Some(*at)
            }))
            .collect()
    }

    /// Words of the codes of a token.
    fn row_words(&self) -> usize {
        self.planes().last().copied().unwrap_or(0).div_ceil(32)
    }

    /// The section of one head with `p` tokens.
    pub fn layout(&self, p: usize) -> Layout {
        let meta_words = if self.side == Side::V { p.div_ceil(2) } else { 0 };
        Layout { meta_words, code_words: p * self.row_words() }
    }

    /// The section for `rows`, `[p, d]`, keys before the rotation; rows from `valid` on, and values of length zero, are
    /// all zeros.
    pub fn encode(&self, rows: &[f64], valid: usize, p: usize) -> Vec<u32> {
        let page = Page::new(rows, valid, p, self.dim());
        let planes = self.planes();
        let mut gains = Vec::new();
        let mut code = Vec::new();
        for row in page.rows() {
            let (x, norm) = prepared(self.side, &self.mean, row);
            let mut words = vec![0u32; self.row_words()];
            let mut size = 0.0;
            if norm > 0.0 {
                for (c, (bits, y)) in self.bits.iter().zip(self.project(&x)).enumerate() {
                    let (index, back) = self.quantise(c, *bits, y);
                    size += back * back;
                    for (j, plane) in planes.iter().enumerate().take(usize::from(*bits)) {
                        let bit = u32::from(index >> (usize::from(*bits) - 1 - j) & 1);
                        if let Some(word) = words.get_mut((plane + c) / 32) {
                            *word |= bit << ((plane + c) % 32);
                        }
                    }
                }
            }
            gains.push(if size > 0.0 { to_half(norm / size.sqrt()) } else { 0 });
            code.extend(words);
        }
        self.layout(p).join(&pack_halves(&gains), &code)
    }

    /// The rows, `[p, d]`. Keys that were not valid decode to something that means nothing, values to zeros.
    pub fn decode(&self, words: &[u32], p: usize) -> Vec<f64> {
        let (meta, code) = self.layout(p).split(words);
        let planes = self.planes();
        let mut gains = unpack_halves(&meta);
        let mut out = Vec::with_capacity(p * self.dim());
        let row_words = self.row_words();
        for t in 0..p {
            let bit = |at: usize| code.get(t * row_words + at / 32).map_or(0, |w| (w >> (at % 32) & 1) as u8);
            let y: Vec<f64> = (self.bits.iter().enumerate())
                .map(|(c, bits)| {
                    let covering = planes.iter().take(usize::from(*bits));
                    self.value(c, *bits, covering.fold(0, |index, plane| index << 1 | bit(plane + c)))
                })
                .collect();
            let gain = if self.side == Side::V { gains.next().unwrap_or(0.0) } else { 1.0 };
            let mut row = self.mean.clone();
            for (y, vector) in y.iter().zip(self.eigen.vectors.chunks_exact(self.dim())) {
                row.iter_mut().zip(vector).for_each(|(x, v)| *x += gain * y * v);
            }
            out.extend(row);
        }
        out
    }

    /// Coordinates on the eigenvectors.
    fn project(&self, x: &[f64]) -> Vec<f64> {
        let vectors = self.eigen.vectors.chunks_exact(self.dim());
        vectors.map(|vector| vector.iter().zip(x).map(|(a, b)| a * b).sum()).collect()
    }

    fn deviation(&self, channel: usize) -> f64 {
        self.eigen.values.get(channel).map_or(0.0, |x| x.max(0.0).sqrt())
    }

    /// Code and reconstruction of a coordinate.
    fn quantise(&self, channel: usize, bits: u8, y: f64) -> (u8, f64) {
        let deviation = self.deviation(channel);
        let index = match self.books.get(usize::from(bits)) {
            Some(book) if deviation > 0.0 => book.code(y / deviation),
            _ => 0,
        };
        (index, self.value(channel, bits, index))
    }

    fn value(&self, channel: usize, bits: u8, index: u8) -> f64 {
        self.deviation(channel) * self.books.get(usize::from(bits)).map_or(0.0, |book| book.value(index))
    }
}

/// What is projected, and the length that the gain has to restore: keys relative to the mean, values of length one.
fn prepared(side: Side, mean: &[f64], row: &[f64]) -> (Vec<f64>, f64) {
    match side {
        Side::K => (row.iter().zip(mean).map(|(x, m)| x - m).collect(), 1.0),
        Side::V => {
            let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
            let scale = if norm > 0.0 { 1.0 / norm } else { 0.0 };
            (row.iter().map(|x| x * scale).collect(), norm)
        }
    }
}

/// The codebook of `2^bits` cells; of none, the mean.
fn codebook(bits: u8) -> Codebook {
    let levels = 1u16 << bits.min(8);
    if levels == 1 {
        return Codebook::nearest(vec![0.0]);
    }
    Codebook::rot(levels).unwrap_or_else(|| {
        let density = |x: f64| (-0.5 * x * x).exp();
        let book = Source::new(&density, -9.0, 9.0).codebook(usize::from(levels));
        Codebook::nearest(book.into_iter().map(|x| x as f32).collect())
    })
}
