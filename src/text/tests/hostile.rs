//! Files that are wrong: every one is refused with a message that names the place.

use serde_json::{Value as Json, json};

use super::{byte_level, sentence, shared_dir, strings, types};
use crate::format::{Array, Metadata, Value};
use crate::text::{Tokenizer, gguf_metadata_from_json};

fn refusal(m: &Metadata) -> String {
    Tokenizer::from_gguf(m).unwrap_err().to_string()
}

#[test]
fn scores_of_the_wrong_type_or_count() {
    // Trial 4.
    let mut m = sentence(&[("a", -1.0)]);
    m.insert("tokenizer.ggml.scores", Value::Array(Array::U8(vec![0; 260])));
    assert!(refusal(&m).contains("tokenizer.ggml.scores"), "{}", refusal(&m));
    m.insert("tokenizer.ggml.scores", Value::Array(Array::F32(vec![0.0; 259])));
    let e = refusal(&m);
    assert!(e.contains("tokenizer.ggml.scores") && e.contains("260") && e.contains("259"), "{e}");
    m.insert("tokenizer.ggml.scores", Value::Array(Array::F32(vec![f32::NAN; 260])));
    assert!(refusal(&m).contains("not a number"));
    m.insert("tokenizer.ggml.token_type", types([1, 1]));
    assert!(refusal(&m).contains("tokenizer.ggml.token_type"));
}

#[test]
fn malformed_and_missing_byte_tokens() {
    for bad in ["<0xZZ>", "<0x1>", "<0x123>", "0x12", "<0xé>"] {
        let mut m = sentence(&[]);
        let mut tokens = m.strings("tokenizer.ggml.tokens").unwrap().unwrap().to_vec();
        tokens[20] = bad.into();
        m.insert("tokenizer.ggml.tokens", strings(tokens));
        let e = refusal(&m);
        assert!(e.contains(bad) && e.contains("20"), "{e}");
    }
    let mut m = sentence(&[]);
    let mut tokens = m.strings("tokenizer.ggml.tokens").unwrap().unwrap().to_vec();
    let mut kinds = vec![2, 3, 3];
    kinds.extend([6; 256]);
    tokens[3 + 0x80] = "x".into();
    kinds[3 + 0x80] = 1;
    m.insert("tokenizer.ggml.tokens", strings(tokens));
    m.insert("tokenizer.ggml.token_type", types(kinds));
    assert!(refusal(&m).contains("<0x80>"), "{}", refusal(&m));
}

#[test]
fn merges_that_the_vocabulary_lacks() {
    for (bad, named) in
        [("a b", "ab"), ("zz y", "zz"), ("y zz", "zz"), ("ab", "ab"), ("a b c", "a b c"), (" a", " a")]
    {
        let mut m = byte_level("gpt-2", &["c d"]);
        m.insert("tokenizer.ggml.merges", strings(["c d", bad]));
        let e = refusal(&m);
        assert!(e.contains("merge 1") && e.contains(named), "{bad}: {e}");
    }
    // Longer than any token: the crate alone would panic.
    let mut m = byte_level("gpt-2", &["c d"]);
    m.insert("tokenizer.ggml.merges", strings(["<|im_start|> <|im_start|>"]));
    assert!(Tokenizer::from_gguf(&m).is_err());
    m.insert("tokenizer.ggml.merges", types([1]));
    assert!(refusal(&m).contains("tokenizer.ggml.merges"));
}

#[test]
fn other_refusals() {
    let mut m = byte_level("martian", &[]);
    let e = refusal(&m);
    assert!(e.contains("martian") && e.contains("llama-bpe"), "{e}");
    m.insert("tokenizer.ggml.model", Value::String("t5".into()));
    assert!(refusal(&m).contains("t5"));
    m.insert("tokenizer.ggml.model", Value::U32(1));
    assert!(refusal(&m).contains("tokenizer.ggml.model"));
    assert!(refusal(&Metadata::default()).contains("tokenizer.ggml.model"));
    let mut m = byte_level("gpt-2", &[]);
    m.insert("tokenizer.ggml.tokens", strings(Vec::<String>::new()));
    assert!(refusal(&m).contains("tokenizer.ggml.tokens"));
    let mut m = byte_level("gpt-2", &["a b", "a b"]);
    assert!(refusal(&m).contains("same text as token 260"), "{}", refusal(&m));
    m.insert("tokenizer.ggml.token_type", types(vec![9; 262]));
    assert!(refusal(&m).contains("token type 9"));
}

fn bpe_json(change: impl FnOnce(&mut Json)) -> Result<Tokenizer, String> {
    let mut file = json!({
        "added_tokens": [{"id": 5, "content": "<e>", "special": true}],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4}, "merges": ["a b", ["ab", "c"]]}
    });
    change(&mut file);
    Tokenizer::from_json(file.to_string().as_bytes(), None, None, None).map_err(|e| e.to_string())
}

