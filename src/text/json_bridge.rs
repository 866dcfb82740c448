//! From `tokenizer.json` and the files beside it to a [`Tokenizer`].

use std::collections::HashMap;

use serde_json::Value;
use tokenizers::{AddedToken, NormalizerWrapper, PreTokenizerWrapper};

use super::bpe::{BpeOptions, Merge, build_bpe, split_merge};
use super::error::{TextError, clip};
use super::json_file::{AddedEntry, FILE, MergeEntry, TokenizerFile, find};
use super::tokenizer::{Added, BpeEngine, Engine, Parts, Tokenizer};
use super::vocab::TokenTable;

impl Tokenizer {
    /// Reads a `tokenizer.json`. The other files of a model folder, where there are any, say which tokens begin and
    /// end a text and which end an answer.
    pub fn from_json(
        bytes: &[u8],
        tokenizer_config: Option<&Value>,
        generation_config: Option<&Value>,
        config: Option<&Value>,
    ) -> Result<Self, TextError> {
        let file = TokenizerFile::parse(bytes)?;
        let alphabet = file.alphabet();
        let strip_leading_space = file.strips_leading_space();
        let mut table = TokenTable::with_capacity(file.model.vocab.0.len() + file.added_tokens.len());
        for (text, kind) in file.entries()? {
            table.push(text, kind, alphabet)?;
        }
        let names = SpecialIds::from_configs(&file, tokenizer_config, generation_config, config);
        let normalizer: Option<NormalizerWrapper> = component("normalizer", file.normalizer)?;
        let pre: Option<PreTokenizerWrapper> = component("pre_tokenizer", file.pre_tokenizer)?;
        let unknown = file.model.unk_token.clone();
        let withheld: HashMap<&str, u32> = file
            .added_tokens
            .iter()
            .filter(|a| a.special && Some(a.content.as_str()) != unknown.as_deref())
            .map(|a| (a.content.as_str(), a.id))
            .collect();
        let vocab =
            file.model.vocab.0.into_iter().filter(|(t, _)| !withheld.contains_key(t.as_str())).collect();
        let options = BpeOptions {
            unknown,
            fuse_unknown: file.model.fuse_unk.unwrap_or(false),
            byte_fallback: file.model.byte_fallback.unwrap_or(false),
            ignore_merges: file.model.ignore_merges.unwrap_or(false),
        };
        let merges = split_all(file.model.merges)?;
        let again = || split_all(TokenizerFile::parse(bytes)?.model.merges);
        let model = build_bpe(vocab, &withheld, merges, again, options)?;
        let added = file.added_tokens.into_iter().map(AddedEntry::into_added).collect();
        Tokenizer::assemble(Parts {
            engine: Engine::Bpe(Box::new(BpeEngine { model, normalizer, pre })),
            table,
            added,
            bos: names.bos,
            eos: names.eos,
            stops: names.stops,
            prefix: names.prefix,
            suffix: names.suffix,
            strip_leading_space,
        })
    }
}

impl AddedEntry {
    fn into_added(self) -> Added {
        let token = AddedToken::from(self.content, self.special)
            .single_word(self.single_word)
            .lstrip(self.lstrip)
            .rstrip(self.rstrip)
            .normalized(self.normalized);
        Added { id: self.id, token }
    }
}

fn component<T: serde::de::DeserializeOwned>(
    field: &'static str,
    value: Option<Value>,
) -> Result<Option<T>, TextError> {
    let Some(value) = value.filter(|v| !v.is_null()) else { return Ok(None) };
    serde_json::from_value(value).map(Some).map_err(|e| {
        TextError::field(FILE, field, "a description the tokenizers crate reads", clip(&e.to_string()))
    })
}

fn split_all(merges: Vec<MergeEntry>) -> Result<Vec<Merge>, TextError> {
    merges.into_iter().enumerate().map(|(i, m)| split_merge(i, m)).collect()
}

