//! GGUF metadata, `A.*` keys with A the architecture.

use super::config::{Config, Family, RopeConfig, Scaling};
use super::error::{ModelError, Result};
use super::hf::longrope_mscale;
use crate::format::{Metadata, TensorSet, TensorType};

struct Keys<'a> {
    arch: String,
    meta: &'a Metadata,
}

impl Keys<'_> {
    fn key(&self, k: &str) -> String {
        format!("{}.{k}", self.arch)
    }

    fn u32(&self, k: &str) -> Result<Option<u32>> {
        let key = self.key(k);
        let Some(v) = self.meta.u64(&key)? else { return Ok(None) };
        let narrow = u32::try_from(v).map_err(|_| ModelError::Value {
            arch: self.arch.clone(),
            key,
            found: v.to_string(),
            expected: "below 2^32".into(),
        });
        narrow.map(Some)
    }

    fn need(&self, k: &str) -> Result<u32> {
        self.u32(k)?.ok_or_else(|| ModelError::Missing { arch: self.arch.clone(), key: self.key(k) })
    }

    fn f64(&self, k: &str) -> Result<Option<f64>> {
        Ok(self.meta.f64(&self.key(k))?)
    }

    fn per_layer(&self, k: &str, n: u32) -> Result<Option<Vec<u32>>> {
        let key = self.key(k);
        let Some(list) = self.meta.per_layer(&key, n as usize)? else { return Ok(None) };
        let narrow: Option<Vec<u32>> = list.iter().map(|v| u32::try_from(*v).ok()).collect();
        let wrong = || ModelError::Value {
            arch: self.arch.clone(),
            key,
            found: format!("{list:?}"),
            expected: "values below 2^32".into(),
        };
        narrow.map(Some).ok_or_else(wrong)
    }
}

/// Reads a configuration; `tensors` for the rotary factors that GGUF keeps among them.
///
/// # Errors
/// Unsupported architectures and keys that are missing or cannot be.
pub fn read(meta: &Metadata, tensors: &TensorSet) -> Result<Config> {
    let arch = meta.str("general.architecture")?.unwrap_or("(none)").to_owned();
    let family = Family::from_gguf(&arch)?;
    let k = Keys { arch: arch.clone(), meta };
    let layers = k.need("block_count")?;
    if layers > 1024 {
        return Err(ModelError::Value {
            arch,
            key: k.key("block_count"),
            found: layers.to_string(),
            expected: "at most 1024".into(),
        });
    }
    refuse_unknown_parts(&k)?;
    let hidden = k.need("embedding_length")?;
    let heads = match k.per_layer("attention.head_count", layers)? {
        Some(list) if list.windows(2).all(|w| w[0] == w[1]) => list.first().copied().unwrap_or(0),
        Some(list) => {
            return Err(ModelError::Value {
                arch,
                key: k.key("attention.head_count"),
                found: format!("{list:?}"),
                expected: "the same number for every layer".into(),
            });
        }
        None => return Err(ModelError::Missing { key: k.key("attention.head_count"), arch }),
    };
    let kv_heads =
        k.per_layer("attention.head_count_kv", layers)?.unwrap_or_else(|| vec![heads; layers as usize]);
    let head_dim = match k.u32("attention.key_length")? {
        Some(d) => d,
        None => hidden.checked_div(heads).unwrap_or(0),
    };
    if let Some(v) = k.u32("attention.value_length")?.filter(|v| *v != head_dim) {
        return Err(ModelError::Value {
            arch,
            key: k.key("attention.value_length"),
            found: v.to_string(),
            expected: format!("{head_dim}, as the keys have"),
        });
    }
    let context = match k.u32("context_length")? {
        Some(c) => c,
        None => {
            log::warn!("{arch}.context_length is missing: 2048 is assumed");
            2048
        }
    };
    let window = k.u32("attention.sliding_window")?.unwrap_or(0);
    let windows: Vec<u32> = match k.per_layer("attention.sliding_window_pattern", layers)? {
        // A scalar is the step of the pattern, an array says for each layer whether it slides.
        Some(list) if is_array(meta, &k.key("attention.sliding_window_pattern")) => {
            list.iter().map(|&on| if on != 0 { window } else { 0 }).collect()
        }
        Some(list) => stepped(list.first().copied().unwrap_or(0), window, layers),
        None => stepped(family.window_step(), window, layers),
    };
    let (rope, rope_local) = ropes(&k, family, head_dim, context, tensors)?;
    let no_rope = default_no_rope(family, layers);
    let default_scale = default_scale(family, layers, hidden, heads, head_dim);
    let gemma2 = family == Family::Gemma2;
    let ffn = k.per_layer("feed_forward_length", layers)?;
    Ok(Config {
        family,
        name: meta.str("general.name")?.map(str::to_owned),
        layers,
        hidden,
        vocab: k.u32("vocab_size")?,
        heads,
        kv_heads,
        head_dim,
        ffn: ffn
            .ok_or_else(|| ModelError::Missing { arch: arch.clone(), key: k.key("feed_forward_length") })?,
        eps: k.f64("attention.layer_norm_rms_epsilon")?.unwrap_or(1e-6),
        context,
        rope,
        rope_local,
        no_rope,
        windows,
        attn_scale: k.f64("attention.scale")?.filter(|s| *s > 0.0).unwrap_or(default_scale),
        attn_cap: k.f64("attn_logit_softcapping")?.unwrap_or(if gemma2 { 50.0 } else { 0.0 }),
        logit_cap: k.f64("final_logit_softcapping")?.unwrap_or(if gemma2 { 30.0 } else { 0.0 }),
        gelu: family.is_gemma(),
        // GGUF has no key for it: the tensors alone say so.
        biased: false,
        tied: None,
        arch,
    })
}

