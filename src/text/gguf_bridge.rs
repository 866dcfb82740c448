//! The tokenizer inside a GGUF: `tokenizer.ggml.*` to the same [`Tokenizer`] that a `tokenizer.json` gives.

use std::collections::HashMap;

use serde_json::{Value, json};
use tokenizers::AddedToken;
use tokenizers::models::bpe::Vocab;

use super::bpe::{BpeOptions, Merge, build_bpe, split_merge_text};
use super::byte_level;
use super::error::{TextError, clip};
use super::pretokenizers::PreTokenizer;
use super::spm::{Piece, SpmModel};
use super::tokenizer::{Added, BpeEngine, Engine, Parts, Tokenizer};
use super::vocab::{Alphabet, TokenKind, TokenTable, parse_byte_token};
use crate::format::Metadata;

const FILE: &str = "GGUF";
const MODELS: [&str; 2] = ["gpt2", "llama"];

/// The vocabulary lists of a GGUF, checked against each other.
struct Vocabulary<'m> {
    tokens: &'m [String],
    kinds: Vec<TokenKind>,
}

/// Whether a GGUF holds a tokenizer of a kind that [`Tokenizer::from_gguf`] reads.
pub fn is_supported_gguf(metadata: &Metadata) -> bool {
    matches!(metadata.str("tokenizer.ggml.model"), Ok(Some(m)) if MODELS.contains(&m))
}

impl<'m> Vocabulary<'m> {
    fn read(metadata: &'m Metadata, sentence: bool, roles: &Roles) -> Result<Self, TextError> {
        let key = "tokenizer.ggml.tokens";
        let tokens = metadata.strings(key)?.unwrap_or(&[]);
        if tokens.is_empty() || tokens.len() > i32::MAX as usize {
            let found = if tokens.is_empty() { "none".to_owned() } else { tokens.len().to_string() };
            return Err(TextError::field(FILE, key, "a list of tokens", found));
        }
        let mut kinds = vec![TokenKind::Normal; tokens.len()];
        let key = "tokenizer.ggml.token_type";
        match metadata.ints(key)? {
            Some(types) => {
                if types.len() != tokens.len() {
                    return Err(TextError::field(FILE, key, counted(tokens.len()), counted(types.len())));
                }
                for (id, ((kind, n), text)) in kinds.iter_mut().zip(types).zip(tokens).enumerate() {
                    *kind = TokenKind::from_gguf(n).ok_or_else(|| {
                        TextError::token(id, text, format!("token type {n} is not one of 0 to 6"))
                    })?;
                }
            }
            None => {
                // Without types only the roles and the shape of byte tokens tell what is what.
                for (kind, text) in kinds.iter_mut().zip(tokens) {
                    if sentence && matches!(parse_byte_token(text), Some(Some(_))) {
                        *kind = TokenKind::Byte;
                    }
                }
                for id in roles.all() {
                    if let Some(kind) = kinds.get_mut(id as usize) {
                        *kind = TokenKind::Control;
                    }
                }
                if let Some(kind) = roles.unknown.and_then(|u| kinds.get_mut(u as usize)) {
                    *kind = TokenKind::Unknown;
                }
            }
        }
        Ok(Vocabulary { tokens, kinds })
    }

