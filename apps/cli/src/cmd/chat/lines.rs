//! Where a chat's lines come from: an editor on a terminal, plain lines elsewhere. `"""` begins and ends a message of
//! several lines.

use crate::error::Result;
use rustyline::error::ReadlineError;
use std::io::{BufRead, IsTerminal};

/// The mark round a message of several lines.
const QUOTES: &str = "\"\"\"";
/// Most bytes of one message.
const LIMIT: usize = 64 << 20;

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub enum Input {
    /// A line.
    Text(String),
    /// What stood between two marks: a message, whatever it begins with.
    Long(String),
    /// Ctrl-C at the prompt.
    Interrupted,
    /// Ctrl-D, or the end of the pipe.
    End,
}

/// The source of lines.
pub enum Lines {
    /// An editor, with the lines so far.
    Editor(Vec<String>),
    /// Plain lines.
    Plain,
}

impl Lines {
    /// An editor when both ends are a terminal (it writes to stdout), plain lines otherwise.
    pub fn new() -> Self {
        if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
            Self::Editor(Vec::new())
        } else {
            Self::Plain
        }
    }

    /// Whether a person is typing.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Editor(_))
    }

    /// The next message or command.
    pub fn next(&mut self) -> Result<Input> {
        let text = match self.line(">>> ")? {
            Input::Text(t) => t,
            other => return Ok(other),
        };
        let Some(first) = text.trim_start().strip_prefix(QUOTES) else { return Ok(Input::Text(text)) };
        let mut all = String::new();
        let mut part = first.to_owned();
        loop {
            if let Some(end) = part.trim_end().strip_suffix(QUOTES) {
                all.push_str(end);
                break;
            }
            all.push_str(&part);
            all.push('\n');
            if all.len() > LIMIT {
                return Err(crate::error::CliError::failed(format!("a message of more than {LIMIT} bytes")));
            }
            match self.line("... ")? {
                Input::Text(t) => part = t,
                // What was typed so far is dropped, as in a shell.
                Input::Interrupted => return Ok(Input::Interrupted),
                Input::End | Input::Long(_) => break,
            }
        }
        Ok(Input::Long(all.strip_prefix('\n').unwrap_or(&all).trim_end_matches('\n').to_owned()))
    }

    fn line(&mut self, prompt: &str) -> Result<Input> {
        match self {
            Self::Editor(history) => match edit(prompt, history) {
                Ok(line) => {
                    if !line.trim().is_empty() && history.last() != Some(&line) {
                        history.push(line.clone());
                    }
                    Ok(Input::Text(line))
                }
                Err(ReadlineError::Interrupted) => Ok(Input::Interrupted),
                Err(ReadlineError::Eof) => Ok(Input::End),
                Err(ReadlineError::Io(e)) => Err(e.into()),
                Err(e) => Err(crate::error::CliError::failed(e.to_string())),
            },
            Self::Plain => {
                let mut bytes = Vec::new();
                let mut stdin = std::io::Read::take(std::io::stdin().lock(), LIMIT as u64);
                if stdin.read_until(b'\n', &mut bytes)? == 0 {
                    return Ok(Input::End);
                }
                while matches!(bytes.last(), Some(b'\n' | b'\r')) {
                    bytes.pop();
                }
                match String::from_utf8(bytes) {
                    Ok(t) => Ok(Input::Text(t)),
                    Err(_) => {
                        crate::output::error("a line that is not UTF-8 is passed over");
                        Ok(Input::Text(String::new()))
                    }
                }
            }
        }
    }
}

/// Lets a person edit one line. The editor lives for this line only: while there is one, it holds the signal of Ctrl-C,
/// which an answer needs.
fn edit(prompt: &str, history: &[String]) -> std::result::Result<String, ReadlineError> {
    let mut editor = rustyline::DefaultEditor::new()?;
    for line in history {
        editor.add_history_entry(line)?;
    }
    editor.readline(prompt)
}
