//! The harness ([`golay::harness`]) on the browser's adapter: the same rows, the same report file.

use crate::js_error;
use golay::format::TensorType;
use golay::gpu::{CapsRequest, Gpu, Kernels};
use golay::harness::ceilings;
use golay::harness::kernels::{Options, Progress, measure};
use golay::harness::plan::{Selection, rows};
use golay::harness::report::Report;
use serde_json::json;
use wasm_bindgen::prelude::*;

/// Tells the page what is next; a page that answers `false` ends the run.
struct Told<'a> {
    each: &'a js_sys::Function,
    go_on: bool,
}

impl Progress for Told<'_> {
    fn step(&mut self, now: &str, done: usize, all: usize) {
        let text = json!({ "now": now, "done": done, "all": all }).to_string();
        let answer = self.each.call1(&JsValue::NULL, &JsValue::from_str(&text));
        self.go_on &= answer.is_ok_and(|a| a.as_bool() != Some(false));
    }

    fn cancelled(&self) -> bool {
        !self.go_on
    }
}

/// Measures this browser's adapter and resolves to the text of a report, as `golay bench report` writes it.
///
/// - `selection`: JSON, `{"families": ["gemv"], "formats": ["q4_0"], "shapes": [[4096, 4096]], "tokens": [64],
///   "all": false, "rounds": 7}`; what is left out means the standard.
/// - `baseline`: use only what every WebGPU device has.
/// - `each` gets JSON texts `{"now", "done", "all"}` and may answer `false` to end the run.
#[wasm_bindgen]
pub async fn bench(selection: String, baseline: bool, each: js_sys::Function) -> Result<String, JsError> {
    let v: serde_json::Value = serde_json::from_str(&selection).map_err(js_error)?;
    let wanted = read(&v).map_err(|e| js_error(format!("selection: {e}")))?;
    let (request, name) =
        if baseline { (CapsRequest::Baseline, "baseline") } else { (CapsRequest::Full, "full") };
    let gpu = Gpu::open(None, request).await.map_err(js_error)?;
    let kernels = Kernels::default();
    let wanted = rows(&wanted, &gpu.caps, None).map_err(js_error)?;
    let mut report = Report::new(&gpu, name);
    let mut told = Told { each: &each, go_on: true };
    let mut say = |now: &str, done, all| told.step(&format!("ceiling {now}"), done, all);
    report.ceilings = ceilings::measure(&gpu, &kernels, &mut say).await.map_err(js_error)?;
    let mut options = Options::new(&gpu);
    if let Some(n) = v["rounds"].as_u64() {
        options.rounds = n.clamp(3, 1000) as usize;
    }
    report.kernels =
        measure(&gpu, &kernels, &wanted, &report.ceilings, &options, &mut told).await.map_err(js_error)?;
    if !told.go_on {
        return Err(JsError::new("ended before everything was measured"));
    }
    serde_json::to_string_pretty(&report).map_err(js_error)
}

/// The page with plots of reports (`[[name, text], ...]` as two lists), as `golay bench compare --html` writes it.
#[wasm_bindgen]
pub fn compare(names: Vec<String>, texts: Vec<String>) -> Result<String, JsError> {
    let mut reports = Vec::new();
    for (name, text) in names.into_iter().zip(texts) {
        let report = Report::read(&text).map_err(|e| js_error(format!("{name}: {e}")))?;
        reports.push((name, report));
    }
    Ok(golay::harness::page::html(&reports))
}

fn read(v: &serde_json::Value) -> Result<Selection, String> {
    let list = |key: &str| v[key].as_array().cloned().unwrap_or_default();
    let word = |x: &serde_json::Value| x.as_str().map(str::to_owned).ok_or("expected names");
    let number = |x: &serde_json::Value| {
        x.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0).ok_or("expected positive numbers")
    };
    let mut s = Selection { all: v["all"].as_bool().unwrap_or(false), ..Selection::default() };
    for f in list("families") {
        s.families.push(word(&f)?);
    }
    for f in list("formats") {
        let name = word(&f)?;
        let mut all = golay::weights::DEVICE_TYPES.iter().copied();
        let found: Option<TensorType> = all.find(|t| t.name().eq_ignore_ascii_case(&name));
        s.formats.push(found.ok_or_else(|| format!("no format {name}"))?);
    }
    for shape in list("shapes") {
        let both = shape.as_array().filter(|a| a.len() == 2).ok_or("expected [rows, columns]")?;
        s.shapes.push([number(&both[0])?, number(&both[1])?]);
    }
    for n in list("tokens") {
        s.tokens.push(number(&n)?);
    }
    Ok(s)
}
