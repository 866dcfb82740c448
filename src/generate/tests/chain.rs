//! Each sampler, and the chain of them, against the naive reference on random logits; the draw's distribution.

use super::reference::{Lcg, Naive, chain};
use crate::generate::filters::{self, Cand};
use crate::generate::rng::{USE_DRAW, USE_XTC, uniform};
use crate::generate::{
    Breakers, Candidates, DEVICE_LIST, SampleError, Sampler, SamplerParams, device_chain_reference,
    reference_topk,
};

const VOCAB: usize = 90;

/// All samplers off, temperature 1.
pub fn plain() -> SamplerParams {
    SamplerParams { temperature: 1.0, top_k: 0, top_p: 1.0, min_p: 0.0, ..SamplerParams::default() }
}

pub fn sampler(params: SamplerParams, vocab: usize) -> Sampler {
    Sampler::new(params, vocab as u32, Breakers::none()).unwrap()
}

/// Runs one filter beside its naive form on 1000 random logit vectors and compares the sets that are left.
fn compare(name: &str, filter: impl Fn(&mut Vec<Cand>, usize), naive: impl Fn(&mut Naive, usize)) {
    let mut random = Lcg::new(name.len() as u64);
    for case in 0..1000 {
        let logits = random.logits(VOCAB, case);
        let mut expected = Naive::new(&logits);
        naive(&mut expected, case);
        let mut cands: Vec<Cand> =
            logits.iter().enumerate().map(|(i, &l)| (i as u32, l)).filter(|c| c.1.is_finite()).collect();
        filters::sort_top(&mut cands, 0);
        filter(&mut cands, case);
        let got: Vec<usize> = cands.iter().map(|c| c.0 as usize).collect();
        assert_eq!(got, expected.ranked(), "{name}, case {case}");
    }
}

#[test]
fn filters_keep_what_the_reference_keeps() {
    let p = |case: usize| [0.0f32, 0.1, 0.37, 0.9, 0.95, 0.999][case % 6];
    let k = |case: usize| [1usize, 2, 7, 40, 89, 90, 500][case % 7];
    let scratch = std::cell::RefCell::new(Vec::new());
    compare("top_k", |c, i| filters::sort_top(c, k(i)), |n, i| n.top_k(k(i)));
    compare(
        "top_n_sigma",
        |c, i| filters::top_n_sigma(c, 0.2 + p(i)),
        |n, i| n.top_n_sigma((0.2 + p(i)).into()),
    );
    compare(
        "typical",
        |c, i| filters::typical(c, p(i), &mut scratch.borrow_mut()),
        |n, i| n.typical(p(i).into()),
    );
    compare(
        "top_p",
        |c, i| assert!(filters::top_p(c, p(i), None, &mut scratch.borrow_mut())),
        |n, i| n.top_p(p(i).into()),
    );
    compare("min_p", |c, i| assert!(filters::min_p(c, p(i)) || !c.is_empty()), |n, i| n.min_p(p(i).into()));
    let threshold = |i: usize| [0.01f32, 0.05, 0.1, 0.3, 0.5, 0.9][i % 6];
    compare(
        "xtc",
        |c, i| filters::xtc(c, threshold(i), &mut scratch.borrow_mut()),
        |n, i| n.xtc(threshold(i).into()),
    );
}

