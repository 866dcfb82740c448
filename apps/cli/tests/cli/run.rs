//! `golay run`.

use crate::support::{
    bad, comma, data, device, err, golay, golay_piped, golay_with, good, good_json, i32s, llama, micro,
    tensor,
};
use serde_json::{Value, json};

fn answer(more: &[&str]) -> Value {
    let base = ["run", "-m", micro(), "-p", "hello", "--json", "--ignore-eos"];
    good_json(&golay_with(base.iter().chain(more)))
}

#[test]
fn the_json_has_its_fields_and_stdout_nothing_else() {
    if !device() {
        return;
    }
    let o =
        golay_with(["run", "-m", micro(), "-p", "hello", "-n", "6", "--temp", "0", "--json", "--ignore-eos"]);
    let v = good_json(&o);
    let keys: Vec<&str> = v.as_object().unwrap().keys().map(String::as_str).collect();
    let first = [
        "text",
        "tokens",
        "prompt_tokens",
        "generated_tokens",
        "finish_reason",
        "ttft_s",
        "decode_tok_s",
        "prefill_tok_s",
        "adapter",
        "device_type",
    ];
    for k in first {
        assert!(keys.contains(&k), "{k}");
    }
    assert_eq!(
        (&v["prompt_tokens"], &v["generated_tokens"], &v["finish_reason"]),
        (&json!(5), &json!(6), &json!("length"))
    );
    assert_eq!(v["tokens"].as_array().unwrap().len(), 6);
    assert!(v["ttft_s"].as_f64().unwrap() > 0.0 && v["decode_tok_s"].as_f64().unwrap() > 0.0);
    assert_eq!(o.stdout.iter().filter(|b| **b == b'\n').count(), 1);
    // What people should know is on stderr.
    assert!(err(&o).contains("memory: weights"), "{}", err(&o));
    if v["device_type"] == "cpu" {
        assert!(err(&o).contains("computing on the CPU through"), "{}", err(&o));
    }
    assert!(!err(&o).contains('\x1b'), "no colour codes on a pipe");
    let quiet =
        golay_with(["run", "-q", "-m", micro(), "-p", "hello", "-n", "6", "--temp", "0", "--ignore-eos"]);
    assert_eq!(good(&quiet), format!("{}\n", v["text"].as_str().unwrap()));
    assert_eq!(err(&quiet), "");
}

#[test]
fn greedy_ids_are_the_goldens() {
    if !device() {
        return;
    }
    let goldens = data("goldens/llama/goldens.safetensors");
    for i in 0..4 {
        let ids = i32s(&tensor(&goldens, &format!("p{i}.input_ids")).1);
        let expected = i32s(&tensor(&goldens, &format!("p{i}.greedy_ids")).1);
        let n = expected.len().to_string();
        let v = good_json(&golay_with([
            "run",
            "-m",
            &llama(),
            "--ids",
            &comma(&ids),
            "-n",
            &n,
            "--temp",
            "0",
            "--json",
        ]));
        assert_eq!(v["tokens"], json!(expected), "prompt {i}");
        assert_eq!(v["text"], "", "no tokenizer, no text");
    }
}

#[test]
fn a_seed_gives_the_same_again_and_is_told() {
    if !device() {
        return;
    }
    let flags = ["-n", "24", "--temp", "1.5", "--top-k", "0", "--top-p", "1", "--min-p", "0"];
    let with = |seed: &str| answer(&[&flags[..], &["-s", seed]].concat());
    let a = with("7");
    assert_eq!(a["seed"], 7);
    assert_eq!(a["tokens"], with("7")["tokens"]);
    assert_ne!(a["tokens"], with("8")["tokens"]);
    let random = answer(&flags);
    let again = with(&random["seed"].to_string());
    assert_eq!(random["tokens"], again["tokens"]);
}

#[test]
fn a_stop_string_is_not_shown() {
    if !device() {
        return;
    }
    let whole = answer(&["-n", "40", "--temp", "0"]);
    let text = whole["text"].as_str().unwrap();
    // Two characters in the middle, which several tokens make up.
    let (at, _) = text.char_indices().nth(3).unwrap();
    let stop: String = text[at..].chars().take(2).collect();
    let cut = text.find(&stop).unwrap();
    let v = answer(&["-n", "40", "--temp", "0", "--stop", &stop, "-r", "never there"]);
    assert_eq!(v["text"], text[..cut]);
    assert_eq!((&v["finish_reason"], &v["stopped_by"]), (&json!("stop"), &json!(stop)));
}

