//! The self test of the kernels: every variant on small random shapes against its f64 twin ([`super::reference`]).
//!
//! `golay doctor`, the first load on a new adapter, `cargo test` and the browser page all run this list. Outputs are
//! filled with NaN before a run and followed by guard words; inputs are followed by NaN, so that a read or a write
//! past an end shows. Same list, same numbers, on every machine.

mod arms;
mod bench;
mod case_attention;
mod case_matmul;
mod case_seal;
mod case_select;
mod case_simple;
mod list;
mod pages;

pub use arms::Arm;
pub use list::cases;

use super::Tuning;
use crate::gpu::error::Result;
use crate::gpu::{Gpu, KernelKey, Kernels, Recording};
use bench::Bench;

/// How much to test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// What the present tuning uses, one or two shapes each: seconds.
    Quick,
    /// Every variant that the adapter can run: a minute or two on a software adapter.
    Full,
}

/// One test.
#[derive(Clone, Debug)]
pub struct Case {
    /// Everything about it in one line.
    pub name: String,
    /// Kernel family: `gemv`, `gemm`, `embed`, `norm`, `attention`, `select`.
    pub family: &'static str,
    /// The kernel variant: format, geometry, switches.
    pub variant: String,
    /// The geometry it runs with.
    pub tuning: Tuning,
    work: Work,
    seed: u64,
}

#[derive(Clone, Debug)]
enum Work {
    Matmul(case_matmul::Spec),
    Attention(case_attention::Spec),
    Seal(case_seal::Spec),
    Simple(case_simple::Spec),
    Select(case_select::Spec),
}

/// What a case found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The largest error, as a fraction of the size of the terms that were summed; infinite for a value that is not
    /// a number, was not written, or lies where nothing may be written.
    pub max_rel_err: f64,
    /// The largest error allowed.
    pub tolerance: f64,
    /// Within tolerance, and nothing else touched.
    pub passed: bool,
    /// Time of the dispatches and the read-back, milliseconds.
    pub millis: f64,
    /// Where the largest error lies, or what was touched.
    pub detail: String,
}

/// Runs one case.
///
/// # Errors
/// Errors of the device or of a shader; a wrong result is an [`Outcome`], not an error.
pub async fn run(gpu: &Gpu, kernels: &Kernels, case: &Case) -> Result<Outcome> {
    let mut bench = Bench::new(gpu, kernels, &case.tuning, case.seed, false);
    dispatch(&mut bench, case).await?;
    gpu.check()?;
    Ok(bench.outcome())
}

/// A case that ran and can be timed.
#[derive(Debug)]
pub struct Prepared {
    /// How the first run compares.
    pub outcome: Outcome,
    /// The dispatches of all copies, one copy after the other.
    pub recording: Recording,
    /// Copies in it: one where a case does not copy what it reads.
    pub copies: u32,
}

/// Runs a case and keeps what was recorded. Products come with up to `copies` copies of their weights.
///
/// # Errors
/// As [`run`].
pub async fn prepare(gpu: &Gpu, kernels: &Kernels, case: &Case, copies: u32) -> Result<Prepared> {
    let mut bench = Bench::new(gpu, kernels, &case.tuning, case.seed, false);
    bench.copies = copies.max(1);
    dispatch(&mut bench, case).await?;
    gpu.check()?;
    Ok(Prepared { outcome: bench.outcome(), copies: bench.kept_copies, recording: bench.kept })
}

/// The kernels that a case needs, so that they can be compiled together beforehand.
///
/// # Errors
/// Errors of the device.
pub async fn keys(gpu: &Gpu, kernels: &Kernels, case: &Case) -> Result<Vec<KernelKey>> {
    let mut bench = Bench::new(gpu, kernels, &case.tuning, case.seed, true);
    dispatch(&mut bench, case).await?;
    Ok(bench.keys)
}

async fn dispatch(bench: &mut Bench<'_>, case: &Case) -> Result<()> {
    match &case.work {
        Work::Matmul(s) => case_matmul::run(bench, s).await,
        Work::Attention(s) => case_attention::run(bench, s).await,
        Work::Seal(s) => case_seal::run(bench, s).await,
        Work::Simple(s) => case_simple::run(bench, s).await,
        Work::Select(s) => case_select::run(bench, s).await,
    }
}
