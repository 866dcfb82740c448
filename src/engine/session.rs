//! One sequence: its cache, its recorded steps, and the ids it holds.

use super::error::{EngineError, Result};
use super::graph::{self, Parts, Width};
use super::load::Engine;
use super::plan::FIRST_CAPACITY;
use super::scratch::Scratch;
use crate::gpu::readback::Slot;
use crate::gpu::{Buffer, Recording, STORAGE, Uniforms};
use crate::kernels::{Recorder, state};
use crate::kv::KvCache;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use web_time::Instant;

/// A flag by which another thread (or a handler of Ctrl-C) stops a computation between two submissions.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Takes the wish back, before the next answer.
    pub fn reset(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Steps recorded over the present buffers.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub one: Recording,
    pub chunk: Recording,
    pub head: Recording,
    pub seal: Recording,
    pub select: Recording,
    _uniforms: Uniforms,
}

/// One sequence on an engine.
#[derive(Debug)]
pub struct Session {
    pub(crate) engine: Arc<Engine>,
    pub(crate) cache: KvCache,
    ropes: Vec<Buffer>,
    pub(crate) scratch: Scratch,
    pub(crate) recorded: Recorded,
    /// The recordings no longer fit the buffers: a growth failed half-way.
    stale: bool,
    /// Ids of the sequence.
    pub(crate) tokens: Vec<u32>,
    /// Positions whose keys and values are in the cache; at most `tokens.len()`.
    pub(crate) cached: usize,
    /// Sampled ids so far, modulo 2^32: the device's counter.
    pub(crate) step: u32,
    pub(crate) seed: u64,
    /// Seconds spent waiting at most for one prefill submission, for tests.
    pub longest_submission: f64,
    fences: [Slot; 2],
    pub(crate) slots: Vec<Slot>,
    pub(crate) logits_slot: Slot,
}

/// Steps that may be under way while the host reads an older one's id.
pub(crate) const IN_FLIGHT: usize = 3;

impl Session {
    /// An empty sequence.
    ///
    /// # Errors
    /// Lack of device memory.
    pub async fn new(engine: &Arc<Engine>) -> Result<Self> {
        Self::with_progress(engine, &|_, _| {}).await
    }