    fn iter(&self) -> impl Iterator<Item = (u32, &'m str, TokenKind)> + '_ {
        self.tokens
            .iter()
            .zip(&self.kinds)
            .enumerate()
            .map(|(id, (text, kind))| (id as u32, text.as_str(), *kind))
    }

    fn table(&self, alphabet: Alphabet) -> Result<TokenTable, TextError> {
        let mut table = TokenTable::with_capacity(self.tokens.len());
        for (_, text, kind) in self.iter() {
            table.push(text, kind, alphabet)?;
        }
        Ok(table)
    }

    /// The tokens that are matched whole. `rstrip` makes turn tokens swallow the white space after them.
    fn added(&self, rstrip: bool) -> Vec<Added> {
        let mut added = Vec::new();
        for (id, text, kind) in self.iter() {
            let special = match kind {
                TokenKind::Control | TokenKind::Unknown => true,
                TokenKind::UserDefined => false,
                _ => continue,
            };
            let keeps_space = matches!(text, "<unk>" | "<s>" | "<|endoftext|>");
            let token = AddedToken::from(text, special).normalized(false).rstrip(rstrip && !keeps_space);
            added.push(Added { id, token });
        }
        added
    }
}

/// Ids with a role, as the file names them.
struct Roles {
    bos: Option<u32>,
    eos: Option<u32>,
    unknown: Option<u32>,
    stops: Vec<u32>,
    others: Vec<u32>,
}

impl Roles {
    fn read(metadata: &Metadata, size: usize, sentence: bool) -> Result<Self, TextError> {
        let read = |name: &str| -> Result<Option<u32>, TextError> {
            let key = format!("tokenizer.ggml.{name}_token_id");
            match metadata.u64(&key)? {
                Some(id) if (id as usize) < size && id <= u64::from(u32::MAX) => Ok(Some(id as u32)),
                // Files write -1 for "none" into an unsigned number.
                Some(id) => {
                    log::warn!("GGUF: {key} = {id} is outside the vocabulary of {size} tokens; ignored");
                    Ok(None)
                }
                None => Ok(None),
            }
        };
        // SentencePiece models have these ids when nothing is said.
        let or = |found: Option<u32>, default: u32| {
            found.or((sentence && (default as usize) < size).then_some(default))
        };
        let mut stops = Vec::new();
        for name in ["eot", "eom"] {
            stops.extend(read(name)?);
        }
        let mut others = Vec::new();
        for name in ["padding", "seperator", "separator", "cls", "mask"] {
            others.extend(read(name)?);
        }
        let absent = |name: &str| !metadata.contains(&format!("tokenizer.ggml.{name}_token_id"));
        Ok(Roles {
            bos: if absent("bos") { or(None, 1) } else { read("bos")? },
            eos: if absent("eos") { or(None, 2) } else { read("eos")? },
            unknown: if absent("unknown") { or(None, 0) } else { read("unknown")? },
            stops,
            others,
        })
    }

    fn all(&self) -> impl Iterator<Item = u32> + '_ {
        let lists = self.stops.iter().chain(&self.others).copied();
        self.bos.into_iter().chain(self.eos).chain(lists)
    }
}

fn counted(n: usize) -> String {
    format!("{n} entries")
}

impl Tokenizer {
    /// Builds the tokenizer from the vocabulary inside a GGUF.
    pub fn from_gguf(metadata: &Metadata) -> Result<Self, TextError> {
        let key = "tokenizer.ggml.model";
        let sentence = match metadata.str(key)? {
            Some("gpt2") => false,
            Some("llama") => true,
            other => {
                return Err(TextError::Unsupported {
                    file: FILE,
                    part: "tokenizer.ggml.model",
                    found: clip(other.unwrap_or("(missing)")),
                    supported: MODELS.join(", "),
                });
            }
        };
        let size = metadata.strings("tokenizer.ggml.tokens")?.map_or(0, <[String]>::len);
        let roles = Roles::read(metadata, size, sentence)?;
        let vocabulary = Vocabulary::read(metadata, sentence, &roles)?;
        if sentence { from_spm(metadata, &vocabulary, roles) } else { from_bpe(metadata, &vocabulary, roles) }
    }
}

/// The ids put round a text: what the file says, else the default of its kind.
fn affixes(metadata: &Metadata, roles: &Roles, add_bos: bool) -> Result<(Vec<u32>, Vec<u32>), TextError> {
    let add_bos = metadata.bool("tokenizer.ggml.add_bos_token")?.unwrap_or(add_bos);
    let add_eos = metadata.bool("tokenizer.ggml.add_eos_token")?.unwrap_or(false);
    let prefix = roles.bos.filter(|_| add_bos).into_iter().collect();
    let suffix = roles.eos.filter(|_| add_eos).into_iter().collect();
    Ok((prefix, suffix))
}

