#!/usr/bin/env python3
"""Speed of llama.cpp's Vulkan MUL_MAT per weight type, measured the way its `test-backend-ops perf` does.

    benches/peer/ops.py [--n 1,64] [--types q4_0,q6_K] [--json] [--help]

No build is needed: the shared libraries of the npm package below are driven through ctypes. They are put into
$GOLAY_PEER_DIR (default ~/.cache/golay-peer), outside the checkout. Needs x86-64 Linux, npm, libvulkan.so.1 and a
Vulkan driver; of Python only the standard library.

As in `test-backend-ops perf`, the op is put into one graph many times over and the wall time of computing the graph
is divided by the repetitions; here the repetitions are chosen from a trial run so that one sample lasts --seconds.
Samples go in rounds, one type after the other, so that a slow spell of the machine touches all types alike.
The weights are quantized random numbers, and the result is compared with the product of the numbers before
quantization, so that a kernel which computes something else is not reported as fast.
"""
import argparse
import array
import ctypes
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time
from ctypes import c_bool, c_char_p, c_int, c_int64, c_size_t, c_void_p

# Pinned: the signatures below were checked against the headers of this release (ggml 0.25).
PACKAGE, VERSION = "@node-llama-cpp/linux-x64-vulkan", "3.22.1"
TYPES = "q4_0 q4_1 q5_0 q5_1 q8_0 q2_K q3_K q4_K q5_K q6_K iq4_nl iq4_xs f16 f32".split()
TILE = 64  # distinct weight rows; the matrix repeats them, since Python is slow at making random numbers
GRAPH_NODES = 8192
# Largest relative error (root mean square) that is still quantization and not a wrong result. Uniform random
# weights quantize worse than a model's, and with several columns the Vulkan backend sums in f16 where it can.
TOLERANCE = {"f32": 0.05, "f16": 0.05, "q8_0": 0.05, "q2_K": 0.5, "q3_K": 0.3}
TOLERANCE_OTHER = 0.2


class InitParams(ctypes.Structure):
    """struct ggml_init_params"""

    _fields_ = [("mem_size", c_size_t), ("mem_buffer", c_void_p), ("no_alloc", c_bool)]


LOG_CALLBACK = ctypes.CFUNCTYPE(None, c_int, c_char_p, c_void_p)

