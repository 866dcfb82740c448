//! `golay chat`: a conversation in the terminal, or over a pipe, one prompt a line.

mod commands;
mod lines;
mod store;

use crate::args::ChatArgs;
use crate::error::{CliError, Result, chain};
use crate::output::{self, note};
use crate::{cmd::run, interrupt, open};
use commands::Step;
use golay::engine::{Cancel, Engine, EngineError, Finish, Session, TextAnswer, TextOptions};
use golay::text::RenderOptions;
use lines::{Input, Lines};
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::sync::Arc;

/// What is on the device; gone after the device is lost.
struct Open {
    engine: Arc<Engine>,
    session: Session,
}

/// A conversation.
pub struct Chat<'a> {
    args: &'a ChatArgs,
    open: Option<Open>,
    /// Kept apart from the messages so that /system can change it.
    system: Option<String>,
    messages: Vec<Value>,
    options: TextOptions,
    vocab: u32,
    last: Option<TextAnswer>,
    /// For tests: the device is destroyed after so many pieces, once.
    lose_after: Option<usize>,
}

pub fn run(args: &ChatArgs) -> Result<()> {
    args.sampler.check()?;
    let saved = args.load.as_deref().map(store::load).transpose().map_err(CliError::Failed)?;
    let mut chat = Chat::new(args)?;
    if let Some(s) = saved {
        chat.take(s);
    }
    let mut lines = Lines::new();
    let _guard = interrupt::at_prompt();
    if lines.is_terminal() {
        note("Type a message; /help lists the commands, Ctrl-C stops an answer, Ctrl-D ends.");
    }
    let (mut answered, mut failed) = (0, 0);
    loop {
        let went_well = match lines.next()? {
            Input::End => break,
            Input::Interrupted => {
                note(interrupt::HINT);
                continue;
            }
            Input::Unfit(why) => {
                output::error(&why);
                false
            }
            Input::Text(text) | Input::Long(text) if text.trim().is_empty() => continue,
            Input::Text(text) if text.starts_with('/') => match chat.command(&text) {
                Step::Bye => break,
                Step::On => continue,
            },
            Input::Text(text) | Input::Long(text) => chat.say(&text)?,
        };
        *if went_well { &mut answered } else { &mut failed } += 1;
    }
    // A script whose messages came to nothing should know.
    if !lines.is_terminal() && answered == 0 && failed > 0 { Err(CliError::Said) } else { Ok(()) }
}

impl<'a> Chat<'a> {
    fn new(args: &'a ChatArgs) -> Result<Self> {
        let open = open_engine(args)?;
        run::say_template(&open.engine);
        open.engine.need_tokenizer()?;
        let options = run::options(&args.end, args.sampler.over(&open.engine.sampling));
        let vocab = open.engine.spec.vocab;
        let lose_after = std::env::var("GOLAY_TEST_LOSE_DEVICE").ok().and_then(|v| v.parse().ok());
        let system = args.system.clone();
        Ok(Self {
            args,
            open: Some(open),
            system,
            messages: Vec::new(),
            options,
            vocab,
            last: None,
            lose_after,
        })
    }

    /// A message and its answer, and whether there was one. What goes wrong is said, and the chat goes on; only the
    /// loss of stdout ends it.
    fn say(&mut self, text: &str) -> Result<bool> {
        self.messages.push(json!({"role": "user", "content": text}));
        match self.answer() {
            Ok(done) => {
                let finish = done.answer.finish;
                if !done.text.is_empty() || finish != Finish::Cancelled {
                    self.messages.push(json!({"role": "assistant", "content": done.text}));
                } else {
                    self.messages.pop();
                }
                self.last = Some(done);
                output::result("\n")?;
                match finish {
                    Finish::Cancelled => note("(stopped)"),
                    Finish::ContextFull => note(&self.context_full()),
                    _ => {}
                }
                Ok(true)
            }
            Err(e @ (CliError::Pipe | CliError::Output(_))) => Err(e),
            Err(e) => {
                // The chat is as it was before this message.
                self.messages.pop();
                if !e.text().is_empty() {
                    output::error(e.text());
                }
                Ok(false)
            }
        }
    }

    fn context_full(&self) -> String {
        let n = self.open.as_ref().map_or(0, |o| o.engine.plan.context);
        format!(
            "(the context of {n} tokens is full: /reset begins anew; -c N has room for more, --context-shift drops the oldest)"
        )
    }

    fn all_messages(&self) -> Vec<Value> {
        let system = self.system.as_ref().map(|s| json!({"role": "system", "content": s}));
        system.into_iter().chain(self.messages.iter().cloned()).collect()
    }

    fn answer(&mut self) -> Result<TextAnswer> {
        let mut open = match self.open.take() {
            Some(o) => o,
            None => {
                note("(opening the device again; the chat is computed anew)");
                open_engine(self.args)?
            }
        };
        let result = pollster::block_on(self.compute(&mut open));
        let error = match result {
            Ok(done) => {
                self.open = Some(open);
                return done;
            }
            Err(e) => e,
        };
        // An error that the device keeps reporting is as good as its loss: only a new one answers again.
        if error.device_lost() || open.engine.gpu.check().is_err() {
            output::result("\n")?;
            output::error(&format!("{}; the next message opens the device again", chain(&error)));
            return Err(CliError::Said);
        }
        self.open = Some(open);
        Err(match error {
            EngineError::ContextFull { .. } => {
                CliError::failed(format!("{} {}", chain(&error), self.context_full()))
            }
            other => other.into(),
        })
    }

    /// The inner result is about stdout, the outer one about the engine.
    async fn compute(&mut self, open: &mut Open) -> std::result::Result<Result<TextAnswer>, EngineError> {
        let options = RenderOptions { add_generation_prompt: true, ..Default::default() };
        let ids = open.engine.chat_ids(&self.all_messages(), &options)?;
        let cancel = Cancel::default();
        let _guard = interrupt::guard(&cancel, 3);
        let mut trouble = None;
        let mut pieces = 0;
        let engine = open.engine.clone();
        let mut each = |piece: &str| {
            pieces += 1;
            if self.lose_after.is_some_and(|n| pieces >= n) {
                self.lose_after = None;
                engine.gpu.device.destroy();
            }
            match output::answer(piece) {
                Ok(()) => ControlFlow::Continue(()),
                Err(e) => {
                    trouble = Some(e);
                    ControlFlow::Break(())
                }
            }
        };
        let bar = output::Bar::new("reading");
        let mut progress = |done: usize, all: usize| {
            if all >= 256 {
                bar.set(done as u64, all as u64);
            }
        };
        let done = open.session.complete(&ids, &self.options, &cancel, &mut progress, &mut each).await?;
        Ok(match trouble {
            Some(e) => Err(e),
            None => Ok(done),
        })
    }

    /// Takes over a saved chat.
    fn take(&mut self, saved: store::Saved) {
        if saved.model != self.args.model.model {
            note(&format!("(the chat was with {})", output::printable(&saved.model)));
        }
        self.system = saved.system;
        self.messages = saved.messages;
        if let Ok(p) = saved.sampler.validate(self.vocab) {
            self.options.sampler = p;
        } else {
            note("(the saved sampling does not suit this model: kept what was set)");
        }
        self.options.max_tokens = saved.max_tokens;
        self.options.stop = saved.stop;
        self.last = None;
    }
}

fn open_engine(args: &ChatArgs) -> Result<Open> {
    let engine = open::model(&args.model, &args.device, &|_| args.ctx.ctx_size)?;
    let session = pollster::block_on(open::session(&engine))?;
    Ok(Open { engine, session })
}
