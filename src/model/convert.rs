//! From a Hugging Face folder to one GGUF file, with the field's keys, names and row orders, so that other engines
//! take it too: norms and biases in f32, Gemma's norms with their 1 added, q and k rows permuted where the
//! architecture rotates neighbours, Llama 3's frequency factors as a tensor, heads that repeat the embedding left out.
//!
//! What GGUF has no place for is refused and never dropped in silence.

mod keys;

#[cfg(test)]
pub(super) mod tests;

use super::build::{self, Naming, Role};
use super::config::{Config, Family, RopeConfig, Scaling};
use super::error::{ModelError, Result};
use super::hf;
use super::rope;
use super::spec::ModelSpec;
use crate::format::{GgufBody, GgufWriter, HfFolder, TensorInfo, TensorSet, TensorType};
use crate::weights::{ENCODED_TYPES, WeightsError, decode_row, encode_row};
use std::io::Write;

/// How to convert.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConvertOptions {
    /// Type of the matrices. `None` keeps F32, F16 and BF16 as they are. With a block format the output head gets
    /// Q6_K, and rows that its blocks do not divide get a format of smaller blocks, as usual.
    pub outtype: Option<TensorType>,
}

/// Converts a folder and writes the file to `out`, row by row.
///
/// # Errors
/// What [`super::read`] refuses; a configuration, tensor or tokenizer that GGUF cannot hold; errors of `out`.
pub fn hf_to_gguf<W: Write>(folder: &HfFolder, out: W, options: &ConvertOptions) -> Result<W> {
    let config = hf::read(&folder.config)?;
    if let Some(t) = options.outtype.filter(|t| !ENCODED_TYPES.contains(t)) {
        return Err(ModelError::Value {
            arch: config.arch,
            key: "outtype".into(),
            found: t.to_string(),
            expected: ENCODED_TYPES.iter().map(|t| t.name()).collect::<Vec<_>>().join(", "),
        });
    }
    let naming = Naming::detect_hf(&folder.tensors);
    let spec = build::build(&config, &folder.tensors, naming)?;
    let plan = Plan::new(folder, &config, naming, &spec, *options)?;
    for name in &spec.unused {
        log::warn!("tensor {name} is not used by {} and left out", spec.arch);
    }
    let metadata = keys::metadata(folder, &config, &spec, &plan)?;
    let mut writer = GgufWriter::new(metadata)?;
    for e in &plan.entries {
        writer.add_tensor(&e.name, e.ttype, &e.shape)?;
    }
    let mut body = writer.start(out)?;
    for e in &plan.entries {
        e.write(&folder.tensors, &mut body)?;
    }
    Ok(body.finish()?)
}

/// As [`hf_to_gguf`], to a file, which appears under its name only when it is complete.
///
/// # Errors
/// As [`hf_to_gguf`].
#[cfg(not(target_arch = "wasm32"))]
pub fn hf_to_gguf_file(
    folder: &HfFolder,
    path: impl AsRef<std::path::Path>,
    options: &ConvertOptions,
) -> Result<()> {
    let path = path.as_ref();
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = std::path::PathBuf::from(part);
    let io = |source| crate::format::FormatError::Io { file: path.display().to_string(), source };
    let write = || -> Result<()> {
        let file = std::fs::File::create(&part).map_err(io)?;
        hf_to_gguf(folder, std::io::BufWriter::new(file), options)?;
        Ok(std::fs::rename(&part, path).map_err(io)?)
    };
    let done = write();
    if done.is_err() {
        // The error matters, not whether there was anything to remove.
        let _ = std::fs::remove_file(&part);
    }
    done
}

/// What is done to a tensor on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    None,
    /// Gemma's norms are stored as w - 1.
    AddOne,
    /// Rows of heads of `head_dim`, of which the first `dims` rotate as halves, are put so that neighbours rotate.
    Interleave {
        head_dim: u64,
        dims: u64,
    },
}

impl Change {
    /// The row of the source that becomes row `r`.
    fn source_row(self, r: u64) -> u64 {
        match self {
            Self::Interleave { head_dim, dims } if r % head_dim < dims => {
                let (head, at) = (r / head_dim, r % head_dim);
                head * head_dim + at % 2 * (dims / 2) + at / 2
            }
            _ => r,
        }
    }
}

