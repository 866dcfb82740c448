//! `golay logits` and `golay eval ppl`.

use crate::support::{
    bad, comma, data, device, err, f32s, golay_with, good, good_json, i32s, llama, micro, names, nan_model,
    own_llama, tensor,
};

#[test]
fn logits_are_the_goldens() {
    if !device() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("out.safetensors");
    let file = file.to_str().unwrap();
    let goldens = data("goldens/llama/goldens.safetensors");
    // tolerance.logits_abs_f32 of the manifest.
    let tolerance = 4.76e-4;
    for (i, which) in [(1, "all"), (2, "all"), (3, "last:4")] {
        let ids = i32s(&tensor(&goldens, &format!("p{i}.input_ids")).1);
        let o =
            golay_with(["logits", "-m", &llama(), "--ids", &comma(&ids), "--positions", which, "-o", file]);
        assert_eq!(good(&o), "", "the result is the file");
        let (shape, got) = tensor(file.as_ref(), "logits");
        let (_, positions) = tensor(file.as_ref(), "positions");
        let (expected_shape, expected) = tensor(&goldens, &format!("p{i}.logits"));
        assert_eq!(shape, expected_shape);
        let positions: Vec<i64> =
            positions.chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap())).collect();
        let expected_positions = i32s(&tensor(&goldens, &format!("p{i}.positions")).1);
        assert_eq!(positions, expected_positions.iter().map(|p| i64::from(*p)).collect::<Vec<_>>());
        let worst = f32s(&got).iter().zip(f32s(&expected)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(worst < tolerance, "prompt {i}: {worst}");
    }
    // Text has its ids; a position beyond the text is no error, there are just fewer.
    let o = golay_with(["logits", "-m", micro(), "-p", "abc", "--positions", "last:9", "-o", file]);
    good(&o);
    assert!(err(&o).contains("last:9: the text has only 3 positions"), "{}", err(&o));
    // To a pipe the same bytes go.
    let piped = golay_with(["logits", "-m", micro(), "-p", "abc", "-o", "-"]);
    assert!(piped.status.success() && piped.stdout == std::fs::read(file).unwrap(), "{}", err(&piped));
    assert_eq!(tensor(file.as_ref(), "logits").0, [3, 256]);
}

#[test]
fn logits_refuse_what_cannot_be() {
    bad(&golay_with(["logits", "-m", "x", "--ids", "1"]), 2, &["--output"]);
    bad(&golay_with(["logits", "-m", "x", "--ids", "1", "-o", "f", "--positions", "first"]), 2, &["last:N"]);
    bad(&golay_with(["logits", "-m", "x", "-o", "f"]), 2, &["one text"]);
    if !device() {
        return;
    }
    bad(&golay_with(["logits", "-m", &llama(), "--ids", "256", "-o", "f"]), 1, &["vocabulary"]);
    bad(&golay_with(["logits", "-m", &llama(), "--ids", "", "-o", "f"]), 1, &["empty"]);
    bad(
        &golay_with(["logits", "-m", &llama(), "--ids", "1,2", "-o", "/no/such/folder/f"]),
        1,
        &["/no/such/folder/f"],
    );
    bad(&golay_with(["logits", "-m", &llama(), "--ids", "1,2,3", "-c", "2", "-o", "f"]), 1, &["context"]);
}

