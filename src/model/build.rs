//! From a configuration and the list of tensors to a [`ModelSpec`]: names, shapes, and what is fused with what.

use super::check;
use super::config::{Config, Family};
use super::error::{ModelError, Result};
use super::rope;
use super::spec::{LayerSpec, MatrixSlot, ModelSpec, Piece, VectorSlot};
use crate::format::{TensorInfo, TensorSet};
use crate::kernels::Act;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// How a container names the tensors of a dense decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// Published Hugging Face names; the text is the prefix to `layers.N`.
    Hf(&'static str),
    /// GGUF names.
    Gguf,
}

/// Prefixes that Hugging Face checkpoints put before a text model.
const HF_PREFIXES: &[&str] =
    &["model.", "model.language_model.", "language_model.model.", "language_model.", ""];

impl Naming {
    /// Finds which prefix a Hugging Face checkpoint uses.
    pub fn detect_hf(tensors: &TensorSet) -> Self {
        let has = |p: &&&str| tensors.get(&format!("{p}embed_tokens.weight")).is_some();
        Self::Hf(HF_PREFIXES.iter().find(has).copied().unwrap_or("model."))
    }

    /// The name of a tensor outside the blocks.
    pub(super) fn top(self, role: Role) -> String {
        match (self, role) {
            (Self::Hf(p), Role::Embedding) => format!("{p}embed_tokens.weight"),
            (Self::Hf(p), Role::FinalNorm) => format!("{p}norm.weight"),
            (Self::Hf(p), _) if p.starts_with("language_model") => "language_model.lm_head.weight".into(),
            (Self::Hf(_), _) => "lm_head.weight".into(),
            (Self::Gguf, Role::Embedding) => "token_embd.weight".into(),
            (Self::Gguf, Role::FinalNorm) => "output_norm.weight".into(),
            (Self::Gguf, _) => "output.weight".into(),
        }
    }

    /// The name of a tensor of block `n`, without `.weight` or `.bias`.
    pub(super) fn block(self, n: u32, role: Role, gemma: bool) -> String {
        let short = match (self, role) {
            (Self::Hf(_), Role::AttnNorm) => "input_layernorm",
            (Self::Hf(_), Role::Q) => "self_attn.q_proj",
            (Self::Hf(_), Role::K) => "self_attn.k_proj",
            (Self::Hf(_), Role::V) => "self_attn.v_proj",
            (Self::Hf(_), Role::Qkv) => "self_attn.qkv_proj",
            (Self::Hf(_), Role::Out) => "self_attn.o_proj",
            (Self::Hf(_), Role::QNorm) => "self_attn.q_norm",
            (Self::Hf(_), Role::KNorm) => "self_attn.k_norm",
            (Self::Hf(_), Role::AttnPostNorm) => "post_attention_layernorm",
            // Gemma has four norms; everyone else calls the one before the feed-forward layer post-attention.
            (Self::Hf(_), Role::FfnNorm) if gemma => "pre_feedforward_layernorm",
            (Self::Hf(_), Role::FfnNorm) => "post_attention_layernorm",
            (Self::Hf(_), Role::FfnPostNorm) => "post_feedforward_layernorm",
            (Self::Hf(_), Role::Gate) => "mlp.gate_proj",
            (Self::Hf(_), Role::Up) => "mlp.up_proj",
            (Self::Hf(_), Role::GateUp) => "mlp.gate_up_proj",
            (Self::Hf(_), Role::Down) => "mlp.down_proj",
            (Self::Gguf, Role::AttnNorm) => "attn_norm",
            (Self::Gguf, Role::Q) => "attn_q",
            (Self::Gguf, Role::K) => "attn_k",
            (Self::Gguf, Role::V) => "attn_v",
            (Self::Gguf, Role::Qkv) => "attn_qkv",
            (Self::Gguf, Role::Out) => "attn_output",
            (Self::Gguf, Role::QNorm) => "attn_q_norm",
            (Self::Gguf, Role::KNorm) => "attn_k_norm",
            (Self::Gguf, Role::AttnPostNorm) => "post_attention_norm",
            (Self::Gguf, Role::FfnNorm) => "ffn_norm",
            (Self::Gguf, Role::FfnPostNorm) => "post_ffw_norm",
            (Self::Gguf, Role::Gate) => "ffn_gate",
            // phi3's fused tensor takes the name of the up projection.
            (Self::Gguf, Role::Up | Role::GateUp) => "ffn_up",
            (Self::Gguf, Role::Down) => "ffn_down",
            (_, Role::Embedding | Role::FinalNorm | Role::Head) => "",
        };
        match self {
            Self::Hf(p) => format!("{p}layers.{n}.{short}"),
            Self::Gguf => format!("blk.{n}.{short}"),
        }
    }
}

