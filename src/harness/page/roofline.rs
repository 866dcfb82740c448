//! Rooflines: operations per second against operations per byte, under what the adapter reaches at best.

use super::super::report::{Ceilings, Report, Row};
use super::axis::{Axis, diagonal};
use super::compare::{self, Kernel};
use super::markup::{Node, numbered};
use super::plot::{self, AREA, Ids, Places, Point, SIZE};
use super::words::{clean, log, maybe, number, percent};

/// Plots of their own in a report; further kernels share one.
const OWN: usize = 6;

/// The section with a plot per report and kernel. Kernels without formats share one.
pub(super) fn section(reports: &[(String, Report)], kernels: &[Kernel], ids: &mut Ids) -> Option<Node> {
    let order = compare::families(reports);
    // Formats are what a kernel's plot tells apart: those without any are few points, and share a plot.
    let mut own: Vec<&str> = Vec::new();
    for k in kernels.iter().filter(|k| !k.format.is_empty()) {
        if own.len() < OWN && !own.contains(&k.family) {
            own.push(k.family);
        }
    }
    let mut out = Vec::new();
    for (i, (_, report)) in reports.iter().enumerate() {
        let mut figures = Vec::new();
        for family in own.iter().map(|f| Some(*f)).chain([None]) {
            let wanted = |r: &&Row| match family {
                Some(f) => r.family == f,
                None => !own.contains(&r.family.as_str()),
            };
            let points: Vec<Point> = report
                .kernels
                .iter()
                .filter(wanted)
                .filter_map(|r| point(r, order.get(r.family.as_str()).copied().unwrap_or(0)))
                .collect();
            let legend = family.is_none().then(|| {
                let mut met: Vec<(usize, String)> = Vec::new();
                for r in report.kernels.iter().filter(wanted) {
                    let series = order.get(r.family.as_str()).copied().unwrap_or(0);
                    // One more than is shown tells the legend that there are more.
                    if met.len() < 64 && !met.iter().any(|m| m.0 == series) {
                        met.push((series, clean(&r.family)));
                    }
                }
                met
            });
            let what = family.map_or_else(|| "other kernels".to_owned(), clean);
            figures.extend(chart(&numbered(i, reports), &what, &report.ceilings, points, legend, ids));
        }
        if !figures.is_empty() {
            out.push(Node::new("h3").text(&numbered(i, reports)));
            out.push(Node::new("div").set("class", "figures").children(figures));
        }
    }
    (!out.is_empty()).then(|| {
        let about = "Speed against operations per byte of memory. The slope is the read ceiling, the flat lines are what \
                     arithmetic alone reaches. Filled: the default geometry; hollow: others. Operations: two per weight \
                     and token in products; two per cached value, sharing query head and token in attention; four per \
                     value in norms; one per item elsewhere.";
        Node::new("section")
            .child(Node::new("h2").text("Rooflines"))
            .child(Node::new("p").text(about))
            .children(out)
    })
}

/// The point of a row; None for one without a time, work or bytes.
fn point(r: &Row, series: usize) -> Option<Point> {
    if !compare::is_timed(r) {
        return None;
    }
    let (ops, bytes, seconds) = (log(compare::operations(r))?, log(r.bytes as f64)?, log(r.seconds)?);
    let name = if r.format.is_empty() { &r.family } else { &r.format };
    Some(Point {
        x: ops - bytes,
        y: ops - seconds - 9.0,
        series,
        filled: r.default,
        label: if r.default { clean(name).chars().take(16).collect() } else { String::new() },
        tip: tip(r),
    })
}

/// A row in words.
pub(super) fn tip(r: &Row) -> String {
    let default = if r.default { " (default)" } else { "" };
    let mut out = format!(
        "{} {} {}\n{}{default}\n",
        clean(&r.family),
        clean(&r.format),
        clean(&r.shape),
        clean(&r.variant)
    );
    out += &format!(
        "{} µs, {} GB/s, {} of the read ceiling",
        number(r.seconds * 1e6, 1),
        number(r.bytes_per_second / 1e9, 2),
        percent(r.of_read)
    );
    if r.of_f16.is_some() {
        out += &format!("\n× f16: {}", maybe(r.of_f16, 2));
    }
    if r.of_control.is_some() {
        out += &format!("\n× the launch that reads no weights: {}", maybe(r.of_control, 2));
    }
    out
}

