//! What is known of an adapter from an earlier run: that its kernels agree with their references, and which geometry
//! they use. One small JSON file per adapter, driver, capabilities and set of shaders.

use super::error::Result;
use super::load::Progress;
use crate::gpu::{Gpu, Kernels, preprocess};
use crate::kernels::{Tuning, choose};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

#[derive(Debug, Serialize, Deserialize)]
struct Notes {
    adapter: String,
    driver: String,
    checks: usize,
    tuning: Tuning,
}

/// Where golay keeps what it may lose: `$GOLAY_CACHE`, else `golay` under the system's cache folder.
pub fn cache_folder() -> Option<PathBuf> {
    let var = |k: &str| std::env::var_os(k).filter(|v| !v.is_empty()).map(PathBuf::from);
    if let Some(own) = var("GOLAY_CACHE") {
        return Some(own);
    }
    let base = if cfg!(windows) {
        var("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        var("HOME").map(|h| h.join("Library/Caches"))
    } else {
        var("XDG_CACHE_HOME").or_else(|| var("HOME").map(|h| h.join(".cache")))
    };
    base.map(|b| b.join("golay"))
}

/// The folder of what is known of adapters, made when it is not there; `None` where that cannot be.
pub(super) fn folder() -> Option<PathBuf> {
    cache_folder().map(|f| f.join("adapters")).filter(|f| std::fs::create_dir_all(f).is_ok())
}

/// FNV-1a: names files, guards nothing.
pub(super) fn hash(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|p| p.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// The name of an adapter's files: changes with the driver, the capabilities in use, the geometry that is tried first
/// and any shader.
fn name(gpu: &Gpu, wanted: &Tuning) -> String {
    file_name(gpu, &format!("{wanted:?}"))
}

/// The name of a file about an adapter, its driver, the capabilities in use, our shaders, and `what`.
pub(super) fn file_name(gpu: &Gpu, what: &str) -> String {
    let caps = format!("{:?} {what}", gpu.caps);
    let i = &gpu.info;
    let mut parts = vec![i.name.as_str(), i.driver.as_str(), i.driver_info.as_str(), caps.as_str()];
    parts.extend(preprocess::all_sources().map(|s| s.1));
    format!("{:016x}", hash(&parts))
}

/// Kernels for a device, and the geometry to use: as noted, or checked now (and noted) when this adapter, driver and
/// these shaders have not been seen together before. Without a writable folder it checks every time.
///
/// # Errors
/// A family of kernels that has no variant with the right numbers.
pub(crate) async fn kernels(
    gpu: &Gpu,
    wanted: Tuning,
    check: bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Kernels, Tuning)> {
    let Some(folder) = folder().filter(|_| check) else {
        return Ok((Kernels::default(), wanted));
    };
    let name = name(gpu, &wanted);
    let kernels = Kernels::in_folder(gpu, &folder, &name);
    let path = folder.join(format!("{name}.json"));
    if let Some(notes) = read::<Notes>(&path) {
        return Ok((kernels, notes.tuning));
    }
    let mut report = |done, all, _: &choose::Finding| progress(Progress::Check(done, all));
    let (tuning, found) = choose::choose(gpu, &kernels, &wanted, &mut report).await?;
    let notes = Notes {
        adapter: gpu.info.name.clone(),
        driver: format!("{} {}", gpu.info.driver, gpu.info.driver_info),
        checks: found.len(),
        tuning: tuning.clone(),
    };
    if let Err(e) = write(&path, &notes) {
        log::warn!("{}: {e}", path.display());
    }
    Ok((kernels, tuning))
}

pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let text = std::fs::read_to_string(path).ok()?;
    match serde_json::from_str(&text) {
        Ok(n) => Some(n),
        Err(e) => {
            log::warn!("{}: {e}; it is made anew", path.display());
            None
        }
    }
}

/// Writes a file whole or not at all.
pub(super) fn write(path: &Path, value: &impl Serialize) -> std::io::Result<()> {
    let part = path.with_extension(format!("{}.part", std::process::id()));
    let text = serde_json::to_string_pretty(value).map_err(std::io::Error::other)?;
    std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, path))
}
