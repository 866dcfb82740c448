//! The Rust twin of `shaders/lib/fmt_*.wgsl`: reads the planes back, with the shader's names and its order of
//! operations. It proves the layout without a device; a shader's own test compares with the same numbers.

use super::pack::{quad1, quad2, quad4};
use super::{PlaneLayout, WeightsError};
use crate::format::TensorType;
use crate::weights::decode::T16;

/// What the shader's functions give for one group of 32 weights.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupCodes {
    /// `W_OFF`.
    pub offset: f32,
    /// `w_scale` of the two halves: (d, m).
    pub scale: [(f32, f32); 2],
    /// `w_codes` of k = 0..32.
    pub codes: [f32; 32],
    /// `w_values` of k = 0..32.
    pub values: [f32; 32],
}

impl PlaneLayout {
    /// Decodes row `row` of the planes (any whole number of rows) to `out` (`[cols]`, f32).
    pub fn unpack_row(
        &self,
        quants: &[u32],
        aux: &[u32],
        row: usize,
        out: &mut [f32],
    ) -> Result<(), WeightsError> {
        if out.len() != self.cols as usize {
            let (block, found) = (u64::from(self.cols), out.len() as u64);
            return Err(WeightsError::RowLength { ttype: self.ttype, block, found });
        }
        for (g, out) in out.chunks_mut(32).enumerate() {
            let group = self.unpack_group(quants, aux, row, g)?;
            out.copy_from_slice(&group.values[..out.len()]);
        }
        Ok(())
    }

    /// Group `g` of row `row` as the shader sees it.
    pub fn unpack_group(
        &self,
        quants: &[u32],
        aux: &[u32],
        row: usize,
        g: usize,
    ) -> Result<GroupCodes, WeightsError> {
        let rows = row.saturating_add(1);
        let (need_q, need_a) = self.plane_words(rows)?;
        let ttype = self.ttype;
        if g >= self.groups as usize {
            let cols = (g as u64).saturating_add(1).saturating_mul(32);
            return Err(WeightsError::TooLarge { ttype, rows: rows as u64, cols });
        }
        for (plane, expected, found) in [("quants", need_q, quants.len()), ("aux", need_a, aux.len())] {
            if found < expected {
                let (expected, found) = (expected as u64, found as u64);
                return Err(WeightsError::PlaneWords { plane, ttype, expected, found });
            }
        }
        let qw = self.quant_words_per_row as usize / self.groups as usize;
        let q = &quants[need_q - self.quant_words_per_row as usize + g * qw..][..qw];
        let a = &aux[need_a - self.aux_words_per_row as usize..need_a];
        group(self.ttype, self.groups as usize, q, a, g).ok_or_else(|| {
            WeightsError::unsupported(self.ttype, "laid out on the device", super::DEVICE_TYPES)
        })
    }
}

/// The f16 in the low or (`high` = 1) upper half of a word.
fn half_of(w: u32, high: usize) -> f32 {
    half::f16::from_bits((w >> (16 * high)) as u16).to_f32()
}

/// Scale `i` of a section of pairs.
fn pair(a: &[u32], i: usize) -> f32 {
    half_of(a[i / 2], i & 1)
}

