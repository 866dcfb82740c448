// Element access of the key and value caches. KV = f32 | f16; f16 is packed two to a word with the built-ins that
// every adapter has. The importing shader declares `kc` and `vc` as arrays of KvWord.
#if KV == f16
alias KvWord = vec2<u32>;
fn kv_pack(v: vec4<f32>) -> KvWord {
    return vec2<u32>(pack2x16float(v.xy), pack2x16float(v.zw));
}
fn kv_unpack(w: KvWord) -> vec4<f32> {
    return vec4<f32>(unpack2x16float(w.x), unpack2x16float(w.y));
}
#else
alias KvWord = vec4<f32>;
fn kv_pack(v: vec4<f32>) -> KvWord {
    return v;
}
fn kv_unpack(w: KvWord) -> vec4<f32> {
    return w;
}
#endif
