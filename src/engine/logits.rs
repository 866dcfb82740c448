//! All logits of a text: for comparison with other engines, and for perplexity.

use super::error::{EngineError, Result};
use super::graph;
use super::load::Engine;
use super::session::{Cancel, Session, floats};
use crate::gpu::{Buffer, STORAGE, Uniforms, readback};
use crate::kernels::{Activations, Recorder};
use std::sync::Arc;

/// The most bytes of logits on the device at a time.
const MOST: u64 = 32 << 20;

/// A sequence that hands out the logits of every position: those that decode steps would give, so with integer
/// activations when the engine has them.
#[derive(Debug)]
pub struct Scorer {
    session: Session,
    all: Buffer,
    head: crate::gpu::Recording,
    _uniforms: Uniforms,
}

impl Scorer {
    /// A scorer on an engine.
    ///
    /// # Errors
    /// Lack of device memory.
    pub async fn new(engine: &Arc<Engine>) -> Result<Self> {
        let row = u64::from(engine.spec.vocab) * 4;
        let most = MOST.min(engine.gpu.caps.max_binding) / row;
        let chunk = (most.max(1) as u32).min(engine.tuning.chunk).min(engine.plan.context);
        let round = engine.tuning.activations == Activations::Int8;
        let session = Session::with_chunk(engine, chunk, round, &|_, _| {}).await?;
        let all = engine.gpu.alloc("all logits", row * u64::from(chunk), STORAGE).await?;
        let mut uniforms = Uniforms::default();
        let mut r = Recorder::new(&engine.gpu, &engine.kernels, &engine.tuning, &mut uniforms, false);
        graph::head_all(&mut r, &session.parts(), &all).await?;
        let head = r.recording;
        Ok(Self { session, all, head, _uniforms: uniforms })
    }

    /// Runs `ids` from position 0 and calls `each` with every position from `from` on and its logits (f32 `[vocab]`,
    /// of the id that follows).
    ///
    /// # Errors
    /// Device errors; ids outside the vocabulary; more ids than the context holds.
    pub async fn score(
        &mut self,
        ids: &[u32],
        from: usize,
        cancel: &Cancel,
        each: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<()> {
        if ids.is_empty() {
            return Err(EngineError::EmptyPrompt);
        }
        let engine = self.session.engine().clone();
        let vocab = engine.spec.vocab as usize;
        self.session.truncate(0);
        // Growing records the session anew, but its activations, which the head reads, stay where they are.
        self.session.reserve(ids.len()).await?;
        let mut done = 0;
        for chunk in ids.chunks(self.session.scratch.chunk as usize) {
            self.session.prefill(chunk, cancel, &mut |_, _| {}).await?;
            if done + chunk.len() > from {
                let mut encoder =
                    engine.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
                self.head.encode_pass(&engine.gpu, &mut encoder, chunk.len() as u32);
                engine.gpu.submit([encoder.finish()]);
                let bytes = (chunk.len() * vocab * 4) as u64;
                let values = floats(&readback::read(&engine.gpu, &self.all, 0, bytes).await?);
                for (i, row) in values.chunks_exact(vocab).enumerate() {
                    if done + i >= from {
                        each(done + i, row);
                    }
                }
            }
            done += chunk.len();
        }
        Ok(())
    }
}