#[test]
fn whole_chain_draws_the_reference_token() {
    let mut random = Lcg::new(5);
    for case in 0..1000 {
        let logits = random.logits(VOCAB, case);
        let mut pick = |list: &[f32]| list[random.below(list.len())];
        let params = SamplerParams {
            temperature: pick(&[0.0, 0.3, 0.8, 1.0, 2.5]),
            top_k: pick(&[0.0, 0.0, 1.0, 5.0, 40.0, 90.0]) as i32,
            top_p: pick(&[1.0, 0.95, 0.5, 0.0]),
            min_p: pick(&[0.0, 0.05, 0.3]),
            typical_p: pick(&[1.0, 1.0, 0.7]),
            top_n_sigma: pick(&[-1.0, -1.0, 1.0, 2.0]),
            repeat_penalty: pick(&[1.0, 1.1, 1.8, 0.7]),
            repeat_last_n: pick(&[-1.0, 0.0, 4.0, 64.0]) as i32,
            frequency_penalty: pick(&[0.0, 0.5, -0.3]),
            presence_penalty: pick(&[0.0, 1.0]),
            xtc_probability: pick(&[0.0, 0.5, 1.0]),
            xtc_threshold: pick(&[0.02, 0.1]),
            dynatemp_range: pick(&[0.0, 0.4, 3.0]),
            dynatemp_exponent: pick(&[1.0, 2.0]),
            logit_bias: vec![(3, pick(&[0.0, 5.0, -100.0])), (7, pick(&[0.0, f32::NEG_INFINITY]))],
            seed: case as u64 * 0x1_0000_0001,
            ..plain()
        };
        let mut sampler = sampler(params.clone(), VOCAB);
        for _ in 0..random.below(30) {
            sampler.accept(random.below(8) as u32);
        }
        let history = sampler.history().to_vec();
        for position in [0, 1, 1000, u32::MAX] {
            let (draw, coin) =
                (uniform(params.seed, position, USE_DRAW), uniform(params.seed, position, USE_XTC));
            let expected = chain(&logits, &params, &history, draw, coin);
            let got = sampler.sample(Candidates::Full(&logits), position).unwrap();
            assert_eq!(got, expected, "case {case} at {position}: {params:?}");
        }
    }
}

/// The device's list gives the token that all logits give, or says that it does not suffice.
#[test]
fn list_and_full_logits_agree() {
    let vocab = 1500;
    let mut random = Lcg::new(11);
    let (mut refused, mut answered) = (0, 0);
    for case in 0..1000 {
        let logits = random.logits(vocab, case);
        let mut pick = |list: &[f32]| list[random.below(list.len())];
        let params = SamplerParams {
            temperature: pick(&[0.0, 0.8, 1.5]),
            top_k: pick(&[0.0, 0.0, 1.0, 40.0, 256.0, 300.0]) as i32,
            top_p: pick(&[1.0, 0.95, 0.5]),
            min_p: pick(&[0.0, 0.05]),
            typical_p: pick(&[1.0, 1.0, 1.0, 0.7]),
            top_n_sigma: pick(&[-1.0, -1.0, -1.0, 1.0]),
            xtc_probability: pick(&[0.0, 0.5]),
            seed: case as u64,
            ..plain()
        };
        let (list, logsumexp) = reference_topk(&logits, DEVICE_LIST);
        let mut sampler = sampler(params.clone(), vocab);
        let full = sampler.sample(Candidates::Full(&logits), 9).unwrap();
        assert_eq!(sampler.sample(Candidates::Adjusted(&logits), 9), Ok(full));
        match sampler.sample(Candidates::Top { list: &list, logsumexp }, 9) {
            Ok(id) => {
                assert_eq!(id, full, "case {case}: {params:?}");
                assert!(!sampler.needs_full_logits() || list.iter().any(|c| c.1.is_infinite()));
                answered += 1;
            }
            Err(SampleError::NeedsFullLogits { listed }) => {
                assert_eq!(listed, DEVICE_LIST);
                // Without being said beforehand, only for want of mass.
                let mass: f64 = list.iter().map(|c| (f64::from(c.1) - logsumexp).exp()).sum();
                assert!(sampler.needs_full_logits() || mass < f64::from(params.top_p) || params.top_p == 1.0);
                refused += 1;
            }
            Err(e) => panic!("case {case}: {e}"),
        }
    }
    assert!(refused > 100 && answered > 300, "{refused} refused, {answered} answered");
}

/// The device's short chain is the sampler's, so that it does not matter which of the two draws.
#[test]
fn device_twin_agrees_with_the_sampler() {
    let vocab = 700;
    let mut random = Lcg::new(17);
    for case in 0..1000 {
        let logits = random.logits(vocab, case);
        let mut pick = |list: &[f32]| list[random.below(list.len())];
        let params = SamplerParams {
            temperature: pick(&[0.0, 0.2, 0.8, 1.5]),
            top_k: pick(&[1.0, 40.0, 256.0]) as i32,
            top_p: pick(&[1.0, 0.95, 0.3, 0.0]),
            min_p: pick(&[0.0, 0.05, 1.0]),
            seed: case as u64,
            ..plain()
        };
        let (list, _) = reference_topk(&logits, DEVICE_LIST);
        let u = uniform(params.seed, 77, USE_DRAW);
        let p = &params;
        let device = device_chain_reference(&list, p.temperature, p.top_k as usize, p.top_p, p.min_p, u);
        let host = sampler(params.clone(), vocab).sample(Candidates::Full(&logits), 77);
        assert_eq!(host, Ok(device), "case {case}: {params:?}");
    }
}