    /// As [`Session::new`]; `progress` gets (kernels compiled, kernels) from several threads.
    ///
    /// # Errors
    /// Lack of device memory.
    pub async fn with_progress(
        engine: &Arc<Engine>,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Self> {
        let chunk = engine.tuning.chunk.min(engine.plan.context).max(1);
        Self::with_chunk(engine, chunk, false, progress).await
    }

    /// An empty sequence that prefills `chunk` tokens at a time; with `round` chunks compute as decode steps with integer
    /// activations do.
    pub(crate) async fn with_chunk(
        engine: &Arc<Engine>,
        chunk: u32,
        round: bool,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Self> {
        let (gpu, spec) = (&engine.gpu, &engine.spec);
        gpu.check()?;
        let capacity = FIRST_CAPACITY.min(engine.plan.context);
        let kv = engine.plan.kv_spec;
        let shapes: Vec<_> = spec.layers.iter().map(|l| graph::shape(spec, l, kv.plain)).collect();
        let cache = KvCache::new(gpu, &shapes, capacity, chunk, kv).await?;
        let mut scratch = Scratch::new(gpu, spec, &engine.tuning, chunk, kv).await?;
        scratch.round = round;
        let ropes = rope_tables(engine, cache.capacity).await?;
        let mut session = Self {
            engine: engine.clone(),
            cache,
            ropes,
            scratch,
            recorded: Recorded::default(),
            stale: false,
            tokens: Vec::new(),
            cached: 0,
            step: 0,
            seed: 0,
            longest_submission: 0.0,
            fences: [Slot::new(gpu, 4), Slot::new(gpu, 4)],
            slots: (0..IN_FLIGHT).map(|_| Slot::new(gpu, 8)).collect(),
            logits_slot: Slot::new(gpu, u64::from(spec.vocab) * 4),
        };
        session.record(progress).await?;
        engine.kernels.save();
        Ok(session)
    }

    /// The ids of the sequence.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// The engine.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Bytes of the cache as it is allocated now.
    pub fn cache_bytes(&self) -> u64 {
        self.cache.bytes()
    }

    /// Cuts the sequence back to its first `len` tokens. Where pages are sealed, up to
    /// a window more is forgotten and computed again with what follows, so that the window is plain.
    pub fn truncate(&mut self, len: usize) {
        self.tokens.truncate(len);
        if len < self.cached || len == 0 {
            self.cached = self.cache.cut(&self.engine.gpu, len as u32) as usize;
        }
    }

    /// To be called before positions from `start` on are computed: pages that leave the window are sealed.
    pub(crate) fn advance(&mut self, start: u32) {
        let engine = self.engine.clone();
        let Some(jobs) = self.cache.advance(&engine.gpu, start) else { return };
        if jobs > 0 {
            let mut encoder =
                engine.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            self.recorded.seal.encode_pass(&engine.gpu, &mut encoder, jobs);
            engine.gpu.submit([encoder.finish()]);
        }
        self.cache.sealed(&engine.gpu);
    }

    pub(crate) fn parts(&self) -> Parts<'_> {
        Parts {
            spec: &self.engine.spec,
            weights: &self.engine.weights,
            scratch: &self.scratch,
            cache: &self.cache,
            ropes: &self.ropes,
        }
    }

    /// Records the steps anew, after buffers have changed. Kernels are compiled together first.
    pub(crate) async fn record(&mut self, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<()> {
        let e = self.engine.clone();
        let mut keys = Vec::new();
        let mut lists = Vec::new();
        let mut uniforms = Uniforms::default();
        for dry in [true, false] {
            lists.clear();
            for part in 0..4 {
                let mut r = Recorder::new(&e.gpu, &e.kernels, &e.tuning, &mut uniforms, dry);
                match part {
                    0 => graph::body(&mut r, &self.parts(), Width::One, false).await?,
                    1 => graph::body(&mut r, &self.parts(), Width::Chunk, false).await?,
                    2 => graph::head(&mut r, &self.parts()).await?,
                    _ => graph::seal(&mut r, &self.parts()).await?,
                }
                keys.extend(r.dry.take().unwrap_or_default());
                lists.push(r.recording);
            }
            if dry {
                e.kernels.prepare(&e.gpu, &keys, progress)?;
            }
        }
        let mut lists = lists.into_iter();
        self.recorded = Recorded {
            one: lists.next().unwrap_or_default(),
            chunk: lists.next().unwrap_or_default(),
            head: lists.next().unwrap_or_default(),
            seal: lists.next().unwrap_or_default(),
            select: std::mem::take(&mut self.recorded.select),
            _uniforms: uniforms,
        };
        Ok(())
    }

    /// Makes room for `positions` positions, growing by doubling up to the context.
    pub(crate) async fn reserve(&mut self, positions: usize) -> Result<()> {
        let context = self.engine.plan.context;
        if positions <= self.cache.capacity.min(context) as usize && !self.stale {
            return Ok(());
        }
        let need = u32::try_from(positions).ok().filter(|n| *n <= context);
        let need = need.ok_or(EngineError::ContextFull {
            prompt: positions.saturating_sub(self.cached),
            held: self.cached,
            context,
        })?;
        let e = self.engine.clone();
        // Bind groups keep their buffers alive: without the old recordings, a layer's old cache goes as its new one comes.
        // Until everything is recorded again the session is stale, so that a failure on the way is made good next time.
        self.stale = true;
        self.recorded.one = Recording::default();
        self.recorded.chunk = Recording::default();
        self.recorded.head = Recording::default();
        self.recorded.seal = Recording::default();
        if need > self.cache.capacity {
            let capacity = need.max(self.cache.capacity.saturating_mul(2)).min(context);
            self.cache.grow(&e.gpu, capacity).await?;
        }
        self.ropes.clear();
        self.ropes = rope_tables(&e, self.cache.capacity).await?;
        self.record(&|_, _| {}).await?;
        self.stale = false;
        Ok(())
    }

    /// Writes the step state: the next chunk starts at `pos` and has `tokens` tokens.
    pub(crate) fn write_state(&self, pos: u32, tokens: u32) {
        let mut words = [0u32; state::WORDS];
        words[state::POS] = pos;
        words[state::TOKENS] = tokens;
        words[state::STEP] = self.step;
        words[state::SEED_LO] = self.seed as u32;
        words[state::SEED_HI] = (self.seed >> 32) as u32;
        self.engine.gpu.queue.write_buffer(&self.scratch.state, 0, bytemuck::cast_slice(&words));
    }

    pub(crate) fn check_ids(&self, ids: &[u32]) -> Result<()> {
        let vocab = self.engine.spec.vocab;
        match ids.iter().find(|id| **id >= vocab) {
            Some(&id) => Err(EngineError::TokenId { id, vocab }),
            None => Ok(()),
        }
    }

    /// Appends ids to the sequence and computes their keys and values, in chunks; the last chunk's residual stream
    /// stays in `scratch.x` and the state describes that chunk. `each` runs after every chunk's submissions.
    pub(crate) async fn prefill(
        &mut self,
        ids: &[u32],
        cancel: &Cancel,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<()> {
        self.check_ids(ids)?;
        self.truncate(self.cached);
        let context = self.engine.plan.context;
        if self.cached + ids.len() > context as usize {
            return Err(EngineError::ContextFull { prompt: ids.len(), held: self.cached, context });
        }
        self.reserve(self.cached + ids.len()).await?;
        let mut done = 0;
        progress(0, ids.len());
        for chunk in ids.chunks(self.scratch.chunk as usize) {
            self.chunk(chunk, cancel).await?;
            done += chunk.len();
            progress(done, ids.len());
        }
        Ok(())
    }

    async fn chunk(&mut self, ids: &[u32], cancel: &Cancel) -> Result<()> {
        let engine = self.engine.clone();
        let gpu = &engine.gpu;
        let n = ids.len() as u32;
        self.fences.iter_mut().for_each(Slot::reset);
        gpu.queue.write_buffer(&self.scratch.ids, 0, bytemuck::cast_slice(ids));
        self.advance(self.cached as u32);
        self.write_state(self.cached as u32, n);
        let list = &self.recorded.chunk.list;
        let (mut at, mut pending, mut which) = (0, None::<usize>, 0);
        let mut since = Instant::now();
        let mut failed = None;
        while at < list.len() || pending.is_some() {
            let mut next = None;
            if at < list.len() && failed.is_none() {
                let budget = engine.submit_budget.load(Ordering::Relaxed);
                let mut end = at;
                let mut cost = 0u64;
                while let Some(d) = list.get(end) {
                    let c = d.cost.saturating_mul(u64::from(n));
                    if end > at && cost.saturating_add(c) > budget {
                        break;
                    }
                    cost = cost.saturating_add(c);
                    end += 1;
                }
                let mut encoder =
                    gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
                {
                    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                    self.recorded.chunk.encode(gpu, &mut pass, at..end, n);
                }
                encoder.copy_buffer_to_buffer(&self.scratch.state, 0, self.fences[which].buffer(), 0, 4);
                let submission = gpu.submit([encoder.finish()]);
                self.fences[which].request(submission);
                next = Some(which);
                which = 1 - which;
                at = end;
            }
            if let Some(fence) = pending {
                self.fences[fence].wait(gpu, |_| ()).await?;
                let took = since.elapsed().as_secs_f64();
                since = Instant::now();
                self.longest_submission = self.longest_submission.max(took);
                // Towards 80 ms, by at most a factor of two at a time.
                let budget = engine.submit_budget.load(Ordering::Relaxed) as f64;
                let budget = budget * (0.08 / took.max(1e-4)).clamp(0.5, 2.0);
                engine.submit_budget.store(budget.clamp(1e6, 1e15) as u64, Ordering::Relaxed);
                if cancel.is_cancelled() {
                    failed = Some(EngineError::Cancelled);
                }
            }
            pending = next;
            if failed.is_some() && pending.is_none() {
                break;
            }
        }
        match failed {
            Some(e) => Err(e),
            None => {
                self.tokens.extend_from_slice(ids);
                self.cached += ids.len();
                Ok(())
            }
        }
    }
}

/// Little-endian bytes as f32 values.
pub(crate) fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

async fn rope_tables(engine: &Engine, capacity: u32) -> Result<Vec<Buffer>> {
    let gpu = &engine.gpu;
    let mut out = Vec::new();
    for r in &engine.spec.ropes {
        let row = u64::from(r.dims) * 4;
        let b = gpu.alloc("rotary table", row.max(8) * u64::from(capacity), STORAGE).await?;
        let mut at = 0;
        // In pieces, so that a long table never exists twice.
        while at < capacity {
            let to = (at + 4096).min(capacity);
            gpu.write(&b, row * u64::from(at), bytemuck::cast_slice(&r.table(at, to)));
            at = to;
        }
        out.push(b);
    }
    Ok(out)
}