#[test]
fn tokenizer_json_that_is_wrong() {
    assert_eq!(bpe_json(|_| ()).unwrap().encode("abc", super::PLAIN).unwrap(), [4]);
    type Change = fn(&mut Json);
    let cases: [(Change, &str); 22] = [
        (
            |f| f["normalizer"] = json!({"type": "Replace", "pattern": {"String": ""}, "content": "b"}),
            "`normalizer.pattern`",
        ),
        (
            |f| {
                let replace = json!({"type": "Replace", "pattern": {"Regex": ""}, "content": ""});
                f["normalizer"] = json!({"type": "Sequence", "normalizers": [{"type": "NFC"}, replace]});
            },
            "`normalizer.normalizers[1].pattern`",
        ),
        (
            |f| {
                let split = json!({"type": "Split", "pattern": {"String": ""}, "behavior": "Isolated", "invert": false});
                f["pre_tokenizer"] = json!({"type": "Sequence", "pretokenizers": [split]});
            },
            "`pre_tokenizer.pretokenizers[0].pattern`",
        ),
        (|f| f["model"]["vocab"]["x"] = json!(2), "token 2 `x`: the same id as token `c`"),
        (|f| f["added_tokens"][0]["id"] = json!(2), "token 2 `<e>`: the same id as token `c`"),
        (
            |f| {
                let more = json!({"id": 5, "content": "<f>", "special": true});
                f["added_tokens"] = json!([f["added_tokens"][0].clone(), more]);
            },
            "token 5 `<f>`: the same id as token `<e>`",
        ),
        (
            |f| {
                let twice = json!({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"});
                f["normalizer"] = json!({"type": "Sequence", "normalizers": vec![twice; 40]});
            },
            "normalizer",
        ),
        (|f| f["normalizer"] = json!({"type": "Prepend", "prepend": "x".repeat(1_000_000)}), "normalizer"),
        (|f| f["model"]["merges"] = json!(["a b", "ab zz"]), "merge 1"),
        (|f| f["model"]["merges"] = json!(["a b", "abc abc"]), "merge 1"),
        (|f| f["model"]["merges"] = json!(["a"]), "merge 0"),
        (|f| f["model"]["merges"] = json!([["a", "b", "c"]]), "more than two"),
        (|f| f["model"]["type"] = json!("WordPiece"), "WordPiece"),
        (|f| f["model"] = json!({"type": "Unigram", "vocab": [["a", 0.0]]}), "Unigram"),
        (|f| f["model"]["vocab"] = json!({}), "vocab"),
        (|f| f["model"]["vocab"]["x"] = json!(4_000_000_000u32), "far above"),
        (|f| f["model"]["vocab"]["x"] = json!(-1), "tokenizer.json"),
        (|f| f["model"]["vocab"]["x"] = json!("1"), "tokenizer.json"),
        (|f| f["model"]["continuing_subword_prefix"] = json!("é"), "continuing_subword_prefix"),
        (|f| f["normalizer"] = json!({"type": "Precompiled", "precompiled_charsmap": "AAAA"}), "Precompiled"),
        (
            |f| f["pre_tokenizer"] = json!({"type": "Sequence", "pretokenizers": [{"type": "FixedLength"}]}),
            "FixedLength",
        ),
        (
            |f| {
                f["pre_tokenizer"] = json!({"type": "Split", "pattern": {"Regex": "(("}, "behavior": "Isolated", "invert": false})
            },
            "pre_tokenizer",
        ),
    ];
    for (at, (change, named)) in cases.into_iter().enumerate() {
        let e = bpe_json(change).unwrap_err();
        assert!(e.contains(named), "case {at}: {e}");
    }
    for bytes in [&b""[..], b"{}", b"[]", b"\xff", b"{\"model\":{\"vocab\":{\"a\":0}}"] {
        assert!(Tokenizer::from_json(bytes, None, None, None).is_err());
        assert!(gguf_metadata_from_json(bytes, None, None, None).is_err());
    }
    let deep = "[".repeat(100_000);
    assert!(Tokenizer::from_json(deep.as_bytes(), None, None, None).is_err());
}

#[test]
fn patterns_that_match_nothing_are_survived() {
    for (pattern, text) in [("x*", "abc"), ("(?:)", "abc"), ("(?=b)", "aabc"), ("$", "é")] {
        let normalizer = bpe_json(|f| {
            f["normalizer"] = json!({"type": "Replace", "pattern": {"Regex": pattern}, "content": "b"});
        });
        let split = bpe_json(|f| {
            f["pre_tokenizer"] = json!({"type": "Sequence", "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false},
                {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]});
        });
        for t in [normalizer, split].into_iter().flatten() {
            // An answer or an error, never a panic.
            let _ = t.encode(text, super::PLAIN);
        }
    }
}

#[test]
fn strange_added_tokens_do_not_panic() {
    let t = bpe_json(|f| {
        f["added_tokens"] = json!([
            {"id": 5, "content": "<e>", "special": true, "rstrip": true, "lstrip": true},
            {"id": 6, "content": "  ", "lstrip": true, "rstrip": true},
            {"id": 7, "content": " x", "lstrip": true, "single_word": true},
            {"id": 8, "content": "", "special": true},
            {"id": 9, "content": "<e>", "special": false},
        ]);
    });
    let t = t.unwrap();
    for text in ["<e>   <e>  x x<e> x", "  <e>", "<e>  ", "\u{3000}<e>\u{3000} \u{3000}x", "    "] {
        t.encode(text, super::PARSED).unwrap();
        t.encode(text, super::PLAIN).unwrap();
    }
}

#[test]
fn cut_and_flipped_tokenizer_files() {
    let Some(shared) = shared_dir() else { return };
    let bytes = std::fs::read(shared.join("models/tiny-hybrid/tokenizer.json")).unwrap();
    let mut state = 1u64;
    for round in 0..40 {
        let mut broken = bytes.clone();
        for _ in 0..1 + round % 5 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (state >> 33) as usize % broken.len();
            broken[at] = (state >> 20) as u8;
        }
        if round % 4 == 0 {
            broken.truncate((state >> 13) as usize % bytes.len());
        }
        if let Ok(t) = Tokenizer::from_json(&broken, None, None, None) {
            let _ = t.encode("a <|im_end|> b", super::PARSED);
        }
    }
}
