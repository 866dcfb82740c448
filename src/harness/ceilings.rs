//! What an adapter reaches with kernels that do one thing: the denominators of every fraction in a report.

use super::median;
use super::report::{Ceilings, Rate};
use crate::gpu::error::{GpuError, Result};
use crate::gpu::record::Groups;
use crate::gpu::timing::Timer;
use crate::gpu::{Buffer, Dispatch, Gpu, KernelKey, Kernels, Recording, STORAGE, Uniforms};
use web_time::Instant;

/// Rounds per geometry; the best round counts as the ceiling, the others are its range.
const ROUNDS: usize = 5;

/// Bytes that the read test goes through on a kind of adapter: more than a cache, less than baseline's binding.
pub fn read_bytes(gpu: &Gpu) -> u64 {
    let wanted = 96 << 20;
    wanted.min(gpu.caps.max_binding).min(gpu.caps.max_buffer) / 4096 * 4096
}

/// Measures all ceilings. `progress` gets what is next, how many are done, and of how many.
///
/// # Errors
/// Errors of the device. A kernel that the adapter refuses leaves its ceiling at zero.
pub async fn measure(
    gpu: &Gpu,
    kernels: &Kernels,
    progress: &mut dyn FnMut(&str, usize, usize),
) -> Result<Ceilings> {
    let bench = Ceiling { gpu, kernels, timer: Timer::new(gpu) };
    let mut out = Ceilings::default();
    progress("read", 0, 6);
    out.read = bench.read().await?;
    progress("copy", 1, 6);
    out.copy = bench.copy().await?;
    progress("f32", 2, 6);
    out.f32 = bench.math("f32").await?;
    progress("f16", 3, 6);
    out.f16 = if gpu.caps.f16 { Some(bench.math("f16").await?) } else { None };
    progress("dot4", 4, 6);
    out.dot4 = bench.math("dot4").await?;
    progress("launches", 5, 6);
    (out.dispatch_s, out.pass_s, out.submit_s) = bench.launches().await?;
    progress("", 6, 6);
    Ok(out)
}

/// The read ceiling alone.
///
/// # Errors
/// As [`measure`].
pub async fn read(gpu: &Gpu, kernels: &Kernels) -> Result<Rate> {
    Ceiling { gpu, kernels, timer: Timer::new(gpu) }.read().await
}

struct Ceiling<'a> {
    gpu: &'a Gpu,
    kernels: &'a Kernels,
    timer: Timer,
}

/// The words of one candidate: its name, and what to record.
struct Candidate<'a> {
    variant: String,
    key: KernelKey,
    params: Vec<(&'static str, u32)>,
    buffers: Vec<(&'static str, &'a Buffer)>,
    groups: u32,
}

