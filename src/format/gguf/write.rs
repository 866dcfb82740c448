//! Writes GGUF files of version 3. Tensors are declared first, then their data streams through.

use std::collections::HashSet;
use std::io::Write;

use super::super::dtype::TensorType;
use super::super::error::{FormatError, show};
use super::super::metadata::Metadata;
use super::super::tensors::element_count;
use super::super::value::{Array, Value};
use super::super::{NamedTensor, out_error};
use super::{ALIGNMENT_KEY, DEFAULT_ALIGNMENT, MAGIC};

/// The version that is written.
const VERSION: u32 = 3;

/// A GGUF file to be: metadata and tensors without their data.
///
/// Tensor data is aligned to 32 bytes, or as the metadata's `general.alignment` (U32) says.
pub struct GgufWriter {
    metadata: Metadata,
    alignment: u64,
    tensors: Vec<Declared>,
    names: HashSet<String>,
    end: u64,
}

struct Declared {
    name: String,
    ttype: TensorType,
    id: u32,
    shape: Vec<u64>,
    offset: u64,
    bytes: u64,
}

fn refuse(what: impl Into<String>, expected: impl Into<String>, found: impl Into<String>) -> FormatError {
    FormatError::Write { what: what.into(), expected: expected.into(), found: found.into() }
}

impl GgufWriter {
    /// Begins with the metadata.
    pub fn new(metadata: Metadata) -> Result<Self, FormatError> {
        let alignment = match metadata.get(ALIGNMENT_KEY) {
            None => DEFAULT_ALIGNMENT,
            Some(Value::U32(a)) if a.is_power_of_two() && (8..=1 << 20).contains(a) => *a,
            Some(other) => {
                let found = format!("{} {other}", other.type_name());
                return Err(refuse(ALIGNMENT_KEY, "a U32, a power of two from 8 to 1 MiB", found));
            }
        };
        let (tensors, names) = (Vec::new(), HashSet::new());
        Ok(Self { metadata, alignment: alignment.into(), tensors, names, end: 0 })
    }

    /// Declares the next tensor; `shape` is row-major, `[rows, cols]`.
    pub fn add_tensor(&mut self, name: &str, ttype: TensorType, shape: &[u64]) -> Result<(), FormatError> {
        let what = || format!("tensor {}", show(name));
        let id = ttype.gguf_id().ok_or_else(|| refuse(what(), "a type that GGUF has", ttype.name()))?;
        if shape.len() > 4 {
            return Err(refuse(what(), "at most 4 dimensions", shape.len().to_string()));
        }
        let row = shape.last().copied().unwrap_or(1);
        let bytes = element_count(shape)
            .filter(|_| row.is_multiple_of(ttype.block_len()))
            .and_then(|n| ttype.bytes_for(n))
            .ok_or_else(|| {
                let expected = format!("rows of whole blocks of {} elements", ttype.block_len());
                refuse(what(), expected, format!("{shape:?} of {ttype}"))
            })?;
        if !self.names.insert(name.to_owned()) {
            return Err(refuse(what(), "a name of its own", "the same name twice"));
        }
        let end = self.end.checked_add(bytes).and_then(|e| e.checked_next_multiple_of(self.alignment));
        let end = end.ok_or_else(|| refuse(what(), "a file of less than 2^64 bytes", "more"))?;
        let (name, shape, offset) = (name.to_owned(), shape.to_vec(), self.end);
        self.tensors.push(Declared { name, ttype, id, shape, offset, bytes });
        self.end = end;
        Ok(())
    }

    /// Writes all but the data, which goes through the value returned, tensor after tensor.
    pub fn start<W: Write>(self, mut out: W) -> Result<GgufBody<W>, FormatError> {
        let mut head = Vec::new();
        head.extend_from_slice(MAGIC);
        head.extend_from_slice(&VERSION.to_le_bytes());
        head.extend_from_slice(&(self.tensors.len() as u64).to_le_bytes());
        head.extend_from_slice(&(self.metadata.len() as u64).to_le_bytes());
        for (key, value) in self.metadata.iter() {
            put_string(&mut head, key);
            head.extend_from_slice(&value.gguf_id().to_le_bytes());
            put_value(&mut head, value);
        }
        for t in &self.tensors {
            put_string(&mut head, &t.name);
            head.extend_from_slice(&(t.shape.len() as u32).to_le_bytes());
            for dim in t.shape.iter().rev() {
                head.extend_from_slice(&dim.to_le_bytes());
            }
            head.extend_from_slice(&t.id.to_le_bytes());
            head.extend_from_slice(&t.offset.to_le_bytes());
        }
        head.resize(head.len().next_multiple_of(self.alignment as usize), 0);
        out.write_all(&head).map_err(out_error)?;
        Ok(GgufBody { out, alignment: self.alignment, tensors: self.tensors, current: 0, written: 0 })
    }
}

