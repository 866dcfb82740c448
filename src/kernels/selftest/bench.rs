//! What all cases share: random numbers, guarded buffers, running, comparing.

use super::Outcome;
use crate::gpu::error::{GpuError, Result};
use crate::gpu::{Buffer, Gpu, KernelKey, Kernels, Recording, Uniforms, readback};
use crate::kernels::reference::Answer;
use crate::kernels::{Recorder, Tuning};
use crate::weights::SplitMix;

/// Fills what a kernel must not read or must overwrite: a NaN as one f32 and as two f16.
pub(super) const POISON: u32 = 0x7fc1_7fc3;
/// Words behind every buffer's contents.
const GUARD: usize = 64;

/// Random numbers for the cases: the same everywhere.
pub(super) struct Rng(SplitMix);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(SplitMix(seed))
    }

    /// A seed for blocks of the same case.
    pub fn seed(&mut self) -> u64 {
        self.0.next()
    }

    /// Uniform in -1..1.
    pub fn unit(&mut self) -> f32 {
        (self.seed() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    /// Uniform in 0..n.
    pub fn below(&mut self, n: u32) -> u32 {
        (((self.seed() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// Many of [`Rng::unit`], times `size`.
    pub fn floats(&mut self, n: usize, size: f32) -> Vec<f32> {
        (0..n).map(|_| self.unit() * size).collect()
    }
}

/// Runs one case and gathers its outcome.
pub(super) struct Bench<'a> {
    pub gpu: &'a Gpu,
    kernels: &'a Kernels,
    pub tuning: &'a Tuning,
    pub rng: Rng,
    dry: bool,
    /// Times that what is read is there, so that a timed run does not find it in a cache; 0 when nothing is timed.
    pub copies: u32,
    /// What was run, for timing, when `copies` is not 0.
    pub kept: Recording,
    /// Runs in `kept`.
    pub kept_copies: u32,
    /// Keys of a dry run.
    pub keys: Vec<KernelKey>,
    worst: f64,
    allowed: f64,
    /// Error over tolerance of the worst value so far.
    ratio: f64,
    detail: String,
    millis: f64,
}

impl<'a> Bench<'a> {
    pub fn new(gpu: &'a Gpu, kernels: &'a Kernels, tuning: &'a Tuning, seed: u64, dry: bool) -> Self {
        let (keys, detail) = (Vec::new(), String::new());
        let rng = Rng::new(seed);
        Self {
            gpu,
            kernels,
            tuning,
            rng,
            dry,
            copies: 0,
            kept: Recording::default(),
            kept_copies: 0,
            keys,
            worst: 0.0,
            allowed: 0.0,
            ratio: -1.0,
            detail,
            millis: 0.0,
        }
    }

    /// A buffer of words, with a guard of poison behind them.
    pub async fn words(&self, what: &str, words: &[u32]) -> Result<Buffer> {
        if self.dry {
            return self.gpu.alloc(what, 16, crate::gpu::STORAGE).await;
        }
        let mut all = words.to_vec();
        all.resize(words.len().next_multiple_of(4) + GUARD, POISON);
        self.gpu.upload(what, bytemuck::cast_slice(&all)).await
    }

    /// A buffer of floats, with a guard.
    pub async fn floats(&self, what: &str, values: &[f32]) -> Result<Buffer> {
        self.words(what, bytemuck::cast_slice(values)).await
    }

    /// A buffer of poison for `words` words of output.
    pub async fn output(&self, what: &str, words: usize) -> Result<Buffer> {
        self.words(what, &vec![POISON; words]).await
    }

    /// A recorder for this case.
    pub fn recorder(&self, uniforms: &'a mut Uniforms) -> Recorder<'a> {
        Recorder::new(self.gpu, self.kernels, self.tuning, uniforms, self.dry)
    }

    /// Runs what was recorded `times` times for a chunk of `tokens` tokens. False in a dry run: there is nothing to
    /// compare then.
    pub async fn go(&mut self, r: Recorder<'_>, tokens: u32, times: u32) -> Result<bool> {
        if let Some(keys) = r.dry {
            self.keys.extend(keys);
            return Ok(false);
        }
        let recording: Recording = r.recording;
        let start = web_time::Instant::now();
        let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        for _ in 0..times {
            recording.encode_pass(self.gpu, &mut encoder, tokens);
        }
        self.gpu.submit([encoder.finish()]);
        self.gpu.finish().await?;
        self.millis += start.elapsed().as_secs_f64() * 1e3;
        self.keep(recording);
        Ok(true)
    }

    /// Keeps a recording for timing, where that is wanted.
    pub fn keep(&mut self, recording: Recording) {
        if self.copies > 0 {
            self.kept_copies += 1;
            self.kept.list.extend(recording.list);
        }
    }

    /// Reads `words` words back and checks the guard behind them.
    pub async fn read(&mut self, what: &str, buffer: &Buffer, words: usize) -> Result<Vec<u32>> {
        let bytes = readback::read(self.gpu, buffer, 0, buffer.size()).await?;
        let mut all: Vec<u32> = bytemuck::pod_collect_to_vec(&bytes);
        let guard = all.split_off(words.min(all.len()));
        let guard = guard.get(words.next_multiple_of(4) - words..).unwrap_or(&[]);
        if guard.iter().any(|w| *w != POISON) {
            self.fail(format!("{what}: words behind its end were written"));
        }
        Ok(all)
    }

    /// A failure that is not a matter of tolerance.
    pub fn fail(&mut self, detail: String) {
        if self.ratio < f64::INFINITY {
            self.worst = f64::INFINITY;
            self.ratio = f64::INFINITY;
            self.detail = detail;
        }
    }

    /// Notes one error, a fraction of its slack.
    fn note(&mut self, error: f64, allowed: f64, detail: impl FnOnce() -> String) {
        let ratio = error / allowed;
        if ratio > self.ratio {
            self.ratio = ratio;
            self.worst = error;
            self.allowed = allowed;
            self.detail = detail();
        }
    }

    /// Compares floats with a twin's answer. A value with a slack below zero must be untouched: as in `before`.
    pub fn compare(&mut self, what: &str, got: &[u32], before: &[u32], expected: &Answer, tolerance: f64) {
        if got.len() != expected.y.len() || got.len() != expected.slack.len() {
            return self.fail(format!("{what}: {} values, expected {}", got.len(), expected.y.len()));
        }
        for (i, &bits) in got.iter().enumerate() {
            let (y, slack) = (expected.y[i], expected.slack[i]);
            if slack < 0.0 {
                if before.get(i) != Some(&bits) {
                    self.fail(format!("{what}[{i}] was written and must not be"));
                }
                continue;
            }
            let value = f32::from_bits(bits);
            if !value.is_finite() {
                self.fail(format!("{what}[{i}] is {value}, expected {y}"));
                continue;
            }
            let error = (f64::from(value) - y).abs();
            let error = if error <= 1e-30 { 0.0 } else { error / slack };
            self.note(error, tolerance, || format!("{what}[{i}] is {value}, expected {y}"));
        }
    }

    /// Compares words that must be equal.
    pub fn equal(&mut self, what: &str, got: &[u32], expected: &[u32]) {
        if let Some(i) = (0..got.len().max(expected.len())).find(|&i| got.get(i) != expected.get(i)) {
            self.fail(format!("{what}[{i}] is {:?}, expected {:?}", got.get(i), expected.get(i)));
        } else {
            self.note(0.0, 1e-30, String::new);
        }
    }

    /// For a control, whose values mean nothing.
    pub fn nothing_to_compare(&mut self) {
        self.note(0.0, 1e-30, String::new);
    }

    pub fn outcome(&self) -> Outcome {
        // Nothing compared at all is not a pass.
        let passed = (0.0..=1.0).contains(&self.ratio);
        let detail = if self.ratio < 0.0 { "nothing was compared".to_owned() } else { self.detail.clone() };
        Outcome { max_rel_err: self.worst, tolerance: self.allowed, passed, millis: self.millis, detail }
    }
}

/// An answer of `width` values per row, laid into rows of `stride` values; the rest must stay untouched.
pub(super) fn spread(a: &Answer, width: usize, stride: usize) -> Answer {
    let mut out = Answer::default();
    for (y, slack) in a.y.chunks(width).zip(a.slack.chunks(width)) {
        out.y.extend_from_slice(y);
        out.slack.extend_from_slice(slack);
        out.y.resize(out.y.len() + stride - width, 0.0);
        out.slack.resize(out.slack.len() + stride - width, -1.0);
    }
    out
}

/// A fault of the self test's own.
pub(super) fn own_fault(e: impl std::fmt::Display) -> GpuError {
    GpuError::Binding { kernel: "self test".into(), what: e.to_string() }
}
