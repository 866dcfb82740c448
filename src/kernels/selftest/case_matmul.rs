//! Cases of `gemv`, `gemm_reg`, `gemm_tile` and `embed`.

use super::bench::{Bench, POISON, own_fault, spread};
use crate::format::TensorType;
use crate::gpu::error::Result;
use crate::gpu::{Buffer, Uniforms};
use crate::kernels::matmul::{self, Epilogue, Product, WeightPart};
use crate::kernels::reference::{self, Answer, Linear};
use crate::kernels::{Activations, Recorder, state};
use crate::weights::{FormatTraits, PlaneLayout, decode_row, random_blocks, traits};

/// Of the sum of the sizes of the terms (weights.md 1.6).
const TOLERANCE: f64 = 1e-5;
/// The same where x is rounded to 8 bits: a value that lies between two integers may go either way in f32.
const INT8_TOLERANCE: f64 = 2e-4;
/// Of the largest weight of a row; decoding is two or three roundings.
const EMBED_TOLERANCE: f64 = 1e-6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Gemv,
    Gemm,
    Embed,
}

#[derive(Clone, Debug)]
pub(super) struct Spec {
    pub kind: Kind,
    pub ttype: TensorType,
    pub rows: u32,
    pub cols: u32,
    /// Rows of the first of two parts; 0 for one part.
    pub split: u32,
    pub tokens: u32,
    pub epilogue: Epilogue,
    pub norm: bool,
    pub bias: bool,
    pub cap: f32,
    pub scale: f32,
    pub last: bool,
    /// `fmt_none` instead of the format: nothing is read, and nothing can be compared.
    pub control: bool,
}

impl Spec {
    /// A plain product.
    pub fn new(kind: Kind, ttype: TensorType, rows: u32, cols: u32, tokens: u32) -> Self {
        Self {
            kind,
            ttype,
            rows,
            cols,
            split: 0,
            tokens,
            epilogue: Epilogue::Store,
            norm: false,
            bias: false,
            cap: 0.0,
            scale: 1.0,
            last: false,
            control: false,
        }
    }

    /// The switches, for the name of the case.
    pub fn describe(&self) -> String {
        let mut s = format!("{} {}x{}", self.ttype, self.rows, self.cols);
        if self.tokens > 1 {
            s += &format!(" tokens={}", self.tokens);
        }
        match self.epilogue {
            Epilogue::Store => {}
            Epilogue::Add => s += " add",
            Epilogue::Pair(a) => s += &format!(" pair-{}", a.name()),
        }
        for (on, name) in [
            (self.norm, " norm"),
            (self.bias, " bias"),
            (self.cap > 0.0, " cap"),
            (self.scale != 1.0, " scale"),
            (self.last, " last"),
            (self.split > 0, " split"),
        ] {
            s += if on { name } else { "" };
        }
        s
    }
}

struct Part {
    rows: u32,
    row0: u32,
    quants: Buffer,
    aux: Option<Buffer>,
}

pub(super) async fn run(b: &mut Bench<'_>, s: &Spec) -> Result<()> {
    let facts = traits(s.ttype).ok_or_else(|| own_fault("no device format"))?;
    let layout = PlaneLayout::new(s.ttype, s.cols).map_err(own_fault)?;
    let (rows, cols, tokens) = (s.rows as usize, s.cols as usize, s.tokens as usize);
    let file = random_blocks(s.ttype, rows, cols, b.rng.seed());
    let mut w = vec![0.0f32; rows * cols];
    decode_row(s.ttype, &file, &mut w).map_err(own_fault)?;

    let parts = upload(b, s, &layout, &file).await?;
    let parts: Vec<WeightPart<'_>> = parts.iter().map(|p| p.bound(s, &layout, facts)).collect();
    let mut words = vec![0; state::WORDS];
    words[state::TOKENS] = s.tokens;
    let state = b.words("state", &words).await?;
    match s.kind {
        Kind::Embed => embed(b, s, &parts, &w, &state).await,
        Kind::Gemv | Kind::Gemm => {
            let x = b.rng.floats(tokens * cols, 1.0);
            product(b, s, &parts, &w, &x, &state).await?;
            for _ in 1..b.copies {
                let again = upload(b, s, &layout, &file).await?;
                let again: Vec<WeightPart<'_>> = again.iter().map(|p| p.bound(s, &layout, facts)).collect();
                repeat(b, s, &again, &x, &state).await?;
            }
            Ok(())
        }
    }
}

