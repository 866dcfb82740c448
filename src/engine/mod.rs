//! The engine: a model on a device ([`Engine`]), sequences on it ([`Session`]), and the decode loop.

mod adapter_notes;
mod answer;
mod complete;
mod error;
mod graph;
mod load;
mod loads;
mod logits;
mod plan;
mod profile;
mod prompt;
mod scratch;
mod session;
mod tuned;
mod weights;

pub use adapter_notes::cache_folder;
pub use answer::{Answer, AnswerOptions, Finish};
pub use complete::{TextAnswer, TextOptions};
pub use error::EngineError;
pub use load::{Engine, LoadOptions, Progress, sampling, text};
pub use loads::{bytes_per_token, cache_bytes, chunk_loads, decode_loads, shape_key, tuning_loads};
pub use logits::Scorer;
pub use plan::{MemoryPlan, free_host_memory};
pub use profile::{Profile, StepCost};
pub use prompt::chat_ids;
pub use session::{Cancel, Session};
pub use tuned::{any as any_tuned, remember as remember_tuned};
