//! Timing of kernels: checked first, then in interleaved rounds, so that a machine that slows down slows all alike.

use super::median;
use super::report::{Ceilings, Row};
use crate::gpu::error::{GpuError, Result};
use crate::gpu::timing::Timer;
use crate::gpu::{Gpu, Kernels, Recording};
use crate::kernels::Tuning;
use crate::kernels::selftest::{self, Arm, Prepared};

/// Seconds that a pass over the copies need not exceed.
const LONG_PASS: f64 = 0.15;

/// One row to measure.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Kernel and shape.
    pub arm: Arm,
    /// Geometry.
    pub tuning: Tuning,
    /// The adapter's default geometry.
    pub default: bool,
}

/// How to measure.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Rounds.
    pub rounds: usize,
    /// Of those, the first ones that do not count.
    pub discard: usize,
    /// What a kernel reads is copied until one pass goes through this many bytes, so that no cache holds it.
    pub rotate: u64,
    /// Bytes on the device at a time.
    pub memory: u64,
    /// Least seconds of a timed pass.
    pub pass_s: f64,
    /// Measure the control beside each product.
    pub control: bool,
}

impl Options {
    /// Seven rounds, two discarded.
    pub fn new(gpu: &Gpu) -> Self {
        let (rotate, memory) = if gpu.caps.cpu { (64 << 20, 768 << 20) } else { (512 << 20, 4 << 30) };
        Self { rounds: 7, discard: 2, rotate, memory, pass_s: 0.01, control: true }
    }
}

/// What the caller learns while rows are measured, and whether it wants to go on.
pub trait Progress {
    /// `done` of `all` rows are measured, and `now` is next.
    fn step(&mut self, now: &str, done: usize, all: usize);
    /// True to end after this round.
    fn cancelled(&self) -> bool {
        false
    }
}

/// A row that is ready to be timed.
struct Ready {
    at: usize,
    arm: Arm,
    recording: Recording,
    copies: u32,
    /// Dispatches of those copies.
    dispatches: usize,
    repeats: u32,
    seconds: Vec<f64>,
    control: Option<Box<Ready>>,
}

