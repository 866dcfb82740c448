//! The table of tokens: text, exact bytes and kind per id, in flat storage.

use super::byte_level;
use super::error::TextError;

/// What a token is, in the numbering of `tokenizer.ggml.token_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenKind {
    /// An ordinary token.
    Normal,
    /// Stands for what the vocabulary cannot say.
    Unknown,
    /// Steers the model; has no text of its own.
    Control,
    /// Matched whole in any text, but is text.
    UserDefined,
    /// Reserved, never produced.
    Unused,
    /// One byte, written `<0xNN>`.
    Byte,
    /// An id inside the range that no token has.
    Missing,
}

impl TokenKind {
    /// From the number in a GGUF.
    pub(super) fn from_gguf(n: i64) -> Option<Self> {
        Some(match n {
            0 | 1 => TokenKind::Normal,
            2 => TokenKind::Unknown,
            3 => TokenKind::Control,
            4 => TokenKind::UserDefined,
            5 => TokenKind::Unused,
            6 => TokenKind::Byte,
            _ => return None,
        })
    }

    /// The number in a GGUF. A gap is written as an unused token.
    pub(super) fn to_gguf(self) -> i32 {
        match self {
            TokenKind::Normal => 1,
            TokenKind::Unknown => 2,
            TokenKind::Control => 3,
            TokenKind::UserDefined => 4,
            TokenKind::Unused | TokenKind::Missing => 5,
            TokenKind::Byte => 6,
        }
    }
}

/// How the text of an ordinary token maps to bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alphabet {
    /// One character per byte (GPT-2).
    ByteLevel,
    /// U+2581 for the space, `<0xNN>` for single bytes.
    Sentence,
    /// The text itself.
    Raw,
}

/// U+2581, which SentencePiece writes for a space.
pub(super) const SPACE_MARK: char = '\u{2581}';

/// Parses `<0xNN>`: `None` when the text does not have that shape, `Some(None)` when it has the shape but not two hex
/// digits.
pub(super) fn parse_byte_token(text: &str) -> Option<Option<u8>> {
    let hex = text.strip_prefix("<0x")?.strip_suffix('>')?;
    let ok = hex.len() == 2 && hex.bytes().all(|b| b.is_ascii_hexdigit());
    Some(if ok { u8::from_str_radix(hex, 16).ok() } else { None })
}

/// Text, bytes and kind of every id.
#[derive(Debug, Clone, Default)]
pub(super) struct TokenTable {
    texts: String,
    text_ends: Vec<usize>,
    bytes: Vec<u8>,
    byte_ends: Vec<usize>,
    kinds: Vec<TokenKind>,
}

impl TokenTable {
    pub(super) fn with_capacity(tokens: usize) -> Self {
        TokenTable {
            texts: String::with_capacity(tokens.saturating_mul(7)),
            text_ends: Vec::with_capacity(tokens),
            bytes: Vec::with_capacity(tokens.saturating_mul(7)),
            byte_ends: Vec::with_capacity(tokens),
            kinds: Vec::with_capacity(tokens),
        }
    }

    /// Appends the next id. Ordinary tokens go through the alphabet, byte tokens must be `<0xNN>`, the rest is raw.
    pub(super) fn push(&mut self, text: &str, kind: TokenKind, alphabet: Alphabet) -> Result<(), TextError> {
        match (kind, alphabet) {
            (TokenKind::Missing, _) => {}
            (TokenKind::Byte, _) => match parse_byte_token(text) {
                Some(Some(b)) => self.bytes.push(b),
                _ => {
                    let reason = "a byte token must be written <0xNN> with two hex digits";
                    return Err(TextError::token(self.kinds.len(), text, reason));
                }
            },
            (TokenKind::Normal | TokenKind::Unused, Alphabet::ByteLevel) => {
                // A few vocabularies hold tokens outside the alphabet; they are text as it stands.
                if !byte_level::push_bytes(text, &mut self.bytes) {
                    self.bytes.extend_from_slice(text.as_bytes());
                }
            }
            (TokenKind::Normal | TokenKind::Unused | TokenKind::UserDefined, Alphabet::Sentence) => {
                let mut buf = [0u8; 4];
                for c in text.chars() {
                    let c = if c == SPACE_MARK { ' ' } else { c };
                    self.bytes.extend_from_slice(c.encode_utf8(&mut buf).as_bytes());
                }
            }
            _ => self.bytes.extend_from_slice(text.as_bytes()),
        }
        self.texts.push_str(text);
        self.text_ends.push(self.texts.len());
        self.byte_ends.push(self.bytes.len());
        self.kinds.push(kind);
        Ok(())
    }

