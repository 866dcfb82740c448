//! A small HTTP server with faults, on 127.0.0.1.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What a server does wrong.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Answers 200 and the whole file, whatever is asked.
    pub ignores_ranges: bool,
    /// Claims another size in Content-Range.
    pub wrong_total: Option<u64>,
    /// For the range that begins here, ends the body half-way, so many times.
    pub truncate: Option<(u64, usize)>,
    /// For the range that begins here, sends a wrong byte, so many times.
    pub corrupt: Option<(u64, usize)>,
    /// Says Content-Digest.
    pub digests: bool,
    /// Says X-Linked-Etag.
    pub no_hash: bool,
    /// Another status for everything.
    pub status: Option<u16>,
}

#[derive(Default)]
struct Shared {
    files: HashMap<String, Vec<u8>>,
    faults: Faults,
    /// First bytes of the ranges asked for.
    log: Vec<(String, Option<(u64, u64)>)>,
    tokens: Vec<String>,
}

pub struct Server {
    shared: Arc<Mutex<Shared>>,
    pub url: String,
}

impl Server {
    pub fn start(files: &[(&str, &[u8])]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let files = files.iter().map(|(p, b)| ((*p).to_owned(), b.to_vec())).collect();
        let shared = Arc::new(Mutex::new(Shared { files, ..Default::default() }));
        let s = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let s = s.clone();
                std::thread::spawn(move || serve(stream, &s));
            }
        });
        Self { shared, url }
    }

    pub fn faults(&self, faults: Faults) {
        self.shared.lock().unwrap().faults = faults;
    }

    pub fn file(&self, path: &str, bytes: &[u8]) {
        self.shared.lock().unwrap().files.insert(path.to_owned(), bytes.to_vec());
    }

    /// First bytes of the ranges of files asked for since the last call.
    pub fn asked(&self) -> Vec<u64> {
        let log = std::mem::take(&mut self.shared.lock().unwrap().log);
        log.iter().filter(|(p, _)| p.starts_with("/cdn/")).map(|(_, r)| r.map_or(0, |r| r.0)).collect()
    }

    pub fn tokens(&self) -> Vec<String> {
        self.shared.lock().unwrap().tokens.clone()
    }
}

fn serve(mut stream: TcpStream, shared: &Mutex<Shared>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let Some(Ok(first)) = lines.next() else { return };
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut range = None;
    let mut token = String::new();
    for line in lines.map_while(Result::ok).take_while(|l| !l.is_empty()) {
        let line = line.to_ascii_lowercase();
        if let Some(r) = line.strip_prefix("range: bytes=") {
            range = r.split_once('-').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        }
        if let Some(t) = line.strip_prefix("authorization: ") {
            token = t.to_owned();
        }
    }
    let mut s = shared.lock().unwrap();
    s.log.push((path.clone(), range));
    if !token.is_empty() {
        s.tokens.push(format!("{path} {token}"));
    }
    let _ = stream.write_all(&reply(&mut s, &path, range));
}

/// A repository's file is redirected to /cdn, as the hub does.
fn reply(s: &mut Shared, path: &str, range: Option<(u64, u64)>) -> Vec<u8> {
    let plain = |status: &str, headers: &str, body: &[u8]| {
        let head = format!(
            "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    };
    if let Some(status) = s.faults.status {
        return plain(&format!("{status} Trouble"), "", b"trouble");
    }
    let name = path.strip_prefix("/cdn").unwrap_or(path);
    let Some(file) = s.files.get(name).cloned() else { return plain("404 Not Found", "", b"no") };
    if path.starts_with("/api/") {
        return plain("200 OK", "Content-Type: application/json\r\n", &file);
    }
    if !path.starts_with("/cdn/") {
        let hash = if s.faults.no_hash {
            String::new()
        } else {
            format!("X-Linked-Etag: \"{}\"\r\n", sha256(&file))
        };
        let headers = format!("{hash}X-Linked-Size: {}\r\nLocation: /cdn{path}\r\n", file.len());
        return plain("302 Found", &headers, b"over there");
    }
    let size = file.len() as u64;
    if size == 0 {
        return plain("200 OK", "", b"");
    }
    let whole = s.faults.ignores_ranges || range.is_none();
    let (a, b) =
        if whole { (0, size - 1) } else { range.map(|(a, b)| (a, b.min(size - 1))).unwrap_or_default() };
    if a >= size {
        return plain("416 Range Not Satisfiable", "", b"");
    }
    let right = &file[a as usize..=b as usize];
    let mut body = right.to_vec();
    if let Some((at, times)) = s.faults.corrupt.as_mut().filter(|(at, times)| *at == a && *times > 0) {
        let _ = at;
        *times -= 1;
        body[3] ^= 1;
    }
    let mut head = if whole {
        "HTTP/1.1 200 OK\r\n".to_owned()
    } else {
        let total = s.faults.wrong_total.unwrap_or(size);
        format!("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {a}-{b}/{total}\r\n")
    };
    if s.faults.digests {
        head += &format!("Content-Digest: sha-256=:{}:\r\n", base64(&sha256_bytes(right)));
    }
    head += &format!(
        "ETag: \"{}\"\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        &sha256(&file)[..8],
        body.len()
    );
    if let Some((_, times)) = s.faults.truncate.as_mut().filter(|(at, times)| *at == a && *times > 0) {
        *times -= 1;
        body.truncate(body.len() / 2);
    }
    [head.as_bytes(), &body].concat()
}

pub fn sha256_bytes(bytes: &[u8]) -> Vec<u8> {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).to_vec()
}

pub fn sha256(bytes: &[u8]) -> String {
    sha256_bytes(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0u32, |w, b| w << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * i) & 63) as usize];
            out.push(if i <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}
