//! safetensors files, single or sharded with an index.

mod header;
mod index;
mod write;

pub use write::write_safetensors;
#[cfg(not(target_arch = "wasm32"))]
pub use write::write_safetensors_file;

pub(super) use self::index::{INDEX, read_sharded};

use self::header::parse;
use super::bytes::Bytes;
use super::dtype::TensorType;
use super::error::FormatError;
use super::tensors::TensorSet;

/// The types this container has and golay reads, by the names they have here.
const TYPES: &[(&str, TensorType)] = &[
    ("F32", TensorType::F32),
    ("F16", TensorType::F16),
    ("BF16", TensorType::BF16),
    ("F64", TensorType::F64),
    ("I8", TensorType::I8),
    ("I16", TensorType::I16),
    ("I32", TensorType::I32),
    ("I64", TensorType::I64),
    ("U8", TensorType::U8),
    ("U16", TensorType::U16),
    ("U32", TensorType::U32),
    ("U64", TensorType::U64),
    ("BOOL", TensorType::Bool),
];

/// Reads one file.
pub fn read_safetensors(file: &str, bytes: Bytes) -> Result<TensorSet, FormatError> {
    let parsed = parse(file, &bytes)?;
    Ok(TensorSet::new(vec![(file.to_owned(), bytes)], parsed.tensors)?.with_notes(parsed.notes))
}

fn bad_header(file: &str, expected: impl Into<String>, found: impl Into<String>) -> FormatError {
    FormatError::Field {
        file: file.to_owned(),
        what: "safetensors header".to_owned(),
        expected: expected.into(),
        found: found.into(),
    }
}
