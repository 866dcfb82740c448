//! Sampling parameters: names and defaults as users of llama.cpp know them, and the one place that decides
//! which values are clamped and which are refused.

use serde::{Deserialize, Serialize};

use super::error::SampleError;

/// Largest magnitude of an additive penalty or bias; larger ones are clamped to it. Far beyond any logit, and
/// far from overflow when multiplied by a token count.
const MAX_DELTA: f32 = 1.0e6;
/// Longest repeat that DRY tells apart (see [`crate::generate`]'s DRY rule).
pub(super) const DRY_MAX_LENGTH: u32 = 50;

/// How the next token is chosen. `Default` gives the engine's defaults; a model's own recommendations are laid
/// over them by [`SamplerParams::apply_generation_config`] or [`SamplerParams::apply_gguf_sampling`], the
/// user's over those.
///
/// The chain: bias, penalties, DRY, top-n-sigma, top-k, typical, top-p, min-p, XTC, temperature, draw. Each
/// field's comment says what [`SamplerParams::validate`] does with a value out of range; NaN is refused in all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SamplerParams {
    /// Divides the logits before the draw. 0 is greedy (whatever `dynatemp_range` and `mirostat` say), and so is
    /// any negative value (clamped to 0). Infinity is refused.
    pub temperature: f32,
    /// Keeps the `top_k` best tokens. 0 is off; negative is clamped to 0, above the vocabulary to its size.
    pub top_k: i32,
    /// Keeps the fewest tokens with this much probability, at least one. 1 is off. Clamped to `[0, 1]`.
    pub top_p: f32,
    /// Keeps tokens with at least this share of the best token's probability. 0 is off. Clamped to `[0, 1]`.
    pub min_p: f32,
    /// Locally typical sampling: mass to keep. 1 is off. Clamped to `[0, 1]`; 0 keeps one token.
    pub typical_p: f32,
    /// Keeps logits within this many standard deviations of the best. 0 or less is off (clamped to -1);
    /// infinity is refused.
    pub top_n_sigma: f32,
    /// Divides a seen token's positive logit, multiplies a negative one. 1 is off. Must be positive and finite;
    /// zero and negative values are refused.
    pub repeat_penalty: f32,
    /// How many last tokens the three penalties look at. 0 is off, -1 the whole context; below that clamped
    /// to -1.
    pub repeat_last_n: i32,
    /// Taken from a token's logit once per occurrence. Negative values reward. Infinity is refused; clamped to
    /// a magnitude of one million.
    pub frequency_penalty: f32,
    /// Taken from a token's logit once if it occurs. Limits as for `frequency_penalty`.
    pub presence_penalty: f32,
    /// Strength of DRY ("don't repeat yourself"). 0 is off. Negative and infinite values are refused; clamped
    /// to one million.
    pub dry_multiplier: f32,
    /// Growth of the DRY penalty per repeated token. Must be at least 1 and finite, else refused.
    pub dry_base: f32,
    /// Shortest repeat that DRY penalises. Clamped to `[1, 50]`.
    pub dry_allowed_length: u32,
    /// How many last tokens DRY looks at. 0 is off, -1 the whole context; below that clamped to -1.
    pub dry_penalty_last_n: i32,
    /// Texts that a DRY repeat does not reach across. Any text is taken; empty ones have no effect.
    pub dry_sequence_breakers: Vec<String>,
    /// Probability that XTC acts on a token. 0 is off. Clamped to `[0, 1]`.
    pub xtc_probability: f32,
    /// Probability from which XTC counts a token as a top choice. Clamped to `[0, 1]`.
    pub xtc_threshold: f32,
    /// Added to logits: `(token id, bias)`. Minus infinity bans the token (in JSON: `false`). Plus infinity and
    /// ids outside the vocabulary are refused; clamped to a magnitude of one million; entries of one id are
    /// summed, and the list is sorted by id.
    #[serde(with = "bias_pairs")]
    pub logit_bias: Vec<(u32, f32)>,
    /// Dynamic temperature: the temperature moves within plus and minus this with the entropy. 0 is off;
    /// negative is clamped to 0; infinity is refused.
    pub dynatemp_range: f32,
    /// Exponent of dynamic temperature on the normalised entropy. Negative and infinite values are refused.
    pub dynatemp_exponent: f32,
    /// 0 is off, 1 and 2 the two versions of Mirostat, which then stands in for top-n-sigma, top-k, typical,
    /// top-p, min-p and XTC. Others are refused.
    pub mirostat: u32,
    /// Mirostat's target surprise in bits. Must be positive and finite, else refused.
    pub mirostat_tau: f32,
    /// Mirostat's learning rate. Negative and infinite values are refused.
    pub mirostat_eta: f32,
    /// Key of the random numbers. Every value is valid; picking a fresh one per run is the front's business.
    pub seed: u64,
}