fn from_bpe(metadata: &Metadata, vocabulary: &Vocabulary, roles: Roles) -> Result<Tokenizer, TextError> {
    let rule = PreTokenizer::by_name(metadata.str("tokenizer.ggml.pre")?)?;
    let key = "tokenizer.ggml.merges";
    let merges =
        metadata.strings(key)?.ok_or_else(|| TextError::field(FILE, key, "a list of merges", "nothing"))?;
    let table = vocabulary.table(Alphabet::ByteLevel)?;
    let mut withheld = HashMap::new();
    let mut model_vocab = Vocab::with_capacity(vocabulary.tokens.len());
    for (id, text, kind) in vocabulary.iter() {
        let before = match kind {
            TokenKind::Control | TokenKind::Unknown => withheld.insert(text, id),
            // Fillers may repeat; they are never produced.
            TokenKind::Unused => {
                model_vocab.entry(text.to_owned()).or_insert(id);
                None
            }
            _ if text.is_empty() => None,
            _ => model_vocab.insert(text.to_owned(), id),
        };
        refuse_duplicate(before, id, text)?;
    }
    for (text, id) in &withheld {
        refuse_duplicate(model_vocab.get(*text).copied(), *id, text)?;
    }
    let missing = missing_bytes(&model_vocab);
    if !missing.is_empty() {
        log::warn!("GGUF: the vocabulary has no token for the bytes {missing:02X?}; text loses them");
    }
    let split = || -> Result<Vec<Merge>, TextError> {
        merges.iter().enumerate().map(|(i, m)| split_merge_text(i, m)).collect()
    };
    let options = BpeOptions { ignore_merges: rule.ignore_merges(), ..BpeOptions::default() };
    let model = build_bpe(model_vocab, &withheld, split()?, split, options)?;
    let (prefix, suffix) = affixes(metadata, &roles, rule.add_bos())?;
    Tokenizer::assemble(Parts {
        engine: Engine::Bpe(Box::new(BpeEngine {
            model,
            normalizer: rule.normalizer(),
            pre: Some(rule.build()?),
        })),
        table,
        added: vocabulary.added(false),
        bos: roles.bos,
        eos: roles.eos,
        stops: roles.stops,
        prefix,
        suffix,
        strip_leading_space: false,
    })
}

/// Two tokens of one text leave open which id a text has. llama.cpp refuses such files too.
fn refuse_duplicate(before: Option<u32>, id: u32, text: &str) -> Result<(), TextError> {
    match before {
        Some(other) => Err(TextError::token(id as usize, text, format!("the same text as token {other}"))),
        None => Ok(()),
    }
}

/// Bytes of valid UTF-8 that no token of the byte alphabet stands for.
fn missing_bytes(vocab: &Vocab) -> Vec<u8> {
    let mut buf = [0u8; 4];
    (0..=0xF4u8)
        .filter(|b| !matches!(b, 0xC0 | 0xC1))
        .filter(|&b| !vocab.contains_key(&*byte_level::char_of(b).encode_utf8(&mut buf)))
        .collect()
}

