//! A matrix on the device: put together from rows of a file, repacked into planes, split past the binding limit.
//!
//! Rows stream through a buffer of a few MiB; the file's pages are given back as soon as they have been copied, so
//! that no second copy of a model stays in memory.

use super::{FormatTraits, PlaneLayout, WeightsError, decode_row, encode_row, supported, traits};
use crate::format::{TensorInfo, TensorSet, TensorType};
use crate::gpu::{Buffer, Gpu, GpuError, STORAGE};
use crate::kernels::matmul::WeightPart;

/// Errors of loading.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The device is at fault.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// A tensor cannot be laid out.
    #[error("{tensor}: {source}")]
    Weights {
        /// Tensor name.
        tensor: String,
        /// Why.
        source: WeightsError,
    },
    /// A tensor is missing from the file.
    #[error("tensor {0} is missing")]
    Missing(String),
    /// A tensor is shorter than its rows.
    #[error("tensor {tensor} has {found} bytes; {expected} are needed")]
    Short {
        /// Tensor name.
        tensor: String,
        /// Bytes there.
        found: u64,
        /// Bytes needed.
        expected: u64,
    },
}

/// Rows `first..first + rows` of a tensor.
#[derive(Clone, Debug)]
pub struct RowRange<'a> {
    /// Tensor name.
    pub tensor: &'a str,
    /// First row.
    pub first: u64,
    /// Number of rows.
    pub rows: u64,
}

/// What [`Matrix::load`] puts together.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    /// Name for messages and labels.
    pub name: &'a str,
    /// Row ranges, one after the other or (interleaved) in turn.
    pub pieces: Vec<RowRange<'a>>,
    /// Row i of each piece in turn; all pieces have as many rows.
    pub interleave: bool,
    /// Columns.
    pub cols: u64,
    /// Where the first row goes in the output.
    pub row0: u32,
}

struct Part {
    rows: u32,
    row0: u32,
    quants: Buffer,
    aux: Option<Buffer>,
}

/// A matrix on the device.
pub struct Matrix {
    /// Name for messages.
    pub name: String,
    /// Format on the device.
    pub ttype: TensorType,
    /// Rows in all.
    pub rows: u32,
    /// Columns.
    pub cols: u32,
    traits: &'static FormatTraits,
    groups: u32,
    parts: Vec<Part>,
}

impl std::fmt::Debug for Matrix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} [{}, {}] in {} parts", self.name, self.ttype, self.rows, self.cols, self.parts.len())
    }
}

/// Bytes of planes written at a time.
const STEP: u64 = 4 << 20;
/// Bytes after which the copies are waited for, so that staging memory is given back.
const DRAIN: u64 = 32 << 20;

/// The device format for rows of these types: their own when they agree and the device has it, else F16.
pub fn device_type(types: &[TensorType]) -> TensorType {
    match types {
        [first, rest @ ..] if rest.iter().all(|t| t == first) && supported(*first) => *first,
        _ => TensorType::F16,
    }
}

/// Bytes that a matrix of this type takes on the device.
///
/// # Errors
/// When the type or the width has no layout.
pub fn device_bytes(ttype: TensorType, rows: u64, cols: u64) -> Result<u64, WeightsError> {
    let narrow = u32::try_from(cols).map_err(|_| WeightsError::TooLarge { ttype, rows, cols })?;
    let layout = PlaneLayout::new(ttype, narrow)?;
    let words = u64::from(layout.quant_words_per_row) + u64::from(layout.aux_words_per_row);
    Ok(words.saturating_mul(4).saturating_mul(rows))
}

impl Matrix {
    /// Loads a matrix.
    ///
    /// # Errors
    /// A missing or short tensor, a type that cannot be laid out, lack of device memory.
    pub async fn load(gpu: &Gpu, tensors: &TensorSet, src: &Source<'_>) -> Result<Self, LoadError> {
        let mut infos = Vec::new();
        for p in &src.pieces {
            let info = tensors.get(p.tensor).ok_or_else(|| LoadError::Missing(p.tensor.to_owned()))?;
            infos.push(info);
        }
        let types: Vec<TensorType> = infos.iter().map(|t| t.ttype).collect();
        let ttype = device_type(&types);
        let wrap = |source| LoadError::Weights { tensor: src.name.to_owned(), source };
        let total: u64 = src.pieces.iter().map(|p| p.rows).fold(0, u64::saturating_add);
        let too_large = || wrap(WeightsError::TooLarge { ttype, rows: total, cols: src.cols });
        let rows = u32::try_from(total).map_err(|_| too_large())?;
        let cols = u32::try_from(src.cols).map_err(|_| too_large())?;
        let layout = PlaneLayout::new(ttype, cols).map_err(wrap)?;
        let traits = traits(ttype).ok_or_else(too_large)?;
        let rows_of = RowReader::new(tensors, src, &infos, ttype)?;

        // Parts are even in rows, so that gate and up never part.
        let quant_bytes = u64::from(layout.quant_words_per_row) * 4;
        let limit = gpu.caps.max_binding.min(gpu.caps.max_buffer);
        let per_part = (limit / quant_bytes.max(1) / 16 * 16).min(u64::from(u32::MAX)).max(1) as u32;
        let mut parts = Vec::new();
        let mut first = 0u32;
        let mut since_drain = 0u64;
        while first < rows {
            let n = per_part.min(rows - first);
            let label = format!("{} rows {first}..{}", src.name, first + n);
            let quants = gpu.alloc(&label, quant_bytes * u64::from(n), STORAGE).await?;
            let aux_bytes = u64::from(layout.aux_words_per_row) * 4;
            let aux = match aux_bytes {
                0 => None,
                b => Some(gpu.alloc(&label, b * u64::from(n), STORAGE).await?),
            };
            let step = (STEP / quant_bytes.max(1)).clamp(2, u64::from(u32::MAX)) as u32 & !1;
            let mut raw = Vec::new();
            let (mut q, mut a) = (Vec::new(), Vec::new());
            let mut done = 0u32;
            while done < n {
                let m = step.min(n - done);
                raw.clear();
                rows_of.read(first + done, m, &mut raw)?;
                let words = layout.plane_words(m as usize).map_err(wrap)?;
                q.resize(words.0, 0u32);
                a.resize(words.1, 0u32);
                layout.repack_rows(&raw, m as usize, &mut q, &mut a).map_err(wrap)?;
                gpu.write(&quants, quant_bytes * u64::from(done), bytemuck::cast_slice(&q));
                if let Some(aux) = &aux {
                    gpu.write(aux, aux_bytes * u64::from(done), bytemuck::cast_slice(&a));
                }
                since_drain += quant_bytes * u64::from(m);
                if since_drain >= DRAIN {
                    gpu.finish().await?;
                    since_drain = 0;
                }
                done += m;
            }
            parts.push(Part { rows: n, row0: src.row0 + first, quants, aux });
            first += n;
        }
        for info in infos {
            tensors.release(info);
        }
        Ok(Self { name: src.name.to_owned(), ttype, rows, cols, traits, groups: layout.groups, parts })
    }

