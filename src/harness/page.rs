//! Reports side by side: as text for a terminal or a Markdown file, and as one HTML page with plots.
//!
//! A report comes from a stranger. Every string in it passes `words::clean` and, on its way into a page, the escaping of
//! `markup::Node`; every number is tested before it is printed or plotted. The page loads nothing and runs nothing.
//!
//! Both forms show the same `tables`; the page adds rooflines, time against bytes, and bars.

mod axis;
mod bars;
mod bytes;
mod compare;
mod markdown;
mod markup;
mod plot;
mod roofline;
mod style;
mod tables;
#[cfg(test)]
mod tests;
mod words;

use super::report::Report;
use markup::Node;

/// What is said when there is nothing to compare.
const NONE: &str = "No reports.";

/// Reports and their names as aligned Markdown tables: adapters, ceilings, kernels, models, and what was refused.
///
/// Reports are numbered from 1 in their order; a column that belongs to one starts with its number. A figure that a
/// report lacks is `-`.
pub fn table(reports: &[(String, Report)]) -> String {
    if reports.is_empty() {
        return format!("{NONE}\n");
    }
    let all = tables::all(reports);
    let parts: Vec<String> = all.iter().filter(|t| !t.rows.is_empty()).map(markdown::table).collect();
    parts.join("\n")
}

/// The same as one HTML page that needs nothing else, with plots: a roofline per report and kernel, time against bytes,
/// and the fraction of the byte bound per format.
pub fn html(reports: &[(String, Report)]) -> String {
    let main = Node::new("main").child(Node::new("h1").text(&title(reports)));
    let body = if reports.is_empty() {
        main.child(Node::new("p").text(NONE))
    } else {
        let kernels = compare::kernels(reports);
        // What was measured on comes first, then the pictures, then every number.
        let mut tables = tables::all(reports).into_iter().filter(|t| !t.rows.is_empty()).map(|t| {
            Node::new("section").child(Node::new("h2").text(t.title)).child(markup::table(&t, reports))
        });
        let first: Vec<Node> = tables.by_ref().take(2).collect();
        let mut ids = plot::Ids::default();
        main.children(first)
            .children(roofline::section(reports, &kernels, &mut ids))
            .children(bytes::section(reports, &mut ids))
            .children(bars::section(reports, &kernels, &mut ids))
            .children(tables)
    };
    let head = Node::new("head")
        .child(Node::new("meta").set("charset", "utf-8"))
        .child(
            Node::new("meta")
                .set("http-equiv", "Content-Security-Policy")
                .set("content", "default-src 'none'; style-src 'unsafe-inline'"),
        )
        .child(
            Node::new("meta").set("name", "viewport").set("content", "width=device-width, initial-scale=1"),
        )
        .child(Node::new("meta").set("name", "color-scheme").set("content", "light dark"))
        .child(Node::new("title").text(&title(reports)))
        .child(Node::new("style").css(style::CSS));
    let page = Node::new("html").set("lang", "en").child(head).child(Node::new("body").child(body));
    format!("<!doctype html>\n{}\n", page.render())
}

fn title(reports: &[(String, Report)]) -> String {
    match reports {
        [] => "golay bench: no reports".to_owned(),
        [(name, _)] => format!("golay bench: {}", words::clean(name)),
        [(a, _), (b, _)] => format!("golay bench: {} and {}", words::clean(a), words::clean(b)),
        more => format!("golay bench: {} reports", more.len()),
    }
}
