//! Puts every file under `shaders/` into the library as one table, so that a shader is added by adding a file, and beside
//! it the table of their integer constants, so that Rust never repeats one by hand.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("shaders");
    println!("cargo:rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    for dir in [root.clone(), root.join("lib")] {
        println!("cargo:rerun-if-changed={}", dir.display());
        for entry in std::fs::read_dir(&dir)? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == "wgsl") {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut out = String::from("pub(crate) const SOURCES: &[(&str, &str)] = &[\n");
    for f in &files {
        let name = f.file_stem().and_then(|s| s.to_str()).ok_or("shader names are UTF-8")?;
        writeln!(out, "    ({name:?}, include_str!({:?})),", f.display().to_string())?;
    }
    out.push_str("];\npub(crate) const CONSTANTS: &[(&str, &str, u32)] = &[\n");
    for f in &files {
        let name = f.file_stem().and_then(|s| s.to_str()).ok_or("shader names are UTF-8")?;
        for (constant, value) in std::fs::read_to_string(f)?.lines().filter_map(constant) {
            writeln!(out, "    ({name:?}, {constant:?}, {value}),")?;
        }
    }
    out.push_str("];\n");
    let dest = Path::new(&std::env::var("OUT_DIR")?).join("shader_sources.rs");
    std::fs::write(dest, out)?;
    Ok(())
}

/// Name and value of a line `const NAME: u32 = number;`.
fn constant(line: &str) -> Option<(&str, u32)> {
    let (name, rest) = line.strip_prefix("const ")?.split_once(": u32 =")?;
    let value = rest.split(';').next()?.trim().trim_end_matches('u');
    let value = match value.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => value.parse(),
    };
    Some((name, value.ok()?))
}
