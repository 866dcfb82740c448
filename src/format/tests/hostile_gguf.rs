//! GGUF files with a wrong header or wrong metadata (trials 1, 2, 5, 6 and more). All are refused.

use super::build::*;
use crate::format::Gguf;

const HUGE: u64 = 1 << 63;

fn check(case: &str, bytes: Vec<u8>, parts: &[&str]) -> String {
    refused(case, bytes.len(), &[&["hostile.gguf"], parts].concat(), || {
        Gguf::from_bytes("hostile.gguf", bytes.clone())
    })
}

#[test]
fn counts_beyond_the_file() {
    let file = RawGguf::default;
    check("pairs", RawGguf { n_pairs: Some(HUGE), ..file() }.bytes(), &["metadata pairs"]);
    check("tensors", RawGguf { n_tensors: Some(HUGE), ..file() }.bytes(), &["tensors"]);
    check("both", RawGguf { n_tensors: Some(u64::MAX), n_pairs: Some(u64::MAX), ..file() }.bytes(), &[]);
    check("one pair too many", RawGguf { n_pairs: Some(1), ..file() }.bytes(), &["metadata pairs"]);
    for type_id in [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12] {
        for count in [HUGE, u64::MAX, u64::MAX / 8 + 1, 1 << 40, 2] {
            let bytes = RawGguf::pairs([pair_array("a.b", type_id, count, &[])]).bytes();
            check(&format!("array of {count} of type {type_id}"), bytes, &["a.b", "are left"]);
        }
    }
    // There is room for the count, but no model is like that.
    let many = RawGguf { n_pairs: Some(2_000_000), data: 30_000_000, ..file() }.bytes();
    check("many pairs", many, &["at most 1048576"]);
}

#[test]
fn strings_beyond_the_file() {
    for len in [HUGE, u64::MAX, 1 << 32, 100] {
        let key = [&len.to_le_bytes()[..], b"abcdefgh"].concat();
        check("key", RawGguf::pairs([key]).bytes(), &["metadata key 0", "are left"]);
        let value = [&len.to_le_bytes()[..], b"xyz"].concat();
        check("value", RawGguf::pairs([pair("k", 8, &value)]).bytes(), &["\"k\"", "are left"]);
        let mut elements = string("good");
        elements.extend(&value);
        let bytes = RawGguf::pairs([pair_array("toks", 8, 2, &elements)]).bytes();
        check("element", bytes, &["element 1", "toks", "are left"]);
        let mut name = len.to_le_bytes().to_vec();
        name.extend([0; 40]);
        check("tensor", RawGguf { infos: vec![name], ..RawGguf::default() }.bytes(), &["name of tensor 0"]);
    }
}

#[test]
fn alignments() {
    let of = |payload: &[u8], type_id| RawGguf::pairs([pair("general.alignment", type_id, payload)]).bytes();
    let zero = check("0", of(&0u32.to_le_bytes(), 4), &["general.alignment is 0; expected at least 8"]);
    let three = check("3", of(&3u32.to_le_bytes(), 4), &["is 3; expected a power of two"]);
    let big = check("2^30", of(&(1u32 << 30).to_le_bytes(), 4), &["1073741824", "at most 1 MiB"]);
    check("4", of(&4u32.to_le_bytes(), 4), &["is 4; expected a multiple of 8"]);
    check("24", of(&24u32.to_le_bytes(), 4), &["power of two"]);
    let bytes = of(&32i32.to_le_bytes(), 5);
    let signed = refused("i32", 100, &["general.alignment", "expected U32", "found I32"], || {
        Gguf::from_bytes("hostile.gguf", bytes.clone())
    });
    let all = [zero, three, big, signed];
    assert!((1..4).all(|i| !all[..i].contains(&all[i])), "{all:?}");
    for good in [8u32, 32, 64, 4096, 1 << 20] {
        let mut file = RawGguf::pairs([pair_u32("general.alignment", good)]);
        file.infos = vec![info("t", &[2], 0, 0)];
        (file.data, file.align) = (8, good as usize);
        let read = Gguf::from_bytes("good.gguf", file.bytes()).unwrap();
        assert_eq!(read.tensors.get("t").unwrap().offset % u64::from(good), 0);
    }
}

