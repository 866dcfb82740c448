//! Cases of `argmax`, `sample` and `adjust`.

use super::bench::{Bench, POISON, Rng};
use crate::generate::{device_chain_reference, reference_topk, rng as draws};
use crate::gpu::Uniforms;
use crate::gpu::error::Result;
use crate::kernels::reference::{self, Adjustment, Answer};
use crate::kernels::select::{self, Chain};
use crate::kernels::state;

/// What a row of logits looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Logits {
    /// All different, a few minus infinity.
    Plain,
    /// Few distinct values, plus and minus zero among them.
    Ties,
    /// As `Plain` with two NaN.
    Nan,
    /// As `Plain` with plus infinity.
    Infinite,
    /// Nothing but minus infinity.
    Empty,
}

#[derive(Clone, Debug)]
pub(super) enum Spec {
    Argmax { vocab: u32, logits: Logits },
    Sample { vocab: u32, logits: Logits, chain: Chain },
    Adjust { vocab: u32, entries: u32, capacity: u32, penalties: [f32; 3] },
}

fn logits(rng: &mut Rng, kind: Logits, n: u32) -> Vec<f32> {
    let mut out: Vec<f32> = match kind {
        Logits::Empty => vec![f32::NEG_INFINITY; n as usize],
        Logits::Ties => (0..n)
            .map(|_| match rng.below(5) {
                0 => 0.0,
                1 => -0.0,
                k => k as f32 * -0.5,
            })
            .collect(),
        _ => rng.floats(n as usize, 12.0),
    };
    for i in 0..(n / 10).min(5) {
        out[(i * 7 + 1) as usize] = f32::NEG_INFINITY;
    }
    let at = (rng.below(n), rng.below(n));
    match kind {
        Logits::Nan => {
            out[at.0 as usize] = -f32::NAN;
            out[at.1 as usize] = f32::NAN;
        }
        Logits::Infinite => out[at.0 as usize] = f32::INFINITY,
        _ => {}
    }
    out
}

fn flag_of(row: &[f32]) -> u32 {
    match reference::argmax(row).1 {
        Some(true) => state::FLAG_NAN,
        Some(false) => state::FLAG_EMPTY,
        None => 0,
    }
}

pub(super) async fn run(b: &mut Bench<'_>, s: &Spec) -> Result<()> {
    match s {
        Spec::Argmax { vocab, logits: kind } => choose(b, *vocab, *kind, None).await,
        Spec::Sample { vocab, logits: kind, chain } => choose(b, *vocab, *kind, Some(chain)).await,
        Spec::Adjust { vocab, entries, capacity, penalties } => {
            adjust(b, *vocab, *entries, *capacity, *penalties).await
        }
    }
}

