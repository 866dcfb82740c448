//! A model as numbers: everything a step needs to know, with nothing left to guess and no file in sight.

use crate::kernels::Act;

/// A rotary embedding: inverse frequencies are worked out once, in f64.
#[derive(Clone, Debug, PartialEq)]
pub struct RopeSpec {
    /// Rotated dims of a head.
    pub dims: u32,
    /// Pairs are (2i, 2i+1).
    pub interleaved: bool,
    /// Radians per position of each of the `dims / 2` pairs.
    pub inv_freq: Vec<f64>,
    /// Factor on cos and sin (yarn, longrope).
    pub mscale: f64,
    /// The inverse frequencies of contexts longer than this many positions, where those differ (longrope).
    pub beyond: Option<(f64, Vec<f64>)>,
}

impl RopeSpec {
    /// Fixes the frequencies for sessions of up to `context` positions. Keys of a cache must all be turned
    /// alike, so the choice is made once, not as a conversation grows.
    pub fn settle(&mut self, context: u32) {
        if let Some((original, list)) = self.beyond.take()
            && f64::from(context) > original
        {
            self.inv_freq = list;
        }
    }

    /// (cos, sin) pairs of positions `from..to`, f32 `[to - from, dims / 2, 2]`. Angles in f64, so that they are
    /// right at any position.
    pub fn table(&self, from: u32, to: u32) -> Vec<f32> {
        let mut out = Vec::with_capacity((to - from) as usize * self.inv_freq.len() * 2);
        for pos in from..to {
            for f in &self.inv_freq {
                let (sin, cos) = (f64::from(pos) * f).sin_cos();
                out.push((cos * self.mscale) as f32);
                out.push((sin * self.mscale) as f32);
            }
        }
        out
    }
}

/// Where the rows of a matrix come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// Tensor name in the file.
    pub tensor: String,
    /// First row taken.
    pub first: u64,
    /// Rows taken.
    pub rows: u64,
}

/// A matrix of the graph, put together from tensors of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixSlot {
    /// What it is, for messages: `layer 3 gate|up`.
    pub name: String,
    /// Its rows, one piece after the other; or, when `interleave`, row i of each piece in turn.
    pub pieces: Vec<Piece>,
    /// Take rows in turn from the pieces (gate and up).
    pub interleave: bool,
    /// Columns.
    pub cols: u64,
    /// Where its first row goes in the output (parts of q|k|v that differ in format).
    pub row0: u32,
}

impl MatrixSlot {
    /// Rows in all.
    pub fn rows(&self) -> u64 {
        self.pieces.iter().map(|p| p.rows).sum()
    }
}

/// A vector of the graph: norm weights, biases.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorSlot {
    /// Tensors, one after the other.
    pub tensors: Vec<String>,
    /// Values in all.
    pub len: u64,
    /// Add 1 to every value (norms stored as w - 1).
    pub add_one: bool,
}

/// One decoder block.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerSpec {
    /// Query heads.
    pub heads: u32,
    /// Key/value heads.
    pub kv_heads: u32,
    /// Values per head.
    pub head_dim: u32,
    /// Which rotary embedding, if any.
    pub rope: Option<usize>,
    /// Keys a query sees, itself included; 0 for all.
    pub window: u32,
    /// Factor on attention scores.
    pub attn_scale: f32,
    /// Soft cap of attention scores; 0 for none.
    pub attn_cap: f32,
    /// Width of the feed-forward layer.
    pub ffn: u32,
    /// Its activation.
    pub act: Act,
    /// Norm before attention.
    pub attn_norm: VectorSlot,
    /// q | k | v, in one matrix or (when formats differ) several.
    pub qkv: Vec<MatrixSlot>,
    /// Bias of q | k | v.
    pub qkv_bias: Option<VectorSlot>,
    /// Norms of q and k per head.
    pub qk_norm: Option<VectorSlot>,
    /// Attention output.
    pub out: MatrixSlot,
    /// Its bias.
    pub out_bias: Option<VectorSlot>,
    /// Norm of the attention branch before it joins the residual (Gemma).
    pub attn_post_norm: Option<VectorSlot>,
    /// Norm before the feed-forward layer.
    pub ffn_norm: VectorSlot,
    /// Gate and up, interleaved by rows.
    pub gate_up: MatrixSlot,
    /// Down.
    pub down: MatrixSlot,
    /// Norm of the feed-forward branch before it joins the residual (Gemma).
    pub ffn_post_norm: Option<VectorSlot>,
}

/// A whole model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSpec {
    /// Architecture as the file names it.
    pub arch: String,
    /// Name for people, if the file has one.
    pub name: Option<String>,
    /// Width of the residual stream.
    pub hidden: u32,
    /// Rows of the output head.
    pub vocab: u32,
    /// Longest context the model was made for.
    pub context: u32,
    /// Epsilon of all norms.
    pub eps: f32,
    /// Factor on embeddings.
    pub embed_scale: f32,
    /// Factor on logits.
    pub logit_scale: f32,
    /// Soft cap of logits; 0 for none.
    pub logit_cap: f32,
    /// Token embedding.
    pub embedding: MatrixSlot,
    /// Output head; `None` when it is the embedding.
    pub head: Option<MatrixSlot>,
    /// Final norm.
    pub final_norm: VectorSlot,
    /// Rotary embeddings that layers refer to.
    pub ropes: Vec<RopeSpec>,
    /// Blocks.
    pub layers: Vec<LayerSpec>,
    /// Tensors of the file that nothing uses.
    pub unused: Vec<String>,
}
