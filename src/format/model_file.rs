//! Decides what a path holds and opens it.

use super::error::FormatError;
use super::gguf::{Gguf, MAGIC};
use super::hf::HfFolder;
use super::tensors::TensorSet;

/// A model of either kind.
#[derive(Clone, Debug)]
pub enum ModelFile {
    /// A GGUF file, or several that belong together.
    Gguf(Gguf),
    /// A Hugging Face folder.
    Hf(HfFolder),
}

impl ModelFile {
    /// Opens a folder as Hugging Face's, a file as GGUF by its first bytes, and a `.safetensors` file beside a
    /// `config.json` as the folder it lies in.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Self, FormatError> {
        let path = path.as_ref();
        let file = path.display().to_string();
        let io = |source| FormatError::Io { file: file.clone(), source };
        let kind = std::fs::metadata(path).map_err(io)?;
        let not = |found: &str| Err(FormatError::NotAModel { file: file.clone(), found: found.to_owned() });
        if kind.is_dir() {
            if !path.join("config.json").exists() {
                return not("a folder without config.json");
            }
            return HfFolder::open(path).map(Self::Hf);
        }
        if !kind.is_file() {
            return not("neither a file nor a folder");
        }
        let mut head = Vec::new();
        let opened = std::fs::File::open(path).map_err(io)?;
        std::io::Read::read_to_end(&mut std::io::Read::take(opened, 4), &mut head).map_err(io)?;
        if is_gguf(&head) {
            return Gguf::open(path).map(Self::Gguf);
        }
        if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("safetensors")) {
            let folder = path.parent().map(|p| if p.as_os_str().is_empty() { ".".as_ref() } else { p });
            return match folder.filter(|f| f.join("config.json").is_file()) {
                Some(folder) => HfFolder::open(folder).map(Self::Hf),
                None => not("a .safetensors file without config.json beside it"),
            };
        }
        not(&format!("a file that begins with {}", super::error::show_bytes(&head)))
    }

    /// Reads a model that is in memory: the file (or files) of a GGUF, or the files of a Hugging Face folder.
    pub fn from_files(files: Vec<(String, Vec<u8>)>) -> Result<Self, FormatError> {
        if files.iter().any(|(_, bytes)| is_gguf(bytes)) {
            return Gguf::from_files(files).map(Self::Gguf);
        }
        HfFolder::from_files(files).map(Self::Hf)
    }

    /// The tensors.
    pub fn tensors(&self) -> &TensorSet {
        match self {
            Self::Gguf(g) => &g.tensors,
            Self::Hf(h) => &h.tensors,
        }
    }

    /// The path that was opened; empty for files in memory.
    pub fn path(&self) -> &std::path::Path {
        match self {
            Self::Gguf(g) => &g.path,
            Self::Hf(h) => &h.path,
        }
    }
}

/// Either byte order of the magic; the reader says what is wrong with the other one.
fn is_gguf(head: &[u8]) -> bool {
    head.starts_with(MAGIC) || head.starts_with(b"FUGG")
}
