//! Hugging Face folders, and what a path is taken for.

use serde_json::json;

use super::build::*;
use crate::format::{HfFolder, ModelFile, TensorType, json_f64, write_gguf, write_safetensors};

fn weights() -> Vec<u8> {
    write_safetensors(Vec::new(), &[("w", TensorType::U8, &[2, 2], &[1, 2, 3, 4])], &[]).unwrap()
}

type Files<'a> = Vec<(&'a str, Vec<u8>)>;

fn read(files: Files<'_>) -> Result<HfFolder, crate::format::FormatError> {
    HfFolder::from_files(files.into_iter().map(|(n, b)| (n.to_owned(), b)).collect())
}

fn base() -> Files<'static> {
    vec![
        ("config.json", b"{\"model_type\": \"llama\", \"limit\": Infinity}".to_vec()),
        ("model.safetensors", weights()),
    ]
}

fn with(name: &'static str, bytes: impl Into<Vec<u8>>) -> Files<'static> {
    let mut files = base();
    files.retain(|(n, _)| *n != name);
    files.push((name, bytes.into()));
    files
}

#[test]
fn everything_there() {
    let mut files = base();
    files.push(("generation_config.json", b"{\"eos_token_id\": 2}".to_vec()));
    files.push(("tokenizer.json", b"not looked at here".to_vec()));
    files.push(("tokenizer_config.json", b"{\"chat_template\": \"old\"}".to_vec()));
    files.push(("chat_template.jinja", b"new".to_vec()));
    let f = read(files).unwrap();
    assert_eq!(f.config["model_type"], "llama");
    assert_eq!(json_f64(&f.config["limit"]), Some(f64::INFINITY));
    assert_eq!(f.generation_config.unwrap()["eos_token_id"], 2);
    assert_eq!(f.tokenizer_json.unwrap(), b"not looked at here");
    assert_eq!(f.chat_template.as_deref(), Some("new"));
    let t = f.tensors.get("w").unwrap();
    assert_eq!(f.tensors.data(t), [1, 2, 3, 4]);
}

#[test]
fn chat_templates() {
    let of =
        |v: serde_json::Value| read(with("tokenizer_config.json", json!({"chat_template": v}).to_string()));
    assert_eq!(of(json!("one")).unwrap().chat_template.as_deref(), Some("one"));
    let list = json!([{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]);
    assert_eq!(of(list).unwrap().chat_template.as_deref(), Some("d"));
    assert_eq!(of(json!([{"name": "rag", "template": "r"}])).unwrap().chat_template, None);
    assert_eq!(of(json!(null)).unwrap().chat_template, None);
    assert_eq!(read(base()).unwrap().chat_template, None);
    for bad in [json!(5), json!({"default": "d"}), json!(["d"]), json!([{"name": "default"}])] {
        refused("template", 0, &["tokenizer_config.json", "chat_template"], || of(bad.clone()));
    }
    refused("bytes", 0, &["chat_template.jinja", "UTF-8"], || read(with("chat_template.jinja", *b"\xff")));
}

#[test]
fn files_that_are_missing_or_wrong() {
    refused("no config", 0, &["config.json", "not there"], || read(vec![("model.safetensors", weights())]));
    let none = || read(vec![("config.json", b"{}".to_vec())]);
    refused("no weights", 0, &["model.safetensors or model.safetensors.index.json"], none);
    refused("array", 0, &["config.json", "expected an object"], || read(with("config.json", *b"[]")));
    refused("text", 0, &["config.json", "bad JSON"], || read(with("config.json", *b"hello")));
    refused("generation", 0, &["generation_config.json"], || read(with("generation_config.json", *b"{")));
}

#[test]
fn sizes_are_limited() {
    let mib = |n: usize| vec![b' '; (n << 20) + 1];
    for (name, limit) in [
        ("config.json", 16),
        ("tokenizer_config.json", 16),
        ("chat_template.jinja", 16),
        ("tokenizer.json", 64),
    ] {
        let e = read(with(name, mib(limit))).unwrap_err().to_string();
        assert!(e.contains(name) && e.contains(&format!("at most {}", limit << 20)), "{e}");
    }
}

#[test]
fn paths() {
    let dir = TempDir::new("paths");
    for (name, bytes) in base() {
        dir.write(name, &bytes);
    }
    let gguf = write_gguf(Vec::new(), &Default::default(), &[]).unwrap();
    let gguf = dir.write("named.bin", &gguf);
    assert!(matches!(ModelFile::open(&dir.0).unwrap(), ModelFile::Hf(_)));
    let opened = ModelFile::open(dir.0.join("model.safetensors")).unwrap();
    assert_eq!(opened.path(), dir.0);
    assert_eq!(opened.tensors().len(), 1);
    let t = opened.tensors().get("w").unwrap();
    opened.tensors().release(t);
    assert_eq!(opened.tensors().data(t), [1, 2, 3, 4]);
    assert!(matches!(ModelFile::open(&gguf).unwrap(), ModelFile::Gguf(_)));

    let other = TempDir::new("paths-other");
    let expected = "expected a GGUF file, or a Hugging Face folder";
    let open = |path: std::path::PathBuf, parts: &[&str]| {
        refused(&path.display().to_string(), 0, parts, || ModelFile::open(&path));
    };
    open(other.0.clone(), &[expected, "a folder without config.json"]);
    open(other.write("m.safetensors", &weights()), &[expected, "without config.json beside it"]);
    open(other.write("m.zip", b"PK\x03\x04"), &[expected, "50 4b 03 04"]);
    open(other.write("empty", b""), &[expected, "begins with nothing"]);
    open(other.0.join("absent"), &["absent"]);
    open(other.write("turned", b"FUGG\0\0\0\x03"), &["unsupported byte order"]);
    other.write("config.json", b"{}");
    open(other.0.clone(), &["model.safetensors"]);
    #[cfg(unix)]
    open("/dev/null".into(), &[expected, "neither a file nor a folder"]);
}

#[test]
fn models_in_memory() {
    let own = |files: Files<'_>| files.into_iter().map(|(n, b)| (n.to_owned(), b)).collect::<Vec<_>>();
    assert!(matches!(ModelFile::from_files(own(base())).unwrap(), ModelFile::Hf(_)));
    let gguf = write_gguf(Vec::new(), &Default::default(), &[]).unwrap();
    assert!(matches!(ModelFile::from_files(own(vec![("m", gguf)])).unwrap(), ModelFile::Gguf(_)));
}
