// x rounded to 8 bits with a scale per group of 32, and back, in place: what gemv_int.wgsl does on the way in, for a chunk
// of tokens. Scores under `--activations int8` are made with it, so that perplexity is that of the decode steps; it makes
// nothing faster. An invocation has a group.
override WG: u32 = 32u;
#import state
#import int8
struct Params {
    groups: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> state: array<u32>;
@group(0) @binding(2) var<storage, read_write> x: array<vec4<f32>>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    let g = wg.x * WG + tid;
    if (g >= p.groups || wg.y >= state[S_TOKENS]) {
        return;
    }
    let at = (wg.y * p.groups + g) * 8u;
    var top = 0.0;
    for (var i = 0u; i < 8u; i++) {
        top = max(top, largest(x[at + i]));
    }
    let inverse = select(0.0, 127.0 / top, top > 0.0);
    let scale = top / 127.0;
    for (var i = 0u; i < 8u; i++) {
        x[at + i] = vec4<f32>(int8_quad(x[at + i], inverse)) * scale;
    }
}