/// Where the values of a tensor come from.
#[derive(Clone, Debug)]
enum Source {
    /// Rows of a tensor of the folder from `first` on.
    Rows { tensor: String, first: u64, change: Change },
    /// Values worked out from the configuration.
    Values(Vec<f32>),
}

/// A tensor of the new file.
#[derive(Clone, Debug)]
struct Entry {
    name: String,
    ttype: TensorType,
    shape: Vec<u64>,
    source: Source,
}

/// All tensors of the new file.
struct Plan {
    entries: Vec<Entry>,
    /// Architecture of the new file.
    arch: &'static str,
}

struct Planner<'a> {
    tensors: &'a TensorSet,
    config: &'a Config,
    spec: &'a ModelSpec,
    from: Naming,
    options: ConvertOptions,
    entries: Vec<Entry>,
}

impl Plan {
    fn new(
        folder: &HfFolder,
        config: &Config,
        from: Naming,
        spec: &ModelSpec,
        options: ConvertOptions,
    ) -> Result<Self> {
        let mut p = Planner { tensors: &folder.tensors, config, spec, from, options, entries: Vec::new() };
        let (vocab, hidden) = (u64::from(spec.vocab), u64::from(spec.hidden));
        p.matrix(
            Naming::Gguf.top(Role::Embedding),
            from.top(Role::Embedding),
            0,
            vocab,
            hidden,
            Change::None,
        )?;
        if spec.head.is_some() {
            p.matrix(Naming::Gguf.top(Role::Head), from.top(Role::Head), 0, vocab, hidden, Change::None)?;
        }
        p.norm(Naming::Gguf.top(Role::FinalNorm), from.top(Role::FinalNorm), hidden);
        for n in 0..config.layers {
            p.layer(n)?;
        }
        for (name, values) in factors(config) {
            let shape = vec![values.len() as u64];
            p.entries.push(Entry { name, ttype: TensorType::F32, shape, source: Source::Values(values) });
        }
        Ok(Self { entries: p.entries, arch: keys::architecture(config)? })
    }
}

