//! The key-value pairs of a GGUF file, with readers that check types.

use indexmap::IndexMap;

use super::error::FormatError;
use super::value::{Array, Value};

/// Key-value pairs in the order of the file.
///
/// The typed readers answer `Ok(None)` for a key that is absent and [`FormatError::MetadataType`] for a value of
/// another type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    pairs: IndexMap<String, Value>,
}

/// More layers than this is a mistake of the file; it bounds what [`Metadata::per_layer`] allocates.
const MAX_LAYERS: usize = 1 << 16;

impl Metadata {
    /// No pairs yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.pairs.get(key)
    }

    /// Sets a key; a new one goes to the end. Gives back what was there.
    pub fn insert(&mut self, key: impl Into<String>, value: Value) -> Option<Value> {
        self.pairs.insert(key.into(), value)
    }

    /// Whether the key is there.
    pub fn contains(&self, key: &str) -> bool {
        self.pairs.contains_key(key)
    }

    /// All pairs in file order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.pairs.iter().map(|(k, v)| (k.as_str(), v))
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Any integer type, if the value is not negative.
    pub fn u64(&self, key: &str) -> Result<Option<u64>, FormatError> {
        self.read(key, "a non-negative integer", |v| match v {
            Value::Bool(_) => None,
            v => v.integer().and_then(|i| i.try_into().ok()),
        })
    }

    /// Any float or integer type.
    pub fn f64(&self, key: &str) -> Result<Option<f64>, FormatError> {
        self.read(key, "a number", |v| match v {
            Value::F32(f) => Some(f64::from(*f)),
            Value::F64(f) => Some(*f),
            Value::Bool(_) => None,
            v => v.integer().map(|i| i as f64),
        })
    }

    /// A bool.
    pub fn bool(&self, key: &str) -> Result<Option<bool>, FormatError> {
        self.read(key, "BOOL", |v| match v {
            Value::Bool(b) => Some(*b),
            _ => None,
        })
    }

    /// A string.
    pub fn str(&self, key: &str) -> Result<Option<&str>, FormatError> {
        self.read(key, "STRING", |v| match v {
            Value::String(s) => Some(s.as_str()),
            _ => None,
        })
    }

    /// An array of strings.
    pub fn strings(&self, key: &str) -> Result<Option<&[String]>, FormatError> {
        self.read(key, "ARRAY of STRING", |v| match v {
            Value::Array(Array::String(s)) => Some(s.as_slice()),
            _ => None,
        })
    }

    /// An array of floats. Integers are not taken for numbers here: a file that stores scores as bytes is broken.
    pub fn f32s(&self, key: &str) -> Result<Option<Vec<f32>>, FormatError> {
        self.read(key, "ARRAY of F32", |v| match v {
            Value::Array(Array::F32(f)) => Some(f.clone()),
            Value::Array(Array::F64(f)) => Some(f.iter().map(|f| *f as f32).collect()),
            _ => None,
        })
    }

    /// An array of any integer type or of bools (0 and 1).
    pub fn ints(&self, key: &str) -> Result<Option<Vec<i64>>, FormatError> {
        self.read(key, "ARRAY of integers", |v| match v {
            Value::Array(a) => integers(a),
            _ => None,
        })
    }

    /// A value for each of `n` layers: a scalar stands for all, an array must have exactly `n` elements. Integers
    /// that are not negative, or bools (0 and 1).
    pub fn per_layer(&self, key: &str, n: usize) -> Result<Option<Vec<u64>>, FormatError> {
        if n > MAX_LAYERS {
            return Err(FormatError::MetadataType {
                key: key.to_owned(),
                expected: format!("at most {MAX_LAYERS} layers"),
                found: n.to_string(),
            });
        }
        let expected = format!("a non-negative integer, or an ARRAY of {n} of them");
        self.read(key, &expected, |v| match v {
            Value::Array(a) if a.len() != n => None,
            Value::Array(a) => integers(a)?.into_iter().map(|i| i.try_into().ok()).collect(),
            v => v.integer().and_then(|i| i.try_into().ok()).map(|i: u64| vec![i; n]),
        })
    }

    fn read<'a, T>(
        &'a self,
        key: &str,
        expected: &str,
        convert: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, FormatError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        convert(value).map(Some).ok_or_else(|| FormatError::MetadataType {
            key: key.to_owned(),
            expected: expected.to_owned(),
            found: match value {
                Value::Array(a) => format!("ARRAY of {} {}", a.len(), a.type_name()),
                v => format!("{} {v}", v.type_name()),
            },
        })
    }
}

fn integers(a: &Array) -> Option<Vec<i64>> {
    Some(match a {
        Array::U8(v) => v.iter().map(|i| i64::from(*i)).collect(),
        Array::I8(v) => v.iter().map(|i| i64::from(*i)).collect(),
        Array::U16(v) => v.iter().map(|i| i64::from(*i)).collect(),
        Array::I16(v) => v.iter().map(|i| i64::from(*i)).collect(),
        Array::U32(v) => v.iter().map(|i| i64::from(*i)).collect(),
        Array::I32(v) => v.iter().map(|i| i64::from(*i)).collect(),
        Array::I64(v) => v.clone(),
        Array::Bool(v) => v.iter().map(|i| i64::from(*i)).collect(),
        Array::U64(v) => v.iter().map(|i| i64::try_from(*i).ok()).collect::<Option<_>>()?,
        Array::F32(_) | Array::F64(_) | Array::String(_) => return None,
    })
}

impl<K: Into<String>, V: Into<Value>> FromIterator<(K, V)> for Metadata {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self { pairs: pairs.into_iter().map(|(k, v)| (k.into(), v.into())).collect() }
    }
}
