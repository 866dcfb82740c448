//! The bytes of one file: mapped on native targets, in memory elsewhere.
//!
//! A mapped file must not be shortened by another process while it is open: reading past the new end would raise
//! SIGBUS, as with any memory map.

use std::ops::{Deref, Range};
use std::sync::Arc;

/// The bytes of one file. Clones share them.
#[derive(Clone)]
pub struct Bytes(Arc<Store>);

enum Store {
    Memory(Vec<u8>),
    #[cfg(not(target_arch = "wasm32"))]
    Map(memmap2::Mmap),
}

impl Bytes {
    /// Maps a file into memory. Only regular files: a pipe would block for ever.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(path: &std::path::Path) -> Result<Self, super::FormatError> {
        let io = |source| super::FormatError::Io { file: path.display().to_string(), source };
        let kind = std::fs::metadata(path).map_err(io)?;
        if !kind.is_file() {
            let reason = if kind.is_dir() { "is a folder" } else { "is not a regular file" };
            return Err(io(std::io::Error::new(std::io::ErrorKind::InvalidInput, reason)));
        }
        let file = std::fs::File::open(path).map_err(io)?;
        if kind.len() == 0 {
            return Ok(Self::from(Vec::new()));
        }
        // SAFETY: the map is read-only and private to this value; the module's docs state the one condition that
        // no program can check, that the file is not shortened while it is open.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(io)?;
        Ok(Self(Arc::new(Store::Map(map))))
    }

    /// Lets the pages that lie wholly within `range` leave this process's memory; reading them again brings them
    /// back from the file. Does nothing for bytes in memory and where the system has no such call.
    pub fn release(&self, range: Range<usize>) {
        #[cfg(all(unix, not(target_arch = "wasm32")))]
        if let Store::Map(map) = &*self.0 {
            // The smallest page there is: a bigger one costs its neighbours a page fault, nothing else.
            const PAGE: usize = 4096;
            let end = range.end.min(map.len());
            let last = if end == map.len() { end } else { end / PAGE * PAGE };
            let Some(first) = range.start.checked_next_multiple_of(PAGE).filter(|f| *f < last) else {
                return;
            };
            // SAFETY: the map is read-only and backed by the file, so pages that are dropped come back with the
            // same contents; `first..last` lies within the map.
            let advised = unsafe {
                map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, first, last - first)
            };
            if let Err(e) = advised {
                log::debug!("pages {first}..{last} were not released: {e}");
            }
        }
        #[cfg(not(all(unix, not(target_arch = "wasm32"))))]
        let _ = range;
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Store::Memory(bytes)))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &*self.0 {
            Store::Memory(bytes) => bytes,
            #[cfg(not(target_arch = "wasm32"))]
            Store::Map(map) => map,
        }
    }
}

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bytes({})", self.len())
    }
}
