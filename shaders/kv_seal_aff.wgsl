// Seals pages: reads plain pages (FROM = f32 | f16) and writes them, in the same pool, as affine ones (lib/kv_aff.wgsl;
// src/kv/codec/affine.rs is the twin). A workgroup takes one side of one head of one page: x = 2 * head + side, y = job.
//
//   job (word offset of the plain page, word offset of the affine page, rows that count, -)
//
// First the ranges, an invocation per group: keys one per channel over the rows, values one per row and 32 channels; they
// are rounded to f16 before the codes are computed, so that the codes fit what the reader sees. Then the codes, an
// invocation per word. Rows that do not count have code 0 and influence nothing.
//
// Runs once per page, 32 tokens apart: what it costs does not show.
#define PAGE 32
override WG: u32 = 64u;
const HD4: u32 = {{HD4}}u;
const P: u32 = {{PAGE}}u;
struct Params {
    from_words: u32,
    from_v: u32,
    head_words: u32,
    v_words: u32,
    first: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> pool: array<u32>;
@group(0) @binding(2) var<storage, read> jobs: array<vec4<u32>>;
#import kv_codes
const HD: u32 = HD4 * 4u;

var<workgroup> ranges: array<vec2<f32>, P * PLANE_ROW>;

fn plain(at: u32, row: u32, c: u32) -> f32 {
#if FROM == f16
    let i = row * HD + c;
    return unpack2x16float(pool[at + i / 2u])[i & 1u];
#else
    return bitcast<f32>(pool[at + row * HD + c]);
#endif
}

// (lo, step) of a group as its word.
fn range_word(lo: f32, hi: f32, levels: u32) -> u32 {
    let cells = select(levels - 1u, levels, levels == 3u);
    return pack2x16float(clamp(vec2<f32>(lo, (hi - lo) / f32(cells)), vec2<f32>(-65504.0), vec2<f32>(65504.0)));
}

fn code(x: f32, range: vec2<f32>, levels: u32) -> u32 {
    if (range.y <= 0.0) {
        return 0u;
    }
    let at = (x - range.x) / range.y;
    // The nearest grid point, of two equally near the lower; of three levels the cell.
    let c = select(ceil(at - 0.5), floor(at), levels == 3u);
    return u32(clamp(c, 0.0, f32(levels - 1u)));
}

// Seals one side: `from` and `to` are its first words.
fn seal(plain_at: u32, to: u32, valid: u32, tid: u32, keys: bool, levels: u32, digits: u32, tile: u32) {
    let groups = select(P * PLANE_ROW, HD, keys);
    for (var g = tid; g < groups; g += WG) {
        var lo = 3.0e38;
        var hi = -3.0e38;
        if (keys) {
            for (var row = 0u; row < valid; row++) {
                let x = plain(plain_at, row, g);
                lo = min(lo, x);
                hi = max(hi, x);
            }
        } else if (g / PLANE_ROW < valid) {
            let first = g % PLANE_ROW * 32u;
            for (var c = first; c < min(first + 32u, HD); c++) {
                let x = plain(plain_at, g / PLANE_ROW, c);
                lo = min(lo, x);
                hi = max(hi, x);
            }
        }
        let word = select(0u, range_word(lo, hi, levels), lo <= hi);
        pool[to + g] = word;
        ranges[g] = unpack2x16float(word);
    }
    workgroupBarrier();
    let codes = to + (groups + 3u) / 4u * 4u;
    if (levels == 8u) {
        for (var w = tid; w < P * PLANE_ROW; w += WG) {
            let row = w / PLANE_ROW;
            var planes = vec3<u32>(0u);
            for (var b = 0u; b < 32u; b++) {
                let c = w % PLANE_ROW * 32u + b;
                if (c < HD && row < valid) {
                    let k = code(plain(plain_at, row, c), ranges[select(w, c, keys)], levels);
                    planes |= vec3<u32>(k >> 2u, (k >> 1u) & 1u, k & 1u) << vec3<u32>(b);
                }
            }
            pool[codes + w] = planes.x;
            pool[codes + P * PLANE_ROW + w] = planes.y;
            pool[codes + 2u * P * PLANE_ROW + w] = planes.z;
        }
        return;
    }
    let words = (tile * HD + digits - 1u) / digits;
    for (var w = tid; w < P / tile * words; w += WG) {
        var word = 0u;
        for (var n = digits; n > 0u; n--) {
            let i = w % words * digits + n - 1u;
            let row = w / words * tile + i / HD;
            let c = i % HD;
            var k = 0u;
            if (i < tile * HD && row < valid) {
                k = code(plain(plain_at, row, c), ranges[select(row * PLANE_ROW + c / 32u, c, keys)], levels);
            }
            word = word * levels + k;
        }
        pool[codes + w] = word;
    }
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    let job = jobs[p.first + wg.y];
    let kvh = wg.x / 2u;
    let plain_at = job.x + kvh * p.from_words;
    let to = job.y + kvh * p.head_words;
    if (wg.x % 2u == 0u) {
        seal(plain_at, to, job.z, tid, true, {{KLEVELS}}u, K_DIGITS, K_TILE);
    } else {
        seal(plain_at + p.from_v, to + p.v_words, job.z, tid, false, {{VLEVELS}}u, V_DIGITS, V_TILE);
    }
}
