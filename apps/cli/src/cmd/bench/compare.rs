//! `golay bench compare`: reports side by side.

use crate::args_bench::CompareArgs;
use crate::error::{CliError, Result, at};
use crate::output::{self, note};
use crate::target::Target;
use golay::harness::page;
use golay::harness::report::Report;
use std::io::Read;
use std::path::Path;

/// A report larger than this is not one.
const LIMIT: u64 = 64 << 20;

/// The text of a report. Devices and pipes tell no size, so that what is read is counted.
fn read(path: &Path) -> Result<String> {
    let failed = |why: String| CliError::failed(format!("{}: {why}", path.display()));
    let file = std::fs::File::open(path).map_err(at(path))?;
    let mut bytes = Vec::new();
    file.take(LIMIT + 1).read_to_end(&mut bytes).map_err(at(path))?;
    if bytes.len() as u64 > LIMIT {
        return Err(failed(format!("more than {LIMIT} bytes are no report")));
    }
    String::from_utf8(bytes)
        .map_err(|e| failed(format!("no text: byte {} is not UTF-8", e.utf8_error().valid_up_to())))
}

pub fn run(args: &CompareArgs) -> Result<()> {
    let mut reports = Vec::new();
    let target = args.html.as_deref().map(Target::new).transpose()?;
    for path in &args.files {
        if let Some(t) = &target {
            t.spare(path)?;
        }
        let text = read(path)?;
        let report = Report::read(&text).map_err(|e| CliError::failed(format!("{}: {e}", path.display())))?;
        let name = path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        reports.push((name, report));
    }
    output::result(&page::table(&reports))?;
    if let Some(target) = target {
        target.write(|out| Ok(out.write_all(page::html(&reports).as_bytes())?))?;
        note(&format!("written: {}", target.name()));
    }
    Ok(())
}
