//! Kernels: a shader permutation compiled for one device, and the cache that holds them.

use super::device::{Counters, Gpu};
use super::error::{GpuError, Result};
use super::guard::Guard;
use super::preprocess::{self, Access, Defines, Reflection};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// Names one permutation: shader file, defines, and values of its `override` constants.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KernelKey {
    /// File stem under `shaders/`.
    pub shader: String,
    /// Preprocessor defines.
    pub defines: Defines,
    /// Pipeline-overridable constants.
    pub overrides: BTreeMap<String, u32>,
}

impl KernelKey {
    /// A key without defines or overrides.
    pub fn new(shader: &str) -> Self {
        Self { shader: shader.to_owned(), defines: Defines::new(), overrides: BTreeMap::new() }
    }

    /// Adds a define.
    #[must_use]
    pub fn define(mut self, name: &str, value: impl ToString) -> Self {
        self.defines.insert(name.to_owned(), value.to_string());
        self
    }

    /// Adds a define of value 1 when `on`.
    #[must_use]
    pub fn flag(self, name: &str, on: bool) -> Self {
        if on { self.define(name, 1) } else { self }
    }

    /// Sets an `override` constant.
    #[must_use]
    pub fn constant(mut self, name: &str, value: u32) -> Self {
        self.overrides.insert(name.to_owned(), value);
        self
    }
}

impl std::fmt::Display for KernelKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shader)?;
        for (k, v) in &self.defines {
            if v == "1" { write!(f, " {k}")? } else { write!(f, " {k}={v}")? }
        }
        for (k, v) in &self.overrides {
            write!(f, " {k}:{v}")?;
        }
        Ok(())
    }
}

/// A compiled kernel.
#[derive(Debug)]
pub struct Kernel {
    /// Its key.
    pub key: KernelKey,
    /// What its text declares.
    pub reflection: Reflection,
    pub(crate) pipeline: wgpu::ComputePipeline,
    pub(crate) layout: wgpu::BindGroupLayout,
}

impl Kernel {
    /// The value of an integer `const` or `override` of the shader, after overriding.
    ///
    /// # Errors
    /// When the shader has no such constant.
    pub fn constant(&self, name: &str) -> Result<u32> {
        let found = self.key.overrides.get(name).or_else(|| self.reflection.constants.get(name));
        found.copied().ok_or_else(|| GpuError::Binding {
            kernel: self.key.to_string(),
            what: format!("no constant {name}"),
        })
    }
}

/// All kernels of one device.
#[derive(Debug, Default)]
pub struct Kernels {
    made: Mutex<HashMap<KernelKey, Arc<Kernel>>>,
    guard: Guard,
    cache: Option<DiskCache>,
    /// A text of the shaders and what stands in its place, for tests of the checks.
    fault: Option<(String, String)>,
}

/// The driver's compiled pipelines, kept between runs.
#[derive(Debug)]
struct DiskCache {
    cache: wgpu::PipelineCache,
    path: std::path::PathBuf,
    /// Bytes read at the start.
    had: usize,
}

/// A driver whose cache stays below this keeps nothing in it (lavapipe's is 96 bytes, all header): not worth a file.
const WORTH_KEEPING: usize = 4096;

impl Kernels {
    /// Kernels whose compilation is guarded by a crash marker in `folder`, and cached there where the driver gains from
    /// it. `name` tells adapters and drivers apart.
    pub fn in_folder(gpu: &Gpu, folder: &std::path::Path, name: &str) -> Self {
        #[cfg(target_arch = "wasm32")]
        let guard = Guard::default();
        #[cfg(not(target_arch = "wasm32"))]
        let guard = Guard::open(folder.join(format!("{name}.compiling")));
        let cache = gpu.caps.pipeline_cache.then(|| {
            let path = folder.join(format!("{name}.pipelines"));
            let data = std::fs::read(&path).ok();
            let had = data.as_ref().map_or(0, Vec::len);
            let desc =
                wgpu::PipelineCacheDescriptor { label: Some("golay"), data: data.as_deref(), fallback: true };
            // SAFETY: the bytes come from `get_data` of a cache of the same adapter and driver, whose names are part
            // of the file's, in a folder that is the user's own; wgpu checks their header and starts empty on a
            // mismatch.
            let cache = unsafe { gpu.device.create_pipeline_cache(&desc) };
            DiskCache { cache, path, had }
        });
        Self { made: Mutex::default(), guard, cache, fault: None }
    }

    /// Kernels with a fault: wherever `text` stands in a shader, `wrong` takes its place. Tests show with it that wrong
    /// kernels are found out.
    #[doc(hidden)]
    pub fn with_fault(text: &str, wrong: &str) -> Self {
        Self { fault: Some((text.to_owned(), wrong.to_owned())), ..Self::default() }
    }

    /// The crash marker.
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Writes the driver's compiled pipelines to disk, when there is something in them.
    pub fn save(&self) {
        let Some(c) = &self.cache else { return };
        let data = c.cache.get_data().unwrap_or_default();
        if data.len() <= WORTH_KEEPING || data.len() == c.had {
            return;
        }
        let part = c.path.with_extension("part");
        if let Err(e) = std::fs::write(&part, &data).and_then(|()| std::fs::rename(&part, &c.path)) {
            log::debug!("{}: {e}", c.path.display());
        }
    }

