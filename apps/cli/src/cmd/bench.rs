//! `golay bench`: how fast models and kernels are on this device.

mod compare;
mod kernels;
mod model;
mod report;
mod synth;

pub use kernels::Shown;

use crate::args_bench::BenchCommand;
use crate::error::Result;

pub fn run(command: &BenchCommand) -> Result<()> {
    match command {
        BenchCommand::Model(a) => model::run(a),
        BenchCommand::Kernels(a) => kernels::run(a),
        BenchCommand::Report(a) => report::run(a),
        BenchCommand::Compare(a) => compare::run(a),
        BenchCommand::Synth(a) => synth::run(a),
    }
}
