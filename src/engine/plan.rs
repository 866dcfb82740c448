//! The memory plan: what a model will take on the device, known before anything is allocated.

use super::error::{EngineError, Result};
use crate::format::TensorSet;
use crate::gpu::Caps;
use crate::kernels::attention::PAGE;
use crate::kernels::{KvType, Tuning};
use crate::kv::{KvSpec, whole_pages};
use crate::model::{LayerSpec, MatrixSlot, ModelSpec};
use crate::weights::matrix::{device_bytes, device_type};

/// Full context caches up to this size are kept in f32 by default: precision is cheap there.
const F32_KV_LIMIT: u64 = 512 << 20;
/// Positions the cache starts with; it doubles as a conversation grows.
pub const FIRST_CAPACITY: u32 = 256;

/// Bytes by purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPlan {
    /// Weights on the device.
    pub weights: u64,
    /// KV cache and rotary tables at the full context.
    pub kv: u64,
    /// KV cache and rotary tables as first allocated.
    pub kv_start: u64,
    /// Activations of a chunk, logits, staging.
    pub scratch: u64,
    /// Positions of the full context.
    pub context: u32,
    /// Storage of keys and values.
    pub kv_spec: KvSpec,
}

impl MemoryPlan {
    /// Works out the plan for a context of `context` positions (`None`: the model's own).
    ///
    /// # Errors
    /// A matrix without a device layout; a context of zero.
    pub fn new(
        spec: &ModelSpec,
        tensors: &TensorSet,
        tuning: &Tuning,
        caps: &Caps,
        context: Option<u32>,
        kv: Option<KvSpec>,
    ) -> Result<Self> {
        let mut weights = matrix_bytes(tensors, &spec.embedding)?;
        if let Some(h) = &spec.head {
            weights += matrix_bytes(tensors, h)?;
        }
        for l in &spec.layers {
            for m in l.qkv.iter().chain([&l.out, &l.gate_up, &l.down]) {
                weights += matrix_bytes(tensors, m)?;
            }
            weights += 4 * (u64::from(spec.hidden) * 4);
        }
        let context = context.unwrap_or(spec.context);
        if context == 0 {
            return Err(EngineError::Option {
                what: "--ctx-size",
                found: "0".into(),
                expected: "at least 1".into(),
            });
        }
        let tables: u64 = spec.ropes.iter().map(|r| u64::from(r.dims) * 4).sum();
        let at = |n: u32, kv: KvSpec| {
            let n = whole_pages(n);
            let layer = |l: &LayerSpec| kv.layer_bytes(l.kv_heads, l.head_dim, n, tuning.chunk);
            spec.layers.iter().map(layer).sum::<u64>() + tables * u64::from(n)
        };
        let kv = kv.unwrap_or_else(|| {
            let f32 = KvSpec::from(KvType::F32);
            if at(context, f32) <= F32_KV_LIMIT { f32 } else { KvType::F16.into() }
        });
        // A layer's keys and values are one binding, and so is a rotary table: a context beyond that cannot be had on this
        // adapter.
        let most = caps.max_binding.min(caps.max_buffer);
        let table = spec.ropes.iter().map(|r| u64::from(r.dims) * 4).max().unwrap_or(0);
        let layer = |l: &LayerSpec, n| kv.layer_bytes(l.kv_heads, l.head_dim, n, tuning.chunk);
        let mut limit = u32::try_from(most / table.max(1)).unwrap_or(u32::MAX);
        for l in &spec.layers {
            let fixed = layer(l, 0);
            let pages = most.saturating_sub(fixed) / (layer(l, PAGE) - fixed).max(1);
            limit = limit.min(u32::try_from(pages * u64::from(PAGE)).unwrap_or(u32::MAX));
        }
        let whole = limit / PAGE * PAGE;
        let context = context.min(whole.max(1));
        let tokens = u64::from(tuning.chunk);
        let per_token: u64 = spec
            .layers
            .iter()
            .map(|l| {
                let heads = u64::from(l.heads + 2 * l.kv_heads) * u64::from(l.head_dim);
                heads + u64::from(l.heads) * u64::from(l.head_dim) + u64::from(l.ffn)
            })
            .max()
            .unwrap_or(0);
        let scratch =
            4 * (tokens * (per_token + 3 * u64::from(spec.hidden)) + 2 * u64::from(spec.vocab)) + (1 << 20);
        Ok(Self {
            weights,
            kv: at(context, kv),
            kv_start: at(context.min(FIRST_CAPACITY), kv),
            scratch,
            context,
            kv_spec: kv,
        })
    }

    /// Everything at the full context.
    pub fn total(&self) -> u64 {
        self.weights.saturating_add(self.kv).saturating_add(self.scratch)
    }

    /// Refuses a plan that cannot fit. `have` is what is free, when that is known.
    ///
    /// # Errors
    /// [`EngineError::Memory`] with all the sizes.
    pub fn check(&self, have: Option<u64>) -> Result<()> {
        match have {
            Some(have) if self.total() > have => Err(EngineError::Memory {
                need: self.total(),
                weights: self.weights,
                kv: self.kv,
                scratch: self.scratch,
                have,
            }),
            _ => Ok(()),
        }
    }
}

impl std::fmt::Display for MemoryPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mib = |b: u64| b as f64 / f64::from(1 << 20);
        write!(
            f,
            "weights {:.1} MiB, KV cache {:.1} MiB ({} at {} tokens; starts with {:.1}), scratch {:.1} MiB: {:.1} MiB in all",
            mib(self.weights),
            mib(self.kv),
            self.kv_spec,
            self.context,
            mib(self.kv_start),
            mib(self.scratch),
            mib(self.total())
        )
    }
}

fn matrix_bytes(tensors: &TensorSet, m: &MatrixSlot) -> Result<u64> {
    let types: Vec<_> = m.pieces.iter().filter_map(|p| tensors.get(&p.tensor)).map(|t| t.ttype).collect();
    device_bytes(device_type(&types), m.rows(), m.cols).map_err(|source| {
        EngineError::Load(crate::weights::LoadError::Weights { tensor: m.name.clone(), source })
    })
}

/// Free host memory, which is what a software adapter allocates from; `None` where it cannot be told.
pub fn free_host_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|l| l.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok()?.checked_mul(1024)
}
