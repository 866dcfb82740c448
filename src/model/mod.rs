//! Architectures: from a file's configuration and tensor names to a [`ModelSpec`], the graph as plain numbers.
//!
//! Nothing here touches the device, and the engine never sees a tensor name.

mod build;
mod config;
mod convert;
mod error;
mod gguf;
mod hf;
mod rope;
mod spec;
mod synth;

pub use build::Naming;
pub use config::{Config, Family, RopeConfig, Scaling};
#[cfg(not(target_arch = "wasm32"))]
pub use convert::hf_to_gguf_file;
pub use convert::{ConvertOptions, hf_to_gguf};
pub use error::{ModelError, SUPPORTED};
pub use spec::{LayerSpec, MatrixSlot, ModelSpec, Piece, RopeSpec, VectorSlot};
pub use synth::{SYNTHS, Synth, synth_types, write_synth};

use crate::format::ModelFile;

/// Reads the configuration of a model file and matches its tensors.
///
/// # Errors
/// What is missing, unsupported or contradictory, by name.
pub fn read(file: &ModelFile) -> Result<ModelSpec, ModelError> {
    let (config, naming) = read_config(file)?;
    build::build(&config, file.tensors(), naming)
}

/// The configuration of a model file and how its tensors are named.
///
/// # Errors
/// Unsupported architectures and keys that are missing or cannot be.
pub fn read_config(file: &ModelFile) -> Result<(Config, Naming), ModelError> {
    match file {
        ModelFile::Gguf(g) => Ok((gguf::read(&g.metadata, &g.tensors)?, Naming::Gguf)),
        ModelFile::Hf(h) => Ok((hf::read(&h.config)?, Naming::detect_hf(&h.tensors))),
    }
}
