#!/bin/sh
# tools/setup.sh PART...: installs what is missing for the parts named, on Debian and Ubuntu; elsewhere it
# says what to install. Parts: rust cc vulkan python browser debian-wasm fuzz. Fast when nothing is missing.
set -eu
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
MIN_RUST=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$ROOT/Cargo.toml")
LISTS_FRESH=

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }
is_mac() { [ "$(uname -s)" = Darwin ]; }
exists() { for f; do [ -e "$f" ] && return 0; done; return 1; } # of a glob: any match

can_root() { [ "$(id -u)" = 0 ] || have sudo; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

refresh() {
    [ -z "$LISTS_FRESH" ] && can_root || return 0
    as_root apt-get update -qq || say "apt-get update failed; going on with the lists at hand"
    LISTS_FRESH=1
}

# apt_install WHAT-FOR PACKAGE...: with apt. Never at the price of a package that is there already.
apt_install() {
    what=$1; shift
    have apt-get || die "$what is missing; please install: $* (these are Debian's names)"
    can_root || die "$what is missing; as root, run: apt-get install $*"
    say "$what is missing, installing: $*"
    refresh
    log=$(mktemp)
    if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends --no-remove \
        -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" >"$log" 2>&1 </dev/null; then
        cat "$log" >&2
        die "apt-get could not install $*"
    fi
    rm -f "$log"
}

# at_least VERSION MINIMUM: both as MAJOR.MINOR...
at_least() {
    awk -v a="$1" -v b="$2" 'BEGIN { split(a, x, "[.]"); split(b, y, "[.]");
        exit !(x[1] + 0 > y[1] + 0 || (x[1] + 0 == y[1] + 0 && x[2] + 0 >= y[2] + 0)) }'
}
rust_version() { (cd "$ROOT" && rustc -V 2>/dev/null) | cut -d' ' -f2; }
candidate() { LC_ALL=C apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: \([0-9][0-9.]*\).*/\1/p'; }

need_rust() {
    have cargo && have rustc && at_least "$(rust_version)" "$MIN_RUST" && return
    if have rustup; then
        die "Rust $MIN_RUST or newer is needed, found $(rust_version); run: rustup update stable"
    fi
    if have apt-get && ! have rustc; then
        refresh
        for suffix in '' -web; do # Debian's stable keeps a newer compiler for browsers under -web
            v=$(candidate "rustc$suffix")
            if [ -n "$v" ] && at_least "$v" "$MIN_RUST"; then
                apt_install "Rust" "rustc$suffix" "cargo$suffix"
                return
            fi
        done
    fi
    die "Rust $MIN_RUST or newer is needed${v:+ (the distribution offers $v)}; get it from https://rustup.rs"
}

need_cc() {
    have cc && return
    is_mac && die "a C linker is missing; run: xcode-select --install"
    apt_install "a C linker" gcc libc6-dev
}

# Is there a driver file that can answer here? Mesa's package brings files for cards that are not there.
vulkan_answers() {
    [ -n "${VK_DRIVER_FILES:-${VK_ICD_FILENAMES:-}}" ] && return
    for dir in /usr/share/vulkan/icd.d /etc/vulkan/icd.d /usr/local/share/vulkan/icd.d; do
        exists "$dir"/lvp_icd*.json && return # the software driver answers everywhere
        exists "$dir"/nvidia*.json && exists /dev/nvidiactl && return
        exists /dev/dri/renderD* && for f in "$dir"/*.json; do
            case $f in *nvidia* | *'*'*) ;; *) return 0 ;; esac
        done
    done
    return 1
}

need_vulkan() {
    is_mac && return # Metal
    exists /usr/lib/libvulkan.so.1 /usr/lib64/libvulkan.so.1 /usr/lib/*/libvulkan.so.1 \
        /lib/*/libvulkan.so.1 /usr/local/lib/libvulkan.so.1 && vulkan_answers && return
    have apt-get || die "the Vulkan loader or a driver is missing; install:" \
        "vulkan-loader mesa-vulkan-drivers (Fedora), vulkan-icd-loader vulkan-swrast (Arch)"
    exists /dev/nvidiactl && say "an NVIDIA card, but no Vulkan driver of NVIDIA's: it comes with their driver package"
    apt_install "a Vulkan driver" libvulkan1 mesa-vulkan-drivers
}

need_python() {
    have python3 && python3 -m pip --version >/dev/null 2>&1 && return
    is_mac && die "python3 with pip is missing; run: xcode-select --install"
    apt_install "python3 with pip" python3 python3-pip
}

need_browser() {
    have node || apt_install "Node" nodejs
    have npm || apt_install "npm" npm
    at_least "$(node --version | tr -d v)" 18.2 || die "Node 18.2 or newer is needed, found $(node --version)"
    installed=$ROOT/web/node_modules/.package-lock.json
    if [ ! -e "$installed" ] || [ -n "$(find "$ROOT/web/package-lock.json" -newer "$installed")" ]; then
        say "installing web/package-lock.json's packages"
        (cd "$ROOT/web" && npm ci --no-fund --no-audit --loglevel=error) >&2
        touch "$installed"
    fi
    node "$ROOT/web/chromium.mjs" >/dev/null && return
    # Ubuntu's is a stub for a snap, which a script cannot drive.
    if have apt-get && refresh && [ -n "$(candidate chromium)" ]; then apt_install "Chromium" chromium
    else die "Chromium or Chrome is missing; install it, or name it in CHROMIUM=/path"
    fi
}

# Debian's own compiler for wasm, where rustup cannot give the target; tools/wasm-env.sh builds its std.
need_debian_wasm() {
    have apt-get || die "no wasm target; run: rustup target add wasm32-unknown-unknown"
    apt_install "a compiler for wasm" rustc-web cargo-web libstd-rust-web-dev rust-web-src
    apt_install "its linker" "lld-$(/usr/bin/rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')"
}

need_fuzz() {
    have c++ || apt_install "a C++ compiler" g++ # libFuzzer is C++
}

for part; do
    case $part in
    rust | cc | vulkan | python | browser | fuzz) "need_$part" ;;
    debian-wasm) need_debian_wasm ;;
    *) die "unknown part: $part" ;;
    esac
done
