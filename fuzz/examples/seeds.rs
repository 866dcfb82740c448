//! Writes the seed files: `cargo run --example seeds` in this folder. They are committed, so this is only needed
//! when a target changes.

use std::path::Path;

use golay_fuzz::MARK;
use golay_fuzz::format::{Metadata, NamedTensor, TensorType, Value, write_gguf, write_safetensors};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let put = |name: &str, files: &[&[u8]]| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(&path))?;
        std::fs::write(path, files.join(MARK))
    };
    let gguf = |m: &Metadata, t: &[NamedTensor<'_>]| write_gguf(Vec::new(), m, t);

    put("gguf/empty", &[&gguf(&Metadata::new(), &[])?])?;
    let mut v2 = gguf(&Metadata::new(), &[("t", TensorType::F32, &[1], &[0; 4])])?;
    v2[4] = 2;
    put("gguf/version2", &[&v2])?;
    let all: Metadata = [
        ("general.alignment", Value::U32(8)),
        ("u8", 1u8.into()),
        ("i8", (-1i8).into()),
        ("u16", 2u16.into()),
        ("i16", (-2i16).into()),
        ("i32", (-3i32).into()),
        ("u64", 4u64.into()),
        ("i64", (-4i64).into()),
        ("f32", 0.5f32.into()),
        ("f64", 0.25f64.into()),
        ("bool", true.into()),
        ("str", "text".into()),
        ("tokens", vec!["a".to_owned(), "é".to_owned(), String::new()].into()),
        ("scores", vec![0.0f32, -1.0].into()),
        ("types", vec![1i32, 3].into()),
        ("flags", vec![true, false].into()),
        ("bytes", vec![7u8, 8].into()),
        ("wide", vec![1u64].into()),
        ("doubles", vec![1.0f64].into()),
    ]
    .into_iter()
    .collect();
    put("gguf/all_values", &[&gguf(&all, &[])?])?;
    let tensors: [NamedTensor<'_>; 5] = [
        ("token_embd.weight", TensorType::Q8_0, &[2, 32], &[1; 68]),
        ("blk.0.attn_q.weight", TensorType::Q4_K, &[1, 256], &[2; 144]),
        ("blk.0.attn_norm.weight", TensorType::F32, &[3], &[3; 12]),
        ("none", TensorType::F16, &[0, 4], &[]),
        ("scalar", TensorType::BF16, &[], &[4; 2]),
    ];
    put("gguf/tensors", &[&gguf(&all, &tensors)?])?;
    let part = |no: u16, name| {
        let m: Metadata = [
            ("split.no", Value::U16(no)),
            ("split.count", Value::U16(2)),
            ("split.tensors.count", Value::I32(2)),
        ]
        .into_iter()
        .collect();
        gguf(&m, &[(name, TensorType::I8, &[2], &[no as u8; 2])])
    };
    put("gguf/split", &[&part(0, "a")?, &part(1, "b")?])?;

    let safe = |t: &[NamedTensor<'_>], notes: &[(&str, &str)]| write_safetensors(Vec::new(), t, notes);
    let a: NamedTensor<'_> = ("model.a.weight", TensorType::F32, &[2, 2], &[1; 16]);
    let b: NamedTensor<'_> = ("model.b.weight", TensorType::BF16, &[3], &[2; 6]);
    let c: NamedTensor<'_> = ("model.c", TensorType::Bool, &[0], &[]);
    let d: NamedTensor<'_> = ("model.d", TensorType::I64, &[], &[5; 8]);
    put("safetensors/empty", &[&safe(&[], &[])?])?;
    put("safetensors/types", &[&safe(&[a, b, c, d], &[("format", "pt")])?])?;
    let index = br#"{"metadata":{"total_size":22},"weight_map":{"model.a.weight":"a.safetensors","model.b.weight":"b.safetensors"}}"#;
    put("safetensors/sharded", &[index, &safe(&[a], &[])?, &safe(&[b], &[("format", "pt")])?])?;

    let config = br#"{"model_type":"llama","rope_theta":10000.0,"eos_token_id":[1,2],"limit":[0.0,Infinity],"other":{"__float__":"-Infinity"},"s":"NaN \" \\"}"#;
    let tokenizer = br#"{"chat_template":[{"name":"default","template":"{{ x }}"},{"name":"tool_use","template":""}],"add_bos_token":true}"#;
    let generation = br#"{"temperature":0.6,"top_p":NaN,"bad":-Infinity}"#;
    let index = br#"{"weight_map":{"w":"x.safetensors"}}"#;
    put("hf_config/config", &[config])?;
    put("hf_config/template", &[b"{}", br#"{"chat_template":"{{ x }}"}"#])?;
    put("hf_config/all", &[config, tokenizer, generation, index])?;
    put(
        "hf_config/paths",
        &[b"{}", b"{}", b"{}", br#"{"weight_map":{"w":"../x.safetensors","v":"C:\\x"}}"#],
    )?;
    Ok(())
}
