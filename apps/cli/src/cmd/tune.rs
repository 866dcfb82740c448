//! `golay tune`: finds the fastest geometry for a model on this device, and remembers it.

use crate::args_bench::TuneArgs;
use crate::cmd::bench::Shown;
use crate::error::{CliError, Result};
use crate::output::{self, Bar, note};
use crate::{cache, interrupt, open};
use golay::engine::{self, Cancel};
use golay::format::ModelFile;
use golay::gpu::Kernels;
use golay::kernels::Tuning;
use golay::model;
use serde_json::json;

pub fn run(args: &TuneArgs) -> Result<()> {
    let path = cache::resolve(&args.model.model)?;
    let file = ModelFile::open(&path)?;
    let spec = model::read(&file)?;
    let gpu = pollster::block_on(open::device(&args.device))?;
    let activations = args.device.activations();
    let shapes = engine::shape_key(&spec, file.tensors(), activations);
    if args.forget {
        engine::remember_tuned(&gpu, &shapes, None)?;
        note("forgotten: the default geometry is used from now on");
        return Ok(());
    }
    let default = Tuning { activations, ..Tuning::for_caps(&gpu.caps) };
    let kernels = Kernels::default();
    let cancel = Cancel::default();
    let guard = interrupt::guard(&cancel, 2);
    let mut shown = Shown { bar: Bar::new("tuning"), cancel: cancel.clone() };
    let loads = engine::tuning_loads(&spec, file.tensors(), args.device.kv.map(|kv| kv.plain), &default);
    let start = std::time::Instant::now();
    let tuned = golay::harness::tune::tune(&gpu, &kernels, &default, &loads, args.seconds, &mut shown);
    let tuned = pollster::block_on(tuned)?;
    drop((guard, shown));
    if cancel.is_cancelled() {
        return Err(CliError::interrupted("the geometry stays as it was"));
    }
    engine::remember_tuned(&gpu, &shapes, Some(&tuned.tuning))?;
    let took = start.elapsed().as_secs_f64();
    let rows: Vec<_> = tuned
        .choices
        .iter()
        .map(|c| {
            json!({"family": c.family, "candidates": c.candidates, "default": c.default.0,
                "default_us": c.default.1 * 1e6, "chosen": c.chosen.0, "chosen_us": c.chosen.1 * 1e6})
        })
        .collect();
    if args.json {
        return output::pretty_json(&json!({ "model": path, "shapes": shapes, "seconds": took,
            "choices": rows, "tuning": tuned.tuning }));
    }
    output::line(
        "| kernels | tried | default | us | chosen | us | gain |\n|---|---:|---|---:|---|---:|---:|",
    )?;
    for c in &tuned.choices {
        output::line(&format!(
            "| {} | {} | {} | {:.0} | {} | {:.0} | {:.2} |",
            c.family,
            c.candidates,
            c.default.0,
            c.default.1 * 1e6,
            c.chosen.0,
            c.chosen.1 * 1e6,
            c.default.1 / c.chosen.1
        ))?;
    }
    note(&format!(
        "tuned in {took:.0} s; remembered for this device, this driver and models of these shapes"
    ));
    Ok(())
}
