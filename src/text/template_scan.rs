//! A look at a template before the engine gets it: limits on its form, and a check behind every tag that names a value.
//!
//! Templates come with models and are not trusted. The engine parses, compiles and drops an expression recursively, so
//! that a long one overflows the stack; and it lets values grow without bound (`s + s` again and again). The first is
//! met by limits on the parts of a tag, the second by calling [`CHECK`] with whatever a `set`, `for`, `with`, `macro` or
//! `call` has just named: between two of those a template can only combine what has passed, a limited number of times.

use std::fmt::Write as _;

use super::error::TextError;

/// The function that the inserted calls go to; templates may not use the name.
pub(super) const CHECK: &str = "golay_check";

/// Bytes of a template.
const MAX_SOURCE: usize = 1 << 20;
/// Names, numbers, strings and signs in one tag.
const MAX_PARTS: usize = 1000;
/// `elif`s of a template: each is nested in the one before.
const MAX_ELIFS: usize = 500;
/// `+` and `~` in one tag.
const MAX_JOINS: usize = 100;
/// `*` in one tag.
const MAX_PRODUCTS: usize = 4;
/// How many times longer `*` may make a list that is then written or cut in the same tag.
const MAX_FACTOR: u64 = 64;

/// A template that may be compiled.
pub(super) struct Checked {
    /// The source with the calls in it. Lines are where they were.
    pub(super) source: String,
    /// Bytes of the longest text outside the tags.
    pub(super) longest_text: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Name,
    Number,
    Text,
    Sign,
}

#[derive(Clone, Copy)]
struct Part<'s> {
    kind: Kind,
    text: &'s str,
}

impl Part<'_> {
    fn is(&self, sign: &str) -> bool {
        self.kind == Kind::Sign && self.text == sign
    }
}

/// Looks at a template and puts the calls in.
pub(super) fn check(source: &str) -> Result<Checked, TextError> {
    if source.len() > MAX_SOURCE {
        let found = format!("the template has {} bytes; at most {MAX_SOURCE} are read", source.len());
        return Err(TextError::Template(found));
    }
    let mut scan = Scan { out: String::with_capacity(source.len() * 2), ..Scan::default() };
    scan.run(source)?;
    Ok(Checked { source: scan.out, longest_text: scan.longest_text })
}

fn too_deep(what: &str) -> TextError {
    TextError::Template(format!("the template is nested too deeply: more than {what}"))
}

#[derive(Default)]
struct Scan {
    out: String,
    longest_text: usize,
    /// Open brackets. As in the engine's own lexer, a tag does not end within them.
    balance: i64,
    elifs: usize,
    sites: usize,
    /// Names of `set` blocks that have not ended.
    blocks: Vec<Vec<String>>,
}

impl Scan {
    fn run(&mut self, source: &str) -> Result<(), TextError> {
        let mut rest = source;
        while let Some(at) = opening(rest) {
            self.text(at);
            let (before, tag) = rest.split_at(at);
            self.out.push_str(before);
            let inside = tag.get(2..).unwrap_or_default();
            // What has no end is copied as it is: the engine says what is wrong with it.
            let len = if tag.starts_with("{#") {
                inside.find("#}").map_or(tag.len(), |end| end + 4)
            } else if tag.starts_with("{%") && first_word(inside) == "raw" {
                let len = end_of_raw(tag);
                self.text(len);
                len
            } else {
                let (open, close) = if tag.starts_with("{{") { ("{{", "}}") } else { ("{%", "%}") };
                let Some((parts, len)) = self.parts(inside, close)? else {
                    self.out.push_str(tag);
                    return Ok(());
                };
                self.out.push_str(tag.get(..len + 2).unwrap_or(tag));
                if open == "{%" {
                    let sign = inside.get(..len.saturating_sub(2)).and_then(|t| t.chars().next_back());
                    self.statement(&parts, sign.filter(|c| matches!(c, '-' | '+')))?;
                }
                rest = tag.get(len + 2..).unwrap_or_default();
                continue;
            };
            self.out.push_str(tag.get(..len).unwrap_or(tag));
            rest = tag.get(len..).unwrap_or_default();
        }
        self.text(rest.len());
        self.out.push_str(rest);
        Ok(())
    }

    fn text(&mut self, bytes: usize) {
        self.longest_text = self.longest_text.max(bytes);
    }