/// The flat parts of a roof: name, logarithm of G operations per second, rate in words.
fn flats(c: &Ceilings) -> Vec<(&'static str, f64, String)> {
    let f16 = c.f16.as_ref().map_or(0.0, |r| r.per_second);
    [("f32", c.f32.per_second, "GFLOP/s"), ("f16", f16, "GFLOP/s"), ("dot4", c.dot4.per_second, "GOP/s")]
        .into_iter()
        .filter_map(|(name, v, unit)| {
            Some((name, log(v)? - 9.0, format!("{name} {} {unit}", number(v / 1e9, 1))))
        })
        .collect()
}

fn chart(
    report: &str,
    what: &str,
    ceilings: &Ceilings,
    mut points: Vec<Point>,
    legend: Option<Vec<(usize, String)>>,
    ids: &mut Ids,
) -> Option<Node> {
    let all = points.len();
    plot::cap(&mut points);
    let flats = flats(ceilings);
    let read = log(ceilings.read.per_second).map(|v| v - 9.0);
    let main = flats.iter().find(|f| f.0 == "f32").or_else(|| flats.first());
    let ridge = read.zip(main).map(|(read, main)| main.1 - read);
    // Without a point, the roof of an adapter says nothing that the ceilings' table does not.
    points.first()?;
    let x = Axis::around(points.iter().map(|p| p.x).chain(ridge), AREA[0], AREA[2])?;
    let y = Axis::around(points.iter().map(|p| p.y).chain(flats.iter().map(|f| f.1)), AREA[3], AREA[1])?;

    let title = format!("Roofline of {what}, {report}");
    let seen = if all > points.len() {
        format!("{} of {all} points are drawn", points.len())
    } else {
        format!("{all} points")
    };
    let names: Vec<&str> = flats.iter().map(|f| f.2.as_str()).collect();
    let rate = number(ceilings.read.per_second / 1e9, 2);
    let describe =
        format!("{seen}; read ceiling {rate} GB/s; {}. The tables hold the numbers.", names.join(", "));
    let svg = plot::picture(ids, SIZE, &title, &describe).child(plot::frame(
        &x,
        &y,
        "operations per byte",
        "G operations per second",
    ));

    let mut places = Places::default();
    let mut roof = Node::new("g").set("class", "roof");
    let mut words = Node::new("g").set("class", "labels roof-names");
    for (name, level, rate) in &flats {
        let from = read.map_or(x.lo, |r| (level - r).max(x.lo));
        if from < x.hi {
            let class = if main.is_some_and(|m| m.0 == *name) { "main" } else { "more" };
            let at = y.at(*level);
            roof = roof.child(plot::line([x.at(from), at, x.at(x.hi), at]).set("class", class));
            words = words.children(places.at_right(at, rate));
        }
    }
    if let Some(read) = read {
        // Up to the main flat part, and thinner on to the highest.
        let top = flats.iter().map(|f| f.1 - read).reduce(f64::max).unwrap_or(x.hi);
        let main = diagonal(&x, &y, read, ridge.unwrap_or(x.hi));
        for (class, at) in [("more", diagonal(&x, &y, read, top)), ("main", main)] {
            roof = roof.children(at.map(|at| plot::line(at).set("class", class)));
        }
        if let Some([x0, y0, x1, y1]) = main {
            let (mx, my) = (x0 + (x1 - x0) * 0.3, y0 + (y1 - y0) * 0.3);
            words = words.children(places.below(mx, my, &format!("read {rate} GB/s")));
        }
    }
    let layers = plot::scatter(&x, &y, &points, &mut places);
    let svg = svg.child(roof).children(layers).child(words);
    let note = if all > points.len() { format!("{seen}.") } else { String::new() };
    Some(plot::figure(&title, svg, legend.map(|l| plot::legend(&l)), &note))
}