impl Part {
    fn bound<'a>(&'a self, s: &Spec, layout: &PlaneLayout, facts: &'a FormatTraits) -> WeightPart<'a> {
        WeightPart {
            format: if s.control { "fmt_none" } else { facts.name },
            plain: facts.plain && !s.control,
            halves: facts.halves && !s.control,
            small_codes: facts.small_codes || s.control,
            rows: self.rows,
            row0: self.row0,
            cols: s.cols,
            groups: layout.groups,
            quants: &self.quants,
            aux: self.aux.as_ref(),
        }
    }
}

/// The rows of a file's matrix as one or two parts on the device.
async fn upload(b: &Bench<'_>, s: &Spec, layout: &PlaneLayout, file: &[u8]) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    let rows = s.rows as usize;
    for (row0, row1) in if s.split > 0 { vec![(0, s.split), (s.split, s.rows)] } else { vec![(0, s.rows)] } {
        let n = (row1 - row0) as usize;
        if s.control {
            let (quants, aux) = (b.words("quants", &[0; 4]).await?, Some(b.words("aux", &[0; 4]).await?));
            parts.push(Part { rows: n as u32, row0, quants, aux });
            continue;
        }
        let (quants, aux) = layout.plane_words(n).map_err(own_fault)?;
        let (mut quants, mut aux) = (vec![0; quants], vec![0; aux]);
        let row_bytes = file.len() / rows;
        let src = &file[row0 as usize * row_bytes..row1 as usize * row_bytes];
        layout.repack_rows(src, n, &mut quants, &mut aux).map_err(own_fault)?;
        let plain = traits(s.ttype).is_some_and(|f| f.plain);
        let aux = if plain { None } else { Some(b.words("aux", &aux).await?) };
        parts.push(Part { rows: n as u32, row0, quants: b.words("quants", &quants).await?, aux });
    }
    Ok(parts)
}

