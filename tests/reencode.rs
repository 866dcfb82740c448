//! The re-encoding oracle: SmolLM2's real weights under other architectures that compute the same function must give
//! the same logits. Each encoding is a loader path of its own. The first six blocks and the first 16,384 rows of the
//! vocabulary are taken, so that it goes fast.

mod common;

use common::TempDir;
use golay::engine::{LoadOptions, Scorer};
use golay::format::{
    Gguf, HfFolder, ModelFile, TensorSet, TensorType, Value, write_gguf, write_safetensors_file,
};
use golay::gpu::{CapsRequest, Gpu};
use golay::kernels::KvType;
use golay::model::{Config, ConvertOptions, hf_to_gguf_file, read_config};
use golay::weights::decode_row;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const LAYERS: u32 = 6;
const VOCAB: u64 = 16_384;

/// Name to shape and values.
type Tensors = BTreeMap<String, (Vec<u64>, Vec<f32>)>;

fn values(set: &TensorSet, name: &str) -> (Vec<u64>, Vec<f32>) {
    let t = set.get(name).unwrap_or_else(|| panic!("{name} is missing"));
    let mut out = vec![0.0; t.elements() as usize];
    decode_row(t.ttype, set.data(t), &mut out).expect("values");
    (t.shape.clone(), out)
}

/// A copy of the file with fewer blocks and fewer tokens, its weights as they are stored.
fn truncated(full: &Gguf) -> Gguf {
    let mut metadata = golay::format::Metadata::new();
    for (key, value) in full.metadata.iter().filter(|(k, _)| !k.starts_with("tokenizer.")) {
        let value = match key {
            "llama.block_count" => Value::U32(LAYERS),
            "llama.vocab_size" => Value::U32(VOCAB as u32),
            _ => value.clone(),
        };
        metadata.insert(key, value);
    }
    let block = |name: &str| name.strip_prefix("blk.").and_then(|n| n.split('.').next()?.parse::<u32>().ok());
    let kept: Vec<_> = full.tensors.iter().filter(|t| block(&t.name).is_none_or(|n| n < LAYERS)).collect();
    let mut list = Vec::new();
    for t in kept {
        let (mut shape, mut data) = (t.shape.clone(), full.tensors.data(t));
        if t.name == "token_embd.weight" {
            data = &data[..data.len() / shape[0] as usize * VOCAB as usize];
            shape[0] = VOCAB;
        }
        list.push((t.name.as_str(), t.ttype, shape, data));
    }
    let named: Vec<_> = list.iter().map(|(n, t, s, d)| (*n, *t, s.as_slice(), *d)).collect();
    let bytes = write_gguf(Vec::new(), &metadata, &named).expect("a file");
    Gguf::from_bytes("truncated.gguf", bytes).expect("a GGUF")
}

/// The weights under their Hugging Face names, in f32, with q and k rows back in halves.
fn published(g: &Gguf, c: &Config) -> Tensors {
    let mut out = Tensors::new();
    let set = &g.tensors;
    out.insert("model.embed_tokens.weight".into(), values(set, "token_embd.weight"));
    out.insert("model.norm.weight".into(), values(set, "output_norm.weight"));
    let names = [
        ("attn_norm", "input_layernorm"),
        ("attn_q", "self_attn.q_proj"),
        ("attn_k", "self_attn.k_proj"),
        ("attn_v", "self_attn.v_proj"),
        ("attn_output", "self_attn.o_proj"),
        ("ffn_norm", "post_attention_layernorm"),
        ("ffn_gate", "mlp.gate_proj"),
        ("ffn_up", "mlp.up_proj"),
        ("ffn_down", "mlp.down_proj"),
    ];
    let d = c.head_dim as usize;
    for n in 0..LAYERS {
        for (from, to) in names {
            let (shape, mut v) = values(set, &format!("blk.{n}.{from}.weight"));
            if from == "attn_q" || from == "attn_k" {
                let cols = shape[1] as usize;
                let mut turned = vec![0.0; v.len()];
                for r in 0..shape[0] as usize {
                    let (head, i, s) = (r / d, r % d / 2, r % 2);
                    let to = head * d + s * d / 2 + i;
                    turned[to * cols..][..cols].copy_from_slice(&v[r * cols..][..cols]);
                }
                v = turned;
            }
            out.insert(format!("model.layers.{n}.{to}.weight"), (shape, v));
        }
    }
    out
}

/// Zero biases for q, k and v.
fn with_biases(mut t: Tensors) -> Tensors {
    for n in 0..LAYERS {
        for letter in ["q", "k", "v"] {
            let name = format!("model.layers.{n}.self_attn.{letter}_proj");
            let rows = t[&format!("{name}.weight")].0[0];
            t.insert(format!("{name}.bias"), (vec![rows], vec![0.0; rows as usize]));
        }
    }
    t
}

