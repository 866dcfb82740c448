//! `golay devices`: what there is to compute on.

use crate::args::DevicesArgs;
use crate::error::{CliError, Result};
use crate::output;
use golay::gpu::adapter::{self, AdapterChoice};
use serde_json::{Value, json};

pub fn run(args: &DevicesArgs) -> Result<()> {
    let all = pollster::block_on(adapter::list());
    if args.json {
        output::pretty_json(&all.iter().map(describe).collect::<Vec<_>>())?;
    } else {
        output::result(&all.iter().map(line).collect::<String>())?;
    }
    if all.is_empty() { Err(CliError::failed(golay::gpu::GpuError::NoAdapter.to_string())) } else { Ok(()) }
}

/// An adapter as JSON.
pub fn describe(a: &AdapterChoice) -> Value {
    json!({
        "index": a.index,
        "name": a.info.name,
        "device_type": a.kind(),
        "backend": a.info.backend.to_string(),
        "driver": a.info.driver,
        "driver_info": a.info.driver_info,
        "pci": a.info.device_pci_bus_id,
        "score": a.score,
    })
}

/// An adapter as one line.
pub fn line(a: &AdapterChoice) -> String {
    let pci = &a.info.device_pci_bus_id;
    let pci = if pci.is_empty() { String::new() } else { format!(", pci {pci}") };
    format!("{}: {} ({}, {}{pci}, score {})\n", a.index, a.info.name, a.kind(), a.info.backend, a.score)
}
