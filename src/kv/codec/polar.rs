//! Keys as a radius and a tree of angles, which a query can be multiplied with without building the key.
//!
//! Level 1 turns every pair of channels into a radius and an angle; every further level does the same with neighbouring
//! radii, until one radius is left. The angles of level 1 are uniform, those of level `t` concentrate around a quarter
//! turn the more channels they stand for, so each level has a codebook of its own and few bits do at the upper ones.
//!
//! Stored is a record of whole words per token: in its low 16 bits the radius in f16, from bit 16 on the angles, level
//! after level, each level in order, each code with its lowest bit first. There is no metadata besides. The rows must
//! be in the Hadamard basis and relative to the page's centre.

use std::f64::consts::{FRAC_PI_2, PI};

use super::lloyd::Source;
use super::tables::Codebook;
use super::{Layout, Page, from_half, to_half};

/// Bits of the radius.
const RADIUS_BITS: usize = 16;

/// The levels of a polar codec do not make one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a polar codec takes 1 to 8 bits for each of 1 to 12 levels of angles, found {found:?}")]
pub struct PolarError {
    /// Bits per level, as given.
    pub found: Vec<u8>,
}

/// A polar codec for heads of `2^levels` channels.
#[derive(Clone, Debug)]
pub struct Polar {
    levels: Vec<Level>,
}

#[derive(Clone, Debug)]
struct Level {
    bits: u8,
    book: Codebook,
    /// Cosine and sine of every angle of the book.
    turns: Vec<(f64, f64)>,
}

impl Level {
    fn turn(&self, code: u8) -> (f64, f64) {
        self.turns.get(usize::from(code)).copied().unwrap_or((1.0, 0.0))
    }
}

/// The angles of level `level` (1 is the lowest) in `2^bits` cells: equal ones of the full circle at level 1, else the
/// best ones of a quarter for the angle between two radii of `2^(level - 1)` normally distributed channels each, whose
/// density is a power of `sin(2 angle)`.
pub fn angles(level: usize, bits: u8) -> Codebook {
    let count = 1u32 << bits.min(8);
    if level <= 1 {
        let cell = 2.0 * PI / f64::from(count);
        return Codebook::nearest((0..count).map(|i| (cell * (f64::from(i) + 0.5) - PI) as f32).collect());
    }
    let power = (1i32 << (level - 1).min(30)) - 1;
    let density = |angle: f64| (2.0 * angle).sin().powi(power);
    let book = Source::new(&density, 0.0, FRAC_PI_2).codebook(count as usize);
    Codebook::nearest(book.into_iter().map(|x| x as f32).collect())
}

impl Polar {
    /// The codec with `bits[t]` bits for the angles of level `t + 1`.
    ///
    /// # Errors
    /// [`PolarError`] without levels, with more than twelve, or with a level of no or of more than eight bits.
    pub fn new(bits: &[u8]) -> Result<Self, PolarError> {
        if !(1..=12).contains(&bits.len()) || !bits.iter().all(|b| (1..=8).contains(b)) {
            return Err(PolarError { found: bits.to_vec() });
        }
        let level = |(i, bits): (usize, &u8)| {
            let book = angles(i + 1, *bits);
            let turns = book.centroids.iter().map(|x| f64::from(*x)).map(|x| (x.cos(), x.sin())).collect();
            Level { bits: *bits, book, turns }
        };
        Ok(Self { levels: bits.iter().enumerate().map(level).collect() })
    }

    /// Channels of a head.
    pub fn dim(&self) -> usize {
        1 << self.levels.len()
    }

    /// Bits of a token that mean something.
    pub fn token_bits(&self) -> usize {
        let d = self.dim();
        let levels = self.levels.iter().enumerate();
        RADIUS_BITS + levels.map(|(i, level)| usize::from(level.bits) * (d >> (i + 1))).sum::<usize>()
    }

    /// Words of a token's record.
    pub fn token_words(&self) -> usize {
        self.token_bits().div_ceil(32)
    }

    /// The section of one head with `p` tokens.
    pub fn layout(&self, p: usize) -> Layout {
        Layout { meta_words: 0, code_words: p * self.token_words() }
    }

    /// The section for `rows`, `[p, d]`; rows from `valid` on, and rows of zeros, are all zeros.
    pub fn encode(&self, rows: &[f64], valid: usize, p: usize) -> Vec<u32> {
        let page = Page::new(rows, valid, p, self.dim());
        let code: Vec<u32> = page.rows().flat_map(|row| self.encode_token(row)).collect();
        self.layout(p).join(&[], &code)
    }

