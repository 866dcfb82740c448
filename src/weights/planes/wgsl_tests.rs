//! The format libraries are valid WGSL for the plainest device, and hold the numbers that the Rust side states.

use super::DEVICE_TYPES;
use crate::format::TensorType;
use crate::weights::traits;

fn library(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders/lib").join(name);
    std::fs::read_to_string(path.with_extension("wgsl")).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// A library with its imports in front, each once.
fn expand(name: &str, done: &mut Vec<String>, out: &mut String) {
    if done.iter().any(|d| d == name) {
        return;
    }
    done.push(name.to_string());
    for line in library(name).lines() {
        match line.strip_prefix("#import ") {
            Some(import) => expand(import.trim(), done, out),
            None => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
}

/// A compute shader that calls every function of the format.
fn shader(t: TensorType) -> String {
    let facts = traits(t).unwrap();
    let mut lib = String::new();
    expand(facts.name, &mut Vec::new(), &mut lib);
    let aux = if facts.plain { "" } else { "@group(0) @binding(1) var<storage, read> w_aux: array<u32>;" };
    let bytes = if facts.plain { "0u" } else { "w_bytes(wg, j)" };
    format!(
        "@group(0) @binding(0) var<storage, read> w_quants: array<vec4<u32>>;\n{aux}\n\
         @group(0) @binding(2) var<storage, read_write> y: array<vec4<f32>>;\n\
         {lib}\n\
         @compute @workgroup_size(64)\n\
         fn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n\
             let groups = 8u;\n\
             let wg = w_group(id.x / groups, id.x % groups, groups);\n\
             for (var j = 0u; j < 8u; j++) {{\n\
                 let s = w_scale(wg, j >> 2u);\n\
                 let v = s.x * (w_codes(wg, j) - W_OFF) - s.y;\n\
                 y[id.x * 8u + j] = w_values(wg, j) - v + f32({bytes});\n\
             }}\n\
         }}\n"
    )
}

#[test]
fn every_library_is_valid_for_every_device() {
    use naga::valid::{Capabilities, ValidationFlags, Validator};
    for &t in DEVICE_TYPES {
        let text = shader(t);
        let module = naga::front::wgsl::parse_str(&text)
            .unwrap_or_else(|e| panic!("{t}: {}", e.emit_to_string(&text)));
        // unpack2x16float is core WebGPU; naga asks for it by name because some OpenGL devices lack it.
        let core = Capabilities::SHADER_FLOAT16_IN_FLOAT32;
        for caps in [core, core | Capabilities::default(), Capabilities::all()] {
            Validator::new(ValidationFlags::all(), caps)
                .validate(&module)
                .unwrap_or_else(|e| panic!("{t}: {}", e.emit_to_string(&text)));
        }
    }
}

#[test]
fn libraries_use_no_optional_feature() {
    for &t in DEVICE_TYPES {
        let text = shader(t);
        for word in ["enable ", "requires ", "f16", "subgroup", "unpack4x", "dot4"] {
            let code = text.lines().filter(|l| !l.trim_start().starts_with("//"));
            // unpack2x16float is core and no f16 type.
            let code = code.map(|l| l.replace("unpack2x16float", "")).collect::<Vec<_>>().join("\n");
            assert!(!code.contains(word), "{t} uses {word}");
        }
    }
}

#[test]
fn headers_and_offsets_agree_with_rust() {
    use TensorType::*;
    for &t in DEVICE_TYPES {
        let facts = traits(t).unwrap();
        let text = library(facts.name);
        assert_eq!(facts.name, format!("fmt_{}", t.name().to_lowercase()));
        let header: String = text
            .lines()
            .take_while(|l| l.starts_with("//"))
            .map(|l| l.trim_start_matches("//").trim_start())
            .collect::<Vec<_>>()
            .join(" ");
        let costs =
            format!("{} bits and about {} integer ops a weight", facts.bits, facts.int_ops_per_weight);
        assert!(header.contains(&costs), "{t}: header lacks \"{costs}\"");
        let offset = match t {
            Q4_0 => 8,
            Q5_0 => 16,
            Q3_K => 4,
            Q6_K => 32,
            _ => 0,
        };
        assert!(text.contains(&format!("const W_OFF: f32 = {offset}.0;")), "{t}");
        assert_eq!(facts.offset, offset != 0, "{t}");
    }
}

#[test]
fn the_polynomial_of_the_uneven_levels_is_exact() {
    // The coefficients as the shader has them; f32 steps, worst order of roundings far below the margin.
    let text = library("iq4_levels");
    for number in ["0.001586043", "0.03108644", "1.371927", "24.17383", "126.567"] {
        assert!(text.contains(number));
    }
    for (n, level) in crate::weights::decode::T16.iter().enumerate() {
        let n = n as f32;
        let p = ((0.001586043 * n + 0.03108644) * n - 1.371927) * n + 24.17383;
        let value = p * n - 126.567;
        assert!((value - f32::from(*level)).abs() < 0.44, "{n}: {value} for {level}");
    }
}
