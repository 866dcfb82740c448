//! Reading `tokenizer.json`, byte-level and SentencePiece-like BPE, into plain lists that can be checked.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::error::{TextError, clip};
use super::vocab::{Alphabet, TokenKind, parse_byte_token};

/// The name in messages.
pub(super) const FILE: &str = "tokenizer.json";

/// Components that the crate cannot be trusted with or that no language model uses are not in these lists.
const NORMALIZERS: [&str; 12] = [
    "Sequence",
    "Prepend",
    "Replace",
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
    "Lowercase",
    "Strip",
    "StripAccents",
    "Nmt",
    "ByteLevel",
];
const PRE_TOKENIZERS: [&str; 9] = [
    "Sequence",
    "Split",
    "ByteLevel",
    "Digits",
    "Metaspace",
    "Whitespace",
    "WhitespaceSplit",
    "Punctuation",
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
    pub(super) fuse_unk: Option<bool>,
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
        for (field, part) in [("normalizer", &file.normalizer), ("pre_tokenizer", &file.pre_tokenizer)] {
            part.as_ref().map_or(Ok(()), |part| refuse_empty_patterns(part, field))?;
        }
        allow_only(file.normalizer.as_ref(), "normalizers", "normalizer", &NORMALIZERS)?;
        if file.normalizer.as_ref().map_or(1, growth) > MAX_GROWTH {
            let found = "replacements that make it longer without bound";
            return Err(TextError::field(FILE, "normalizer", "text of about the same length", found));
        }
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
        let twice = |id: u32, text: &str, other: &str| {
            let reason = format!("the same id as token `{}`", clip(other));
            Err(TextError::token(id as usize, text, reason))
        };
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
                if slot.1 != TokenKind::Missing && slot.0 != text {
                    return twice(id, text, slot.0);
                }
                *slot = (text, kind);
            }
        }
        for a in &self.added_tokens {
            if let Some(slot) = all.get_mut(a.id as usize) {
                if slot.1 != TokenKind::Missing && slot.0 != a.content {
                    return twice(a.id, &a.content, slot.0);
                }
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
pub(super) fn find<'v>(value: &'v Value, kind: &str) -> Option<&'v Value> {
    if value.get("type").and_then(Value::as_str) == Some(kind) {
        return Some(value);
    }
    ["decoders", "pretokenizers", "processors", "normalizers"]
        .iter()
        .filter_map(|list| value.get(list).and_then(Value::as_array))
        .flatten()
        .find_map(|v| find(v, kind))
}

/// How many times longer replacements may make a text, in bytes. A space to U+2581 is 3.
const MAX_GROWTH: usize = 64;

/// How many times longer a normalizer can make a text.
fn growth(value: &Value) -> usize {
    let length = |v: Option<&Value>| v.and_then(Value::as_str).map_or(0, str::len);
    match value.get("type").and_then(Value::as_str) {
        Some("Sequence") => {
            let steps = value.get("normalizers").and_then(Value::as_array);
            steps.into_iter().flatten().map(growth).fold(1, usize::saturating_mul)
        }
        Some("Replace") => {
            let content = length(value.get("content"));
            match value.pointer("/pattern/String").and_then(Value::as_str).map_or(0, str::len) {
                // A regular expression may match a single character, or nothing at all.
                0 => content.saturating_add(1),
                pattern => content.div_ceil(pattern).max(1),
            }
        }
        Some("Prepend") if length(value.get("prepend")) > MAX_GROWTH => usize::MAX,
        _ => 1,
    }
}

/// An empty pattern is found everywhere, and the crate panics on the empty matches. `at` is the path in messages.
fn refuse_empty_patterns(value: &Value, at: &str) -> Result<(), TextError> {
    match value {
        Value::Object(map) => {
            for (key, v) in map {
                let at = format!("{at}.{key}");
                let text = |v: &Value| v.as_str().is_some_and(str::is_empty);
                let empty =
                    key == "pattern" && (text(v) || v.as_object().is_some_and(|p| p.values().any(text)));
                if empty {
                    return Err(TextError::field(FILE, at, "a pattern", "an empty text"));
                }
                refuse_empty_patterns(v, &at)?;
            }
            Ok(())
        }
        Value::Array(list) => {
            list.iter().enumerate().try_for_each(|(i, v)| refuse_empty_patterns(v, &format!("{at}[{i}]")))
        }
        _ => Ok(()),
    }
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
