//! `golay pull` against a server with faults (trial 27).

use crate::server::{Faults, Server, sha256};
use crate::support::{bad, data, err, golay, good, good_json, names};
use serde_json::json;
use std::path::Path;
use std::process::Output;

const RANGE: usize = 1000;
const SIZE: usize = 4500;
/// Header of the file, and where its data begins.
const HEAD: usize = 64;
const FILE: &str = "/own/repo/resolve/main/m.Q4_0.gguf";
const NAME: &str = "own/repo/m.Q4_0.gguf";

/// A GGUF file of 4500 bytes: a tensor of whatever.
fn content() -> Vec<u8> {
    let mut all = b"GGUF".to_vec();
    all.extend(3u32.to_le_bytes());
    all.extend(1u64.to_le_bytes());
    all.extend(0u64.to_le_bytes());
    all.extend(1u64.to_le_bytes());
    all.push(b't');
    all.extend(1u32.to_le_bytes());
    all.extend(((SIZE - HEAD) as u64).to_le_bytes());
    // I8, at offset 0.
    all.extend(24u32.to_le_bytes());
    all.extend(0u64.to_le_bytes());
    all.resize(HEAD, 0);
    all.extend((HEAD..SIZE).map(|i| ((i as u32).wrapping_mul(2_654_435_761) >> 13) as u8));
    all
}

fn pull(server: &Server, dir: &Path, more: &[&str]) -> Output {
    let range = RANGE.to_string();
    let args = ["pull", "--range", &range];
    golay().args(args).args(more).env("GOLAY_HUB", &server.url).env("GOLAY_MODELS", dir).output().unwrap()
}

/// The file is there, whole, and nothing else.
fn whole(dir: &Path) {
    assert_eq!(std::fs::read(dir.join("m.Q4_0.gguf")).unwrap(), content());
    assert_eq!(std::fs::read_dir(dir).unwrap().count(), 1, "no leftovers");
}

#[test]
fn a_file_comes_whole_and_checked() {
    let (server, dir) = (Server::start(&[(FILE, &content())]), tempfile::tempdir().unwrap());
    let o = pull(&server, dir.path(), &[NAME]);
    assert_eq!(good(&o).trim_end(), dir.path().join("m.Q4_0.gguf").display().to_string());
    assert!(err(&o).contains("SHA-256 verified") && !err(&o).contains('\x1b'), "{}", err(&o));
    whole(dir.path());
    assert_eq!(server.asked(), [0, 1000, 2000, 3000, 4000]);
    assert!(err(&pull(&server, dir.path(), &[NAME])).contains("there already"));
    assert!(server.asked().is_empty());
    let v = good_json(&pull(&server, dir.path(), &["--force", "--json", &format!("hf:{NAME}")]));
    assert_eq!(
        (&v["bytes"], &v["received"], &v["sha256"]),
        (&json!(4500), &json!(4500), &json!(sha256(&content())))
    );
    // A plain address.
    let url = format!("{}{FILE}", server.url);
    good(&pull(&server, dir.path(), &["--force", &url]));
    whole(dir.path());
}

#[test]
fn a_server_that_ignores_ranges() {
    let (server, dir) = (Server::start(&[(FILE, &content())]), tempfile::tempdir().unwrap());
    server.faults(Faults { truncate: Some((2000, 99)), ..Default::default() });
    bad(&pull(&server, dir.path(), &[NAME]), 1, &["ended early, at byte 2500"]);
    // Half is there; now the server answers 200 to everything.
    server.faults(Faults { ignores_ranges: true, ..Default::default() });
    server.asked();
    let o = pull(&server, dir.path(), &[NAME]);
    good(&o);
    assert!(err(&o).contains("ignores ranges"), "{}", err(&o));
    assert_eq!(server.asked(), [2000], "one request, answered with the whole file");
    whole(dir.path());
}

#[test]
fn a_truncated_body_is_fetched_again_and_only_that() {
    let (server, dir) = (Server::start(&[(FILE, &content())]), tempfile::tempdir().unwrap());
    server.faults(Faults { truncate: Some((2000, 1)), ..Default::default() });
    let o = pull(&server, dir.path(), &[NAME]);
    good(&o);
    assert!(
        err(&o).contains("ended early, at byte 2500") && err(&o).contains("2000-2999 again"),
        "{}",
        err(&o)
    );
    assert_eq!(server.asked(), [0, 1000, 2000, 2000, 3000, 4000]);
    whole(dir.path());
    // When it does not get better, the next start goes on from there.
    let dir = tempfile::tempdir().unwrap();
    server.faults(Faults { truncate: Some((3000, 99)), ..Default::default() });
    bad(&pull(&server, dir.path(), &[NAME]), 1, &["ended early, at byte 3500", "goes on from there"]);
    server.faults(Faults::default());
    server.asked();
    let o = pull(&server, dir.path(), &[NAME]);
    good(&o);
    assert!(err(&o).contains("going on after"), "{}", err(&o));
    assert_eq!(server.asked(), [3000, 4000]);
    whole(dir.path());
}

