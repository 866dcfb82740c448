//! What chat templates may call, and what is done to templates and messages before they meet.

use std::fmt::Write as _;

use minijinja::value::{Kwargs, Rest, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, Value};
use serde_json::Value as Json;

use super::clock::{Clock, format_time};
use super::template::FUEL;

/// What a template said when it refused the conversation. Travels as the source of the engine's error.
#[derive(Debug)]
pub(super) struct Raised(pub(super) String);

impl std::fmt::Display for Raised {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Raised {}

/// Adds the functions and filters that templates expect.
pub(super) fn install(env: &mut Environment<'static>, clock: Clock) {
    env.add_function("raise_exception", |message: Value| -> Result<Value, Error> {
        let message = message.to_string();
        Err(Error::new(ErrorKind::InvalidOperation, message.clone()).with_source(Raised(message)))
    });
    env.add_function("strftime_now", move |pattern: String| format_time(clock.now(), &pattern));
    env.add_function("range", range);
}

/// Python's `range`. A range that no loop could get through is refused at once, as out of steps.
fn range(state: &State, first: i64, second: Option<i64>, step: Option<i64>) -> Result<Value, Error> {
    let (start, stop) = second.map_or((0, first), |stop| (first, stop));
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(Error::new(ErrorKind::InvalidOperation, "range() with a step of zero"));
    }
    let span = i128::from(stop) - i128::from(start);
    let step_wide = i128::from(step);
    let count = if (span > 0) == (step > 0) && span != 0 {
        (span.abs() + step_wide.abs() - 1) / step_wide.abs()
    } else {
        0
    };
    let left = state.fuel_levels().map_or(FUEL, |(_, left)| left);
    if count > i128::from(left) {
        return Err(Error::new(ErrorKind::OutOfFuel, format!("range() of {count} numbers")));
    }
    let count = count as i64;
    // Lazy: a template cannot fill the memory by asking for many ranges.
    Ok(Value::make_iterable(move || (0..count).map(move |i| Value::from(start + i * step))))
}

/// `json.dumps` of Python, with non-ASCII text kept: nothing is escaped for HTML.
pub(super) fn tojson(value: Value, positional: Rest<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let argument = |at: usize, name: &str| -> Result<Option<Value>, Error> {
        let found: Option<Value> = kwargs.get(name)?;
        Ok(found.or_else(|| positional.get(at).cloned()).filter(|v| !v.is_none() && !v.is_undefined()))
    };
    let ascii = argument(0, "ensure_ascii")?.is_some_and(|v| v.is_true());
    let indent = match argument(1, "indent")? {
        Some(v) => match v.as_str() {
            Some(text) => Some(text.chars().take(16).collect()),
            None => Some(" ".repeat(usize::try_from(v).unwrap_or(0).min(16))),
        },
        None => None,
    };
    let mut separators =
        if indent.is_some() { (",".to_owned(), ": ".to_owned()) } else { (", ".to_owned(), ": ".to_owned()) };
    if let Some(pair) = argument(2, "separators")? {
        // A separator stands between any two values: a long one could write far more than there is to separate.
        let short = |s: &str| s.chars().take(16).collect::<String>();
        let part = |i: usize| pair.get_item_by_index(i).ok().and_then(|v| v.as_str().map(short));
        if let (Some(item), Some(key)) = (part(0), part(1)) {
            separators = (item, key);
        }
    }
    let sort = argument(3, "sort_keys")?.is_some_and(|v| v.is_true());
    kwargs.assert_all_used()?;
    let json = plain(&value, 0)?;
    let mut out = String::new();
    let style = JsonStyle { ascii, indent, item: separators.0, key: separators.1, sort };
    style.write(&json, 0, &mut out);
    Ok(Value::from(out))
}

/// Nested values deeper than this are not written: a template can nest without end, our stack cannot.
const MAX_DEPTH: usize = 100;

/// The value as JSON.
fn plain(value: &Value, depth: usize) -> Result<Json, Error> {
    let refuse = |why: &str| Error::new(ErrorKind::InvalidOperation, format!("tojson: {why}"));
    if depth > MAX_DEPTH {
        return Err(refuse("nested too deeply"));
    }
    Ok(match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => {
            Json::Array(value.try_iter()?.map(|v| plain(&v, depth + 1)).collect::<Result<_, _>>()?)
        }
        ValueKind::Map => {
            let mut map = serde_json::Map::new();
            for key in value.try_iter()? {
                let item = plain(&value.get_item(&key)?, depth + 1)?;
                map.insert(key.to_string(), item);
            }
            Json::Object(map)
        }
        _ => serde_json::to_value(value).map_err(|e| refuse("not expressible in JSON").with_source(e))?,
    })
}

