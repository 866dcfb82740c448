//! The arguments of `golay bench` and `golay tune`.

use crate::args::{DeviceArgs, ModelArg};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Prefill and decode speed of a model, in llama-bench's rows
    Model(BenchArgs),
    /// Speed of every kernel beside what this device could do at best; each is checked first
    Kernels(KernelsArgs),
    /// Everything about this device's speed in one file, to send or to compare
    Report(ReportArgs),
    /// Reports side by side: a table, and a page with plots
    Compare(CompareArgs),
    /// Write a model of random weights in the shape of a real one, to measure with
    Synth(SynthArgs),
}

/// `-o` of bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Table {
    Md,
    Csv,
    Json,
    Jsonl,
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub struct BenchArgs {
    #[command(flatten)]
    pub model: ModelArg,
    /// Prompt lengths to prefill (0 for none)
    #[arg(short = 'p', long, value_name = "N,...", value_delimiter = ',', default_value = "512")]
    pub n_prompt: Vec<u32>,
    /// Numbers of tokens to generate (0 for none)
    #[arg(short = 'n', long, value_name = "N,...", value_delimiter = ',', default_value = "128")]
    pub n_gen: Vec<u32>,
    /// Tokens already in the context
    #[arg(short = 'd', long, value_name = "N,...", value_delimiter = ',', default_value = "0")]
    pub n_depth: Vec<u32>,
    /// Repetitions
    #[arg(short, long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repetitions: u32,
    /// No run before the first that counts
    #[arg(long)]
    pub no_warmup: bool,
    /// Measure the device's read ceiling, the host's time and steps without a recording, too
    #[arg(long)]
    pub bound: bool,
    /// Show where the time of a token goes, kernel by kernel, at the first depth
    #[arg(long)]
    pub profile: bool,
    /// Format
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value = "md")]
    pub output: Table,
    #[command(flatten)]
    pub device: DeviceArgs,
}

/// Which kernels.
#[derive(Debug, Args)]
pub struct Which {
    /// Kernel families: gemv, gemm, attention, norm, select [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub family: Vec<String>,
    /// Weight formats, as q4_0 or f16 [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = crate::input::parse_format)]
    pub format: Vec<golay::format::TensorType>,
    /// Rows x columns of the weights [default: 4096x14336, and 2048x2048 for gemm]
    #[arg(long, value_name = "NxK,...", value_delimiter = ',', value_parser = crate::input::parse_shape)]
    pub shape: Vec<crate::input::Shape>,
    /// Tokens of a chunk, for gemm and attention [default: 64]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(2..=4096))]
    pub tokens: Vec<u32>,
    /// Every geometry, not only the default and the tuned one
    #[arg(long)]
    pub all: bool,
    /// Rounds; the first two do not count
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(3..=1000))]
    pub rounds: u32,
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub struct KernelsArgs {
    #[command(flatten)]
    pub which: Which,
    /// Format
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value = "md")]
    pub output: Table,
    #[command(flatten)]
    pub device: DeviceArgs,
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub struct ReportArgs {
    /// The file to write
    #[arg(short, long, value_name = "FILE.json")]
    pub output: PathBuf,
    /// Models to measure as a whole, too
    #[arg(short, long, value_name = "MODEL,...", value_delimiter = ',')]
    pub model: Vec<String>,
    #[command(flatten)]
    pub which: Which,
    #[command(flatten)]
    pub device: DeviceArgs,
}

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Reports
    #[arg(value_name = "FILE.json", required = true)]
    pub files: Vec<PathBuf>,
    /// Write the page here
    #[arg(long, value_name = "FILE.html")]
    pub html: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct SynthArgs {
    /// smollm2-135m, llama-3.2-1b, llama-3.2-3b or llama-3.1-8b
    #[arg(value_name = "SHAPE", value_parser = crate::input::parse_synth)]
    pub shape: golay::model::Synth,
    /// Format of the weights
    #[arg(short = 't', long, value_name = "TYPE", default_value = "q8_0", value_parser = crate::input::parse_format)]
    pub outtype: golay::format::TensorType,
    /// The file to write
    #[arg(short, long, value_name = "FILE.gguf")]
    pub output: PathBuf,
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub struct TuneArgs {
    #[command(flatten)]
    pub model: ModelArg,
    /// About how long it may take, seconds
    #[arg(long, value_name = "S", default_value_t = 50.0, value_parser = crate::input::parse_seconds)]
    pub seconds: f64,
    /// Forget what was found for this model's shapes on this device
    #[arg(long)]
    pub forget: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub device: DeviceArgs,
}
