//! The step as dispatches: which kernel reads what, for one token and for a chunk.
//!
//! A dense block is six dispatches for one token (q|k|v with the norm folded in, attention with rotation and cache
//! write, merge, output with the residual, gate|up with norm and activation, down with the residual) and eight with
//! Gemma's norms after the branches.

use super::scratch::Scratch;
use super::weights::{Layer, Weights};
use crate::gpu::Buffer;
use crate::gpu::error::Result;
use crate::kernels::attention::{self, Shape};
use crate::kernels::matmul::{self, Epilogue, Product};
use crate::kernels::{self, KvType, Recorder, simple};
use crate::kv::KvCache;
use crate::model::{LayerSpec, ModelSpec};

/// What the graph is recorded over.
#[derive(Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub spec: &'a ModelSpec,
    pub weights: &'a Weights,
    pub scratch: &'a Scratch,
    pub cache: &'a KvCache,
    pub ropes: &'a [Buffer],
}

/// The attention shape of a layer.
pub(crate) fn shape(spec: &ModelSpec, l: &LayerSpec, kv: KvType) -> Shape {
    let rope = l.rope.and_then(|i| spec.ropes.get(i));
    Shape {
        heads: l.heads,
        kv_heads: l.kv_heads,
        head_dim: l.head_dim,
        rot: rope.map_or(0, |r| r.dims),
        interleaved: rope.is_some_and(|r| r.interleaved),
        window: l.window,
        scale: l.attn_scale,
        cap: l.attn_cap,
        eps: spec.eps,
        kv,
    }
}

/// Whether a step is for one token or for a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    One,
    Chunk,
}

/// Embedding and all blocks; the result is in `scratch.x`. With `probe`, looks for a NaN behind the embedding (probe
/// 0) and behind block n (probe n + 1).
pub(crate) async fn body(r: &mut Recorder<'_>, p: &Parts<'_>, width: Width, probe: bool) -> Result<()> {
    let s = p.scratch;
    for part in p.weights.embedding.parts() {
        matmul::embed(r, &part, &s.ids, &s.state, &s.x, p.spec.embed_scale).await?;
    }
    if probe {
        simple::nan_probe(r, &s.x, p.spec.hidden, 0, &s.found).await?;
    }
    for (i, (l, w)) in p.spec.layers.iter().zip(&p.weights.layers).enumerate() {
        block(r, p, width, i, l, w).await?;
        if probe {
            simple::nan_probe(r, &s.x, p.spec.hidden, i as u32 + 1, &s.found).await?;
        }
    }
    Ok(())
}

async fn block(
    r: &mut Recorder<'_>,
    p: &Parts<'_>,
    width: Width,
    index: usize,
    l: &LayerSpec,
    w: &Layer,
) -> Result<()> {
    let (s, spec) = (p.scratch, p.spec);
    let shape = shape(spec, l, p.cache.spec.plain);
    let Some(cache) = p.cache.layers.get(index) else { return Ok(()) };
    let buffers = attention::Buffers {
        state: &s.state,
        qkv: &s.qkv,
        pool: &cache.pool,
        list: &p.cache.list,
        list_at: cache.list_at,
        sealed: cache.sealed,
        rope: l.rope.and_then(|i| p.ropes.get(i)),
        qk_norm: w.qk_norm.as_ref(),
        sinks: None,
        part: &s.part,
        out: &s.attn,
    };
    let qkv_width = (l.heads + 2 * l.kv_heads) * l.head_dim;
    let input = normed(r, p, width, &w.attn_norm).await?;
    for m in &w.qkv {
        let product = Product {
            bias: w.qkv_bias.as_ref(),
            norm: input.fold(&w.attn_norm, spec.eps),
            ..Product::plain(input.x, &s.qkv, qkv_width, Epilogue::Store)
        };
        matrix(r, m, &product, width, s).await?;
    }
    match width {
        Width::One => attention::decode(r, &shape, &buffers).await?,
        Width::Chunk => {
            attention::rope_kv(r, &shape, &buffers).await?;
            attention::prefill(r, &shape, &buffers).await?;
        }
    }
    branch(r, p, width, &w.out, &s.attn, w.out_bias.as_ref(), w.attn_post_norm.as_ref()).await?;
    let input = normed(r, p, width, &w.ffn_norm).await?;
    let product = Product {
        norm: input.fold(&w.ffn_norm, spec.eps),
        ..Product::plain(input.x, &s.ff, l.ffn, Epilogue::Pair(l.act))
    };
    matrix(r, &w.gate_up, &product, width, s).await?;
    branch(r, p, width, &w.down, &s.ff, None, w.ffn_post_norm.as_ref()).await
}

