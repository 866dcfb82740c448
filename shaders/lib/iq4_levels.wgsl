// The sixteen levels of the IQ4 formats, -127 -104 -83 -65 -49 -35 -22 -10 1 13 25 38 53 69 89 113, without a table:
// a polynomial of degree 4 comes within 0.4331 of each, so rounding gives the level exactly whatever the driver
// contracts (a Rust test holds the margin). 5 float ops, against about 12 integer ops of a select tree.

fn iq4_levels(n: vec4<f32>) -> vec4<f32> {
    let p = ((0.001586043 * n + 0.03108644) * n - 1.371927) * n + 24.17383;
    return round(p * n - 126.567);
}

// The same levels as signed bytes.
fn iq4_pack(levels: vec4<f32>) -> u32 {
    let b = (bitcast<vec4<u32>>(vec4<i32>(levels)) & vec4<u32>(0xffu)) << vec4<u32>(0u, 8u, 16u, 24u);
    return b.x | b.y | b.z | b.w;
}
