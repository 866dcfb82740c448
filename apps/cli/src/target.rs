//! Files that commands write. A file appears under its name when it is whole: it grows beside it as `NAME.PID.part`
//! and takes the name in the end, which only a regular file or nothing at all may have had. Links are followed. Pipes
//! and devices cannot be replaced and are written as they are; `-` is standard output.

use crate::error::{CliError, Result, chain};
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Links that are followed, as many as Linux follows.
const HOPS: usize = 40;
/// Characters of a name that its part keeps: names have at most 255 bytes.
const KEPT: usize = 50;
/// Files of a Hugging Face folder that make up the model, whether they are there or not.
const HF_FILES: [&str; 12] = [
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "chat_template.jinja",
    "model.safetensors",
    INDEX,
];
/// Names the files of sharded weights.
const INDEX: &str = "model.safetensors.index.json";
/// Largest index that is read.
const INDEX_LIMIT: u64 = 64 << 20;

/// A place to write to, looked at before any work is done.
#[derive(Debug)]
pub struct Target {
    name: String,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Stdout,
    /// A pipe or a device.
    Straight(PathBuf),
    /// A regular file, or none yet: where links lead to.
    File(PathBuf),
}

impl Target {
    /// Finds out whether `path` can be written, and how.
    pub fn new(path: &Path) -> Result<Self> {
        let names = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
        if names.iter().any(|n| path == Path::new(n)) {
            return Ok(Self { name: "standard output".into(), place: Place::Stdout });
        }
        let target = Self { name: path.display().to_string(), place: Place::Straight(path.to_owned()) };
        let refuse = |why: &str| Err(CliError::failed(format!("{}: {why}", target.name)));
        // Files that the process holds open have no name of their own to give to another file.
        if path.starts_with("/proc") || path.starts_with("/dev/fd") {
            return Ok(target);
        }
        match fs::metadata(path) {
            Ok(m) if m.is_dir() => return refuse("is a folder, not a file to write"),
            Ok(m) if !m.is_file() => return Ok(target),
            Ok(m) if m.permissions().readonly() => return refuse("is there and may only be read"),
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::NotFound => {
                let ends = path.as_os_str().to_string_lossy();
                if path.file_name().is_none() || ends.ends_with(std::path::is_separator) {
                    return refuse("is no name of a file");
                }
            }
            Err(e) => return Err(target.wrong(&e)),
        }
        let real = follow(path).map_err(|e| target.wrong(&e))?;
        // What cannot be written should be known before minutes are spent.
        drop(Part::create(&real).map_err(|e| target.wrong(&e))?);
        Ok(Self { place: Place::File(real), ..target })
    }

    /// As [`Target::new`], for bytes that are not text: a terminal is refused.
    pub fn binary(path: &Path) -> Result<Self> {
        let target = Self::new(path)?;
        if matches!(target.place, Place::Stdout) && io::stdout().is_terminal() {
            return Err(CliError::usage("a terminal is no place for this file: give a name, or a pipe"));
        }
        Ok(target)
    }

    /// Refuses a file that `model`, which is read, consists of.
    pub fn spare(&self, model: &Path) -> Result<()> {
        let Place::File(real) = &self.place else { return Ok(()) };
        match model_files(model).iter().find(|f| same(f, real)) {
            None => Ok(()),
            Some(f) => Err(CliError::failed(format!(
                "{} is a file of the model that is read ({}); give another name",
                self.name,
                f.display()
            ))),
        }
    }

    /// The name for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Writes what `fill` writes. When that goes wrong, what was there before stays, and nothing else.
    pub fn write(&self, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        match &self.place {
            Place::Stdout => match self.pour(io::stdout().lock(), fill) {
                Err((Some(ErrorKind::BrokenPipe), _)) => Err(CliError::Pipe),
                other => other.map(|_| ()).map_err(|e| e.1),
            },
            Place::Straight(path) => {
                // Where the thing has an end, it goes on from there.
                let out = File::options().append(true).open(path).map_err(|e| self.wrong(&e))?;
                self.pour(out, fill).map(|_| ()).map_err(|e| e.1)
            }
            Place::File(real) => {
                let mut part = Part::create(real).map_err(|e| self.wrong(&e))?;
                self.pour(&mut part.file, fill).map_err(|e| e.1)?;
                part.take_name(real).map_err(|e| self.wrong(&e))
            }
        }
    }

