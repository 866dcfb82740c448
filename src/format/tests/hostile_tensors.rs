//! GGUF files whose tensors cannot be (trials 3, 5, 7 and more).

use super::build::*;
use crate::format::{Gguf, TensorType};

const F32: u32 = 0;
const Q4_0: u32 = 2;
const Q4_K: u32 = 12;

fn check(case: &str, infos: &[Vec<u8>], data: usize, parts: &[&str]) {
    let bytes = RawGguf::tensors(infos, data).bytes();
    refused(case, bytes.len(), &[&["hostile.gguf"], parts].concat(), || {
        Gguf::from_bytes("hostile.gguf", bytes.clone())
    });
}

fn read(infos: &[Vec<u8>], data: usize) -> Gguf {
    Gguf::from_bytes("good.gguf", RawGguf::tensors(infos, data).bytes()).unwrap()
}

#[test]
fn dimensions() {
    let at_most = ["\"t\"", "at most 4 dimensions", "found"];
    check("5 dimensions", &[info("t", &[1, 1, 1, 1, 1], F32, 0)], 32, &at_most);
    let mut many = string("t");
    many.extend(u32::MAX.to_le_bytes());
    many.extend([0; 64]);
    check("2^32 dimensions", &[many], 32, &at_most);
    let wraps = ["\"t\"", "63 bits"];
    for dims in [
        &[1 << 32, 1 << 32][..],
        &[1 << 16, 1 << 16, 1 << 16, 1 << 16],
        &[u64::MAX],
        &[1 << 63],
        &[1 << 62, 4],
        &[3, 0x5555_5555_5555_5556],
        // Not saved by a zero elsewhere, wherever it stands.
        &[1 << 32, 1 << 32, 0],
        &[0, 1 << 32, 1 << 32],
    ] {
        check(&format!("{dims:?}"), &[info("t", dims, F32, 0)], 64, &wraps);
    }
    // The elements fit, their bytes do not.
    check("bytes wrap", &[info("t", &[1 << 62], F32, 0)], 64, &wraps);
    // 2^63 / 4 elements: the bytes fit 64 bits, adding the offset does not fit the file.
    check("large", &[info("t", &[(1 << 61) - 1], F32, 0)], 64, &["\"t\"", "within the"]);
}

#[test]
fn types() {
    for id in [9999, 4, 5, 31, 33, 36, 200, u32::MAX] {
        let found = format!("type id {id}");
        check("type", &[info("t", &[32], id, 0)], 512, &["\"t\"", "known tensor type", &found]);
    }
    check("K-quant row", &[info("t", &[300, 4], Q4_K, 0)], 4096, &["\"t\"", "256", "Q4_K", "rows of 300"]);
    // As many elements as whole blocks, but not in each row.
    check("two half blocks", &[info("t", &[128, 2], Q4_K, 0)], 4096, &["256", "rows of 128"]);
    check("Q4_0 row", &[info("t", &[48, 2], Q4_0, 0)], 4096, &["32", "rows of 48"]);
    let good = read(&[info("t", &[512, 3], Q4_K, 0)], 864);
    let t = good.tensors.get("t").unwrap();
    assert_eq!((t.ttype, t.shape.as_slice(), t.bytes), (TensorType::Q4_K, &[3, 512][..], 864));
}

#[test]
fn names() {
    let twice = [info("same", &[8], F32, 0), info("x", &[8], F32, 32), info("same", &[8], F32, 64)];
    check("duplicate", &twice, 96, &["duplicate tensor", "same"]);
    check("not UTF-8", &[info(b"t\xff", &[8], F32, 0)], 32, &["name of tensor 0", "not UTF-8"]);
}

#[test]
fn places() {
    check("one byte past the end", &[info("t", &[8], F32, 0)], 31, &["\"t\"", "within the", "32 bytes"]);
    check("wholly past the end", &[info("t", &[8], F32, 64)], 32, &["\"t\"", "within the"]);
    check("offset wraps", &[info("t", &[8], F32, u64::MAX - 31)], 32, &["\"t\"", "within the"]);
    check("misaligned", &[info("t", &[8], F32, 4)], 64, &["\"t\"", "multiple of 32", "found 4"]);
    let overlap = [info("a", &[16], F32, 0), info("b", &[8], F32, 32)];
    check("overlap", &overlap, 64, &["\"b\"", "within tensor \"a\""]);
    let overlap = [info("b", &[8], F32, 32), info("a", &[24], F32, 0)];
    check("overlap, the other order", &overlap, 96, &["\"b\"", "within tensor \"a\""]);
    let same = [info("a", &[8], F32, 0), info("b", &[8], F32, 0)];
    check("the same place", &same, 32, &["within tensor"]);
    // The last tensor need not be padded; order and gaps are free.
    let good = read(&[info("b", &[1], F32, 96), info("a", &[9], F32, 0)], 100);
    assert_eq!(good.tensors.iter().map(|t| t.bytes).collect::<Vec<_>>(), [4, 36]);
}

#[test]
fn empty_and_scalar_tensors() {
    let infos = [
        info("none", &[0], F32, 0),
        info("rows", &[256, 0], Q4_K, 0),
        info("t", &[8], F32, 0),
        info("last", &[0, 7], F32, 32),
        info("scalar", &[], F32, 32),
    ];
    let g = read(&infos, 36);
    for (name, shape, bytes) in [
        ("none", &[0][..], 0),
        ("rows", &[0, 256], 0),
        ("t", &[8], 32),
        ("last", &[7, 0], 0),
        ("scalar", &[], 4),
    ] {
        let t = g.tensors.get(name).unwrap();
        assert_eq!((t.shape.as_slice(), t.bytes, g.tensors.data(t).len()), (shape, bytes, bytes as usize));
    }
    check("an empty tensor beside the grid", &[info("none", &[0], F32, 1)], 32, &["multiple of 32"]);
}

#[test]
fn no_tensors_at_all() {
    let g = Gguf::from_bytes("vocab.gguf", RawGguf::pairs([pair_u32("n", 1)]).bytes()).unwrap();
    assert!(g.tensors.is_empty());
}
