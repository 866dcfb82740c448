//! What the vocabulary inside a GGUF means: control tokens, digits, normal forms, roles.

use serde_json::json;

use super::{PARSED, PLAIN, byte_level, pieces};
use crate::format::Value;
use crate::text::{EncodeOptions, TokenKind, Tokenizer};

#[test]
fn digits_in_threes_or_one_by_one() {
    // Trial 14, with a vocabulary that joins digits where it is let.
    let merges = ["1 2", "4 5", "12 3", "45 6", "123 456", "6 7"];
    let cut = |pre| pieces(&Tokenizer::from_gguf(&byte_level(pre, &merges)).unwrap(), "1234567", PLAIN);
    assert_eq!(cut("llama-bpe"), ["123", "456", "7"]);
    assert_eq!(cut("qwen2"), ["1", "2", "3", "4", "5", "6", "7"]);
    assert_eq!(cut("smollm"), ["1", "2", "3", "4", "5", "6", "7"]);
    assert_eq!(cut("tekken"), ["1", "2", "3", "4", "5", "6", "7"]);
    assert_eq!(cut("deepseek-v3"), ["123", "456", "7"]);
    assert_eq!(cut("gpt-2"), ["123456", "7"]);
}

#[test]
fn what_a_person_types_is_text() {
    // Trial 15, with merges that would rebuild the control token from its characters.
    let spelled = ["i m", "im _", "im_ e", "im_e n", "im_en d", "< |"];
    for pre in ["qwen2", "llama-bpe", "gpt-4o", "smollm"] {
        let t = Tokenizer::from_gguf(&byte_level(pre, &spelled)).unwrap();
        let text = "a<|im_end|>b<note>";
        assert_eq!(pieces(&t, text, PARSED), ["a", "<|im_end|>", "b", "<note>"]);
        let typed = t.encode(text, PLAIN).unwrap();
        assert!(typed.iter().all(|id| !t.is_special(*id)), "{typed:?}");
        assert_eq!(t.decode(&typed, true).unwrap(), text);
        // The user-defined one is text, and stays whole.
        assert_eq!(typed.last(), Some(&3));
    }
}

#[test]
fn a_merge_cannot_make_a_control_token() {
    let mut m = byte_level("gpt-2", &["< |", "<| e"]);
    let mut tokens = m.strings("tokenizer.ggml.tokens").unwrap().unwrap().to_vec();
    let kinds = m.ints("tokenizer.ggml.token_type").unwrap().unwrap();
    let mut kinds: Vec<i32> = kinds.into_iter().map(|k| k as i32).collect();
    // The last merge's result is a control token of this vocabulary.
    *kinds.last_mut().unwrap() = 3;
    tokens.push("<|e|".into());
    kinds.push(1);
    m.insert("tokenizer.ggml.tokens", super::strings(tokens));
    m.insert("tokenizer.ggml.token_type", super::types(kinds));
    let t = Tokenizer::from_gguf(&m).unwrap();
    assert_eq!(pieces(&t, "<|e", PLAIN), ["<|", "e"]);
    assert_eq!(pieces(&t, "<|e", PARSED), ["<|e"]);
}

#[test]
fn normal_forms_and_nul() {
    // Trial 15: both forms of é survive; where the tokenizer normalises, they are one.
    let (nfc, nfd) = ("\u{e9}", "e\u{301}");
    let keeps = Tokenizer::from_gguf(&byte_level("llama-bpe", &[])).unwrap();
    for text in [nfc, nfd, "a\0b", "\0"] {
        let ids = keeps.encode(text, PLAIN).unwrap();
        assert_eq!(keeps.decode(&ids, false).unwrap(), text);
    }
    let joins = Tokenizer::from_gguf(&byte_level("qwen2", &[])).unwrap();
    assert_eq!(joins.encode(nfc, PLAIN).unwrap(), joins.encode(nfd, PLAIN).unwrap());
}

#[test]
fn begin_and_end() {
    let both = EncodeOptions { parse_special: false, add_special: true };
    // The name of the pre-tokenizer decides when the file is silent.
    let silent = Tokenizer::from_gguf(&byte_level("llama-bpe", &[])).unwrap();
    assert!(silent.add_bos());
    assert_eq!(pieces(&silent, "a", both), ["<|begin|>", "a"]);
    let silent = Tokenizer::from_gguf(&byte_level("qwen2", &[])).unwrap();
    assert!(!silent.add_bos());
    let mut m = byte_level("qwen2", &[]);
    m.insert("tokenizer.ggml.add_bos_token", Value::Bool(true));
    m.insert("tokenizer.ggml.add_eos_token", Value::Bool(true));
    let t = Tokenizer::from_gguf(&m).unwrap();
    assert_eq!(pieces(&t, "a", both), ["<|begin|>", "a", "<|im_end|>"]);
    assert_eq!(pieces(&t, "a", PLAIN), ["a"]);
    assert_eq!(pieces(&t, "", both), ["<|begin|>", "<|im_end|>"]);
    assert_eq!((t.bos(), t.eos(), t.stop_ids()), (Some(0), Some(2), &[2][..]));
    // A role outside the vocabulary (some files write -1) is no role.
    m.insert("tokenizer.ggml.bos_token_id", Value::U32(u32::MAX));
    assert_eq!(Tokenizer::from_gguf(&m).unwrap().bos(), None);
}

