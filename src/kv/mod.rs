//! The key/value cache of a sequence: one buffer of keys and one of values per layer, `[positions, kv_heads,
//! head_dim]`, growing by doubling. Positions beyond the sequence's length hold rubbish that no kernel reads.

use crate::gpu::error::Result;
use crate::gpu::{Buffer, Gpu, STORAGE};
use crate::kernels::KvType;

/// Keys and values of one layer.
#[derive(Debug)]
pub struct LayerCache {
    /// Keys.
    pub k: Buffer,
    /// Values.
    pub v: Buffer,
    row: u64,
}

/// The cache of all layers.
#[derive(Debug)]
pub struct KvCache {
    /// Per layer.
    pub layers: Vec<LayerCache>,
    /// Positions there is room for.
    pub capacity: u32,
    /// Storage.
    pub kv_type: KvType,
}

impl KvCache {
    /// A cache of `capacity` positions for layers with these numbers of values per position.
    ///
    /// # Errors
    /// Lack of device memory.
    pub async fn new(gpu: &Gpu, widths: &[u64], capacity: u32, kv_type: KvType) -> Result<Self> {
        let mut layers = Vec::with_capacity(widths.len());
        for (i, w) in widths.iter().enumerate() {
            let row = w * kv_type.bytes();
            let bytes = row * u64::from(capacity);
            layers.push(LayerCache {
                k: gpu.alloc(&format!("keys of layer {i}"), bytes, STORAGE).await?,
                v: gpu.alloc(&format!("values of layer {i}"), bytes, STORAGE).await?,
                row,
            });
        }
        Ok(Self { layers, capacity, kv_type })
    }

    /// Makes room for `capacity` positions, keeping the first `keep`. Layer by layer, so that the peak is one layer
    /// more than the new size.
    ///
    /// # Errors
    /// Lack of device memory; the layers grown so far stay grown and nothing is lost.
    pub async fn grow(&mut self, gpu: &Gpu, capacity: u32, keep: u32) -> Result<()> {
        for (i, l) in self.layers.iter_mut().enumerate() {
            let bytes = l.row * u64::from(capacity);
            if l.k.size() >= bytes {
                continue;
            }
            let k = gpu.alloc(&format!("keys of layer {i}"), bytes, STORAGE).await?;
            let v = gpu.alloc(&format!("values of layer {i}"), bytes, STORAGE).await?;
            let copy = l.row * u64::from(keep);
            if copy > 0 {
                let mut e = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
                e.copy_buffer_to_buffer(&l.k, 0, &k, 0, copy);
                e.copy_buffer_to_buffer(&l.v, 0, &v, 0, copy);
                gpu.submit([e.finish()]);
            }
            (l.k, l.v) = (k, v);
        }
        self.capacity = capacity;
        Ok(())
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        self.layers.iter().map(|l| l.k.size() + l.v.size()).sum()
    }
}
