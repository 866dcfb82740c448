//! What can end a load or an answer.

use crate::format::FormatError;
use crate::generate::SampleError;
use crate::gpu::GpuError;
use crate::model::ModelError;
use crate::text::TextError;
use crate::weights::LoadError;

/// Errors of the engine. After [`EngineError::Gpu`] with a lost device the engine is to be opened anew; every other
/// error leaves it usable.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The device.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// The file.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The architecture.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The weights.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Tokenizer or template.
    #[error(transparent)]
    Text(#[from] TextError),
    /// Sampling.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// A prompt that does not fit.
    #[error("the prompt has {prompt} tokens{}; the context holds {context}{}", held_words(*held),
        if prompt + held == *context as usize { ": there is no room to answer" } else { "" })]
    ContextFull {
        /// Tokens to add.
        prompt: usize,
        /// Tokens there.
        held: usize,
        /// The limit.
        context: u32,
    },
    /// Nothing to evaluate.
    #[error("the prompt is empty")]
    EmptyPrompt,
    /// An id the model does not have.
    #[error("token id {id} is outside the vocabulary of {vocab}")]
    TokenId {
        /// The id.
        id: u32,
        /// Size of the vocabulary.
        vocab: u32,
    },
    /// A computation went wrong.
    #[error("the model's output is not a number at position {position}: {where_}")]
    NotANumber {
        /// The first position in the context, from 0, whose results are not finite.
        position: u32,
        /// The first layer with a NaN or an infinity, in words.
        where_: String,
    },
    /// Every token was ruled out.
    #[error("no token is left to choose at position {position}: all logits are minus infinity")]
    NothingToSample {
        /// Position in the context.
        position: u32,
    },
    /// The plan does not fit.
    #[error(
        "{need} bytes are needed (weights {weights}, KV cache {kv}, scratch {scratch}) and {have} are there; \
         {}",
        if weights.saturating_add(*scratch) > *have { "a smaller model is wanted" } else { "a smaller --ctx-size, or fewer bits a value as with --kv aff:16 at a long context, needs less" }
    )]
    Memory {
        /// In all.
        need: u64,
        /// Weights.
        weights: u64,
        /// KV cache at the full context.
        kv: u64,
        /// The rest.
        scratch: u64,
        /// Free or allowed.
        have: u64,
    },
    /// An option that cannot be.
    #[error("{what} is {found}; expected {expected}")]
    Option {
        /// Which.
        what: &'static str,
        /// Its value.
        found: String,
        /// What would do.
        expected: String,
    },
    /// The person stopped it.
    #[error("cancelled")]
    Cancelled,
}

impl EngineError {
    /// True when the device is gone and the engine has to be opened anew.
    pub fn device_lost(&self) -> bool {
        matches!(self, Self::Gpu(GpuError::Lost(_)) | Self::Load(LoadError::Gpu(GpuError::Lost(_))))
    }
}

fn held_words(held: usize) -> String {
    if held == 0 { String::new() } else { format!(" and {held} are held already") }
}

/// Shorthand for this room.
pub type Result<T> = std::result::Result<T, EngineError>;

#[cfg(test)]
mod tests {
    use super::EngineError;

    #[test]
    fn a_full_context_says_what_there_is_no_room_for() {
        let text = |prompt, held| EngineError::ContextFull { prompt, held, context: 8 }.to_string();
        assert!(text(8, 0).contains("there is no room to answer"), "{}", text(8, 0));
        assert_eq!(text(9, 0), "the prompt has 9 tokens; the context holds 8");
        assert!(text(4, 6).contains("6 are held already"), "{}", text(4, 6));
    }
}
