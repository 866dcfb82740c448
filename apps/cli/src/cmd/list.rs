//! `golay list` and `golay rm`: the models in the cache.

use crate::args::{ListArgs, RmArgs};
use crate::cache::{self, Entry};
use crate::error::{CliError, Result, at};
use crate::output::{self, human_bytes, note};
use std::path::Path;
use std::time::SystemTime;

pub fn list(args: &ListArgs) -> Result<()> {
    let all = cache::entries()?;
    if args.json {
        return output::pretty_json(&all);
    }
    if all.is_empty() {
        note(&format!("{} has no models; `golay pull smollm2` fetches one", cache::folder()?.display()));
        return Ok(());
    }
    let width = all.iter().map(|e| e.name.chars().count()).max().unwrap_or(4).max(4);
    let mut out = format!("{:width$}  {:>10}  MODIFIED\n", "NAME", "SIZE");
    for e in &all {
        let partial = if e.partial { "  (not whole yet: pull it again)" } else { "" };
        let name = output::printable(&e.name);
        out.push_str(&format!("{name:width$}  {:>10}  {}{partial}\n", human_bytes(e.bytes), age(e)));
    }
    output::result(&out)
}

fn age(e: &Entry) -> String {
    let secs = e.modified.and_then(|m| SystemTime::now().duration_since(m).ok()).map_or(0, |d| d.as_secs());
    match secs {
        0..60 => "now".into(),
        60..3600 => format!("{} min ago", secs / 60),
        3600..86_400 => format!("{} h ago", secs / 3600),
        _ => format!("{} d ago", secs / 86_400),
    }
}

pub fn rm(args: &RmArgs) -> Result<()> {
    let mut failed = false;
    for name in &args.names {
        if !cache::is_plain(name) {
            output::error(&format!("{name:?} is not a name in the cache (`golay list` shows them)"));
            failed = true;
            continue;
        }
        let entry = cache::entries()?.into_iter().find(|e| e.name == *name);
        let Some(entry) = entry.map_or_else(|| cache::find(name), |e| Ok(Some(e)))? else {
            output::error(&format!("{name}: no such model in {}", cache::folder()?.display()));
            failed = true;
            continue;
        };
        for path in parts(&entry)? {
            remove(&path)?;
        }
        note(&format!("removed {}", entry.name));
    }
    if failed { Err(CliError::Said) } else { Ok(()) }
}

/// The files of an entry: all of a split model, and what an unfinished download left.
fn parts(entry: &Entry) -> Result<Vec<std::path::PathBuf>> {
    let mut all = vec![entry.path.clone()];
    if let Some((prefix, _, count)) = crate::hub::split_name(&entry.name) {
        let same = |n: &str| crate::hub::split_name(n).is_some_and(|(p, _, c)| p == prefix && c == count);
        let others = cache::entries()?.into_iter().filter(|e| e.name != entry.name && same(&e.name));
        all.extend(others.map(|e| e.path));
    }
    let mut leftovers = Vec::new();
    for path in &all {
        let mut name = path.clone().into_os_string();
        if !entry.partial {
            name.push(".part");
            leftovers.push(name.clone().into());
        }
        name.push(".json");
        leftovers.push(name.into());
    }
    all.extend(leftovers.into_iter().filter(|p: &std::path::PathBuf| p.exists()));
    Ok(all)
}

fn remove(path: &Path) -> Result<()> {
    // A link goes, what it points to stays.
    let kind = std::fs::symlink_metadata(path).map_err(at(path))?;
    if kind.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }.map_err(at(path))
}
