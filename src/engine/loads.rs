//! What a model asks of the kernels: the calls of a decode step and of a prefill chunk, as the harness and the tuner
//! measure them.

use super::adapter_notes::hash;
use crate::format::TensorSet;
use crate::harness::tune::Load;
use crate::kernels::selftest::Arm;
use crate::kernels::{Activations, KvType, Tuning};
use crate::kv::KvSpec;
use crate::model::{LayerSpec, MatrixSlot, ModelSpec};
use crate::weights::matrix::device_type;

/// Keys that attention is measured at.
const KEYS: u32 = 512;

/// The kernel calls of one decode step at a short context, equal ones counted together, in the order of a step.
pub fn decode_loads(spec: &ModelSpec, tensors: &TensorSet, kv: KvType) -> Vec<Load> {
    loads(spec, tensors, kv, 1)
}

/// The kernel calls of a prefill chunk of `tokens` tokens.
pub fn chunk_loads(spec: &ModelSpec, tensors: &TensorSet, kv: KvType, tokens: u32) -> Vec<Load> {
    loads(spec, tensors, kv, tokens.max(2))
}

/// Bytes that a decode step must read with `keys` keys in the cache: every weight once, and the cache.
pub fn bytes_per_token(spec: &ModelSpec, tensors: &TensorSet, kv: KvSpec, keys: u32) -> u64 {
    let weights: f64 = decode_loads(spec, tensors, kv.plain)
        .iter()
        .filter(|l| l.arm.family() == "gemv")
        .map(|l| l.count * l.arm.bytes() as f64)
        .sum();
    weights as u64 + cache_bytes(spec, kv, keys)
}

/// Bytes of the cache that a decode step must read with `keys` keys in it.
pub fn cache_bytes(spec: &ModelSpec, kv: KvSpec, keys: u32) -> u64 {
    let layer = |l: &LayerSpec| {
        let seen = if l.window > 0 { keys.min(l.window) } else { keys };
        kv.read_bytes(l.kv_heads, l.head_dim, seen)
    };
    spec.layers.iter().map(layer).sum()
}

/// What the tuner looks at, most important first: a decode step, then a chunk.
pub fn tuning_loads(spec: &ModelSpec, tensors: &TensorSet, kv: Option<KvType>, t: &Tuning) -> Vec<Load> {
    let kv = kv.unwrap_or(KvType::F32);
    let mut all = decode_loads(spec, tensors, kv);
    // A norm before products first, so that it is tuned as it is used in a chunk.
    all.extend(chunk_loads(spec, tensors, kv, t.chunk.min(64)));
    all
}

/// Names the shapes of a model: models with equal names want the same geometry.
pub fn shape_key(spec: &ModelSpec, tensors: &TensorSet, activations: Activations) -> String {
    let arms: Vec<String> = decode_loads(spec, tensors, KvType::F32)
        .iter()
        .map(|l| format!("{} {} {}", l.arm.family(), l.arm.format(), l.arm.shape()))
        .collect();
    let arms: Vec<&str> = arms.iter().map(String::as_str).collect();
    let (arch, layers, inputs) = (&spec.arch, spec.layers.len(), activations.name());
    format!("{arch} {}x{layers} {inputs} {:08x}", spec.hidden, hash(&arms) as u32)
}

fn loads(spec: &ModelSpec, tensors: &TensorSet, kv: KvType, tokens: u32) -> Vec<Load> {
    let mut out: Vec<Load> = Vec::new();
    let mut add = |arm: Arm| match out.iter_mut().find(|l| l.arm == arm) {
        Some(l) => l.count += 1.0,
        None => out.push(Load { arm, count: 1.0 }),
    };
    let product = |m: &MatrixSlot, tokens: u32| {
        let types: Vec<_> = m.pieces.iter().filter_map(|p| tensors.get(&p.tensor)).map(|t| t.ttype).collect();
        Arm::Product {
            ttype: Some(device_type(&types)),
            rows: u32::try_from(m.rows()).unwrap_or(u32::MAX),
            cols: u32::try_from(m.cols).unwrap_or(u32::MAX),
            tokens,
        }
    };
    for l in &spec.layers {
        l.qkv.iter().for_each(|m| add(product(m, tokens)));
        add(Arm::Attention {
            heads: l.heads,
            kv_heads: l.kv_heads,
            head_dim: l.head_dim,
            keys: KEYS.max(tokens),
            tokens,
            kv,
        });
        [&l.out, &l.gate_up, &l.down].into_iter().for_each(|m| add(product(m, tokens)));
        if tokens > 1 {
            add(Arm::Norm { tokens, cols: spec.hidden });
            add(Arm::Norm { tokens, cols: spec.hidden });
        }
    }
    if tokens == 1 {
        add(product(spec.head.as_ref().unwrap_or(&spec.embedding), 1));
        add(Arm::Argmax { vocab: spec.vocab });
    }
    out
}
