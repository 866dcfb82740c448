//! How a matrix lies on the device: two planes of 32-bit words, organised in groups of 32 consecutive weights.
//!
//! `quants` is bound as `array<vec4<u32>>`, `aux` as `array<u32>`. Rows follow each other without padding, so a chunk
//! of rows is a slice of each plane. G is the groups of a row, S = G/8 its super-blocks of 256.
//!
//! Four packings, each of one group, with `k` the weight in the group (0..32). A *quad* `j` is the four codes
//! k = 4j..4j+3 as the bytes of a word; every packing gives a quad by one shift and one mask:
//!
//! | packing | words | code of k | quad j |
//! | --- | --- | --- | --- |
//! | P8 | 8 | byte k | `w[j]` |
//! | P4 | 4 | word j, byte b: low nibble k = 4j+b, high nibble k = 16+4j+b | `(w[j&3] >> 4(j>>2)) & 0x0f0f0f0f` |
//! | P2 | 2 | word h, bits 8b+2i: k = 16h+4i+b | `(w[j>>2] >> 2(j&3)) & 0x03030303` |
//! | P1 | 1 | bit 8b+j: k = 4j+b | `(w >> j) & 0x01010101` |
//!
//! Sections of a row, in order; `pairs(n)` is n f16 scales, two a word, low half first, padded to a whole word:
//!
//! | type | quants | aux | bits per weight |
//! | --- | --- | --- | --- |
//! | F32 | 32 words a group | | 32 |
//! | F16, BF16 | 16 words a group, low half first | | 16 |
//! | Q4_0, IQ4_NL | P4 | pairs(G) | 4.5 |
//! | Q4_1 | P4 | G × (d, m) | 5 |
//! | Q5_0 | P4 | G × P1, pairs(G) | 5.5 |
//! | Q5_1 | P4 | G × P1, G × (d, m) | 6 |
//! | Q8_0 | P8 | pairs(G) | 8.5 |
//! | Q2_K | P2 | S × { 4 words of scales, (d, dmin) } | 2.625 |
//! | Q3_K | P2 | G × P1, S × { 3 words of scales }, pairs(S) | 3.4375 |
//! | Q4_K | P4 | S × { (d, dmin), 3 words of scales } | 4.5 |
//! | Q5_K | P4 | G × P1, S × { (d, dmin), 3 words of scales } | 5.5 |
//! | Q6_K | P4 | G × P2, S × { 4 words of scales }, pairs(S) | 6.5625 |
//! | IQ4_XS | P4 | S × { (d, sh), sl } | 4.25 |
//!
//! Scale words are the file's bytes as stored. These are the bits per weight of the files too: the device holds not
//! one bit more, but for the half word that pads an odd number of pairs, and the zero columns that fill the last
//! group of a float row.

mod pack;
mod repack;
mod unpack;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod wgsl_tests;

pub use unpack::GroupCodes;

use super::error::WeightsError;
use crate::format::TensorType;

/// The types that have a device format.
pub const DEVICE_TYPES: &[TensorType] = {
    use TensorType::*;
    &[F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS]
};

/// Whether `t` has a device format.
pub fn supported(t: TensorType) -> bool {
    DEVICE_TYPES.contains(&t)
}

/// Sizes of the two planes of a matrix of one type and width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PlaneLayout {
    /// The type of the file's rows.
    pub ttype: TensorType,
    /// Weights of a row.
    pub cols: u32,
    /// Groups of 32 of a row, `ceil(cols / 32)`.
    pub groups: u32,
    /// Words of a row in the quants plane, a multiple of 4.
    pub quant_words_per_row: u32,
    /// Words of a row in the aux plane; zero for the float formats.
    pub aux_words_per_row: u32,
}

impl PlaneLayout {
    /// The layout of rows of `cols` weights of type `ttype`.
    ///
    /// Quantised rows must be whole blocks; float rows may have any width and are padded with zeros.
    pub fn new(ttype: TensorType, cols: u32) -> Result<Self, WeightsError> {
        use TensorType::*;
        if !supported(ttype) {
            return Err(WeightsError::unsupported(ttype, "laid out on the device", DEVICE_TYPES));
        }
        if cols == 0 || !u64::from(cols).is_multiple_of(ttype.block_len()) {
            return Err(WeightsError::RowLength { ttype, block: ttype.block_len(), found: u64::from(cols) });
        }
        let g = u64::from(cols.div_ceil(32));
        let s = g / 8;
        let (quants, aux) = match ttype {
            F32 => (32 * g, 0),
            F16 | BF16 => (16 * g, 0),
            Q4_0 | IQ4_NL => (4 * g, g.div_ceil(2)),
            Q4_1 => (4 * g, g),
            Q5_0 => (4 * g, g + g.div_ceil(2)),
            Q5_1 => (4 * g, 2 * g),
            Q8_0 => (8 * g, g.div_ceil(2)),
            Q2_K => (2 * g, 5 * s),
            Q3_K => (2 * g, g + 3 * s + s.div_ceil(2)),
            Q4_K => (4 * g, 4 * s),
            Q5_K => (4 * g, g + 4 * s),
            Q6_K => (4 * g, 2 * g + 4 * s + s.div_ceil(2)),
            IQ4_XS => (4 * g, 2 * s),
            _ => return Err(WeightsError::unsupported(ttype, "laid out on the device", DEVICE_TYPES)),
        };
        let words = |n: u64| {
            let too_large = WeightsError::TooLarge { ttype, rows: 1, cols: u64::from(cols) };
            u32::try_from(n).map_err(|_| too_large)
        };
        Ok(PlaneLayout {
            ttype,
            cols,
            groups: cols.div_ceil(32),
            quant_words_per_row: words(quants)?,
            aux_words_per_row: words(aux)?,
        })
    }

    /// Words of both planes (quants, aux) for `rows` rows, checked against the address space.
    pub fn plane_words(&self, rows: usize) -> Result<(usize, usize), WeightsError> {
        let words = |per_row: u32| {
            usize::try_from(per_row).ok().and_then(|w| w.checked_mul(rows)).ok_or(WeightsError::TooLarge {
                ttype: self.ttype,
                rows: rows as u64,
                cols: u64::from(self.cols),
            })
        };
        Ok((words(self.quant_words_per_row)?, words(self.aux_words_per_row)?))
    }

    /// Bytes that one row takes on the device, both planes together.
    pub fn served_bytes_per_row(&self) -> u64 {
        4 * (u64::from(self.quant_words_per_row) + u64::from(self.aux_words_per_row))
    }

    /// Served bits per weight, padding included.
    pub fn served_bits_per_weight(&self) -> f64 {
        self.served_bytes_per_row() as f64 * 8.0 / f64::from(self.cols)
    }

    /// Checks that planes of `quants` and `aux` words hold `rows` rows.
    fn check_planes(&self, rows: usize, quants: usize, aux: usize) -> Result<(), WeightsError> {
        let expected = self.plane_words(rows)?;
        for (plane, expected, found) in [("quants", expected.0, quants), ("aux", expected.1, aux)] {
            if expected != found {
                let (expected, found) = (expected as u64, found as u64);
                return Err(WeightsError::PlaneWords { plane, ttype: self.ttype, expected, found });
            }
        }
        Ok(())
    }
}
