//! The geometries that tuning found: one small JSON file per adapter, driver, capabilities and set of shaders, with an
//! entry for every set of model shapes.

use super::adapter_notes;
use super::error::{EngineError, Result};
use super::load::Progress;
use super::session::Cancel;
use crate::gpu::{Gpu, Kernels};
use crate::harness::kernels;
use crate::kernels::Tuning;
use std::collections::BTreeMap;
use std::path::PathBuf;

type Entries = BTreeMap<String, Tuning>;

fn path(gpu: &Gpu) -> Option<PathBuf> {
    Some(adapter_notes::folder()?.join(format!("{}.tuned.json", adapter_notes::file_name(gpu, "tuned"))))
}

/// What was found for these shapes.
pub(super) fn read(gpu: &Gpu, shapes: &str) -> Option<Tuning> {
    let path = path(gpu)?;
    let mut entries: Entries = adapter_notes::read(&path)?;
    let found = entries.remove(shapes)?;
    if !found.usable(&gpu.caps) {
        log::warn!(
            "{}: a geometry in it is impossible and is not used; `golay tune` replaces it",
            path.display()
        );
        return None;
    }
    Some(found)
}

/// A geometry that tuning found on this adapter, for whatever model.
pub fn any(gpu: &Gpu) -> Option<Tuning> {
    adapter_notes::read::<Entries>(&path(gpu)?)?.into_values().find(|t| t.usable(&gpu.caps))
}

/// Keeps a geometry for these shapes on this adapter, or forgets it.
///
/// # Errors
/// A cache folder that cannot be written.
pub fn remember(gpu: &Gpu, shapes: &str, tuning: Option<&Tuning>) -> Result<()> {
    let refused = |why: String| EngineError::Option {
        what: "the cache folder",
        found: why,
        expected: "a folder that can be written (GOLAY_CACHE names another)".into(),
    };
    let path = path(gpu).ok_or_else(|| refused("none".into()))?;
    let mut entries: Entries = adapter_notes::read(&path).unwrap_or_default();
    match tuning {
        Some(t) => entries.insert(shapes.to_owned(), t.clone()),
        None => entries.remove(shapes),
    };
    adapter_notes::write(&path, &entries).map_err(|e| refused(format!("{}: {e}", path.display())))
}

/// Kernels for a search, with a crash marker of their own; `None` where nothing could be kept.
pub(super) fn kernels(gpu: &Gpu) -> Option<Kernels> {
    let folder = adapter_notes::folder()?;
    Some(Kernels::in_folder(gpu, &folder, &adapter_notes::file_name(gpu, "tuning")))
}

/// The tuner's progress as a load's.
pub(super) struct Shown<'a> {
    pub progress: &'a mut dyn FnMut(Progress),
    pub skip: &'a Cancel,
}

impl kernels::Progress for Shown<'_> {
    fn step(&mut self, now: &str, done: usize, all: usize) {
        // The end of a family is not the end of the search.
        if done < all {
            (self.progress)(Progress::Tune(now.to_owned(), done, all));
        }
    }

    fn cancelled(&self) -> bool {
        self.skip.is_cancelled()
    }
}
