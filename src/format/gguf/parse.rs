//! One GGUF file: header, metadata, tensor infos. The data is located, not read.
//!
//! Counts are tested against the bytes that are left before anything is allocated, so a small file cannot ask for
//! much memory, whatever it claims.

use super::super::cursor::{Cursor, Named};
use super::super::dtype::TensorType;
use super::super::error::{FormatError, show, show_bytes};
use super::super::metadata::Metadata;
use super::super::tensors::{TensorInfo, check_overlap, element_count};
use super::super::value::{Array, Value};
use super::{ALIGNMENT_KEY, DEFAULT_ALIGNMENT, MAGIC};

/// Metadata and tensor infos of real models take a few tens of MiB. More is refused: values in memory are a few
/// times larger than in the file.
const MAX_HEADER: usize = 256 << 20;
/// Alignments above this waste space to no purpose.
const MAX_ALIGNMENT: u32 = 1 << 20;
/// More tensors, or more metadata pairs, than any model has.
const MAX_ENTRIES: usize = 1 << 20;
/// GGUF's limit.
const MAX_DIMS: u32 = 4;
/// Elements reserved at once; a longer array grows as its elements turn out to be there.
const RESERVE: usize = 1 << 16;

/// What a file says.
pub(super) struct Parsed {
    pub version: u32,
    pub metadata: Metadata,
    /// Offsets are from the start of the file; `shard` is 0.
    pub tensors: Vec<TensorInfo>,
}

/// Reads everything but the data.
pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<Parsed, FormatError> {
    let mut c = Cursor::new(file, bytes.get(..MAX_HEADER).unwrap_or(bytes));
    let version = version(&mut c, bytes)?;
    // A tensor info takes 24 bytes without name and dimensions, a pair 13 with an empty key and a one-byte value.
    let n_tensors = c.count(24, "the number of tensors")?;
    let n_pairs = c.count(13, "the number of metadata pairs")?;
    for (what, n) in [("the number of tensors", n_tensors), ("the number of metadata pairs", n_pairs)] {
        if n > MAX_ENTRIES {
            return Err(c.field(what, format_args!("at most {MAX_ENTRIES}"), n));
        }
    }
    let mut metadata = Metadata::new();
    for i in 0..n_pairs {
        let key = c.string(format_args!("metadata key {i}"))?;
        if metadata.contains(key) {
            return Err(FormatError::Duplicate { file: file.to_owned(), what: "key", name: show(key) });
        }
        let value = value(&mut c, key)?;
        metadata.insert(key, value);
    }
    let alignment = alignment(file, &metadata)?;
    let mut tensors = Vec::with_capacity(n_tensors.min(RESERVE));
    for i in 0..n_tensors {
        tensors.push(tensor_info(&mut c, i)?);
    }
    let start = (c.at() as u64).next_multiple_of(alignment);
    for t in &mut tensors {
        place(file, t, start, alignment, bytes.len() as u64)?;
    }
    check_overlap(file, &tensors)?;
    Ok(Parsed { version, metadata, tensors })
}

fn version(c: &mut Cursor<'_>, bytes: &[u8]) -> Result<u32, FormatError> {
    let file = c.file.to_owned();
    let head = bytes.get(..4).unwrap_or(bytes);
    // Some writers turn the magic round too.
    let turned = head == b"FUGG";
    if head != MAGIC && !turned {
        return Err(FormatError::BadMagic { file, found: show_bytes(head) });
    }
    c.take(4, "magic")?;
    let found = c.u32("version")?;
    if turned || (found & 0xffff == 0 && found != 0) {
        return Err(FormatError::UnsupportedByteOrder { file, version: found.swap_bytes() });
    }
    if found != 2 && found != 3 {
        return Err(FormatError::UnsupportedVersion { file, found });
    }
    Ok(found)
}

fn value(c: &mut Cursor<'_>, key: &str) -> Result<Value, FormatError> {
    let what = Named("value of", key);
    Ok(match c.u32(Named("type of", key))? {
        0 => c.u8(what)?.into(),
        1 => c.i8(what)?.into(),
        2 => c.u16(what)?.into(),
        3 => c.i16(what)?.into(),
        4 => c.u32(what)?.into(),
        5 => c.i32(what)?.into(),
        6 => c.f32(what)?.into(),
        7 => c.bool(what)?.into(),
        8 => c.string(what)?.into(),
        9 => Value::Array(array(c, key)?),
        10 => c.u64(what)?.into(),
        11 => c.i64(what)?.into(),
        12 => c.f64(what)?.into(),
        id => return Err(c.field(Named("type of", key), "a metadata type id, 0 to 12", id)),
    })
}

fn array(c: &mut Cursor<'_>, key: &str) -> Result<Array, FormatError> {
    let what = Named("array", key);
    let id = c.u32(Named("element type of", key))?;
    Ok(match id {
        0 => {
            let n = c.count(1, &what)?;
            Array::U8(c.take(n as u64, what)?.to_vec())
        }
        1 => Array::I8(numbers(c, &what, i8::from_le_bytes)?),
        2 => Array::U16(numbers(c, &what, u16::from_le_bytes)?),
        3 => Array::I16(numbers(c, &what, i16::from_le_bytes)?),
        4 => Array::U32(numbers(c, &what, u32::from_le_bytes)?),
        5 => Array::I32(numbers(c, &what, i32::from_le_bytes)?),
        6 => Array::F32(numbers(c, &what, f32::from_le_bytes)?),
        7 => Array::Bool(elements(c, key, 1, |c, what| c.bool(what))?),
        // The length of a string takes 8 bytes.
        8 => Array::String(elements(c, key, 8, |c, what| c.string(what).map(str::to_owned))?),
        9 => return Err(c.field(what, "elements that are not arrays themselves", "an array of arrays")),
        10 => Array::U64(numbers(c, &what, u64::from_le_bytes)?),
        11 => Array::I64(numbers(c, &what, i64::from_le_bytes)?),
        12 => Array::F64(numbers(c, &what, f64::from_le_bytes)?),
        id => return Err(c.field(Named("element type of", key), "a metadata type id, 0 to 12", id)),
    })
}

