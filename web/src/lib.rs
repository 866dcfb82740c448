//! golay in the browser: what the page calls.
//!
//! Everything exported is async and rejects with an `Error` whose message is the engine's own; nothing blocks the
//! page's event loop. What the engine logs goes to the console.

mod bench;
mod console;
mod generate;
mod selftest;
mod thin;

pub use bench::{bench, compare};
pub use generate::Model;
pub use selftest::self_test;

use wasm_bindgen::prelude::*;

/// Runs once when the module loads.
#[wasm_bindgen(start)]
pub fn start() {
    console::install();
}

/// An error of the engine as the page sees it.
fn js_error(e: impl std::fmt::Display) -> JsError {
    JsError::new(&e.to_string())
}
