//! Attention over the key/value cache, and the rotation of queries and keys.

use super::{KvType, Recorder};
use crate::gpu::error::{GpuError, Result};
use crate::gpu::preprocess::constant;
use crate::gpu::record::{Arg, Groups};
use crate::gpu::{Buffer, Caps, KernelKey};

/// Workgroup size of the attention kernel; also the most vec4s a head may have.
pub const WG: u32 = constant("attention", "WG");
/// Tokens of a page of the cache.
pub const PAGE: u32 = 32;
/// Query heads per key/value head that the fused decode kernel takes.
pub const MAX_FUSED_GROUP: u32 = 8;

/// Shapes and switches of one attention layer.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Query heads.
    pub heads: u32,
    /// Key/value heads.
    pub kv_heads: u32,
    /// Values per head, a multiple of 4, at most 256.
    pub head_dim: u32,
    /// Rotated dims of a head, a multiple of 8 (4 when interleaved); 0 for none.
    pub rot: u32,
    /// Pairs are (2i, 2i+1), not (i, i + rot/2).
    pub interleaved: bool,
    /// Keys a query sees, itself included; 0 for all.
    pub window: u32,
    /// Factor on the scores.
    pub scale: f32,
    /// Soft cap of the scores; 0 for none.
    pub cap: f32,
    /// Epsilon of the per-head norms.
    pub eps: f32,
    /// Storage of the cache.
    pub kv: KvType,
}

/// Buffers of one attention layer.
#[derive(Clone, Copy, Debug)]
pub struct Buffers<'a> {
    /// Step state.
    pub state: &'a Buffer,
    /// q | k | v of every token, f32 `[tokens, (heads + 2 kv_heads) * head_dim]`.
    pub qkv: &'a Buffer,
    /// Pages of keys and values (`shaders/lib/kv.wgsl`).
    pub pool: &'a Buffer,
    /// Lists of pages.
    pub list: &'a Buffer,
    /// Index of this layer's list in `list`, in entries.
    pub list_at: u32,
    /// (cos, sin) pairs, f32 `[positions, rot / 2, 2]`.
    pub rope: Option<&'a Buffer>,
    /// Weights of the q norm and the k norm, f32 `[2, head_dim]`.
    pub qk_norm: Option<&'a Buffer>,
    /// Sink logits, f32 `[heads]`.
    pub sinks: Option<&'a Buffer>,
    /// Partial results of a split decode.
    pub part: &'a Buffer,
    /// Result, f32 `[tokens, heads * head_dim]`.
    pub out: &'a Buffer,
}

impl Shape {
    /// Checks what the shaders take for granted.
    ///
    /// # Errors
    /// A shape outside of it, in words.
    pub fn check(&self) -> Result<()> {
        let bad = |what: String| Err(GpuError::Binding { kernel: "attention".into(), what });
        if self.head_dim == 0 || !self.head_dim.is_multiple_of(4) || self.head_dim > WG * 4 {
            return bad(format!("head_dim {} is not a multiple of 4 up to {}", self.head_dim, WG * 4));
        }
        if self.kv_heads == 0 || !self.heads.is_multiple_of(self.kv_heads) {
            return bad(format!("{} query heads over {} key/value heads", self.heads, self.kv_heads));
        }
        let unit = if self.interleaved { 4 } else { 8 };
        if !self.rot.is_multiple_of(unit) || self.rot > self.head_dim {
            return bad(format!("{} rotated dims: expected a multiple of {unit} up to head_dim", self.rot));
        }
        Ok(())
    }

    /// Query heads per key/value head.
    pub fn group(&self) -> u32 {
        self.heads / self.kv_heads
    }

    /// Words of the values of a head in a page, and of its keys.
    pub fn side_words(&self) -> u32 {
        PAGE * self.head_dim / 4 * self.kv.bytes() as u32
    }

    /// Words of a page.
    pub fn page_words(&self) -> u32 {
        2 * self.side_words() * self.kv_heads
    }

    /// Splits of the context in a decode step.
    pub fn splits(&self, groups: u32) -> u32 {
        (groups / self.kv_heads).clamp(1, 64)
    }