#[test]
fn versions_and_byte_order() {
    let version = |version| RawGguf { version, ..RawGguf::default() }.bytes();
    check("v1", version(1), &["unsupported version", "found 1"]);
    check("v0", version(0), &["unsupported version", "found 0"]);
    check("v4", version(4), &["unsupported version", "found 4"]);
    let swapped = check("big-endian", version(3u32.swap_bytes()), &["unsupported byte order", "version 3"]);
    assert!(!swapped.contains("magic"));
    let turned = RawGguf { magic: *b"FUGG", version: 3u32.swap_bytes(), ..RawGguf::default() };
    check("big-endian with its magic turned", turned.bytes(), &["unsupported byte order", "version 3"]);
    for version in [2, 3] {
        let file = RawGguf { version, ..RawGguf::pairs([pair_u32("n", 7)]) };
        let read = Gguf::from_bytes("good.gguf", file.bytes()).unwrap();
        assert_eq!((read.version, read.metadata.u64("n").unwrap()), (version, Some(7)));
    }
}

#[test]
fn not_a_gguf() {
    check("empty", Vec::new(), &["bad magic", "found nothing"]);
    check("short", b"GG".to_vec(), &["bad magic", "47 47"]);
    check("zip", b"PK\x03\x04 and so on".to_vec(), &["bad magic", "50 4b 03 04"]);
    check("only the magic", b"GGUF".to_vec(), &["version", "are left"]);
}

#[test]
fn every_truncation_is_refused() {
    let mut file = RawGguf::pairs([
        pair_u32("a", 1),
        pair("b", 8, &string("text")),
        pair_array("c", 8, 2, &[string("x"), string("yz")].concat()),
        pair_array("d", 6, 3, &[0; 12]),
    ]);
    file.infos = vec![info("t", &[4, 2], 0, 0), info("u", &[8], 1, 32)];
    file.data = 32 + 16;
    let whole = file.bytes();
    Gguf::from_bytes("whole.gguf", whole.clone()).unwrap();
    for n in 0..whole.len() {
        check(&format!("first {n} bytes"), whole[..n].to_vec(), &[]);
    }
}

#[test]
fn keys_and_values() {
    let twice = RawGguf::pairs([pair_u32("same", 1), pair_u32("other", 1), pair_u32("same", 2)]);
    check("duplicate key", twice.bytes(), &["duplicate key", "same"]);
    check("key of bytes", RawGguf::pairs([pair(b"\xff\xfe", 4, &[0; 4])]).bytes(), &["key 0", "not UTF-8"]);
    let bad_value = RawGguf::pairs([pair("name", 8, &string(b"a\xc3"))]);
    check("value of bytes", bad_value.bytes(), &["name", "not UTF-8"]);
    let tokens = [string("a"), string(b"\xf0\x9f")].concat();
    let bad_token = RawGguf::pairs([pair_array("tokenizer.ggml.tokens", 8, 2, &tokens)]);
    check("token of bytes", bad_token.bytes(), &["element 1", "tokenizer.ggml.tokens", "not UTF-8"]);
    check("bool 2", RawGguf::pairs([pair("flag", 7, &[2])]).bytes(), &["flag", "is 2", "0 or 1"]);
    let bools = RawGguf::pairs([pair_array("flags", 7, 3, &[0, 1, 255])]);
    check("bool 255", bools.bytes(), &["element 2", "flags", "is 255"]);
    for id in [13, 9999, u32::MAX] {
        let known = ["type of \"k\"", "0 to 12"];
        check("type id", RawGguf::pairs([pair("k", id, &[0; 16])]).bytes(), &known);
        let array = RawGguf::pairs([pair_array("k", id, 1, &[0; 16])]);
        check("element type id", array.bytes(), &["element type of \"k\"", "0 to 12"]);
    }
    let inner = [&4u32.to_le_bytes()[..], &0u64.to_le_bytes()].concat();
    let nested = RawGguf::pairs([pair_array("deep", 9, 1, &inner)]);
    check("nested array", nested.bytes(), &["deep", "array of arrays"]);
}

#[test]
fn messages_stay_short_and_plain() {
    // `refused` looks at length and control characters.
    let key = "x\x1b[2J\n".repeat(20_000);
    let twice = RawGguf::pairs([pair_u32(&key, 1), pair_u32(&key, 2)]);
    check("a terminal's control codes", twice.bytes(), &["duplicate key", "\\u{1b}"]);
    let infos = [info(&key, &[1], 9999, 0)];
    check("and in a tensor", RawGguf::tensors(infos, 4).bytes(), &["type id 9999"]);
}
