//! The shader preprocessor: imports by name, defines, conditions and unrolled loops.
//!
//! | line | meaning |
//! |---|---|
//! | `#import name` | the text of `shaders/lib/name.wgsl`, once; `{{X}}` in the name is replaced first |
//! | `#define NAME value` | a default: kept only when the caller did not define NAME |
//! | `#if NAME` · `#if !NAME` · `#if NAME == v` · `#if NAME != v` | true when defined and not `0` · its opposite · equal · different |
//! | `#else`, `#endif` | |
//! | `#for i in 0..N` … `#endfor` | the lines repeated with `{{i}}` replaced; N a number or a define |
//! | `{{NAME}}` | the value of a define, anywhere in a line |
//!
//! The same pass reflects what Rust needs to know of the result ([`Reflection`]): the bindings, the fields of
//! `struct Params`, and the integer constants; so no number is written by hand on both sides.

use super::error::{GpuError, Result};
use std::collections::{BTreeMap, BTreeSet};

include!(concat!(env!("OUT_DIR"), "/shader_sources.rs"));

/// The text of a shader file by its stem.
pub fn source(name: &str) -> Option<&'static str> {
    SOURCES.iter().find(|s| s.0 == name).map(|s| s.1)
}

/// Every shader file: stem and text.
pub fn all_sources() -> impl Iterator<Item = (&'static str, &'static str)> {
    SOURCES.iter().copied()
}

/// The value of `const NAME: u32` in `shaders/<shader>.wgsl` or `shaders/lib/<shader>.wgsl`, for Rust `const` items that
/// must equal it: a name that is not there fails the build.
pub const fn constant(shader: &str, name: &str) -> u32 {
    let mut i = 0;
    while i < CONSTANTS.len() {
        if same(CONSTANTS[i].0, shader) && same(CONSTANTS[i].1, name) {
            return CONSTANTS[i].2;
        }
        i += 1;
    }
    panic!("no such constant in that shader")
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// Defines of one permutation, sorted so that equal permutations have equal keys.
pub type Defines = BTreeMap<String, String>;

/// Makes [`Defines`] from pairs.
pub fn defines<const N: usize>(pairs: [(&str, &str); N]) -> Defines {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

/// How a binding is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `var<uniform>`
    Uniform,
    /// `var<storage, read>`
    Read,
    /// `var<storage, read_write>`
    ReadWrite,
}

/// One `@group(0) @binding(n)` declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Binding number.
    pub index: u32,
    /// Variable name.
    pub name: String,
    /// Declared access.
    pub access: Access,
}

/// A scalar field of `struct Params`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Field name.
    pub name: String,
    /// `true` for f32, `false` for u32 and i32.
    pub float: bool,
}

/// What the text says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reflection {
    /// Bindings in order of declaration.
    pub bindings: Vec<Binding>,
    /// Fields of `struct Params`, in order; every one is four bytes.
    pub params: Vec<Field>,
    /// `const NAME: u32 = integer` and `override NAME: u32 = integer` declarations.
    pub constants: BTreeMap<String, u32>,
}

/// A shader ready to compile.
#[derive(Clone, Debug)]
pub struct Built {
    /// Plain WGSL.
    pub wgsl: String,
    /// What it declares.
    pub reflection: Reflection,
}

/// Builds `shaders/<name>.wgsl` under the given defines.
///
/// # Errors
/// A missing file, an unbalanced or unknown directive, an undefined `{{NAME}}`: each with file and line.
pub fn build(name: &str, given: &Defines) -> Result<Built> {
    let mut pass = Pass { defines: given.clone(), imported: BTreeSet::new(), out: String::new() };
    pass.file(name, 0)?;
    let reflection = reflect(name, &pass.out)?;
    Ok(Built { wgsl: pass.out, reflection })
}

struct Pass {
    defines: Defines,
    imported: BTreeSet<String>,
    out: String,
}

impl Pass {
    fn file(&mut self, name: &str, depth: usize) -> Result<()> {
        let err = |line, what: String| GpuError::Shader { shader: name.to_owned(), line, what };
        let text = source(name).ok_or_else(|| err(0, "no such file under shaders/".into()))?;
        if depth > 8 {
            return Err(err(0, "imports nest too deeply".into()));
        }
        let lines: Vec<&str> = text.lines().collect();
        self.lines(name, &lines, 0, depth)
    }