#[test]
fn topk_reference_edges() {
    let (list, lse) = reference_topk(&[1.0, 3.0, 3.0, f32::NEG_INFINITY, 2.0], 3);
    assert_eq!(list, [(1, 3.0), (2, 3.0), (4, 2.0)]);
    let expected = (1f64.exp() + 2.0 * 3f64.exp() + 2f64.exp()).ln();
    assert!((lse - expected).abs() < 1e-12);
    assert!(reference_topk(&[1.0, f32::NAN], 2).1.is_nan());
    assert_eq!(reference_topk(&[f32::NEG_INFINITY; 4], 2).1, f64::NEG_INFINITY);
    assert_eq!(reference_topk(&[], 2), (vec![], f64::NEG_INFINITY));
    assert_eq!(device_chain_reference(&[], 1.0, 40, 0.9, 0.0, 0.5), u32::MAX);
}

/// Chi-square of `draws` draws against expected probabilities (those of 0 must never be drawn).
fn chi_square(params: SamplerParams, logits: &[f32], expected: &[f64], draws: u32) -> f64 {
    let mut sampler = sampler(params, logits.len());
    let mut counts = vec![0u32; logits.len()];
    for position in 0..draws {
        counts[sampler.sample(Candidates::Full(logits), position).unwrap() as usize] += 1;
    }
    let mut chi2 = 0.0;
    for (count, p) in counts.iter().zip(expected) {
        if *p == 0.0 {
            assert_eq!(*count, 0);
        } else {
            let e = p * f64::from(draws);
            chi2 += (f64::from(*count) - e).powi(2) / e;
        }
    }
    chi2
}

#[test]
fn draws_follow_the_distribution() {
    let p = [0.3, 0.25, 0.2, 0.1, 0.08, 0.04, 0.02, 0.01];
    let logits: Vec<f32> = p.iter().map(|p: &f64| p.ln() as f32).collect();
    for seed in [1, 2, 3, u64::MAX] {
        let chi2 = chi_square(SamplerParams { seed, ..plain() }, &logits, &p, 40_000);
        assert!(chi2 < 24.3, "seed {seed}: chi-square {chi2}, 7 degrees of freedom (p = 0.001 at 24.3)");
        // Temperature 2 takes square roots.
        let roots: Vec<f64> = p.iter().map(|p| p.sqrt()).collect();
        let sum: f64 = roots.iter().sum();
        let expected: Vec<f64> = roots.iter().map(|r| r / sum).collect();
        let chi2 =
            chi_square(SamplerParams { seed, temperature: 2.0, ..plain() }, &logits, &expected, 40_000);
        assert!(chi2 < 24.3, "seed {seed}, temperature 2: {chi2}");
        // XTC half of the time drops the first three of the four tokens of 0.1 and more.
        let expected: Vec<f64> =
            p.iter().enumerate().map(|(i, p)| 0.5 * p + if i > 2 { 0.5 * p / 0.25 } else { 0.0 }).collect();
        let xtc = SamplerParams { seed, xtc_probability: 0.5, xtc_threshold: 0.09, ..plain() };
        let chi2 = chi_square(xtc, &logits, &expected, 40_000);
        assert!(chi2 < 24.3, "seed {seed}, XTC: {chi2}");
        let chi2 = chi_square(
            SamplerParams { seed, top_p: 0.74, ..plain() },
            &logits,
            &[0.4, 1.0 / 3.0, 0.8 / 3.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            40_000,
        );
        assert!(chi2 < 13.9, "seed {seed}, top-p: {chi2} (2 degrees of freedom, p = 0.001 at 13.8)");
    }
}
