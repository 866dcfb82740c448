//! The header of a safetensors file: 8 bytes of length, then JSON with the place of every tensor.

use std::fmt;

use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::super::error::{FormatError, show, show_bytes};
use super::super::json::{UniqueMap, json_error};
use super::super::tensors::{TensorInfo, check_overlap, element_count};
use super::{TYPES, bad_header};

/// The limit of the format.
const MAX_HEADER: u64 = 100_000_000;
/// More than any tensor has; a bound for memory.
const MAX_DIMS: usize = 16;

/// What a file says.
pub(super) struct Parsed {
    /// Offsets are from the start of the file; `shard` is 0.
    pub tensors: Vec<TensorInfo>,
    /// `__metadata__`.
    pub notes: IndexMap<String, String>,
}

/// Reads and checks the header.
pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<Parsed, FormatError> {
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
        return Err(bad_header(file, "at least 8 bytes", show_bytes(bytes)));
    };
    let length = u64::from_le_bytes(*length);
    if length > MAX_HEADER {
        return Err(FormatError::TooLarge {
            file: format!("{file}: safetensors header"),
            found: length,
            limit: MAX_HEADER,
        });
    }
    let json = usize::try_from(length).ok().and_then(|n| rest.get(..n));
    let json = json.ok_or_else(|| FormatError::Truncated {
        file: file.to_owned(),
        what: "safetensors header".to_owned(),
        at: 8,
        needed: length.into(),
        left: rest.len() as u64,
    })?;
    if json.first() != Some(&b'{') {
        return Err(bad_header(file, "JSON that begins with '{'", show_bytes(json)));
    }
    let header: Header = serde_json::from_slice(json).map_err(|e| json_error(file, &e))?;
    let start = 8 + length;
    let mut tensors = Vec::with_capacity(header.tensors.len());
    for (name, entry) in header.tensors {
        tensors.push(tensor(file, name, entry, start, bytes.len() as u64)?);
    }
    check_overlap(file, &tensors)?;
    check_holes(file, &tensors, start, bytes.len() as u64)?;
    Ok(Parsed { tensors, notes: header.notes })
}

fn tensor(file: &str, name: String, entry: Entry, start: u64, len: u64) -> Result<TensorInfo, FormatError> {
    let wrong = |expected: String, found: String| FormatError::Tensor {
        file: file.to_owned(),
        tensor: show(&name),
        expected,
        found,
    };
    let Some((_, ttype)) = TYPES.iter().find(|(n, _)| *n == entry.dtype).copied() else {
        let known: Vec<&str> = TYPES.iter().map(|(n, _)| *n).collect();
        return Err(wrong(format!("a dtype of {}", known.join(", ")), show(&entry.dtype)));
    };
    let [begin, end] = entry.data_offsets;
    let Some(bytes) = end.checked_sub(begin) else {
        return Err(wrong("offsets that ascend".into(), format!("{begin}, {end}")));
    };
    let shape = entry.shape.0;
    let needed = element_count(&shape).and_then(|n| ttype.bytes_for(n));
    let needed = needed.ok_or_else(|| {
        wrong("a size that fits 63 bits".into(), format!("dimensions {shape:?} of {ttype}"))
    })?;
    if needed != bytes {
        let expected = format!("{needed} bytes for {shape:?} of {ttype}");
        return Err(wrong(expected, format!("{bytes} bytes, offsets {begin}, {end}")));
    }
    if end > len - start {
        let expected = format!("offsets within the {} bytes of data", len - start);
        return Err(wrong(expected, format!("{begin}, {end}")));
    }
    Ok(TensorInfo { name, ttype, shape, shard: 0, offset: start + begin, bytes })
}

/// The format wants every byte of the data to belong to a tensor. Overlap has been ruled out, so sums suffice.
fn check_holes(file: &str, tensors: &[TensorInfo], start: u64, len: u64) -> Result<(), FormatError> {
    let used: u64 = tensors.iter().map(|t| t.bytes).sum();
    if used != len - start {
        let expected = format!("tensors that fill all {} bytes of data", len - start);
        return Err(bad_header(file, expected, format!("{used} bytes in tensors")));
    }
    Ok(())
}

struct Header {
    tensors: IndexMap<String, Entry>,
    notes: IndexMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    dtype: String,
    shape: Shape,
    data_offsets: [u64; 2],
}

struct Shape(Vec<u64>);

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Tensors;

        impl<'de> Visitor<'de> for Tensors {
            type Value = Header;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
                let mut tensors = IndexMap::new();
                let mut notes = None;
                while let Some(key) = map.next_key::<String>()? {
                    if key == "__metadata__" && notes.is_none() {
                        let found = map.next_value::<Option<UniqueMap<String>>>()?;
                        notes = Some(found.map(|n| n.0).unwrap_or_default());
                        continue;
                    }
                    if key == "__metadata__" || tensors.contains_key(&key) {
                        return Err(A::Error::custom(format_args!("duplicate tensor {}", show(&key))));
                    }
                    let entry = map.next_value();
                    let entry =
                        entry.map_err(|e| A::Error::custom(format_args!("tensor {}: {e}", show(&key))))?;
                    tensors.insert(key, entry);
                }
                Ok(Header { tensors, notes: notes.unwrap_or_default() })
            }
        }

        d.deserialize_map(Tensors)
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Dims;

        impl<'de> Visitor<'de> for Dims {
            type Value = Shape;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "an array of at most {MAX_DIMS} non-negative integers")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Shape, A::Error> {
                let mut dims = Vec::new();
                while let Some(dim) = seq.next_element()? {
                    if dims.len() == MAX_DIMS {
                        return Err(A::Error::invalid_length(MAX_DIMS + 1, &self));
                    }
                    dims.push(dim);
                }
                Ok(Shape(dims))
            }
        }

        d.deserialize_seq(Dims)
    }
}
