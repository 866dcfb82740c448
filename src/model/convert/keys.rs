//! The metadata of a converted file.

use super::super::config::{Config, Family, Scaling};
use super::super::error::{ModelError, Result};
use super::super::gguf;
use super::super::rope;
use super::super::spec::ModelSpec;
use super::Plan;
use crate::format::{Array, HfFolder, Metadata, TensorType, Value};
use crate::text::gguf_metadata_from_json;
use serde_json::Value as Json;

/// Version of the block formats.
const QUANTIZATION_VERSION: u32 = 2;
/// `tokenizer.ggml.token_type` of an id that no text has.
const UNUSED: i32 = 5;

fn refuse(c: &Config, key: &str, found: impl Into<String>, expected: &str) -> ModelError {
    ModelError::Value {
        arch: c.arch.clone(),
        key: key.into(),
        found: found.into(),
        expected: expected.into(),
    }
}

/// The architecture that runs this configuration.
///
/// # Errors
/// What no GGUF architecture can express.
pub(super) fn architecture(c: &Config) -> Result<&'static str> {
    if c.gelu != c.family.is_gemma() {
        let found = if c.gelu { "gelu_pytorch_tanh" } else { "silu" };
        return Err(refuse(c, "hidden_act", found, "the activation that GGUF readers assume for the family"));
    }
    if c.no_rope == gguf::default_no_rope(c.family, c.layers) {
        return Ok(c.family.gguf_name());
    }
    // SmolLM3 that rotates everywhere computes what Llama does.
    if c.family == Family::SmolLm3 && c.no_rope.iter().all(|off| !off) {
        return Ok(Family::Llama.gguf_name());
    }
    let every = "every fourth layer without rotation (smollm3) or none, as GGUF has no key for others";
    Err(refuse(c, "no_rope_layers", format!("{:?}", c.no_rope), every))
}

/// All metadata.
pub(super) fn metadata(folder: &HfFolder, c: &Config, spec: &ModelSpec, plan: &Plan) -> Result<Metadata> {
    let mut m = Metadata::new();
    m.insert("general.architecture", plan.arch.into());
    m.insert("general.type", "model".into());
    let file_name = || folder.path.file_name().map(|n| n.to_string_lossy().into_owned());
    if let Some(name) = c.name.clone().or_else(file_name) {
        m.insert("general.name", name.into());
    }
    let main = main_type(plan);
    if let Some(code) = file_type(main) {
        m.insert("general.file_type", code.into());
    }
    if plan.entries.iter().any(|e| e.ttype.block_len() > 1) {
        m.insert("general.quantization_version", QUANTIZATION_VERSION.into());
    }
    if let Some(g) = &folder.generation_config {
        sampling(&mut m, c, g)?;
    }
    numbers(&mut m, c, spec, plan.arch);
    windows(&mut m, c, plan.arch);
    rotation(&mut m, c, plan.arch)?;
    if let Some(json) = &folder.tokenizer_json {
        let config = folder.tokenizer_config.as_ref();
        let generation = folder.generation_config.as_ref();
        let text =
            gguf_metadata_from_json(json, config, generation, Some(&folder.config)).map_err(Box::new)?;
        for (key, value) in text {
            if let Some(value) = fitted(&key, value, spec.vocab) {
                m.insert(key, value);
            }
        }
        if let Some(t) = &folder.chat_template {
            m.insert("tokenizer.chat_template", t.clone().into());
        }
    }
    Ok(m)
}

fn numbers(m: &mut Metadata, c: &Config, spec: &ModelSpec, arch: &str) {
    let mut put = |key: &str, v: Value| m.insert(format!("{arch}.{key}"), v);
    put("block_count", c.layers.into());
    put("context_length", c.context.into());
    put("embedding_length", c.hidden.into());
    put("feed_forward_length", per_layer(&c.ffn));
    put("attention.head_count", c.heads.into());
    put("attention.head_count_kv", per_layer(&c.kv_heads));
    put("attention.key_length", c.head_dim.into());
    put("attention.value_length", c.head_dim.into());
    put("attention.layer_norm_rms_epsilon", (c.eps as f32).into());
    put("vocab_size", spec.vocab.into());
    let usual = gguf::default_scale(c.family, c.layers, c.hidden, c.heads, c.head_dim);
    if (c.attn_scale - usual).abs() > usual * 1e-9 {
        put("attention.scale", (c.attn_scale as f32).into());
    }
    // Readers assume Gemma 2's caps when the keys are missing, so that none is written as 0.
    if c.attn_cap > 0.0 || c.family == Family::Gemma2 {
        put("attn_logit_softcapping", (c.attn_cap as f32).into());
    }
    if c.logit_cap > 0.0 || c.family == Family::Gemma2 {
        put("final_logit_softcapping", (c.logit_cap as f32).into());
    }
}

/// A number when all layers agree.
fn per_layer(list: &[u32]) -> Value {
    match list {
        [first, rest @ ..] if rest.iter().all(|v| v == first) => (*first).into(),
        _ => list.to_vec().into(),
    }
}

/// Sliding windows: one width, and which layers have it where that is not the reader's own rule.
fn windows(m: &mut Metadata, c: &Config, arch: &str) {
    let window = c.windows.iter().copied().max().unwrap_or(0);
    if window == 0 {
        return;
    }
    m.insert(format!("{arch}.attention.sliding_window"), window.into());
    if c.windows == gguf::stepped(c.family.window_step(), window, c.layers) {
        return;
    }
    let step = (0..=c.layers).find(|s| c.windows == gguf::stepped(*s, window, c.layers));
    let pattern: Value = match step {
        Some(step) => step.into(),
        None => c.windows.iter().map(|w| *w > 0).collect::<Vec<bool>>().into(),
    };
    m.insert(format!("{arch}.attention.sliding_window_pattern"), pattern);
}

