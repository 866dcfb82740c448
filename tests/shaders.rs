//! Every shader permutation that golay may ask for, looked at without a device: it parses, validates for a baseline
//! device, keeps to the baseline's limits, and translates for every back end.

use golay::gpu::KernelKey;
use golay::gpu::preprocess::{self, Access, Built};
use golay::kernels::permutations::{self, Axis, Line};
use naga::valid::{Capabilities, ModuleInfo, SubgroupOperationSet, ValidationFlags, Validator};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One format of each kind: plain, with a minimum, with halves and an offset. A format's library meets the rest of a
/// shader only through these traits, so the switches are multiplied out for these, and the others come with all
/// switches off and with all on.
const REPRESENTATIVES: [&str; 3] = ["fmt_f16", "fmt_q4_1", "fmt_q6_k"];

/// What every WebGPU device can do. unpack2x16float is core; naga names it because some OpenGL devices lack it.
const BASELINE: Capabilities = Capabilities::SHADER_FLOAT16_IN_FLOAT32;

/// Limits of the WebGPU standard's defaults.
const MAX_STORAGE_BUFFERS: usize = 8;
const MAX_WORKGROUP_BYTES: u32 = 16 * 1024;
const MAX_INVOCATIONS: u32 = 256;

fn key_text(key: &KernelKey) -> Built {
    preprocess::build(&key.shader, &key.defines).unwrap_or_else(|e| panic!("{key}: {e}"))
}

/// The line with its axes of choice reduced to all off or all on.
fn extreme(line: &Line, on: bool) -> Line {
    let mut out = line.clone();
    for axis in &mut out.axes {
        if let Axis::Define(_, values, optional) = axis {
            let value = if on { values.last() } else { values.first() };
            *values = if *optional && !on { Vec::new() } else { value.cloned().into_iter().collect() };
            *optional = *optional && !on;
        }
    }
    // An optional axis that is off leaves nothing to choose.
    out.axes.retain(|a| !matches!(a, Axis::Define(_, values, _) if values.is_empty()));
    out
}

/// The line with one value per override: the largest, or the smallest.
fn with_overrides(line: &Line, largest: bool) -> Line {
    let mut out = line.clone();
    for axis in &mut out.axes {
        if let Axis::Override(_, values) = axis {
            let value = if largest { values.iter().max() } else { values.iter().min() };
            *values = value.copied().into_iter().collect();
        }
    }
    out
}

/// What is validated of one line, without doubles.
fn to_validate(line: &Line) -> BTreeSet<KernelKey> {
    let mut keys = to_translate(line);
    let mut full = with_overrides(line, true);
    for i in 0..full.axes.len() {
        // Of a long run of sizes, each with everything else off, and its ends and middle with everything.
        let Axis::Define(_, values, _) = &full.axes[i] else { continue };
        if values.len() > 4 {
            let mut one = extreme(&full, false);
            one.axes.retain(
                |a| !matches!((a, &full.axes[i]), (Axis::Define(a, ..), Axis::Define(b, ..)) if a == b),
            );
            one.axes.push(full.axes[i].clone());
            keys.extend(one.keys(Some(&REPRESENTATIVES)));
            let Axis::Define(_, values, _) = &mut full.axes[i] else { continue };
            *values = [0, values.len() / 2, values.len() - 1].map(|n| values[n].clone()).to_vec();
        }
    }
    keys.extend(full.keys(Some(&REPRESENTATIVES)));
    keys
}

/// What is translated for every back end.
fn to_translate(line: &Line) -> BTreeSet<KernelKey> {
    let mut keys: BTreeSet<KernelKey> = BTreeSet::new();
    keys.extend(extreme(&with_overrides(line, true), false).keys(None));
    keys.extend(extreme(&with_overrides(line, true), true).keys(None));
    keys.extend(extreme(&with_overrides(line, false), true).keys(Some(&REPRESENTATIVES)));
    keys
}

fn validate(key: &KernelKey, module: &naga::Module, wgsl: &str, subgroup: bool) -> ModuleInfo {
    let caps = if subgroup { BASELINE | Capabilities::SUBGROUP } else { BASELINE };
    let caps = if half(wgsl) { caps | Capabilities::SHADER_FLOAT16 } else { caps };
    let check = |caps| {
        let mut v = Validator::new(ValidationFlags::all(), caps);
        if subgroup {
            v.subgroup_operations(SubgroupOperationSet::all());
            v.subgroup_stages(naga::valid::ShaderStages::COMPUTE);
        }
        v.validate(module).unwrap_or_else(|e| panic!("{key}: {}", e.emit_to_string(wgsl)))
    };
    // Whatever a baseline device takes, a better one takes: capabilities only allow.
    check(caps)
}

