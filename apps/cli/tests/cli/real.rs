//! SmolLM2 through the program: goldens of text, and that it answers.

use crate::support::{device, golay_piped, golay_with, good, good_json, shared_dir, smollm2};
use serde_json::{Value, json};

fn goldens(name: &str) -> Option<Vec<Value>> {
    let path = shared_dir()?.join("goldens/smollm2").join(name);
    let all: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    all.as_array().cloned()
}

#[test]
fn tokenization_is_the_goldens() {
    let (Some(model), Some(cases)) = (smollm2(), goldens("tokenization.json")) else { return };
    for c in cases {
        let args = ["tokenize", "-m", &model, "-", "--special", "--json"];
        let got = good_json(&golay_piped(&args, c["text"].as_str().unwrap()));
        assert_eq!(got["ids"], c["ids"], "{}", c["text"]);
        let ids: Vec<String> = c["ids"].as_array().unwrap().iter().map(Value::to_string).collect();
        let back = good_json(&golay_with(["detokenize", "-m", &model, "--json", "--ids", &ids.join(",")]));
        assert_eq!(back["text"], c["decoded"], "{}", c["text"]);
    }
}

#[test]
fn templates_are_the_goldens() {
    let (Some(model), Some(cases)) = (smollm2(), goldens("chat_template.json")) else { return };
    for c in cases {
        let input = json!({"messages": c["messages"], "add_generation_prompt": c["add_generation_prompt"]})
            .to_string();
        let args = ["template", "-m", &model, "-"];
        let rendered = good(&golay_piped(&args, &input));
        assert_eq!(rendered, c["rendered"].as_str().unwrap());
        let got = good_json(&golay_piped(&["tokenize", "-m", &model, "-", "--special", "--json"], &rendered));
        assert_eq!(got["ids"], c["ids"], "{input}");
        // The reference takes a control token in a message for one; here it stays the text that was typed.
        let got = good_json(&golay_piped(&[&args[..], &["--json"]].concat(), &input));
        assert_eq!(got["ids"] == c["ids"], !c["messages"].to_string().contains("<|"), "{input}");
    }
}

#[test]
fn it_answers() {
    let Some(model) = smollm2() else { return };
    if !device() {
        return;
    }
    let o =
        golay_with(["run", "-m", &model, "--chat", "-p", "What is gravity?", "-n", "8", "--temp", "0", "-q"]);
    assert_eq!(good(&o), "Gravity is a fundamental concept in physics\n");
}

#[test]
fn memory_stays_near_the_size_of_the_file() {
    let Some(model) = smollm2() else { return };
    if !device() {
        return;
    }
    let got =
        good_json(&golay_with(["run", "-m", &model, "-p", "Once upon a time", "-n", "8", "--json", "-q"]));
    let Some(peak) = got["peak_host_bytes"].as_u64() else {
        return println!("skipped: this system does not tell a process's peak memory");
    };
    let file = std::fs::metadata(&model).unwrap().len();
    println!("peak {} MiB for a file of {} MiB", peak >> 20, file >> 20);
    assert!(peak < file + (300 << 20), "{peak} bytes for a file of {file}");
}
