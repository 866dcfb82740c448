//! `golay bench model`: prefill and decode speed, in the rows and columns of llama-bench.

use crate::args::{BenchArgs, Table};
use crate::error::{CliError, Result};
use crate::output::{self, note};
use crate::{cache, interrupt, open};
use golay::engine::{AnswerOptions, Cancel, Engine, Finish, Session};
use golay::format::{ModelFile, TensorInfo};
use golay::generate::SamplerParams;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

/// One row: `n_prompt` or `n_gen` is 0.
#[derive(Clone, Copy)]
struct Test {
    n_prompt: u32,
    n_gen: u32,
    depth: u32,
}

impl Test {
    fn name(&self) -> String {
        let what =
            if self.n_prompt > 0 { format!("pp{}", self.n_prompt) } else { format!("tg{}", self.n_gen) };
        if self.depth > 0 { format!("{what} @ d{}", self.depth) } else { what }
    }

    fn tokens(&self) -> u32 {
        self.n_prompt.max(self.n_gen)
    }

    /// Positions that it takes: generation starts from one token and discards the last.
    fn positions(&self) -> u32 {
        self.depth.saturating_add(self.n_prompt).saturating_add(self.n_gen).saturating_add(1)
    }
}

/// What every row says about the model.
struct Model {
    file: String,
    kind: String,
    bytes: u64,
    params: u64,
}

pub fn run(args: &BenchArgs) -> Result<()> {
    let mut tests = Vec::new();
    for &depth in &args.n_depth {
        let row = |n_prompt, n_gen| Test { n_prompt, n_gen, depth };
        tests.extend(args.n_prompt.iter().filter(|n| **n > 0).map(|n| row(*n, 0)));
        tests.extend(args.n_gen.iter().filter(|n| **n > 0).map(|n| row(0, *n)));
    }
    let Some(longest) = tests.iter().map(Test::positions).max() else {
        return Err(CliError::usage("nothing to measure: -p and -n are 0"));
    };
    let path = cache::resolve(&args.model.model)?;
    let file = ModelFile::open(&path)?;
    let mut model = describe(&path.display().to_string(), &file);
    let engine = pollster::block_on(open::load(file, &args.device, &|_| Some(longest)))?;
    model.kind = format!("{} {}", engine.spec.arch, model.kind);
    let cancel = Cancel::default();
    let _guard = interrupt::guard(&cancel, 2);
    let mut rows = Vec::new();
    let printer = Printer { format: args.output };
    printer.begin()?;
    for test in &tests {
        let seconds = pollster::block_on(measure(&engine, test, args, &cancel))?;
        let row = row(&engine, &model, test, &seconds);
        printer.row(&row, rows.is_empty())?;
        rows.push(row);
    }
    printer.end()
}

fn describe(path: &str, file: &ModelFile) -> Model {
    let mut by_type = BTreeMap::<&str, u64>::new();
    let (mut bytes, mut params) = (0u64, 0u64);
    for t in file.tensors().iter() {
        bytes = bytes.saturating_add(t.bytes);
        params = params.saturating_add(TensorInfo::elements(t));
        *by_type.entry(t.ttype.name()).or_default() += t.elements();
    }
    let main = by_type.iter().max_by_key(|e| e.1).map_or("", |e| e.0);
    let size = match params {
        n if n >= 1_000_000_000 => format!("{:.1}B", n as f64 / 1e9),
        n if n >= 1_000_000 => format!("{:.0}M", n as f64 / 1e6),
        n => format!("{:.0}K", n as f64 / 1e3),
    };
    Model { file: path.to_owned(), kind: format!("{size} {main}"), bytes, params }
}

/// Seconds of every repetition.
async fn measure(engine: &Arc<Engine>, test: &Test, args: &BenchArgs, cancel: &Cancel) -> Result<Vec<f64>> {
    let mut session = open::session(engine).await?;
    let mut seconds = Vec::new();
    let extra = u32::from(!args.no_warmup);
    for i in 0..args.repetitions + extra {
        let s = once(&mut session, test, cancel).await?;
        if i >= extra {
            seconds.push(s);
            note(&format!(
                "{}: {}/{}: {:.2} t/s",
                test.name(),
                seconds.len(),
                args.repetitions,
                f64::from(test.tokens()) / s
            ));
        }
    }
    Ok(seconds)
}

