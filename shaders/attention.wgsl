// Causal attention over the cache for QROWS query rows that share a key/value head.
//
// A query row is a (token, head of the group) pair: row = token * group + head. In prefill a workgroup takes QROWS
// consecutive rows; in decode the rows are the heads of the group, so each key is read once for all of them.
// Keys go by in blocks of WG (an invocation scores one key against all rows), softmax is online per block, and for
// the values an invocation owns four dims of every row and each KL-th key (KL = WG / (head_dim / 4)).
//
// FUSED (decode): the workgroup norms and rotates q itself, and the one whose split ends at the newest position
// norms, rotates and stores the new key and value first; no other workgroup reads that row.
// SPLIT (decode): the keys are cut in `splits` parts, one per workgroup in z; partial sums, maxima and denominators
// go to `out` and attn_merge.wgsl joins them by log-sum-exp. Without SPLIT the result is final: one launch less, where
// the key/value heads alone keep the adapter busy.
// SINKS: a logit per head that takes part in the denominator only. CAP: scores squashed by cap * tanh(s / cap).
// `window` > 0: a query sees that many keys, itself included.
//
// KV = aff: sealed pages, whose lists have no tail (lib/kv.wgsl); always SPLIT, never FUSED.
//
// Bytes: K and V once per QROWS rows. Workgroup memory: QROWS * (head_dim + WG) * 4 + small. Adapters with subgroups
// may take attention_sg.wgsl instead.
#define QROWS 4
#define PAGE 32
const WG: u32 = 64u;
const HD4: u32 = {{HD4}}u;
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
// Lanes over the keys of a block while values are summed.
const KL: u32 = WG / HD4;

var<workgroup> qs: array<vec4<f32>, {{QROWS}}u * HD4>;
var<workgroup> sc: array<f32, {{QROWS}}u * WG>;
// Sections and rows of the keys of this block.
var<workgroup> sections: array<u32, WG>;
var<workgroup> key_rows: array<u32, WG>;
var<workgroup> row_m: array<f32, {{QROWS}}>;
var<workgroup> row_f: array<f32, {{QROWS}}>;

// The running maximum of a row over one block of scores, and the factor that older sums shrink by.
fn raise_max(r: u32, count: u32) {
    var m = row_m[r];
    for (var i = 0u; i < count; i++) {
        m = max(m, sc[r * WG + i]);
    }
    row_f[r] = exp(row_m[r] - m);
    row_m[r] = m;
}

#if FUSED
fn head_rms(base: u32) -> f32 {
    var ss = 0.0;
    for (var i = 0u; i < HD4; i++) {
        let v = q[base + i];
        ss += dot(v, v);
    }
    return inverseSqrt(ss / f32(HD4 * 4u) + p.eps);
}

#import attn_head
#endif

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    let pos0 = state[S_POS];
    let tokens = state[S_TOKENS];
    let kvh = wg.x;
    let rows = tokens * p.group;
    let row0 = wg.y * {{QROWS}}u;
    if (row0 >= rows) {
        return;
    }
    let t_first = row0 / p.group;
    let t_last = (min(row0 + {{QROWS}}u, rows) - 1u) / p.group;
    let slots = attn_slots(pos0 + t_first, pos0 + t_last, wg.z, P, WG);
    let lo = slots.lo;
    let hi = slots.hi;

#if FUSED
    let nk = p.heads + kvh;
    if (slots.newest) {
        let to = tail_row(pos0, kvh, HD4);
#if QKNORM
        let rk = head_rms(nk * HD4);
#else
        let rk = 1.0;
#endif
        for (var i = tid; i < HD4; i += WG) {
            let k = head_rotated(nk * HD4, i, rk, HD4, pos0);
            let v = q[(nk + p.kv_heads) * HD4 + i];
            pool[to + i] = kv_pack(k);
            pool[to + p.v_words / KV_WORDS + i] = kv_pack(v);
        }
    }
#endif
    for (var i = tid; i < {{QROWS}}u * HD4; i += WG) {
        let row = min(row0 + i / HD4, rows - 1u);
        let head = kvh * p.group + row % p.group;
#if FUSED
#if QKNORM
        let rq = head_rms(head * HD4);
#else
        let rq = 1.0;
#endif
        qs[i] = head_rotated(head * HD4, i % HD4, rq, 0u, pos0) * p.scale;
#else
        qs[i] = q[(row / p.group * (p.heads + 2u * p.kv_heads) + head) * HD4 + i % HD4] * p.scale;
#endif
    }
    if (tid < {{QROWS}}u) {
        row_m[tid] = NEG;
    }
    let d = tid % HD4;
    let lane = tid / HD4;
