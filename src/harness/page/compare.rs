//! Which rows of which reports belong together, and what a row's work is.

use super::super::report::{ModelRow, Report, Row};
use std::collections::HashMap;

/// One kernel on one shape: a line of the comparison.
pub(super) struct Kernel<'a> {
    /// As in [`Row`].
    pub family: &'a str,
    /// As in [`Row`].
    pub format: &'a str,
    /// As in [`Row`].
    pub shape: &'a str,
    /// What each report says of it, in the order of the reports.
    pub of: Vec<Measured<'a>>,
}

/// What one report says of one kernel on one shape.
#[derive(Clone, Default)]
pub(super) struct Measured<'a> {
    /// The default geometry, whether it was timed or refused.
    pub default: Option<&'a Row>,
    /// The fastest geometry, which may be the default.
    pub best: Option<&'a Row>,
    /// Geometries that were timed.
    pub timed: usize,
}

impl<'a> Measured<'a> {
    /// The default, if it has a time.
    pub fn timed_default(&self) -> Option<&'a Row> {
        self.default.filter(|r| is_timed(r))
    }

    /// The fastest of several, and None where there was nothing to choose.
    pub fn choice(&self) -> Option<&'a Row> {
        self.best.filter(|b| self.timed > 1 || !b.default)
    }

    /// How much faster the fastest is than the default.
    pub fn gain(&self) -> Option<f64> {
        Some(self.timed_default()?.seconds / self.choice()?.seconds)
    }
}

/// True for a row with a time that can be believed.
pub(super) fn is_timed(r: &Row) -> bool {
    r.refused.is_none() && r.seconds.is_finite() && r.seconds > 0.0
}

/// All kernels of all reports: by family, and within one in the order in which they were first met.
pub(super) fn kernels(reports: &[(String, Report)]) -> Vec<Kernel<'_>> {
    let mut out: Vec<Kernel> = Vec::new();
    let mut at = HashMap::new();
    for (i, (_, report)) in reports.iter().enumerate() {
        for row in &report.kernels {
            let key = (row.family.as_str(), row.format.as_str(), row.shape.as_str());
            let n = *at.entry(key).or_insert_with(|| {
                let of = vec![Measured::default(); reports.len()];
                out.push(Kernel { family: key.0, format: key.1, shape: key.2, of });
                out.len() - 1
            });
            let m = &mut out[n].of[i];
            if row.default && m.default.is_none() {
                m.default = Some(row);
            }
            if is_timed(row) {
                m.timed += 1;
                if m.best.is_none_or(|b| row.seconds < b.seconds) {
                    m.best = Some(row);
                }
            }
        }
    }
    let order = families(reports);
    out.sort_by_key(|k| order.get(k.family).copied().unwrap_or(usize::MAX));
    out
}

/// Families and their place in the order in which they were first met.
pub(super) fn families(reports: &[(String, Report)]) -> HashMap<&str, usize> {
    let mut out = HashMap::new();
    for row in reports.iter().flat_map(|(_, r)| &r.kernels) {
        let next = out.len();
        out.entry(row.family.as_str()).or_insert(next);
    }
    out
}

/// One test of one model, and each report's row of it.
pub(super) struct Model<'a> {
    /// The first row met.
    pub row: &'a ModelRow,
    /// In the order of the reports.
    pub of: Vec<Option<&'a ModelRow>>,
}

/// All tests of all models, in the order in which they were first met.
pub(super) fn models(reports: &[(String, Report)]) -> Vec<Model<'_>> {
    let mut out: Vec<Model> = Vec::new();
    let mut at = HashMap::new();
    for (i, (_, report)) in reports.iter().enumerate() {
        for row in &report.models {
            let key = (row.model.as_str(), row.test.as_str(), row.activations.as_str());
            let n = *at.entry(key).or_insert_with(|| {
                out.push(Model { row, of: vec![None; reports.len()] });
                out.len() - 1
            });
            out[n].of[i].get_or_insert(row);
        }
    }
    out
}

/// The word behind `key` in a shape: `64` of `4096x14336 tokens=64` for `tokens=`.
fn after<'a>(shape: &'a str, key: &str) -> Option<&'a str> {
    shape.split_whitespace().find_map(|w| w.strip_prefix(key))
}

fn positive(word: Option<&str>) -> Option<f64> {
    word?.parse::<u32>().ok().filter(|n| *n > 0).map(f64::from)
}

/// Operations of one dispatch; a multiply-add is two.
///
/// Products: two per weight and token. Attention: two per cached value, query head that shares it and token, as far as
/// the token may look back. Norms: four per value. Anything else: one per item.
pub(super) fn operations(r: &Row) -> f64 {
    let items = r.items as f64;
    let tokens = positive(after(&r.shape, "tokens=")).unwrap_or(1.0);
    match r.family.as_str() {
        "gemv" | "gemm" => 2.0 * items * tokens,
        "attention" => {
            let heads = after(&r.shape, "heads=").and_then(|w| w.split_once('/'));
            let shared = heads.and_then(|(q, kv)| Some(positive(Some(q))? / positive(Some(kv))?));
            let keys = positive(after(&r.shape, "keys=")).unwrap_or(tokens).max(tokens);
            2.0 * items * shared.unwrap_or(1.0) * tokens * (1.0 - (tokens - 1.0) / 2.0 / keys)
        }
        "norm" => 4.0 * items,
        _ => items,
    }
}