    /// Bytes of the partial results of a decode step.
    pub fn part_bytes(&self, splits: u32) -> u64 {
        u64::from(self.heads) * u64::from(splits) * u64::from(self.head_dim / 4 + 1) * 16
    }

    fn rope_flags(&self, key: KernelKey, b: &Buffers<'_>) -> KernelKey {
        let rope = self.rot > 0 && b.rope.is_some();
        key.flag("ROPE", rope)
            .flag("INTERLEAVED", rope && self.interleaved)
            .flag("QKNORM", b.qk_norm.is_some())
    }

    fn params(&self, list_at: u32, splits: u32) -> Vec<(&'static str, Arg)> {
        vec![
            ("heads", self.heads.into()),
            ("kv_heads", self.kv_heads.into()),
            ("group", self.group().into()),
            ("window", self.window.into()),
            ("head_words", (2 * self.side_words()).into()),
            ("v_words", self.side_words().into()),
            ("list", list_at.into()),
            ("rot4", (self.rot / 4).into()),
            ("splits", splits.into()),
            ("slot", 0.into()),
            ("slots", splits.into()),
            ("scale", self.scale.into()),
            ("cap", self.cap.into()),
            ("eps", self.eps.into()),
        ]
    }
}

/// Vec4s of queries, and as many of sums, that an invocation of `attention_sg.wgsl` may hold.
const SUBGROUP_HELD: u32 = 32;

/// Values of [`super::Tuning::decode_lanes`] and [`super::Tuning::prefill_lanes`] on an adapter: 0, and its subgroup
/// size where `attention_sg.wgsl` has it.
pub fn lanes(caps: &Caps) -> Vec<u32> {
    let size = caps.subgroup_size;
    if caps.subgroups && matches!(size, 8 | 16 | 32) { vec![0, size] } else { vec![0] }
}

/// Whether `attention_sg.wgsl` has this shape, for subgroups of `lanes` and `rows` query rows each.
fn by_subgroup(s: &Shape, lanes: u32, rows: u32) -> bool {
    let hd4 = s.head_dim / 4;
    matches!(lanes, 8 | 16 | 32) && hd4.is_multiple_of(lanes) && hd4 / lanes * rows <= SUBGROUP_HELD
}

/// The kernel for `rows` query rows per workgroup.
fn attention_key(s: &Shape, lanes: u32, rows: u32) -> KernelKey {
    let hd4 = s.head_dim / 4;
    let key = if by_subgroup(s, lanes, rows) {
        KernelKey::new("attention_sg").define("SG", lanes).define("CHUNKS", hd4 / lanes)
    } else {
        KernelKey::new("attention").define("HD4", hd4).flag("LANES_JOIN", WG / hd4 > 1)
    };
    key.define("QROWS", rows).define("KV", s.kv.name()).flag("CAP", s.cap > 0.0)
}

/// Records norm, rotation and cache write of q, k, v for a chunk of tokens.
///
/// # Errors
/// A shape or buffers the kernel does not take.
pub async fn rope_kv(r: &mut Recorder<'_>, s: &Shape, b: &Buffers<'_>) -> Result<()> {
    s.check()?;
    let wg = 32;
    let key = s.rope_flags(KernelKey::new("rope_kv").define("KV", s.kv.name()).constant("WG", wg), b);
    let mut buffers =
        vec![("state", b.state.into()), ("qkv", b.qkv.into()), ("pool", b.pool.into()), ("list", b.list.into())];
    if let Some(rope) = b.rope.filter(|_| s.rot > 0) {
        buffers.push(("rope", rope.into()));
    }
    if let Some(n) = b.qk_norm {
        buffers.push(("qk_norm", n.into()));
    }
    let params = [
        ("heads", s.heads.into()),
        ("kv_heads", s.kv_heads.into()),
        ("hd4", (s.head_dim / 4).into()),
        ("rot4", (s.rot / 4).into()),
        ("head_words", (2 * s.side_words()).into()),
        ("v_words", s.side_words().into()),
        ("list", b.list_at.into()),
        ("eps", s.eps.into()),
    ];
    let x = (s.heads + 2 * s.kv_heads).div_ceil(wg);
    let cost = u64::from((s.heads + 2 * s.kv_heads) * s.head_dim);
    r.add(key, &params, &buffers, Groups::Tokens { x, per_token: 1, tile: 1, z: 1 }, cost).await
}