/// One group from its quant words `q` and the aux words `a` of its row of `groups` groups.
fn group(ttype: TensorType, groups: usize, q: &[u32], a: &[u32], g: usize) -> Option<GroupCodes> {
    use TensorType::*;
    let (s, t) = (g / 8, g % 8); // super-block, group in it
    let supers = groups / 8;
    // The same scale for both halves.
    let both = |d: f32, m: f32| [(d, m), (d, m)];
    let unsigned = |w: u32, b: usize| f32::from(w.to_le_bytes()[b]);
    let signed = |w: u32, b: usize| f32::from(w.to_le_bytes()[b] as i8);
    let level = |w: u32, b: usize| f32::from(T16[usize::from(w.to_le_bytes()[b] & 15)]);
    // The six-bit scale and minimum of Q4_K and Q5_K, from their three words.
    let k_scale = |w: &[u32]| {
        let b = |i: usize| (w[i] >> (8 * (t & 3))) & 255;
        let (x, y, z) = (b(0), b(1), b(2));
        if t < 4 { (x & 63, y & 63) } else { (z & 15 | x >> 6 << 4, z >> 4 | y >> 6 << 4) }
    };
    let k_pair = |w: &[u32]| {
        let (sc, m) = k_scale(&w[1..4]);
        both(half_of(w[0], 0) * sc as f32, half_of(w[0], 1) * m as f32)
    };
    Some(match ttype {
        F32 => plain(|k| f32::from_bits(q[k])),
        F16 => plain(|k| half_of(q[k / 2], k & 1)),
        BF16 => plain(|k| f32::from_bits(if k & 1 == 0 { q[k / 2] << 16 } else { q[k / 2] & 0xffff_0000 })),
        Q4_0 => scaled(8.0, both(pair(a, g), 0.0), |j, b| unsigned(quad4(q, j), b)),
        IQ4_NL => scaled(0.0, both(pair(a, g), 0.0), |j, b| level(quad4(q, j), b)),
        Q4_1 => with_min(both(half_of(a[g], 0), -half_of(a[g], 1)), |j, b| unsigned(quad4(q, j), b)),
        Q5_0 => {
            let d = pair(&a[groups..], g);
            scaled(16.0, both(d, 0.0), |j, b| unsigned(quad4(q, j) | quad1(a[g], j) << 4, b))
        }
        Q5_1 => {
            let dm = a[groups + g];
            let scale = both(half_of(dm, 0), -half_of(dm, 1));
            with_min(scale, |j, b| unsigned(quad4(q, j) | quad1(a[g], j) << 4, b))
        }
        Q8_0 => scaled(0.0, both(pair(a, g), 0.0), |j, b| signed(q[j], b)),
        Q2_K => {
            let w = &a[5 * s..];
            let (d, dmin) = (half_of(w[4], 0), half_of(w[4], 1));
            let sc = w[t / 2] >> (16 * (t & 1));
            let scale = [sc & 255, sc >> 8 & 255].map(|c| (d * (c & 15) as f32, dmin * (c >> 4) as f32));
            with_min(scale, |j, b| unsigned(quad2(q, j), b))
        }
        Q3_K => {
            let w = &a[groups + 3 * s..];
            let low = w[(t & 3) >> 1] >> (16 * (t & 1)) >> (4 * (t >> 2)) & 0x0f0f;
            let high = w[2] >> (16 * (t & 1)) >> (2 * (t >> 1)) & 0x0303;
            let sc = low | high << 4;
            let d = pair(&a[groups + 3 * supers..], s);
            let scale = [sc & 255, sc >> 8].map(|c| (d * (c as i32 - 32) as f32, 0.0));
            scaled(4.0, scale, |j, b| unsigned(quad2(q, j) | quad1(a[g], j) << 2, b))
        }
        Q4_K => with_min(k_pair(&a[4 * s..]), |j, b| unsigned(quad4(q, j), b)),
        Q5_K => {
            let scale = k_pair(&a[groups + 4 * s..]);
            with_min(scale, |j, b| unsigned(quad4(q, j) | quad1(a[g], j) << 4, b))
        }
        Q6_K => {
            let high = &a[2 * g..];
            let sc = a[2 * groups + 4 * s + t / 2] >> (16 * (t & 1));
            let d = pair(&a[2 * groups + 4 * supers..], s);
            let scale = [sc, sc >> 8].map(|c| (d * f32::from(c as u8 as i8), 0.0));
            scaled(32.0, scale, |j, b| unsigned(quad4(q, j) | quad2(high, j) << 4, b))
        }
        IQ4_XS => {
            let (w, sl) = (a[2 * s], a[2 * s + 1]);
            let sc = sl >> (4 * t) & 15 | (w >> (16 + 2 * t) & 3) << 4;
            let d = half_of(w, 0) * (sc as i32 - 32) as f32;
            scaled(0.0, both(d, 0.0), |j, b| level(quad4(q, j), b))
        }
        _ => return None,
    })
}

fn plain(value: impl Fn(usize) -> f32) -> GroupCodes {
    let codes: [f32; 32] = std::array::from_fn(value);
    GroupCodes { offset: 0.0, scale: [(1.0, 0.0); 2], codes, values: codes }
}

/// `d * (code - offset)`.
fn scaled(offset: f32, scale: [(f32, f32); 2], code: impl Fn(usize, usize) -> f32) -> GroupCodes {
    let codes: [f32; 32] = std::array::from_fn(|k| code(k / 4, k % 4));
    let values = std::array::from_fn(|k| scale[k / 16].0 * (codes[k] - offset));
    GroupCodes { offset, scale, codes, values }
}

/// `d * code - m`.
fn with_min(scale: [(f32, f32); 2], code: impl Fn(usize, usize) -> f32) -> GroupCodes {
    let codes: [f32; 32] = std::array::from_fn(|k| code(k / 4, k % 4));
    let values = std::array::from_fn(|k| scale[k / 16].0 * codes[k] - scale[k / 16].1);
    GroupCodes { offset: 0.0, scale, codes, values }
}
