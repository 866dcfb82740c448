//! The sampler chain on the CPU: bias, penalties, DRY, then top-n-sigma, top-k, typical, top-p, min-p, XTC,
//! temperature, draw. Logits are adjusted in f32, exactly as the device does it; everything from the first
//! softmax on is f64.

use super::breakers::Breakers;
use super::dry::Dry;
use super::error::SampleError;
use super::filters::{self, Cand};
use super::history::History;
use super::mirostat;
use super::params::SamplerParams;
use super::rng;

/// Candidates that the device's selection lists, best first.
pub const DEVICE_LIST: usize = 256;

/// What the model said about the next token.
#[derive(Debug, Clone, Copy)]
pub enum Candidates<'a> {
    /// One raw logit per token of the vocabulary; bias, penalties and DRY are applied here.
    Full(&'a [f32]),
    /// As [`Candidates::Full`], with bias, penalties and DRY already applied by the device.
    Adjusted(&'a [f32]),
    /// The best candidates `(id, logit)`, sorted by logit descending and id ascending, with bias, penalties and
    /// DRY already applied by the device.
    Top {
        /// The list. No token outside it comes before one inside it.
        list: &'a [(u32, f32)],
        /// Natural logarithm of the sum of `exp` of all the vocabulary's logits.
        logsumexp: f64,
    },
}

/// What the device needs to apply the three penalties before its selection.
#[derive(Debug, Clone, PartialEq)]
pub struct PenaltyList {
    /// Divides a seen token's positive logit, multiplies a negative one.
    pub repeat: f32,
    /// Taken off once per occurrence.
    pub frequency: f32,
    /// Taken off once.
    pub presence: f32,
    /// Seen tokens `(id, occurrences in the window)`, ids distinct and ascending. Empty when the penalties are
    /// off.
    pub tokens: Vec<(u32, u32)>,
}

/// Chooses tokens for one sequence. Holds what depends on the sequence: the accepted tokens (prompt included,
/// where the caller accepts it), DRY's cuts and Mirostat's `mu`.
///
/// [`Sampler::sample`] changes none of that; [`Sampler::accept`] and [`Sampler::truncate`] do. So sampling
/// twice at one position gives one answer, and after a rollback all is as if the dropped tokens had never been.
#[derive(Debug, Clone)]
pub struct Sampler {
    params: SamplerParams,
    vocab: u32,
    history: History,
    dry: Dry,
    /// Mirostat's `mu` after each accepted token; empty when Mirostat is off.
    mus: Vec<f64>,
    /// What `mu` becomes if the token sampled last is accepted: `(id, mu)`.
    pending: Option<(u32, f64)>,
    logits: Vec<f32>,
    cands: Vec<Cand>,
    scratch: Vec<f64>,
}

impl Sampler {
    /// A sampler for a vocabulary of `vocab` tokens. The parameters are validated; `breakers` are built by the
    /// caller from [`SamplerParams::dry_sequence_breakers`], because only the tokenizer knows the tokens' texts.
    pub fn new(params: SamplerParams, vocab: u32, breakers: Breakers) -> Result<Self, SampleError> {
        let params = params.validate(vocab)?;
        Ok(Self {
            history: History::new(params.repeat_last_n),
            dry: Dry::new(breakers),
            params,
            vocab,
            mus: Vec::new(),
            pending: None,
            logits: Vec::new(),
            cands: Vec::new(),
            scratch: Vec::new(),
        })
    }

    /// The parameters in use, after validation.
    pub fn params(&self) -> &SamplerParams {
        &self.params
    }

    /// The accepted tokens.
    pub fn history(&self) -> &[u32] {
        self.history.tokens()
    }

    /// Appends a token to the sequence: one just chosen, or one of the prompt.
    pub fn accept(&mut self, id: u32) {
        if self.params.mirostat != 0 {
            // A token that was forced instead of the sampled one teaches the controller nothing.
            let mu = self.pending.filter(|p| p.0 == id).map_or_else(|| self.mu(), |p| p.1);
            self.mus.push(mu);
        }
        self.pending = None;
        self.history.push(id);
        if self.params.has_dry() {
            self.dry.pushed(self.history.tokens());
        }
    }

    /// Rolls back to the first `n` accepted tokens.
    pub fn truncate(&mut self, n: usize) {
        self.history.truncate(n);
        self.dry.truncate(n);
        self.mus.truncate(n);
        self.pending = None;
    }

    /// Whether a list of [`DEVICE_LIST`] candidates can never do, so that all logits should be read at once.
    /// Where this is false, [`Sampler::sample`] may still, rarely, answer [`SampleError::NeedsFullLogits`]:
    /// with top-k off, the list may hold less mass than top-p asks for.
    pub fn needs_full_logits(&self) -> bool {
        let p = &self.params;
        if p.is_greedy() || self.vocab as usize <= DEVICE_LIST {
            return false;
        }
        let k = self.top_k();
        p.mirostat != 0
            || p.top_n_sigma > 0.0
            || k > DEVICE_LIST
            || (k == 0 && (p.typical_p < 1.0 || (p.top_p >= 1.0 && p.min_p <= 0.0)))
    }

    /// The penalties for the next token, for the device.
    pub fn penalty_list(&self) -> PenaltyList {
        let p = &self.params;
        let on = p.has_penalties();
        PenaltyList {
            repeat: p.repeat_penalty,
            frequency: p.frequency_penalty,
            presence: p.presence_penalty,
            tokens: if on {
                self.history.counts().filter(|t| t.0 < self.vocab).collect()
            } else {
                Vec::new()
            },
        }
    }

    /// The logit bias, ids distinct and ascending. The device adds it before the penalties.
    pub fn bias_list(&self) -> &[(u32, f32)] {
        &self.params.logit_bias
    }

    /// DRY's penalties for the next token, `(id, negative delta)`, ids distinct and ascending. The device adds
    /// them after the penalties.
    pub fn dry_list(&self) -> Vec<(u32, f32)> {
        if !self.params.has_dry() {
            return Vec::new();
        }
        let mut list = self.dry.deltas(self.history.tokens(), &self.params);
        list.retain(|d| d.0 < self.vocab);
        list
    }

    /// Chooses the token for `position`, its absolute position in the sequence. Depends on the accepted tokens,
    /// the candidates, the seed and the position, and on nothing else.
    pub fn sample(&mut self, candidates: Candidates<'_>, position: u32) -> Result<u32, SampleError> {
        self.pending = None;
        let mut cands = std::mem::take(&mut self.cands);
        let result =
            self.gather(candidates, &mut cands).and_then(|total| self.choose(&mut cands, total, position));
        self.cands = cands;
        result
    }

    /// The effective top-k: 0 when it is off or keeps all.
    fn top_k(&self) -> usize {
        let k = usize::try_from(self.params.top_k).unwrap_or(0);
        if k >= self.vocab as usize { 0 } else { k }
    }

    fn mu(&self) -> f64 {
        self.mus.last().copied().unwrap_or(2.0 * f64::from(self.params.mirostat_tau))
    }

    /// Fills `cands` with the checked, finite candidates. For a list shorter than the vocabulary, returns the
    /// sum of `exp(l - l_max)` over the vocabulary and the list's length.
    fn gather(
        &mut self,
        candidates: Candidates<'_>,
        cands: &mut Vec<Cand>,
    ) -> Result<Option<(f64, usize)>, SampleError> {
        cands.clear();
        match candidates {
            Candidates::Full(logits) => {
                self.check_length(logits)?;
                let mut own = std::mem::take(&mut self.logits);
                own.clear();
                own.extend_from_slice(logits);
                self.adjust(&mut own);
                let pairs = own.iter().enumerate().map(|(id, &l)| (id as u32, l));
                let result = fill(cands, pairs);
                self.logits = own;
                result.map(|()| None)
            }
            Candidates::Adjusted(logits) => {
                self.check_length(logits)?;
                fill(cands, logits.iter().enumerate().map(|(id, &l)| (id as u32, l))).map(|()| None)
            }
            Candidates::Top { list, logsumexp } => {
                if let Some(&(id, _)) = list.iter().find(|c| c.0 >= self.vocab) {
                    return Err(SampleError::IdOutOfRange { id, vocab: self.vocab });
                }
                fill(cands, list.iter().copied())?;
                if logsumexp.is_nan() || logsumexp == f64::INFINITY {
                    return Err(SampleError::BadTotal);
                }
                // A list with a -infinity at its end has all the tokens that can be chosen.
                if list.len() >= self.vocab as usize || cands.len() < list.len() {
                    return Ok(None);
                }
                let max = cands.iter().map(|c| c.1).fold(f32::NEG_INFINITY, f32::max);
                Ok(Some(((logsumexp - f64::from(max)).exp(), list.len())))
            }
        }
    }

    fn check_length(&self, logits: &[f32]) -> Result<(), SampleError> {
        if logits.len() == self.vocab as usize {
            Ok(())
        } else {
            Err(SampleError::VocabMismatch { expected: self.vocab as usize, found: logits.len() })
        }
    }

    /// Bias, penalties, DRY. All ids were checked against the vocabulary, `logits` has its length.
    fn adjust(&self, logits: &mut [f32]) {
        for &(id, bias) in self.bias_list() {
            if let Some(l) = logits.get_mut(id as usize) {
                *l += bias;
            }
        }
        let penalties = self.penalty_list();
        for &(id, count) in &penalties.tokens {
            if let Some(l) = logits.get_mut(id as usize) {
                *l = penalties.apply(*l, count);
            }
        }
        for (id, delta) in self.dry_list() {
            if let Some(l) = logits.get_mut(id as usize) {
                *l += delta;
            }
        }
    }

    fn choose(
        &mut self,
        cands: &mut Vec<Cand>,
        total: Option<(f64, usize)>,
        position: u32,
    ) -> Result<u32, SampleError> {
        if self.params.is_greedy() {
            return cands.iter().min_by(|a, b| filters::by_rank(a, b)).map(|c| c.0).ok_or(SampleError::Empty);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let result = if self.params.mirostat != 0 {
            self.choose_mirostat(cands, total, position, &mut scratch)
        } else {
            self.choose_chain(cands, total, position, &mut scratch)
        };
        self.scratch = scratch;
        result
    }

    fn choose_chain(
        &self,
        cands: &mut Vec<Cand>,
        total: Option<(f64, usize)>,
        position: u32,
        scratch: &mut Vec<f64>,
    ) -> Result<u32, SampleError> {
        let p = &self.params;
        let k = self.top_k();
        // Only a list that top-k cuts is the whole truth for the samplers after it.
        let open = total.filter(|&(_, listed)| k == 0 || k > listed);
        if let Some((_, listed)) = total
            && (p.top_n_sigma > 0.0 || (open.is_some() && (k != 0 || p.typical_p < 1.0)))
        {
            return Err(SampleError::NeedsFullLogits { listed });
        }
        filters::top_n_sigma(cands, p.top_n_sigma);
        filters::sort_top(cands, k);
        filters::typical(cands, p.typical_p, scratch);
        let reached = filters::top_p(cands, p.top_p, open.map(|o| o.0), scratch);
        let cut = filters::min_p(cands, p.min_p);
        if let Some((_, listed)) = open
            && !reached
            && !cut
        {
            return Err(SampleError::NeedsFullLogits { listed });
        }
        if p.xtc_probability > 0.0 && rng::uniform(p.seed, position, rng::USE_XTC) < p.xtc_probability {
            filters::xtc(cands, p.xtc_threshold, scratch);
        }
        let t = self.temperature(cands, scratch);
        self.draw(cands, t, position, scratch).map(|i| cands[i].0)
    }

    fn choose_mirostat(
        &mut self,
        cands: &mut Vec<Cand>,
        total: Option<(f64, usize)>,
        position: u32,
        scratch: &mut Vec<f64>,
    ) -> Result<u32, SampleError> {
        if let Some((_, listed)) = total {
            return Err(SampleError::NeedsFullLogits { listed });
        }
        filters::sort_top(cands, 0);
        let t = self.temperature(cands, scratch);
        if t <= 0.0 {
            return cands.first().map(|c| c.0).ok_or(SampleError::Empty);
        }
        let sum = filters::weights(cands, t, scratch);
        scratch.iter_mut().for_each(|w| *w /= sum);
        let keep = mirostat::keep(self.params.mirostat, cands, scratch, t, self.mu());
        scratch.truncate(keep);
        let u = rng::uniform(self.params.seed, position, rng::USE_DRAW);
        let i = filters::pick(scratch, scratch.iter().sum(), u).ok_or(SampleError::Empty)?;
        let (tau, eta) = (f64::from(self.params.mirostat_tau), f64::from(self.params.mirostat_eta));
        self.pending = Some((cands[i].0, mirostat::next_mu(self.mu(), scratch[i], tau, eta)));
        Ok(cands[i].0)
    }

    fn temperature(&self, cands: &[Cand], scratch: &mut Vec<f64>) -> f64 {
        let p = &self.params;
        filters::effective_temperature(cands, p.temperature, p.dynatemp_range, p.dynatemp_exponent, scratch)
    }

    /// Index of the drawn candidate of a sorted list.
    fn draw(
        &self,
        cands: &[Cand],
        t: f64,
        position: u32,
        scratch: &mut Vec<f64>,
    ) -> Result<usize, SampleError> {
        if cands.len() <= 1 || t <= 0.0 {
            return if cands.is_empty() { Err(SampleError::Empty) } else { Ok(0) };
        }
        let total = filters::weights(cands, t, scratch);
        let u = rng::uniform(self.params.seed, position, rng::USE_DRAW);
        filters::pick(scratch, total, u).ok_or(SampleError::Empty)
    }
}

/// Keeps the finite candidates; NaN and plus infinity are errors, as is a list that has nothing else.
fn fill(cands: &mut Vec<Cand>, pairs: impl Iterator<Item = Cand> + Clone) -> Result<(), SampleError> {
    if let Some((id, _)) = pairs.clone().filter(|c| c.1.is_nan()).min_by_key(|c| c.0) {
        return Err(SampleError::Nan { id });
    }
    if let Some((id, _)) = pairs.clone().filter(|c| c.1 == f32::INFINITY).min_by_key(|c| c.0) {
        return Err(SampleError::Infinite { id });
    }
    cands.extend(pairs.filter(|c| c.1 != f32::NEG_INFINITY));
    if cands.is_empty() { Err(SampleError::Empty) } else { Ok(()) }
}
