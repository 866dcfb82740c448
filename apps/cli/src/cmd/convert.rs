//! `golay convert`: a Hugging Face folder as a GGUF file.

use crate::args::ConvertArgs;
use crate::cache;
use crate::error::{CliError, Result};
use crate::output::note;
use crate::target::Target;
use golay::format::{ModelFile, TensorType};
use golay::model::{ConvertOptions, hf_to_gguf};

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
            let target = Target::binary(&args.output)?;
            target.spare(&path)?;
            target.write(|out| Ok(hf_to_gguf(&folder, out, &ConvertOptions { outtype }).map(|_| ())?))?;
            note(&format!("wrote {}", target.name()));
            Ok(())
        }
        ModelFile::Gguf(_) => Err(CliError::failed(format!("{} is a GGUF file already", path.display()))),
    }
}
