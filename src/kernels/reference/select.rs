//! Twins of the kernels that go from logits to an id. The twin of `sample.wgsl` is
//! [`crate::generate::device_chain_reference`].

/// The id of the largest logit, the lowest of equals, and whether the device must raise its flag: `Some(true)` for a
/// NaN or an infinite largest logit, `Some(false)` when every logit is minus infinity.
///
/// With a NaN there, the id is that of the first NaN.
pub fn argmax(logits: &[f32]) -> (u32, Option<bool>) {
    let nan = logits.iter().position(|l| l.is_nan());
    let mut best = 0;
    for (i, l) in logits.iter().enumerate() {
        if *l > logits[best] || logits[best].is_nan() {
            best = i;
        }
    }
    let at = nan.unwrap_or(best);
    let flag = match logits.get(at) {
        Some(l) if l.is_nan() || *l == f32::INFINITY => Some(true),
        Some(l) if *l == f32::NEG_INFINITY => Some(false),
        _ => None,
    };
    (u32::try_from(at).unwrap_or(u32::MAX), flag)
}

/// One entry of the list that `adjust.wgsl` works through. Ids are distinct.
#[derive(Clone, Copy, Debug)]
pub struct Adjustment {
    /// Token.
    pub id: u32,
    /// Occurrences in the penalty window; 0 for none.
    pub count: u32,
    /// Added before the penalties (logit bias).
    pub bias: f32,
    /// Added after them (DRY).
    pub delta: f32,
}

/// Applies bias, penalties (repeat, frequency, presence) and what comes after them.
pub fn adjust(logits: &[f32], list: &[Adjustment], penalties: [f32; 3]) -> Vec<f64> {
    let mut out: Vec<f64> = logits.iter().map(|&l| f64::from(l)).collect();
    let [repeat, frequency, presence] = penalties.map(f64::from);
    for e in list {
        let Some(l) = out.get_mut(e.id as usize) else { continue };
        *l += f64::from(e.bias);
        if e.count > 0 {
            *l = if *l > 0.0 { *l / repeat } else { *l * repeat };
            *l -= f64::from(e.count) * frequency + presence;
        }
        *l += f64::from(e.delta);
    }
    out
}

/// Whether any value is NaN or infinite.
pub fn nan_probe(x: &[f32]) -> bool {
    x.iter().any(|v| !v.is_finite())
}