    /// Lets `fill` write to `out`. Whatever `fill` makes of an error of `out`, it is told with the name, and its kind
    /// comes along.
    fn pour<W: Write>(
        &self,
        out: W,
        fill: impl FnOnce(&mut dyn Write) -> Result<()>,
    ) -> std::result::Result<(), (Option<ErrorKind>, CliError)> {
        let mut out = BufWriter::new(Watched { out, trouble: None });
        let done = fill(&mut out).and_then(|()| Ok(out.flush()?));
        // Nothing is written any more when it did not go well.
        let (watched, _) = out.into_parts();
        match (watched.trouble, done) {
            (Some(e), _) => Err((Some(e.kind()), self.wrong(&e))),
            (None, Err(e)) => Err((None, e)),
            (None, Ok(())) => Ok(()),
        }
    }

    fn wrong(&self, e: &io::Error) -> CliError {
        CliError::failed(format!("{}: {}", self.name, chain(e)))
    }
}

/// Keeps the first error of a writer.
struct Watched<W> {
    out: W,
    trouble: Option<io::Error>,
}

impl<W> Watched<W> {
    fn keep<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        let Err(e) = done else { return done };
        if e.kind() != ErrorKind::Interrupted && self.trouble.is_none() {
            let again = e.raw_os_error().map_or_else(|| e.kind().into(), io::Error::from_raw_os_error);
            self.trouble = Some(e);
            return Err(again);
        }
        Err(e)
    }
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.out.write(bytes);
        self.keep(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.out.flush();
        self.keep(done)
    }
}

/// Parts that are being written, so that Ctrl-C leaves none.
static PARTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes what is half written: the program ends now.
pub fn abandon() {
    for part in PARTS.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        // There is nobody left to tell.
        let _ = fs::remove_file(part);
    }
}

/// A file that is not whole yet; gone when it never is.
struct Part {
    path: PathBuf,
    file: File,
}

impl Part {
    /// A file beside `real` that was not there.
    fn create(real: &Path) -> io::Result<Self> {
        let name = real.file_name().unwrap_or_default().to_string_lossy();
        let name: String = name.chars().take(KEPT).collect();
        let mut taken = ErrorKind::AlreadyExists.into();
        for i in 0..100 {
            let number = if i == 0 { String::new() } else { format!("{i}.") };
            let path = real.with_file_name(format!("{name}.{}.{number}part", std::process::id()));
            match File::options().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    PARTS.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
                    return Ok(Self { path, file });
                }
                Err(e) if e.kind() == ErrorKind::AlreadyExists => taken = e,
                Err(e) => return Err(e),
            }
        }
        Err(taken)
    }

    /// Puts the file, which is whole now, in the place of `real`.
    fn take_name(self, real: &Path) -> io::Result<()> {
        match fs::symlink_metadata(real) {
            Ok(old) if old.is_file() => self.file.set_permissions(old.permissions())?,
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(e),
            Ok(_) => return Err(io::Error::other("something else has taken this name meanwhile")),
        }
        self.file.sync_all()?;
        fs::rename(&self.path, real)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // After the renaming there is nothing under this name.
        let _ = fs::remove_file(&self.path);
        PARTS.lock().unwrap_or_else(PoisonError::into_inner).retain(|p| *p != self.path);
    }
}

/// Where a chain of links ends, whether there is a file or not.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut at = path.to_owned();
    for _ in 0..HOPS {
        match fs::read_link(&at) {
            Ok(to) => at = at.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return Ok(at),
        }
    }
    Err(io::Error::other("a chain of links without an end"))
}

/// The files that a model consists of, and those that would become part of it.
fn model_files(model: &Path) -> Vec<PathBuf> {
    let folder = if model.is_dir() {
        model.to_owned()
    } else if model.extension().is_some_and(|e| e.eq_ignore_ascii_case("safetensors")) {
        model.with_file_name("")
    } else {
        let name = model.file_name().unwrap_or_default().to_string_lossy();
        let mut all = vec![model.to_owned()];
        all.extend(crate::hub::shards(&name).into_iter().map(|n| model.with_file_name(n)));
        return all;
    };
    let mut all: Vec<PathBuf> = HF_FILES.iter().map(|n| folder.join(n)).collect();
    let mut index = Vec::new();
    // An index that cannot be read has been an error, or will be one.
    if let Ok(file) = File::open(folder.join(INDEX)) {
        let _ = io::Read::read_to_end(&mut io::Read::take(file, INDEX_LIMIT), &mut index);
    }
    let index: serde_json::Value = serde_json::from_slice(&index).unwrap_or_default();
    let shards = index.get("weight_map").and_then(serde_json::Value::as_object).into_iter().flatten();
    let mut shards: Vec<&str> = shards.filter_map(|(_, f)| f.as_str()).collect();
    shards.sort_unstable();
    shards.dedup();
    all.extend(shards.into_iter().map(|f| folder.join(f)));
    all
}

