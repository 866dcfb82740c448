//! Tiny models of every dense architecture against what an independent implementation computed
//! (`../shared/goldens/README.md`; the clone carries some of them in `tests/data/goldens`).

mod common;

use common::{Goldens, TempDir};
use golay::engine::{LoadOptions, Scorer, Session};
use golay::format::{HfFolder, ModelFile, TensorType};
use golay::gpu::{CapsRequest, Gpu};
use golay::kernels::{Gemv, KvType, Tuning};
use golay::model::{ConvertOptions, hf_to_gguf_file};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The dense architectures.
const ARCHS: &[&str] = &["llama", "llama_plain", "mistral", "qwen2", "qwen3", "gemma2", "gemma3", "phi3"];

/// One way to run a model.
struct Way {
    name: &'static str,
    caps: CapsRequest,
    /// The geometry of GPUs and not the adapter's own.
    gpu_geometry: bool,
    /// Lanes that add up with subgroup operations.
    subgroups: bool,
    kv: KvType,
    /// Tokens in a prefill chunk, where it is not the geometry's own.
    chunk: Option<u32>,
    /// The greedy continuations must be equal, too.
    greedy: bool,
}

/// The adapter's own way, with nothing rounded.
const PLAIN: Way = Way {
    name: "as it is",
    caps: CapsRequest::Full,
    gpu_geometry: false,
    subgroups: false,
    kv: KvType::F32,
    chunk: None,
    greedy: true,
};

impl Way {
    fn tuning(&self, gpu: &Gpu) -> Tuning {
        let mut t = if self.gpu_geometry { common::gpu_tuning(gpu) } else { Tuning::for_caps(&gpu.caps) };
        if self.subgroups {
            t.gemv = Gemv { wg: 64, lanes: gpu.caps.subgroup_size, rows: 4, subgroup: true };
        }
        t.chunk = self.chunk.unwrap_or(t.chunk);
        t
    }
}

/// Runs a model against its goldens and returns the largest error of a logit.
async fn run(gpu: &Arc<Gpu>, file: ModelFile, g: &Goldens, way: &Way, what: &str) -> f32 {
    let start = Instant::now();
    let options =
        LoadOptions { kv: Some(way.kv.into()), tuning: Some(way.tuning(gpu)), ..Default::default() };
    let engine = common::engine(gpu, file, &options).await;
    let mut scorer = Scorer::new(&engine).await.expect("a scorer");
    let key = match way.kv {
        KvType::F32 => "logits_abs_f32",
        KvType::F16 => "logits_abs_f16_activations",
    };
    let tolerance = g.tolerance(key) as f32;
    let what = format!("{what}, {}", way.name);
    let mut worst = 0f32;
    for i in 0..4 {
        let ids = g.ids(&format!("p{i}.input_ids"));
        let positions = g.ids(&format!("p{i}.positions"));
        let found = common::logits(&mut scorer, &ids, &positions).await;
        let off = common::max_abs(&found, &g.f32s(&format!("p{i}.logits")));
        assert!(off <= tolerance, "{what} p{i}: logits are off by {off}, tolerance {tolerance}");
        // The logits that chose the 24th token.
        let greedy = g.ids(&format!("p{i}.greedy_ids"));
        let longer = [&ids, &greedy[..greedy.len() - 1]].concat();
        let found = common::logits(&mut scorer, &longer, &[longer.len() as u32 - 1]).await;
        let last = common::max_abs(&found, &g.f32s(&format!("p{i}.greedy_last_logits")));
        assert!(last <= tolerance, "{what} p{i}: the last logits are off by {last}, tolerance {tolerance}");
        worst = worst.max(off).max(last);
    }
    drop(scorer);
    if way.greedy {
        let mut session = Session::new(&engine).await.expect("a session");
        for i in 0..4 {
            let ids = g.ids(&format!("p{i}.input_ids"));
            let expected = g.ids(&format!("p{i}.greedy_ids"));
            let found = common::greedy(&mut session, &ids, expected.len()).await;
            assert_eq!(found, expected, "{what} p{i}");
        }
    }
    println!("{what}: off by {worst:.1e} of {tolerance:.1e}, {:.2?}", start.elapsed());
    worst
}

/// Runs every architecture that is there in some ways; `open` makes the file.
fn sweep(ways: &[Way], open: &dyn Fn(&Path) -> ModelFile) {
    let _turn = common::turn();
    for arch in ARCHS {
        let Some(dir) = common::golden_dir(arch) else { continue };
        let g = Goldens::open(&dir);
        let file = open(&dir);
        for way in ways {
            let Some(gpu) = common::gpu(way.caps) else { return };
            pollster::block_on(run(&gpu, file.clone(), &g, way, arch));
        }
    }
}