    /// The parts of a tag and how long it is, its end included; `None` when it has no end.
    fn parts<'s>(
        &mut self,
        inside: &'s str,
        close: &str,
    ) -> Result<Option<(Vec<Part<'s>>, usize)>, TextError> {
        let start = inside.strip_prefix(['-', '+']).unwrap_or(inside);
        let mut rest = start;
        let mut parts: Vec<Part<'s>> = Vec::new();
        loop {
            rest = rest.trim_start();
            if self.balance == 0 {
                let end = rest.strip_prefix(['-', '+']).filter(|r| r.starts_with(close)).unwrap_or(rest);
                if end.starts_with(close) {
                    limits(&parts)?;
                    return Ok(Some((parts, inside.len() - end.len() + close.len())));
                }
            }
            let Some(first) = rest.chars().next() else { return Ok(None) };
            let (kind, len) = match first {
                '"' | '\'' => match end_of_string(rest, first) {
                    Some(len) => (Kind::Text, len),
                    None => return Ok(None),
                },
                '0'..='9' => (Kind::Number, word(rest)),
                c if c.is_alphanumeric() || c == '_' => (Kind::Name, word(rest)),
                '(' | '[' | '{' => {
                    self.balance += 1;
                    (Kind::Sign, 1)
                }
                ')' | ']' | '}' => {
                    self.balance -= 1;
                    (Kind::Sign, 1)
                }
                _ if ["//", "**", "==", "!=", ">=", "<="].iter().any(|s| rest.starts_with(s)) => {
                    (Kind::Sign, 2)
                }
                c => (Kind::Sign, c.len_utf8()),
            };
            let (text, after) = rest.split_at(len);
            if kind == Kind::Name && text == CHECK {
                return Err(TextError::Template(format!("the name {CHECK} is golay's own")));
            }
            parts.push(Part { kind, text });
            if parts.len() > MAX_PARTS {
                return Err(too_deep(&format!("{MAX_PARTS} names and signs in one tag")));
            }
            rest = after;
        }
    }

    /// Puts a call behind a statement that names values. `sign` is how its tag treats the white space after it.
    fn statement(&mut self, parts: &[Part<'_>], sign: Option<char>) -> Result<(), TextError> {
        let Some((word, parts)) = parts.split_first() else { return Ok(()) };
        let names = match word.text {
            "elif" => {
                self.elifs += 1;
                return if self.elifs > MAX_ELIFS {
                    Err(too_deep(&format!("{MAX_ELIFS} elifs")))
                } else {
                    Ok(())
                };
            }
            "set" => match assignments(parts).first() {
                Some(at) => paths(parts.get(..*at).unwrap_or_default()),
                None => {
                    let end = parts.iter().position(|p| p.is("|")).unwrap_or(parts.len());
                    self.blocks.push(paths(parts.get(..end).unwrap_or_default()));
                    return Ok(());
                }
            },
            "endset" => self.blocks.pop().unwrap_or_default(),
            "for" => {
                let end = parts.iter().position(|p| p.kind == Kind::Name && p.text == "in").unwrap_or(0);
                paths(parts.get(..end).unwrap_or_default())
            }
            "with" => assignments(parts).into_iter().flat_map(|at| target(parts, at)).collect(),
            "macro" => parameters(parts.get(1..).unwrap_or_default()),
            "call" => parameters(parts),
            _ => return Ok(()),
        };
        if !names.is_empty() {
            let sign = sign.map(String::from).unwrap_or_default();
            let _ = write!(self.out, "{{% do {CHECK}({}, {}) {sign}%}}", self.sites, names.join(", "));
            self.sites += 1;
        }
        Ok(())
    }
}

/// How much larger than what it is given a tag can make a value.
fn limits(parts: &[Part<'_>]) -> Result<(), TextError> {
    let joins = parts.iter().filter(|p| p.is("+") || p.is("~")).count();
    if joins > MAX_JOINS {
        return Err(too_deep(&format!("{MAX_JOINS} concatenations in one tag")));
    }
    let (mut products, mut factor) = (0usize, 1u64);
    for window in parts.windows(3) {
        let [left, star, right] = window else { continue };
        // Behind a bracket or a comma it spreads a list over arguments.
        if !star.is("*") || left.is("(") || left.is(",") {
            continue;
        }
        products += 1;
        let number = |p: &Part<'_>| if p.kind == Kind::Number { p.text.parse::<u64>().ok() } else { None };
        if left.kind != Kind::Text && right.kind != Kind::Text {
            factor = factor.saturating_mul(number(left).or(number(right)).unwrap_or(u64::MAX));
        }
    }
    if products > MAX_PRODUCTS {
        return Err(too_deep(&format!("{MAX_PRODUCTS} products in one tag")));
    }
    if factor > MAX_FACTOR && parts.iter().any(|p| p.is("~") || p.is(":")) {
        let text = "a tag that multiplies by a variable or a large number cannot use `~` or `:` too";
        return Err(TextError::Template(text.into()));
    }
    Ok(())
}

/// Where the next tag begins.
fn opening(text: &str) -> Option<usize> {
    let at = |from: usize| text.get(from..).and_then(|t| t.find('{')).map(|i| from + i);
    let mut found = at(0);
    while let Some(i) = found {
        if matches!(text.as_bytes().get(i + 1), Some(b'{' | b'%' | b'#')) {
            return Some(i);
        }
        found = at(i + 1);
    }
    None
}

/// The first word of a tag.
fn first_word(inside: &str) -> &str {
    let inside = inside.strip_prefix(['-', '+']).unwrap_or(inside).trim_start();
    inside.get(..word(inside)).unwrap_or_default()
}

/// How long the name or number at the start is.
fn word(text: &str) -> usize {
    text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len())
}

/// How long the string at the start is, its quotes included.
fn end_of_string(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (i, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Some(i + 1),
            _ => {}
        }
    }
    None
}

