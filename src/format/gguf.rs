//! GGUF files of version 2 and 3, whole or split into several files.

mod parse;
mod write;

use std::path::PathBuf;

pub use write::{GgufBody, GgufWriter, write_gguf};

use self::parse::{Parsed, parse};
use super::bytes::Bytes;
use super::error::FormatError;
use super::metadata::Metadata;
use super::tensors::TensorSet;

/// The first bytes of a GGUF file.
pub(crate) const MAGIC: &[u8; 4] = b"GGUF";
/// Where tensor data is aligned to when the file does not say.
pub const DEFAULT_ALIGNMENT: u32 = 32;
/// The key that says otherwise. Its type must be U32: a file that mistypes it is refused, not read with a guess.
pub const ALIGNMENT_KEY: &str = "general.alignment";

/// A GGUF model, opened.
#[derive(Clone, Debug)]
pub struct Gguf {
    /// Version of the (first) file.
    pub version: u32,
    /// Metadata of the (first) file.
    pub metadata: Metadata,
    /// Tensors of all files.
    pub tensors: TensorSet,
    /// The file that was opened.
    pub path: PathBuf,
}

/// One file of a model, parsed.
struct Part {
    file: String,
    bytes: Bytes,
    parsed: Parsed,
}

impl Part {
    fn new(file: String, bytes: Bytes) -> Result<Self, FormatError> {
        let parsed = parse(&file, &bytes)?;
        Ok(Self { file, bytes, parsed })
    }

    /// The number of files of the model, and which this is, from 0.
    fn split(&self) -> Result<(u64, u64), FormatError> {
        let m = &self.parsed.metadata;
        Ok((m.u64("split.count")?.unwrap_or(1).max(1), m.u64("split.no")?.unwrap_or(0)))
    }
}

impl Gguf {
    /// Opens a file. Any file of a split model opens all of it; the others are found beside it by their names,
    /// `NAME-00001-of-00003.gguf`.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Self, FormatError> {
        let path = path.as_ref();
        let opened = Part::new(path.display().to_string(), Bytes::open(path)?)?;
        let (count, number) = opened.split()?;
        if count == 1 {
            return Self::assemble(vec![opened], path.to_owned());
        }
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let suffix = split_suffix(number, count);
        let Some(prefix) = name.strip_suffix(&suffix) else {
            return Err(FormatError::Shard {
                file: opened.file,
                what: "name of a split file".to_owned(),
                expected: format!("a name that ends in {suffix}"),
                found: super::error::show(&name),
            });
        };
        let mut parts = Vec::new();
        let mut opened = Some(opened);
        for i in 0..count {
            if let Some(part) = opened.take_if(|_| i == number) {
                parts.push(part);
                continue;
            }
            let file = path.with_file_name(format!("{prefix}{}", split_suffix(i, count)));
            if !file.exists() {
                let expected = file.display().to_string();
                return Err(FormatError::MissingFile { folder: path.display().to_string(), expected });
            }
            parts.push(Part::new(file.display().to_string(), Bytes::open(&file)?)?);
        }
        Self::assemble(parts, path.to_owned())
    }

    /// Reads a file that is in memory. `name` is for messages.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Self, FormatError> {
        Self::from_files(vec![(name.to_owned(), bytes)])
    }

    /// Reads the files of a split model (or the one of a whole model), in any order, from memory.
    pub fn from_files(files: Vec<(String, Vec<u8>)>) -> Result<Self, FormatError> {
        let mut parts = Vec::with_capacity(files.len());
        for (name, bytes) in files {
            let part = Part::new(name, bytes.into())?;
            parts.push((part.split()?.1, part));
        }
        parts.sort_by_key(|(number, _)| *number);
        let path = parts.first().map(|(_, p)| PathBuf::from(&p.file)).unwrap_or_default();
        Self::assemble(parts.into_iter().map(|(_, p)| p).collect(), path)
    }

    /// Joins the files, in order, after checking that they belong together.
    fn assemble(parts: Vec<Part>, path: PathBuf) -> Result<Self, FormatError> {
        let n = parts.len() as u64;
        let total: usize = parts.iter().map(|p| p.parsed.tensors.len()).sum();
        for (i, part) in parts.iter().enumerate() {
            let wrong = |what: &str, expected: u64, found: u64| FormatError::Shard {
                file: part.file.clone(),
                what: what.to_owned(),
                expected: expected.to_string(),
                found: found.to_string(),
            };
            let (count, number) = part.split()?;
            if count != n {
                return Err(wrong("split.count, against the number of files", n, count));
            }
            if number != i as u64 {
                return Err(wrong("split.no", i as u64, number));
            }
            let claimed = part.parsed.metadata.u64("split.tensors.count")?.filter(|_| n > 1);
            if let Some(claimed) = claimed.filter(|c| *c != total as u64) {
                return Err(wrong(
                    "split.tensors.count, against the tensors of all files",
                    total as u64,
                    claimed,
                ));
            }
        }
        let mut infos = Vec::with_capacity(total);
        let mut shards = Vec::with_capacity(parts.len());
        let mut first = None;
        for (i, part) in parts.into_iter().enumerate() {
            infos.extend(part.parsed.tensors.into_iter().map(|mut t| {
                t.shard = i;
                t
            }));
            shards.push((part.file, part.bytes));
            first.get_or_insert((part.parsed.version, part.parsed.metadata));
        }
        let Some((version, metadata)) = first else {
            let found = "no file at all".to_owned();
            return Err(FormatError::NotAModel { file: path.display().to_string(), found });
        };
        Ok(Self { version, metadata, tensors: TensorSet::new(shards, infos)?, path })
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn split_suffix(number: u64, count: u64) -> String {
    format!("-{:05}-of-{count:05}.gguf", number.saturating_add(1))
}
