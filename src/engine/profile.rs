//! Where the time of a decode step goes: the step's dispatches run again, kernel by kernel.

use super::error::Result;
use super::session::Session;
use crate::gpu::timing::Timer;
use crate::harness::median;
use std::collections::BTreeMap;
use web_time::Instant;

/// The kernels whose work grows with the context.
const ATTENTION: [&str; 3] = ["attention", "attention_sg", "attn_merge"];

/// Seconds of a decode step.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The whole step: all blocks and the head.
    pub step_s: f64,
    /// The blocks without the kernels whose work grows with the context.
    pub rest_s: f64,
    /// Per shader: seconds in all, dispatches.
    pub kernels: BTreeMap<String, (f64, usize)>,
}

impl Profile {
    /// Seconds of attention: the kernels whose work grows with the context.
    pub fn attention_s(&self) -> f64 {
        let ours = |k: &&str| self.kernels.get(*k).map_or(0.0, |v| v.0);
        ATTENTION.iter().map(ours).sum()
    }
}

/// What a decode step costs besides the device's work.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepCost {
    /// Seconds the host spends on encoding and submitting a step that is recorded already.
    pub host_s: f64,
    /// Seconds of a step, replayed from its recording.
    pub replayed_s: f64,
    /// Seconds of a step that is recorded anew: bind groups, parameters and all.
    pub recorded_s: f64,
    /// Dispatches of a block, on average.
    pub dispatches_per_layer: f64,
}

impl Session {
    /// Times `steps` decode steps at `position` with and without the recording, in `rounds` interleaved rounds; medians.
    /// The sequence is emptied.
    ///
    /// # Errors
    /// Device errors; a position beyond the context.
    pub async fn step_cost(&mut self, position: u32, steps: usize, rounds: usize) -> Result<StepCost> {
        self.truncate(0);
        self.reserve(position as usize + 1).await?;
        self.advance(position);
        let gpu = self.engine.gpu.clone();
        gpu.queue.write_buffer(&self.scratch.ids, 0, bytemuck::bytes_of(&0u32));
        let (mut host, mut replayed, mut recorded) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds.max(1) {
            for anew in [false, true] {
                let mut on_host = 0.0;
                let start = Instant::now();
                for _ in 0..steps.max(1) {
                    let begin = Instant::now();
                    self.write_state(position, 1);
                    if anew {
                        self.record(&|_, _| {}).await?;
                    }
                    let (one, head) = (&self.recorded.one, &self.recorded.head);
                    let desc = wgpu::CommandEncoderDescriptor::default();
                    let mut encoder = gpu.device.create_command_encoder(&desc);
                    {
                        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                        one.encode(&gpu, &mut pass, 0..one.list.len(), 1);
                        head.encode(&gpu, &mut pass, 0..head.list.len(), 1);
                    }
                    gpu.submit([encoder.finish()]);
                    on_host += begin.elapsed().as_secs_f64();
                    gpu.finish().await?;
                }
                let n = steps.max(1) as f64;
                let each = start.elapsed().as_secs_f64() / n;
                if anew {
                    recorded.push(each);
                } else {
                    replayed.push(each);
                    host.push(on_host / n);
                }
            }
        }
        Ok(StepCost {
            host_s: median(&host).0,
            replayed_s: median(&replayed).0,
            recorded_s: median(&recorded).0,
            dispatches_per_layer: {
                let blocks = self.engine.spec.layers.len().max(1);
                let lookups = self.engine.weights.embedding.parts().count();
                (self.recorded.one.list.len() - lookups.min(self.recorded.one.list.len())) as f64
                    / blocks as f64
            },
        })
    }

    /// Times a decode step at `position`, the least of `rounds` rounds. The sequence is emptied: what the cache holds
    /// does not change how long a step takes.
    ///
    /// # Errors
    /// Device errors; a position beyond the context.
    pub async fn profile(&mut self, position: u32, rounds: u32) -> Result<Profile> {
        self.truncate(0);
        self.reserve(position as usize + 1).await?;
        self.advance(position);
        let gpu = self.engine.gpu.clone();
        let timer = Timer::new(&gpu);
        gpu.queue.write_buffer(&self.scratch.ids, 0, bytemuck::bytes_of(&0u32));
        self.write_state(position, 1);
        let one = &self.recorded.one;
        let head = &self.recorded.head;
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        for d in &one.list {
            *names.entry(d.kernel.key.shader.clone()).or_default() += 1;
        }
        let mut out = Profile { step_s: f64::INFINITY, rest_s: f64::INFINITY, kernels: BTreeMap::new() };
        for _ in 0..rounds.max(1) {
            let body = timer.run(&gpu, one, 1, 1, &|_| true).await?.seconds();
            let top = timer.run(&gpu, head, 1, 1, &|_| true).await?.seconds();
            out.step_s = out.step_s.min(body + top);
            let rest = |i: usize| {
                one.list.get(i).is_some_and(|d| !ATTENTION.contains(&d.kernel.key.shader.as_str()))
            };
            out.rest_s = out.rest_s.min(timer.run(&gpu, one, 1, 1, &rest).await?.seconds());
            for (name, count) in &names {
                let ours = |i: usize| one.list.get(i).is_some_and(|d| d.kernel.key.shader == *name);
                let t = timer.run(&gpu, one, 1, 1, &ours).await?.seconds();
                let slot = out.kernels.entry(name.clone()).or_insert((f64::INFINITY, *count));
                slot.0 = slot.0.min(t);
            }
            let slot = out.kernels.entry("head".into()).or_insert((f64::INFINITY, head.list.len()));
            slot.0 = slot.0.min(top);
        }
        Ok(out)
    }
}
