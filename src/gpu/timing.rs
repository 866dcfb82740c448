//! How long the device spends on a pass: by timestamps where the adapter has them, by the clock elsewhere.

use super::device::Gpu;
use super::error::Result;
use super::readback;
use super::record::Recording;
use web_time::Instant;

/// Seconds of one pass.
#[derive(Clone, Copy, Debug)]
pub struct PassTime {
    /// By the host's clock, from submission to the end of the wait.
    pub wall: f64,
    /// By the device's timestamps.
    pub device: Option<f64>,
}

/// Seconds that a submission and its wait stay below on any sane system; what is longer must show in the timestamps.
const LATENCY: f64 = 5e-3;

impl PassTime {
    /// The device's own figure when there is one that agrees with the clock.
    pub fn seconds(&self) -> f64 {
        let agrees = |d: &f64| *d <= self.wall * 1.25 && (self.wall < LATENCY || *d >= self.wall * 0.25);
        self.device.filter(agrees).unwrap_or(self.wall)
    }
}

/// Measures passes.
#[derive(Debug)]
pub struct Timer {
    queries: Option<(wgpu::QuerySet, wgpu::Buffer)>,
}

impl Timer {
    /// A timer for a device. A software driver's timestamps tell when a list of commands was taken apart, not when the
    /// work was done (llvmpipe gives both ends of a pass nearly the same one), so the clock serves there.
    pub fn new(gpu: &Gpu) -> Self {
        let queries = (gpu.caps.timestamps && !gpu.caps.cpu).then(|| {
            let set = gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("timer"),
                ty: wgpu::QueryType::Timestamp,
                count: 2,
            });
            let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("timer"),
                size: 16,
                usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            });
            (set, buffer)
        });
        Self { queries }
    }

    /// Runs the dispatches of a recording that `keep` lets through, `repeats` times in one pass, and waits.
    ///
    /// # Errors
    /// The device's error.
    pub async fn run(
        &self,
        gpu: &Gpu,
        recording: &Recording,
        tokens: u32,
        repeats: u32,
        keep: &dyn Fn(usize) -> bool,
    ) -> Result<PassTime> {
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let writes = self.queries.as_ref().map(|(set, _)| wgpu::ComputePassTimestampWrites {
            query_set: set,
            beginning_of_pass_write_index: Some(0),
            end_of_pass_write_index: Some(1),
        });
        {
            let desc = wgpu::ComputePassDescriptor { label: Some("timed"), timestamp_writes: writes };
            let mut pass = encoder.begin_compute_pass(&desc);
            for _ in 0..repeats {
                for i in (0..recording.list.len()).filter(|i| keep(*i)) {
                    recording.encode(gpu, &mut pass, i..i + 1, tokens);
                }
            }
        }
        if let Some((set, buffer)) = &self.queries {
            encoder.resolve_query_set(set, 0..2, buffer, 0);
        }
        let start = Instant::now();
        gpu.submit([encoder.finish()]);
        gpu.finish().await?;
        let wall = start.elapsed().as_secs_f64();
        let device = match &self.queries {
            None => None,
            Some((_, buffer)) => {
                let b = readback::read(gpu, buffer, 0, 16).await?;
                let word = |i: usize| b[i..i + 8].iter().rev().fold(0u64, |n, x| n << 8 | u64::from(*x));
                let ticks = word(8).saturating_sub(word(0));
                // Some drivers answer with zeros; the clock is better than nothing.
                (ticks > 0).then(|| ticks as f64 * f64::from(gpu.queue.get_timestamp_period()) * 1e-9)
            }
        };
        Ok(PassTime { wall, device })
    }
}

#[cfg(test)]
mod tests {
    use super::PassTime;

    #[test]
    fn timestamps_that_contradict_the_clock_are_not_believed() {
        let of = |wall, device| PassTime { wall, device: Some(device) }.seconds();
        // A short pass is mostly latency.
        assert_eq!(of(2e-4, 1e-6), 1e-6);
        assert_eq!(of(1e-1, 9e-2), 9e-2);
        assert_eq!(of(1e-1, 1e-6), 1e-1);
        assert_eq!(of(1e-2, 1.0), 1e-2);
        assert_eq!(PassTime { wall: 1.0, device: None }.seconds(), 1.0);
    }
}
