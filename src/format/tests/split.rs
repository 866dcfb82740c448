//! GGUF models over several files.

use super::build::*;
use crate::format::{FormatError, Gguf, Metadata, ModelFile, TensorType, Value, write_gguf};

/// Part `no` of `count`, with `tensors` named after it; `total` is what it says of all parts.
fn part(no: u16, count: u16, total: i32, tensors: &[&str]) -> Vec<u8> {
    let mut m: Metadata = [
        ("split.no", Value::U16(no)),
        ("split.count", Value::U16(count)),
        ("split.tensors.count", Value::I32(total)),
    ]
    .into_iter()
    .collect();
    if no == 0 {
        m.insert("general.architecture", "llama".into());
    }
    let data: Vec<[u8; 8]> = (0..tensors.len()).map(|i| [no as u8 * 16 + i as u8; 8]).collect();
    let tensors: Vec<_> =
        tensors.iter().zip(&data).map(|(n, d)| (*n, TensorType::F32, &[2u64][..], &d[..])).collect();
    write_gguf(Vec::new(), &m, &tensors).unwrap()
}

fn good() -> Vec<Vec<u8>> {
    vec![part(0, 3, 4, &["a"]), part(1, 3, 4, &["b", "c"]), part(2, 3, 4, &["d"])]
}

fn name(i: usize) -> String {
    format!("m-{:05}-of-00003.gguf", i + 1)
}

fn check_good(g: &Gguf) {
    assert_eq!(g.metadata.str("general.architecture").unwrap(), Some("llama"));
    for (name, shard, byte) in [("a", 0, 0), ("b", 1, 16), ("c", 1, 17), ("d", 2, 32)] {
        let t = g.tensors.get(name).unwrap();
        assert_eq!((t.shard, g.tensors.data(t)), (shard, &[byte; 8][..]));
    }
    assert_eq!(g.tensors.file_bytes(), good().iter().map(|p| p.len() as u64).sum::<u64>());
    assert_eq!(g.tensors.files().count(), 3);
}

#[test]
fn any_part_opens_all() {
    let dir = TempDir::new("split");
    let paths: Vec<_> = good().iter().enumerate().map(|(i, p)| dir.write(&name(i), p)).collect();
    for path in &paths {
        let ModelFile::Gguf(g) = ModelFile::open(path).unwrap() else { panic!("not a GGUF") };
        check_good(&g);
    }
    let mut files: Vec<_> = good().into_iter().enumerate().map(|(i, p)| (name(i), p)).collect();
    files.reverse();
    check_good(&Gguf::from_files(files).unwrap());
}

#[test]
fn a_part_that_is_missing_is_named() {
    let dir = TempDir::new("split-missing");
    let first = dir.write(&name(0), &good()[0]);
    dir.write(&name(2), &good()[2]);
    refused("missing", 0, &["m-00002-of-00003.gguf", "not there"], || Gguf::open(&first));
    refused("in memory", 0, &["split.count", "expected 1, found 3"], || {
        Gguf::from_bytes("m", good().remove(0))
    });
}

#[test]
fn a_part_by_another_name_is_refused() {
    let dir = TempDir::new("split-name");
    let path = dir.write("renamed.gguf", &good()[1]);
    refused("renamed", 0, &["-00002-of-00003.gguf", "renamed.gguf"], || Gguf::open(&path));
    let path = dir.write(&name(0), &good()[1]);
    refused("swapped", 0, &["-00002-of-00003.gguf", "00001-of-00003"], || Gguf::open(&path));
}

#[test]
fn parts_that_do_not_belong_together() {
    let join = |parts: Vec<Vec<u8>>| {
        Gguf::from_files(parts.into_iter().enumerate().map(|(i, p)| (name(i), p)).collect())
    };
    let with = |i: usize, p: Vec<u8>| {
        let mut parts = good();
        parts[i] = p;
        join(parts)
    };
    refused("number", 0, &["split.no", "expected 2, found 1"], || with(2, part(1, 3, 4, &["d"])));
    refused("number beyond", 0, &["split.no", "expected 2, found 9"], || with(2, part(9, 3, 4, &["d"])));
    refused("count", 0, &["split.count", "00002", "expected 3, found 2"], || {
        with(1, part(1, 2, 4, &["b", "c"]))
    });
    refused("total", 0, &["split.tensors.count", "expected 4, found 5"], || {
        with(1, part(1, 3, 5, &["b", "c"]))
    });
    refused("lost tensor", 0, &["split.tensors.count"], || with(1, part(1, 3, 4, &["b"])));
    refused("negative", 0, &["split.tensors.count", "non-negative"], || with(0, part(0, 3, -4, &["a"])));
    refused("twice", 0, &["duplicate tensor", "00003", "\"a\""], || with(2, part(2, 3, 4, &["a"])));
    refused("none", 0, &["no file"], || join(Vec::new()));
    assert!(matches!(join(vec![part(0, 65535, 1, &["a"])]), Err(FormatError::Shard { .. })));
}
