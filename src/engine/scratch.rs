//! Buffers of a session that are not weights and not cache.

use super::error::Result;
use crate::gpu::{Buffer, Gpu, STORAGE};
use crate::kernels::{Tuning, attention, select};
use crate::kv::KvSpec;
use crate::model::{LayerSpec, ModelSpec};

/// Activations, step state and read-back rings.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// Tokens a chunk may have.
    pub chunk: u32,
    /// Chunks round their inputs of products as decode steps with integer activations do: for scores.
    pub round: bool,
    /// Words of `shaders/lib/state.wgsl`.
    pub state: Buffer,
    /// Ids of the chunk.
    pub ids: Buffer,
    /// Residual stream `[chunk, hidden]`.
    pub x: Buffer,
    /// Normed input, or a branch's output before its own norm `[chunk, hidden]`.
    pub xn: Buffer,
    /// q | k | v `[chunk, ..]`.
    pub qkv: Buffer,
    /// Partial attention.
    pub part: Buffer,
    /// Attention result `[chunk, heads * head_dim]`.
    pub attn: Buffer,
    /// Gated feed-forward values `[chunk, ffn]`.
    pub ff: Buffer,
    /// `[vocab]`.
    pub logits: Buffer,
    /// Candidates.
    pub cands: Buffer,
    /// Ring of sampled ids.
    pub out: Buffer,
    /// Number of entries of `adjust`.
    pub adjust_head: Buffer,
    /// Bias and penalties.
    pub adjust: Buffer,
    /// First probe that saw a NaN.
    pub found: Buffer,
}

/// Entries of the adjustment list.
pub(crate) const ADJUST_CAPACITY: u32 = 4096;

impl Scratch {
    pub async fn new(gpu: &Gpu, spec: &ModelSpec, tuning: &Tuning, chunk: u32, kv: KvSpec) -> Result<Self> {
        let most = |f: &dyn Fn(&LayerSpec) -> u64| spec.layers.iter().map(f).max().unwrap_or(0);
        let t = u64::from(chunk) * 4;
        let hidden = u64::from(spec.hidden);
        let heads = most(&|l| u64::from(l.heads) * u64::from(l.head_dim));
        let qkv = most(&|l| u64::from(l.heads + 2 * l.kv_heads) * u64::from(l.head_dim));
        let part = most(&|l| {
            let s = super::graph::shape(spec, l, crate::kernels::KvType::F32);
            if kv.sealed.is_none() {
                return s.part_bytes(s.splits(tuning.attention_groups));
            }
            let (one, each) = s.sealed_slots(tuning.attention_groups);
            s.part_bytes(one).max(u64::from(chunk) * s.part_bytes(each))
        });
        let ffn = most(&|l| u64::from(l.ffn));
        let a = |what, bytes| gpu.alloc(what, bytes, STORAGE);
        Ok(Self {
            chunk,
            round: false,
            state: a("step state", 64).await?,
            ids: a("ids", t).await?,
            x: a("residual stream", t * hidden).await?,
            xn: a("normed input", t * hidden).await?,
            qkv: a("q|k|v", t * qkv).await?,
            part: a("partial attention", part).await?,
            attn: a("attention", t * heads).await?,
            ff: a("feed-forward", t * ffn).await?,
            logits: a("logits", u64::from(spec.vocab) * 4).await?,
            cands: a("candidates", u64::from(select::MAX_K) * 8).await?,
            out: a("sampled ids", u64::from(select::RING) * 8).await?,
            adjust_head: a("adjustment count", 16).await?,
            adjust: a("adjustments", u64::from(ADJUST_CAPACITY * select::ADJUST_WORDS) * 4).await?,
            found: a("probe", 16).await?,
        })
    }
}

// The attention kernels' own limit, so that the two rooms cannot drift apart.
const _: () = assert!(attention::WG * 4 == 256);
