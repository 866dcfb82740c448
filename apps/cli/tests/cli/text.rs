//! `golay tokenize`, `detokenize` and `template`, which need no device.

use crate::support::{bad, golay_piped, golay_with, good, good_json, llama, micro};
use serde_json::json;

fn tokenize(more: &[&str]) -> std::process::Output {
    golay_with(["tokenize", "-m", micro()].iter().chain(more))
}

#[test]
fn ids_of_a_text() {
    assert_eq!(
        good(&tokenize(&["-p", "a\n'\\é"])),
        "    97  'a'\n    10  '\\n'\n    39  '''\n    92  '\\\\'\n   195  '\\xc3'\n   169  '\\xa9'\n"
    );
    assert_eq!(good_json(&tokenize(&["-p", "ab", "--json"])), json!({"ids": [97, 98]}));
    assert_eq!(good_json(&tokenize(&["-p", "", "--json"])), json!({"ids": []}));
    // Trial 15: what a person types is text unless asked for.
    assert_eq!(good_json(&tokenize(&["-p", "<|im_end|>", "--json", "--special"])), json!({"ids": [255]}));
    assert_eq!(good_json(&tokenize(&["-p", "<|im_end|>", "--json"]))["ids"].as_array().unwrap().len(), 10);
    let o = golay_piped(&["tokenize", "-m", micro(), "-", "--json"], "a\0b");
    assert_eq!(good_json(&o), json!({"ids": [97, 0, 98]}));
    bad(&tokenize(&[]), 2, &["a text is missing"]);
    bad(&golay_with(["tokenize", "-m", &llama(), "-p", "x"]), 1, &["no tokenizer"]);
}

#[test]
fn text_of_ids() {
    let run = |more: &[&str]| golay_with(["detokenize", "-m", micro()].iter().chain(more));
    assert_eq!(good(&run(&["--ids", "104,105"])), "hi\n");
    assert_eq!(good_json(&run(&["--ids", "195,169,255", "--json"])), json!({"text": "é<|im_end|>"}));
    assert_eq!(good_json(&run(&["--ids", "195,169,255", "--json", "--skip-special"])), json!({"text": "é"}));
    bad(&run(&["--ids", "300"]), 1, &["300"]);
    bad(&run(&[]), 2, &["--ids"]);
}

#[test]
fn a_conversation_becomes_a_prompt() {
    let run = |input: &str, more: &[&str]| {
        let args: Vec<&str> = ["template", "-m", micro(), "-"].iter().chain(more).copied().collect();
        golay_piped(&args, input)
    };
    let hi = r#"[{"role": "user", "content": "hi"}]"#;
    assert_eq!(good(&run(hi, &[])), "<|im_start|>user\nhi<|im_end|>\n");
    let prompt = "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n";
    assert_eq!(good(&run(hi, &["--add-generation-prompt"])), prompt);
    let object = format!(r#"{{"messages": {hi}, "add_generation_prompt": true}}"#);
    assert_eq!(good(&run(&object, &[])), prompt);
    let v = good_json(&run(hi, &["--json"]));
    assert_eq!(v["rendered"], "<|im_start|>user\nhi<|im_end|>\n");
    assert_eq!(v["ids"], json!([254, 117, 115, 101, 114, 10, 104, 105, 255, 10]));
    for (input, word) in [
        (r#"[{"role": "user", "content": "\ud800"}]"#, "standard input"),
        (r#"[{"content": "x"}]"#, "role"),
        (r#"[{"role": "user", "content": 3}]"#, "content"),
        ("3", "list of messages"),
        ("", "standard input"),
        (r#"[{"role": "user", "content": "BAD"}]"#, "no BAD here"),
    ] {
        bad(&run(input, &[]), 1, &[word]);
    }
    // What a template says goes to people, not to their terminal.
    let said = bad(&run(r#"[{"role": "user", "content": "ESC"}]"#, &[]), 1, &["\\u{1b}[2Jcleared"]);
    assert!(!said.contains('\x1b'), "{said:?}");
    bad(&golay_with(["template", "-m", micro(), "nowhere.json"]), 1, &["nowhere.json"]);
}