/// Measures rows, in their order.
///
/// # Errors
/// Loss of the device; anything less is a refused row.
pub async fn measure(
    gpu: &Gpu,
    kernels: &Kernels,
    wanted: &[Wanted],
    ceilings: &Ceilings,
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<Vec<Row>> {
    let timer = Timer::new(gpu);
    let mut rows: Vec<Row> = wanted.iter().map(|w| describe(w, gpu)).collect();
    let mut batch: Vec<Ready> = Vec::new();
    let mut held = 0;
    for (i, w) in wanted.iter().enumerate() {
        if progress.cancelled() {
            break;
        }
        progress.step(&format!("{} {} {}", rows[i].family, rows[i].format, rows[i].shape), i, wanted.len());
        let bytes = w.arm.bytes().max(1);
        let copies = options.rotate.div_ceil(bytes).clamp(1, 64) as u32;
        let takes = bytes * u64::from(copies);
        if held > 0 && held + takes > options.memory {
            time(gpu, &timer, &mut batch, options, progress).await?;
            finish(&mut batch, &mut rows, options);
            held = 0;
        }
        match ready(gpu, kernels, i, &w.arm, &w.tuning, copies).await? {
            Err(why) => rows[i].refused = Some(why),
            Ok((outcome, mut r)) => {
                rows[i].error = outcome;
                if let Some(c) = w.arm.control().filter(|_| options.control) {
                    r.control = ready(gpu, kernels, i, &c, &w.tuning, 1).await?.ok().map(|c| Box::new(c.1));
                }
                batch.push(r);
                held += takes;
            }
        }
    }
    time(gpu, &timer, &mut batch, options, progress).await?;
    finish(&mut batch, &mut rows, options);
    relate(&mut rows, ceilings);
    progress.step("", wanted.len(), wanted.len());
    Ok(rows)
}

/// Checks one arm and keeps its recording; the inner error says why it may not be timed.
async fn ready(
    gpu: &Gpu,
    kernels: &Kernels,
    at: usize,
    arm: &Arm,
    tuning: &Tuning,
    copies: u32,
) -> Result<std::result::Result<([f64; 2], Ready), String>> {
    let case = arm.case(tuning, gpu.caps.max_binding);
    let label = format!("bench {}", case.name);
    if let Err(e) = kernels.guard().begin(&label) {
        return Ok(Err(e.to_string()));
    }
    let result = selftest::prepare(gpu, kernels, &case, copies).await;
    kernels.guard().end(&label);
    match result {
        Err(e @ GpuError::Lost(_)) => Err(e),
        Err(e) => Ok(Err(e.to_string())),
        Ok(p) if !p.outcome.passed => Ok(Err(format!("disagrees with its reference: {}", p.outcome.detail))),
        // A time of nothing would look like a fast kernel.
        Ok(p) if p.copies == 0 || p.recording.list.len() < p.copies as usize => {
            Ok(Err("nothing was recorded that could be timed".to_owned()))
        }
        Ok(Prepared { outcome: o, recording, copies }) => {
            let r = Ready {
                at,
                arm: arm.clone(),
                recording,
                copies,
                dispatches: 0,
                repeats: 0,
                seconds: vec![],
                control: None,
            };
            Ok(Ok(([o.max_rel_err, o.tolerance], r)))
        }
    }
}

/// All rounds of a batch.
async fn time(
    gpu: &Gpu,
    timer: &Timer,
    batch: &mut [Ready],
    options: &Options,
    progress: &dyn Progress,
) -> Result<()> {
    for _ in 0..options.rounds {
        if progress.cancelled() {
            return Ok(());
        }
        for r in batch.iter_mut() {
            once(gpu, timer, r, options).await?;
            if let Some(c) = &mut r.control {
                once(gpu, timer, c, options).await?;
            }
        }
    }
    Ok(())
}

async fn once(gpu: &Gpu, timer: &Timer, r: &mut Ready, options: &Options) -> Result<()> {
    let tokens = match r.arm {
        Arm::Product { tokens, .. } | Arm::Attention { tokens, .. } | Arm::Norm { tokens, .. } => tokens,
        Arm::Argmax { .. } => 1,
    };
    let per_copy = r.recording.list.len() / r.copies.max(1) as usize;
    if r.repeats == 0 {
        let first = timer.run(gpu, &r.recording, tokens, 1, &|i| i < per_copy).await?.seconds().max(1e-7);
        // A kernel that is slow on little is not waiting for memory: a few copies are enough then.
        r.copies = r.copies.min((LONG_PASS / first).ceil().max(1.0) as u32);
        let pass = first * f64::from(r.copies);
        r.repeats = (options.pass_s / pass).ceil().clamp(1.0, 200.0) as u32;
        r.dispatches = per_copy * r.copies as usize;
    }
    let t = timer.run(gpu, &r.recording, tokens, r.repeats, &|i| i < r.dispatches).await?.seconds();
    r.seconds.push(t / f64::from(r.repeats) / f64::from(r.copies));
    Ok(())
}

/// A row without its times.
fn describe(w: &Wanted, gpu: &Gpu) -> Row {
    Row {
        family: w.arm.family().to_owned(),
        format: w.arm.format(),
        shape: w.arm.shape(),
        variant: w.arm.variant(&w.tuning),
        default: w.default && w.arm.variant(&w.tuning) == w.arm.variant(&Tuning::for_caps(&gpu.caps)),
        items: w.arm.items(),
        bytes: w.arm.bytes(),
        bits: w.arm.bits(),
        int_ops: w.arm.int_ops(),
        ..Row::default()
    }
}

/// Turns the seconds of a batch into rows and drops its buffers.
fn finish(batch: &mut Vec<Ready>, rows: &mut [Row], options: &Options) {
    for r in batch.drain(..) {
        let Some(row) = rows.get_mut(r.at) else { continue };
        let counted = r.seconds.get(options.discard.min(r.seconds.len().saturating_sub(1))..).unwrap_or(&[]);
        (row.seconds, row.range) = median(counted);
        if row.seconds <= 0.0 {
            row.refused = Some("not measured: interrupted".to_owned());
            continue;
        }
        row.bytes_per_second = row.bytes as f64 / row.seconds;
        row.of_control = r.control.and_then(|c| {
            let counted = c.seconds.get(options.discard.min(c.seconds.len().saturating_sub(1))..)?;
            let (t, _) = median(counted);
            (t > 0.0).then(|| row.seconds / t)
        });
    }
}

/// The figures that need other rows or the ceilings.
fn relate(rows: &mut [Row], ceilings: &Ceilings) {
    let f16: Vec<Row> = rows.iter().filter(|r| r.format == "f16" && r.refused.is_none()).cloned().collect();
    for r in rows.iter_mut().filter(|r| r.refused.is_none()) {
        if ceilings.read.per_second > 0.0 {
            r.of_read = r.bytes_per_second / ceilings.read.per_second;
        }
        let arm = f16.iter().find(|o| o.family == r.family && o.shape == r.shape && o.variant == r.variant);
        r.of_f16 = arm.filter(|o| o.seconds > 0.0).map(|o| o.seconds / r.seconds);
    }
}
