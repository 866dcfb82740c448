//! Codes are where the layout says, and come back.

use super::{DIMS, PAGES, every_codec};
use crate::kv::codec::Codec;
use crate::kv::codec::pack::{Packing, digits_per_word, rows_per_tile};
use crate::weights::SplitMix;

/// The code of channel `c` of token `t`, read as the documentation of [`Packing`] puts it.
fn read(packing: Packing, words: &[u32], p: usize, d: usize, t: usize, c: usize) -> u8 {
    match packing {
        Packing::Digits { levels } => {
            let (n, rows) = (digits_per_word(levels), rows_per_tile(levels));
            let i = t % rows * d + c;
            let word = u64::from(words[t / rows * (rows * d).div_ceil(n) + i / n]);
            (word / u64::from(levels).pow((i % n) as u32) % u64::from(levels)) as u8
        }
        Packing::Planes { bits } => {
            let bit = |j: u8| {
                let word = words[(usize::from(j) * p + t) * d.div_ceil(32) + c / 32];
                (word >> (c % 32) & 1) as u8
            };
            (0..bits).map(|j| bit(j) << (bits - 1 - j)).sum()
        }
    }
}

fn every_packing() -> Vec<(Packing, u32)> {
    let digits = [2, 3, 4, 5, 6, 8, 9, 16, 17, 256].map(|l| (Packing::Digits { levels: l }, u32::from(l)));
    let planes = [1, 2, 3, 4, 5, 6, 8].map(|b| (Packing::Planes { bits: b }, 1 << b));
    digits.into_iter().chain(planes).collect()
}

#[test]
fn words_hold_what_the_table_says() {
    let table = [(2, 32), (3, 20), (4, 16), (5, 13), (6, 12), (8, 10), (9, 10), (16, 8), (256, 4)];
    for (levels, n) in table {
        assert_eq!(digits_per_word(levels), n, "{levels} levels");
    }
    assert_eq!([2, 3, 4, 5, 6, 9, 16, 256].map(rows_per_tile), [1, 4, 1, 1, 4, 2, 1, 1]);
}

#[test]
fn codecs_have_their_packing() {
    for codec in every_codec() {
        let expected = match codec {
            Codec::F32 | Codec::F16 => None,
            Codec::Aff { levels: 8 } | Codec::Rot { levels: 8 } => Some(Packing::Planes { bits: 3 }),
            Codec::Emb { bits } => Some(Packing::Planes { bits }),
            Codec::Aff { levels } | Codec::Rot { levels } | Codec::Token { levels } => {
                Some(Packing::Digits { levels })
            }
        };
        assert_eq!(codec.packing(), expected);
    }
}

#[test]
fn random_codes_lie_where_the_layout_says() {
    let mut rng = SplitMix(7);
    for (packing, levels) in every_packing() {
        for (p, d) in PAGES.iter().flat_map(|p| DIMS.map(|d| (*p, d))).chain([(16, 33), (16, 1)]) {
            let codes: Vec<u8> = (0..p * d).map(|_| ((rng.next() >> 32) as u32 % levels) as u8).collect();
            let words = packing.pack(&codes, p, d);
            assert_eq!(words.len(), packing.words(p, d));
            for (t, c) in (0..p).flat_map(|t| (0..d).map(move |c| (t, c))) {
                assert_eq!(
                    read(packing, &words, p, d, t, c),
                    codes[t * d + c],
                    "{packing:?} {p} {d} {t} {c}"
                );
            }
            assert_eq!(packing.unpack(&words, p, d), codes, "{packing:?} {p} {d}");
        }
    }
}

/// Every digit at every place of a word, between neighbours that are all lowest or all highest.
#[test]
fn every_digit_at_every_place() {
    for (packing, levels) in every_packing() {
        let (p, d) = (4, 64);
        for (code, other) in (0..levels).flat_map(|c| [(c as u8, 0), (c as u8, (levels - 1) as u8)]) {
            for at in [0, 1, 2, 9, 10, 11, 12, 13, 19, 20, 31, 32, 63, 64, 127, 128, 191, 255] {
                let mut codes = vec![other; p * d];
                codes[at] = code;
                let words = packing.pack(&codes, p, d);
                assert_eq!(packing.unpack(&words, p, d), codes, "{packing:?} {code} {at}");
            }
        }
    }
}

#[test]
fn a_few_words_by_hand() {
    let pack = |levels, codes: &[u8]| Packing::Digits { levels }.pack(codes, 1, codes.len());
    assert_eq!(pack(16, &[1, 2, 3, 4, 5, 6, 7, 8, 15]), [0x8765_4321, 15]);
    assert_eq!(pack(256, &[1, 2, 3, 255]), [0xff03_0201]);
    assert_eq!(pack(5, &[4, 3, 2, 0, 1]), [4 + 15 + 50 + 625]);
    assert_eq!(pack(2, &[1; 33]), [u32::MAX, 1]);
    // Two tokens of nine levels share words: 2 * 6 digits, ten in the first word.
    let codes = [0, 1, 0, 0, 0, 0, 0, 0, 0, 8, 5, 7];
    assert_eq!(Packing::Digits { levels: 9 }.pack(&codes, 2, 6), [9 + 8 * 9u32.pow(9), 5 + 63]);
    // Bits 2, 1, 0 of two tokens of two channels.
    assert_eq!(Packing::Planes { bits: 3 }.pack(&[4, 6, 1, 7], 2, 2), [0b11, 0b10, 0b10, 0b10, 0b00, 0b11]);
}

/// Dropping the light planes of a block leaves the block of the codes without their light bits.
#[test]
fn planes_are_a_prefix() {
    let (p, d) = (16, 80);
    let mut rng = SplitMix(11);
    let codes: Vec<u8> = (0..p * d).map(|_| (rng.next() >> 60) as u8).collect();
    let words = Packing::Planes { bits: 4 }.pack(&codes, p, d);
    for bits in 1..4u8 {
        let packing = Packing::Planes { bits };
        let high: Vec<u8> = codes.iter().map(|c| c >> (4 - bits)).collect();
        assert_eq!(words[..packing.words(p, d)], packing.pack(&high, p, d));
    }
}

#[test]
fn short_input_counts_as_zeros() {
    for (packing, _) in every_packing() {
        let words = packing.pack(&[1, 1, 1], 16, 64);
        assert_eq!(words.len(), packing.words(16, 64));
        let codes = packing.unpack(&words[..words.len() / 2], 16, 64);
        assert_eq!(codes.len(), 16 * 64);
        assert!(codes.iter().skip(3).all(|c| *c == 0));
        assert!(packing.pack(&[], 0, 0).is_empty() && packing.unpack(&[], 0, 0).is_empty());
    }
}
