//! Mirostat: the cut and the feedback against their definitions, and that the surprise comes to the target.

use super::chain::{plain, sampler};
use super::reference::{Lcg, Naive};
use crate::generate::rng::{USE_DRAW, uniform};
use crate::generate::{Candidates, SamplerParams};

const VOCAB: usize = 120;

fn naive_step(version: u32, logits: &[f32], t: f64, mu: f64, u: f32, p: &SamplerParams) -> (u32, f64) {
    let mut n = Naive::new(logits);
    let order = n.ranked();
    let probs = n.probs(t);
    let keep = if version == 2 {
        order.iter().filter(|&&i| -probs[i].log2() <= mu).count()
    } else {
        let m = order.len().min(100);
        let t_i = |i: usize| ((i as f64 + 2.0) / (i as f64 + 1.0)).ln();
        let b_i = |i: usize| (probs[order[i]] / probs[order[i + 1]]).ln();
        let s = (0..m - 1).map(|i| t_i(i) * b_i(i)).sum::<f64>()
            / (0..m - 1).map(|i| t_i(i).powi(2)).sum::<f64>();
        let eps = s - 1.0;
        let count = order.len() as f64;
        ((eps * 2f64.powf(mu)) / (1.0 - count.powf(-eps))).powf(1.0 / s).round() as usize
    };
    n.top_k(keep.max(1));
    let id = n.draw(t, u.into());
    (id as u32, mu - f64::from(p.mirostat_eta) * (-probs[id].log2() - f64::from(p.mirostat_tau)))
}

#[test]
fn steps_follow_the_definition_and_surprise_meets_the_target() {
    for version in [1, 2] {
        // Targets between the surprise of the best token and the entropy; others cannot be met by any cut.
        for (tau, temperature) in [(5.0, 1.0), (4.2, 0.7), (5.7, 1.5)] {
            let params = SamplerParams { mirostat: version, mirostat_tau: tau, temperature, ..plain() };
            assert!(sampler(params.clone(), 257).needs_full_logits());
            let mut sampler = sampler(params.clone(), VOCAB);
            let mut random = Lcg::new(31);
            let mut mu = 2.0 * f64::from(tau);
            let mut surprise = 0.0;
            for position in 0..500 {
                let logits = random.logits(VOCAB, 7);
                let u = uniform(params.seed, position, USE_DRAW);
                let (expected, next) = naive_step(version, &logits, temperature.into(), mu, u, &params);
                let got = sampler.sample(Candidates::Full(&logits), position).unwrap();
                assert_eq!(got, expected, "version {version} tau {tau} at {position}");
                if position >= 100 {
                    surprise += (mu - next) / f64::from(params.mirostat_eta) + f64::from(tau);
                }
                mu = next;
                sampler.accept(got);
            }
            let mean = surprise / 400.0;
            assert!((mean - f64::from(tau)).abs() < 0.3, "version {version} tau {tau}: mean surprise {mean}");
        }
    }
}
