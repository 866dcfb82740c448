// Affine pages (src/kv/codec/affine.rs): x = lo + step * code. Keys have a (lo, step) in f16 per channel of the page, values
// one per row and 32 channels. Three levels stand for the middles of their cells, all others for the ends of the range.
// A head's section: HD4 * 4 words of the keys' (lo, step), their codes, and `p.v_words` from its start the same of the
// values, P * PLANE_ROW words of it.
#import kv_codes
#if KLEVELS == 3
const K_MIDDLE: f32 = 0.5;
#else
const K_MIDDLE: f32 = 0.0;
#endif
#if VLEVELS == 3
const V_MIDDLE: f32 = 0.5;
#else
const V_MIDDLE: f32 = 0.0;
#endif

fn kv_section(page: u32, kvh: u32) -> u32 {
    return page + kvh * p.head_words;
}

struct KeyRange {
    lo: vec4<f32>,
    step: vec4<f32>,
}

// What the page's keys have in common in four channels: x = lo + step * code.
fn kv_key_range(section: u32, i: u32) -> KeyRange {
    let a = unpack2x16float(pool[section + i * 4u]);
    let b = unpack2x16float(pool[section + i * 4u + 1u]);
    let c = unpack2x16float(pool[section + i * 4u + 2u]);
    let d = unpack2x16float(pool[section + i * 4u + 3u]);
    let step = vec4<f32>(a.y, b.y, c.y, d.y);
    return KeyRange(vec4<f32>(a.x, b.x, c.x, d.x) + step * K_MIDDLE, step);
}

fn kv_key_codes(section: u32, row: u32, i: u32) -> vec4<f32> {
    return codes4(section + HD4 * 4u, row, i, {{KLEVELS}}u, K_DIGITS, K_TILE);
}

fn kv_key(section: u32, row: u32, i: u32) -> vec4<f32> {
    let range = kv_key_range(section, i);
    return range.lo + range.step * kv_key_codes(section, row, i);
}

fn kv_value(section: u32, row: u32, i: u32) -> vec4<f32> {
    let at = section + p.v_words;
    let range = unpack2x16float(pool[at + row * PLANE_ROW + i / 8u]);
    let codes = codes4(at + (P * PLANE_ROW + 3u) / 4u * 4u, row, i, {{VLEVELS}}u, V_DIGITS, V_TILE);
    return range.x + range.y * (codes + V_MIDDLE);
}