/// Where a projection reads its normed input.
struct Input<'a> {
    x: &'a Buffer,
    folded: bool,
}

impl Input<'_> {
    fn fold<'b>(&self, norm: &'b Buffer, eps: f32) -> Option<(&'b Buffer, f32)> {
        self.folded.then_some((norm, eps))
    }
}

/// One token: the norm is folded into the product that follows. A chunk: it is a dispatch of its own.
async fn normed<'a>(r: &mut Recorder<'_>, p: &Parts<'a>, width: Width, w: &Buffer) -> Result<Input<'a>> {
    let s = p.scratch;
    if width == Width::One {
        return Ok(Input { x: &s.x, folded: true });
    }
    simple::norm(r, &s.x, w, &s.xn, p.spec.hidden, p.spec.eps, false).await?;
    Ok(Input { x: &s.xn, folded: false })
}

/// The end of a branch: its last projection, added to the residual stream, through a norm of its own if it has one.
async fn branch(
    r: &mut Recorder<'_>,
    p: &Parts<'_>,
    width: Width,
    m: &crate::weights::Matrix,
    x: &Buffer,
    bias: Option<&Buffer>,
    post_norm: Option<&Buffer>,
) -> Result<()> {
    let (s, spec) = (p.scratch, p.spec);
    let (y, epilogue) = if post_norm.is_some() { (&s.xn, Epilogue::Store) } else { (&s.x, Epilogue::Add) };
    let product = Product { bias, ..Product::plain(x, y, spec.hidden, epilogue) };
    matrix(r, m, &product, width, s).await?;
    match post_norm {
        Some(w) => simple::norm(r, &s.xn, w, &s.x, spec.hidden, spec.eps, true).await,
        None => Ok(()),
    }
}

async fn matrix(
    r: &mut Recorder<'_>,
    m: &crate::weights::Matrix,
    product: &Product<'_>,
    width: Width,
    s: &Scratch,
) -> Result<()> {
    let codes = m.parts().next().is_some_and(|p| !p.plain);
    if width == Width::Chunk && s.round && codes {
        simple::round_int8(r, product.x, m.cols, &s.state).await?;
    }
    for part in m.parts() {
        match width {
            Width::One => matmul::gemv(r, &part, product).await?,
            Width::Chunk => matmul::gemm(r, &part, product, &s.state).await?,
        }
    }
    Ok(())
}

/// Sealing of the pages that leave the tail, in all layers.
pub(crate) async fn seal(r: &mut Recorder<'_>, p: &Parts<'_>) -> Result<()> {
    for (l, cache) in p.spec.layers.iter().zip(&p.cache.layers) {
        if let Some(sealed) = &cache.sealed {
            let shape = shape(p.spec, l, p.cache.spec.plain);
            kernels::seal::seal(r, &shape, sealed, &cache.pool, &p.cache.jobs, p.cache.first_job(cache))
                .await?;
        }
    }
    Ok(())
}

/// Final norm and head of the chunk's last token; the result is in `scratch.logits`.
pub(crate) async fn head(r: &mut Recorder<'_>, p: &Parts<'_>) -> Result<()> {
    let (s, spec) = (p.scratch, p.spec);
    let product = Product {
        norm: Some((&p.weights.final_norm, spec.eps)),
        scale: spec.logit_scale,
        cap: spec.logit_cap,
        last_of: Some(&s.state),
        ..Product::plain(&s.x, &s.logits, spec.vocab, Epilogue::Store)
    };
    for part in p.weights.head().parts() {
        matmul::gemv(r, &part, &product).await?;
    }
    Ok(())
}

/// Final norm and head of every token of the chunk, into `all` `[chunk, vocab]`.
pub(crate) async fn head_all(r: &mut Recorder<'_>, p: &Parts<'_>, all: &Buffer) -> Result<()> {
    let (s, spec) = (p.scratch, p.spec);
    simple::norm(r, &s.x, &p.weights.final_norm, &s.xn, spec.hidden, spec.eps, false).await?;
    let product = Product {
        scale: spec.logit_scale,
        cap: spec.logit_cap,
        ..Product::plain(&s.xn, all, spec.vocab, Epilogue::Store)
    };
    matrix(r, p.weights.head(), &product, Width::Chunk, s).await
}
