//! The decode loop: from a prompt to ids, several steps in flight.

use super::error::{EngineError, Result};
use super::graph::{self, Width};
use super::scratch::ADJUST_CAPACITY;
use super::session::{Cancel, IN_FLIGHT, Session, floats};
use crate::generate::{Breakers, Candidates, SampleError, Sampler, SamplerParams};
use crate::gpu::readback::{self, Slot};
use crate::gpu::{Recording, Uniforms};
use crate::kernels::select::{self, Chain};
use crate::kernels::{Recorder, attention, state};
use std::ops::ControlFlow;
use web_time::Instant;

/// How to answer.
#[derive(Clone, Debug, Default)]
pub struct AnswerOptions {
    /// Most ids to generate; `None` until an end id or the end of the context.
    pub max_tokens: Option<usize>,
    /// Sampling.
    pub sampler: SamplerParams,
    /// Ids that end the answer (they are not part of it).
    pub stop_ids: Vec<u32>,
    /// When the context is full, drop the oldest half (but the first `keep` ids) and go on.
    pub context_shift: bool,
    /// Ids at the start that a context shift keeps.
    pub keep: usize,
    /// Texts that a DRY repeat does not cross, as the tokenizer knows them.
    pub breakers: Breakers,
}

/// Positions made ready before an answer begins.
const ROOM: usize = 512;

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model chose an end id.
    Stop,
    /// `max_tokens` was reached.
    Length,
    /// The context is full.
    ContextFull,
    /// The receiver of the ids had enough (a stop string, a closed connection).
    Receiver,
    /// Cancelled.
    Cancelled,
}

impl Finish {
    /// The field's word: `stop`, `length` or `cancelled`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stop | Self::Receiver => "stop",
            Self::Length => "length",
            Self::ContextFull => "context_full",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What an answer took.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Why it ended.
    pub finish: Finish,
    /// The ids.
    pub ids: Vec<u32>,
    /// Ids of the prompt.
    pub prompt_tokens: usize,
    /// Of these, how many were in the cache already.
    pub reused_tokens: usize,
    /// Seconds from the call to the first id.
    pub ttft_s: f64,
    /// Seconds in which the computed part of the prompt was prefilled (to the first id).
    pub prefill_s: f64,
    /// Seconds from the first id to the last.
    pub decode_s: f64,
    /// Context shifts that took place.
    pub shifts: usize,
}

impl Answer {
    /// Ids per second after the first.
    pub fn decode_tok_s(&self) -> f64 {
        if self.ids.len() > 1 && self.decode_s > 0.0 {
            (self.ids.len() - 1) as f64 / self.decode_s
        } else {
            0.0
        }
    }

    /// Computed prompt ids per second.
    pub fn prefill_tok_s(&self) -> f64 {
        if self.prefill_s > 0.0 {
            (self.prompt_tokens - self.reused_tokens) as f64 / self.prefill_s
        } else {
            0.0
        }
    }
}

/// Where the next id is chosen.
enum Mode {
    /// On the device; ids are read behind it.
    Device,
    /// On the device after a list of biases and penalties that depends on the last id.
    Adjusted,
    /// On the host, from all logits.
    Host,
}

/// The device's form of these parameters, when it has one.
fn chain(p: &SamplerParams, vocab: u32) -> Option<Chain> {
    let simple = p.typical_p >= 1.0
        && p.top_n_sigma <= 0.0
        && p.xtc_probability <= 0.0
        && p.dynatemp_range <= 0.0
        && p.mirostat == 0;
    let k = match u32::try_from(p.top_k) {
        Ok(0) | Err(_) if vocab <= select::MAX_K => vocab,
        Ok(k) if (1..=select::MAX_K).contains(&k) => k,
        _ => return None,
    };
    simple.then_some(Chain { top_k: k, top_p: p.top_p, min_p: p.min_p, temperature: p.temperature })
}

