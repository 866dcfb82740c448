//! What all plots share: a frame with axes, points with tooltips, labels that do not cover each other, legends.

use super::axis::Axis;
use super::markup::Node;

/// Size of a plot, in units of its own.
pub(super) const SIZE: [f64; 2] = [640.0, 400.0];
/// Where the axes begin and end.
pub(super) const AREA: [f64; 4] = [58.0, 14.0, 628.0, 352.0];
/// Colours before they repeat; [`super::style`] knows them.
const COLOURS: usize = 8;
/// Labels in a plot.
pub(super) const LABELS: usize = 40;
/// Points in a plot.
pub(super) const POINTS: usize = 2000;
/// Entries in a legend.
const LEGEND: usize = 32;
/// Points that labels keep away from.
const OBSTACLES: usize = 400;

/// Numbers for ids, each once in a page.
#[derive(Default)]
pub(super) struct Ids(usize);

impl Ids {
    fn next(&mut self) -> usize {
        self.0 += 1;
        self.0
    }
}

/// One point of a plot.
pub(super) struct Point {
    /// Logarithm of what goes right.
    pub x: f64,
    /// Logarithm of what goes up.
    pub y: f64,
    /// Decides colour and shape.
    pub series: usize,
    /// Filled, which means the default geometry.
    pub filled: bool,
    /// Label; empty for none.
    pub label: String,
    /// Tooltip.
    pub tip: String,
}

/// An SVG picture with its title and description.
pub(super) fn picture(ids: &mut Ids, size: [f64; 2], title: &str, describe: &str) -> Node {
    let id = ids.next();
    let (t, d) = (format!("t{id}"), format!("d{id}"));
    Node::new("svg")
        .set("viewBox", format!("0 0 {} {}", size[0], size[1]))
        .set("role", "img")
        .set("aria-labelledby", &t)
        .set("aria-describedby", &d)
        .child(Node::new("title").set("id", t).text(title))
        .child(Node::new("desc").set("id", d).text(describe))
}

/// A picture with words below it.
pub(super) fn figure(title: &str, picture: Node, legend: Option<Node>, note: &str) -> Node {
    let words = Node::new("p").child(Node::new("b").text(title)).text(". ").text(note);
    Node::new("figure").child(picture).child(Node::new("figcaption").child(words).children(legend))
}

/// Grid, marks and names of two axes.
pub(super) fn frame(x: &Axis, y: &Axis, x_name: &str, y_name: &str) -> Node {
    let [left, top, right, bottom] = AREA;
    let mut g = Node::new("g").set("class", "axes");
    for (v, words) in x.ticks() {
        let at = x.at(v);
        g = g.child(line([at, top, at, bottom]));
        g = g.child(text(at, bottom + 16.0, "middle", &words));
    }
    for (v, words) in y.ticks() {
        let at = y.at(v);
        g = g.child(line([left, at, right, at]));
        g = g.child(text(left - 6.0, at + 4.0, "end", &words));
    }
    g = g.child(text((left + right) / 2.0, bottom + 38.0, "middle", x_name).set("class", "name"));
    let middle = (top + bottom) / 2.0;
    let turned = text(14.0, middle, "middle", y_name).set("class", "name");
    g.child(turned.set("transform", format!("rotate(-90 14 {middle})")))
}

/// A straight line.
pub(super) fn line([x1, y1, x2, y2]: [f64; 4]) -> Node {
    Node::new("line").at("x1", x1).at("y1", y1).at("x2", x2).at("y2", y2)
}

/// A line of text.
pub(super) fn text(x: f64, y: f64, anchor: &'static str, words: &str) -> Node {
    Node::new("text").at("x", x).at("y", y).set("text-anchor", anchor).text(words)
}

/// The class that gives a series its colour.
pub(super) fn colour(series: usize) -> String {
    format!("c{}", series % COLOURS)
}

/// A mark whose shape goes with the series as its colour does, for those who do not tell colours apart.
fn mark(series: usize, x: f64, y: f64) -> Node {
    let corners = |at: &[(f64, f64)]| {
        let all: Vec<String> = at.iter().map(|(dx, dy)| format!("{:.1},{:.1}", x + dx, y + dy)).collect();
        Node::new("polygon").set("points", all.join(" "))
    };
    match series % 5 {
        0 => Node::new("circle").at("cx", x).at("cy", y).at("r", 4.2),
        1 => corners(&[(-3.8, -3.8), (3.8, -3.8), (3.8, 3.8), (-3.8, 3.8)]),
        2 => corners(&[(0.0, -5.4), (5.4, 0.0), (0.0, 5.4), (-5.4, 0.0)]),
        3 => corners(&[(0.0, -5.2), (4.8, 3.8), (-4.8, 3.8)]),
        _ => corners(&[(0.0, 5.2), (4.8, -3.8), (-4.8, -3.8)]),
    }
}

