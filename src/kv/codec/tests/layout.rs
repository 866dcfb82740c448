//! Sizes, sections and names.

use super::{DIMS, PAGES, every_codec, rows};
use crate::kv::codec::{Codec, KvSpecError, Side, Tier, pad4};

fn tier(spec: &str) -> Tier {
    Tier::parse(spec).unwrap()
}

/// Table 3.10 of the design, at 32 tokens: bits of keys and values at d = 64, then at d = 128.
#[test]
fn stored_bits_are_those_of_the_table() {
    for (spec, at64, at128) in [
        ("f32", (32.0, 32.0), (32.0, 32.0)),
        ("f16", (16.0, 16.0), (16.0, 16.0)),
        ("aff:256", (9.0, 9.0), (9.0, 9.0)),
        ("aff:16", (5.0, 5.0), (5.0, 5.0)),
        ("aff:9", (4.25, 4.25), (4.25, 4.25)),
        ("aff:8", (4.0, 4.0), (4.0, 4.0)),
        ("aff:5", (3.5, 3.5), (3.5, 3.5)),
        ("aff:4", (3.0, 3.0), (3.0, 3.0)),
        ("aff:3", (2.625, 2.625), (2.625, 2.625)),
        ("rot:16", (4.25, 4.25), (4.125, 4.125)),
        ("rot:8", (3.25, 3.25), (3.125, 3.125)),
        ("rot:4", (2.25, 2.25), (2.125, 2.125)),
        ("emb:4", (4.25, 4.25), (4.125, 4.125)),
        ("emb:3", (3.25, 3.25), (3.125, 3.125)),
        ("emb:2", (2.25, 2.25), (2.125, 2.125)),
        ("emb:4/2", (4.25, 2.25), (4.125, 2.125)),
        ("rot:5", (2.75, 2.75), (2.625, 2.625)),
        ("rot:3", (1.875, 1.875), (1.75, 1.75)),
        ("q8_0", (8.5, 8.5), (8.5, 8.5)),
        ("q4_0", (4.5, 4.5), (4.5, 4.5)),
    ] {
        let t = tier(spec);
        for (d, (k, v)) in [(64, at64), (128, at128)] {
            assert_eq!(t.k.stored_bits(Side::K, 32, d), k, "{spec} keys, {d} channels");
            assert_eq!(t.v.stored_bits(Side::V, 32, d), v, "{spec} values, {d} channels");
            assert_eq!(t.stored_bits(32, d), 0.5 * (k + v), "{spec}, {d} channels");
        }
    }
}

/// Code bits of the table of section 3.0.
#[test]
fn code_bits_are_those_of_the_table() {
    for (levels, at64, at128) in
        [(3, 1.625, 1.625), (5, 2.5, 2.5), (6, 2.75, 2.6875), (9, 3.25, 3.25), (2, 1.0, 1.0), (8, 3.0, 3.0)]
    {
        for (d, bits) in [(64, at64), (128, at128)] {
            let words = Codec::Rot { levels }.packing().unwrap().words(32, d);
            assert_eq!(words as f64 * 32.0 / (32 * d) as f64, bits, "{levels} levels, {d} channels");
        }
    }
}

#[test]
fn parts_follow_each_other_on_whole_vectors() {
    for k in every_codec() {
        for v in every_codec() {
            let t = Tier { k, v };
            for (p, d) in PAGES.iter().flat_map(|p| DIMS.map(|d| (*p, d))) {
                let head = t.head(p, d);
                let sizes = [head.k.meta_words, head.k.code_words, head.v.meta_words, head.v.code_words];
                let begins = [head.k_meta_at(), head.k_code_at(), head.v_meta_at(), head.v_code_at()];
                for i in 0..4 {
                    assert_eq!(begins[i], sizes[..i].iter().map(|w| pad4(*w)).sum::<usize>(), "{t} {p} {d}");
                }
                assert_eq!(t.head_words(p, d), sizes.iter().map(|w| pad4(*w)).sum::<usize>());
            }
        }
    }
}

