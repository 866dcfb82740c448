//! safetensors files and indexes that are wrong (trials 8 to 10 and more).

use super::build::*;
use crate::format::{HfFolder, TensorType, read_safetensors};

fn check_bytes(case: &str, bytes: Vec<u8>, parts: &[&str]) {
    let parts = &[&["hostile.safetensors"], parts].concat();
    refused(case, bytes.len(), parts, || read_safetensors("hostile.safetensors", bytes.clone().into()));
}

fn check(case: &str, header: &str, data: usize, parts: &[&str]) {
    check_bytes(case, raw_safetensors(header, data), parts);
}

/// One F32 tensor `t` of shape [2] with these offsets, in 8 bytes of data.
fn offsets(case: &str, offsets: &str, parts: &[&str]) {
    let header = format!(r#"{{"t":{{"dtype":"F32","shape":[2],"data_offsets":{offsets}}}}}"#);
    check(case, &header, 8, parts);
}

fn shape(case: &str, shape: &str, parts: &[&str]) {
    let header = format!(r#"{{"t":{{"dtype":"F32","shape":{shape},"data_offsets":[0,8]}}}}"#);
    check(case, &header, 8, parts);
}

#[test]
fn header_lengths() {
    let of = |length: u64| [&length.to_le_bytes()[..], &[b' '; 100]].concat();
    check_bytes("trial 8", of(132_095_296), &["header", "at most 100000000", "132095296"]);
    check_bytes("2^64-5", of(u64::MAX - 4), &["header", "at most 100000000"]);
    check_bytes("2^63", of(1 << 63), &["at most 100000000"]);
    check_bytes("beyond the file", of(101), &["header", "claims at least 101", "100 are left"]);
    check_bytes("the most allowed", of(100_000_000), &["100 are left"]);
    check_bytes("one more", of(100_000_001), &["at most 100000000"]);
    check_bytes("blank", of(100), &["begins with '{'"]);
    check_bytes("empty", Vec::new(), &["at least 8 bytes", "nothing"]);
    check_bytes("7 bytes", vec![0; 7], &["at least 8 bytes"]);
    check_bytes("no header", of(0), &["begins with '{'"]);
}

#[test]
fn header_json() {
    check("array", "[1]", 0, &["begins with '{'"]);
    check("cut", r#"{"t":{"dtype""#, 0, &["bad JSON", "t"]);
    check("two values", "{}{}", 0, &["bad JSON", "trailing"]);
    check("not UTF-8", "{\"\u{80}\":0}", 0, &["bad JSON"]);
    let mut bytes = raw_safetensors(r#"{"x":0}"#, 0);
    bytes[10] = 0xff;
    check_bytes("bytes in a name", bytes, &["bad JSON"]);
    check("deep", &format!("{{\"t\":{}", "[".repeat(100_000)), 0, &["bad JSON"]);
    check("a tensor that is a number", r#"{"t":5}"#, 0, &["bad JSON", "tensor \"t\""]);
    check("no dtype", r#"{"t":{"shape":[],"data_offsets":[0,0]}}"#, 0, &["\"t\"", "missing field `dtype`"]);
    check("no shape", r#"{"t":{"dtype":"U8","data_offsets":[0,0]}}"#, 0, &["missing field `shape`"]);
    check("no offsets", r#"{"t":{"dtype":"U8","shape":[0]}}"#, 0, &["missing field `data_offsets`"]);
    let twice = r#"{"t":{"dtype":"U8","dtype":"I8","shape":[0],"data_offsets":[0,0]}}"#;
    check("a field twice", twice, 0, &["\"t\"", "duplicate field"]);
    let more = r#"{"t":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":1}}"#;
    check("a field more", more, 0, &["\"t\"", "unknown field `x`"]);
    let t = r#""t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}"#;
    check("a name twice", &format!("{{{t},{t}}}"), 1, &["duplicate tensor \"t\""]);
    check("metadata twice", r#"{"__metadata__":{},"__metadata__":{}}"#, 0, &["duplicate", "__metadata__"]);
    check("a note twice", r#"{"__metadata__":{"a":"","a":""}}"#, 0, &["duplicate key \"a\""]);
    check("a note that is a number", r#"{"__metadata__":{"a":1}}"#, 0, &["bad JSON", "\"a\""]);
}

#[test]
fn offsets_that_cannot_be() {
    offsets("reversed", "[8,0]", &["\"t\"", "ascend", "8, 0"]);
    offsets("one number", "[8]", &["\"t\"", "length 1"]);
    offsets("three numbers", "[0,8,8]", &["\"t\"", "bad JSON"]);
    offsets("negative", "[-8,0]", &["\"t\"", "`-8`", "u64"]);
    offsets("fractional", "[0,8.5]", &["\"t\"", "8.5"]);
    offsets("whole but written as a float", "[0,8.0]", &["\"t\"", "8.0"]);
    offsets("exponent", "[0,8e0]", &["\"t\""]);
    offsets("a string", "[0,\"8\"]", &["\"t\"", "string"]);
    offsets("null", "null", &["\"t\"", "null"]);
    offsets("2^64", "[0,18446744073709551616]", &["\"t\""]);
    offsets("past the end", "[8,16]", &["\"t\"", "within the 8 bytes"]);
    offsets("far past the end", "[18446744073709551600,18446744073709551608]", &["within the 8 bytes"]);
    offsets("too short for the shape", "[0,4]", &["8 bytes for [2] of F32", "found 4 bytes"]);
    offsets("too long for the shape", "[0,16]", &["8 bytes for [2] of F32", "found 16 bytes"]);
}

#[test]
fn shapes_that_cannot_be() {
    shape("mismatch", "[3]", &["\"t\"", "12 bytes for [3] of F32"]);
    shape("wraps to 8 bytes", "[4611686018427387906]", &["63 bits"]);
    shape("wraps to 2 elements", "[9223372036854775809,2]", &["63 bits"]);
    shape("product wraps", "[4294967296,4294967296,2]", &["63 bits"]);
    shape("product wraps, then zero", "[4294967296,4294967296,0]", &["63 bits"]);
    shape("zero", "[0]", &["0 bytes for [0]"]);
    shape("scalar", "[]", &["4 bytes for []"]);
    shape("negative", "[-2]", &["\"t\"", "`-2`"]);
    shape("fractional", "[2.5]", &["\"t\"", "2.5"]);
    shape("a number", "2", &["\"t\"", "an array"]);
    shape("17 dimensions", &format!("[{}2]", "1,".repeat(16)), &["at most 16"]);
    shape("very many dimensions", &format!("[{}2]", "1,".repeat(1_000_000)), &["at most 16"]);
}

#[test]
fn layouts_that_cannot_be() {
    let two = |a: &str, b: &str| {
        format!(
            r#"{{"a":{{"dtype":"U8","shape":[8],"data_offsets":{a}}},"b":{{"dtype":"U8","shape":[8],"data_offsets":{b}}}}}"#
        )
    };
    check("overlap", &two("[0,8]", "[4,12]"), 16, &["\"b\"", "within tensor \"a\""]);
    check("the same bytes", &two("[0,8]", "[0,8]"), 16, &["within tensor"]);
    check("hole", &two("[0,8]", "[12,20]"), 20, &["fill all 20 bytes", "16 bytes in tensors"]);
    check("hole at the start", &two("[4,12]", "[12,20]"), 20, &["fill all 20 bytes"]);
    check("rest at the end", &two("[0,8]", "[8,16]"), 17, &["fill all 17 bytes"]);
    check("one byte short", &two("[0,8]", "[8,16]"), 15, &["\"b\"", "within the 15 bytes"]);
    check("no tensors but data", "{}", 1, &["fill all 1 bytes"]);
    read_safetensors("good", raw_safetensors(&two("[8,16]", "[0,8]"), 16).into()).unwrap();
    assert!(read_safetensors("good", raw_safetensors("{}  ", 0).into()).unwrap().is_empty());
}

#[test]
fn types() {
    for dtype in ["F8_E4M3", "F8_E5M2", "F4", "C64", "Q4_0", "f32", "", "BOOLEAN"] {
        let header = format!(r#"{{"w.x":{{"dtype":"{dtype}","shape":[8],"data_offsets":[0,8]}}}}"#);
        check(dtype, &header, 8, &["tensor \"w.x\"", "F32, F16, BF16", &format!("{dtype:?}")]);
    }
    for (dtype, ttype, size) in
        [("BOOL", TensorType::Bool, 1), ("BF16", TensorType::BF16, 2), ("F64", TensorType::F64, 8)]
    {
        let header = format!(r#"{{"w":{{"dtype":"{dtype}","shape":[3],"data_offsets":[0,{}]}}}}"#, 3 * size);
        let set = read_safetensors("good", raw_safetensors(&header, 3 * size).into()).unwrap();
        assert_eq!(set.get("w").unwrap().ttype, ttype);
    }
}

/// A folder in memory: config, this index and shards `a` (tensor `x`) and `b` (tensor `y`).
fn folder(index: &str) -> Vec<(String, Vec<u8>)> {
    let shard = |name: &str| {
        raw_safetensors(&format!(r#"{{"{name}":{{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}}}"#), 1)
    };
    [
        ("config.json", b"{}".to_vec()),
        ("model.safetensors.index.json", index.as_bytes().to_vec()),
        ("a.safetensors", shard("x")),
        ("b.safetensors", shard("y")),
    ]
    .into_iter()
    .map(|(n, b)| (n.to_owned(), b))
    .collect()
}

fn check_index(case: &str, index: &str, parts: &[&str]) {
    let parts = &[&["model.safetensors.index.json"], parts].concat();
    refused(case, index.len(), parts, || HfFolder::from_files(folder(index)));
}

fn check_shard(shard: &str) {
    let index = serde_json::json!({"weight_map": {"x": shard}}).to_string();
    check_index(shard, &index, &["name of a shard", "plain file name"]);
}

#[test]
fn shard_names_lead_nowhere_else() {
    for shard in [
        "../a.safetensors",
        "..",
        "x/../../a.safetensors",
        "/etc/a.safetensors",
        "sub/a.safetensors",
        "..\\a.safetensors",
        "\\\\host\\share\\a.safetensors",
        "C:\\a.safetensors",
        "C:a.safetensors",
        "a.safetensors:stream.safetensors",
        ".a.safetensors",
        "a\0.safetensors",
        "",
        "a.gguf",
        "config.json",
    ] {
        check_shard(shard);
    }
}

#[test]
fn indexes_that_do_not_fit() {
    let good = r#"{"metadata":{"total_size":2},"weight_map":{"x":"a.safetensors","y":"b.safetensors"}}"#;
    let read = HfFolder::from_files(folder(good)).unwrap();
    assert_eq!(read.tensors.get("y").unwrap().shard, 1);
    let other = r#"{"weight_map":{"x":"a.safetensors","y":"a.safetensors"}}"#;
    check_index("a shard without the tensor", other, &["tensor \"y\"", "a.safetensors", "without it"]);
    let missing = r#"{"weight_map":{"x":"a.safetensors","z":"c.safetensors"}}"#;
    check_index("a missing shard", missing, &["c.safetensors", "not there"]);
    let twice = r#"{"weight_map":{"x":"a.safetensors","x":"b.safetensors"}}"#;
    check_index("a name twice", twice, &["duplicate key \"x\""]);
    check_index("no map", "{}", &["weight_map"]);
    check_index("a map of numbers", r#"{"weight_map":{"x":1}}"#, &["\"x\""]);
    check_index("not JSON", "weights", &["bad JSON"]);
}

#[test]
fn a_bad_shard_is_named() {
    let mut files = folder(r#"{"weight_map":{"x":"a.safetensors","y":"b.safetensors"}}"#);
    files[3].1.pop();
    refused("cut shard", 0, &["b.safetensors", "\"y\"", "within the 0 bytes"], || {
        HfFolder::from_files(files.clone())
    });
}
