//! Reading `tokenizer.json`: byte-level and SentencePiece-like BPE, everything checked before the crate sees it.
//!
//! The `tokenizers` crate trusts its files: a merge longer than the vocabulary's longest token, for one, makes it
//! panic. So the model is read into plain lists here and every merge is looked up first.

use std::collections::HashMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use tokenizers::models::bpe::BPE;
use tokenizers::{AddedToken, NormalizerWrapper, PreTokenizerWrapper};

use super::error::{TextError, clip};
use super::tokenizer::{Added, Engine, Parts, Tokenizer};
use super::vocab::{Alphabet, TokenKind, TokenTable, parse_byte_token};

const FILE: &str = "tokenizer.json";

/// Components that the crate cannot be trusted with or that no language model uses are not in these lists.
const NORMALIZERS: [&str; 12] = [
    "Sequence", "Prepend", "Replace", "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Strip", "StripAccents", "Nmt",
    "ByteLevel",
];
const PRE_TOKENIZERS: [&str; 9] = [
    "Sequence", "Split", "ByteLevel", "Digits", "Metaspace", "Whitespace", "WhitespaceSplit", "Punctuation",
    "UnicodeScripts",
];

/// The parts of the file that matter.
#[derive(Deserialize)]
pub(super) struct TokenizerFile {
    #[serde(default)]
    pub(super) added_tokens: Vec<AddedEntry>,
    #[serde(default)]
    pub(super) normalizer: Option<Value>,
    #[serde(default)]
    pub(super) pre_tokenizer: Option<Value>,
    #[serde(default)]
    pub(super) post_processor: Option<Value>,
    #[serde(default)]
    pub(super) decoder: Option<Value>,
    pub(super) model: ModelEntry,
}

/// One entry of `added_tokens`.
#[derive(Deserialize)]
pub(super) struct AddedEntry {
    pub(super) id: u32,
    pub(super) content: String,
    #[serde(default)]
    pub(super) single_word: bool,
    #[serde(default)]
    pub(super) lstrip: bool,
    #[serde(default)]
    pub(super) rstrip: bool,
    #[serde(default)]
    pub(super) normalized: bool,
    #[serde(default)]
    pub(super) special: bool,
}

/// The `model` object of a BPE tokenizer.
#[derive(Deserialize)]
pub(super) struct ModelEntry {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    pub(super) vocab: VocabEntry,
    #[serde(default)]
    pub(super) merges: Vec<MergeEntry>,
    #[serde(default)]
    pub(super) unk_token: Option<String>,
    #[serde(default)]
    continuing_subword_prefix: Option<String>,
    #[serde(default)]
    end_of_word_suffix: Option<String>,
    #[serde(default)]
    fuse_unk: Option<bool>,
    #[serde(default)]
    pub(super) byte_fallback: Option<bool>,
    #[serde(default)]
    pub(super) ignore_merges: Option<bool>,
}

/// Token to id, in file order. Lists (other model types) are read over.
#[derive(Default)]
pub(super) struct VocabEntry(pub(super) Vec<(String, u32)>);

/// `["a", "b"]` or the older `"a b"`.
pub(super) enum MergeEntry {
    Pair(String, String),
    Text(String),
}

impl<'de> Deserialize<'de> for VocabEntry {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = VocabEntry;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object of token: id")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<VocabEntry, A::Error> {
                let mut all = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    all.push(entry);
                }
                Ok(VocabEntry(all))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<VocabEntry, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(VocabEntry::default())
            }
        }
        d.deserialize_any(V)
    }
}

impl<'de> Deserialize<'de> for MergeEntry {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = MergeEntry;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a merge: two tokens, as a list or with a space between")
            }
            fn visit_str<E: serde::de::Error>(self, s: &str) -> Result<MergeEntry, E> {
                Ok(MergeEntry::Text(s.to_owned()))
            }
            fn visit_string<E: serde::de::Error>(self, s: String) -> Result<MergeEntry, E> {
                Ok(MergeEntry::Text(s))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<MergeEntry, A::Error> {
                let missing = || serde::de::Error::custom("a merge needs two tokens");
                let a: String = seq.next_element()?.ok_or_else(missing)?;
                let b: String = seq.next_element()?.ok_or_else(missing)?;
                match seq.next_element::<IgnoredAny>()? {
                    Some(_) => Err(serde::de::Error::custom("a merge of more than two tokens")),
                    None => Ok(MergeEntry::Pair(a, b)),
                }
            }
        }
        d.deserialize_any(V)
    }
}

