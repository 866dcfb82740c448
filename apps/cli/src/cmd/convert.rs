//! `golay convert`: a Hugging Face folder as a GGUF file.

use crate::args::ConvertArgs;
use crate::cache;
use crate::error::{CliError, Result};
use crate::output::note;
use golay::format::{ModelFile, TensorType};
use golay::model::{ConvertOptions, hf_to_gguf_file};

pub fn run(args: &ConvertArgs) -> Result<()> {
    let outtype = match args.outtype.as_deref() {
        None => None,
        Some(name) => Some(TensorType::from_name(name).ok_or_else(|| {
            CliError::usage(format!("--outtype {name}: no such type (f16, q8_0, q4_k, ...)"))
        })?),
    };
    let path = cache::resolve(&args.model.model)?;
    match ModelFile::open(&path)? {
        ModelFile::Hf(folder) => {
            hf_to_gguf_file(&folder, &args.output, &ConvertOptions { outtype })?;
            note(&format!("wrote {}", args.output.display()));
            Ok(())
        }
        ModelFile::Gguf(_) => Err(CliError::failed(format!("{} is a GGUF file already", path.display()))),
    }
}
