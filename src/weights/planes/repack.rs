//! From the rows of a file to the planes: one pass, a few word operations per group, no floats.

use super::pack::{Quads, half_word, pack1, pack1_bits, pack2, pack4, words};
use super::{PlaneLayout, WeightsError};
use crate::format::TensorType;
use crate::weights::error::check_source;

impl PlaneLayout {
    /// Writes `rows` whole rows (`src`, as the file stores them) to both planes.
    ///
    /// `quants` and `aux` must have exactly the words of [`PlaneLayout::plane_words`]; all of them are written, so
    /// they may be uninitialised staging memory of an earlier upload.
    pub fn repack_rows(
        &self,
        src: &[u8],
        rows: usize,
        quants: &mut [u32],
        aux: &mut [u32],
    ) -> Result<(), WeightsError> {
        self.check_planes(rows, quants.len(), aux.len())?;
        let too_large =
            WeightsError::TooLarge { ttype: self.ttype, rows: rows as u64, cols: u64::from(self.cols) };
        let elements = (self.cols as usize).checked_mul(rows).ok_or(too_large)?;
        check_source(self.ttype, elements, src.len())?;
        if rows == 0 {
            return Ok(());
        }
        let (qw, aw) = (self.quant_words_per_row as usize, self.aux_words_per_row as usize);
        let row_bytes = src.len() / rows;
        let row_q = quants.chunks_exact_mut(qw);
        for (r, (src, q)) in src.chunks_exact(row_bytes).zip(row_q).enumerate() {
            self.repack_row(src, q, &mut aux[r * aw..(r + 1) * aw])?;
        }
        Ok(())
    }

    fn repack_row(&self, src: &[u8], q: &mut [u32], aux: &mut [u32]) -> Result<(), WeightsError> {
        use TensorType::*;
        let g = self.groups as usize;
        let s = g / 8;
        match self.ttype {
            F32 | F16 | BF16 => floats(src, q),
            Q4_0 | IQ4_NL => {
                for (b, q) in src.as_chunks::<18>().0.iter().zip(q.chunks_exact_mut(4)) {
                    q.copy_from_slice(&words::<4>(&b[2..]));
                }
                pairs::<18>(src, 0, aux);
            }
            Q4_1 => {
                for ((b, q), a) in src.as_chunks::<20>().0.iter().zip(q.chunks_exact_mut(4)).zip(aux) {
                    q.copy_from_slice(&words::<4>(&b[4..]));
                    [*a] = words(b);
                }
            }
            Q5_0 => {
                let (bits, d) = aux.split_at_mut(g);
                for ((b, q), bits) in src.as_chunks::<22>().0.iter().zip(q.chunks_exact_mut(4)).zip(bits) {
                    q.copy_from_slice(&words::<4>(&b[6..]));
                    *bits = pack1_bits(words::<1>(&b[2..])[0]);
                }
                pairs::<22>(src, 0, d);
            }
            Q5_1 => {
                let (bits, dm) = aux.split_at_mut(g);
                let blocks = src.as_chunks::<24>().0.iter();
                for (((b, q), bits), dm) in blocks.zip(q.chunks_exact_mut(4)).zip(bits).zip(dm) {
                    q.copy_from_slice(&words::<4>(&b[8..]));
                    *bits = pack1_bits(words::<1>(&b[4..])[0]);
                    [*dm] = words(b);
                }
            }
            Q8_0 => {
                for (b, q) in src.as_chunks::<34>().0.iter().zip(q.chunks_exact_mut(8)) {
                    q.copy_from_slice(&words::<8>(&b[2..]));
                }
                pairs::<34>(src, 0, aux);
            }
            Q2_K => {
                let blocks = src.as_chunks::<84>().0.iter();
                for ((b, q), a) in blocks.zip(q.chunks_exact_mut(16)).zip(aux.chunks_exact_mut(5)) {
                    two_bits(&b[16..], q);
                    a[..4].copy_from_slice(&words::<4>(b));
                    [a[4]] = words(&b[80..]);
                }
            }
            Q3_K => {
                let (bits, rest) = aux.split_at_mut(g);
                let (scales, d) = rest.split_at_mut(3 * s);
                let blocks = src.as_chunks::<110>().0.iter().zip(q.chunks_exact_mut(16));
                let aux = bits.chunks_exact_mut(8).zip(scales.chunks_exact_mut(3));
                for ((b, q), (bits, scales)) in blocks.zip(aux) {
                    two_bits(&b[32..], q);
                    one_bits(b, bits);
                    scales.copy_from_slice(&words::<3>(&b[96..]));
                }
                pairs::<110>(src, 108, d);
            }
            Q4_K => {
                let blocks = src.as_chunks::<144>().0.iter();
                for ((b, q), a) in blocks.zip(q.chunks_exact_mut(32)).zip(aux.chunks_exact_mut(4)) {
                    nibbles(&b[16..], q);
                    a.copy_from_slice(&words::<4>(b));
                }
            }
            Q5_K => {
                let (bits, scales) = aux.split_at_mut(g);
                let blocks = src.as_chunks::<176>().0.iter().zip(q.chunks_exact_mut(32));
                let aux = bits.chunks_exact_mut(8).zip(scales.chunks_exact_mut(4));
                for ((b, q), (bits, scales)) in blocks.zip(aux) {
                    nibbles(&b[48..], q);
                    one_bits(&b[16..], bits);
                    scales.copy_from_slice(&words::<4>(b));
                }
            }
            Q6_K => {
                let (high, rest) = aux.split_at_mut(2 * g);
                let (scales, d) = rest.split_at_mut(4 * s);
                let blocks = src.as_chunks::<210>().0.iter().zip(q.chunks_exact_mut(32));
                let aux = high.chunks_exact_mut(16).zip(scales.chunks_exact_mut(4));
                for ((b, q), (high, scales)) in blocks.zip(aux) {
                    q6_nibbles(b, q);
                    two_bits(&b[128..], high);
                    scales.copy_from_slice(&words::<4>(&b[192..]));
                }
                pairs::<210>(src, 208, d);
            }
            IQ4_XS => {
                let blocks = src.as_chunks::<136>().0.iter();
                for ((b, q), a) in blocks.zip(q.chunks_exact_mut(32)).zip(aux.chunks_exact_mut(2)) {
                    q.copy_from_slice(&words::<32>(&b[8..]));
                    a.copy_from_slice(&words::<2>(b));
                }
            }
            t => return Err(WeightsError::unsupported(t, "laid out on the device", super::DEVICE_TYPES)),
        }
        Ok(())
    }
}

