//! Determinism: the choice depends on seed, position, accepted tokens and logits, and on nothing else.

use super::chain::{plain, sampler};
use super::reference::Lcg;
use crate::generate::{Candidates, SamplerParams};

const VOCAB: usize = 50;

fn logits_at(position: usize) -> Vec<f32> {
    Lcg::new(position as u64 + 100).logits(VOCAB, 7)
}

#[test]
fn rollback_changes_nothing() {
    let everything = SamplerParams {
        repeat_penalty: 1.3,
        repeat_last_n: 5,
        frequency_penalty: 0.2,
        dry_multiplier: 0.8,
        dry_allowed_length: 1,
        xtc_probability: 0.5,
        seed: 99,
        ..plain()
    };
    for mirostat in [0, 1, 2] {
        let params = SamplerParams { mirostat, mirostat_tau: 3.0, ..everything.clone() };
        let mut sampler = sampler(params, VOCAB);
        let run = |sampler: &mut crate::generate::Sampler, from: usize, to: usize| {
            for position in from..to {
                let logits = logits_at(position);
                let id = sampler.sample(Candidates::Full(&logits), position as u32).unwrap();
                sampler.accept(id);
            }
        };
        run(&mut sampler, 0, 60);
        let first = sampler.history().to_vec();
        for back in [59, 30, 31, 1, 0, 45] {
            sampler.truncate(back);
            // A draft that is thrown away again leaves no trace.
            for token in [1, 2, 3] {
                sampler.accept(token);
            }
            sampler.truncate(back.min(first.len()));
            let at = sampler.history().len();
            run(&mut sampler, at, 60);
            assert_eq!(sampler.history(), first, "mirostat {mirostat}, rolled back to {back}");
        }
    }
}

#[test]
fn positions_may_be_sampled_in_any_order_and_again() {
    let mut sampler = sampler(SamplerParams { seed: 4, ..plain() }, VOCAB);
    let mut ids = |order: &[usize]| {
        let mut out = [0; 40];
        for &position in order {
            out[position] = sampler.sample(Candidates::Full(&logits_at(position)), position as u32).unwrap();
        }
        out
    };
    let forward: Vec<usize> = (0..40).collect();
    let backward: Vec<usize> = (0..40).rev().chain(5..9).collect();
    assert_eq!(ids(&forward), ids(&backward));
}

#[test]
fn a_forced_token_leaves_mirostat_alone() {
    let params = SamplerParams { mirostat: 2, mirostat_tau: 3.0, ..plain() };
    let mut a = sampler(params.clone(), VOCAB);
    let mut b = sampler(params, VOCAB);
    let sampled = a.sample(Candidates::Full(&logits_at(0)), 0).unwrap();
    let forced = (sampled + 1) % VOCAB as u32;
    a.accept(forced);
    b.accept(forced);
    for position in 1..20 {
        let logits = logits_at(position);
        let id = a.sample(Candidates::Full(&logits), position as u32).unwrap();
        assert_eq!(b.sample(Candidates::Full(&logits), position as u32), Ok(id));
        a.accept(id);
        b.accept(id);
    }
}

/// Tokens written down once: a change here means that seeds of earlier versions give other texts.
#[test]
fn seeds_are_stable_across_versions() {
    let ids = |seed| -> Vec<u32> {
        let mut sampler = sampler(SamplerParams { seed, ..SamplerParams::default() }, VOCAB);
        (0..12).map(|p| sampler.sample(Candidates::Full(&logits_at(p)), p as u32).unwrap()).collect()
    };
    assert_eq!(ids(42), [43, 6, 33, 43, 35, 40, 5, 18, 38, 4, 31, 47]);
    assert_eq!(ids(1 << 40), [13, 41, 13, 34, 11, 1, 32, 22, 40, 48, 40, 46]);
}
