//! Text: tokenizers, the streaming detokenizer and chat templates. Nothing here touches the device.
//!
//! A [`Tokenizer`] comes from a `tokenizer.json` ([`Tokenizer::from_json`]) or from the vocabulary inside a GGUF
//! ([`Tokenizer::from_gguf`]); both give the same ids for the same vocabulary. What a person types never becomes a
//! control token unless the caller asks for it ([`EncodeOptions::parse_special`]).

mod bpe;
mod byte_level;
mod clock;
mod error;
mod gguf_bridge;
mod gguf_export;
mod json_bridge;
mod json_file;
mod pretokenizers;
mod spm;
mod stream;
mod template;
mod template_bounds;
mod template_fns;
mod template_scan;
mod tokenizer;
mod vocab;

pub use clock::{Clock, format_time};
pub use error::TextError;
pub use gguf_bridge::{is_supported_gguf, to_tokenizer_json};
pub use gguf_export::gguf_metadata_from_json;
pub use pretokenizers::{PRE_NAMES, PreTokenizer};
pub use stream::StreamDecoder;
pub use template::{CHATML, ChatTemplate, Message, RenderOptions, pick_template};
pub use tokenizer::{EncodeOptions, Tokenizer};
pub use vocab::TokenKind;

#[cfg(test)]
mod tests;
