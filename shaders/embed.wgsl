// Rows of the embedding, decoded from whatever format it is stored in: x[t] = scale * E[ids[t]].
// One invocation per group of 32 columns of one token. A table split over several buffers takes one dispatch per
// part; each writes only the tokens whose row it holds.
override WG: u32 = 64u;
#import state
struct Params {
    rows: u32,
    row0: u32,
    groups: u32,
    cols: u32,
    scale: f32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> state: array<u32>;
@group(0) @binding(2) var<storage, read> ids: array<u32>;
@group(0) @binding(3) var<storage, read> w_quants: array<vec4<u32>>;
#if !PLAIN
@group(0) @binding(4) var<storage, read> w_aux: array<u32>;
#endif
@group(0) @binding(5) var<storage, read_write> x: array<vec4<f32>>;
#import {{FORMAT}}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    let g = wg.x * WG + tid;
    let t = wg.y;
    let id = ids[t];
    if (g >= p.groups || t >= state[S_TOKENS] || id < p.row0 || id - p.row0 >= p.rows) {
        return;
    }
    let w = w_group(id - p.row0, g, p.groups);
    let n = p.cols / 4u;
    for (var j = 0u; j < 8u; j++) {
        let at = g * 8u + j;
        if (at < n) {
            x[t * n + at] = w_values(w, j) * p.scale;
        }
    }
}