/// How long a raw block is, its end tag left out (that is read as any other tag).
fn end_of_raw(tag: &str) -> usize {
    let mut at = 2;
    while let Some(i) = tag.get(at..).and_then(|t| t.find("{%")) {
        at += i;
        if first_word(tag.get(at + 2..).unwrap_or_default()) == "endraw" {
            return at;
        }
        at += 2;
    }
    tag.len()
}

/// Where the `=` outside brackets are.
fn assignments(parts: &[Part<'_>]) -> Vec<usize> {
    let mut depth = 0i64;
    let mut found = Vec::new();
    for (i, p) in parts.iter().enumerate().filter(|(_, p)| p.kind == Kind::Sign) {
        match p.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            "=" if depth == 0 => found.push(i),
            _ => {}
        }
    }
    found
}

/// The names assigned to before the `=` at `at`: one, or several in brackets.
fn target(parts: &[Part<'_>], at: usize) -> Vec<String> {
    let before = parts.get(..at).unwrap_or_default();
    let start = match before.last() {
        Some(last) if last.is(")") => before.iter().rposition(|p| p.is("(")).unwrap_or(0),
        _ => before.len().saturating_sub(1),
    };
    paths(before.get(start..).unwrap_or_default())
}

/// Names and dotted names in a list of targets.
fn paths(parts: &[Part<'_>]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut dotted = false;
    for p in parts {
        match (p.kind, all.last_mut()) {
            (Kind::Name, Some(last)) if dotted => {
                last.push('.');
                last.push_str(p.text);
            }
            (Kind::Name, _) => all.push(p.text.to_owned()),
            _ => {}
        }
        dotted = p.is(".");
    }
    all
}

/// The parameters in the bracket at the start.
fn parameters(parts: &[Part<'_>]) -> Vec<String> {
    let mut depth = 0i64;
    let mut all = Vec::new();
    let mut before: Option<&Part<'_>> = None;
    for p in parts {
        if before.is_none() && !p.is("(") {
            break;
        }
        match p.text {
            "(" | "[" | "{" if p.kind == Kind::Sign => depth += 1,
            ")" | "]" | "}" if p.kind == Kind::Sign => depth -= 1,
            name if p.kind == Kind::Name && depth == 1 && before.is_some_and(|b| b.is("(") || b.is(",")) => {
                all.push(name.to_owned());
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
        before = Some(p);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::check;

    fn checked(source: &str) -> String {
        check(source).expect("a template").source
    }

    #[test]
    fn every_tag_that_names_a_value_is_followed_by_a_call() {
        for (source, call) in [
            ("{% set x = a == 1 -%}", "{% do golay_check(0, x) -%}"),
            ("{%- set ns.x = f(a=1) %}", "{% do golay_check(0, ns.x) %}"),
            ("{% set a, b = c +%}", "{% do golay_check(0, a, b) +%}"),
            ("{% for k, v in d.items() if v %}", "{% do golay_check(0, k, v) %}"),
            ("{% with a = 1, b = {'c': 2} %}", "{% do golay_check(0, a, b) %}"),
            ("{% macro m(a, b='x', c=[d, e]) %}", "{% do golay_check(0, a, b, c) %}"),
            ("{% call(u) f(x, y) %}", "{% do golay_check(0, u) %}"),
        ] {
            assert_eq!(checked(source), format!("{source}{call}"));
        }
        let block = "{% set x | trim %}{{ y }}{% endset %}";
        assert_eq!(checked(block), format!("{block}{{% do golay_check(0, x) %}}"));
    }

    #[test]
    fn what_is_no_such_tag_stays_as_it_is() {
        for source in [
            "{ {{ '%}{% set x = 1 %}' }} }",
            "{# {% set x = 1 %} #}",
            "{% raw %}{% set x = 1 %}{% endraw %}y",
            "{{ {'a': {'b': 1}} }}",
            "{% call f(x) %}{% endcall %}",
            "{% if x = %}",
            "{% set x",
            "{{ 'x",
            "{%",
            "{",
        ] {
            assert_eq!(checked(source), source);
        }
    }

    #[test]
    fn forms_that_the_engine_would_not_survive_are_refused() {
        let many = |a: &str, b: &str, n: usize, c: &str| format!("{a}{}{c}", b.repeat(n));
        for source in [
            many("{{ ", "-", 50_000, "1 }}"),
            many("{{ 1", "+1", 20_000, " }}"),
            many("{{ 'a'", "~'a'", 200, " }}"),
            many("{{ a", ".b", 30_000, " }}"),
            many("{% if 0 %}", "{% elif 0 %}", 20_000, "{% endif %}"),
            "{{ a * 9 * 9 * 9 * 9 * 9 }}".to_owned(),
        ] {
            let e = check(&source).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(e.contains("the template is nested too deeply"), "{e}");
        }
        assert!(check("{{ '' ~ [1] * n }}").is_err());
        assert!(check("{{ loop.index0 * 2 ~ ': ' ~ '=' * n }}").is_ok());
        assert!(check("{% macro golay_check(x) %}{% endmacro %}").is_err());
    }
}