fn from_spm(metadata: &Metadata, vocabulary: &Vocabulary, roles: Roles) -> Result<Tokenizer, TextError> {
    let key = "tokenizer.ggml.scores";
    let scores = metadata
        .f32s(key)?
        .ok_or_else(|| TextError::field(FILE, key, "a score for every token", "nothing"))?;
    let size = vocabulary.tokens.len();
    if scores.len() != size {
        return Err(TextError::field(FILE, key, counted(size), counted(scores.len())));
    }
    let table = vocabulary.table(Alphabet::Sentence)?;
    let mut pieces = HashMap::with_capacity(size);
    let mut bytes: [Option<u32>; 256] = [None; 256];
    for ((id, text, kind), score) in vocabulary.iter().zip(scores) {
        if score.is_nan() {
            return Err(TextError::token(id as usize, text, "its score is not a number"));
        }
        match kind {
            TokenKind::Byte => {
                // The table has refused malformed ones already.
                if let Some(Some(slot)) =
                    parse_byte_token(text).flatten().map(|b| bytes.get_mut(usize::from(b)))
                {
                    *slot = Some(id);
                }
            }
            TokenKind::Normal | TokenKind::UserDefined | TokenKind::Unused if !text.is_empty() => {
                if parse_byte_token(text) == Some(None) && kind == TokenKind::Normal {
                    log::warn!("GGUF: token {id} `{}` looks like a byte token but is not", clip(text));
                }
                let unused = kind == TokenKind::Unused;
                let piece = Piece { id, score, unused };
                // A user-defined token may be written with spaces where an ordinary one has the mark.
                let taken = pieces.entry(text.replace(' ', "\u{2581}").into_boxed_str()).or_insert(piece).id;
                if kind == TokenKind::Normal && taken != id {
                    refuse_duplicate(Some(taken), id, text)?;
                }
            }
            _ => {}
        }
    }
    let byte_ids = all_bytes(&bytes, |text| pieces.get(text).map(|p: &Piece| p.id))?;
    if byte_ids.is_none() && roles.unknown.is_none() {
        let found = "neither byte tokens nor an unknown token";
        return Err(TextError::field(FILE, "tokenizer.ggml.tokens", "a way to write any text", found));
    }
    let space = metadata.bool("tokenizer.ggml.add_space_prefix")?.unwrap_or(true);
    let (prefix, suffix) = affixes(metadata, &roles, true)?;
    // Phi-3's turn tokens swallow the line break that its template writes after them; the file does not say so.
    let rstrip = matches!(metadata.str("general.architecture"), Ok(Some("phi3")));
    Tokenizer::assemble(Parts {
        engine: Engine::Spm(SpmModel::new(pieces, byte_ids, roles.unknown, space)),
        table,
        added: vocabulary.added(rstrip),
        bos: roles.bos,
        eos: roles.eos,
        stops: roles.stops,
        prefix,
        suffix,
        strip_leading_space: space,
    })
}

/// All 256 byte tokens or none. A byte that is a character by itself and a piece needs no byte token (Gemma's tab).
fn all_bytes(
    found: &[Option<u32>; 256],
    piece: impl Fn(&str) -> Option<u32>,
) -> Result<Option<Box<[u32; 256]>>, TextError> {
    if found.iter().all(Option::is_none) {
        return Ok(None);
    }
    let mut ids = Box::new([0u32; 256]);
    for ((b, slot), id) in (0..=255u8).zip(ids.iter_mut()).zip(found) {
        let as_text = || if b.is_ascii() { piece(char::from(b).encode_utf8(&mut [0; 4])) } else { None };
        *slot = id.or_else(as_text).ok_or_else(|| {
            let found = format!("no token <0x{b:02X}>");
            TextError::field(FILE, "tokenizer.ggml.tokens", "a token for every byte or for none", found)
        })?;
    }
    Ok(Some(ids))
}

/// The same tokenizer as a `tokenizer.json` (byte-level BPE only).
pub fn to_tokenizer_json(metadata: &Metadata) -> Result<Value, TextError> {
    let tokenizer = Tokenizer::from_gguf(metadata)?;
    let Engine::Bpe(bpe) = tokenizer.engine() else {
        return Err(TextError::Unsupported {
            file: FILE,
            part: "tokenizer.ggml.model",
            found: "llama".to_owned(),
            supported: "gpt2".to_owned(),
        });
    };
    let roles = Roles::read(metadata, tokenizer.vocab_size(), false)?;
    let vocabulary = Vocabulary::read(metadata, false, &roles)?;
    let added: Vec<Value> = vocabulary
        .added(false)
        .into_iter()
        .map(|a| {
            json!({"id": a.id, "content": a.token.content, "single_word": false, "lstrip": false,
                   "rstrip": false, "normalized": false, "special": a.token.special})
        })
        .collect();
    let byte_level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
                            "use_regex": false});
    let part = |v: Result<Value, serde_json::Error>| v.map_err(TextError::engine);
    Ok(json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": part(serde_json::to_value(&bpe.normalizer))?,
        "pre_tokenizer": part(serde_json::to_value(&bpe.pre))?,
        "post_processor": byte_level,
        "decoder": byte_level,
        "model": part(serde_json::to_value(&bpe.model))?,
    }))
}
