//! JSON with infinities.

use super::build::refused;
use crate::format::{json_f64, parse_json};

#[test]
fn infinities_in_both_spellings() {
    let text = r#"{"a": Infinity, "b": [-Infinity,NaN], "c": {"__float__": "Infinity"}, "d": -1.5, "e": 7,
        "s": "Infinity, NaN and \"-Infinity\" \\", "NaN": "\\\"NaN"}"#;
    let v = parse_json("config.json", text.as_bytes()).unwrap();
    assert_eq!(json_f64(&v["a"]), Some(f64::INFINITY));
    assert_eq!(json_f64(&v["b"][0]), Some(f64::NEG_INFINITY));
    assert!(json_f64(&v["b"][1]).unwrap().is_nan());
    assert_eq!(json_f64(&v["c"]), Some(f64::INFINITY));
    assert_eq!(json_f64(&v["d"]), Some(-1.5));
    assert_eq!(json_f64(&v["e"]), Some(7.0));
    assert_eq!(json_f64(&v["s"]), None);
    assert_eq!(v["s"], "Infinity, NaN and \"-Infinity\" \\");
    assert_eq!(v["NaN"], "\\\"NaN");
    assert_eq!(json_f64(&serde_json::json!({"__float__": "1"})), None);
}

#[test]
fn a_byte_order_mark_is_skipped() {
    assert_eq!(parse_json("f", b"\xef\xbb\xbf[1]").unwrap(), serde_json::json!([1]));
}

#[test]
fn near_misses_stay_errors() {
    for text in [
        "Infinit",
        "Infinityx",
        "xNaN",
        "1NaN",
        "NaN1",
        "--Infinity",
        "- Infinity",
        "INaN",
        "NaNNaN",
        "+Infinity",
        "NaN_",
        "\"open",
        "\"open\\",
        "[NaN",
        "nan",
        "",
        "1-Infinity",
        "1.NaN",
        "\\\"NaN\"",
    ] {
        refused(text, text.len(), &["f.json", "bad JSON"], || parse_json("f.json", text.as_bytes()));
    }
}

#[test]
fn hostile_json() {
    let many = format!("[{}NaN]", "NaN,".repeat(100_000));
    refused("many NaNs", many.len(), &["more than 4096"], || parse_json("f.json", many.as_bytes()));
    let deep = "[".repeat(1_000_000);
    refused("deep", deep.len(), &["recursion limit"], || parse_json("f.json", deep.as_bytes()));
    let key = format!("{{\"{}\": 1e999}}", "k\\u001b".repeat(10_000));
    refused("number out of range", key.len(), &["out of range"], || parse_json("f.json", key.as_bytes()));
}
