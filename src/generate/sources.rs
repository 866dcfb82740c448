//! Where a model's own sampling recommendations come from: Hugging Face's `generation_config.json` and the
//! `general.sampling.*` keys of a GGUF file. A failed call leaves the parameters as they were.

use serde_json::Value;

use super::error::SampleError;
use super::params::{SamplerParams, refused};

/// The numeric GGUF keys that [`SamplerParams::apply_gguf_sampling`] understands.
pub const GGUF_SAMPLING_KEYS: [&str; 11] = [
    "general.sampling.temp",
    "general.sampling.top_k",
    "general.sampling.top_p",
    "general.sampling.min_p",
    "general.sampling.xtc_probability",
    "general.sampling.xtc_threshold",
    "general.sampling.penalty_last_n",
    "general.sampling.penalty_repeat",
    "general.sampling.mirostat",
    "general.sampling.mirostat_tau",
    "general.sampling.mirostat_eta",
];

impl SamplerParams {
    /// Takes over what a `generation_config.json` says: temperature, top_k, top_p, min_p, typical_p,
    /// repetition_penalty; `"do_sample": false` sets temperature 0 whatever the temperature given. Absent and
    /// null fields change nothing, other fields are not looked at. The penalty's window stays as it was
    /// (Hugging Face's is the whole context; set `repeat_last_n` to -1 for that).
    pub fn apply_generation_config(&mut self, config: &Value) -> Result<(), SampleError> {
        let Some(object) = config.as_object() else {
            return Err(refused("generation_config", "a JSON object", config));
        };
        let number = |key: &str| match object.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(v) => v.as_f64().map(Some).ok_or_else(|| refused(key, "a number", v)),
        };
        let mut p = self.clone();
        set(&mut p.temperature, number("temperature")?);
        if let Some(k) = number("top_k")? {
            p.top_k = integer("top_k", k)?;
        }
        set(&mut p.top_p, number("top_p")?);
        set(&mut p.min_p, number("min_p")?);
        set(&mut p.typical_p, number("typical_p")?);
        set(&mut p.repeat_penalty, number("repetition_penalty")?);
        match object.get("do_sample") {
            None | Some(Value::Null | Value::Bool(true)) => {}
            Some(Value::Bool(false)) => p.temperature = 0.0,
            Some(v) => return Err(refused("do_sample", "true or false", v)),
        }
        *self = p;
        Ok(())
    }

    /// Takes over GGUF metadata: `(key, value)` pairs, of which those in [`GGUF_SAMPLING_KEYS`] are used and
    /// the rest passed over. (The string `general.sampling.sequence` is not numeric; the order is fixed here.)
    pub fn apply_gguf_sampling<'a>(
        &mut self,
        pairs: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> Result<(), SampleError> {
        let mut p = self.clone();
        for (key, value) in pairs {
            match key.strip_prefix("general.sampling.").unwrap_or_default() {
                "temp" => p.temperature = value as f32,
                "top_k" => p.top_k = integer(key, value)?,
                "top_p" => p.top_p = value as f32,
                "min_p" => p.min_p = value as f32,
                "xtc_probability" => p.xtc_probability = value as f32,
                "xtc_threshold" => p.xtc_threshold = value as f32,
                "penalty_last_n" => p.repeat_last_n = integer(key, value)?,
                "penalty_repeat" => p.repeat_penalty = value as f32,
                "mirostat" => {
                    p.mirostat =
                        u32::try_from(integer(key, value)?).map_err(|_| refused(key, "0, 1 or 2", value))?;
                }
                "mirostat_tau" => p.mirostat_tau = value as f32,
                "mirostat_eta" => p.mirostat_eta = value as f32,
                _ => {}
            }
        }
        *self = p;
        Ok(())
    }
}

fn set(field: &mut f32, value: Option<f64>) {
    if let Some(v) = value {
        *field = v as f32;
    }
}

/// A whole number; beyond i32 it saturates, which `validate` then treats like any other large value.
fn integer(field: &str, value: f64) -> Result<i32, SampleError> {
    if value.is_finite() && value.fract() == 0.0 {
        Ok(value as i32)
    } else {
        Err(refused(field, "a whole number", value))
    }
}
