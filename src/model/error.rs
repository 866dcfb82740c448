//! Why a file is not a model golay can run.

use crate::format::FormatError;
use crate::text::TextError;
use crate::weights::WeightsError;

/// Errors of the `model` room.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The container is at fault.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// An architecture golay does not know.
    #[error("architecture {found:?} is not supported; supported are {}", SUPPORTED.join(", "))]
    Architecture {
        /// As the file names it.
        found: String,
    },
    /// A required key is missing.
    #[error("{arch}: {key} is missing")]
    Missing {
        /// Architecture.
        arch: String,
        /// Key.
        key: String,
    },
    /// A key has a value that cannot be.
    #[error("{arch}: {key} is {found}; expected {expected}")]
    Value {
        /// Architecture.
        arch: String,
        /// Key.
        key: String,
        /// What the file says.
        found: String,
        /// What would do.
        expected: String,
    },
    /// A required tensor is missing.
    #[error("{arch}: tensor {tensor} is missing")]
    MissingTensor {
        /// Architecture.
        arch: String,
        /// Tensor name.
        tensor: String,
    },
    /// A bias that the graph has no place for. Left out, every answer would be wrong without a word.
    #[error("{arch}: tensor {tensor} is a bias that golay's {arch} graph has no place for")]
    UnknownBias {
        /// Architecture.
        arch: String,
        /// Tensor name.
        tensor: String,
    },
    /// Any other tensor of a block that the graph has no place for.
    #[error("{arch}: tensor {tensor} belongs to a block, but golay's {arch} graph has no place for it")]
    UnknownTensor {
        /// Architecture.
        arch: String,
        /// Tensor name.
        tensor: String,
    },
    /// Mixture of experts.
    #[error("{arch}: {key} is {count}: mixture of experts is not supported for architecture {arch}")]
    Experts {
        /// Architecture.
        arch: String,
        /// The key that says how many.
        key: String,
        /// How many.
        count: u64,
    },
    /// An error of a file whose path is known.
    #[error("{file}: {source}")]
    InFile {
        /// Path as it was opened.
        file: String,
        /// What is wrong with it.
        source: Box<ModelError>,
    },
    /// A tensor has a shape that the configuration contradicts.
    #[error("{arch}: tensor {tensor} has shape {found:?}; expected {expected:?}")]
    Shape {
        /// Architecture.
        arch: String,
        /// Tensor name.
        tensor: String,
        /// Shape in the file.
        found: Vec<u64>,
        /// Shape that the configuration implies.
        expected: Vec<u64>,
    },
    /// A tensor cannot be converted.
    #[error("tensor {tensor}: {source}")]
    Convert {
        /// Tensor name.
        tensor: String,
        /// Why.
        source: WeightsError,
    },
    /// A tokenizer cannot be converted.
    #[error(transparent)]
    Text(#[from] Box<TextError>),
}

/// Shorthand for this room.
pub type Result<T> = std::result::Result<T, ModelError>;

/// Architectures that run, as Hugging Face and GGUF name them.
pub const SUPPORTED: &[&str] = &["llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3", "phi3", "smollm3"];
