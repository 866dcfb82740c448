//! What a MODEL argument means, `golay inspect`, `list` and `rm`, `doctor`.

use crate::support::{
    bad, data, device, err, golay, golay_with, good, good_json, llama, micro, names, own_llama,
};
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
    let piped = golay_with(["convert", "-m", &llama(), "-o", "-"]);
    assert!(piped.status.success() && piped.stdout == std::fs::read(out).unwrap(), "{}", err(&piped));
    bad(&golay_with(["convert", "-m", &llama(), "-o", out, "--outtype", "q9_9"]), 2, &["q9_9"]);
}

#[test]
fn a_conversion_spares_its_source() {
    let dir = tempfile::tempdir().unwrap();
    let own = own_llama(dir.path());
    let before = names(own.as_ref());
    let run = |m: &str, out: &str| golay_with(["convert", "-m", m, "-o", out]);
    let weights = format!("{own}/model.safetensors");
    let bytes = std::fs::read(&weights).unwrap();
    for m in [&own, &weights] {
        for f in ["model.safetensors", "config.json", "tokenizer_config.json", "./model.safetensors"] {
            bad(&run(m, &format!("{own}/{f}")), 1, &[f, "file of the model"]);
        }
    }
    assert_eq!((std::fs::read(&weights).unwrap(), names(own.as_ref())), (bytes, before));
    bad(&run(&own, dir.path().to_str().unwrap()), 1, &["is a folder"]);
    good(&run(&own, &format!("{own}/m.gguf")));
    assert_eq!(names(own.as_ref()), ["config.json", "m.gguf", "model.safetensors"]);
}

#[cfg(unix)]
#[test]
fn a_doctor_who_is_interrupted_gives_no_verdict() {
    if !device() {
        return;
    }
    let mut child = golay()
        .arg("doctor")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("testing ") {
        line.clear();
        assert_ne!(std::io::BufRead::read_line(&mut said, &mut line).unwrap(), 0, "it begins");
    }
    let begin = std::time::Instant::now();
    std::thread::sleep(std::time::Duration::from_millis(300));
    crate::chat::interrupt(child.id());
    let o = child.wait_with_output().unwrap();
    line.clear();
    std::io::Read::read_to_string(&mut said, &mut line).unwrap();
    let text = String::from_utf8_lossy(&o.stdout);
    assert_eq!(o.status.code(), Some(130), "{text}");
    assert!(!text.contains("all kernels agree") && text.contains(", interrupted)"), "{text}");
    assert!(line.contains("interrupted: not every test was run"), "{line}");
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}

/// The script that fetches the default model looks where golay does, on macOS too.
#[cfg(unix)]
#[test]
fn the_script_and_golay_share_a_cache() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/fetch-model.sh");
    let path = std::env::var("PATH").unwrap();
    for (system, cache) in [("Darwin", "Library/Caches"), ("Linux", ".cache")] {
        let bin = dir.path().join(system);
        std::fs::create_dir(&bin).unwrap();
        std::fs::write(bin.join("uname"), format!("#!/bin/sh\necho {system}\n")).unwrap();
        std::fs::set_permissions(bin.join("uname"), PermissionsExt::from_mode(0o755)).unwrap();
        let model = dir.path().join(cache).join("golay/models/SmolLM2-135M-Instruct.Q4_1.gguf");
        let run = || {
            std::process::Command::new("sh")
                .args([script, "--if-there"])
                .env_clear()
                .env("PATH", format!("{}:{path}", bin.display()))
                .env("HOME", dir.path())
                .output()
                .unwrap()
        };
        bad(&run(), 1, &[]);
        std::fs::create_dir_all(model.parent().unwrap()).unwrap();
        std::fs::write(&model, "").unwrap();
        assert_eq!(good(&run()).trim_end(), model.display().to_string());
        if cfg!(target_os = "macos") == (system == "Darwin") {
            let mut golay = golay();
            golay.env_remove("GOLAY_MODELS").env_remove("XDG_CACHE_HOME").env("HOME", dir.path());
            assert!(good(&golay.arg("list").output().unwrap()).contains("SmolLM2"));
        }
    }
}