impl TokenizerFile {
    /// Parses the file and makes sure that it is a BPE tokenizer of a kind known here.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, TextError> {
        let file: TokenizerFile = serde_json::from_slice(bytes)
            .map_err(|e| TextError::Json { file: FILE, reason: e.to_string() })?;
        match file.model.kind.as_deref() {
            Some("BPE") => {}
            None if !file.model.vocab.0.is_empty() => {}
            other => {
                return Err(TextError::Unsupported {
                    file: FILE,
                    part: "model",
                    found: clip(other.unwrap_or("(none)")),
                    supported: "BPE".to_owned(),
                });
            }
        }
        for (field, value) in [
            ("model.continuing_subword_prefix", &file.model.continuing_subword_prefix),
            ("model.end_of_word_suffix", &file.model.end_of_word_suffix),
        ] {
            if let Some(text) = value.as_deref().filter(|t| !t.is_empty()) {
                return Err(TextError::field(FILE, field, "none", clip(text)));
            }
        }
        allow_only(file.normalizer.as_ref(), "normalizers", "normalizer", &NORMALIZERS)?;
        allow_only(file.pre_tokenizer.as_ref(), "pretokenizers", "pre-tokenizer", &PRE_TOKENIZERS)?;
        Ok(file)
    }

    /// How ordinary tokens map to bytes, from the decoder and the pre-tokenizer.
    pub(super) fn alphabet(&self) -> Alphabet {
        let parts = [self.decoder.as_ref(), self.pre_tokenizer.as_ref(), self.normalizer.as_ref()];
        let has = |kind| parts.iter().flatten().any(|v| find(v, kind).is_some());
        if has("ByteLevel") {
            Alphabet::ByteLevel
        } else if has("Metaspace") || has("ByteFallback") || self.model.byte_fallback == Some(true) {
            Alphabet::Sentence
        } else {
            Alphabet::Raw
        }
    }

    /// Whether decoding drops the first space.
    pub(super) fn strips_leading_space(&self) -> bool {
        let Some(decoder) = &self.decoder else { return false };
        if let Some(meta) = find(decoder, "Metaspace") {
            let never = meta.get("prepend_scheme").and_then(Value::as_str) == Some("never");
            return !never && meta.get("add_prefix_space").and_then(Value::as_bool) != Some(false);
        }
        find(decoder, "Strip").is_some_and(|s| {
            s.get("content").and_then(Value::as_str) == Some(" ")
                && s.get("start").and_then(Value::as_u64).unwrap_or(0) > 0
        })
    }

    /// Every id's text and kind, gaps marked; refuses ids that would make the table absurdly large.
    pub(super) fn entries(&self) -> Result<Vec<(&str, TokenKind)>, TextError> {
        let added = self.added_tokens.iter().map(|a| (a.content.as_str(), a.id));
        let model = self.model.vocab.0.iter().map(|(t, id)| (t.as_str(), *id));
        let count = self.added_tokens.len() + self.model.vocab.0.len();
        let limit = count.saturating_mul(4).saturating_add(65_536);
        let highest = added.clone().chain(model.clone()).max_by_key(|(_, id)| *id);
        let Some((text, highest)) = highest else {
            return Err(TextError::field(FILE, "model.vocab", "at least one token", "none"));
        };
        if highest as usize >= limit {
            let reason = format!("the id is far above the number of tokens ({count})");
            return Err(TextError::token(highest as usize, text, reason));
        }
        let bytes = self.alphabet() == Alphabet::Sentence;
        let mut all = vec![("", TokenKind::Missing); highest as usize + 1];
        for (text, id) in model {
            let is_byte = bytes && matches!(parse_byte_token(text), Some(Some(_)));
            let unknown = self.model.unk_token.as_deref() == Some(text);
            let kind = match (is_byte, unknown) {
                (true, _) => TokenKind::Byte,
                (_, true) => TokenKind::Unknown,
                _ => TokenKind::Normal,
            };
            if let Some(slot) = all.get_mut(id as usize) {
                *slot = (text, kind);
            }
        }
        for a in &self.added_tokens {
            if let Some(slot) = all.get_mut(a.id as usize) {
                let kind = match (a.special, slot.1) {
                    (_, TokenKind::Unknown) => TokenKind::Unknown,
                    (true, _) => TokenKind::Control,
                    (false, _) => TokenKind::UserDefined,
                };
                *slot = (a.content.as_str(), kind);
            }
        }
        Ok(all)
    }
}

/// Finds a component of a type in a possibly nested description.
fn find<'v>(value: &'v Value, kind: &str) -> Option<&'v Value> {
    if value.get("type").and_then(Value::as_str) == Some(kind) {
        return Some(value);
    }
    ["decoders", "pretokenizers", "processors", "normalizers"]
        .iter()
        .filter_map(|list| value.get(list).and_then(Value::as_array))
        .flatten()
        .find_map(|v| find(v, kind))
}

