//! Which rows a run measures: kernels, formats, shapes and geometries, from a few words of a command line.

use super::geometries;
use super::kernels::Wanted;
use crate::format::TensorType;
use crate::gpu::Caps;
use crate::kernels::selftest::Arm;
use crate::kernels::{Activations, IntDot, KvType, Tuning};
use crate::weights::DEVICE_TYPES;

/// The families, in the order in which they are measured.
pub const FAMILIES: [&str; 5] = ["gemv", "gemm", "attention", "norm", "select"];

/// What to measure; an empty list means the standard one.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Of [`FAMILIES`].
    pub families: Vec<String>,
    /// Weight formats.
    pub formats: Vec<TensorType>,
    /// `[rows, cols]` of products.
    pub shapes: Vec<[u32; 2]>,
    /// Tokens of chunks.
    pub tokens: Vec<u32>,
    /// Every geometry instead of the default and the tuned one.
    pub all: bool,
}

/// The rows of a selection. A software adapter is measured with the geometry that GPUs get, too.
///
/// # Errors
/// A family that does not exist; a shape that a format cannot have; nothing left to measure.
pub fn rows(s: &Selection, caps: &Caps, tuned: Option<&Tuning>) -> Result<Vec<Wanted>, String> {
    if let Some(f) = s.families.iter().find(|f| !FAMILIES.contains(&f.as_str())) {
        return Err(format!("no kernel family `{f}`: {}", FAMILIES.join(", ")));
    }
    let default = Tuning::for_caps(caps);
    let mut bases = vec![default.clone()];
    if caps.cpu {
        bases.push(Tuning::for_caps(&Caps { cpu: false, ..caps.clone() }));
    }
    bases.extend(tuned.cloned());
    for int_dot in [IntDot::Packed, IntDot::Pairs] {
        bases.push(Tuning { activations: Activations::Int8, int_dot, ..default.clone() });
    }
    let mut out: Vec<Wanted> = Vec::new();
    for family in FAMILIES.iter().filter(|f| s.families.is_empty() || s.families.iter().any(|x| x == **f)) {
        for arm in arms(family, s)? {
            let tunings = if s.all { geometries::of(&arm, &default, caps) } else { bases.clone() };
            let mut seen = Vec::new();
            for t in tunings {
                let variant = arm.variant(&t);
                if !seen.contains(&variant) {
                    seen.push(variant);
                    out.push(Wanted { arm: arm.clone(), default: t == default, tuning: t });
                }
            }
        }
    }
    if out.is_empty() { Err("nothing to measure".to_owned()) } else { Ok(out) }
}

fn arms(family: &str, s: &Selection) -> Result<Vec<Arm>, String> {
    let formats = if s.formats.is_empty() { DEVICE_TYPES.to_vec() } else { s.formats.clone() };
    let shapes = |standard: [u32; 2]| if s.shapes.is_empty() { vec![standard] } else { s.shapes.clone() };
    let chunk = |standard: u32| if s.tokens.is_empty() { vec![standard] } else { s.tokens.clone() };
    let mut out = Vec::new();
    match family {
        "gemv" | "gemm" => {
            let (standard, tokens) =
                if family == "gemv" { ([4096, 14336], vec![1]) } else { ([2048, 2048], chunk(64)) };
            for [rows, cols] in shapes(standard) {
                for &t in &formats {
                    let unit = (t.block_len() as u32).max(4);
                    if s.formats.is_empty() && cols % unit != 0 {
                        // Not asked for by name: the shape is not one of this format's.
                        continue;
                    }
                    if rows == 0 || cols == 0 || cols % unit != 0 {
                        return Err(format!(
                            "{rows}x{cols}: {t} needs a positive number of rows and a multiple of {unit} columns"
                        ));
                    }
                    if u64::from(rows) * u64::from(cols) > 1 << 30 {
                        return Err(format!("{rows}x{cols}: at most 2^30 weights"));
                    }
                    for &tokens in tokens.iter().filter(|n| family == "gemv" || **n > 1) {
                        out.push(Arm::Product { ttype: Some(t), rows, cols, tokens });
                    }
                }
            }
        }
        "attention" => {
            for kv in [KvType::F32, KvType::F16] {
                for keys in [512, 2048] {
                    let one = Arm::Attention { heads: 32, kv_heads: 8, head_dim: 64, keys, tokens: 1, kv };
                    out.push(one);
                }
                for tokens in chunk(64).into_iter().filter(|n| *n > 1) {
                    let keys = tokens.max(512);
                    out.push(Arm::Attention { heads: 32, kv_heads: 8, head_dim: 64, keys, tokens, kv });
                }
            }
        }
        "norm" => out.extend([1, 64].map(|tokens| Arm::Norm { tokens, cols: 4096 })),
        _ => out.push(Arm::Argmax { vocab: 128_256 }),
    }
    Ok(out)
}
