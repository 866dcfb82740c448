//! Reading from the device without blocking a browser's event loop.
//!
//! A [`Slot`] is a small mappable buffer that the decode loop reuses: copy into it inside the step's command
//! buffer, [`Slot::request`] after the submit, [`Slot::wait`] steps later.

use super::device::{Counters, Gpu};
use super::error::{GpuError, Result};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

#[derive(Default)]
struct Shared {
    done: Option<std::result::Result<(), String>>,
    waker: Option<Waker>,
}

/// A staging buffer of fixed size.
pub struct Slot {
    buffer: wgpu::Buffer,
    bytes: u64,
    state: Arc<Mutex<Shared>>,
    submission: Option<wgpu::SubmissionIndex>,
    /// Asked for and not yet taken back.
    pending: bool,
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Slot({} bytes)", self.bytes)
    }
}

impl Slot {
    /// A slot of `bytes` bytes (rounded up to 4).
    pub fn new(gpu: &Gpu, bytes: u64) -> Self {
        let bytes = bytes.max(4).next_multiple_of(4);
        let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("read-back"),
            size: bytes,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        Counters::add(&gpu.counters.buffers, 1);
        Self { buffer, bytes, state: Arc::default(), submission: None, pending: false }
    }

    /// The buffer to copy into.
    pub fn buffer(&self) -> &wgpu::Buffer {
        &self.buffer
    }

    /// Asks for the bytes; call after submitting the copy.
    pub fn request(&mut self, submission: wgpu::SubmissionIndex) {
        let state = Arc::new(Mutex::new(Shared::default()));
        self.state = state.clone();
        self.submission = Some(submission);
        self.pending = true;
        self.buffer.map_async(wgpu::MapMode::Read, .., move |r| {
            let mut s = state.lock().unwrap_or_else(PoisonError::into_inner);
            s.done = Some(r.map_err(|e| e.to_string()));
            if let Some(w) = s.waker.take() {
                w.wake();
            }
        });
    }

    /// Makes the slot ready for the next copy, whatever became of the last one: an answer may have been dropped while
    /// its bytes were on their way.
    pub fn reset(&mut self) {
        if std::mem::take(&mut self.pending) {
            self.buffer.unmap();
        }
    }

    /// Waits for the bytes and hands them to `f`.
    ///
    /// # Errors
    /// The device's error when it was lost meanwhile.
    pub async fn wait<R>(&mut self, gpu: &Gpu, f: impl FnOnce(&[u8]) -> R) -> Result<R> {
        let pending = Mapped { gpu, state: self.state.clone(), submission: self.submission.take() };
        if let Err(why) = pending.await {
            return Err(failure(gpu, &why));
        }
        let out = match self.buffer.get_mapped_range(..) {
            Ok(view) => f(&view),
            Err(e) => return Err(failure(gpu, &e.to_string())),
        };
        self.reset();
        gpu.check()?;
        Ok(out)
    }
}

/// The error behind a failed read-back. A device that is being destroyed reports its loss only when it is polled.
fn failure(gpu: &Gpu, why: &str) -> GpuError {
    if let Err(e) = gpu.device.poll(wgpu::PollType::Poll) {
        log::debug!("poll: {e}");
    }
    match gpu.check() {
        Err(e) => e,
        Ok(()) => GpuError::Device(format!("read-back failed: {why}")),
    }
}

struct Mapped<'a> {
    gpu: &'a Gpu,
    state: Arc<Mutex<Shared>>,
    submission: Option<wgpu::SubmissionIndex>,
}

impl Future for Mapped<'_> {
    type Output = std::result::Result<(), String>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let take = |m: &Mapped<'_>| m.state.lock().unwrap_or_else(PoisonError::into_inner).done.take();
        if let Some(r) = take(&self) {
            return Poll::Ready(r);
        }
        if cfg!(not(target_arch = "wasm32")) {
            // Natively nobody else drives the device, so the wait happens here.
            let poll = wgpu::PollType::Wait { submission_index: self.submission.take(), timeout: None };
            let polled = self.gpu.device.poll(poll);
            if let Some(r) = take(&self) {
                return Poll::Ready(r);
            }
            if let Err(e) = polled {
                return Poll::Ready(Err(e.to_string()));
            }
            if self.gpu.is_lost() {
                return Poll::Ready(Err("the device is lost".into()));
            }
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.state.lock().unwrap_or_else(PoisonError::into_inner).waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// Copies `bytes` bytes from `offset` of a buffer to the host. For tests and set-up, not for the decode loop.
///
/// # Errors
/// The device's error.
pub async fn read(gpu: &Gpu, buffer: &wgpu::Buffer, offset: u64, bytes: u64) -> Result<Vec<u8>> {
    gpu.check()?;
    let mut slot = Slot::new(gpu, bytes);
    let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    encoder.copy_buffer_to_buffer(buffer, offset, slot.buffer(), 0, bytes.next_multiple_of(4));
    let submission = gpu.submit([encoder.finish()]);
    slot.request(submission);
    slot.wait(gpu, |b| b[..bytes as usize].to_vec()).await
}
