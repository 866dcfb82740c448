//! The kernels: for each shader the choice of a variant, its parameters, its dispatch geometry, and beside it the plain
//! f64 reference ([`mod@reference`]) that tests and `golay doctor` compare it with.
//!
//! A kernel function records: it takes buffers and pushes dispatches onto a [`Recorder`]. It allocates nothing and
//! knows no model.

pub mod attention;
pub mod choose;
pub mod matmul;
pub mod permutations;
pub mod reference;
pub mod seal;
pub mod select;
pub mod selftest;
pub mod simple;
pub mod state;
pub mod tuning;

#[cfg(test)]
mod tests;

pub use tuning::{Activations, Gemm, Gemv, IntDot, Tuning};

use crate::gpu::error::Result;
use crate::gpu::record::{Arg, Span};
use crate::gpu::{Dispatch, Gpu, KernelKey, Kernels, Recording, Uniforms, record::Groups};

/// Storage of keys and values in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum KvType {
    /// 4 bytes per value.
    F32,
    /// 2 bytes per value.
    #[default]
    F16,
}

impl KvType {
    /// The value of the shaders' define `KV`, and the spelling of `--kv`.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
        }
    }

    /// Bytes per value.
    pub fn bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::F16 => 2,
        }
    }
}

/// The gate's activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// `v * sigmoid(v)`.
    Silu,
    /// The tanh form of GELU.
    GeluTanh,
}

impl Act {
    /// The value of the shaders' define `ACT`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Silu => "silu",
            Self::GeluTanh => "gelu",
        }
    }
}

/// Collects the dispatches of a step.
///
/// Recording runs twice: first dry, which only gathers the kernels' keys so that they can be compiled together, then
/// for real.
pub struct Recorder<'a> {
    /// The device.
    pub gpu: &'a Gpu,
    /// Its kernels.
    pub kernels: &'a Kernels,
    /// Geometry.
    pub tuning: &'a Tuning,
    /// Parameter blocks.
    pub uniforms: &'a mut Uniforms,
    /// The result.
    pub recording: Recording,
    /// In a dry run, the keys seen.
    pub dry: Option<Vec<KernelKey>>,
}

impl<'a> Recorder<'a> {
    /// An empty recorder; `dry` gathers keys only.
    pub fn new(
        gpu: &'a Gpu,
        kernels: &'a Kernels,
        tuning: &'a Tuning,
        uniforms: &'a mut Uniforms,
        dry: bool,
    ) -> Self {
        Self { gpu, kernels, tuning, uniforms, recording: Recording::default(), dry: dry.then(Vec::new) }
    }

    /// Appends one dispatch.
    pub(crate) async fn add(
        &mut self,
        key: KernelKey,
        params: &[(&str, Arg)],
        buffers: &[(&str, Span<'_>)],
        groups: Groups,
        cost: u64,
    ) -> Result<()> {
        if let Some(keys) = &mut self.dry {
            keys.push(key);
            return Ok(());
        }
        let kernel = self.kernels.get(self.gpu, &key)?;
        let d = Dispatch::new(self.gpu, self.uniforms, &kernel, params, buffers, groups).await?;
        self.recording.list.push(d.cost(cost));
        Ok(())
    }
}
