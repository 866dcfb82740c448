// Second half of the argmax: picks among the slices, hands the id to the next step (`ids[0]`), to the host (`out`, a
// ring) and moves the position on. Sets the flag when the best "value" is a NaN, an infinity or minus infinity.
override WG: u32 = 64u;
#import state
#import order
struct Params {
    parts: u32,
    ring: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> part: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> state: array<u32>;
@group(0) @binding(3) var<storage, read_write> ids: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(WG)
fn main(@builtin(local_invocation_index) tid: u32) {
    var best = 0u;
    var id = 0u;
    for (var i = tid; i < p.parts; i += WG) {
        let c = part[i];
        if (c.x > best || (c.x == best && c.y < id)) {
            best = c.x;
            id = c.y;
        }
    }
    best_of(best, id, tid);
    if (tid == 0u) {
        if (best_k[0] >= KEY_INF) {
            state[S_FLAG] = FLAG_NAN;
        } else if (best_k[0] <= KEY_NEG_INF) {
            state[S_FLAG] = FLAG_EMPTY;
        }
        ids[0] = best_i[0];
        let step = state[S_STEP];
        out[(step % p.ring) * 2u] = best_i[0];
        out[(step % p.ring) * 2u + 1u] = state[S_FLAG];
        state[S_STEP] = step + 1u;
        state[S_POS] += state[S_TOKENS];
        state[S_TOKENS] = 1u;
    }
}
