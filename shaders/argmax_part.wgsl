// First half of the argmax over the vocabulary: each workgroup reduces one slice to (ordered value, id).
// Values are compared as integers in an order that puts NaN above everything, so that a NaN is found, not skipped.
override WG: u32 = 64u;
#import order
struct Params {
    vocab: u32,
    slice: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read_write> part: array<vec2<u32>>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    var best = 0u;
    var id = 0u;
    let end = min(p.vocab, (wg.x + 1u) * p.slice);
    for (var i = wg.x * p.slice + tid; i < end; i += WG) {
        let k = order_key(logits[i]);
        // Ids rise, so a strict comparison keeps the lowest id of equals.
        if (k > best) {
            best = k;
            id = i;
        }
    }
    best_of(best, id, tid);
    if (tid == 0u) {
        part[wg.x] = vec2<u32>(best_k[0], best_i[0]);
    }
}