/// The default geometries, then the others, no more than [`POINTS`].
pub(super) fn cap(points: &mut Vec<Point>) {
    points.sort_by_key(|p| !p.filled);
    points.truncate(POINTS);
}

/// Points, filled ones on top, and as many of their labels as find a place.
pub(super) fn scatter(x: &Axis, y: &Axis, points: &[Point], places: &mut Places) -> [Node; 2] {
    let mut marks = Node::new("g").set("class", "points");
    for p in points.iter().filter(|p| !p.filled).chain(points.iter().filter(|p| p.filled)) {
        let class = format!("{} {}", colour(p.series), if p.filled { "full" } else { "hollow" });
        let shape = mark(p.series, x.at(p.x), y.at(p.y)).set("class", class);
        marks = marks.child(shape.child(Node::new("title").text(&p.tip)));
    }
    for p in points.iter().take(OBSTACLES) {
        let (px, py) = (x.at(p.x), y.at(p.y));
        let list = if p.filled { &mut places.taken } else { &mut places.hollow };
        list.push([px - 4.0, py - 4.0, px + 4.0, py + 4.0]);
    }
    let mut drawn = Vec::new();
    let mut named: Vec<&Point> = points.iter().filter(|p| !p.label.is_empty()).take(4 * LABELS).collect();
    // Where all places beside a point are full, a label may cover hollow points.
    for strict in [true, false] {
        places.strict = strict;
        named.retain(|p| {
            let room = drawn.len() < LABELS;
            let label = if room { places.label(x.at(p.x), y.at(p.y), &p.label) } else { None };
            let placed = label.is_some();
            drawn.extend(label);
            !placed
        });
    }
    [marks, Node::new("g").set("class", "labels").children(drawn)]
}

/// Which parts of a plot hold words or points already.
#[derive(Default)]
pub(super) struct Places {
    taken: Vec<[f64; 4]>,
    hollow: Vec<[f64; 4]>,
    strict: bool,
}

impl Places {
    /// A label beside a point, if there is room for one.
    pub fn label(&mut self, x: f64, y: f64, words: &str) -> Option<Node> {
        let beside = [
            ("start", x + 7.0, y + 4.0),
            ("end", x - 7.0, y + 4.0),
            ("middle", x, y - 8.0),
            ("middle", x, y + 16.0),
            ("start", x + 6.0, y - 6.0),
            ("start", x + 6.0, y + 13.0),
            ("end", x - 6.0, y - 6.0),
            ("end", x - 6.0, y + 13.0),
        ];
        beside.into_iter().find_map(|(anchor, x, y)| self.claim(x, y, anchor, words))
    }

    /// Words above a height at the right edge, moved until they cover no others.
    pub fn at_right(&mut self, y: f64, words: &str) -> Option<Node> {
        [-5.0, 14.0, -18.0, 27.0].into_iter().find_map(|d| self.claim(AREA[2] - 4.0, y + d, "end", words))
    }

    /// Words below a rising line through a point.
    pub fn below(&mut self, x: f64, y: f64, words: &str) -> Option<Node> {
        [(10.0, 18.0), (30.0, 30.0)]
            .into_iter()
            .find_map(|(dx, dy)| self.claim(x + dx, y + dy, "start", words))
    }

    fn claim(&mut self, x: f64, y: f64, anchor: &'static str, words: &str) -> Option<Node> {
        let w = 6.4 * super::words::width(words) as f64;
        let left = match anchor {
            "start" => x,
            "end" => x - w,
            _ => x - w / 2.0,
        };
        let own = [left, y - 9.0, left + w, y + 2.0];
        let inside = own[0] >= AREA[0] && own[1] >= AREA[1] - 6.0 && own[2] <= AREA[2] && own[3] <= AREA[3];
        let apart = |o: &[f64; 4]| own[2] <= o[0] || o[2] <= own[0] || own[3] <= o[1] || o[3] <= own[1];
        let free = self.taken.iter().all(apart) && (!self.strict || self.hollow.iter().all(apart));
        (inside && free).then(|| {
            self.taken.push(own);
            text(x, y, anchor, words)
        })
    }
}

/// What the colours and shapes mean.
pub(super) fn legend(entries: &[(usize, String)]) -> Node {
    let entry = |(series, words): &(usize, String)| {
        let mark = mark(*series, 7.0, 7.0).set("class", format!("{} full", colour(*series)));
        let swatch = Node::new("svg").set("viewBox", "0 0 14 14").set("aria-hidden", "true").child(mark);
        Node::new("li").child(swatch).text(words)
    };
    let more = entries.len().saturating_sub(LEGEND);
    let more = (more > 0).then(|| Node::new("li").text(&format!("and {more} more")));
    Node::new("ul").set("class", "legend").children(entries.iter().take(LEGEND).map(entry)).children(more)
}