impl Session {
    /// Continues `prompt`. What the sequence shares with it from the start is not computed again. Every id is handed
    /// to `each` as soon as the host knows it.
    ///
    /// # Errors
    /// Device errors, a prompt that does not fit, a NaN. After an error the sequence holds what was accepted.
    pub async fn answer(
        &mut self,
        prompt: &[u32],
        options: &AnswerOptions,
        cancel: &Cancel,
        progress: &mut dyn FnMut(usize, usize),
        each: &mut dyn FnMut(u32) -> ControlFlow<()>,
    ) -> Result<Answer> {
        let start = Instant::now();
        let engine = self.engine.clone();
        engine.gpu.check()?;
        self.slots.iter_mut().for_each(Slot::reset);
        self.logits_slot.reset();
        if prompt.is_empty() {
            return Err(EngineError::EmptyPrompt);
        }
        let context = engine.plan.context as usize;
        let max = options.max_tokens.unwrap_or(usize::MAX);
        // A prompt that fills the context leaves no room to answer, and needs none when no answer is wanted.
        let fits = prompt.len() < context || (prompt.len() == context && max == 0);
        if !fits && !options.context_shift {
            return Err(EngineError::ContextFull {
                prompt: prompt.len(),
                held: 0,
                context: engine.plan.context,
            });
        }
        let vocab = engine.spec.vocab;
        let mut sampler = Sampler::new(options.sampler.clone(), vocab, options.breakers.clone())?;
        self.seed = options.sampler.seed;
        let mode = self.record_select(&sampler).await?;

        let same = prompt.iter().zip(&self.tokens[..self.cached]).take_while(|(a, b)| a == b).count();
        // The last id is computed again at least: its logits are what is wanted.
        let reused = same.min(prompt.len() - 1);
        self.truncate(reused);
        let reused = reused.min(self.cached);
        // Room for the answer, or for a good part of one without a limit, so that the loop itself allocates nothing.
        self.reserve((prompt.len().min(context) + max.min(ROOM)).min(context)).await?;
        let mut answer = Answer {
            finish: Finish::Length,
            ids: Vec::new(),
            prompt_tokens: prompt.len(),
            reused_tokens: reused,
            ttft_s: 0.0,
            prefill_s: 0.0,
            decode_s: 0.0,
            shifts: 0,
        };
        let prefilled = if !fits {
            answer.shifts += 1;
            let kept = shifted(prompt, options.keep, context);
            // What was dropped was not computed either.
            answer.reused_tokens = prompt.len() - kept.len();
            self.truncate(0);
            self.prefill(&kept, cancel, progress).await
        } else {
            self.prefill(&prompt[reused..], cancel, progress).await
        };
        match prefilled {
            Err(EngineError::Cancelled) => {
                answer.finish = Finish::Cancelled;
                return Ok(answer);
            }
            other => other?,
        }
        for id in prompt {
            sampler.accept(*id);
        }
        if max == 0 {
            return Ok(answer);
        }
        let mut first = None;
        let mut fresh = true;
        loop {
            let run = Run { options, cancel, max, start };
            let end = self.run(&run, &mode, &mut sampler, &mut answer, fresh, &mut first, each).await;
            let end = end?;
            if end == Finish::ContextFull && options.context_shift {
                let kept = shifted(&self.tokens, options.keep, context);
                answer.shifts += 1;
                self.truncate(0);
                match self.prefill(&kept, cancel, &mut |_, _| {}).await {
                    Err(EngineError::Cancelled) => {
                        answer.finish = Finish::Cancelled;
                        break;
                    }
                    other => other?,
                }
                fresh = true;
                continue;
            }
            answer.finish = end;
            break;
        }
        if first.is_some() {
            answer.decode_s = start.elapsed().as_secs_f64() - answer.ttft_s;
        }
        Ok(answer)
    }

