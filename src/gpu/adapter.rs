//! Which adapters there are, in which order golay prefers them, and how a person picks another.

use super::error::{GpuError, Result};

/// One adapter as it is shown to people.
#[derive(Clone, Debug)]
pub struct AdapterChoice {
    /// Its number in the list, for `--device N`.
    pub index: usize,
    /// wgpu's description.
    pub info: wgpu::AdapterInfo,
    /// Higher is preferred; see [`score`].
    pub score: i32,
    pub(crate) adapter: wgpu::Adapter,
}

impl AdapterChoice {
    /// True for an adapter that computes on the CPU.
    pub fn is_software(&self) -> bool {
        self.info.device_type == wgpu::DeviceType::Cpu
    }

    /// `discrete`, `integrated`, `virtual`, `cpu` or `other`.
    pub fn kind(&self) -> &'static str {
        kind(self.info.device_type)
    }
}

/// A device type in one lower-case word.
pub fn kind(t: wgpu::DeviceType) -> &'static str {
    match t {
        wgpu::DeviceType::DiscreteGpu => "discrete",
        wgpu::DeviceType::IntegratedGpu => "integrated",
        wgpu::DeviceType::VirtualGpu => "virtual",
        wgpu::DeviceType::Cpu => "cpu",
        wgpu::DeviceType::Other => "other",
    }
}

/// Preference: discrete, integrated, virtual, other, and software last; the native back end of a platform before
/// another that reaches the same card.
pub fn score(info: &wgpu::AdapterInfo) -> i32 {
    let by_type = match info.device_type {
        wgpu::DeviceType::DiscreteGpu => 400,
        wgpu::DeviceType::IntegratedGpu => 300,
        wgpu::DeviceType::VirtualGpu => 200,
        wgpu::DeviceType::Other => 100,
        wgpu::DeviceType::Cpu => 0,
    };
    let by_backend = match info.backend {
        wgpu::Backend::Metal | wgpu::Backend::BrowserWebGpu => 30,
        wgpu::Backend::Vulkan => 20,
        wgpu::Backend::Dx12 => 10,
        _ => 0,
    };
    by_type + by_backend
}

pub(crate) fn instance() -> wgpu::Instance {
    let mut desc = wgpu::InstanceDescriptor::new_without_display_handle();
    desc.backends = wgpu::Backends::PRIMARY;
    // Validation layers of the driver are a developer's tool; wgpu's own validation is always on.
    desc.flags = wgpu::InstanceFlags::empty();
    wgpu::Instance::new(desc)
}

/// All adapters, best first.
pub async fn list() -> Vec<AdapterChoice> {
    let instance = instance();
    #[cfg(not(target_arch = "wasm32"))]
    let found = instance.enumerate_adapters(wgpu::Backends::PRIMARY).await;
    #[cfg(target_arch = "wasm32")]
    let found: Vec<wgpu::Adapter> =
        instance.request_adapter(&wgpu::RequestAdapterOptions::default()).await.into_iter().collect();
    let mut all: Vec<AdapterChoice> = found
        .into_iter()
        .map(|adapter| {
            let info = adapter.get_info();
            AdapterChoice { index: 0, score: score(&info), info, adapter }
        })
        .collect();
    // Stable: the driver's own order breaks ties.
    all.sort_by_key(|a| -a.score);
    for (i, a) in all.iter_mut().enumerate() {
        a.index = i;
    }
    all
}

/// Picks from a list made by [`list`]. `wanted` is a number, part of a name (any case) or a PCI bus id; `None`
/// takes the best. A software adapter is taken only when there is nothing else or it was asked for.
///
/// # Errors
/// [`GpuError::NoAdapter`] on an empty list, [`GpuError::NoSuchAdapter`] when nothing matches or a name matches
/// several.
pub fn pick(mut all: Vec<AdapterChoice>, wanted: Option<&str>) -> Result<AdapterChoice> {
    if all.is_empty() {
        return Err(GpuError::NoAdapter);
    }
    let Some(wanted) = wanted.map(str::trim).filter(|w| !w.is_empty()) else {
        return Ok(all.swap_remove(0));
    };
    let at = match wanted.parse::<usize>() {
        Ok(n) => (n < all.len()).then_some(n),
        Err(_) => {
            let lower = wanted.to_lowercase();
            let pci = |i: &wgpu::AdapterInfo| i.device_pci_bus_id.to_lowercase();
            let exact = all.iter().position(|a| a.info.name.to_lowercase() == lower || pci(&a.info) == lower);
            exact.or_else(|| all.iter().position(|a| a.info.name.to_lowercase().contains(&lower)))
        }
    };
    match at {
        Some(i) => Ok(all.swap_remove(i)),
        None => Err(GpuError::NoSuchAdapter { wanted: wanted.to_owned(), present: describe(&all) }),
    }
}

/// `0: NAME (kind, backend); 1: ...`
pub fn describe(all: &[AdapterChoice]) -> String {
    let one = |a: &AdapterChoice| format!("{}: {} ({}, {})", a.index, a.info.name, a.kind(), a.info.backend);
    all.iter().map(one).collect::<Vec<_>>().join("; ")
}
