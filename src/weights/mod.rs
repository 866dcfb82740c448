//! The weights room: how a matrix is stored on disk, laid out on the device, decoded, and (offline) encoded.
//!
//! - [`decode_row`] is the CPU reference of every block format: an oracle for tests and tools, not an inference path.
//! - [`PlaneLayout`] says how rows lie on the device and repacks a file's rows to it; `shaders/lib/fmt_*.wgsl` read
//!   that layout, [`FormatTraits`] tell a kernel what each of them needs.
//! - [`encode_row`] makes a file's bytes from f32 rows.

mod decode;
mod encode;
mod error;
pub mod matrix;
mod planes;
mod random;
mod traits;

#[cfg(test)]
mod golden;

pub use decode::{DECODED_TYPES, decode_row};
pub use encode::{ENCODED_TYPES, encode_row};
pub use error::WeightsError;
pub use matrix::{LoadError, Matrix};
pub use planes::{DEVICE_TYPES, GroupCodes, PlaneLayout, supported};
#[doc(hidden)]
pub(crate) use random::SplitMix;
pub use random::random_blocks;
pub use traits::{FormatTraits, traits};
