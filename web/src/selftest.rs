//! The kernels' self test ([`golay::kernels::selftest`]) on the browser's adapter.

use crate::js_error;
use golay::gpu::{CapsRequest, Gpu, KernelKey, Kernels};
use golay::kernels::Tuning;
use golay::kernels::choose::{self, Finding};
use golay::kernels::selftest::{self, Case, Depth};
use serde_json::{Value, json};
use std::collections::HashSet;
use wasm_bindgen::prelude::*;

/// Opens the adapter with what every WebGPU device has and runs the self test. `depth`:
///
/// - `quick`: what this adapter would use, as at the first load of a model;
/// - `variants`: that, and of the full list every case that needs a kernel unlike any before it: other switches, not
///   only other sizes or another weight format (a browser compiles each for about a second on a CPU);
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
    let detail = if f.passed() { String::new() } else { f.line() };
    json!({ "name": f.name, "family": f.family, "ok": f.passed(), "detail": detail })
}

async fn cases(gpu: &Gpu, kernels: &Kernels, depth: &str) -> Result<Vec<Case>, JsError> {
    let tuning = Tuning::for_caps(&gpu.caps);
    let quick = selftest::cases(&gpu.caps, &tuning, Depth::Quick);
    let full = || selftest::cases(&gpu.caps, &tuning, Depth::Full);
    match depth {
        "quick" => Ok(quick),
        "full" => Ok(full()),
        "variants" => thin(gpu, kernels, quick, full()).await,
        _ => Err(JsError::new(&format!("depth {depth}: expected quick, variants or full"))),
    }
}

/// All of `first`, and of `rest` what needs a kernel unlike any so far.
async fn thin(gpu: &Gpu, kernels: &Kernels, first: Vec<Case>, rest: Vec<Case>) -> Result<Vec<Case>, JsError> {
    let all = first.len();
    let (mut seen, mut kept) = (HashSet::new(), Vec::<Case>::new());
    for (i, case) in first.into_iter().chain(rest).enumerate() {
        let mut fresh = false;
        for key in selftest::keys(gpu, kernels, &case).await.map_err(js_error)? {
            fresh |= seen.insert(kind(key));
        }
        if i < all || fresh {
            kept.push(case);
        }
    }
    Ok(kept)
}

/// A kernel apart from its sizes and, where compiling takes long, from its weight format.
fn kind(mut key: KernelKey) -> KernelKey {
    key.overrides.clear();
    if key.shader != "embed" {
        key.defines.remove("FORMAT");
    }
    key
}
