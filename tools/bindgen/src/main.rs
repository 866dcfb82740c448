//! `golay-bindgen INPUT.wasm OUTPUT_DIR`: wasm-bindgen for the web, through the library behind its own
//! command, which is far less to compile than that command and is pinned by a lock file of ours.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [input, out_dir] = args.as_slice() else {
        eprintln!("usage: golay-bindgen INPUT.wasm OUTPUT_DIR");
        return ExitCode::from(2);
    };
    let mut bindgen = wasm_bindgen_cli_support::Bindgen::new();
    let done = bindgen.input_path(input).web(true).and_then(|b| b.typescript(false).generate(out_dir));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("golay-bindgen: {input}: {e:#}");
            ExitCode::FAILURE
        }
    }
}