#[test]
fn a_wrong_length_is_named_and_heals() {
    let (server, dir) = (Server::start(&[(FILE, &content())]), tempfile::tempdir().unwrap());
    server.faults(Faults { wrong_total: Some(4400), ..Default::default() });
    bad(&pull(&server, dir.path(), &[NAME]), 1, &["length", "4500 bytes", "4400 bytes"]);
    server.faults(Faults::default());
    good(&pull(&server, dir.path(), &[NAME]));
    whole(dir.path());
}

#[test]
fn a_wrong_range_is_found_by_its_digest() {
    let (server, dir) = (Server::start(&[(FILE, &content())]), tempfile::tempdir().unwrap());
    server.faults(Faults { corrupt: Some((1000, 1)), digests: true, ..Default::default() });
    let o = pull(&server, dir.path(), &[NAME]);
    good(&o);
    assert!(err(&o).contains("bytes 1000-1999 have SHA-256"), "{}", err(&o));
    assert_eq!(server.asked(), [0, 1000, 1000, 2000, 3000, 4000]);
    whole(dir.path());
}

#[test]
fn a_wrong_range_is_found_by_comparing() {
    let (server, dir) = (Server::start(&[(FILE, &content())]), tempfile::tempdir().unwrap());
    server.faults(Faults { corrupt: Some((1000, 1)), ..Default::default() });
    let o = pull(&server, dir.path(), &[NAME]);
    good(&o);
    assert!(err(&o).contains("bytes 1000-1999 were wrong"), "{}", err(&o));
    assert_eq!(server.asked(), [0, 1000, 2000, 3000, 4000, 0, 1000], "no further than the wrong one");
    whole(dir.path());
    // A server that means what it sends: named, nothing kept, and the next start heals.
    let dir = tempfile::tempdir().unwrap();
    server.faults(Faults { corrupt: Some((1000, 99)), ..Default::default() });
    bad(&pull(&server, dir.path(), &[NAME]), 1, &["SHA-256", "expected"]);
    assert!(!dir.path().join("m.Q4_0.gguf").exists());
    server.faults(Faults::default());
    good(&pull(&server, dir.path(), &[NAME]));
    whole(dir.path());
}

#[test]
fn a_part_that_was_damaged_on_disk_is_mended() {
    let (server, dir) = (Server::start(&[(FILE, &content())]), tempfile::tempdir().unwrap());
    server.faults(Faults { truncate: Some((4000, 99)), ..Default::default() });
    bad(&pull(&server, dir.path(), &[NAME]), 1, &["ended"]);
    server.faults(Faults::default());
    server.asked();
    let part = dir.path().join("m.Q4_0.gguf.part");
    let mut bytes = std::fs::read(&part).unwrap();
    bytes[2500] ^= 1;
    std::fs::write(&part, bytes).unwrap();
    let o = pull(&server, dir.path(), &[NAME]);
    good(&o);
    assert!(err(&o).contains("bytes 2000-2999 on disk are damaged"), "{}", err(&o));
    let mut asked = server.asked();
    // The first request also asks how things are.
    asked.dedup();
    asked.sort_unstable();
    asked.dedup();
    assert_eq!(asked, [2000, 4000]);
    whole(dir.path());
    // A file that has changed on the server begins anew.
    let dir = tempfile::tempdir().unwrap();
    server.faults(Faults { truncate: Some((4000, 99)), ..Default::default() });
    bad(&pull(&server, dir.path(), &[NAME]), 1, &["ended"]);
    server.faults(Faults::default());
    let mut new = content();
    new[HEAD..].iter_mut().for_each(|b| *b = !*b);
    server.file(FILE, &new);
    let o = pull(&server, dir.path(), &[NAME]);
    good(&o);
    assert!(err(&o).contains("has changed"), "{}", err(&o));
    assert_eq!(std::fs::read(dir.path().join("m.Q4_0.gguf")).unwrap(), new);
}

