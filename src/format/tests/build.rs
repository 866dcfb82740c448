//! Builds raw files byte by byte, right or wrong, and checks refusals.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::alloc::bytes_taken;
use crate::format::FormatError;

/// A GGUF file whose every field can be wrong.
#[derive(Clone)]
pub struct RawGguf {
    pub magic: [u8; 4],
    pub version: u32,
    /// `None`: as many as there are.
    pub n_tensors: Option<u64>,
    pub n_pairs: Option<u64>,
    pub pairs: Vec<Vec<u8>>,
    pub infos: Vec<Vec<u8>>,
    /// Bytes of data after the header was padded to `align`.
    pub data: usize,
    pub align: usize,
}

impl Default for RawGguf {
    fn default() -> Self {
        Self {
            magic: *b"GGUF",
            version: 3,
            n_tensors: None,
            n_pairs: None,
            pairs: Vec::new(),
            infos: Vec::new(),
            data: 0,
            align: 32,
        }
    }
}

impl RawGguf {
    pub fn pairs(pairs: impl Into<Vec<Vec<u8>>>) -> Self {
        Self { pairs: pairs.into(), ..Self::default() }
    }

    pub fn tensors(infos: impl Into<Vec<Vec<u8>>>, data: usize) -> Self {
        Self { infos: infos.into(), data, ..Self::default() }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut out = self.magic.to_vec();
        out.extend(self.version.to_le_bytes());
        out.extend(self.n_tensors.unwrap_or(self.infos.len() as u64).to_le_bytes());
        out.extend(self.n_pairs.unwrap_or(self.pairs.len() as u64).to_le_bytes());
        out.extend(self.pairs.concat());
        out.extend(self.infos.concat());
        if self.data > 0 {
            out.resize(out.len().next_multiple_of(self.align) + self.data, 0);
        }
        out
    }
}

/// A string as GGUF stores it.
pub fn string(s: impl AsRef<[u8]>) -> Vec<u8> {
    let s = s.as_ref();
    [&(s.len() as u64).to_le_bytes()[..], s].concat()
}

/// A key, a type id and whatever follows.
pub fn pair(key: impl AsRef<[u8]>, type_id: u32, payload: &[u8]) -> Vec<u8> {
    [&string(key)[..], &type_id.to_le_bytes(), payload].concat()
}

pub fn pair_u32(key: &str, value: u32) -> Vec<u8> {
    pair(key, 4, &value.to_le_bytes())
}

/// An array of elements of type `type_id`, with the count given.
pub fn pair_array(key: &str, type_id: u32, count: u64, payload: &[u8]) -> Vec<u8> {
    pair(key, 9, &[&type_id.to_le_bytes()[..], &count.to_le_bytes(), payload].concat())
}

/// A tensor info; `dims` in the order of the file.
pub fn info(name: impl AsRef<[u8]>, dims: &[u64], type_id: u32, offset: u64) -> Vec<u8> {
    let mut out = string(name);
    out.extend((dims.len() as u32).to_le_bytes());
    dims.iter().for_each(|d| out.extend(d.to_le_bytes()));
    out.extend(type_id.to_le_bytes());
    out.extend(offset.to_le_bytes());
    out
}

/// A safetensors file of this header and this much data.
pub fn raw_safetensors(header: &str, data: usize) -> Vec<u8> {
    let mut out = (header.len() as u64).to_le_bytes().to_vec();
    out.extend(header.as_bytes());
    out.resize(out.len() + data, 0);
    out
}

/// Checks that `read` refuses: with every one of `parts` in the message, within 100 ms, and within 1 MB on top of a
/// few times the file itself.
pub fn refused<T>(
    case: &str,
    size: usize,
    parts: &[&str],
    read: impl Fn() -> Result<T, FormatError>,
) -> String {
    let mut best = Duration::MAX;
    let mut message = String::new();
    // The machine may be busy with something else just then; three times in a row it is not.
    for _ in 0..3 {
        let begun = Instant::now();
        let (result, taken) = bytes_taken(&read);
        best = best.min(begun.elapsed());
        assert!(taken < 1_000_000 + 8 * size as u64, "{case}: {taken} bytes for a file of {size}");
        message = match result {
            Ok(_) => panic!("{case}: was read"),
            Err(e) => e.to_string(),
        };
    }
    assert!(best < Duration::from_millis(100), "{case}: took {best:?}");
    for part in parts {
        assert!(message.contains(part), "{case}: {part:?} is not in {message:?}");
    }
    assert!(message.len() < 1000 && !message.contains(char::is_control), "{case}: {message:?}");
    message
}

/// The goldens and other large data, if this machine has them.
pub fn shared_dir() -> Option<PathBuf> {
    let given = std::env::var_os("GOLAY_SHARED").map(PathBuf::from);
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let found = given.into_iter().chain([beside]).find(|p| p.join("goldens").is_dir());
    if found.is_none() {
        println!("skipped: no shared folder (GOLAY_SHARED)");
    }
    found
}

/// A folder of its own for a test, removed at the end.
pub struct TempDir(pub PathBuf);

impl TempDir {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("golay-format-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
