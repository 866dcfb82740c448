//! JSON as model folders have it: limits on size, infinities in both spellings, no key twice where that matters.

use std::fmt;
use std::marker::PhantomData;

use indexmap::IndexMap;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value;

use super::error::{FormatError, show};

/// Parses a JSON file. `Infinity`, `-Infinity` and `NaN`, which Python writes bare, become `{"__float__": "Infinity"}`
/// and so on, as newer files spell them; [`json_f64`] reads either.
pub fn parse_json(file: &str, bytes: &[u8]) -> Result<Value, FormatError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let replaced = replace_bare_floats(file, bytes)?;
    serde_json::from_slice(replaced.as_deref().unwrap_or(bytes)).map_err(|e| json_error(file, &e))
}

/// A number of a JSON file, where an infinity or NaN may be written `{"__float__": "Infinity"}`.
pub fn json_f64(value: &Value) -> Option<f64> {
    if let Some(number) = value.as_f64() {
        return Some(number);
    }
    match value.as_object()?.get("__float__")?.as_str()? {
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        _ => None,
    }
}

pub(super) fn json_error(file: &str, e: &serde_json::Error) -> FormatError {
    // The parser quotes what it found, at whatever length.
    let reason = e.to_string();
    let reason = match reason.char_indices().nth(300) {
        Some((cut, _)) => {
            format!("{}... (line {}, column {})", &reason[..cut], e.line(), e.column())
        }
        None => reason,
    };
    FormatError::Json { file: file.to_owned(), reason: reason.replace(char::is_control, " ") }
}

/// `None` when there is nothing to replace, which is nearly always.
fn replace_bare_floats(file: &str, bytes: &[u8]) -> Result<Option<Vec<u8>>, FormatError> {
    /// Each becomes a small object in memory; a real file has a handful.
    const LIMIT: usize = 4096;
    let mut out: Option<Vec<u8>> = None;
    let (mut copied, mut at, mut found) = (0, 0, 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at),
            b'I' | b'N' | b'-' => {
                let rest = bytes.get(at..).unwrap_or_default();
                let Some(word) = ["Infinity", "-Infinity", "NaN"].into_iter().find(|w| is_word(rest, w))
                else {
                    at += 1;
                    continue;
                };
                found += 1;
                if found > LIMIT {
                    let reason = format!("more than {LIMIT} infinities or NaNs");
                    return Err(FormatError::Json { file: file.to_owned(), reason });
                }
                let out = out.get_or_insert_default();
                out.extend_from_slice(bytes.get(copied..at).unwrap_or_default());
                out.extend_from_slice(format!("{{\"__float__\":\"{word}\"}}").as_bytes());
                at += word.len();
                copied = at;
            }
            // A word is replaced as a whole or not at all.
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => {
                while bytes.get(at).is_some_and(|b| is_word_byte(*b)) {
                    at += 1;
                }
            }
            _ => at += 1,
        }
    }
    if let Some(out) = &mut out {
        out.extend_from_slice(bytes.get(copied..).unwrap_or_default());
    }
    Ok(out)
}

fn is_word_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

fn is_word(rest: &[u8], word: &str) -> bool {
    rest.strip_prefix(word.as_bytes()).is_some_and(|after| after.first().is_none_or(|b| !is_word_byte(*b)))
}

/// The offset after the string that begins at `at`.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    at += 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// An object whose keys are all different. (`serde_json` alone would keep the last of two.)
pub(super) struct UniqueMap<T>(pub IndexMap<String, T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for UniqueMap<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Unique<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Unique<T> {
            type Value = UniqueMap<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut out = IndexMap::new();
                while let Some(key) = map.next_key::<String>()? {
                    if out.contains_key(&key) {
                        return Err(A::Error::custom(format_args!("duplicate key {}", show(&key))));
                    }
                    let value = map.next_value();
                    let value = value.map_err(|e| A::Error::custom(format_args!("{}: {e}", show(&key))))?;
                    out.insert(key, value);
                }
                Ok(UniqueMap(out))
            }
        }

        d.deserialize_map(Unique(PhantomData))
    }
}
