//! Converted files read back as the model they came from; what GGUF cannot hold is refused.

use super::super::{Config, ModelError, ModelSpec, Naming, hf, read};
use super::{Change, ConvertOptions, hf_to_gguf};
use crate::format::{Gguf, HfFolder, ModelFile, TensorType, write_safetensors};
use crate::model::build::Role;
use crate::weights::{decode_row, encode_row};
use serde_json::{Value, json};

/// A small configuration of a family, with `more` over it.
pub(in crate::model) fn config(model_type: &str, more: Value) -> Value {
    let mut c = json!({
        "model_type": model_type, "num_hidden_layers": 8, "hidden_size": 32, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 64, "rms_norm_eps": 1e-5,
        "vocab_size": 16, "max_position_embeddings": 256, "rope_theta": 50000.0, "tie_word_embeddings": false,
        "hidden_act": if model_type.starts_with("gemma") { "gelu_pytorch_tanh" } else { "silu" },
    });
    for (k, v) in more.as_object().expect("an object") {
        c[k] = v.clone();
    }
    c
}

/// Values that differ from each other, small.
fn values(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 2_654_435_761 + seed * 40_503 + 12_345) % 65_536) as f32 / 65_536.0 - 0.5).collect()
}

pub(in crate::model) type Tensors = Vec<(String, TensorType, Vec<u64>, Vec<u8>)>;

/// Tensors for a configuration, under their published names, all F32.
pub(in crate::model) fn tensors(c: &Config, biases: bool) -> Tensors {
    let own = Naming::Hf("model.");
    let gemma = c.family.is_gemma();
    let (hidden, d, ffn) = (u64::from(c.hidden), u64::from(c.head_dim), u64::from(c.ffn[0]));
    let (q, kv) = (u64::from(c.heads) * d, u64::from(c.kv_heads[0]) * d);
    let mut list: Vec<(String, Vec<u64>)> = vec![
        (own.top(Role::Embedding), vec![u64::from(c.vocab.expect("a vocabulary")), hidden]),
        (own.top(Role::FinalNorm), vec![hidden]),
    ];
    if c.tied == Some(false) {
        list.push((own.top(Role::Head), vec![u64::from(c.vocab.expect("a vocabulary")), hidden]));
    }
    for n in 0..c.layers {
        let mut put = |role, end: &str, shape: &[u64]| {
            list.push((format!("{}.{end}", own.block(n, role, gemma)), shape.to_vec()));
        };
        put(Role::AttnNorm, "weight", &[hidden]);
        if c.family == super::Family::Phi3 {
            put(Role::Qkv, "weight", &[q + 2 * kv, hidden]);
            put(Role::GateUp, "weight", &[2 * ffn, hidden]);
        } else {
            for (role, rows) in [(Role::Q, q), (Role::K, kv), (Role::V, kv)] {
                put(role, "weight", &[rows, hidden]);
                if biases {
                    put(role, "bias", &[rows]);
                }
            }
            put(Role::Gate, "weight", &[ffn, hidden]);
            put(Role::Up, "weight", &[ffn, hidden]);
        }
        if c.family.has_qk_norm() {
            put(Role::QNorm, "weight", &[d]);
            put(Role::KNorm, "weight", &[d]);
        }
        put(Role::Out, "weight", &[hidden, q]);
        put(Role::FfnNorm, "weight", &[hidden]);
        put(Role::Down, "weight", &[hidden, ffn]);
        if gemma {
            put(Role::AttnPostNorm, "weight", &[hidden]);
            put(Role::FfnPostNorm, "weight", &[hidden]);
        }
    }
    let bytes = |seed, n: usize| values(n, seed).iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    list.into_iter()
        .enumerate()
        .map(|(i, (name, shape))| {
            let n = shape.iter().product::<u64>() as usize;
            (name, TensorType::F32, shape, bytes(i, n))
        })
        .collect()
}