    /// Processes a run of lines; `first` is the index of its first line in the file, for messages.
    fn lines(&mut self, file: &str, lines: &[&str], first: usize, depth: usize) -> Result<()> {
        // Each entry: is this branch taken, has any branch been taken.
        let mut stack: Vec<(bool, bool)> = Vec::new();
        let mut i = 0;
        while i < lines.len() {
            let line = lines[i];
            let number = first + i + 1;
            let err = |what: String| GpuError::Shader { shader: file.to_owned(), line: number, what };
            let live = stack.iter().all(|s| s.0);
            let trimmed = line.trim();
            i += 1;
            let Some(directive) = trimmed.strip_prefix('#') else {
                if live {
                    let line = self.substitute(line).map_err(err)?;
                    self.out.push_str(&line);
                    self.out.push('\n');
                }
                continue;
            };
            let (word, rest) = directive.split_once(char::is_whitespace).unwrap_or((directive, ""));
            let rest = rest.trim();
            match word {
                "if" => {
                    let taken = live && self.condition(rest);
                    stack.push((taken, taken));
                }
                "else" => {
                    let top = stack.last_mut().ok_or_else(|| err("#else without #if".into()))?;
                    top.0 = !top.1;
                }
                "endif" => {
                    stack.pop().ok_or_else(|| err("#endif without #if".into()))?;
                }
                "for" => {
                    let body = i;
                    let mut open = 1;
                    while i < lines.len() {
                        let t = lines[i].trim();
                        i += 1;
                        if t.starts_with("#for") {
                            open += 1;
                        } else if t == "#endfor" {
                            open -= 1;
                            if open == 0 {
                                break;
                            }
                        }
                    }
                    if open != 0 {
                        return Err(err("#for without #endfor".into()));
                    }
                    if live {
                        let (var, from, to) = self.range(rest).map_err(err)?;
                        let hidden = self.defines.get(&var).cloned();
                        for n in from..to {
                            self.defines.insert(var.clone(), n.to_string());
                            self.lines(file, &lines[body..i - 1], first + body, depth)?;
                        }
                        match hidden {
                            Some(v) => self.defines.insert(var, v),
                            None => self.defines.remove(&var),
                        };
                    }
                }
                "import" if live => {
                    let name = self.substitute(rest).map_err(err)?;
                    if self.imported.insert(name.clone()) {
                        self.file(&name, depth + 1)?;
                    }
                }
                "define" if live => {
                    let (name, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, "1"));
                    let value = self.substitute(value.trim()).map_err(err)?;
                    self.defines.entry(name.to_owned()).or_insert(value);
                }
                "import" | "define" => {}
                _ => return Err(err(format!("unknown directive #{word}"))),
            }
        }
        if stack.is_empty() {
            Ok(())
        } else {
            Err(GpuError::Shader {
                shader: file.to_owned(),
                line: first + lines.len(),
                what: "#if without #endif".into(),
            })
        }
    }

    fn condition(&self, text: &str) -> bool {
        let value = |n: &str| self.defines.get(n.trim()).map(String::as_str);
        if let Some((a, b)) = text.split_once("==") {
            value(a) == Some(b.trim())
        } else if let Some((a, b)) = text.split_once("!=") {
            value(a) != Some(b.trim())
        } else if let Some(a) = text.strip_prefix('!') {
            matches!(value(a), None | Some("0"))
        } else {
            !matches!(value(text), None | Some("0"))
        }
    }

    fn range(&self, text: &str) -> std::result::Result<(String, u32, u32), String> {
        let bad = || format!("expected `name in from..to`, found `{text}`");
        let (var, span) = text.split_once(" in ").ok_or_else(bad)?;
        let (from, to) = span.split_once("..").ok_or_else(bad)?;
        let number = |s: &str| {
            let s = s.trim();
            let s = self.defines.get(s).map_or(s, String::as_str);
            s.parse::<u32>().map_err(|_| format!("`{s}` is not a number"))
        };
        Ok((var.trim().to_owned(), number(from)?, number(to)?))
    }

    fn substitute(&self, line: &str) -> std::result::Result<String, String> {
        let mut out = String::with_capacity(line.len());
        let mut rest = line;
        while let Some(at) = rest.find("{{") {
            let end = rest[at..].find("}}").ok_or("`{{` without `}}`")? + at;
            let name = rest[at + 2..end].trim();
            out.push_str(&rest[..at]);
            out.push_str(self.defines.get(name).ok_or_else(|| format!("{name} is not defined"))?);
            rest = &rest[end + 2..];
        }
        out.push_str(rest);
        Ok(out)
    }
}

fn reflect(shader: &str, wgsl: &str) -> Result<Reflection> {
    let mut r = Reflection::default();
    let mut in_params = false;
    for (n, raw) in wgsl.lines().enumerate() {
        let line = raw.split("//").next().unwrap_or("").trim();
        let err = |what: &str| GpuError::Shader {
            shader: format!("{shader} (built)"),
            line: n + 1,
            what: format!("{what}: `{line}`"),
        };
        if in_params {
            if line.starts_with('}') {
                in_params = false;
            } else if let Some((name, ty)) = line.trim_end_matches(',').split_once(':') {
                let float = match ty.trim() {
                    "f32" => true,
                    "u32" | "i32" => false,
                    _ => return Err(err("a field of Params must be u32, i32 or f32")),
                };
                r.params.push(Field { name: name.trim().to_owned(), float });
            }
        } else if line.starts_with("struct Params") {
            in_params = true;
        } else if let Some(rest) = line.strip_prefix("@group(0) @binding(") {
            let bad = || err("a binding is `@group(0) @binding(n) var<..> name: type;`");
            let (index, rest) = rest.split_once(')').ok_or_else(bad)?;
            let (space, rest) =
                rest.trim().strip_prefix("var<").and_then(|s| s.split_once('>')).ok_or_else(bad)?;
            let (name, _) = rest.split_once(':').ok_or_else(bad)?;
            let access = match space.replace(' ', "").as_str() {
                "uniform" => Access::Uniform,
                "storage" | "storage,read" => Access::Read,
                "storage,read_write" => Access::ReadWrite,
                _ => return Err(bad()),
            };
            let index = index.trim().parse().map_err(|_| bad())?;
            r.bindings.push(Binding { index, name: name.trim().to_owned(), access });
        } else if let Some(rest) = line.strip_prefix("const ").or_else(|| line.strip_prefix("override "))
            && let Some((name, value)) = rest.split_once(": u32 =")
            && let Ok(v) = value.trim().trim_end_matches(';').trim_end_matches('u').parse()
        {
            r.constants.insert(name.trim().to_owned(), v);
        }
    }
    Ok(r)
}
