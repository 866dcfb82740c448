//! Weights as the device reads them: every block format through the embedding lookup, and a matrix that does not fit
//! one binding.

mod common;

use golay::engine::{LoadOptions, Scorer};
use golay::format::{Gguf, Metadata, ModelFile, TensorType, write_gguf, write_safetensors};
use golay::gpu::{CapsRequest, Gpu, Kernels, STORAGE, Uniforms, readback};
use golay::kernels::{KvType, Recorder, Tuning, matmul, state};
use golay::weights::matrix::{Matrix, RowRange, Source};
use golay::weights::{decode_row, encode_row, supported};
use std::sync::Arc;
use std::time::Instant;

/// Looks ids up in a matrix on the device: f32 `[ids, cols]`.
async fn look_up(gpu: &Arc<Gpu>, m: &Matrix, ids: &[u32]) -> Vec<f32> {
    let (kernels, tuning) = (Kernels::default(), Tuning::for_caps(&gpu.caps));
    let mut words = vec![0u32; state::WORDS];
    words[state::TOKENS] = ids.len() as u32;
    let state = gpu.upload("state", bytemuck::cast_slice(&words)).await.expect("a buffer");
    let ids_buffer = gpu.upload("ids", bytemuck::cast_slice(ids)).await.expect("a buffer");
    let bytes = (ids.len() * m.cols as usize * 4) as u64;
    let x = gpu.alloc("x", bytes, STORAGE).await.expect("a buffer");
    let mut uniforms = Uniforms::default();
    let mut r = Recorder::new(gpu, &kernels, &tuning, &mut uniforms, false);
    for part in m.parts() {
        matmul::embed(&mut r, &part, &ids_buffer, &state, &x, 1.0).await.expect("a recording");
    }
    let recording = r.recording;
    let mut encoder = gpu.device.create_command_encoder(&Default::default());
    recording.encode_pass(gpu, &mut encoder, ids.len() as u32);
    gpu.submit([encoder.finish()]);
    let bytes = readback::read(gpu, &x, 0, bytes).await.expect("values");
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

fn whole<'a>(name: &'a str, rows: u64, cols: u64) -> Source<'a> {
    let pieces = vec![RowRange { tensor: name, first: 0, rows }];
    Source { name, pieces, interleave: false, cols, row0: 0 }
}

/// The device's values are those that the `gguf` package decodes: bit for bit, except where a fused multiply-add
/// spares one rounding; that moves a value by at most an ulp of the largest in its block.
#[test]
fn every_block_format_is_looked_up_as_it_decodes() {
    let _turn = common::turn();
    let Some(gpu) = common::gpu(CapsRequest::Full) else { return };
    let set = common::open_safetensors(&common::data("ggml_blocks.safetensors"));
    let mut seen = 0;
    for raw in set.iter().filter(|t| t.name.ends_with(".raw")) {
        let case = raw.name.trim_end_matches(".raw");
        let ttype = TensorType::from_name(case.split('.').next().unwrap_or_default()).expect("a type");
        if !golay::weights::DECODED_TYPES.contains(&ttype) {
            println!("{case}: golay does not read this format");
            continue;
        }
        let mut expected = common::f32s(&set, &format!("{case}.f32"));
        let (rows, cols) = (raw.shape[0], expected.len() as u64 / raw.shape[0]);
        let file = write_gguf(Vec::new(), &Metadata::new(), &[("w", ttype, &[rows, cols], set.data(raw))]);
        let file = Gguf::from_bytes("blocks.gguf", file.expect("a file")).expect("a GGUF");
        let m =
            pollster::block_on(Matrix::load(&gpu, &file.tensors, &whole("w", rows, cols))).expect("a matrix");
        if !supported(ttype) {
            // Such a format is decoded while it is loaded, to f16.
            assert_eq!(m.ttype, TensorType::F16, "{case}");
            let mut half = Vec::new();
            encode_row(TensorType::F16, &expected, &mut half).expect("f16");
            decode_row(TensorType::F16, &half, &mut expected).expect("f32");
        }
        // Out of order and one of them twice.
        let ids: Vec<u32> = (0..rows as u32).rev().chain([1]).collect();
        let found = pollster::block_on(look_up(&gpu, &m, &ids));
        let (mut unequal, mut ulps) = (0, 0f32);
        for (row, id) in found.chunks_exact(cols as usize).zip(&ids) {
            let theirs = &expected[*id as usize * cols as usize..][..cols as usize];
            for (a, b) in row.chunks(32).zip(theirs.chunks(32)) {
                let most = b.iter().fold(0f32, |m, v| m.max(v.abs()));
                let ulp = f32::from_bits(most.to_bits() + 1) - most;
                for (x, y) in a.iter().zip(b) {
                    unequal += usize::from(x != y);
                    ulps = if x.is_finite() { ulps.max((x - y).abs() / ulp) } else { f32::INFINITY };
                }
            }
        }
        println!("{case}: {unequal} of {} values differ, by at most {ulps} ulp", found.len());
        assert!(ulps <= 1.0, "{case}: off by {ulps} ulp");
        seen += 1;
    }
    assert!(seen >= 25, "{seen} cases");
}