/// Several selections in a row; the state that each hands to the next is checked at the end.
async fn choose(b: &mut Bench<'_>, vocab: u32, kind: Logits, chain: Option<&Chain>) -> Result<()> {
    const STEPS: u32 = 12;
    const SEED: u64 = 0x1234_5678_9abc_def1;
    let row = logits(&mut b.rng, kind, vocab);
    // So near the end of the ring that it wraps.
    let (position, tokens, step) = (1000, 5, select::RING - 5);
    let mut words = vec![0; state::WORDS];
    words[state::POS] = position;
    words[state::TOKENS] = tokens;
    words[state::STEP] = step;
    words[state::SEED_LO] = SEED as u32;
    words[state::SEED_HI] = (SEED >> 32) as u32;
    let logit_buffer = b.floats("logits", &row).await?;
    let state = b.words("state", &words).await?;
    let ids = b.words("ids", &[POISON; 2]).await?;
    let out = b.output("out", 2 * select::RING as usize).await?;
    let scratch = b.output("scratch", 2 * select::MAX_K as usize).await?;
    let buffers =
        select::Buffers { logits: &logit_buffer, state: &state, ids: &ids, out: &out, scratch: &scratch };
    let mut uniforms = Uniforms::default();
    let mut r = b.recorder(&mut uniforms);
    match chain {
        None => select::argmax(&mut r, &buffers, vocab).await?,
        Some(c) => select::sample(&mut r, &buffers, vocab, c).await?,
    }
    if !b.go(r, 1, STEPS).await? {
        return Ok(());
    }
    let flag = flag_of(&row);
    let ring = b.read("out", &out, 2 * select::RING as usize).await?;
    let mut touched = vec![false; select::RING as usize];
    let mut last = 0;
    for i in 0..STEPS {
        let slot = ((step + i) % select::RING) as usize;
        touched[slot] = true;
        last = ring[2 * slot];
        b.equal("flag", &ring[2 * slot + 1..2 * slot + 2], &[flag]);
        // The first step consumes the prompt, every other one token.
        let next = position + tokens + i;
        match chain {
            None => b.equal("argmax", &[last], &[reference::argmax(&row).0]),
            Some(c) if flag == 0 => {
                let u = draws::uniform(SEED, next, draws::USE_DRAW);
                if !plausible(&row, c, u, last) {
                    b.fail(format!("step {i}: sampled {last}, expected {}", twin(&row, c, u)));
                }
            }
            Some(_) => {}
        }
    }
    for slot in (0..touched.len()).filter(|s| !touched[*s]) {
        b.equal("out (untouched)", &ring[2 * slot..2 * slot + 2], &[POISON; 2]);
    }
    words[state::POS] = position + tokens + STEPS - 1;
    words[state::TOKENS] = 1;
    words[state::STEP] = step + STEPS;
    words[state::FLAG] = flag;
    let got = b.read("state", &state, words.len()).await?;
    b.equal("state", &got, &words);
    let got = b.read("ids", &ids, 2).await?;
    b.equal("ids", &got, &[last, POISON]);
    let list = b.read("scratch", &scratch, 2 * select::MAX_K as usize).await?;
    if let (Some(c), 0) = (chain, flag) {
        let k = c.top_k.min(vocab) as usize;
        let expected = reference_topk(&row, k).0;
        let got: Vec<u32> = list.chunks(2).take(k).map(|c| c[1]).collect();
        b.equal("candidates", &got, &expected.iter().map(|c| c.0).collect::<Vec<u32>>());
    }
    Ok(())
}

fn twin(row: &[f32], c: &Chain, u: f32) -> u32 {
    let list: Vec<(u32, f32)> = (0u32..).zip(row.iter().copied()).collect();
    device_chain_reference(&list, c.temperature, c.top_k as usize, c.top_p, c.min_p, u)
}

/// Whether the twin gives this id, or gives it when its inputs move by what f32 sums may be off.
fn plausible(row: &[f32], c: &Chain, u: f32, id: u32) -> bool {
    const OFF: [f32; 3] = [0.0, 4e-6, -4e-6];
    OFF.iter().any(|du| {
        OFF.iter().any(|dp| {
            let top_p = if c.top_p < 1.0 { c.top_p * (1.0 + dp) } else { c.top_p };
            OFF.iter().any(|dm| twin(row, &Chain { top_p, min_p: c.min_p * (1.0 + dm), ..*c }, u + du) == id)
        })
    })
}

async fn adjust(
    b: &mut Bench<'_>,
    vocab: u32,
    entries: u32,
    capacity: u32,
    penalties: [f32; 3],
) -> Result<()> {
    let row = b.rng.floats(vocab as usize, 10.0);
    let step = (vocab / entries.max(1)).max(1);
    let mut list: Vec<Adjustment> = (0..entries)
        .map(|i| Adjustment {
            id: i * step,
            count: b.rng.below(4),
            bias: if i % 2 == 0 { b.rng.unit() * 3.0 } else { 0.0 },
            delta: if i % 5 == 0 { b.rng.unit() } else { 0.0 },
        })
        .collect();
    if let Some(e) = list.first_mut() {
        // An id past the vocabulary is left out.
        e.id = vocab;
    }
    let words: Vec<u32> =
        list.iter().flat_map(|e| [e.id, e.count, e.bias.to_bits(), e.delta.to_bits()]).collect();
    let logit_buffer = b.floats("logits", &row).await?;
    let head = b.words("head", &[entries]).await?;
    let list_buffer = b.words("list", &words).await?;
    let mut uniforms = Uniforms::default();
    let mut r = b.recorder(&mut uniforms);
    select::adjust(&mut r, &logit_buffer, &head, &list_buffer, capacity, vocab, penalties).await?;
    if b.go(r, 1, 1).await? {
        let y = reference::adjust(&row, &list, penalties);
        let slack = y.iter().zip(&row).map(|(y, l)| y.abs() + f64::from(l.abs()) + 1.0).collect();
        let got = b.read("logits", &logit_buffer, vocab as usize).await?;
        b.compare("logits", &got, &[], &Answer { y, slack }, 1e-6);
    }
    Ok(())
}
