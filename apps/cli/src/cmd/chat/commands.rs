//! The commands that begin with a slash. All they print goes to stderr.

use super::{Chat, store};
use crate::cmd::run::speed;
use crate::output::{error, note};
use crate::sampler_args::{set_by_name, shown};
use std::path::Path;

/// What comes after a line.
pub enum Step {
    On,
    Bye,
}

const HELP: &str = "\
/set PARAM VALUE   change sampling (temp, top_k, top_p, min_p, seed, ...), n_predict or stop; /set alone shows all
/system [TEXT]     set the system message; without TEXT show it; /system - removes it
/reset             forget the conversation (also /clear)
/save FILE         write the conversation and the settings as JSON
/load FILE         read them again
/stats             the last answer's speed, the context, the memory
/bye               end (also /exit, /quit, Ctrl-D)
\"\"\" begins and ends a message of several lines; Ctrl-C stops an answer; a message that begins with a slash: put a space before it";

impl Chat<'_> {
    /// Carries out a command.
    pub(super) fn command(&mut self, line: &str) -> Step {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let done = match word {
            "/bye" | "/exit" | "/quit" => return Step::Bye,
            "/help" | "/?" => {
                note(HELP);
                Ok(())
            }
            "/set" => self.set(rest),
            "/system" => {
                self.set_system(rest);
                Ok(())
            }
            "/reset" | "/clear" => {
                self.messages.clear();
                self.last = None;
                note("(the conversation is forgotten)");
                Ok(())
            }
            "/save" => self.save(rest),
            "/load" => self.load(rest),
            "/stats" => {
                self.stats();
                Ok(())
            }
            other => Err(format!("no command {other}; /help lists them")),
        };
        if let Err(e) = done {
            error(&e);
        }
        Step::On
    }

    fn set_system(&mut self, text: &str) {
        match text {
            "" => note(self.system.as_deref().unwrap_or("(no system message)")),
            "-" => self.system = None,
            text => self.system = Some(text.to_owned()),
        }
    }

    fn set(&mut self, rest: &str) -> Result<(), String> {
        // ollama writes `/set parameter temperature 0.5`.
        let rest = rest.strip_prefix("parameter ").unwrap_or(rest).trim();
        let (name, value) = rest.split_once([' ', '=', '\t']).unwrap_or((rest, ""));
        let value = value.trim();
        match (name, value) {
            ("", _) => {
                for (k, v) in shown(&self.options.sampler)? {
                    note(&format!("{k} = {v}"));
                }
                let n = self.options.max_tokens.map_or_else(|| "none".to_owned(), |n| n.to_string());
                let stop: Vec<String> = self.options.stop.iter().map(|s| format!("{s:?}")).collect();
                let stop = if stop.is_empty() { "none".to_owned() } else { stop.join(" ") };
                note(&format!("n_predict = {n}\nstop = {stop}"));
                Ok(())
            }
            ("system", text) => {
                self.set_system(text);
                Ok(())
            }
            ("n_predict" | "num_predict" | "max_tokens", "none" | "-1") => {
                self.options.max_tokens = None;
                Ok(())
            }
            ("n_predict" | "num_predict" | "max_tokens", v) => {
                let n = v.parse().map_err(|_| format!("n_predict: {v:?} is not a whole number (or none)"))?;
                self.options.max_tokens = Some(n);
                Ok(())
            }
            ("stop", "none" | "") => {
                self.options.stop.clear();
                Ok(())
            }
            ("stop", text) => {
                self.options.stop.push(text.to_owned());
                Ok(())
            }
            (name, "") => Err(format!("/set {name} needs a value")),
            (name, value) => {
                self.options.sampler = set_by_name(&self.options.sampler, name, value, self.vocab)?;
                Ok(())
            }
        }
    }

    fn save(&self, file: &str) -> Result<(), String> {
        // Standard output is for answers.
        if file.is_empty() || file == "-" {
            return Err("/save needs a file name".into());
        }
        let model = &self.args.model.model;
        let chat = store::Saved::new(model, self.system.clone(), self.messages.clone(), &self.options);
        store::save(Path::new(file), &chat)?;
        note(&format!("(saved {} messages in {file})", self.messages.len()));
        Ok(())
    }

    fn load(&mut self, file: &str) -> Result<(), String> {
        if file.is_empty() {
            return Err("/load needs a file name".into());
        }
        // A file that cannot be read leaves the present chat as it is.
        let saved = store::load(Path::new(file))?;
        self.take(saved);
        note(&format!("(loaded {} messages from {file})", self.messages.len()));
        Ok(())
    }

    fn stats(&self) {
        match self.last.as_ref().and_then(speed) {
            Some(s) => note(&s),
            None => note("(no answer yet)"),
        }
        if let Some(o) = &self.open {
            let held = o.session.tokens().len();
            note(&format!(
                "context: {held} of {} tokens, {} messages",
                o.engine.plan.context,
                self.messages.len()
            ));
            note(&format!("memory: {}", o.engine.plan));
            note(&format!("device: {} ({})", o.engine.gpu.info.name, o.engine.gpu.info.backend));
        }
    }
}