/// What a tensor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Embedding,
    FinalNorm,
    Head,
    AttnNorm,
    Q,
    K,
    V,
    Qkv,
    Out,
    QNorm,
    KNorm,
    AttnPostNorm,
    FfnNorm,
    FfnPostNorm,
    Gate,
    Up,
    GateUp,
    Down,
}

struct Builder<'a> {
    c: &'a Config,
    tensors: &'a TensorSet,
    naming: Naming,
    used: RefCell<BTreeSet<String>>,
}

/// Builds the spec.
///
/// # Errors
/// Missing tensors and shapes that contradict the configuration, by name.
pub fn build(c: &Config, tensors: &TensorSet, naming: Naming) -> Result<ModelSpec> {
    c.check()?;
    let b = Builder { c, tensors, naming, used: RefCell::default() };
    let embedding_name = naming.top(Role::Embedding);
    let embedding_info = b.need(&embedding_name)?;
    let vocab = match (c.vocab, embedding_info.shape.first()) {
        (Some(v), _) => u64::from(v),
        (None, Some(rows)) => *rows,
        (None, None) => 0,
    };
    // Rows that pad the tensor beyond the configuration are left out; ids without a row would have no values.
    let rows = embedding_info.shape.first().copied().unwrap_or(0);
    if vocab > rows {
        return Err(ModelError::Value {
            arch: c.arch.clone(),
            key: "vocab_size".into(),
            found: vocab.to_string(),
            expected: format!("at most {rows}, the rows of {embedding_name}"),
        });
    }
    if vocab < rows {
        log::warn!(
            "{}: vocab_size is {vocab}, {embedding_name} has {rows} rows: the last are left out",
            c.arch
        );
    }
    let vocab32 = u32::try_from(vocab).ok().filter(|v| *v > 0).ok_or_else(|| ModelError::Shape {
        arch: c.arch.clone(),
        tensor: embedding_name.clone(),
        found: embedding_info.shape.clone(),
        expected: vec![1, u64::from(c.hidden)],
    })?;
    let embedding = b.rows_of("embedding", &embedding_name, vocab, rows, u64::from(c.hidden))?;
    let head_name = naming.top(Role::Head);
    let stored = tensors.get(&head_name).is_some();
    let head = match (stored, c.tied) {
        (true, Some(true)) => {
            // Stored beside a tied embedding: the same bytes again, or (rarely) a head of its own.
            let h = b.need(&head_name)?;
            let same = h.ttype == embedding_info.ttype && tensors.data(h) == tensors.data(embedding_info);
            if same { None } else { Some(b.head(&head_name, vocab)?) }
        }
        (true, _) => Some(b.head(&head_name, vocab)?),
        (false, Some(false)) => {
            return Err(ModelError::MissingTensor { arch: c.arch.clone(), tensor: head_name });
        }
        (false, _) => None,
    };
    let interleaved = naming == Naming::Gguf && c.family.gguf_interleaved();
    let mut ropes = vec![rope::resolve(&c.rope, interleaved)];
    ropes.extend(c.rope_local.as_ref().map(|r| rope::resolve(r, interleaved)));
    let layers: Result<Vec<LayerSpec>> = (0..c.layers).map(|n| b.layer(n)).collect();
    let layers = layers?;
    let final_norm = b.norm(naming.top(Role::FinalNorm), c.hidden)?;
    let used = b.used.into_inner();
    let names = tensors.iter().map(|t| t.name.clone()).filter(|n| !used.contains(n));
    let unused: Vec<String> = names.filter(|n| !check::is_harmless(n, naming)).collect();
    if let Some(tensor) = unused.iter().find(|n| n.ends_with(".bias")) {
        return Err(ModelError::UnknownBias { arch: c.arch.clone(), tensor: tensor.clone() });
    }
    if let Some(tensor) = unused.iter().find(|n| check::is_of_a_block(n, naming)) {
        return Err(ModelError::UnknownTensor { arch: c.arch.clone(), tensor: tensor.clone() });
    }
    Ok(ModelSpec {
        arch: c.arch.clone(),
        name: c.name.clone(),
        hidden: c.hidden,
        vocab: vocab32,
        context: c.context,
        eps: c.eps as f32,
        embed_scale: if c.family.is_gemma() { f64::from(c.hidden).sqrt() as f32 } else { 1.0 },
        logit_scale: 1.0,
        logit_cap: c.logit_cap as f32,
        embedding,
        head,
        final_norm,
        ropes,
        layers,
        unused,
    })
}

