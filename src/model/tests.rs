//! Files whose keys and tensors ask for more than the graph does: refused by name.

use super::convert::tests::{Tensors, config, convert, folder, folder_of, tensors};
use super::{Config, ModelError, Scaling, gguf, hf, read};
use crate::format::{Gguf, Metadata, ModelFile, TensorType};
use serde_json::{Value, json};

fn hf_error(config: &Value, list: &Tensors) -> String {
    read(&ModelFile::Hf(folder_of(config, list, &[]))).expect_err("a refusal").to_string()
}

fn plain(model_type: &str) -> (Value, Tensors) {
    let json = config(model_type, json!({}));
    let list = tensors(&hf::read(&json).expect("a configuration"), model_type == "qwen2");
    (json, list)
}

fn with(name: &str, list: &Tensors) -> Tensors {
    let mut list = list.clone();
    list.push((name.into(), TensorType::F32, vec![8], vec![0; 32]));
    list
}

fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

#[test]
fn a_tensor_of_a_block_that_nothing_reads_is_refused_by_name() {
    let (json, list) = plain("llama");
    for name in [
        "model.layers.0.self_attn.q_norm.weight",
        "model.layers.3.self_attn.sinks",
        "model.layers.1.mlp.experts.0.gate_proj.weight",
        "model.layers.2.self_attn.q_proj.weight_scale",
        "model.layers.8.input_layernorm.weight",
    ] {
        says(&hf_error(&json, &with(name, &list)), &["llama", name]);
    }
    for name in [
        "model.layers.0.self_attn.rotary_emb.inv_freq",
        "model.layers.0.self_attn.masked_bias",
        "model.layers.0.self_attn.bias",
        "model.layers.0.self_attn.k_scale",
        "vision_tower.layers.0.weight",
        "something.else",
    ] {
        let spec = read(&ModelFile::Hf(folder_of(&json, &with(name, &list), &[])));
        assert!(spec.is_ok(), "{name}: {:?}", spec.err());
    }
}

/// The configuration that a GGUF of this family gives with other metadata.
fn gguf_of(model_type: &str, more: Value, change: impl FnOnce(&mut Metadata)) -> Gguf {
    let mut g = convert(&folder(&config(model_type, more)), None);
    change(&mut g.metadata);
    g
}

fn gguf_read(g: &Gguf) -> Result<Config, String> {
    gguf::read(&g.metadata, &g.tensors).map_err(|e| e.to_string())
}

#[test]
fn gguf_keys_that_ask_for_another_graph_are_refused() {
    let g = gguf_of("llama", json!({}), |m| {
        m.insert("llama.expert_count", 8u32.into());
    });
    says(
        &gguf_read(&g).expect_err("experts"),
        &["llama.expert_count is 8", "mixture of experts is not supported for architecture llama"],
    );
    let g = gguf_of("qwen3", json!({}), |m| {
        m.insert("qwen3.attention.causal", false.into());
    });
    says(&gguf_read(&g).expect_err("causal"), &["qwen3.attention.causal is false", "expected true"]);
    let g = gguf_of("llama", json!({}), |m| {
        m.insert("llama.expert_count", 0u32.into());
        m.insert("llama.attention.causal", true.into());
    });
    gguf_read(&g).expect("nothing strange");
}

