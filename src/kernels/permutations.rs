//! Which permutations of which shaders golay may ask a device to compile: `shaders/permutations.txt`, as data.
//!
//! Tests validate every one of them for every back end, and check that nothing else is ever asked for. The grammar is
//! in that file.

use crate::gpu::KernelKey;
use crate::gpu::error::{GpuError, Result};
use crate::weights::{DEVICE_TYPES, FormatTraits, traits};

const TEXT: &str = include_str!("../../shaders/permutations.txt");

/// One thing that a permutation may vary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The weight format, of those that [`Formats`] admits, with the defines that go with it.
    Format(Formats),
    /// A define: its values, and whether it may be absent.
    Define(String, Vec<String>, bool),
    /// An overridable constant and its values.
    Override(String, Vec<u32>),
}

/// Which weight formats an axis has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formats {
    /// All (`FORMAT`).
    All,
    /// Those with integer codes (`CODES`).
    Codes,
    /// Those with codes of at most four bits and no sign (`SMALL`).
    Small,
}

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// File stem of the shader.
    pub shader: String,
    /// What varies.
    pub axes: Vec<Axis>,
    /// Needs subgroup operations.
    pub subgroup: bool,
    /// Needs f16 arithmetic.
    pub f16: bool,
}

/// The lines of the file.
///
/// # Errors
/// A line that does not parse.
pub fn lines() -> Result<Vec<Line>> {
    let mut out = Vec::new();
    for (i, line) in TEXT.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let bad = |what: String| GpuError::Shader { shader: "permutations.txt".into(), line: i + 1, what };
        let mut words = line.split_whitespace();
        let shader = words.next().unwrap_or_default().to_owned();
        let mut parsed = Line { shader, axes: Vec::new(), subgroup: false, f16: false };
        for word in words {
            if word == "@subgroup" {
                parsed.subgroup = true;
            } else if word == "@f16" {
                parsed.f16 = true;
            } else if let Some(kind) = formats_of(word) {
                parsed.axes.push(Axis::Format(kind));
            } else if let Some((name, values)) = word.split_once(':') {
                let values = values.split('|').map(str::parse).collect::<std::result::Result<Vec<u32>, _>>();
                let values = values.map_err(|e| bad(format!("`{word}`: {e}")))?;
                parsed.axes.push(Axis::Override(name.to_owned(), values));
            } else {
                let (word, optional) = word.strip_suffix('?').map_or((word, false), |w| (w, true));
                let (name, values) = word.split_once('=').unwrap_or((word, "1"));
                let values = values.split('|').map(str::to_owned).collect();
                parsed.axes.push(Axis::Define(name.to_owned(), values, optional));
            }
        }
        out.push(parsed);
    }
    Ok(out)
}

impl Line {
    /// Every permutation of the line. With `formats` only those; otherwise every device format.
    pub fn keys(&self, formats: Option<&[&str]>) -> Vec<KernelKey> {
        let mut keys = vec![KernelKey::new(&self.shader)];
        for axis in &self.axes {
            keys = keys.into_iter().flat_map(|k| axis.expand(&k, formats)).collect();
        }
        keys
    }

    /// Whether the line contains this permutation.
    fn contains(&self, key: &KernelKey) -> bool {
        let mut defines = key.defines.clone();
        let mut overrides = key.overrides.clone();
        self.shader == key.shader
            && self.axes.iter().all(|axis| match axis {
                Axis::Format(kind) => {
                    let name = defines.remove("FORMAT");
                    let flag = |d: &mut crate::gpu::preprocess::Defines, n: &str| d.remove(n).is_some();
                    let (plain, halves) = (flag(&mut defines, "PLAIN"), flag(&mut defines, "HALVES"));
                    kind.list()
                        .any(|f| Some(f.name) == name.as_deref() && f.plain == plain && f.halves == halves)
                }
                Axis::Define(name, values, optional) => {
                    defines.remove(name).map_or(*optional, |v| values.contains(&v))
                }
                Axis::Override(name, values) => overrides.remove(name).is_some_and(|v| values.contains(&v)),
            })
            && defines.is_empty()
            && overrides.is_empty()
    }
}

impl Axis {
    fn expand(&self, key: &KernelKey, only: Option<&[&str]>) -> Vec<KernelKey> {
        match self {
            Self::Format(kind) => kind
                .list()
                .filter(|f| only.is_none_or(|o| o.contains(&f.name)))
                .map(|f| key.clone().define("FORMAT", f.name).flag("PLAIN", f.plain).flag("HALVES", f.halves))
                .collect(),
            Self::Define(name, values, optional) => {
                let with = values.iter().map(|v| key.clone().define(name, v));
                optional.then(|| key.clone()).into_iter().chain(with).collect()
            }
            Self::Override(name, values) => values.iter().map(|&v| key.clone().constant(name, v)).collect(),
        }
    }
}

fn formats_of(word: &str) -> Option<Formats> {
    match word {
        "FORMAT" => Some(Formats::All),
        "CODES" => Some(Formats::Codes),
        "SMALL" => Some(Formats::Small),
        _ => None,
    }
}

impl Formats {
    fn list(self) -> impl Iterator<Item = &'static FormatTraits> {
        DEVICE_TYPES.iter().filter_map(|&t| traits(t)).filter(move |f| match self {
            Self::All => true,
            Self::Codes => !f.plain,
            Self::Small => f.small_codes,
        })
    }
}

/// Whether the file lists this permutation.
pub fn covers(key: &KernelKey) -> bool {
    lines().is_ok_and(|l| l.iter().any(|l| l.contains(key)))
}
