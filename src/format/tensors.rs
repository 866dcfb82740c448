//! The tensors of a model: names, types, shapes, and where their bytes lie in which file.

use std::ops::Range;

use indexmap::IndexMap;

use super::bytes::Bytes;
use super::dtype::TensorType;
use super::error::{FormatError, show};

/// One tensor of a [`TensorSet`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// Name in the file.
    pub name: String,
    /// How the elements are stored.
    pub ttype: TensorType,
    /// Row-major, the row length last: `[rows, cols]`. (GGUF writes it the other way round.)
    pub shape: Vec<u64>,
    /// Which file of the set.
    pub shard: usize,
    /// Where the data begins, in bytes from the start of that file.
    pub offset: u64,
    /// Length of the data in bytes.
    pub bytes: u64,
}

impl TensorInfo {
    /// Number of elements; 1 for a scalar.
    pub fn elements(&self) -> u64 {
        // The readers checked that the product fits.
        element_count(&self.shape).unwrap_or(u64::MAX)
    }

    fn range(&self) -> Option<Range<usize>> {
        let end = self.offset.checked_add(self.bytes)?;
        Some(usize::try_from(self.offset).ok()?..usize::try_from(end).ok()?)
    }
}

/// All tensors of a model, over one or several files.
#[derive(Clone, Debug, Default)]
pub struct TensorSet {
    shards: Vec<(String, Bytes)>,
    tensors: IndexMap<String, TensorInfo>,
    notes: IndexMap<String, String>,
}

impl TensorSet {
    /// Puts a set together. Refuses a name that comes twice and data outside its file.
    pub(crate) fn new(shards: Vec<(String, Bytes)>, infos: Vec<TensorInfo>) -> Result<Self, FormatError> {
        let mut tensors = IndexMap::with_capacity(infos.len());
        for info in infos {
            let (file, len) = shards.get(info.shard).map_or(("", 0), |(f, b)| (f.as_str(), b.len()));
            if info.range().is_none_or(|r| r.end > len) {
                return Err(FormatError::Tensor {
                    file: file.to_owned(),
                    tensor: show(&info.name),
                    expected: format!("data within the {len} bytes of the file"),
                    found: format!("{} bytes at byte {}", info.bytes, info.offset),
                });
            }
            if tensors.contains_key(&info.name) {
                let name = show(&info.name);
                return Err(FormatError::Duplicate { file: file.to_owned(), what: "tensor", name });
            }
            tensors.insert(info.name.clone(), info);
        }
        Ok(Self { shards, tensors, notes: IndexMap::new() })
    }

    /// The tensor of this name.
    pub fn get(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.get(name)
    }

    /// All tensors in file order.
    pub fn iter(&self) -> impl Iterator<Item = &TensorInfo> {
        self.tensors.values()
    }

    /// Number of tensors.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether there are no tensors.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// The data of a tensor of this set, as stored. Empty for one of another set that does not fit this one.
    pub fn data(&self, tensor: &TensorInfo) -> &[u8] {
        let found = self.shards.get(tensor.shard).zip(tensor.range());
        found.and_then(|((_, bytes), range)| bytes.get(range)).unwrap_or(&[])
    }

    /// Lets the pages of a tensor's data leave memory; see [`Bytes::release`].
    pub fn release(&self, tensor: &TensorInfo) {
        if let Some(((_, bytes), range)) = self.shards.get(tensor.shard).zip(tensor.range()) {
            bytes.release(range);
        }
    }

    /// Size of all files together in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.shards.iter().map(|(_, b)| b.len() as u64).sum()
    }

    /// The `__metadata__` of safetensors files; of several files the first that has a key counts. Empty for GGUF.
    pub fn notes(&self) -> &IndexMap<String, String> {
        &self.notes
    }

    /// The same set with notes; keys that are there already stay.
    pub(crate) fn with_notes(mut self, notes: impl IntoIterator<Item = (String, String)>) -> Self {
        for (key, text) in notes {
            self.notes.entry(key).or_insert(text);
        }
        self
    }

    /// Names of the files, indexed by [`TensorInfo::shard`].
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.shards.iter().map(|(f, _)| f.as_str())
    }
}

/// Number of elements of a shape. `None` when it does not fit 63 bits, which is so even if another dimension is zero:
/// whether a shape is sound must not depend on the order of its dimensions.
pub(crate) fn element_count(shape: &[u64]) -> Option<u64> {
    let product = shape.iter().filter(|d| **d != 0).try_fold(1u64, |n, d| n.checked_mul(*d))?;
    i64::try_from(product).ok()?;
    Some(if shape.contains(&0) { 0 } else { product })
}

/// Refuses two tensors that share bytes. All `infos` belong to one file.
pub(crate) fn check_overlap(file: &str, infos: &[TensorInfo]) -> Result<(), FormatError> {
    let mut order: Vec<&TensorInfo> = infos.iter().filter(|t| t.bytes > 0).collect();
    order.sort_by_key(|t| t.offset);
    for pair in order.windows(2) {
        let [first, second] = pair else { continue };
        if second.offset - first.offset < first.bytes {
            return Err(FormatError::Overlap {
                file: file.to_owned(),
                first: show(&first.name),
                second: show(&second.name),
                at: second.offset,
            });
        }
    }
    Ok(())
}