#[test]
fn ids_and_kinds_are_checked() {
    let t = Tokenizer::from_gguf(&byte_level("gpt-2", &["a b"])).unwrap();
    let size = t.vocab_size() as u32;
    assert_eq!(size, 261);
    for id in [size, u32::MAX] {
        assert!(t.token_bytes(id).unwrap_err().to_string().contains(&id.to_string()));
        assert!(t.token_text(id).is_err() && t.decode(&[4, id], false).is_err());
        assert!(!t.is_special(id));
        assert_eq!(t.token_kind(id), TokenKind::Missing);
    }
    assert_eq!(t.token_kind(3), TokenKind::UserDefined);
    assert_eq!(t.token_id("ab"), Some(260));
    assert_eq!(t.token_id("<|im_end|>"), Some(2));
    assert_eq!(t.token_bytes(4 + 0xF0).unwrap(), [0xF0]);
    // Half a character is U+FFFD only in the one-shot decoding.
    assert_eq!(t.decode(&[4 + 0xF0, 4 + 0x9F], false).unwrap(), "\u{FFFD}");
    assert_eq!(t.decode(&[1, 260, 2], true).unwrap(), "ab");
}

#[test]
fn harmony_does_not_stop_at_the_end_of_a_message() {
    let mut m = byte_level("gpt-4o", &[]);
    let mut tokens = m.strings("tokenizer.ggml.tokens").unwrap().unwrap().to_vec();
    for (at, name) in ["<|return|>", "<|end|>", "<|call|>"].iter().enumerate() {
        tokens[at] = (*name).into();
    }
    m.insert("tokenizer.ggml.tokens", super::strings(tokens.clone()));
    m.insert("tokenizer.ggml.eos_token_id", Value::U32(0));
    assert_eq!(Tokenizer::from_gguf(&m).unwrap().stop_ids(), [0, 2]);
    tokens[2] = "<|other|>".into();
    m.insert("tokenizer.ggml.tokens", super::strings(tokens));
    assert_eq!(Tokenizer::from_gguf(&m).unwrap().stop_ids(), [0, 1]);
}

#[test]
fn turn_tokens_round_a_text() {
    // The kind of trial 12: a begin token, a user token, text with digits apart, an end token.
    let t = Tokenizer::from_gguf(&byte_level("command-r", &["H i", "Ġ w", "1 2"])).unwrap();
    let options = EncodeOptions { parse_special: true, add_special: true };
    let text = "<|im_start|>Hi w12<|im_end|>";
    assert_eq!(pieces(&t, text, options), ["<|im_start|>", "Hi", "Ġw", "1", "2", "<|im_end|>"]);
    assert_eq!(t.decode(&t.encode(text, options).unwrap(), true).unwrap(), "Hi w12");
}

#[test]
fn roles_from_the_files_beside_tokenizer_json() {
    let special = |id: u32, text: &str, special: bool| json!({"id": id, "content": text, "special": special});
    let file = json!({
        "added_tokens": [special(3, "<b>", true), special(4, "<e>", true), special(5, "<|eot_id|>", false),
                         special(6, "<note>", false)],
        "post_processor": {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<b>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [], "special_tokens": {"<b>": {"id": "<b>", "ids": [3], "tokens": ["<b>"]}}},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}
    })
    .to_string();
    let generation = json!({"eos_token_id": [4, 1, 99]});
    let read = |tokenizer_config: serde_json::Value| {
        Tokenizer::from_json(file.as_bytes(), Some(&tokenizer_config), Some(&generation), None).unwrap()
    };
    let both = EncodeOptions { parse_special: false, add_special: true };
    let t = read(json!({"bos_token": "<b>", "eos_token": {"content": "<e>"}}));
    assert_eq!((t.bos(), t.eos(), t.add_bos(), t.add_eos()), (Some(3), Some(4), true, false));
    // 99 is no token; 5 has a well-known name, so nobody can type it though the file calls it text.
    assert_eq!(t.stop_ids(), [1, 4, 5]);
    assert_eq!(t.encode("ab", both).unwrap(), [3, 2]);
    assert!(!t.encode("<|eot_id|><note>", PLAIN).unwrap().contains(&5));
    assert_eq!(t.encode("<|eot_id|><note>", PARSED).unwrap(), [5, 6]);
    assert_eq!(t.vocab_size(), 7);
    let t =
        read(json!({"bos_token": "<b>", "eos_token": "<e>", "add_bos_token": false, "add_eos_token": true}));
    assert_eq!(t.encode("ab", both).unwrap(), [2, 4]);
    assert!(!t.add_bos() && t.add_eos());
    // The model's own config is the last resort.
    let config = json!({"text_config": {"bos_token_id": 3, "eos_token_id": [4, 5]}});
    let t = Tokenizer::from_json(file.as_bytes(), None, None, Some(&config)).unwrap();
    assert_eq!((t.bos(), t.eos(), t.stop_ids()), (Some(3), Some(4), &[4, 5][..]));
}
