//! Offline encoders: f32 rows to the bytes of a file.
//!
//! The formats with one scale per 32 follow ggml's reference rounding bit for bit. The K and IQ4 formats get plain
//! encoders of our own (one pass, no search): valid blocks with an error near the step size, for tests and
//! quick conversions; a quantiser that weighs its errors belongs to the offline tools.

mod four;
mod kquants;
mod legacy;

#[cfg(test)]
mod tests;

use super::error::WeightsError;
use crate::format::TensorType;

/// The types that [`encode_row`] makes.
pub const ENCODED_TYPES: &[TensorType] = {
    use TensorType::*;
    &[F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS]
};

/// Encodes one row (`[cols]`, f32) as type `t` and appends its bytes to `out`.
///
/// `row.len()` must be a multiple of the block length. Quantised types take finite values up to 65504 in size only;
/// F16 and BF16 round to nearest even and overflow to infinity.
pub fn encode_row(t: TensorType, row: &[f32], out: &mut Vec<u8>) -> Result<(), WeightsError> {
    use TensorType::*;
    if !ENCODED_TYPES.contains(&t) {
        return Err(WeightsError::unsupported(t, "encoded", ENCODED_TYPES));
    }
    let found = row.len() as u64;
    let bytes =
        t.bytes_for(found).ok_or(WeightsError::RowLength { ttype: t, block: t.block_len(), found })?;
    if t.block_len() > 1
        && let Some(index) = row.iter().position(|x| !x.is_finite() || x.abs() > 65504.0)
    {
        return Err(WeightsError::Unrepresentable { ttype: t, index, value: row[index].to_string() });
    }
    out.reserve(usize::try_from(bytes).unwrap_or(0));
    match t {
        F32 => out.extend(row.iter().flat_map(|x| x.to_le_bytes())),
        F16 => out.extend(row.iter().flat_map(|x| half::f16::from_f32(*x).to_le_bytes())),
        BF16 => out.extend(row.iter().flat_map(|x| half::bf16::from_f32(*x).to_le_bytes())),
        Q4_0 => each(row, out, legacy::q4_0),
        Q4_1 => each(row, out, legacy::q4_1),
        Q5_0 => each(row, out, legacy::q5_0),
        Q5_1 => each(row, out, legacy::q5_1),
        Q8_0 => each(row, out, legacy::q8_0),
        Q2_K => each(row, out, kquants::q2_k),
        Q3_K => each(row, out, kquants::q3_k),
        Q4_K => each(row, out, kquants::q4_k),
        Q5_K => each(row, out, kquants::q5_k),
        Q6_K => each(row, out, kquants::q6_k),
        IQ4_NL => each(row, out, four::iq4_nl),
        IQ4_XS => each(row, out, four::iq4_xs),
        _ => return Err(WeightsError::unsupported(t, "encoded", ENCODED_TYPES)),
    }
    Ok(())
}

/// Appends the encoding of every block of `N` elements.
fn each<const N: usize, const B: usize>(
    row: &[f32],
    out: &mut Vec<u8>,
    block: impl Fn(&[f32; N]) -> [u8; B],
) {
    for x in row.as_chunks::<N>().0 {
        out.extend_from_slice(&block(x));
    }
}

/// Stores `x` as f16 at byte `at` and returns the value stored.
fn put_f16(b: &mut [u8], at: usize, x: f32) -> f32 {
    let h = half::f16::from_f32(x);
    b[at..at + 2].copy_from_slice(&h.to_le_bytes());
    h.to_f32()
}

/// `1 / x`, or zero for zero: blocks of zeros encode as zeros.
fn inverse(x: f32) -> f32 {
    if x == 0.0 { 0.0 } else { 1.0 / x }
}

/// The value of largest size, with its sign (the first of several).
fn extreme(x: &[f32]) -> f32 {
    x.iter().fold(0.0f32, |best, &x| if x.abs() > best.abs() { x } else { best })
}

/// The nearest integer to `x` in `low..=high`; zero for NaN.
fn nearest(x: f32, low: i32, high: i32) -> i32 {
    (x.round() as i32).clamp(low, high)
}