fn allow_only(
    value: Option<&Value>,
    list: &str,
    part: &'static str,
    allowed: &[&str],
) -> Result<(), TextError> {
    let Some(value) = value.filter(|v| !v.is_null()) else { return Ok(()) };
    let kind = value.get("type").and_then(Value::as_str).unwrap_or("(none)");
    if !allowed.contains(&kind) {
        let supported = allowed.join(", ");
        return Err(TextError::Unsupported { file: FILE, part, found: clip(kind), supported });
    }
    for v in value.get(list).and_then(Value::as_array).into_iter().flatten() {
        allow_only(Some(v), list, part, allowed)?;
    }
    Ok(())
}

/// Splits a merge into its halves.
pub(super) fn split_merge(index: usize, merge: MergeEntry) -> Result<(String, String), TextError> {
    match merge {
        MergeEntry::Pair(a, b) => Ok((a, b)),
        MergeEntry::Text(text) => match text.split_once(' ') {
            Some((a, b)) if !a.is_empty() && !b.is_empty() && !b.contains(' ') => {
                Ok((a.to_owned(), b.to_owned()))
            }
            _ => Err(TextError::BadMerge {
                index,
                merge: clip(&text),
                reason: "expected two tokens with one space between".to_owned(),
            }),
        },
    }
}

/// Checks all merges against the vocabulary and builds the crate's BPE. Tokens in `withheld` (control tokens) can
/// never be the result of merging; merges that touch them are left out.
pub(super) fn build_bpe(
    vocab: tokenizers::models::bpe::Vocab,
    withheld: &HashMap<&str, u32>,
    merges: impl Iterator<Item = Result<(String, String), TextError>>,
    options: BpeOptions,
) -> Result<BPE, TextError> {
    let mut joined = String::new();
    let mut checked = Vec::with_capacity(merges.size_hint().0);
    for (index, merge) in merges.enumerate() {
        let (a, b) = merge?;
        joined.clear();
        joined.push_str(&a);
        joined.push_str(&b);
        let mut keep = true;
        for part in [&a, &b, &joined] {
            if !vocab.contains_key(part.as_str()) {
                if !withheld.contains_key(part.as_str()) {
                    let reason = format!("`{}` is not in the vocabulary", clip(part));
                    return Err(TextError::BadMerge { index, merge: clip(&format!("{a} {b}")), reason });
                }
                keep = false;
            }
        }
        if keep {
            checked.push((a, b));
        }
    }
    let unknown = options.unknown.filter(|u| vocab.contains_key(u.as_str()));
    let mut builder = BPE::builder()
        .vocab_and_merges(vocab, checked)
        .byte_fallback(options.byte_fallback)
        .fuse_unk(options.fuse_unknown)
        .ignore_merges(options.ignore_merges);
    if let Some(unknown) = unknown {
        builder = builder.unk_token(unknown);
    }
    builder.build().map_err(TextError::engine)
}

/// Switches of the BPE model.
#[derive(Default)]
pub(super) struct BpeOptions {
    pub(super) unknown: Option<String>,
    pub(super) fuse_unknown: bool,
    pub(super) byte_fallback: bool,
    pub(super) ignore_merges: bool,
}

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
        let vocab = file.model.vocab.0.into_iter().filter(|(t, _)| !withheld.contains_key(t.as_str())).collect();
        let options = BpeOptions {
            unknown,
            fuse_unknown: file.model.fuse_unk.unwrap_or(false),
            byte_fallback: file.model.byte_fallback.unwrap_or(false),
            ignore_merges: file.model.ignore_merges.unwrap_or(false),
        };
        let merges = file.model.merges.into_iter().enumerate().map(|(i, m)| split_merge(i, m));
        let model = build_bpe(vocab, &withheld, merges, options)?;
        let added = file.added_tokens.into_iter().map(AddedEntry::into_added).collect();
        Tokenizer::assemble(Parts {
            engine: Engine::Bpe { model: Box::new(model), normalizer, pre },
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
    serde_json::from_value(value)
        .map(Some)
        .map_err(|e| TextError::field(FILE, field, "a description the tokenizers crate reads", clip(&e.to_string())))
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
            [generation_config, config, config_text].into_iter().flatten().flat_map(|c| ids(c.get(field))).collect()
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
                let entry = template.get("special_tokens").and_then(|t| t.get(name)).and_then(|t| t.get("ids"));
                if seen_text { suffix.extend(ids(entry)) } else { prefix.extend(ids(entry)) }
            }
        }
    } else if let Some(roberta) = find(value, "RobertaProcessing").or_else(|| find(value, "BertProcessing")) {
        prefix.extend(ids(roberta.pointer("/cls/1")));
        suffix.extend(ids(roberta.pointer("/sep/1")));
    }
    (prefix, suffix)
}
