//! Plain f64 twins of the kernels, of the same names: what the shaders must compute, written for reading and not for
//! speed. [`super::selftest`] compares every variant with them; nothing else runs them.
//!
//! Beside each value a twin may give its *slack*: the size of the terms that were added up to it. Rounding errors of a
//! sum grow with that and not with the sum, so tolerances are fractions of the slack.

mod attention;
mod select;

pub use attention::{Attention, attention, attn_merge, rope_kv};
pub use select::{Adjustment, adjust, argmax, nan_probe};

use super::{Act, matmul::Epilogue};

/// Values and their slack.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The values.
    pub y: Vec<f64>,
    /// The size that the error of each is relative to.
    pub slack: Vec<f64>,
}

/// The logistic function.
fn sigmoid(v: f64) -> f64 {
    1.0 / (1.0 + (-v).exp())
}

/// The gate's activation.
pub fn act(a: Act, v: f64) -> f64 {
    match a {
        Act::Silu => v * sigmoid(v),
        Act::GeluTanh => {
            let t = (2.0 / std::f64::consts::PI).sqrt() * (v + 0.044715 * v * v * v);
            0.5 * v * (1.0 + t.tanh())
        }
    }
}

/// `x[t] = scale * E[ids[t]]` for the ids that lie in rows `row0 ..` of the table `w` (`[rows, cols]`); the rows of
/// other ids keep what `x` held.
pub fn embed(w: &[f32], cols: usize, row0: u32, ids: &[u32], scale: f32, x: &[f32]) -> Answer {
    let mut out = Answer { y: x.iter().map(|&v| f64::from(v)).collect(), slack: vec![0.0; x.len()] };
    let rows = w.len() / cols;
    for (t, &id) in ids.iter().enumerate() {
        let Some(row) = id.checked_sub(row0).map(|r| r as usize).filter(|r| *r < rows) else { continue };
        let row = &w[row * cols..(row + 1) * cols];
        let largest = row.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        for (k, &v) in row.iter().enumerate() {
            out.y[t * cols + k] = f64::from(v) * f64::from(scale);
            out.slack[t * cols + k] = f64::from(largest) * f64::from(scale).abs();
        }
    }
    out
}

/// The factor of the root-mean-square norm, `1 / sqrt(mean(x^2) + eps)`.
pub fn inverse_rms(x: &[f64], eps: f32) -> f64 {
    1.0 / (x.iter().map(|v| v * v).sum::<f64>() / x.len() as f64 + f64::from(eps)).sqrt()
}

/// `y = norm(x) * w` for every row of `x` (`[tokens, cols]`), plus `add` where given.
pub fn norm(x: &[f32], w: &[f32], eps: f32, add: Option<&[f32]>) -> Answer {
    let mut out = Answer::default();
    for (t, row) in x.chunks(w.len()).enumerate() {
        let wide: Vec<f64> = row.iter().map(|&v| f64::from(v)).collect();
        let r = inverse_rms(&wide, eps);
        for (k, v) in wide.iter().enumerate() {
            let y = v * r * f64::from(w[k]);
            let before = add.map_or(0.0, |a| f64::from(a[t * w.len() + k]));
            out.y.push(before + y);
            out.slack.push(before.abs() + y.abs());
        }
    }
    out
}

/// A product and what goes with it.
#[derive(Clone, Copy, Debug)]
pub struct Linear<'a> {
    /// Decoded weights, `[rows, cols]`.
    pub w: &'a [f32],
    /// Columns.
    pub cols: usize,
    /// Input, `[tokens, cols]`.
    pub x: &'a [f32],
    /// Weight and epsilon of a norm of x.
    pub norm: Option<(&'a [f32], f32)>,
    /// `[rows]`.
    pub bias: Option<&'a [f32]>,
    /// Factor on the sums.
    pub scale: f32,
    /// Soft cap, 0 for none.
    pub cap: f32,
    /// What happens to a finished sum.
    pub epilogue: Epilogue,
    /// What y holds before, `[tokens, rows]`, for [`Epilogue::Add`].
    pub before: &'a [f32],
    /// Inputs are rounded to 8 bits with a scale per group of 32, as `gemv_int.wgsl` does.
    pub int8: bool,
}