#[test]
fn a_head_is_its_keys_and_its_values() {
    let (p, d) = (16, 80);
    for k in every_codec() {
        let t = Tier { k, v: Codec::Emb { bits: 2 } };
        let (keys, values) = (rows(1, p, d), rows(2, p, d));
        let words = t.encode_head(&keys, &values, 13, p, d);
        assert_eq!(words.len(), t.head_words(p, d));
        let (k_back, v_back) = t.decode_head(&words, p, d);
        assert_eq!(k_back, k.decode(Side::K, &k.encode(Side::K, &keys, 13, p, d), p, d));
        assert_eq!(v_back, t.v.decode(Side::V, &t.v.encode(Side::V, &values, 13, p, d), p, d));
    }
}

/// What lies past the valid rows changes no bit, and valid rows decode as if nothing else was there; too few rows or
/// words are no reason to panic.
#[test]
fn rows_past_the_valid_ones_do_not_count() {
    for codec in every_codec() {
        for side in [Side::K, Side::V] {
            for (p, d, valid) in [(32, 64, 0), (32, 64, 1), (16, 96, 7), (64, 80, 33), (16, 256, 16)] {
                let mut x = rows(3, p, d);
                let words = codec.encode(side, &x, valid, p, d);
                assert_eq!(words.len(), codec.layout(side, p, d).words());
                assert_eq!(words, codec.encode(side, &x[..valid * d], p, p, d), "{codec} {side:?}");
                x[valid * d..].fill(1e9);
                assert_eq!(words, codec.encode(side, &x, valid, p, d), "{codec} {side:?}");
                let back = codec.decode(side, &words, p, d);
                assert_eq!(back.len(), p * d);
                assert!(back.iter().all(|x| x.is_finite()));
                assert_eq!(codec.decode(side, &words[..words.len() / 2], p, d).len(), p * d);
                if valid == 0 {
                    assert!(words.iter().all(|w| *w == 0));
                }
            }
        }
    }
}

/// Zeros are zeros in every codec, and take code 0 where they have no extent.
#[test]
fn zeros_come_back() {
    for codec in every_codec() {
        for side in [Side::K, Side::V] {
            let words = codec.encode(side, &[0.0; 16 * 64], 16, 16, 64);
            assert!(words.iter().all(|w| *w == 0), "{codec}");
            assert!(codec.decode(side, &words, 16, 64).iter().all(|x| *x == 0.0), "{codec}");
        }
    }
}

#[test]
fn floats_are_rows_of_numbers() {
    let (p, d) = (16, 80);
    let x: Vec<f64> = rows(5, p, d).iter().map(|x| f64::from(half::f16::from_f64(*x))).collect();
    for side in [Side::K, Side::V] {
        let words = Codec::F16.encode(side, &x, p, p, d);
        let at = 3 * d + 7;
        let half = (words[at / 2] >> (16 * (at % 2))) as u16;
        assert_eq!(half::f16::from_bits(half).to_f64(), x[at]);
        assert_eq!(Codec::F16.decode(side, &words, p, d), x);
        let words = Codec::F32.encode(side, &x, p, p, d);
        assert_eq!(f64::from(f32::from_bits(words[at])), x[at]);
        assert_eq!(Codec::F32.decode(side, &words, p, d), x);
    }
}

