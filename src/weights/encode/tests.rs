use super::*;
use crate::weights::golden::{f32s, load};
use crate::weights::{decode_row, random_blocks};

#[test]
fn golden_sources_encode_to_the_golden_bytes() {
    let golden = load();
    let mut seen = 0;
    for (name, (shape, source)) in golden.iter().filter(|(n, _)| n.ends_with(".source")) {
        let t = TensorType::from_name(name.split('.').next().unwrap()).unwrap();
        if !ENCODED_TYPES.contains(&t) {
            continue;
        }
        let raw = &golden[&name.replace(".source", ".raw")].1;
        let mut out = Vec::new();
        for row in f32s(source).chunks(shape[1]) {
            encode_row(t, row, &mut out).unwrap();
        }
        let differ = out.iter().zip(raw).filter(|(a, b)| a != b).count();
        assert!(out.len() == raw.len() && differ == 0, "{name}: {differ} bytes differ");
        seen += 1;
    }
    assert_eq!(seen, 7);
}

/// Rows of roughly normal values with a few large ones and a block of zeros.
fn rows() -> Vec<f32> {
    let mut x = vec![0.0; 4096];
    for seed in 0..6 {
        let mut part = vec![0.0; 4096];
        decode_row(TensorType::F32, &random_blocks(TensorType::F32, 1, 4096, seed), &mut part).unwrap();
        x.iter_mut().zip(&part).for_each(|(x, p)| *x += p * 0.02);
    }
    x.iter_mut().step_by(131).for_each(|x| *x *= 4.0);
    x[512..800].fill(0.0);
    x
}

/// Error energy over signal energy.
fn distortion(t: TensorType, x: &[f32]) -> f64 {
    let mut bytes = Vec::new();
    encode_row(t, x, &mut bytes).unwrap();
    assert_eq!(Some(bytes.len() as u64), t.bytes_for(x.len() as u64));
    let mut y = vec![f32::NAN; x.len()];
    decode_row(t, &bytes, &mut y).unwrap();
    assert!(y.iter().all(|y| y.is_finite()));
    let energy = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>();
    let error = energy(&mut x.iter().zip(&y).map(|(x, y)| f64::from(x - y)));
    error / energy(&mut x.iter().map(|x| f64::from(*x)))
}

#[test]
fn decode_of_encode_is_near() {
    use TensorType::*;
    let x = rows();
    let bounds = [
        (F32, 0.0),
        (F16, 1e-7),
        (BF16, 1e-5),
        (Q8_0, 1e-4),
        (Q6_K, 1e-3),
        (Q5_1, 3e-3),
        (Q5_K, 3e-3),
        (Q5_0, 4e-3),
        (Q4_1, 1e-2),
        (Q4_K, 1e-2),
        (IQ4_NL, 1.2e-2),
        (IQ4_XS, 1.2e-2),
        (Q4_0, 1.5e-2),
        (Q3_K, 5e-2),
        (Q2_K, 0.15),
    ];
    assert_eq!(bounds.len(), ENCODED_TYPES.len());
    for (t, bound) in bounds {
        let found = distortion(t, &x);
        println!("{t}: {found:.2e}");
        assert!(found <= bound, "{t}: relative squared error {found:.3e} above {bound:.1e}");
    }
}

#[test]
fn zeros_stay_zeros() {
    for &t in ENCODED_TYPES {
        let mut bytes = Vec::new();
        encode_row(t, &[0.0; 256], &mut bytes).unwrap();
        let mut y = [1.0f32; 256];
        decode_row(t, &bytes, &mut y).unwrap();
        assert!(y.iter().all(|y| *y == 0.0), "{t}");
    }
}

#[test]
fn values_that_do_not_fit_are_errors() {
    for bad in [f32::NAN, f32::INFINITY, 1e6] {
        let mut x = [0.0; 256];
        x[77] = bad;
        for &t in ENCODED_TYPES.iter().filter(|t| t.block_len() > 1) {
            let error = encode_row(t, &x, &mut Vec::new()).unwrap_err();
            assert!(matches!(error, WeightsError::Unrepresentable { index: 77, .. }), "{t}");
        }
    }
    assert!(matches!(
        encode_row(TensorType::Q4_K, &[0.0; 32], &mut Vec::new()),
        Err(WeightsError::RowLength { .. })
    ));
    assert!(encode_row(TensorType::IQ2_S, &[], &mut Vec::new()).is_err());
}