/// Pseudo-random values that f16 holds exactly, in +-0.125.
fn exact(n: usize, mut seed: u32) -> Vec<f32> {
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((seed >> 22) as f32 - 512.0) / 4096.0
    };
    (0..n).map(|_| next()).collect()
}

/// A vocabulary of Qwen's size: embedding and head of 148 MiB each in F32, more than the 128 MiB that a baseline
/// device binds. The same values in F16 fit one binding.
#[test]
fn a_head_beyond_the_binding_limit_works_in_parts() {
    const VOCAB: u64 = 151_936;
    const HIDDEN: u64 = 256;
    let _turn = common::turn();
    let Some(gpu) = common::gpu(CapsRequest::Baseline) else { return };
    let start = Instant::now();
    let config = serde_json::json!({
        "model_type": "llama", "num_hidden_layers": 1, "hidden_size": HIDDEN, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 64, "intermediate_size": 64, "rms_norm_eps": 1e-5,
        "vocab_size": VOCAB, "max_position_embeddings": 64, "tie_word_embeddings": true, "hidden_act": "silu",
    });
    let shapes: &[(&str, &[u64])] = &[
        ("model.embed_tokens.weight", &[VOCAB, HIDDEN]),
        ("model.norm.weight", &[HIDDEN]),
        ("model.layers.0.input_layernorm.weight", &[HIDDEN]),
        ("model.layers.0.self_attn.q_proj.weight", &[256, HIDDEN]),
        ("model.layers.0.self_attn.k_proj.weight", &[128, HIDDEN]),
        ("model.layers.0.self_attn.v_proj.weight", &[128, HIDDEN]),
        ("model.layers.0.self_attn.o_proj.weight", &[HIDDEN, 256]),
        ("model.layers.0.post_attention_layernorm.weight", &[HIDDEN]),
        ("model.layers.0.mlp.gate_proj.weight", &[64, HIDDEN]),
        ("model.layers.0.mlp.up_proj.weight", &[64, HIDDEN]),
        ("model.layers.0.mlp.down_proj.weight", &[HIDDEN, 64]),
    ];
    let model = |ttype: TensorType| {
        let mut data = Vec::new();
        for (i, (_, shape)) in shapes.iter().enumerate() {
            let mut bytes = Vec::new();
            // The head of a real model gives logits around 10: norms of 4 do that here.
            let n = shape.iter().product::<u64>() as usize;
            let v = if shape.len() == 1 { vec![4.0; n] } else { exact(n, i as u32) };
            encode_row(ttype, &v, &mut bytes).expect("floats");
            data.push(bytes);
        }
        let named: Vec<_> =
            shapes.iter().zip(&data).map(|((n, s), b)| (*n, ttype, *s, b.as_slice())).collect();
        let weights = write_safetensors(Vec::new(), &named, &[]).expect("safetensors");
        drop(data);
        let files = vec![
            ("config.json".to_owned(), config.to_string().into_bytes()),
            ("model.safetensors".to_owned(), weights),
        ];
        ModelFile::from_files(files).expect("a model")
    };
    // Ids at both ends, and around the row where the first part ends.
    let per_part = gpu.caps.max_binding / (HIDDEN * 4);
    let edge = (per_part / 16 * 16) as u32;
    let ids = [0, edge - 1, edge, edge + 1, VOCAB as u32 - 1, 7];
    let positions: Vec<u32> = (0..ids.len() as u32).collect();
    let run = |ttype: TensorType| {
        let file = model(ttype);
        pollster::block_on(async {
            let source = whole("model.embed_tokens.weight", VOCAB, HIDDEN);
            let m = Matrix::load(&gpu, file.tensors(), &source).await.expect("a matrix");
            let rows: Vec<u32> = m.parts().map(|p| p.rows).collect();
            drop(m);
            let options = LoadOptions { kv: Some(KvType::F32.into()), ..Default::default() };
            let engine = common::engine(&gpu, file, &options).await;
            let mut scorer = Scorer::new(&engine).await.expect("a scorer");
            let logits = common::logits(&mut scorer, &ids, &positions).await;
            drop(scorer);
            let mut session = golay::engine::Session::new(&engine).await.expect("a session");
            let greedy = common::greedy(&mut session, &ids, 4).await;
            (rows, logits, greedy)
        })
    };
    let (parts, split, split_ids) = run(TensorType::F32);
    assert_eq!(parts.len(), 2, "{parts:?}");
    assert_eq!(parts[0], edge);
    let (parts, single, single_ids) = run(TensorType::F16);
    assert_eq!(parts.len(), 1, "{parts:?}");
    let off = common::max_abs(&split, &single);
    let most = single.iter().fold(0f32, |m, v| m.max(v.abs()));
    println!("split and whole head differ by {off:.1e} of {most:.1}, {:.2?}", start.elapsed());
    assert!(off <= 1e-5 * most && most > 1.0, "off by {off} of {most}");
    assert_eq!(split_ids, single_ids);
}