fn numbers<const N: usize, T>(
    c: &mut Cursor<'_>,
    what: &Named<'_>,
    convert: fn([u8; N]) -> T,
) -> Result<Vec<T>, FormatError> {
    let n = c.count(N as u64, what)?;
    let bytes = c.take((n * N) as u64, what)?;
    Ok(bytes.as_chunks::<N>().0.iter().map(|b| convert(*b)).collect())
}

fn elements<'a, T>(
    c: &mut Cursor<'a>,
    key: &str,
    least: u64,
    read: impl Fn(&mut Cursor<'a>, std::fmt::Arguments<'_>) -> Result<T, FormatError>,
) -> Result<Vec<T>, FormatError> {
    let n = c.count(least, Named("array", key))?;
    let mut out = Vec::with_capacity(n.min(RESERVE));
    for i in 0..n {
        out.push(read(c, format_args!("element {i} of {}", Named("array", key)))?);
    }
    Ok(out)
}

fn alignment(file: &str, metadata: &Metadata) -> Result<u64, FormatError> {
    let found = match metadata.get(ALIGNMENT_KEY) {
        None => return Ok(DEFAULT_ALIGNMENT.into()),
        Some(Value::U32(found)) => *found,
        Some(other) => {
            return Err(FormatError::MetadataType {
                key: ALIGNMENT_KEY.to_owned(),
                expected: "U32".to_owned(),
                found: other.type_name(),
            });
        }
    };
    let expected = if found == 0 {
        "at least 8"
    } else if !found.is_power_of_two() {
        "a power of two"
    } else if found > MAX_ALIGNMENT {
        "at most 1 MiB (1048576)"
    } else if !found.is_multiple_of(8) {
        "a multiple of 8"
    } else {
        return Ok(found.into());
    };
    Err(FormatError::Field {
        file: file.to_owned(),
        what: ALIGNMENT_KEY.to_owned(),
        expected: expected.to_owned(),
        found: found.to_string(),
    })
}

/// Reads one info. The offset is still the one within the data, the size not yet known.
fn tensor_info(c: &mut Cursor<'_>, i: usize) -> Result<TensorInfo, FormatError> {
    let name = c.string(format_args!("name of tensor {i}"))?;
    let wrong = |c: &Cursor<'_>, expected: String, found: String| FormatError::Tensor {
        file: c.file.to_owned(),
        tensor: show(name),
        expected,
        found,
    };
    let n_dims = c.u32(Named("number of dimensions of tensor", name))?;
    if n_dims > MAX_DIMS {
        return Err(wrong(c, format!("at most {MAX_DIMS} dimensions"), n_dims.to_string()));
    }
    let mut shape = Vec::with_capacity(n_dims as usize);
    for _ in 0..n_dims {
        shape.push(c.u64(Named("dimensions of tensor", name))?);
    }
    let id = c.u32(Named("type of tensor", name))?;
    let ttype = TensorType::from_gguf_id(id);
    let ttype = ttype.ok_or_else(|| wrong(c, "a known tensor type".to_owned(), format!("type id {id}")))?;
    let offset = c.u64(Named("offset of tensor", name))?;
    let row = shape.first().copied().unwrap_or(1);
    if !row.is_multiple_of(ttype.block_len()) {
        let expected = format!("rows of whole blocks of {} elements, as {ttype} has them", ttype.block_len());
        return Err(wrong(c, expected, format!("rows of {row}")));
    }
    shape.reverse();
    let bytes = element_count(&shape).and_then(|n| ttype.bytes_for(n));
    let bytes = bytes.ok_or_else(|| {
        wrong(c, "a size that fits 63 bits".to_owned(), format!("dimensions {shape:?} of {ttype}"))
    })?;
    Ok(TensorInfo { name: name.to_owned(), ttype, shape, shard: 0, offset, bytes })
}

/// Turns the offset within the data into one within the file and checks that the tensor lies in the file.
fn place(file: &str, t: &mut TensorInfo, start: u64, alignment: u64, len: u64) -> Result<(), FormatError> {
    let wrong = |expected: String, found: String| FormatError::Tensor {
        file: file.to_owned(),
        tensor: show(&t.name),
        expected,
        found,
    };
    if !t.offset.is_multiple_of(alignment) {
        return Err(wrong(format!("an offset that is a multiple of {alignment}"), t.offset.to_string()));
    }
    let begin = start.checked_add(t.offset);
    let end = begin.and_then(|b| b.checked_add(t.bytes));
    match (begin, end) {
        // An empty tensor may sit where the padding of the last one was left out.
        (Some(begin), Some(_)) if t.bytes == 0 => t.offset = begin.min(len),
        (Some(begin), Some(end)) if end <= len => t.offset = begin,
        _ => {
            let found = format!("{} bytes at byte {start} + {}", t.bytes, t.offset);
            return Err(wrong(format!("data within the {len} bytes of the file"), found));
        }
    }
    Ok(())
}
