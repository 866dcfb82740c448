//! The crash marker: what was being compiled or tried when a process died.
//!
//! A driver that takes the whole process down while it compiles a shader would do so again at every start. So each
//! attempt is written to a file before it is made and struck out afterwards. what was open at the end of three processes
//! running is a suspect, refused with [`GpuError::Suspect`], and the next variant is taken instead. (Once may have been
//! a person's Ctrl-C.)

use super::error::{GpuError, Result};
use std::collections::BTreeMap;

/// Deaths after which an attempt is not made again.
const DEATHS: u32 = 3;

/// Attempts under way, on disk.
#[derive(Debug, Default)]
pub struct Guard {
    #[cfg(not(target_arch = "wasm32"))]
    path: Option<std::path::PathBuf>,
    /// Deaths in a row of what was open when a process ended.
    died: BTreeMap<String, u32>,
}

impl Guard {
    /// Opens the marker file of an adapter, and takes what it holds open for suspects. An unreadable file is as good as
    /// none: the guard must not be the reason that nothing works.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(path: std::path::PathBuf) -> Self {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let mut died: BTreeMap<String, u32> = BTreeMap::new();
        let mut open: BTreeMap<String, u32> = BTreeMap::new();
        for line in text.lines() {
            let mut words = line.splitn(2, ' ');
            match (words.next(), words.next()) {
                (Some("begin"), Some(what)) => {
                    open.insert(what.to_owned(), died.get(what).copied().unwrap_or(0) + 1);
                }
                (Some("end"), Some(what)) => {
                    open.remove(what);
                    died.remove(what);
                }
                (Some("died"), Some(rest)) => {
                    if let Some((n, what)) = rest.split_once(' ') {
                        died.insert(what.to_owned(), n.parse().unwrap_or(1));
                    }
                }
                _ => {}
            }
        }
        died.extend(open);
        let guard = Self { path: Some(path), died };
        // Start afresh, so that the file does not grow, but remember the deaths.
        let kept: String = guard.died.iter().map(|(what, n)| format!("died {n} {what}\n")).collect();
        if text != kept {
            guard.replace(&kept);
        }
        guard
    }

    /// The suspects.
    pub fn suspects(&self) -> impl Iterator<Item = &str> {
        self.died.iter().filter(|d| *d.1 >= DEATHS).map(|d| d.0.as_str())
    }

    /// Makes an attempt.
    ///
    /// # Errors
    /// [`GpuError::Suspect`] without trying, when it killed a process before; else whatever the attempt says.
    pub fn attempt<T>(&self, what: &str, f: impl FnOnce() -> Result<T>) -> Result<T> {
        self.begin(what)?;
        let out = f();
        self.end(what);
        out
    }

    /// Notes that an attempt begins.
    ///
    /// # Errors
    /// [`GpuError::Suspect`].
    pub fn begin(&self, what: &str) -> Result<()> {
        if self.died.get(what).is_some_and(|n| *n >= DEATHS) {
            return Err(GpuError::Suspect { what: what.to_owned(), file: self.file() });
        }
        self.append(&format!("begin {what}\n"));
        Ok(())
    }

    /// Notes that it is over, well or not.
    pub fn end(&self, what: &str) {
        self.append(&format!("end {what}\n"));
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn file(&self) -> String {
        self.path.as_ref().map(|p| p.display().to_string()).unwrap_or_default()
    }

    #[cfg(target_arch = "wasm32")]
    fn file(&self) -> String {
        String::new()
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn append(&self, line: &str) {
        use std::io::Write as _;
        let Some(path) = &self.path else { return };
        let open = std::fs::OpenOptions::new().append(true).create(true).open(path);
        if let Err(e) = open.and_then(|mut f| f.write_all(line.as_bytes())) {
            log::debug!("{}: {e}", path.display());
        }
    }

    #[cfg(target_arch = "wasm32")]
    fn append(&self, _line: &str) {}

    #[cfg(not(target_arch = "wasm32"))]
    fn replace(&self, text: &str) {
        let Some(path) = &self.path else { return };
        if let Err(e) = std::fs::write(path, text) {
            log::debug!("{}: {e}", path.display());
        }
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    #[test]
    fn what_was_open_when_processes_died_again_and_again_is_refused() {
        let path = std::env::temp_dir().join(format!("golay-guard-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        for _ in 0..DEATHS {
            let guard = Guard::open(path.clone());
            assert_eq!(guard.suspects().count(), 0);
            guard.attempt("good", || Ok(())).expect("no suspects yet");
            guard.begin("fatal").expect("not often enough yet");
            // The process dies here.
        }
        let last = Guard::open(path.clone());
        assert_eq!(last.suspects().collect::<Vec<_>>(), ["fatal"]);
        assert!(last.attempt("good", || Ok(())).is_ok());
        let err = last.attempt("fatal", || Ok(())).expect_err("a suspect");
        assert!(err.to_string().contains("fatal"), "{err}");
        // And so does every later one, until the file is removed.
        assert!(Guard::open(path.clone()).begin("fatal").is_err());
        std::fs::remove_file(&path).expect("the marker file");
        // Interrupted once and fine the next time is no suspicion.
        Guard::open(path.clone()).begin("slow").expect("no suspects");
        Guard::open(path.clone()).attempt("slow", || Ok(())).expect("once is nothing");
        Guard::open(path.clone()).begin("slow").expect("no suspects");
        assert!(Guard::open(path.clone()).begin("slow").is_ok());
        std::fs::remove_file(&path).expect("the marker file");
    }
}
