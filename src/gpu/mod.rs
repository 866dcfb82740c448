//! The room that knows wgpu: adapters, devices, buffers, pipelines, recording and read-back.
//!
//! Nothing here knows what a tensor means.

pub mod adapter;
pub mod caps;
pub mod device;
pub mod error;
pub mod guard;
pub mod pipeline;
pub mod preprocess;
pub mod readback;
pub mod record;
pub mod timing;

pub use caps::{Caps, CapsRequest};
pub use device::{Buffer, Gpu, STORAGE};
pub use error::GpuError;
pub use pipeline::{Kernel, KernelKey, Kernels};
pub use record::{Dispatch, Recording, Uniforms};
