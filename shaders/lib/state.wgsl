// Words of the `state` buffer: what changes from step to step, kept on the device so that the host need not write
// anything between two tokens. Rust reads these numbers from here.
const S_POS: u32 = 0u;     // position of the first token of this chunk
const S_TOKENS: u32 = 1u;  // tokens in this chunk; 1 when decoding
const S_FLAG: u32 = 2u;    // 0, or what went wrong: FLAG_NAN, FLAG_EMPTY
const S_STEP: u32 = 3u;    // ids sampled so far: the slot of `out` that the next id goes to
const S_SEED_LO: u32 = 4u;
const S_SEED_HI: u32 = 5u;
const S_WORDS: u32 = 8u;
const FLAG_NAN: u32 = 1u;   // a logit was NaN or plus infinity
const FLAG_EMPTY: u32 = 2u; // every logit was minus infinity
