//! Sampling flags, named as llama.cpp names them, and the same names for `/set`.

use crate::error::{CliError, Result};
use clap::Args;
use golay::generate::SamplerParams;

/// Flags that override what the model recommends.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Sampling (what is not given is the model's own recommendation)")]
pub struct SamplerArgs {
    /// Seed [default: random]
    #[arg(short, long, value_name = "S")]
    pub seed: Option<u64>,
    /// Temperature; 0 takes the most probable token
    #[arg(long, alias = "temperature", value_name = "T")]
    temp: Option<f32>,
    /// Keep the K best tokens (0: all)
    #[arg(long, value_name = "K")]
    top_k: Option<i32>,
    /// Keep the fewest tokens with this probability in all (1: off)
    #[arg(long, value_name = "P")]
    top_p: Option<f32>,
    /// Keep tokens with this share of the best one's probability (0: off)
    #[arg(long, value_name = "P")]
    min_p: Option<f32>,
    /// Locally typical sampling (1: off)
    #[arg(long, alias = "typical-p", value_name = "P")]
    typical: Option<f32>,
    /// Keep logits within N standard deviations of the best (-1: off)
    #[arg(long, alias = "top-nsigma", value_name = "N")]
    top_n_sigma: Option<f32>,
    /// Penalty of tokens that were there (1: off)
    #[arg(long, value_name = "X")]
    repeat_penalty: Option<f32>,
    /// How many last tokens the penalties look at (0: off, -1: all)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(-1..))]
    repeat_last_n: Option<i32>,
    /// Penalty of a token that occurs at all (0: off)
    #[arg(long, value_name = "X")]
    presence_penalty: Option<f32>,
    /// Penalty per occurrence (0: off)
    #[arg(long, value_name = "X")]
    frequency_penalty: Option<f32>,
    /// DRY: strength (0: off)
    #[arg(long, value_name = "X")]
    dry_multiplier: Option<f32>,
    /// DRY: growth per repeated token
    #[arg(long, value_name = "X")]
    dry_base: Option<f32>,
    /// DRY: shortest repeat that is penalised
    #[arg(long, value_name = "N")]
    dry_allowed_length: Option<u32>,
    /// DRY: how many last tokens it looks at (0: off, -1: all)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(-1..))]
    dry_penalty_last_n: Option<i32>,
    /// DRY: text that a repeat does not cross (repeatable; replaces the default ones; `none` for none)
    #[arg(long, value_name = "TEXT")]
    dry_sequence_breaker: Vec<String>,
    /// XTC: how often (0: off)
    #[arg(long, value_name = "P")]
    xtc_probability: Option<f32>,
    /// XTC: probability from which a token is a top choice
    #[arg(long, value_name = "P")]
    xtc_threshold: Option<f32>,
    /// Dynamic temperature: range (0: off)
    #[arg(long, value_name = "X")]
    dynatemp_range: Option<f32>,
    /// Dynamic temperature: exponent
    #[arg(long, value_name = "X")]
    dynatemp_exp: Option<f32>,
    /// Mirostat version (0: off)
    #[arg(long, value_name = "0|1|2", value_parser = clap::value_parser!(u32).range(0..=2))]
    mirostat: Option<u32>,
    /// Mirostat: target surprise in bits
    #[arg(long, value_name = "X")]
    mirostat_ent: Option<f32>,
    /// Mirostat: learning rate
    #[arg(long, value_name = "X")]
    mirostat_lr: Option<f32>,
    /// Add to a token's logit: ID+1.5, ID-1.5, ID=1.5, or ID-inf to ban it (repeatable)
    #[arg(short, long, value_name = "ID+BIAS", value_parser = parse_bias)]
    logit_bias: Vec<(u32, f32)>,
}

