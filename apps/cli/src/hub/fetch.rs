//! Fetching one file: in ranges, each checked as it comes, so that only what is wrong is fetched again.
//!
//! The file grows as `NAME.part` and is renamed when it is whole and its SHA-256 (where the server or the person gives
//! one) is right. When the whole is wrong although every range came complete, ranges are fetched again one by one and
//! compared until the whole is right: a bad range is replaced, the others stay.

use super::Wanted;
use super::http::{Answer, Client, Headers, HubError};
use super::state::{State, hash_of, hex};
use crate::output::{Bar, human_bytes, note};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// How often a range is tried.
const TRIES: usize = 4;

/// A file that is there.
#[derive(Debug, serde::Serialize)]
pub struct Fetched {
    pub path: PathBuf,
    pub bytes: u64,
    pub sha256: String,
    /// Bytes that came over the network.
    pub received: u64,
    /// Whether the hash was given and agrees.
    pub verified: bool,
}

/// A fetch under way.
struct Fetch<'a> {
    client: &'a Client,
    name: &'a str,
    state: State,
    state_path: PathBuf,
    file: File,
    bar: Bar,
    received: u64,
}

/// Fetches a file into `folder`.
pub fn fetch(client: &Client, wanted: &Wanted, folder: &Path, range: u64) -> Result<Fetched, HubError> {
    let io = |path: &Path| {
        let file = path.display().to_string();
        move |source| HubError::File { file, source }
    };
    std::fs::create_dir_all(folder).map_err(io(folder))?;
    let target = folder.join(&wanted.name);
    let part = folder.join(format!("{}.part", wanted.name));
    let state_path = folder.join(format!("{}.part.json", wanted.name));
    let (state, first) = begin(client, wanted, &state_path, range)?;
    let mut file =
        File::options().read(true).write(true).create(true).truncate(false).open(&part).map_err(io(&part))?;
    // An empty disk should be found out now, but a sparse file does no harm.
    file.set_len(state.size).map_err(io(&part))?;
    let mut state = state;
    let torn = state.check(&mut file).map_err(io(&part))?;
    if !torn.is_empty() {
        note(&format!(
            "{}: {} on disk are damaged and are fetched again",
            wanted.name,
            ranges(&state, &torn)
        ));
    }
    if state.have() > 0 {
        note(&format!(
            "{}: going on after {} of {}",
            wanted.name,
            human_bytes(state.have()),
            human_bytes(state.size)
        ));
    }
    let mut f = Fetch {
        client,
        name: &wanted.name,
        state,
        state_path,
        file,
        bar: Bar::bytes("fetching"),
        received: 0,
    };
    f.state.write(&f.state_path)?;
    f.all(first)?;
    let sha256 = f.verify()?;
    f.file.sync_all().map_err(io(&part))?;
    let done = Fetched {
        path: target.clone(),
        bytes: f.state.size,
        verified: f.state.sha256.is_some(),
        sha256,
        received: f.received,
    };
    if let Err(why) = super::check::model(&part, &wanted.name) {
        let _ = (std::fs::remove_file(&part), std::fs::remove_file(&f.state_path));
        let host = super::http::origin(&wanted.url).to_owned();
        return Err(HubError::NoFile { name: wanted.name.clone(), host, why });
    }
    std::fs::rename(&part, &target).map_err(io(&target))?;
    let _ = std::fs::remove_file(&f.state_path);
    Ok(done)
}

