//! A Hugging Face folder: `config.json`, the tokenizer's files and the weights.

use std::path::PathBuf;

use serde_json::Value;

use super::bytes::Bytes;
use super::error::FormatError;
use super::json::parse_json;
use super::safetensors::{INDEX, read_safetensors, read_sharded};
use super::tensors::TensorSet;

/// Largest tokenizer or weight index that is read.
const BIG_LIMIT: u64 = 64 << 20;
/// Largest JSON file of the other kinds, and largest chat template.
const SMALL_LIMIT: u64 = 16 << 20;

/// A Hugging Face folder, opened.
#[derive(Clone, Debug)]
pub struct HfFolder {
    /// `config.json`, an object. Infinities are as [`parse_json`] leaves them.
    pub config: Value,
    /// `generation_config.json`.
    pub generation_config: Option<Value>,
    /// `tokenizer.json`, not parsed.
    pub tokenizer_json: Option<Vec<u8>>,
    /// `tokenizer_config.json`.
    pub tokenizer_config: Option<Value>,
    /// `chat_template.jinja`, or the (default) one in `tokenizer_config.json`.
    pub chat_template: Option<String>,
    /// The weights.
    pub tensors: TensorSet,
    /// The folder.
    pub path: PathBuf,
}

impl HfFolder {
    /// Opens a folder.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(folder: impl AsRef<std::path::Path>) -> Result<Self, FormatError> {
        let folder = folder.as_ref();
        Self::read(folder.to_owned(), |name| {
            let path = folder.join(name);
            match std::fs::metadata(&path) {
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
                _ => Bytes::open(&path).map(Some),
            }
        })
    }

    /// Reads a folder that is in memory, given as plain file names with their contents.
    pub fn from_files(files: Vec<(String, Vec<u8>)>) -> Result<Self, FormatError> {
        let files: Vec<(String, Bytes)> = files.into_iter().map(|(n, b)| (n, b.into())).collect();
        Self::read(PathBuf::new(), |name| Ok(files.iter().find(|(n, _)| n == name).map(|(_, b)| b.clone())))
    }

    fn read(
        path: PathBuf,
        open: impl Fn(&str) -> Result<Option<Bytes>, FormatError>,
    ) -> Result<Self, FormatError> {
        let shown = |name: &str| path.join(name).display().to_string();
        let limited = |name: &str, limit: u64| match open(name)? {
            Some(bytes) if bytes.len() as u64 > limit => {
                Err(FormatError::TooLarge { file: shown(name), found: bytes.len() as u64, limit })
            }
            found => Ok(found),
        };
        let object = |name: &str| {
            let Some(bytes) = limited(name, SMALL_LIMIT)? else { return Ok(None) };
            let value = parse_json(&shown(name), &bytes)?;
            if !value.is_object() {
                let reason = "expected an object".to_owned();
                return Err(FormatError::Json { file: shown(name), reason });
            }
            Ok(Some(value))
        };
        let missing = |expected: &str| FormatError::MissingFile {
            folder: path.display().to_string(),
            expected: expected.to_owned(),
        };
        let config = object("config.json")?.ok_or_else(|| missing("config.json"))?;
        let tokenizer_config = object("tokenizer_config.json")?;
        let chat_template = match limited("chat_template.jinja", SMALL_LIMIT)? {
            Some(bytes) => {
                let file = shown("chat_template.jinja");
                let text = std::str::from_utf8(&bytes);
                Some(text.map_err(|_| FormatError::Utf8 { file, what: "its text".into() })?.to_owned())
            }
            None => match tokenizer_config.as_ref().and_then(|c| c.get("chat_template")) {
                Some(value) => template(&shown("tokenizer_config.json"), value)?,
                None => None,
            },
        };
        let tensors = if let Some(bytes) = open("model.safetensors")? {
            read_safetensors(&shown("model.safetensors"), bytes)?
        } else if let Some(index) = limited(INDEX, BIG_LIMIT)? {
            read_sharded(&shown(INDEX), &index, |name| Ok(open(name)?.map(|bytes| (shown(name), bytes))))?
        } else {
            return Err(missing(&format!("model.safetensors or {INDEX}")));
        };
        Ok(Self {
            config,
            generation_config: object("generation_config.json")?,
            tokenizer_json: limited("tokenizer.json", BIG_LIMIT)?.map(|b| b.to_vec()),
            tokenizer_config,
            chat_template,
            tensors,
            path,
        })
    }
}

/// A template is a string, or a list of named ones of which `default` is meant.
fn template(file: &str, value: &Value) -> Result<Option<String>, FormatError> {
    let wrong = |found: &str| FormatError::Field {
        file: file.to_owned(),
        what: "chat_template".to_owned(),
        expected: "a string, or a list of objects with the strings name and template".to_owned(),
        found: found.to_owned(),
    };
    let list = match value {
        Value::Null => return Ok(None),
        Value::String(text) => return Ok(Some(text.clone())),
        Value::Array(list) => list,
        _ => return Err(wrong("something else")),
    };
    let mut default = None;
    for item in list {
        let field = |key| item.get(key).and_then(Value::as_str);
        let (Some(name), Some(text)) = (field("name"), field("template")) else {
            return Err(wrong("a list with something else in it"));
        };
        if name == "default" {
            default = Some(text.to_owned());
        }
    }
    Ok(default)
}
