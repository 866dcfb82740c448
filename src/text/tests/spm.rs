//! The SentencePiece engine against a slow reference, and the rules round it.

use std::collections::HashMap;

use proptest::prelude::*;
use serde_json::json;

use super::{PARSED, PLAIN, pieces, sentence};
use crate::format::{Metadata, Value};
use crate::text::{EncodeOptions, Tokenizer, gguf_metadata_from_json};

/// Merges as the definition says: look at all neighbours, join the best, start again.
fn slow(vocabulary: &[(&str, f32)], text: &str) -> Vec<String> {
    let score: HashMap<&str, f32> = vocabulary.iter().copied().collect();
    let mut symbols: Vec<String> = text.chars().map(String::from).collect();
    loop {
        let mut best: Option<(usize, f32)> = None;
        for at in 1..symbols.len() {
            let joined = format!("{}{}", symbols[at - 1], symbols[at]);
            if let Some(s) = score.get(joined.as_str())
                && best.is_none_or(|(_, b)| *s > b)
            {
                best = Some((at, *s));
            }
        }
        let Some((at, _)) = best else { break };
        let right = symbols.remove(at);
        symbols[at - 1].push_str(&right);
    }
    symbols
        .into_iter()
        .flat_map(|s| match score.contains_key(s.as_str()) {
            true => vec![s],
            false => s.bytes().map(|b| format!("<0x{b:02X}>")).collect(),
        })
        .collect()
}

const SMALL: [(&str, f32); 22] = [
    ("▁", -20.0),
    ("a", -21.0),
    ("b", -22.0),
    ("c", -23.0),
    ("é", -24.0),
    ("ab", -1.0),
    ("bc", -2.0),
    ("abc", -9.0),
    ("aa", -3.0),
    ("aaa", -3.0),
    ("aaaa", -1.5),
    ("▁a", -4.0),
    ("▁ab", -0.5),
    ("▁▁", -2.5),
    ("▁▁▁", -8.0),
    ("▁▁▁▁", -2.4),
    ("ca", -2.0),
    ("cab", -6.0),
    ("éa", -1.0),
    ("b▁", -7.0),
    ("bb", -5.0),
    ("bbbb", -4.0),
];

#[test]
fn same_as_the_definition() {
    let mut m = sentence(&SMALL);
    m.insert("tokenizer.ggml.add_space_prefix", Value::Bool(false));
    let t = Tokenizer::from_gguf(&m).unwrap();
    proptest!(ProptestConfig::with_cases(400), |(text in "[abcé ]{0,40}|[ab ]{0,60}|[abc éx🦙\n]{0,30}")| {
        let expected = slow(&SMALL, &text.replace(' ', "▁"));
        prop_assert_eq!(pieces(&t, &text, PLAIN), expected);
        prop_assert_eq!(t.decode(&t.encode(&text, PLAIN).unwrap(), false).unwrap(), text);
    });
}

#[test]
fn same_as_the_definition_for_any_scores() {
    proptest!(ProptestConfig::with_cases(200), |(
        scores in proptest::collection::vec(-4i8..0, SMALL.len()),
        text in "[abcé ]{0,40}",
    )| {
        // Few distinct scores: many ties.
        let vocabulary: Vec<_> =
            SMALL.iter().zip(&scores).map(|((p, _), s)| (*p, f32::from(*s))).collect();
        let mut m = sentence(&vocabulary);
        m.insert("tokenizer.ggml.add_space_prefix", Value::Bool(false));
        let t = Tokenizer::from_gguf(&m).unwrap();
        prop_assert_eq!(pieces(&t, &text, PLAIN), slow(&vocabulary, &text.replace(' ', "▁")));
    });
}

#[test]
fn unknown_characters_become_bytes() {
    // The kind of trial 11: a prefix space, an emoji in four bytes, the text after it.
    let t = Tokenizer::from_gguf(&sentence(&SMALL)).unwrap();
    let with_begin = EncodeOptions { parse_special: false, add_special: true };
    assert_eq!(
        pieces(&t, "ab 🦙c", with_begin),
        ["<s>", "▁ab", "▁", "<0xF0>", "<0x9F>", "<0xA6>", "<0x99>", "c"]
    );
    assert_eq!(t.decode(&t.encode("ab 🦙c", PLAIN).unwrap(), false).unwrap(), "ab 🦙c");
    assert!(t.add_bos() && !t.add_eos());
    assert_eq!((t.bos(), t.eos(), t.stop_ids()), (Some(1), Some(2), &[2][..]));
    // Spelled-out byte tokens and control tokens are text when typed.
    let typed = t.encode("<0x41></s><unk>", PLAIN).unwrap();
    assert!(typed.iter().all(|id| !t.is_special(*id)));
    assert_eq!(t.decode(&typed, false).unwrap(), "<0x41></s><unk>");
    assert_eq!(pieces(&t, "a</s>", PARSED), ["▁a", "</s>"]);
}

