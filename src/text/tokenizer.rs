//! The tokenizer that the rest of golay sees, whatever file it came from.

use tokenizers::models::bpe::BPE;
use tokenizers::models::wordlevel::WordLevel;
use tokenizers::{
    AddedToken, AddedVocabulary, Model, NormalizerWrapper, OffsetReferential, OffsetType, PreTokenizer as _,
    PreTokenizerWrapper,
};

use super::error::TextError;
use super::spm::SpmModel;
use super::stream::StreamDecoder;
use super::vocab::{TokenKind, TokenTable, looks_like_control, named_stops};

/// How a text is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EncodeOptions {
    /// Whether control tokens are recognised in the text. True for what a template wrote, false for what a person
    /// typed: then `<|im_end|>` comes out as ordinary tokens.
    pub parse_special: bool,
    /// Whether the tokens that the model expects round every text (BOS, EOS) are added.
    pub add_special: bool,
}

/// The part that turns a piece of text without added tokens into ids.
pub(super) enum Engine {
    /// Rank-ordered BPE of the `tokenizers` crate, behind its normalizer and pre-tokenizer.
    Bpe(Box<BpeEngine>),
    /// Score-ordered merges of SentencePiece.
    Spm(SpmModel),
}

/// The `tokenizers` crate's parts, as [`Engine::Bpe`] runs them.
pub(super) struct BpeEngine {
    pub(super) model: BPE,
    pub(super) normalizer: Option<NormalizerWrapper>,
    pub(super) pre: Option<PreTokenizerWrapper>,
}

/// A token that is matched whole in the text before anything else happens.
pub(super) struct Added {
    pub(super) id: u32,
    pub(super) token: AddedToken,
}

/// Everything that a reader of a file found out; [`Tokenizer::assemble`] makes the tokenizer of it.
pub(super) struct Parts {
    pub(super) engine: Engine,
    pub(super) table: TokenTable,
    pub(super) added: Vec<Added>,
    pub(super) bos: Option<u32>,
    pub(super) eos: Option<u32>,
    /// Further ids that end an answer.
    pub(super) stops: Vec<u32>,
    /// Ids put before and after a text when `add_special` is set.
    pub(super) prefix: Vec<u32>,
    pub(super) suffix: Vec<u32>,
    /// SentencePiece: the first space of a decoded text is the one that encoding put there.
    pub(super) strip_leading_space: bool,
}

/// Text to ids and back.
pub struct Tokenizer {
    engine: Engine,
    table: TokenTable,
    /// All added tokens, for text that may hold control tokens.
    added_all: AddedVocabulary,
    /// Those that are plain text, for what people type.
    added_plain: AddedVocabulary,
    special: Vec<bool>,
    bos: Option<u32>,
    eos: Option<u32>,
    stops: Vec<u32>,
    prefix: Vec<u32>,
    suffix: Vec<u32>,
    strip_leading_space: bool,
}

impl Tokenizer {
    pub(super) fn assemble(parts: Parts) -> Result<Self, TextError> {
        let Parts { engine, table, mut added, bos, eos, stops, prefix, suffix, strip_leading_space } = parts;
        added.retain(|a| !a.token.content.is_empty());
        for a in &mut added {
            // An added token of white space that also swallows white space round it has no well-defined extent.
            if a.token.content.trim().is_empty() {
                a.token.lstrip = false;
                a.token.rstrip = false;
            }
        }
        let normalizer = match &engine {
            Engine::Bpe(bpe) => bpe.normalizer.as_ref(),
            Engine::Spm(_) => None,
        };
        let size = table.len();
        let mut special = vec![false; size];
        for id in 0..size as u32 {
            if matches!(table.kind(id), TokenKind::Control | TokenKind::Unknown)
                && let Some(s) = special.get_mut(id as usize)
            {
                *s = true;
            }
        }
        let in_range = |id: &u32| table.kind(*id) != TokenKind::Missing;
        let find = |name: &str| added.iter().find(|a| a.token.content == name).map(|a| a.id);
        let mut all_stops: Vec<u32> =
            eos.into_iter().chain(stops).chain(named_stops(find)).filter(in_range).collect();
        all_stops.sort_unstable();
        all_stops.dedup();
        let is_control = |a: &Added| {
            a.token.special
                || looks_like_control(&a.token.content)
                || Some(a.id) == bos
                || all_stops.binary_search(&a.id).is_ok()
        };
        for a in added.iter().filter(|a| a.token.special || all_stops.binary_search(&a.id).is_ok()) {
            if let Some(s) = special.get_mut(a.id as usize) {
                *s = true;
            }
        }
        let added_all = added_vocabulary(added.iter(), normalizer)?;
        let added_plain = added_vocabulary(added.iter().filter(|a| !is_control(a)), normalizer)?;
        Ok(Tokenizer {
            bos: bos.filter(in_range),
            eos: eos.filter(in_range),
            engine,
            added_all,
            added_plain,
            special,
            stops: all_stops,
            prefix,
            suffix,
            strip_leading_space,
            table,
        })
    }