    /// Steps until something ends them. `fresh`: the residual stream of the last prefilled chunk waits for its head.
    #[allow(clippy::too_many_arguments)]
    async fn run(
        &mut self,
        run: &Run<'_>,
        mode: &Mode,
        sampler: &mut Sampler,
        answer: &mut Answer,
        fresh: bool,
        first: &mut Option<Instant>,
        each: &mut dyn FnMut(u32) -> ControlFlow<()>,
    ) -> Result<Finish> {
        let engine = self.engine.clone();
        let context = engine.plan.context as usize;
        let depth = if matches!(mode, Mode::Device) { IN_FLIGHT } else { 1 };
        // Slots whose ids have not been read yet, oldest first: (slot, position of the id).
        let mut flying: std::collections::VecDeque<(usize, u32)> = std::collections::VecDeque::new();
        let mut with_body = !fresh;
        let mut next_slot = 0;
        let mut end = None;
        loop {
            // Fill the pipe.
            while end.is_none() && flying.len() < depth {
                let ahead = self.tokens.len() + flying.len();
                let wanted = answer.ids.len() + flying.len();
                if wanted >= run.max {
                    break;
                }
                if with_body {
                    // This step stores the id at position ahead - 1 and chooses the id for position `ahead`.
                    if ahead > context {
                        if flying.is_empty() {
                            end = Some(Finish::ContextFull);
                        }
                        break;
                    }
                    if ahead > self.cache.capacity as usize {
                        if !flying.is_empty() {
                            break;
                        }
                        // Buffers change hands only while nothing is under way.
                        self.reserve(ahead).await?;
                    }
                }
                if matches!(mode, Mode::Adjusted) {
                    self.write_adjustments(sampler);
                }
                let slot = next_slot;
                next_slot = (next_slot + 1) % self.slots.len();
                if with_body {
                    self.advance(ahead as u32 - 1);
                }
                self.submit_step(mode, with_body, slot);
                flying.push_back((slot, ahead as u32));
                with_body = true;
            }
            let Some((slot, position)) = flying.pop_front() else { break };
            let id = match mode {
                Mode::Host => self.choose_on_host(sampler, position).await?,
                _ => {
                    let (id, flag) = self.slots[slot]
                        .wait(&engine.gpu, |b| {
                            let word = |i: usize| u32::from_le_bytes([b[i], b[i + 1], b[i + 2], b[i + 3]]);
                            (word(0), word(4))
                        })
                        .await?;
                    if flag != 0 {
                        self.drain(&mut flying).await?;
                        return Err(self.explain(flag, position).await);
                    }
                    id
                }
            };
            if end.is_some() {
                // Steps that were under way when the answer ended: their ids are dropped.
                continue;
            }
            if first.is_none() {
                answer.ttft_s = run.start.elapsed().as_secs_f64();
                answer.prefill_s = answer.ttft_s;
                *first = Some(Instant::now());
            }
            if run.options.stop_ids.contains(&id) {
                end = Some(Finish::Stop);
                continue;
            }
            // The step that chose this id has stored the one before it.
            self.cached = self.cached.max(position as usize);
            self.tokens.push(id);
            sampler.accept(id);
            answer.ids.push(id);
            if each(id).is_break() {
                end = Some(Finish::Receiver);
            } else if answer.ids.len() >= run.max {
                end = Some(Finish::Length);
            } else if run.cancel.is_cancelled() {
                end = Some(Finish::Cancelled);
            }
        }
        Ok(end.unwrap_or(Finish::Length))
    }

