//! Products with weight matrices: `gemv.wgsl` for one token, `gemm_reg.wgsl` and `gemm_tile.wgsl` for a chunk, and the
//! embedding lookup, which reads the same planes.

use super::{Act, Activations, Gemm, IntDot, Recorder, Tuning};
use crate::gpu::error::{GpuError, Result};
use crate::gpu::record::{Groups, Span};
use crate::gpu::{Buffer, KernelKey};

/// A run of rows of a matrix that lies in one pair of buffers.
#[derive(Clone, Copy, Debug)]
pub struct WeightPart<'a> {
    /// WGSL library of the format, `fmt_*`.
    pub format: &'a str,
    /// A float format, without scales.
    pub plain: bool,
    /// Scales differ between the halves of a group.
    pub halves: bool,
    /// Codes of at most four bits without a sign.
    pub small_codes: bool,
    /// Rows in this part.
    pub rows: u32,
    /// Where its first row goes in the output (and, for an embedding, the id of its first row).
    pub row0: u32,
    /// Columns, a multiple of 4.
    pub cols: u32,
    /// Groups of 32 per row.
    pub groups: u32,
    /// Quants plane.
    pub quants: &'a Buffer,
    /// Aux plane; absent for float formats.
    pub aux: Option<&'a Buffer>,
}

impl WeightPart<'_> {
    fn key(&self, shader: &str) -> KernelKey {
        KernelKey::new(shader)
            .define("FORMAT", self.format)
            .flag("PLAIN", self.plain)
            .flag("HALVES", self.halves)
    }

    fn cost(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.cols)
    }
}

/// What happens to a finished sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Epilogue {
    /// `y = v`.
    Store,
    /// `y += v`.
    Add,
    /// Rows 2i and 2i+1 are gate and up: `y[i] = act(gate) * up`.
    Pair(Act),
}

impl Epilogue {
    fn apply(self, key: KernelKey) -> KernelKey {
        match self {
            Self::Store => key.define("EPI", "store"),
            Self::Add => key.define("EPI", "add"),
            Self::Pair(act) => key.define("EPI", "pair").define("ACT", act.name()),
        }
    }
}

/// Buffers and switches of a product.
#[derive(Clone, Copy, Debug)]
pub struct Product<'a> {
    /// Input, f32 `[tokens, cols]`.
    pub x: &'a Buffer,
    /// Output, f32 `[tokens, y_stride]`.
    pub y: &'a Buffer,
    /// Values per token of the output (chunks only).
    pub y_stride: u32,
    /// Weight of the norm folded into x (one token only), f32 `[cols]`, and its epsilon.
    pub norm: Option<(&'a Buffer, f32)>,
    /// Added to every row, f32 `[rows of the whole matrix]`.
    pub bias: Option<&'a Buffer>,
    /// Factor on the sums.
    pub scale: f32,
    /// Soft cap, 0 for none.
    pub cap: f32,
    /// What happens to a finished sum.
    pub epilogue: Epilogue,
    /// Read the last token's row of x: the state buffer (one token only).
    pub last_of: Option<&'a Buffer>,
}

impl<'a> Product<'a> {
    /// `y = W x`, nothing else.
    pub fn plain(x: &'a Buffer, y: &'a Buffer, y_stride: u32, epilogue: Epilogue) -> Self {
        Self { x, y, y_stride, norm: None, bias: None, scale: 1.0, cap: 0.0, epilogue, last_of: None }
    }
}

/// Bytes of the part that are bound, so that padding at the end of a buffer is not.
fn planes<'a>(w: &WeightPart<'a>, list: &mut Vec<(&'static str, Span<'a>)>) {
    list.push(("w_quants", w.quants.into()));
    if let Some(aux) = w.aux {
        list.push(("w_aux", aux.into()));
    }
}

/// The key of a one-token product, for callers that choose the geometry themselves (tests, tuning, doctor).
pub fn gemv_key(w: &WeightPart<'_>, p: &Product<'_>, t: &Tuning) -> KernelKey {
    let (g, serial) = (t.gemv, t.serial);
    let int = t.activations == Activations::Int8 && !w.plain;
    let key = w.key(if int { "gemv_int" } else { "gemv" });
    let key = key.flag("PAIRS", int && w.small_codes && t.int_dot == IntDot::Pairs);
    let key = key.define("ROWS", g.rows).constant("WG", g.wg).constant("LANES", g.lanes);
    p.epilogue
        .apply(key)
        .flag("ONE_LANE", g.lanes == 1)
        .flag("SUBGROUP", g.subgroup)
        .flag("NORM", p.norm.is_some())
        .flag("SERIAL", serial && p.norm.is_some() && !(g.lanes == 1 && g.subgroup))
        .flag("BIAS", p.bias.is_some())
        .flag("CAP", p.cap > 0.0)
        .flag("LAST", p.last_of.is_some())
}

