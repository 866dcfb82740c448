//! `golay pull`: fetches a model into the cache.

use crate::args::PullArgs;
use crate::cache;
use crate::error::{CliError, Result, at};
use crate::hub::{self, Source, check, fetch, http::Client, state};
use crate::output::{self, human_bytes, note};
use golay::format::ModelFile;
use std::path::Path;

pub fn run(args: &PullArgs) -> Result<()> {
    let source = hub::parse(&args.name).map_err(CliError::Usage)?;
    let client = Client::default();
    let folder = cache::folder()?;
    // A single file that is there needs no network.
    if let Source::File { file, sha256, .. } = &source {
        let name = file.rsplit('/').next().unwrap_or_default();
        let path = folder.join(name);
        if !args.force && hub::split_name(file).is_none() && path.is_file() {
            return there(args, &path, name, args.sha256.as_ref().or(sha256.as_ref()));
        }
    }
    let mut files = hub::files(&client, &source)?;
    if let Some(sha) = &args.sha256 {
        match &mut files[..] {
            [one] => one.sha256 = Some(sha.clone()),
            many => {
                return Err(CliError::usage(format!("--sha256 is for one file, and this is {}", many.len())));
            }
        }
    }
    for wanted in &files {
        let folder = wanted.folder.as_ref().map_or_else(|| folder.clone(), |f| folder.join(f));
        let path = folder.join(&wanted.name);
        if !args.force && path.is_file() {
            there(args, &path, &wanted.name, args.sha256.as_ref())?;
            continue;
        }
        let done = fetch::fetch(&client, wanted, &folder, args.range)?;
        let checked = if done.verified { "SHA-256 verified" } else { "not verified" };
        note(&format!("{}: {} ({checked})", wanted.name, human_bytes(done.bytes)));
        if args.json {
            output::json(&done)?;
        } else {
            output::line(&done.path.display().to_string())?;
        }
    }
    // Several files that are right each may still not go together.
    if let [first, _, ..] = &files[..] {
        let path = first.folder.as_ref().map_or_else(|| folder.join(&first.name), |f| folder.join(f));
        ModelFile::open(&path).map_err(|e| {
            let why = crate::error::chain(&e);
            CliError::failed(format!("the files are there and kept, but are no model together: {why}"))
        })?;
    }
    Ok(())
}

/// A file that the cache has: it must be what a fetch would have kept.
fn there(args: &PullArgs, path: &Path, name: &str, sha256: Option<&String>) -> Result<()> {
    let wrong = |why: String| {
        CliError::failed(format!("{} is there, but {why}; --force fetches it again", path.display()))
    };
    let bytes = std::fs::metadata(path).map_err(at(path))?.len();
    if let Some(expected) = sha256 {
        let mut file = std::fs::File::open(path).map_err(at(path))?;
        let found = state::hash_of(&mut file, 0, bytes).map_err(at(path))?;
        if found != *expected {
            return Err(wrong(format!("has SHA-256 {found}, expected {expected}")));
        }
    }
    check::model(path, name).map_err(|why| wrong(format!("is no model ({why})")))?;
    let checked = if sha256.is_some() { ", SHA-256 verified" } else { "" };
    note(&format!("{} is there already{checked} (--force fetches it again)", path.display()));
    if args.json {
        let mut report = serde_json::json!({ "path": path, "bytes": bytes, "received": 0 });
        if let Some(sha) = sha256 {
            report["sha256"] = sha.as_str().into();
            report["verified"] = true.into();
        }
        output::json(&report)
    } else {
        output::line(&path.display().to_string())
    }
}