/// Takes the data of the tensors in the order of their declaration, in pieces of any size that do not cross tensors.
pub struct GgufBody<W: Write> {
    out: W,
    alignment: u64,
    tensors: Vec<Declared>,
    current: usize,
    /// Bytes of the current tensor that are out.
    written: u64,
}

impl<W: Write> GgufBody<W> {
    /// Appends to the data of the current tensor. A tensor that is complete is padded and the next one begins.
    pub fn write(&mut self, data: &[u8]) -> Result<(), FormatError> {
        if data.is_empty() {
            return Ok(());
        }
        self.skip_empty();
        let Some(t) = self.tensors.get(self.current) else {
            return Err(refuse(
                "tensor data",
                "no more than was declared",
                format!("{} bytes more", data.len()),
            ));
        };
        let after = self.written + data.len() as u64;
        if after > t.bytes {
            let expected = format!("{} bytes of {}", t.bytes, t.ttype);
            return Err(refuse(format!("tensor {}", show(&t.name)), expected, format!("at least {after}")));
        }
        self.out.write_all(data).map_err(out_error)?;
        self.written = after;
        if after == t.bytes {
            let padding = after.next_multiple_of(self.alignment) - after;
            std::io::copy(&mut std::io::Read::take(std::io::repeat(0), padding), &mut self.out)
                .map_err(out_error)?;
            self.current += 1;
            self.written = 0;
        }
        Ok(())
    }

    /// Checks that all data has come, and flushes.
    pub fn finish(mut self) -> Result<W, FormatError> {
        self.skip_empty();
        if let Some(t) = self.tensors.get(self.current) {
            let found = self.written.to_string();
            return Err(refuse(format!("tensor {}", show(&t.name)), format!("{} bytes", t.bytes), found));
        }
        self.out.flush().map_err(out_error)?;
        Ok(self.out)
    }

    fn skip_empty(&mut self) {
        while self.tensors.get(self.current).is_some_and(|t| t.bytes == 0) {
            self.current += 1;
        }
    }
}

/// Writes a whole file from data that is in memory (or mapped).
pub fn write_gguf<W: Write>(
    out: W,
    metadata: &Metadata,
    tensors: &[NamedTensor<'_>],
) -> Result<W, FormatError> {
    let mut writer = GgufWriter::new(metadata.clone())?;
    for (name, ttype, shape, data) in tensors {
        writer.add_tensor(name, *ttype, shape)?;
        let expected = writer.tensors.last().map_or(0, |t| t.bytes);
        if data.len() as u64 != expected {
            let found = data.len().to_string();
            return Err(refuse(format!("tensor {}", show(name)), format!("{expected} bytes"), found));
        }
    }
    let mut body = writer.start(out)?;
    for (_, _, _, data) in tensors {
        body.write(data)?;
    }
    body.finish()
}

fn put_string(out: &mut Vec<u8>, s: &str) {
    out.extend_from_slice(&(s.len() as u64).to_le_bytes());
    out.extend_from_slice(s.as_bytes());
}

fn put_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::U8(v) => out.push(*v),
        Value::I8(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::U16(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::I16(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::U32(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::I32(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::U64(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::I64(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::F32(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::F64(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::Bool(v) => out.push(u8::from(*v)),
        Value::String(v) => put_string(out, v),
        Value::Array(a) => {
            out.extend_from_slice(&a.gguf_id().to_le_bytes());
            out.extend_from_slice(&(a.len() as u64).to_le_bytes());
            put_array(out, a);
        }
    }
}

fn put_array(out: &mut Vec<u8>, array: &Array) {
    match array {
        Array::U8(v) => out.extend_from_slice(v),
        Array::I8(v) => v.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes())),
        Array::U16(v) => v.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes())),
        Array::I16(v) => v.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes())),
        Array::U32(v) => v.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes())),
        Array::I32(v) => v.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes())),
        Array::U64(v) => v.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes())),
        Array::I64(v) => v.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes())),
        Array::F32(v) => v.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes())),
        Array::F64(v) => v.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes())),
        Array::Bool(v) => out.extend(v.iter().map(|b| u8::from(*b))),
        Array::String(v) => v.iter().for_each(|s| put_string(out, s)),
    }
}
