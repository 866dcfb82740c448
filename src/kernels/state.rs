//! Words of the step state, as `shaders/lib/state.wgsl` numbers them.

use crate::gpu::preprocess::constant;

/// Position of the first token of the chunk.
pub const POS: usize = constant("state", "S_POS") as usize;
/// Tokens in the chunk; 1 when decoding.
pub const TOKENS: usize = constant("state", "S_TOKENS") as usize;
/// 0, [`FLAG_NAN`] or [`FLAG_EMPTY`].
pub const FLAG: usize = constant("state", "S_FLAG") as usize;
/// Ids chosen so far.
pub const STEP: usize = constant("state", "S_STEP") as usize;
/// Low word of the sampler's seed.
pub const SEED_LO: usize = constant("state", "S_SEED_LO") as usize;
/// High word of the sampler's seed.
pub const SEED_HI: usize = constant("state", "S_SEED_HI") as usize;
/// Words of the buffer.
pub const WORDS: usize = constant("state", "S_WORDS") as usize;
/// A logit was NaN or plus infinity.
pub const FLAG_NAN: u32 = constant("state", "FLAG_NAN");
/// Every logit was minus infinity.
pub const FLAG_EMPTY: u32 = constant("state", "FLAG_EMPTY");