pub(in crate::model) fn folder_of(config: &Value, list: &Tensors, more: &[(&str, Value)]) -> HfFolder {
    let named: Vec<_> =
        list.iter().map(|(n, t, s, b)| (n.as_str(), *t, s.as_slice(), b.as_slice())).collect();
    let weights = write_safetensors(Vec::new(), &named, &[]).expect("safetensors");
    let mut files = vec![
        ("config.json".to_owned(), config.to_string().into_bytes()),
        ("model.safetensors".to_owned(), weights),
    ];
    files.extend(more.iter().map(|(n, v)| ((*n).to_owned(), v.to_string().into_bytes())));
    HfFolder::from_files(files).expect("a folder")
}

pub(in crate::model) fn folder(config: &Value) -> HfFolder {
    let c = hf::read(config).expect("a configuration");
    let biases = c.family == super::Family::Qwen2;
    folder_of(config, &tensors(&c, biases), &[])
}

pub(in crate::model) fn convert(folder: &HfFolder, outtype: Option<TensorType>) -> Gguf {
    let bytes = hf_to_gguf(folder, Vec::new(), &ConvertOptions { outtype }).expect("a conversion");
    Gguf::from_bytes("model.gguf", bytes).expect("a GGUF")
}

fn refusal(config: &Value) -> String {
    let folder = folder(config);
    hf_to_gguf(&folder, Vec::new(), &ConvertOptions::default()).expect_err("a refusal").to_string()
}

fn f32s(g: &Gguf, name: &str) -> Vec<f32> {
    let t = g.tensors.get(name).unwrap_or_else(|| panic!("{name} is missing"));
    let mut out = vec![0.0; t.elements() as usize];
    decode_row(t.ttype, g.tensors.data(t), &mut out).expect("values");
    out
}

/// Everything that is a number is the same, up to the f32 that GGUF keeps.
fn same(a: &ModelSpec, b: &ModelSpec) {
    let near = |x: f64, y: f64| assert!((x - y).abs() <= 2e-6 * x.abs().max(1e-30), "{x} is not {y}");
    assert_eq!(
        (a.hidden, a.vocab, a.context, a.eps, a.embed_scale, a.logit_cap, a.head.is_some()),
        (b.hidden, b.vocab, b.context, b.eps, b.embed_scale, b.logit_cap, b.head.is_some())
    );
    assert_eq!(a.ropes.len(), b.ropes.len());
    for (r, s) in a.ropes.iter().zip(&b.ropes) {
        assert_eq!(r.dims, s.dims);
        near(r.mscale, s.mscale);
        r.inv_freq.iter().zip(&s.inv_freq).for_each(|(x, y)| near(*x, *y));
    }
    assert_eq!(a.layers.len(), b.layers.len());
    for (l, m) in a.layers.iter().zip(&b.layers) {
        assert_eq!((l.heads, l.kv_heads, l.head_dim, l.ffn), (m.heads, m.kv_heads, m.head_dim, m.ffn));
        assert_eq!((l.window, l.rope, l.act, l.attn_cap), (m.window, m.rope, m.act, m.attn_cap));
        near(l.attn_scale.into(), m.attn_scale.into());
        assert_eq!(
            [l.qkv_bias.is_some(), l.qk_norm.is_some(), l.attn_post_norm.is_some()],
            [m.qkv_bias.is_some(), m.qk_norm.is_some(), m.attn_post_norm.is_some()]
        );
    }
    assert!(b.unused.is_empty(), "{:?}", b.unused);
}

fn round_trip(config: &Value) -> Gguf {
    let folder = folder(config);
    let before = read(&ModelFile::Hf(folder.clone())).expect("a model");
    let g = convert(&folder, None);
    let after = read(&ModelFile::Gguf(g.clone())).expect("a model");
    same(&before, &after);
    g
}

