//! Codes in words.
//!
//! [`Packing::Digits`] writes the codes as digits of one number per word, so that 3, 5, 6 or 9 levels waste little;
//! with a power of two of levels these are plain bit fields. [`Packing::Planes`] keeps the bits of equal weight
//! together, the heaviest first, so that leaving out light ones shortens the block.

/// Where the code of channel `c` of token `t` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Packing {
    /// `R` ([`rows_per_tile`]) tokens share `ceil(R d / n)` words, `n` being [`digits_per_word`]. The code is the
    /// digit `i % n`, counted from the least significant one, of word `i / n` of the tile `t / R`, with
    /// `i = (t % R) d + c`.
    Digits {
        /// Base of the number system, 2 to 256.
        levels: u16,
    },
    /// Bit `bits - 1 - j` of the code is bit `c % 32` of word `(j p + t) ceil(d / 32) + c / 32`.
    Planes {
        /// Planes, 1 to 8.
        bits: u8,
    },
}

/// Digits that a word holds: the greatest `n` with `levels^n <= 2^32`.
pub const fn digits_per_word(levels: u16) -> usize {
    // Fewer than two levels need no digits at all; as two they are harmless.
    let base = if levels < 2 { 2 } else { levels as u64 };
    let (mut n, mut power) = (0, base);
    while power <= 1 << 32 {
        power *= base;
        n += 1;
    }
    n
}

/// Tokens that share words, where rows on their own would waste more than a twelfth.
pub const fn rows_per_tile(levels: u16) -> usize {
    match levels {
        3 | 6 => 4,
        9 => 2,
        _ => 1,
    }
}

impl Packing {
    /// Words of `p` tokens of `d` codes.
    pub const fn words(self, p: usize, d: usize) -> usize {
        match self {
            Self::Digits { levels } => {
                let rows = rows_per_tile(levels);
                p.div_ceil(rows) * (rows * d).div_ceil(digits_per_word(levels))
            }
            Self::Planes { bits } => bits as usize * p * d.div_ceil(32),
        }
    }

    /// Packs codes, `[p, d]`; missing ones count as 0, ones that do not exist as the highest that does.
    pub fn pack(self, codes: &[u8], p: usize, d: usize) -> Vec<u32> {
        let mut words = vec![0u32; self.words(p, d)];
        let (codes, d) = (&codes[..codes.len().min(p * d)], d.max(1));
        match self {
            Self::Digits { levels } => {
                let (n, tile) = (digits_per_word(levels), rows_per_tile(levels) * d);
                let base = u32::from(levels.max(2));
                let tiles = words.chunks_mut(tile.div_ceil(n)).zip(codes.chunks(tile));
                for (word, digits) in tiles.flat_map(|(words, codes)| words.iter_mut().zip(codes.chunks(n))) {
                    *word = digits.iter().rev().fold(0, |w, c| w * base + u32::from(*c).min(base - 1));
                }
            }
            Self::Planes { bits } => {
                let plane = p * d.div_ceil(32);
                for (at, part) in codes.chunks(d).flat_map(|row| row.chunks(32)).enumerate() {
                    for j in 0..usize::from(bits) {
                        let shift = usize::from(bits) - 1 - j;
                        let bit = |c: &u8| u32::from(c >> shift & 1);
                        let word = part.iter().rev().fold(0, |w, c| w << 1 | bit(c));
                        if let Some(to) = words.get_mut(j * plane + at) {
                            *to = word;
                        }
                    }
                }
            }
        }
        words
    }

    /// The codes, `[p, d]`, of [`Packing::pack`]; missing words count as 0.
    pub fn unpack(self, words: &[u32], p: usize, d: usize) -> Vec<u8> {
        let mut codes = Vec::with_capacity(p * d);
        match self {
            Self::Digits { levels } => {
                let (n, tile) = (digits_per_word(levels), rows_per_tile(levels) * d);
                let base = u32::from(levels.max(2));
                for words in words.chunks(tile.div_ceil(n).max(1)) {
                    let digits = words.iter().flat_map(|word| {
                        (0..n).scan(*word, |rest, _| {
                            let digit = *rest % base;
                            *rest /= base;
                            Some(digit as u8)
                        })
                    });
                    codes.extend(digits.take(tile));
                }
            }
            Self::Planes { bits } => {
                let row = d.div_ceil(32);
                let word = |at: usize| words.get(at).copied().unwrap_or(0);
                for (t, c) in (0..p).flat_map(|t| (0..d).map(move |c| (t, c))) {
                    let bit = |j: usize| word((j * p + t) * row + c / 32) >> (c % 32) & 1;
                    codes.push((0..usize::from(bits)).fold(0, |code, j| code << 1 | bit(j) as u8));
                }
            }
        }
        codes.resize(p * d, 0);
        codes
    }
}
