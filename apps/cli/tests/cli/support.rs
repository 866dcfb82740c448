//! Starting the program, and the models that tests use.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

/// The program, with a cache of its own.
pub fn golay() -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_golay"));
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    c.env("GOLAY_CACHE", tmp.join("golay-cache"));
    c.env("GOLAY_MODELS", tmp.join("no-models"));
    // Tuning is a matter of its own, and takes its time.
    c.env("GOLAY_TUNE", "0");
    c.env_remove("GOLAY_HUB").env_remove("HF_TOKEN");
    c.stdin(Stdio::null());
    c
}

/// Runs it to its end.
pub fn golay_with<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Output {
    golay().args(args).output().expect("the program starts")
}

/// Runs it with a text on stdin.
pub fn golay_piped(args: &[&str], input: &str) -> Output {
    use std::io::Write;
    let mut child = golay()
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("stdin").write_all(input.as_bytes()).expect("a reader");
    child.wait_with_output().expect("an end")
}

pub fn out(o: &Output) -> String {
    String::from_utf8(o.stdout.clone()).expect("UTF-8 on stdout")
}

pub fn err(o: &Output) -> String {
    String::from_utf8_lossy(&o.stderr).into_owned()
}

/// stdout of a run that must have gone well.
pub fn good(o: &Output) -> String {
    assert!(o.status.success(), "{:?}\n{}\n{}", o.status, out(o), err(o));
    assert!(!err(o).contains("panicked"), "{}", err(o));
    out(o)
}

/// The same as JSON.
pub fn good_json(o: &Output) -> Value {
    serde_json::from_str(&good(o)).expect("JSON on stdout and nothing else")
}

/// stderr of a run that must have ended with `code`, with the words that must be in it.
pub fn bad(o: &Output, code: i32, words: &[&str]) -> String {
    let said = err(o);
    assert_eq!(o.status.code(), Some(code), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    for w in words {
        assert!(said.contains(w), "{w:?} is not in {said}");
    }
    said
}

/// False, with a line that says so, on a machine without any adapter. The first call also lets golay check the
/// adapter's kernels, once for all tests.
pub fn device() -> bool {
    static THERE: LazyLock<bool> = LazyLock::new(|| {
        let there = golay_with(["devices"]).status.success();
        if there {
            good(&golay_with(["run", "-m", &llama(), "--ids", "1", "-n", "1"]));
        } else {
            println!("skipped: no adapter at all on this machine");
        }
        there
    });
    *THERE
}

/// A file under tests/data.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name)
}

/// The golden llama, which has no tokenizer.
pub fn llama() -> String {
    data("goldens/llama").display().to_string()
}

/// The same weights with a tokenizer: one token per byte, and `<|im_start|>` and `<|im_end|>` in place of two bytes
/// that UTF-8 does not have.
pub fn micro() -> &'static str {
    static FOLDER: LazyLock<String> = LazyLock::new(|| {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("micro");
        std::fs::create_dir_all(&dir).expect("a folder");
        let from = data("goldens/llama");
        std::fs::copy(from.join("model.safetensors"), dir.join("model.safetensors")).expect("test data");
        let config = std::fs::read(from.join("config.json")).expect("test data");
        let mut config: Value = serde_json::from_slice(&config).expect("JSON");
        config["eos_token_id"] = json!(255);
        config["bos_token_id"] = Value::Null;
        std::fs::write(dir.join("config.json"), config.to_string()).expect("a file");
        std::fs::write(dir.join("tokenizer.json"), tokenizer().to_string()).expect("a file");
        let config = json!({"eos_token": "<|im_end|>", "chat_template": TEMPLATE});
        std::fs::write(dir.join("tokenizer_config.json"), config.to_string()).expect("a file");
        dir.display().to_string()
    });
    &FOLDER
}

const TEMPLATE: &str = "{% for m in messages %}{% if m.content == 'BAD' %}{{ raise_exception('no BAD here') }}{% endif %}\
{% if m.content == 'ESC' %}{{ raise_exception('\x1b[2Jcleared') }}{% endif %}\
<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