    fn encode_token(&self, row: &[f64]) -> Vec<u32> {
        let mut words = vec![0u32; self.token_words()];
        if row.iter().all(|x| *x == 0.0) {
            return words;
        }
        let mut at = RADIUS_BITS;
        let mut x = row.to_vec();
        let mut codes = Vec::with_capacity(self.levels.len());
        for level in &self.levels {
            let pairs = x.as_chunks::<2>().0;
            let level_codes: Vec<u8> = pairs.iter().map(|[a, b]| level.book.code(b.atan2(*a))).collect();
            for code in &level_codes {
                put(&mut words, at, *code);
                at += usize::from(level.bits);
            }
            x = pairs.iter().map(|[a, b]| a.hypot(*b)).collect();
            codes.push(level_codes);
        }
        // The direction has length one, so the best radius is the row's share of it.
        let radius: f64 = row.iter().zip(self.direction(&codes)).map(|(a, b)| a * b).sum();
        if let Some(first) = words.first_mut() {
            *first |= u32::from(to_half(radius));
        }
        words
    }

    /// The rows, `[p, d]`; those that were not valid are zeros.
    pub fn decode(&self, words: &[u32], p: usize) -> Vec<f64> {
        self.tokens(words, p)
            .into_iter()
            .flat_map(|(radius, codes)| self.direction(&codes).into_iter().map(move |x| radius * x))
            .collect()
    }

    /// `q . k` for the key of every token, `[p]`, by folding the query `[d]` along the tree: at level 1 every pair of
    /// channels becomes one number, and so on up to the root. `d - 1` turns per key instead of `d` products and the
    /// building of `k`.
    pub fn logits(&self, words: &[u32], p: usize, q: &[f64]) -> Vec<f64> {
        let fold = |(radius, codes): (f64, Vec<Vec<u8>>)| {
            let mut e = q.to_vec();
            for (level, codes) in self.levels.iter().zip(&codes) {
                let pairs = e.as_chunks::<2>().0.iter().zip(codes);
                e = pairs
                    .map(|([a, b], code)| {
                        let (cos, sin) = level.turn(*code);
                        a * cos + b * sin
                    })
                    .collect();
            }
            radius * e.first().copied().unwrap_or(0.0)
        };
        self.tokens(words, p).into_iter().map(fold).collect()
    }

    /// Radius and codes, level by level, of every token.
    fn tokens(&self, words: &[u32], p: usize) -> Vec<(f64, Vec<Vec<u8>>)> {
        let (_, code) = self.layout(p).split(words);
        code.chunks(self.token_words())
            .map(|token| {
                let mut at = RADIUS_BITS;
                let levels = self.levels.iter().enumerate().map(|(i, level)| {
                    let codes = (0..self.dim() >> (i + 1)).map(|_| {
                        at += usize::from(level.bits);
                        get(token, at - usize::from(level.bits), level.bits)
                    });
                    codes.collect()
                });
                let codes = levels.collect();
                (from_half(token.first().copied().unwrap_or(0)), codes)
            })
            .collect()
    }

    /// The row of length one that the angles stand for.
    fn direction(&self, codes: &[Vec<u8>]) -> Vec<f64> {
        let mut x = vec![1.0];
        for (level, codes) in self.levels.iter().zip(codes).rev() {
            x = x
                .iter()
                .zip(codes)
                .flat_map(|(r, code)| {
                    let (cos, sin) = level.turn(*code);
                    [r * cos, r * sin]
                })
                .collect();
        }
        x
    }
}

/// Writes a code into zero bits from bit `at` on; it may reach into the next word.
fn put(words: &mut [u32], at: usize, code: u8) {
    let wide = u64::from(code) << (at % 32);
    for (word, part) in words.iter_mut().skip(at / 32).zip([wide as u32, (wide >> 32) as u32]) {
        *word |= part;
    }
}

/// The `bits` bits from bit `at` on.
fn get(words: &[u32], at: usize, bits: u8) -> u8 {
    let word = |i: usize| u64::from(words.get(i).copied().unwrap_or(0));
    let wide = word(at / 32) | word(at / 32 + 1) << 32;
    ((wide >> (at % 32)) & ((1 << bits) - 1)) as u8
}
