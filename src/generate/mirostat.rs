//! Mirostat (Basu et al. 2021): cuts the list so that the surprise of the chosen tokens stays near a target,
//! steered by feedback. Its state `mu`, the surprise allowed now, starts at twice the target.

use super::filters::Cand;

/// How many of the best tokens version 1 estimates the Zipf exponent from.
const ZIPF_TOKENS: usize = 100;

/// How many candidates to keep of a sorted list with normalised probabilities `probs`, at least one.
pub(super) fn keep(version: u32, cands: &[Cand], probs: &[f64], temperature: f64, mu: f64) -> usize {
    let keep = if version == 1 {
        zipf_keep(cands, temperature, mu)
    } else {
        // Version 2: tokens more surprising than mu are dropped.
        probs.partition_point(|p| -p.log2() <= mu)
    };
    keep.clamp(1, cands.len().max(1))
}

/// Version 1: fits probability ~ rank^-s to the best tokens and asks how many of them give a surprise of mu.
fn zipf_keep(cands: &[Cand], temperature: f64, mu: f64) -> usize {
    let head = &cands[..cands.len().min(ZIPF_TOKENS)];
    let (mut tb, mut tt) = (0.0, 0.0);
    for (i, pair) in head.windows(2).enumerate() {
        let t = ((i as f64 + 2.0) / (i as f64 + 1.0)).ln();
        let b = (f64::from(pair[0].1) - f64::from(pair[1].1)) / temperature;
        tb += t * b;
        tt += t * t;
    }
    if tt == 0.0 {
        return 1;
    }
    let s = tb / tt;
    let eps = s - 1.0;
    let n = cands.len() as f64;
    // eps / (1 - n^-eps) tends to 1 / ln n at eps = 0. In logarithms, because 2^mu may be anything.
    let factor = if eps.abs() < 1e-9 { 1.0 / n.ln() } else { eps / (1.0 - n.powf(-eps)) };
    let k = ((factor.ln() + mu * std::f64::consts::LN_2) / s).exp();
    // A flat list gives s = 0 and k infinite or NaN; the cast saturates, NaN becomes 0.
    if s <= 0.0 { cands.len() } else { k.round() as usize }
}

/// The next `mu` after a token of probability `prob` (under the model, before the cut) was chosen.
pub(super) fn next_mu(mu: f64, prob: f64, tau: f64, eta: f64) -> f64 {
    mu - eta * (-prob.log2() - tau)
}
