//! Twins of `rope_kv.wgsl`, `attention.wgsl` and `attn_merge.wgsl`.

use super::{Answer, inverse_rms};
use crate::kernels::attention::Shape;

/// What attention of a chunk depends on, besides q, k and v.
#[derive(Clone, Copy, Debug)]
pub struct Attention<'a> {
    /// Shapes and switches.
    pub shape: Shape,
    /// Position of the chunk's first token.
    pub position: usize,
    /// (cos, sin) pairs, `[positions, rot / 2, 2]`.
    pub rope: Option<&'a [f32]>,
    /// Weights of the q norm and the k norm, `[2, head_dim]`.
    pub qk_norm: Option<&'a [f32]>,
    /// Sink logits, `[heads]`.
    pub sinks: Option<&'a [f32]>,
}

/// q | k | v of every token (`[tokens, (heads + 2 kv_heads) * head_dim]`) after the per-head norms of q and k and the
/// rotation.
pub fn rope_kv(a: &Attention<'_>, qkv: &[f32]) -> Vec<f64> {
    let s = &a.shape;
    let (heads, kv_heads, dim) = (s.heads as usize, s.kv_heads as usize, s.head_dim as usize);
    let mut out: Vec<f64> = qkv.iter().map(|&v| f64::from(v)).collect();
    for (t, token) in out.chunks_mut((heads + 2 * kv_heads) * dim).enumerate() {
        for (h, head) in token.chunks_mut(dim).take(heads + kv_heads).enumerate() {
            if let Some(w) = a.qk_norm {
                let r = inverse_rms(head, s.eps);
                let w = if h < heads { &w[..dim] } else { &w[dim..] };
                head.iter_mut().zip(w).for_each(|(v, w)| *v *= r * f64::from(*w));
            }
            if let Some(rope) = a.rope {
                rotate(head, rope, a.position + t, s.rot as usize, s.interleaved);
            }
        }
    }
    out
}

fn rotate(head: &mut [f64], rope: &[f32], position: usize, rot: usize, interleaved: bool) {
    for i in 0..rot / 2 {
        let at = (position * (rot / 2) + i) * 2;
        let (cos, sin) = (f64::from(rope[at]), f64::from(rope[at + 1]));
        let (a, b) = if interleaved { (2 * i, 2 * i + 1) } else { (i, i + rot / 2) };
        let (x, y) = (head[a], head[b]);
        head[a] = x * cos - y * sin;
        head[b] = x * sin + y * cos;
    }
}

/// Attention of a chunk, `[tokens, heads * head_dim]`. `qkv` comes from [`rope_kv`]; `k` and `v` are the caches
/// (`[positions, kv_heads, head_dim]`) as stored, the chunk's own rows included. The slack of a value is the size of
/// the weighted values.
pub fn attention(a: &Attention<'_>, qkv: &[f64], k: &[f32], v: &[f32]) -> Answer {
    let s = &a.shape;
    let (heads, kv_heads, dim) = (s.heads as usize, s.kv_heads as usize, s.head_dim as usize);
    let mut out = Answer::default();
    for (t, token) in qkv.chunks((heads + 2 * kv_heads) * dim).enumerate() {
        let last = a.position + t;
        let first = if s.window == 0 { 0 } else { (last + 1).saturating_sub(s.window as usize) };
        for (h, q) in token.chunks(dim).take(heads).enumerate() {
            let row = |j: usize| {
                let at = (j * kv_heads + h / (heads / kv_heads)) * dim;
                at..at + dim
            };
            let scores: Vec<f64> = (first..=last)
                .map(|j| {
                    let dot: f64 = q.iter().zip(&k[row(j)]).map(|(q, k)| q * f64::from(*k)).sum();
                    let score = dot * f64::from(s.scale);
                    let cap = f64::from(s.cap);
                    if cap > 0.0 { cap * (score / cap).tanh() } else { score }
                })
                .collect();
            let sink = a.sinks.map(|x| f64::from(x[h]));
            let max = scores.iter().copied().fold(sink.unwrap_or(f64::NEG_INFINITY), f64::max);
            let total: f64 =
                scores.iter().map(|x| (x - max).exp()).sum::<f64>() + sink.map_or(0.0, |x| (x - max).exp());
            let (mut y, mut slack) = (vec![0.0; dim], vec![0.0; dim]);
            for (score, j) in scores.iter().zip(first..) {
                let p = (score - max).exp() / total;
                for (d, v) in v[row(j)].iter().enumerate() {
                    y[d] += p * f64::from(*v);
                    slack[d] += p * f64::from(v.abs());
                }
            }
            out.y.extend(y);
            out.slack.extend(slack);
        }
    }
    out
}

/// Joins partial results: per head and split `head_dim` sums, then (max, denominator, unused, unused).
pub fn attn_merge(part: &[f32], splits: usize, head_dim: usize, sinks: Option<&[f32]>) -> Answer {
    let mut out = Answer::default();
    for (h, head) in part.chunks(splits * (head_dim + 4)).enumerate() {
        let sink = sinks.map(|x| f64::from(x[h]));
        let parts: Vec<&[f32]> = head.chunks(head_dim + 4).collect();
        let max =
            parts.iter().map(|p| f64::from(p[head_dim])).fold(sink.unwrap_or(f64::NEG_INFINITY), f64::max);
        let factor = |p: &[f32]| (f64::from(p[head_dim]) - max).exp();
        let total: f64 = parts.iter().map(|p| f64::from(p[head_dim + 1]) * factor(p)).sum::<f64>()
            + sink.map_or(0.0, |x| (x - max).exp());
        for d in 0..head_dim {
            let terms = parts.iter().map(|p| f64::from(p[d]) * factor(p) / total);
            out.y.push(terms.clone().sum());
            out.slack.push(terms.map(f64::abs).sum());
        }
    }
    out
}
