//! `golay bench model`.

use crate::support::{bad, device, err, golay_with, good, llama};
use serde_json::Value;

fn bench(more: &[&str]) -> std::process::Output {
    let base = ["bench", "model", "-m", &llama(), "-r", "2"].map(str::to_owned);
    golay_with(base.into_iter().chain(more.iter().map(|s| (*s).to_owned())))
}

#[test]
fn rows_in_four_formats() {
    if !device() {
        return;
    }
    let o = bench(&["-p", "16", "-n", "4", "-d", "0,8"]);
    let text = good(&o);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2 + 4);
    assert!(lines.iter().all(|l| l.starts_with("| ") && l.ends_with(" |")));
    assert!(lines[0].contains("| model ") && lines[0].contains("params") && lines[0].contains("t/s"));
    for (line, name) in lines[2..].iter().zip(["pp16 |", "tg4 |", "pp16 @ d8 |", "tg4 @ d8 |"]) {
        assert!(line.contains(name) && line.contains(" ± "), "{line}");
    }
    assert!(err(&o).contains("pp16: 2/2"));
    let v: Value = serde_json::from_str(&good(&bench(&["-p", "16", "-n", "4", "-o", "json"]))).unwrap();
    let rows = v.as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["n_prompt"], &rows[1]["n_gen"]), (2, &16.into(), &4.into()));
    for k in ["avg_ts", "stddev_ts", "avg_ns", "model_size", "model_n_params"] {
        assert!(rows[0][k].is_number(), "{k}");
    }
    assert_eq!(rows[0]["samples_ts"].as_array().unwrap().len(), 2);
    let jsonl = good(&bench(&["-p", "8,16", "-n", "0", "-o", "jsonl"]));
    assert_eq!(
        jsonl
            .lines()
            .map(|l| serde_json::from_str::<Value>(l).unwrap()["n_prompt"].as_u64())
            .collect::<Vec<_>>(),
        [Some(8), Some(16)]
    );
    let csv = good(&bench(&["-p", "0", "-n", "4", "-o", "csv"]));
    let fields: Vec<usize> = csv.lines().map(|l| l.split(',').count()).collect();
    assert_eq!(csv.lines().count(), 2);
    assert!(fields[0] >= 15 && csv.contains("\"tg4\""), "{csv}");
}

#[test]
fn usage() {
    bad(&golay_with(["bench", "model", "-m", "x", "-p", "0", "-n", "0"]), 2, &["nothing to measure"]);
    bad(&golay_with(["bench", "model", "-m", "x", "-r", "0"]), 2, &["0"]);
    bad(&golay_with(["bench", "model", "-m", "x", "-o", "xml"]), 2, &["xml"]);
    bad(&golay_with(["bench"]), 2, &["model"]);
}

fn temp(name: &str) -> std::path::PathBuf {
    let p = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("bench-{}-{name}", std::process::id()));
    drop(std::fs::remove_file(&p));
    p
}

