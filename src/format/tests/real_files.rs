//! Files that others wrote: the goldens and the SmolLM2 model, where this machine has them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::build::shared_dir;
use crate::format::{Gguf, HfFolder, ModelFile, TensorType, json_f64, read_safetensors};

#[test]
fn goldens_open() {
    let Some(shared) = shared_dir() else { return };
    let mut opened = 0;
    for entry in std::fs::read_dir(shared.join("goldens")).unwrap() {
        let folder = entry.unwrap().path();
        for file in ["model.safetensors", "goldens.safetensors", "blocks.safetensors"] {
            let Ok(bytes) = std::fs::read(folder.join(file)) else { continue };
            let set = read_safetensors(file, bytes.into()).unwrap();
            assert!(!set.is_empty());
        }
        if !folder.join("model.safetensors").exists() {
            continue;
        }
        let model = HfFolder::open(&folder).unwrap();
        assert!(model.config["model_type"].is_string());
        let file = std::fs::metadata(folder.join("model.safetensors")).unwrap();
        assert_eq!(model.tensors.file_bytes(), file.len());
        for t in model.tensors.iter() {
            assert_eq!(model.tensors.data(t).len() as u64, t.bytes);
            model.tensors.release(t);
        }
        opened += 1;
    }
    assert!(opened >= 20, "{opened} models");
    let bamba = HfFolder::open(shared.join("goldens/bamba")).unwrap();
    let limit = bamba.config["time_step_limit"].as_array().unwrap();
    assert_eq!(json_f64(&limit[1]), Some(f64::INFINITY));
}

#[test]
fn smollm2_opens() {
    let name = "SmolLM2-135M-Instruct.Q4_1.gguf";
    let cache = std::env::var_os("GOLAY_MODELS").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".cache/golay/models"));
    let given = std::env::var_os("GOLAY_TEST_GGUF").map(PathBuf::from);
    let places = given.into_iter().chain(cache.into_iter().chain(home).map(|p| p.join(name)));
    let Some(path) = places.into_iter().find(|p| p.is_file()) else {
        println!("skipped: no {name} (GOLAY_TEST_GGUF)");
        return;
    };
    let begun = std::time::Instant::now();
    let ModelFile::Gguf(g) = ModelFile::open(&path).unwrap() else { panic!("not a GGUF") };
    println!("opened in {:?}", begun.elapsed());
    let mut types = BTreeMap::new();
    for t in g.tensors.iter() {
        *types.entry(t.ttype).or_insert(0) += 1;
        assert_eq!(t.offset % 32, 0);
    }
    let expected = [(TensorType::F32, 61), (TensorType::Q4_1, 210), (TensorType::Q8_0, 1)];
    assert_eq!(types, expected.into_iter().collect());
    assert_eq!(g.metadata.str("general.architecture").unwrap(), Some("llama"));
    assert_eq!(g.metadata.strings("tokenizer.ggml.tokens").unwrap().unwrap().len(), 49152);
    assert_eq!(g.tensors.get("token_embd.weight").unwrap().shape, [49152, 576]);
    release_gives_memory_back(&g);
}

/// Reads all data, releases it, and compares what of this map the process holds.
#[cfg(target_os = "linux")]
fn release_gives_memory_back(g: &Gguf) {
    let first = g.tensors.iter().next().unwrap();
    let inside = g.tensors.data(first).as_ptr() as u64;
    let held = || {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut here = false;
        for line in maps.lines() {
            let word = line.split_whitespace().next().unwrap_or_default();
            if let Some((from, to)) = word.split_once('-') {
                let bound = |s| u64::from_str_radix(s, 16).unwrap();
                here = (bound(from)..bound(to)).contains(&inside);
            } else if here && word == "Rss:" {
                return line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024;
            }
        }
        panic!("the map is not listed");
    };
    let sum = || -> u64 {
        g.tensors.iter().flat_map(|t| g.tensors.data(t)).step_by(512).map(|b| u64::from(*b)).sum()
    };
    let before = sum();
    let full = held();
    assert!(full > g.tensors.file_bytes() * 9 / 10, "{full} bytes held after reading all");
    g.tensors.iter().for_each(|t| g.tensors.release(t));
    let rest = held();
    println!("held {full} bytes, then {rest}");
    assert!(rest < g.tensors.file_bytes() / 10, "{rest} bytes held of {full}");
    assert_eq!(before, sum());
}

#[cfg(not(target_os = "linux"))]
fn release_gives_memory_back(_: &Gguf) {}