fn rotation(m: &mut Metadata, c: &Config, arch: &str) -> Result<()> {
    let mut put = |key: &str, v: Value| m.insert(format!("{arch}.rope.{key}"), v);
    put("dimension_count", c.rope.dims.into());
    put("freq_base", (c.rope.theta as f32).into());
    if let Some(local) = &c.rope_local {
        put("freq_base_swa", (local.theta as f32).into());
    }
    let whole = |x: f64| if x.fract() == 0.0 { Value::from(x as u32) } else { Value::from(x as f32) };
    match &c.rope.scaling {
        // Llama 3's is a tensor.
        Scaling::None | Scaling::Llama3 { .. } => {}
        Scaling::Linear(factor) => {
            put("scaling.type", "linear".into());
            put("scaling.factor", (*factor as f32).into());
        }
        Scaling::Yarn { factor, beta_fast, beta_slow, original, attention_factor, mscale, truncate } => {
            if !truncate {
                return Err(refuse(c, "truncate", "false", "true, as GGUF readers round the ramp's ends"));
            }
            put("scaling.type", "yarn".into());
            put("scaling.factor", (*factor as f32).into());
            put("scaling.original_context_length", whole(*original));
            put("scaling.yarn_beta_fast", (*beta_fast as f32).into());
            put("scaling.yarn_beta_slow", (*beta_slow as f32).into());
            if attention_factor.is_some() || mscale.is_some() {
                // GGUF's factor comes on top of the usual one.
                let scaled = rope::resolve(&c.rope, false).mscale;
                put("scaling.attn_factor", ((scaled / (0.1 * factor.ln() + 1.0)) as f32).into());
            }
        }
        // `rope_freqs` is a tensor alone.
        Scaling::Factors(_) => {}
        Scaling::LongRope { mscale, original, .. } => {
            put("scaling.type", "longrope".into());
            put("scaling.original_context_length", whole(*original));
            put("scaling.attn_factor", (*mscale as f32).into());
        }
    }
    Ok(())
}

/// `general.sampling.*` from `generation_config.json`.
fn sampling(m: &mut Metadata, c: &Config, g: &Json) -> Result<()> {
    let number = |key: &str| match g.get(key).filter(|v| !v.is_null()) {
        None => Ok(None),
        Some(v) => v.as_f64().map(Some).ok_or_else(|| refuse(c, key, v.to_string(), "a number")),
    };
    let mut temperature = number("temperature")?;
    if g.get("do_sample").and_then(Json::as_bool) == Some(false) {
        temperature = Some(0.0);
    }
    let mut put = |key: &str, v: Value| m.insert(format!("general.sampling.{key}"), v);
    if let Some(k) = number("top_k")? {
        put("top_k", (k as i32).into());
    }
    let floats = [
        ("top_p", number("top_p")?),
        ("min_p", number("min_p")?),
        ("temp", temperature),
        ("penalty_repeat", number("repetition_penalty")?),
    ];
    for (key, value) in floats {
        if let Some(v) = value {
            put(key, (v as f32).into());
        }
    }
    Ok(())
}

/// Readers want as many tokens as the embedding has rows: ids without a text get one of their own, and texts without
/// a row go (Gemma 3's text models have one). `None`: the key goes.
fn fitted(key: &str, value: Value, vocab: u32) -> Option<Value> {
    let rows = vocab as usize;
    Some(match (key, value) {
        ("tokenizer.ggml.tokens", Value::Array(Array::String(mut list))) => {
            if list.len() > rows {
                log::warn!("the tokenizer has {} ids, the model {rows}: the last are left out", list.len());
            }
            list.truncate(rows);
            for id in list.len()..rows {
                list.push(format!("[PAD{id}]"));
            }
            list.into()
        }
        ("tokenizer.ggml.token_type", Value::Array(Array::I32(mut list))) => {
            list.resize(rows, UNUSED);
            list.into()
        }
        ("tokenizer.ggml.scores", Value::Array(Array::F32(mut list))) => {
            let last = list.iter().copied().fold(0.0, f32::min);
            list.resize(rows, last);
            list.into()
        }
        (key, Value::U32(id)) if key.ends_with("_token_id") && id >= vocab => return None,
        (_, value) => value,
    })
}

/// The type of most weights, of the matrices alone.
fn main_type(plan: &Plan) -> TensorType {
    let size = |t: TensorType| -> u64 {
        let of_type = plan.entries.iter().filter(|e| e.ttype == t && e.shape.len() > 1);
        of_type.map(|e| e.shape.iter().product::<u64>()).sum()
    };
    let types = plan.entries.iter().map(|e| e.ttype);
    types.max_by_key(|t| size(*t)).unwrap_or(TensorType::F32)
}

/// `general.file_type`.
fn file_type(t: TensorType) -> Option<u32> {
    use TensorType::*;
    Some(match t {
        F32 => 0,
        F16 => 1,
        Q4_0 => 2,
        Q4_1 => 3,
        Q8_0 => 7,
        Q5_0 => 8,
        Q5_1 => 9,
        Q2_K => 10,
        Q3_K => 11,
        Q4_K => 14,
        Q5_K => 16,
        Q6_K => 18,
        IQ4_NL => 25,
        IQ4_XS => 30,
        BF16 => 32,
        _ => return None,
    })
}
