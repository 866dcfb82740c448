//! The typed readers of metadata (trial 4 and more).

use super::build::*;
use crate::format::{Array, FormatError, Gguf, Metadata, Value};

fn sample() -> Metadata {
    let mut m: Metadata = [
        ("u8", Value::U8(200)),
        ("i8", Value::I8(-3)),
        ("u64", Value::U64(u64::MAX)),
        ("i64", Value::I64(5)),
        ("f32", Value::F32(0.5)),
        ("f64", Value::F64(1e300)),
        ("bool", Value::Bool(true)),
        ("str", "text".into()),
    ]
    .into_iter()
    .collect();
    m.insert("strings", vec!["a".to_owned(), "b".to_owned()].into());
    m.insert("floats", vec![1.0f32, 2.0].into());
    m.insert("doubles", vec![1.5f64].into());
    m.insert("ints", vec![1i32, -2, 3].into());
    m.insert("flags", vec![true, false].into());
    m.insert("huge", vec![u64::MAX].into());
    m.insert("bytes", vec![1u8, 2].into());
    m
}

fn type_error<T>(result: Result<T, FormatError>, parts: [&str; 2]) {
    let Err(FormatError::MetadataType { expected, found, .. }) = result else { panic!("no type error") };
    assert!(expected.contains(parts[0]) && found.contains(parts[1]), "{expected} / {found}");
}

#[test]
fn readers_convert_what_is_safe_and_refuse_the_rest() {
    let m = sample();
    assert_eq!(m.u64("u8").unwrap(), Some(200));
    assert_eq!(m.u64("u64").unwrap(), Some(u64::MAX));
    assert_eq!(m.u64("i64").unwrap(), Some(5));
    assert_eq!(m.u64("absent").unwrap(), None);
    type_error(m.u64("i8"), ["non-negative", "I8 -3"]);
    type_error(m.u64("f32"), ["integer", "F32 0.5"]);
    type_error(m.u64("bool"), ["integer", "BOOL true"]);
    assert_eq!(m.f64("f32").unwrap(), Some(0.5));
    assert_eq!(m.f64("f64").unwrap(), Some(1e300));
    assert_eq!(m.f64("i8").unwrap(), Some(-3.0));
    type_error(m.f64("str"), ["number", "STRING \"text\""]);
    assert_eq!(m.bool("bool").unwrap(), Some(true));
    type_error(m.bool("u8"), ["BOOL", "U8 200"]);
    assert_eq!(m.str("str").unwrap(), Some("text"));
    type_error(m.str("strings"), ["STRING", "ARRAY of 2 STRING"]);
    assert_eq!(m.strings("strings").unwrap().unwrap(), ["a", "b"]);
    type_error(m.strings("str"), ["ARRAY of STRING", "STRING"]);
    assert_eq!(m.f32s("floats").unwrap().unwrap(), [1.0, 2.0]);
    assert_eq!(m.f32s("doubles").unwrap().unwrap(), [1.5]);
    assert_eq!(m.ints("ints").unwrap().unwrap(), [1, -2, 3]);
    assert_eq!(m.ints("flags").unwrap().unwrap(), [1, 0]);
    type_error(m.ints("huge"), ["integers", "ARRAY of 1 U64"]);
    type_error(m.ints("floats"), ["integers", "F32"]);
}

#[test]
fn scores_stored_as_bytes_are_a_type_error() {
    let bytes = RawGguf::pairs([pair_array("tokenizer.ggml.scores", 0, 3, &[1, 2, 3])]).bytes();
    let g = Gguf::from_bytes("scores.gguf", bytes).unwrap();
    let e = g.metadata.f32s("tokenizer.ggml.scores").unwrap_err();
    assert_eq!(e.to_string(), "tokenizer.ggml.scores: expected ARRAY of F32, found ARRAY of 3 U8");
}

#[test]
fn per_layer_broadcasts_or_matches() {
    let m = sample();
    assert_eq!(m.per_layer("u8", 3).unwrap().unwrap(), [200; 3]);
    assert_eq!(m.per_layer("bool", 2).unwrap().unwrap(), [1, 1]);
    assert_eq!(m.per_layer("flags", 2).unwrap().unwrap(), [1, 0]);
    assert_eq!(m.per_layer("bytes", 2).unwrap().unwrap(), [1, 2]);
    assert_eq!(m.per_layer("absent", 2).unwrap(), None);
    type_error(m.per_layer("bytes", 3), ["ARRAY of 3", "ARRAY of 2 U8"]);
    type_error(m.per_layer("ints", 3), ["non-negative", "I32"]);
    type_error(m.per_layer("i8", 3), ["non-negative", "I8 -3"]);
    type_error(m.per_layer("u8", 1 << 40), ["at most", "1099511627776"]);
}

#[test]
fn values_are_shown_short() {
    let long = Value::Array(Array::U16((0..5000).collect()));
    assert_eq!(long.to_string(), "[0, 1, 2, 3, 4, 5, ... (5000 in all)]");
    assert_eq!(long.type_name(), "ARRAY of U16");
    assert!(Value::String("é".repeat(1000)).to_string().len() < 300);
    assert_eq!(Value::I64(-4).to_string(), "-4");
}
