// Y = X W^T for a chunk of tokens, register form: an invocation computes ROWS x COLS outputs (rows of W, tokens) and
// reads W and X straight from memory, without a barrier. Software adapters, which pay for barriers and not for
// registers, take this one; gemm_tile.wgsl serves GPUs.
//
// SUBGROUP (subgroups of 8 or more): all invocations of a subgroup need the same X, so each loads one quad of a group
// and hands it round by broadcast: an eighth of the loads, which on a CPU are one per lane and dear.
// Epilogue as gemv.wgsl: EPI = store | add | pair, BIAS.
#define ROWS 4
#define COLS 4
#if SUBGROUP
#define UNROLL 8
#else
#define UNROLL 1
#endif
override WG: u32 = 32u;
#import state
#import act
struct Params {
    rows: u32,
    row0: u32,
    groups: u32,
    cols: u32,
    y_stride: u32,
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
@group(0) @binding(5) var<storage, read> state: array<u32>;
#if BIAS
@group(0) @binding(6) var<storage, read> bias: array<f32>;
#endif
#import {{FORMAT}}
#import gemm_store

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(local_invocation_index) tid: u32,
#if SUBGROUP
    @builtin(subgroup_invocation_id) lane: u32,
#endif
) {
    let tokens = state[S_TOKENS];
    let row = (wg.x * WG + tid) * {{ROWS}}u;
    let tok = wg.y * {{COLS}}u;
#if SUBGROUP
    // Rows past the end stay: their loads are wanted by others.
    if (tok >= tokens) {
        return;
    }
#else
    if (row >= p.rows || tok >= tokens) {
        return;
    }
#endif
    let n4 = p.cols / 4u;
#for r in 0..ROWS
    let r{{r}} = min(row + {{r}}u, p.rows - 1u);
#for c in 0..COLS
    var a{{r}}_{{c}} = 0.0;
#endfor
#endfor
#for c in 0..COLS
    let b{{c}} = min(tok + {{c}}u, tokens - 1u) * n4;
#endfor
    for (var g = 0u; g < p.groups; g++) {
#for r in 0..ROWS
        let w{{r}} = w_group(r{{r}}, g, p.groups);
#endfor
#if SUBGROUP
#if TAIL
        let own = min(g * 8u + (lane & 7u), n4 - 1u);
#else
        let own = g * 8u + (lane & 7u);
#endif
#for c in 0..COLS
        let own{{c}} = x[b{{c}} + own];
#endfor
#endif
        // Unrolled only where the broadcasts want constants: without them each load is a loop over the lanes for a
        // CPU, and eight times that takes a driver seconds to compile.
#if SUBGROUP
        {
            let j0 = 0u;
#else
        for (var j0 = 0u; j0 < 8u; j0++) {
#endif
#for i in 0..UNROLL
            {
                let j = j0 + {{i}}u;
#if SUBGROUP
#for c in 0..COLS
                let x{{c}} = subgroupBroadcast(own{{c}}, {{i}}u);
#endfor
#else
#if TAIL
                // The last group may reach past the row: weights there are zero, x must not be read.
                let k = min(g * 8u + j, n4 - 1u);
#else
                let k = g * 8u + j;
#endif
#for c in 0..COLS
                let x{{c}} = x[b{{c}} + k];
#endfor
#endif
#for r in 0..ROWS
                let v{{r}} = w_values(w{{r}}, j);
#endfor
#for c in 0..COLS
#for r in 0..ROWS
                a{{r}}_{{c}} += dot(v{{r}}, x{{c}});
#endfor
#endfor
            }
#endfor
        }
    }
#for c in 0..COLS
    if (tok + {{c}}u < tokens) {
#if EPI == pair
        put_pair(tok + {{c}}u, row, a0_{{c}}, a1_{{c}});
        put_pair(tok + {{c}}u, row + 2u, a2_{{c}}, a3_{{c}});
#else
#for r in 0..ROWS
        put(tok + {{c}}u, row + {{r}}u, a{{r}}_{{c}});
#endfor
#endif
    }
#endfor
}
