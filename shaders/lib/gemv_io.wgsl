// What gemv.wgsl and gemv_int.wgsl bind, and what they do to a finished sum.
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