    /// The kernel for a key, compiled now if it is not there yet.
    ///
    /// # Errors
    /// A shader that does not build or that the driver refuses.
    pub fn get(&self, gpu: &Gpu, key: &KernelKey) -> Result<Arc<Kernel>> {
        if let Some(k) = self.made.lock().unwrap_or_else(PoisonError::into_inner).get(key) {
            return Ok(k.clone());
        }
        let pipelines = self.cache.as_ref().map(|c| &c.cache);
        let made = Arc::new(
            self.guard.attempt(&key.to_string(), || compile(gpu, key, pipelines, self.fault.as_ref()))?,
        );
        let mut map = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(map.entry(key.clone()).or_insert(made).clone())
    }

    /// Compiles many kernels, on several threads where there are threads. `progress` is called with (done, all).
    ///
    /// # Errors
    /// The first kernel's error.
    pub fn prepare(
        &self,
        gpu: &Gpu,
        keys: &[KernelKey],
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<()> {
        let mut todo: Vec<&KernelKey> = keys.iter().collect();
        todo.sort();
        todo.dedup();
        let all = todo.len();
        progress(0, all);
        #[cfg(target_arch = "wasm32")]
        for (i, key) in todo.iter().enumerate() {
            self.get(gpu, key)?;
            progress(i + 1, all);
        }
        #[cfg(not(target_arch = "wasm32"))]
        {
            use std::sync::atomic::{AtomicUsize, Ordering};
            let next = AtomicUsize::new(0);
            let done = AtomicUsize::new(0);
            let failed = Mutex::new(None);
            let workers = std::thread::available_parallelism().map_or(1, |n| n.get()).min(8).min(all.max(1));
            std::thread::scope(|scope| {
                for _ in 0..workers {
                    scope.spawn(|| {
                        while let Some(key) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
                            if let Err(e) = self.get(gpu, key) {
                                let mut slot = failed.lock().unwrap_or_else(PoisonError::into_inner);
                                slot.get_or_insert(e);
                                next.store(all, Ordering::Relaxed);
                            }
                            progress(done.fetch_add(1, Ordering::Relaxed) + 1, all);
                        }
                    });
                }
            });
            if let Some(e) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
                return Err(e);
            }
        }
        gpu.check()
    }
}

fn compile(
    gpu: &Gpu,
    key: &KernelKey,
    pipelines: Option<&wgpu::PipelineCache>,
    fault: Option<&(String, String)>,
) -> Result<Kernel> {
    let mut built = preprocess::build(&key.shader, &key.defines)?;
    if let Some((text, wrong)) = fault {
        built.wgsl = built.wgsl.replace(text, wrong);
    }
    let label = key.to_string();
    // A driver that refuses a kernel refuses that kernel only: the device stays good for another variant.
    let internal = gpu.device.push_error_scope(wgpu::ErrorFilter::Internal);
    let valid = gpu.device.push_error_scope(wgpu::ErrorFilter::Validation);
    let desc = wgpu::ShaderModuleDescriptor {
        label: Some(&label),
        source: wgpu::ShaderSource::Wgsl(built.wgsl.into()),
    };
    let module = if std::env::var_os("GOLAY_SHADER_CHECKS").is_some() {
        gpu.device.create_shader_module(desc)
    } else {
        // SAFETY: every index in our shaders is bounded by the parameters golay itself passes, every loop is
        // finite, and the tests run all kernels under GOLAY_SHADER_CHECKS too. Browsers check in any case.
        unsafe { gpu.device.create_shader_module_trusted(desc, wgpu::ShaderRuntimeChecks::unchecked()) }
    };
    let entries: Vec<wgpu::BindGroupLayoutEntry> = built
        .reflection
        .bindings
        .iter()
        .map(|b| wgpu::BindGroupLayoutEntry {
            binding: b.index,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: match b.access {
                    Access::Uniform => wgpu::BufferBindingType::Uniform,
                    Access::Read => wgpu::BufferBindingType::Storage { read_only: true },
                    Access::ReadWrite => wgpu::BufferBindingType::Storage { read_only: false },
                },
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        })
        .collect();
    let layout = gpu.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some(&label),
        entries: &entries,
    });
    let pipeline_layout = gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(&label),
        bind_group_layouts: &[Some(&layout)],
        immediate_size: 0,
    });
    let constants: Vec<(&str, f64)> =
        key.overrides.iter().map(|(k, v)| (k.as_str(), f64::from(*v))).collect();
    let pipeline = gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(&label),
        layout: Some(&pipeline_layout),
        module: &module,
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions {
            constants: &constants,
            // Our kernels write workgroup memory before they read it.
            zero_initialize_workgroup_memory: false,
        },
        cache: pipelines,
    });
    let refused = at_once(valid.pop()).flatten();
    let refused = at_once(internal.pop()).flatten().or(refused);
    if let Some(e) = refused {
        return Err(GpuError::Device(format!("kernel {label}: {e}")));
    }
    Counters::add(&gpu.counters.pipelines, 1);
    Ok(Kernel { key: key.clone(), reflection: built.reflection, pipeline, layout })
}

/// The result of a future that is ready, as a native error scope's is. In a browser it is not, and errors arrive through
/// the device's handler instead.
fn at_once<T>(f: impl Future<Output = T>) -> Option<T> {
    let mut f = std::pin::pin!(f);
    match f.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(v) => Some(v),
        Poll::Pending => None,
    }
}
