// The read ceiling: every vec4 word of a buffer is read once and folded into a sum that is stored, so that no compiler
// drops the loads. Invocations read side by side (APART = 0, what GPUs want) or each a run of its own (APART, what CPUs
// want). 16 bytes and 4 additions a word.
override WG: u32 = 256u;
struct Params {
    words: u32,
    each: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> src: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> sums: array<u32>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    var a = vec4<u32>(0u);
    var b = vec4<u32>(0u);
#if APART
    let begin = (wg.x * WG + tid) * p.each;
    let step = 1u;
#else
    let begin = wg.x * WG * p.each + tid;
    let step = WG;
#endif
    for (var i = 0u; i < p.each; i += 2u) {
        let at = min(begin + i * step, p.words - 1u);
        a += src[at];
        b += src[min(at + step, p.words - 1u)];
    }
    let s = a + b;
    sums[wg.x * WG + tid] = (s.x + s.y) + (s.z + s.w);
}
