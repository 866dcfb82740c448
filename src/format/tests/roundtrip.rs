//! Whatever the writers write, the readers read back the same; whatever bytes there are, the readers answer.

use proptest::prelude::*;

use crate::format::{
    Array, Gguf, Metadata, TensorType, Value, read_safetensors, write_gguf, write_safetensors,
};

/// Floats by their bits, so that NaN equals itself.
fn bits(m: &Metadata) -> Vec<(String, String)> {
    let floats = |v: &Value| match v {
        Value::F32(f) => format!("F32 {:x}", f.to_bits()),
        Value::F64(f) => format!("F64 {:x}", f.to_bits()),
        Value::Array(Array::F32(v)) => {
            format!("F32s {:x?}", v.iter().map(|f| f.to_bits()).collect::<Vec<_>>())
        }
        Value::Array(Array::F64(v)) => {
            format!("F64s {:x?}", v.iter().map(|f| f.to_bits()).collect::<Vec<_>>())
        }
        v => format!("{v:?}"),
    };
    m.iter().map(|(k, v)| (k.to_owned(), floats(v))).collect()
}

fn both<T>(element: impl Strategy<Value = T> + Clone + 'static) -> BoxedStrategy<Value>
where
    T: Clone + std::fmt::Debug + 'static,
    Value: From<T> + From<Vec<T>>,
{
    let many = prop::collection::vec(element.clone(), 0..9).prop_map(Value::from);
    prop_oneof![element.prop_map(Value::from), many].boxed()
}

fn value() -> impl Strategy<Value = Value> {
    let numbers = prop_oneof![
        both(any::<u8>()),
        both(any::<i8>()),
        both(any::<u16>()),
        both(any::<i16>()),
        both(any::<u32>()),
        both(any::<i32>()),
        both(any::<u64>()),
        both(any::<i64>()),
    ];
    let floats =
        prop_oneof![both(any::<u32>().prop_map(f32::from_bits)), both(any::<u64>().prop_map(f64::from_bits))];
    prop_oneof![numbers, floats, both(any::<bool>()), both(".{0,12}".prop_map(|s: String| s))]
}

fn metadata() -> impl Strategy<Value = Metadata> {
    let pairs = prop::collection::vec(("[a-z.]{0,12}|.{0,6}", value()), 0..12);
    pairs.prop_map(|pairs| pairs.into_iter().collect())
}

#[derive(Clone, Debug)]
struct Tensor {
    ttype: TensorType,
    shape: Vec<u64>,
    data: Vec<u8>,
}

fn tensors(
    types: &'static [TensorType],
) -> impl Strategy<Value = std::collections::BTreeMap<String, Tensor>> {
    let tensor = (prop::sample::select(types), prop::collection::vec(0u64..4, 0..4), any::<u8>());
    let tensor = tensor.prop_map(|(ttype, mut shape, seed)| {
        match shape.last_mut() {
            Some(row) => *row *= ttype.block_len(),
            None if ttype.block_len() > 1 => shape.push(ttype.block_len()),
            None => {}
        }
        let bytes = ttype.bytes_for(shape.iter().product()).unwrap();
        let data = (0..bytes).map(|i| (i as u8).wrapping_mul(31).wrapping_add(seed)).collect();
        Tensor { ttype, shape, data }
    });
    prop::collection::btree_map(".{1,10}|[a-z]{1,4}\\.weight", tensor, 0..6)
}

const GGUF: &[TensorType] = &[
    TensorType::F32,
    TensorType::F16,
    TensorType::BF16,
    TensorType::F64,
    TensorType::I8,
    TensorType::I64,
    TensorType::Q4_0,
    TensorType::Q8_0,
    TensorType::Q4_K,
    TensorType::IQ4_XS,
    TensorType::NVFP4,
];

const SAFETENSORS: &[TensorType] =
    &[TensorType::F32, TensorType::BF16, TensorType::F64, TensorType::U8, TensorType::Bool, TensorType::U64];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn gguf(
        mut meta in metadata(),
        tensors in tensors(GGUF),
        align in prop::option::of(prop::sample::select(&[8u32, 16, 32, 64, 4096][..])),
    ) {
        if let Some(a) = align {
            meta.insert("general.alignment", Value::U32(a));
        }
        let list: Vec<_> =
            tensors.iter().map(|(n, t)| (n.as_str(), t.ttype, &t.shape[..], &t.data[..])).collect();
        let g = Gguf::from_bytes("x.gguf", write_gguf(Vec::new(), &meta, &list).unwrap()).unwrap();
        prop_assert_eq!(bits(&g.metadata), bits(&meta));
        prop_assert_eq!(g.tensors.len(), list.len());
        for ((name, ttype, shape, data), t) in list.into_iter().zip(g.tensors.iter()) {
            prop_assert_eq!((t.name.as_str(), t.ttype, &t.shape[..]), (name, ttype, shape));
            prop_assert_eq!(g.tensors.data(t), data);
        }
    }

    #[test]
    fn safetensors(tensors in tensors(SAFETENSORS), notes in prop::collection::btree_map(".{0,8}", ".{0,8}", 0..4)) {
        let list: Vec<_> =
            tensors.iter().map(|(n, t)| (n.as_str(), t.ttype, &t.shape[..], &t.data[..])).collect();
        let pairs: Vec<_> = notes.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        let set = read_safetensors("x", write_safetensors(Vec::new(), &list, &pairs).unwrap().into()).unwrap();
        prop_assert_eq!(set.len(), list.len());
        for (name, ttype, shape, data) in list {
            let t = set.get(name).unwrap();
            prop_assert_eq!((t.ttype, &t.shape[..], set.data(t)), (ttype, shape, data));
        }
        prop_assert_eq!(set.notes().iter().collect::<Vec<_>>(), notes.iter().collect::<Vec<_>>());
    }

    /// A valid file with some bytes changed is read or refused, nothing else.
    #[test]
    fn changed_bytes(
        meta in metadata(),
        tensors in tensors(GGUF),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let list: Vec<_> =
            tensors.iter().map(|(n, t)| (n.as_str(), t.ttype, &t.shape[..], &t.data[..])).collect();
        let mut bytes = write_gguf(Vec::new(), &meta, &list).unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(g) = Gguf::from_bytes("x.gguf", bytes) {
            for t in g.tensors.iter() {
                prop_assert_eq!(g.tensors.data(t).len() as u64, t.bytes);
                prop_assert_eq!(t.ttype.bytes_for(t.elements()), Some(t.bytes));
            }
        }
    }
}
