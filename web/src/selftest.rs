//! The kernels' self test ([`golay::kernels::selftest`]) on the browser's adapter.

use crate::{js_error, thin::pairs};
use golay::gpu::{CapsRequest, Gpu, Kernels};
use golay::kernels::Tuning;
use golay::kernels::choose::{self, Finding};
use golay::kernels::selftest::{self, Case, Depth};
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;

/// Opens the adapter with what every WebGPU device has and runs the self test. `depth`:
///
/// - `quick`: what this adapter would use, as at the first load of a model;
/// - `switches`: that, and as much of the full list as meets every pair of switches of every kernel ([`pairs`]);
/// - `full`: the whole list.
///
/// `each` gets JSON texts: `{"adapter", "cases"}` once, then `{"begin": name}` and
/// `{"name", "family", "ok", "detail"}` in turn. A wrong result does not reject; the loss of the device does.
#[wasm_bindgen]
pub async fn self_test(depth: String, each: js_sys::Function) -> Result<(), JsError> {
    let gpu = Gpu::open(None, CapsRequest::Baseline).await.map_err(js_error)?;
    let kernels = Kernels::default();
    let cases = cases(&gpu, &kernels, &depth).await?;
    let tell = |v: Value| drop(each.call1(&JsValue::NULL, &JsValue::from_str(&v.to_string())));
    let i = &gpu.info;
    let adapter = format!("{:?}, {:?} {}", i.backend, i.device_type, i.name);
    tell(json!({ "adapter": adapter.trim_end(), "cases": cases.len() }));
    for case in &cases {
        tell(json!({ "begin": case.name }));
        let one = std::slice::from_ref(case);
        choose::run_all(&gpu, &kernels, one, &mut |_, _, f| tell(report(f))).await.map_err(js_error)?;
    }
    Ok(())
}

fn report(f: &Finding) -> Value {
    let detail = match &f.outcome {
        Ok(o) if o.passed => "",
        Ok(o) => o.detail.as_str(),
        Err(e) => e.as_str(),
    };
    json!({ "name": f.name, "family": f.family, "ok": f.passed(), "detail": detail })
}

async fn cases(gpu: &Gpu, kernels: &Kernels, depth: &str) -> Result<Vec<Case>, JsError> {
    let tuning = Tuning::for_caps(&gpu.caps);
    let mut cases = selftest::cases(&gpu.caps, &tuning, Depth::Quick);
    match depth {
        "quick" => {}
        "full" => cases = selftest::cases(&gpu.caps, &tuning, Depth::Full),
        "switches" => {
            let quick = cases.len();
            cases.extend(selftest::cases(&gpu.caps, &tuning, Depth::Full));
            let mut needs = Vec::new();
            for case in &cases {
                needs.push(selftest::keys(gpu, kernels, case).await.map_err(js_error)?);
            }
            cases = pairs(&needs, quick).into_iter().map(|i| cases[i].clone()).collect();
        }
        _ => return Err(JsError::new(&format!("depth {depth}: expected quick, switches or full"))),
    }
    Ok(cases)
}
