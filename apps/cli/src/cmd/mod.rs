//! One file per command.

pub mod bench;
pub mod chat;
pub mod convert;
pub mod detokenize;
pub mod devices;
pub mod doctor;
pub mod eval;
pub mod inspect;
pub mod list;
pub mod logits;
pub mod pull;
pub mod run;
pub mod template;
pub mod tokenize;
pub mod tune;
