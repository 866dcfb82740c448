//! What can go wrong in this room.

use crate::format::FormatError;

/// An error of the text room. Each names the file, field, token or merge concerned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// A JSON file that cannot be read at all.
    #[error("{file}: {reason}")]
    Json {
        /// The file's name.
        file: &'static str,
        /// The parser's message.
        reason: String,
    },
    /// A field that is missing or has the wrong form.
    #[error("{file}: field `{field}`: expected {expected}, found {found}")]
    Field {
        /// `GGUF`, `tokenizer.json`, ...
        file: &'static str,
        /// The key.
        field: String,
        /// What would have been right.
        expected: String,
        /// What was there.
        found: String,
    },
    /// Metadata of the wrong type.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A tokenizer kind that golay does not have.
    #[error("{file}: {part} `{found}` is not supported (supported: {supported})")]
    Unsupported {
        /// `GGUF`, `tokenizer.json`.
        file: &'static str,
        /// Which part: model, pre-tokenizer, ...
        part: &'static str,
        /// The name found.
        found: String,
        /// The names known.
        supported: String,
    },
    /// A token of the vocabulary that cannot be right.
    #[error("vocabulary: token {id} `{text}`: {reason}")]
    BadToken {
        /// Its id.
        id: u32,
        /// Its text as stored.
        text: String,
        /// What is wrong.
        reason: String,
    },
    /// A merge that the vocabulary cannot express.
    #[error("vocabulary: merge {index} `{merge}`: {reason}")]
    BadMerge {
        /// Its rank.
        index: usize,
        /// The merge as stored.
        merge: String,
        /// What is wrong.
        reason: String,
    },
    /// A token id that the vocabulary does not have.
    #[error("token id {id} is not in the vocabulary ({size} ids)")]
    UnknownId {
        /// The id.
        id: u32,
        /// Number of ids.
        size: usize,
    },
    /// A message of the `tokenizers` crate.
    #[error("tokenizer: {0}")]
    Engine(String),
    /// The chat template does not compile or does not run.
    #[error("chat template: {0}")]
    Template(String),
    /// The template itself refused the conversation (`raise_exception`). The message is the template's own.
    #[error("the chat template refuses this conversation: {0}")]
    TemplateRaised(String),
    /// The template ran longer than allowed.
    #[error("chat template: stopped after {0} steps without an end")]
    TemplateFuel(u64),
    /// The template wrote more than allowed.
    #[error("chat template: more than {0} bytes of output")]
    TemplateOutput(usize),
}

impl TextError {
    pub(super) fn field(
        file: &'static str,
        field: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        TextError::Field { file, field: field.into(), expected: expected.into(), found: found.into() }
    }

    pub(super) fn token(id: usize, text: &str, reason: impl Into<String>) -> Self {
        TextError::BadToken { id: id as u32, text: clip(text), reason: reason.into() }
    }

    pub(super) fn engine(e: impl std::fmt::Display) -> Self {
        TextError::Engine(e.to_string())
    }
}

/// Shortens hostile text so that it can be shown in a message.
pub(super) fn clip(text: &str) -> String {
    const MAX: usize = 60;
    if text.chars().count() <= MAX {
        return text.to_owned();
    }
    let mut s: String = text.chars().take(MAX).collect();
    s.push('…');
    s
}