#[test]
fn reserved_pieces_are_taken_apart() {
    let mut m =
        sentence(&[("▁", -9.0), ("a", -9.0), ("b", -9.0), ("ab", -1.0), ("abab", -2.0), ("ababab", -3.0)]);
    let mut kinds: Vec<i32> =
        m.ints("tokenizer.ggml.token_type").unwrap().unwrap().iter().map(|k| *k as i32).collect();
    let last = kinds.len() - 2;
    kinds[last] = 5;
    m.insert("tokenizer.ggml.token_type", super::types(kinds));
    m.insert("tokenizer.ggml.add_space_prefix", Value::Bool(false));
    let t = Tokenizer::from_gguf(&m).unwrap();
    assert_eq!(pieces(&t, "abab", PLAIN), ["ab", "ab"]);
    assert_eq!(pieces(&t, "ababab", PLAIN), ["ababab"]);
}

/// A Llama-like `tokenizer.json`: merges in an order of their own, spaces by the legacy rule.
fn llama_json() -> Vec<u8> {
    let merges = ["a b", "▁ ab", "▁ ▁", "a a", "aa aa", "▁ a", "b c", "▁▁ ▁▁"];
    let mut vocabulary = serde_json::Map::new();
    for text in ["<unk>", "<s>", "</s>"] {
        vocabulary.insert(text.into(), json!(vocabulary.len()));
    }
    for b in 0..=255u8 {
        vocabulary.insert(format!("<0x{b:02X}>"), json!(vocabulary.len()));
    }
    for text in ["▁", "a", "b", "c", "é"] {
        vocabulary.insert(text.into(), json!(vocabulary.len()));
    }
    for merge in merges {
        vocabulary.insert(merge.replace(' ', ""), json!(vocabulary.len()));
    }
    let special = |id: u32, text: &str| {
        json!({"id": id, "content": text, "special": true, "normalized": false, "single_word": false,
               "lstrip": false, "rstrip": false})
    };
    json!({
        "added_tokens": [special(0, "<unk>"), special(1, "<s>"), special(2, "</s>")],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
        "post_processor": {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
            {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true,
            "vocab": vocabulary, "merges": merges},
    })
    .to_string()
    .into_bytes()
}

#[test]
fn spaces_round_special_tokens_as_hugging_face_has_them() {
    // Trial 13: the vocabulary as HF reads it, and the same vocabulary inside a GGUF.
    let file = llama_json();
    let config = json!({"bos_token": "<s>", "eos_token": {"content": "</s>"}});
    let hf = Tokenizer::from_json(&file, Some(&config), None, None).unwrap();
    let oracle = tokenizers::Tokenizer::from_bytes(&file).unwrap();
    let mut m = Metadata::default();
    for (key, value) in gguf_metadata_from_json(&file, Some(&config), None, None).unwrap() {
        m.insert(key, value);
    }
    let gguf = Tokenizer::from_gguf(&m).unwrap();
    let texts = [
        "ab</s> ab",
        "ab</s>ab",
        " ab</s>  ab ",
        "</s>",
        " </s> ",
        "<s></s> a",
        "é🦙 </s>\n ab",
        "",
        " ",
        "a  b",
        "aaaa aaaaa abc",
    ];
    for text in texts {
        let expected = oracle.encode(text, false).unwrap().get_ids().to_vec();
        assert_eq!(hf.encode(text, PARSED).unwrap(), expected, "{text:?}");
        assert_eq!(gguf.encode(text, PARSED).unwrap(), expected, "{text:?}");
        let with_begin = EncodeOptions { parse_special: true, add_special: true };
        let expected = oracle.encode(text, true).unwrap().get_ids().to_vec();
        assert_eq!(hf.encode(text, with_begin).unwrap(), expected);
        assert_eq!(gguf.encode(text, with_begin).unwrap(), expected);
        for t in [&hf, &gguf] {
            assert_eq!(
                t.decode(&expected, true).unwrap(),
                oracle.decode(&expected, true).unwrap(),
                "{text:?}"
            );
            assert_eq!(t.decode(&expected, false).unwrap(), oracle.decode(&expected, false).unwrap());
        }
    }
    assert_eq!(pieces(&gguf, "ab</s> ab", PARSED), ["▁ab", "</s>", "▁", "▁ab"]);
    for t in [&hf, &gguf] {
        assert_eq!((t.bos(), t.eos(), t.add_bos(), t.add_eos()), (Some(1), Some(2), true, false));
        assert!(t.strips_leading_space());
    }
}

#[test]
fn the_first_space_of_a_stream() {
    let t = Tokenizer::from_gguf(&sentence(&SMALL)).unwrap();
    let ids = t.encode("ab  a", PLAIN).unwrap();
    let stream = |at_start: bool| {
        let mut d = t.stream_decoder(at_start);
        ids.iter().map(|id| d.push(t.token_slice(*id).unwrap())).collect::<String>() + &d.finish()
    };
    assert_eq!(stream(true), "ab  a");
    assert_eq!(stream(false), " ab  a");
}