#[test]
fn names_are_read_and_given_back() {
    for (spec, k, v) in [
        ("f32", Codec::F32, Codec::F32),
        ("f16", Codec::F16, Codec::F16),
        ("aff:5", Codec::Aff { levels: 5 }, Codec::Aff { levels: 5 }),
        ("aff:16/4", Codec::Aff { levels: 16 }, Codec::Aff { levels: 4 }),
        ("rot:8/4", Codec::Rot { levels: 8 }, Codec::Rot { levels: 4 }),
        ("emb:4", Codec::Emb { bits: 4 }, Codec::Emb { bits: 4 }),
        ("emb:4/2", Codec::Emb { bits: 4 }, Codec::Emb { bits: 2 }),
        ("q8_0", Codec::Token { levels: 256 }, Codec::Token { levels: 256 }),
        ("q4_0", Codec::Token { levels: 16 }, Codec::Token { levels: 16 }),
        ("q8_0/q4_0", Codec::Token { levels: 256 }, Codec::Token { levels: 16 }),
        ("f16/emb:3", Codec::F16, Codec::Emb { bits: 3 }),
        ("emb:3/f16", Codec::Emb { bits: 3 }, Codec::F16),
        ("aff:4/f16", Codec::Aff { levels: 4 }, Codec::F16),
        ("emb:4/aff:4", Codec::Emb { bits: 4 }, Codec::Aff { levels: 4 }),
    ] {
        assert_eq!(tier(spec), Tier { k, v }, "{spec}");
        assert_eq!(tier(spec).to_string(), spec);
    }
    for (spelt, canonical) in [("emb:4/4", "emb:4"), ("emb:4/emb:2", "emb:4/2"), ("f16/f16", "f16")] {
        assert_eq!(tier(spelt).to_string(), canonical);
    }
    for k in every_codec() {
        for v in every_codec() {
            let t = Tier { k, v };
            match t.check() {
                Ok(()) => assert_eq!(t.to_string().parse(), Ok(t)),
                Err(e) => assert_eq!(t.to_string().parse::<Tier>(), Err(e)),
            }
        }
    }
}

#[test]
fn what_is_wrong_with_a_name_is_said() {
    for spec in
        ["", "q5_0", "emb", "f16:3", "emb:", "emb:4/", "/", "4", "f16/4", "q8_0/4", "EMB:4", "emb:4/2/1"]
    {
        let e = Tier::parse(spec).unwrap_err().to_string();
        let (keys, values) = spec.split_once('/').unwrap_or((spec, spec));
        let named = [spec, keys, values].iter().any(|part| e.contains(&format!("{part:?}")));
        assert!(named && e.contains("no KV cache type"), "{spec}: {e}");
    }
    for (spec, given, valid) in [
        ("emb:5", "emb:5", "1, 2, 3, 4"),
        ("emb:0", "emb:0", "1, 2, 3, 4"),
        ("emb:260", "emb:260", "1, 2, 3, 4"),
        ("emb:-1", "emb:-1", "1, 2, 3, 4"),
        ("rot:7", "rot:7", "2, 3, 4, 5, 6, 8, 9, 16"),
        ("aff:2", "aff:2", "3, 4, 5, 6, 8, 9, 16, 256"),
        ("aff:99999", "aff:99999", "3, 4, 5, 6, 8, 9, 16, 256"),
        ("aff:4/7", "aff:7", "3, 4, 5, 6, 8, 9, 16, 256"),
    ] {
        match Tier::parse(spec) {
            Err(KvSpecError::Number { given: g, valid: v, .. }) => assert_eq!((&*g, &*v), (given, valid)),
            other => panic!("{spec}: {other:?}"),
        }
    }
}

#[test]
fn one_basis_serves_both_sides() {
    for spec in ["aff:4/emb:3", "aff:16/rot:4", "aff:5/q8_0"] {
        assert!(matches!(Tier::parse(spec), Err(KvSpecError::Basis { .. })), "{spec}");
    }
    for (spec, hadamard) in [
        ("f32", false),
        ("f16", false),
        ("aff:4", false),
        ("aff:4/f16", false),
        ("q8_0", true),
        ("rot:5", true),
    ] {
        assert_eq!(tier(spec).needs_hadamard(), hadamard, "{spec}");
    }
    assert!(tier("f16/emb:3").needs_hadamard() && tier("emb:3/f16").needs_hadamard());
}
