//! `golay bench model`: prefill and decode speed, in the rows and columns of llama-bench.

use crate::args::DeviceArgs;
use crate::args_bench::{BenchArgs, Table};
use crate::error::{CliError, Result};
use crate::output::{self, note};
use crate::{cache, interrupt, open};
use golay::engine::{AnswerOptions, Cancel, Engine, Finish, Session, StepCost};
use golay::format::{ModelFile, TensorInfo};
use golay::generate::SamplerParams;
use golay::gpu::Kernels;
use golay::harness::report::{Ceilings, ModelRow};
use golay::harness::{ceilings, median};
use golay::kernels::KvType;
use golay::kv::KvSpec;
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
pub struct Model {
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
    let bytes = BytesOf::new(&file)?;
    let engine = pollster::block_on(open::load(file, &args.device, &|_| Some(longest)))?;
    model.kind = format!("{} {}", engine.spec.arch, model.kind);
    fits(&engine, longest)?;
    let cancel = Cancel::default();
    let _guard = interrupt::guard(&cancel, 2);
    let bound = if args.bound {
        let longest = args.n_depth.iter().copied().max().unwrap_or(0);
        Some(pollster::block_on(Bound::measure(&engine, bytes, longest, None))?)
    } else {
        None
    };
    if args.profile {
        pollster::block_on(profile(&engine, tests[0].depth))?;
    }
    let mut rows = Vec::new();
    let printer = Printer { format: args.output };
    printer.begin()?;
    for test in &tests {
        let seconds = pollster::block_on(measure(&engine, test, args.repetitions, !args.no_warmup, &cancel))?;
        let mut row = row(&engine, &model, test, &seconds);
        if let (Some(b), Some(o)) = (&bound, row.as_object_mut()) {
            b.add(&engine, test, &seconds, o);
        }
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
async fn measure(
    engine: &Arc<Engine>,
    test: &Test,
    repetitions: u32,
    warm: bool,
    cancel: &Cancel,
) -> Result<Vec<f64>> {
    let mut session = open::session(engine).await?;
    let mut seconds = Vec::new();
    let extra = u32::from(warm);
    for i in 0..repetitions + extra {
        let s = once(&mut session, test, cancel).await?;
        if i >= extra {
            seconds.push(s);
            note(&format!(
                "{}: {}/{}: {:.2} t/s",
                test.name(),
                seconds.len(),
                repetitions,
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
        if a.finish == Finish::Cancelled { Err(CliError::interrupted("")) } else { Ok(a) }
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
    match a.ids.len() {
        n if n == test.n_gen as usize + 1 => Ok(a.decode_s),
        n => Err(CliError::failed(format!("the answer ended after {n} of {} tokens", test.n_gen + 1))),
    }
}

/// Refuses tests that the context cannot hold; it may be shorter on this device than was asked for.
fn fits(engine: &Engine, longest: u32) -> Result<()> {
    match engine.plan.context {
        c if longest <= c => Ok(()),
        c => Err(CliError::failed(format!(
            "-p, -n and -d ask for {longest} positions; the context can have {c} on this device"
        ))),
    }
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
        "type_k": engine.plan.kv_spec.sides().0,
        "type_v": engine.plan.kv_spec.sides().1,
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

/// Where a token's time goes, on stderr beside the table.
async fn profile(engine: &Arc<Engine>, depth: u32) -> Result<()> {
    let mut session = open::session(engine).await?;
    let p = session.profile(depth.min(engine.plan.context.saturating_sub(1)), 5).await?;
    note(&format!("a token at position {depth}: {:.2} ms", p.step_s * 1e3));
    let mut kernels: Vec<_> = p.kernels.iter().collect();
    kernels.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
    for (name, (seconds, count)) in kernels {
        note(&format!("  {name:12} {:8.3} ms in {count} dispatches", seconds * 1e3));
    }
    Ok(())
}

/// What a token must read, at any depth.
struct BytesOf {
    weights: u64,
    spec: golay::model::ModelSpec,
}

impl BytesOf {
    fn new(file: &ModelFile) -> Result<Self> {
        let spec = golay::model::read(file)?;
        let weights = golay::engine::bytes_per_token(&spec, file.tensors(), KvType::F16.into(), 0);
        Ok(Self { weights, spec })
    }

    /// Bytes with `keys` keys in the cache.
    fn at(&self, kv: KvSpec, keys: u32) -> u64 {
        self.weights + golay::engine::cache_bytes(&self.spec, kv, keys)
    }
}

/// What bounds a token, and what it costs besides the device's work.
struct Bound {
    bytes: BytesOf,
    read: f64,
    cost: StepCost,
}

impl Bound {
    async fn measure(
        engine: &Arc<Engine>,
        bytes: BytesOf,
        depth: u32,
        known: Option<&Ceilings>,
    ) -> Result<Self> {
        let read = match known {
            Some(c) => c.read.per_second,
            None => ceilings::read(&engine.gpu, &Kernels::default()).await?.per_second,
        };
        let mut session = open::session(engine).await?;
        let at = depth.min(engine.plan.context.saturating_sub(1));
        let cost = session.step_cost(at, 8, 3).await?;
        Ok(Self { bytes, read, cost })
    }

    fn row(&self, engine: &Engine, test: &Test, seconds: &[f64]) -> ModelRow {
        let speeds: Vec<f64> = seconds.iter().map(|s| f64::from(test.tokens()) / s).collect();
        let (tokens_per_second, range) = median(&speeds);
        let mut row = ModelRow {
            test: test.name(),
            tokens_per_second,
            range,
            dispatches_per_layer: self.cost.dispatches_per_layer,
            passes_per_token: 1.0,
            activations: engine.activations().name().to_owned(),
            ..ModelRow::default()
        };
        if test.n_gen > 0 {
            row.bytes_per_token = self.bytes.at(engine.plan.kv_spec, test.depth + test.n_gen / 2);
            row.bound = (self.read > 0.0).then(|| self.read / row.bytes_per_token as f64);
            row.of_bound = row.bound.map(|b| tokens_per_second / b);
            row.host_s = Some(self.cost.host_s);
            // The same step, with the time that recording it anew adds.
            let extra = (self.cost.recorded_s - self.cost.replayed_s).max(0.0);
            row.without_recording = Some(1.0 / (1.0 / tokens_per_second + extra));
        }
        row
    }

    /// The same, beside llama-bench's fields.
    fn add(&self, engine: &Engine, test: &Test, seconds: &[f64], to: &mut serde_json::Map<String, Value>) {
        let r = self.row(engine, test, seconds);
        if test.n_gen > 0 {
            to.insert("bytes_per_token".into(), json!(r.bytes_per_token));
            to.insert("read_ceiling".into(), json!(self.read));
            to.insert("bound_ts".into(), json!(r.bound));
            to.insert("of_bound".into(), json!(r.of_bound));
            to.insert("host_us".into(), json!(r.host_s.map(|s| s * 1e6)));
            to.insert("without_recording_ts".into(), json!(r.without_recording));
        }
    }
}

/// The rows of a report: prefill of 512 and generation of 64 tokens, medians of five.
pub fn rows(name: &str, device: &DeviceArgs, known: Option<&Ceilings>) -> Result<Vec<ModelRow>> {
    let path = cache::resolve(name)?;
    let file = ModelFile::open(&path)?;
    let mut model = describe(&path.display().to_string(), &file);
    let bytes = BytesOf::new(&file)?;
    let tests = [Test { n_prompt: 512, n_gen: 0, depth: 0 }, Test { n_prompt: 0, n_gen: 64, depth: 0 }];
    let context = |s: &golay::model::ModelSpec| Some(s.context.min(514));
    let engine = pollster::block_on(open::load(file, device, &context))?;
    model.kind = format!("{} {}", engine.spec.arch, model.kind);
    let cancel = Cancel::default();
    let _guard = interrupt::guard(&cancel, 2);
    let bound = pollster::block_on(Bound::measure(&engine, bytes, 0, known))?;
    let mut out = Vec::new();
    for mut test in tests {
        // Models of a short context are measured as far as that goes.
        test.n_prompt = test.n_prompt.min(engine.plan.context.saturating_sub(2));
        test.n_gen = test.n_gen.min(engine.plan.context.saturating_sub(2));
        if test.tokens() == 0 {
            continue;
        }
        let seconds = pollster::block_on(measure(&engine, &test, 5, true, &cancel))?;
        let mut row = bound.row(&engine, &test, &seconds);
        row.model = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        row.kind.clone_from(&model.kind);
        out.push(row);
    }
    Ok(out)
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
                ))?;
                if let (Some(bound), Some(part)) = (row["bound_ts"].as_f64(), row["of_bound"].as_f64()) {
                    note(&format!(
                        "{}: {:.1} MB a token; bound {bound:.1} t/s by the read ceiling of {:.1} GB/s: {:.0} % reached; \
                         host {:.0} us a token; {:.2} t/s if every step were recorded anew",
                        word("test"),
                        row["bytes_per_token"].as_f64().unwrap_or(0.0) / 1e6,
                        row["read_ceiling"].as_f64().unwrap_or(0.0) / 1e9,
                        part * 100.0,
                        row["host_us"].as_f64().unwrap_or(0.0),
                        row["without_recording_ts"].as_f64().unwrap_or(0.0),
                    ));
                }
                Ok(())
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
