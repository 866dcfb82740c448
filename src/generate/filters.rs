//! The samplers that cut the candidate list, and the draw. Pure functions over a list of `(id, logit)`.
//!
//! "Sorted" always means by logit descending, then id ascending. Lists hold no NaN and no infinity; all sums
//! and exponentials are f64. Every filter keeps at least one candidate of a list that is not empty.

use std::cmp::Ordering;

/// A candidate token: `(id, logit)`.
pub type Cand = (u32, f32);

/// The order of a sorted list: logit descending, id ascending on ties.
pub fn by_rank(a: &Cand, b: &Cand) -> Ordering {
    b.1.partial_cmp(&a.1).unwrap_or(Ordering::Equal).then(a.0.cmp(&b.0))
}

/// Top-k, and the sort: keeps the `k` best of a list in any order (0 = all) and sorts them.
pub fn sort_top(cands: &mut Vec<Cand>, k: usize) {
    if k > 0 && k < cands.len() {
        cands.select_nth_unstable_by(k, by_rank);
        cands.truncate(k);
    }
    cands.sort_unstable_by(by_rank);
}

/// Top-n-sigma (Tang et al. 2024): keeps logits within `n` standard deviations (of all listed logits) of the
/// largest. The list may be in any order. `n <= 0` keeps all.
pub fn top_n_sigma(cands: &mut Vec<Cand>, n: f32) {
    if n <= 0.0 || cands.is_empty() {
        return;
    }
    let count = cands.len() as f64;
    let mean = cands.iter().map(|c| f64::from(c.1)).sum::<f64>() / count;
    let variance = cands.iter().map(|c| (f64::from(c.1) - mean).powi(2)).sum::<f64>() / count;
    let max = cands.iter().map(|c| f64::from(c.1)).fold(f64::NEG_INFINITY, f64::max);
    let floor = max - f64::from(n) * variance.sqrt();
    cands.retain(|c| f64::from(c.1) >= floor);
}

/// Unnormalised probabilities `exp((l - l_max) / temperature)` of a sorted list into `out`; returns their sum.
/// `temperature` must be positive.
pub fn weights(cands: &[Cand], temperature: f64, out: &mut Vec<f64>) -> f64 {
    out.clear();
    let Some(first) = cands.first() else { return 0.0 };
    let max = f64::from(first.1);
    out.extend(cands.iter().map(|c| ((f64::from(c.1) - max) / temperature).exp()));
    out.iter().sum()
}

/// Entropy in nats of unnormalised probabilities.
fn entropy(weights: &[f64], total: f64) -> f64 {
    weights.iter().map(|w| w / total).filter(|&p| p > 0.0).map(|p| -p * p.ln()).sum()
}

/// Locally typical sampling (Meister et al. 2022): the tokens whose surprise lies nearest to the entropy, as few
/// as hold a mass of `p`. Takes and leaves a sorted list. `p >= 1` keeps all.
pub fn typical(cands: &mut Vec<Cand>, p: f32, scratch: &mut Vec<f64>) {
    if p >= 1.0 || cands.len() < 2 {
        return;
    }
    let total = weights(cands, 1.0, scratch);
    let h = entropy(scratch, total);
    // (distance from the entropy, rank, probability); a probability that underflows to 0 is infinitely far.
    let mut order: Vec<(f64, usize, f64)> = scratch
        .iter()
        .enumerate()
        .map(|(rank, w)| {
            let prob = w / total;
            ((-prob.ln() - h).abs(), rank, prob)
        })
        .collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut mass = 0.0;
    let mut keep = 0;
    for entry in &order {
        mass += entry.2;
        keep += 1;
        if mass >= f64::from(p) {
            break;
        }
    }
    let mut kept: Vec<Cand> = order[..keep].iter().map(|entry| cands[entry.1]).collect();
    kept.sort_unstable_by(by_rank);
    *cands = kept;
}

/// Top-p, nucleus sampling (Holtzman et al. 2020): the smallest prefix of a sorted list with a mass of at least
/// `p`, never less than one token. `p >= 1` keeps all.
///
/// `total` is the sum of `exp(l - l_max)` over a larger set that the list is the head of; without it the list
/// is the whole set. Returns whether the mass was reached within the list.
pub fn top_p(cands: &mut Vec<Cand>, p: f32, total: Option<f64>, scratch: &mut Vec<f64>) -> bool {
    if p >= 1.0 {
        return total.is_none();
    }
    let own = weights(cands, 1.0, scratch);
    let need = f64::from(p) * total.unwrap_or(own);
    let mut mass = 0.0;
    for (rank, w) in scratch.iter().enumerate() {
        mass += w;
        if mass >= need {
            cands.truncate(rank + 1);
            return true;
        }
    }
    total.is_none()
}

/// Min-p (Nguyen et al. 2024): keeps tokens at least `m` times as probable as the most probable one. Sorted
/// list. Returns whether the cut fell inside the list.
pub fn min_p(cands: &mut Vec<Cand>, m: f32) -> bool {
    if m <= 0.0 || cands.is_empty() {
        return false;
    }
    let max = f64::from(cands[0].1);
    let keep = cands.partition_point(|c| (f64::from(c.1) - max).exp() >= f64::from(m));
    let cut = keep < cands.len();
    cands.truncate(keep.max(1));
    cut
}

/// XTC, exclude top choices: where at least two tokens have probability `threshold` or more, drops all of
/// those but the least probable. Sorted list. The coin is the caller's.
pub fn xtc(cands: &mut Vec<Cand>, threshold: f32, scratch: &mut Vec<f64>) {
    let total = weights(cands, 1.0, scratch);
    let above = scratch.iter().take_while(|&&w| w / total >= f64::from(threshold)).count();
    if above >= 2 {
        cands.drain(..above - 1);
    }
}

/// The temperature for this sorted list: `t`, or with `range > 0` the entropy-dependent one (dynamic
/// temperature): from `max(0, t - range)` for a certain choice to `t + range` for an even one.
pub fn effective_temperature(
    cands: &[Cand],
    t: f32,
    range: f32,
    exponent: f32,
    scratch: &mut Vec<f64>,
) -> f64 {
    let t = f64::from(t);
    if range <= 0.0 || cands.len() < 2 {
        return t;
    }
    let low = (t - f64::from(range)).max(0.0);
    let high = t + f64::from(range);
    let total = weights(cands, 1.0, scratch);
    let share = (entropy(scratch, total) / (cands.len() as f64).ln()).clamp(0.0, 1.0);
    low + (high - low) * share.powf(f64::from(exponent))
}

/// Inverse CDF: the first index whose cumulated weight exceeds `u * total`, for `u` in `[0, 1)`. None only for
/// an empty list.
pub fn pick(weights: &[f64], total: f64, u: f32) -> Option<usize> {
    let target = f64::from(u) * total;
    let mut cumulated = 0.0;
    for (i, w) in weights.iter().enumerate() {
        cumulated += w;
        if target < cumulated {
            return Some(i);
        }
    }
    // Only rounding brings us here; the last token that has any probability is the right one.
    weights.iter().rposition(|&w| w > 0.0).or(weights.len().checked_sub(1))
}
