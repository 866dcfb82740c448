//! Sealing: plain pages of the cache become affine ones.

use super::Recorder;
use super::attention::{Sealed, Shape};
use crate::gpu::error::Result;
use crate::gpu::record::Groups;
use crate::gpu::{Buffer, KernelKey};

/// Words of a job: word offset of the plain page, word offset of the affine page, rows that count, nothing.
pub const JOB_WORDS: u32 = 4;

/// Records the sealing of pages of a layer; the number of jobs is given as the number of tokens of the chunk.
///
/// # Errors
/// Buffers that do not bind.
pub async fn seal(
    r: &mut Recorder<'_>,
    s: &Shape,
    sealed: &Sealed,
    pool: &Buffer,
    jobs: &Buffer,
    first_job: u32,
) -> Result<()> {
    let key = KernelKey::new("kv_seal_aff")
        .define("FROM", s.kv.name())
        .define("HD4", s.head_dim / 4)
        .define("KLEVELS", sealed.k_levels)
        .define("VLEVELS", sealed.v_levels)
        .constant("WG", 64);
    let params = [
        ("from_words", (2 * s.side_words()).into()),
        ("from_v", s.side_words().into()),
        ("head_words", sealed.head_words.into()),
        ("v_words", sealed.v_words.into()),
        ("first", first_job.into()),
    ];
    let groups = Groups::Tokens { x: 2 * s.kv_heads, per_token: 1, tile: 1, z: 1 };
    let cost = u64::from(s.kv_heads * s.head_dim) * 64;
    r.add(key, &params, &[("pool", pool.into()), ("jobs", jobs.into())], groups, cost).await
}
