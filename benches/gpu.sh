#!/bin/sh
# benches/gpu.sh [FOLDER]: everything that is asked of a GPU, in one command: GEMV of F16, Q8_0 and Q4_K beside the read
# ceiling, decode of 1B and 8B shapes beside the byte bound, host time per token, and the same under baseline
# capabilities. Writes reports and a page into FOLDER (default ./gpu-results). About 8 GB of disk, 10 minutes.
# GOLAY names a binary that is built already; otherwise it is built.
set -eu
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
OUT=${1:-gpu-results}
mkdir -p "$OUT"
if [ -z "${GOLAY:-}" ]; then
    ( cd "$ROOT" && cargo build --release --locked -p golay-cli )
    GOLAY=${CARGO_TARGET_DIR:-$ROOT/target}/release/golay
fi
MODELS=${TMPDIR:-/tmp}/golay-synth
mkdir -p "$MODELS"
for m in llama-3.2-1b:q8_0 llama-3.2-1b:f16 llama-3.2-1b:q4_k llama-3.1-8b:q4_k; do
    f=$MODELS/${m%:*}.${m#*:}.gguf
    [ -e "$f" ] || "$GOLAY" bench synth "${m%:*}" -t "${m#*:}" -o "$f"
done
"$GOLAY" devices
for m in "$MODELS"/*.gguf; do "$GOLAY" tune -m "$m" | tee -a "$OUT/tuned.md"; done
big=4096x14336,14336x4096,8192x8192,128256x4096
"$GOLAY" bench kernels --family gemv --format f16,q8_0,q4_k --shape $big | tee "$OUT/gemv.md"
list=$(find "$MODELS" -name '*.gguf' | sort | paste -sd, -)
"$GOLAY" bench report -o "$OUT/full.json" -m "$list"
GOLAY_CAPS=baseline "$GOLAY" bench report -o "$OUT/baseline.json" -m "$list"
"$GOLAY" bench compare "$OUT/full.json" "$OUT/baseline.json" --html "$OUT/compare.html" | tee "$OUT/compare.md"
for m in "$MODELS"/*.gguf; do
    "$GOLAY" bench model -m "$m" -p 512 -n 64 --bound --profile 2>&1 | tee -a "$OUT/models.md"
done
