//! Whether a file that was fetched is what its name says: servers answer with pages for people, with nothing, and with
//! less than there is.

use super::split_name;
use crate::error::chain;
use golay::format::{Bytes, FormatError, Gguf, parse_json, read_safetensors};
use std::io::Read;
use std::path::Path;

/// Looks at the file at `path`, which is to be called `name`. The error says what is wrong with it.
pub fn model(path: &Path, name: &str) -> Result<(), String> {
    let io = |e: std::io::Error| e.to_string();
    let mut head = Vec::new();
    std::fs::File::open(path).and_then(|f| f.take(512).read_to_end(&mut head)).map_err(io)?;
    if head.is_empty() {
        return Err("an empty file".into());
    }
    let ending = name.rsplit_once('.').map_or(String::new(), |(_, e)| e.to_ascii_lowercase());
    // A template may look like a page.
    if ending == "jinja" {
        return Ok(());
    }
    let open = || Bytes::open(path);
    let found = match ending.as_str() {
        "json" => open().and_then(|b| parse_json(name, &b)).map(|_| ()),
        "safetensors" => open().and_then(|b| read_safetensors(name, b)).map(|_| ()),
        // Whatever its name, nothing else is of use.
        _ => match Gguf::open(path) {
            // All is well with this one; the others may still be to come.
            Err(FormatError::Shard { .. } | FormatError::MissingFile { .. })
                if split_name(name).is_some() =>
            {
                Ok(())
            }
            other => other.map(|_| ()),
        },
    };
    found.map_err(|e| {
        // Only now: the length that a safetensors file begins with may look like anything.
        if head.trim_ascii_start().starts_with(b"<") {
            return "a page in HTML or XML instead of a file".into();
        }
        // The name for now is of no interest.
        chain(&e).replace(&path.display().to_string(), name)
    })
}
