//! How many words the parts of a page take, and where they begin.

use super::affine::GROUP;
use super::{Codec, Side, Tier};

/// `words` rounded up to whole 16 byte vectors.
pub const fn pad4(words: usize) -> usize {
    words.div_ceil(4) * 4
}

/// The words of one side of one head, without the padding of either part to four words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Words of scales or gains, at the section's beginning.
    pub meta_words: usize,
    /// Words of codes, at [`Layout::code_at`].
    pub code_words: usize,
}

impl Layout {
    /// The first word of the codes in the section.
    pub const fn code_at(self) -> usize {
        pad4(self.meta_words)
    }

    /// Words of the section, padding included.
    pub const fn words(self) -> usize {
        pad4(self.meta_words) + pad4(self.code_words)
    }

    /// Puts a section together; parts that are too short are filled with zeros.
    pub(super) fn join(self, meta: &[u32], code: &[u32]) -> Vec<u32> {
        let mut out = Vec::with_capacity(self.words());
        out.extend(meta.iter().take(self.meta_words));
        out.resize(self.code_at(), 0);
        out.extend(code.iter().take(self.code_words));
        out.resize(self.words(), 0);
        out
    }

    /// Metadata and codes of a section, without padding; missing words are zeros.
    pub(super) fn split(self, words: &[u32]) -> (Vec<u32>, Vec<u32>) {
        let part = |from: usize, count: usize| {
            let mut part: Vec<u32> = words.iter().skip(from).take(count).copied().collect();
            part.resize(count, 0);
            part
        };
        (part(0, self.meta_words), part(self.code_at(), self.code_words))
    }
}

impl Codec {
    /// The section of one head with `p` tokens of `d` channels.
    pub fn layout(self, side: Side, p: usize, d: usize) -> Layout {
        let meta_words = match (self, side) {
            (Self::F32 | Self::F16, _) => 0,
            (Self::Aff { .. }, Side::K) => d,
            (Self::Aff { .. }, Side::V) => p * d.div_ceil(GROUP),
            (Self::Token { .. }, _) => (p * d.div_ceil(GROUP)).div_ceil(2),
            (Self::Rot { .. } | Self::Emb { .. }, _) => p.div_ceil(2),
        };
        let code_words = match (self, self.packing()) {
            (_, Some(packing)) => packing.words(p, d),
            (Self::F16, None) => (p * d).div_ceil(2),
            (_, None) => p * d,
        };
        Layout { meta_words, code_words }
    }

    /// Stored bits per value, metadata and padding included.
    pub fn stored_bits(self, side: Side, p: usize, d: usize) -> f64 {
        32.0 * self.layout(side, p, d).words() as f64 / (p * d) as f64
    }
}

/// One head of a page: metadata of K, codes of K, metadata of V, codes of V.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HeadLayout {
    /// The keys, from word 0 on.
    pub k: Layout,
    /// The values, behind them.
    pub v: Layout,
}

impl HeadLayout {
    /// First word of the keys' metadata.
    pub const fn k_meta_at(self) -> usize {
        0
    }

    /// First word of the keys' codes.
    pub const fn k_code_at(self) -> usize {
        self.k.code_at()
    }

    /// First word of the values' metadata, and of their section.
    pub const fn v_meta_at(self) -> usize {
        self.k.words()
    }

    /// First word of the values' codes.
    pub const fn v_code_at(self) -> usize {
        self.k.words() + self.v.code_at()
    }

    /// Words of the head.
    pub const fn words(self) -> usize {
        self.k.words() + self.v.words()
    }
}

impl Tier {
    /// Where the parts of one head with `p` tokens of `d` channels are.
    pub fn head(self, p: usize, d: usize) -> HeadLayout {
        HeadLayout { k: self.k.layout(Side::K, p, d), v: self.v.layout(Side::V, p, d) }
    }

    /// Words of one head.
    pub fn head_words(self, p: usize, d: usize) -> usize {
        self.head(p, d).words()
    }

    /// Stored bits per value, the mean of keys and values, metadata and padding included.
    pub fn stored_bits(self, p: usize, d: usize) -> f64 {
        0.5 * (self.k.stored_bits(Side::K, p, d) + self.v.stored_bits(Side::V, p, d))
    }

    /// One head of a page for keys and values `[p, d]`; see [`Codec::encode`].
    pub fn encode_head(self, k: &[f64], v: &[f64], valid: usize, p: usize, d: usize) -> Vec<u32> {
        let mut words = self.k.encode(Side::K, k, valid, p, d);
        words.extend(self.v.encode(Side::V, v, valid, p, d));
        words
    }

    /// Keys and values, `[p, d]` each, of one head; see [`Codec::decode`].
    pub fn decode_head(self, words: &[u32], p: usize, d: usize) -> (Vec<f64>, Vec<f64>) {
        let (k, v) = words.split_at(self.head(p, d).v_meta_at().min(words.len()));
        (self.k.decode(Side::K, k, p, d), self.v.decode(Side::V, v, p, d))
    }
}
