//! `golay inspect`: what a model file holds, whether golay runs it or not.

use crate::args::InspectArgs;
use crate::cache;
use crate::error::{Result, at};
use crate::output::{self, human_bytes, human_count, printable};
use golay::format::{Array, Bytes, ModelFile, TensorInfo, TensorSet, Value, read_safetensors};
use golay::model;
use golay::weights::{DECODED_TYPES, supported};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Elements of an array that are shown without `--full`.
const SHOWN: usize = 8;

/// What was opened.
enum Opened {
    Model(Box<ModelFile>),
    /// A safetensors file on its own.
    Tensors(TensorSet),
}

pub fn run(args: &InspectArgs) -> Result<()> {
    let path = cache::resolve(&args.file)?;
    let opened = open(&path)?;
    let report = report(&path, &opened, args.full);
    if args.json { output::pretty_json(&report) } else { output::result(&text(&report)) }
}

fn open(path: &Path) -> Result<Opened> {
    let lone = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("safetensors"))
        && !path.parent().is_some_and(|p| p.join("config.json").is_file());
    if lone && path.is_file() {
        let bytes = Bytes::open(path).map_err(at(path))?;
        return Ok(Opened::Tensors(read_safetensors(&path.display().to_string(), bytes)?));
    }
    Ok(Opened::Model(Box::new(ModelFile::open(path)?)))
}

fn report(path: &Path, opened: &Opened, full: bool) -> Json {
    let mut out = Map::new();
    let mut put = |key: &str, value: Json| {
        out.insert(key.to_owned(), value);
    };
    put("file", json!(path.display().to_string()));
    let tensors = match opened {
        Opened::Model(file) => {
            match &**file {
                ModelFile::Gguf(g) => {
                    put("container", json!(format!("GGUF version {}", g.version)));
                    let pairs = g.metadata.iter().map(|(k, v)| (k.to_owned(), metadata(v, full)));
                    put("metadata", Json::Object(pairs.collect()));
                }
                ModelFile::Hf(h) => {
                    put("container", json!("Hugging Face folder"));
                    let notes = h.tensors.notes().iter().map(|(k, v)| (k.clone(), json!(v)));
                    put("metadata", shorten(&h.config, full));
                    put("notes", Json::Object(notes.collect()));
                    put("tokenizer", json!(h.tokenizer_json.is_some()));
                    put("chat_template", json!(h.chat_template.is_some()));
                }
            }
            put("model", architecture(file));
            file.tensors()
        }
        Opened::Tensors(t) => {
            put("container", json!("safetensors file"));
            put("metadata", t.notes().iter().map(|(k, v)| (k.clone(), json!(v))).collect());
            t
        }
    };
    put("files", json!(tensors.files().collect::<Vec<_>>()));
    put("file_bytes", json!(tensors.file_bytes()));
    put("tensors", tensors.iter().map(tensor).collect());
    put("types", totals(tensors));
    put("parameters", json!(tensors.iter().map(TensorInfo::elements).fold(0u64, u64::saturating_add)));
    Json::Object(out)
}

/// Whether the model runs, and its numbers if so.
fn architecture(file: &ModelFile) -> Json {
    let declared = match file {
        ModelFile::Gguf(g) => g.metadata.str("general.architecture").ok().flatten().map(str::to_owned),
        ModelFile::Hf(h) => h.config.get("model_type").and_then(Json::as_str).map(str::to_owned),
    };
    match model::read(file) {
        Ok(spec) => json!({
            "architecture": declared, "supported": true, "name": spec.name, "layers": spec.layers.len(),
            "hidden": spec.hidden, "vocab": spec.vocab, "context": spec.context, "unused_tensors": spec.unused,
        }),
        Err(e) => json!({ "architecture": declared, "supported": false, "why": crate::error::chain(&e) }),
    }
}

fn tensor(t: &TensorInfo) -> Json {
    json!({ "name": t.name, "type": t.ttype.name(), "shape": t.shape, "bytes": t.bytes })
}

fn totals(tensors: &TensorSet) -> Json {
    let mut by_type = BTreeMap::<&str, (u64, u64, &str)>::new();
    for t in tensors.iter() {
        let how = if supported(t.ttype) {
            "device"
        } else if DECODED_TYPES.contains(&t.ttype) {
            "converted"
        } else {
            "no"
        };
        let e = by_type.entry(t.ttype.name()).or_insert((0, 0, how));
        *e = (e.0 + 1, e.1.saturating_add(t.bytes), how);
    }
    let row = |(name, (n, bytes, how)): (&&str, &(u64, u64, &str))| json!({ "type": name, "tensors": n, "bytes": bytes, "supported": how });
    by_type.iter().map(row).collect()
}

