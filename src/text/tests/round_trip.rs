//! Byte-level tokenizers lose nothing, whatever the text.

use proptest::prelude::*;

use super::{PARSED, PLAIN, byte_level};
use crate::text::{PRE_NAMES, Tokenizer};

/// Text with what tokenizers trip over in it.
fn text() -> impl Strategy<Value = String> {
    let bits = prop_oneof![
        any::<String>(),
        "[ \t\r\n\u{a0}\u{3000}\u{2028}]{0,12}",
        "[0-9]{0,9}",
        "[A-Za-zÀ-ÿ'ſ]{0,9}",
        "[!-/:-@<|>_]{0,9}",
        "[一-鿿ぁ-ヿ가-힣]{0,5}",
        Just("<|im_end|>".to_owned()),
        Just("<note>".to_owned()),
        Just("👩‍👩‍👧 e\u{301}\0".to_owned()),
    ];
    proptest::collection::vec(bits, 0..8).prop_map(|parts| parts.concat())
}

#[test]
fn every_pre_tokenizer_keeps_every_text() {
    let merges = ["Ġ t", "Ġt h", "i n", "Ċ Ċ", "Ġ Ġ", "ĠĠ ĠĠ", "1 2", "ä ¸", "' s", "a b"];
    let rules: Vec<(&str, Tokenizer)> = PRE_NAMES
        .split(", ")
        .map(|name| (name.trim(), Tokenizer::from_gguf(&byte_level(name.trim(), &merges)).unwrap()))
        .collect();
    let normalises = |name: &str| ["qwen2", "qwen35", "command-r"].contains(&name);
    proptest!(ProptestConfig::with_cases(96), |(s in text())| {
        for (name, t) in rules.iter().filter(|(n, _)| !normalises(n)) {
            for options in [PLAIN, PARSED] {
                let ids = t.encode(&s, options).unwrap();
                prop_assert_eq!(&t.decode(&ids, false).unwrap(), &s, "{}", name);
                prop_assert!(options.parse_special || ids.iter().all(|id| !t.is_special(*id)));
            }
        }
        for (name, t) in rules.iter().filter(|(n, _)| normalises(n)) {
            // Once normalised, text stays as it is.
            let once = t.decode(&t.encode(&s, PLAIN).unwrap(), false).unwrap();
            let twice = t.decode(&t.encode(&once, PLAIN).unwrap(), false).unwrap();
            prop_assert_eq!(once, twice, "{}", name);
        }
    });
}

#[test]
fn streaming_gives_the_same_text() {
    let t = Tokenizer::from_gguf(&byte_level("llama-bpe", &["ð Ł", "Ġ Ġ"])).unwrap();
    proptest!(ProptestConfig::with_cases(64), |(s in text())| {
        let mut stream = t.stream_decoder(true);
        let mut out = String::new();
        for id in t.encode(&s, PLAIN).unwrap() {
            let part = stream.push(t.token_slice(id).unwrap());
            let broken = char::REPLACEMENT_CHARACTER;
            prop_assert!(s.contains(broken) || !part.contains(broken));
            out.push_str(&part);
        }
        out.push_str(&stream.finish());
        prop_assert_eq!(out, s);
    });
}

#[test]
fn long_runs_take_no_longer_than_their_length() {
    let t = Tokenizer::from_gguf(&byte_level("qwen2", &["Ġ Ġ", "a a", "aa aa"])).unwrap();
    for run in [" ", "a", "7", "\n", "<", "é"] {
        let text = run.repeat(60_000);
        let ids = t.encode(&text, PLAIN).unwrap();
        assert_eq!(t.decode(&ids, false).unwrap(), text);
    }
}
