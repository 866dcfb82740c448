// For a chunk of tokens: norms q and k per head (QKNORM), rotates them (ROPE), leaves q in place and writes k and v
// into the tail of the cache. One invocation per (token, head), heads in the order q | k | v.
// Decode steps do this inside attention.wgsl; this form serves prefill and query groups too large for that kernel.
override WG: u32 = 64u;
#import state
#define PAGE 32
#import kv
struct Params {
    heads: u32,
    kv_heads: u32,
    hd4: u32,
    rot4: u32,
    head_words: u32,
    v_words: u32,
    list: u32,
    eps: f32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> state: array<u32>;
@group(0) @binding(2) var<storage, read_write> qkv: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> pool: array<KvWord>;
@group(0) @binding(4) var<storage, read> list: array<vec4<u32>>;
#if ROPE
@group(0) @binding(5) var<storage, read> rope: array<vec2<f32>>;
#import rope
#endif
#if QKNORM
@group(0) @binding(6) var<storage, read> qk_norm: array<vec4<f32>>;
#endif

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    let all = p.heads + 2u * p.kv_heads;
    let h = wg.x * WG + tid;
    let t = wg.y;
    if (h >= all || t >= state[S_TOKENS]) {
        return;
    }
    let pos = state[S_POS] + t;
    let base = (t * all + h) * p.hd4;
    if (h >= p.heads + p.kv_heads) {
        let to = tail_row(pos, h - p.heads - p.kv_heads, p.hd4) + p.v_words / KV_WORDS;
        for (var i = 0u; i < p.hd4; i++) {
            pool[to + i] = kv_pack(qkv[base + i]);
        }
        return;
    }
    let is_k = h >= p.heads;
#if QKNORM
    var ss = 0.0;
    for (var i = 0u; i < p.hd4; i++) {
        let v = qkv[base + i];
        ss += dot(v, v);
    }
    let r = inverseSqrt(ss / f32(p.hd4 * 4u) + p.eps);
    let nb = select(0u, p.hd4, is_k);
    for (var i = 0u; i < p.hd4; i++) {
        qkv[base + i] = qkv[base + i] * r * qk_norm[nb + i];
    }
#endif
#if ROPE
    let at = pos * p.rot4 * 2u;
#if INTERLEAVED
    for (var i = 0u; i < p.rot4; i++) {
        qkv[base + i] = rope_even(qkv[base + i], at + i * 2u);
    }
#else
    let half = p.rot4 / 2u;
    for (var i = 0u; i < half; i++) {
        let o = rope_halves(qkv[base + i], qkv[base + half + i], at + i * 4u);
        qkv[base + i] = o.lo;
        qkv[base + half + i] = o.hi;
    }
#endif
#endif
    if (is_k) {
        let to = tail_row(pos, h - p.heads, p.hd4);
        for (var i = 0u; i < p.hd4; i++) {
            pool[to + i] = kv_pack(qkv[base + i]);
        }
    }
}
