//! The browser's console as the sink of the `log` crate and of panics.

use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console)]
    fn info(line: &str);
    #[wasm_bindgen(js_namespace = console)]
    fn warn(line: &str);
    #[wasm_bindgen(js_namespace = console)]
    fn error(line: &str);
}

struct Console;

impl log::Log for Console {
    fn enabled(&self, m: &log::Metadata<'_>) -> bool {
        m.level() <= log::max_level()
    }

    fn log(&self, r: &log::Record<'_>) {
        let line = format!("{}: {}", r.target(), r.args());
        match r.level() {
            log::Level::Error => error(&line),
            log::Level::Warn => warn(&line),
            _ => info(&line),
        }
    }

    fn flush(&self) {}
}

/// Sends warnings and errors there, and a panic as a line instead of a bare `unreachable`.
pub fn install() {
    std::panic::set_hook(Box::new(|p| error(&p.to_string())));
    if log::set_logger(&Console).is_ok() {
        log::set_max_level(log::LevelFilter::Warn);
    }
}
