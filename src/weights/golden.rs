//! Test helper: the tensors of `tests/data/ggml_blocks.safetensors` (made by the `gguf` package, see the goldens).

use std::collections::BTreeMap;

/// name -> (shape, bytes)
pub(super) type Golden = BTreeMap<String, (Vec<usize>, Vec<u8>)>;

pub(super) fn load() -> Golden {
    let file = include_bytes!("../../tests/data/ggml_blocks.safetensors");
    let header = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    let json: serde_json::Value = serde_json::from_slice(&file[8..8 + header]).unwrap();
    let number = |v: &serde_json::Value| v.as_u64().unwrap() as usize;
    json.as_object()
        .unwrap()
        .iter()
        .filter(|(name, _)| *name != "__metadata__")
        .map(|(name, t)| {
            let at = &t["data_offsets"];
            let data = &file[8 + header + number(&at[0])..8 + header + number(&at[1])];
            (name.clone(), (t["shape"].as_array().unwrap().iter().map(number).collect(), data.to_vec()))
        })
        .collect()
}

pub(super) fn f32s(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

/// Asserts equality of every bit, so that zeros of different sign differ.
pub(super) fn assert_bits(found: &[f32], expected: &[f32], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}: length");
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!(f.to_bits() == e.to_bits(), "{what}: element {i} is {f:?}, expected {e:?}");
    }
}
