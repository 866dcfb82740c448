//! Bars: the fraction of the byte bound that each format reaches, the default geometry beside the best.

use super::super::report::{Report, Row};
use super::compare::Kernel;
use super::markup::{Node, numbered};
use super::plot::{self, Ids};
use super::roofline::tip;
use super::words::{MISSING, clean, or_missing, percent};

/// Shapes that get bars.
const SHAPES: usize = 3;
/// Formats in one picture.
const FORMATS: usize = 48;
/// Height of a format's two bars and the gap.
const STEP: f64 = 30.0;
/// Where bars begin and end, and the width of the picture.
const EDGES: [f64; 3] = [92.0, 560.0, 640.0];

/// The section with a picture per shape and report.
pub(super) fn section(reports: &[(String, Report)], kernels: &[Kernel], ids: &mut Ids) -> Option<Node> {
    let mut shapes: Vec<&str> = Vec::new();
    for k in kernels.iter().filter(|k| k.family == "gemv") {
        if shapes.len() < SHAPES && !shapes.contains(&k.shape) {
            shapes.push(k.shape);
        }
    }
    let mut out = Vec::new();
    for shape in shapes {
        let lines: Vec<&Kernel> = kernels.iter().filter(|k| k.family == "gemv" && k.shape == shape).collect();
        for i in 0..reports.len() {
            out.extend(chart(&lines, i, shape, &numbered(i, reports), ids));
        }
    }
    (!out.is_empty()).then(|| {
        let about = "Products with one token: the fraction of the read ceiling that each format's kernel reaches, which \
                     is the fraction of the speed that its bytes allow. Dark: the default geometry; light: the best of \
                     those measured, where there were several.";
        let entries = [("bar default", "default geometry"), ("bar best", "best geometry")].map(|(class, words)| {
            let mark = Node::new("rect").set("class", class).at("width", 14.0).at("height", 14.0);
            let swatch = Node::new("svg").set("viewBox", "0 0 14 14").set("aria-hidden", "true").child(mark);
            Node::new("li").child(swatch).text(words)
        });
        Node::new("section")
            .child(Node::new("h2").text("Fraction of the byte bound"))
            .child(Node::new("p").text(about))
            .child(Node::new("ul").set("class", "legend").children(entries))
            .child(Node::new("div").set("class", "figures").children(out))
    })
}

fn fraction(r: Option<&Row>) -> Option<f64> {
    r.map(|r| r.of_read).filter(|v| v.is_finite() && *v > 0.0)
}

/// One report's bars for one shape; None when it has none.
fn chart(lines: &[&Kernel], i: usize, shape: &str, report: &str, ids: &mut Ids) -> Option<Node> {
    let shown = &lines[..lines.len().min(FORMATS)];
    let values: Vec<_> = shown
        .iter()
        .map(|k| {
            let m = k.of.get(i);
            let default = m.and_then(|m| m.timed_default());
            (k, default, m.and_then(|m| m.choice()))
        })
        .collect();
    let most = values.iter().flat_map(|(_, d, b)| [fraction(*d), fraction(*b)]).flatten().fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    // A cache can beat the ceiling, yet not by much: a longer bar is cut, and its number still told.
    let end = if most <= 1.0 { 1.0 } else { (most * 4.0).ceil().min(8.0) / 4.0 };
    let [left, right, width] = EDGES;
    let height = 34.0 + STEP * shown.len() as f64;
    let at = |v: f64| left + (right - left) * v.min(end) / end;

    let title = format!("Fraction of the byte bound, gemv {}, {report}", clean(shape));
    let describe = format!("{} formats, two bars each. The table of kernels holds the numbers.", shown.len());
    let mut axes = Node::new("g").set("class", "axes");
    let mut mark = 0.0;
    while mark <= end {
        let line = plot::line([at(mark), 20.0, at(mark), height - 8.0]);
        axes = axes.child(if mark == 1.0 { line.set("class", "bound") } else { line });
        axes = axes.child(plot::text(at(mark), 14.0, "middle", &format!("{:.0} %", mark * 100.0)));
        mark += 0.25;
    }
    let mut bars = Node::new("g").set("class", "bars");
    for (n, (k, default, best)) in values.iter().enumerate() {
        let top = 26.0 + STEP * n as f64;
        let name: String = or_missing(k.format).chars().take(14).collect();
        bars = bars.child(plot::text(left - 8.0, top + 15.0, "end", &name));
        for (down, class, row) in [(0.0, "bar default", default), (12.0, "bar best", best)] {
            let words = match fraction(*row) {
                Some(v) => percent(v),
                None if down == 0.0 => MISSING.to_owned(),
                None => continue,
            };
            let v = fraction(*row).unwrap_or(0.0);
            let rect = Node::new("rect").set("class", class).at("x", left).at("y", top + down);
            let rect = rect.at("width", at(v) - left).at("height", 11.0);
            bars = bars.child(rect.children(row.map(|r| Node::new("title").text(&tip(r)))));
            bars =
                bars.child(plot::text(at(v) + 5.0, top + down + 10.0, "start", &words).set("class", "value"));
        }
    }
    let note = match lines.len() - shown.len() {
        0 => String::new(),
        n => format!("{n} more formats are in the table."),
    };
    let svg = plot::picture(ids, [width, height], &title, &describe).child(axes).child(bars);
    Some(plot::figure(&title, svg, None, &note))
}
