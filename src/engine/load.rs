//! Opening a model on a device.

use super::error::{EngineError, Result};
use super::plan::{MemoryPlan, free_host_memory};
use super::session::Cancel;
use super::weights::Weights;
use super::{adapter_notes, loads, tuned};
use crate::format::{ModelFile, TensorSet};
use crate::generate::SamplerParams;
use crate::gpu::{CapsRequest, Gpu, Kernels};
use crate::harness::tune;
use crate::kernels::{Activations, Tuning};
use crate::kv::KvSpec;
use crate::model::{self, ModelSpec};
use crate::text::{ChatTemplate, Tokenizer};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// How to open a model.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Adapter: number, part of a name, PCI id; `None` for the best.
    pub device: Option<String>,
    /// How much of the adapter to use.
    pub caps: CapsRequest,
    /// Longest context; `None` for the model's own.
    pub context: Option<u32>,
    /// Storage of keys and values; `None` for f32 where the whole cache is small and f16 elsewhere.
    pub kv: Option<KvSpec>,
    /// Geometry; `None` for the adapter's default.
    pub tuning: Option<Tuning>,
    /// How products with quantised weights take their inputs.
    pub activations: Activations,
    /// Check the kernels when this adapter and driver are new, remember the result, and keep compiled pipelines.
    pub check_adapter: bool,
    /// Seconds to spend on finding the fastest geometry when this adapter has none for these shapes yet; `None` for not
    /// at all. Needs `check_adapter`, since what is found is kept with the checks.
    pub tune_s: Option<f64>,
    /// Ends that search early; what it found so far counts.
    pub skip_tuning: Cancel,
    /// Bytes the plan may take; `None` for what is free, where that can be told.
    pub memory_limit: Option<u64>,
}

/// What loading reports while it goes on.
#[derive(Clone, Debug)]
pub enum Progress {
    /// The adapter that was chosen.
    Device(Box<wgpu::AdapterInfo>),
    /// What it will take.
    Plan(MemoryPlan),
    /// Blocks loaded, blocks.
    Weights(usize, usize),
    /// What is tried next, shapes of kernels tried, of how many.
    Tune(String, usize, usize),
    /// Self tests run on an adapter that is new here, self tests.
    Check(usize, usize),
}

/// A model on a device. Sessions share it.
#[derive(Debug)]
pub struct Engine {
    /// The device.
    pub gpu: Arc<Gpu>,
    /// The model as numbers.
    pub spec: ModelSpec,
    /// What it takes.
    pub plan: MemoryPlan,
    /// The tokenizer; `None` when the file has none (ids still work).
    pub tokenizer: Option<Tokenizer>,
    /// The chat template.
    pub template: Option<ChatTemplate>,
    /// The model's recommended sampling, over golay's defaults.
    pub sampling: SamplerParams,
    /// Geometry.
    pub tuning: Tuning,
    /// Kernels.
    pub kernels: Kernels,
    /// Bytes of the files.
    pub file_bytes: u64,
    pub(crate) weights: Weights,
    /// Multiply-adds that one prefill submission may hold; adapts to about 80 ms.
    pub(crate) submit_budget: AtomicU64,
}

