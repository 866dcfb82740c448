//! `golay bench report`: ceilings, kernels and models of this device in one file.

use super::{kernels, model};
use crate::args_bench::ReportArgs;
use crate::error::{CliError, Result, at};
use crate::open;
use crate::output::note;

pub fn run(args: &ReportArgs) -> Result<()> {
    // Whether it can be written is known before minutes are spent.
    let part = args.output.with_extension("part");
    std::fs::write(&part, "").map_err(at(&part))?;
    let made = make(args, &part);
    if made.is_err() {
        drop(std::fs::remove_file(&part));
    }
    made
}

fn make(args: &ReportArgs, part: &std::path::Path) -> Result<()> {
    let gpu = pollster::block_on(open::device(&args.device))?;
    let mut report = pollster::block_on(kernels::gather(&gpu, &args.which))?;
    drop(gpu);
    for m in &args.model {
        note(&format!("measuring {m} ..."));
        report.models.extend(model::rows(m, &args.device, Some(&report.ceilings))?);
    }
    let text = serde_json::to_string_pretty(&report)? + "\n";
    std::fs::write(part, text).map_err(at(part))?;
    std::fs::rename(part, &args.output).map_err(at(&args.output))?;
    let refused = report.kernels.iter().filter(|r| r.refused.is_some()).count();
    note(&format!(
        "{}: {} kernels, {} model rows; read ceiling {:.1} GB/s",
        args.output.display(),
        report.kernels.len(),
        report.models.len(),
        report.ceilings.read.per_second / 1e9
    ));
    match refused {
        0 => Ok(()),
        n => Err(CliError::failed(format!("{n} kernels disagree with their references: see `refused`"))),
    }
}
