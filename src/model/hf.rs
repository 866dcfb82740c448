//! `config.json` of Hugging Face checkpoints, in the keys of transformers 5 and of the years before.

use super::config::{Config, Family, RopeConfig, Scaling};
use super::error::{ModelError, Result};
use crate::format::json_f64;
use serde_json::Value;

struct Keys<'a> {
    arch: String,
    map: &'a Value,
}

impl Keys<'_> {
    fn get(&self, key: &str) -> Option<&Value> {
        self.map.get(key).filter(|v| !v.is_null())
    }

    fn wrong(&self, key: &str, v: &Value, expected: &str) -> ModelError {
        ModelError::Value {
            arch: self.arch.clone(),
            key: key.into(),
            found: v.to_string(),
            expected: expected.into(),
        }
    }

    fn u32(&self, key: &str) -> Result<Option<u32>> {
        let Some(v) = self.get(key) else { return Ok(None) };
        let n = v.as_u64().and_then(|n| u32::try_from(n).ok());
        n.map(Some).ok_or_else(|| self.wrong(key, v, "a whole number"))
    }

    fn need(&self, key: &str) -> Result<u32> {
        self.u32(key)?.ok_or_else(|| ModelError::Missing { arch: self.arch.clone(), key: key.into() })
    }

    fn f64(&self, key: &str) -> Result<Option<f64>> {
        let Some(v) = self.get(key) else { return Ok(None) };
        json_f64(v).map(Some).ok_or_else(|| self.wrong(key, v, "a number"))
    }

    /// A soft cap: null means none, an absent key the family's default.
    fn cap(&self, key: &str, default: f64) -> Result<f64> {
        let absent = self.map.get(key).is_none();
        Ok(self.f64(key)?.unwrap_or(if absent { default } else { 0.0 }))
    }

    fn bool(&self, key: &str) -> Result<Option<bool>> {
        let Some(v) = self.get(key) else { return Ok(None) };
        v.as_bool().map(Some).ok_or_else(|| self.wrong(key, v, "true or false"))
    }

    fn str(&self, key: &str) -> Result<Option<&str>> {
        let Some(v) = self.get(key) else { return Ok(None) };
        v.as_str().map(Some).ok_or_else(|| self.wrong(key, v, "a string"))
    }

    /// A value that must be an object when it is there.
    fn object(&self, key: &str) -> Result<Option<&Value>> {
        let Some(v) = self.get(key) else { return Ok(None) };
        if v.is_object() { Ok(Some(v)) } else { Err(self.wrong(key, v, "an object")) }
    }

    fn list(&self, key: &str, n: u32) -> Result<Option<&Vec<Value>>> {
        let Some(v) = self.get(key) else { return Ok(None) };
        let l = v.as_array().ok_or_else(|| self.wrong(key, v, "a list"))?;
        if l.len() < n as usize {
            return Err(self.wrong(key, &Value::from(l.len()), &format!("{n} entries")));
        }
        Ok(Some(l))
    }
}