    /// The parts, as kernels take them.
    pub fn parts(&self) -> impl Iterator<Item = WeightPart<'_>> {
        self.parts.iter().map(|p| WeightPart {
            format: self.traits.name,
            plain: self.traits.plain,
            halves: self.traits.halves,
            small_codes: self.traits.small_codes,
            rows: p.rows,
            row0: p.row0,
            cols: self.cols,
            groups: self.groups,
            quants: &p.quants,
            aux: p.aux.as_ref(),
        })
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|p| p.quants.size() + p.aux.as_ref().map_or(0, |a| a.size())).sum()
    }
}

/// Reads rows of the put-together matrix as bytes of the device type.
struct RowReader<'a> {
    pieces: Vec<PieceReader<'a>>,
    interleave: bool,
    cols: usize,
    to: TensorType,
    name: String,
}

struct PieceReader<'a> {
    data: &'a [u8],
    row_bytes: usize,
    ttype: TensorType,
    rows: u64,
}

impl<'a> RowReader<'a> {
    fn new(
        tensors: &'a TensorSet,
        src: &Source<'_>,
        infos: &[&'a TensorInfo],
        to: TensorType,
    ) -> Result<Self, LoadError> {
        let mut pieces = Vec::new();
        for (p, info) in src.pieces.iter().zip(infos) {
            let data = tensors.data(info);
            let short =
                |expected| LoadError::Short { tensor: info.name.clone(), found: data.len() as u64, expected };
            let row_bytes = info.ttype.bytes_for(src.cols).ok_or_else(|| short(u64::MAX))?;
            let from = row_bytes.checked_mul(p.first).ok_or_else(|| short(u64::MAX))?;
            let bytes = row_bytes.checked_mul(p.rows).ok_or_else(|| short(u64::MAX))?;
            let to = from.checked_add(bytes).ok_or_else(|| short(u64::MAX))?;
            let data = data.get(from as usize..to as usize).ok_or_else(|| short(to))?;
            pieces.push(PieceReader { data, row_bytes: row_bytes as usize, ttype: info.ttype, rows: p.rows });
        }
        Ok(Self { pieces, interleave: src.interleave, cols: src.cols as usize, to, name: src.name.into() })
    }

    fn read(&self, first: u32, rows: u32, out: &mut Vec<u8>) -> Result<(), LoadError> {
        if self.interleave {
            let n = self.pieces.len() as u64;
            for r in u64::from(first)..u64::from(first + rows) {
                if let Some(p) = self.pieces.get((r % n) as usize) {
                    self.push(p, r / n, 1, out)?;
                }
            }
            return Ok(());
        }
        let (mut at, end, mut start) = (u64::from(first), u64::from(first + rows), 0);
        for p in &self.pieces {
            let stop = start + p.rows;
            if at < stop && at < end {
                let n = stop.min(end) - at;
                self.push(p, at - start, n, out)?;
                at += n;
            }
            start = stop;
        }
        Ok(())
    }

    fn push(&self, p: &PieceReader<'_>, row: u64, rows: u64, out: &mut Vec<u8>) -> Result<(), LoadError> {
        let from = row as usize * p.row_bytes;
        let bytes = p.data.get(from..from + rows as usize * p.row_bytes).unwrap_or(&[]);
        if p.ttype == self.to {
            out.extend_from_slice(bytes);
            return Ok(());
        }
        let wrap = |source| LoadError::Weights { tensor: self.name.clone(), source };
        let mut values = vec![0f32; self.cols];
        for r in bytes.chunks_exact(p.row_bytes) {
            decode_row(p.ttype, r, &mut values).map_err(wrap)?;
            encode_row(self.to, &values, out).map_err(wrap)?;
        }
        Ok(())
    }
}

/// Reads tensors, one after the other, as f32 values on the host (norm weights, biases: small things).
///
/// # Errors
/// A missing tensor or a type without a decoder.
pub fn read_f32(tensors: &TensorSet, names: &[String]) -> Result<Vec<f32>, LoadError> {
    let mut out = Vec::new();
    for name in names {
        let info = tensors.get(name).ok_or_else(|| LoadError::Missing(name.clone()))?;
        let n: u64 = info.shape.iter().product();
        let start = out.len();
        out.resize(start + n as usize, 0f32);
        decode_row(info.ttype, tensors.data(info), &mut out[start..])
            .map_err(|source| LoadError::Weights { tensor: name.clone(), source })?;
    }
    Ok(out)
}
