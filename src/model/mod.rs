//! Architectures: from a file's configuration and tensor names to a [`ModelSpec`], the graph as plain numbers.
//!
//! Nothing here touches the device, and the engine never sees a tensor name.

mod build;
mod check;
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

#[cfg(test)]
mod tests;

/// Reads the configuration of a model file and matches its tensors.
///
/// # Errors
/// What is missing, unsupported or contradictory, by name.
pub fn read(file: &ModelFile) -> Result<ModelSpec, ModelError> {
    let build = || {
        let (config, naming) = config_of(file)?;
        let spec = build::build(&config, file.tensors(), naming)?;
        check::vocabulary(file, &config, &spec)?;
        Ok(spec)
    };
    build().map_err(|e| named(file, e))
}

/// The configuration of a model file and how its tensors are named.
///
/// # Errors
/// Unsupported architectures and keys that are missing or cannot be.
pub fn read_config(file: &ModelFile) -> Result<(Config, Naming), ModelError> {
    config_of(file).map_err(|e| named(file, e))
}

fn config_of(file: &ModelFile) -> Result<(Config, Naming), ModelError> {
    match file {
        ModelFile::Gguf(g) => Ok((gguf::read(&g.metadata, &g.tensors)?, Naming::Gguf)),
        ModelFile::Hf(h) => Ok((hf::read(&h.config)?, Naming::detect_hf(&h.tensors))),
    }
}

/// The error with the path of its file, where there is one.
fn named(file: &ModelFile, e: ModelError) -> ModelError {
    match file.path().as_os_str().is_empty() {
        true => e,
        false => ModelError::InFile { file: file.path().display().to_string(), source: Box::new(e) },
    }
}
