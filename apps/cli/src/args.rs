//! The command line: every command and flag, as clap derives it.

use crate::args_bench::{BenchCommand, TuneArgs};
use crate::sampler_args::SamplerArgs;
use clap::{Args, Parser, Subcommand, ValueEnum};
use golay::kernels::Activations;
use golay::kv::KvSpec;
use std::path::PathBuf;

/// Run language models on any GPU.
///
/// MODEL is a GGUF file, a Hugging Face folder, or the name of a model in the cache (see `golay list`).
#[derive(Debug, Parser)]
#[command(name = "golay", version, allow_negative_numbers = true, arg_required_else_help = true)]
#[command(after_help = "Examples:
  golay pull smollm2                         fetch a small model
  golay chat -m smollm2                      talk with it
  golay run -m smollm2 --chat -p \"Why is the sky blue?\"
  golay run -m model.gguf -p \"Once upon a time\" -n 64 --temp 0
  golay doctor                               test every kernel on this machine's GPU

Environment:
  GOLAY_MODELS   folder of the model cache
  GOLAY_DEVICE   which GPU: a number, a name or a PCI address (see `golay devices`)
  GOLAY_CAPS     `baseline` uses only what every WebGPU device has")]
pub struct Cli {
    /// Say more: unused tensors, what the driver says (twice for still more)
    #[arg(short, long, global = true, display_order = 900, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Say nothing but results and errors
    #[arg(short, long, global = true, display_order = 901, conflicts_with = "verbose")]
    pub quiet: bool,
    /// List the devices and leave
    #[arg(long, global = true, display_order = 902)]
    pub list_devices: bool,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Talk with a model
    Chat(ChatArgs),
    /// Answer one prompt
    Run(Box<RunArgs>),
    /// Write the logits of a text to a safetensors file
    Logits(LogitsArgs),
    /// Write a Hugging Face folder as a GGUF file
    Convert(ConvertArgs),
    /// Turn text into token ids
    Tokenize(TokenizeArgs),
    /// Turn token ids into text
    Detokenize(DetokenizeArgs),
    /// Render a conversation with the model's chat template
    Template(TemplateArgs),
    /// Measure how well a model predicts
    Eval {
        #[command(subcommand)]
        command: EvalCommand,
    },
    /// Show what a model file holds
    Inspect(InspectArgs),
    /// Fetch a model into the cache
    Pull(PullArgs),
    /// List the models in the cache
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Remove a model from the cache
    Rm(RmArgs),
    /// Test every kernel on this machine's device
    Doctor(DoctorArgs),
    /// Measure speed
    Bench {
        #[command(subcommand)]
        command: BenchCommand,
    },
    /// Find the fastest geometry for a model on this device, and remember it
    Tune(TuneArgs),
    /// List the devices
    Devices(DevicesArgs),
}

#[derive(Debug, Subcommand)]
pub enum EvalCommand {
    /// Perplexity of a text, in windows that each start at position 0
    Ppl(PplArgs),
}

/// Which model.
#[derive(Debug, Args)]
pub struct ModelArg {
    /// GGUF file, Hugging Face folder, or name of a model in the cache
    #[arg(short, long, value_name = "MODEL", required_unless_present = "list_devices", default_value = "")]
    #[arg(hide_default_value = true)]
    pub model: String,
}

/// Where it is computed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Device")]
pub struct DeviceArgs {
    /// Number, part of the name or PCI address of the device
    #[arg(long, value_name = "N|NAME|PCI", env = "GOLAY_DEVICE", hide_env_values = true)]
    pub device: Option<String>,
    /// How keys and values are stored: f32, f16, or aff:L (L = 3, 4, 5, 6, 8, 9, 16, 256 levels; keys/values as in
    /// aff:16/4) behind a window of 128 tokens [default: f32 where the cache is small, else f16]
    #[arg(long, value_name = "TYPE")]
    pub kv: Option<KvSpec>,
    /// Most memory that the model may take, such as 900M or 6G
    #[arg(long, value_name = "SIZE", value_parser = crate::input::parse_size)]
    pub memory_limit: Option<u64>,
    /// Inputs of products with quantised weights, one token at a time: f32, or rounded to 8 bits for integer products
    #[arg(long, value_name = "TYPE", value_enum, default_value = "f32")]
    pub activations: Inputs,
    /// Do not look for the fastest geometry when the device and the model's shapes are new (also GOLAY_TUNE=0)
    #[arg(long)]
    pub no_tune: bool,
}

