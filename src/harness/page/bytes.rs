//! Time against bytes: where a product with one token stands beside its adapter's read ceiling.

use super::super::report::Report;
use super::axis::{Axis, diagonal};
use super::compare;
use super::markup::{Node, numbered};
use super::plot::{self, AREA, Ids, Places, Point, SIZE};
use super::roofline::tip;
use super::words::{clean, log, number};
use std::collections::HashSet;

/// The section with one plot of all reports.
pub(super) fn section(reports: &[(String, Report)], ids: &mut Ids) -> Option<Node> {
    let mut points = points(reports);
    let all = points.len();
    plot::cap(&mut points);
    let x = Axis::around(points.iter().map(|p| p.x), AREA[0], AREA[2])?;
    let y = Axis::around(points.iter().map(|p| p.y), AREA[3], AREA[1])?;

    let title = "Time of gemv against bytes";
    let mut names = Vec::new();
    let mut lines = Node::new("g").set("class", "lines");
    for (i, (_, r)) in reports.iter().enumerate() {
        let rate = r.ceilings.read.per_second;
        names.push((i, format!("{} (read {} GB/s)", numbered(i, reports), number(rate / 1e9, 2))));
        // MB over GB/s are ms: y is in µs.
        let at = log(rate).and_then(|rate| diagonal(&x, &y, 12.0 - rate, x.hi));
        lines = lines.children(at.map(|at| {
            let class = format!("{} dash{}", plot::colour(i), i % 4);
            plot::line(at).set("class", class).child(Node::new("title").text(&numbered(i, reports)))
        }));
    }
    let describe = format!(
        "{} points, a line per report for its read ceiling. The tables hold the numbers.",
        points.len()
    );
    let svg = plot::picture(ids, SIZE, title, &describe)
        .child(plot::frame(&x, &y, "bytes that must move, MB", "time, µs"))
        .child(lines)
        .children(plot::scatter(&x, &y, &points, &mut Places::default()));
    let note = if all > points.len() {
        format!("{} of {all} points are drawn.", points.len())
    } else {
        String::new()
    };
    let about = "Products with one token: time of a dispatch against the bytes that it must move. A line is the time \
                 that these bytes take at the report's read ceiling; nothing is meant to be below it. Filled: the \
                 default geometry; hollow: others.";
    let figure = plot::figure(title, svg, Some(plot::legend(&names)), &note);
    Some(
        Node::new("section")
            .child(Node::new("h2").text("Time against bytes"))
            .child(Node::new("p").text(about))
            .child(Node::new("div").set("class", "figures wide").child(figure)),
    )
}

/// The points of all reports. A format is labelled once, where it is met first.
fn points(reports: &[(String, Report)]) -> Vec<Point> {
    let mut labelled = HashSet::new();
    let mut out = Vec::new();
    for (i, (_, report)) in reports.iter().enumerate() {
        for r in report.kernels.iter().filter(|r| r.family == "gemv" && compare::is_timed(r)) {
            let (Some(bytes), Some(seconds)) = (log(r.bytes as f64), log(r.seconds)) else { continue };
            let named = r.default && labelled.insert((r.format.as_str(), r.shape.as_str()));
            out.push(Point {
                x: bytes - 6.0,
                y: seconds + 6.0,
                series: i,
                filled: r.default,
                label: if named { clean(&r.format).chars().take(16).collect() } else { String::new() },
                tip: format!("{}\n{}", numbered(i, reports), tip(r)),
            });
        }
    }
    out
}
