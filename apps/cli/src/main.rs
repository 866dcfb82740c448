//! `golay`: run language models on any GPU, from the command line.
//!
//! Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.

mod args;
mod args_bench;
mod cache;
mod cmd;
mod error;
mod hub;
mod input;
mod interrupt;
mod open;
mod output;
mod sampler_args;
mod target;

use args::{Cli, Command, EvalCommand};
use clap::{CommandFactory, Parser};
use error::Result;
use std::process::ExitCode;

fn main() -> ExitCode {
    without_display();
    let cli = Cli::parse();
    output::start(cli.verbose, cli.quiet);
    interrupt::install();
    error::exit(run(cli))
}

/// Mesa's device-select layer asks the display server which GPU it uses, and complains on stderr, several times, where
/// there is none.
fn without_display() {
    let unset = |name: &str| std::env::var_os(name).is_none_or(|v| v.is_empty());
    if cfg!(target_os = "linux") && unset("XDG_RUNTIME_DIR") && unset("NODEVICE_SELECT") {
        // SAFETY: the first thing that main does; no other thread exists that could read the environment.
        unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
    }
}

fn run(cli: Cli) -> Result<()> {
    if cli.list_devices {
        return cmd::devices::run(&args::DevicesArgs { json: false });
    }
    match cli.command {
        None => {
            output::note(&Cli::command().render_help().to_string());
            Err(error::CliError::usage("a command is missing"))
        }
        Some(Command::Chat(a)) => cmd::chat::run(&a),
        Some(Command::Run(a)) => cmd::run::run(&a),
        Some(Command::Logits(a)) => cmd::logits::run(&a),
        Some(Command::Convert(a)) => cmd::convert::run(&a),
        Some(Command::Tokenize(a)) => cmd::tokenize::run(&a),
        Some(Command::Detokenize(a)) => cmd::detokenize::run(&a),
        Some(Command::Template(a)) => cmd::template::run(&a),
        Some(Command::Eval { command: EvalCommand::Ppl(a) }) => cmd::eval::run(&a),
        Some(Command::Inspect(a)) => cmd::inspect::run(&a),
        Some(Command::Pull(a)) => cmd::pull::run(&a),
        Some(Command::List(a)) => cmd::list::list(&a),
        Some(Command::Rm(a)) => cmd::list::rm(&a),
        Some(Command::Doctor(a)) => cmd::doctor::run(&a),
        Some(Command::Bench { command }) => cmd::bench::run(&command),
        Some(Command::Tune(a)) => cmd::tune::run(&a),
        Some(Command::Devices(a)) => cmd::devices::run(&a),
    }
}
