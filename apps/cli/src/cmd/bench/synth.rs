//! `golay bench synth`: a model of random weights.

use crate::args_bench::SynthArgs;
use crate::error::{CliError, Result, at};
use crate::output::{Bar, human_bytes, note};
use golay::model::write_synth;
use std::io::{BufWriter, Write};

pub fn run(args: &SynthArgs) -> Result<()> {
    if args.output.exists() {
        return Err(CliError::failed(format!("{} is there already", args.output.display())));
    }
    let part = args.output.with_extension("part");
    let file = std::fs::File::create(&part).map_err(at(&part))?;
    let bar = Bar::new("writing");
    let written = write_synth(&args.shape, args.outtype, BufWriter::new(file), &mut |done, all| {
        bar.set(done as u64, all as u64);
    })
    .map_err(at(&part))
    .and_then(|mut w| w.flush().map_err(at(&part)))
    .and_then(|()| std::fs::rename(&part, &args.output).map_err(at(&args.output)));
    if written.is_err() {
        drop(std::fs::remove_file(&part));
    }
    written?;
    let bytes = std::fs::metadata(&args.output).map_err(at(&args.output))?.len();
    note(&format!("{}: {}, random weights without a tokenizer", args.output.display(), human_bytes(bytes)));
    Ok(())
}
