//! The rooms under test, and what the fuzz targets share.

#[path = "../../src/format/mod.rs"]
pub mod format;

use format::{NamedTensor, TensorSet};

/// Separates the files of an input that stands for several.
pub const MARK: &[u8] = b"\n~~file~~\n";

/// The files of an input.
pub fn files(input: &[u8]) -> Vec<&[u8]> {
    let mut out = Vec::new();
    let mut rest = input;
    while let Some(at) = rest.windows(MARK.len()).position(|w| w == MARK) {
        out.push(&rest[..at]);
        rest = &rest[at + MARK.len()..];
    }
    out.push(rest);
    out
}

/// What must hold of any set that a reader gave out.
pub fn check(set: &TensorSet) {
    for t in set.iter() {
        assert_eq!(set.data(t).len() as u64, t.bytes);
        assert_eq!(t.ttype.bytes_for(t.elements()), Some(t.bytes));
        assert_eq!(set.get(&t.name), Some(t));
        set.release(t);
    }
}

/// All tensors of a set, for a writer.
pub fn tensors(set: &TensorSet) -> Vec<NamedTensor<'_>> {
    set.iter().map(|t| (t.name.as_str(), t.ttype, t.shape.as_slice(), set.data(t))).collect()
}

/// Checks that two sets hold the same tensors.
pub fn same(a: &TensorSet, b: &TensorSet) {
    assert_eq!(a.len(), b.len());
    for t in a.iter() {
        let u = b.get(&t.name).expect("a tensor was lost");
        assert_eq!((t.ttype, &t.shape, a.data(t)), (u.ttype, &u.shape, b.data(u)));
    }
}
