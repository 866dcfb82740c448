//! `golay doctor`: what this machine's device offers, what golay chose for it, and whether every kernel is right.

use crate::args::DoctorArgs;
use crate::cmd::devices;
use crate::error::{CliError, Result};
use crate::output::{self, Bar, note};
use crate::{interrupt, open};
use golay::engine::Cancel;
use golay::gpu::{Caps, Gpu, Kernels, adapter};
use golay::kernels::Tuning;
use golay::kernels::selftest::{self, Case, Depth, Outcome};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Kernels that are compiled together.
const STEP: usize = 16;

/// One case and what came of it; `Err` when it could not be run.
struct Tested {
    case: Case,
    outcome: std::result::Result<Outcome, String>,
}

impl Tested {
    fn passed(&self) -> bool {
        self.outcome.as_ref().is_ok_and(|o| o.passed)
    }
}

pub fn run(args: &DoctorArgs) -> Result<()> {
    let all = pollster::block_on(adapter::list());
    if !args.json {
        output::line(&format!("golay {}\n\ndevices", env!("CARGO_PKG_VERSION")))?;
        output::result(&all.iter().map(|a| format!("  {}", devices::line(a))).collect::<String>())?;
    }
    let gpu = pollster::block_on(open::device(&args.device))?;
    // What models use here: found by tuning, or the default.
    let tuning = golay::engine::any_tuned(&gpu).unwrap_or_else(|| Tuning::for_caps(&gpu.caps));
    if !args.json {
        output::line(&format!(
            "\nchosen: {} ({}, {})",
            gpu.info.name, gpu.info.backend, gpu.info.driver_info
        ))?;
        let lines = |v: &Value| {
            let o = v.as_object().into_iter().flatten();
            o.map(|(k, v)| format!("  {k:20} {}\n", v.as_str().map_or_else(|| v.to_string(), str::to_owned)))
                .collect::<String>()
        };
        output::result(&lines(&caps(&gpu.caps)))?;
        output::line("\ngeometry")?;
        output::result(&lines(&geometry(&tuning)))?;
    }
    let depth = if args.quick { Depth::Quick } else { Depth::Full };
    let cancel = Cancel::default();
    let guard = interrupt::guard(&cancel, 2);
    let tested = pollster::block_on(test(&gpu, &tuning, depth, &cancel))?;
    drop(guard);
    let wrong: Vec<&Tested> = tested.iter().filter(|t| !t.passed()).collect();
    if args.json {
        output::pretty_json(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "adapters": all.iter().map(devices::describe).collect::<Vec<_>>(),
            "chosen": { "name": gpu.info.name, "device_type": adapter::kind(gpu.info.device_type),
                "backend": gpu.info.backend.to_string(), "driver": gpu.info.driver_info },
            "caps": caps(&gpu.caps),
            "geometry": geometry(&tuning),
            "tests": tested.iter().map(describe).collect::<Vec<_>>(),
            "interrupted": cancel.is_cancelled(),
            "passed": tested.len() - wrong.len(),
            "failed": wrong.len(),
        }))?;
    } else {
        output::line(&format!(
            "\nkernels ({} tests{})",
            tested.len(),
            if cancel.is_cancelled() { ", interrupted" } else { "" }
        ))?;
        output::result(&summary(&tested))?;
        for t in &wrong {
            output::line(&match &t.outcome {
                Ok(o) => format!(
                    "  WRONG  {}: error {:.2e}, at most {:.2e}: {}",
                    t.case.name, o.max_rel_err, o.tolerance, o.detail
                ),
                Err(e) => format!("  FAILED {}: {e}", t.case.name),
            })?;
        }
        if wrong.is_empty() && !cancel.is_cancelled() {
            output::line("\nall kernels agree with their references")?;
        }
    }
    if cancel.is_cancelled() {
        return Err(CliError::interrupted("not every test was run"));
    }
    match wrong.len() {
        0 => Ok(()),
        n => Err(CliError::failed(format!(
            "{n} of {} kernel tests disagree with their references",
            tested.len()
        ))),
    }
}

