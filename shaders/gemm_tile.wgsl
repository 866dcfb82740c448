// Y = X W^T for a chunk of tokens, tiled form for GPUs: a workgroup of 16 x 16 invocations computes 64 rows of W by 64
// tokens. Per step of 16 columns it decodes 64 x 16 weights once into workgroup memory (each invocation one quad),
// stages as many activations, and every invocation updates a 4 x 4 block from registers: 8 loads from workgroup
// memory per 16 multiply-adds. 8.5 KiB of workgroup memory. Rows are padded by 4 words against bank conflicts.
// Epilogue as gemv.wgsl: EPI = store | add | pair, BIAS.
override WG: u32 = 256u;
const BM: u32 = 64u;
const BN: u32 = 64u;
const LD: u32 = 68u;
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

// [k][row] and [k][token], 16 x LD each.
var<workgroup> ws: array<f32, 16u * LD>;
var<workgroup> xs: array<f32, 16u * LD>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    let tokens = state[S_TOKENS];
    let row_base = wg.x * BM;
    let tok_base = wg.y * BN;
    let n4 = p.cols / 4u;
    // What this invocation stages: one row (or token) of the tile and one quad of its 16 columns.
    let sr = tid / 4u;
    let sq = tid % 4u;
    let srow = min(row_base + sr, p.rows - 1u);
    let stok = min(tok_base + sr, tokens - 1u);
    // What it computes.
    let tr = (tid % 16u) * 4u;
    let tc = (tid / 16u) * 4u;
#for r in 0..4
    var a{{r}} = vec4<f32>(0.0);
#endfor
    for (var s = 0u; s < p.groups * 2u; s++) {
        let quad = (s % 2u) * 4u + sq;
        let wv = w_values(w_group(srow, s / 2u, p.groups), quad);
        let k = (s / 2u) * 8u + quad;
        var xv = vec4<f32>(0.0);
        if (k < n4) {
            xv = x[stok * n4 + k];
        }
        workgroupBarrier();
#for i in 0..4
        ws[(sq * 4u + {{i}}u) * LD + sr] = wv[{{i}}];
        xs[(sq * 4u + {{i}}u) * LD + sr] = xv[{{i}}];
#endfor
        workgroupBarrier();
        for (var kk = 0u; kk < 16u; kk++) {
            let wb = kk * LD + tr;
            let xb = kk * LD + tc;
            let xq = vec4<f32>(xs[xb], xs[xb + 1u], xs[xb + 2u], xs[xb + 3u]);
#for r in 0..4
            a{{r}} += ws[wb + {{r}}u] * xq;
#endfor
        }
    }
#for c in 0..4
    if (tok_base + tc + {{c}}u < tokens) {
#if EPI == pair
        put_pair(tok_base + tc + {{c}}u, row_base + tr, a0[{{c}}], a1[{{c}}]);
        put_pair(tok_base + tc + {{c}}u, row_base + tr + 2u, a2[{{c}}], a3[{{c}}]);
#else
#for r in 0..4
        put(tok_base + tc + {{c}}u, row_base + tr + {{r}}u, a{{r}}[{{c}}]);
#endfor
#endif
    }
#endfor
}
