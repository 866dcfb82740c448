//! Choosing the next token: sampling parameters, the sampler chain, its random numbers, and stop strings.
//!
//! The chain has two homes. The device draws when every active sampler fits into its short form
//! ([`device_twin`] is the f64 reference of that shader); otherwise [`Sampler`] draws here, from the device's
//! sorted list of the best candidates where these suffice and from the whole row of logits where they do not.
//! Both homes take their random numbers from [`rng`], keyed by (seed, position, use), so that output `t` never
//! depends on how many numbers were drawn before it: rollback, speculation and prefix reuse change nothing.

pub mod breakers;
pub mod device_twin;
mod dry;
pub mod error;
pub mod filters;
mod history;
mod mirostat;
pub mod params;
pub mod rng;
pub mod sampler;
mod sources;
pub mod stop;

pub use breakers::Breakers;
pub use device_twin::{device_chain_reference, reference_topk};
pub use error::SampleError;
pub use params::SamplerParams;
pub use sampler::{Candidates, DEVICE_LIST, PenaltyList, Sampler};
pub use sources::GGUF_SAMPLING_KEYS;
pub use stop::{StopMatcher, StopOutcome};

#[cfg(test)]
mod tests;
