//! What the harness measures: shapes of real models, checked like every other case before they are timed.

use super::case_attention::Spec as AttentionSpec;
use super::case_matmul::{Kind, Spec as MatmulSpec};
use super::case_select::{Logits, Spec as SelectSpec};
use super::case_simple::Spec as SimpleSpec;
use super::list::{attention, gemm_name, gemv_name, seed_of};
use super::{Case, Work};
use crate::format::TensorType;
use crate::kernels::{Activations, KvType, Tuning};
use crate::weights::{PlaneLayout, traits};

/// One kernel on one shape, before a geometry is chosen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Arm {
    /// A product with `[rows, cols]` weights: `gemv` for one token, else `gemm`.
    Product {
        /// The weights' format; `None` for the control that reads none.
        ttype: Option<TensorType>,
        /// Rows.
        rows: u32,
        /// Columns.
        cols: u32,
        /// Tokens.
        tokens: u32,
    },
    /// Attention over `keys` cached keys, of one token or of a chunk that ends there.
    Attention {
        /// Query heads.
        heads: u32,
        /// Key/value heads.
        kv_heads: u32,
        /// Values per head.
        head_dim: u32,
        /// Keys in the cache when the step is done.
        keys: u32,
        /// Tokens of the chunk; 1 for a decode step.
        tokens: u32,
        /// Cache storage.
        kv: KvType,
    },
    /// RMS norm of `[tokens, cols]`.
    Norm {
        /// Tokens.
        tokens: u32,
        /// Columns.
        cols: u32,
    },
    /// Greedy choice among `vocab` logits.
    Argmax {
        /// Logits.
        vocab: u32,
    },
}