#[test]
fn kernels_report_compare() {
    if !device() {
        return;
    }
    let few = ["--family", "gemv,norm", "--format", "q4_0,f16", "--shape", "64x256", "--rounds", "3"];
    let text = good(&golay_with(["bench", "kernels"].into_iter().chain(few)));
    for word in ["read  GB/s", "dot4", "dispatch", "| gemv | q4_0 | 64x256 |", "| norm |", " * |", "int8"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let (full, base, html) = (temp("full.json"), temp("base.json"), temp("page.html"));
    let report = |path: &std::path::Path| {
        let mut c = crate::support::golay();
        c.args(["bench", "report", "-o"]).arg(path).args(few);
        c
    };
    let o = report(&full).args(["-m", &llama()]).output().unwrap();
    assert!(good(&o).is_empty());
    good(&report(&base).env("GOLAY_CAPS", "baseline").output().unwrap());
    let v: Value = serde_json::from_str(&std::fs::read_to_string(&full).unwrap()).unwrap();
    let models = v["models"].as_array().unwrap();
    assert_eq!(models.len(), 2);
    let tg = models.iter().find(|m| m["test"].as_str().unwrap().starts_with("tg")).unwrap();
    for k in ["bytes_per_token", "bound", "of_bound", "host_s", "without_recording", "dispatches_per_layer"] {
        assert!(tg[k].as_f64().is_some_and(|x| x > 0.0), "{k}: {tg}");
    }
    assert!(tg["dispatches_per_layer"].as_f64().unwrap() <= 8.0);
    let o = golay_with([
        "bench",
        "compare",
        full.to_str().unwrap(),
        base.to_str().unwrap(),
        "--html",
        html.to_str().unwrap(),
    ]);
    assert!(good(&o).contains("baseline"));
    assert!(std::fs::read_to_string(&html).unwrap().contains("<svg"));
    // A report is never replaced by the page about it, and devices are not read without end.
    let itself = ["bench", "compare", full.to_str().unwrap(), "--html", full.to_str().unwrap()];
    bad(&golay_with(itself), 1, &["full.json"]);
    good(&golay_with(["bench", "compare", full.to_str().unwrap()]));
    #[cfg(unix)]
    bad(&golay_with(["bench", "compare", "/dev/zero"]), 1, &["/dev/zero", "no report"]);
    bad(&golay_with(["bench", "compare", "/nowhere/x.json"]), 1, &["/nowhere/x.json"]);
    std::fs::write(&html, "{}").unwrap();
    bad(&golay_with(["bench", "compare", html.to_str().unwrap()]), 1, &["not a report"]);
    bad(&golay_with(["bench", "report", "-o", "/nowhere/x.json"]), 1, &["/nowhere"]);
    let no_model = ["bench", "report", "-o", base.to_str().unwrap(), "-m", html.to_str().unwrap()];
    bad(&golay_with(no_model), 1, &["page.html"]);
    bad(&bench(&["-p", "0", "-n", "4294967290"]), 1, &["positions"]);
    bad(&golay_with(["bench", "kernels", "--family", "gemw"]), 2, &["gemw", "gemv"]);
    bad(&golay_with(["bench", "kernels", "--format", "q9_9"]), 2, &["q9_9", "q4_0"]);
    bad(&golay_with(["bench", "kernels", "--shape", "4096"]), 2, &["4096x14336"]);
}

#[test]
fn tune_remembers_and_forgets() {
    if !device() {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let run = |more: &[&str]| {
        let mut c = crate::support::golay();
        c.env("GOLAY_CACHE", cache.path()).args(["tune", "-m", &llama(), "--seconds", "3"]).args(more);
        c.output().unwrap()
    };
    let text = good(&run(&[]));
    assert!(text.contains("| gemv |"), "{text}");
    let found = |dir: &std::path::Path| {
        let mut all = std::fs::read_dir(dir.join("adapters")).unwrap();
        let file =
            all.find_map(|f| f.ok().filter(|f| f.file_name().to_string_lossy().ends_with(".tuned.json")));
        std::fs::read_to_string(file.expect("a file").path()).unwrap()
    };
    assert!(found(cache.path()).contains("llama 64x"), "{}", found(cache.path()));
    let o = run(&["--forget"]);
    good(&o);
    assert!(!found(cache.path()).contains("llama 64x"));
    let v: Value = serde_json::from_str(&good(&run(&["--json"]))).unwrap();
    assert!(v["choices"].as_array().is_some_and(|c| !c.is_empty()) && v["tuning"]["gemv"].is_object(), "{v}");
    // A broken file is said and replaced.
    bad(&golay_with(["tune", "-m", "x", "--seconds", "-1"]), 2, &["seconds"]);
}

/// The first load on a new device looks for the geometry, once, and can be told not to.
#[test]
fn the_first_load_tunes_once() {
    if !device() {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let run = |tune: &str, more: &[&str]| {
        let mut c = crate::support::golay();
        c.env("GOLAY_CACHE", cache.path()).env("GOLAY_TUNE", tune);
        c.args(["run", "-m", &llama(), "--ids", "1,2,3", "-n", "2"]).args(more);
        c.output().unwrap()
    };
    let words = "looking for the fastest geometry";
    let o = run("1", &["--no-tune"]);
    good(&o);
    assert!(!err(&o).contains(words));
    let o = run("1", &[]);
    good(&o);
    assert!(err(&o).contains(words), "{}", err(&o));
    let o = run("1", &[]);
    good(&o);
    assert!(!err(&o).contains(words) && !err(&o).contains("checking the kernels"), "{}", err(&o));
}

#[test]
fn random_models() {
    let path = temp("synth.gguf");
    let file = path.to_str().unwrap().to_owned();
    good(&golay_with(["bench", "synth", "smollm2-135m", "-t", "q4_0", "-o", &file]));
    let text = good(&golay_with(["inspect", &file]));
    assert!(text.contains("random weights") && text.contains("576"), "{text}");
    bad(&golay_with(["bench", "synth", "smollm2-135m", "-t", "q4_0", "-o", &file]), 1, &["there already"]);
    std::fs::remove_file(&path).unwrap();
    bad(&golay_with(["bench", "synth", "smollm2-135m", "-t", "q4_k", "-o", &file]), 1, &["576"]);
    assert!(!path.exists() && !path.with_extension("part").exists());
    bad(&golay_with(["bench", "synth", "gpt-9", "-o", &file]), 2, &["llama-3.1-8b"]);
}

/// Integer activations change the scores a little, and only a little.
#[test]
fn integer_activations() {
    if !device() {
        return;
    }
    let path = temp("q8_0.gguf");
    let model = path.to_str().unwrap().to_owned();
    good(&golay_with(["convert", "-m", &llama(), "-o", &model, "--outtype", "q8_0"]));
    let ids = "1,17,5,40,33,2,9,60";
    let logits = |more: &[&str]| {
        let out = temp("logits.safetensors");
        let args = ["logits", "-m", &model, "--ids", ids, "-o", out.to_str().unwrap()];
        good(&golay_with(args.iter().copied().chain(more.iter().copied())));
        let bytes = std::fs::read(&out).unwrap();
        std::fs::remove_file(&out).unwrap();
        let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        bytes[8 + header..]
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
            .collect::<Vec<_>>()
    };
    let (plain, int8) = (logits(&[]), logits(&["--activations", "int8"]));
    assert_eq!(plain.len(), int8.len());
    let size = plain.iter().fold(0.0f32, |m, v| m.max(v.abs()));
    let off = plain.iter().zip(&int8).fold(0.0f32, |m, (a, b)| m.max((a - b).abs()));
    println!("logits up to {size}, off by {off}");
    assert!(off > 0.0 && off < 0.05 * size, "{off} of {size}");
    let run =
        ["run", "-m", &model, "--ids", ids, "-n", "6", "--temp", "0", "--activations", "int8", "--json"];
    let v = crate::support::good_json(&golay_with(run));
    assert!(v.to_string().contains("tokens"), "{v}");
    bad(&golay_with(["run", "-m", &model, "--ids", "1", "--activations", "int4"]), 2, &["int4", "int8"]);
    std::fs::remove_file(&path).unwrap();
}