fn metadata(v: &Value, full: bool) -> Json {
    match v {
        Value::Array(a) => {
            let shown = if full { a.len() } else { a.len().min(SHOWN) };
            let list: Vec<Json> = (0..shown).filter_map(|i| a.get(i)).map(|v| metadata(&v, full)).collect();
            if shown == a.len() {
                Json::Array(list)
            } else {
                json!({ "array": kind(a), "len": a.len(), "first": list })
            }
        }
        Value::String(s) => json!(s),
        Value::Bool(b) => json!(b),
        Value::F32(f) => float(f64::from(*f), || f.to_string()),
        Value::F64(f) => float(*f, || f.to_string()),
        Value::U64(n) => json!(n),
        // The rest are integers, which Display writes as numbers.
        other => other.to_string().parse::<i64>().map_or_else(|_| json!(other.to_string()), |n| json!(n)),
    }
}

fn kind(a: &Array) -> String {
    a.type_name()
}

/// A float as its shortest decimal form; JSON has no infinities.
fn float(value: f64, text: impl Fn() -> String) -> Json {
    match text().parse::<f64>() {
        Ok(short) if short.is_finite() => json!(short),
        _ => json!(value.to_string()),
    }
}

/// Long arrays of a config shortened.
fn shorten(v: &Json, full: bool) -> Json {
    match v {
        Json::Array(a) if !full && a.len() > 4 * SHOWN => {
            json!({ "len": a.len(), "first": a.iter().take(SHOWN).cloned().collect::<Vec<_>>() })
        }
        Json::Object(o) => Json::Object(o.iter().map(|(k, v)| (k.clone(), shorten(v, full))).collect()),
        other => other.clone(),
    }
}

/// The report for people.
fn text(r: &Json) -> String {
    const WIDTH: usize = 160;
    let short = |v: &Json| {
        let s = printable(&v.to_string());
        if s.chars().count() > WIDTH { s.chars().take(WIDTH).collect::<String>() + "..." } else { s }
    };
    let word = |v: &Json| v.as_str().map_or_else(|| v.to_string(), printable);
    let mut out = format!("{}\ncontainer   {}\n", word(&r["file"]), word(&r["container"]));
    let size = r["file_bytes"].as_u64().unwrap_or(0);
    out += &format!("size        {} ({size} bytes)\n", human_bytes(size));
    out += &format!("parameters  {}\n", human_count(r["parameters"].as_u64().unwrap_or(0)));
    if let Some(m) = r.get("model") {
        out += &format!("arch        {}\n", word(&m["architecture"]));
        out += &match m["why"].as_str() {
            Some(why) => format!("supported   no: {}\n", printable(why)),
            None => format!(
                "supported   yes: {} layers, hidden {}, vocabulary {}, context {}\n",
                m["layers"], m["hidden"], m["vocab"], m["context"]
            ),
        };
    }
    out += "\nmetadata\n";
    for (k, v) in r["metadata"].as_object().into_iter().flatten() {
        out += &format!("  {} = {}\n", printable(k), short(v));
    }
    out += "\ntensors\n";
    let list = r["tensors"].as_array().map(Vec::as_slice).unwrap_or_default();
    let width =
        list.iter().filter_map(|t| t["name"].as_str()).map(|n| n.chars().count()).max().unwrap_or(0).min(64);
    for t in list {
        let bytes = t["bytes"].as_u64().unwrap_or(0);
        out += &format!(
            "  {:width$}  {:8} {:18} {bytes:>12}\n",
            word(&t["name"]),
            word(&t["type"]),
            t["shape"].to_string().replace(',', ", ")
        );
    }
    out += "\ntypes\n";
    for t in r["types"].as_array().into_iter().flatten() {
        let how = match t["supported"].as_str() {
            Some("device") => "computed as it is",
            Some("converted") => "converted when loaded",
            _ => "not supported",
        };
        let bytes = human_bytes(t["bytes"].as_u64().unwrap_or(0));
        out += &format!("  {:8} {:>5} tensors {bytes:>12}  {how}\n", word(&t["type"]), t["tensors"]);
    }
    out
}
