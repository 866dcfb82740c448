//! A chat on disk: what `/save` writes and `/load` reads.

use crate::error::chain;
use golay::generate::SamplerParams;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// The only version there is.
const VERSION: u32 = 1;
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

/// Writes beside the target and renames, so that the old file stays whole until the new one is.
pub fn save(path: &Path, chat: &Saved) -> Result<(), String> {
    let wrong = |e: &dyn std::error::Error| format!("{}: {}", path.display(), chain(e));
    let mut text = serde_json::to_string_pretty(chat).map_err(|e| wrong(&e))?;
    text.push('\n');
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}.part", std::process::id()));
    let part = std::path::PathBuf::from(part);
    let write = || -> std::io::Result<()> {
        let mut file = std::fs::File::create(&part)?;
        std::io::Write::write_all(&mut file, text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&part, path)
    };
    write().map_err(|e| {
        let _ = std::fs::remove_file(&part);
        wrong(&e)
    })
}

/// Reads and checks a chat.
pub fn load(path: &Path) -> Result<Saved, String> {
    let wrong = |text: String| format!("{}: {text}", path.display());
    let size = std::fs::metadata(path).map_err(|e| wrong(e.to_string()))?.len();
    if size > LIMIT {
        return Err(wrong(format!("{size} bytes; a chat has at most {LIMIT}")));
    }
    let bytes = std::fs::read(path).map_err(|e| wrong(e.to_string()))?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|e| wrong(e.to_string()))?;
    match value.get("golay_chat").map(Value::as_u64) {
        Some(Some(v)) if v == u64::from(VERSION) => {}
        Some(_) => return Err(wrong(format!("golay_chat is {}; expected {VERSION}", value["golay_chat"]))),
        None => return Err(wrong("not a chat that /save wrote (no \"golay_chat\")".into())),
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
        assert!(save(&dir.path().join("no/such/folder"), &Saved::new("m", None, vec![], &options)).is_err());
    }
}
