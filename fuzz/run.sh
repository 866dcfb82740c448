#!/bin/sh
# fuzz/run.sh [SECONDS [TARGET...]]: runs each target (default: all, 60 seconds) under cargo-fuzz, from the seeds in
# seeds/TARGET and from what earlier runs left in corpus/TARGET. Fails on the first panic, hang or blow-up of memory.
#
# A reader that allocates what a small file claims is a finding: no single allocation above 16 MiB.
set -eu
cd "$(dirname -- "$0")"
seconds=${1:-60}
[ $# -eq 0 ] || shift
command -v cargo-fuzz >/dev/null || { echo "fuzz: cargo-fuzz is missing; run: cargo install cargo-fuzz" >&2; exit 1; }

# The flags that cargo-fuzz gives are unstable ones. So told, a stable compiler takes them, and a nightly one does
# not mind: one way that works with either.
export RUSTC_BOOTSTRAP=1
echo "fuzz: $(rustc --version)" >&2
sanitizer=none
for runtime in "$(rustc --print target-libdir)"/librustc*rt.asan.a; do
    [ ! -e "$runtime" ] || sanitizer=address
done
[ $sanitizer = address ] || echo "fuzz: this compiler has no address sanitizer; fuzzing without" >&2
# Freed memory that the sanitizer keeps back counts as used.
export ASAN_OPTIONS="quarantine_size_mb=16${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

[ $# -gt 0 ] || for file in fuzz_targets/*.rs; do set -- "$@" "$(basename "$file" .rs)"; done
for target; do
    mkdir -p "corpus/$target" "seeds/$target" artifacts
    log=artifacts/$target.log
    if ! cargo fuzz run --fuzz-dir . --sanitizer $sanitizer "$target" "corpus/$target" "seeds/$target" -- \
        -max_total_time="$seconds" -timeout=5 -rss_limit_mb=512 -malloc_limit_mb=16 -max_len=16384 \
        -print_final_stats=1 >"$log" 2>&1; then
        grep -A1 -E 'panicked at|^==[0-9]+== ?ERROR|^SUMMARY|Test unit written|^error' "$log" >&2 || tail "$log" >&2
        echo "fuzz: $target FAILED; all it said is in fuzz/$log" >&2
        exit 1
    fi
    echo "fuzz: $target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $seconds s, nothing found"
done
