//! The naive f64 reference of the samplers, written from their definitions and sharing no code with them:
//! probabilities as `exp(l) / sum`, ranks by counting, sets by membership flags.

use crate::generate::SamplerParams;

/// Deterministic numbers for tests, unrelated to the generator under test.
pub struct Lcg(u64);

impl Lcg {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() * n as f64) as usize
    }

    /// Logits of very different spread; every third vector has many ties, every fifth some bans.
    pub fn logits(&mut self, vocab: usize, case: usize) -> Vec<f32> {
        let scale = [0.05, 0.5, 1.0, 3.0, 8.0][case % 5];
        let offset = (self.next() - 0.5) * 40.0;
        (0..vocab)
            .map(|_| {
                let normal: f64 = (0..12).map(|_| self.next()).sum::<f64>() - 6.0;
                let l = if case.is_multiple_of(3) {
                    (normal * scale * 2.0).round() / 2.0
                } else {
                    normal * scale
                };
                if case % 5 == 4 && self.next() < 0.2 { f32::NEG_INFINITY } else { (l + offset) as f32 }
            })
            .collect()
    }
}

/// Which tokens are still in, by id.
pub struct Naive {
    pub l: Vec<f64>,
    pub keep: Vec<bool>,
}

impl Naive {
    pub fn new(logits: &[f32]) -> Self {
        Self {
            l: logits.iter().map(|&l| f64::from(l)).collect(),
            keep: logits.iter().map(|&l| l != f32::NEG_INFINITY).collect(),
        }
    }

    pub fn ids(&self) -> Vec<usize> {
        (0..self.l.len()).filter(|&i| self.keep[i]).collect()
    }

    /// Kept ids, best first.
    pub fn ranked(&self) -> Vec<usize> {
        let ids = self.ids();
        let rank = |i: usize| {
            ids.iter().filter(|&&j| self.l[j] > self.l[i] || (self.l[j] == self.l[i] && j < i)).count()
        };
        let mut out = vec![0; ids.len()];
        for &i in &ids {
            out[rank(i)] = i;
        }
        out
    }

    /// By id: `exp(l / t)` up to a common factor, 0 for dropped tokens.
    fn weights(&self, t: f64) -> Vec<f64> {
        let top = self.ids().iter().map(|&j| self.l[j]).fold(f64::MIN, f64::max);
        (0..self.l.len()).map(|i| if self.keep[i] { ((self.l[i] - top) / t).exp() } else { 0.0 }).collect()
    }