    /// Ids of a text.
    pub fn encode(&self, text: &str, options: EncodeOptions) -> Result<Vec<u32>, TextError> {
        unpanicked(|| self.encode_with(text, options))
    }

    fn encode_with(&self, text: &str, options: EncodeOptions) -> Result<Vec<u32>, TextError> {
        let added = if options.parse_special { &self.added_all } else { &self.added_plain };
        let mut ids = Vec::with_capacity(text.len() / 3 + 4);
        if options.add_special {
            ids.extend_from_slice(&self.prefix);
        }
        match &self.engine {
            Engine::Bpe(bpe) => {
                let mut pieces = added.extract_and_normalize(bpe.normalizer.as_ref(), text);
                if let Some(pre) = &bpe.pre {
                    pre.pre_tokenize(&mut pieces).map_err(TextError::engine)?;
                }
                pieces.tokenize(|piece| bpe.model.tokenize(piece.get())).map_err(TextError::engine)?;
                for (_, _, tokens) in pieces.get_splits(OffsetReferential::Normalized, OffsetType::None) {
                    ids.extend(tokens.iter().flatten().map(|t| t.id));
                }
            }
            Engine::Spm(model) => {
                let pieces = added.extract_and_normalize(None::<&NormalizerWrapper>, text);
                for (piece, _, tokens) in pieces.get_splits(OffsetReferential::Normalized, OffsetType::None) {
                    match tokens {
                        Some(tokens) => ids.extend(tokens.iter().map(|t| t.id)),
                        None => model.encode(piece, &mut ids),
                    }
                }
            }
        }
        if options.add_special {
            ids.extend_from_slice(&self.suffix);
        }
        Ok(ids)
    }