/// What the graph has no place for.
fn refuse_unknown_parts(k: &Keys<'_>) -> Result<()> {
    let key = k.key("expert_count");
    if let Some(count) = k.meta.u64(&key)?.filter(|n| *n > 0) {
        return Err(ModelError::Experts { arch: k.arch.clone(), key, count });
    }
    let key = k.key("attention.causal");
    if k.meta.bool(&key)? == Some(false) {
        let (found, expected) = ("false".into(), "true: golay runs causal decoders".into());
        return Err(ModelError::Value { arch: k.arch.clone(), key, found, expected });
    }
    Ok(())
}

/// Windows of layers of which every `step`th sees everything; 0 when none does.
pub(super) fn stepped(step: u32, window: u32, layers: u32) -> Vec<u32> {
    (1..=layers).map(|i| if step > 0 && i % step == 0 { 0 } else { window }).collect()
}

/// The factor on attention scores that GGUF leaves to the reader.
pub(super) fn default_scale(family: Family, layers: u32, hidden: u32, heads: u32, head_dim: u32) -> f64 {
    match (family, layers) {
        // The 27B models scale by hidden / heads.
        (Family::Gemma2, 46) | (Family::Gemma3, 62) => (f64::from(hidden) / f64::from(heads)).powf(-0.5),
        _ => f64::from(head_dim).powf(-0.5),
    }
}

/// The layers without rotation that GGUF leaves to the reader.
pub(super) fn default_no_rope(family: Family, layers: u32) -> Vec<bool> {
    (1..=layers).map(|i| family == Family::SmolLm3 && i % 4 == 0).collect()
}

fn is_array(meta: &Metadata, key: &str) -> bool {
    matches!(meta.get(key), Some(crate::format::Value::Array(_)))
}

