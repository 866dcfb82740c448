// Codes of at most seven bits without a sign, read where they lie: byte c of a word keeps its weight of 256^c, and the
// inputs are multiplied by 256^-c instead, once for all rows that share them. Both are powers of two, so that products
// are the same to the last bit. It saves three shifts in four codes, and the conversion is a signed one, which CPUs
// have.
const W_PLACE: vec4<f32> = vec4<f32>(1.0, 0.00390625, 0.0000152587890625, 0.000000059604644775390625);
// The way back, for sums of inputs.
const W_UNPLACE: vec4<f32> = vec4<f32>(1.0, 256.0, 65536.0, 16777216.0);

fn w_placed(wg: WGroup, j: u32) -> vec4<f32> {
    let in_place = vec4<u32>(w_bytes(wg, j)) & vec4<u32>(0x7fu, 0x7f00u, 0x7f0000u, 0x7f000000u);
    return vec4<f32>(bitcast<vec4<i32>>(in_place));
}
