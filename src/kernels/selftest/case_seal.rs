//! Cases of `kv_seal_aff`: what the pages decode to is as near to the plain rows as the codec allows.

use super::bench::{Bench, POISON};
use super::pages::{pack, unpack};
use crate::gpu::Uniforms;
use crate::gpu::error::Result;
use crate::kernels::attention::{PAGE, Shape};
use crate::kernels::reference::Answer;
use crate::kernels::seal;
use crate::kv::codec::{Codec, Side, Tier};

/// The error allowed is half a step and what rounding the range to f16 adds; in units of it.
const TOLERANCE: f64 = 1.0;

#[derive(Clone, Debug)]
pub(super) struct Spec {
    pub shape: Shape,
    /// Levels of keys and of values.
    pub levels: (u16, u16),
    pub pages: u32,
}

pub(super) async fn run(b: &mut Bench<'_>, spec: &Spec) -> Result<()> {
    let s = &spec.shape;
    let (page, dim, heads) = (PAGE as usize, s.head_dim as usize, s.kv_heads as usize);
    let (k, v) = spec.levels;
    let tier = Tier { k: Codec::Aff { levels: k }, v: Codec::Aff { levels: v } };
    let sealed = crate::kv::sealed(tier, s.head_dim, 0);
    let plain_words = s.page_words() as usize;
    let sealed_words = sealed.head_words as usize * heads;
    let pages = spec.pages as usize;

    // Rows of unlike size, some pages not full; a constant channel and a row of zeros.
    let mut pool = vec![POISON; pages * plain_words];
    let mut jobs = vec![POISON; 8];
    let mut rows: Vec<Vec<f32>> = Vec::new();
    for n in 0..pages {
        let valid = if n == 0 { page } else { 1 + b.rng.below(PAGE) as usize };
        let place = pages - 1 - n;
        jobs.extend([
            (place * plain_words) as u32,
            (pages * plain_words + n * sealed_words) as u32,
            valid as u32,
            0,
        ]);
        for part in 0..2 * heads {
            let mut side = b.rng.floats(valid * dim, 1.0);
            for (t, row) in side.chunks_mut(dim).enumerate() {
                row.iter_mut().for_each(|x| *x *= if t == 3 { 0.0 } else { 1.0 + 5.0 * (t % 5) as f32 });
                row[dim / 2] = 0.75;
            }
            let words = pack(s.kv, &side);
            let from = place * plain_words + part * s.side_words() as usize;
            pool[from..from + words.len()].copy_from_slice(&words);
            rows.push(unpack(s.kv, &words));
        }
    }
    let first_sealed = pool.len();
    pool.resize(first_sealed + pages * sealed_words, POISON);

    let pool_buffer = b.words("pool", &pool).await?;
    let jobs_buffer = b.words("jobs", &jobs).await?;
    let mut uniforms = Uniforms::default();
    let mut r = b.recorder(&mut uniforms);
    seal::seal(&mut r, s, &sealed, &pool_buffer, &jobs_buffer, 2).await?;
    if !b.go(r, spec.pages, 1).await? {
        return Ok(());
    }
    let got = b.read("pool", &pool_buffer, pool.len()).await?;
    b.equal("plain pages", &got[..first_sealed], &pool[..first_sealed]);
    for (i, plain) in rows.iter().enumerate() {
        let (n, part) = (i / (2 * heads), i % (2 * heads));
        let at = first_sealed + n * sealed_words + part / 2 * sealed.head_words as usize;
        let (side, codec, at) = match part % 2 {
            0 => (Side::K, tier.k, at),
            _ => (Side::V, tier.v, at + sealed.v_words as usize),
        };
        let words = codec.layout(side, page, dim).words();
        let decoded = codec.decode(side, &got[at..at + words], page, dim);
        let values: Vec<u32> = decoded[..plain.len()].iter().map(|x| (*x as f32).to_bits()).collect();
        let expected = Answer {
            y: plain.iter().map(|x| f64::from(*x)).collect(),
            slack: allowed(plain, dim, codec, side),
        };
        b.compare("codes", &values, &[], &expected, TOLERANCE);
    }
    Ok(())
}

/// Half a step, a hundredth of it for arithmetic, and the rounding of (lo, step) to f16.
fn allowed(plain: &[f32], dim: usize, codec: Codec, side: Side) -> Vec<f64> {
    let Codec::Aff { levels } = codec else { return Vec::new() };
    let cells = f64::from(if levels == 3 { 3 } else { levels - 1 });
    let group = |at: usize| -> Vec<f64> {
        let (row, c) = (at / dim, at % dim);
        let of = |i: usize| f64::from(plain[i]);
        match side {
            Side::K => (c..plain.len()).step_by(dim).map(of).collect(),
            Side::V => {
                let first = c / 32 * 32;
                (row * dim + first..row * dim + (first + 32).min(dim)).map(of).collect()
            }
        }
    };
    (0..plain.len())
        .map(|at| {
            let (lo, hi) = group(at).into_iter().fold((f64::MAX, f64::MIN), |(l, h), x| (l.min(x), h.max(x)));
            let size = lo.abs().max(hi.abs());
            0.51 * (hi - lo) / cells + size / 512.0 + 1e-6
        })
        .collect()
}