    /// One submission: optionally the blocks for the id at hand, then head and selection, and the copy for the host.
    fn submit_step(&mut self, mode: &Mode, with_body: bool, slot: usize) {
        let gpu = self.engine.gpu.clone();
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            let r = &self.recorded;
            if with_body {
                r.one.encode(&gpu, &mut pass, 0..r.one.list.len(), 1);
            }
            r.head.encode(&gpu, &mut pass, 0..r.head.list.len(), 1);
            r.select.encode(&gpu, &mut pass, 0..r.select.list.len(), 1);
        }
        if matches!(mode, Mode::Host) {
            let s = self.logits_slot.buffer();
            encoder.copy_buffer_to_buffer(&self.scratch.logits, 0, s, 0, s.size());
            let submission = gpu.submit([encoder.finish()]);
            self.logits_slot.request(submission);
        } else {
            let at = u64::from(self.step % select::RING) * 8;
            encoder.copy_buffer_to_buffer(&self.scratch.out, at, self.slots[slot].buffer(), 0, 8);
            let submission = gpu.submit([encoder.finish()]);
            self.slots[slot].request(submission);
            self.step = self.step.wrapping_add(1);
        }
    }

    async fn choose_on_host(&mut self, sampler: &mut Sampler, position: u32) -> Result<u32> {
        let gpu = self.engine.gpu.clone();
        let logits = self.logits_slot.wait(&gpu, floats).await?;
        let id = match sampler.sample(Candidates::Full(&logits), position) {
            Ok(id) => id,
            Err(SampleError::Nan { .. } | SampleError::Infinite { .. }) => {
                return Err(self.explain(state::FLAG_NAN, position).await);
            }
            Err(SampleError::Empty) => {
                return Err(EngineError::NothingToSample { position });
            }
            Err(e) => return Err(e.into()),
        };
        gpu.queue.write_buffer(&self.scratch.ids, 0, bytemuck::bytes_of(&id));
        self.write_state(position, 1);
        Ok(id)
    }

    async fn drain(&mut self, flying: &mut std::collections::VecDeque<(usize, u32)>) -> Result<()> {
        while let Some((slot, _)) = flying.pop_front() {
            let gpu = self.engine.gpu.clone();
            self.slots[slot].wait(&gpu, |_| ()).await?;
        }
        Ok(())
    }

    /// Records the selection for these parameters.
    async fn record_select(&mut self, sampler: &Sampler) -> Result<Mode> {
        let e = self.engine.clone();
        let p = sampler.params();
        let vocab = e.spec.vocab;
        let adjusted = p.has_penalties() || !p.logit_bias.is_empty() || p.has_dry();
        let chain = chain(p, vocab);
        // A list that could be cut short would lose bans without a word: then the host does it all.
        if (!p.is_greedy() && chain.is_none()) || (adjusted && !self.fits_adjustments(p)) {
            self.recorded.select = Recording::default();
            return Ok(Mode::Host);
        }
        let mut uniforms = Uniforms::default();
        let s = &self.scratch;
        let b = select::Buffers {
            logits: &s.logits,
            state: &s.state,
            ids: &s.ids,
            out: &s.out,
            scratch: &s.cands,
        };
        let mut r = Recorder::new(&e.gpu, &e.kernels, &e.tuning, &mut uniforms, false);
        if adjusted {
            let penalties = [p.repeat_penalty, p.frequency_penalty, p.presence_penalty];
            let (head, list) = (&s.adjust_head, &s.adjust);
            select::adjust(&mut r, &s.logits, head, list, ADJUST_CAPACITY, vocab, penalties).await?;
        }
        match chain {
            Some(c) if !p.is_greedy() => select::sample(&mut r, &b, vocab, &c).await?,
            _ => select::argmax(&mut r, &b, vocab).await?,
        }
        self.recorded.select = r.recording;
        Ok(if adjusted { Mode::Adjusted } else { Mode::Device })
    }

    /// Whether the device's list holds every entry that these parameters can make.
    fn fits_adjustments(&self, p: &SamplerParams) -> bool {
        let most = self.engine.plan.context.min(self.engine.spec.vocab) as usize;
        let window = |n: i32| usize::try_from(n).map_or(most, |n| n.min(most));
        let seen = if p.has_penalties() { window(p.repeat_last_n) } else { 0 };
        let dry = if p.has_dry() { window(p.dry_penalty_last_n) } else { 0 };
        p.logit_bias.len() + seen + dry <= ADJUST_CAPACITY as usize
    }

    /// Writes the sparse list of biases, counts and DRY penalties for the next id.
    fn write_adjustments(&self, sampler: &Sampler) {
        let mut entries = std::collections::BTreeMap::<u32, (u32, f32, f32)>::new();
        for (id, bias) in sampler.bias_list() {
            entries.entry(*id).or_default().1 = *bias;
        }
        for (id, count) in sampler.penalty_list().tokens {
            entries.entry(id).or_default().0 = count;
        }
        for (id, delta) in sampler.dry_list() {
            entries.entry(id).or_default().2 = delta;
        }
        let mut words = Vec::with_capacity(entries.len() * select::ADJUST_WORDS as usize);
        for (id, (count, bias, delta)) in entries.into_iter().take(ADJUST_CAPACITY as usize) {
            words.extend([id, count, bias.to_bits(), delta.to_bits()]);
        }
        let queue = &self.engine.gpu.queue;
        let n = words.len() as u32 / select::ADJUST_WORDS;
        queue.write_buffer(&self.scratch.adjust_head, 0, bytemuck::bytes_of(&n));
        if !words.is_empty() {
            queue.write_buffer(&self.scratch.adjust, 0, bytemuck::cast_slice(&words));
        }
    }

    /// Turns the device's flag into an error; for a NaN steps are run again with a probe behind every block.
    async fn explain(&mut self, flag: u32, position: u32) -> EngineError {
        if flag == state::FLAG_EMPTY {
            return EngineError::NothingToSample { position };
        }
        let at = position.saturating_sub(1);
        match self.first_nan(at).await {
            Ok((position, where_)) => EngineError::NotANumber { position, where_ },
            Err(e) => EngineError::NotANumber { position: at, where_: e.to_string() },
        }
    }

    /// The first position that goes wrong and the layer where it does, `last` being the one whose logits were bad. What
    /// is wrong at a position is in its keys and values, and so in every later position: halving finds the first.
    async fn first_nan(&mut self, last: u32) -> Result<(u32, String)> {
        let Some(mut found) = self.find_nan(last).await? else {
            return Ok((last, "the output head, here or before (every layer's result is finite)".into()));
        };
        let (mut good, mut bad) = (0, last);
        while good < bad {
            let middle = good + (bad - good) / 2;
            match self.find_nan(middle).await? {
                Some(w) => (bad, found) = (middle, w),
                None => good = middle + 1,
            }
        }
        Ok((bad, found))
    }

    /// Runs one position again: where its result stops being finite, if it does.
    async fn find_nan(&mut self, at: u32) -> Result<Option<String>> {
        let e = self.engine.clone();
        let Some(&id) = self.tokens.get(at as usize) else { return Ok(Some("the ids have moved on".into())) };
        e.gpu.queue.write_buffer(&self.scratch.found, 0, bytemuck::bytes_of(&u32::MAX));
        e.gpu.queue.write_buffer(&self.scratch.ids, 0, bytemuck::bytes_of(&id));
        self.write_state(at, 1);
        let mut uniforms = Uniforms::default();
        let mut r = Recorder::new(&e.gpu, &e.kernels, &e.tuning, &mut uniforms, false);
        graph::body(&mut r, &self.parts(), Width::One, true).await?;
        let mut encoder = e.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        r.recording.encode_pass(&e.gpu, &mut encoder, 1);
        e.gpu.submit([encoder.finish()]);
        let found = readback::read(&e.gpu, &self.scratch.found, 0, 4).await?;
        let found = u32::from_le_bytes([found[0], found[1], found[2], found[3]]);
        Ok(match found {
            u32::MAX => None,
            0 => Some("the embedding".into()),
            n => Some(format!("layer {} of {}", n - 1, e.spec.layers.len())),
        })
    }
}

struct Run<'a> {
    options: &'a AnswerOptions,
    cancel: &'a Cancel,
    max: usize,
    start: Instant,
}

/// What a context shift leaves: the first `keep` ids and the newest, half a context in all.
fn shifted(ids: &[u32], keep: usize, context: usize) -> Vec<u32> {
    let keep = keep.min(context / 4).min(ids.len());
    let tail = (context / 2).saturating_sub(keep).max(1).min(ids.len() - keep);
    let mut out = ids[..keep].to_vec();
    out.extend_from_slice(&ids[ids.len() - tail..]);
    out
}

// The fused decode kernel and the ring must both hold what this loop assumes.
const _: () = assert!(IN_FLIGHT < select::RING as usize && attention::MAX_FUSED_GROUP >= 1);
