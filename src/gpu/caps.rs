//! What an adapter can do, as one value that every variant choice is made from.

use super::error::{GpuError, Result};

/// The part of an adapter's limits and optional features that golay's kernels ask about.
///
/// `GOLAY_CAPS=baseline` (or [`Caps::baseline`]) pretends the device of the WebGPU standard's defaults: no optional
/// feature, 128 MiB bindings, 8 storage buffers, 16 KiB of workgroup memory, 256 invocations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caps {
    /// `shader-f16`: f16 arithmetic and storage types.
    pub f16: bool,
    /// Subgroup operations.
    pub subgroups: bool,
    /// The subgroup size when the adapter has exactly one; 0 otherwise. Kernels whose geometry depends on the
    /// size are offered only when it is known.
    pub subgroup_size: u32,
    /// Timestamp queries at pass boundaries.
    pub timestamps: bool,
    /// The driver keeps compiled pipelines for us.
    pub pipeline_cache: bool,
    /// A software adapter: geometry that suits a CPU is chosen by default.
    pub cpu: bool,
    /// Largest storage binding, bytes.
    pub max_binding: u64,
    /// Largest buffer, bytes.
    pub max_buffer: u64,
    /// Storage buffers a shader may use.
    pub max_storage_buffers: u32,
    /// Workgroup memory, bytes.
    pub max_workgroup_bytes: u32,
    /// Invocations in a workgroup.
    pub max_invocations: u32,
    /// Workgroups in one dimension of a dispatch.
    pub max_groups: u32,
    /// Offset alignment of storage and uniform bindings, bytes.
    pub align: u64,
}

/// How much of the adapter to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CapsRequest {
    /// Everything the adapter offers.
    #[default]
    Full,
    /// Only what every WebGPU device must have.
    Baseline,
}

impl CapsRequest {
    /// Reads `GOLAY_CAPS`: absent or `full`, or `baseline`.
    ///
    /// # Errors
    /// Any other value, so that a typing error never passes for a test of portability.
    pub fn from_env() -> Result<Self> {
        match std::env::var("GOLAY_CAPS") {
            Err(_) => Ok(Self::Full),
            Ok(v) if v.is_empty() || v == "full" => Ok(Self::Full),
            Ok(v) if v == "baseline" => Ok(Self::Baseline),
            Ok(v) => Err(GpuError::Device(format!("GOLAY_CAPS={v}: expected `full` or `baseline`"))),
        }
    }
}

impl Caps {
    /// The WebGPU standard's defaults on an adapter that is (not) a CPU.
    pub fn baseline(cpu: bool) -> Self {
        Self::from_limits(&wgpu::Limits::default(), wgpu::Features::empty(), 0, 0, cpu)
    }

    /// From what a device was opened with.
    pub fn from_limits(
        l: &wgpu::Limits,
        f: wgpu::Features,
        subgroup_min: u32,
        subgroup_max: u32,
        cpu: bool,
    ) -> Self {
        let subgroups = f.contains(wgpu::Features::SUBGROUP);
        Self {
            f16: f.contains(wgpu::Features::SHADER_F16),
            subgroups,
            subgroup_size: if subgroups && subgroup_min == subgroup_max { subgroup_min } else { 0 },
            timestamps: f.contains(wgpu::Features::TIMESTAMP_QUERY),
            pipeline_cache: f.contains(wgpu::Features::PIPELINE_CACHE),
            cpu,
            max_binding: l.max_storage_buffer_binding_size,
            max_buffer: l.max_buffer_size,
            max_storage_buffers: l.max_storage_buffers_per_shader_stage,
            max_workgroup_bytes: l.max_compute_workgroup_storage_size,
            max_invocations: l.max_compute_invocations_per_workgroup,
            max_groups: l.max_compute_workgroups_per_dimension,
            align: u64::from(
                l.min_storage_buffer_offset_alignment.max(l.min_uniform_buffer_offset_alignment),
            ),
        }
    }

    /// The optional features that golay has a use for, of those the adapter offers.
    pub(crate) fn wanted(offered: wgpu::Features) -> wgpu::Features {
        offered
            & (wgpu::Features::SHADER_F16
                | wgpu::Features::SUBGROUP
                | wgpu::Features::TIMESTAMP_QUERY
                | wgpu::Features::PIPELINE_CACHE)
    }
}
