//! stdout for results, stderr for everything else. Nothing here panics when the other end has gone away.

use crate::error::{CliError, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static QUIET: AtomicBool = AtomicBool::new(false);

/// Sets how much is said.
pub fn start(verbose: u8, quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
    static LOGGER: Logger = Logger;
    let level = match verbose {
        0 => log::LevelFilter::Error,
        1 => log::LevelFilter::Info,
        2 => log::LevelFilter::Debug,
        _ => log::LevelFilter::Trace,
    };
    if log::set_logger(&LOGGER).is_ok() {
        log::set_max_level(level);
    }
}

struct Logger;

impl log::Log for Logger {
    fn enabled(&self, m: &log::Metadata<'_>) -> bool {
        // wgpu's own chatter only for those who ask twice.
        m.target().starts_with("golay") || log::max_level() >= log::LevelFilter::Debug
    }

    fn log(&self, r: &log::Record<'_>) {
        if self.enabled(r.metadata()) {
            stderr_line(&format!("golay: {}: {}", r.level().as_str().to_lowercase(), r.args()));
        }
    }

    fn flush(&self) {}
}

/// Messages quote files, servers and templates: none of these may send control codes to a terminal or a log.
fn stderr_line(text: &str) {
    let lines: Vec<String> = text.split('\n').map(printable).collect();
    let _ = writeln!(std::io::stderr(), "{}", lines.join("\n"));
}

/// Whether `-q` was given.
pub fn quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// A line for people; not with `-q`.
pub fn note(text: &str) {
    if !quiet() {
        stderr_line(text);
    }
}

/// An error.
pub fn error(text: &str) {
    stderr_line(&format!("golay: {text}"));
}

/// Writes a result and flushes it.
pub fn result(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| match e.kind() {
        std::io::ErrorKind::BrokenPipe => CliError::Pipe,
        _ => CliError::Output(format!("standard output: {e}")),
    })
}

/// A piece of what a model says. On a terminal, control characters are replaced: a model must not be able to send it
/// escape sequences.
pub fn answer(piece: &str) -> Result<()> {
    let wild = |c: char| c.is_control() && c != '\n' && c != '\t';
    if piece.contains(wild) && std::io::stdout().is_terminal() {
        return result(&piece.replace(wild, "\u{fffd}"));
    }
    result(piece)
}

/// A result and a line break.
pub fn line(text: &str) -> Result<()> {
    result(&format!("{text}\n"))
}

/// A result as one line of JSON.
pub fn json(value: &impl serde::Serialize) -> Result<()> {
    line(&serde_json::to_string(value)?)
}

/// A result as JSON that people read.
pub fn pretty_json(value: &impl serde::Serialize) -> Result<()> {
    line(&serde_json::to_string_pretty(value)?)
}

/// A progress bar that is only there on a terminal.
pub struct Bar {
    bar: Option<ProgressBar>,
    label: &'static str,
}

impl Bar {
    /// A bar that counts things.
    pub fn new(label: &'static str) -> Self {
        Self { bar: None, label }.with("{msg:10} [{bar:30}] {pos}/{len}")
    }

    /// A bar that counts bytes.
    pub fn bytes(label: &'static str) -> Self {
        Self { bar: None, label }.with("{msg:10} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec} {eta}")
    }

    fn with(mut self, template: &str) -> Self {
        if !quiet() && std::io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.progress_chars("=> "));
            }
            self.bar = Some(bar);
        }
        self
    }

    /// Shows where things are; the bar goes away when they are done.
    pub fn set(&self, done: u64, all: u64) {
        let Some(bar) = &self.bar else { return };
        bar.set_length(all);
        bar.set_message(self.label);
        bar.set_position(done);
        if done >= all {
            bar.finish_and_clear();
        }
    }

    /// Changes what is said beside the bar.
    pub fn say(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(text.to_owned());
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Bytes for people.
pub fn human_bytes(n: u64) -> String {
    let n = n as f64;
    match n {
        n if n >= 1e9 * 1.073_741_824 => format!("{:.2} GiB", n / (1u64 << 30) as f64),
        n if n >= 1_048_576.0 => format!("{:.2} MiB", n / f64::from(1 << 20)),
        n if n >= 1024.0 => format!("{:.2} KiB", n / 1024.0),
        n => format!("{n} B"),
    }
}

/// A number of things for people: 134.52 M.
pub fn human_count(n: u64) -> String {
    match n {
        n if n >= 1_000_000_000 => format!("{:.2} B", n as f64 / 1e9),
        n if n >= 1_000_000 => format!("{:.2} M", n as f64 / 1e6),
        n if n >= 1000 => format!("{:.2} K", n as f64 / 1e3),
        n => n.to_string(),
    }
}

/// Text out of a file or from a server with its control characters, and those that turn the direction of writing, made
/// visible.
pub fn printable(text: &str) -> String {
    let wild = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if wild(c) { c.escape_default().to_string() } else { c.to_string() }).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn control_characters_are_shown() {
        assert_eq!(super::printable("a\x1b[2J\u{9b}b\u{202e}é"), "a\\u{1b}[2J\\u{9b}b\\u{202e}é");
    }
}
