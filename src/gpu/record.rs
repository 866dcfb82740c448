//! Recording: dispatches with their bind groups made once, replayed as often as wanted.

use super::device::{Buffer, Counters, Gpu};
use super::error::{GpuError, Result};
use super::pipeline::Kernel;
use super::preprocess::Access;
use std::sync::Arc;

/// A value of a field of a kernel's `struct Params`.
#[derive(Clone, Copy, Debug)]
pub enum Arg {
    /// For a u32 or i32 field.
    U(u32),
    /// For an f32 field.
    F(f32),
}

impl From<u32> for Arg {
    fn from(v: u32) -> Self {
        Self::U(v)
    }
}

impl From<f32> for Arg {
    fn from(v: f32) -> Self {
        Self::F(v)
    }
}

/// Part of a buffer, for binding.
#[derive(Clone, Copy, Debug)]
pub struct Span<'a> {
    /// The buffer.
    pub buffer: &'a wgpu::Buffer,
    /// First byte; a multiple of the adapter's alignment.
    pub offset: u64,
    /// Bytes; `None` to the end.
    pub bytes: Option<u64>,
}

impl<'a> From<&'a Buffer> for Span<'a> {
    fn from(b: &'a Buffer) -> Self {
        Self { buffer: b, offset: 0, bytes: None }
    }
}

/// Uniform blocks of many dispatches packed into few buffers.
#[derive(Debug, Default)]
pub struct Uniforms {
    blocks: Vec<Buffer>,
    used: u64,
}

const BLOCK: u64 = 64 * 1024;

impl Uniforms {
    async fn push(&mut self, gpu: &Gpu, words: &[u32]) -> Result<(usize, u64, u64)> {
        let bytes = (words.len() as u64 * 4).max(16).next_multiple_of(16);
        let step = bytes.next_multiple_of(gpu.caps.align.max(16));
        if self.blocks.is_empty() || self.used + step > BLOCK {
            let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
            self.blocks.push(gpu.alloc("kernel parameters", BLOCK, usage).await?);
            self.used = 0;
        }
        let at = self.used;
        self.used += step;
        let block = self.blocks.len() - 1;
        gpu.queue.write_buffer(&self.blocks[block], at, bytemuck::cast_slice(words));
        Ok((block, at, bytes))
    }
}

/// How many workgroups a dispatch starts.
#[derive(Clone, Copy, Debug)]
pub enum Groups {
    /// Always these.
    Fixed([u32; 3]),
    /// `x` and `z` fixed, `y = ceil(tokens * per_token / tile)` for the number of tokens of a prefill chunk.
    Tokens {
        /// Workgroups in x.
        x: u32,
        /// Items per token.
        per_token: u32,
        /// Items per workgroup.
        tile: u32,
        /// Workgroups in z.
        z: u32,
    },
}

impl Groups {
    /// The counts for a chunk of `tokens` tokens.
    pub fn at(self, tokens: u32) -> [u32; 3] {
        match self {
            Self::Fixed(g) => g,
            Self::Tokens { x, per_token, tile, z } => [x, (tokens * per_token).div_ceil(tile), z],
        }
    }
}

/// One recorded dispatch.
#[derive(Debug)]
pub struct Dispatch {
    /// The kernel.
    pub kernel: Arc<Kernel>,
    group: wgpu::BindGroup,
    /// Workgroups.
    pub groups: Groups,
    /// Rough cost (multiply-adds per token), by which long recordings are cut into submissions.
    pub cost: u64,
}

