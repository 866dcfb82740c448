//! The vocabularies and templates of real models, against what Hugging Face computes.

use std::path::PathBuf;

use serde_json::Value;

use super::{PARSED, shared_dir};
use crate::format::{Gguf, Metadata};
use crate::text::{ChatTemplate, RenderOptions, Tokenizer, to_tokenizer_json};

const SMOLLM2: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";

/// The real model's metadata, where the file is.
fn smollm2() -> Option<Metadata> {
    let named = std::env::var_os("GOLAY_SMOLLM2").map(PathBuf::from);
    let cached = std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".cache/golay/models").join(SMOLLM2));
    let path = [named, cached].into_iter().flatten().find(|p| p.is_file());
    let Some(path) = path else {
        println!("skipped: no {SMOLLM2} in ~/.cache/golay/models and no GOLAY_SMOLLM2");
        return None;
    };
    Some(Gguf::open(path).unwrap().metadata)
}

fn json(path: PathBuf) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as u32).collect()
}

#[test]
fn smollm2_tokenization() {
    let (Some(shared), Some(metadata)) = (shared_dir(), smollm2()) else { return };
    let tokenizer = Tokenizer::from_gguf(&metadata).unwrap();
    assert_eq!(tokenizer.vocab_size(), 49_152);
    assert_eq!((tokenizer.bos(), tokenizer.eos(), tokenizer.add_bos()), (Some(1), Some(2), false));
    assert_eq!(tokenizer.stop_ids(), [0, 2]);
    let as_json = serde_json::to_vec(&to_tokenizer_json(&metadata).unwrap()).unwrap();
    let again = Tokenizer::from_json(&as_json, None, None, None).unwrap();
    for case in json(shared.join("goldens/smollm2/tokenization.json")).as_array().unwrap() {
        let text = case["text"].as_str().unwrap();
        let expected = ids(&case["ids"]);
        assert_eq!(tokenizer.encode(text, PARSED).unwrap(), expected, "{text:?}");
        assert_eq!(again.encode(text, PARSED).unwrap(), expected, "through JSON: {text:?}");
        assert_eq!(tokenizer.decode(&expected, false).unwrap(), case["decoded"].as_str().unwrap());
        let mut stream = tokenizer.stream_decoder(true);
        let mut streamed: String =
            expected.iter().map(|id| stream.push(&tokenizer.token_bytes(*id).unwrap())).collect();
        streamed += &stream.finish();
        assert_eq!(streamed, case["decoded"].as_str().unwrap());
    }
}

#[test]
fn smollm2_chat_template() {
    let (Some(shared), Some(metadata)) = (shared_dir(), smollm2()) else { return };
    let tokenizer = Tokenizer::from_gguf(&metadata).unwrap();
    let source = metadata.str("tokenizer.chat_template").unwrap().unwrap();
    let template = ChatTemplate::new(source, "<|im_start|>", "<|im_end|>").unwrap();
    for case in json(shared.join("goldens/smollm2/chat_template.json")).as_array().unwrap() {
        let options = RenderOptions {
            add_generation_prompt: case["add_generation_prompt"].as_bool().unwrap(),
            ..RenderOptions::default()
        };
        let rendered = template.render_values(case["messages"].as_array().unwrap(), &options).unwrap();
        assert_eq!(rendered, case["rendered"].as_str().unwrap());
        assert_eq!(tokenizer.encode(&rendered, PARSED).unwrap(), ids(&case["ids"]));
    }
}

#[test]
fn tiny_hybrid_tokenization() {
    let Some(shared) = shared_dir() else { return };
    let dir = shared.join("models/tiny-hybrid");
    let bytes = std::fs::read(dir.join("tokenizer.json")).unwrap();
    let (tokenizer_config, config) = (json(dir.join("tokenizer_config.json")), json(dir.join("config.json")));
    let direct = Tokenizer::from_json(&bytes, Some(&tokenizer_config), None, Some(&config)).unwrap();
    let mut metadata = Metadata::default();
    let keys =
        crate::text::gguf_metadata_from_json(&bytes, Some(&tokenizer_config), None, Some(&config)).unwrap();
    for (key, value) in keys {
        metadata.insert(key, value);
    }
    // The rule of Qwen 2 without its NFC.
    assert_eq!(metadata.str("tokenizer.ggml.pre").unwrap(), Some("deepseek-r1-qwen"));
    let through_gguf = Tokenizer::from_gguf(&metadata).unwrap();
    let eval = std::fs::read_to_string(dir.join("eval.txt")).unwrap();
    assert_eq!(direct.encode(&eval, PARSED).unwrap(), through_gguf.encode(&eval, PARSED).unwrap());
    for tokenizer in [&direct, &through_gguf] {
        assert_eq!((tokenizer.vocab_size(), tokenizer.eos()), (2048, Some(0)));
        assert_eq!(tokenizer.stop_ids(), [0, 2]);
        for case in json(dir.join("tokenization.json")).as_array().unwrap() {
            let text = case["text"].as_str().unwrap();
            assert_eq!(tokenizer.encode(text, PARSED).unwrap(), ids(&case["ids"]), "{text:?}");
            assert_eq!(tokenizer.decode(&ids(&case["ids"]), false).unwrap(), text);
        }
        assert_eq!(tokenizer.decode(&tokenizer.encode(&eval, PARSED).unwrap(), false).unwrap(), eval);
    }
}
