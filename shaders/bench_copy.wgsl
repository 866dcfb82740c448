// The copy ceiling: a vec4 word per invocation. 16 bytes read, 16 written.
override WG: u32 = 256u;
struct Params {
    words: u32,
    each: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> src: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> dst: array<vec4<u32>>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    let begin = wg.x * WG * p.each + tid;
    for (var i = 0u; i < p.each; i++) {
        let at = begin + i * WG;
        if (at < p.words) {
            dst[at] = src[at];
        }
    }
}