#for r in 0..QROWS
    var o{{r}} = vec4<f32>(0.0);
    // The denominator over this lane's keys; the same in all invocations of a lane.
    var l{{r}} = 0.0;
#endfor
#if FUSED
    // The new key and value are read from the cache like all others, by this workgroup alone.
    storageBarrier();
#endif
    workgroupBarrier();
    for (var b = lo; b < hi; b += WG) {
        let count = min(WG, hi - b);
        var seen = false;
        var j = 0u;
        if (tid < count) {
            let page = list[p.list + 1u + (b + tid) / P];
            let row = (b + tid) % P;
            let section = kv_section(page.x, kvh);
            let krow = min(row, page.z - 1u);
            j = page.y + row;
            // Rows that do not count are not read: the page's last one that does stands for them.
            seen = row < page.z;
            sections[tid] = section;
            key_rows[tid] = krow;
#for r in 0..QROWS
            var s{{r}} = 0.0;
#endfor
            for (var i = 0u; i < HD4; i++) {
                let k = kv_key(section, krow, i);
#for r in 0..QROWS
                s{{r}} += dot(qs[{{r}}u * HD4 + i], k);
#endfor
            }
#for r in 0..QROWS
            {
                let at = pos0 + min(row0 + {{r}}u, rows - 1u) / p.group;
                var s = s{{r}};
#if CAP
                s = p.cap * tanh(clamp(s / p.cap, -15.0, 15.0));
#endif
                let in_window = j <= at && (p.window == 0u || at - j < p.window);
                sc[{{r}}u * WG + tid] = select(NEG, s, seen && in_window);
            }
#endfor
        }
        workgroupBarrier();
        if (tid < {{QROWS}}u) {
            raise_max(tid, count);
        }
        workgroupBarrier();
        if (tid < count) {
#for r in 0..QROWS
            {
                let s = sc[{{r}}u * WG + tid];
                // A masked score stays zero even when the whole row is masked so far.
                sc[{{r}}u * WG + tid] = select(exp(s - row_m[{{r}}]), 0.0, s <= NEG);
            }
#endfor
        }
#for r in 0..QROWS
        o{{r}} *= row_f[{{r}}];
        l{{r}} *= row_f[{{r}}];
#endfor
        workgroupBarrier();
        if (lane < KL) {
            for (var i = lane; i < count; i += KL) {
                let v = kv_value(sections[i], key_rows[i], d);
#for r in 0..QROWS
                {
                    let e = sc[{{r}}u * WG + i];
                    o{{r}} += e * v;
                    l{{r}} += e;
                }
#endfor
            }
        }
        workgroupBarrier();
    }
    // Join the lanes through `qs`, which is no longer needed, one row at a time by lane 0's order.
#if LANES_JOIN
    for (var l = 1u; l < KL; l++) {
        if (lane == l) {
#for r in 0..QROWS
            qs[{{r}}u * HD4 + d] = o{{r}};
            sc[{{r}}u * WG + d] = l{{r}};
#endfor
        }
        workgroupBarrier();
        if (lane == 0u) {
#for r in 0..QROWS
            o{{r}} += qs[{{r}}u * HD4 + d];
            l{{r}} += sc[{{r}}u * WG + d];
#endfor
        }
        workgroupBarrier();
    }
#endif
    if (lane > 0u) {
        return;
    }
#for r in 0..QROWS
    if (row0 + {{r}}u < rows) {
        let row = row0 + {{r}}u;
        let head = kvh * p.group + row % p.group;
#if SPLIT
        let to = ((row / p.group * p.heads + head) * p.slots + p.slot + wg.z) * (HD4 + 1u);
        out[to + d] = o{{r}};
        if (d == 0u) {
            out[to + HD4] = vec4<f32>(row_m[{{r}}], l{{r}}, 0.0, 0.0);
        }
#else
        var l = l{{r}};
        var f = 1.0;
#if SINKS
        let m = max(row_m[{{r}}], sinks[head]);
        f = exp(row_m[{{r}}] - m);
        l = l * f + exp(sinks[head] - m);
#endif
        out[(row / p.group * p.heads + head) * HD4 + d] = o{{r}} * (f / l);
#endif
    }
#endfor
}
