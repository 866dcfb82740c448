//! HTML and SVG that cannot come out unbalanced or unescaped.

use super::super::report::Report;
use super::tables::{Column, Table};
use super::words::clean;
use std::fmt::{Display, Write};

/// An element under construction. Names of elements and attributes are the program's own; everything else is escaped.
pub(super) struct Node {
    name: &'static str,
    attributes: String,
    inside: String,
}

impl Node {
    /// An empty element.
    pub fn new(name: &'static str) -> Self {
        Self { name, attributes: String::new(), inside: String::new() }
    }

    /// Adds an attribute.
    pub fn set(mut self, key: &'static str, value: impl Display) -> Self {
        self.attributes += &format!(" {key}=\"{}\"", escape(&value.to_string()));
        self
    }

    /// Adds a coordinate: a tenth of a unit is enough, and what is no number in reach is moved there.
    pub fn at(self, key: &'static str, value: f64) -> Self {
        let v = if value.is_finite() { value.clamp(-1e4, 1e4) } else { 0.0 };
        self.set(key, (v * 10.0).round() / 10.0)
    }

    /// Adds text.
    pub fn text(mut self, s: &str) -> Self {
        self.inside += &escape(s);
        self
    }

    /// Adds a style sheet, which is no place for anything but constants.
    pub fn css(mut self, s: &'static str) -> Self {
        self.inside += s;
        self
    }

    /// Adds an element.
    pub fn child(mut self, n: Self) -> Self {
        n.write(&mut self.inside);
        self
    }

    /// Adds elements.
    pub fn children(mut self, nodes: impl IntoIterator<Item = Self>) -> Self {
        nodes.into_iter().for_each(|n| n.write(&mut self.inside));
        self
    }

    /// The text of the element.
    pub fn render(self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(self, out: &mut String) {
        let Self { name, attributes, inside } = self;
        // Writing to a string cannot fail.
        let _ = match name {
            "meta" => writeln!(out, "<{name}{attributes}>"),
            "tr" | "table" | "svg" | "figure" | "section" | "g" | "p" | "head" | "body" => {
                writeln!(out, "<{name}{attributes}>{inside}</{name}>")
            }
            _ => write!(out, "<{name}{attributes}>{inside}</{name}>"),
        };
    }
}

/// What HTML reads as markup, in text and in quoted attributes.
fn escape(s: &str) -> String {
    let mut out = String::with_capacity(s.len());
    for c in s.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c => out.push(c),
        }
    }
    out
}

/// `2: name` of a report.
pub(super) fn numbered(i: usize, reports: &[(String, Report)]) -> String {
    format!("{}: {}", i + 1, reports.get(i).map_or_else(String::new, |(name, _)| clean(name)))
}

/// A table in a frame that scrolls by itself, so that a wide one does not widen the page.
pub(super) fn table(t: &Table, reports: &[(String, Report)]) -> Node {
    let mut table = Node::new("table").child(Node::new("caption").text(t.note));
    let grouped = t.columns.iter().any(|c| c.report.is_some());
    let (mut above, mut below) = (Node::new("tr"), Node::new("tr"));
    let mut i = 0;
    while let Some(c) = t.columns.get(i) {
        let alike = t.columns[i..].iter().take_while(|o| o.report == c.report).count().max(1);
        let group = &t.columns[i..i + alike];
        i += alike;
        match c.report {
            None => {
                let rows = if grouped { "2" } else { "1" };
                above = above.children(
                    group
                        .iter()
                        .map(|c| cell("th", c).set("scope", "col").set("rowspan", rows).text(&c.head)),
                );
                table = table.child(Node::new("colgroup").set("span", alike));
            }
            Some(n) => {
                let th = Node::new("th").set("scope", "colgroup").set("colspan", alike);
                above = above.child(th.set("class", "report").text(&numbered(n, reports)));
                below = below.children(group.iter().enumerate().map(|(at, c)| {
                    let th = edge("th", c, at == 0).set("scope", "col");
                    th.text(&c.head)
                }));
                table = table.child(Node::new("colgroup").set("span", alike));
            }
        }
    }
    let head = Node::new("thead").child(above);
    let head = if grouped { head.child(below) } else { head };
    let mut body = Node::new("tbody");
    for row in &t.rows {
        let mut tr = Node::new("tr");
        let mut last = None;
        for (i, (text, c)) in row.iter().zip(&t.columns).enumerate() {
            let first = c.report.is_some() && c.report != last;
            last = c.report;
            let node = if i < t.heads { cell("th", c).set("scope", "row") } else { edge("td", c, first) };
            tr = tr.child(node.text(text));
        }
        body = body.child(tr);
    }
    let frame = Node::new("div").set("class", "scroll").set("tabindex", "0").set("role", "region");
    frame.set("aria-label", t.title).child(table.child(head).child(body))
}

fn cell(name: &'static str, c: &Column) -> Node {
    edge(name, c, false)
}

/// A cell; the first one of a report gets a line at its left.
fn edge(name: &'static str, c: &Column, first: bool) -> Node {
    match (c.right, first) {
        (true, true) => Node::new(name).set("class", "right first"),
        (true, false) => Node::new(name).set("class", "right"),
        (false, true) => Node::new(name).set("class", "first"),
        (false, false) => Node::new(name),
    }
}
