//! DRY against a quadratic reference.

use std::collections::BTreeMap;

use super::chain::plain;
use super::reference::Lcg;
use crate::generate::{Breakers, Candidates, Sampler, SamplerParams};

/// By the definition: every earlier place, every length, every token compared.
fn naive(tokens: &[u32], p: &SamplerParams, breakers: &[u32]) -> BTreeMap<u32, f32> {
    let n = tokens.len();
    let start = if p.dry_penalty_last_n < 0 { 0 } else { n.saturating_sub(p.dry_penalty_last_n as usize) };
    let mut out: BTreeMap<u32, f32> = BTreeMap::new();
    for i in start..n.saturating_sub(1) {
        let matches = |len: usize| {
            let (a, b) = (&tokens[i + 1 - len..=i], &tokens[n - len..]);
            a == b && !b.iter().any(|t| breakers.contains(t))
        };
        let length = (1..=i + 1 - start).filter(|&len| matches(len)).max().unwrap_or(0).min(50);
        let next = tokens[i + 1];
        if length >= p.dry_allowed_length as usize && !breakers.contains(&next) {
            let delta = -p.dry_multiplier * p.dry_base.powi(length as i32 - p.dry_allowed_length as i32);
            let entry = out.entry(next).or_insert(0.0);
            *entry = entry.min(delta);
        }
    }
    out
}

#[test]
fn agrees_with_the_quadratic_reference() {
    let mut random = Lcg::new(23);
    let mut penalised = 0;
    for case in 0..300 {
        let alphabet = 2 + case % 4;
        let breakers: &[u32] = if case % 3 == 0 { &[] } else { &[1] };
        let params = SamplerParams {
            dry_multiplier: 0.8,
            dry_base: 1.1,
            dry_allowed_length: 1 + (case % 5) as u32,
            dry_penalty_last_n: [-1, 0, 1, 17, 64][case % 5],
            ..plain()
        };
        let set = Breakers::from_sequences(breakers.iter().map(|&b| vec![b]));
        let mut sampler = Sampler::new(params.clone(), 8, set).unwrap();
        for step in 0..140 {
            // Mostly periodic, so that long repeats (beyond the cap) occur.
            let id = if random.next() < 0.03 { random.below(alphabet) } else { step % alphabet };
            sampler.accept(id as u32);
            if random.next() < 0.02 {
                sampler.truncate(sampler.history().len() / 2);
            }
            let expected = match params.dry_penalty_last_n {
                0 => BTreeMap::new(),
                _ => naive(sampler.history(), &params, breakers),
            };
            let got = sampler.dry_list();
            assert_eq!(got.len(), expected.len(), "case {case} step {step}");
            for (id, delta) in got {
                let e = expected[&id];
                assert!((delta - e).abs() <= 1e-4 * e.abs(), "case {case} step {step}: {delta} for {e}");
                penalised += 1;
            }
        }
    }
    assert!(penalised > 1000);
}

#[test]
fn penalty_is_capped_and_reaches_the_choice() {
    let params = SamplerParams { dry_multiplier: 1.0, dry_base: 1.0e30, temperature: 0.0, ..plain() };
    let mut sampler = Sampler::new(params, 3, Breakers::none()).unwrap();
    (0..200).for_each(|_| sampler.accept(0));
    assert_eq!(sampler.dry_list(), [(0, -1.0e30)]);
    assert_eq!(sampler.sample(Candidates::Full(&[9.0, 1.0, 2.0]), 200), Ok(2));
}

/// A long context of one token is the worst case: every place is compared up to the cap, and no further.
#[test]
fn long_context_is_linear() {
    let params = SamplerParams { dry_multiplier: 1.0, ..plain() };
    let mut sampler = Sampler::new(params, 3, Breakers::none()).unwrap();
    (0..200_000).for_each(|_| sampler.accept(0));
    assert_eq!(sampler.dry_list().len(), 1);
}
