// Y = X W^T for a chunk of tokens, register form: an invocation computes ROWS x COLS outputs (rows of W, tokens) and
// reads W and X straight from memory, without a barrier. Software adapters, which pay for barriers and not for
// registers, take this one; gemm_tile.wgsl serves GPUs.
// Epilogue as gemv.wgsl: EPI = store | add | pair, BIAS.
#define ROWS 4
#define COLS 4
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
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    let tokens = state[S_TOKENS];
    let row = (wg.x * WG + tid) * {{ROWS}}u;
    let tok = wg.y * {{COLS}}u;
    if (row >= p.rows || tok >= tokens) {
        return;
    }
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
#for j in 0..8
        {
#if TAIL
            // The last group may reach past the row: weights there are zero, x must not be read.
            let k = min(g * 8u + {{j}}u, n4 - 1u);
#else
            let k = g * 8u + {{j}}u;
#endif
#for r in 0..ROWS
            let v{{r}} = w_values(w{{r}}, {{j}}u);
#endfor
#for c in 0..COLS
            let x{{c}} = x[b{{c}} + k];
#for r in 0..ROWS
            a{{r}}_{{c}} += dot(v{{r}}, x{{c}});
#endfor
#endfor
        }
#endfor
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
