//! Cases of `rope_kv`, `attention` and `attn_merge`.

use super::bench::{Bench, spread};
use super::pages::Pages;
use crate::gpu::Uniforms;
use crate::gpu::error::Result;
use crate::kernels::attention::{self, Buffers, Shape};
use crate::kernels::reference::{self, Answer, Attention};
use crate::kernels::{KvType, state};
use crate::kv::codec::{Codec, Tier};

/// Of the size of the weighted values. A score of size s carries an error near 1e-7 s * sqrt(head_dim), which the
/// exponential turns into a relative one.
const TOLERANCE: f64 = 2e-5;
/// Of the cached row's largest value, beside the rounding to f16.
const STORE_TOLERANCE: f64 = 1e-5;

#[derive(Clone, Debug)]
pub(super) struct Spec {
    pub shape: Shape,
    /// A chunk of this many tokens; 0 for a decode step.
    pub chunk: u32,
    pub position: u32,
    pub qk_norm: bool,
    pub sinks: bool,
    /// Only the merge, of this many random parts.
    pub merge: u32,
    /// Levels of keys and values of sealed pages.
    pub sealed: Option<(u16, u16)>,
}

impl Spec {
    fn tier(&self) -> Option<Tier> {
        let (k, v) = self.sealed?;
        Some(Tier { k: Codec::Aff { levels: k }, v: Codec::Aff { levels: v } })
    }
}

impl Spec {
    pub fn describe(&self) -> String {
        let s = &self.shape;
        let mut out = if self.merge > 0 {
            format!("merge of {}", self.merge)
        } else if self.chunk > 0 {
            format!("prefill of {}", self.chunk)
        } else {
            "decode".to_owned()
        };
        out += &format!(" at {} heads={}/{} dim={}", self.position, s.heads, s.kv_heads, s.head_dim);
        out += &format!(" kv={} rot={}", s.kv.name(), s.rot);
        for (on, name) in [
            (s.interleaved, " interleaved"),
            (s.window > 0, " window"),
            (s.cap > 0.0, " cap"),
            (self.qk_norm, " qk-norm"),
            (self.sinks, " sinks"),
        ] {
            out += if on { name } else { "" };
        }
        if let Some((k, v)) = self.sealed {
            out += &format!(" sealed {k}/{v}");
        }
        out
    }
}

