//! The numbers of a configuration, the same from `config.json` and from GGUF metadata; the next step, [`super::build`],
//! turns them and the file's tensors into a [`super::ModelSpec`].

use super::error::{ModelError, Result};

/// Rotary scaling by name, before it is worked out.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Scaling {
    /// None.
    #[default]
    None,
    /// Positions divided by a factor.
    Linear(f64),
    /// Llama 3's blend of scaled and unscaled frequencies.
    Llama3 {
        /// Division of long wavelengths.
        factor: f64,
        /// Wavelengths above `original / low` are scaled.
        low: f64,
        /// Wavelengths below `original / high` are not.
        high: f64,
        /// Context the model was first trained for.
        original: f64,
    },
    /// YaRN.
    Yarn {
        /// Division of long wavelengths.
        factor: f64,
        /// Ramp start, in rotations over the original context.
        beta_fast: f64,
        /// Ramp end.
        beta_slow: f64,
        /// Context the model was first trained for.
        original: f64,
        /// Factor on cos and sin, when given.
        attention_factor: Option<f64>,
        /// DeepSeek's pair of scales, when given.
        mscale: Option<(f64, f64)>,
        /// Round the ramp's ends to whole dims.
        truncate: bool,
    },
    /// A divisor per pair (GGUF's `rope_freqs`).
    Factors(Vec<f64>),
    /// Two lists of divisors, of which the session's context chooses one (Phi-3's longrope).
    LongRope {
        /// Divisors of contexts up to `original`.
        short: Vec<f64>,
        /// Divisors of longer ones.
        long: Vec<f64>,
        /// Context the model was first trained for.
        original: f64,
        /// Factor on cos and sin, whichever list is used.
        mscale: f64,
    },
}

impl Scaling {
    /// The numbers that have to be positive, but for the lists.
    fn numbers(&self) -> Vec<f64> {
        match self {
            Self::None | Self::Factors(_) => Vec::new(),
            Self::Linear(factor) => vec![*factor],
            Self::Llama3 { factor, low, high, original } => vec![*factor, *low, *high, *original],
            Self::Yarn { factor, beta_fast, beta_slow, original, .. } => {
                vec![*factor, *beta_fast, *beta_slow, *original]
            }
            Self::LongRope { original, mscale, .. } => vec![*original, *mscale],
        }
    }
}

/// One rotary embedding before it is worked out.
#[derive(Clone, Debug, PartialEq)]
pub struct RopeConfig {
    /// Base.
    pub theta: f64,
    /// Rotated dims.
    pub dims: u32,
    /// Scaling.
    pub scaling: Scaling,
}

/// The family, which decides names, norms and attention details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the variants carry the field's own names
pub enum Family {
    Llama,
    Mistral,
    Qwen2,
    Qwen3,
    Gemma2,
    Gemma3,
    Phi3,
    SmolLm3,
}

impl Family {
    /// From `model_type` of a config.json.
    ///
    /// # Errors
    /// [`ModelError::Architecture`].
    pub fn from_hf(model_type: &str) -> Result<Self> {
        Ok(match model_type {
            "llama" => Self::Llama,
            "mistral" => Self::Mistral,
            "qwen2" => Self::Qwen2,
            "qwen3" => Self::Qwen3,
            "gemma2" => Self::Gemma2,
            "gemma3" | "gemma3_text" => Self::Gemma3,
            "phi3" => Self::Phi3,
            "smollm3" => Self::SmolLm3,
            other => return Err(ModelError::Architecture { found: other.to_owned() }),
        })
    }

    /// From `general.architecture` of a GGUF.
    ///
    /// # Errors
    /// [`ModelError::Architecture`].
    pub fn from_gguf(arch: &str) -> Result<Self> {
        Ok(match arch {
            "llama" => Self::Llama,
            "qwen2" => Self::Qwen2,
            "qwen3" => Self::Qwen3,
            "gemma2" => Self::Gemma2,
            "gemma3" => Self::Gemma3,
            "phi3" => Self::Phi3,
            "smollm3" => Self::SmolLm3,
            other => return Err(ModelError::Architecture { found: other.to_owned() }),
        })
    }

