//! `golay bench report`: ceilings, kernels and models of this device in one file.

use super::{kernels, model};
use crate::args_bench::ReportArgs;
use crate::error::{CliError, Result};
use crate::output::note;
use crate::target::Target;
use crate::{cache, open};
use golay::format::ModelFile;

pub fn run(args: &ReportArgs) -> Result<()> {
    // Whether it can be written is known before minutes are spent.
    let target = Target::new(&args.output)?;
    for m in &args.model {
        let path = cache::resolve(m)?;
        target.spare(&path)?;
        golay::model::read(&ModelFile::open(&path)?)?;
    }
    let gpu = pollster::block_on(open::device(&args.device))?;
    let mut report = pollster::block_on(kernels::gather(&gpu, &args.which))?;
    drop(gpu);
    let mut failed = None;
    for m in &args.model {
        note(&format!("measuring {m} ..."));
        match model::rows(m, &args.device, Some(&report.ceilings)) {
            Ok(rows) => report.models.extend(rows),
            // What was measured so far is not thrown away.
            Err(e) => {
                failed = Some(e);
                break;
            }
        }
    }
    let text = serde_json::to_string_pretty(&report)? + "\n";
    target.write(|out| Ok(out.write_all(text.as_bytes())?))?;
    let refused = report.kernels.iter().filter(|r| r.refused.is_some()).count();
    note(&format!(
        "{}: {} kernels, {} model rows; read ceiling {:.1} GB/s",
        target.name(),
        report.kernels.len(),
        report.models.len(),
        report.ceilings.read.per_second / 1e9
    ));
    match refused {
        0 => failed.map_or(Ok(()), Err),
        n => Err(CliError::failed(format!("{n} kernels disagree with their references: see `refused`"))),
    }
}