impl Dispatch {
    /// Binds buffers and parameters by the names that the shader declares.
    ///
    /// # Errors
    /// A name missing or unknown on either side, a buffer bound twice where one binding writes it, a span beyond
    /// the adapter's binding limit, too many workgroups.
    pub async fn new(
        gpu: &Gpu,
        uniforms: &mut Uniforms,
        kernel: &Arc<Kernel>,
        params: &[(&str, Arg)],
        buffers: &[(&str, Span<'_>)],
        groups: Groups,
    ) -> Result<Self> {
        let fail = |what: String| GpuError::Binding { kernel: kernel.key.to_string(), what };
        let mut words = Vec::with_capacity(kernel.reflection.params.len());
        for field in &kernel.reflection.params {
            let arg = params.iter().find(|p| p.0 == field.name);
            words.push(match (arg.map(|a| a.1), field.float) {
                (Some(Arg::U(v)), false) => v,
                (Some(Arg::F(v)), true) => v.to_bits(),
                (Some(_), _) => return Err(fail(format!("parameter {} has the other type", field.name))),
                (None, _) => return Err(fail(format!("parameter {} is missing", field.name))),
            });
        }
        if let Some(p) = params.iter().find(|p| !kernel.reflection.params.iter().any(|f| f.name == p.0)) {
            return Err(fail(format!("no parameter {}", p.0)));
        }
        let block = uniforms.push(gpu, &words).await?;
        let mut entries = Vec::new();
        let mut seen: Vec<(&wgpu::Buffer, bool, &str)> = Vec::new();
        for b in &kernel.reflection.bindings {
            let span = if b.access == Access::Uniform {
                Span { buffer: &uniforms.blocks[block.0], offset: block.1, bytes: Some(block.2) }
            } else {
                let span = buffers.iter().find(|x| x.0 == b.name);
                let span = span.ok_or_else(|| fail(format!("buffer {} is missing", b.name)))?.1;
                let writes = b.access == Access::ReadWrite;
                if let Some(other) = seen.iter().find(|s| s.0 == span.buffer && (s.1 || writes)) {
                    return Err(fail(format!("{} and {} share a buffer that is written", other.2, b.name)));
                }
                seen.push((span.buffer, writes, &b.name));
                span
            };
            let bytes = span.bytes.unwrap_or_else(|| span.buffer.size().saturating_sub(span.offset));
            if bytes > gpu.caps.max_binding || bytes == 0 {
                let limit = gpu.caps.max_binding;
                return Err(fail(format!("{} binds {bytes} bytes; the adapter allows 1 to {limit}", b.name)));
            }
            entries.push(wgpu::BindGroupEntry {
                binding: b.index,
                resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: span.buffer,
                    offset: span.offset,
                    size: wgpu::BufferSize::new(bytes),
                }),
            });
        }
        if let Some(b) = buffers.iter().find(|b| !kernel.reflection.bindings.iter().any(|x| x.name == b.0)) {
            return Err(fail(format!("no binding {}", b.0)));
        }
        if groups.at(1).iter().any(|&n| n == 0 || n > gpu.caps.max_groups) {
            return Err(fail(format!("{groups:?} workgroups; the adapter allows {}", gpu.caps.max_groups)));
        }
        let group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(&kernel.key.shader),
            layout: &kernel.layout,
            entries: &entries,
        });
        Counters::add(&gpu.counters.bind_groups, 1);
        Ok(Self { kernel: kernel.clone(), group, groups, cost: 0 })
    }

    /// Sets the cost.
    #[must_use]
    pub fn cost(mut self, multiply_adds: u64) -> Self {
        self.cost = multiply_adds;
        self
    }
}

/// Dispatches in order.
#[derive(Debug, Default)]
pub struct Recording {
    /// The dispatches.
    pub list: Vec<Dispatch>,
}

impl Recording {
    /// Encodes a range of the list into a pass for a chunk of `tokens` tokens.
    pub fn encode(
        &self,
        gpu: &Gpu,
        pass: &mut wgpu::ComputePass<'_>,
        range: std::ops::Range<usize>,
        tokens: u32,
    ) {
        let mut last: Option<&Arc<Kernel>> = None;
        let list = self.list.get(range).unwrap_or(&[]);
        for d in list {
            if !last.is_some_and(|k| Arc::ptr_eq(k, &d.kernel)) {
                pass.set_pipeline(&d.kernel.pipeline);
                last = Some(&d.kernel);
            }
            pass.set_bind_group(0, &d.group, &[]);
            let [x, y, z] = d.groups.at(tokens);
            pass.dispatch_workgroups(x, y, z);
        }
        Counters::add(&gpu.counters.dispatches, list.len() as u64);
    }

    /// Encodes the whole list as one pass of its own.
    pub fn encode_pass(&self, gpu: &Gpu, encoder: &mut wgpu::CommandEncoder, tokens: u32) {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        self.encode(gpu, &mut pass, 0..self.list.len(), tokens);
    }
}