/// `ID+1.5`, `ID-1.5`, `ID-inf`, `ID=VALUE`
fn parse_bias(text: &str) -> std::result::Result<(u32, f32), String> {
    let wrong = || format!("{text:?}: expected ID+1.5, ID-1.5, ID=1.5 or ID-inf");
    let at = text.find(['+', '-', '=']).ok_or_else(wrong)?;
    let (id, bias) = text.split_at(at);
    let bias = bias.strip_prefix('=').unwrap_or(bias);
    let id = id.trim().parse().map_err(|_| wrong())?;
    let bias: f32 = bias.trim().parse().map_err(|_| wrong())?;
    if bias.is_nan() || bias == f32::INFINITY { Err(wrong()) } else { Ok((id, bias)) }
}

fn set<T: Copy>(field: &mut T, value: Option<T>) {
    if let Some(v) = value {
        *field = v;
    }
}

impl SamplerArgs {
    /// Lays the flags over `base`. Without a seed it gets a random one.
    pub fn over(&self, base: &SamplerParams) -> SamplerParams {
        let mut p = base.clone();
        set(&mut p.temperature, self.temp);
        set(&mut p.top_k, self.top_k);
        set(&mut p.top_p, self.top_p);
        set(&mut p.min_p, self.min_p);
        set(&mut p.typical_p, self.typical);
        set(&mut p.top_n_sigma, self.top_n_sigma);
        set(&mut p.repeat_penalty, self.repeat_penalty);
        set(&mut p.repeat_last_n, self.repeat_last_n);
        set(&mut p.presence_penalty, self.presence_penalty);
        set(&mut p.frequency_penalty, self.frequency_penalty);
        set(&mut p.dry_multiplier, self.dry_multiplier);
        set(&mut p.dry_base, self.dry_base);
        set(&mut p.dry_allowed_length, self.dry_allowed_length);
        set(&mut p.dry_penalty_last_n, self.dry_penalty_last_n);
        if !self.dry_sequence_breaker.is_empty() {
            p.dry_sequence_breakers =
                self.dry_sequence_breaker.iter().filter(|b| *b != "none").cloned().collect();
        }
        set(&mut p.xtc_probability, self.xtc_probability);
        set(&mut p.xtc_threshold, self.xtc_threshold);
        set(&mut p.dynatemp_range, self.dynatemp_range);
        set(&mut p.dynatemp_exponent, self.dynatemp_exp);
        set(&mut p.mirostat, self.mirostat);
        set(&mut p.mirostat_tau, self.mirostat_ent);
        set(&mut p.mirostat_eta, self.mirostat_lr);
        p.logit_bias.extend_from_slice(&self.logit_bias);
        p.seed = self.seed.unwrap_or_else(random_seed);
        p
    }

    /// Refuses values that no model takes, before one is loaded.
    pub fn check(&self) -> Result<()> {
        let p = self.over(&SamplerParams::default());
        p.validate(u32::MAX).map(|_| ()).map_err(|e| CliError::usage(e.to_string()))
    }
}

/// A seed of 32 bits, which every JSON reader takes.
pub fn random_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let state = std::collections::hash_map::RandomState::new();
    u64::from(state.build_hasher().finish() as u32)
}

/// Short names of fields.
const NAMES: &[(&str, &str)] = &[
    ("temp", "temperature"),
    ("typical", "typical_p"),
    ("dynatemp_exp", "dynatemp_exponent"),
    ("mirostat_ent", "mirostat_tau"),
    ("mirostat_lr", "mirostat_eta"),
];

