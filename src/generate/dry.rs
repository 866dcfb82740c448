//! DRY, "don't repeat yourself": a token that would extend a repeat of what was just written is penalised, the
//! more the longer the repeat.
//!
//! For every earlier place whose last `L` tokens equal the last `L` of the text, the token that followed there
//! loses `multiplier * base^(L - allowed)`, where `L >= allowed`; the longest repeat counts. `L` is capped at
//! 50, so that a step costs one pass over the window with at most 50 comparisons at each place where the last
//! token occurs. Repeats do not reach across breakers, and a token that is itself a breaker is not penalised.

use std::collections::BTreeMap;

use super::breakers::Breakers;
use super::params::{DRY_MAX_LENGTH, SamplerParams};

/// DRY's own state: where breakers ended. The tokens are the history's.
#[derive(Debug, Clone)]
pub(super) struct Dry {
    breakers: Breakers,
    /// Positions of tokens with which a breaker ended, ascending.
    cuts: Vec<usize>,
}

impl Dry {
    pub fn new(breakers: Breakers) -> Self {
        Self { breakers, cuts: Vec::new() }
    }

    /// To be called after the newest token was appended to `tokens`.
    pub fn pushed(&mut self, tokens: &[u32]) {
        if self.breakers.ends(tokens) {
            self.cuts.push(tokens.len() - 1);
        }
    }

    /// Forgets tokens from position `n` on.
    pub fn truncate(&mut self, n: usize) {
        while self.cuts.last().is_some_and(|&cut| cut >= n) {
            self.cuts.pop();
        }
    }

    /// What to add (negative) to the logits of which tokens, by ascending id.
    pub fn deltas(&self, tokens: &[u32], params: &SamplerParams) -> Vec<(u32, f32)> {
        let window = usize::try_from(params.dry_penalty_last_n).unwrap_or(usize::MAX);
        let text = &tokens[tokens.len().saturating_sub(window)..];
        let since_cut = self.cuts.last().map_or(tokens.len(), |&cut| tokens.len() - 1 - cut);
        let cap = since_cut.min(DRY_MAX_LENGTH as usize);
        if cap < params.dry_allowed_length as usize {
            return Vec::new();
        }
        let Some((last, earlier)) = text.split_last() else { return Vec::new() };
        let mut longest: BTreeMap<u32, u32> = BTreeMap::new();
        for (at, token) in earlier.iter().enumerate() {
            if token != last {
                continue;
            }
            let back = earlier[..at].iter().rev().zip(earlier.iter().rev());
            let length = 1 + back.take(cap - 1).take_while(|(a, b)| a == b).count() as u32;
            if length >= params.dry_allowed_length {
                let next = text[at + 1];
                let entry = longest.entry(next).or_insert(0);
                *entry = length.max(*entry);
            }
        }
        longest
            .into_iter()
            .filter(|&(id, _)| !self.breakers.is_breaker(id))
            .map(|(id, length)| (id, -penalty(params, length)))
            .collect()
    }
}

fn penalty(params: &SamplerParams, length: u32) -> f32 {
    let exponent = length.saturating_sub(params.dry_allowed_length);
    let value = f64::from(params.dry_multiplier) * f64::from(params.dry_base).powi(exponent as i32);
    // Far below any logit, and still a number.
    value.min(1.0e30) as f32
}