    /// Number of ids, gaps included.
    pub(super) fn len(&self) -> usize {
        self.kinds.len()
    }

    /// The kind of an id; `Missing` for ids outside.
    pub(super) fn kind(&self, id: u32) -> TokenKind {
        self.kinds.get(id as usize).copied().unwrap_or(TokenKind::Missing)
    }

    /// The text as stored in the file.
    pub(super) fn text(&self, id: u32) -> Result<&str, TextError> {
        self.check(id)?;
        let (from, to) = span(&self.text_ends, id as usize);
        self.texts.get(from..to).ok_or(TextError::UnknownId { id, size: self.len() })
    }

    /// The exact bytes that the token adds to the text.
    pub(super) fn bytes(&self, id: u32) -> Result<&[u8], TextError> {
        self.check(id)?;
        let (from, to) = span(&self.byte_ends, id as usize);
        self.bytes.get(from..to).ok_or(TextError::UnknownId { id, size: self.len() })
    }

    fn check(&self, id: u32) -> Result<(), TextError> {
        match self.kind(id) {
            TokenKind::Missing => Err(TextError::UnknownId { id, size: self.len() }),
            _ => Ok(()),
        }
    }
}

fn span(ends: &[usize], i: usize) -> (usize, usize) {
    let from = if i == 0 { 0 } else { ends.get(i - 1).copied().unwrap_or(0) };
    (from, ends.get(i).copied().unwrap_or(from))
}

/// Names of tokens that end a turn whatever the metadata says.
const STOP_NAMES: [&str; 12] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<end_of_turn>",
    "<|end_of_turn|>",
    "<|return|>",
    "<|call|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<turn|>",
    "<|END_OF_TURN_TOKEN|>",
];

/// The ids among the well-known names that end a turn in this vocabulary.
///
/// In a vocabulary of the "harmony" kind (`<|return|>` and `<|call|>` present) `<|end|>` closes one message of an
/// answer, not the answer, so it is left out there.
pub(super) fn named_stops(lookup: impl Fn(&str) -> Option<u32>) -> Vec<u32> {
    let harmony = lookup("<|return|>").is_some() && lookup("<|call|>").is_some();
    STOP_NAMES.iter().filter(|n| !(harmony && **n == "<|end|>")).filter_map(|n| lookup(n)).collect()
}

/// Whether a token's text has the shape of a control token. Vocabularies mark some turn tokens as plain text
/// (`<｜User｜>` of DeepSeek); a person must not be able to type those either.
pub(super) fn looks_like_control(text: &str) -> bool {
    let wrapped = |open: &str, close: &str| {
        text.len() > open.len() + close.len() && text.starts_with(open) && text.ends_with(close)
    };
    wrapped("<|", "|>")
        || wrapped("<｜", "｜>")
        || matches!(
            text,
            "<s>"
                | "</s>"
                | "<start_of_turn>"
                | "<end_of_turn>"
                | "<|turn>"
                | "<turn|>"
                | "[INST]"
                | "[/INST]"
                | "[SYSTEM_PROMPT]"
                | "[/SYSTEM_PROMPT]"
                | "<bos>"
                | "<eos>"
                | "<pad>"
                | "<unk>"
        )
}
