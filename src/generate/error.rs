//! The errors of this room.

use thiserror::Error;

/// What can go wrong while parameters are read or a token is chosen.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SampleError {
    /// A sampling parameter has a value that cannot be given a meaning.
    #[error("sampling parameter {field}: expected {expected}, found {found}")]
    Parameter {
        /// Name of the field of [`crate::generate::SamplerParams`] (or key of the file it came from).
        field: String,
        /// What the field takes.
        expected: &'static str,
        /// What was given.
        found: String,
    },
    /// A logit is not a number: the model computed nonsense, and no choice among the rest would be honest.
    #[error("logit of token {id} is NaN")]
    Nan {
        /// The lowest such token.
        id: u32,
    },
    /// The device's logsumexp is not a number although the listed candidates are: a NaN outside the list.
    #[error("logsumexp of the logits is NaN or infinite, so some logit outside the candidate list is")]
    BadTotal,
    /// A logit is plus infinity (after bias and penalties), so that no distribution exists.
    #[error("logit of token {id} is +infinity")]
    Infinite {
        /// The lowest such token.
        id: u32,
    },
    /// Every token is excluded (all logits are minus infinity, or there are none).
    #[error("no token can be chosen: every logit is -infinity")]
    Empty,
    /// The candidate list ends before the set that the active samplers keep; call again with all logits.
    #[error("the {listed} best candidates do not determine the choice; all logits are needed")]
    NeedsFullLogits {
        /// Length of the list that was given.
        listed: usize,
    },
    /// A row of logits does not have one value per token.
    #[error("logits: expected {expected} values (the vocabulary), found {found}")]
    VocabMismatch {
        /// The vocabulary size the sampler was made for.
        expected: usize,
        /// Values given.
        found: usize,
    },
    /// A candidate's id lies outside the vocabulary.
    #[error("candidate token {id} is outside the vocabulary of {vocab}")]
    IdOutOfRange {
        /// The id.
        id: u32,
        /// The vocabulary size the sampler was made for.
        vocab: u32,
    },
}
