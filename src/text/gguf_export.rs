//! From `tokenizer.json` to the `tokenizer.ggml.*` keys of a GGUF, for the writer.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::bpe::split_merge;
use super::error::{TextError, clip};
use super::json_bridge::SpecialIds;
use super::json_file::{FILE, TokenizerFile};
use super::pretokenizers::{PRE_NAMES, recognise};
use super::vocab::{Alphabet, TokenKind};
use crate::format::{Array, Value};

/// The metadata that puts a `tokenizer.json` into a GGUF: a byte-level BPE as `gpt2` (its pre-tokenizer must be one
/// that has a name), a SentencePiece-like BPE as `llama` with scores that give the same order of merges.
pub fn gguf_metadata_from_json(
    tokenizer_json: &[u8],
    tokenizer_config: Option<&Json>,
    generation_config: Option<&Json>,
    config: Option<&Json>,
) -> Result<Vec<(String, Value)>, TextError> {
    let file = TokenizerFile::parse(tokenizer_json)?;
    let sentence = match file.alphabet() {
        Alphabet::ByteLevel => false,
        Alphabet::Sentence => true,
        Alphabet::Raw => {
            return Err(TextError::Unsupported {
                file: FILE,
                part: "decoder",
                found: "neither ByteLevel nor ByteFallback".to_owned(),
                supported: "ByteLevel, ByteFallback".to_owned(),
            });
        }
    };
    let roles = SpecialIds::from_configs(&file, tokenizer_config, generation_config, config);
    let unknown_text = file.model.unk_token.clone();
    let mut texts = Vec::new();
    let mut types = Vec::new();
    let mut unknown = None;
    for (id, (text, kind)) in file.entries()?.into_iter().enumerate() {
        if unknown_text.as_deref() == Some(text) && kind == TokenKind::Unknown {
            unknown = Some(id as u32);
        }
        // Gaps get a text of their own, as every reader wants distinct tokens.
        texts.push(if kind == TokenKind::Missing { format!("[PAD{id}]") } else { text.to_owned() });
        types.push(kind.to_gguf());
    }
    let mut out: Vec<(String, Value)> = Vec::new();
    let mut put = |key: &str, value: Value| out.push((format!("tokenizer.ggml.{key}"), value));
    put("model", Value::String(if sentence { "llama" } else { "gpt2" }.to_owned()));
    let space_prefix = sentence && file.strips_leading_space();
    if sentence {
        put("pre", Value::String("default".to_owned()));
        put("scores", Value::Array(Array::F32(scores(file, &texts)?)));
    } else {
        let ignore_merges = file.model.ignore_merges.unwrap_or(false);
        let rule = recognise(file.pre_tokenizer.as_ref(), file.normalizer.as_ref(), ignore_merges);
        let Some(rule) = rule else {
            let found = file.pre_tokenizer.as_ref().map(Json::to_string).unwrap_or_default();
            return Err(TextError::Unsupported {
                file: FILE,
                part: "pre-tokenizer with this normalizer",
                found: clip(&found),
                supported: PRE_NAMES.to_owned(),
            });
        };
        put("pre", Value::String(rule.name().to_owned()));
        let mut merges = Vec::with_capacity(file.model.merges.len());
        for (index, merge) in file.model.merges.into_iter().enumerate() {
            let (a, b) = split_merge(index, merge)?;
            if a.contains(' ') || b.contains(' ') {
                let reason = "a token with a space cannot be written in a GGUF merge".to_owned();
                return Err(TextError::BadMerge { index, merge: clip(&format!("{a} {b}")), reason });
            }
            merges.push(format!("{a} {b}"));
        }
        put("merges", Value::Array(Array::String(merges)));
    }
    put("tokens", Value::Array(Array::String(texts)));
    put("token_type", Value::Array(Array::I32(types)));
    for (key, id) in [("bos_token_id", roles.bos), ("eos_token_id", roles.eos), ("unknown_token_id", unknown)]
    {
        if let Some(id) = id {
            put(key, Value::U32(id));
        }
    }
    // A GGUF has one more place for a token that ends a turn.
    if let Some(eot) = roles.stops.iter().find(|id| Some(**id) != roles.eos) {
        put("eot_token_id", Value::U32(*eot));
    }
    put("add_bos_token", Value::Bool(roles.bos.is_some() && roles.prefix.first().copied() == roles.bos));
    put("add_eos_token", Value::Bool(roles.eos.is_some() && roles.suffix.last().copied() == roles.eos));
    put("add_space_prefix", Value::Bool(space_prefix));
    Ok(out)
}

/// Scores that order merges as their ranks do: the token made by the merge of rank r gets -r, the rest come last.
fn scores(file: TokenizerFile, texts: &[String]) -> Result<Vec<f32>, TextError> {
    let mut rank: HashMap<String, usize> = HashMap::with_capacity(file.model.merges.len());
    for (index, merge) in file.model.merges.into_iter().enumerate() {
        let (a, b) = split_merge(index, merge)?;
        let next = rank.len();
        rank.entry(a + &b).or_insert(next);
    }
    let last = rank.len();
    Ok(texts.iter().map(|t| -(rank.get(t).copied().unwrap_or(last) as f32)).collect())
}
