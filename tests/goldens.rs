//! Tiny models of every dense architecture against what an independent implementation computed
//! (`../shared/goldens/README.md`; the clone carries some of them in `tests/data/goldens`).

mod common;

use common::{Goldens, TempDir};
use golay::engine::{LoadOptions, Scorer, Session};
use golay::format::{HfFolder, ModelFile, TensorType};
use golay::gpu::{CapsRequest, Gpu};
use golay::kernels::{KvType, Tuning};
use golay::model::{ConvertOptions, ModelSpec, hf_to_gguf_file};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The dense architectures.
const ARCHS: &[&str] = &["llama", "llama_plain", "mistral", "qwen2", "qwen3", "gemma2", "gemma3", "phi3"];

/// What is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// Logits of all prompts.
    Logits,
    /// And the greedy continuations, which must be equal.
    Greedy,
}

/// Runs a model against its goldens and returns the largest error.
async fn run(gpu: &Arc<Gpu>, file: ModelFile, g: &Goldens, tuning: Tuning, kv: KvType, look: Look, what: &str) -> f32 {
    let start = Instant::now();
    let options = LoadOptions { kv: Some(kv), tuning: Some(tuning), ..Default::default() };
    let engine = common::engine(gpu, file, &options).await;
    let mut scorer = Scorer::new(&engine).await.expect("a scorer");
    let mut worst = 0f32;
    let key = match kv {
        KvType::F32 => "logits_abs_f32",
        KvType::F16 => "logits_abs_f16_activations",
    };
    let tolerance = g.tolerance(key) as f32;
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
    if look == Look::Greedy {
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

#[test]
fn safetensors_give_the_expected_logits() {
    let _turn = common::turn();
    let Some(gpu) = common::gpu(CapsRequest::Full) else { return };
    println!("{:?}", gpu.caps);
    for arch in ARCHS {
        let Some(dir) = common::golden_dir(arch) else { continue };
        let g = Goldens::open(&dir);
        let file = ModelFile::open(&dir).expect("a model");
        let t = Tuning::for_caps(&gpu.caps);
        pollster::block_on(run(&gpu, file.clone(), &g, t, KvType::F32, Look::Greedy, arch));
        let t = common::gpu_tuning(&gpu);
        pollster::block_on(run(&gpu, file, &g, t, KvType::F32, Look::Greedy, &format!("{arch}, GPU geometry")));
    }
}
