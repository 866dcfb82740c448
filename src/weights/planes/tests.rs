use super::*;
use crate::weights::golden::{assert_bits, load};
use crate::weights::{decode_row, random_blocks, traits};

/// Repacks `rows` rows and checks that the planes read back as the reference decodes the file's bytes.
fn check(t: TensorType, raw: &[u8], rows: usize, cols: usize, what: &str) {
    let layout = PlaneLayout::new(t, cols as u32).unwrap();
    let (q, a) = layout.plane_words(rows).unwrap();
    // Junk that a repack must overwrite.
    let (mut quants, mut aux) = (vec![0xdead_beef; q], vec![0xdead_beef; a]);
    layout.repack_rows(raw, rows, &mut quants, &mut aux).unwrap();
    let mut expected = vec![0.0; rows * cols];
    decode_row(t, raw, &mut expected).unwrap();
    let mut found = vec![f32::NAN; cols];
    for r in 0..rows {
        layout.unpack_row(&quants, &aux, r, &mut found).unwrap();
        assert_bits(&found, &expected[r * cols..(r + 1) * cols], &format!("{t} {what} row {r}"));
    }
    for g in 0..layout.groups as usize {
        let group = layout.unpack_group(&quants, &aux, 0, g).unwrap();
        check_traits(t, &group);
    }
}

/// The formula that kernels fold must give the same weights, and the traits must not promise too much.
fn check_traits(t: TensorType, group: &GroupCodes) {
    let facts = traits(t).unwrap();
    for k in 0..32 {
        let (d, m) = group.scale[k / 16];
        assert_eq!(d * (group.codes[k] - group.offset) - m, group.values[k], "{t}");
        assert!(facts.min || m == 0.0, "{t} has a minimum");
        assert!(facts.signed_codes || facts.plain || group.codes[k] >= 0.0, "{t} has a negative code");
    }
    assert_eq!(facts.offset, group.offset != 0.0, "{t}");
    assert!(facts.halves || group.scale[0] == group.scale[1], "{t} has two scales");
}

#[test]
fn golden_blocks_survive_the_planes() {
    let golden = load();
    let mut seen = 0;
    for (name, (shape, raw)) in golden.iter().filter(|(n, _)| n.ends_with(".raw")) {
        let t = TensorType::from_name(name.split('.').next().unwrap()).unwrap();
        if supported(t) {
            let cols = raw.len() / shape[0] * t.block_len() as usize / t.block_bytes() as usize;
            check(t, raw, shape[0], cols, name);
            seen += 1;
        }
    }
    assert_eq!(seen, 21);
}

#[test]
fn random_rows_survive_the_planes() {
    for &t in DEVICE_TYPES {
        let block = t.block_len() as usize;
        // Odd numbers of blocks pad a pair; float rows end in the middle of a group and of a word.
        let widths = if block == 1 { [1, 31, 32, 97, 576] } else { [1, 2, 3, 7, 8].map(|n| n * block) };
        for cols in widths {
            check(t, &random_blocks(t, 5, cols, cols as u64), 5, cols, &format!("cols {cols}"));
        }
    }
}

#[test]
fn random_blocks_are_sane() {
    for &t in crate::weights::DECODED_TYPES {
        let mut out = vec![0.0; 64 * 1024];
        decode_row(t, &random_blocks(t, 64, 1024, 7), &mut out).unwrap();
        let top = out.iter().fold(0.0f32, |m, x| m.max(x.abs()));
        assert!((0.2..1.1).contains(&top), "{t}: largest weight {top}");
        assert_eq!(random_blocks(t, 2, 512, 7), random_blocks(t, 2, 512, 7));
    }
}

#[test]
fn served_bits_are_those_of_the_table() {
    for &t in DEVICE_TYPES {
        let layout = PlaneLayout::new(t, 4096).unwrap();
        assert_eq!(layout.served_bits_per_weight(), traits(t).unwrap().bits, "{t}");
        assert_eq!(layout.served_bits_per_weight(), t.bits_per_weight(), "{t}");
        assert_eq!(layout.quant_words_per_row % 4, 0);
        let text = format!("| {} |", traits(t).unwrap().bits);
        let row = include_str!("../planes.rs")
            .lines()
            .find(|l| {
                let types = l.split('|').nth(1).unwrap_or("");
                l.starts_with("//! |") && types.split(", ").any(|n| n.trim() == t.name())
            })
            .unwrap();
        assert!(row.ends_with(&text), "{t}: {row}");
    }
    // One padded half word at most.
    assert_eq!(PlaneLayout::new(TensorType::Q4_0, 96).unwrap().aux_words_per_row, 2);
    assert_eq!(PlaneLayout::new(TensorType::Q6_K, 256).unwrap().served_bytes_per_row(), 212);
}

#[test]
fn bad_sizes_are_errors() {
    use TensorType::*;
    assert!(matches!(
        PlaneLayout::new(Q4_K, 288),
        Err(WeightsError::RowLength { block: 256, found: 288, .. })
    ));
    assert!(matches!(PlaneLayout::new(F16, 0), Err(WeightsError::RowLength { .. })));
    assert!(matches!(PlaneLayout::new(TQ1_0, 256), Err(WeightsError::Unsupported { .. })));
    assert!(PlaneLayout::new(F32, u32::MAX).is_err_and(|e| matches!(e, WeightsError::TooLarge { .. })));
    let layout = PlaneLayout::new(Q4_0, 64).unwrap();
    assert!(matches!(layout.plane_words(usize::MAX), Err(WeightsError::TooLarge { .. })));
    assert!(matches!(
        layout.repack_rows(&[0; 36], 1, &mut [0; 8], &mut [0; 2]),
        Err(WeightsError::PlaneWords { plane: "aux", expected: 1, found: 2, .. })
    ));
    assert!(matches!(
        layout.repack_rows(&[0; 35], 1, &mut [0; 8], &mut [0; 1]),
        Err(WeightsError::SourceBytes { expected: 36, found: 35, .. })
    ));
    assert!(layout.repack_rows(&[], 0, &mut [], &mut []).is_ok());
    assert!(layout.unpack_group(&[0; 8], &[0; 1], usize::MAX, 0).is_err());
    assert!(layout.unpack_group(&[0; 8], &[0; 1], 0, 2).is_err());
}