/// The ids with a role.
#[derive(Default)]
pub(super) struct SpecialIds {
    pub(super) bos: Option<u32>,
    pub(super) eos: Option<u32>,
    pub(super) stops: Vec<u32>,
    pub(super) prefix: Vec<u32>,
    pub(super) suffix: Vec<u32>,
}

impl SpecialIds {
    pub(super) fn from_configs(
        file: &TokenizerFile,
        tokenizer_config: Option<&Value>,
        generation_config: Option<&Value>,
        config: Option<&Value>,
    ) -> Self {
        let config_text = config.and_then(|c| c.get("text_config"));
        let id_of = |text: &str| {
            let added = file.added_tokens.iter().find(|a| a.content == text).map(|a| a.id);
            added.or_else(|| file.model.vocab.0.iter().find(|(t, _)| t == text).map(|(_, id)| *id))
        };
        // tokenizer_config gives text, the other two give ids.
        let named = |field: &str| {
            let value = tokenizer_config?.get(field)?;
            id_of(value.as_str().or_else(|| value.get("content")?.as_str())?)
        };
        let numbered = |field: &str| -> Vec<u32> {
            [generation_config, config, config_text]
                .into_iter()
                .flatten()
                .flat_map(|c| ids(c.get(field)))
                .collect()
        };
        let eos_ids = numbered("eos_token_id");
        let bos = named("bos_token").or_else(|| numbered("bos_token_id").first().copied());
        let eos = named("eos_token").or_else(|| eos_ids.first().copied());
        let (mut prefix, mut suffix) = post_processor_ids(file.post_processor.as_ref());
        let switch = |field: &str| tokenizer_config.and_then(|c| c.get(field)).and_then(Value::as_bool);
        match (switch("add_bos_token"), bos) {
            (Some(true), Some(bos)) if prefix.first() != Some(&bos) => prefix.insert(0, bos),
            (Some(false), Some(bos)) if prefix.first() == Some(&bos) => {
                prefix.remove(0);
            }
            _ => {}
        }
        match (switch("add_eos_token"), eos) {
            (Some(true), Some(eos)) if suffix.last() != Some(&eos) => suffix.push(eos),
            (Some(false), Some(eos)) if suffix.last() == Some(&eos) => {
                suffix.pop();
            }
            _ => {}
        }
        SpecialIds { bos, eos, stops: eos_ids, prefix, suffix }
    }
}

/// One id or a list of ids.
fn ids(value: Option<&Value>) -> Vec<u32> {
    let one = |v: &Value| v.as_u64().and_then(|n| u32::try_from(n).ok());
    match value {
        Some(Value::Array(list)) => list.iter().filter_map(one).collect(),
        Some(v) => one(v).into_iter().collect(),
        None => Vec::new(),
    }
}

/// The ids that a post-processor puts before and after a single text.
fn post_processor_ids(value: Option<&Value>) -> (Vec<u32>, Vec<u32>) {
    let (mut prefix, mut suffix) = (Vec::new(), Vec::new());
    let Some(value) = value else { return (prefix, suffix) };
    if let Some(template) = find(value, "TemplateProcessing") {
        let mut seen_text = false;
        for item in template.get("single").and_then(Value::as_array).into_iter().flatten() {
            if item.get("Sequence").is_some() {
                seen_text = true;
            } else if let Some(name) = item.pointer("/SpecialToken/id").and_then(Value::as_str) {
                let entry =
                    template.get("special_tokens").and_then(|t| t.get(name)).and_then(|t| t.get("ids"));
                if seen_text { suffix.extend(ids(entry)) } else { prefix.extend(ids(entry)) }
            }
        }
    } else if let Some(roberta) = find(value, "RobertaProcessing").or_else(|| find(value, "BertProcessing")) {
        prefix.extend(ids(roberta.pointer("/cls/1")));
        suffix.extend(ids(roberta.pointer("/sep/1")));
    }
    (prefix, suffix)
}
