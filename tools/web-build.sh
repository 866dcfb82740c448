#!/bin/sh
# Builds the wasm module and its JavaScript half into target/web/pkg.
set -eu
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$ROOT"
# The tool with the native compiler, in a folder of its own.
cargo build --quiet --locked --manifest-path tools/bindgen/Cargo.toml --target-dir target/tools
# `|| exit`: eval of an empty text would hide a failure.
env=$(sh tools/wasm-env.sh) || exit 1
eval "$env"
cargo build --locked --release --target wasm32-unknown-unknown --manifest-path web/Cargo.toml --target-dir target/wasm
rm -rf target/web
mkdir -p target/web/pkg
target/tools/debug/golay-bindgen target/wasm/wasm32-unknown-unknown/release/golay_web.wasm target/web/pkg
wc -c target/web/pkg/* >&2