impl Arm {
    /// The kernel family.
    pub fn family(&self) -> &'static str {
        match self {
            Self::Product { tokens: 1, .. } => "gemv",
            Self::Product { .. } => "gemm",
            Self::Attention { .. } => "attention",
            Self::Norm { .. } => "norm",
            Self::Argmax { .. } => "select",
        }
    }

    /// The format's name, in lower case; `none` for the control, empty where there is none.
    pub fn format(&self) -> String {
        match self {
            Self::Product { ttype, .. } => ttype.map_or("none".into(), |t| t.to_string().to_lowercase()),
            Self::Attention { kv, .. } => kv.name().to_owned(),
            _ => String::new(),
        }
    }

    /// The shape in words.
    pub fn shape(&self) -> String {
        match self {
            Self::Product { rows, cols, tokens: 1, .. } => format!("{rows}x{cols}"),
            Self::Product { rows, cols, tokens, .. } => format!("{rows}x{cols} tokens={tokens}"),
            Self::Attention { heads, kv_heads, head_dim, keys, tokens, .. } => {
                let chunk = if *tokens > 1 { format!(" tokens={tokens}") } else { String::new() };
                format!("heads={heads}/{kv_heads} dim={head_dim} keys={keys}{chunk}")
            }
            Self::Norm { tokens: 1, cols } => format!("{cols}"),
            Self::Norm { tokens, cols } => format!("{cols} tokens={tokens}"),
            Self::Argmax { vocab } => format!("{vocab}"),
        }
    }

    /// Weights or cached values gone through, multiplied by nothing: a chunk reads its weights once.
    pub fn items(&self) -> u64 {
        match *self {
            Self::Product { rows, cols, .. } => u64::from(rows) * u64::from(cols),
            Self::Attention { kv_heads, head_dim, keys, .. } => {
                2 * u64::from(kv_heads) * u64::from(head_dim) * u64::from(keys)
            }
            Self::Norm { tokens, cols } => u64::from(tokens) * u64::from(cols),
            Self::Argmax { vocab } => u64::from(vocab),
        }
    }

    /// Bits per item as served.
    pub fn bits(&self) -> f64 {
        match self {
            Self::Product { ttype: Some(t), .. } => traits(*t).map_or(0.0, |f| f.bits),
            Self::Product { ttype: None, .. } => 0.0,
            Self::Attention { kv, .. } => kv.bytes() as f64 * 8.0,
            Self::Norm { .. } | Self::Argmax { .. } => 32.0,
        }
    }

    /// Integer operations per weight.
    pub fn int_ops(&self) -> f64 {
        match self {
            Self::Product { ttype: Some(t), .. } => traits(*t).map_or(0.0, |f| f.int_ops_per_weight),
            _ => 0.0,
        }
    }

    /// Bytes that the kernel must move: what it reads once and what it writes.
    pub fn bytes(&self) -> u64 {
        match *self {
            Self::Product { ttype, rows, cols, tokens } => {
                let planes = ttype.and_then(|t| {
                    let (quants, aux) = PlaneLayout::new(t, cols).ok()?.plane_words(rows as usize).ok()?;
                    Some((quants + aux) as u64 * 4)
                });
                planes.unwrap_or(0) + (u64::from(cols) + u64::from(rows)) * u64::from(tokens) * 4
            }
            Self::Attention { heads, head_dim, tokens, kv, .. } => {
                self.items() * kv.bytes() + 8 * u64::from(heads) * u64::from(head_dim) * u64::from(tokens)
            }
            Self::Norm { .. } => self.items() * 8,
            Self::Argmax { .. } => self.items() * 4,
        }
    }

    /// The same arm on f16 weights, where it has a format.
    pub fn f16(&self) -> Option<Self> {
        match *self {
            Self::Product { ttype: Some(_), rows, cols, tokens } => {
                Some(Self::Product { ttype: Some(TensorType::F16), rows, cols, tokens })
            }
            _ => None,
        }
    }

    /// The same launch that reads no weights.
    pub fn control(&self) -> Option<Self> {
        match *self {
            Self::Product { ttype: Some(_), rows, cols, tokens } => {
                Some(Self::Product { ttype: None, rows, cols, tokens })
            }
            _ => None,
        }
    }

    /// The geometry of `t` that this arm uses, in words.
    pub fn variant(&self, t: &Tuning) -> String {
        match self {
            Self::Product { ttype: Some(f), tokens: 1, .. } if traits(*f).is_some_and(|f| f.plain) => {
                gemv_name(&Tuning { activations: Activations::F32, ..t.clone() })
            }
            Self::Product { tokens: 1, .. } => gemv_name(t),
            Self::Product { .. } => gemm_name(t.gemm),
            Self::Attention { tokens: 1, .. } => {
                format!("groups={} lanes={}", t.attention_groups, t.decode_lanes)
            }
            Self::Attention { .. } => format!("rows={} lanes={}", t.attention_rows, t.prefill_lanes),
            Self::Norm { .. } => format!("wg={} {}", t.norm_wg, if t.serial { "serial" } else { "tree" }),
            Self::Argmax { .. } => format!("groups={} serial={}", t.argmax_groups, t.serial),
        }
    }

    /// The case that checks this arm with a geometry. Its numbers depend on the shape alone. `binding` is the adapter's
    /// limit: planes beyond it are split by rows, as the engine splits them.
    pub fn case(&self, t: &Tuning, binding: u64) -> Case {
        let variant = self.variant(t);
        let name = format!("{} {} {} [{variant}]", self.family(), self.format(), self.shape());
        let work = match *self {
            Self::Product { ttype, rows, cols, tokens } => {
                let kind = if tokens == 1 { Kind::Gemv } else { Kind::Gemm };
                let mut s = MatmulSpec::new(kind, ttype.unwrap_or(TensorType::Q4_1), rows, cols, tokens);
                s.control = ttype.is_none();
                // A guard follows every plane.
                s.split = if self.bytes() + 4096 > binding && rows > 1 { rows / 2 } else { 0 };
                Work::Matmul(s)
            }
            Self::Attention { heads, kv_heads, head_dim, keys, tokens, kv } => {
                let chunk = if tokens == 1 { 0 } else { tokens };
                let mut s = attention(heads, kv_heads, head_dim, chunk, keys.saturating_sub(tokens));
                s.shape.kv = kv;
                Work::Attention(AttentionSpec { ..s })
            }
            Self::Norm { tokens, cols } => Work::Simple(SimpleSpec::Norm { cols, tokens, add: false }),
            Self::Argmax { vocab } => Work::Select(SelectSpec::Argmax { vocab, logits: Logits::Plain }),
        };
        let seed = seed_of(&format!("{} {}", self.format(), self.shape()));
        Case { name, family: self.family(), variant, tuning: t.clone(), work, seed }
    }
}
