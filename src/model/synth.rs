//! Models of random weights in the shapes of real ones: for measuring speed on machines that cannot fetch the real thing.
//! They say nothing, at the right speed.

use super::error::{ModelError, Result};
use crate::format::{GgufWriter, Metadata, TensorType};
use crate::weights::random_blocks;
use std::io::Write;

/// The shape of a Llama-like decoder.
#[derive(Clone, Copy, Debug)]
pub struct Synth {
    /// Name, as the command line takes it.
    pub name: &'static str,
    /// Width of the residual stream.
    pub hidden: u32,
    /// Width of the feed-forward layers.
    pub ffn: u32,
    /// Blocks.
    pub layers: u32,
    /// Query heads.
    pub heads: u32,
    /// Key/value heads.
    pub kv_heads: u32,
    /// Values per head.
    pub head_dim: u32,
    /// Tokens.
    pub vocab: u32,
    /// The head is the embedding.
    pub tied: bool,
}

/// The shapes there are.
#[rustfmt::skip]
pub const SYNTHS: [Synth; 4] = [
    Synth { name: "smollm2-135m", hidden: 576, ffn: 1536, layers: 30, heads: 9, kv_heads: 3, head_dim: 64, vocab: 49152, tied: true },
    Synth { name: "llama-3.2-1b", hidden: 2048, ffn: 8192, layers: 16, heads: 32, kv_heads: 8, head_dim: 64, vocab: 128_256, tied: true },
    Synth { name: "llama-3.2-3b", hidden: 3072, ffn: 8192, layers: 28, heads: 24, kv_heads: 8, head_dim: 128, vocab: 128_256, tied: true },
    Synth { name: "llama-3.1-8b", hidden: 4096, ffn: 14336, layers: 32, heads: 32, kv_heads: 8, head_dim: 128, vocab: 128_256, tied: false },
];

/// Rows that are random; they repeat down a matrix, so that large models are written as fast as the disk takes them.
const ROWS: u64 = 64;

/// The formats that [`write_synth`] fills: those that kernels read as they are.
pub fn synth_types() -> &'static [TensorType] {
    crate::weights::DEVICE_TYPES
}

/// Writes a GGUF of random weights, without a tokenizer. The same shape and type give the same bytes. `progress` gets
/// tensors written, and of how many.
///
/// # Errors
/// A type whose blocks do not fit the widths; errors of `out`.
pub fn write_synth<W: Write>(
    s: &Synth,
    t: TensorType,
    out: W,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<W> {
    let bad = |found: String, expected: String| ModelError::Value {
        arch: "llama".into(),
        key: "type of the weights".into(),
        found,
        expected,
    };
    if !synth_types().contains(&t) {
        let names: Vec<&str> = synth_types().iter().map(|t| t.name()).collect();
        return Err(bad(t.to_string(), names.join(", ")));
    }
    let attn = u64::from(s.heads) * u64::from(s.head_dim);
    let widths = [u64::from(s.hidden), u64::from(s.ffn), attn];
    if let Some(w) = widths.iter().find(|w| !w.is_multiple_of(t.block_len())) {
        return Err(bad(t.to_string(), format!("a type whose blocks divide {w} columns")));
    }
    let tensors = tensors(s, t);
    let mut writer = GgufWriter::new(metadata(s, t))?;
    for (name, t, shape) in &tensors {
        writer.add_tensor(name, *t, shape)?;
    }
    let mut body = writer.start(out)?;
    for (i, (_, t, shape)) in tensors.iter().enumerate() {
        progress(i, tensors.len());
        match shape[..] {
            [n] => body.write(&1.0f32.to_le_bytes().repeat(n as usize))?,
            [rows, cols] => {
                let some = random_blocks(*t, rows.min(ROWS) as usize, cols as usize, i as u64);
                let row = some.len() / rows.clamp(1, ROWS) as usize;
                let mut left = rows;
                while left > 0 {
                    let n = left.min(ROWS);
                    body.write(&some[..row * n as usize])?;
                    left -= n;
                }
            }
            _ => {}
        }
    }
    progress(tensors.len(), tensors.len());
    Ok(body.finish()?)
}

fn tensors(s: &Synth, t: TensorType) -> Vec<(String, TensorType, Vec<u64>)> {
    let (hidden, ffn) = (u64::from(s.hidden), u64::from(s.ffn));
    let (q, kv) = (u64::from(s.heads * s.head_dim), u64::from(s.kv_heads * s.head_dim));
    let vocab = u64::from(s.vocab);
    let mut out = vec![
        ("token_embd.weight".to_owned(), t, vec![vocab, hidden]),
        ("output_norm.weight".to_owned(), TensorType::F32, vec![hidden]),
    ];
    if !s.tied {
        out.push(("output.weight".to_owned(), t, vec![vocab, hidden]));
    }
    for n in 0..s.layers {
        for (name, t, shape) in [
            ("attn_norm", TensorType::F32, vec![hidden]),
            ("attn_q", t, vec![q, hidden]),
            ("attn_k", t, vec![kv, hidden]),
            ("attn_v", t, vec![kv, hidden]),
            ("attn_output", t, vec![hidden, q]),
            ("ffn_norm", TensorType::F32, vec![hidden]),
            ("ffn_gate", t, vec![ffn, hidden]),
            ("ffn_up", t, vec![ffn, hidden]),
            ("ffn_down", t, vec![hidden, ffn]),
        ] {
            out.push((format!("blk.{n}.{name}.weight"), t, shape));
        }
    }
    out
}

fn metadata(s: &Synth, t: TensorType) -> Metadata {
    let mut m = Metadata::new();
    m.insert("general.architecture", "llama".into());
    m.insert("general.name", format!("random weights, {} {t}", s.name).into());
    for (key, value) in [
        ("context_length", 8192),
        ("embedding_length", s.hidden),
        ("block_count", s.layers),
        ("feed_forward_length", s.ffn),
        ("attention.head_count", s.heads),
        ("attention.head_count_kv", s.kv_heads),
        ("attention.key_length", s.head_dim),
        ("attention.value_length", s.head_dim),
        ("rope.dimension_count", s.head_dim),
        ("vocab_size", s.vocab),
    ] {
        m.insert(format!("llama.{key}"), value.into());
    }
    m.insert("llama.attention.layer_norm_rms_epsilon", 1e-5f32.into());
    m.insert("llama.rope.freq_base", 500_000.0f32.into());
    m
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Gguf, ModelFile};

    #[test]
    fn a_random_model_reads_back() {
        let tiny = Synth {
            hidden: 64,
            ffn: 96,
            layers: 2,
            heads: 4,
            kv_heads: 2,
            head_dim: 16,
            vocab: 70,
            ..SYNTHS[3]
        };
        for t in [TensorType::Q8_0, TensorType::F16] {
            let bytes = write_synth(&tiny, t, Vec::new(), &mut |_, _| {}).expect("a file");
            let file = ModelFile::Gguf(Gguf::from_bytes("tiny.gguf", bytes).expect("a GGUF"));
            let spec = crate::model::read(&file).expect("a model");
            assert_eq!((spec.layers.len(), spec.vocab, spec.hidden), (2, 70, 64));
            assert!(spec.unused.is_empty() && spec.head.is_some());
        }
        let odd = write_synth(&tiny, TensorType::Q4_K, Vec::new(), &mut |_, _| {});
        assert!(odd.is_err_and(|e| e.to_string().contains("64 columns")));
    }
}