impl Default for SamplerParams {
    fn default() -> Self {
        Self {
            temperature: 0.8,
            top_k: 40,
            top_p: 0.95,
            min_p: 0.05,
            typical_p: 1.0,
            top_n_sigma: -1.0,
            repeat_penalty: 1.0,
            repeat_last_n: 64,
            frequency_penalty: 0.0,
            presence_penalty: 0.0,
            dry_multiplier: 0.0,
            dry_base: 1.75,
            dry_allowed_length: 2,
            dry_penalty_last_n: -1,
            dry_sequence_breakers: ["\n", ":", "\"", "*"].map(String::from).to_vec(),
            xtc_probability: 0.0,
            xtc_threshold: 0.1,
            logit_bias: Vec::new(),
            dynatemp_range: 0.0,
            dynatemp_exponent: 1.0,
            mirostat: 0,
            mirostat_tau: 5.0,
            mirostat_eta: 0.1,
            seed: 0,
        }
    }
}

impl SamplerParams {
    /// The defaults with temperature 0: always the most probable token.
    pub fn greedy() -> Self {
        Self { temperature: 0.0, ..Self::default() }
    }

    /// Whether the choice is the best token, whatever the random numbers say: temperature 0 or less, or one
    /// candidate. Bias, penalties and DRY still act before it.
    pub fn is_greedy(&self) -> bool {
        self.temperature <= 0.0 || (self.top_k == 1 && self.mirostat == 0)
    }

    /// Whether any of the repetition, frequency and presence penalties can change a logit.
    pub fn has_penalties(&self) -> bool {
        self.repeat_last_n != 0
            && (self.repeat_penalty != 1.0 || self.frequency_penalty != 0.0 || self.presence_penalty != 0.0)
    }

    /// Whether DRY can change a logit.
    pub fn has_dry(&self) -> bool {
        self.dry_multiplier > 0.0 && self.dry_penalty_last_n != 0
    }