/// Sets one field by its name, as `/set` does. The message of an error says what would do.
pub fn set_by_name(
    p: &SamplerParams,
    name: &str,
    value: &str,
    vocab: u32,
) -> std::result::Result<SamplerParams, String> {
    use serde_json::Value;
    let name = name.trim_start_matches('-').replace('-', "_").to_lowercase();
    let field = NAMES.iter().find(|n| n.0 == name).map_or(name.as_str(), |n| n.1);
    if field == "logit_bias" {
        let mut p = p.clone();
        p.logit_bias.push(parse_bias(value)?);
        return p.validate(vocab).map_err(|e| e.to_string());
    }
    let mut all = serde_json::to_value(p).map_err(|e| e.to_string())?;
    let Some(slot) = all.get_mut(field) else {
        let known: Vec<String> = all.as_object().map(|o| o.keys().cloned().collect()).unwrap_or_default();
        return Err(format!("no parameter {name:?}; there are {}, n_predict, stop", known.join(", ")));
    };
    let whole = slot.is_u64() || slot.is_i64();
    let wrong = || format!("{field}: {value:?} is not a {}number", if whole { "whole " } else { "" });
    *slot = match slot {
        Value::Array(_) => value.split_whitespace().map(Value::from).collect(),
        _ if whole => value
            .parse::<i64>()
            .map(Value::from)
            .or_else(|_| value.parse::<u64>().map(Value::from))
            .map_err(|_| wrong())?,
        _ => Value::from(value.parse::<f64>().map_err(|_| wrong())?),
    };
    if field.ends_with("last_n") && slot.as_i64().is_some_and(|n| n < -1) {
        return Err(format!("{field}: {value} is less than -1, which is the whole context"));
    }
    let p: SamplerParams = serde_json::from_value(all).map_err(|_| wrong())?;
    p.validate(vocab).map_err(|e| e.to_string())
}

/// Every field and its value as a person would write them.
pub fn shown(p: &SamplerParams) -> std::result::Result<Vec<(String, String)>, String> {
    let all = serde_json::to_value(p).map_err(|e| e.to_string())?;
    let one = |(name, value): (&String, &serde_json::Value)| {
        let text = match (name.as_str(), value) {
            ("logit_bias", _) if p.logit_bias.is_empty() => "none".into(),
            ("logit_bias", _) => {
                let all: Vec<String> = p.logit_bias.iter().map(|(id, v)| format!("{id}{v:+}")).collect();
                all.join(" ")
            }
            // In single precision, as it was given: 0.95, not the nearest double.
            (_, v) if v.is_f64() => v.as_f64().map_or_else(String::new, |v| (v as f32).to_string()),
            (_, v) => v.to_string(),
        };
        (name.clone(), text)
    };
    Ok(all.as_object().into_iter().flatten().map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_as_they_were_given() {
        let p = SamplerParams {
            top_p: 0.95,
            logit_bias: vec![(3, f32::NEG_INFINITY), (5, 0.1)],
            ..Default::default()
        };
        let all = shown(&p).unwrap();
        let of = |name: &str| all.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        assert_eq!(
            (of("top_p"), of("top_k"), of("logit_bias")),
            (Some("0.95"), Some("40"), Some("3-inf 5+0.1"))
        );
    }

    #[test]
    fn biases_and_names() {
        assert_eq!(parse_bias("12+1.5"), Ok((12, 1.5)));
        assert_eq!(parse_bias("12-1.5"), Ok((12, -1.5)));
        assert_eq!(parse_bias("12=-3"), Ok((12, -3.0)));
        assert_eq!(parse_bias("12-inf"), Ok((12, f32::NEG_INFINITY)));
        for bad in ["12", "+1", "12+inf", "12+nan", "x+1"] {
            assert!(parse_bias(bad).is_err(), "{bad}");
        }
        let p = SamplerParams::default();
        assert_eq!(set_by_name(&p, "temp", "0.5", 10).map(|p| p.temperature), Ok(0.5));
        assert_eq!(set_by_name(&p, "top-k", "3", 10).map(|p| p.top_k), Ok(3));
        assert_eq!(set_by_name(&p, "seed", "18446744073709551615", 10).map(|p| p.seed), Ok(u64::MAX));
        assert_eq!(set_by_name(&p, "logit_bias", "3-inf", 10).map(|p| p.logit_bias.len()), Ok(1));
        for (name, value) in [
            ("nothing", "1"),
            ("temp", "x"),
            ("top_k", "1.5"),
            ("dry_base", "0"),
            ("logit_bias", "99+1"),
            ("repeat_last_n", "-2"),
            ("dry_penalty_last_n", "-9"),
        ] {
            assert!(set_by_name(&p, name, value, 10).is_err(), "{name} {value}");
        }
    }
}