async fn once(session: &mut Session, test: &Test, cancel: &Cancel) -> Result<f64> {
    let vocab = session.engine().spec.vocab;
    let ids = |n: u32| (0..n).map(|i| (i.wrapping_mul(2_654_435_761) >> 7) % vocab).collect::<Vec<u32>>();
    let options = |n: u32| AnswerOptions {
        max_tokens: Some(n as usize),
        sampler: SamplerParams::greedy(),
        ..Default::default()
    };
    let mut go = async |prompt: &[u32], n: u32| {
        let each = &mut |_| ControlFlow::Continue(());
        let a = session.answer(prompt, &options(n), cancel, &mut |_, _| {}, each).await?;
        if a.finish == Finish::Cancelled { Err(CliError::failed("interrupted")) } else { Ok(a) }
    };
    if test.n_prompt > 0 {
        // A different first token empties the cache (the sequence shares nothing with it); then the depth, untimed.
        let all = ids(test.depth + test.n_prompt);
        let other: Vec<u32> = all.iter().take(1).map(|id| (id + 1) % vocab).collect();
        go(&other, 0).await?;
        if test.depth > 0 {
            go(&all[..test.depth as usize], 0).await?;
        }
        let begin = Instant::now();
        let a = go(&all, 0).await?;
        let took = begin.elapsed().as_secs_f64();
        return match a.prompt_tokens - a.reused_tokens {
            n if n == test.n_prompt as usize => Ok(took),
            n => Err(CliError::failed(format!("{n} tokens were computed instead of {}", test.n_prompt))),
        };
    }
    // From the first id to the last are exactly n steps.
    let a = go(&ids(test.depth + 1), test.n_gen + 1).await?;
    Ok(a.decode_s)
}

/// A row with llama-bench's fields.
fn row(engine: &Engine, m: &Model, test: &Test, seconds: &[f64]) -> Value {
    let speeds: Vec<f64> = seconds.iter().map(|s| f64::from(test.tokens()) / s).collect();
    let nanos: Vec<u64> = seconds.iter().map(|s| (s * 1e9) as u64).collect();
    let (avg_s, dev_s) = mean(seconds);
    let (avg_ts, dev_ts) = mean(&speeds);
    let info = &engine.gpu.info;
    json!({
        "build_number": concat!("golay ", env!("CARGO_PKG_VERSION")),
        "gpu_info": info.name,
        "device_type": golay::gpu::adapter::kind(info.device_type),
        "driver": info.driver_info,
        "backends": info.backend.to_string(),
        "model_filename": m.file,
        "model_type": m.kind,
        "model_size": m.bytes,
        "model_n_params": m.params,
        "n_batch": engine.tuning.chunk,
        "type_k": engine.plan.kv_type.name(),
        "type_v": engine.plan.kv_type.name(),
        "n_prompt": test.n_prompt,
        "n_gen": test.n_gen,
        "n_depth": test.depth,
        "test": test.name(),
        "avg_ns": (avg_s * 1e9) as u64,
        "stddev_ns": (dev_s * 1e9) as u64,
        "avg_ts": avg_ts,
        "stddev_ts": dev_ts,
        "samples_ns": nanos,
        "samples_ts": speeds,
    })
}

/// Mean and sample standard deviation.
fn mean(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let var = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, var.sqrt())
}

/// Writes rows as they come.
struct Printer {
    format: Table,
}

impl Printer {
    fn begin(&self) -> Result<()> {
        match self.format {
            Table::Md => output::result(
                "| model                          |       size |     params | backend    | device                         \
                 |            test |                  t/s |\n\
                 | ------------------------------ | ---------: | ---------: | ---------- | ------------------------------ \
                 | --------------: | -------------------: |\n",
            ),
            Table::Json => output::result("["),
            _ => Ok(()),
        }
    }

    fn row(&self, row: &Value, first: bool) -> Result<()> {
        let word = |k: &str| row[k].as_str().map_or_else(|| row[k].to_string(), str::to_owned);
        match self.format {
            Table::Md => {
                let size = row["model_size"].as_u64().unwrap_or(0);
                let params = row["model_n_params"].as_u64().unwrap_or(0);
                let speed = format!(
                    "{:.2} ± {:.2}",
                    row["avg_ts"].as_f64().unwrap_or(0.0),
                    row["stddev_ts"].as_f64().unwrap_or(0.0)
                );
                output::line(&format!(
                    "| {:30} | {:>10} | {:>10} | {:10} | {:30} | {:>15} | {speed:>20} |",
                    word("model_type"),
                    output::human_bytes(size),
                    output::human_count(params),
                    word("backends"),
                    word("gpu_info").replace('|', "/"),
                    word("test"),
                ))
            }
            Table::Csv => {
                let fields = || row.as_object().into_iter().flatten().filter(|(_, v)| !v.is_array());
                let quote = |s: String| format!("\"{}\"", s.replace('"', "\"\""));
                if first {
                    output::line(&fields().map(|(k, _)| k.as_str()).collect::<Vec<_>>().join(","))?;
                }
                output::line(&fields().map(|(k, _)| quote(word(k))).collect::<Vec<_>>().join(","))
            }
            Table::Json => output::result(&format!("{}\n{row}", if first { "" } else { "," })),
            Table::Jsonl => output::json(row),
        }
    }

    fn end(&self) -> Result<()> {
        if self.format == Table::Json { output::result("\n]\n") } else { Ok(()) }
    }
}
