// Pages of the key/value cache. A page is P tokens of one layer: per key/value head a section of `p.head_words` words,
// its keys and then, `p.v_words` further on, its values. All pages of a layer lie in one buffer, `pool`.
//
// `list` holds, per list, a header and an entry per page. A list has the pages that one kernel reads, in the order of
// their positions; slot s of a list is row s % P of its entry s / P.
//   header (entries before the tail, position of the tail's first row, -, -): the tail's pages are the ones that new
//   rows go to, one after another without a gap, full or not; lists without a tail end where the header says.
//   entry  (word offset of the page in the pool, position of its first row, rows that count, -)
//
// KV = f32 | f16 | aff (kv_aff.wgsl; sealed pages only, so that its lists have no tail). f16 is packed two to a word with the built-ins that every adapter has. The
// importing shader declares `pool` as an array of KvWord, and `list`.
const P: u32 = {{PAGE}}u;
#if KV == aff
alias KvWord = u32;
#import kv_aff
#else
#if KV == f16
alias KvWord = vec2<u32>;
const KV_WORDS: u32 = 2u;
fn kv_pack(v: vec4<f32>) -> KvWord {
    return vec2<u32>(pack2x16float(v.xy), pack2x16float(v.zw));
}
fn kv_unpack(w: KvWord) -> vec4<f32> {
    return vec4<f32>(unpack2x16float(w.x), unpack2x16float(w.y));
}
#else
alias KvWord = vec4<f32>;
const KV_WORDS: u32 = 4u;
fn kv_pack(v: vec4<f32>) -> KvWord {
    return v;
}
fn kv_unpack(w: KvWord) -> vec4<f32> {
    return w;
}
#endif

// Index of the first key vec4 of head `kvh` in the page at word `page`.
fn kv_section(page: u32, kvh: u32) -> u32 {
    return (page + kvh * p.head_words) / KV_WORDS;
}

// Index of the first key vec4 of the row at `pos`, which lies in the tail.
fn tail_row(pos: u32, kvh: u32, hd4: u32) -> u32 {
    let head = list[p.list];
    let row = pos - head.y;
    let page = list[p.list + 1u + head.x + row / P].x;
    return kv_section(page, kvh) + row % P * hd4;
}
#if HD4
// Element i of a row's key and of its value, in the section of a page and head.
fn kv_key(section: u32, row: u32, i: u32) -> vec4<f32> {
    return kv_unpack(pool[section + row * HD4 + i]);
}

fn kv_value(section: u32, row: u32, i: u32) -> vec4<f32> {
    return kv_unpack(pool[section + p.v_words / KV_WORDS + row * HD4 + i]);
}
#endif
#endif