impl Planner<'_> {
    fn layer(&mut self, n: u32) -> Result<()> {
        let (c, Some(l)) = (self.config, self.spec.layers.get(n as usize)) else { return Ok(()) };
        let gemma = c.family.is_gemma();
        let own = self.from;
        let names = |role| (Naming::Gguf.block(n, role, gemma), own.block(n, role, gemma));
        let weight = |role| {
            let (to, from) = names(role);
            (format!("{to}.weight"), format!("{from}.weight"))
        };
        let (hidden, ffn, d) = (u64::from(c.hidden), u64::from(l.ffn), u64::from(l.head_dim));
        let (q, kv) = (u64::from(l.heads) * d, u64::from(l.kv_heads) * d);
        let rotated = Change::Interleave { head_dim: d, dims: u64::from(c.rope.dims) };
        let turn = if c.family.gguf_interleaved() { rotated } else { Change::None };

        let (to, from) = weight(Role::AttnNorm);
        self.norm(to, from, hidden);
        let (fused_to, fused_from) = weight(Role::Qkv);
        let fused = self.tensors.get(&fused_from).is_some();
        if c.family == Family::Phi3 {
            self.matrix(fused_to, fused_from.clone(), 0, q + 2 * kv, hidden, Change::None)?;
        }
        let parts = [(Role::Q, 0, q, turn), (Role::K, q, kv, turn), (Role::V, q + kv, kv, Change::None)];
        for (role, first, rows, change) in parts {
            let (to, from) = weight(role);
            match (c.family, fused) {
                (Family::Phi3, _) => {}
                (_, true) => self.matrix(to, fused_from.clone(), first, rows, hidden, change)?,
                (_, false) => self.matrix(to, from, 0, rows, hidden, change)?,
            }
            if l.qkv_bias.is_some() {
                let (to, from) = names(role);
                self.vector(format!("{to}.bias"), format!("{from}.bias"), rows, change);
            }
        }
        if l.qk_norm.is_some() {
            for role in [Role::QNorm, Role::KNorm] {
                let (to, from) = weight(role);
                self.norm(to, from, d);
            }
        }
        let (to, from) = weight(Role::Out);
        self.matrix(to, from, 0, hidden, q, Change::None)?;
        if l.out_bias.is_some() {
            let (to, from) = names(Role::Out);
            self.vector(format!("{to}.bias"), format!("{from}.bias"), hidden, Change::None);
        }
        if l.attn_post_norm.is_some() {
            let (to, from) = weight(Role::AttnPostNorm);
            self.norm(to, from, hidden);
        }
        let (to, from) = weight(Role::FfnNorm);
        self.norm(to, from, hidden);
        if c.family == Family::Phi3 {
            let (to, from) = weight(Role::GateUp);
            self.matrix(to, from, 0, 2 * ffn, hidden, Change::None)?;
        } else {
            for role in [Role::Gate, Role::Up] {
                let (to, from) = weight(role);
                self.matrix(to, from, 0, ffn, hidden, Change::None)?;
            }
        }
        let (to, from) = weight(Role::Down);
        self.matrix(to, from, 0, hidden, ffn, Change::None)?;
        if l.ffn_post_norm.is_some() {
            let (to, from) = weight(Role::FfnPostNorm);
            self.norm(to, from, hidden);
        }
        Ok(())
    }

    fn matrix(
        &mut self,
        name: String,
        tensor: String,
        first: u64,
        rows: u64,
        cols: u64,
        change: Change,
    ) -> Result<()> {
        let missing = || ModelError::MissingTensor { arch: self.spec.arch.clone(), tensor: tensor.clone() };
        let stored = self.tensors.get(&tensor).ok_or_else(missing)?.ttype;
        let head = if self.spec.head.is_some() { Role::Head } else { Role::Embedding };
        let is_head = name == Naming::Gguf.top(head);
        let ttype = match self.options.outtype {
            Some(wanted) => block_type(wanted, cols, is_head),
            None if matches!(stored, TensorType::F32 | TensorType::F16 | TensorType::BF16) => stored,
            // Nothing else comes in safetensors that a weight could be; decoding says so.
            None => TensorType::F32,
        };
        let source = Source::Rows { tensor, first, change };
        self.entries.push(Entry { name, ttype, shape: vec![rows, cols], source });
        Ok(())
    }

    fn vector(&mut self, name: String, tensor: String, len: u64, change: Change) {
        let source = Source::Rows { tensor, first: 0, change };
        self.entries.push(Entry { name, ttype: TensorType::F32, shape: vec![len], source });
    }

    fn norm(&mut self, name: String, tensor: String, len: u64) {
        let change = if self.config.family.is_gemma() { Change::AddOne } else { Change::None };
        self.vector(name, tensor, len, change);
    }
}

/// The type that a matrix with rows of `cols` gets when `wanted` is asked for.
fn block_type(wanted: TensorType, cols: u64, is_head: bool) -> TensorType {
    use TensorType::*;
    let mut t = wanted;
    // The head decides every token: it is kept finer.
    if is_head && t.block_len() > 1 && t != Q8_0 {
        t = Q6_K;
    }
    if !cols.is_multiple_of(t.block_len()) {
        t = match t {
            Q2_K | Q3_K | IQ4_XS => IQ4_NL,
            Q4_K => Q5_0,
            Q5_K => Q5_1,
            Q6_K => Q8_0,
            other => other,
        };
    }
    if cols.is_multiple_of(t.block_len()) { t } else { F16 }
}

/// Rotary factors that GGUF keeps as tensors: divisors of the inverse frequencies.
fn factors(c: &Config) -> Vec<(String, Vec<f32>)> {
    match &c.rope.scaling {
        Scaling::Llama3 { .. } => {
            let plain = RopeConfig { scaling: Scaling::None, ..c.rope.clone() };
            let (plain, scaled) = (rope::resolve(&plain, false), rope::resolve(&c.rope, false));
            let list = plain.inv_freq.iter().zip(&scaled.inv_freq).map(|(p, s)| (p / s) as f32).collect();
            vec![("rope_freqs.weight".into(), list)]
        }
        Scaling::LongRope { short, long, .. } => {
            let list = |l: &[f64]| l.iter().map(|x| *x as f32).collect();
            vec![
                ("rope_factors_long.weight".into(), list(long)),
                ("rope_factors_short.weight".into(), list(short)),
            ]
        }
        _ => Vec::new(),
    }
}

