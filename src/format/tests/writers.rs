//! What the writers refuse, and that data can stream.

use crate::format::{
    FormatError, Gguf, GgufWriter, Metadata, TensorType, Value, read_safetensors, write_gguf,
    write_safetensors,
};

fn message<T>(result: Result<T, FormatError>) -> String {
    match result {
        Ok(_) => panic!("was written"),
        Err(e) => e.to_string(),
    }
}

fn refused<T>(result: Result<T, FormatError>, parts: &[&str]) {
    let e = message(result);
    assert!(parts.iter().all(|p| e.contains(p)), "{parts:?} are not all in {e:?}");
}

#[test]
fn data_streams_in_pieces() {
    let data: Vec<u8> = (0..200).collect();
    let mut w = GgufWriter::new(Metadata::new()).unwrap();
    w.add_tensor("none", TensorType::F32, &[0, 4]).unwrap();
    w.add_tensor("a", TensorType::I8, &[100]).unwrap();
    w.add_tensor("b", TensorType::I16, &[5, 10]).unwrap();
    w.add_tensor("end", TensorType::F32, &[0]).unwrap();
    let mut body = w.start(Vec::new()).unwrap();
    for piece in data[..100].chunks(7).chain(data[100..].chunks(64)) {
        body.write(piece).unwrap();
    }
    let g = Gguf::from_bytes("streamed.gguf", body.finish().unwrap()).unwrap();
    let of = |name| g.tensors.data(g.tensors.get(name).unwrap());
    assert_eq!(of("a"), &data[..100]);
    assert_eq!(of("b"), &data[100..]);
    assert!(of("none").is_empty() && of("end").is_empty());
    assert_eq!(g.tensors.get("b").unwrap().shape, [5, 10]);
}

#[test]
fn too_much_and_too_little_data() {
    let body = || {
        let mut w = GgufWriter::new(Metadata::new()).unwrap();
        w.add_tensor("t", TensorType::F32, &[2]).unwrap();
        w.start(Vec::new()).unwrap()
    };
    refused(body().finish(), &["\"t\"", "8 bytes", "found 0"]);
    let mut b = body();
    b.write(&[0; 4]).unwrap();
    refused(b.finish(), &["\"t\"", "found 4"]);
    refused(body().write(&[0; 9]), &["\"t\"", "8 bytes"]);
    let mut b = body();
    b.write(&[0; 8]).unwrap();
    refused(b.write(&[0]), &["no more than was declared"]);
}

#[test]
fn gguf_refusals() {
    let mut w = GgufWriter::new(Metadata::new()).unwrap();
    refused(w.add_tensor("t", TensorType::U8, &[1]), &["\"t\"", "a type that GGUF has", "U8"]);
    refused(w.add_tensor("t", TensorType::F32, &[1; 5]), &["at most 4"]);
    refused(w.add_tensor("t", TensorType::Q4_K, &[2, 128]), &["256"]);
    refused(w.add_tensor("t", TensorType::F32, &[u64::MAX, 2]), &["\"t\""]);
    w.add_tensor("t", TensorType::F32, &[1]).unwrap();
    refused(w.add_tensor("t", TensorType::F32, &[1]), &["twice"]);
    for bad in [Value::U32(3), Value::U32(0), Value::U32(1 << 30), Value::U32(4), Value::I32(32)] {
        let m: Metadata = [("general.alignment", bad)].into_iter().collect();
        refused(GgufWriter::new(m), &["general.alignment", "power of two"]);
    }
    refused(
        write_gguf(Vec::new(), &Metadata::new(), &[("t", TensorType::F32, &[2], &[0; 7])]),
        &["8 bytes", "7"],
    );
}

#[test]
fn alignment_is_kept() {
    let m: Metadata = [("general.alignment", Value::U32(256))].into_iter().collect();
    let tensors: [crate::format::NamedTensor<'_>; 2] =
        [("a", TensorType::I8, &[1], &[1]), ("b", TensorType::I8, &[1], &[2])];
    let bytes = write_gguf(Vec::new(), &m, &tensors).unwrap();
    let g = Gguf::from_bytes("aligned.gguf", bytes).unwrap();
    let offsets: Vec<u64> = g.tensors.iter().map(|t| t.offset % 256).collect();
    assert_eq!(offsets, [0, 0]);
    assert_eq!(g.tensors.data(g.tensors.get("b").unwrap()), [2]);
}

#[test]
fn safetensors_refusals() {
    let write = |t: &[crate::format::NamedTensor<'_>]| write_safetensors(Vec::new(), t, &[]);
    refused(write(&[("t", TensorType::Q4_0, &[32], &[0; 18])]), &["\"t\"", "safetensors has", "Q4_0"]);
    refused(write(&[("t", TensorType::F32, &[2], &[0; 7])]), &["8 bytes", "7 bytes"]);
    refused(write(&[("t", TensorType::F32, &[u64::MAX, 2], &[])]), &["63 bits"]);
    let t: crate::format::NamedTensor<'_> = ("t", TensorType::U8, &[1], &[1]);
    refused(write(&[t, t]), &["twice"]);
    refused(write(&[("__metadata__", TensorType::U8, &[1], &[1])]), &["name of its own"]);
}

#[test]
fn safetensors_are_aligned_and_carry_notes() {
    let tensors: [crate::format::NamedTensor<'_>; 3] = [
        ("bytes", TensorType::U8, &[3], &[1, 2, 3]),
        ("doubles", TensorType::F64, &[1], &[4; 8]),
        ("halves", TensorType::F16, &[1, 3], &[5; 6]),
    ];
    let notes = [("format", "pt"), ("golay.quant", "{\"version\":1}")];
    let set = read_safetensors("t", write_safetensors(Vec::new(), &tensors, &notes).unwrap().into()).unwrap();
    for (name, ttype, shape, data) in tensors {
        let t = set.get(name).unwrap();
        assert_eq!((t.ttype, &t.shape[..], set.data(t)), (ttype, shape, data));
        assert_eq!(t.offset % ttype.block_bytes(), 0, "{name}");
    }
    assert_eq!(set.notes().get("golay.quant").map(String::as_str), Some("{\"version\":1}"));
    assert_eq!(set.notes().len(), 2);
}

/// A sink that is full after some bytes.
struct Full(usize);

impl std::io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or_else(|| std::io::Error::other("no space"))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_reported() {
    let t: [crate::format::NamedTensor<'_>; 1] = [("t", TensorType::F32, &[100], &[0; 400])];
    for room in [0, 10, 100, 300] {
        refused(write_gguf(Full(room), &Metadata::new(), &t), &["no space"]);
        refused(write_safetensors(Full(room), &t, &[]), &["no space"]);
    }
}
