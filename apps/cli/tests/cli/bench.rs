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
