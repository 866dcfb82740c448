//! The folder of fetched models, and what a MODEL argument means.

use crate::error::{CliError, Result, at};
use std::path::{Path, PathBuf};

/// The default model: its short name and its file.
pub const ALIASES: &[(&str, &str)] = &[("smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")];

/// `$GOLAY_MODELS`, or the platform's cache folder.
pub fn folder() -> Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    if let Some(dir) = set("GOLAY_MODELS") {
        return Ok(dir);
    }
    let base = if cfg!(windows) {
        set("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|h| h.join("Library").join("Caches")))
    } else {
        set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|h| h.join(".cache")))
    };
    let base = base.ok_or_else(|| CliError::failed("no home folder is known; set GOLAY_MODELS"))?;
    Ok(base.join("golay").join("models"))
}

/// One model of the cache.
#[derive(Debug, serde::Serialize)]
pub struct Entry {
    pub name: String,
    pub bytes: u64,
    #[serde(skip)]
    pub modified: Option<std::time::SystemTime>,
    pub path: PathBuf,
    /// Fetched only in part.
    pub partial: bool,
}

/// All models of the cache by name.
pub fn entries() -> Result<Vec<Entry>> {
    let dir = folder()?;
    let listing = match std::fs::read_dir(&dir) {
        Ok(l) => l,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(at(&dir)(e)),
    };
    let mut all = Vec::new();
    for item in listing.flatten() {
        let path = item.path();
        let Ok(name) = item.file_name().into_string() else { continue };
        if name.starts_with('.') || name.ends_with(".part.json") {
            continue;
        }
        let Ok(meta) = std::fs::metadata(&path) else { continue };
        let whole_folder = meta.is_dir() && path.join("config.json").is_file();
        let partial = name.ends_with(".part");
        if !(whole_folder || meta.is_file() && (partial || name.ends_with(".gguf"))) {
            continue;
        }
        let bytes = if meta.is_dir() { folder_bytes(&path) } else { meta.len() };
        all.push(Entry { name, bytes, modified: meta.modified().ok(), path, partial });
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

fn folder_bytes(dir: &Path) -> u64 {
    let Ok(listing) = std::fs::read_dir(dir) else { return 0 };
    listing
        .flatten()
        .filter_map(|f| f.metadata().ok())
        .filter(std::fs::Metadata::is_file)
        .map(|m| m.len())
        .sum()
}

/// Whether a name can only be a file of the folder itself.
pub fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name != "."
        && name != ".."
        && !name.contains(['/', '\\', '\0'])
        && !name.starts_with('.')
}

/// The cached model of this name, with or without `.gguf`, whatever the case.
pub fn find(name: &str) -> Result<Option<Entry>> {
    let alias = ALIASES.iter().find(|a| a.0.eq_ignore_ascii_case(name)).map(|a| a.1);
    let mut all = entries()?;
    let name = alias.unwrap_or(name).to_lowercase();
    let wanted = [name.clone(), format!("{name}.gguf"), format!("{name}-00001-of-")];
    let at = all.iter().position(|e| {
        let have = e.name.to_lowercase();
        !e.partial && (have == wanted[0] || have == wanted[1] || have.starts_with(&wanted[2]))
    });
    Ok(at.map(|i| all.swap_remove(i)))
}

/// What a MODEL argument means: a path, or a name in the cache.
pub fn resolve(model: &str) -> Result<PathBuf> {
    if model.is_empty() {
        return Err(CliError::usage("the model's name is empty"));
    }
    let path = Path::new(model);
    if path.exists() {
        return Ok(path.to_owned());
    }
    if is_plain(model)
        && let Some(entry) = find(model)?
    {
        return Ok(entry.path);
    }
    let dir = folder()?;
    let have: Vec<String> = entries()?.into_iter().filter(|e| !e.partial).map(|e| e.name).collect();
    let have = if have.is_empty() { "nothing".to_owned() } else { have.join(", ") };
    let hint = if ALIASES.iter().any(|a| a.0 == model) { model } else { "NAME" };
    Err(CliError::failed(format!(
        "{model}: no such file or folder, and no model of the cache ({} has {have}); `golay pull {hint}` fetches one",
        dir.display()
    )))
}
