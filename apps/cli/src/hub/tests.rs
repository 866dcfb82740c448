use super::*;
use serde_json::json;

#[test]
fn names_are_read() {
    let repo = |r: &str, q: Option<&str>| Ok(Source::Repo { repo: r.into(), quant: q.map(Into::into) });
    assert_eq!(parse("a/b"), repo("a/b", None));
    assert_eq!(parse("hf:a/b:Q4_K_M"), repo("a/b", Some("Q4_K_M")));
    let file = |f: &str| Ok(Source::File { repo: "a/b".into(), file: f.into(), sha256: None });
    assert_eq!(parse("a/b/c.gguf"), file("c.gguf"));
    assert_eq!(parse("hf:a/b/d/c.gguf"), file("d/c.gguf"));
    assert_eq!(parse("https://huggingface.co/a/b/blob/main/c.gguf"), file("c.gguf"));
    assert_eq!(parse("https://x.org/c.gguf"), Ok(Source::Url("https://x.org/c.gguf".into())));
    assert!(matches!(parse("SmolLM2"), Ok(Source::File { sha256: Some(_), .. })));
    for bad in ["", "model", "a/", "/b", "a/../b", "a/b/../c", "a/b:", "a:b/c", "a/b:Q/c", "../x"] {
        assert!(parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn split_models_are_recognised() {
    assert_eq!(split_name("m-00002-of-00003.gguf"), Some(("m", 2, 3)));
    assert_eq!(split_name("m-2-of-3.gguf"), None);
    assert_eq!(shards("m-00002-of-00003.gguf").len(), 3);
    assert_eq!(shards("m-00001-of-99999.gguf").len(), 1);
}

#[test]
fn one_model_of_a_repository_is_chosen() {
    let file =
        |p: &str| json!({"type": "file", "path": p, "size": 5, "lfs": {"oid": "a".repeat(64), "size": 7}});
    let names = |q: Option<&str>, list: &[&str]| {
        let list: Vec<Value> = list.iter().map(|p| file(p)).collect();
        choose("o/r", &json!(list), q).map(|l| l.into_iter().map(|w| w.name).collect::<Vec<_>>())
    };
    let some = ["m.IQ4_XS.gguf", "m.Q4_K_M.gguf", "m.Q4_K.gguf", "README.md", "../evil.Q4_K_M.gguf"];
    assert_eq!(names(None, &some).unwrap(), ["m.Q4_K_M.gguf"]);
    assert_eq!(names(Some("q4_k"), &some).unwrap(), ["m.Q4_K.gguf"]);
    assert!(names(Some("Q9"), &some).unwrap_err().to_string().contains("m.IQ4_XS.gguf"));
    let split = ["q/m-Q8_0-00001-of-00002.gguf", "q/m-Q8_0-00002-of-00002.gguf", "x-Q4_0-extra-Q2.gguf"];
    assert_eq!(names(Some("Q8_0"), &split).unwrap().len(), 2);
    let folder = ["config.json", "model.safetensors", "tokenizer.json", "pytorch_model.bin"];
    let got = choose("o/r", &json!(folder.iter().map(|p| file(p)).collect::<Vec<_>>()), None).unwrap();
    assert_eq!(got.len(), 3);
    assert_eq!((got[1].folder.as_deref(), got[1].size), (Some("o--r"), Some(7)));
    assert!(names(None, &["pytorch_model.bin"]).is_err());
}
