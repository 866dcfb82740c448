// Looks for a NaN or an infinity in a vector and remembers the first probe that found one: after an error the step is
// run again with a probe behind every layer, so that the message can name it.
override WG: u32 = 64u;
struct Params {
    count: u32,
    probe: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> found: array<atomic<u32>>;

@compute @workgroup_size(WG)
fn main(@builtin(local_invocation_index) tid: u32) {
    for (var i = tid; i < p.count; i += WG) {
        if ((bitcast<u32>(x[i]) & 0x7f800000u) == 0x7f800000u) {
            atomicMin(&found[0], p.probe);
        }
    }
}