/// Bytes to words as they are; the rest of the last group becomes zero.
fn floats(src: &[u8], q: &mut [u32]) {
    let (whole, rest) = src.as_chunks::<4>();
    let (body, tail) = q.split_at_mut(whole.len());
    for (q, b) in body.iter_mut().zip(whole) {
        *q = u32::from_le_bytes(*b);
    }
    tail.fill(0);
    // An odd number of halves.
    if rest.len() == 2 {
        tail[0] = half_word(rest, 0);
    }
}

/// The half words at byte `at` of the blocks of `B` bytes, two a word.
fn pairs<const B: usize>(src: &[u8], at: usize, out: &mut [u32]) {
    for (two, w) in src.chunks(2 * B).zip(out) {
        *w = half_word(two, at) | if two.len() > B { half_word(two, B + at) << 16 } else { 0 };
    }
}

/// 64 bytes in the order of Q2_K, Q3_K and Q6_K's upper bits: eight groups of P2.
fn two_bits(b: &[u8], out: &mut [u32]) {
    let w: [u32; 16] = words(b);
    for (t, out) in out.chunks_exact_mut(2).enumerate() {
        let quads: Quads = std::array::from_fn(|j| (w[8 * (t / 4) + j] >> (2 * (t % 4))) & 0x0303_0303);
        out.copy_from_slice(&pack2(&quads));
    }
}

/// 32 bytes whose bit `t` belongs to group `t`: eight words of P1.
fn one_bits(b: &[u8], out: &mut [u32]) {
    let w: [u32; 8] = words(b);
    for (t, out) in out.iter_mut().enumerate() {
        *out = pack1(&w.map(|w| (w >> t) & 0x0101_0101));
    }
}

/// 128 bytes in the order of Q4_K and Q5_K: eight groups of P4.
fn nibbles(b: &[u8], out: &mut [u32]) {
    let w: [u32; 32] = words(b);
    for (t, out) in out.chunks_exact_mut(4).enumerate() {
        let quads: Quads = std::array::from_fn(|j| (w[8 * (t / 2) + j] >> (4 * (t % 2))) & 0x0f0f_0f0f);
        out.copy_from_slice(&pack4(&quads));
    }
}

/// 128 bytes in the order of Q6_K's lower bits: eight groups of P4.
fn q6_nibbles(b: &[u8], out: &mut [u32]) {
    let w: [u32; 32] = words(b);
    for (t, out) in out.chunks_exact_mut(4).enumerate() {
        let (h, g) = (t / 4, t % 4);
        let quads: Quads =
            std::array::from_fn(|j| (w[16 * h + 8 * (g & 1) + j] >> (4 * (g >> 1))) & 0x0f0f_0f0f);
        out.copy_from_slice(&pack4(&quads));
    }
}
