//! The reference decoders: a row of a tensor as its file stores it, to f32.
//!
//! They are the oracle of every device format and feed the offline tools; no inference runs through them. The
//! order of the float operations is that of the ggml reference, so results are equal to it bit for bit.

mod four;
mod kquants;
mod legacy;
mod ternary;

#[cfg(test)]
mod tests;

use super::error::{WeightsError, check_source};
use crate::format::TensorType;

pub(super) use four::T16;

/// The types that [`decode_row`] takes.
pub const DECODED_TYPES: &[TensorType] = {
    use TensorType::*;
    &[
        F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, TQ1_0,
        TQ2_0, MXFP4, NVFP4,
    ]
};

/// Decodes one row, `src` as stored in a file, to `out` (`[cols]`, f32).
///
/// `out.len()` must be a multiple of the type's block length and `src` exactly the bytes of that many elements.
/// Several whole rows in a run decode the same way, since rows are not padded in files.
pub fn decode_row(t: TensorType, src: &[u8], out: &mut [f32]) -> Result<(), WeightsError> {
    use TensorType::*;
    if !DECODED_TYPES.contains(&t) {
        return Err(WeightsError::unsupported(t, "decoded", DECODED_TYPES));
    }
    check_source(t, out.len(), src.len())?;
    match t {
        F32 => each::<4, 1>(src, out, |b, y| y[0] = f32::from_le_bytes(*b)),
        F16 => each::<2, 1>(src, out, |b, y| y[0] = half::f16::from_le_bytes(*b).to_f32()),
        BF16 => each::<2, 1>(src, out, |b, y| y[0] = half::bf16::from_le_bytes(*b).to_f32()),
        Q4_0 => each(src, out, legacy::q4_0),
        Q4_1 => each(src, out, legacy::q4_1),
        Q5_0 => each(src, out, legacy::q5_0),
        Q5_1 => each(src, out, legacy::q5_1),
        Q8_0 => each(src, out, legacy::q8_0),
        Q2_K => each(src, out, kquants::q2_k),
        Q3_K => each(src, out, kquants::q3_k),
        Q4_K => each(src, out, kquants::q4_k),
        Q5_K => each(src, out, kquants::q5_k),
        Q6_K => each(src, out, kquants::q6_k),
        IQ4_NL => each(src, out, four::iq4_nl),
        IQ4_XS => each(src, out, four::iq4_xs),
        MXFP4 => each(src, out, four::mxfp4),
        NVFP4 => each(src, out, four::nvfp4),
        TQ1_0 => each(src, out, ternary::tq1_0),
        TQ2_0 => each(src, out, ternary::tq2_0),
        _ => return Err(WeightsError::unsupported(t, "decoded", DECODED_TYPES)),
    }
    Ok(())
}

/// Runs `block` over the blocks of `B` bytes and `N` elements each; the lengths were checked before.
fn each<const B: usize, const N: usize>(
    src: &[u8],
    out: &mut [f32],
    block: impl Fn(&[u8; B], &mut [f32; N]),
) {
    for (b, y) in src.as_chunks::<B>().0.iter().zip(out.as_chunks_mut::<N>().0) {
        block(b, y);
    }
}

/// The f16 at byte `at` of a block, widened.
pub(super) fn f16_at(b: &[u8], at: usize) -> f32 {
    half::f16::from_le_bytes([b[at], b[at + 1]]).to_f32()
}
