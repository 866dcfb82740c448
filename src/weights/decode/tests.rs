use super::*;
use crate::weights::golden::{assert_bits, f32s, load};

#[test]
fn golden_blocks_decode_bit_for_bit() {
    let golden = load();
    let mut seen = 0;
    for (name, (_, raw)) in golden.iter().filter(|(n, _)| n.ends_with(".raw")) {
        let t = TensorType::from_name(name.split('.').next().unwrap()).unwrap();
        if !DECODED_TYPES.contains(&t) {
            assert!(t.name().starts_with("IQ"), "{name} has no decoder");
            continue;
        }
        let (shape, expected) = &golden[&name.replace(".raw", ".f32")];
        let mut out = vec![f32::NAN; shape[0] * shape[1]];
        for (raw, out) in raw.chunks(raw.len() / shape[0]).zip(out.chunks_mut(shape[1])) {
            decode_row(t, raw, out).unwrap();
        }
        assert_bits(&out, &f32s(expected), name);
        seen += 1;
    }
    assert_eq!(seen, 28, "cases in the golden file");
}

/// CRC-32 of IEEE 802.3, bit by bit.
fn crc32(bytes: impl Iterator<Item = u8>) -> u32 {
    !bytes.fold(!0u32, |crc, b| {
        (0..8).fold(crc ^ u32::from(b), |c, _| if c & 1 == 1 { c >> 1 ^ 0xedb8_8320 } else { c >> 1 })
    })
}

/// Sets f16 scales of the vectors of the weight specification, section 3.2.
fn vector_block(t: TensorType) -> Vec<u8> {
    use TensorType::*;
    let mut b: Vec<u8> = (0..t.block_bytes()).map(|i| (73 * i + 41) as u8).collect();
    let mut put = |at: usize, h: u16| b[at..at + 2].copy_from_slice(&h.to_le_bytes());
    let (d, m) = (0x2000, 0x1c00);
    match t {
        Q4_0 | Q5_0 | Q8_0 | IQ4_NL | IQ4_XS => put(0, d),
        Q4_1 | Q5_1 | Q4_K | Q5_K => {
            put(0, d);
            put(2, m);
        }
        Q2_K => {
            put(80, d);
            put(82, m);
        }
        Q3_K => put(108, d),
        Q6_K => put(208, d),
        TQ1_0 => put(52, d),
        TQ2_0 => put(64, d),
        MXFP4 => b[0] = 120,
        NVFP4 => b[..4].copy_from_slice(&[0x38, 0x40, 0x30, 0x48]),
        _ => unreachable!(),
    }
    b
}

#[test]
fn vectors_of_the_specification() {
    use TensorType::*;
    assert_eq!(crc32("123456789".bytes()), 0xcbf4_3926);
    let vectors = [
        (Q4_0, 0xa735e5fc_u32),
        (Q4_1, 0x21e923c6),
        (Q5_0, 0xcdf1b21a),
        (Q5_1, 0xa11dcbad),
        (Q8_0, 0x484f32f4),
        (Q2_K, 0x8be7a82e),
        (Q3_K, 0xc2c0458e),
        (Q4_K, 0x7f5ff8ce),
        (Q5_K, 0x3e1307bf),
        (Q6_K, 0x7121307f),
        (IQ4_NL, 0xbb5336fa),
        (IQ4_XS, 0x609568fa),
        (TQ1_0, 0xf55b9fb2),
        (TQ2_0, 0x82c81850),
        (MXFP4, 0x005f6617),
        (NVFP4, 0x8cbcefe0),
    ];
    let decode = |t: TensorType| {
        let mut out = vec![0.0; t.block_len() as usize];
        decode_row(t, &vector_block(t), &mut out).unwrap();
        out
    };
    for (t, crc) in vectors {
        assert_eq!(crc32(decode(t).iter().flat_map(|x| x.to_le_bytes())), crc, "{t}");
    }
    assert_eq!(decode(Q4_0)[..4], [0.0234375, -0.03125, 0.0390625, -0.015625]);
    assert_eq!(decode(Q4_K)[..3], [0.72265625, 0.01171875, 0.92578125]);
    assert_eq!(decode(Q6_K)[..3], [1.2578125, -0.359375, -4.8515625]);
    assert_eq!(decode(TQ1_0)[..4], [-0.0078125, 0.0, 0.0078125, -0.0078125]);
    for (t, sum) in [(Q4_K, 416.8125), (Q6_K, -115.96875), (Q2_K, 15.9609375)] {
        assert_eq!(decode(t).iter().sum::<f32>(), sum, "{t}");
    }
}

#[test]
fn wrong_sizes_and_types_are_errors() {
    let mut out = [0.0; 32];
    assert!(matches!(
        decode_row(TensorType::Q4_0, &[0; 17], &mut out),
        Err(WeightsError::SourceBytes { expected: 18, found: 17, .. })
    ));
    assert!(matches!(
        decode_row(TensorType::Q4_K, &[0; 18], &mut out),
        Err(WeightsError::RowLength { block: 256, found: 32, .. })
    ));
    let error = decode_row(TensorType::IQ1_S, &[], &mut []).unwrap_err();
    assert!(error.to_string().starts_with("IQ1_S tensors cannot be decoded (possible for: F32, "), "{error}");
}