#[test]
fn repositories_names_and_refusals() {
    let (server, dir) = (Server::start(&[(FILE, &content())]), tempfile::tempdir().unwrap());
    let sha = sha256(&content());
    let list = json!([
        {"type": "file", "path": "README.md", "size": 3},
        {"type": "file", "path": "m.Q8_0.gguf", "size": 4},
        {"type": "file", "path": "m.Q4_0.gguf", "size": 4500, "lfs": {"oid": sha, "size": 4500}},
    ]);
    server.file("/api/models/own/repo/tree/main?recursive=true", list.to_string().as_bytes());
    let o = golay()
        .args(["pull", "own/repo:Q4_0"])
        .env("GOLAY_HUB", &server.url)
        .env("GOLAY_MODELS", dir.path())
        .env("HF_TOKEN", "hf_secret")
        .output()
        .unwrap();
    good(&o);
    assert!(!err(&o).contains("hf_secret"));
    assert!(server.tokens().iter().any(|t| t.starts_with("/api/") && t.ends_with("bearer hf_secret")));
    whole(dir.path());
    bad(&pull(&server, dir.path(), &["own/repo:Q9"]), 1, &["m.Q8_0.gguf"]);
    bad(&pull(&server, dir.path(), &["own/other"]), 1, &["404", "no such file or repository"]);
    bad(&pull(&server, dir.path(), &["own/repo/other.gguf"]), 1, &["404"]);
    for name in ["model", "../../x", "own/repo/../x", "own/..", ""] {
        bad(&pull(&server, dir.path(), &[name]), 2, &["expected OWNER/REPO"]);
    }
    // Hashes: given, wrong, and none at all.
    server.faults(Faults { no_hash: true, ..Default::default() });
    let o = pull(&server, dir.path(), &["--force", NAME]);
    good(&o);
    assert!(err(&o).contains("not verified"), "{}", err(&o));
    good(&pull(&server, dir.path(), &["--force", "--sha256", &sha, NAME]));
    bad(&pull(&server, dir.path(), &["--force", "--sha256", &sha256(b"other"), NAME]), 1, &["SHA-256"]);
    bad(&pull(&server, dir.path(), &["--sha256", "abc", NAME]), 2, &["64 hexadecimal"]);
    // What is there already is held to a hash, too.
    good(&pull(&server, dir.path(), &["--force", NAME]));
    for name in [NAME, &format!("{}{FILE}", server.url)] {
        let o = pull(&server, dir.path(), &["--sha256", &sha, name]);
        good(&o);
        assert!(err(&o).contains("there already, SHA-256 verified"), "{}", err(&o));
        let other = sha256(b"other");
        bad(&pull(&server, dir.path(), &["--sha256", &other, name]), 1, &["is there, but", &sha, &other]);
        assert_eq!(good_json(&pull(&server, dir.path(), &["--sha256", &sha, "--json", name]))["sha256"], sha);
    }
    // A hub that is not there.
    let nowhere = golay().args(["pull", "own/repo"]).env("GOLAY_HUB", "http://127.0.0.1:9").output().unwrap();
    bad(&nowhere, 1, &["cannot reach", "127.0.0.1:9"]);
    server.faults(Faults { status: Some(403), ..Default::default() });
    bad(&pull(&server, dir.path(), &["--force", NAME]), 1, &["403", "HF_TOKEN"]);
}

#[test]
fn what_is_no_model_is_not_kept() {
    let short = |n: usize| content()[..n].to_vec();
    let page = b"\n<!DOCTYPE html><title>Sign in</title>".to_vec();
    for (name, bytes, word) in [
        ("m.gguf", page.clone(), "a page in HTML"),
        ("m.gguf", Vec::new(), "an empty file"),
        ("m.gguf", short(50), "m.gguf"),
        ("m.gguf", short(3000), "m.gguf"),
        ("m.gguf", b"anything else".to_vec(), "GGUF"),
        ("m-00001-of-00001.gguf", short(3000), "m-00001-of-00001.gguf"),
        ("m.safetensors", page.clone(), "a page in HTML"),
        ("m.safetensors", short(3000), "m.safetensors"),
        ("config.json", page.clone(), "a page in HTML"),
        ("download", page.clone(), "a page in HTML"),
    ] {
        let path = format!("/own/repo/resolve/main/{name}");
        let (server, dir) = (Server::start(&[(&path, &bytes)]), tempfile::tempdir().unwrap());
        for address in [format!("own/repo/{name}"), format!("{}{path}", server.url)] {
            let said = bad(&pull(&server, dir.path(), &[&address]), 1, &["is not kept", word]);
            assert!(!said.contains(".part"), "{said}");
            assert!(names(dir.path()).is_empty(), "{name}: {:?}", names(dir.path()));
        }
        // The right hash makes it no better.
        bad(
            &pull(&server, dir.path(), &["--sha256", &sha256(&bytes), &format!("own/repo/{name}")]),
            1,
            &[word],
        );
        // One that an older golay has kept.
        std::fs::write(dir.path().join(name), &bytes).unwrap();
        bad(&pull(&server, dir.path(), &[&format!("own/repo/{name}")]), 1, &["is no model", "--force"]);
        server.file(&path, &content());
        if name == "m.gguf" {
            good(&pull(&server, dir.path(), &["--force", &format!("own/repo/{name}")]));
            assert_eq!(names(dir.path()), [name]);
        }
    }
}

#[test]
fn a_folder_comes_whole() {
    let files = ["config.json", "model.safetensors"].map(|f| {
        let bytes = std::fs::read(data("goldens/llama").join(f)).unwrap();
        (format!("/own/repo/resolve/main/{f}"), bytes)
    });
    let served: Vec<(&str, &[u8])> = files.iter().map(|(p, b)| (p.as_str(), b.as_slice())).collect();
    let server = Server::start(&served);
    let one = |f: &str, b: &[u8]| json!({"type": "file", "path": f, "size": b.len()});
    let list = json!([one("config.json", &files[0].1), one("model.safetensors", &files[1].1)]);
    server.file("/api/models/own/repo/tree/main?recursive=true", list.to_string().as_bytes());
    let dir = tempfile::tempdir().unwrap();
    let pull = || pull(&server, dir.path(), &["own/repo"]);
    good(&pull());
    assert_eq!(names(&dir.path().join("own--repo")), ["config.json", "model.safetensors"]);
    assert!(err(&pull()).contains("there already"));
}
