// y = W x for one token: the kernel that decoding lives in.
//
// A team of LANES invocations serves ROWS rows at a time; lane l takes the groups of 32 weights l, l + LANES, ...
// x is staged in workgroup memory, 2048 values at a time, and read once for all ROWS rows. LANES = 1 is a row (or
// ROWS rows) per invocation, which software adapters prefer; LANES = 32 makes neighbouring lanes read neighbouring
// 16-byte words, which GPUs prefer. SUBGROUP replaces the tree at the end by subgroupAdd, on adapters whose subgroup
// size is fixed (LANES is then that size).
//
// SUBGROUP with ONE_LANE (subgroups of 8 or more) drops the stage and its barriers: all invocations of a subgroup need
// the same x, so each loads one quad of a group and hands it round by broadcast. On a CPU, where a load is one per
// lane, this is an eighth of them.
//
// Prologue: NORM multiplies x by the norm's weight while staging and sums its squares on the way; the factor
// 1/rms, one number, is applied to the finished sums. LAST takes the last token's row of x.
// Epilogue: EPI = store | add (into y, the residual) | pair (rows 2i and 2i+1 are gate and up: y[i] = act(g) * u);
// BIAS adds a bias; CAP squashes by cap * tanh(v / cap).
//
// Per weight: the format's bytes, its unpacking, and one multiply-add; per group one or two more for scale and offset
// (offsets are folded through the sum of x, which is shared by all ROWS rows).
#define ROWS 4
override WG: u32 = 128u;
override LANES: u32 = 32u;
const XT: u32 = 512u;
#import state
#import act
struct Params {
    rows: u32,
    row0: u32,
    groups: u32,
    cols: u32,
    eps: f32,
    scale: f32,
    cap: f32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> w_quants: array<vec4<u32>>;
#if !PLAIN
@group(0) @binding(2) var<storage, read> w_aux: array<u32>;
#endif
@group(0) @binding(3) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;
#if SUBGROUP
#if ONE_LANE
#define SHARED 1
#endif
#endif
#if NORM
@group(0) @binding(5) var<storage, read> norm_w: array<vec4<f32>>;
#if !SHARED
#import reduce
#endif
#endif
#if BIAS
@group(0) @binding(6) var<storage, read> bias: array<f32>;
#endif
#if LAST
@group(0) @binding(7) var<storage, read> state: array<u32>;
#endif
#import {{FORMAT}}

#if !SHARED
var<workgroup> xs: array<vec4<f32>, XT>;
#endif
#if !SUBGROUP
#if !ONE_LANE
var<workgroup> sums: array<f32, WG * {{ROWS}}u>;
#endif
#endif

fn finish(v: f32, row: u32) -> f32 {
    var r = v * p.scale;
#if BIAS
    r += bias[p.row0 + row];
#endif
#if CAP
    r = p.cap * tanh(clamp(r / p.cap, -15.0, 15.0));
#endif
    return r;
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(local_invocation_index) tid: u32,
#if SUBGROUP
    @builtin(subgroup_invocation_id) lane: u32,
#if !SHARED
    @builtin(subgroup_id) team: u32,
#endif
#endif
) {
#if SHARED
    let team = tid;
#endif
#if !SUBGROUP
    let lane = tid % LANES;
    let team = tid / LANES;
#endif
    let row = (wg.x * (WG / LANES) + team) * {{ROWS}}u;
    let last = p.rows - 1u;
    let n4 = p.cols / 4u;
#if LAST
    let base = (state[S_TOKENS] - 1u) * n4;
#else
    let base = 0u;
#endif
    var ss = 0.0;
#for r in 0..ROWS
    var a{{r}} = 0.0;
    let r{{r}} = min(row + {{r}}u, last);
#endfor
#if SHARED
    for (var g = 0u; g < p.groups; g++) {
        {
            let k = g * 8u + (lane & 7u);
            var own = vec4<f32>(0.0);
            if (k < n4) {
                own = x[base + k];
#if NORM
                if (lane < 8u) {
                    ss += dot(own, own);
                }
                own *= norm_w[k];
#endif
            }
#for j in 0..8
            let x{{j}} = subgroupBroadcast(own, {{j}}u);
#endfor
#else
    for (var t0 = 0u; t0 < p.groups; t0 += XT / 8u) {
        let t1 = min(p.groups, t0 + XT / 8u);
        if (t0 > 0u) {
            workgroupBarrier();
        }
        for (var i = tid; i < (t1 - t0) * 8u; i += WG) {
            let k = t0 * 8u + i;
            var v = vec4<f32>(0.0);
            if (k < n4) {
                v = x[base + k];
#if NORM
                ss += dot(v, v);
                v *= norm_w[k];
#endif
            }
            xs[i] = v;
        }
        workgroupBarrier();
        for (var g = t0 + lane; g < t1; g += LANES) {
            let xb = (g - t0) * 8u;
#for j in 0..8
            let x{{j}} = xs[xb + {{j}}u];
#endfor
#endif
#if !PLAIN
            let sl = (x0 + x1) + (x2 + x3);
            let sh = (x4 + x5) + (x6 + x7);
            let sum_lo = (sl.x + sl.y) + (sl.z + sl.w);
            let sum_hi = (sh.x + sh.y) + (sh.z + sh.w);
#endif
#for r in 0..ROWS
            {
                let w = w_group(r{{r}}, g, p.groups);
                let lo = (dot(w_codes(w, 0u), x0) + dot(w_codes(w, 1u), x1)) + (dot(w_codes(w, 2u), x2) + dot(w_codes(w, 3u), x3));
                let hi = (dot(w_codes(w, 4u), x4) + dot(w_codes(w, 5u), x5)) + (dot(w_codes(w, 6u), x6) + dot(w_codes(w, 7u), x7));
#if PLAIN
                a{{r}} += lo + hi;
#else
                let s = w_scale(w, 0u);
#if HALVES
                let t = w_scale(w, 1u);
                a{{r}} += (s.x * (lo - W_OFF * sum_lo) - s.y * sum_lo) + (t.x * (hi - W_OFF * sum_hi) - t.y * sum_hi);
#else
                a{{r}} += s.x * ((lo + hi) - W_OFF * (sum_lo + sum_hi)) - s.y * (sum_lo + sum_hi);
#endif
#endif
            }
#endfor
        }
    }
#if NORM
#if SHARED
    let rms = inverseSqrt(subgroupAdd(ss) / f32(p.cols) + p.eps);
#else
    let rms = inverseSqrt(wg_sum(ss, tid) / f32(p.cols) + p.eps);
#endif
#endif
#if SHARED
    // Every invocation has its rows to itself.
#else
#if SUBGROUP
#for r in 0..ROWS
    a{{r}} = subgroupAdd(a{{r}});
#endfor
#else
#if !ONE_LANE
#for r in 0..ROWS
    sums[{{r}}u * WG + tid] = a{{r}};
#endfor
    workgroupBarrier();
    for (var n = LANES / 2u; n > 0u; n >>= 1u) {
        if (lane < n) {
#for r in 0..ROWS
            sums[{{r}}u * WG + tid] += sums[{{r}}u * WG + tid + n];
#endfor
        }
        workgroupBarrier();
    }
#for r in 0..ROWS
    a{{r}} = sums[{{r}}u * WG + tid];
#endfor
#endif
#endif
    if (lane != 0u) {
        return;
    }
#endif
#if NORM
#for r in 0..ROWS
    a{{r}} *= rms;
#endfor
#endif
#for r in 0..ROWS
#if EPI == pair
    // Pairs are written by the even row below.
    let v{{r}} = finish(a{{r}}, r{{r}});
#else
    if (row + {{r}}u <= last) {
#if EPI == add
        y[p.row0 + row + {{r}}u] += finish(a{{r}}, r{{r}});
#else
        y[p.row0 + row + {{r}}u] = finish(a{{r}}, r{{r}});
#endif
    }
#endif
#endfor
#if EPI == pair
    let half = (p.row0 + row) / 2u;
    if (row + 1u <= last) {
        y[half] = act(v0) * v1;
    }
#if ROWS == 4
    if (row + 3u <= last) {
        y[half + 1u] = act(v2) * v3;
    }
#endif
#if ROWS == 8
    if (row + 3u <= last) {
        y[half + 1u] = act(v2) * v3;
    }
    if (row + 5u <= last) {
        y[half + 2u] = act(v4) * v5;
    }
    if (row + 7u <= last) {
        y[half + 3u] = act(v6) * v7;
    }
#endif
#endif
}
