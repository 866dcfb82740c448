#!/bin/sh
# tools/fuzz.sh [SECONDS [TARGET...]]: runs each fuzz target (default: all, 60 seconds) from the seeds in
# fuzz/seeds/TARGET and from what earlier runs found. Fails on the first panic, hang or blow-up of memory: a reader that
# allocates what a small file claims is a finding (no single allocation above 16 MiB).
#
# The folder is cargo-fuzz's (`cargo fuzz run TARGET` works too); the flags below are the ones it gives, used
# directly so that neither a nightly compiler nor that command is needed.
set -eu
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$ROOT"
SECONDS_EACH=${1:-60}
[ $# -eq 0 ] || shift
if [ ! -e fuzz/Cargo.toml ]; then
    echo "fuzz: no targets yet" >&2
    exit 0
fi
"$ROOT/tools/setup.sh" fuzz

FLAGS="--cfg fuzzing -Cdebug-assertions -Ccodegen-units=1 -Cpasses=sancov-module
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
# The address sanitizer only where the compiler comes with its runtime (Debian's does not).
for f in "$(rustc --print target-libdir)"/librustc*rt.asan.a; do
    [ ! -e "$f" ] || FLAGS="$FLAGS -Zsanitizer=address"
done
TRIPLE=$(rustc -vV | sed -n 's/^host: //p')
RUSTC_BOOTSTRAP=1 RUSTFLAGS=$(echo "$FLAGS" | tr -s ' \n' '  ') \
    cargo build --quiet --release --locked --target "$TRIPLE" --manifest-path fuzz/Cargo.toml --target-dir fuzz/target

# Freed memory that the sanitizer keeps back counts as used.
export ASAN_OPTIONS="quarantine_size_mb=16${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
if [ $# -eq 0 ]; then
    for f in fuzz/fuzz_targets/*.rs; do
        set -- "$@" "$(basename "$f" .rs)"
    done
fi
for target; do
    seeds=fuzz/seeds/$target
    corpus=fuzz/corpus/$target # git-ignored; libFuzzer writes to the first folder it is given
    log=fuzz/artifacts/$target.log
    mkdir -p "$corpus" "$seeds" "fuzz/artifacts/$target"
    rc=0
    "fuzz/target/$TRIPLE/release/$target" "$corpus" "$seeds" -artifact_prefix="fuzz/artifacts/$target/" \
        -max_total_time="$SECONDS_EACH" -timeout=5 -rss_limit_mb=512 -malloc_limit_mb=16 -max_len=16384 \
        -print_final_stats=1 >"$log" 2>&1 || rc=$?
    if [ $rc -ne 0 ]; then
        grep -A1 -E 'panicked at|^==[0-9]+== ?ERROR|^SUMMARY|Test unit written' "$log" >&2 || tail "$log" >&2
        echo "fuzz: $target FAILED; all it said is in $log" >&2
        exit 1
    fi
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    echo "fuzz: $target: ${runs:-0} inputs in $SECONDS_EACH s, nothing found"
done
