//! An open device: queue, capabilities, error state, and counters that tests read.

use super::adapter::{self, AdapterChoice};
use super::caps::{Caps, CapsRequest};
use super::error::{GpuError, Result};
use super::readback;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How often the device was asked for things. Tests hold the decode loop to its promises with these.
#[derive(Debug, Default)]
pub struct Counters {
    /// Buffers created.
    pub buffers: AtomicU64,
    /// Bytes of buffers alive now.
    pub bytes: AtomicU64,
    /// Bind groups created.
    pub bind_groups: AtomicU64,
    /// Pipelines created.
    pub pipelines: AtomicU64,
    /// Queue submissions.
    pub submits: AtomicU64,
    /// Dispatches recorded.
    pub dispatches: AtomicU64,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, n: u64) {
        counter.fetch_add(n, Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
struct Health {
    lost: AtomicBool,
    first_error: Mutex<Option<GpuError>>,
}

impl Health {
    fn note(&self, e: GpuError) {
        let mut slot = self.first_error.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.is_none() {
            *slot = Some(e);
        }
    }
}

/// An open device.
#[derive(Debug)]
pub struct Gpu {
    /// wgpu's device.
    pub device: wgpu::Device,
    /// wgpu's queue.
    pub queue: wgpu::Queue,
    /// What kernels may use.
    pub caps: Caps,
    /// The adapter's description.
    pub info: wgpu::AdapterInfo,
    /// Counters for tests and statistics.
    pub counters: Arc<Counters>,
    health: Arc<Health>,
}

/// A buffer that is counted while it lives.
#[derive(Debug)]
pub struct Buffer {
    raw: wgpu::Buffer,
    counters: Arc<Counters>,
}

impl std::ops::Deref for Buffer {
    type Target = wgpu::Buffer;
    fn deref(&self) -> &wgpu::Buffer {
        &self.raw
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.counters.bytes.fetch_sub(self.raw.size(), Ordering::Relaxed);
    }
}

/// Usage of a buffer that kernels read and write and that can be filled and read back.
pub const STORAGE: wgpu::BufferUsages =
    wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_DST).union(wgpu::BufferUsages::COPY_SRC);

impl Gpu {
    /// Opens the adapter that `device` names (see [`adapter::pick`]), or the best one.
    ///
    /// # Errors
    /// No adapter, no such adapter, or one that refuses.
    pub async fn open(device: Option<&str>, request: CapsRequest) -> Result<Arc<Self>> {
        let choice = adapter::pick(adapter::list().await, device)?;
        Self::open_adapter(&choice, request).await
    }

    /// Opens one adapter of [`adapter::list`].
    ///
    /// # Errors
    /// [`GpuError::Open`] with the driver's reason.
    pub async fn open_adapter(choice: &AdapterChoice, request: CapsRequest) -> Result<Arc<Self>> {
        let a = &choice.adapter;
        let (features, limits) = match request {
            CapsRequest::Full => (Caps::wanted(a.features()), a.limits()),
            CapsRequest::Baseline => (wgpu::Features::empty(), wgpu::Limits::default()),
        };
        let desc = wgpu::DeviceDescriptor {
            label: Some("golay"),
            required_features: features,
            required_limits: limits.clone(),
            memory_hints: wgpu::MemoryHints::MemoryUsage,
            ..Default::default()
        };
        let (device, queue) = a
            .request_device(&desc)
            .await
            .map_err(|e| GpuError::Open { adapter: choice.info.name.clone(), why: e.to_string() })?;
        let health = Arc::new(Health::default());
        let h = health.clone();
        device.on_uncaptured_error(Arc::new(move |e: wgpu::Error| {
            log::error!("device error: {e}");
            h.note(match e {
                wgpu::Error::OutOfMemory { .. } => {
                    GpuError::OutOfMemory { what: "the device".into(), bytes: 0, why: e.to_string() }
                }
                other => GpuError::Device(other.to_string()),
            });
        }));
        let h = health.clone();
        device.set_device_lost_callback(move |reason, message| {
            h.lost.store(true, Ordering::SeqCst);
            log::debug!("device lost ({reason:?}): {message}");
            let message = if message.is_empty() { format!("{reason:?}") } else { message };
            h.note(GpuError::Lost(message));
        });
        let info = choice.info.clone();
        let caps = Caps::from_limits(
            &limits,
            features,
            info.subgroup_min_size,
            info.subgroup_max_size,
            choice.is_software(),
        );
        Ok(Arc::new(Self { device, queue, caps, info, counters: Arc::default(), health }))
    }

    /// True once the device is gone. A lost device never comes back: open another.
    pub fn is_lost(&self) -> bool {
        self.health.lost.load(Ordering::SeqCst)
    }

    /// The first error the device has reported, if any.
    ///
    /// # Errors
    /// That error. Loss wins over whatever followed from it.
    pub fn check(&self) -> Result<()> {
        let first = self.health.first_error.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match first {
            Some(GpuError::Lost(m)) => Err(GpuError::Lost(m)),
            Some(e) if self.is_lost() => Err(GpuError::Lost(e.to_string())),
            Some(e) => Err(e),
            None if self.is_lost() => Err(GpuError::Lost("no reason given".into())),
            None => Ok(()),
        }
    }

    /// Allocates a buffer inside an error scope.
    ///
    /// # Errors
    /// [`GpuError::BufferTooLarge`], [`GpuError::OutOfMemory`] with the name and the size.
    pub async fn alloc(&self, what: &str, bytes: u64, usage: wgpu::BufferUsages) -> Result<Buffer> {
        let size = bytes.max(16).next_multiple_of(16);
        if size > self.caps.max_buffer {
            return Err(GpuError::BufferTooLarge { what: what.into(), bytes, limit: self.caps.max_buffer });
        }
        let memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let valid = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let raw = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(what),
            size,
            usage,
            mapped_at_creation: false,
        });
        // Both scopes are closed before waiting: a guard must not live across an await.
        let (invalid, memory) = (valid.pop(), memory.pop());
        let (invalid, memory) = (invalid.await, memory.await);
        if let Some(e) = memory.or(invalid) {
            self.check()?;
            return Err(GpuError::OutOfMemory { what: what.into(), bytes, why: e.to_string() });
        }
        Counters::add(&self.counters.buffers, 1);
        Counters::add(&self.counters.bytes, size);
        Ok(Buffer { raw, counters: self.counters.clone() })
    }

    /// Allocates a [`STORAGE`] buffer and fills it.
    ///
    /// # Errors
    /// As [`Gpu::alloc`].
    pub async fn upload(&self, what: &str, data: &[u8]) -> Result<Buffer> {
        let b = self.alloc(what, data.len() as u64, STORAGE).await?;
        self.write(&b, 0, data);
        Ok(b)
    }

    /// Writes bytes into a buffer; a tail that is not a multiple of four is padded with zeros.
    pub fn write(&self, buffer: &wgpu::Buffer, offset: u64, data: &[u8]) {
        let whole = data.len() & !3;
        if whole > 0 {
            self.queue.write_buffer(buffer, offset, &data[..whole]);
        }
        if whole < data.len() {
            let mut tail = [0u8; 4];
            tail[..data.len() - whole].copy_from_slice(&data[whole..]);
            self.queue.write_buffer(buffer, offset + whole as u64, &tail);
        }
    }

    /// Submits command buffers and counts the submission.
    pub fn submit(&self, commands: impl IntoIterator<Item = wgpu::CommandBuffer>) -> wgpu::SubmissionIndex {
        Counters::add(&self.counters.submits, 1);
        self.queue.submit(commands)
    }

    /// Waits until everything submitted so far is done.
    ///
    /// # Errors
    /// The device's first error.
    pub async fn finish(&self) -> Result<()> {
        let b = self.alloc("fence", 16, STORAGE).await?;
        readback::read(self, &b, 0, 4).await.map(|_| ())
    }
}