fn ropes(
    k: &Keys<'_>,
    family: Family,
    head_dim: u32,
    context: u32,
    tensors: &TensorSet,
) -> Result<(RopeConfig, Option<RopeConfig>)> {
    let theta = k.f64("rope.freq_base")?.unwrap_or(1e4);
    let dims = k.u32("rope.dimension_count")?.unwrap_or(head_dim);
    let factor = match k.f64("rope.scaling.factor")? {
        Some(f) => f,
        // The name of the first files.
        None => k.f64("rope.scale_linear")?.unwrap_or(1.0),
    };
    let original = k.f64("rope.scaling.original_context_length")?;
    // A factor without a type is linear, as the field reads it.
    let default = if factor == 1.0 { "none" } else { "linear" };
    let kind = match k.meta.str(&k.key("rope.scaling.type"))? {
        Some("") | None => default,
        Some(kind) => kind,
    };
    let bad = |key: &str, found: String, expected: &str| ModelError::Value {
        arch: k.arch.clone(),
        key: k.key(key),
        found,
        expected: expected.into(),
    };
    if !(factor.is_finite() && factor > 0.0) {
        return Err(bad("rope.scaling.factor", factor.to_string(), "a positive number"));
    }
    if !matches!(kind, "none" | "linear" | "yarn" | "longrope") {
        return Err(bad("rope.scaling.type", format!("{kind:?}"), "none, linear, yarn or longrope"));
    }
    let factors = |name: &str| -> Result<Option<Vec<f64>>> {
        let Some(t) = tensors.get(name) else { return Ok(None) };
        let n = u64::from(dims / 2);
        if t.ttype != TensorType::F32 || t.shape.iter().product::<u64>() != n {
            return Err(ModelError::Shape {
                arch: k.arch.clone(),
                tensor: name.into(),
                found: t.shape.clone(),
                expected: vec![n],
            });
        }
        let list: Vec<f64> = tensors
            .data(t)
            .chunks_exact(4)
            .map(|b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])))
            .collect();
        if let Some(x) = list.iter().find(|x| !(x.is_finite() && **x > 0.0)) {
            return Err(ModelError::Value {
                arch: k.arch.clone(),
                key: format!("tensor {name}"),
                found: format!("a list with {x}"),
                expected: "positive factors".into(),
            });
        }
        Ok(Some(list))
    };
    // Factors in a tensor are the whole scaling; another one beside them would be left out without a word.
    let alone = |tensor: &str, allowed: &[&str]| match allowed.contains(&kind) {
        true => Ok(()),
        false => {
            Err(bad("rope.scaling.type", kind.into(), &format!("{}, beside {tensor}", allowed.join(" or "))))
        }
    };
    let scaling = if let Some(divisors) = factors("rope_freqs.weight")? {
        alone("rope_freqs.weight", &["none"])?;
        Scaling::Factors(divisors)
    } else if let Some(long) = factors("rope_factors_long.weight")? {
        alone("rope_factors_long.weight", &["none", "longrope"])?;
        let original = original.unwrap_or(f64::from(context));
        let name = "rope_factors_short.weight";
        let short = factors(name)?
            .ok_or_else(|| ModelError::MissingTensor { arch: k.arch.clone(), tensor: name.into() })?;
        let mscale = k.f64("rope.scaling.attn_factor")?;
        let mscale = mscale.unwrap_or(longrope_mscale(f64::from(context), original));
        Scaling::LongRope { short, long, original, mscale }
    } else {
        match kind {
            "linear" => Scaling::Linear(factor),
            "yarn" => Scaling::Yarn {
                factor,
                beta_fast: k.f64("rope.scaling.yarn_beta_fast")?.unwrap_or(32.0),
                beta_slow: k.f64("rope.scaling.yarn_beta_slow")?.unwrap_or(1.0),
                original: original.unwrap_or(f64::from(context) / factor),
                attention_factor: k.f64("rope.scaling.attn_factor")?.map(|a| a * (0.1 * factor.ln() + 1.0)),
                mscale: None,
                truncate: true,
            },
            "longrope" => {
                let tensor = "rope_factors_long.weight".into();
                return Err(ModelError::MissingTensor { arch: k.arch.clone(), tensor });
            }
            _ => Scaling::None,
        }
    };
    let local = (family == Family::Gemma3).then_some(RopeConfig {
        theta: k.f64("rope.freq_base_swa")?.unwrap_or(1e4),
        dims: head_dim,
        scaling: Scaling::None,
    });
    Ok((RopeConfig { theta, dims, scaling }, local))
}
