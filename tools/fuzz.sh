#!/bin/sh
# tools/fuzz.sh SECONDS [TARGET...]: runs each fuzz target (default: all) that long, from the seeds in
# fuzz/seeds/TARGET and what earlier runs found. Fails on the first crash, hang or blow-up of memory.
set -eu
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$ROOT"
SECONDS_EACH=${1:-60}
[ $# -gt 0 ] && shift
if [ ! -e fuzz/Cargo.toml ]; then
    echo "fuzz: no targets yet" >&2
    exit 0
fi
"$ROOT/tools/setup.sh" fuzz
PATH=$ROOT/target/tools/bin:$PATH
export RUSTC_BOOTSTRAP=1 # the sanitizer flags on a stable compiler: no second toolchain
# Address sanitizer where the compiler comes with its runtime (Debian's does not).
SANITIZER=none
for f in "$(rustc --print target-libdir)"/librustc*rt.asan.a; do
    [ -e "$f" ] && SANITIZER=address
done
TRIPLE=$(rustc -vV | sed -n 's/^host: //p')
cargo fuzz build --sanitizer $SANITIZER
if [ $# -eq 0 ]; then
    # shellcheck disable=SC2046 # one word a target
    set -- $(cargo fuzz list)
fi
for target; do
    corpus=fuzz/corpus/$target
    seeds=fuzz/seeds/$target
    mkdir -p "$corpus" "$seeds" "fuzz/artifacts/$target"
    set +e
    "fuzz/target/$TRIPLE/release/$target" "$corpus" "$seeds" \
        -artifact_prefix="fuzz/artifacts/$target/" -max_total_time="$SECONDS_EACH" \
        -timeout=5 -rss_limit_mb=2048 -print_final_stats=1 >"fuzz/artifacts/$target.log" 2>&1
    rc=$?
    set -e
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "fuzz/artifacts/$target.log")
    if [ $rc -ne 0 ]; then
        grep -A1 -E 'panicked at|^==[0-9]+== ?ERROR|^SUMMARY|Test unit written' "fuzz/artifacts/$target.log" >&2
        echo "fuzz: $target FAILED; all it said is in fuzz/artifacts/$target.log" >&2
        exit 1
    fi
    echo "fuzz: $target: ${runs:-0} inputs in $SECONDS_EACH s, nothing found"
done
