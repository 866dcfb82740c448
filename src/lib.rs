//! golay runs language models on any GPU from one set of WGSL shaders.
//!
//! The rooms, from the file to the person:
//!
//! | room | job |
//! |---|---|
//! | [`mod@format`] | containers: GGUF, safetensors, Hugging Face folders; hostile input stops here |
//! | [`weights`] | how a matrix is stored, laid out on the device, decoded, encoded |
//! | [`model`] | architectures: configuration and tensor names to a graph of numbers |
//! | [`gpu`] | adapters, devices, buffers, pipelines, recording, read-back |
//! | [`kernels`] | variant and geometry of every shader, and its f64 reference |
//! | [`harness`] | how fast each kernel is on this adapter, and which geometry is fastest |
//! | [`kv`] | the key/value cache |
//! | [`text`] | tokenizers, chat templates, streaming |
//! | [`generate`] | samplers, stop rules, random numbers |
//! | [`engine`] | sessions and the decode loop |
//!
//! ```no_run
//! use golay::engine::{Cancel, Engine, LoadOptions, Session, TextOptions};
//! use golay::format::ModelFile;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let file = ModelFile::open("model.gguf")?;
//! let engine = Engine::load(file, &LoadOptions::default(), &mut |_| {}).await?;
//! let mut session = Session::new(&engine).await?;
//! let prompt = engine.text_ids("Once upon a time")?;
//! let print = &mut |piece: &str| {
//!     print!("{piece}");
//!     std::ops::ControlFlow::Continue(())
//! };
//! session.complete(&prompt, &TextOptions::default(), &Cancel::default(), &mut |_, _| {}, print).await?;
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]

pub mod engine;
pub mod format;
pub mod generate;
pub mod gpu;
pub mod harness;
pub mod kernels;
pub mod kv;
pub mod model;
pub mod text;
pub mod weights;
