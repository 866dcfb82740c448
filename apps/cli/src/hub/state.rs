//! What is known about a half-fetched file, kept beside it: which ranges are there, and the hash each came with.

use super::http::HubError;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// `NAME.part.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    pub url: String,
    /// Version of the file on the server.
    pub etag: Option<String>,
    /// Bytes of the whole file.
    pub size: u64,
    /// SHA-256 of the whole file, where it is known.
    pub sha256: Option<String>,
    /// Bytes per range.
    pub range: u64,
    /// SHA-256 of each range as it came; `None` for what is missing.
    pub done: Vec<Option<String>>,
}

/// Most ranges that a file has.
const MOST: u64 = 1 << 20;

impl State {
    /// Nothing fetched yet.
    pub fn new(url: &str, size: u64, range: u64) -> Self {
        let range = range.max(size.div_ceil(MOST)).max(1);
        let done = vec![None; size.div_ceil(range) as usize];
        Self { url: url.to_owned(), etag: None, size, sha256: None, range, done }
    }

    /// Reads a state; one that does not make sense is as good as none.
    pub fn read(path: &Path) -> Option<Self> {
        let bytes = std::fs::read(path).ok()?;
        let s: Self = serde_json::from_slice(&bytes).ok()?;
        let sound = s.range > 0 && s.done.len() as u64 == s.size.div_ceil(s.range);
        sound.then_some(s)
    }

    /// Writes it, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), HubError> {
        let part = PathBuf::from(format!("{}.new", path.display()));
        let text = serde_json::to_vec(self).map_err(std::io::Error::other);
        text.and_then(|t| std::fs::write(&part, t))
            .and_then(|()| std::fs::rename(&part, path))
            .map_err(|source| HubError::File { file: path.display().to_string(), source })
    }

    /// First and last byte of range `i`.
    pub fn bytes_of(&self, i: usize) -> (u64, u64) {
        let first = i as u64 * self.range;
        (first, (first + self.range).min(self.size) - 1)
    }

    /// The first range that is missing.
    pub fn missing(&self) -> Option<usize> {
        self.done.iter().position(Option::is_none)
    }

    /// Bytes that are there.
    pub fn have(&self) -> u64 {
        let there = self.done.iter().enumerate().filter(|(_, d)| d.is_some());
        there.map(|(i, _)| self.bytes_of(i)).map(|(a, b)| b - a + 1).sum()
    }

    /// Forgets ranges whose bytes on disk are not those that came (a torn write, a failing disk), and gives their
    /// numbers.
    pub fn check(&mut self, file: &mut File) -> std::io::Result<Vec<usize>> {
        let mut bad = Vec::new();
        for i in 0..self.done.len() {
            let Some(expected) = self.done[i].clone() else { continue };
            let (first, last) = self.bytes_of(i);
            if hash_of(file, first, last - first + 1)? != expected {
                self.done[i] = None;
                bad.push(i);
            }
        }
        Ok(bad)
    }
}

/// SHA-256 of a part of a file; of what is there, when the file is shorter.
pub fn hash_of(file: &mut File, first: u64, len: u64) -> std::io::Result<String> {
    file.seek(SeekFrom::Start(first))?;
    let mut hasher = Sha256::new();
    let mut reader = Read::take(file, len);
    let mut block = vec![0u8; 1 << 16];
    loop {
        let n = reader.read(&mut block)?;
        if n == 0 {
            return Ok(hex(&hasher.finalize()));
        }
        hasher.update(&block[..n]);
    }
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
