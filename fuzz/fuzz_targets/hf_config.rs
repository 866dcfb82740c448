//! The JSON files of a folder: config, tokenizer_config, generation_config, index.
#![no_main]

use golay_fuzz::files;
use golay_fuzz::format::{HfFolder, TensorType, json_f64, parse_json, write_safetensors};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let parts = files(input);
    for part in &parts {
        // Whatever is JSON already must not change.
        if let Ok(plain) = serde_json::from_slice::<serde_json::Value>(part) {
            assert_eq!(parse_json("file.json", part).expect("was JSON"), plain);
            let _ = json_f64(&plain);
        }
    }
    let weights =
        write_safetensors(Vec::new(), &[("w", TensorType::U8, &[1], &[0])], &[]).unwrap_or_default();
    let index = if parts.len() > 3 { "x.safetensors" } else { "model.safetensors" };
    let names =
        ["config.json", "tokenizer_config.json", "generation_config.json", "model.safetensors.index.json"];
    let mut folder: Vec<_> = names.iter().zip(&parts).map(|(n, p)| ((*n).to_owned(), p.to_vec())).collect();
    folder.push((index.to_owned(), weights));
    match HfFolder::from_files(folder) {
        Ok(f) => assert!(f.config.is_object()),
        Err(e) => assert!(e.to_string().len() < 4096),
    }
});