async fn test(gpu: &Gpu, tuning: &Tuning, depth: Depth, cancel: &Cancel) -> Result<Vec<Tested>> {
    let kernels = Kernels::default();
    let cases = selftest::cases(&gpu.caps, tuning, depth);
    note(&format!("testing {} kernel variants and shapes ...", cases.len()));
    let mut keys = Vec::new();
    for case in &cases {
        if cancel.is_cancelled() {
            return Ok(Vec::new());
        }
        keys.extend(selftest::keys(gpu, &kernels, case).await?);
    }
    keys.sort();
    keys.dedup();
    let compiling = Bar::new("compiling");
    // In steps, so that Ctrl-C need not wait for all of them.
    for (i, some) in keys.chunks(STEP).enumerate() {
        if cancel.is_cancelled() {
            return Ok(Vec::new());
        }
        // A kernel that does not compile fails again, and is named, in its own case.
        if let Err(e) = kernels.prepare(gpu, some, &|_, _| {}) {
            log::info!("{e}");
        }
        compiling.set((i * STEP + some.len()) as u64, keys.len() as u64);
    }
    drop(compiling);
    let bar = Bar::new("testing");
    let mut tested = Vec::new();
    let all = cases.len() as u64;
    for (i, case) in cases.into_iter().enumerate() {
        if cancel.is_cancelled() {
            break;
        }
        let outcome = selftest::run(gpu, &kernels, &case).await.map_err(|e| crate::error::chain(&e));
        tested.push(Tested { case, outcome });
        bar.set(i as u64 + 1, all);
        if gpu.is_lost() {
            break;
        }
    }
    Ok(tested)
}

/// One line per variant.
fn summary(tested: &[Tested]) -> String {
    let mut by_variant = BTreeMap::<(&str, &str), (usize, usize, f64)>::new();
    for t in tested {
        let e = by_variant.entry((t.case.family, &t.case.variant)).or_default();
        e.0 += 1;
        e.1 += usize::from(t.passed());
        if let Ok(o) = &t.outcome {
            e.2 = e.2.max(o.max_rel_err / o.tolerance.max(f64::MIN_POSITIVE));
        }
    }
    let line = |((family, variant), (all, passed, worst)): (&(&str, &str), &(usize, usize, f64))| {
        let word = if all == passed { "ok   " } else { "WRONG" };
        format!(
            "  {word} {family:10} {variant}  {passed}/{all}, error at most {:.0} % of what is allowed\n",
            worst * 100.0
        )
    };
    by_variant.iter().map(line).collect()
}

fn describe(t: &Tested) -> Value {
    let base = json!({ "name": t.case.name, "family": t.case.family, "variant": t.case.variant, "passed": t.passed() });
    let more = match &t.outcome {
        // JSON has no infinity: an error that is none is null.
        Ok(o) => {
            json!({ "max_rel_err": o.max_rel_err, "tolerance": o.tolerance, "ms": o.millis, "detail": o.detail })
        }
        Err(e) => json!({ "error": e }),
    };
    let pairs = [base, more].into_iter().filter_map(|v| v.as_object().cloned()).flatten();
    Value::Object(pairs.collect())
}

fn caps(c: &Caps) -> Value {
    json!({
        "shader-f16": c.f16,
        "subgroups": c.subgroups,
        "subgroup size": c.subgroup_size,
        "timestamps": c.timestamps,
        "pipeline cache": c.pipeline_cache,
        "software": c.cpu,
        "largest binding": c.max_binding,
        "largest buffer": c.max_buffer,
        "storage buffers": c.max_storage_buffers,
        "workgroup memory": c.max_workgroup_bytes,
        "invocations": c.max_invocations,
        "workgroups": c.max_groups,
        "alignment": c.align,
    })
}

fn geometry(t: &Tuning) -> Value {
    json!({
        "gemv": format!("{:?}", t.gemv),
        "gemm": format!("{:?}", t.gemm),
        "serial reduction": t.serial,
        "norm": t.norm_wg,
        "attention groups": t.attention_groups,
        "attention rows": t.attention_rows,
        "decode lanes": t.decode_lanes,
        "prefill lanes": t.prefill_lanes,
        "prefill chunk": t.chunk,
        "argmax groups": t.argmax_groups,
    })
}