#[test]
fn the_type_of_rotary_scaling_is_always_looked_at() {
    let llama3 = json!({"rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 64}});
    let set = |kind: &'static str, factor: f32| {
        move |m: &mut Metadata| {
            m.insert("llama.rope.scaling.type", kind.into());
            m.insert("llama.rope.scaling.factor", factor.into());
        }
    };
    for more in [json!({}), llama3.clone()] {
        let g = gguf_of("llama", more.clone(), set("magic", 2.0));
        says(&gguf_read(&g).expect_err("magic"), &["llama.rope.scaling.type", "magic", "yarn"]);
        let g = gguf_of("llama", more, set("linear", -1.0));
        says(&gguf_read(&g).expect_err("a factor"), &["llama.rope.scaling.factor", "-1"]);
    }
    let g = gguf_of("llama", llama3.clone(), set("yarn", 4.0));
    says(&gguf_read(&g).expect_err("both"), &["llama.rope.scaling.type is yarn", "rope_freqs.weight"]);
    let g = gguf_of("llama", llama3, |_| ());
    assert!(matches!(gguf_read(&g).expect("factors alone").rope.scaling, Scaling::Factors(_)));
    let g = gguf_of("llama", json!({}), set("longrope", 4.0));
    says(&gguf_read(&g).expect_err("no factors"), &["rope_factors_long.weight is missing"]);

    // What is accepted is applied.
    let plain =
        super::rope::resolve(&gguf_read(&gguf_of("llama", json!({}), |_| ())).expect("ok").rope, false);
    let g = gguf_of("llama", json!({}), set("yarn", 4.0));
    let yarn = super::rope::resolve(&gguf_read(&g).expect("yarn").rope, false);
    assert!(yarn.mscale > 1.1 && yarn.inv_freq.last() < plain.inv_freq.last(), "{yarn:?}");
    let g = gguf_of("llama", json!({}), |m| {
        m.insert("llama.rope.scaling.factor", 4f32.into());
    });
    assert_eq!(gguf_read(&g).expect("linear").rope.scaling, Scaling::Linear(4.0));
}

#[test]
fn keys_of_config_json_of_the_wrong_kind_are_refused() {
    for (more, parts) in [
        (json!({"rope_parameters": 5}), ["rope_parameters is 5", "an object"]),
        (json!({"rope_parameters": "x"}), ["rope_parameters is \"x\"", "an object"]),
        (json!({"rope_scaling": 5}), ["rope_scaling is 5", "an object"]),
        (json!({"rope_scaling": {"rope_type": 5}}), ["rope_type is 5", "a string"]),
        (json!({"mlp_bias": true}), ["mlp_bias is true", "expected false"]),
        (json!({"hidden_act": 5}), ["hidden_act is 5", "a string"]),
        (json!({"num_local_experts": 8}), ["num_local_experts is 8", "mixture of experts"]),
    ] {
        says(&hf::read(&config("llama", more)).expect_err("a refusal").to_string(), &parts);
    }
    let (mut json, list) = plain("llama");
    json["attention_bias"] = true.into();
    let e = hf_error(&json, &list);
    says(&e, &["attention_bias is true", "model.layers.0.self_attn.q_proj.bias"]);
}

#[test]
fn counts_and_ids_of_the_vocabulary_are_compared() {
    let (mut json, list) = plain("llama");
    json["vocab_size"] = 17.into();
    says(&hf_error(&json, &list), &["vocab_size is 17", "at most 16", "model.embed_tokens.weight"]);
    json["vocab_size"] = 0.into();
    says(&hf_error(&json, &list), &["vocab_size is 0", "at least 1"]);
    json["vocab_size"] = 16.into();
    json["eos_token_id"] = "x".into();
    says(&hf_error(&json, &list), &["eos_token_id is \"x\"", "an id or a list of ids"]);
    // These are only named in the log.
    json["eos_token_id"] = json!([1, 99, -1]);
    read(&ModelFile::Hf(folder_of(&json, &list, &[]))).expect("a model");

    let g = gguf_of("llama", json!({}), |m| {
        m.insert("llama.vocab_size", 17u32.into());
    });
    let e = read(&ModelFile::Gguf(g)).expect_err("a refusal").to_string();
    says(&e, &["vocab_size is 17", "16", "token_embd.weight"]);
}

#[test]
fn an_error_names_the_file_when_it_has_a_path() {
    let (json, list) = plain("llama");
    let mut folder = folder_of(&json, &list[1..].to_vec(), &[]);
    folder.path = "/models/broken".into();
    let e = read(&ModelFile::Hf(folder)).expect_err("a refusal");
    assert!(matches!(e, ModelError::InFile { .. }));
    says(&e.to_string(), &["/models/broken: llama: tensor ", "is missing"]);
}