BASE = {
    "ggml_version": (c_char_p, []),
    "ggml_commit": (c_char_p, []),
    "ggml_log_set": (None, [LOG_CALLBACK, c_void_p]),
    "ggml_type_name": (c_char_p, [c_int]),
    "ggml_row_size": (c_size_t, [c_int, c_int64]),
    "ggml_tensor_overhead": (c_size_t, []),
    "ggml_graph_overhead_custom": (c_size_t, [c_size_t, c_bool]),
    "ggml_init": (c_void_p, [InitParams]),
    "ggml_free": (None, [c_void_p]),
    "ggml_new_tensor_2d": (c_void_p, [c_void_p, c_int, c_int64, c_int64]),
    "ggml_mul_mat": (c_void_p, [c_void_p, c_void_p, c_void_p]),
    "ggml_new_graph_custom": (c_void_p, [c_void_p, c_size_t, c_bool]),
    "ggml_build_forward_expand": (None, [c_void_p, c_void_p]),
    "ggml_graph_add_node": (None, [c_void_p, c_void_p]),
    "ggml_quantize_chunk": (c_size_t, [c_int, c_void_p, c_void_p, c_int64, c_int64, c_int64, c_void_p]),
    "ggml_backend_dev_description": (c_char_p, [c_void_p]),
    "ggml_backend_dev_init": (c_void_p, [c_void_p, c_char_p]),
    "ggml_backend_dev_supports_op": (c_bool, [c_void_p, c_void_p]),
    "ggml_backend_reg_dev_count": (c_size_t, [c_void_p]),
    "ggml_backend_reg_dev_get": (c_void_p, [c_void_p, c_size_t]),
    "ggml_backend_alloc_ctx_tensors": (c_void_p, [c_void_p, c_void_p]),
    "ggml_backend_buffer_free": (None, [c_void_p]),
    "ggml_backend_tensor_set": (None, [c_void_p, c_void_p, c_size_t, c_size_t]),
    "ggml_backend_tensor_get": (None, [c_void_p, c_void_p, c_size_t, c_size_t]),
    "ggml_backend_graph_compute": (c_int, [c_void_p, c_void_p]),
    "ggml_backend_synchronize": (None, [c_void_p]),
}


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def fetch():
    """The folder of the package's shared libraries, installed if it is not there yet."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    peer = pathlib.Path(os.environ.get("GOLAY_PEER_DIR") or cache / "golay-peer").absolute()
    package = peer / "node_modules" / PACKAGE
    manifest = package / "package.json"
    if not manifest.exists() or json.loads(manifest.read_text())["version"] != VERSION:
        peer.mkdir(parents=True, exist_ok=True)
        say(f"installing {PACKAGE}@{VERSION} into {peer}")
        install = ["npm", "i", "--prefix", peer, "--ignore-scripts", "--silent", "--no-audit", "--no-fund"]
        subprocess.run([*install, f"{PACKAGE}@{VERSION}"], check=True, stdout=sys.stderr)
    return package / "bins" / "linux-x64-vulkan"


class Peer:
    """llama.cpp's Vulkan backend on one device."""

    def __init__(self, folder):
        self.lib = ctypes.CDLL(str(folder / "libggml-base.so"), mode=ctypes.RTLD_GLOBAL)
        for name, (result, arguments) in BASE.items():
            function = getattr(self.lib, name)
            function.restype, function.argtypes = result, arguments
        self.log = []
        # Kept in a field: ggml holds on to the callback.
        self.on_log = LOG_CALLBACK(lambda level, text, _: self.log.append((text or b"").decode(errors="replace")))
        self.lib.ggml_log_set(self.on_log, None)
        registry = ctypes.CDLL(str(next(folder.glob("libggml.*so*"))), mode=ctypes.RTLD_GLOBAL)
        registry.ggml_backend_load.restype = c_void_p
        registry.ggml_backend_load.argtypes = [c_char_p]
        loaded = registry.ggml_backend_load(os.fsencode(folder / "libggml-vulkan.so"))
        if not loaded or not self.lib.ggml_backend_reg_dev_count(loaded):
            sys.exit("llama.cpp found no Vulkan device:\n" + "".join(self.log))
        self.device = self.lib.ggml_backend_reg_dev_get(loaded, 0)
        self.backend = self.lib.ggml_backend_dev_init(self.device, None)
        if not self.backend:
            sys.exit("llama.cpp could not open the Vulkan device:\n" + "".join(self.log))
        self.description = self.lib.ggml_backend_dev_description(self.device).decode()
        release = folder / "_nlcBuildMetadata.json"
        self.release = json.loads(release.read_text())["buildOptions"]["llamaCpp"]["release"] if release.exists() else "?"
        self.version = f"{self.lib.ggml_version().decode()} ({self.lib.ggml_commit().decode()})"
        # "ggml_vulkan: 0 = llvmpipe ... | fp16: 1 | ... | int dot: 1 | matrix cores: none": which kernels it will pick.
        self.features = next((line.strip() for line in self.log if " | fp16: " in line), "")

    def type_id(self, name):
        ids = {self.lib.ggml_type_name(i): i for i in range(40)}
        return ids.get(name.encode())

    def context(self, tensors):
        size = self.lib.ggml_tensor_overhead() * tensors
        return self.lib.ggml_init(InitParams(size, None, True))

    def compute(self, graph):
        start = time.perf_counter()
        status = self.lib.ggml_backend_graph_compute(self.backend, graph)
        self.lib.ggml_backend_synchronize(self.backend)
        elapsed = time.perf_counter() - start
        if status != 0:
            sys.exit(f"ggml_backend_graph_compute failed with status {status}:\n" + "".join(self.log[-5:]))
        return elapsed