struct JsonStyle {
    ascii: bool,
    indent: Option<String>,
    item: String,
    key: String,
    sort: bool,
}

impl JsonStyle {
    fn write(&self, value: &Json, depth: usize, out: &mut String) {
        match value {
            Json::Null => out.push_str("null"),
            Json::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            Json::Number(n) => match n.as_f64().filter(|_| n.is_f64()) {
                Some(x) => out.push_str(&python_float(x)),
                None => {
                    let _ = write!(out, "{n}");
                }
            },
            Json::String(s) => self.text(s, out),
            Json::Array(list) => self.list('[', ']', list.iter(), depth, out, |v, out| {
                self.write(v, depth + 1, out);
            }),
            Json::Object(map) => {
                let mut entries: Vec<_> = map.iter().collect();
                if self.sort {
                    entries.sort_by(|a, b| a.0.cmp(b.0));
                }
                self.list('{', '}', entries.into_iter(), depth, out, |(k, v), out| {
                    self.text(k, out);
                    out.push_str(&self.key);
                    self.write(v, depth + 1, out);
                });
            }
        }
    }

    fn list<T>(
        &self,
        open: char,
        close: char,
        items: impl ExactSizeIterator<Item = T>,
        depth: usize,
        out: &mut String,
        mut write: impl FnMut(T, &mut String),
    ) {
        out.push(open);
        let any = items.len() > 0;
        for (i, item) in items.enumerate() {
            if i > 0 {
                out.push_str(&self.item);
            }
            self.line(depth + 1, out);
            write(item, out);
        }
        if any {
            self.line(depth, out);
        }
        out.push(close);
    }

    fn line(&self, depth: usize, out: &mut String) {
        if let Some(indent) = &self.indent {
            out.push('\n');
            for _ in 0..depth {
                out.push_str(indent);
            }
        }
    }

    fn text(&self, text: &str, out: &mut String) {
        out.push('"');
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                c if (c as u32) < 0x20 => {
                    let _ = write!(out, "\\u{:04x}", c as u32);
                }
                c if self.ascii && !c.is_ascii() => {
                    let mut units = [0u16; 2];
                    for unit in c.encode_utf16(&mut units) {
                        let _ = write!(out, "\\u{unit:04x}");
                    }
                }
                c => out.push(c),
            }
        }
        out.push('"');
    }
}

/// A float as Python prints it: the shortest digits that read back the same, an exponent of two digits where the
/// number is below 1e-4 or from 1e16 on.
fn python_float(x: f64) -> String {
    let shortest = format!("{x:e}");
    let Some((digits, exponent)) = shortest.split_once('e') else { return shortest };
    match exponent.parse::<i32>() {
        Ok(e) if !(-4..16).contains(&e) => {
            let sign = if e < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", e.abs())
        }
        _ => format!("{x:?}"),
    }
}

/// Makes the `{% generation %}` tags, which mark what an assistant wrote for training, do nothing. They become an
/// `if` that is always true, so that white space round them is treated as the tag's own.
pub(super) fn without_generation_tags(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("{%") {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        let Some((inside, after)) = tag.get(2..).and_then(|t| t.split_once("%}")) else {
            rest = tag;
            break;
        };
        let word = inside.trim_start_matches(['-', '+']).trim_end_matches(['-', '+']).trim();
        let replacement = match word {
            "generation" => "if true",
            "endgeneration" => "endif",
            _ => {
                // Not one of ours: go on behind the opening, so that a text like "{%" in a string is harmless.
                out.push_str("{%");
                rest = tag.get(2..).unwrap_or("");
                continue;
            }
        };
        let _ = write!(out, "{{%{}%}}", inside.replacen(word, replacement, 1));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// A message as templates want it: thoughts under both names that are in use, arguments of tool calls as objects.
pub(super) fn complete_message(message: &Json) -> Json {
    let mut message = message.clone();
    let Some(fields) = message.as_object_mut() else { return message };
    if fields.get("role").and_then(Json::as_str) == Some("assistant") {
        for (from, to) in [("reasoning_content", "thinking"), ("thinking", "reasoning_content")] {
            if !fields.contains_key(to)
                && let Some(thought) = fields.get(from).cloned()
            {
                fields.insert(to.to_owned(), thought);
            }
        }
    }
    for call in fields.get_mut("tool_calls").and_then(Json::as_array_mut).into_iter().flatten() {
        let arguments = match call.get_mut("function") {
            Some(function) => function.get_mut("arguments"),
            None => call.get_mut("arguments"),
        };
        if let Some(arguments) = arguments
            && let Some(Ok(object)) =
                arguments.as_str().map(serde_json::from_str::<serde_json::Map<String, Json>>)
        {
            *arguments = Json::Object(object);
        }
    }
    message
}
