//! How much a template may make: every value that it names, writes or passes through a filter is weighed.
//!
//! A value's weight is that of the tree it spells: a list that holds another one twice counts it twice, as writing it
//! would. Counting stops at the limit, so that weighing a hostile value costs no more than weighing a large one.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::value::{Rest, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, Value, filters};

use super::template_scan::CHECK;

/// The heaviest value.
pub(super) const MAX_VALUE: usize = 8 << 20;
/// What the tags of a template may hold at a time, going by what each has named last.
const MAX_HELD: usize = 256 << 20;
/// What filters and methods may make, and what may be written, in one rendering.
const MAX_MADE: u64 = 1 << 30;
/// Values looked at in one rendering.
const MAX_LOOKS: u64 = 20_000_000;
/// The weight of a value besides its text.
const NODE: usize = 32;
/// Values within values.
const MAX_DEPTH: usize = 200;
/// Widths and counts that filters take.
const MAX_COUNT: u64 = 10_000;

/// What one rendering has used up.
#[derive(Default)]
struct Work {
    looks: AtomicU64,
    made: AtomicU64,
    sites: Mutex<HashMap<u64, usize>>,
}

fn refuse(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, what.into())
}

fn too_large() -> Error {
    refuse(format!("a value larger than {MAX_VALUE} bytes"))
}

impl Work {
    /// The weight of a value, an error above the limit.
    fn weigh(&self, value: &Value) -> Result<usize, Error> {
        let mut total = 0usize;
        let mut stack = vec![(value.clone(), 0usize)];
        let mut looks = 0u64;
        while let Some((value, depth)) = stack.pop() {
            looks += 1;
            let text = value.as_str().map(str::len).or_else(|| value.as_bytes().map(<[u8]>::len));
            total = total.saturating_add(NODE + text.unwrap_or(0));
            if depth > MAX_DEPTH {
                return Err(refuse("a value is nested too deeply"));
            }
            let pairs = match value.kind() {
                ValueKind::Seq | ValueKind::Iterable => false,
                ValueKind::Map => true,
                _ if total > MAX_VALUE => return Err(too_large()),
                _ => continue,
            };
            let length = value.len().unwrap_or(0);
            if total.saturating_add(length.saturating_mul(NODE)) > MAX_VALUE {
                return Err(too_large());
            }
            let before = stack.len();
            for item in value.try_iter()? {
                if pairs {
                    stack.push((value.get_item(&item)?, depth + 1));
                }
                stack.push((item, depth + 1));
                // An iterable need not know its length.
                if total.saturating_add((stack.len() - before).saturating_mul(NODE)) > MAX_VALUE {
                    return Err(too_large());
                }
            }
        }
        let looks = looks + self.looks.fetch_add(looks, Ordering::Relaxed);
        if looks > MAX_LOOKS {
            return Err(Error::new(ErrorKind::OutOfFuel, "values too large to be looked at so often"));
        }
        Ok(total)
    }

    /// Counts something that was made or written.
    fn count(&self, weight: usize) -> Result<(), Error> {
        let made = self.made.fetch_add(weight as u64, Ordering::Relaxed);
        if made.saturating_add(weight as u64) > MAX_MADE {
            return Err(refuse(format!("more than {MAX_MADE} bytes of text are made")));
        }
        Ok(())
    }

    /// What the tag `site` has just named.
    fn named(&self, site: u64, values: &[Value]) -> Result<(), Error> {
        let mut total = 0usize;
        for value in values {
            total = total.saturating_add(self.weigh(value)?);
        }
        let mut sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        sites.insert(site, total);
        if sites.values().fold(0usize, |sum, v| sum.saturating_add(*v)) > MAX_HELD {
            return Err(refuse(format!("values of more than {MAX_HELD} bytes are held")));
        }
        Ok(())
    }

    /// Calls a filter or method with arguments that have been weighed.
    fn bounded(
        &self,
        name: &str,
        args: &[Value],
        call: impl FnOnce(&[Value]) -> Result<Value, Error>,
    ) -> Result<Value, Error> {
        let mut weight = 0usize;
        for arg in args {
            weight = weight.saturating_add(self.weigh(arg)?);
        }
        foresee(name, args, weight)?;
        let made = call(args)?;
        self.count(self.weigh(&made)?)?;
        Ok(made)
    }
}

/// Refuses a call whose result would be far larger than its arguments. The first argument is what the filter or method
/// is applied to.
fn foresee(name: &str, args: &[Value], weight: usize) -> Result<(), Error> {
    let text = |i: usize| args.get(i).and_then(Value::as_str).unwrap_or_default();
    let length = |i: usize| args.get(i).and_then(Value::as_str).map_or(0, str::len);
    let made = match name {
        "indent" | "batch" | "slice" => {
            let mut counts = Vec::new();
            for arg in args.iter().skip(1) {
                match arg.kind() {
                    // Named arguments.
                    ValueKind::Map => {
                        for key in arg.try_iter()? {
                            counts.push(arg.get_item(&key)?);
                        }
                    }
                    _ => counts.push(arg.clone()),
                }
            }
            let number = |v: &Value| v.as_i64().map(i64::unsigned_abs);
            let most = counts.iter().filter(|v| v.is_number()).map(|v| number(v).unwrap_or(u64::MAX)).max();
            let most = most.unwrap_or(4);
            if most > MAX_COUNT {
                return Err(refuse(format!("{name}: {most} is more than {MAX_COUNT}")));
            }
            let lines = if name == "indent" { text(0).matches('\n').count() + 1 } else { 1 };
            lines.saturating_mul(most as usize)
        }
        "replace" => {
            let (old, new) = (text(1), length(2));
            text(0).matches(old).count().saturating_mul(new)
        }
        "join" => {
            // The filter is applied to a list and the method to the text between its items.
            let (list, between) =
                if length(0) > 0 { (args.get(1), length(0)) } else { (args.first(), length(1)) };
            let items = match list.filter(|v| matches!(v.kind(), ValueKind::Seq | ValueKind::Iterable)) {
                Some(list) => list.try_iter()?.count(),
                None => list.and_then(Value::as_str).map_or(0, str::len),
            };
            items.saturating_mul(between)
        }
        "format" => {
            let fields = text(0).matches(['%', '{']).count();
            let rest = weight.saturating_sub(length(0));
            widths(text(0)).saturating_add(fields.saturating_mul(rest) / 8)
        }
        _ => 0,
    };
    if made > MAX_VALUE { Err(too_large()) } else { Ok(()) }
}

