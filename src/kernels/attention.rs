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
    /// Sealed pages of the layer, where the cache has any.
    pub sealed: Option<Sealed>,
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

/// Pages in the affine codec (`shaders/lib/kv_aff.wgsl`), in the same pool as the plain ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// Index of the list of them, in entries.
    pub list_at: u32,
    /// Levels of keys.
    pub k_levels: u32,
    /// Levels of values.
    pub v_levels: u32,
    /// Words of a head in a page.
    pub head_words: u32,
    /// Words of its keys, after which its values come.
    pub v_words: u32,
}

/// Most splits of the plain pages where sealed ones have most of the context.
const TAIL_SPLITS: u32 = 2;

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

    /// Partial results per head of a decode step and of a token of a chunk, with sealed pages.
    pub fn sealed_slots(&self, groups: u32) -> (u32, u32) {
        let splits = self.splits(groups);
        (splits.min(TAIL_SPLITS) + splits, 2)
    }

    /// Bytes of the partial results of one token.
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
        self.slot_params(list_at, (2 * self.side_words(), self.side_words()), splits, (0, splits))
    }

    /// `words`: those of a head, and of its keys. `slots`: the first to write, and all.
    fn slot_params(
        &self,
        list_at: u32,
        words: (u32, u32),
        splits: u32,
        slots: (u32, u32),
    ) -> Vec<(&'static str, Arg)> {
        vec![
            ("heads", self.heads.into()),
            ("kv_heads", self.kv_heads.into()),
            ("group", self.group().into()),
            ("window", self.window.into()),
            ("head_words", words.0.into()),
            ("v_words", words.1.into()),
            ("list", list_at.into()),
            ("rot4", (self.rot / 4).into()),
            ("splits", splits.into()),
            ("slot", slots.0.into()),
            ("slots", slots.1.into()),
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

/// The kernel for `rows` query rows per workgroup, over plain pages.
fn attention_key(s: &Shape, lanes: u32, rows: u32) -> KernelKey {
    shape_key(s, lanes, rows).define("KV", s.kv.name())
}

fn shape_key(s: &Shape, lanes: u32, rows: u32) -> KernelKey {
    let hd4 = s.head_dim / 4;
    let key = if by_subgroup(s, lanes, rows) {
        KernelKey::new("attention_sg").define("SG", lanes).define("CHUNKS", hd4 / lanes)
    } else {
        KernelKey::new("attention").define("HD4", hd4).flag("LANES_JOIN", WG / hd4 > 1)
    };
    key.define("QROWS", rows).flag("CAP", s.cap > 0.0)
}

/// Records norm, rotation and cache write of q, k, v for a chunk of tokens.
///
/// # Errors
/// A shape or buffers the kernel does not take.
pub async fn rope_kv(r: &mut Recorder<'_>, s: &Shape, b: &Buffers<'_>) -> Result<()> {
    s.check()?;
    let wg = 32;
    let key = s.rope_flags(KernelKey::new("rope_kv").define("KV", s.kv.name()).constant("WG", wg), b);
    let mut buffers = vec![
        ("state", b.state.into()),
        ("qkv", b.qkv.into()),
        ("pool", b.pool.into()),
        ("list", b.list.into()),
    ];
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
    if let Some(sealed) = b.sealed {
        let groups = Groups::Tokens { x: s.kv_heads, per_token: s.group(), tile: rows, z: 1 };
        plain_part(r, s, b, (lanes, rows), 1, (0, 2), groups).await?;
        sealed_part(r, s, b, &sealed, (lanes, rows), 1, (1, 2), groups).await?;
        return join(r, s, b, 2, Groups::Tokens { x: s.heads, per_token: 1, tile: 1, z: 1 }).await;
    }
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
    if let Some(sealed) = b.sealed {
        rope_kv(r, s, b).await?;
        let tail = splits.min(TAIL_SPLITS);
        let slots = tail + splits;
        let shape = (r.tuning.decode_lanes, rows);
        let groups = |splits| Groups::Fixed([s.kv_heads, s.group().div_ceil(rows), splits]);
        plain_part(r, s, b, shape, tail, (0, slots), groups(tail)).await?;
        sealed_part(r, s, b, &sealed, shape, splits, (tail, slots), groups(splits)).await?;
        return merge(r, s, b, slots).await;
    }
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

/// Partial results of the plain pages, after [`rope_kv`]. `slots`: the first to write, and all.
async fn plain_part(
    r: &mut Recorder<'_>,
    s: &Shape,
    b: &Buffers<'_>,
    (lanes, rows): (u32, u32),
    splits: u32,
    slots: (u32, u32),
    groups: Groups,
) -> Result<()> {
    let key = attention_key(s, lanes, rows).flag("SPLIT", true);
    let words = (2 * s.side_words(), s.side_words());
    r.add(key, &s.slot_params(b.list_at, words, splits, slots), &part_buffers(b), groups, cost(s)).await
}

/// The same of the sealed ones.
#[allow(clippy::too_many_arguments)]
async fn sealed_part(
    r: &mut Recorder<'_>,
    s: &Shape,
    b: &Buffers<'_>,
    sealed: &Sealed,
    (lanes, rows): (u32, u32),
    splits: u32,
    slots: (u32, u32),
    groups: Groups,
) -> Result<()> {
    let key = shape_key(s, lanes, rows)
        .define("KV", "aff")
        .define("KLEVELS", sealed.k_levels)
        .define("VLEVELS", sealed.v_levels)
        .flag("SPLIT", true);
    let words = (sealed.head_words, sealed.v_words);
    r.add(key, &s.slot_params(sealed.list_at, words, splits, slots), &part_buffers(b), groups, cost(s)).await
}

fn part_buffers<'a>(b: &Buffers<'a>) -> [(&'static str, crate::gpu::record::Span<'a>); 5] {
    [
        ("state", b.state.into()),
        ("q", b.qkv.into()),
        ("pool", b.pool.into()),
        ("list", b.list.into()),
        ("out", b.part.into()),
    ]
}

fn cost(s: &Shape) -> u64 {
    u64::from(s.heads * s.head_dim) * 512
}

/// Records the merge of `splits` partial results per head; [`decode`] ends with it.
///
/// # Errors
/// Buffers that do not bind.
pub async fn merge(r: &mut Recorder<'_>, s: &Shape, b: &Buffers<'_>, splits: u32) -> Result<()> {
    join(r, s, b, splits, Groups::Fixed([s.heads, 1, 1])).await
}

async fn join(r: &mut Recorder<'_>, s: &Shape, b: &Buffers<'_>, splits: u32, groups: Groups) -> Result<()> {
    let mut buffers = vec![("part", b.part.into()), ("y", b.out.into())];
    if let Some(x) = b.sinks {
        buffers.push(("sinks", x.into()));
    }
    let key = KernelKey::new("attn_merge").flag("SINKS", b.sinks.is_some()).constant("WG", 32);
    let params = [("splits", splits.into()), ("hd4", (s.head_dim / 4).into()), ("heads", s.heads.into())];
    r.add(key, &params, &buffers, groups, u64::from(s.heads * s.head_dim)).await
}