impl Ceiling<'_> {
    async fn record(&self, c: &Candidate<'_>) -> Result<Recording> {
        let kernel = self.kernels.get(self.gpu, &c.key)?;
        let params: Vec<_> = c.params.iter().map(|(n, v)| (*n, (*v).into())).collect();
        let buffers: Vec<_> = c.buffers.iter().map(|(n, b)| (*n, (*b).into())).collect();
        let groups = Groups::Fixed([c.groups, 1, 1]);
        let mut uniforms = Uniforms::default();
        let d = Dispatch::new(self.gpu, &mut uniforms, &kernel, &params, &buffers, groups).await?;
        Ok(Recording { list: vec![d] })
    }

    /// The best of some candidates that each do `work` units in a dispatch.
    async fn best(&self, candidates: &[Candidate<'_>], work: f64) -> Result<Rate> {
        let mut best = Rate::default();
        for c in candidates {
            let recording = match self.record(c).await {
                Ok(r) => r,
                Err(e @ GpuError::Lost(_)) => return Err(e),
                Err(e) => {
                    log::info!("{}: {e}", c.key);
                    continue;
                }
            };
            // Once to compile and warm up, and to learn how often it must run for a clock to see it.
            let once = self.timer.run(self.gpu, &recording, 1, 1, &|_| true).await?.seconds();
            let again = self.timer.run(self.gpu, &recording, 1, 1, &|_| true).await?.seconds();
            let times = (0.02 / once.min(again).max(1e-7)).clamp(1.0, 100.0) as u32;
            let mut rates = Vec::new();
            for _ in 0..ROUNDS {
                let t = self.timer.run(self.gpu, &recording, 1, times, &|_| true).await?.seconds();
                rates.push(work * f64::from(times) / t.max(1e-9));
            }
            let (_, range) = median(&rates);
            if range[1] > best.per_second {
                best = Rate { per_second: range[1], range, variant: c.variant.clone() };
            }
        }
        Ok(best)
    }

    async fn read(&self) -> Result<Rate> {
        let bytes = read_bytes(self.gpu);
        let words = (bytes / 16) as u32;
        let src = self.gpu.alloc("read test", bytes, STORAGE).await?;
        let sums = self.gpu.alloc("read test sums", u64::from(words) * 4, STORAGE).await?;
        let mut list = Vec::new();
        for apart in [false, true] {
            for wg in [32, 64, 256] {
                for each in [16, 64, 512] {
                    let groups = words.div_ceil(wg * each);
                    if groups <= self.gpu.caps.max_groups {
                        list.push(Candidate {
                            variant: format!("wg={wg} each={each}{}", if apart { " apart" } else { "" }),
                            key: KernelKey::new("bench_read").flag("APART", apart).constant("WG", wg),
                            params: vec![("words", words), ("each", each)],
                            buffers: vec![("src", &src), ("sums", &sums)],
                            groups,
                        });
                    }
                }
            }
        }
        self.best(&list, bytes as f64).await
    }

    async fn copy(&self) -> Result<Rate> {
        let bytes = read_bytes(self.gpu) / 2 / 16 * 16;
        let words = (bytes / 16) as u32;
        let src = self.gpu.alloc("copy test", bytes, STORAGE).await?;
        let dst = self.gpu.alloc("copy test target", bytes, STORAGE).await?;
        let mut list = Vec::new();
        for wg in [32, 64, 256] {
            for each in [4, 32] {
                let groups = words.div_ceil(wg * each);
                if groups <= self.gpu.caps.max_groups {
                    list.push(Candidate {
                        variant: format!("wg={wg} each={each}"),
                        key: KernelKey::new("bench_copy").constant("WG", wg),
                        params: vec![("words", words), ("each", each)],
                        buffers: vec![("src", &src), ("dst", &dst)],
                        groups,
                    });
                }
            }
        }
        self.best(&list, 2.0 * bytes as f64).await
    }

    async fn math(&self, mode: &str) -> Result<Rate> {
        let cpu = self.gpu.caps.cpu;
        // Enough invocations to fill any GPU; a CPU needs few.
        let invocations: u32 = if cpu { 4096 } else { 1 << 18 };
        let loops = 512;
        let sums = self.gpu.alloc("math test", u64::from(invocations) * 4, STORAGE).await?;
        let list: Vec<_> = [32, 64, 256]
            .into_iter()
            .map(|wg| Candidate {
                variant: format!("wg={wg}"),
                key: KernelKey::new("bench_math").define("MODE", mode).constant("WG", wg),
                params: vec![("loops", loops), ("seed", 0)],
                buffers: vec![("sums", &sums)],
                groups: invocations / wg,
            })
            .collect();
        self.best(&list, f64::from(invocations) * f64::from(loops) * 64.0).await
    }

    /// Seconds of one more dispatch, of one more pass, of one more submission with its wait; medians by the host's clock.
    async fn launches(&self) -> Result<(f64, f64, f64)> {
        let sums = self.gpu.alloc("launch test", 128, STORAGE).await?;
        let recording = self
            .record(&Candidate {
                variant: String::new(),
                key: KernelKey::new("bench_launch").constant("WG", 32),
                params: vec![("one", 1)],
                buffers: vec![("sums", &sums)],
                groups: 1,
            })
            .await?;
        let run = async |submits: u32, passes: u32, dispatches: u32| -> Result<f64> {
            let start = Instant::now();
            for _ in 0..submits {
                let mut encoder =
                    self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
                for _ in 0..passes {
                    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                    for _ in 0..dispatches {
                        recording.encode(self.gpu, &mut pass, 0..1, 1);
                    }
                }
                self.gpu.submit([encoder.finish()]);
                self.gpu.finish().await?;
            }
            Ok(start.elapsed().as_secs_f64())
        };
        run(2, 2, 2).await?;
        let (mut dispatch, mut pass, mut submit) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let one = run(10, 1, 1).await? / 10.0;
            submit.push(one);
            dispatch.push((run(1, 1, 401).await? - one).max(0.0) / 400.0);
            pass.push((run(1, 101, 1).await? - one).max(0.0) / 100.0);
        }
        Ok((median(&dispatch).0, median(&pass).0, median(&submit).0))
    }
}
