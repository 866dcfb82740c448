//! A chat on disk: what `/save` writes and `/load` reads.

use crate::error::chain;
use crate::target::Target;
use golay::generate::SamplerParams;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The only version there is.
const VERSION: u32 = 1;
/// The field that makes a file one of these.
const MARK: &str = "golay_chat";
/// Largest file that is read.
const LIMIT: u64 = 64 << 20;

/// A saved chat.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Saved {
    /// Marks the file as one of these.
    pub golay_chat: u32,
    /// MODEL as it was given.
    pub model: String,
    /// The system message.
    pub system: Option<String>,
    /// The messages, without the system message.
    pub messages: Vec<Value>,
    /// Sampling.
    pub sampler: SamplerParams,
    /// Most tokens of an answer.
    pub max_tokens: Option<usize>,
    /// Texts that end an answer.
    pub stop: Vec<String>,
}

impl Saved {
    /// Fills in the version.
    pub fn new(
        model: &str,
        system: Option<String>,
        messages: Vec<Value>,
        options: &golay::engine::TextOptions,
    ) -> Self {
        Self {
            golay_chat: VERSION,
            model: model.to_owned(),
            system,
            messages,
            sampler: options.sampler.clone(),
            max_tokens: options.max_tokens,
            stop: options.stop.clone(),
        }
    }
}

/// Writes a chat. A file that is there is replaced when it is a chat (or empty), and nothing else is.
pub fn save(path: &Path, chat: &Saved) -> Result<(), String> {
    let old = std::fs::metadata(path).ok().filter(|m| m.is_file() && m.len() > 0);
    if old.is_some() && !read(path).is_ok_and(|v| v.get(MARK).is_some()) {
        return Err(format!(
            "{}: is there and is not a chat that /save wrote; give another name",
            path.display()
        ));
    }
    let text = serde_json::to_string_pretty(chat).map_err(|e| chain(&e))?;
    let target = Target::new(path).map_err(|e| e.text().to_owned())?;
    target.write(|out| Ok(writeln!(out, "{text}")?)).map_err(|e| e.text().to_owned())
}

/// The JSON of a file; of a pipe or a device no more than a chat may have.
fn read(path: &Path) -> Result<Value, String> {
    let wrong = |text: String| format!("{}: {text}", path.display());
    let file = File::open(path).map_err(|e| wrong(e.to_string()))?;
    let mut bytes = Vec::new();
    file.take(LIMIT + 1).read_to_end(&mut bytes).map_err(|e| wrong(e.to_string()))?;
    if bytes.len() as u64 > LIMIT {
        return Err(wrong(format!("a chat has at most {LIMIT} bytes")));
    }
    serde_json::from_slice(&bytes).map_err(|e| wrong(e.to_string()))
}

/// Reads and checks a chat.
pub fn load(path: &Path) -> Result<Saved, String> {
    let wrong = |text: String| format!("{}: {text}", path.display());
    let value = read(path)?;
    match value.get(MARK).map(Value::as_u64) {
        Some(Some(v)) if v == u64::from(VERSION) => {}
        Some(_) => return Err(wrong(format!("{MARK} is {}; expected {VERSION}", value[MARK]))),
        None => return Err(wrong(format!("not a chat that /save wrote (no {MARK:?})"))),
    }
    let saved: Saved = serde_json::from_value(value).map_err(|e| wrong(e.to_string()))?;
    crate::cmd::template::check(&saved.messages).map_err(wrong)?;
    saved.sampler.validate(u32::MAX).map_err(|e| wrong(e.to_string()))?;
    Ok(saved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_chat_goes_to_disk_and_back_and_broken_ones_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("chat.json");
        let options = golay::engine::TextOptions { max_tokens: Some(3), ..Default::default() };
        let messages = vec![json!({"role": "user", "content": "a\u{0}b"})];
        save(&path, &Saved::new("m", Some("s".into()), messages.clone(), &options)).unwrap();
        let back = load(&path).unwrap();
        assert_eq!((back.messages, back.max_tokens, back.system), (messages, Some(3), Some("s".into())));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no part file stays");

        let good = std::fs::read_to_string(&path).unwrap();
        for (from, to) in [
            ("\"golay_chat\": 1", "\"golay_chat\": 2"),
            ("\"golay_chat\": 1", "\"other\": 1"),
            ("\"role\"", "\"rule\""),
            ("\"user\"", "\"\\ud800\""),
            ("\"max_tokens\": 3", "\"max_tokens\": -3"),
            ("\"dry_base\": 1.75", "\"dry_base\": 0.5"),
            ("}", ""),
        ] {
            let bad = good.replace(from, to);
            assert_ne!(bad, good);
            std::fs::write(&path, bad).unwrap();
            assert!(load(&path).is_err(), "{to}");
        }
        let again = || save(&path, &Saved::new("m", None, vec![], &options));
        assert!(again().unwrap_err().contains("not a chat"), "it is broken");
        std::fs::write(&path, "").unwrap();
        again().unwrap();
        again().unwrap();
        assert!(save(&dir.path().join("no/such/folder"), &Saved::new("m", None, vec![], &options)).is_err());
    }
}