    /// Probabilities by id.
    pub fn probs(&self, t: f64) -> Vec<f64> {
        let weights = self.weights(t);
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|w| w / sum).collect()
    }

    fn entropy(&self) -> f64 {
        self.probs(1.0).iter().map(|&p| if p > 0.0 { -p * p.ln() } else { 0.0 }).sum()
    }

    fn only(&mut self, ids: &[usize]) {
        self.keep.iter_mut().for_each(|k| *k = false);
        ids.iter().for_each(|&i| self.keep[i] = true);
    }

    pub fn top_n_sigma(&mut self, n: f64) {
        let values: Vec<f64> = self.ids().iter().map(|&i| self.l[i]).collect();
        let (count, sum) = (values.len() as f64, values.iter().sum::<f64>());
        let std = (values.iter().map(|v| (v - sum / count) * (v - sum / count)).sum::<f64>() / count).sqrt();
        let max = values.iter().copied().fold(f64::MIN, f64::max);
        let ids: Vec<usize> = self.ids().into_iter().filter(|&i| self.l[i] >= max - n * std).collect();
        self.only(&ids);
    }

    pub fn top_k(&mut self, k: usize) {
        let ranked = self.ranked();
        self.only(&ranked[..k.min(ranked.len())]);
    }

    /// The smallest head of `order` with mass `p` or more, at least one.
    fn head(&mut self, order: &[usize], p: f64) {
        // Divided once, at the end: where many logits are equal the weights are exactly 1, and a mass that is
        // exactly p must not be missed by the rounding of quotients.
        let weights = self.weights(1.0);
        let sum: f64 = weights.iter().sum();
        let mass = |n: usize| order[..n].iter().map(|&i| weights[i]).sum::<f64>() / sum;
        let n = (1..=order.len()).find(|&n| mass(n) >= p).unwrap_or(order.len());
        self.only(&order[..n]);
    }

    pub fn top_p(&mut self, p: f64) {
        let order = self.ranked();
        self.head(&order, p);
    }

    pub fn typical(&mut self, p: f64) {
        let h = self.entropy();
        let probs = self.probs(1.0);
        let mut order = self.ranked();
        // A stable sort keeps the better token first on ties.
        order.sort_by(|&a, &b| {
            let d = |i: usize| (-probs[i].ln() - h).abs();
            d(a).partial_cmp(&d(b)).unwrap()
        });
        self.head(&order, p);
    }

    pub fn min_p(&mut self, m: f64) {
        let probs = self.probs(1.0);
        let best = probs[self.ranked()[0]];
        let ids: Vec<usize> = self.ids().into_iter().filter(|&i| probs[i] >= m * best).collect();
        self.only(&ids);
    }

    pub fn xtc(&mut self, threshold: f64) {
        let probs = self.probs(1.0);
        let above: Vec<usize> = self.ranked().into_iter().filter(|&i| probs[i] >= threshold).collect();
        for &i in above.iter().rev().skip(1) {
            self.keep[i] = false;
        }
    }

    pub fn temperature(&self, params: &SamplerParams) -> f64 {
        let (t, range) = (f64::from(params.temperature), f64::from(params.dynatemp_range));
        let n = self.ids().len() as f64;
        if range == 0.0 || n < 2.0 {
            return t;
        }
        let low = if t > range { t - range } else { 0.0 };
        low + (t + range - low) * (self.entropy() / n.ln()).powf(f64::from(params.dynatemp_exponent))
    }

    /// The token at `u` on the cumulated probabilities, best first.
    pub fn draw(&self, t: f64, u: f64) -> usize {
        let (order, probs) = (self.ranked(), self.probs(t));
        let mut cumulated = 0.0;
        for &i in &order {
            cumulated += probs[i];
            if u < cumulated {
                return i;
            }
        }
        order[order.len() - 1]
    }
}

/// Bias and penalties on f32 logits, by their definitions.
pub fn adjusted(logits: &[f32], params: &SamplerParams, history: &[u32]) -> Vec<f32> {
    let n = if params.repeat_last_n < 0 { history.len() } else { params.repeat_last_n as usize };
    let window = &history[history.len().saturating_sub(n)..];
    let mut out = logits.to_vec();
    for (id, l) in out.iter_mut().enumerate() {
        for bias in params.logit_bias.iter().filter(|b| b.0 as usize == id) {
            *l += bias.1;
        }
        let count = window.iter().filter(|&&t| t as usize == id).count();
        if count > 0 {
            *l = if *l > 0.0 { *l / params.repeat_penalty } else { *l * params.repeat_penalty };
            *l -= params.frequency_penalty * count as f32;
            *l -= params.presence_penalty;
        }
    }
    out
}

/// The whole chain (no DRY, no Mirostat): the token for the two random numbers.
pub fn chain(logits: &[f32], params: &SamplerParams, history: &[u32], draw: f32, coin: f32) -> u32 {
    let mut n = Naive::new(&adjusted(logits, params, history));
    if params.temperature <= 0.0 {
        return n.ranked()[0] as u32;
    }
    if params.top_n_sigma > 0.0 {
        n.top_n_sigma(params.top_n_sigma.into());
    }
    if params.top_k > 0 {
        n.top_k(params.top_k as usize);
    }
    if params.typical_p < 1.0 {
        n.typical(params.typical_p.into());
    }
    if params.top_p < 1.0 {
        n.top_p(params.top_p.into());
    }
    if params.min_p > 0.0 {
        n.min_p(params.min_p.into());
    }
    if coin < params.xtc_probability {
        n.xtc(params.xtc_threshold.into());
    }
    let t = n.temperature(params);
    if t <= 0.0 { n.ranked()[0] as u32 } else { n.draw(t, draw.into()) as u32 }
}
