//! Tests of the room: hostile files, round trips, real files.

mod alloc;
mod build;
mod folders;
mod hostile_gguf;
mod hostile_safetensors;
mod hostile_tensors;
mod json;
mod metadata;
mod real_files;
mod roundtrip;
mod split;
mod writers;