/// A byte-level BPE without merges.
fn tokenizer() -> Value {
    // GPT-2's alphabet: printable bytes stand for themselves, the others for characters from 256 on.
    let printable = |b: u8| matches!(b, 33..=126 | 161..=172 | 174..=255);
    let mut next = 256u32;
    let mut vocab = serde_json::Map::new();
    for b in 0..=255u8 {
        let c = if printable(b) {
            char::from(b)
        } else {
            next += 1;
            char::from_u32(next - 1).expect("a character")
        };
        let word = match b {
            0xfe => "<|im_start|>".to_owned(),
            0xff => "<|im_end|>".to_owned(),
            _ => c.to_string(),
        };
        vocab.insert(word, json!(b));
    }
    let added = |id: u8, content: &str| {
        json!({"id": id, "content": content, "special": true, "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false})
    };
    json!({
        "version": "1.0",
        "added_tokens": [added(0xfe, "<|im_start|>"), added(0xff, "<|im_end|>")],
        "normalizer": null,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
        "post_processor": null,
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": vocab, "merges": []},
    })
}

/// The golden llama in a folder of its own, with NaN for its last norm's weights.
pub fn nan_model(dir: &Path) {
    let from = data("goldens/llama");
    std::fs::copy(from.join("config.json"), dir.join("config.json")).expect("test data");
    let mut all = std::fs::read(from.join("model.safetensors")).expect("test data");
    let n = u64::from_le_bytes(all[..8].try_into().expect("8 bytes")) as usize;
    let header: Value = serde_json::from_slice(&all[8..8 + n]).expect("a header");
    let at = |i: usize| {
        let offset = &header["model.norm.weight"]["data_offsets"][i];
        offset.as_u64().expect("an offset") as usize + 8 + n
    };
    all[at(0)..at(1)].fill(0xff);
    std::fs::write(dir.join("model.safetensors"), all).expect("a file");
}

/// A copy of the golden llama that may come to harm.
pub fn own_llama(dir: &Path) -> String {
    let own = dir.join("own");
    std::fs::create_dir(&own).expect("a folder");
    for f in ["config.json", "model.safetensors"] {
        std::fs::copy(data("goldens/llama").join(f), own.join(f)).expect("test data");
    }
    own.display().to_string()
}

/// Names of the files in a folder, in order.
pub fn names(dir: &Path) -> Vec<String> {
    let all = std::fs::read_dir(dir).expect("a folder");
    let mut all: Vec<String> =
        all.map(|f| f.expect("a file").file_name().to_string_lossy().into_owned()).collect();
    all.sort();
    all
}

/// The real model, where there is one.
pub fn smollm2() -> Option<String> {
    let given = std::env::var_os("GOLAY_TEST_GGUF").map(PathBuf::from);
    let set = |n: &str| std::env::var_os(n).filter(|v| !v.is_empty()).map(PathBuf::from);
    let cache = set("GOLAY_MODELS").or_else(|| {
        set("XDG_CACHE_HOME")
            .or_else(|| {
                set("HOME")
                    .map(|h| h.join(if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" }))
            })
            .map(|c| c.join("golay/models"))
    });
    let path =
        given.or_else(|| cache.map(|c| c.join("SmolLM2-135M-Instruct.Q4_1.gguf"))).filter(|p| p.is_file());
    if path.is_none() {
        println!("skipped: no SmolLM2 (GOLAY_TEST_GGUF, or the cache)");
    }
    path.map(|p| p.display().to_string())
}

/// The folder with the wide goldens.
pub fn shared_dir() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let dir = std::env::var_os("GOLAY_SHARED").map_or_else(beside, PathBuf::from);
    if !dir.is_dir() {
        println!("skipped: no shared folder (GOLAY_SHARED)");
        return None;
    }
    Some(dir)
}

/// A tensor of a safetensors file: shape and bytes.
pub fn tensor(path: &Path, name: &str) -> (Vec<u64>, Vec<u8>) {
    let all = std::fs::read(path).expect("a safetensors file");
    let n = u64::from_le_bytes(all[..8].try_into().expect("8 bytes")) as usize;
    let header: Value = serde_json::from_slice(&all[8..8 + n]).expect("a header");
    let t = &header[name];
    let number = |v: &Value| v.as_u64().expect("a number");
    let shape = t["shape"].as_array().expect("a shape").iter().map(number).collect();
    let offset = |i: usize| number(&t["data_offsets"][i]) as usize + 8 + n;
    (shape, all[offset(0)..offset(1)].to_vec())
}

pub fn f32s(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().expect("4 bytes"))).collect()
}

pub fn i32s(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks_exact(4).map(|b| i32::from_le_bytes(b.try_into().expect("4 bytes"))).collect()
}

/// `1,2,3`
pub fn comma(ids: &[i32]) -> String {
    ids.iter().map(i32::to_string).collect::<Vec<_>>().join(",")
}