/// The sum of the numbers in a format that may be widths or precisions: those of more than one digit behind a `%` or `{`.
fn widths(format: &str) -> usize {
    let mut total = 0usize;
    let mut within = false;
    let mut digits = 0usize;
    for c in format.chars().chain([' ']) {
        match c {
            '0'..='9' if within => {
                digits = digits.saturating_mul(10).saturating_add(c as usize - '0' as usize);
                continue;
            }
            '%' | '{' => within = true,
            c if c.is_alphabetic() || c == '}' => {
                total = total.saturating_add(digits);
                within = false;
            }
            _ => {}
        }
        total = total.saturating_add(if within { digits } else { 0 });
        digits = 0;
    }
    total
}

/// Puts the checks into an environment.
pub(super) fn install(env: &mut Environment<'static>) {
    let work = Arc::new(Work::default());
    let own = work.clone();
    env.add_function(CHECK, move |site: u64, values: Rest<Value>| {
        own.named(site, &values).map(|()| Value::UNDEFINED)
    });
    // The engine's own shows everything that the template holds.
    env.add_function("debug", || "");
    let own = work.clone();
    env.set_formatter(move |out, state, value| {
        own.count(own.weigh(value)?)?;
        minijinja::escape_formatter(out, state, value)
    });
    let own = work.clone();
    env.set_unknown_method_callback(move |state, value, method, args| {
        let mut all = vec![value.clone()];
        all.extend_from_slice(args);
        own.bounded(method, &all, |_| {
            minijinja_contrib::pycompat::unknown_method_callback(state, value, method, args)
        })
    });
    for (name, filter) in builtins() {
        let own = work.clone();
        env.add_filter(name, move |state: &State, args: Rest<Value>| {
            own.bounded(name, &args, |args| filter.call(state, args))
        });
    }
}

/// The engine's filters that walk or copy what they are given.
fn builtins() -> Vec<(&'static str, Value)> {
    vec![
        ("batch", Value::from_function(filters::batch)),
        ("capitalize", Value::from_function(filters::capitalize)),
        ("chain", Value::from_function(filters::chain)),
        ("dictsort", Value::from_function(filters::dictsort)),
        ("format", Value::from_function(filters::format)),
        ("groupby", Value::from_function(filters::groupby)),
        ("indent", Value::from_function(filters::indent)),
        ("items", Value::from_function(filters::items)),
        ("join", Value::from_function(filters::join)),
        ("last", Value::from_function(filters::last)),
        ("lines", Value::from_function(filters::lines)),
        ("list", Value::from_function(filters::list)),
        ("lower", Value::from_function(filters::lower)),
        ("map", Value::from_function(filters::map)),
        ("max", Value::from_function(filters::max)),
        ("min", Value::from_function(filters::min)),
        ("pprint", Value::from_function(filters::pprint)),
        ("reject", Value::from_function(filters::reject)),
        ("rejectattr", Value::from_function(filters::rejectattr)),
        ("replace", Value::from_function(filters::replace)),
        ("reverse", Value::from_function(filters::reverse)),
        ("select", Value::from_function(filters::select)),
        ("selectattr", Value::from_function(filters::selectattr)),
        ("slice", Value::from_function(filters::slice)),
        ("sort", Value::from_function(filters::sort)),
        ("split", Value::from_function(filters::split)),
        ("string", Value::from_function(filters::string)),
        ("sum", Value::from_function(filters::sum)),
        ("title", Value::from_function(filters::title)),
        ("tojson", Value::from_function(super::template_fns::tojson)),
        ("trim", Value::from_function(filters::trim)),
        ("unique", Value::from_function(filters::unique)),
        ("upper", Value::from_function(filters::upper)),
        ("zip", Value::from_function(filters::zip)),
    ]
}

#[cfg(test)]
mod tests {
    use super::{Work, widths};
    use minijinja::Value;

    #[test]
    fn a_list_held_twice_weighs_twice() {
        let work = Work::default();
        let mut value = Value::from("abcd");
        assert_eq!(work.weigh(&value).expect("a weight"), 36);
        for _ in 0..10 {
            value = Value::from(vec![value.clone(), value]);
        }
        assert_eq!(work.weigh(&value).expect("a weight"), 1023 * 32 + 1024 * 36);
        for _ in 0..30 {
            value = Value::from(vec![value.clone(), value]);
        }
        assert!(work.weigh(&value).is_err());
    }

    #[test]
    fn widths_of_formats() {
        assert_eq!(widths("%999d and 2024"), 999);
        assert_eq!(widths("{:>100} {0:.20f}"), 120);
        assert_eq!(widths("100 % 3s, %5.2f"), 10);
        assert!(widths("%99999999999999999999d") > 1 << 40);
    }
}
