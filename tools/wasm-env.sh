#!/bin/sh
# Makes sure that wasm32-unknown-unknown can be built, and prints the environment that cargo needs for it:
#     ( eval "$(sh tools/wasm-env.sh)"; cargo build --target wasm32-unknown-unknown ... )
# Use it in a subshell: RUSTC must not leak into native builds, or everything is built twice.
#
# Where rustup has the target (or can fetch it) there is nothing to print. Debian's rustc-web has the wasm
# back end but no std for it: that is built once from rust-web-src into target/wasm-sysroot.
set -eu
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
T=wasm32-unknown-unknown
DEBIAN_RUSTC=/usr/bin/rustc
SRC=/usr/lib/rustlib/src/rust/library

has_target() { [ -d "$(rustc --print target-libdir --target $T 2>/dev/null)" ]; }
has_debian() { [ -x $DEBIAN_RUSTC ] && [ -d $SRC ] && [ -n "$(wasm_ld)" ]; }
wasm_ld() {
    # The linker must be of the compiler's LLVM; Debian's plain `lld` may be far older.
    v=$($DEBIAN_RUSTC -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
    command -v "wasm-ld-$v" || true
}

has_target && exit 0
if ! has_debian; then
    if command -v rustup >/dev/null; then
        echo "wasm: asking rustup for $T" >&2
        limit= # macOS has no timeout
        command -v timeout >/dev/null && limit='timeout 300'
        $limit rustup target add $T >&2 && has_target && exit 0
    fi
    [ -e /etc/debian_version ] && "$ROOT/tools/setup.sh" debian-wasm >&2
    has_debian || { echo "wasm: no compiler for $T; with rustup: rustup target add $T" >&2; exit 1; }
fi

SYS=$ROOT/target/wasm-sysroot
HOST=$($DEBIAN_RUSTC -vV | sed -n 's/^host: //p')
# A new compiler, even of the same version, needs a new std.
STAMP=$SYS/$({ $DEBIAN_RUSTC -vV; ls -lL $DEBIAN_RUSTC; } | cksum | cut -d' ' -f1).done
if [ ! -e "$STAMP" ]; then
    echo "wasm: building std for $T once (about a minute)" >&2
    W=$(mktemp -d)
    trap 'rm -rf "$W"' EXIT
    mkdir "$W/src"
    : >"$W/src/lib.rs"
    printf '[package]\nname = "s"\nversion = "0.0.0"\nedition = "2021"\n' >"$W/Cargo.toml"
    # embed-bitcode: without it a later build with LTO fails ("Can't find section .llvmbc").
    (
        cd "$W"
        unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS
        RUSTC_BOOTSTRAP=1 RUSTC=$DEBIAN_RUSTC CARGO_TARGET_DIR="$W/target" \
            CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS=-Cembed-bitcode=yes \
            /usr/bin/cargo build --quiet --release --target $T -Zbuild-std=std,panic_abort
    ) >&2
    rm -rf "$SYS" "$ROOT/target/wasm" # cargo does not notice that std changed
    LIB=$SYS/lib/rustlib/$T/lib
    mkdir -p "$LIB"
    cp "$W"/target/$T/release/deps/lib*.rlib "$W"/target/$T/release/deps/lib*.rmeta "$LIB/"
    rm -f "$LIB"/libs-*
    ln -sfn "/usr/lib/rustlib/$HOST" "$SYS/lib/rustlib/$HOST"
    : >"$STAMP"
fi
echo "export RUSTC='$DEBIAN_RUSTC'"
echo "export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER='$(wasm_ld)'"
echo "export CARGO_ENCODED_RUSTFLAGS='--sysroot=$SYS'" # the encoded form bears a blank in the path