/// Whether the shader has this geometry on an adapter with subgroups of `size` (0: unknown).
fn gemv_fits(g: super::Gemv, size: u32) -> bool {
    // A tree's sums share 16 KiB of workgroup memory with the stage of x.
    let tree = g.lanes > 1 && !g.subgroup;
    let subgroup = match (g.subgroup, g.lanes) {
        (false, _) => true,
        (true, 1) => shares(g.wg, size),
        (true, lanes) => lanes == size,
    };
    g.lanes > 0
        && g.wg.is_multiple_of(g.lanes)
        && g.wg <= 256
        && matches!(g.rows, 2 | 4 | 8)
        && !(tree && g.wg * g.rows > 1024)
        && subgroup
}

/// Whether the invocations of a subgroup can share their loads of x: eight lanes at least, and none missing.
fn shares(wg: u32, size: u32) -> bool {
    size >= 8 && wg.is_multiple_of(size)
}

/// Records `y = W x` for one token and one part.
///
/// # Errors
/// A geometry the shader does not have, or buffers that do not bind.
pub async fn gemv(r: &mut Recorder<'_>, w: &WeightPart<'_>, p: &Product<'_>) -> Result<()> {
    let g = r.tuning.gemv;
    let key = gemv_key(w, p, r.tuning);
    if !gemv_fits(g, r.gpu.caps.subgroup_size) {
        return Err(GpuError::Binding { kernel: key.to_string(), what: format!("bad geometry {g:?}") });
    }
    let mut buffers = vec![("x", p.x.into()), ("y", p.y.into())];
    planes(w, &mut buffers);
    if let Some((norm, _)) = p.norm {
        buffers.push(("norm_w", norm.into()));
    }
    if let Some(b) = p.bias {
        buffers.push(("bias", b.into()));
    }
    if let Some(s) = p.last_of {
        buffers.push(("state", s.into()));
    }
    let params = [
        ("rows", w.rows.into()),
        ("row0", w.row0.into()),
        ("groups", w.groups.into()),
        ("cols", w.cols.into()),
        ("eps", p.norm.map_or(0.0, |n| n.1).into()),
        ("scale", p.scale.into()),
        ("cap", p.cap.into()),
    ];
    let groups = w.rows.div_ceil(g.wg / g.lanes * g.rows);
    r.add(key, &params, &buffers, Groups::Fixed([groups, 1, 1]), w.cost()).await
}

/// Records `Y = X W^T` for a chunk of tokens and one part. The number of tokens is read from `state`.
///
/// # Errors
/// Buffers that do not bind.
pub async fn gemm(r: &mut Recorder<'_>, w: &WeightPart<'_>, p: &Product<'_>, state: &Buffer) -> Result<()> {
    if let Gemm::Reg { wg, subgroup: true, .. } = r.tuning.gemm
        && !shares(wg, r.gpu.caps.subgroup_size)
    {
        let what = format!("bad geometry {:?}", r.tuning.gemm);
        return Err(GpuError::Binding { kernel: "gemm_reg".into(), what });
    }
    let (key, x, tile) = match r.tuning.gemm {
        Gemm::Reg { wg, cols, subgroup } => (
            w.key("gemm_reg")
                .define("ROWS", 4)
                .define("COLS", cols)
                .constant("WG", wg)
                .flag("SUBGROUP", subgroup)
                .flag("TAIL", !w.cols.is_multiple_of(32)),
            w.rows.div_ceil(wg * 4),
            cols,
        ),
        Gemm::Tile => (w.key("gemm_tile"), w.rows.div_ceil(64), 64),
    };
    let key = p.epilogue.apply(key).flag("BIAS", p.bias.is_some()).flag("CAP", p.cap > 0.0);
    let mut buffers = vec![("x", p.x.into()), ("y", p.y.into()), ("state", state.into())];
    planes(w, &mut buffers);
    if let Some(b) = p.bias {
        buffers.push(("bias", b.into()));
    }
    let params = [
        ("rows", w.rows.into()),
        ("row0", w.row0.into()),
        ("groups", w.groups.into()),
        ("cols", w.cols.into()),
        ("y_stride", p.y_stride.into()),
        ("scale", p.scale.into()),
        ("cap", p.cap.into()),
    ];
    r.add(key, &params, &buffers, Groups::Tokens { x, per_token: 1, tile, z: 1 }, w.cost()).await
}

/// Records the lookup of the ids of a chunk in one part of an embedding: `x[t] = scale * E[ids[t]]`.
///
/// # Errors
/// Buffers that do not bind.
pub async fn embed(
    r: &mut Recorder<'_>,
    w: &WeightPart<'_>,
    ids: &Buffer,
    state: &Buffer,
    x: &Buffer,
    scale: f32,
) -> Result<()> {
    let key = w.key("embed").constant("WG", 32);
    let mut buffers = vec![("state", state.into()), ("ids", ids.into()), ("x", x.into())];
    planes(w, &mut buffers);
    let params = [
        ("rows", w.rows.into()),
        ("row0", w.row0.into()),
        ("groups", w.groups.into()),
        ("cols", w.cols.into()),
        ("scale", scale.into()),
    ];
    let groups = Groups::Tokens { x: w.groups.div_ceil(32), per_token: 1, tile: 1, z: 1 };
    r.add(key, &params, &buffers, groups, u64::from(w.cols)).await
}