impl Engine {
    /// Opens a device and loads a model.
    ///
    /// # Errors
    /// No device, an unsupported or broken file, a plan that does not fit, lack of memory.
    pub async fn load(
        file: ModelFile,
        options: &LoadOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Arc<Self>> {
        // The file is judged before a device is touched.
        let spec = model::read(&file)?;
        let gpu = Gpu::open(options.device.as_deref(), options.caps).await?;
        Self::load_on(gpu, spec, file, options, progress).await
    }

    /// As [`Engine::load`], on a device that is open already.
    ///
    /// # Errors
    /// As [`Engine::load`].
    pub async fn load_on(
        gpu: Arc<Gpu>,
        mut spec: ModelSpec,
        file: ModelFile,
        options: &LoadOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Arc<Self>> {
        progress(Progress::Device(Box::new(gpu.info.clone())));
        let tensors = file.tensors();
        let wanted = geometry(&gpu, &spec, tensors, options, progress).await?;
        let (kernels, tuning) = adapter_notes::kernels(&gpu, wanted, options.check_adapter, progress).await?;
        let plan = MemoryPlan::new(&spec, tensors, &tuning, &gpu.caps, options.context, options.kv)?;
        spec.ropes.iter_mut().for_each(|r| r.settle(plan.context));
        progress(Progress::Plan(plan));
        // A GPU does not tell how much memory is free; a software adapter takes the host's.
        let have = options.memory_limit.or_else(|| gpu.caps.cpu.then(free_host_memory).flatten());
        plan.check(have)?;
        for name in &spec.unused {
            log::warn!("tensor {name} is not used by {}", spec.arch);
        }
        let (tokenizer, template) = text(&file)?;
        if let Some(t) = tokenizer.as_ref().filter(|t| t.vocab_size() as u64 > u64::from(spec.vocab)) {
            log::warn!("the tokenizer has {} ids, the model {}", t.vocab_size(), spec.vocab);
        }
        let sampling = sampling(&file)?;
        let weights =
            Weights::load(&gpu, tensors, &spec, &mut |a, b| progress(Progress::Weights(a, b))).await?;
        let start = if gpu.caps.cpu { 400_000_000 } else { 40_000_000_000 };
        Ok(Arc::new(Self {
            spec,
            plan,
            tokenizer,
            template,
            sampling,
            tuning,
            kernels,
            file_bytes: tensors.file_bytes(),
            weights,
            submit_budget: AtomicU64::new(start),
            gpu,
        }))
    }

    /// The tokenizer, or an error that says the file has none.
    ///
    /// # Errors
    /// [`EngineError::Option`].
    pub fn need_tokenizer(&self) -> Result<&Tokenizer> {
        self.tokenizer.as_ref().ok_or_else(|| EngineError::Option {
            what: "the model's tokenizer",
            found: "absent from the file".into(),
            expected: "tokenizer.json beside the weights (ids can be given instead of text)".into(),
        })
    }

    /// How products with weights take their inputs.
    pub fn activations(&self) -> Activations {
        self.tuning.activations
    }

    /// Bytes of weights on the device.
    pub fn weight_bytes(&self) -> u64 {
        self.weights.bytes()
    }
}

/// The geometry to try first: as asked, as remembered for these shapes, as found now, or the adapter's default.
async fn geometry(
    gpu: &Gpu,
    spec: &ModelSpec,
    tensors: &TensorSet,
    options: &LoadOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Tuning> {
    if let Some(t) = &options.tuning {
        return Ok(t.clone());
    }
    let default = Tuning { activations: options.activations, ..Tuning::for_caps(&gpu.caps) };
    if !options.check_adapter {
        return Ok(default);
    }
    let shapes = loads::shape_key(spec, tensors, options.activations);
    if let Some(t) = tuned::read(gpu, &shapes) {
        // What a person chooses is not a matter of geometry.
        return Ok(Tuning { activations: options.activations, ..t });
    }
    let (Some(seconds), Some(kernels)) = (options.tune_s, tuned::kernels(gpu)) else { return Ok(default) };
    let work = loads::tuning_loads(spec, tensors, options.kv.map(|kv| kv.plain), &default);
    let mut shown = tuned::Shown { progress, skip: &options.skip_tuning };
    let found = tune::tune(gpu, &kernels, &default, &work, seconds, &mut shown).await?;
    progress(Progress::Tune(String::new(), 1, 1));
    if let Err(e) = tuned::remember(gpu, &shapes, Some(&found.tuning)) {
        log::warn!("{e}");
    }
    Ok(found.tuning)
}

/// Tokenizer and template of a model file.
///
/// # Errors
/// A tokenizer that is there and broken; a missing one is `None`.
pub fn text(file: &ModelFile) -> Result<(Option<Tokenizer>, Option<ChatTemplate>)> {
    match file {
        ModelFile::Gguf(g) => {
            if !g.metadata.contains("tokenizer.ggml.model") {
                return Ok((None, None));
            }
            let t = Tokenizer::from_gguf(&g.metadata)?;
            let source = g.metadata.str("tokenizer.chat_template")?.map(str::to_owned);
            let template = template(source.as_deref(), &t)?;
            Ok((Some(t), Some(template)))
        }
        ModelFile::Hf(h) => {
            let Some(json) = &h.tokenizer_json else { return Ok((None, None)) };
            let t = Tokenizer::from_json(
                json,
                h.tokenizer_config.as_ref(),
                h.generation_config.as_ref(),
                Some(&h.config),
            )?;
            let template = template(h.chat_template.as_deref(), &t)?;
            Ok((Some(t), Some(template)))
        }
    }
}

fn template(source: Option<&str>, t: &Tokenizer) -> Result<ChatTemplate> {
    let text = |id: Option<u32>| id.and_then(|id| t.token_text(id).ok()).unwrap_or_default().to_owned();
    Ok(match source {
        Some(s) => ChatTemplate::new(s, &text(t.bos()), &text(t.eos()))?,
        None => ChatTemplate::chatml(),
    })
}

/// The sampling that a model file recommends, over the defaults.
///
/// # Errors
/// Values out of range.
pub fn sampling(file: &ModelFile) -> Result<SamplerParams> {
    let mut p = SamplerParams::default();
    match file {
        ModelFile::Gguf(g) => {
            let pairs = crate::generate::GGUF_SAMPLING_KEYS
                .iter()
                .filter_map(|k| g.metadata.f64(k).ok().flatten().map(|v| (*k, v)));
            p.apply_gguf_sampling(pairs)?;
        }
        ModelFile::Hf(h) => {
            if let Some(c) = &h.generation_config {
                p.apply_generation_config(c)?;
            }
        }
    }
    Ok(p)
}
