//! How the keys and values of a page are stored: the plain f64 twins of the codecs, exact about every bit of the
//! stored layout, because the shaders are written against them.
//!
//! A page holds `p` tokens of every kv head. Of one head it stores, in this order and each padded to four words, the
//! metadata of the keys, the codes of the keys, the metadata of the values, the codes of the values ([`HeadLayout`]);
//! the heads follow each other. A *section* is the metadata and the codes of one side of one head.
//!
//! | codec | metadata | codes |
//! |---|---|---|
//! | [`Codec::F32`], [`Codec::F16`] | none | the numbers, `[p, d]` |
//! | [`Codec::Aff`] | (lowest, step) in f16: per channel for keys, per token and 32 channels for values | grid index |
//! | [`Codec::Token`] | an f16 scale per token and 32 channels | signed multiple of it, offset |
//! | [`Codec::Rot`], [`Codec::Emb`] | an f16 gain per token | index of the cell of the normalised row |
//!
//! Two rules hold for all of them. Metadata is rounded to f16 before the codes are computed, so that the codes fit
//! what the reader sees. Whatever has no extent (a zero step, scale or norm) and whatever lies past the valid tokens
//! has code 0, so that a page is a pure function of its valid rows.
//!
//! [`polar`] and [`spectral`] are no [`Codec`]s: they have parameters of their own (bits per level, a spectrum), hold
//! one side each and are read in other ways.

mod affine;
pub mod basis;
pub mod centre;
mod floats;
pub mod jacobi;
mod layout;
pub mod lloyd;
pub mod pack;
pub mod polar;
mod rotated;
pub mod spectral;
pub mod tables;
mod tier;
mod token;

#[cfg(test)]
mod tests;

pub use affine::GROUP;
pub use layout::{HeadLayout, Layout, pad4};
pub use rotated::demote;
pub use tier::{KvSpecError, Tier};

use pack::Packing;
use rotated::Gain;
use tables::Codebook;

/// Keys or values; the codecs treat them differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Keys.
    K,
    /// Values.
    V,
}

/// How one side of a page is stored. The numbers are free, but only those that [`Codec::check`] accepts have a layout
/// that means something; [`Tier::parse`] gives no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// The numbers as they are.
    F32,
    /// Rounded to half precision.
    F16,
    /// A grid between the least and the greatest value of a group: the page's tokens of one channel for keys, 32
    /// channels of one token for values.
    Aff {
        /// Grid points.
        levels: u16,
    },
    /// A symmetric grid per token and 32 channels, as `q8_0` and `q4_0` have it. Keys need the Hadamard basis.
    Token {
        /// Codes, the lowest of which is unused: 256 or 16.
        levels: u16,
    },
    /// The nearest centroid of the normal distribution, per token a gain. Needs the Hadamard basis.
    Rot {
        /// Centroids.
        levels: u16,
    },
    /// As [`Codec::Rot`], but the cells of fewer bits are unions of those of more, so that [`demote`] can drop bits.
    Emb {
        /// Bits per code.
        bits: u8,
    },
}

impl Codec {
    /// How the codes are packed; `None` for plain floats.
    pub fn packing(self) -> Option<Packing> {
        match self {
            Self::F32 | Self::F16 => None,
            Self::Aff { levels: 8 } | Self::Rot { levels: 8 } => Some(Packing::Planes { bits: 3 }),
            Self::Aff { levels } | Self::Token { levels } | Self::Rot { levels } => {
                Some(Packing::Digits { levels })
            }
            Self::Emb { bits } => Some(Packing::Planes { bits }),
        }
    }

