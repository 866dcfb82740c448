//! Tests of the room as a whole; what concerns one file only stands in that file.

mod bridge;
mod goldens;
mod hostile;
mod round_trip;
mod spm;
mod templates;

use std::path::{Path, PathBuf};

use super::byte_level::char_of;
use super::{EncodeOptions, Tokenizer};
use crate::format::{Array, Metadata, Value};

/// What a person typed.
const PLAIN: EncodeOptions = EncodeOptions { parse_special: false, add_special: false };
/// What a template wrote.
const PARSED: EncodeOptions = EncodeOptions { parse_special: true, add_special: false };

/// The material that lies beside a checkout, where it does.
fn shared_dir() -> Option<PathBuf> {
    let dir = std::env::var_os("GOLAY_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    if dir.is_dir() {
        return Some(dir);
    }
    println!("skipped: no {}", dir.display());
    None
}

fn strings(items: impl IntoIterator<Item = impl Into<String>>) -> Value {
    Value::Array(Array::String(items.into_iter().map(Into::into).collect()))
}

fn types(items: impl IntoIterator<Item = i32>) -> Value {
    Value::Array(Array::I32(items.into_iter().collect()))
}

/// A byte-level vocabulary: `<|begin|>`, `<|im_start|>`, `<|im_end|>`, the user-defined `<note>`, the 256 bytes, and
/// what the merges make.
fn byte_level(pre: &str, merges: &[&str]) -> Metadata {
    let mut tokens: Vec<String> =
        ["<|begin|>", "<|im_start|>", "<|im_end|>", "<note>"].map(String::from).into();
    tokens.extend((0..=255u8).map(|b| char_of(b).to_string()));
    for merge in merges {
        tokens.push(merge.replace(' ', ""));
    }
    let kinds = (0..tokens.len()).map(|i| match i {
        0..3 => 3,
        3 => 4,
        _ => 1,
    });
    let mut m = Metadata::default();
    m.insert("tokenizer.ggml.model", Value::String("gpt2".into()));
    m.insert("tokenizer.ggml.pre", Value::String(pre.into()));
    m.insert("tokenizer.ggml.token_type", types(kinds));
    m.insert("tokenizer.ggml.tokens", strings(tokens));
    m.insert("tokenizer.ggml.merges", strings(merges.iter().copied()));
    m.insert("tokenizer.ggml.bos_token_id", Value::U32(0));
    m.insert("tokenizer.ggml.eos_token_id", Value::U32(2));
    m
}

/// A SentencePiece vocabulary: unknown, begin, end, the 256 bytes, then the pieces, each with its score.
fn sentence(pieces: &[(&str, f32)]) -> Metadata {
    let mut tokens: Vec<String> = ["<unk>", "<s>", "</s>"].map(String::from).into();
    let mut scores = vec![0.0; 3];
    let mut kinds = vec![2, 3, 3];
    for b in 0..=255u8 {
        tokens.push(format!("<0x{b:02X}>"));
        scores.push(0.0);
        kinds.push(6);
    }
    for (piece, score) in pieces {
        tokens.push((*piece).to_owned());
        scores.push(*score);
        kinds.push(1);
    }
    let mut m = Metadata::default();
    m.insert("tokenizer.ggml.model", Value::String("llama".into()));
    m.insert("tokenizer.ggml.tokens", strings(tokens));
    m.insert("tokenizer.ggml.scores", Value::Array(Array::F32(scores)));
    m.insert("tokenizer.ggml.token_type", types(kinds));
    m
}

/// The tokens of a text, written as the vocabulary writes them.
fn pieces(t: &Tokenizer, text: &str, options: EncodeOptions) -> Vec<String> {
    let ids = t.encode(text, options).unwrap();
    ids.iter().map(|id| t.token_text(*id).unwrap().to_owned()).collect()
}
