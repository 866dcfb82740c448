// The arithmetic ceilings: eight independent chains, so that latency hides, nothing read in the loop, one word stored.
// MODE = f32 (vec4 multiply-adds) | f16 (the same in f16) | dot4 (dot4I8Packed, four multiply-adds each).
// Operations of an invocation: loops * 8 * 8 (a vec4 multiply-add, or a packed dot, counts 8).
#if MODE == f16
enable f16;
#endif
override WG: u32 = 64u;
struct Params {
    loops: u32,
    seed: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> sums: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    let id = wg.x * WG + tid;
#if MODE == dot4
    let w = p.seed ^ id;
#for i in 0..8
    var a{{i}} = i32(id + {{i}}u);
#endfor
    for (var n = 0u; n < p.loops; n++) {
#for i in 0..8
        a{{i}} += dot4I8Packed(w + n, u32(a{{i}}));
#endfor
    }
    sums[id] = f32((a0 + a1) + (a2 + a3) + (a4 + a5) + (a6 + a7));
#else
#if MODE == f16
    let m = vec4<f16>(f16(0.9990234375)) + f16(p.seed);
    let c = vec4<f16>(f16(0.001));
#for i in 0..8
    var a{{i}} = vec4<f16>(f16(id & 63u), 1.0h, 2.0h, {{i}}.0h);
#endfor
#else
    let m = vec4<f32>(0.999) + f32(p.seed);
    let c = vec4<f32>(0.001);
#for i in 0..8
    var a{{i}} = vec4<f32>(f32(id & 63u), 1.0, 2.0, {{i}}.0);
#endfor
#endif
    for (var n = 0u; n < p.loops; n++) {
#for i in 0..8
        a{{i}} = fma(a{{i}}, m, c);
#endfor
    }
    let s = ((a0 + a1) + (a2 + a3)) + ((a4 + a5) + (a6 + a7));
    sums[id] = f32((s.x + s.y) + (s.z + s.w));
#endif
}