/// Whether a shader computes in f16: only where the adapter does.
fn half(wgsl: &str) -> bool {
    wgsl.contains("enable f16;")
}

/// Runs `check` on all keys, on every core.
fn each(keys: Vec<(KernelKey, bool)>, check: impl Fn(&KernelKey, bool) + Sync) {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()) {
            scope.spawn(|| {
                while let Some((key, subgroup)) = keys.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let run = std::panic::AssertUnwindSafe(|| check(key, *subgroup));
                    if std::panic::catch_unwind(run).is_err() {
                        failed.lock().unwrap().push(key.to_string());
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    println!("{} permutations", keys.len());
    assert!(failed.is_empty(), "{} failed, first {}", failed.len(), failed[0]);
}

fn gather(pick: impl Fn(&Line) -> BTreeSet<KernelKey>) -> Vec<(KernelKey, bool)> {
    let lines = permutations::lines().unwrap();
    let mut all: BTreeMap<KernelKey, bool> = BTreeMap::new();
    for line in &lines {
        all.extend(pick(line).into_iter().map(|k| (k, line.subgroup)));
    }
    all.into_iter().collect()
}

#[test]
fn every_permutation_is_valid_for_a_baseline_device() {
    each(gather(to_validate), |key, subgroup| {
        let built = key_text(key);
        let module = naga::front::wgsl::parse_str(&built.wgsl)
            .unwrap_or_else(|e| panic!("{key}: {}", e.emit_to_string(&built.wgsl)));
        let info = validate(key, &module, &built.wgsl, subgroup);
        bindings(key, &built, &module);
        let (module, _) = resolve(key, &module, &info);
        sizes(key, &module);
        assert!(permutations::covers(key));
    });
}

/// Binding names and numbers are unique, the reflection agrees with naga, and there are not too many.
fn bindings(key: &KernelKey, built: &Built, module: &naga::Module) {
    let found = &built.reflection.bindings;
    let names: BTreeSet<&str> = found.iter().map(|b| b.name.as_str()).collect();
    let numbers: BTreeSet<u32> = found.iter().map(|b| b.index).collect();
    assert_eq!((names.len(), numbers.len()), (found.len(), found.len()), "{key}: a binding comes twice");
    let storage = found.iter().filter(|b| b.access != Access::Uniform).count();
    assert!(storage <= MAX_STORAGE_BUFFERS, "{key}: {storage} storage buffers");
    let naga: BTreeMap<u32, &str> = module
        .global_variables
        .iter()
        .filter_map(|(_, g)| Some((g.binding.as_ref()?.binding, g.name.as_deref()?)))
        .collect();
    assert_eq!(naga, found.iter().map(|b| (b.index, b.name.as_str())).collect(), "{key}: reflection");
}

fn resolve(key: &KernelKey, module: &naga::Module, info: &ModuleInfo) -> (naga::Module, ModuleInfo) {
    let constants = key.overrides.iter().map(|(k, v)| (k.clone(), f64::from(*v))).collect();
    let entry = Some((naga::ShaderStage::Compute, "main"));
    let (module, info) = naga::back::pipeline_constants::process_overrides(module, info, entry, &constants)
        .unwrap_or_else(|e| panic!("{key}: {e}"));
    (module.into_owned(), info.into_owned())
}

/// Workgroup memory and invocations after overriding.
fn sizes(key: &KernelKey, module: &naga::Module) {
    let [x, y, z] = module.entry_points[0].workgroup_size;
    assert!(x * y * z <= MAX_INVOCATIONS, "{key}: {x} x {y} x {z} invocations");
    let bytes: u32 = module
        .global_variables
        .iter()
        .filter(|(_, g)| g.space == naga::AddressSpace::WorkGroup)
        .map(|(_, g)| module.types[g.ty].inner.size(module.to_ctx()).next_multiple_of(16))
        .sum();
    assert!(bytes <= MAX_WORKGROUP_BYTES, "{key}: {bytes} bytes of workgroup memory");
}

#[test]
fn permutations_translate_for_every_back_end() {
    use naga::back::{glsl, hlsl, msl, spv, wgsl};
    each(gather(to_translate), |key, subgroup| {
        let built = key_text(key);
        let module = naga::front::wgsl::parse_str(&built.wgsl).unwrap();
        let info = validate(key, &module, &built.wgsl, subgroup);
        let (module, info) = resolve(key, &module, &info);
        let stage = naga::ShaderStage::Compute;
        let fail = |target: &str, e: &dyn std::fmt::Display| -> ! { panic!("{key} as {target}: {e}") };

        let options = spv::Options { lang_version: (1, 3), ..Default::default() };
        let entry = spv::PipelineOptions { shader_stage: stage, entry_point: "main".into() };
        spv::write_vec(&module, &info, &options, Some(&entry)).unwrap_or_else(|e| fail("SPIR-V", &e));

        let options =
            msl::Options { fake_missing_bindings: true, lang_version: (2, 4), ..Default::default() };
        let entry = msl::PipelineOptions { entry_point: Some((stage, "main".into())), ..Default::default() };
        msl::write_string(&module, &info, &options, &entry).unwrap_or_else(|e| fail("MSL", &e));

        let model = match (half(&built.wgsl), subgroup) {
            (true, _) => hlsl::ShaderModel::V6_2,
            (_, true) => hlsl::ShaderModel::V6_0,
            _ => hlsl::ShaderModel::V5_1,
        };
        let options =
            hlsl::Options { shader_model: model, fake_missing_bindings: true, ..Default::default() };
        let entry = hlsl::PipelineOptions { entry_point: Some((stage, "main".into())) };
        let mut text = String::new();
        let mut writer = hlsl::Writer::new(&mut text, &options, &entry);
        writer.write(&module, &info, None).unwrap_or_else(|e| fail("HLSL", &e));

        let mut text = String::new();
        let mut writer = wgsl::Writer::new(&mut text, wgsl::WriterFlags::empty());
        writer.write(&module, &info).unwrap_or_else(|e| fail("WGSL", &e));

        let versions =
            [glsl::Version::Embedded { version: 310, is_webgl: false }, glsl::Version::Desktop(430)];
        for version in versions {
            // OpenGL offers neither to WebGPU.
            if half(&built.wgsl) || (subgroup && version.is_es()) {
                continue;
            }
            let options = glsl::Options { version, ..Default::default() };
            let entry =
                glsl::PipelineOptions { shader_stage: stage, entry_point: "main".into(), multiview: None };
            let policies = naga::proc::BoundsCheckPolicies::default();
            let mut text = String::new();
            glsl::Writer::new(&mut text, &module, &info, &options, &entry, policies)
                .and_then(|mut w| w.write())
                .unwrap_or_else(|e| fail("GLSL", &e));
        }
    });
}

/// A number lives on one side: Rust takes those of the shaders by `preprocess::constant`.
#[test]
fn no_constant_is_written_by_hand_on_both_sides() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut names = BTreeSet::new();
    for file in files(&root.join("shaders"), "wgsl") {
        for line in std::fs::read_to_string(&file).unwrap().lines() {
            if let Some((name, value)) = line.strip_prefix("const ").and_then(|l| l.split_once(": u32 ="))
                && value.trim_start().starts_with(|c: char| c.is_ascii_digit())
            {
                names.insert(name.to_owned());
            }
        }
    }
    assert!(names.contains("S_TOKENS") && names.contains("FLAG_NAN"), "{names:?}");
    for file in files(&root.join("src"), "rs") {
        // The random numbers' constants are held equal by a test of their own.
        if file.ends_with("generate/rng.rs") {
            continue;
        }
        for (i, line) in std::fs::read_to_string(&file).unwrap().lines().enumerate() {
            let Some((name, rest)) = line.split_once("const ").and_then(|l| l.1.split_once(':')) else {
                continue;
            };
            let value = rest.split_once('=').map_or("", |r| r.1.trim_start());
            let by_hand = value.starts_with(|c: char| c.is_ascii_digit());
            assert!(
                !(by_hand && names.contains(name)),
                "{}:{}: {name} is the shaders'",
                file.display(),
                i + 1
            );
        }
    }
}

fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            out.extend(files(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            out.push(path);
        }
    }
    out
}
