//! The program seen from outside. A micro model is made from tests/data (random weights, one token per byte); the real
//! model is used where `GOLAY_TEST_GGUF` or the cache has it.

mod bench;
mod chat;
mod files;
mod pull;
mod real;
mod run;
mod score;
mod server;
mod support;
mod text;
