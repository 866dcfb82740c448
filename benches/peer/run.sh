#!/bin/sh
# benches/peer/run.sh MODEL.gguf [ROUNDS [PROMPT]]: prefill of PROMPT (512) tokens and decode of 16, golay against llama.cpp's Vulkan backend,
# on the same software adapter, alternating; medians with range, and the ratio of the medians. Needs node and npm; the
# peer is installed into a folder of its own outside the checkout.
set -eu
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
MODEL=$(realpath "$1")
ROUNDS=${2:-5}
PROMPT=${3:-512}
PEER=${GOLAY_PEER_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/golay-peer}
mkdir -p "$PEER"
[ -d "$PEER/node_modules/@fugood/llama.node" ] || ( cd "$PEER" &&
    npm i --ignore-scripts --silent @fugood/llama.node@1.7.15 @fugood/node-llama-linux-x64-vulkan@1.7.15 >&2 )
( cd "$ROOT" && cargo build --quiet --release --locked -p golay-cli )
GOLAY=${CARGO_TARGET_DIR:-$ROOT/target}/release/golay
OURS=$(mktemp)
THEIRS=$(mktemp)
trap 'rm -f "$OURS" "$THEIRS"' EXIT
# Once unmeasured, so that both find their compiled shaders in the driver's cache.
"$GOLAY" bench model -m "$MODEL" -p "$PROMPT" -n 16 -r 1 -o json >/dev/null 2>&1
i=0
while [ "$i" -lt "$ROUNDS" ]; do
    i=$((i + 1))
    "$GOLAY" bench model -m "$MODEL" -p "$PROMPT" -n 16 -r 1 -o json 2>/dev/null | tr -d '\n' >>"$OURS"
    echo >>"$OURS"
    ( cd "$PEER" && GGML_VK_VISIBLE_DEVICES=0 node "$ROOT/benches/peer/llama.mjs" "$MODEL" "$i" "$PROMPT" 2>/dev/null |
        grep '^{' ) >>"$THEIRS"
    echo "round $i of $ROUNDS" >&2
done
python3 - "$OURS" "$THEIRS" "$PROMPT" <<'PY'
import json, statistics, sys

ours = {"prefill": [], "decode": []}
for line in open(sys.argv[1]):
    for row in json.loads(line):
        ours["prefill" if row["n_prompt"] else "decode"].append(row["avg_ts"])
theirs = {"prefill": [], "decode": []}
for line in open(sys.argv[2]):
    for k, v in json.loads(line).items():
        theirs[k].append(v)
print("| | golay tok/s, median (range) | llama.cpp Vulkan tok/s, median (range) | ratio |")
print("|---|---|---|---|")
for k, name in (("decode", "decode, 16 tokens"), ("prefill", f"prefill, {sys.argv[3]} tokens")):
    m = [statistics.median(x[k]) for x in (ours, theirs)]
    cells = [f"{statistics.median(x[k]):.2f} ({min(x[k]):.2f} to {max(x[k]):.2f})" for x in (ours, theirs)]
    print(f"| {name} | {cells[0]} | {cells[1]} | {m[0] / m[1]:.1f} |")
PY
