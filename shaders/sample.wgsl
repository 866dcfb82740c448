// Samples on the device, so that the id never visits the host between two steps: the K best logits by radix select,
// sorted by (logit down, id up), then top-p, min-p, temperature and one draw with the counter generator.
// CPU twin: generate::device_twin. One workgroup; reads the logits five times (4 bytes each).
//
// Ties at the edge of the K best go to the lowest ids, so the result does not depend on the order of execution.
override WG: u32 = 256u;
const MAX_K: u32 = 256u;
#import state
#import order
#import rng
struct Params {
    vocab: u32,
    ring: u32,
    k: u32,
    top_p: f32,
    min_p: f32,
    temperature: f32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read_write> state: array<u32>;
@group(0) @binding(3) var<storage, read_write> ids: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<u32>;
// The sorted candidates (ordered key, id), for tests.
@group(0) @binding(5) var<storage, read_write> cands: array<vec2<u32>>;

var<workgroup> hist: array<atomic<u32>, 256>;
var<workgroup> threshold: u32;
var<workgroup> ties: u32;
var<workgroup> filled: atomic<u32>;
var<workgroup> tie_count: array<u32, WG>;
var<workgroup> top: array<vec2<u32>, MAX_K>;

fn before(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.x > b.x || (a.x == b.x && a.y < b.y);
}

@compute @workgroup_size(WG)
fn main(@builtin(local_invocation_index) tid: u32) {
    if (tid == 0u) {
        threshold = 0u;
        ties = min(p.k, min(p.vocab, MAX_K));
        atomicStore(&filled, 0u);
    }
    for (var i = tid; i < MAX_K; i += WG) {
        top[i] = vec2<u32>(0u, 0xffffffffu);
    }
    // The K-th best key, eight bits at a time.
    for (var pass_ = 0u; pass_ < 4u; pass_++) {
        let shift = 24u - pass_ * 8u;
        for (var i = tid; i < 256u; i += WG) {
            atomicStore(&hist[i], 0u);
        }
        workgroupBarrier();
        let fixed = threshold;
        for (var i = tid; i < p.vocab; i += WG) {
            let k = order_key(logits[i]);
            if (pass_ == 0u || ((k ^ fixed) >> (shift + 8u)) == 0u) {
                atomicAdd(&hist[(k >> shift) & 255u], 1u);
            }
        }
        workgroupBarrier();
        if (tid == 0u) {
            var need = ties;
            var bin = 255u;
            loop {
                let n = atomicLoad(&hist[bin]);
                if (n >= need || bin == 0u) {
                    break;
                }
                need -= n;
                bin--;
            }
            threshold = fixed | (bin << shift);
            ties = need;
        }
        workgroupBarrier();
    }
    let edge = threshold;
    let slice = (p.vocab + WG - 1u) / WG;
    let first = min(tid * slice, p.vocab);
    let last = min(first + slice, p.vocab);
    var mine = 0u;
    for (var i = first; i < last; i++) {
        let k = order_key(logits[i]);
        if (k > edge) {
            let at = atomicAdd(&filled, 1u);
            if (at < MAX_K) {
                top[at] = vec2<u32>(k, i);
            }
        } else if (k == edge) {
            mine++;
        }
    }
    tie_count[tid] = mine;
    workgroupBarrier();
    var rank = 0u;
    for (var i = 0u; i < tid; i++) {
        rank += tie_count[i];
    }
    if (mine > 0u) {
        let above = atomicLoad(&filled);
        for (var i = first; i < last && rank < ties; i++) {
            if (order_key(logits[i]) == edge) {
                if (above + rank < MAX_K) {
                    top[above + rank] = vec2<u32>(edge, i);
                }
                rank++;
            }
        }
    }
    workgroupBarrier();
    // Bitonic sort of MAX_K entries; empty ones (key 0) sink to the end.
    for (var size = 2u; size <= MAX_K; size <<= 1u) {
        for (var stride = size >> 1u; stride > 0u; stride >>= 1u) {
            for (var i = tid; i < MAX_K / 2u; i += WG) {
                let a = (i / stride) * stride * 2u + i % stride;
                let b = a + stride;
                let up = (a & size) == 0u;
                let ca = top[a];
                let cb = top[b];
                if (before(cb, ca) == up) {
                    top[a] = cb;
                    top[b] = ca;
                }
            }
            workgroupBarrier();
        }
    }
    for (var i = tid; i < MAX_K; i += WG) {
        cands[i] = top[i];
    }
    if (tid != 0u) {
        return;
    }
    var count = min(p.k, min(p.vocab, MAX_K));
    if (top[0].x >= KEY_INF) {
        state[S_FLAG] = FLAG_NAN;
    } else if (top[0].x <= KEY_NEG_INF) {
        state[S_FLAG] = FLAG_EMPTY;
    }
    while (count > 1u && top[count - 1u].x <= KEY_NEG_INF) {
        count--;
    }
    let best = order_value(top[0].x);
    var total = 0.0;
    for (var i = 0u; i < count; i++) {
        total += exp(order_value(top[i].x) - best);
    }
    // top-p: the shortest prefix whose mass reaches p, at least one.
    if (p.top_p < 1.0) {
        var mass = 0.0;
        for (var i = 0u; i < count; i++) {
            mass += exp(order_value(top[i].x) - best);
            if (mass >= p.top_p * total) {
                count = i + 1u;
            }
        }
    }
    // min-p: at least p times the best's probability.
    if (p.min_p > 0.0) {
        let least = best + log(p.min_p);
        while (count > 1u && order_value(top[count - 1u].x) < least) {
            count--;
        }
    }
    total = 0.0;
    for (var i = 0u; i < count; i++) {
        total += exp((order_value(top[i].x) - best) / p.temperature);
    }
    let step = state[S_STEP];
    // Keyed by the position the new token will have, so that a draw does not depend on what was drawn before.
    let seed = vec2<u32>(state[S_SEED_LO], state[S_SEED_HI]);
    let u = rng_uniform(seed, state[S_POS] + state[S_TOKENS], 0u) * total;
    var pick = count - 1u;
    var mass = 0.0;
    for (var i = 0u; i < count; i++) {
        mass += exp((order_value(top[i].x) - best) / p.temperature);
        if (mass > u) {
            pick = i;
            break;
        }
    }
    let id = top[pick].y;
    ids[0] = id;
    out[(step % p.ring) * 2u] = id;
    out[(step % p.ring) * 2u + 1u] = state[S_FLAG];
    state[S_STEP] = step + 1u;
    state[S_POS] += state[S_TOKENS];
    state[S_TOKENS] = 1u;
}