#[test]
fn biases_bans_and_penalties_act() {
    if !device() {
        return;
    }
    let first =
        |more: &[&str]| answer(&[&["-n", "1", "--temp", "0"], more].concat())["tokens"][0].as_u64().unwrap();
    let best = first(&[]);
    assert_ne!(first(&["-l", &format!("{best}-inf")]), best);
    assert_eq!(first(&["--logit-bias", "65+1000"]), 65);
    assert_eq!(first(&["--logit-bias", "65=1000", "--top-k", "0"]), 65);
    // Trial 22 and 24: the argmax whatever the filters say; a biased-away end runs to the limit.
    assert_eq!(first(&["--top-k", "0", "--top-p", "0", "--min-p", "1"]), best);
    let o =
        golay_with(["run", "-m", micro(), "-p", "x", "-n", "30", "--json", "--temp", "0", "-l", "255-100"]);
    assert_eq!(good_json(&o)["finish_reason"], "length");
}

#[test]
fn prompts_come_from_everywhere() {
    if !device() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("prompt.txt");
    std::fs::write(&file, "hello").unwrap();
    let tail = ["-n", "4", "--temp", "0", "--json", "--ignore-eos"];
    let expected = answer(&["-n", "4", "--temp", "0"])["tokens"].clone();
    let run = |head: &[&str], input: &str| {
        let args: Vec<&str> = ["run", "-m", micro()].iter().chain(head).chain(&tail).copied().collect();
        good_json(&golay_piped(&args, input))["tokens"].clone()
    };
    assert_eq!(run(&["-f", file.to_str().unwrap()], ""), expected);
    assert_eq!(run(&["-"], "hello"), expected);
    assert_eq!(run(&["-f", "-"], "hello"), expected);
    assert_eq!(run(&["hello"], ""), expected);
    assert_eq!(run(&["--ids", "104,101,108,108,111"], ""), expected);
    // U+0000 is a character like any other; bytes that are no text are refused.
    run(&["-"], "a\0b");
    std::fs::write(&file, b"ab\xff").unwrap();
    bad(&golay_with(["run", "-m", micro(), "-f", file.to_str().unwrap()]), 1, &["not UTF-8 at byte 2"]);
}

#[test]
fn the_template_is_used_and_what_people_type_is_text() {
    if !device() {
        return;
    }
    let run = |more: &[&str]| {
        let base = ["run", "-m", micro(), "--chat", "-n", "1", "--temp", "0", "--json"];
        golay_with(base.iter().chain(more))
    };
    let plain = good_json(&run(&["-p", "hi"]));
    // <|im_start|> user \n hi <|im_end|> \n <|im_start|> assistant \n
    assert_eq!(plain["prompt_tokens"], 1 + 5 + 2 + 2 + 1 + 10);
    let system = good_json(&run(&["-p", "hi", "--system", "be"]));
    assert_eq!(system["prompt_tokens"], 21 + 1 + 7 + 2 + 2);
    let typed = good_json(&run(&["-p", "<|im_end|>"]));
    assert_eq!(typed["prompt_tokens"], 21 - 2 + 10, "ten characters, not one control token");
    bad(&run(&["-p", "BAD"]), 1, &["no BAD here"]);
}

#[test]
fn limits_of_the_context_are_explained() {
    if !device() {
        return;
    }
    let long = "x".repeat(40);
    let run = |more: &[&str]| {
        let base = ["run", "-m", micro(), "-p", &long, "--temp", "0", "--json", "--ignore-eos"];
        golay_with(base.iter().chain(more))
    };
    // Trial 25.
    bad(&run(&["-c", "40", "-n", "1"]), 1, &["40", "context"]);
    bad(&run(&["-c", "40", "-n", "1"]), 1, &["no room to answer"]);
    assert_eq!(good_json(&run(&["-c", "40", "-n", "0"]))["prompt_tokens"], 40);
    assert_eq!(good_json(&run(&["-c", "40", "-n", "0", "--context-shift"]))["context_shifts"], 0);
    let said = bad(&run(&["-c", "39", "-n", "0"]), 1, &["40 tokens", "39"]);
    assert!(!said.contains("no room"), "{said}");
    let v = good_json(&run(&["-c", "40", "-n", "4", "--context-shift", "--keep", "2"]));
    assert_eq!((&v["truncated"], &v["generated_tokens"]), (&json!(true), &json!(4)));
    let o = run(&["-c", "48"]);
    let v = good_json(&o);
    assert_eq!(v["finish_reason"], "context_full");
    assert!(err(&o).contains("--context-shift"));
    let v = good_json(&run(&["-c", "48", "-n", "100", "--context-shift"]));
    assert_eq!(v["generated_tokens"], 100);
}

#[test]
fn little_and_nothing_is_generated() {
    if !device() {
        return;
    }
    let v = answer(&["-n", "0"]);
    assert_eq!((&v["text"], &v["tokens"]), (&json!(""), &json!([])));
    bad(&golay_with(["run", "-m", micro(), "-p", ""]), 1, &["the prompt is empty"]);
    bad(&golay_with(["run", "-m", micro(), "--ids", ""]), 1, &["the prompt is empty"]);
    bad(&golay_with(["run", "-m", &llama(), "-p", "x"]), 1, &["tokenizer"]);
    bad(&golay_with(["run", "-m", &llama(), "--ids", "1,256"]), 1, &["256", "vocabulary of 256"]);
    bad(
        &golay_with(["run", "-m", &llama(), "--ids", "1", "--memory-limit", "10K"]),
        1,
        &["bytes are needed", "weights"],
    );
}

