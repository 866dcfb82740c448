// Logit bias, repetition penalties and DRY from a sparse list, before selection. An entry is (id, count, bias, delta):
// bias is added first; a token seen `count` > 0 times is then divided (or multiplied, when negative) by the repetition
// penalty and loses count * frequency + presence; delta, DRY's penalty, is added last.
override WG: u32 = 64u;
struct Params {
    vocab: u32,
    repeat: f32,
    frequency: f32,
    presence: f32,
}
struct Entry {
    id: u32,
    count: u32,
    bias: f32,
    delta: f32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> head: array<u32>;
@group(0) @binding(2) var<storage, read> list: array<Entry>;
@group(0) @binding(3) var<storage, read_write> logits: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    let i = wg.x * WG + tid;
    if (i >= head[0] || list[i].id >= p.vocab) {
        return;
    }
    let e = list[i];
    var l = logits[e.id] + e.bias;
    if (e.count > 0u) {
        l = select(l * p.repeat, l / p.repeat, l > 0.0);
        l -= f32(e.count) * p.frequency + p.presence;
    }
    logits[e.id] = l + e.delta;
}