/// Whether two names stand for one file, or would.
fn same(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    if let (Ok(a), Ok(b)) = (fs::metadata(a), fs::metadata(b)) {
        use std::os::unix::fs::MetadataExt;
        return (a.dev(), a.ino()) == (b.dev(), b.ino());
    }
    let whole = |p: &Path| {
        let folder = p.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::canonicalize(p).ok().or_else(|| Some(fs::canonicalize(folder).ok()?.join(p.file_name()?)))
    };
    whole(a).is_some_and(|a| Some(a) == whole(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: &Path, text: &str) -> Result<()> {
        Target::new(path)?.write(|out| Ok(out.write_all(text.as_bytes())?))
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut all: Vec<String> =
            fs::read_dir(dir).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
        all.sort();
        all
    }

    #[test]
    fn a_file_is_whole_or_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        put(&file, "one").unwrap();
        put(&file, "two").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "two");
        let target = Target::new(&file).unwrap();
        let failed = target.write(|out| {
            out.write_all(b"three")?;
            Err(CliError::failed("why"))
        });
        assert!(matches!(failed, Err(CliError::Failed(w)) if w == "why"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "two");
        let long = dir.path().join("\u{1F600}".repeat(60));
        put(&long, "x").unwrap();
        assert_eq!(names(dir.path()).len(), 2, "no part stays");
        for bad in [dir.path().to_owned(), dir.path().join("g/"), dir.path().join("no/f"), PathBuf::new()] {
            let Err(CliError::Failed(why)) = put(&bad, "x") else { panic!("{bad:?}") };
            assert!(why.starts_with(&bad.display().to_string()), "{why}");
        }
        let mut kept = fs::metadata(&file).unwrap().permissions();
        kept.set_readonly(true);
        fs::set_permissions(&file, kept).unwrap();
        assert!(put(&file, "x").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_pipes_and_devices_stay() {
        use std::os::unix::fs::{FileTypeExt, symlink};
        let dir = tempfile::tempdir().unwrap();
        let at = |n: &str| dir.path().join(n);
        fs::create_dir(at("d")).unwrap();
        symlink("d/f", at("a")).unwrap();
        symlink("a", at("b")).unwrap();
        put(&at("b"), "through").unwrap();
        put(&at("b"), "again").unwrap();
        assert_eq!(fs::read_to_string(at("d/f")).unwrap(), "again");
        assert!(at("a").is_symlink() && at("b").is_symlink());
        symlink("loop", at("loop")).unwrap();
        assert!(put(&at("loop"), "x").is_err());
        let pipe = at("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        put(&pipe, "down the pipe").unwrap();
        assert_eq!(reader.join().unwrap(), "down the pipe");
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
        // A device of our own: the real ones must not be at risk. Only root can make one.
        for (name, minor, fails) in [("null", "3", false), ("full", "7", true)] {
            let device = at(name);
            let made = std::process::Command::new("mknod").arg(&device).args(["c", "1", minor]).output();
            if !made.is_ok_and(|o| o.status.success()) || File::options().append(true).open(&device).is_err()
            {
                println!("skipped: no device can be made here");
                continue;
            }
            let done = put(&device, "x");
            assert!(fs::metadata(&device).unwrap().file_type().is_char_device());
            match done {
                Err(CliError::Failed(why)) => {
                    assert!(fails && why.contains("full: ") && why.contains("space"), "{why}");
                }
                done => assert!(!fails && done.is_ok()),
            }
        }
        assert!(!names(dir.path()).iter().any(|n| n.ends_with("part")));
    }

    #[test]
    fn files_of_the_model_are_spared() {
        let dir = tempfile::tempdir().unwrap();
        let at = |n: &str| dir.path().join(n);
        let gguf = at("m-00002-of-00002.gguf");
        for f in ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf", "config.json", "odd-1.safetensors"] {
            fs::write(at(f), "x").unwrap();
        }
        fs::write(at(INDEX), r#"{"weight_map": {"a": "odd-1.safetensors"}}"#).unwrap();
        let spared = |out: &str, model: &Path| Target::new(&at(out)).unwrap().spare(model).is_err();
        assert!(spared("m-00001-of-00002.gguf", &gguf) && spared("m-00002-of-00002.gguf", &gguf));
        assert!(!spared("other.gguf", &gguf) && !spared("config.json", &gguf));
        for model in [dir.path(), &at("odd-1.safetensors")] {
            for out in ["config.json", "tokenizer.json", "model.safetensors", "odd-1.safetensors", INDEX] {
                assert!(spared(out, model), "{out}");
            }
            assert!(!spared("m.gguf", model) && !spared("logits.safetensors", model));
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("config.json", at("link")).unwrap();
            fs::hard_link(at("config.json"), at("hard")).unwrap();
            assert!(spared("link", dir.path()) && spared("hard", dir.path()));
            assert!(spared("hard", &at("config.json")), "whatever the model is");
        }
    }
}
