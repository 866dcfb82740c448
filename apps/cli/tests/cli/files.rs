//! What a MODEL argument means, `golay inspect`, `list` and `rm`, `doctor`.

use crate::support::{bad, data, device, err, golay, golay_with, good, good_json, llama, micro};
use serde_json::json;

#[test]
fn models_that_are_not_there_or_do_not_run() {
    let said =
        bad(&golay_with(["run", "-m", "nothing", "-p", "x"]), 1, &["nothing", "golay pull", "no-models"]);
    assert_eq!(said.lines().count(), 1, "one line: {said}");
    bad(&golay_with(["run", "-m", "../nothing", "-p", "x"]), 1, &["no such file"]);
    bad(&golay_with(["run", "-m", "", "-p", "x"]), 2, &["empty"]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_str().unwrap();
    bad(&golay_with(["run", "-m", path, "--ids", "1"]), 1, &["config.json"]);
    // An architecture that is not supported is named, with those that are.
    let config = r#"{"model_type": "mamba7", "architectures": ["Mamba7ForCausalLM"]}"#;
    std::fs::write(dir.path().join("config.json"), config).unwrap();
    std::fs::copy(data("goldens/llama/model.safetensors"), dir.path().join("model.safetensors")).unwrap();
    bad(&golay_with(["run", "-m", path, "--ids", "1"]), 1, &["amba7", "llama", "qwen3", "gemma3"]);
    let o = golay_with(["inspect", path]);
    assert!(good(&o).contains("supported   no: ") && good(&o).contains("model.norm.weight"));
    let file = dir.path().join("file.gguf");
    std::fs::write(&file, "hello").unwrap();
    bad(&golay_with(["chat", "-m", file.to_str().unwrap()]), 1, &["file.gguf"]);
}

#[test]
fn inspect_shows_what_there_is() {
    let v = good_json(&golay_with(["inspect", &llama(), "--json"]));
    assert_eq!(v["container"], "Hugging Face folder");
    assert_eq!((&v["model"]["supported"], &v["model"]["architecture"]), (&json!(true), &json!("llama")));
    assert_eq!(v["parameters"], 94528);
    assert_eq!(v["types"][0]["type"], "F32");
    let t = v["tensors"].as_array().unwrap();
    assert!(t.iter().any(|t| t["name"] == "model.embed_tokens.weight"
        && t["shape"] == json!([256, 64])
        && t["bytes"] == 65536));
    // A lone file of tensors.
    let o = golay_with(["inspect", data("ggml_blocks.safetensors").to_str().unwrap()]);
    assert!(good(&o).contains("safetensors file"));
    bad(&golay_with(["inspect", "nowhere"]), 1, &["nowhere"]);
    bad(&golay_with(["inspect"]), 2, &["<FILE>"]);
    let text = good(&golay_with(["inspect", micro()]));
    assert!(text.contains("[256, 64]") && text.contains("computed as it is"), "{text}");
}

#[test]
fn the_cache_is_listed_and_models_removed() {
    let dir = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| golay().args(args).env("GOLAY_MODELS", dir.path()).output().unwrap();
    let o = run(&["list"]);
    assert_eq!(good(&o), "");
    assert!(err(&o).contains("golay pull"));
    for name in [
        "One.gguf",
        "two-00001-of-00002.gguf",
        "two-00002-of-00002.gguf",
        "half.gguf.part",
        "half.gguf.part.json",
        "note.txt",
    ] {
        std::fs::write(dir.path().join(name), "12345").unwrap();
    }
    let list = good(&run(&["list"]));
    assert!(
        list.contains("One.gguf")
            && list.contains("not whole")
            && !list.contains("note.txt")
            && !list.contains(".json")
    );
    assert_eq!(good_json(&run(&["list", "--json"])).as_array().unwrap().len(), 4);
    // Names go with or without the ending, in any case.
    bad(&run(&["inspect", "one"]), 1, &["One.gguf"]);
    good(&run(&["rm", "one", "two"]));
    good(&run(&["rm", "half.gguf.part"]));
    bad(&run(&["rm", "one"]), 1, &["no such model"]);
    for name in ["../x", "/etc/passwd", "..", ".", "a/b", ""] {
        bad(&run(&["rm", name]), 1, &["not a name"]);
    }
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(left, ["note.txt"]);
}

#[test]
fn the_doctor_tests_every_kernel() {
    if !device() {
        return;
    }
    let o = golay_with(["doctor", "--quick", "--json"]);
    let v = good_json(&o);
    assert_eq!(v["failed"], 0);
    assert!(
        v["passed"].as_u64().unwrap() > 20
            && v["caps"]["invocations"].is_number()
            && v["geometry"]["gemv"].is_string()
    );
    assert!(v["tests"][0]["variant"].is_string());
    let text = good(&golay_with(["doctor", "--quick", "-q"]));
    assert!(text.contains("all kernels agree") && text.contains("gemv"), "{text}");
}

#[test]
fn a_folder_becomes_a_gguf_that_answers_the_same() {
    if !device() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("llama.gguf");
    let out = out.to_str().unwrap();
    good(&golay_with(["convert", "-m", &llama(), "-o", out]));
    let ask = |m: &str| {
        good_json(&golay_with(["run", "-m", m, "--ids", "3,1,4,1,5", "-n", "12", "--temp", "0", "--json"]))["tokens"]
            .clone()
    };
    assert_eq!(ask(out), ask(&llama()));
    bad(&golay_with(["convert", "-m", out, "-o", out]), 1, &["already"]);
    bad(&golay_with(["convert", "-m", &llama(), "-o", out, "--outtype", "q9_9"]), 2, &["q9_9"]);
}
