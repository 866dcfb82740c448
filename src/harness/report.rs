//! The report: one self-describing file that a person with a device we have never seen sends back.
//!
//! JSON with the fields below, in SI units (seconds, bytes, bytes per second) unless a name says otherwise. A field that
//! could not be measured is `null`. Readers ignore fields they do not know; [`SCHEMA`] rises when one changes meaning.

use crate::gpu::{Caps, Gpu};
use crate::kernels::Tuning;
use serde::{Deserialize, Serialize};

/// Version of the file's layout.
pub const SCHEMA: u32 = 1;

/// Everything that one run on one adapter measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of golay.
    pub golay: String,
    /// When it was made, seconds since 1970; 0 where no clock says.
    pub made: u64,
    /// `native` or `browser`.
    pub host: String,
    /// The adapter.
    pub adapter: Adapter,
    /// What its kernels may use.
    pub caps: CapsFacts,
    /// What the adapter reaches with trivial kernels.
    pub ceilings: Ceilings,
    /// The geometry that is the default here.
    pub default_tuning: Option<Tuning>,
    /// The geometry that `golay tune` remembers for this adapter, when there is one.
    pub tuned: Option<Tuning>,
    /// Kernels.
    pub kernels: Vec<Row>,
    /// Whole models.
    pub models: Vec<ModelRow>,
}

/// The adapter as its driver describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Adapter {
    /// Name.
    pub name: String,
    /// `discrete GPU`, `integrated GPU`, `CPU`, ...
    pub kind: String,
    /// `Vulkan`, `Metal`, `Dx12`, `BrowserWebGpu`.
    pub backend: String,
    /// The driver's name.
    pub driver: String,
    /// The driver's version and more.
    pub driver_info: String,
    /// PCI ids of vendor and device, 0 where unknown.
    pub pci: [u32; 2],
}

/// [`Caps`] as a file holds them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CapsFacts {
    /// `full` or `baseline` (`GOLAY_CAPS`).
    pub request: String,
    /// f16 arithmetic.
    pub f16: bool,
    /// Subgroup operations.
    pub subgroups: bool,
    /// The subgroup size, 0 when it is not one number.
    pub subgroup_size: u32,
    /// Times come from the device's own clock.
    pub timestamps: bool,
    /// A software adapter.
    pub cpu: bool,
    /// Largest storage binding, bytes.
    pub max_binding: u64,
    /// Largest buffer, bytes.
    pub max_buffer: u64,
    /// Workgroup memory, bytes.
    pub max_workgroup_bytes: u32,
    /// Invocations in a workgroup.
    pub max_invocations: u32,
}

/// One ceiling: the best of a few geometries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Per second: bytes, or operations (a multiply-add is two).
    pub per_second: f64,
    /// The slowest and the fastest round.
    pub range: [f64; 2],
    /// The geometry that reached it.
    pub variant: String,
}

/// What an adapter reaches with kernels that do one thing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    /// Summing `vec4<u32>` words of a buffer larger than any cache, bytes per second.
    pub read: Rate,
    /// Copying, bytes read and written per second.
    pub copy: Rate,
    /// f32 multiply-adds, operations per second.
    pub f32: Rate,
    /// f16 multiply-adds (vec2), operations per second; absent without f16 arithmetic.
    pub f16: Option<Rate>,
    /// `dot4I8Packed`, operations per second (eight each).
    pub dot4: Rate,
    /// One more dispatch in a pass, seconds.
    pub dispatch_s: f64,
    /// One more pass in a submission, seconds.
    pub pass_s: f64,
    /// A submission and the wait for it, seconds.
    pub submit_s: f64,
}