#[test]
fn logits_spare_the_model_and_what_is_there() {
    if !device() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let own = own_llama(dir.path());
    let at = |n: &str| dir.path().join(n).display().to_string();
    let run = |m: &str, out: &str| golay_with(["logits", "-m", m, "--ids", "1,2", "-o", out]);
    good(&golay_with(["convert", "-m", &own, "-o", &at("m.gguf")]));
    let before = std::fs::read(at("m.gguf")).unwrap();
    for (m, out) in [
        (&own, at("own/model.safetensors")),
        (&own, at("own/config.json")),
        (&own, at("own/tokenizer.json")),
        (&at("m.gguf"), at("m.gguf")),
    ] {
        bad(&run(m, &out), 1, &[&out, "file of the model"]);
    }
    assert_eq!(std::fs::read(at("m.gguf")).unwrap(), before);
    good(&run(&own, &at("own/logits.safetensors")));
    good(&run(&own, &at("own/logits.safetensors")));
    assert_eq!(names(&dir.path().join("own")), ["config.json", "logits.safetensors", "model.safetensors"]);
    // What is not a number is an error, and what was there stays.
    let sick = dir.path().join("sick");
    std::fs::create_dir(&sick).unwrap();
    nan_model(&sick);
    std::fs::write(at("old"), "old").unwrap();
    bad(&run(&at("sick"), &at("old")), 1, &["not a number at position 0"]);
    bad(&golay_with(["run", "-m", &at("sick"), "--ids", "1,2", "-n", "1"]), 1, &["not a number"]);
    assert_eq!(std::fs::read(at("old")).unwrap(), b"old");
    assert_eq!(names(dir.path()), ["m.gguf", "old", "own", "sick"]);
}

/// The mean of -ln p(next) from the logits that the program writes for each window.
fn expected_nll(text: &[u8], window: usize) -> (f64, usize) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("l.safetensors");
    let (mut sum, mut n) = (0.0, 0);
    for w in text.chunks(window).filter(|w| w.len() >= 2) {
        let ids: Vec<i32> = w.iter().map(|b| i32::from(*b)).collect();
        good(&golay_with(["logits", "-m", micro(), "--ids", &comma(&ids), "-o", file.to_str().unwrap()]));
        let rows = f32s(&tensor(&file, "logits").1);
        for (row, next) in rows.chunks(256).zip(&w[1..]) {
            let total: f64 = row.iter().map(|v| f64::from(*v).exp()).sum();
            sum += total.ln() - f64::from(row[usize::from(*next)]);
            n += 1;
        }
    }
    (sum / n as f64, n)
}

#[test]
fn perplexity_is_the_mean_over_windows() {
    if !device() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("t.txt");
    // 66 bytes: windows of 32, 32 and 2; the control token's name is text.
    let text = "The quick brown fox jumps over the lazy dog. <|im_end|> 0123456789";
    assert_eq!(text.len(), 66);
    std::fs::write(&file, text).unwrap();
    let base = ["eval", "ppl", "-m", micro(), "-f", file.to_str().unwrap()];
    let run = |more: &[&str]| golay_with(base.iter().chain(more));
    let close = |v: &serde_json::Value, (nll, n): (f64, usize)| {
        assert_eq!(v["tokens"], n);
        let got = v["mean_nll"].as_f64().unwrap();
        assert!((got - nll).abs() < 1e-5, "{got} {nll}");
        assert!((v["ppl"].as_f64().unwrap() - got.exp()).abs() < 1e-9 * got.exp());
    };
    let bytes = text.as_bytes();
    close(&good_json(&run(&["--ctx", "32", "--json"])), expected_nll(bytes, 32));
    close(&good_json(&run(&["--ctx", "32", "--tokens", "65", "--json"])), expected_nll(&bytes[..64], 32));
    close(&good_json(&run(&["--json"])), expected_nll(bytes, 512));
    let o = run(&["--tokens", "1000"]);
    assert!(good(&o).starts_with("perplexity ") && err(&o).contains("fewer than"));
    bad(&run(&["--ctx", "1"]), 2, &["--ctx"]);
    bad(&golay_with(["eval", "ppl", "-m", &llama(), "-f", file.to_str().unwrap()]), 1, &["tokenizer"]);
    std::fs::write(&file, "x").unwrap();
    bad(&run(&[]), 1, &["at least 2 tokens"]);
    std::fs::write(&file, b"\xff\xff").unwrap();
    bad(&run(&[]), 1, &["not UTF-8"]);
    bad(&golay_with(["eval", "ppl", "-m", micro(), "-f", "nowhere.txt"]), 1, &["nowhere.txt"]);
}
