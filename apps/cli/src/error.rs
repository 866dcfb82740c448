//! What ends a command, and what the shell is told.

use golay::engine::EngineError;
use std::error::Error;
use std::io;
use std::process::ExitCode;

/// Why a command ended early.
#[derive(Debug)]
pub enum CliError {
    /// The command line asks for something that cannot be: exit code 2.
    Usage(String),
    /// It went wrong: exit code 1.
    Failed(String),
    /// It went wrong and that has been said: exit code 1.
    Said,
    /// Results cannot be written: exit code 1, whatever else there is to do.
    Output(String),
    /// Ctrl-C: exit code 130, as of a program that the signal ended.
    Interrupted(String),
    /// Nobody reads stdout any more: a quiet end.
    Pipe,
}

/// Shorthand.
pub type Result<T> = std::result::Result<T, CliError>;

impl CliError {
    pub fn usage(text: impl Into<String>) -> Self {
        Self::Usage(text.into())
    }

    pub fn failed(text: impl Into<String>) -> Self {
        Self::Failed(text.into())
    }

    /// Interrupted, with what that means for the result.
    pub fn interrupted(text: &str) -> Self {
        Self::Interrupted(if text.is_empty() { "interrupted".into() } else { format!("interrupted: {text}") })
    }

    /// What is to be said, if anything.
    pub fn text(&self) -> &str {
        match self {
            Self::Usage(t) | Self::Failed(t) | Self::Output(t) | Self::Interrupted(t) => t,
            Self::Said | Self::Pipe => "",
        }
    }
}

// Not an `Error` itself, so that every error of the library turns into it with `?`.
impl<E: Error + 'static> From<E> for CliError {
    fn from(e: E) -> Self {
        let any: &(dyn Error + 'static) = &e;
        if matches!(any.downcast_ref(), Some(EngineError::Cancelled)) {
            return Self::interrupted("");
        }
        match any.downcast_ref::<io::Error>() {
            Some(io) if io.kind() == io::ErrorKind::BrokenPipe => Self::Pipe,
            _ => Self::Failed(chain(&e)),
        }
    }
}

/// An error and its causes on one line; a cause whose words are there already is not said twice.
pub fn chain(e: &dyn Error) -> String {
    let mut text = e.to_string();
    let mut at = e.source();
    while let Some(cause) = at {
        let words = cause.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        at = cause.source();
    }
    text.replace('\n', " ")
}

/// A failure with the file it concerns in front.
pub fn at<E: Error + 'static>(path: &std::path::Path) -> impl FnOnce(E) -> CliError + '_ {
    move |e| CliError::Failed(format!("{}: {}", path.display(), chain(&e)))
}

/// Says what went wrong and gives the exit code.
pub fn exit(result: Result<()>) -> ExitCode {
    let Err(e) = result else { return ExitCode::SUCCESS };
    if !e.text().is_empty() {
        crate::output::error(e.text());
    }
    match e {
        CliError::Pipe => ExitCode::SUCCESS,
        CliError::Usage(_) => ExitCode::from(2),
        CliError::Failed(_) | CliError::Output(_) | CliError::Said => ExitCode::FAILURE,
        CliError::Interrupted(_) => ExitCode::from(crate::interrupt::CODE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("file x: inner")]
    struct Outer(#[source] io::Error);

    #[test]
    fn causes_are_said_once_and_a_pipe_is_quiet() {
        assert_eq!(chain(&Outer(io::Error::other("inner"))), "file x: inner");
        assert_eq!(chain(&Outer(io::Error::other("why"))), "file x: inner: why");
        assert!(matches!(CliError::from(io::Error::from(io::ErrorKind::BrokenPipe)), CliError::Pipe));
        assert!(matches!(CliError::from(EngineError::Cancelled), CliError::Interrupted(_)));
    }
}