#[test]
fn every_family_reads_back_the_same() {
    let cases = [
        ("llama", json!({}), "llama"),
        (
            "llama",
            json!({"rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 64}}),
            "llama",
        ),
        (
            "llama",
            json!({"rope_scaling": {"type": "linear", "factor": 4.0}, "tie_word_embeddings": true}),
            "llama",
        ),
        ("mistral", json!({"sliding_window": 16}), "llama"),
        ("mistral", json!({"sliding_window": null}), "llama"),
        ("qwen2", json!({}), "qwen2"),
        ("qwen2", json!({"use_sliding_window": true, "sliding_window": 32, "max_window_layers": 5}), "qwen2"),
        (
            "qwen3",
            json!({"rope_scaling": {"rope_type": "yarn", "factor": 4.0,
            "original_max_position_embeddings": 64}}),
            "qwen3",
        ),
        (
            "qwen3",
            json!({"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "beta_fast": 16.0,
            "original_max_position_embeddings": 64, "attention_factor": 1.5}}),
            "qwen3",
        ),
        (
            "qwen3",
            json!({"rope_scaling": {"rope_type": "yarn", "factor": 40.0, "mscale": 1.0,
            "mscale_all_dim": 0.5, "original_max_position_embeddings": 64}}),
            "qwen3",
        ),
        (
            "gemma2",
            json!({"sliding_window": 16, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0,
            "query_pre_attn_scalar": 24.0, "tie_word_embeddings": true}),
            "gemma2",
        ),
        (
            "gemma2",
            json!({"sliding_window": 16, "attn_logit_softcapping": null,
            "final_logit_softcapping": null}),
            "gemma2",
        ),
        (
            "gemma3_text",
            json!({"sliding_window": 16, "rope_local_base_freq": 12345.0,
            "rope_scaling": {"rope_type": "linear", "factor": 8.0}, "tie_word_embeddings": true}),
            "gemma3",
        ),
        ("gemma3_text", json!({"sliding_window": 16, "sliding_window_pattern": 4}), "gemma3"),
        ("phi3", json!({"sliding_window": 24}), "phi3"),
        ("phi3", json!({"head_dim": 32, "partial_rotary_factor": 0.75, "tie_word_embeddings": true}), "phi3"),
        ("smollm3", json!({}), "smollm3"),
        ("smollm3", json!({"no_rope_layers": [1, 1, 1, 1, 1, 1, 1, 1]}), "llama"),
    ];
    for (model_type, more, arch) in cases {
        println!("{model_type} {more}");
        let g = round_trip(&config(model_type, more));
        assert_eq!(g.metadata.str("general.architecture").expect("a string"), Some(arch));
    }
}

#[test]
fn longrope_keeps_both_lists() {
    let lists = |context: u32| {
        json!({"max_position_embeddings": context, "original_max_position_embeddings": 64, "rope_scaling":
            {"type": "longrope", "long_factor": [1.5, 2.0, 3.0, 4.0], "short_factor": [1.0, 1.25, 1.5, 1.75]}})
    };
    for context in [64, 256] {
        let g = round_trip(&config("phi3", lists(context)));
        assert_eq!(f32s(&g, "rope_factors_long.weight"), [1.5, 2.0, 3.0, 4.0]);
        assert_eq!(f32s(&g, "rope_factors_short.weight"), [1.0, 1.25, 1.5, 1.75]);
        assert_eq!(g.metadata.u64("phi3.rope.scaling.original_context_length").expect("a number"), Some(64));
    }
}

#[test]
fn window_patterns_are_written_where_readers_would_guess_wrong() {
    let key = "gemma3.attention.sliding_window_pattern";
    let with = |more| round_trip(&config("gemma3_text", more)).metadata;
    let m = with(json!({"sliding_window": 16}));
    assert!(!m.contains(key), "six is what readers assume");
    let m = with(json!({"sliding_window": 16, "sliding_window_pattern": 4}));
    assert_eq!(m.u64(key).expect("a number"), Some(4));
    let types: Vec<&str> =
        (0..8).map(|i| if i == 1 || i == 7 { "full_attention" } else { "sliding_attention" }).collect();
    let m = with(json!({"sliding_window": 16, "layer_types": types}));
    assert_eq!(m.ints(key).expect("a list"), Some(vec![1, 0, 1, 1, 1, 1, 1, 0]));
    let m = with(json!({"sliding_window": 16, "layer_types": vec!["sliding_attention"; 8]}));
    assert_eq!(m.u64(key).expect("a number"), Some(0));
    let m = with(json!({"sliding_window": 16, "layer_types": vec!["full_attention"; 8]}));
    assert!(!m.contains("gemma3.attention.sliding_window"));
}

#[test]
fn q_and_k_rows_and_biases_are_put_for_neighbours() {
    // Half of the dims rotate: the pairs (0, 2) and (1, 3) of a head become neighbours, the rest stays.
    let change = Change::Interleave { head_dim: 8, dims: 4 };
    let order: Vec<u64> = (0..16).map(|r| change.source_row(r)).collect();
    assert_eq!(order, [0, 2, 1, 3, 4, 5, 6, 7, 8, 10, 9, 11, 12, 13, 14, 15]);

    let json = config("llama", json!({}));
    let c = hf::read(&json).expect("a configuration");
    let list = tensors(&c, true);
    let g = convert(&folder_of(&json, &list, &[]), None);
    let source = |name: &str| -> Vec<f32> {
        let t = list.iter().find(|t| t.0 == name).expect(name);
        t.3.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    };
    for (letter, heads) in [("q", 4), ("k", 2)] {
        let from = source(&format!("model.layers.3.self_attn.{letter}_proj.weight"));
        let bias = source(&format!("model.layers.3.self_attn.{letter}_proj.bias"));
        let to = f32s(&g, &format!("blk.3.attn_{letter}.weight"));
        let to_bias = f32s(&g, &format!("blk.3.attn_{letter}.bias"));
        for h in 0..heads {
            for i in 0..4 {
                for s in 0..2 {
                    let (new, old) = (h * 8 + 2 * i + s, h * 8 + s * 4 + i);
                    assert_eq!(to[new * 32..][..32], from[old * 32..][..32]);
                    assert_eq!(to_bias[new], bias[old]);
                }
            }
        }
    }
    assert_eq!(f32s(&g, "blk.3.attn_v.weight"), source("model.layers.3.self_attn.v_proj.weight"));
}

#[test]
fn norms_are_f32_and_gemmas_have_their_one() {
    let json = config("gemma2", json!({"sliding_window": 16, "tie_word_embeddings": true}));
    let mut list = tensors(&hf::read(&json).expect("a configuration"), false);
    // As published: bf16 throughout.
    for t in &mut list {
        let (old, mut new) = (std::mem::take(&mut t.3), Vec::new());
        let v: Vec<f32> = old.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        encode_row(TensorType::BF16, &v, &mut new).expect("bf16");
        (t.1, t.3) = (TensorType::BF16, new);
    }
    let g = convert(&folder_of(&json, &list, &[]), None);
    assert_eq!(g.metadata.u64("general.file_type").expect("a number"), Some(32));
    for t in g.tensors.iter() {
        assert_eq!(
            t.ttype,
            if t.shape.len() == 1 { TensorType::F32 } else { TensorType::BF16 },
            "{}",
            t.name
        );
    }
    let (_, _, _, raw) =
        list.iter().find(|t| t.0.ends_with("1.post_feedforward_layernorm.weight")).expect("a norm");
    let mut stored = vec![0.0; 32];
    decode_row(TensorType::BF16, raw, &mut stored).expect("values");
    let expected: Vec<f32> = stored.iter().map(|w| w + 1.0).collect();
    assert_eq!(f32s(&g, "blk.1.post_ffw_norm.weight"), expected);
}

#[test]
fn matrices_take_the_type_asked_for() {
    use TensorType::*;
    let json = config("llama", json!({"hidden_size": 256, "head_dim": 64, "intermediate_size": 320}));
    let folder = folder(&json);
    let g = convert(&folder, Some(Q4_K));
    let ttype = |g: &Gguf, name: &str| g.tensors.get(name).map(|t| t.ttype);
    assert_eq!(ttype(&g, "blk.0.attn_q.weight"), Some(Q4_K));
    assert_eq!(ttype(&g, "blk.0.ffn_down.weight"), Some(Q5_0), "320 columns are no whole blocks");
    assert_eq!(ttype(&g, "output.weight"), Some(Q6_K), "the head is kept finer");
    assert_eq!(ttype(&g, "token_embd.weight"), Some(Q4_K));
    assert_eq!(ttype(&g, "blk.0.attn_norm.weight"), Some(F32));
    assert_eq!(g.metadata.u64("general.file_type").expect("a number"), Some(14));
    assert_eq!(g.metadata.u64("general.quantization_version").expect("a number"), Some(2));
    read(&ModelFile::Gguf(g)).expect("a model");

    let g = convert(&folder, Some(Q8_0));
    assert!(g.tensors.iter().all(|t| t.ttype == if t.shape.len() == 1 { F32 } else { Q8_0 }));
    // The rows are those of the source in the new order, encoded.
    let info = folder.tensors.get("model.layers.2.self_attn.k_proj.weight").expect("k");
    let mut row = vec![0f32; 256];
    decode_row(F32, &folder.tensors.data(info)[32 * 1024..33 * 1024], &mut row).expect("a row");
    let mut encoded = Vec::new();
    encode_row(Q8_0, &row, &mut encoded).expect("blocks");
    let k = g.tensors.get("blk.2.attn_k.weight").expect("k");
    assert_eq!(
        g.tensors.data(k)[encoded.len()..2 * encoded.len()],
        encoded,
        "row 1 is row 32 of the first head"
    );

    let tied = convert(&self::folder(&config("llama", json!({"tie_word_embeddings": true}))), Some(Q4_0));
    assert_eq!(ttype(&tied, "output.weight"), None);
    assert_eq!(ttype(&tied, "token_embd.weight"), Some(Q8_0), "32 columns are no block of Q6_K");
}

#[test]
fn a_head_that_repeats_the_embedding_and_rows_that_pad_it_are_left_out() {
    let json = config("qwen2", json!({"tie_word_embeddings": true, "vocab_size": 13}));
    let mut c = hf::read(&json).expect("a configuration");
    c.vocab = Some(16);
    let mut list = tensors(&c, true);
    let (_, ttype, shape, bytes) = list[0].clone();
    list.push(("lm_head.weight".into(), ttype, shape, bytes));
    let g = convert(&folder_of(&json, &list, &[]), None);
    assert!(g.tensors.get("output.weight").is_none());
    assert_eq!(g.tensors.get("token_embd.weight").map(|t| t.shape.clone()), Some(vec![13, 32]));
    assert_eq!(g.metadata.u64("qwen2.vocab_size").expect("a number"), Some(13));
}

#[test]
fn tokenizer_template_and_sampling_come_along() {
    let json = config("llama", json!({}));
    let list = tensors(&hf::read(&json).expect("a configuration"), false);
    let more = [
        (
            "tokenizer.json",
            json!({
                "added_tokens": [{"id": 4, "content": "<s>", "special": true, "single_word": false, "lstrip": false,
                    "rstrip": false, "normalized": false}],
                "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true, "trim_offsets": true},
                "decoder": {"type": "ByteLevel", "add_prefix_space": true, "use_regex": true, "trim_offsets": true},
                "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "c": 3, "<s>": 4}, "merges": ["a b"]},
            }),
        ),
        ("tokenizer_config.json", json!({"chat_template": "{{ messages[0].content }}", "eos_token": "<s>"})),
        (
            "generation_config.json",
            json!({"temperature": 0.5, "top_k": 7, "top_p": 0.25, "repetition_penalty": 1.5}),
        ),
    ];
    let g = convert(&folder_of(&json, &list, &more), None);
    let m = &g.metadata;
    // One text for each of the 16 rows of the embedding.
    assert_eq!(m.strings("tokenizer.ggml.tokens").expect("a list").map(<[String]>::len), Some(16));
    assert_eq!(
        m.ints("tokenizer.ggml.token_type").expect("a list").map(|l| l[14..].to_vec()),
        Some(vec![5, 5])
    );
    assert_eq!(m.str("tokenizer.chat_template").expect("a string"), Some("{{ messages[0].content }}"));
    assert_eq!(m.f64("general.sampling.temp").expect("a number"), Some(0.5));
    assert_eq!(m.u64("general.sampling.top_k").expect("a number"), Some(7));
    assert_eq!(m.f64("general.sampling.top_p").expect("a number"), Some(0.25));
    assert_eq!(m.f64("general.sampling.penalty_repeat").expect("a number"), Some(1.5));
    let t = crate::text::Tokenizer::from_gguf(m).expect("a tokenizer");
    let options = crate::text::EncodeOptions { parse_special: true, add_special: false };
    assert_eq!(t.encode("abc<s>", options).expect("ids"), [2, 3, 4]);

    // A text that no row of the embedding belongs to, and its role, are left out.
    let json = config("llama", json!({"vocab_size": 4}));
    let list = tensors(&hf::read(&json).expect("a configuration"), false);
    let m = convert(&folder_of(&json, &list, &more), None).metadata;
    assert_eq!(m.strings("tokenizer.ggml.tokens").expect("a list").map(<[String]>::len), Some(4));
    assert_eq!(m.ints("tokenizer.ggml.token_type").expect("a list").map(|l| l.len()), Some(4));
    assert!(!m.contains("tokenizer.ggml.eos_token_id"));
    let t = crate::text::Tokenizer::from_gguf(&m).expect("a tokenizer");
    assert_eq!(t.encode("abc", options).expect("ids"), [2, 3]);
}

#[test]
fn what_gguf_cannot_hold_is_refused() {
    let text = refusal(&config("smollm3", json!({"no_rope_layers": [1, 0, 1, 1, 1, 1, 1, 1]})));
    assert!(text.contains("no_rope_layers"), "{text}");
    let text = refusal(&config("llama", json!({"hidden_act": "gelu_pytorch_tanh"})));
    assert!(text.contains("hidden_act"), "{text}");
    let yarn = json!({"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "truncate": false}});
    let text = refusal(&config("qwen3", yarn));
    assert!(text.contains("truncate"), "{text}");

    let json = config("llama", json!({}));
    let mut list = tensors(&hf::read(&json).expect("a configuration"), false);
    let at = list.iter().position(|t| t.0.contains("2.mlp.down_proj")).expect("down");
    list[at].3[400..404].copy_from_slice(&1e6f32.to_le_bytes());
    let options = ConvertOptions { outtype: Some(TensorType::F16) };
    let e =
        hf_to_gguf(&folder_of(&json, &list, &[]), Vec::new(), &options).expect_err("a refusal").to_string();
    assert!(e.contains("model.layers.2.mlp.down_proj.weight") && e.contains("1000000"), "{e}");
    let options = ConvertOptions { outtype: Some(TensorType::IQ1_S) };
    let e =
        hf_to_gguf(&folder_of(&json, &list, &[]), Vec::new(), &options).expect_err("a refusal").to_string();
    assert!(e.contains("IQ1_S"), "{e}");
}

#[test]
fn unsupported_architectures_get_the_loaders_error() {
    let mut json = config("llama", json!({}));
    let folder = folder(&json);
    json["model_type"] = "mamba2".into();
    let folder = HfFolder { config: json, ..folder };
    let loader = read(&ModelFile::Hf(folder.clone())).expect_err("a refusal");
    let ours = hf_to_gguf(&folder, Vec::new(), &ConvertOptions::default()).expect_err("a refusal");
    assert!(matches!(ours, ModelError::Architecture { .. }));
    assert_eq!(loader.to_string(), ours.to_string());
}

#[test]
fn a_file_appears_only_when_it_is_whole() {
    let dir = std::env::temp_dir().join(format!("golay-convert-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    let path = dir.join("model.gguf");
    let bad = folder(&config("smollm3", json!({"no_rope_layers": [0, 1, 1, 1, 1, 1, 1, 1]})));
    super::hf_to_gguf_file(&bad, &path, &ConvertOptions::default()).expect_err("a refusal");
    assert_eq!(std::fs::read_dir(&dir).expect("a folder").count(), 0);
    let good = folder(&config("llama", json!({})));
    super::hf_to_gguf_file(&good, &path, &ConvertOptions::default()).expect("a file");
    assert_eq!(std::fs::read_dir(&dir).expect("a folder").count(), 1);
    Gguf::open(&path).expect("a GGUF");
    std::fs::remove_dir_all(&dir).expect("clean");
}