#[test]
fn wrong_usage_is_2() {
    for (args, word) in [
        (&["-p", "x", "-n", "-1"][..], "-1"),
        (&["-p", "x", "--ids", "1"], "one prompt"),
        (&["-p", "x", "y"], "cannot be used with"),
        (&[], "one prompt"),
        (&["--ids", "1,x"], "not a token id"),
        (&["--ids", "-1"], "not a token id"),
        (&["--ids", "4294967296"], "not a token id"),
        (&["-p", "x", "--repeat-penalty", "0"], "repeat_penalty"),
        (&["-p", "x", "--temp", "nan"], "temperature"),
        (&["-p", "x", "--repeat-last-n", "-2"], "-2"),
        (&["-p", "x", "--dry-penalty-last-n", "-9"], "-9"),
        (&["-p", "x", "--logit-bias", "1+inf"], "ID+1.5"),
        (&["-p", "x", "--mirostat", "3"], "3"),
        (&["-p", "x", "--kv", "q8"], "q8"),
        (&["-p", "x", "-c", "0"], "0"),
        (&["-p", "x", "--memory-limit", "much"], "size"),
        (&["-p", "x", "--system", "s"], "--chat"),
        (&["-p", "x", "--nonsense"], "--nonsense"),
    ] {
        let all: Vec<&str> = ["run", "-m", "no-model"].iter().chain(args).copied().collect();
        bad(&golay_with(all), 2, &[word]);
    }
    bad(&golay_with(["run", "-p", "x"]), 2, &["--model"]);
    bad(&golay_with::<&str>([]), 2, &["Usage"]);
    bad(&golay_with(["nonsense"]), 2, &["nonsense"]);
    assert!(good(&golay_with(["--help"])).contains("golay pull smollm2"));
    assert!(good(&golay_with(["run", "--help"])).contains("--dry-multiplier"));
}

#[test]
fn devices_are_picked_or_refused() {
    if !device() {
        return;
    }
    bad(
        &golay_with(["run", "-m", &llama(), "--ids", "1", "--device", "no such card"]),
        1,
        &["no such card", "0: "],
    );
    let o = golay().args(["run", "-m", &llama(), "--ids", "1"]).env("GOLAY_DEVICE", "99").output().unwrap();
    bad(&o, 1, &["99"]);
    let o = golay().args(["run", "-m", &llama(), "--ids", "1"]).env("GOLAY_CAPS", "tiny").output().unwrap();
    bad(&o, 1, &["GOLAY_CAPS"]);
    good(&golay_with(["run", "-m", &llama(), "--ids", "1", "-n", "1", "--device", "0", "--kv", "f16"]));
    let list = good(&golay_with(["devices"]));
    assert_eq!(list, good(&golay_with(["run", "--list-devices"])));
    assert_eq!(list, good(&golay_with(["--list-devices"])));
    let v = good_json(&golay_with(["devices", "--json"]));
    assert!(v[0]["name"].is_string() && v[0]["score"].is_number());
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    if !device() {
        return;
    }
    // Trial 26.
    let mut child = golay()
        .args(["run", "-q", "-m", micro(), "-p", "x", "--ignore-eos", "--context-shift", "--temp", "1"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut three = [0; 3];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut three).unwrap();
    drop(child.stdout.take());
    let o = child.wait_with_output().unwrap();
    assert!(o.status.success(), "{:?}", o.status);
    assert_eq!(err(&o), "");
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_run_with_what_there_is() {
    if !device() {
        return;
    }
    let mut child = golay()
        .args(["run", "-m", micro(), "-p", "x", "--ignore-eos", "--context-shift", "--temp", "1"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut some = [0; 3];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut some).unwrap();
    crate::chat::interrupt(child.id());
    let o = child.wait_with_output().unwrap();
    bad(&o, 130, &["cancelled", "golay: interrupted"]);
    assert_eq!(o.stdout.last(), Some(&b'\n'));
    // While the prompt is read there is nothing to show, not even the end of a line.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("long.txt");
    std::fs::write(&file, "x".repeat(60_000)).unwrap();
    let mut child = golay()
        .args(["run", "-m", micro(), "-c", "60001", "-n", "1", "-f", file.to_str().unwrap()])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("memory: ") {
        line.clear();
        assert_ne!(std::io::BufRead::read_line(&mut said, &mut line).unwrap(), 0, "it loads");
    }
    std::thread::sleep(std::time::Duration::from_millis(1500));
    crate::chat::interrupt(child.id());
    line.clear();
    std::io::Read::read_to_string(&mut said, &mut line).unwrap();
    let o = child.wait_with_output().unwrap();
    assert_eq!((o.status.code(), o.stdout.len()), (Some(130), 0), "{line}");
    assert!(line.contains("golay: interrupted"), "{line}");
}