/// Rounds a row of inputs to 8 bits with a scale per group of 32. In f32, as the device does: where a value lies between
/// two integers decides which one it becomes.
pub fn int8(x: &mut [f32]) {
    for group in x.chunks_mut(32) {
        let top = group.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        let inverse = if top > 0.0 { 127.0 / top } else { 0.0 };
        let scale = top / 127.0;
        group.iter_mut().for_each(|v| *v = (*v * inverse).round_ties_even() * scale);
    }
}

/// One finished sum and its slack.
fn finish(l: &Linear<'_>, row: usize, x: &[f64]) -> (f64, f64) {
    let w = &l.w[row * l.cols..(row + 1) * l.cols];
    let (mut sum, mut size) = (0.0, 0.0);
    for (w, x) in w.iter().zip(x) {
        let p = f64::from(*w) * x;
        sum += p;
        size += p.abs();
    }
    let bias = l.bias.map_or(0.0, |b| f64::from(b[row]));
    let mut v = sum * f64::from(l.scale) + bias;
    size = size * f64::from(l.scale).abs() + bias.abs();
    if l.cap > 0.0 {
        let cap = f64::from(l.cap);
        v = cap * (v / cap).tanh();
        // tanh is allowed an absolute error, which the cap multiplies.
        size += cap;
    }
    (v, size)
}

fn wide_int8(x: impl Iterator<Item = f32>) -> Vec<f64> {
    let mut x: Vec<f32> = x.collect();
    int8(&mut x);
    x.into_iter().map(f64::from).collect()
}

/// `Y = X W^T` with prologue and epilogue, `[tokens, rows]` (`[tokens, rows / 2]` for pairs).
pub fn gemm(l: &Linear<'_>) -> Answer {
    let mut out = Answer::default();
    let rows = l.w.len() / l.cols;
    for (t, x) in l.x.chunks(l.cols).enumerate() {
        let wide = |x: &[f32]| x.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
        let r = l.norm.map_or(1.0, |(_, eps)| inverse_rms(&wide(x), eps));
        let mut x = match l.norm {
            Some((w, _)) if l.int8 => wide_int8(x.iter().zip(w).map(|(x, w)| x * w)),
            None if l.int8 => wide_int8(x.iter().copied()),
            Some((w, _)) => x.iter().zip(w).map(|(x, w)| f64::from(*x) * f64::from(*w)).collect(),
            None => wide(x),
        };
        x.iter_mut().for_each(|x| *x *= r);
        match l.epilogue {
            Epilogue::Pair(a) => {
                for row in (0..rows.saturating_sub(1)).step_by(2) {
                    let (gate, gate_slack) = finish(l, row, &x);
                    let (up, up_slack) = finish(l, row + 1, &x);
                    let g = act(a, gate);
                    out.y.push(g * up);
                    // The slopes of both activations stay below 1.13.
                    out.slack.push(1.13 * gate_slack * up.abs() + g.abs() * up_slack);
                }
            }
            Epilogue::Store | Epilogue::Add => {
                for row in 0..rows {
                    let (v, slack) = finish(l, row, &x);
                    let add = l.epilogue == Epilogue::Add;
                    let before = if add { f64::from(l.before[t * rows + row]) } else { 0.0 };
                    out.y.push(before + v);
                    out.slack.push(before.abs() + slack);
                }
            }
        }
    }
    out
}

/// `y = W x`: [`gemm`] of one token.
pub fn gemv(l: &Linear<'_>) -> Answer {
    gemm(&Linear { x: &l.x[..l.cols.min(l.x.len())], ..*l })
}