/// Bytes that are put together before they are written.
const STEP: usize = 1 << 20;

impl Entry {
    fn write<W: Write>(&self, tensors: &TensorSet, body: &mut GgufBody<W>) -> Result<()> {
        let (tensor, first, change) = match &self.source {
            Source::Values(v) => {
                let bytes: Vec<u8> = v.iter().flat_map(|x| x.to_le_bytes()).collect();
                return Ok(body.write(&bytes)?);
            }
            Source::Rows { tensor, first, change } => (tensor, *first, *change),
        };
        let info = tensors.get(tensor);
        let info =
            info.ok_or_else(|| ModelError::MissingTensor { arch: "gguf".into(), tensor: tensor.clone() })?;
        // A vector is a matrix of one column here, so that its elements can be permuted.
        let (rows, cols) = match self.shape.as_slice() {
            [rows, cols] => (*rows, *cols),
            other => (other.iter().product(), 1),
        };
        let fail = |source| ModelError::Convert { tensor: tensor.clone(), source };
        let reader = Reader::new(tensors, info, cols).map_err(fail)?;
        let mut out = Vec::new();
        let mut values = vec![0f32; cols as usize];
        for r in 0..rows {
            let raw = reader.row(first + change.source_row(r)).map_err(fail)?;
            if info.ttype == self.ttype && change != Change::AddOne {
                out.extend_from_slice(raw);
            } else {
                decode_row(info.ttype, raw, &mut values).map_err(fail)?;
                if change == Change::AddOne {
                    values.iter_mut().for_each(|v| *v += 1.0);
                }
                check_range(self.ttype, &values).map_err(fail)?;
                encode_row(self.ttype, &values, &mut out).map_err(fail)?;
            }
            if out.len() >= STEP {
                body.write(&out)?;
                out.clear();
            }
        }
        body.write(&out)?;
        tensors.release(info);
        Ok(())
    }
}

/// F16 ends at 65504: larger weights would become infinite without a word.
fn check_range(to: TensorType, values: &[f32]) -> std::result::Result<(), WeightsError> {
    let far = |v: &f32| to == TensorType::F16 && v.is_finite() && half::f16::from_f32(*v).is_infinite();
    match values.iter().position(far) {
        Some(index) => {
            let value = values.get(index).map(f32::to_string).unwrap_or_default();
            Err(WeightsError::Unrepresentable { ttype: to, index, value })
        }
        None => Ok(()),
    }
}

/// Rows of a tensor as bytes.
struct Reader<'a> {
    data: &'a [u8],
    ttype: TensorType,
    cols: u64,
    row_bytes: u64,
}

impl<'a> Reader<'a> {
    fn new(tensors: &'a TensorSet, info: &TensorInfo, cols: u64) -> std::result::Result<Self, WeightsError> {
        let (ttype, block) = (info.ttype, info.ttype.block_len());
        let row_bytes = ttype.bytes_for(cols).ok_or(WeightsError::RowLength { ttype, block, found: cols })?;
        Ok(Self { data: tensors.data(info), ttype, cols, row_bytes })
    }

    fn row(&self, r: u64) -> std::result::Result<&'a [u8], WeightsError> {
        let end = r.checked_add(1).and_then(|n| n.checked_mul(self.row_bytes));
        let range = end.and_then(|end| {
            let from = usize::try_from(end - self.row_bytes).ok()?;
            Some(from..usize::try_from(end).ok()?)
        });
        range.and_then(|r| self.data.get(r)).ok_or(WeightsError::SourceBytes {
            ttype: self.ttype,
            elements: self.cols,
            expected: end.unwrap_or(u64::MAX),
            found: self.data.len() as u64,
        })
    }
}
