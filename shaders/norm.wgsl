// Root-mean-square norm, one workgroup per token: y = x / sqrt(mean(x^2) + eps) * w, or with ADD: y += that.
// The `1 + w` models have the 1 added when the weights are loaded. Statistics in f32.
// Bytes: 8 per element (12 with ADD). Decode steps fold the plain form into gemv.wgsl; this one serves prefill and
// the norms that follow a projection.
override WG: u32 = 64u;
#import state
#import reduce
struct Params {
    cols: u32,
    eps: f32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> norm_w: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4<f32>>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    let n = p.cols / 4u;
    let base = wg.y * n;
    var ss = 0.0;
    for (var i = tid; i < n; i += WG) {
        let v = x[base + i];
        ss += dot(v, v);
    }
    let r = inverseSqrt(wg_sum(ss, tid) / f32(p.cols) + p.eps);
    for (var i = tid; i < n; i += WG) {
#if ADD
        y[base + i] += x[base + i] * r * norm_w[i];
#else
        y[base + i] = x[base + i] * r * norm_w[i];
#endif
    }
}
