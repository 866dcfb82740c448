//! Where the time of a decode step goes: the step's dispatches run again, kernel by kernel.

use super::error::Result;
use super::session::Session;
use crate::gpu::timing::Timer;
use std::collections::BTreeMap;

/// Seconds of a decode step.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The whole step: all blocks and the head.
    pub step_s: f64,
    /// Per shader: seconds in all, dispatches.
    pub kernels: BTreeMap<String, (f64, usize)>,
}

impl Profile {
    /// Seconds of attention: the kernels whose work grows with the context.
    pub fn attention_s(&self) -> f64 {
        let ours = |k: &&str| self.kernels.get(*k).map_or(0.0, |v| v.0);
        ["attention", "attn_merge"].iter().map(ours).sum()
    }
}

impl Session {
    /// Times a decode step at `position`, the least of `rounds` rounds. The sequence is emptied: what the cache holds
    /// does not change how long a step takes.
    ///
    /// # Errors
    /// Device errors; a position beyond the context.
    pub async fn profile(&mut self, position: u32, rounds: u32) -> Result<Profile> {
        self.truncate(0);
        self.reserve(position as usize + 1).await?;
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
        let mut out = Profile { step_s: f64::INFINITY, kernels: BTreeMap::new() };
        for _ in 0..rounds.max(1) {
            let body = timer.run(&gpu, one, 1, 1, &|_| true).await?.seconds();
            let top = timer.run(&gpu, head, 1, 1, &|_| true).await?.seconds();
            out.step_s = out.step_s.min(body + top);
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