/// One kernel variant on one shape.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// `gemv`, `gemm`, `attention`, `norm`, `select`, ...
    pub family: String,
    /// Weight format or cache type; empty where there is none.
    pub format: String,
    /// `4096x14336`, `4096x14336 tokens=64`, `heads=9/3 dim=64 keys=2048`, ...
    pub shape: String,
    /// The geometry, in words.
    pub variant: String,
    /// The adapter's default geometry.
    pub default: bool,
    /// Why it was not timed: it disagreed with its f64 twin, or could not be run. Everything below is 0 then.
    pub refused: Option<String>,
    /// The largest error against the f64 twin, and the largest allowed.
    pub error: [f64; 2],
    /// Median over the rounds of one dispatch, seconds.
    pub seconds: f64,
    /// The fastest and the slowest round.
    pub range: [f64; 2],
    /// Weights (or cached values) gone through.
    pub items: u64,
    /// Bytes of memory that the dispatch must move.
    pub bytes: u64,
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// Bits per weight or value as served, scales included.
    pub bits: f64,
    /// Fraction of the adapter's read ceiling.
    pub of_read: f64,
    /// Speed relative to the f16 arm of the same shape and variant.
    pub of_f16: Option<f64>,
    /// Time relative to the same launch that reads no weights.
    pub of_control: Option<f64>,
    /// Integer operations per weight.
    pub int_ops: f64,
}

/// A model as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelRow {
    /// File name.
    pub model: String,
    /// Architecture, size and format in words.
    pub kind: String,
    /// `pp512`, `tg64`, with ` @ d1024` for a context already there.
    pub test: String,
    /// Tokens per second, median.
    pub tokens_per_second: f64,
    /// The slowest and the fastest repetition.
    pub range: [f64; 2],
    /// Bytes that one token must read (weights, and the cache at that depth); generation only.
    pub bytes_per_token: u64,
    /// Tokens per second if nothing but the read ceiling bounded them; generation only.
    pub bound: Option<f64>,
    /// The part of the bound that was reached.
    pub of_bound: Option<f64>,
    /// The host's own time per token, seconds; generation only.
    pub host_s: Option<f64>,
    /// Tokens per second when every step is recorded anew instead of replayed; generation only.
    pub without_recording: Option<f64>,
    /// Dispatches per block.
    pub dispatches_per_layer: f64,
    /// Passes per token.
    pub passes_per_token: f64,
    /// `f32`, or `int8` for integer activations.
    pub activations: String,
}

impl Report {
    /// An empty report of a device.
    pub fn new(gpu: &Gpu, request: &str) -> Self {
        Self {
            schema: SCHEMA,
            golay: env!("CARGO_PKG_VERSION").to_owned(),
            made: web_time::SystemTime::now().duration_since(web_time::UNIX_EPOCH).map_or(0, |d| d.as_secs()),
            host: if cfg!(target_arch = "wasm32") { "browser" } else { "native" }.to_owned(),
            adapter: Adapter {
                name: gpu.info.name.clone(),
                kind: crate::gpu::adapter::kind(gpu.info.device_type).to_owned(),
                backend: gpu.info.backend.to_string(),
                driver: gpu.info.driver.clone(),
                driver_info: gpu.info.driver_info.clone(),
                pci: [gpu.info.vendor, gpu.info.device],
            },
            caps: CapsFacts::new(&gpu.caps, request),
            default_tuning: Some(Tuning::for_caps(&gpu.caps)),
            ..Self::default()
        }
    }

    /// Reads a report.
    ///
    /// # Errors
    /// What is wrong with the text, in words.
    pub fn read(text: &str) -> Result<Self, String> {
        let r: Self = serde_json::from_str(text).map_err(|e| format!("not a report: {e}"))?;
        match r.schema {
            SCHEMA => Ok(r),
            n => Err(format!("a report of layout {n}; this golay reads {SCHEMA}")),
        }
    }
}

impl CapsFacts {
    /// From the capabilities in use.
    pub fn new(c: &Caps, request: &str) -> Self {
        Self {
            request: request.to_owned(),
            f16: c.f16,
            subgroups: c.subgroups,
            subgroup_size: c.subgroup_size,
            timestamps: c.timestamps,
            cpu: c.cpu,
            max_binding: c.max_binding,
            max_buffer: c.max_buffer,
            max_workgroup_bytes: c.max_workgroup_bytes,
            max_invocations: c.max_invocations,
        }
    }
}