/// Reads a configuration. Multimodal wrappers are opened (`text_config`).
///
/// # Errors
/// Unsupported architectures and keys that are missing or cannot be.
pub fn read(config: &Value) -> Result<Config> {
    let outer = config.get("model_type").and_then(Value::as_str).unwrap_or("(none)");
    let text = config.get("text_config").filter(|t| t.is_object());
    let map = text.unwrap_or(config);
    let model_type = map.get("model_type").and_then(Value::as_str).unwrap_or(outer);
    let family = Family::from_hf(model_type)?;
    let k = Keys { arch: model_type.to_owned(), map };
    refuse_unknown_parts(&k)?;
    let layers = k.need("num_hidden_layers")?;
    if layers > 1024 {
        return Err(k.wrong("num_hidden_layers", &Value::from(layers), "at most 1024"));
    }
    let hidden = k.need("hidden_size")?;
    let heads = k.need("num_attention_heads")?;
    let kv = k.u32("num_key_value_heads")?.unwrap_or(heads);
    let head_dim = match k.u32("head_dim")? {
        Some(d) => d,
        None if family.is_gemma() => 256,
        None => hidden.checked_div(heads).unwrap_or(0),
    };
    let context = match k.u32("max_position_embeddings")? {
        Some(c) => c,
        None => {
            log::warn!("config.json has no max_position_embeddings: 2048 is assumed");
            2048
        }
    };
    let act = match k.str("hidden_activation")? {
        Some(act) => act,
        None => k.str("hidden_act")?.unwrap_or("silu"),
    };
    let gelu = match act {
        "silu" | "swish" => false,
        "gelu_pytorch_tanh" | "gelu_new" | "gelu_tanh" => true,
        // Gemma's early configurations say `gelu` and mean the tanh form.
        "gelu" if family.is_gemma() => true,
        other => {
            return Err(k.wrong("hidden_act", &Value::from(other), "silu or gelu_pytorch_tanh"));
        }
    };
    let windows = windows(&k, family, layers)?;
    let rope = rope(&k, family, head_dim, context, "full_attention")?;
    let rope_local = match family {
        Family::Gemma3 => Some(local_rope(&k, head_dim)?),
        _ => None,
    };
    let no_rope = match k.list("no_rope_layers", layers)? {
        Some(l) => l.iter().take(layers as usize).map(|v| v.as_u64() == Some(0)).collect(),
        None if family == Family::SmolLm3 => {
            let step = k.u32("no_rope_layer_interval")?.unwrap_or(4).max(1);
            (0..layers).map(|i| (i + 1) % step == 0).collect()
        }
        None => vec![false; layers as usize],
    };
    let attn_scale = match k.f64("query_pre_attn_scalar")?.filter(|_| family.is_gemma()) {
        Some(s) if s > 0.0 => s.powf(-0.5),
        _ => f64::from(head_dim).powf(-0.5),
    };
    let gemma2 = family == Family::Gemma2;
    Ok(Config {
        family,
        arch: model_type.to_owned(),
        name: k.str("_name_or_path")?.filter(|s| !s.is_empty()).map(str::to_owned),
        layers,
        hidden,
        vocab: k.u32("vocab_size")?,
        heads,
        kv_heads: vec![kv; layers as usize],
        head_dim,
        ffn: vec![k.need("intermediate_size")?; layers as usize],
        eps: k.f64("rms_norm_eps")?.unwrap_or(1e-6),
        context,
        rope,
        rope_local,
        no_rope,
        windows,
        attn_scale,
        attn_cap: if gemma2 { k.cap("attn_logit_softcapping", 50.0)? } else { 0.0 },
        logit_cap: match family {
            Family::Gemma2 => k.cap("final_logit_softcapping", 30.0)?,
            Family::Gemma3 => k.cap("final_logit_softcapping", 0.0)?,
            _ => 0.0,
        },
        gelu,
        biased: biased(&k, family)?,
        tied: k.bool("tie_word_embeddings")?.or(if family.is_gemma() { Some(true) } else { None }),
    })
}

/// What the graph has no place for.
fn refuse_unknown_parts(k: &Keys<'_>) -> Result<()> {
    for key in ["num_local_experts", "num_experts", "n_routed_experts"] {
        if let Some(count) = k.u32(key)?.filter(|n| *n > 0) {
            return Err(ModelError::Experts { arch: k.arch.clone(), key: key.into(), count: count.into() });
        }
    }
    if k.bool("mlp_bias")? == Some(true) {
        return Err(k.wrong("mlp_bias", &Value::Bool(true), "false"));
    }
    Ok(())
}

/// Whether the key promises biases of q, k and v. The other families have them always or never, whatever it says.
fn biased(k: &Keys<'_>, family: Family) -> Result<bool> {
    let heeded =
        matches!(family, Family::Llama | Family::Qwen3 | Family::Gemma2 | Family::Gemma3 | Family::SmolLm3);
    Ok(k.bool("attention_bias")?.unwrap_or(false) && heeded)
}

/// Window of each layer from `layer_types`, or from the family's rule when that key is absent.
fn windows(k: &Keys<'_>, family: Family, layers: u32) -> Result<Vec<u32>> {
    let window = match family {
        Family::Llama => 0,
        // These two carry the key without using it unless told so.
        Family::Qwen2 | Family::Qwen3 | Family::SmolLm3 => match k.bool("use_sliding_window")? {
            Some(true) => k.u32("sliding_window")?.unwrap_or(0),
            _ => 0,
        },
        _ => k.u32("sliding_window")?.unwrap_or(0),
    };
    if let Some(list) = k.list("layer_types", layers)? {
        let mut out = Vec::new();
        for v in list.iter().take(layers as usize) {
            out.push(match v.as_str() {
                Some("sliding_attention") => window,
                Some("full_attention") => 0,
                _ => return Err(k.wrong("layer_types", v, "full_attention or sliding_attention")),
            });
        }
        return Ok(out);
    }
    let pattern = match family {
        Family::Gemma2 => 2,
        Family::Gemma3 => {
            k.u32("sliding_window_pattern")?.or(k.u32("_sliding_window_pattern")?).unwrap_or(6).max(1)
        }
        _ => 0,
    };
    let from = k.u32("max_window_layers")?.filter(|_| matches!(family, Family::Qwen2 | Family::Qwen3));
    Ok((0..layers)
        .map(|i| match pattern {
            0 if from.is_some_and(|f| i < f) => 0,
            0 => window,
            p if (i + 1) % p == 0 => 0,
            _ => window,
        })
        .collect())
}