    /// The GGUF architecture that holds this family.
    pub fn gguf_name(self) -> &'static str {
        match self {
            Self::Llama | Self::Mistral => "llama",
            Self::Qwen2 => "qwen2",
            Self::Qwen3 => "qwen3",
            Self::Gemma2 => "gemma2",
            Self::Gemma3 => "gemma3",
            Self::Phi3 => "phi3",
            Self::SmolLm3 => "smollm3",
        }
    }

    /// Gemma: norms around each branch, embeddings scaled, norms stored as w - 1 in HF checkpoints.
    pub fn is_gemma(self) -> bool {
        matches!(self, Self::Gemma2 | Self::Gemma3)
    }

    /// GGUF stores q and k rows permuted for interleaved rotation.
    pub fn gguf_interleaved(self) -> bool {
        matches!(self, Self::Llama | Self::Mistral | Self::SmolLm3)
    }

    /// Every how many layers one sees everything in a GGUF that does not say; 0 for none.
    pub(super) fn window_step(self) -> u32 {
        match self {
            Self::Gemma2 => 2,
            Self::Gemma3 => 6,
            _ => 0,
        }
    }

    /// Norms of q and k per head.
    pub fn has_qk_norm(self) -> bool {
        matches!(self, Self::Qwen3 | Self::Gemma3)
    }
}

/// A configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Family.
    pub family: Family,
    /// Architecture as the file names it.
    pub arch: String,
    /// Name for people.
    pub name: Option<String>,
    /// Blocks.
    pub layers: u32,
    /// Width.
    pub hidden: u32,
    /// Vocabulary, if stated.
    pub vocab: Option<u32>,
    /// Query heads.
    pub heads: u32,
    /// Key/value heads of each layer.
    pub kv_heads: Vec<u32>,
    /// Values per head.
    pub head_dim: u32,
    /// Feed-forward width of each layer.
    pub ffn: Vec<u32>,
    /// Norm epsilon.
    pub eps: f64,
    /// Context.
    pub context: u32,
    /// Rotary embedding of full-attention layers.
    pub rope: RopeConfig,
    /// Rotary embedding of sliding-window layers where it differs.
    pub rope_local: Option<RopeConfig>,
    /// Layers without rotation.
    pub no_rope: Vec<bool>,
    /// Window of each layer, 0 for full attention.
    pub windows: Vec<u32>,
    /// Attention scale.
    pub attn_scale: f64,
    /// Soft cap of scores.
    pub attn_cap: f64,
    /// Soft cap of logits.
    pub logit_cap: f64,
    /// Whether q, k, v (and o) have biases is read from the tensors themselves. GeLU gate.
    pub gelu: bool,
    /// The file says that projections of attention have biases.
    pub biased: bool,
    /// The head is the embedding; `None` when the file does not say.
    pub tied: Option<bool>,
}

impl Config {
    /// Refuses numbers that no model has, before anything is multiplied with them.
    ///
    /// # Errors
    /// [`ModelError::Value`] with the key.
    pub fn check(&self) -> Result<()> {
        let bad = |key: &str, found: String, expected: &str| {
            Err(ModelError::Value {
                arch: self.arch.clone(),
                key: key.into(),
                found,
                expected: expected.into(),
            })
        };
        if self.layers == 0 || self.layers > 1024 {
            return bad("number of layers", self.layers.to_string(), "1 to 1024");
        }
        if self.hidden == 0 || !self.hidden.is_multiple_of(4) || self.hidden > 1 << 17 {
            return bad("hidden size", self.hidden.to_string(), "a multiple of 4 up to 131072");
        }
        if self.vocab == Some(0) {
            return bad("vocab_size", "0".into(), "at least 1");
        }
        if self.heads == 0 || self.heads > 1024 {
            return bad("number of heads", self.heads.to_string(), "1 to 1024");
        }
        for &kv in &self.kv_heads {
            if kv == 0 || kv > self.heads || !self.heads.is_multiple_of(kv) {
                return bad("key/value heads", kv.to_string(), "a divisor of the number of heads");
            }
        }
        if self.head_dim == 0 || !self.head_dim.is_multiple_of(4) || self.head_dim > 256 {
            return bad("head_dim", self.head_dim.to_string(), "a multiple of 4 up to 256");
        }
        for &f in &self.ffn {
            if f == 0 || !f.is_multiple_of(4) || f > 1 << 19 {
                return bad("feed-forward width", f.to_string(), "a multiple of 4 up to 524288");
            }
        }
        if !(self.eps > 0.0 && self.eps < 1.0) {
            return bad("norm epsilon", self.eps.to_string(), "between 0 and 1");
        }
        if self.context == 0 {
            return bad("context length", "0".into(), "at least 1");
        }
        for r in [Some(&self.rope), self.rope_local.as_ref()].into_iter().flatten() {
            if !(r.theta.is_finite() && r.theta > 0.0) {
                return bad("rope theta", r.theta.to_string(), "a positive number");
            }
            if r.dims > self.head_dim || !r.dims.is_multiple_of(8) {
                return bad("rotated dims", r.dims.to_string(), "a multiple of 8 up to head_dim");
            }
            if let Some(x) = r.scaling.numbers().into_iter().find(|x| !(x.is_finite() && *x > 0.0)) {
                return bad("rope scaling", format!("{:?}", r.scaling), &format!("no {x} in it"));
            }
        }
        Ok(())
    }
}
