//! `golay pull`: fetches a model into the cache.

use crate::args::PullArgs;
use crate::cache;
use crate::error::{CliError, Result};
use crate::hub::{self, Source, fetch, http::Client};
use crate::output::{self, human_bytes, note};

pub fn run(args: &PullArgs) -> Result<()> {
    let source = hub::parse(&args.name).map_err(CliError::Usage)?;
    let client = Client::default();
    let folder = cache::folder()?;
    // A single file that is there needs no network.
    if let Source::File { file, .. } = &source {
        let path = folder.join(file.rsplit('/').next().unwrap_or_default());
        if !args.force && hub::split_name(file).is_none() && path.is_file() {
            return there(args, &path);
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
            there(args, &path)?;
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
    Ok(())
}

fn there(args: &PullArgs, path: &std::path::Path) -> Result<()> {
    note(&format!("{} is there already (--force fetches it again)", path.display()));
    if args.json {
        let bytes = std::fs::metadata(path)?.len();
        output::json(&serde_json::json!({ "path": path, "bytes": bytes, "received": 0 }))
    } else {
        output::line(&path.display().to_string())
    }
}
