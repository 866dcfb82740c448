//! What can go wrong between golay and an adapter.

/// Errors of the `gpu` room. Device loss and lack of memory are ordinary results, not panics.
#[derive(Debug, Clone, thiserror::Error)]
pub enum GpuError {
    /// No adapter answered at all.
    #[error(
        "no GPU adapter was found: install a Vulkan, Metal or DX12 driver \
         (on Debian, `apt-get install mesa-vulkan-drivers` gives a software one)"
    )]
    NoAdapter,
    /// The person asked for an adapter that is not there.
    #[error("no adapter matches {wanted:?}; there are: {present}")]
    NoSuchAdapter {
        /// What was asked for.
        wanted: String,
        /// The adapters that answered, one per number.
        present: String,
    },
    /// The adapter refused to open a device.
    #[error("adapter {adapter} would not open a device: {why}")]
    Open {
        /// Adapter name.
        adapter: String,
        /// The driver's reason.
        why: String,
    },
    /// An allocation failed.
    #[error("out of device memory: {what} needs {bytes} bytes ({why})")]
    OutOfMemory {
        /// What the buffer was for.
        what: String,
        /// Its size.
        bytes: u64,
        /// The driver's words.
        why: String,
    },
    /// A buffer is larger than the adapter allows at all.
    #[error("{what} needs a buffer of {bytes} bytes, and this adapter allows {limit}")]
    BufferTooLarge {
        /// What the buffer was for.
        what: String,
        /// Bytes wanted.
        bytes: u64,
        /// The adapter's limit.
        limit: u64,
    },
    /// The device is gone: driver reset, unplugged, destroyed.
    #[error("the device was lost: {0}")]
    Lost(String),
    /// The driver or the validation layer reported an error.
    #[error("the device reported an error: {0}")]
    Device(String),
    /// A shader could not be put together from its pieces.
    #[error("shader {shader}, line {line}: {what}")]
    Shader {
        /// File stem.
        shader: String,
        /// One-based line.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// A variant that took the process down the last time it was tried.
    #[error("{what} ended the process when it was tried last; remove {file} to try again")]
    Suspect {
        /// The variant.
        what: String,
        /// The marker file.
        file: String,
    },
    /// No variant of a kernel gives the right numbers.
    #[error("no variant of the {family} kernels agrees with its reference on {adapter}: {detail}")]
    Disagrees {
        /// Kernel family.
        family: String,
        /// Adapter.
        adapter: String,
        /// The last failure.
        detail: String,
    },
    /// A kernel was given the wrong buffers or parameters; a fault of golay's own.
    #[error("kernel {kernel}: {what}")]
    Binding {
        /// Kernel label.
        kernel: String,
        /// What is wrong.
        what: String,
    },
}

/// Shorthand for this room.
pub type Result<T> = std::result::Result<T, GpuError>;