/// The rotary embedding of one layer type.
fn rope(k: &Keys<'_>, family: Family, head_dim: u32, context: u32, kind: &str) -> Result<RopeConfig> {
    let new = k.object("rope_parameters")?;
    let sets = Keys { arch: k.arch.clone(), map: new.unwrap_or(&Value::Null) };
    // Newer files may have one set per layer type.
    let new = sets.object(kind)?.or(new);
    let old = k.object("rope_scaling")?;
    let scaling = new.or(old);
    let s = Keys { arch: k.arch.clone(), map: scaling.unwrap_or(&Value::Null) };
    let theta = match s.f64("rope_theta")? {
        Some(t) => t,
        None => k.f64("rope_theta")?.unwrap_or(1e4),
    };
    let partial = match s.f64("partial_rotary_factor")? {
        Some(f) => f,
        None => k.f64("partial_rotary_factor")?.unwrap_or(1.0),
    };
    if !(partial > 0.0 && partial <= 1.0) {
        return Err(k.wrong("partial_rotary_factor", &Value::from(partial), "above 0, at most 1"));
    }
    let dims = (f64::from(head_dim) * partial) as u32;
    let kind = match s.str("rope_type")? {
        Some(kind) => kind,
        None => s.str("type")?.unwrap_or("default"),
    };
    let positive = |key: &str| -> Result<f64> {
        let v = s.f64(key)?.ok_or_else(|| ModelError::Missing { arch: k.arch.clone(), key: key.into() })?;
        if v > 0.0 { Ok(v) } else { Err(k.wrong(key, &Value::from(v), "a positive number")) }
    };
    let original = match s.f64("original_max_position_embeddings")? {
        Some(o) => Some(o),
        None => k.f64("original_max_position_embeddings")?,
    };
    let scaling = match kind {
        "default" | "mrope" => Scaling::None,
        "linear" => Scaling::Linear(positive("factor")?),
        "llama3" => Scaling::Llama3 {
            factor: positive("factor")?,
            low: positive("low_freq_factor")?,
            high: positive("high_freq_factor")?,
            original: positive("original_max_position_embeddings")?,
        },
        "yarn" => Scaling::Yarn {
            factor: positive("factor")?,
            beta_fast: s.f64("beta_fast")?.unwrap_or(32.0),
            beta_slow: s.f64("beta_slow")?.unwrap_or(1.0),
            original: original.unwrap_or(f64::from(context)),
            attention_factor: s.f64("attention_factor")?,
            mscale: s.f64("mscale")?.zip(s.f64("mscale_all_dim")?),
            truncate: s.bool("truncate")?.unwrap_or(true),
        },
        "longrope" | "su" if family == Family::Phi3 => {
            let original = original.unwrap_or(f64::from(context));
            let divisors = |key: &str| -> Result<Vec<f64>> {
                let list = s.list(key, dims / 2)?;
                let list =
                    list.ok_or_else(|| ModelError::Missing { arch: k.arch.clone(), key: key.into() })?;
                let list: Option<Vec<f64>> =
                    list.iter().take(dims as usize / 2).map(|v| v.as_f64().filter(|x| *x > 0.0)).collect();
                list.ok_or_else(|| k.wrong(key, &Value::from("(list)"), "positive numbers"))
            };
            let mscale = match s.f64("attention_factor")? {
                Some(a) => a,
                None => longrope_mscale(f64::from(context), original),
            };
            Scaling::LongRope {
                short: divisors("short_factor")?,
                long: divisors("long_factor")?,
                original,
                mscale,
            }
        }
        // With a context that never leaves the trained range, dynamic scaling does nothing.
        "dynamic" => Scaling::None,
        other => {
            return Err(k.wrong(
                "rope_type",
                &Value::from(other),
                "default, linear, llama3, yarn or longrope",
            ));
        }
    };
    Ok(RopeConfig { theta, dims, scaling })
}

/// The factor on cos and sin that longrope implies.
pub(super) fn longrope_mscale(context: f64, original: f64) -> f64 {
    if context <= original || original <= 1.0 {
        1.0
    } else {
        (1.0 + (context / original).ln() / original.ln()).sqrt()
    }
}

/// Gemma 3's rotary embedding of sliding-window layers.
fn local_rope(k: &Keys<'_>, head_dim: u32) -> Result<RopeConfig> {
    let all = Keys { arch: k.arch.clone(), map: k.object("rope_parameters")?.unwrap_or(&Value::Null) };
    let nested = all.object("sliding_attention")?;
    let theta = match nested {
        Some(p) => Keys { arch: k.arch.clone(), map: p }.f64("rope_theta")?,
        None => k.f64("rope_local_base_freq")?,
    };
    Ok(RopeConfig { theta: theta.unwrap_or(1e4), dims: head_dim, scaling: Scaling::None })
}