    /// The section of one head for `rows`, `[p, d]` (missing rows count as not valid): metadata and codes, each padded
    /// to four words with zeros. Rows from `valid` on influence nothing and have code 0.
    ///
    /// Keys must come in the basis and relative to the centre in which they are to be stored ([`basis`], [`centre`]).
    pub fn encode(self, side: Side, rows: &[f64], valid: usize, p: usize, d: usize) -> Vec<u32> {
        debug_assert!(self.check().is_ok(), "{self} is no codec");
        let page = Page::new(rows, valid, p, d);
        let coded = match self {
            Self::F32 => return self.layout(side, p, d).join(&[], &floats::words32(&page)),
            Self::F16 => return self.layout(side, p, d).join(&[], &floats::words16(&page)),
            Self::Aff { levels } => affine::encode(side, levels, &page),
            Self::Token { levels } => token::encode(levels, &page),
            Self::Rot { .. } | Self::Emb { .. } => rotated::encode(&self.codebook(), self.gain(side), &page),
        };
        let code = self.packing().map_or_else(Vec::new, |k| k.pack(&coded.codes, p, d));
        self.layout(side, p, d).join(&coded.meta, &code)
    }

    /// The rows, `[p, d]`, that a section stands for (missing words count as zeros). Rows that were not valid decode
    /// to something finite that means nothing.
    pub fn decode(self, side: Side, words: &[u32], p: usize, d: usize) -> Vec<f64> {
        debug_assert!(self.check().is_ok(), "{self} is no codec");
        let (meta, code) = self.layout(side, p, d).split(words);
        let codes = self.packing().map_or_else(Vec::new, |k| k.unpack(&code, p, d));
        match self {
            Self::F32 => floats::rows32(&code, p * d),
            Self::F16 => floats::rows16(&code, p * d),
            Self::Aff { levels } => affine::decode(side, levels, &meta, &codes, d),
            Self::Token { levels } => token::decode(levels, &meta, &codes, d),
            Self::Rot { .. } | Self::Emb { .. } => rotated::decode(&self.codebook(), &meta, &codes, d),
        }
    }

    /// Cells and centroids of the rotated codecs; empty for the others.
    fn codebook(self) -> Codebook {
        match self {
            Self::Rot { levels } => Codebook::rot(levels),
            Self::Emb { bits } => Codebook::emb(bits),
            _ => None,
        }
        .unwrap_or_default()
    }

    fn gain(self, side: Side) -> Gain {
        match self {
            Self::Rot { levels: 2 } | Self::Emb { bits: 1 } if side == Side::K => Gain::LeastSquares,
            _ => Gain::Norm,
        }
    }
}

/// What a codec makes of the valid rows: metadata words and one code per value.
struct Coded {
    meta: Vec<u32>,
    codes: Vec<u8>,
}

/// The valid rows of one side of one head.
struct Page<'a> {
    rows: &'a [f64],
    d: usize,
}

impl<'a> Page<'a> {
    fn new(rows: &'a [f64], valid: usize, p: usize, d: usize) -> Self {
        let d = d.max(1);
        let keep = valid.min(p).min(rows.len() / d) * d;
        Self { rows: rows.get(..keep).unwrap_or(rows), d }
    }

    fn rows(&self) -> std::slice::ChunksExact<'a, f64> {
        self.rows.chunks_exact(self.d)
    }
}

/// The f16 nearest to `x`, of a size that f16 has; by way of f32, because a shader has nothing wider.
fn to_half(x: f64) -> u16 {
    half::f16::from_f32(x.clamp(-65504.0, 65504.0) as f32).to_bits()
}

/// The value of the f16 in the low 16 bits of `word`.
fn from_half(word: u32) -> f64 {
    half::f16::from_bits((word & 0xffff) as u16).to_f64()
}

/// Two halves per word, the first in the low bits (`pack2x16float`).
fn pack_halves(halves: &[u16]) -> Vec<u32> {
    halves
        .chunks(2)
        .map(|pair| pair.iter().rev().fold(0, |word, half| word << 16 | u32::from(*half)))
        .collect()
}

/// The values of the halves of `words`, in order (`unpack2x16float`).
fn unpack_halves(words: &[u32]) -> impl Iterator<Item = f64> + '_ {
    words.iter().flat_map(|word| [from_half(*word), from_half(word >> 16)])
}
