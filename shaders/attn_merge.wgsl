// Joins the partial results of split attention: per token (y) and head (x), weights exp(m_s - M), one division at the end.
// Input rows are HD4 + 1 vec4s: the sums, then (max, denominator). A split without keys has max -3e38 and weight 0.
// SINKS adds exp(sink - M) to the denominator.
override WG: u32 = 32u;
struct Params {
    splits: u32,
    hd4: u32,
    heads: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> part: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<f32>>;
#if SINKS
@group(0) @binding(3) var<storage, read> sinks: array<f32>;
#endif

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    let head = wg.x;
    let row = wg.y * p.heads + head;
    let base = row * p.splits * (p.hd4 + 1u);
    var m = -3.0e38;
    for (var s = 0u; s < p.splits; s++) {
        m = max(m, part[base + s * (p.hd4 + 1u) + p.hd4].x);
    }
    var l = 0.0;
#if SINKS
    m = max(m, sinks[head]);
    l = exp(sinks[head] - m);
#endif
    for (var s = 0u; s < p.splits; s++) {
        let ml = part[base + s * (p.hd4 + 1u) + p.hd4];
        l += ml.y * exp(ml.x - m);
    }
    for (var d = tid; d < p.hd4; d += WG) {
        var o = vec4<f32>(0.0);
        for (var s = 0u; s < p.splits; s++) {
            let at = base + s * (p.hd4 + 1u);
            o += part[at + d] * exp(part[at + p.hd4].x - m);
        }
        y[row * p.hd4 + d] = o / l;
    }
}