/// The same product on another copy of the weights, for timing alone.
async fn repeat(
    b: &mut Bench<'_>,
    s: &Spec,
    parts: &[WeightPart<'_>],
    x: &[f32],
    state: &Buffer,
) -> Result<()> {
    let words = (s.rows * s.tokens) as usize;
    let (x, y) = (b.floats("x", x).await?, b.output("y", words).await?);
    let p = Product::plain(&x, &y, s.rows, s.epilogue);
    let mut uniforms = Uniforms::default();
    let mut r = b.recorder(&mut uniforms);
    record(&mut r, s, parts, &p, state).await?;
    let recording = r.recording;
    b.keep(recording);
    Ok(())
}

async fn record(
    r: &mut Recorder<'_>,
    s: &Spec,
    parts: &[WeightPart<'_>],
    p: &Product<'_>,
    state: &Buffer,
) -> Result<()> {
    for part in parts {
        match s.kind {
            Kind::Gemv => matmul::gemv(r, part, p).await?,
            _ => matmul::gemm(r, part, p, state).await?,
        }
    }
    Ok(())
}

async fn embed(
    b: &mut Bench<'_>,
    s: &Spec,
    parts: &[WeightPart<'_>],
    w: &[f32],
    state: &Buffer,
) -> Result<()> {
    // Twice the same id, the first and the last row, and one row that no part has.
    let mut ids: Vec<u32> = (0..s.tokens).map(|_| b.rng.below(s.rows)).collect();
    for (t, id) in [(0, 0), (1, s.rows - 1), (2, s.rows), (3, 0)] {
        if let Some(slot) = ids.get_mut(t) {
            *slot = id;
        }
    }
    let before = vec![POISON; ids.len() * s.cols as usize];
    let x = b.words("x", &before).await?;
    let id_buffer = b.words("ids", &ids).await?;
    let mut uniforms = Uniforms::default();
    let mut r = b.recorder(&mut uniforms);
    for part in parts {
        matmul::embed(&mut r, part, &id_buffer, state, &x, s.scale).await?;
    }
    if b.go(r, s.tokens, 1).await? {
        let mut expected =
            reference::embed(w, s.cols as usize, 0, &ids, s.scale, bytemuck::cast_slice(&before));
        for (t, _) in ids.iter().enumerate().filter(|(_, id)| **id >= s.rows) {
            expected.slack[t * s.cols as usize..(t + 1) * s.cols as usize].fill(-1.0);
        }
        let got = b.read("x", &x, before.len()).await?;
        b.compare("x", &got, &before, &expected, EMBED_TOLERANCE);
    }
    Ok(())
}

async fn product(
    b: &mut Bench<'_>,
    s: &Spec,
    parts: &[WeightPart<'_>],
    w: &[f32],
    x: &[f32],
    state: &Buffer,
) -> Result<()> {
    let (rows, cols, tokens) = (s.rows as usize, s.cols as usize, s.tokens as usize);
    let pair = matches!(s.epilogue, Epilogue::Pair(_));
    let width = if pair { rows / 2 } else { rows };
    // One token gives one row of results; a chunk gives rows that may lie further apart than they are wide.
    let (out_rows, stride) = if s.kind == Kind::Gemv { (1, width) } else { (tokens, width + 3) };
    let norm_w = b.rng.floats(cols, 1.0);
    let eps = 1e-5;
    let bias = b.rng.floats(rows, 2.0);
    let residual = b.rng.floats(out_rows * width, 1.0);
    let before: Vec<u32> = if s.epilogue == Epilogue::Add {
        let zero =
            Answer { y: residual.iter().map(|&v| f64::from(v)).collect(), slack: vec![0.0; residual.len()] };
        spread(&zero, width, stride).y.iter().map(|&v| (v as f32).to_bits()).collect()
    } else {
        vec![POISON; out_rows * stride]
    };
    let x_buffer = b.floats("x", x).await?;
    let y = b.words("y", &before).await?;
    let norm_buffer = b.floats("norm", &norm_w).await?;
    let bias_buffer = b.floats("bias", &bias).await?;
    let p = Product {
        x: &x_buffer,
        y: &y,
        y_stride: stride as u32,
        norm: s.norm.then_some((&norm_buffer, eps)),
        bias: s.bias.then_some(&bias_buffer),
        scale: s.scale,
        cap: s.cap,
        epilogue: s.epilogue,
        last_of: s.last.then_some(state),
    };
    let mut uniforms = Uniforms::default();
    let mut r = b.recorder(&mut uniforms);
    record(&mut r, s, parts, &p, state).await?;
    if b.go(r, s.tokens, 1).await? {
        if s.control {
            b.nothing_to_compare();
            return Ok(());
        }
        let first = if s.last { (tokens - 1) * cols } else { 0 };
        let int8 = s.kind == Kind::Gemv && b.tuning.activations == Activations::Int8;
        let linear = Linear {
            w,
            cols,
            x: &x[first..],
            norm: s.norm.then_some((&norm_w, eps)),
            bias: s.bias.then_some(&bias),
            scale: s.scale,
            cap: s.cap,
            epilogue: s.epilogue,
            before: &residual,
            int8: int8 && !traits(s.ttype).is_some_and(|f| f.plain),
        };
        let answer = if s.kind == Kind::Gemv { reference::gemv(&linear) } else { reference::gemm(&linear) };
        let got = b.read("y", &y, before.len()).await?;
        let tolerance = if linear.int8 { INT8_TOLERANCE } else { TOLERANCE };
        b.compare("y", &got, &before, &spread(&answer, width, stride), tolerance);
    }
    Ok(())
}
