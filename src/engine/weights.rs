//! A model's weights on the device.

use super::error::{EngineError, Result};
use crate::format::TensorSet;
use crate::gpu::{Buffer, Gpu};
use crate::model::{LayerSpec, MatrixSlot, ModelSpec, VectorSlot};
use crate::weights::matrix::{Matrix, RowRange, Source, read_f32};

/// One block.
#[derive(Debug)]
pub(crate) struct Layer {
    pub attn_norm: Buffer,
    pub qkv: Vec<Matrix>,
    pub qkv_bias: Option<Buffer>,
    pub qk_norm: Option<Buffer>,
    pub out: Matrix,
    pub out_bias: Option<Buffer>,
    pub attn_post_norm: Option<Buffer>,
    pub ffn_norm: Buffer,
    pub gate_up: Matrix,
    pub down: Matrix,
    pub ffn_post_norm: Option<Buffer>,
}

/// All weights.
#[derive(Debug)]
pub(crate) struct Weights {
    pub embedding: Matrix,
    pub head: Option<Matrix>,
    pub final_norm: Buffer,
    pub layers: Vec<Layer>,
}

impl Weights {
    /// Loads everything; `progress` is called with (blocks done, blocks).
    pub async fn load(
        gpu: &Gpu,
        tensors: &TensorSet,
        spec: &ModelSpec,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Self> {
        let all = spec.layers.len() + 1;
        progress(0, all);
        let embedding = matrix(gpu, tensors, &spec.embedding).await?;
        let head = match &spec.head {
            Some(h) => Some(matrix(gpu, tensors, h).await?),
            None => None,
        };
        let final_norm = vector(gpu, tensors, &spec.final_norm, "final norm").await?;
        progress(1, all);
        let mut layers = Vec::with_capacity(spec.layers.len());
        for (i, l) in spec.layers.iter().enumerate() {
            layers.push(layer(gpu, tensors, l).await?);
            progress(i + 2, all);
        }
        gpu.finish().await?;
        Ok(Self { embedding, head, final_norm, layers })
    }

    /// The output head.
    pub fn head(&self) -> &Matrix {
        self.head.as_ref().unwrap_or(&self.embedding)
    }

    /// Bytes of all matrices.
    pub fn bytes(&self) -> u64 {
        let layer = |l: &Layer| {
            l.qkv.iter().map(Matrix::bytes).sum::<u64>() + l.out.bytes() + l.gate_up.bytes() + l.down.bytes()
        };
        self.embedding.bytes()
            + self.head.as_ref().map_or(0, Matrix::bytes)
            + self.layers.iter().map(layer).sum::<u64>()
    }
}

async fn layer(gpu: &Gpu, tensors: &TensorSet, l: &LayerSpec) -> Result<Layer> {
    let mut qkv = Vec::new();
    for m in &l.qkv {
        qkv.push(matrix(gpu, tensors, m).await?);
    }
    Ok(Layer {
        attn_norm: vector(gpu, tensors, &l.attn_norm, "attention norm").await?,
        qkv,
        qkv_bias: optional(gpu, tensors, l.qkv_bias.as_ref(), "q|k|v bias").await?,
        qk_norm: optional(gpu, tensors, l.qk_norm.as_ref(), "q and k norms").await?,
        out: matrix(gpu, tensors, &l.out).await?,
        out_bias: optional(gpu, tensors, l.out_bias.as_ref(), "attention output bias").await?,
        attn_post_norm: optional(gpu, tensors, l.attn_post_norm.as_ref(), "norm after attention").await?,
        ffn_norm: vector(gpu, tensors, &l.ffn_norm, "feed-forward norm").await?,
        gate_up: matrix(gpu, tensors, &l.gate_up).await?,
        down: matrix(gpu, tensors, &l.down).await?,
        ffn_post_norm: optional(gpu, tensors, l.ffn_post_norm.as_ref(), "norm after feed-forward").await?,
    })
}

async fn matrix(gpu: &Gpu, tensors: &TensorSet, m: &MatrixSlot) -> Result<Matrix> {
    let source = Source {
        name: &m.name,
        pieces: m
            .pieces
            .iter()
            .map(|p| RowRange { tensor: &p.tensor, first: p.first, rows: p.rows })
            .collect(),
        interleave: m.interleave,
        cols: m.cols,
        row0: m.row0,
    };
    Ok(Matrix::load(gpu, tensors, &source).await?)
}

async fn optional(
    gpu: &Gpu,
    tensors: &TensorSet,
    v: Option<&VectorSlot>,
    what: &str,
) -> Result<Option<Buffer>> {
    match v {
        Some(v) => Ok(Some(vector(gpu, tensors, v, what).await?)),
        None => Ok(None),
    }
}

async fn vector(gpu: &Gpu, tensors: &TensorSet, v: &VectorSlot, what: &str) -> Result<Buffer> {
    let mut values = read_f32(tensors, &v.tensors)?;
    if v.add_one {
        values.iter_mut().for_each(|x| *x += 1.0);
    }
    gpu.upload(what, bytemuck::cast_slice(&values)).await.map_err(EngineError::from)
}