pub(super) async fn run(b: &mut Bench<'_>, spec: &Spec) -> Result<()> {
    let s = &spec.shape;
    let (heads, dim) = (s.heads as usize, s.head_dim as usize);
    let tokens = spec.chunk.max(1) as usize;
    let position = spec.position as usize;
    let splits = if spec.merge > 0 { spec.merge } else { s.splits(b.tuning.attention_groups) };
    let all = heads + 2 * s.kv_heads as usize;
    let row = s.kv_heads as usize * dim;

    let mut qkv = b.rng.floats(tokens * all * dim, 1.0);
    // Scores spread far enough that the softmax is neither even nor one key alone.
    qkv.iter_mut().for_each(|v| *v *= 1.5);
    let first_seen = if s.window == 0 { 0 } else { (position + 1).saturating_sub(s.window as usize) };
    let positions = position + tokens + 4;
    let mut pages = Pages::new(b, s, position, positions, first_seen, spec.tier());
    let old = pages.rows(b, s, first_seen, position);
    let rope = rope_table(positions, s.rot as usize);
    let norms = b.rng.floats(2 * dim, 2.0);
    let sinks = b.rng.floats(heads, 2.0);
    let mut words = vec![0; state::WORDS];
    words[state::POS] = spec.position;
    words[state::TOKENS] = tokens as u32;

    let state = b.words("state", &words).await?;
    let qkv_buffer = b.floats("qkv", &qkv).await?;
    let pool = b.words("pool", &old).await?;
    let list = b.words("list", &pages.list).await?;
    let rope_buffer = b.floats("rope", &rope).await?;
    let norm_buffer = b.floats("qk norm", &norms).await?;
    let sink_buffer = b.floats("sinks", &sinks).await?;
    let parts = random_parts(b, spec, splits);
    let slots = match (spec.sealed, spec.chunk) {
        (None, _) => splits,
        (Some(_), 0) => s.sealed_slots(b.tuning.attention_groups).0,
        (Some(_), chunk) => chunk * s.sealed_slots(b.tuning.attention_groups).1,
    };
    let part_words = (s.part_bytes(slots) / 4) as usize;
    let part =
        if spec.merge > 0 { b.floats("parts", &parts).await? } else { b.output("parts", part_words).await? };
    let out_words = tokens * heads * dim;
    let out = b.output("out", out_words).await?;
    let buffers = Buffers {
        state: &state,
        qkv: &qkv_buffer,
        pool: &pool,
        list: &list,
        list_at: pages.list_at,
        sealed: pages.sealed(s),
        rope: (s.rot > 0).then_some(&rope_buffer),
        qk_norm: spec.qk_norm.then_some(&norm_buffer),
        sinks: spec.sinks.then_some(&sink_buffer),
        part: &part,
        out: &out,
    };
    let mut uniforms = Uniforms::default();
    let mut r = b.recorder(&mut uniforms);
    if spec.merge > 0 {
        attention::merge(&mut r, s, &buffers, splits).await?;
    } else if spec.chunk > 0 {
        attention::rope_kv(&mut r, s, &buffers).await?;
        attention::prefill(&mut r, s, &buffers).await?;
    } else {
        attention::decode(&mut r, s, &buffers).await?;
    }
    if !b.go(r, tokens as u32, 1).await? {
        return Ok(());
    }
    let given = spec.sinks.then_some(&sinks[..]);
    let got = b.read("out", &out, out_words).await?;
    if spec.merge > 0 {
        let expected = reference::attn_merge(&parts, splits as usize, dim, given);
        b.compare("out", &got, &[], &expected, TOLERANCE);
        return Ok(());
    }
    let twin = Attention {
        shape: *s,
        position,
        rope: (s.rot > 0).then_some(&rope[..]),
        qk_norm: spec.qk_norm.then_some(&norms[..]),
        sinks: given,
    };
    let expected = reference::rope_kv(&twin, &qkv);
    let new = b.read("pool", &pool, old.len()).await?;
    for (what, part) in [("k", 0), ("v", 1)] {
        let rows = expected.chunks(all * dim).flat_map(|t| &t[heads * dim + part * row..][..row]);
        let stored = pages.values(s, &new, position..position + tokens, part);
        compare_rows(b, s, what, &stored, &rows.copied().collect::<Vec<f64>>());
    }
    let mut others = old;
    for at in pages.words_of(s, position..position + tokens) {
        others[at] = new[at];
    }
    b.equal("pool", &new, &others);
    // The new rows as they were stored, so that their rounding is not counted twice.
    let answer = reference::attention(
        &twin,
        &expected,
        &pages.values(s, &new, 0..positions, 0),
        &pages.values(s, &new, 0..positions, 1),
    );
    b.compare("out", &got, &[], &answer, TOLERANCE);
    Ok(())
}

/// The new rows hold what they should.
fn compare_rows(b: &mut Bench<'_>, s: &Shape, what: &str, stored: &[f32], rows: &[f64]) {
    let dim = s.head_dim as usize;
    let stored: Vec<u32> = stored.iter().map(|v| v.to_bits()).collect();
    let mut expected = Answer { y: rows.to_vec(), slack: Vec::new() };
    for head in rows.chunks(dim) {
        let largest = head.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        // Rounding to f16 in either direction, expressed in units of the tolerance.
        let half = |v: &f64| if s.kv == KvType::F16 { v.abs() / 1024.0 + 1e-7 } else { 0.0 };
        expected.slack.extend(head.iter().map(|v| largest + half(v) / STORE_TOLERANCE));
    }
    b.compare(what, &stored, &[], &spread(&expected, dim, dim), STORE_TOLERANCE);
}

fn rope_table(positions: usize, rot: usize) -> Vec<f32> {
    let mut out = Vec::new();
    for p in 0..positions {
        for i in 0..rot / 2 {
            let angle = p as f64 * 10000f64.powf(-2.0 * i as f64 / rot as f64);
            out.extend([angle.cos() as f32, angle.sin() as f32]);
        }
    }
    out
}

/// Partial results with maxima far apart, some parts empty.
fn random_parts(b: &mut Bench<'_>, spec: &Spec, splits: u32) -> Vec<f32> {
    let mut out = Vec::new();
    for _ in 0..spec.shape.heads {
        for split in 0..splits {
            let empty = split % 3 == 2;
            let max = if empty { -3.0e38 } else { b.rng.unit() * 8.0 };
            let sums = b.rng.floats(spec.shape.head_dim as usize, if empty { 0.0 } else { 1.0 });
            out.extend(sums);
            out.extend([max, if empty { 0.0 } else { 1.5 + b.rng.unit() }, 0.0, 0.0]);
        }
    }
    out
}
