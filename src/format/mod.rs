//! Containers: GGUF, safetensors, and the JSON files of a Hugging Face folder. Hostile input stops here.
//!
//! [`ModelFile::open`] decides what a path is. Tensor data is mapped, never copied: [`TensorSet::data`] is a slice of
//! the file. Everything else is bounded by the size of the file and by fixed limits, with checked arithmetic, and
//! refused with an error that names the file and the field.

mod bytes;
mod cursor;
mod dtype;
mod error;
mod gguf;
mod hf;
mod json;
mod metadata;
mod model_file;
mod safetensors;
mod tensors;
mod value;

#[cfg(test)]
mod tests;

pub use bytes::Bytes;
pub use dtype::TensorType;
pub use error::FormatError;
pub use gguf::{ALIGNMENT_KEY, DEFAULT_ALIGNMENT, Gguf, GgufBody, GgufWriter, write_gguf};
pub use hf::HfFolder;
pub use json::{json_f64, parse_json};
pub use metadata::Metadata;
pub use model_file::ModelFile;
#[cfg(not(target_arch = "wasm32"))]
pub use safetensors::write_safetensors_file;
pub use safetensors::{read_safetensors, write_safetensors};
pub use tensors::{TensorInfo, TensorSet};
pub use value::{Array, Value};

/// A tensor to be written: name, type, row-major shape, data.
pub type NamedTensor<'a> = (&'a str, TensorType, &'a [u64], &'a [u8]);

/// An error of the sink that a writer writes to.
fn out_error(source: std::io::Error) -> FormatError {
    FormatError::Io { file: "output".to_owned(), source }
}
