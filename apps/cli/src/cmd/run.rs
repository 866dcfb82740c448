//! `golay run`: one prompt, one answer.

use crate::args::RunArgs;
use crate::error::{CliError, Result};
use crate::output::{self, Bar, note};
use crate::{interrupt, open};
use golay::engine::{Cancel, Engine, Finish, Session, TextAnswer, TextOptions};
use golay::generate::SamplerParams;
use golay::gpu::adapter;
use golay::text::RenderOptions;
use serde_json::{Value, json};
use std::ops::ControlFlow;

/// Prompts from this length on get a progress bar.
const LONG: usize = 256;

/// `--json`.
#[derive(serde::Serialize)]
struct Report<'a> {
    text: &'a str,
    tokens: &'a [u32],
    prompt_tokens: usize,
    generated_tokens: usize,
    finish_reason: &'a str,
    ttft_s: f64,
    decode_tok_s: f64,
    prefill_tok_s: f64,
    adapter: &'a str,
    device_type: &'a str,
    seed: u64,
    reused_tokens: usize,
    context_shifts: usize,
    truncated: bool,
    stopped_by: Option<&'a str>,
    backend: String,
    /// Most memory that the process had; `None` where the system does not say.
    peak_host_bytes: Option<u64>,
}

pub fn run(args: &RunArgs) -> Result<()> {
    args.sampler.check()?;
    if args.ids.is_some() == args.source.given() {
        return Err(CliError::usage(
            "give one prompt: -p TEXT, -f FILE, - for standard input, or --ids 1,2,3",
        ));
    }
    let text = args.source.read()?;
    let engine = open::model(&args.model, &args.device, &|_| args.ctx.ctx_size)?;
    let ids = prompt_ids(&engine, args, text)?;
    let sampler = args.sampler.over(&engine.sampling);
    let options = options(&args.end, sampler);
    let cancel = Cancel::default();
    let done = pollster::block_on(async {
        let mut session = open::session(&engine).await?;
        let _guard = interrupt::guard(&cancel, 2);
        answer(&mut session, &ids, &options, &cancel, !args.json).await
    })?;
    let a = &done.answer;
    if args.json {
        output::json(&Report {
            text: &done.text,
            tokens: &a.ids,
            prompt_tokens: a.prompt_tokens,
            generated_tokens: a.ids.len(),
            finish_reason: a.finish.name(),
            ttft_s: a.ttft_s,
            decode_tok_s: a.decode_tok_s(),
            prefill_tok_s: a.prefill_tok_s(),
            adapter: &engine.gpu.info.name,
            device_type: adapter::kind(engine.gpu.info.device_type),
            seed: options.sampler.seed,
            reused_tokens: a.reused_tokens,
            context_shifts: a.shifts,
            truncated: a.shifts > 0,
            stopped_by: done.stopped_by.as_deref(),
            backend: engine.gpu.info.backend.to_string(),
            peak_host_bytes: peak_host_bytes(),
        })?;
    } else {
        // Where nothing was said, there is no line to end.
        if a.finish != Finish::Cancelled || !done.text.is_empty() {
            output::result("\n")?;
        }
        if engine.tokenizer.is_none() {
            let ids: Vec<String> = a.ids.iter().map(u32::to_string).collect();
            note(&format!("the model has no tokenizer; the ids are {}", ids.join(",")));
        }
    }
    if a.finish == Finish::ContextFull {
        note(&format!(
            "the context of {} tokens is full (--context-shift goes on past it)",
            engine.plan.context
        ));
    }
    if let Some(speed) = speed(&done) {
        note(&speed);
    }
    if a.finish == Finish::Cancelled { Err(CliError::interrupted("")) } else { Ok(()) }
}

/// The flags and the sampling of an answer.
pub fn options(end: &crate::args::EndArgs, sampler: SamplerParams) -> TextOptions {
    TextOptions {
        max_tokens: end.n_predict.map(|n| n as usize),
        sampler,
        stop: end.stop.iter().filter(|s| !s.is_empty()).cloned().collect(),
        ignore_eos: end.ignore_eos,
        context_shift: end.context_shift,
        keep: end.keep as usize,
        show_special: end.special,
    }
}

fn prompt_ids(engine: &Engine, args: &RunArgs, text: Option<String>) -> Result<Vec<u32>> {
    let Some(text) = text else {
        let ids = args.ids.clone().map(|i| i.0).unwrap_or_default();
        return if ids.is_empty() {
            Err(CliError::failed("the prompt is empty: --ids has no id"))
        } else {
            Ok(ids)
        };
    };
    if args.chat {
        say_template(engine);
        let mut messages: Vec<Value> = Vec::new();
        if let Some(s) = &args.system {
            messages.push(json!({"role": "system", "content": s}));
        }
        messages.push(json!({"role": "user", "content": text}));
        let options = RenderOptions { add_generation_prompt: true, ..Default::default() };
        return Ok(engine.chat_ids(&messages, &options)?);
    }
    let ids = engine.text_ids(&text)?;
    match (text.is_empty(), ids.is_empty()) {
        (_, true) => {
            Err(CliError::failed("the prompt is empty, and this model has no token that begins a text"))
        }
        (true, false) => {
            note("the prompt is empty: starting from the token that begins a text");
            Ok(ids)
        }
        _ => Ok(ids),
    }
}

/// Says so when the template is a stand-in.
pub fn say_template(engine: &Engine) {
    if engine.template.as_ref().is_some_and(golay::text::ChatTemplate::is_default) {
        note("the model brings no chat template: using ChatML");
    }
}

/// Computes an answer; with `show` its text goes to stdout as it comes.
pub async fn answer(
    session: &mut Session,
    ids: &[u32],
    options: &TextOptions,
    cancel: &Cancel,
    show: bool,
) -> Result<TextAnswer> {
    let bar = (ids.len() >= LONG).then(|| Bar::new("reading"));
    let mut progress = |done: usize, all: usize| {
        if let Some(b) = &bar {
            b.set(done as u64, all as u64);
        }
    };
    let mut trouble = None;
    let mut each = |piece: &str| {
        if show && let Err(e) = output::answer(piece) {
            trouble = Some(e);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let done = session.complete(ids, options, cancel, &mut progress, &mut each).await?;
    match trouble {
        Some(e) => Err(e),
        None => Ok(done),
    }
}

/// The high-water mark of this process, as Linux keeps it.
fn peak_host_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok()?.checked_mul(1024)
}

/// One line about how fast an answer was.
pub fn speed(t: &TextAnswer) -> Option<String> {
    let a = &t.answer;
    if a.ids.is_empty() {
        return None;
    }
    Some(format!(
        "[{} prompt tokens ({} reused), {:.1} tok/s; {} generated, {:.1} tok/s; first after {:.2} s; {}]",
        a.prompt_tokens,
        a.reused_tokens,
        a.prefill_tok_s(),
        a.ids.len(),
        a.decode_tok_s(),
        a.ttft_s,
        a.finish.name()
    ))
}
