//! Writes safetensors files.

use std::collections::HashSet;
use std::io::Write;

use serde_json::{Map, Value, json};

use super::super::error::{FormatError, show};
use super::super::tensors::element_count;
use super::super::{NamedTensor, out_error};
use super::TYPES;

/// Writes tensors and string metadata (left out when empty). Wider types go first, so that all data is aligned to
/// its element size; among equals the order is kept.
pub fn write_safetensors<W: Write>(
    mut out: W,
    tensors: &[NamedTensor<'_>],
    metadata: &[(&str, &str)],
) -> Result<W, FormatError> {
    let mut order: Vec<&NamedTensor<'_>> = tensors.iter().collect();
    order.sort_by_key(|(_, ttype, _, _)| std::cmp::Reverse(ttype.block_bytes()));
    let mut header = Map::new();
    if !metadata.is_empty() {
        let pairs: Map<String, Value> = metadata.iter().map(|(k, v)| ((*k).to_owned(), json!(v))).collect();
        header.insert("__metadata__".to_owned(), Value::Object(pairs));
    }
    let mut names = HashSet::from(["__metadata__"]);
    let mut end = 0u64;
    for &(name, ttype, shape, data) in order.iter().copied() {
        let refuse = |expected: String, found: String| FormatError::Write {
            what: format!("tensor {}", show(name)),
            expected,
            found,
        };
        let dtype = TYPES.iter().find(|(_, t)| *t == ttype).map(|(n, _)| *n);
        let dtype = dtype.ok_or_else(|| refuse("a type that safetensors has".into(), ttype.to_string()))?;
        let needed = element_count(shape).and_then(|n| ttype.bytes_for(n));
        if needed != Some(data.len() as u64) {
            let expected = needed.map_or("a size that fits 63 bits".to_owned(), |n| format!("{n} bytes"));
            return Err(refuse(expected, format!("{} bytes for {shape:?}", data.len())));
        }
        if !names.insert(name) {
            return Err(refuse("a name of its own".into(), "the same name twice".into()));
        }
        let begin = end;
        end += data.len() as u64;
        let entry = json!({"dtype": dtype, "shape": shape, "data_offsets": [begin, end]});
        header.insert(name.to_owned(), entry);
    }
    let mut json = Value::Object(header).to_string();
    while !json.len().is_multiple_of(8) {
        json.push(' ');
    }
    out.write_all(&(json.len() as u64).to_le_bytes()).map_err(out_error)?;
    out.write_all(json.as_bytes()).map_err(out_error)?;
    for (_, _, _, data) in order {
        out.write_all(data).map_err(out_error)?;
    }
    out.flush().map_err(out_error)?;
    Ok(out)
}

/// As [`write_safetensors`], to a file, which is replaced.
#[cfg(not(target_arch = "wasm32"))]
pub fn write_safetensors_file(
    path: impl AsRef<std::path::Path>,
    tensors: &[NamedTensor<'_>],
    metadata: &[(&str, &str)],
) -> Result<(), FormatError> {
    let path = path.as_ref();
    let io = |source| FormatError::Io { file: path.display().to_string(), source };
    let file = std::fs::File::create(path).map_err(io)?;
    write_safetensors(std::io::BufWriter::new(file), tensors, metadata)?;
    Ok(())
}
