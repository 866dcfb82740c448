//! Which variants are used on an adapter: the preferred geometry, as long as it agrees with the f64 references, else the
//! next one that does.

use super::selftest::{self, Case, Depth, Outcome};
use super::{Activations, Gemm, Gemv, IntDot, Tuning};
use crate::gpu::error::{GpuError, Result};
use crate::gpu::{Gpu, Kernels};

/// A case and what it found.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The case.
    pub name: String,
    /// Kernel family.
    pub family: &'static str,
    /// Variant.
    pub variant: String,
    /// The result, or why there is none.
    pub outcome: std::result::Result<Outcome, String>,
}

impl Finding {
    /// True when the kernel ran and agreed.
    pub fn passed(&self) -> bool {
        self.outcome.as_ref().is_ok_and(|o| o.passed)
    }

    /// One line.
    pub fn line(&self) -> String {
        match &self.outcome {
            Ok(o) if o.passed => {
                format!("ok    {} (error {:.1e} of {:.0e} allowed)", self.name, o.max_rel_err, o.tolerance)
            }
            Ok(o) => format!("WRONG {}: {}", self.name, o.detail),
            Err(e) => format!("FAILS {}: {e}", self.name),
        }
    }
}

/// Runs cases one after the other. `progress` gets (done, all) and every finding.
///
/// # Errors
/// Loss of the device; anything less is a finding.
pub async fn run_all(
    gpu: &Gpu,
    kernels: &Kernels,
    cases: &[Case],
    progress: &mut dyn FnMut(usize, usize, &Finding),
) -> Result<Vec<Finding>> {
    let mut out = Vec::with_capacity(cases.len());
    for (i, case) in cases.iter().enumerate() {
        let label = format!("self test {}", case.name);
        let outcome = match kernels.guard().begin(&label) {
            Err(e) => Err(e.to_string()),
            Ok(()) => {
                let r = selftest::run(gpu, kernels, case).await;
                kernels.guard().end(&label);
                match r {
                    Err(e @ GpuError::Lost(_)) => return Err(e),
                    other => other.map_err(|e| e.to_string()),
                }
            }
        };
        let finding =
            Finding { name: case.name.clone(), family: case.family, variant: case.variant.clone(), outcome };
        progress(i + 1, cases.len(), &finding);
        out.push(finding);
    }
    Ok(out)
}

/// Tests what `wanted` would use and replaces the geometry of a family that disagrees by the next one, until all agree.
///
/// # Errors
/// [`GpuError::Disagrees`] when a family has no geometry left: a wrong answer is never given for want of a right one.
pub async fn choose(
    gpu: &Gpu,
    kernels: &Kernels,
    wanted: &Tuning,
    progress: &mut dyn FnMut(usize, usize, &Finding),
) -> Result<(Tuning, Vec<Finding>)> {
    let mut tuning = wanted.clone();
    let mut gemv = gemv_ladder(wanted.gemv);
    let mut gemm = gemm_ladder(wanted.gemm);
    let mut reductions = vec![!wanted.serial];
    let mut lanes = if wanted.decode_lanes + wanted.prefill_lanes > 0 { vec![0] } else { vec![] };
    let mut dots = match (wanted.activations, wanted.int_dot) {
        (Activations::F32, _) => vec![],
        (Activations::Int8, IntDot::Packed) => vec![IntDot::Pairs],
        (Activations::Int8, IntDot::Pairs) => vec![IntDot::Packed],
    };
    let mut all = Vec::new();
    loop {
        let cases = selftest::cases(&gpu.caps, &tuning, Depth::Quick);
        let found = run_all(gpu, kernels, &cases, progress).await?;
        let failed = found.iter().find(|f| !f.passed()).cloned();
        all.extend(found);
        let Some(f) = failed else { return Ok((tuning, all)) };
        log::warn!("{}", f.line());
        let next = match f.family {
            "gemv" if !dots.is_empty() => dots.pop().map(|d| tuning.int_dot = d),
            "gemv" => gemv.pop().map(|g| tuning.gemv = g),
            "gemm" => gemm.pop().map(|g| tuning.gemm = g),
            "attention" => lanes.pop().map(|l| (tuning.decode_lanes, tuning.prefill_lanes) = (l, l)),
            // The rest differ only in how a workgroup reduces.
            _ => reductions.pop().map(|s| tuning.serial = s),
        };
        if next.is_none() {
            return Err(GpuError::Disagrees {
                family: f.family.into(),
                adapter: gpu.info.name.clone(),
                detail: f.line(),
            });
        }
    }
}

/// What is tried after `first`, last entry first.
fn gemv_ladder(first: Gemv) -> Vec<Gemv> {
    let mut list = vec![
        Gemv { wg: 32, lanes: 1, rows: 2, subgroup: false },
        Gemv { wg: 64, lanes: 32, rows: 4, subgroup: false },
        Gemv { wg: 128, lanes: 32, rows: 4, subgroup: false },
    ];
    list.retain(|g| *g != first);
    list
}

fn gemm_ladder(first: Gemm) -> Vec<Gemm> {
    let mut list = vec![Gemm::Reg { wg: 32, cols: 4, subgroup: false }, Gemm::Tile];
    list.retain(|g| *g != first);
    list
}
