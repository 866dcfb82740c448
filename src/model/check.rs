//! What a file holds beyond the graph: tensors that nothing reads, ids outside the vocabulary.
//!
//! A weight that the graph has no place for would make every answer wrong without a word, so a tensor of a block is
//! refused unless it is known to take no part in the computation.

use super::build::Naming;
use super::config::Config;
use super::error::{ModelError, Result};
use super::spec::ModelSpec;
use crate::format::ModelFile;
use serde_json::Value;

/// Ends of names, within a block, of tensors that take no part in the computation: tables of rotary frequencies, which
/// are worked out anew; masks of causal attention, stored as buffers by old checkpoints; scales of an 8-bit KV cache.
const HARMLESS_IN_A_BLOCK: &[&str] = &[
    ".rotary_emb.inv_freq",
    ".attn_rot_embd",
    ".attn_rot_embd.weight",
    ".rope_freqs.weight",
    ".self_attn.bias",
    ".self_attn.masked_bias",
    ".attn.bias",
    ".attn.masked_bias",
    ".self_attn.k_scale",
    ".self_attn.v_scale",
];

/// Parts of names, outside the blocks, of tensors that a text model does without: rotary tables, and the towers of
/// multimodal models.
const HARMLESS: &[&str] = &[
    "rope_freqs",
    "rope_factors",
    "rotary_emb",
    "vision",
    "visual",
    "audio",
    "mm_projector",
    "multi_modal",
    "mtp.",
];

/// Whether a tensor belongs to a block of the text model.
pub(super) fn is_of_a_block(name: &str, naming: Naming) -> bool {
    match naming {
        Naming::Gguf => name.starts_with("blk."),
        Naming::Hf(prefix) => name.strip_prefix(prefix).is_some_and(|n| n.starts_with("layers.")),
    }
}

/// Whether a tensor can be left out without a word.
pub(super) fn is_harmless(name: &str, naming: Naming) -> bool {
    if is_of_a_block(name, naming) {
        HARMLESS_IN_A_BLOCK.iter().any(|end| name.ends_with(end))
    } else {
        HARMLESS.iter().any(|part| name.contains(part))
    }
}

/// Looks at the ids and counts that a file gives beside the embedding's rows. What only spoils single ids is a warning.
pub(super) fn vocabulary(file: &ModelFile, config: &Config, spec: &ModelSpec) -> Result<()> {
    match file {
        ModelFile::Gguf(g) => {
            let tokens = g.metadata.strings("tokenizer.ggml.tokens")?.map_or(0, <[String]>::len);
            if tokens > 0 && (tokens as u64) < u64::from(spec.vocab) {
                log::warn!(
                    "{}: tokenizer.ggml.tokens has {tokens} entries, the vocabulary {} ids: the last have no text",
                    config.arch,
                    spec.vocab
                );
            }
            Ok(())
        }
        ModelFile::Hf(h) => {
            let text = h.config.get("text_config");
            for map in [Some(&h.config), text, h.generation_config.as_ref()].into_iter().flatten() {
                for key in ["bos_token_id", "eos_token_id"] {
                    ids(map, key, config, spec.vocab)?;
                }
            }
            Ok(())
        }
    }
}

/// One id or a list of them; anything but whole numbers is refused, ids that the model does not have are named.
fn ids(map: &Value, key: &str, config: &Config, vocab: u32) -> Result<()> {
    let Some(value) = map.get(key).filter(|v| !v.is_null()) else { return Ok(()) };
    let list = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    for id in list {
        if !(id.is_i64() || id.is_u64()) {
            return Err(ModelError::Value {
                arch: config.arch.clone(),
                key: key.into(),
                found: value.to_string(),
                expected: "an id or a list of ids".into(),
            });
        }
        if id.as_u64().is_none_or(|id| id >= u64::from(vocab)) {
            log::warn!("{}: {key} {id} is outside the vocabulary of {vocab} ids; ignored", config.arch);
        }
    }
    Ok(())
}