    /// The parameters as the sampler uses them, for a vocabulary of `vocab` tokens: each field clamped or
    /// refused as its comment says. Validating twice changes nothing.
    pub fn validate(&self, vocab: u32) -> Result<SamplerParams, SampleError> {
        let mut p = self.clone();
        p.temperature = finite("temperature", p.temperature)?.max(0.0);
        p.top_k = p.top_k.clamp(0, i32::try_from(vocab).unwrap_or(i32::MAX));
        p.top_p = unit("top_p", p.top_p)?;
        p.min_p = unit("min_p", p.min_p)?;
        p.typical_p = unit("typical_p", p.typical_p)?;
        if finite("top_n_sigma", p.top_n_sigma)? <= 0.0 {
            p.top_n_sigma = -1.0;
        }
        at_least("repeat_penalty", p.repeat_penalty, f32::MIN_POSITIVE, "a positive number")?;
        p.repeat_last_n = p.repeat_last_n.max(-1);
        p.frequency_penalty = finite("frequency_penalty", p.frequency_penalty)?.clamp(-MAX_DELTA, MAX_DELTA);
        p.presence_penalty = finite("presence_penalty", p.presence_penalty)?.clamp(-MAX_DELTA, MAX_DELTA);
        p.dry_multiplier =
            at_least("dry_multiplier", p.dry_multiplier, 0.0, "a number of at least 0")?.min(MAX_DELTA);
        at_least("dry_base", p.dry_base, 1.0, "a number of at least 1")?;
        p.dry_allowed_length = p.dry_allowed_length.clamp(1, DRY_MAX_LENGTH);
        p.dry_penalty_last_n = p.dry_penalty_last_n.max(-1);
        p.xtc_probability = unit("xtc_probability", p.xtc_probability)?;
        p.xtc_threshold = unit("xtc_threshold", p.xtc_threshold)?;
        p.logit_bias = valid_bias(&p.logit_bias, vocab)?;
        p.dynatemp_range = finite("dynatemp_range", p.dynatemp_range)?.max(0.0);
        at_least("dynatemp_exponent", p.dynatemp_exponent, 0.0, "a number of at least 0")?;
        if p.mirostat > 2 {
            return Err(refused("mirostat", "0, 1 or 2", p.mirostat));
        }
        at_least("mirostat_tau", p.mirostat_tau, f32::MIN_POSITIVE, "a positive number")?;
        at_least("mirostat_eta", p.mirostat_eta, 0.0, "a number of at least 0")?;
        Ok(p)
    }
}

pub(super) fn refused(field: &str, expected: &'static str, found: impl ToString) -> SampleError {
    SampleError::Parameter { field: field.to_string(), expected, found: found.to_string() }
}

fn finite(field: &str, value: f32) -> Result<f32, SampleError> {
    if value.is_finite() { Ok(value) } else { Err(refused(field, "a finite number", value)) }
}

fn unit(field: &str, value: f32) -> Result<f32, SampleError> {
    if value.is_nan() { Err(refused(field, "a number", value)) } else { Ok(value.clamp(0.0, 1.0)) }
}

fn at_least(field: &str, value: f32, low: f32, expected: &'static str) -> Result<f32, SampleError> {
    if value.is_finite() && value >= low { Ok(value) } else { Err(refused(field, expected, value)) }
}

fn valid_bias(bias: &[(u32, f32)], vocab: u32) -> Result<Vec<(u32, f32)>, SampleError> {
    let mut merged = std::collections::BTreeMap::new();
    for &(id, value) in bias {
        if id >= vocab {
            return Err(refused("logit_bias", "token ids inside the vocabulary", id));
        }
        if value.is_nan() || value == f32::INFINITY {
            let field = format!("logit_bias[{id}]");
            return Err(refused(&field, "a finite number, or minus infinity", value));
        }
        *merged.entry(id).or_insert(0.0f32) += value;
    }
    let clamp = |v: f32| if v == f32::NEG_INFINITY { v } else { v.clamp(-MAX_DELTA, MAX_DELTA) };
    Ok(merged.into_iter().map(|(id, v)| (id, clamp(v))).collect())
}

/// JSON has no infinity, so a ban is written `[id, false]`, as llama.cpp's server takes it.
mod bias_pairs {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Bias {
        Ban(bool),
        Add(f32),
    }

    pub fn serialize<S: Serializer>(pairs: &[(u32, f32)], s: S) -> Result<S::Ok, S::Error> {
        let bias = |v| if v == f32::NEG_INFINITY { Bias::Ban(false) } else { Bias::Add(v) };
        s.collect_seq(pairs.iter().map(|&(id, v)| (id, bias(v))))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<(u32, f32)>, D::Error> {
        let pairs = Vec::<(u32, Bias)>::deserialize(d)?;
        let value = |(id, bias)| match bias {
            Bias::Add(v) => Ok((id, v)),
            Bias::Ban(false) => Ok((id, f32::NEG_INFINITY)),
            Bias::Ban(true) => Err(D::Error::custom("logit_bias takes numbers, or false to ban a token")),
        };
        pairs.into_iter().map(value).collect()
    }
}
