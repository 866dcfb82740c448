// Causal attention over the cache by one subgroup: the same launch, parameters and results as attention.wgsl, without
// workgroup memory or barriers. A workgroup is a subgroup of SG lanes; head_dim is a multiple of 4 SG.
//
// Keys go by in blocks of SG. A lane scores one key of the block against all QROWS rows: the queries lie spread over
// the lanes (lane l holds the vec4s l, l + SG, ... of every row) and reach the others by broadcast. The softmax is
// online per block, its maximum a subgroup operation. For the values a lane owns the vec4s l, l + SG, ... of every
// row's sum, and the weights of the block's keys are broadcast in turn. A block's missing keys repeat the last one
// with weight 0, so nothing outside of the cache is read.
//
// FUSED, SPLIT, SINKS, CAP, `window`: as in attention.wgsl; splits are whole blocks of SG keys.
//
// KV = aff: pages in the affine codec, whose (lo, step) per channel go into the queries once a block. That, and reading four
// codes from one word, took attention of aff:16 from 4.0 to 1.0 times that of f16 (lavapipe, SmolLM2 at 1,000 tokens).
//
// Bytes: K and V once per QROWS rows.
// Ladder (`golay bench kernels --family attention --all`, lavapipe, 32/8 heads of 64, 512 keys f16): decode 484 us where
// attention.wgsl takes 1730 (6200 in 32 splits), prefill of 64 tokens 11.1 ms where it takes 72.8. One split (no merge) instead of two gained
// nothing for SmolLM2: the launch saved is spent on three workgroups for two cores.
#define QROWS 4
#define PAGE 32
const SG: u32 = {{SG}}u;
const HD4: u32 = SG * {{CHUNKS}}u;
#define HD4 1
#import state
#import kv
struct Params {
    heads: u32,
    kv_heads: u32,
    group: u32,
    window: u32,
    head_words: u32,
    v_words: u32,
    list: u32,
    rot4: u32,
    splits: u32,
    slot: u32,
    slots: u32,
    scale: f32,
    cap: f32,
    eps: f32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> state: array<u32>;
@group(0) @binding(2) var<storage, read> q: array<vec4<f32>>;
#if FUSED
@group(0) @binding(3) var<storage, read_write> pool: array<KvWord>;
#else
@group(0) @binding(3) var<storage, read> pool: array<KvWord>;
#endif
@group(0) @binding(4) var<storage, read> list: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> out: array<vec4<f32>>;
#if FUSED
#if ROPE
@group(0) @binding(6) var<storage, read> rope: array<vec2<f32>>;
#endif
#if QKNORM
@group(0) @binding(7) var<storage, read> qk_norm: array<vec4<f32>>;
#endif
#endif
#if SINKS
@group(0) @binding(8) var<storage, read> sinks: array<f32>;
#endif

const NEG: f32 = -3.0e38;
#import attn_slots

#if FUSED
#import attn_head

// 1 / rms of a head, the same in all lanes.
fn head_rms(base: u32, lane: u32) -> f32 {
    var ss = 0.0;
#for c in 0..CHUNKS
    {
        let v = q[base + {{c}}u * SG + lane];
        ss += dot(v, v);
    }
#endfor
    return inverseSqrt(subgroupAdd(ss) / f32(HD4 * 4u) + p.eps);
}
#endif

@compute @workgroup_size(SG)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(subgroup_invocation_id) lane: u32) {
    let pos0 = state[S_POS];
    let tokens = state[S_TOKENS];
    let kvh = wg.x;
    let rows = tokens * p.group;
    let first = wg.y * {{QROWS}}u;
    if (first >= rows) {
        return;
    }
    let t_first = first / p.group;
    let t_last = (min(first + {{QROWS}}u, rows) - 1u) / p.group;
    let slots = attn_slots(pos0 + t_first, pos0 + t_last, wg.z, SG, SG);
    let lo = slots.lo;
    let hi = slots.hi;

#if FUSED
    let nk = p.heads + kvh;
    if (slots.newest) {
        let to = tail_row(pos0, kvh, HD4);
#if QKNORM
        let rk = head_rms(nk * HD4, lane);
#else
        let rk = 1.0;
#endif
#for c in 0..CHUNKS
        {
            let i = {{c}}u * SG + lane;
            pool[to + i] = kv_pack(head_rotated(nk * HD4, i, rk, HD4, pos0));
            pool[to + p.v_words / KV_WORDS + i] = kv_pack(q[(nk + p.kv_heads) * HD4 + i]);
        }
#endfor
    }
    // The new key and value are read from the cache like all others, by this workgroup alone.
    storageBarrier();
#endif

#for r in 0..QROWS
    let row{{r}} = min(first + {{r}}u, rows - 1u);
    let head{{r}} = kvh * p.group + row{{r}} % p.group;
    let at{{r}} = pos0 + row{{r}} / p.group;
    var m{{r}} = NEG;
    // The denominator over the keys of this lane.
    var l{{r}} = 0.0;
#if FUSED
#if QKNORM
    let rq{{r}} = head_rms(head{{r}} * HD4, lane);
#else
    let rq{{r}} = 1.0;
#endif
#else
    let from{{r}} = (row{{r}} / p.group * (p.heads + 2u * p.kv_heads) + head{{r}}) * HD4 + lane;
#endif
#for c in 0..CHUNKS
    var o{{r}}_{{c}} = vec4<f32>(0.0);
#if FUSED
    let q{{r}}_{{c}} = head_rotated(head{{r}} * HD4, {{c}}u * SG + lane, rq{{r}}, 0u, pos0) * p.scale;
#else
    let q{{r}}_{{c}} = q[from{{r}} + {{c}}u * SG] * p.scale;
#endif
#endfor
#endfor

    for (var b = lo; b < hi; b += SG) {
        // A block lies in one page. Rows that do not count are not read: the last one that does stands for them.
        let page = list[p.list + 1u + b / P];
        let row0 = b % P;
        let count = min(hi - b + row0, page.z);
        let row = row0 + lane;
        let j = page.y + row;
        let section = kv_section(page.x, kvh);
        let krow = min(row, count - 1u);
#if KV == aff
        // The page's ranges go into the queries, once for the block: q (lo + step code) = q lo + (q step) code.
#for c in 0..CHUNKS
        let range{{c}} = kv_key_range(section, {{c}}u * SG + lane);
#endfor
#for r in 0..QROWS
        var s{{r}} = 0.0;
#for c in 0..CHUNKS
        s{{r}} += dot(q{{r}}_{{c}}, range{{c}}.lo);
        let t{{r}}_{{c}} = q{{r}}_{{c}} * range{{c}}.step;
#endfor
        s{{r}} = subgroupAdd(s{{r}});
#endfor
#else
#for r in 0..QROWS
        var s{{r}} = 0.0;
#endfor
#endif
#for c in 0..CHUNKS
#for i in 0..SG
        {
#if KV == aff
            let k = kv_key_codes(section, krow, {{c}}u * SG + {{i}}u);
#for r in 0..QROWS
            s{{r}} += dot(subgroupBroadcast(t{{r}}_{{c}}, {{i}}u), k);
#endfor
#else
            let k = kv_key(section, krow, {{c}}u * SG + {{i}}u);
#for r in 0..QROWS
            s{{r}} += dot(subgroupBroadcast(q{{r}}_{{c}}, {{i}}u), k);
#endfor
#endif
        }
#endfor
#endfor
#for r in 0..QROWS
#if CAP
        s{{r}} = p.cap * tanh(clamp(s{{r}} / p.cap, -15.0, 15.0));
#endif
        s{{r}} = select(NEG, s{{r}}, row < count && j <= at{{r}} && (p.window == 0u || at{{r}} - j < p.window));
        let next{{r}} = max(m{{r}}, subgroupMax(s{{r}}));
        let shrink{{r}} = exp(m{{r}} - next{{r}});
        m{{r}} = next{{r}};
        // A masked score stays zero even when the whole row is masked so far.
        let e{{r}} = select(exp(s{{r}} - m{{r}}), 0.0, s{{r}} <= NEG);
        l{{r}} = l{{r}} * shrink{{r}} + e{{r}};
#for c in 0..CHUNKS
        o{{r}}_{{c}} *= shrink{{r}};
#endfor
#endfor
#for i in 0..SG
        {
            let vrow = min(row0 + {{i}}u, count - 1u);
#for r in 0..QROWS
            let w{{r}} = subgroupBroadcast(e{{r}}, {{i}}u);
#endfor
#for c in 0..CHUNKS
            {
                let v = kv_value(section, vrow, {{c}}u * SG + lane);
#for r in 0..QROWS
                o{{r}}_{{c}} += w{{r}} * v;
#endfor
            }
#endfor
        }
#endfor
    }
#for r in 0..QROWS
    {
        var l = subgroupAdd(l{{r}});
        if (first + {{r}}u < rows) {
#if SPLIT
            let token = (row{{r}} / p.group * p.heads + head{{r}}) * p.slots;
            let to = (token + p.slot + wg.z) * (HD4 + 1u);
            let f = 1.0;
            if (lane == 0u) {
                out[to + HD4] = vec4<f32>(m{{r}}, l, 0.0, 0.0);
            }
#else
            let to = (row{{r}} / p.group * p.heads + head{{r}}) * HD4;
            var f = 1.0;
#if SINKS
            let m = max(m{{r}}, sinks[head{{r}}]);
            f = exp(m{{r}} - m);
            l = l * f + exp(sinks[head{{r}}] - m);
#endif
            f /= l;
#endif
#for c in 0..CHUNKS
            out[to + {{c}}u * SG + lane] = o{{r}}_{{c}} * f;
#endfor
        }
    }
#endfor
}