impl Builder<'_> {
    fn need(&self, name: &str) -> Result<&TensorInfo> {
        let t = self.tensors.get(name).ok_or_else(|| ModelError::MissingTensor {
            arch: self.c.arch.clone(),
            tensor: name.to_owned(),
        })?;
        self.used.borrow_mut().insert(name.to_owned());
        Ok(t)
    }

    fn shape(&self, t: &TensorInfo, expected: &[u64]) -> Result<()> {
        if t.shape == expected {
            return Ok(());
        }
        Err(ModelError::Shape {
            arch: self.c.arch.clone(),
            tensor: t.name.clone(),
            found: t.shape.clone(),
            expected: expected.to_vec(),
        })
    }

    /// The first `rows` rows of a tensor that has `stored` of them.
    fn rows_of(&self, what: &str, name: &str, rows: u64, stored: u64, cols: u64) -> Result<MatrixSlot> {
        self.shape(self.need(name)?, &[stored, cols])?;
        let piece = Piece { tensor: name.to_owned(), first: 0, rows };
        Ok(MatrixSlot { name: what.into(), pieces: vec![piece], interleave: false, cols, row0: 0 })
    }

    fn head(&self, name: &str, vocab: u64) -> Result<MatrixSlot> {
        let stored = self.need(name)?.shape.first().copied().unwrap_or(0);
        if stored < vocab {
            let expected = [vocab, u64::from(self.c.hidden)];
            self.shape(self.need(name)?, &expected)?;
        }
        self.rows_of("output head", name, vocab, stored, u64::from(self.c.hidden))
    }

    fn norm(&self, name: String, len: u32) -> Result<VectorSlot> {
        self.shape(self.need(&name)?, &[u64::from(len)])?;
        // GGUF conversion has already added the 1.
        let add_one = self.c.family.is_gemma() && self.naming != Naming::Gguf;
        Ok(VectorSlot { tensors: vec![name], len: u64::from(len), add_one })
    }

    fn layer(&self, n: u32) -> Result<LayerSpec> {
        let c = self.c;
        let at = n as usize;
        let get = |list: &[u32]| list.get(at).copied().unwrap_or(0);
        let (kv_heads, ffn, window) = (get(&c.kv_heads), get(&c.ffn), get(&c.windows));
        let gemma = c.family.is_gemma();
        let block = |role| self.naming.block(n, role, gemma);
        let weight = |role| format!("{}.weight", block(role));
        let hidden = u64::from(c.hidden);
        let dims = [
            u64::from(c.heads) * u64::from(c.head_dim),
            u64::from(kv_heads) * u64::from(c.head_dim),
            u64::from(kv_heads) * u64::from(c.head_dim),
        ];
        let qkv = self.qkv(n, &weight, dims)?;
        let qkv_bias = self.biases(&[Role::Q, Role::K, Role::V], &dims, &block)?;
        if c.biased && qkv_bias.is_none() {
            return Err(ModelError::Value {
                arch: c.arch.clone(),
                key: "attention_bias".into(),
                found: "true".into(),
                expected: format!("false, as there is no tensor {}.bias", block(Role::Q)),
            });
        }
        let qk_norm = if c.family.has_qk_norm() {
            let q = self.norm(weight(Role::QNorm), c.head_dim)?;
            let k = self.norm(weight(Role::KNorm), c.head_dim)?;
            let tensors = [q.tensors, k.tensors].concat();
            Some(VectorSlot { tensors, len: q.len * 2, add_one: q.add_one })
        } else {
            None
        };
        let out = self.rows_of(
            &format!("layer {n} attention output"),
            &weight(Role::Out),
            hidden,
            hidden,
            dims[0],
        )?;
        let post = |role| if gemma { self.norm(weight(role), c.hidden).map(Some) } else { Ok(None) };
        let no_rope = c.no_rope.get(at).copied().unwrap_or(false);
        let local = window > 0 && c.rope_local.is_some();
        Ok(LayerSpec {
            heads: c.heads,
            kv_heads,
            head_dim: c.head_dim,
            rope: if no_rope { None } else { Some(usize::from(local)) },
            window,
            attn_scale: c.attn_scale as f32,
            attn_cap: c.attn_cap as f32,
            ffn,
            act: if c.gelu { Act::GeluTanh } else { Act::Silu },
            attn_norm: self.norm(weight(Role::AttnNorm), c.hidden)?,
            qkv,
            qkv_bias,
            qk_norm,
            out,
            out_bias: self.biases(&[Role::Out], &[hidden], &block)?,
            attn_post_norm: post(Role::AttnPostNorm)?,
            ffn_norm: self.norm(weight(Role::FfnNorm), c.hidden)?,
            gate_up: self.gate_up(n, &weight, u64::from(ffn))?,
            down: self.rows_of(
                &format!("layer {n} down"),
                &weight(Role::Down),
                hidden,
                hidden,
                u64::from(ffn),
            )?,
            ffn_post_norm: post(Role::FfnPostNorm)?,
        })
    }

    /// One matrix when the formats agree, else one per run of equal formats.
    fn qkv(&self, n: u32, weight: &dyn Fn(Role) -> String, dims: [u64; 3]) -> Result<Vec<MatrixSlot>> {
        let hidden = u64::from(self.c.hidden);
        let fused = weight(Role::Qkv);
        if self.c.family == Family::Phi3 || self.tensors.get(&fused).is_some() {
            let rows = dims.iter().sum();
            return Ok(vec![self.rows_of(&format!("layer {n} q|k|v"), &fused, rows, rows, hidden)?]);
        }
        let mut out: Vec<MatrixSlot> = Vec::new();
        let mut last = None;
        let mut row0 = 0u64;
        for (role, rows) in [Role::Q, Role::K, Role::V].into_iter().zip(dims) {
            let name = weight(role);
            let t = self.need(&name)?;
            self.shape(t, &[rows, hidden])?;
            let piece = Piece { tensor: name, first: 0, rows };
            match out.last_mut().filter(|_| last == Some(t.ttype)) {
                Some(m) => m.pieces.push(piece),
                None => out.push(MatrixSlot {
                    name: format!("layer {n} {role:?}").to_lowercase(),
                    pieces: vec![piece],
                    interleave: false,
                    cols: hidden,
                    row0: u32::try_from(row0).unwrap_or(u32::MAX),
                }),
            }
            last = Some(t.ttype);
            row0 += rows;
        }
        Ok(out)
    }

    fn gate_up(&self, n: u32, weight: &dyn Fn(Role) -> String, ffn: u64) -> Result<MatrixSlot> {
        let hidden = u64::from(self.c.hidden);
        let pieces = if self.c.family == Family::Phi3 {
            let name = weight(Role::GateUp);
            self.shape(self.need(&name)?, &[ffn * 2, hidden])?;
            let half = |first| Piece { tensor: name.clone(), first, rows: ffn };
            vec![half(0), half(ffn)]
        } else {
            let mut pieces = Vec::new();
            for role in [Role::Gate, Role::Up] {
                let name = weight(role);
                self.shape(self.need(&name)?, &[ffn, hidden])?;
                pieces.push(Piece { tensor: name, first: 0, rows: ffn });
            }
            pieces
        };
        Ok(MatrixSlot { name: format!("layer {n} gate|up"), pieces, interleave: true, cols: hidden, row0: 0 })
    }

    /// Biases of some projections, when the file has them: all or none.
    fn biases(
        &self,
        roles: &[Role],
        dims: &[u64],
        block: &dyn Fn(Role) -> String,
    ) -> Result<Option<VectorSlot>> {
        let names: Vec<String> = roles.iter().map(|r| format!("{}.bias", block(*r))).collect();
        if names.iter().all(|n| self.tensors.get(n).is_none()) {
            return Ok(None);
        }
        for (name, dim) in names.iter().zip(dims) {
            self.shape(self.need(name)?, &[*dim])?;
        }
        Ok(Some(VectorSlot { tensors: names, len: dims.iter().sum(), add_one: false }))
    }
}