    /// Text of ids. Bytes that are not UTF-8 become U+FFFD; to show text while it comes, use a [`StreamDecoder`].
    ///
    /// `skip_special` leaves out control tokens. An id outside the vocabulary is an error.
    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Result<String, TextError> {
        let mut bytes = Vec::with_capacity(ids.len() * 4);
        for &id in ids {
            let token = self.table.bytes(id)?;
            if !(skip_special && self.is_special(id)) {
                bytes.extend_from_slice(token);
            }
        }
        let bytes = match bytes.strip_prefix(b" ") {
            Some(rest) if self.strip_leading_space => rest,
            _ => &bytes,
        };
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    /// The exact bytes that a token stands for. Control tokens give their name.
    pub fn token_bytes(&self, id: u32) -> Result<Vec<u8>, TextError> {
        self.table.bytes(id).map(<[u8]>::to_vec)
    }

    /// As [`Tokenizer::token_bytes`], without a copy.
    pub fn token_slice(&self, id: u32) -> Result<&[u8], TextError> {
        self.table.bytes(id)
    }

    /// The token as the vocabulary writes it (`Ġthe`, `▁the`, `<0x0A>`).
    pub fn token_text(&self, id: u32) -> Result<&str, TextError> {
        self.table.text(id)
    }

    /// What kind of token an id is.
    pub fn token_kind(&self, id: u32) -> TokenKind {
        self.table.kind(id)
    }

    /// The id of a token written as in the vocabulary.
    pub fn token_id(&self, text: &str) -> Option<u32> {
        self.added_all.get_vocab().get(text).copied().or_else(|| match &self.engine {
            Engine::Bpe(bpe) => bpe.model.token_to_id(text),
            Engine::Spm(model) => model.id(text),
        })
    }

    /// Number of ids, gaps included: the highest id plus one. A model's head may be wider.
    pub fn vocab_size(&self) -> usize {
        self.table.len()
    }

    /// The token that begins a text.
    pub fn bos(&self) -> Option<u32> {
        self.bos
    }

    /// The token that ends a text.
    pub fn eos(&self) -> Option<u32> {
        self.eos
    }

    /// Whether `add_special` puts BOS before a text.
    pub fn add_bos(&self) -> bool {
        self.bos.is_some() && self.prefix.first().copied() == self.bos
    }

    /// Whether `add_special` puts EOS after a text.
    pub fn add_eos(&self) -> bool {
        self.eos.is_some() && self.suffix.last().copied() == self.eos
    }

    /// Whether an id is a control token: one that steers the model and is not text.
    pub fn is_special(&self, id: u32) -> bool {
        self.special.get(id as usize).copied().unwrap_or(false)
    }

    /// Every id that ends an answer, ascending.
    pub fn stop_ids(&self) -> &[u32] {
        &self.stops
    }

    /// Whether a text that is decoded from its beginning loses one leading space (SentencePiece with a space prefix).
    pub fn strips_leading_space(&self) -> bool {
        self.strip_leading_space
    }

    /// A decoder for a stream of this tokenizer's tokens. `at_text_start` is true when the first token is the first of
    /// a text (then the leading-space rule applies) and false for an answer that continues a prompt.
    pub fn stream_decoder(&self, at_text_start: bool) -> StreamDecoder {
        StreamDecoder::new(at_text_start && self.strip_leading_space)
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let engine = match &self.engine {
            Engine::Bpe(_) => "bpe",
            Engine::Spm(_) => "spm",
        };
        f.debug_struct("Tokenizer")
            .field("engine", &engine)
            .field("vocab_size", &self.vocab_size())
            .field("bos", &self.bos)
            .field("eos", &self.eos)
            .field("stop_ids", &self.stops)
            .finish_non_exhaustive()
    }
}

/// Runs code that calls into the `tokenizers` crate. What is known to make it panic is refused when a file is read; this
/// is the last line, where a panic can be caught at all.
fn unpanicked<T>(f: impl FnOnce() -> Result<T, TextError>) -> Result<T, TextError> {
    #[cfg(not(target_arch = "wasm32"))]
    {
        // The closure only reads, so nothing is left half-written behind a panic.
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_or_else(|cause| {
            let text = cause.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Err(TextError::Engine(format!("the tokenizers crate panicked: {}", super::error::clip(text))))
        })
    }
    #[cfg(target_arch = "wasm32")]
    f()
}

/// The matcher for a set of added tokens, with the ids that the file gives them.
fn added_vocabulary<'a>(
    added: impl Iterator<Item = &'a Added>,
    normalizer: Option<&NormalizerWrapper>,
) -> Result<AddedVocabulary, TextError> {
    let mut ids = tokenizers::models::bpe::Vocab::new();
    let mut tokens = Vec::new();
    for a in added {
        ids.insert(a.token.content.clone(), a.id);
        tokens.push(a.token.clone());
    }
    // The crate asks a model for the id of each token; a word list answers with ours.
    let lookup = WordLevel::builder().vocab(ids).build().map_err(TextError::engine)?;
    let mut vocabulary = AddedVocabulary::new();
    vocabulary.add_tokens(tokens, &lookup, normalizer).map_err(TextError::engine)?;
    Ok(vocabulary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_crate_is_an_error() {
        let e = unpanicked::<()>(|| panic!("at {}", 5)).unwrap_err().to_string();
        assert!(e.contains("panicked: at 5"), "{e}");
        assert_eq!(unpanicked(|| Ok(5)).unwrap(), 5);
    }
}