class Case:
    """MUL_MAT of one weight type with n columns, its tensors on the device."""

    def __init__(self, peer, kind, shape, copies, source):
        self.peer, self.kind, lib = peer, kind, peer.lib
        type_id = peer.type_id(kind)
        self.m, self.n, self.k = shape
        # An adapter binds no more than its maxStorageBufferRange (128 MiB on lavapipe); the work per weight is the
        # same in a lower matrix.
        while True:
            context = peer.context(3 * copies + 8)
            weights = [lib.ggml_new_tensor_2d(context, type_id, self.k, self.m) for _ in range(copies)]
            x = lib.ggml_new_tensor_2d(context, peer.type_id("f32"), self.k, self.n)
            self.out = [lib.ggml_mul_mat(context, w, x) for w in weights]
            if lib.ggml_backend_dev_supports_op(peer.device, self.out[0]):
                break
            lib.ggml_free(context)
            self.m //= 2
            if self.m < TILE:
                raise ValueError("not supported by the backend")
        self.buffer = lib.ggml_backend_alloc_ctx_tensors(context, peer.backend)
        if not self.buffer:
            raise ValueError("could not be allocated: " + "".join(peer.log[-2:]).strip())
        self.row = lib.ggml_row_size(type_id, self.k)
        self.bytes = self.row * self.m
        tile = ctypes.create_string_buffer(self.row * TILE)
        if kind == "f32":
            ctypes.memmove(tile, source.pointer, self.row * TILE)
        elif lib.ggml_quantize_chunk(type_id, source.pointer, tile, 0, TILE, self.k, None) != self.row * TILE:
            raise ValueError("was quantized to an unexpected size")
        matrix = (tile.raw * -(-self.m // TILE))[: self.bytes]
        for w in weights:
            lib.ggml_backend_tensor_set(w, matrix, 0, self.bytes)
        lib.ggml_backend_tensor_set(x, source.x.buffer_info()[0], 0, 4 * self.n * self.k)
        # The first computation compiles the shaders, the second is the trial.
        once = self.graph(copies)
        self.spoil()
        peer.compute(once)
        self.error = max(self.check(out, source) for out in self.out)
        self.trial = peer.compute(once) / copies

    def graph(self, repetitions):
        lib = self.peer.lib
        size = lib.ggml_graph_overhead_custom(GRAPH_NODES, False) + 1024
        graph = lib.ggml_new_graph_custom(lib.ggml_init(InitParams(size, None, True)), GRAPH_NODES, False)
        # Marks each product as to be computed; the backend passes over a node without that mark.
        for out in self.out:
            lib.ggml_build_forward_expand(graph, out)
        for i in range(len(self.out), repetitions):
            lib.ggml_graph_add_node(graph, self.out[i % len(self.out)])
        return graph

    def spoil(self):
        """Fills the results with NaN, so that one which is not computed is found."""
        nans = array.array("f", [math.nan]) * (self.m * self.n)
        for out in self.out:
            self.peer.lib.ggml_backend_tensor_set(out, nans.buffer_info()[0], 0, 4 * len(nans))

    def check(self, out, source):
        """Relative error of the first column against the product of the unquantized numbers."""
        result = array.array("f", bytes(4 * self.m * self.n))
        self.peer.lib.ggml_backend_tensor_get(out, result.buffer_info()[0], 0, 4 * len(result))
        if not all(map(math.isfinite, result)):
            raise ValueError("gave a result that is not finite")
        pairs = [(result[r], source.expected[r % TILE]) for r in range(self.m)]
        error = math.sqrt(sum((a - b) ** 2 for a, b in pairs) / sum(b * b for _, b in pairs))
        if error > TOLERANCE.get(self.kind, TOLERANCE_OTHER):
            raise ValueError(f"gave a wrong result, relative error {error:.3f}")
        return error

    def prepare(self, seconds):
        self.repetitions = max(len(self.out), min(GRAPH_NODES, math.ceil(seconds / self.trial)))
        self.timed = self.graph(self.repetitions)
        self.samples = []

    def sample(self):
        self.samples.append(self.peer.compute(self.timed) / self.repetitions)

    def report(self):
        """The figures; the tensors are given back."""
        self.peer.lib.ggml_backend_buffer_free(self.buffer)
        spread = [f(self.samples) for f in (statistics.median, min, max)]
        median = spread[0]
        return {
            "type": self.kind, "m": self.m, "n": self.n, "k": self.k, "weight_bytes": self.bytes,
            "bits_per_weight": 8 * self.row / self.k, "repetitions": self.repetitions,
            "us": median * 1e6, "us_min": spread[1] * 1e6, "us_max": spread[2] * 1e6,
            "us_samples": [s * 1e6 for s in self.samples],
            "gb_s": self.bytes / median / 1e9, "gweights_s": self.m * self.k / median / 1e9,
            "gflop_s": 2 * self.m * self.k * self.n / median / 1e9, "relative_error": self.error,
        }


class Source:
    """Random numbers in [-1, 1): TILE rows of weights, the other operand, and their products for the check."""

    def __init__(self, k, n):
        draw = random.Random(1).random
        self.weights = array.array("f", (2 * draw() - 1 for _ in range(TILE * k)))
        self.pointer = self.weights.buffer_info()[0]
        self.x = array.array("f", (2 * draw() - 1 for _ in range(n * k)))
        column = self.x[:k]
        rows = (self.weights[r * k : (r + 1) * k] for r in range(TILE))
        self.expected = [sum(map(float.__mul__, row, column)) for row in rows]


def table(rows, n):
    columns = ["type", "m", "bits/weight", "µs per op, median (range)", "GB/s of weights", "G weights/s"]
    columns += ["GFLOP/s"] if n > 1 else []
    print("| " + " | ".join(columns) + " |")
    print("|---" + "|---:" * (len(columns) - 1) + "|")
    for r in rows:
        if "failed" in r:
            cells = [r["type"], r["failed"]] + [""] * (len(columns) - 2)
        else:
            cells = [r["type"], str(r["m"]), f"{r['bits_per_weight']:.2f}"]
            cells += [f"{r['us']:.0f} ({r['us_min']:.0f} to {r['us_max']:.0f})"]
            cells += [f"{r['gb_s']:.3g}", f"{r['gweights_s']:.3g}"] + ([f"{r['gflop_s']:.3g}"] if n > 1 else [])
        print("| " + " | ".join(cells) + " |")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--types", default=",".join(TYPES), help="comma-separated (%(default)s)")
    parser.add_argument("--n", default="1", help="columns of the other operand, comma-separated (%(default)s)")
    parser.add_argument("--m", type=int, default=4096, help="rows of the weights (%(default)s)")
    parser.add_argument("--k", type=int, default=14336, help="columns of the weights, a multiple of 256 (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="samples per type (%(default)s)")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one sample (%(default)s)")
    copies = "copies of the weights that a graph takes in turn; test-backend-ops has one, which a cache may hold (1)"
    parser.add_argument("--copies", type=int, default=1, help=copies)
    parser.add_argument("--device", help="Vulkan device index, else $GGML_VK_VISIBLE_DEVICES, else 0")
    parser.add_argument("--lib", type=pathlib.Path, help="folder of libggml-*.so, instead of the npm package")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    options.types = options.types.split(",")
    if unknown := set(options.types) - set(TYPES):
        parser.error(f"unknown types {sorted(unknown)}, known are {' '.join(TYPES)}")
    try:
        options.n = [int(n) for n in options.n.split(",")]
    except ValueError:
        parser.error("--n takes whole numbers, separated by commas")
    if options.k % 256 or min(options.k, options.rounds, *options.n) < 1 or options.m < TILE:
        parser.error(f"k must be a multiple of 256, m at least {TILE}, n and rounds at least 1")
    if not 1 <= options.copies <= GRAPH_NODES // 4:
        parser.error(f"copies must be 1 to {GRAPH_NODES // 4}")
    return options


def main():
    options = arguments()
    # Named explicitly, since llama.cpp passes over Vulkan devices of type CPU otherwise. Must be set before loading.
    os.environ["GGML_VK_VISIBLE_DEVICES"] = options.device or os.environ.get("GGML_VK_VISIBLE_DEVICES") or "0"
    peer = Peer(options.lib.absolute() if options.lib else fetch())
    head = f"llama.cpp {peer.release}, ggml {peer.version}, Vulkan on {peer.description}"
    say(head + "\n" + peer.features)
    source = Source(options.k, max(options.n))
    results, failed = [], {}
    for n in options.n:
        cases = []
        for kind in options.types:
            try:
                case = Case(peer, kind, (options.m, n, options.k), options.copies, source)
                case.prepare(options.seconds)
                cases.append(case)
                say(f"{kind} n={n}: {case.repetitions} repetitions, relative error {case.error:.4f}")
            except ValueError as why:
                failed[kind, n] = str(why)
                say(f"{kind} n={n} {why}")
        for i in range(options.rounds):
            for case in cases:
                case.sample()
            say(f"round {i + 1} of {options.rounds}, n={n}")
        done = {case.kind: case.report() for case in cases}
        results += [done.get(t) or {"type": t, "n": n, "failed": failed[t, n]} for t in options.types]
    if options.json:
        facts = {"release": peer.release, "ggml": peer.version, "package": f"{PACKAGE}@{VERSION}"}
        facts |= {"device": peer.description, "features": peer.features, "copies": options.copies}
        print(json.dumps(facts | {"rounds": options.rounds, "results": results}, indent=1))
    else:
        for n in options.n:
            print(f"\n{head}, k={options.k}, n={n}, {options.rounds} rounds\n")
            table([r for r in results if r["n"] == n], n)
    # The driver's threads outlive the interpreter's clean-up; nothing is left to write.
    sys.stdout.flush()
    os._exit(1 if failed else 0)


main()