/// Records attention of a chunk of tokens over the cache, which already holds their keys and values.
///
/// # Errors
/// A shape or buffers the kernel does not take.
pub async fn prefill(r: &mut Recorder<'_>, s: &Shape, b: &Buffers<'_>) -> Result<()> {
    s.check()?;
    let lanes = r.tuning.prefill_lanes;
    // Long heads take fewer rows.
    let rows = r.tuning.attention_rows;
    let rows =
        if by_subgroup(s, lanes, rows.min(4)) && !by_subgroup(s, lanes, rows) { rows.min(4) } else { rows };
    let key = attention_key(s, lanes, rows).flag("SINKS", b.sinks.is_some());
    let mut buffers = vec![
        ("state", b.state.into()),
        ("q", b.qkv.into()),
        ("pool", b.pool.into()),
        ("list", b.list.into()),
        ("out", b.out.into()),
    ];
    if let Some(x) = b.sinks {
        buffers.push(("sinks", x.into()));
    }
    let groups = Groups::Tokens { x: s.kv_heads, per_token: s.group(), tile: rows, z: 1 };
    let cost = u64::from(s.heads * s.head_dim) * 512;
    r.add(key, &s.params(b.list_at, 1), &buffers, groups, cost).await
}

/// Records attention of one token: with a group of at most [`MAX_FUSED_GROUP`] heads one dispatch that also norms,
/// rotates and stores, otherwise [`rope_kv`] first; then the merge of the splits, where there are several.
///
/// # Errors
/// A shape or buffers the kernel does not take.
pub async fn decode(r: &mut Recorder<'_>, s: &Shape, b: &Buffers<'_>) -> Result<()> {
    s.check()?;
    let fused = s.group() <= MAX_FUSED_GROUP;
    let splits = s.splits(r.tuning.attention_groups);
    let rows = if fused { s.group() } else { MAX_FUSED_GROUP };
    let split = splits > 1;
    let mut key = attention_key(s, r.tuning.decode_lanes, rows).flag("SPLIT", split).flag("FUSED", fused);
    let mut buffers = vec![
        ("state", b.state.into()),
        ("q", b.qkv.into()),
        ("pool", b.pool.into()),
        ("list", b.list.into()),
        ("out", if split { b.part } else { b.out }.into()),
    ];
    if let Some(x) = b.sinks.filter(|_| !split) {
        key = key.flag("SINKS", true);
        buffers.push(("sinks", x.into()));
    }
    if fused {
        key = s.rope_flags(key, b);
        if let Some(rope) = b.rope.filter(|_| s.rot > 0) {
            buffers.push(("rope", rope.into()));
        }
        if let Some(n) = b.qk_norm {
            buffers.push(("qk_norm", n.into()));
        }
    } else {
        rope_kv(r, s, b).await?;
    }
    let tiles = s.group().div_ceil(rows);
    let groups = Groups::Fixed([s.kv_heads, tiles, splits]);
    r.add(key, &s.params(b.list_at, splits), &buffers, groups, u64::from(s.heads * s.head_dim) * 512).await?;
    if split { merge(r, s, b, splits).await } else { Ok(()) }
}

/// Records the merge of `splits` partial results per head; [`decode`] ends with it.
///
/// # Errors
/// Buffers that do not bind.
pub async fn merge(r: &mut Recorder<'_>, s: &Shape, b: &Buffers<'_>, splits: u32) -> Result<()> {
    let mut buffers = vec![("part", b.part.into()), ("y", b.out.into())];
    if let Some(x) = b.sinks {
        buffers.push(("sinks", x.into()));
    }
    let key = KernelKey::new("attn_merge").flag("SINKS", b.sinks.is_some()).constant("WG", 32);
    let params = [("splits", splits.into()), ("hd4", (s.head_dim / 4).into())];
    r.add(key, &params, &buffers, Groups::Fixed([s.heads, 1, 1]), u64::from(s.heads * s.head_dim)).await
}
