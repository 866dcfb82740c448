//! Opens a model on a device and says what people should know about it.

use crate::args::{DeviceArgs, ModelArg};
use crate::error::Result;
use crate::output::{Bar, note};
use crate::{cache, interrupt};
use golay::engine::{Cancel, Engine, LoadOptions, Progress, Session};
use golay::format::ModelFile;
use golay::gpu::{CapsRequest, Gpu};
use golay::model::{self, ModelSpec};
use golay::text::{ChatTemplate, Tokenizer};
use std::sync::Arc;

/// How long a context is wanted, once the model is known.
pub type Context<'a> = &'a dyn Fn(&ModelSpec) -> Option<u32>;

/// The device's name as `--device` takes it.
pub fn wanted(args: &DeviceArgs) -> Option<&str> {
    args.device.as_deref().map(str::trim).filter(|d| !d.is_empty())
}

/// Opens the device, with one line for people when it is the CPU.
pub async fn device(args: &DeviceArgs) -> Result<Arc<Gpu>> {
    let gpu = Gpu::open(wanted(args), CapsRequest::from_env()?).await?;
    if gpu.caps.cpu {
        let name = &gpu.info.name;
        note(&match wanted(args) {
            None => format!(
                "no GPU found: computing on the CPU through {name}; a driver for Vulkan, Metal or DX12 makes this faster"
            ),
            Some(_) => format!("computing on the CPU through {name}, as asked"),
        });
    }
    Ok(gpu)
}

/// Opens a model and the device.
pub fn model(model: &ModelArg, args: &DeviceArgs, context: Context<'_>) -> Result<Arc<Engine>> {
    let path = cache::resolve(&model.model)?;
    let file = ModelFile::open(&path)?;
    pollster::block_on(load(file, args, context))
}

/// Loads a file that is open.
pub async fn load(file: ModelFile, args: &DeviceArgs, context: Context<'_>) -> Result<Arc<Engine>> {
    // The file is judged before a device is touched.
    let spec = model::read(&file)?;
    let options = LoadOptions {
        device: args.device.clone(),
        caps: CapsRequest::from_env()?,
        context: context(&spec),
        kv: args.kv,
        tuning: None,
        activations: args.activations(),
        check_adapter: true,
        tune_s: tuning_time(args),
        skip_tuning: Cancel::default(),
        memory_limit: args.memory_limit,
    };
    if let Some(n) = options.context.filter(|n| *n > spec.context) {
        note(&format!("a context of {n} tokens is beyond the {} that the model was made for", spec.context));
    }
    let gpu = device(args).await?;
    let weights = Bar::new("loading");
    let checks = Bar::new("checking");
    let tunes = Bar::new("tuning");
    let (mut checked, mut tuned) = (false, false);
    let skip = options.skip_tuning.clone();
    let mut skipping = None;
    let engine = Engine::load_on(gpu, spec, file, &options, &mut |p| match p {
        Progress::Device(info) => log::info!("{} ({}, driver {})", info.name, info.backend, info.driver_info),
        Progress::Plan(plan) => note(&format!("memory: {plan}")),
        Progress::Weights(done, all) => weights.set(done as u64, all as u64),
        Progress::Tune(now, done, all) => {
            if !std::mem::replace(&mut tuned, true) {
                note("device and model are new to each other: looking for the fastest geometry, once (Ctrl-C skips)");
                skipping = Some(interrupt::guard(&skip, 2));
            }
            tunes.set(done as u64, all as u64);
            tunes.say(&now);
            if done >= all {
                skipping = None;
            }
        }
        Progress::Check(done, all) => {
            if !std::mem::replace(&mut checked, true) {
                note("this device is new here: checking the kernels, once");
            }
            checks.set(done as u64, all as u64);
        }
    })
    .await?;
    if let Some(n) = options.context.filter(|n| *n > engine.plan.context) {
        note(&format!(
            "the context is {} tokens instead of {n}: the device binds no more",
            engine.plan.context
        ));
    }
    Ok(engine)
}

/// Seconds that a first load may spend on tuning.
fn tuning_time(args: &DeviceArgs) -> Option<f64> {
    let off = args.no_tune || std::env::var("GOLAY_TUNE").is_ok_and(|v| v == "0" || v == "off");
    (!off).then_some(8.0)
}

/// A sequence on an engine, with the compilation of its kernels shown.
pub async fn session(engine: &Arc<Engine>) -> Result<Session> {
    let kernels = Bar::new("compiling");
    Ok(Session::with_progress(engine, &|done, all| kernels.set(done as u64, all as u64)).await?)
}

/// Only the text part of a model: no device, no weights.
pub fn text(model: &ModelArg) -> Result<(Tokenizer, Option<ChatTemplate>)> {
    let path = cache::resolve(&model.model)?;
    let file = ModelFile::open(&path)?;
    let (tokenizer, template) = golay::engine::text(&file)?;
    let missing = || {
        crate::error::CliError::failed(format!(
            "{}: the model has no tokenizer (ids still work)",
            path.display()
        ))
    };
    Ok((tokenizer.ok_or_else(missing)?, template))
}
