// Codes of a page in words (src/kv/codec/pack.rs): KLEVELS and VLEVELS levels for keys and for values.
//
// Digits of one number per word: TILE rows share words, and digit i % DIGITS of word i / DIGITS, counted from the least
// significant, is code i of the tile. Eight levels are three bit planes instead, the heaviest first.
// The importing shader declares `pool` as an array of u32, P and HD4.
#if KLEVELS == 3
const K_DIGITS: u32 = 20u;
const K_TILE: u32 = 4u;
#endif
#if KLEVELS == 4
const K_DIGITS: u32 = 16u;
const K_TILE: u32 = 1u;
#endif
#if KLEVELS == 5
const K_DIGITS: u32 = 13u;
const K_TILE: u32 = 1u;
#endif
#if KLEVELS == 6
const K_DIGITS: u32 = 12u;
const K_TILE: u32 = 4u;
#endif
#if KLEVELS == 9
const K_DIGITS: u32 = 10u;
const K_TILE: u32 = 2u;
#endif
#if KLEVELS == 16
const K_DIGITS: u32 = 8u;
const K_TILE: u32 = 1u;
#endif
#if KLEVELS == 256
const K_DIGITS: u32 = 4u;
const K_TILE: u32 = 1u;
#endif
#if VLEVELS == 3
const V_DIGITS: u32 = 20u;
const V_TILE: u32 = 4u;
#endif
#if VLEVELS == 4
const V_DIGITS: u32 = 16u;
const V_TILE: u32 = 1u;
#endif
#if VLEVELS == 5
const V_DIGITS: u32 = 13u;
const V_TILE: u32 = 1u;
#endif
#if VLEVELS == 6
const V_DIGITS: u32 = 12u;
const V_TILE: u32 = 4u;
#endif
#if VLEVELS == 9
const V_DIGITS: u32 = 10u;
const V_TILE: u32 = 2u;
#endif
#if VLEVELS == 16
const V_DIGITS: u32 = 8u;
const V_TILE: u32 = 1u;
#endif
#if VLEVELS == 256
const V_DIGITS: u32 = 4u;
const V_TILE: u32 = 1u;
#endif
#if KLEVELS == 8
const K_DIGITS: u32 = 0u;
const K_TILE: u32 = 1u;
#endif
#if VLEVELS == 8
const V_DIGITS: u32 = 0u;
const V_TILE: u32 = 1u;
#endif
// Words of a row of one bit plane; groups of 32 channels.
const PLANE_ROW: u32 = (HD4 + 7u) / 8u;

// levels^e for e < 32, where that fits.
fn code_power(levels: u32, e: u32) -> u32 {
    let l2 = levels * levels;
    let l4 = l2 * l2;
    let l8 = l4 * l4;
    var r = select(1u, levels, (e & 1u) != 0u);
    r *= select(1u, l2, (e & 2u) != 0u);
    r *= select(1u, l4, (e & 4u) != 0u);
    r *= select(1u, l8, (e & 8u) != 0u);
    return r * select(1u, l8 * l8, (e & 16u) != 0u);
}

fn code_digit(at: u32, i: u32, levels: u32, digits: u32) -> u32 {
    let w = pool[at + i / digits];
    if ((levels & (levels - 1u)) == 0u) {
        return (w >> (i % digits * firstTrailingBit(levels))) & (levels - 1u);
    }
    return w / code_power(levels, i % digits) % levels;
}

// Codes of the channels 4 i to 4 i + 3 of a row; `at` is the first word of the page's codes.
fn codes4(at: u32, row: u32, i: u32, levels: u32, digits: u32, tile: u32) -> vec4<f32> {
    if (levels == 8u) {
        let w = at + row * PLANE_ROW + i / 8u;
        let shift = i % 8u * 4u + vec4<u32>(0u, 1u, 2u, 3u);
        let one = vec4<u32>(1u);
        let high = (vec4<u32>(pool[w]) >> shift) & one;
        let middle = (vec4<u32>(pool[w + P * PLANE_ROW]) >> shift) & one;
        let low = (vec4<u32>(pool[w + 2u * P * PLANE_ROW]) >> shift) & one;
        return vec4<f32>(high * 4u + middle * 2u + low);
    }
    let words = (tile * HD4 * 4u + digits - 1u) / digits;
    let w = at + row / tile * words;
    let c = row % tile * HD4 * 4u + i * 4u;
    if (digits % 4u == 0u) {
        // All four lie in one word.
        let word = pool[w + c / digits];
        if ((levels & (levels - 1u)) == 0u) {
            let bits = firstTrailingBit(levels);
            let shift = (vec4<u32>(c % digits) + vec4<u32>(0u, 1u, 2u, 3u)) * bits;
            return vec4<f32>((vec4<u32>(word) >> shift) & vec4<u32>(levels - 1u));
        }
        let first = word / code_power(levels, c % digits);
        let second = first / levels;
        let third = second / levels;
        return vec4<f32>(vec4<u32>(first, second, third, third / levels) % levels);
    }
    return vec4<f32>(vec4<u32>(
        code_digit(w, c, levels, digits),
        code_digit(w, c + 1u, levels, digits),
        code_digit(w, c + 2u, levels, digits),
        code_digit(w, c + 3u, levels, digits),
    ));
}
