//! The key/value cache of a sequence: per layer a pool of pages (`shaders/lib/kv.wgsl`), and lists that say which page
//! holds which positions. Rows beyond the sequence's length hold rubbish that no kernel reads.
//!
//! The pages of a layer lie in one buffer that grows by doubling; layers whose pages are equally large share lists.
//!
//! Without a tier every page is plain and in its place. With one, the first page and the newest [`WINDOW`] positions are
//! plain and all others sealed ([`table`]).

pub mod codec;
pub mod table;

#[cfg(test)]
mod table_tests;

use crate::gpu::error::Result;
use crate::gpu::{Buffer, Gpu, STORAGE};
use crate::kernels::KvType;
use crate::kernels::attention::{PAGE, Sealed, Shape};
use codec::{Codec, KvSpecError, Tier};
use table::Table;

/// Positions behind the newest that stay plain where pages are sealed.
pub const WINDOW: u32 = 128;

/// How keys and values are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvSpec {
    /// Plain pages.
    pub plain: KvType,
    /// Sealed pages, if there are any.
    pub sealed: Option<Tier>,
}

impl From<KvType> for KvSpec {
    fn from(plain: KvType) -> Self {
        Self { plain, sealed: None }
    }
}

impl std::str::FromStr for KvSpec {
    type Err = KvSpecError;

    fn from_str(s: &str) -> std::result::Result<Self, KvSpecError> {
        // What is said names only kinds that there are kernels for.
        let tier = Tier::parse(s).map_err(|e| match e {
            KvSpecError::Number { family: "aff", .. } => e,
            _ => KvSpecError::NoKind { given: s.to_owned() },
        })?;
        match (tier.k, tier.v) {
            (Codec::F32, Codec::F32) => Ok(KvType::F32.into()),
            (Codec::F16, Codec::F16) => Ok(KvType::F16.into()),
            (Codec::Aff { .. }, Codec::Aff { .. }) => Ok(Self { plain: KvType::F16, sealed: Some(tier) }),
            _ => Err(KvSpecError::NotYet { given: s.to_owned() }),
        }
    }
}

impl std::fmt::Display for KvSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.sealed {
            Some(tier) => tier.fmt(f),
            None => f.write_str(self.plain.name()),
        }
    }
}

impl KvSpec {
    /// The spelling of the keys' and of the values' storage.
    pub fn sides(&self) -> (String, String) {
        match self.sealed {
            Some(tier) => (tier.k.to_string(), tier.v.to_string()),
            None => (self.plain.name().to_owned(), self.plain.name().to_owned()),
        }
    }

    /// Bytes of a cache of `capacity` positions for a layer of this shape, with chunks of `chunk` tokens.
    pub fn layer_bytes(&self, kv_heads: u32, head_dim: u32, capacity: u32, chunk: u32) -> u64 {
        let pages = u64::from(capacity.div_ceil(PAGE));
        let plain = u64::from(2 * kv_heads * head_dim) * self.plain.bytes() * u64::from(PAGE);
        match self.sealed {
            None => pages * plain,
            Some(tier) => {
                let words = sealed(tier, head_dim, 0).head_words * kv_heads;
                u64::from(table::plain_pages(chunk)) * plain + pages * u64::from(words) * 4
            }
        }
    }

    /// Bytes that a decode step reads of a layer of this shape with `keys` keys in its cache.
    pub fn read_bytes(&self, kv_heads: u32, head_dim: u32, keys: u32) -> u64 {
        let row = u64::from(2 * kv_heads * head_dim) * self.plain.bytes();
        let pages = keys.saturating_sub(WINDOW + PAGE) / PAGE;
        match self.sealed {
            None => u64::from(keys) * row,
            Some(tier) => {
                let words = sealed(tier, head_dim, 0).head_words * kv_heads;
                u64::from(keys - pages * PAGE) * row + u64::from(pages) * u64::from(words) * 4
            }
        }
    }
}

/// Pages of one layer.
#[derive(Debug)]
pub struct LayerCache {
    /// The pages.
    pub pool: Buffer,
    /// Index of the layer's list of plain pages in [`KvCache::list`], in entries.
    pub list_at: u32,
    /// Its sealed pages.
    pub sealed: Option<Sealed>,
    kv_heads: u32,
    head_dim: u32,
    /// Which of the lists it is.
    list: usize,
}

/// The cache of all layers.
#[derive(Debug)]
pub struct KvCache {
    /// Per layer.
    pub layers: Vec<LayerCache>,
    /// The lists, one after another: each a header and an entry per page.
    pub list: Buffer,
    /// Pages to seal, in the order of the lists.
    pub jobs: Buffer,
    /// Positions there is room for: whole pages.
    pub capacity: u32,
    /// Storage.
    pub spec: KvSpec,
    chunk: u32,
    table: Table,
    /// Words of a plain and of a sealed page, per list.
    lists: Vec<(u32, u32)>,
}

/// Positions in whole pages.
pub fn whole_pages(positions: u32) -> u32 {
    positions.div_ceil(PAGE).saturating_mul(PAGE)
}