/// Asks for the first bytes, which tells size, version and hash, and takes up what an earlier start left.
fn begin(
    client: &Client,
    wanted: &Wanted,
    state_path: &Path,
    range: u64,
) -> Result<(State, Option<(usize, Answer)>), HubError> {
    let old = State::read(state_path).filter(|s| s.url == wanted.url);
    let at = old.as_ref().and_then(State::missing).unwrap_or(0);
    let ask = old.as_ref().filter(|s| s.size > 0).map_or((0, range - 1), |s| s.bytes_of(at));
    let answer = client.get(&wanted.url, Some(ask), None)?;
    let h = answer.headers.clone();
    let size =
        total(&h, answer.status).or(h.linked_size).or(wanted.size).ok_or_else(|| HubError::Answer {
            url: wanted.url.clone(),
            what: "the size of the file",
            expected: "Content-Range or Content-Length".into(),
            found: "neither".into(),
        })?;
    for (claimed, by) in [(wanted.size, "the repository's listing"), (h.linked_size, "X-Linked-Size")] {
        if let Some(claimed) = claimed.filter(|c| *c != size) {
            return Err(HubError::Answer {
                url: wanted.url.clone(),
                what: "the length of the file",
                expected: format!("{claimed} bytes, as {by} says"),
                found: format!("{size} bytes"),
            });
        }
    }
    let sha256 = wanted.sha256.clone().or(h.linked_sha256.clone());
    let same = |s: &State| {
        let hashes = s.sha256.is_none() || sha256.is_none() || s.sha256 == sha256;
        let tags = s.etag.is_none() || h.etag.is_none() || s.etag == h.etag;
        // A hash names the content; a tag only matters without one.
        s.size == size && hashes && (tags || s.sha256.is_some() && s.sha256 == sha256)
    };
    let (mut state, kept) = match old {
        Some(s) if same(&s) => (s, true),
        Some(_) => {
            note(&format!("{}: the file on the server has changed; starting anew", wanted.name));
            (State::new(&wanted.url, size, range), false)
        }
        None => (State::new(&wanted.url, size, range), false),
    };
    state.etag = h.etag;
    state.sha256 = sha256.or(state.sha256);
    // The answer at hand is of use when it is for the range that comes next.
    let fits = (kept || ask.0 == 0) && state.missing().is_some();
    let first = fits.then(|| (state.missing().unwrap_or(0), answer));
    Ok((state, first))
}

/// Size of the whole file as an answer tells it.
fn total(h: &Headers, status: u16) -> Option<u64> {
    match h.range {
        Some((_, _, all)) => all,
        None if status == 200 => h.length,
        None => None,
    }
}

fn ranges(state: &State, list: &[usize]) -> String {
    let one = |i: &usize| {
        let (a, b) = state.bytes_of(*i);
        format!("{a}-{b}")
    };
    format!("bytes {}", list.iter().map(one).collect::<Vec<_>>().join(", "))
}

