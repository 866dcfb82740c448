//! The f64 references of the device's sampling shaders: what `shaders/sample.wgsl` and the top-k selection
//! before it must compute. Read by the kernel tests and `golay doctor`, never by the engine.

use super::filters::{self, Cand};

/// Twin of the two-pass top-k selection: the `k` best `(id, logit)` of a row, sorted by logit descending and
/// id ascending, and the logsumexp of the whole row.
///
/// A NaN is never listed and makes the logsumexp NaN. Minus infinity is listed last, when `k` reaches that far;
/// a row of nothing else has logsumexp minus infinity.
pub fn reference_topk(logits: &[f32], k: usize) -> (Vec<(u32, f32)>, f64) {
    let max = logits.iter().copied().filter(|l| !l.is_nan()).fold(f32::NEG_INFINITY, f32::max);
    let logsumexp = if logits.iter().any(|l| l.is_nan()) {
        f64::NAN
    } else if max.is_infinite() {
        f64::from(max)
    } else {
        let m = f64::from(max);
        m + logits.iter().map(|&l| (f64::from(l) - m).exp()).sum::<f64>().ln()
    };
    let mut list: Vec<Cand> = logits
        .iter()
        .enumerate()
        .filter(|(_, l)| !l.is_nan())
        .map(|(id, &l)| (u32::try_from(id).unwrap_or(u32::MAX), l))
        .collect();
    if k == 0 {
        list.clear();
    } else {
        filters::sort_top(&mut list, k);
    }
    (list, logsumexp)
}

/// Twin of `shaders/sample.wgsl`: top-k, top-p, min-p, temperature, then one draw by inverse CDF in sorted
/// order with the uniform number `u` in `[0, 1)`.
///
/// `cands` are `(id, logit)` with bias and penalties already applied; top-p counts mass within the list that
/// top-k left, so that a list shorter than the vocabulary gives the chain's exact answer only when
/// `1 <= top_k <= cands.len()`. `top_k` 0 keeps the list, `top_p >= 1` and `min_p <= 0` are off,
/// `temperature <= 0` takes the first. Returns `u32::MAX` when no candidate has a finite logit.
pub fn device_chain_reference(
    cands: &[(u32, f32)],
    temperature: f32,
    top_k: usize,
    top_p: f32,
    min_p: f32,
    u: f32,
) -> u32 {
    let mut list: Vec<Cand> = cands.iter().copied().filter(|c| c.1.is_finite()).collect();
    let mut scratch = Vec::new();
    filters::sort_top(&mut list, if temperature <= 0.0 { 1 } else { top_k });
    filters::top_p(&mut list, top_p, None, &mut scratch);
    filters::min_p(&mut list, min_p);
    if list.len() <= 1 {
        return list.first().map_or(u32::MAX, |c| c.0);
    }
    let total = filters::weights(&list, f64::from(temperature), &mut scratch);
    filters::pick(&scratch, total, u).and_then(|i| list.get(i)).map_or(u32::MAX, |c| c.0)
}