impl KvCache {
    /// A cache of at least `capacity` positions for layers of these shapes, that fills by up to `chunk` positions at a
    /// time.
    ///
    /// # Errors
    /// Lack of device memory.
    pub async fn new(gpu: &Gpu, shapes: &[Shape], capacity: u32, chunk: u32, spec: KvSpec) -> Result<Self> {
        let capacity = whole_pages(capacity);
        let mut lists = Vec::new();
        let mut layers = Vec::with_capacity(shapes.len());
        for (i, s) in shapes.iter().enumerate() {
            let sealed_words = spec.sealed.map_or(0, |t| sealed(t, s.head_dim, 0).head_words);
            let pages = (s.page_words(), sealed_words * s.kv_heads);
            let list = lists.iter().position(|w| *w == pages).unwrap_or_else(|| {
                lists.push(pages);
                lists.len() - 1
            });
            let bytes = spec.layer_bytes(s.kv_heads, s.head_dim, capacity, chunk);
            let pool = gpu.alloc(&pool_name(i), bytes, STORAGE).await?;
            let sealed = spec.sealed.map(|tier| sealed(tier, s.head_dim, 0));
            let (kv_heads, head_dim) = (s.kv_heads, s.head_dim);
            layers.push(LayerCache { pool, list_at: 0, sealed, kv_heads, head_dim, list });
        }
        let table = Table::new(spec.sealed.map(|_| chunk));
        let list = gpu.alloc("page lists", table.list_bytes(lists.len(), capacity), STORAGE).await?;
        let jobs = gpu.alloc("pages to seal", table.job_bytes(lists.len()), STORAGE).await?;
        let mut cache = Self { layers, list, jobs, capacity, spec, chunk, table, lists };
        cache.place_lists(gpu);
        Ok(cache)
    }

    /// Makes room for `capacity` positions, keeping what there is. Layer by layer, so that the peak is one layer more than
    /// the new size.
    ///
    /// # Errors
    /// Lack of device memory; the layers grown so far stay grown and nothing is lost.
    pub async fn grow(&mut self, gpu: &Gpu, capacity: u32) -> Result<()> {
        let capacity = whole_pages(capacity);
        let list =
            gpu.alloc("page lists", self.table.list_bytes(self.lists.len(), capacity), STORAGE).await?;
        for (i, l) in self.layers.iter_mut().enumerate() {
            let bytes = self.spec.layer_bytes(l.kv_heads, l.head_dim, capacity, self.chunk);
            if l.pool.size() >= bytes {
                continue;
            }
            let pool = gpu.alloc(&pool_name(i), bytes, STORAGE).await?;
            let mut e = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            e.copy_buffer_to_buffer(&l.pool, 0, &pool, 0, l.pool.size());
            gpu.submit([e.finish()]);
            l.pool = pool;
        }
        self.list = list;
        self.capacity = capacity;
        self.place_lists(gpu);
        Ok(())
    }

    /// Writes the lists whole, and tells the layers where theirs are.
    fn place_lists(&mut self, gpu: &Gpu) {
        let (plain, sealed) = self.table.entries(self.capacity);
        for l in &mut self.layers {
            l.list_at = l.list as u32 * (2 + plain + sealed);
            if let Some(s) = &mut l.sealed {
                s.list_at = l.list_at + 1 + plain;
            }
        }
        let words: Vec<u32> =
            self.lists.iter().flat_map(|pages| self.table.list_words(*pages, self.capacity)).collect();
        gpu.write(&self.list, 0, bytemuck::cast_slice(&words));
    }

    /// Writes what changes when pages leave the tail or come back: the plain entries and the headers.
    fn write_fronts(&self, gpu: &Gpu) {
        let stride = self.table.list_bytes(1, self.capacity);
        for (i, pages) in self.lists.iter().enumerate() {
            let words = self.table.front_words(*pages, self.capacity);
            gpu.write(&self.list, i as u64 * stride, bytemuck::cast_slice(&words));
        }
    }

    /// Index of the first job of a layer.
    pub fn first_job(&self, layer: &LayerCache) -> u32 {
        layer.list as u32 * self.table.jobs()
    }

    /// To be called before positions from `start` on are computed: writes the pages to seal, if there are any, and returns
    /// their number. When the seal kernels are submitted, [`KvCache::sealed`] makes it count.
    pub fn advance(&mut self, gpu: &Gpu, start: u32) -> Option<u32> {
        let first = self.table.advance(start)?;
        let all: Vec<Vec<u32>> = self.lists.iter().map(|pages| self.table.job_words(first, *pages)).collect();
        let count = all.first().map_or(0, |w| w.len() as u32 / 4);
        for (i, words) in all.iter().enumerate() {
            if !words.is_empty() {
                let at = i as u64 * u64::from(self.table.jobs()) * 16;
                gpu.write(&self.jobs, at, bytemuck::cast_slice(words));
            }
        }
        Some(count)
    }

    /// The lists as they are after [`KvCache::advance`].
    pub fn sealed(&self, gpu: &Gpu) {
        self.write_fronts(gpu);
    }

    /// Cuts the sequence to its first `len` positions, or fewer where sealed pages would have to be reopened ([`Table::cut`]);
    /// how many are left.
    pub fn cut(&mut self, gpu: &Gpu, len: u32) -> u32 {
        let (left, changed) = self.table.cut(len);
        if changed {
            self.write_fronts(gpu);
        }
        left
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        let pools: u64 = self.layers.iter().map(|l| l.pool.size()).sum();
        pools + self.list.size() + if self.spec.sealed.is_some() { self.jobs.size() } else { 0 }
    }
}

/// Pages of an affine tier as kernels take them, for heads of `head_dim` values.
pub(crate) fn sealed(tier: Tier, head_dim: u32, list_at: u32) -> Sealed {
    let levels = |codec| match codec {
        Codec::Aff { levels } => u32::from(levels),
        _ => 0,
    };
    let head = tier.head(PAGE as usize, head_dim as usize);
    Sealed {
        list_at,
        k_levels: levels(tier.k),
        v_levels: levels(tier.v),
        head_words: head.words() as u32,
        v_words: head.v_meta_at() as u32,
    }
}

fn pool_name(layer: usize) -> String {
    format!("keys and values of layer {layer}")
}
