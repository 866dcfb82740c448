//! Norms over a chunk of tokens, and the probe that looks for a NaN.

use super::Recorder;
use crate::gpu::error::Result;
use crate::gpu::record::Groups;
use crate::gpu::{Buffer, KernelKey};

/// Records `y = norm(x) * w` for every token of a chunk, or `y += norm(x) * w`.
///
/// # Errors
/// Buffers that do not bind.
pub async fn norm(
    r: &mut Recorder<'_>,
    x: &Buffer,
    w: &Buffer,
    y: &Buffer,
    cols: u32,
    eps: f32,
    add: bool,
) -> Result<()> {
    let key = KernelKey::new("norm")
        .flag("ADD", add)
        .flag("SERIAL", r.tuning.serial)
        .constant("WG", r.tuning.norm_wg);
    let groups = Groups::Tokens { x: 1, per_token: 1, tile: 1, z: 1 };
    r.add(
        key,
        &[("cols", cols.into()), ("eps", eps.into())],
        &[("x", x.into()), ("norm_w", w.into()), ("y", y.into())],
        groups,
        u64::from(cols),
    )
    .await
}

/// Records the rounding of `x` (`[tokens, cols]`, cols a multiple of 32) to 8 bits with a scale per group of 32, in place.
///
/// # Errors
/// Buffers that do not bind.
pub async fn round_int8(r: &mut Recorder<'_>, x: &Buffer, cols: u32, state: &Buffer) -> Result<()> {
    let groups = cols / 32;
    r.add(
        KernelKey::new("round_int8").constant("WG", 32),
        &[("groups", groups.into())],
        &[("x", x.into()), ("state", state.into())],
        Groups::Tokens { x: groups.div_ceil(32), per_token: 1, tile: 1, z: 1 },
        u64::from(cols),
    )
    .await
}

/// Records a look at `count` values of `x`: when one is not finite, `found[0]` becomes at most `probe`.
///
/// # Errors
/// Buffers that do not bind.
pub async fn nan_probe(
    r: &mut Recorder<'_>,
    x: &Buffer,
    count: u32,
    probe: u32,
    found: &Buffer,
) -> Result<()> {
    r.add(
        KernelKey::new("nan_probe"),
        &[("count", count.into()), ("probe", probe.into())],
        &[("x", x.into()), ("found", found.into())],
        Groups::Fixed([1, 1, 1]),
        0,
    )
    .await
}
