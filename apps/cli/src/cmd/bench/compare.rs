//! `golay bench compare`: reports side by side.

use crate::args_bench::CompareArgs;
use crate::error::{CliError, Result, at};
use crate::output::{self, note};
use crate::target::Target;
use golay::harness::page;
use golay::harness::report::Report;

/// A report larger than this is not one.
const LIMIT: u64 = 64 << 20;

pub fn run(args: &CompareArgs) -> Result<()> {
    let mut reports = Vec::new();
    for path in &args.files {
        let bytes = std::fs::metadata(path).map_err(at(path))?.len();
        if bytes > LIMIT {
            return Err(CliError::failed(format!("{}: {bytes} bytes are no report", path.display())));
        }
        let text = std::fs::read_to_string(path).map_err(at(path))?;
        let report = Report::read(&text).map_err(|e| CliError::failed(format!("{}: {e}", path.display())))?;
        let name = path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        reports.push((name, report));
    }
    output::result(&page::table(&reports))?;
    if let Some(html) = &args.html {
        let target = Target::new(html)?;
        target.write(|out| Ok(out.write_all(page::html(&reports).as_bytes())?))?;
        note(&format!("written: {}", target.name()));
    }
    Ok(())
}
