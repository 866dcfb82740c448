//! `golay bench kernels`: every kernel on this device, checked, timed, and put beside the device's own ceilings.

use crate::args_bench::{KernelsArgs, Table, Which};
use crate::error::{CliError, Result};
use crate::output::{self, Bar, note};
use crate::{interrupt, open};
use golay::engine::{self, Cancel};
use golay::gpu::{Gpu, Kernels};
use golay::harness::kernels::{Options, measure};
use golay::harness::plan::{Selection, rows};
use golay::harness::report::{Ceilings, Report, Row};
use golay::harness::{ceilings, kernels};

pub fn run(args: &KernelsArgs) -> Result<()> {
    let gpu = pollster::block_on(open::device(&args.device))?;
    let report = pollster::block_on(gather(&gpu, &args.which))?;
    match args.output {
        Table::Md => {
            output::result(&ceiling_lines(&report.ceilings))?;
            output::result(&table(&report.kernels))?;
        }
        Table::Csv => output::result(&csv(&report.kernels)?)?,
        Table::Json => output::pretty_json(&report)?,
        Table::Jsonl => report.kernels.iter().try_for_each(output::json)?,
    }
    wrong(&report.kernels)
}

/// Ceilings and kernels of a device as a report.
pub async fn gather(gpu: &Gpu, which: &Which) -> Result<Report> {
    let selection = Selection {
        families: which.family.clone(),
        formats: which.format.clone(),
        shapes: which.shape.iter().map(|s| s.0).collect(),
        tokens: which.tokens.clone(),
        all: which.all,
    };
    let tuned = engine::any_tuned(gpu);
    let wanted = rows(&selection, &gpu.caps, tuned.as_ref()).map_err(CliError::usage)?;
    let request = std::env::var("GOLAY_CAPS").ok().filter(|v| !v.is_empty());
    let mut report = Report::new(gpu, request.as_deref().unwrap_or("full"));
    report.tuned = tuned;
    let kernels = Kernels::default();
    note("measuring what this device can do at best ...");
    report.ceilings = ceilings::measure(gpu, &kernels, &mut |_, _, _| {}).await?;
    note(&format!("measuring {} kernels, each after a check against its reference ...", wanted.len()));
    let cancel = Cancel::default();
    let _guard = interrupt::guard(&cancel, 2);
    let mut options = Options::new(gpu);
    options.rounds = which.rounds as usize;
    let mut shown = Shown { bar: Bar::new("measuring"), cancel: cancel.clone() };
    report.kernels = measure(gpu, &kernels, &wanted, &report.ceilings, &options, &mut shown).await?;
    if cancel.is_cancelled() {
        return Err(CliError::interrupted("nothing was written"));
    }
    Ok(report)
}

/// Progress on the terminal; Ctrl-C ends the run.
pub struct Shown {
    pub bar: Bar,
    pub cancel: Cancel,
}

impl kernels::Progress for Shown {
    fn step(&mut self, now: &str, done: usize, all: usize) {
        self.bar.set(done as u64, all as u64);
        self.bar.say(now);
    }

    fn cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

/// An error when a kernel disagreed with its reference.
pub fn wrong(rows: &[Row]) -> Result<()> {
    match rows.iter().filter(|r| r.refused.is_some()).count() {
        0 => Ok(()),
        n => Err(CliError::failed(format!("{n} of {} kernels were refused", rows.len()))),
    }
}

/// The ceilings in words.
pub fn ceiling_lines(c: &Ceilings) -> String {
    let giga = |r: &golay::harness::report::Rate| format!("{:8.1} ({})", r.per_second / 1e9, r.variant);
    let f16 = c.f16.as_ref().map_or("       - (no f16 arithmetic)".to_owned(), giga);
    format!(
        "read  GB/s   {}\ncopy  GB/s   {}\nf32   GFLOP/s{}\nf16   GFLOP/s{f16}\ndot4  GOP/s  {}\n\
         dispatch {:.1} us, pass {:.1} us, submit and wait {:.1} us\n\n",
        giga(&c.read),
        giga(&c.copy),
        giga(&c.f32),
        giga(&c.dot4),
        c.dispatch_s * 1e6,
        c.pass_s * 1e6,
        c.submit_s * 1e6
    )
}

/// The rows as a Markdown table.
pub fn table(rows: &[Row]) -> String {
    let mut out = String::from(
        "| kernel | format | shape | geometry | time us | GB/s | Gitems/s | bits | of read | x f16 | x control | int ops |\n\
         |---|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for r in rows {
        let head = format!(
            "| {} | {} | {} | {}{} |",
            r.family,
            r.format,
            r.shape,
            r.variant,
            if r.default { " *" } else { "" }
        );
        out += &match &r.refused {
            Some(why) => format!("{head} refused: {} ||||||||\n", why.replace('|', "/")),
            None => format!(
                "{head} {:.1} | {:.2} | {:.2} | {:.2} | {:.0} % | {} | {} | {} |\n",
                r.seconds * 1e6,
                r.bytes_per_second / 1e9,
                r.items as f64 / r.seconds / 1e9,
                r.bits,
                r.of_read * 100.0,
                r.of_f16.map_or("-".into(), |v| format!("{v:.2}")),
                r.of_control.map_or("-".into(), |v| format!("{v:.2}")),
                if r.int_ops > 0.0 { format!("{:.1}", r.int_ops) } else { "-".into() },
            ),
        };
    }
    out + "\n* the default here\n"
}

fn csv(rows: &[Row]) -> Result<String> {
    let mut out = String::new();
    for r in rows {
        let v = serde_json::to_value(r)?;
        let fields: Vec<_> = v.as_object().into_iter().flatten().filter(|(_, v)| !v.is_array()).collect();
        if out.is_empty() {
            out += &fields.iter().map(|(k, _)| k.as_str()).collect::<Vec<_>>().join(",");
            out.push('\n');
        }
        let word = |v: &serde_json::Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
        let cells: Vec<String> =
            fields.iter().map(|(_, v)| format!("\"{}\"", word(v).replace('"', "\"\""))).collect();
        out += &cells.join(",");
        out.push('\n');
    }
    Ok(out)
}
