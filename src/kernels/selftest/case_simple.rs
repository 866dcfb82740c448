//! Cases of `norm` and `nan_probe`.

use super::bench::{Bench, POISON};
use crate::gpu::Uniforms;
use crate::gpu::error::Result;
use crate::kernels::{reference, simple, state};

const TOLERANCE: f64 = 1e-5;
/// One step of 8 bits, of the largest value: a value between two integers may go either way.
const STEP: f64 = 1.001 / 127.0;

#[derive(Clone, Debug)]
pub(super) enum Spec {
    /// Over `tokens` rows of `cols`; `add` adds to what is there.
    Norm { cols: u32, tokens: u32, add: bool },
    /// Over `tokens` rows of `cols`.
    RoundInt8 { cols: u32, tokens: u32 },
    /// `count` values, one of them replaced by `bad`.
    NanProbe { count: u32, bad: f32 },
}

pub(super) async fn run(b: &mut Bench<'_>, s: &Spec) -> Result<()> {
    match *s {
        Spec::Norm { cols, tokens, add } => norm(b, cols, tokens, add).await,
        Spec::RoundInt8 { cols, tokens } => round_int8(b, cols, tokens).await,
        Spec::NanProbe { count, bad } => nan_probe(b, count, bad).await,
    }
}

async fn norm(b: &mut Bench<'_>, cols: u32, tokens: u32, add: bool) -> Result<()> {
    let n = (cols * tokens) as usize;
    let x = b.rng.floats(n, 3.0);
    let w = b.rng.floats(cols as usize, 2.0);
    let residual = b.rng.floats(n, 1.0);
    let before: Vec<u32> = if add { residual.iter().map(|v| v.to_bits()).collect() } else { vec![POISON; n] };
    let (xb, wb, yb) = (b.floats("x", &x).await?, b.floats("w", &w).await?, b.words("y", &before).await?);
    let mut uniforms = Uniforms::default();
    let mut r = b.recorder(&mut uniforms);
    simple::norm(&mut r, &xb, &wb, &yb, cols, 1e-6, add).await?;
    if b.go(r, tokens, 1).await? {
        let expected = reference::norm(&x, &w, 1e-6, add.then_some(&residual[..]));
        let got = b.read("y", &yb, n).await?;
        b.compare("y", &got, &before, &expected, TOLERANCE);
    }
    Ok(())
}

async fn round_int8(b: &mut Bench<'_>, cols: u32, tokens: u32) -> Result<()> {
    let n = (cols * tokens) as usize;
    let mut x = b.rng.floats(n, 3.0);
    // A group of zeros.
    x[..32].fill(0.0);
    let before: Vec<u32> = x.iter().map(|v| v.to_bits()).collect();
    let xb = b.words("x", &before).await?;
    let mut words = vec![0; state::WORDS];
    words[state::TOKENS] = tokens;
    let state = b.words("state", &words).await?;
    let mut uniforms = Uniforms::default();
    let mut r = b.recorder(&mut uniforms);
    simple::round_int8(&mut r, &xb, cols, &state).await?;
    if b.go(r, tokens, 1).await? {
        let mut y = x.clone();
        reference::int8(&mut y);
        let top = |g: &[f32]| g.iter().fold(1e-30f32, |m, v| m.max(v.abs()));
        let expected = reference::Answer {
            y: y.iter().map(|v| f64::from(*v)).collect(),
            slack: x.chunks(32).flat_map(|g| vec![f64::from(top(g)); g.len()]).collect(),
        };
        let got = b.read("x", &xb, n).await?;
        b.compare("x", &got, &before, &expected, STEP);
    }
    Ok(())
}

/// A clean vector between two bad ones: the probe of the first bad one must be found.
async fn nan_probe(b: &mut Bench<'_>, count: u32, bad: f32) -> Result<()> {
    let clean = b.rng.floats(count as usize, 1e30);
    let mut dirty = clean.clone();
    let at = b.rng.below(count) as usize;
    dirty[at] = bad;
    let (cb, db) = (b.floats("clean", &clean).await?, b.floats("dirty", &dirty).await?);
    let found = b.words("found", &[u32::MAX]).await?;
    let mut uniforms = Uniforms::default();
    let mut r = b.recorder(&mut uniforms);
    for (x, probe) in [(&cb, 3), (&db, 7), (&db, 5), (&cb, 4), (&db, 9)] {
        simple::nan_probe(&mut r, x, count, probe, &found).await?;
    }
    if b.go(r, 1, 1).await? {
        let expected = if reference::nan_probe(&dirty) { 5 } else { u32::MAX };
        let got = b.read("found", &found, 1).await?;
        b.equal("found", &got, &[expected]);
    }
    Ok(())
}
