//! Where a chat's lines come from: an editor on a terminal, plain lines elsewhere. `"""` begins and ends a message of
//! several lines.

use crate::error::Result;
use rustyline::error::ReadlineError;
use std::io::{BufRead, IsTerminal, Read};

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
    /// What came was no message, and why.
    Unfit(String),
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
        let mut read = |prompt: &str| self.line(prompt);
        message(&mut read, LIMIT)
    }

    fn line(&mut self, prompt: &str) -> Result<Line> {
        match self {
            Self::Editor(history) => match edit(prompt, history) {
                Ok(line) => {
                    if !line.trim().is_empty() && history.last() != Some(&line) {
                        history.push(line.clone());
                    }
                    Ok(Line::Text(line))
                }
                Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
                Err(ReadlineError::Eof) => Ok(Line::End),
                Err(ReadlineError::Io(e)) => Err(e.into()),
                Err(e) => Err(crate::error::CliError::failed(e.to_string())),
            },
            Self::Plain => Ok(match plain(&mut std::io::stdin().lock(), LIMIT)? {
                None => Line::End,
                Some((bytes, true)) => match String::from_utf8(bytes) {
                    Ok(t) => Line::Text(t),
                    Err(e) => {
                        Line::Unfit("a line that is not UTF-8 is passed over".into(), closes(e.as_bytes()))
                    }
                },
                Some((tail, false)) => {
                    let why = format!("line too long: passed over, a message has at most {LIMIT} bytes");
                    Line::Unfit(why, closes(&tail))
                }
            }),
        }
    }
}

/// A line as it comes.
enum Line {
    Text(String),
    /// Why it is none, and whether it ends with the mark all the same.
    Unfit(String, bool),
    Interrupted,
    End,
}

/// Puts lines together to a message. What is left of one that went wrong is passed over, and one error tells of it.
fn message(line: &mut dyn FnMut(&str) -> Result<Line>, limit: usize) -> Result<Input> {
    let text = match line(">>> ")? {
        Line::Text(t) => t,
        Line::Unfit(why, _) => return Ok(Input::Unfit(why)),
        Line::Interrupted => return Ok(Input::Interrupted),
        Line::End => return Ok(Input::End),
    };
    let Some(first) = text.trim_start().strip_prefix(QUOTES) else { return Ok(Input::Text(text)) };
    let mut all = String::new();
    let mut part = first.to_owned();
    let mut unfit = None;
    loop {
        let end = part.trim_end().strip_suffix(QUOTES);
        if unfit.is_none() {
            all.push_str(end.unwrap_or(&part));
        }
        if end.is_some() {
            break;
        }
        all.push('\n');
        if all.len() > limit && unfit.is_none() {
            unfit = Some(format!("message too long: passed over, it has more than {limit} bytes"));
            all = String::new();
        }
        match line("... ")? {
            Line::Text(t) => part = t,
            Line::Unfit(why, last) => {
                unfit.get_or_insert(why);
                all = String::new();
                if last {
                    break;
                }
                part = String::new();
            }
            // What was typed so far is dropped, as in a shell.
            Line::Interrupted => return Ok(Input::Interrupted),
            Line::End => break,
        }
    }
    Ok(match unfit {
        Some(why) => Input::Unfit(why),
        None => Input::Long(all.strip_prefix('\n').unwrap_or(&all).trim_end_matches('\n').to_owned()),
    })
}

/// Whether a line ends with the mark.
fn closes(line: &[u8]) -> bool {
    line.trim_ascii_end().ends_with(QUOTES.as_bytes())
}

/// Bytes that are kept of the end of a line that is too long.
const TAIL: usize = 64;

/// A line without its end, and true; of one with more than `limit` bytes only how it ends, and false. `None` at the end.
fn plain(from: &mut dyn BufRead, limit: usize) -> std::io::Result<Option<(Vec<u8>, bool)>> {
    let mut line = Vec::new();
    let mut whole = true;
    loop {
        let n = (&mut *from).take(limit as u64 + 1).read_until(b'\n', &mut line)?;
        let ended = n == 0 || line.ends_with(b"\n");
        if n == 0 && line.is_empty() {
            return Ok(None);
        }
        while ended && matches!(line.last(), Some(b'\n' | b'\r')) {
            line.pop();
        }
        whole = whole && line.len() <= limit;
        if ended {
            return Ok(Some((line, whole)));
        }
        if !whole {
            line = line.split_off(line.len().saturating_sub(TAIL));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &[u8], limit: usize) -> Vec<Input> {
        let mut from = text;
        let mut line = |_: &str| {
            Ok(match plain(&mut from, limit)? {
                None => Line::End,
                Some((t, true)) => Line::Text(String::from_utf8(t).unwrap()),
                Some((t, false)) => Line::Unfit("long".into(), closes(&t)),
            })
        };
        let mut all = Vec::new();
        loop {
            match message(&mut line, limit).unwrap() {
                Input::End => return all,
                m => all.push(m),
            }
        }
    }

    #[test]
    fn lines_and_messages_have_a_limit() {
        let text = |t: &str| Input::Text(t.into());
        let long = || Input::Unfit("long".into());
        assert_eq!(messages(b"a\r\n\nbcdefgh\ni", 8), [text("a"), text(""), text("bcdefgh"), text("i")]);
        assert_eq!(messages(b"12345678\n123456789\nb", 8), [text("12345678"), long(), text("b")]);
        assert_eq!(messages("x".repeat(1000).as_bytes(), 8), [long()]);
        assert_eq!(messages(b"\"\"\"a\nb\"\"\"\nc", 8), [Input::Long("a\nb".into()), text("c")]);
        // All of a message that is too long goes, up to its mark.
        assert_eq!(messages(b"\"\"\"a\nbbbbbbbbbbbb\nc\"\"\"\nd", 8), [long(), text("d")]);
        assert_eq!(messages(b"\"\"\"a\nbbbbbbbbbb\"\"\" \nd", 8), [long(), text("d")]);
        let many = messages(b"\"\"\"a\nbbbb\ncccc\ndddd\n\"\"\"\ne", 8);
        assert!(
            matches!(&many[..], [Input::Unfit(w), e] if w.contains("too long") && *e == text("e")),
            "{many:?}"
        );
        assert_eq!(messages(b"\"\"\"a\n", 8), [Input::Long("a".into())]);
    }
}