fn safetensors(dir: &Path) -> ModelFile {
    ModelFile::open(dir).expect("a model")
}

/// The same weights under the configuration of older checkpoints.
fn legacy(dir: &Path) -> ModelFile {
    let read = |name: &str| std::fs::read(dir.join(name)).expect("test data");
    let files = vec![
        ("config.json".to_owned(), read("config.legacy.json")),
        ("model.safetensors".to_owned(), read("model.safetensors")),
    ];
    ModelFile::from_files(files).expect("a model")
}

/// The same weights as our converter writes them.
fn gguf(dir: &Path, outtype: Option<TensorType>) -> ModelFile {
    let temp = TempDir::new("goldens");
    let path = temp.0.join("model.gguf");
    let folder = HfFolder::open(dir).expect("a folder");
    hf_to_gguf_file(&folder, &path, &ConvertOptions { outtype }).expect("a conversion");
    // In memory, so that the folder can go.
    ModelFile::from_files(vec![("model.gguf".to_owned(), std::fs::read(&path).expect("a file"))])
        .expect("a GGUF")
}

#[test]
fn safetensors_with_the_adapters_own_geometry_and_that_of_gpus() {
    sweep(&[PLAIN, Way { name: "GPU geometry", gpu_geometry: true, ..PLAIN }], &safetensors);
}

#[test]
fn legacy_configurations_on_a_baseline_device() {
    let caps = CapsRequest::Baseline;
    sweep(
        &[
            Way { name: "baseline, legacy", caps, ..PLAIN },
            Way { name: "baseline, legacy, GPU geometry", caps, gpu_geometry: true, greedy: false, ..PLAIN },
        ],
        &legacy,
    );
}

#[test]
fn converted_to_gguf() {
    let caps = CapsRequest::Baseline;
    sweep(
        &[
            Way { name: "GGUF", ..PLAIN },
            Way { name: "GGUF, baseline, GPU geometry", caps, gpu_geometry: true, greedy: false, ..PLAIN },
        ],
        &|dir| gguf(dir, None),
    );
}

#[test]
fn keys_and_values_in_f16() {
    let (kv, greedy) = (KvType::F16, false);
    sweep(&[Way { name: "f16 cache", kv, greedy, ..PLAIN }], &safetensors);
}

#[test]
fn small_prefill_chunks() {
    sweep(
        &[
            Way { name: "chunks of 1", chunk: Some(1), greedy: false, ..PLAIN },
            Way {
                name: "chunks of 7, GPU geometry",
                chunk: Some(7),
                gpu_geometry: true,
                greedy: false,
                ..PLAIN
            },
        ],
        &safetensors,
    );
}

/// Reductions with subgroup operations, where the adapter has one size of them.
#[test]
fn lanes_that_add_up_as_subgroups() {
    let Some(gpu) = common::gpu(CapsRequest::Full) else { return };
    if !gpu.caps.subgroups || gpu.caps.subgroup_size == 0 {
        println!("skipped: {} has no subgroups of one size", gpu.info.name);
        return;
    }
    sweep(&[Way { name: "subgroups", gpu_geometry: true, subgroups: true, ..PLAIN }], &safetensors);
}

/// Block formats lose precision, but the same model must still be there.
#[test]
fn converted_to_blocks_it_is_still_the_same_model() {
    use TensorType::{F16, Q4_K, Q8_0};
    let _turn = common::turn();
    let (Some(gpu), Some(dir)) = (common::gpu(CapsRequest::Full), common::golden_dir("llama")) else {
        return;
    };
    let g = Goldens::open(&dir);
    let ids = g.ids("p2.input_ids");
    let expected = g.f32s("p2.logits");
    for (outtype, most) in [(F16, 0.02), (Q8_0, 0.15), (Q4_K, 0.8)] {
        let (file, options) = (gguf(&dir, Some(outtype)), LoadOptions::default());
        let off = pollster::block_on(async {
            let engine = common::engine(&gpu, file, &options).await;
            let mut scorer = Scorer::new(&engine).await.expect("a scorer");
            let found = common::logits(&mut scorer, &ids, &g.ids("p2.positions")).await;
            let squares = found.iter().zip(&expected).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>();
            (squares / expected.len() as f64).sqrt()
        });
        println!("{outtype}: logits are off by {off:.1e} (root mean square)");
        assert!(off < most, "{outtype}: off by {off}");
    }
}