/// q, k and v in one matrix, gate and up in another.
fn fused(mut t: Tensors) -> Tensors {
    for n in 0..LAYERS {
        let p = format!("model.layers.{n}");
        let mut fuse = |parts: &[&str], to: &str| {
            let (mut rows, mut cols, mut all) = (0, 0, Vec::new());
            for part in parts {
                let (shape, v) = t.remove(&format!("{p}.{part}.weight")).expect("a part");
                (rows, cols) = (rows + shape[0], shape[1]);
                all.extend(v);
            }
            t.insert(format!("{p}.{to}.weight"), (vec![rows, cols], all));
        };
        fuse(&["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"], "self_attn.qkv_proj");
        fuse(&["mlp.gate_proj", "mlp.up_proj"], "mlp.gate_up_proj");
    }
    t
}

fn write_folder(dir: &Path, config: &serde_json::Value, t: &Tensors) -> HfFolder {
    let raw: Vec<Vec<u8>> =
        t.values().map(|(_, v)| v.iter().flat_map(|x| x.to_le_bytes()).collect()).collect();
    let named: Vec<_> = t
        .iter()
        .zip(&raw)
        .map(|((name, (shape, _)), bytes)| {
            (name.as_str(), TensorType::F32, shape.as_slice(), bytes.as_slice())
        })
        .collect();
    std::fs::write(dir.join("config.json"), config.to_string()).expect("a file");
    write_safetensors_file(dir.join("model.safetensors"), &named, &[]).expect("a file");
    HfFolder::open(dir).expect("a folder")
}

async fn logits(gpu: &Arc<Gpu>, file: ModelFile, ids: &[u32]) -> Vec<f32> {
    let options = LoadOptions { kv: Some(KvType::F32.into()), ..Default::default() };
    let engine = common::engine(gpu, file, &options).await;
    assert!(engine.spec.unused.is_empty(), "{:?}", engine.spec.unused);
    let mut scorer = Scorer::new(&engine).await.expect("a scorer");
    let positions: Vec<u32> = (0..ids.len() as u32).collect();
    common::logits(&mut scorer, ids, &positions).await
}

#[test]
fn one_model_under_six_names() {
    let Some(path) = common::smollm2_path() else { return };
    let _turn = common::turn();
    let Some(gpu) = common::gpu(CapsRequest::Full) else { return };
    let original = truncated(&Gguf::open(&path).expect("a GGUF"));
    let (c, _) = read_config(&ModelFile::Gguf(original.clone())).expect("a configuration");
    let text = common::Goldens::open(&common::data("smollm2")).ids("ppl.input_ids");
    let ids: Vec<u32> = text.into_iter().filter(|id| u64::from(*id) < VOCAB).take(96).collect();
    let expected = pollster::block_on(logits(&gpu, ModelFile::Gguf(original.clone()), &ids));
    let scale = expected.iter().fold(0f32, |m, v| m.max(v.abs()));
    println!("logits up to {scale:.1}");

    let config = json!({
        "model_type": "llama", "num_hidden_layers": LAYERS, "hidden_size": c.hidden, "vocab_size": VOCAB,
        "num_attention_heads": c.heads, "num_key_value_heads": c.kv_heads[0], "intermediate_size": c.ffn[0],
        "rms_norm_eps": c.eps, "max_position_embeddings": c.context, "rope_theta": c.rope.theta,
        "tie_word_embeddings": true, "hidden_act": "silu",
    });
    let with = |more: serde_json::Value| {
        let mut out = config.clone();
        for (k, v) in more.as_object().expect("an object") {
            out[k] = v.clone();
        }
        out
    };
    let plain = published(&original, &c);
    let no_rope = vec![1; LAYERS as usize];
    let encodings = [
        ("llama", with(json!({})), plain.clone()),
        ("mistral", with(json!({"model_type": "mistral", "sliding_window": ids.len()})), plain.clone()),
        ("smollm3", with(json!({"model_type": "smollm3", "no_rope_layers": no_rope})), plain.clone()),
        ("qwen2", with(json!({"model_type": "qwen2"})), with_biases(plain.clone())),
        ("phi3", with(json!({"model_type": "phi3", "sliding_window": null})), fused(plain)),
    ];
    for (name, config, tensors) in encodings {
        let start = Instant::now();
        let temp = TempDir::new("reencode");
        let folder = write_folder(&temp.0, &config, &tensors);
        let found = pollster::block_on(logits(&gpu, ModelFile::Hf(folder.clone()), &ids));
        let off = common::max_abs(&found, &expected);
        println!("{name}: off by {off:.1e}, {:.2?}", start.elapsed());
        assert!(off <= 1e-3, "{name}: off by {off}");

        // And back: the converter's file has the original's numbers, bit for bit.
        let path = temp.0.join("model.gguf");
        hf_to_gguf_file(&folder, &path, &ConvertOptions::default()).expect("a conversion");
        let back = Gguf::open(&path).expect("a GGUF");
        if back.metadata.str("general.architecture").expect("a string") == Some("llama") {
            for t in original.tensors.iter() {
                assert_eq!(values(&back.tensors, &t.name), values(&original.tensors, &t.name), "{}", t.name);
            }
            assert_eq!(back.tensors.len(), original.tensors.len());
        } else {
            let found = pollster::block_on(logits(&gpu, ModelFile::Gguf(back), &ids));
            let off = common::max_abs(&found, &expected);
            println!("{name} as GGUF: off by {off:.1e}");
            assert!(off <= 1e-3, "{name} as GGUF: off by {off}");
        }
    }
}
