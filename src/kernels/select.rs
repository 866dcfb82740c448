//! From logits to the next id, on the device.

use super::Recorder;
use crate::gpu::error::Result;
use crate::gpu::preprocess::constant;
use crate::gpu::record::Groups;
use crate::gpu::{Buffer, KernelKey};

/// Slots of the ring that sampled ids are written to; also the most steps in flight.
pub const RING: u32 = 64;
/// The most candidates the device samples from.
pub const MAX_K: u32 = constant("sample", "MAX_K");
/// Words of one entry of the adjustment list: id, count, bias, delta.
pub const ADJUST_WORDS: u32 = 4;

/// Buffers that selection works on.
#[derive(Clone, Copy, Debug)]
pub struct Buffers<'a> {
    /// f32 `[vocab]`.
    pub logits: &'a Buffer,
    /// Step state.
    pub state: &'a Buffer,
    /// Ids of the chunk; the chosen id goes to the first.
    pub ids: &'a Buffer,
    /// Ring of (id, flag).
    pub out: &'a Buffer,
    /// Scratch: (key, id) pairs, [`MAX_K`] of them.
    pub scratch: &'a Buffer,
}

/// Settings of the device's sampler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chain {
    /// Candidates kept, 1 to [`MAX_K`].
    pub top_k: u32,
    /// 1 is off.
    pub top_p: f32,
    /// 0 is off.
    pub min_p: f32,
    /// Above 0.
    pub temperature: f32,
}

/// Records the argmax (lowest id on ties).
///
/// # Errors
/// Buffers that do not bind.
pub async fn argmax(r: &mut Recorder<'_>, b: &Buffers<'_>, vocab: u32) -> Result<()> {
    let wg = if r.tuning.serial { 16 } else { 64 };
    let parts = r.tuning.argmax_groups.min(MAX_K);
    r.add(
        KernelKey::new("argmax_part").constant("WG", wg),
        &[("vocab", vocab.into()), ("slice", vocab.div_ceil(parts).into())],
        &[("logits", b.logits.into()), ("part", b.scratch.into())],
        Groups::Fixed([parts, 1, 1]),
        u64::from(vocab),
    )
    .await?;
    r.add(
        KernelKey::new("argmax").constant("WG", wg),
        &[("parts", parts.into()), ("ring", RING.into())],
        &[
            ("part", b.scratch.into()),
            ("state", b.state.into()),
            ("ids", b.ids.into()),
            ("out", b.out.into()),
        ],
        Groups::Fixed([1, 1, 1]),
        0,
    )
    .await
}

/// Records sampling by [`Chain`].
///
/// # Errors
/// Buffers that do not bind.
pub async fn sample(r: &mut Recorder<'_>, b: &Buffers<'_>, vocab: u32, c: &Chain) -> Result<()> {
    let wg = if r.tuning.serial { 32 } else { 256 };
    r.add(
        KernelKey::new("sample").constant("WG", wg),
        &[
            ("vocab", vocab.into()),
            ("ring", RING.into()),
            ("k", c.top_k.clamp(1, MAX_K).into()),
            ("top_p", c.top_p.into()),
            ("min_p", c.min_p.into()),
            ("temperature", c.temperature.into()),
        ],
        &[
            ("logits", b.logits.into()),
            ("state", b.state.into()),
            ("ids", b.ids.into()),
            ("out", b.out.into()),
            ("cands", b.scratch.into()),
        ],
        Groups::Fixed([1, 1, 1]),
        u64::from(vocab) * 5,
    )
    .await
}

/// Records bias and penalties from a list of up to `capacity` entries ([`ADJUST_WORDS`] words each); `head[0]` says
/// how many there are.
///
/// # Errors
/// Buffers that do not bind.
pub async fn adjust(
    r: &mut Recorder<'_>,
    logits: &Buffer,
    head: &Buffer,
    list: &Buffer,
    capacity: u32,
    vocab: u32,
    penalties: [f32; 3],
) -> Result<()> {
    let [repeat, frequency, presence] = penalties;
    r.add(
        KernelKey::new("adjust").constant("WG", 32),
        &[
            ("vocab", vocab.into()),
            ("repeat", repeat.into()),
            ("frequency", frequency.into()),
            ("presence", presence.into()),
        ],
        &[("head", head.into()), ("list", list.into()), ("logits", logits.into())],
        Groups::Fixed([capacity.div_ceil(32).max(1), 1, 1]),
        0,
    )
    .await
}
