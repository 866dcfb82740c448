//! An answer as text: ids become characters as soon as they are whole, stop strings are held back.

use super::answer::{Answer, AnswerOptions, Finish};
use super::error::Result;
use super::load::Engine;
use super::session::{Cancel, Session};
use crate::generate::{Breakers, SamplerParams, StopMatcher};
use std::ops::ControlFlow;

/// How to answer with text.
#[derive(Clone, Debug, Default)]
pub struct TextOptions {
    /// Most ids.
    pub max_tokens: Option<usize>,
    /// Sampling.
    pub sampler: SamplerParams,
    /// Texts that end the answer; nothing of them is shown.
    pub stop: Vec<String>,
    /// Go on past the model's end ids.
    pub ignore_eos: bool,
    /// Drop the oldest half when the context is full.
    pub context_shift: bool,
    /// Ids that a context shift keeps.
    pub keep: usize,
    /// Show control tokens as text.
    pub show_special: bool,
}

/// An answer and its text.
#[derive(Clone, Debug)]
pub struct TextAnswer {
    /// Ids and figures.
    pub answer: Answer,
    /// The text.
    pub text: String,
    /// The stop string that ended it.
    pub stopped_by: Option<String>,
}

impl Engine {
    /// The ids that end an answer of this model.
    pub fn stop_ids(&self) -> Vec<u32> {
        self.tokenizer.as_ref().map(|t| t.stop_ids().to_vec()).unwrap_or_default()
    }
}

impl Session {
    /// Continues ids with text; `each` gets every piece as soon as it is whole.
    ///
    /// # Errors
    /// As [`Session::answer`].
    pub async fn complete(
        &mut self,
        prompt: &[u32],
        options: &TextOptions,
        cancel: &Cancel,
        progress: &mut dyn FnMut(usize, usize),
        each: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<TextAnswer> {
        let engine = self.engine.clone();
        let tokenizer = engine.tokenizer.as_ref();
        let breakers = match tokenizer {
            Some(t) if options.sampler.dry_multiplier > 0.0 => {
                Breakers::from_strings(&options.sampler.dry_sequence_breakers, engine.spec.vocab, |id| {
                    t.token_bytes(id).ok()
                })
            }
            _ => Breakers::none(),
        };
        let answer_options = AnswerOptions {
            max_tokens: options.max_tokens,
            sampler: options.sampler.clone(),
            stop_ids: if options.ignore_eos { Vec::new() } else { engine.stop_ids() },
            context_shift: options.context_shift,
            keep: options.keep,
            breakers,
        };
        let mut stream = tokenizer.map(|t| t.stream_decoder(prompt.is_empty()));
        let mut stops = StopMatcher::new(options.stop.clone());
        let mut text = String::new();
        let answer = {
            let mut on_id = |id: u32| {
                let (Some(t), Some(stream)) = (tokenizer, stream.as_mut()) else {
                    return ControlFlow::Continue(());
                };
                if t.is_special(id) && !options.show_special {
                    return ControlFlow::Continue(());
                }
                let piece = t.token_slice(id).map(|b| stream.push(b)).unwrap_or_default();
                let out = stops.push(&piece);
                if !out.emit.is_empty() {
                    text.push_str(&out.emit);
                    if each(&out.emit).is_break() {
                        return ControlFlow::Break(());
                    }
                }
                if out.matched.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            self.answer(prompt, &answer_options, cancel, progress, &mut on_id).await?
        };
        let stopped_by = stops.matched().and_then(|i| options.stop.get(i)).cloned();
        if stopped_by.is_none() {
            let mut tail = stream.map(|mut s| s.finish()).unwrap_or_default();
            let out = stops.push(&tail);
            tail = out.emit + &stops.finish();
            if !tail.is_empty() && answer.finish != Finish::Receiver {
                text.push_str(&tail);
                let _ = each(&tail);
            }
        }
        Ok(TextAnswer { answer, text, stopped_by })
    }
}
