//! The tuner: which geometry is fastest on this adapter for the shapes of one model.
//!
//! One kernel family after the other; every candidate is checked against the f64 twins first, then all run in
//! interleaved rounds. A candidate replaces the default only when it beats it by more than the noise of both.

use super::geometries;
use super::kernels::{Options, Progress, Wanted, measure};
use super::report::{Ceilings, Row};
use crate::gpu::error::Result;
use crate::gpu::{Gpu, Kernels};
use crate::kernels::Tuning;
use crate::kernels::selftest::Arm;
use web_time::Instant;

/// A candidate must be this much faster than the default.
const GAIN: f64 = 0.04;

/// What was found for one kernel family.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The family.
    pub family: &'static str,
    /// The default's geometry and seconds, summed over the shapes.
    pub default: (String, f64),
    /// The choice's.
    pub chosen: (String, f64),
    /// Candidates that were timed.
    pub candidates: usize,
}

/// The result of tuning.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// The geometry to use.
    pub tuning: Tuning,
    /// How it came about.
    pub choices: Vec<Choice>,
    /// Every row that was measured.
    pub rows: Vec<Row>,
}

/// One kind of kernel call of a model: what it does and how often a token (or a chunk) does it.
#[derive(Clone, Debug)]
pub struct Load {
    /// Kernel and shape.
    pub arm: Arm,
    /// Calls.
    pub count: f64,
}

/// Finds the geometry for `loads`, spending about `seconds` at most; families come in the order in which they first
/// appear, and what there was no time for keeps its default.
///
/// # Errors
/// Loss of the device.
pub async fn tune(
    gpu: &Gpu,
    kernels: &Kernels,
    base: &Tuning,
    loads: &[Load],
    seconds: f64,
    progress: &mut dyn Progress,
) -> Result<Tuned> {
    let start = Instant::now();
    let mut out = Tuned { tuning: base.clone(), choices: Vec::new(), rows: Vec::new() };
    let mut kinds: Vec<Vec<Load>> = Vec::new();
    for l in loads {
        match kinds.iter_mut().find(|k| same_knob(&k[0].arm, &l.arm)) {
            Some(k) => k.push(l.clone()),
            None => kinds.push(vec![l.clone()]),
        }
    }
    let all = kinds.len();
    for (i, mut kind) in kinds.into_iter().enumerate() {
        // The calls that take most of the time decide; the rest would only slow the tuner down.
        kind.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        kind.truncate(3);
        let left = seconds - start.elapsed().as_secs_f64();
        if left <= 0.0 || progress.cancelled() {
            break;
        }
        let mut candidates = geometries::of(&kind[0].arm, &out.tuning, &gpu.caps);
        let share = left / (all - i) as f64;
        one(gpu, kernels, &kind, &mut candidates, share, progress, &mut out).await?;
    }
    Ok(out)
}

fn weight(l: &Load) -> f64 {
    l.count * l.arm.items() as f64
}

fn same_knob(a: &Arm, b: &Arm) -> bool {
    let chunk = |x: &Arm| matches!(x, Arm::Attention { tokens, .. } if *tokens > 1);
    a.family() == b.family() && chunk(a) == chunk(b)
}

/// Tunes one family: a first look at all candidates on the heaviest shape, then the best few on all shapes.
async fn one(
    gpu: &Gpu,
    kernels: &Kernels,
    loads: &[Load],
    candidates: &mut Vec<Tuning>,
    seconds: f64,
    progress: &mut dyn Progress,
    out: &mut Tuned,
) -> Result<()> {
    let start = Instant::now();
    let options =
        Options { rounds: 2, discard: 1, rotate: 1, control: false, pass_s: 0.002, ..Options::new(gpu) };
    let default = candidates[0].clone();
    let mut looked: Vec<(Tuning, f64)> = Vec::new();
    for t in candidates.drain(..) {
        if looked.len() > 1 && (start.elapsed().as_secs_f64() > seconds * 0.6 || progress.cancelled()) {
            break;
        }
        let w = [Wanted { arm: loads[0].arm.clone(), tuning: t.clone(), default: t == default }];
        let rows = measure(gpu, kernels, &w, &Ceilings::default(), &options, progress).await?;
        if let Some(r) = rows.first().filter(|r| r.refused.is_none()) {
            looked.push((t, r.seconds));
        }
        out.rows.extend(rows);
    }
    let timed = looked.len();
    looked.sort_by(|a, b| a.1.total_cmp(&b.1));
    looked.truncate(4);
    if !looked.iter().any(|l| l.0 == default) {
        looked.push((default.clone(), 0.0));
    }
    // The finals: all shapes, more rounds.
    let options = Options { rounds: 5, discard: 1, rotate: 32 << 20, pass_s: 0.004, ..options };
    let mut wanted = Vec::new();
    for (t, _) in &looked {
        for l in loads {
            wanted.push(Wanted { arm: l.arm.clone(), tuning: t.clone(), default: *t == default });
        }
    }
    let rows = measure(gpu, kernels, &wanted, &Ceilings::default(), &options, progress).await?;
    // Seconds over all shapes, by the medians and by the slowest rounds.
    let mut sums: Vec<(usize, f64, f64)> = Vec::new();
    for (i, chunk) in rows.chunks(loads.len()).enumerate() {
        if chunk.iter().all(|r| r.refused.is_none()) {
            let sum = |f: &dyn Fn(&Row) -> f64| chunk.iter().zip(loads).map(|(r, l)| f(r) * l.count).sum();
            sums.push((i, sum(&|r| r.seconds), sum(&|r| r.range[0])));
        }
    }
    let of_default = sums.iter().find(|s| looked[s.0].0 == default).copied();
    let best = sums.iter().min_by(|a, b| a.1.total_cmp(&b.1)).copied();
    if let Some(best) = best {
        let arm = &loads[0].arm;
        // Faster by its median, and not only because the default had a bad moment.
        let wins =
            of_default.is_none_or(|d| best.1 < d.1 * (1.0 - GAIN) && best.2 < d.2 * (1.0 - GAIN / 2.0));
        let chosen = if wins { best } else { of_default.unwrap_or(best) };
        out.choices.push(Choice {
            family: arm.family(),
            default: (arm.variant(&default), of_default.map_or(f64::INFINITY, |d| d.1)),
            chosen: (arm.variant(&looked[chosen.0].0), chosen.1),
            candidates: timed,
        });
        out.tuning = looked[chosen.0].0.clone();
    }
    out.rows.extend(rows);
    Ok(())
}
