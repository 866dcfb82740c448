//! The key/value cache of a sequence: per layer a pool of pages (`shaders/lib/kv.wgsl`), and lists that say which page
//! holds which positions. Rows beyond the sequence's length hold rubbish that no kernel reads.
//!
//! The pages of a layer lie in one buffer that grows by doubling; layers whose pages are equally large share a list.
//! [`codec`] is how a page can be stored in fewer bits.

pub mod codec;

use crate::gpu::error::Result;
use crate::gpu::{Buffer, Gpu, STORAGE};
use crate::kernels::KvType;
use crate::kernels::attention::{PAGE, Shape};

/// Pages of one layer.
#[derive(Debug)]
pub struct LayerCache {
    /// The pages.
    pub pool: Buffer,
    /// Index of the layer's list in [`KvCache::list`], in entries of four words.
    pub list_at: u32,
    /// Words of a page.
    page_words: u32,
    /// Which of the lists it is.
    list: usize,
}

/// The cache of all layers.
#[derive(Debug)]
pub struct KvCache {
    /// Per layer.
    pub layers: Vec<LayerCache>,
    /// The lists, one after another: a header and an entry per page.
    pub list: Buffer,
    /// Positions there is room for: whole pages.
    pub capacity: u32,
    /// Storage.
    pub kv_type: KvType,
    /// Words of a page, per list.
    lists: Vec<u32>,
}

/// Positions in whole pages.
pub fn whole_pages(positions: u32) -> u32 {
    positions.div_ceil(PAGE).saturating_mul(PAGE)
}

impl KvCache {
    /// A cache of at least `capacity` positions for layers of these shapes.
    ///
    /// # Errors
    /// Lack of device memory.
    pub async fn new(gpu: &Gpu, shapes: &[Shape], capacity: u32, kv_type: KvType) -> Result<Self> {
        let capacity = whole_pages(capacity);
        let mut lists = Vec::new();
        let mut layers = Vec::with_capacity(shapes.len());
        for (i, s) in shapes.iter().enumerate() {
            let page_words = s.page_words();
            let list = lists.iter().position(|w| *w == page_words).unwrap_or_else(|| {
                lists.push(page_words);
                lists.len() - 1
            });
            let pool = gpu.alloc(&pool_name(i), pool_bytes(page_words, capacity), STORAGE).await?;
            layers.push(LayerCache { pool, list_at: 0, page_words, list });
        }
        let list = gpu.alloc("page lists", list_bytes(lists.len(), capacity), STORAGE).await?;
        let mut cache = Self { layers, list, capacity, kv_type, lists };
        cache.write_lists(gpu);
        Ok(cache)
    }

    /// Makes room for `capacity` positions, keeping the first `keep`. Layer by layer, so that the peak is one layer
    /// more than the new size.
    ///
    /// # Errors
    /// Lack of device memory; the layers grown so far stay grown and nothing is lost.
    pub async fn grow(&mut self, gpu: &Gpu, capacity: u32, keep: u32) -> Result<()> {
        let capacity = whole_pages(capacity);
        let list = gpu.alloc("page lists", list_bytes(self.lists.len(), capacity), STORAGE).await?;
        for (i, l) in self.layers.iter_mut().enumerate() {
            let bytes = pool_bytes(l.page_words, capacity);
            if l.pool.size() >= bytes {
                continue;
            }
            let pool = gpu.alloc(&pool_name(i), bytes, STORAGE).await?;
            let copy = pool_bytes(l.page_words, whole_pages(keep)).min(l.pool.size());
            if copy > 0 {
                let mut e = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
                e.copy_buffer_to_buffer(&l.pool, 0, &pool, 0, copy);
                gpu.submit([e.finish()]);
            }
            l.pool = pool;
        }
        self.list = list;
        self.capacity = capacity;
        self.write_lists(gpu);
        Ok(())
    }

    /// Every page in the tail, in the order of the pool.
    fn write_lists(&mut self, gpu: &Gpu) {
        let pages = self.capacity / PAGE;
        let mut words = Vec::with_capacity(self.lists.len() * 4 * (1 + pages as usize));
        for page_words in &self.lists {
            words.extend([0u32; 4]);
            words.extend((0..pages).flat_map(|i| [i * page_words, i * PAGE, PAGE, 0]));
        }
        gpu.write(&self.list, 0, bytemuck::cast_slice(&words));
        for l in &mut self.layers {
            l.list_at = l.list as u32 * (1 + pages);
        }
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        self.layers.iter().map(|l| l.pool.size()).sum::<u64>() + self.list.size()
    }
}

fn pool_name(layer: usize) -> String {
    format!("keys and values of layer {layer}")
}

fn pool_bytes(page_words: u32, capacity: u32) -> u64 {
    u64::from(capacity / PAGE) * u64::from(page_words) * 4
}

fn list_bytes(lists: usize, capacity: u32) -> u64 {
    16 * lists.max(1) as u64 * u64::from(1 + capacity / PAGE)
}