impl Fetch<'_> {
    /// Fetches every missing range.
    fn all(&mut self, mut first: Option<(usize, Answer)>) -> Result<(), HubError> {
        while let Some(i) = self.state.missing() {
            let answer = first.take().filter(|(at, _)| *at == i).map(|(_, a)| a);
            self.range(i, answer)?;
        }
        Ok(())
    }

    /// Fetches range `i` (and, from a server that sends the whole file, all that is missing).
    fn range(&mut self, i: usize, mut answer: Option<Answer>) -> Result<(), HubError> {
        let span = self.state.bytes_of(i);
        let mut why = String::new();
        for attempt in 0..TRIES {
            if attempt > 0 {
                note(&format!("{}: {why}; fetching bytes {}-{} again", self.name, span.0, span.1));
                std::thread::sleep(std::time::Duration::from_millis(100 << attempt));
            }
            let got = match answer.take() {
                Some(a) => Ok(a),
                None => self.client.get(&self.state.url, Some(span), self.state.etag.as_deref()),
            };
            let result = got.and_then(|a| self.take(i, a));
            why = match result {
                Ok(None) => return Ok(()),
                Ok(Some(why)) => why,
                // What no repetition mends.
                Err(e @ (HubError::File { .. } | HubError::Answer { .. } | HubError::Content { .. })) => {
                    return Err(e);
                }
                Err(e @ HubError::Status { status: 400..=428 | 430..=499, .. }) => return Err(e),
                Err(e) => e.to_string(),
            };
            if self.state.done[i].is_some() {
                return Ok(());
            }
        }
        Err(HubError::Interrupted { name: self.name.to_owned(), why })
    }

    /// Takes an answer for range `i`. `Ok(Some(why))` when it was not whole or not right.
    fn take(&mut self, i: usize, answer: Answer) -> Result<Option<String>, HubError> {
        let (a, b) = self.state.bytes_of(i);
        let (status, h) = (answer.status, answer.headers.clone());
        let wrong = |what, expected: String, found: String| HubError::Answer {
            url: self.state.url.clone(),
            what,
            expected,
            found,
        };
        if status == 200 {
            if let Some(n) = h.length.filter(|n| *n != self.state.size) {
                return Err(wrong(
                    "the length of the file",
                    format!("{} bytes", self.state.size),
                    format!("{n} bytes"),
                ));
            }
            if self.state.done.len() > 1 {
                note(&format!(
                    "{}: the server ignores ranges (it answered 200 to a range request): reading from the beginning",
                    self.name
                ));
            }
            return self.whole(&mut answer.reader(), h.digest);
        }
        match h.range {
            Some((x, y, all)) if (x, y) == (a, b) && all.is_none_or(|n| n == self.state.size) => {}
            found => {
                let found = found.map_or("no Content-Range".into(), |(x, y, n)| {
                    format!("bytes {x}-{y} of {}", n.map_or("*".into(), |n| n.to_string()))
                });
                return Err(wrong("the range", format!("bytes {a}-{b} of {}", self.state.size), found));
            }
        }
        let mut reader = answer.reader();
        match self.store(&mut reader, a, b - a + 1)? {
            Ok(hash) => {
                if let Some(d) = h.digest.filter(|d| hex(d) != hash) {
                    return Ok(Some(format!(
                        "bytes {a}-{b} have SHA-256 {hash}, and the server says {}",
                        hex(&d)
                    )));
                }
                self.state.done[i] = Some(hash);
                self.state.write(&self.state_path)?;
                Ok(None)
            }
            Err(why) => Ok(Some(why)),
        }
    }

    /// Takes the whole file: ranges that are there are passed over, the others stored.
    fn whole(&mut self, reader: &mut dyn Read, digest: Option<[u8; 32]>) -> Result<Option<String>, HubError> {
        let _ = digest; // of the whole body, part of which may be on disk already: `verify` sees to that
        for i in 0..self.state.done.len() {
            let (a, b) = self.state.bytes_of(i);
            let len = b - a + 1;
            if self.state.done[i].is_some() {
                match std::io::copy(&mut Read::take(&mut *reader, len), &mut std::io::sink()) {
                    Ok(n) if n == len => self.received += n,
                    Ok(n) => return Ok(Some(ended(a + n, self.state.size))),
                    Err(e) => return Ok(Some(broke(a, self.state.size, &e))),
                }
                continue;
            }
            match self.store(reader, a, len)? {
                Ok(hash) => self.state.done[i] = Some(hash),
                Err(why) => return Ok(Some(why)),
            }
            self.state.write(&self.state_path)?;
        }
        Ok(None)
    }

    /// Writes `len` bytes at `at` and gives their hash; the inner error says why they did not come.
    fn store(
        &mut self,
        reader: &mut dyn Read,
        at: u64,
        len: u64,
    ) -> Result<Result<String, String>, HubError> {
        let file_error = |source| HubError::File { file: format!("{}.part", self.name), source };
        self.file.seek(SeekFrom::Start(at)).map_err(file_error)?;
        let mut hasher = Sha256::new();
        let mut block = vec![0u8; 1 << 16];
        let mut done = 0u64;
        let before = self.state.have();
        while done < len {
            let want = block.len().min((len - done) as usize);
            let n = match reader.read(&mut block[..want]) {
                Ok(0) => return Ok(Err(ended(at + done, at + len))),
                Ok(n) => n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Ok(Err(broke(at + done, at + len, &e))),
            };
            self.file.write_all(&block[..n]).map_err(file_error)?;
            hasher.update(&block[..n]);
            done += n as u64;
            self.received += n as u64;
            self.bar.set(before + done, self.state.size);
        }
        Ok(Ok(hex(&hasher.finalize())))
    }

    /// Checks the whole file, and mends it range by range when it is wrong.
    fn verify(&mut self) -> Result<String, HubError> {
        let hash = |f: &mut Self| {
            let all = f.state.size;
            hash_of(&mut f.file, 0, all)
                .map_err(|source| HubError::File { file: format!("{}.part", f.name), source })
        };
        let mut found = hash(self)?;
        let Some(expected) = self.state.sha256.clone() else {
            note(&format!("{}: the server gives no hash to compare with; SHA-256 {found}", self.name));
            return Ok(found);
        };
        if found == expected {
            return Ok(found);
        }
        note(&format!("{}: SHA-256 {found}, expected {expected}: looking for the wrong range", self.name));
        for i in 0..self.state.done.len() {
            let old = self.state.done[i].take();
            self.range(i, None)?;
            if self.state.done[i] == old {
                continue;
            }
            let (a, b) = self.state.bytes_of(i);
            note(&format!("{}: bytes {a}-{b} were wrong and are replaced", self.name));
            found = hash(self)?;
            if found == expected {
                return Ok(found);
            }
        }
        // The server means what it sends: nothing here is worth keeping, not even the hash, which may be mistyped.
        self.state.done.iter_mut().for_each(|d| *d = None);
        self.state.sha256 = None;
        self.state.write(&self.state_path)?;
        Err(HubError::Content {
            name: self.name.to_owned(),
            what: "its SHA-256 does not agree, and every range came twice the same".into(),
            expected,
            found,
        })
    }
}

fn ended(at: u64, end: u64) -> String {
    format!("the body ended early, at byte {at} of {end}")
}

fn broke(at: u64, end: u64, e: &std::io::Error) -> String {
    format!("{} ({e})", ended(at, end))
}