/// `--activations`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Inputs {
    F32,
    Int8,
}

impl DeviceArgs {
    /// `--activations` as the engine takes it.
    pub fn activations(&self) -> Activations {
        match self.activations {
            Inputs::F32 => Activations::F32,
            Inputs::Int8 => Activations::Int8,
        }
    }
}

/// The longest context.
#[derive(Debug, Args)]
pub struct CtxArg {
    /// Longest context in tokens [default: the model's own]
    #[arg(short, long, visible_alias = "ctx", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub ctx_size: Option<u32>,
}

/// When and how an answer ends.
#[derive(Debug, Args)]
#[command(next_help_heading = "Answer")]
pub struct EndArgs {
    /// Most tokens to generate [default: until the model ends or the context is full]
    #[arg(short, long, value_name = "N")]
    pub n_predict: Option<u32>,
    /// Go on when the model wants to end
    #[arg(long)]
    pub ignore_eos: bool,
    /// End at this text, which is not shown (repeatable)
    #[arg(short = 'r', long, visible_alias = "reverse-prompt", value_name = "TEXT")]
    pub stop: Vec<String>,
    /// When the context is full, drop the oldest half and go on
    #[arg(long)]
    pub context_shift: bool,
    /// Tokens at the start that a context shift keeps
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub keep: u32,
    /// Show control tokens as text
    #[arg(long)]
    pub special: bool,
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub struct ChatArgs {
    #[command(flatten)]
    pub model: ModelArg,
    #[command(flatten)]
    pub ctx: CtxArg,
    /// The system message
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,
    /// Go on with a chat that /save wrote
    #[arg(long, value_name = "FILE")]
    pub load: Option<PathBuf>,
    #[command(flatten)]
    pub end: EndArgs,
    #[command(flatten)]
    pub sampler: SamplerArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub struct RunArgs {
    #[command(flatten)]
    pub model: ModelArg,
    #[command(flatten)]
    pub ctx: CtxArg,
    #[command(flatten)]
    pub source: TextSource,
    /// Token ids instead of text: 1,2,3
    #[arg(long, value_name = "IDS", value_parser = crate::input::parse_ids, conflicts_with_all = ["chat", "system"])]
    pub ids: Option<crate::input::Ids>,
    /// Put the prompt into the model's chat template
    #[arg(long)]
    pub chat: bool,
    /// The system message (with --chat)
    #[arg(long, value_name = "TEXT", requires = "chat")]
    pub system: Option<String>,
    /// Print one JSON object instead of the text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub end: EndArgs,
    #[command(flatten)]
    pub sampler: SamplerArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
}

/// Where a text comes from.
#[derive(Debug, Args)]
pub struct TextSource {
    /// The text
    #[arg(short, long, value_name = "TEXT", conflicts_with_all = ["file", "text"])]
    pub prompt: Option<String>,
    /// File with the text, `-` for standard input
    #[arg(short, long, value_name = "FILE", conflicts_with = "text")]
    pub file: Option<PathBuf>,
    /// The text, or `-` for standard input
    #[arg(value_name = "TEXT", conflicts_with = "prompt")]
    pub text: Option<String>,
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub struct LogitsArgs {
    #[command(flatten)]
    pub model: ModelArg,
    #[command(flatten)]
    pub ctx: CtxArg,
    #[command(flatten)]
    pub source: TextSource,
    /// Token ids instead of text: 1,2,3
    #[arg(long, value_name = "IDS", value_parser = crate::input::parse_ids)]
    pub ids: Option<crate::input::Ids>,
    /// Which positions: `all` or `last:N`
    #[arg(long, value_name = "WHICH", default_value = "all", value_parser = crate::input::parse_positions)]
    pub positions: crate::input::Positions,
    /// The file to write, `-` for standard output: `logits` f32 [positions, vocab] and `positions` i64
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub device: DeviceArgs,
}

#[derive(Debug, Args)]
pub struct ConvertArgs {
    #[command(flatten)]
    pub model: ModelArg,
    /// Quantise matrices to this type (f16, q8_0, q4_k, ...); default: as they are stored
    #[arg(long, value_name = "TYPE")]
    pub outtype: Option<String>,
    /// The file to write, `-` for standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub struct TokenizeArgs {
    #[command(flatten)]
    pub model: ModelArg,
    #[command(flatten)]
    pub source: TextSource,
    /// Read control tokens such as <|im_end|> in the text as control tokens
    #[arg(long)]
    pub special: bool,
    /// Add the tokens that the model expects round a text (BOS, EOS)
    #[arg(long, visible_alias = "bos")]
    pub add_special: bool,
    /// Print {"ids": [...]}
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub struct DetokenizeArgs {
    #[command(flatten)]
    pub model: ModelArg,
    /// Token ids: 1,2,3
    #[arg(long, value_name = "IDS", value_parser = crate::input::parse_ids)]
    pub ids: crate::input::Ids,
    /// Leave control tokens out
    #[arg(long)]
    pub skip_special: bool,
    /// Print {"text": ...}
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub struct TemplateArgs {
    #[command(flatten)]
    pub model: ModelArg,
    /// JSON: a list of messages, or {"messages": [...], "tools": [...]}; `-` for standard input
    #[arg(value_name = "MESSAGES.json")]
    pub messages: PathBuf,
    /// End where the assistant begins to speak
    #[arg(long)]
    pub add_generation_prompt: bool,
    /// Print {"rendered": ..., "ids": [...]}
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub struct PplArgs {
    #[command(flatten)]
    pub model: ModelArg,
    /// File with the text, `-` for standard input
    #[arg(short, long, value_name = "FILE")]
    pub file: PathBuf,
    /// Tokens per window [default: the model's context, at most 1024]
    #[arg(short = 'c', long, visible_alias = "ctx-size", value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(2..))]
    pub ctx: Option<u32>,
    /// Use only the first T tokens of the file
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u32).range(2..))]
    pub tokens: Option<u32>,
    /// Print {"ppl", "mean_nll", "tokens"}
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub device: DeviceArgs,
}

#[derive(Debug, Args)]
pub struct InspectArgs {
    /// GGUF or safetensors file, Hugging Face folder, or name of a model in the cache
    #[arg(value_name = "FILE")]
    pub file: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Print whole arrays
    #[arg(long)]
    pub full: bool,
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub struct PullArgs {
    /// `smollm2`, OWNER/REPO, OWNER/REPO:Q4_K_M, OWNER/REPO/FILE.gguf (each also with hf: before it), or a URL
    #[arg(value_name = "NAME|URL|hf:REPO[:QUANT]")]
    pub name: String,
    /// Fetch it even when the cache has it
    #[arg(long)]
    pub force: bool,
    /// The SHA-256 that a single file must have, where the server does not say
    #[arg(long, value_name = "HEX", value_parser = crate::input::parse_sha256)]
    pub sha256: Option<String>,
    /// Bytes asked for at a time
    #[arg(long, value_name = "BYTES", hide = true, default_value_t = 32 << 20)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub range: u64,
    /// Print {"path", "bytes", "sha256"} per file
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RmArgs {
    /// Names as `golay list` shows them
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub struct DoctorArgs {
    /// Test only the variants that the chosen geometry uses
    #[arg(long)]
    pub quick: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub device: DeviceArgs,
}

#[derive(Debug, Args)]
pub struct DevicesArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
