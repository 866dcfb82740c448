//! golay in the browser: what the page calls.
//!
//! Every exported function is async and answers with a JSON text `{"ok": bool, ...}`, so that the page and the
//! test runner read results and failures the same way. Lines for people go to the console as they arise.

use wasm_bindgen::prelude::*;

mod probe;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console)]
    fn log(line: &str);
    #[wasm_bindgen(js_namespace = console)]
    fn error(line: &str);
}

/// Runs once when the module loads: a panic becomes a line on the console instead of a bare `unreachable`.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|info| error(&info.to_string())));
}

/// Opens the adapter and runs the self-tests. The answer: `{"ok", "adapter", "tests": [{"name", "ok", "detail"}]}`.
#[wasm_bindgen]
pub async fn self_test() -> String {
    match probe::run().await {
        Ok(adapter) => {
            log(&format!("ok    probe on {adapter}"));
            serde_json::json!({ "ok": true, "adapter": adapter, "tests": [{ "name": "probe", "ok": true }] })
        }
        Err(e) => serde_json::json!({ "ok": false, "error": e }),
    }
    .to_string()
}
