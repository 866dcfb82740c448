//! The tokens so far and how often each occurs in the penalty window, kept up to date token by token in both
//! directions, so that a step costs the distinct tokens of the window and not the context.

use std::collections::BTreeMap;

use super::sampler::PenaltyList;

/// Accepted tokens with counts over the last `window` of them.
#[derive(Debug, Clone)]
pub(super) struct History {
    tokens: Vec<u32>,
    /// Window in tokens; `usize::MAX` for the whole context.
    window: usize,
    counts: BTreeMap<u32, u32>,
}

impl History {
    /// `last_n`: -1 for all, else the window's length.
    pub fn new(last_n: i32) -> Self {
        Self {
            tokens: Vec::new(),
            window: usize::try_from(last_n).unwrap_or(usize::MAX),
            counts: BTreeMap::new(),
        }
    }

    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    pub fn push(&mut self, id: u32) {
        self.tokens.push(id);
        *self.counts.entry(id).or_insert(0) += 1;
        if let Some(left) = self.tokens.len().checked_sub(self.window).and_then(|n| n.checked_sub(1)) {
            self.forget(self.tokens[left]);
        }
    }

    /// Keeps the first `n` tokens. A no-op when there are no more than that.
    pub fn truncate(&mut self, n: usize) {
        while self.tokens.len() > n {
            let before = self.tokens.len();
            let Some(id) = self.tokens.pop() else { return };
            // What the popped token had pushed out of the window comes back, then the token itself leaves. In
            // this order a window of length 0 stays consistent (both are the same token).
            if let Some(back) = before.checked_sub(self.window).and_then(|k| k.checked_sub(1)) {
                let back = self.tokens.get(back).copied().unwrap_or(id);
                *self.counts.entry(back).or_insert(0) += 1;
            }
            self.forget(id);
        }
    }

    /// Distinct tokens of the window with their counts, by ascending id.
    pub fn counts(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.counts.iter().map(|(&id, &n)| (id, n))
    }

    fn forget(&mut self, id: u32) {
        if let Some(n) = self.counts.get_mut(&id) {
            *n -= 1;
            if *n == 0 {
                self.counts.remove(&id);
            }
        }
    }
}

impl PenaltyList {
    /// The penalised logit of a token that occurs `count` times: the one formula that host and device share.
    /// `l > 0 ? l / repeat : l * repeat`, then minus `frequency * count`, then minus `presence`.
    pub fn apply(&self, logit: f32, count: u32) -> f32 {
        let scaled = if logit > 0.0 { logit / self.repeat } else { logit * self.repeat };
        scaled - self.frequency * count as f32 - self.presence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts after any mix of pushes and truncations equal a recount of the window.
    #[test]
    fn counts_follow_pushes_and_truncations() {
        for window in [-1, 0, 1, 3, 64] {
            let mut history = History::new(window);
            let mut x = 12345u32;
            for _ in 0..3000 {
                x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                if (x >> 24) < 40 {
                    let keep = history.tokens().len().saturating_sub((x >> 8) as usize % 9);
                    history.truncate(keep);
                } else {
                    history.push((x >> 16) % 5);
                }
                let tokens = history.tokens();
                let start = usize::try_from(window).map_or(0, |w| tokens.len().saturating_sub(w));
                let mut expected = BTreeMap::new();
                for &t in &tokens[start..] {
                    *expected.entry(t).or_insert(0u32) += 1;
                }
                assert_eq!(history.counts, expected, "window {window}");
            }
        }
    }
}
