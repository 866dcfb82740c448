//! The sampling trials of `shared/trials.md` (20 is in `stop`), and what logits that are not numbers do.

use super::chain::{plain, sampler};
use crate::generate::{Candidates, SampleError, SamplerParams};

/// Trial 22: temperature 0 with top_k 0, top_p 0, min_p 1 is the argmax; the lowest id on ties.
#[test]
fn trial_22_greedy() {
    let params =
        SamplerParams { temperature: 0.0, top_k: 0, top_p: 0.0, min_p: 1.0, ..SamplerParams::default() };
    let mut s = sampler(params, 5);
    assert_eq!(s.sample(Candidates::Full(&[1.0, 4.0, 2.0, 4.0, -1.0]), 0), Ok(1));
    let list = [(1, 4.0), (3, 4.0)];
    assert_eq!(s.sample(Candidates::Top { list: &list, logsumexp: 5.0 }, 0), Ok(1));
    // The same without temperature 0: each of the two cuts alone leaves the argmax.
    for (top_p, min_p) in [(0.0, 0.0), (1.0, 1.0)] {
        let mut s = sampler(SamplerParams { top_p, min_p, ..plain() }, 4);
        (0..50).for_each(|i| assert_eq!(s.sample(Candidates::Full(&[1.0, 4.0, 2.0, 3.9]), i), Ok(1)));
    }
}

/// Trial 23: out of range, clamped or refused as documented per field.
#[test]
fn trial_23_out_of_range() {
    let fine =
        SamplerParams { top_k: 1000, top_p: 1.000_000_1, temperature: -1.0, ..SamplerParams::default() };
    let s = sampler(fine, 10);
    assert_eq!((s.params().top_k, s.params().top_p, s.params().temperature), (10, 1.0, 0.0));
    assert!(s.params().is_greedy());
    let bad = SamplerParams { repeat_penalty: -1.1, ..SamplerParams::default() };
    let error = bad.validate(10).unwrap_err();
    assert_eq!(
        error.to_string(),
        "sampling parameter repeat_penalty: expected a positive number, found -1.1"
    );
}

/// Trial 24: with a bias of -100 on the end token, generation runs to its token limit.
#[test]
fn trial_24_biased_end_token() {
    let params = SamplerParams { logit_bias: vec![(2, -100.0)], ..SamplerParams::default() };
    let mut s = sampler(params, 6);
    for position in 0..500 {
        let id = s.sample(Candidates::Full(&[0.0, 1.0, 30.0, 0.5, -3.0, 0.9]), position).unwrap();
        assert_ne!(id, 2);
        s.accept(id);
    }
    assert_eq!(s.history().len(), 500);
    assert_eq!(s.bias_list(), [(2, -100.0)]);
}

#[test]
fn logits_that_are_not_numbers() {
    for params in [plain(), SamplerParams::greedy(), SamplerParams::default()] {
        let mut s = sampler(params, 4);
        let mut full = |l: &[f32]| s.sample(Candidates::Full(l), 0);
        let ban = f32::NEG_INFINITY;
        assert_eq!(full(&[0.0, f32::NAN, f32::NAN, 1.0]), Err(SampleError::Nan { id: 1 }));
        assert_eq!(full(&[ban; 4]), Err(SampleError::Empty));
        assert_eq!(full(&[0.0, 1.0, f32::INFINITY, 0.0]), Err(SampleError::Infinite { id: 2 }));
        assert_eq!(full(&[ban, ban, -1e30, ban]), Ok(2));
        assert_eq!(full(&[0.0; 3]), Err(SampleError::VocabMismatch { expected: 4, found: 3 }));
        let mut top = |list: &[(u32, f32)], logsumexp| s.sample(Candidates::Top { list, logsumexp }, 0);
        assert_eq!(top(&[(1, 2.0), (0, 1.0)], f64::NAN), Err(SampleError::BadTotal));
        assert_eq!(top(&[(4, 2.0)], 2.0), Err(SampleError::IdOutOfRange { id: 4, vocab: 4 }));
        assert_eq!(top(&[(1, f32::NAN)], 2.0), Err(SampleError::Nan { id: 1 }));
        assert_eq!(top(&[], f64::NEG_INFINITY), Err(SampleError::Empty));
        assert_eq!(top(&[(3, 2.0), (0, ban)], 2.0), Ok(3));
    }
}

#[test]
fn penalty_list_for_the_device() {
    let params = SamplerParams { repeat_penalty: 1.5, presence_penalty: 0.5, repeat_last_n: 3, ..plain() };
    let mut s = sampler(params, 10);
    [5, 1, 2, 2, 99].iter().for_each(|&t| s.accept(t));
    let list = s.penalty_list();
    assert_eq!((list.repeat, list.frequency, list.presence), (1.5, 0.0, 0.5));
    assert_eq!(list.tokens, [(2, 2)], "the last three tokens, without the id outside the vocabulary");
    assert_eq!(list.apply(3.0, 2), 1.5);
    assert_eq!(list.apply(-3.0, 2), -5.0);
    let mut off = sampler(plain(), 10);
    off.accept(1);
    assert!(off.penalty_list().tokens.is_empty() && off.dry_list().is_empty());
}
