//! The tables of a comparison, before anybody decides whether they become text or HTML.

use super::super::report::{Ceilings, Report};
use super::compare::{self, Measured};
use super::words::{MISSING, clean, date, maybe, number, or_missing, percent};

/// One column.
pub(super) struct Column {
    /// The report that it belongs to.
    pub report: Option<usize>,
    /// Its head.
    pub head: String,
    /// Numbers stand at the right.
    pub right: bool,
}

/// One table: the first `heads` cells of a row say what the row is about.
pub(super) struct Table {
    /// What it shows.
    pub title: &'static str,
    /// What a reader must know.
    pub note: &'static str,
    /// How many cells at the left name the row.
    pub heads: usize,
    /// From left to right.
    pub columns: Vec<Column>,
    /// As many cells as columns; [`clean`], yet not escaped.
    pub rows: Vec<Vec<String>>,
}

/// All tables: adapters and ceilings first.
pub(super) fn all(reports: &[(String, Report)]) -> Vec<Table> {
    vec![adapters(reports), ceilings(reports), kernels(reports), models(reports), refused(reports)]
}

fn plain(heads: &[(&str, bool)]) -> Vec<Column> {
    heads.iter().map(|(h, right)| Column { report: None, head: (*h).to_owned(), right: *right }).collect()
}

fn of_report(i: usize, heads: &[(&str, bool)]) -> Vec<Column> {
    plain(heads).into_iter().map(|c| Column { report: Some(i), ..c }).collect()
}

/// Head and alignment of the column that sets a report beside the first one.
const AGAINST: (&str, bool) = ("× 1", true);

fn adapters(reports: &[(String, Report)]) -> Table {
    let columns = plain(&[
        ("#", true),
        ("report", false),
        ("adapter", false),
        ("kind", false),
        ("backend", false),
        ("driver", false),
        ("caps", false),
        ("f16", false),
        ("subgroups", false),
        ("clock", false),
        ("host", false),
        ("golay", false),
        ("made", false),
    ]);
    let row = |(i, (name, r)): (usize, &(String, Report))| {
        let (a, c) = (&r.adapter, &r.caps);
        let subgroups = match (c.subgroups, c.subgroup_size) {
            (false, _) => "no".to_owned(),
            (true, 0) => "yes".to_owned(),
            (true, n) => format!("yes, {n}"),
        };
        vec![
            (i + 1).to_string(),
            or_missing(name),
            or_missing(&a.name),
            or_missing(&a.kind),
            or_missing(&a.backend),
            or_missing(&format!("{} {}", clean(&a.driver), clean(&a.driver_info))),
            or_missing(&c.request),
            if c.f16 { "yes" } else { "no" }.to_owned(),
            subgroups,
            // Timestamps of software drivers are not used (`gpu::timing`).
            if c.timestamps && a.kind != "cpu" { "device" } else { "host" }.to_owned(),
            or_missing(&r.host),
            or_missing(&r.golay),
            date(r.made),
        ]
    };
    let rows = reports.iter().enumerate().map(row).collect();
    Table {
        title: "Adapters",
        note: "Reports go by their numbers below. The clock is the one that times kernels.",
        heads: 2,
        columns,
        rows,
    }
}

fn ceilings(reports: &[(String, Report)]) -> Table {
    let mut columns = plain(&[("ceiling", false), ("unit", false)]);
    for i in 0..reports.len() {
        columns.extend(of_report(i, &[("best", true)]));
    }
    type Figure = fn(&Ceilings) -> Option<f64>;
    let figures: [(&str, &str, Figure); 8] = [
        ("read", "GB/s", |c| Some(c.read.per_second / 1e9)),
        ("copy", "GB/s", |c| Some(c.copy.per_second / 1e9)),
        ("f32", "GFLOP/s", |c| Some(c.f32.per_second / 1e9)),
        ("f16", "GFLOP/s", |c| Some(c.f16.as_ref()?.per_second / 1e9)),
        ("dot4", "GOP/s", |c| Some(c.dot4.per_second / 1e9)),
        ("dispatch", "µs", |c| Some(c.dispatch_s * 1e6)),
        ("pass", "µs", |c| Some(c.pass_s * 1e6)),
        ("submit", "µs", |c| Some(c.submit_s * 1e6)),
    ];
    let row = |(what, unit, figure): (&str, &str, Figure)| {
        let values = reports.iter().map(|(_, r)| maybe(figure(&r.ceilings), 2));
        [what.to_owned(), unit.to_owned()].into_iter().chain(values).collect()
    };
    Table {
        title: "Ceilings",
        note: "What trivial kernels reach, and what one more dispatch, pass or submission costs.",
        heads: 2,
        columns,
        rows: figures.into_iter().map(row).collect(),
    }
}

fn kernels(reports: &[(String, Report)]) -> Table {
    let mut columns = plain(&[("kernel", false), ("format", false), ("shape", false)]);
    let heads =
        [("time µs", true), ("GB/s", true), ("of read", true), ("best", false), ("gain", true), AGAINST];
    for i in 0..reports.len() {
        columns.extend(of_report(i, if i == 0 { &heads[..5] } else { &heads }));
    }
    let mut rows = Vec::new();
    for k in compare::kernels(reports) {
        let mut row = vec![or_missing(k.family), or_missing(k.format), or_missing(k.shape)];
        let first = k.of.first().and_then(Measured::timed_default);
        for (i, m) in k.of.iter().enumerate() {
            row.extend(kernel(m));
            if i > 0 {
                row.push(maybe(first.zip(m.timed_default()).map(|(a, b)| a.seconds / b.seconds), 2));
            }
        }
        rows.push(row);
    }
    Table {
        title: "Kernels",
        note: "Time, rate and fraction of the read ceiling are those of the default geometry. Gain: how much faster \
               the best of several geometries is. × 1: speed relative to report 1, both with their default geometries.",
        heads: 3,
        columns,
        rows,
    }
}

/// Time, rate, fraction of read, the best geometry, and what that gains.
fn kernel(m: &Measured) -> [String; 5] {
    let missing = || MISSING.to_owned();
    let [time, rate, of_read] = match (m.timed_default(), m.default) {
        (Some(r), _) => [number(r.seconds * 1e6, 1), number(r.bytes_per_second / 1e9, 2), percent(r.of_read)],
        (None, Some(r)) if r.refused.is_some() => ["refused".to_owned(), missing(), missing()],
        _ => [missing(), missing(), missing()],
    };
    let best = match m.choice() {
        Some(r) if r.default => "default".to_owned(),
        Some(r) => or_missing(&r.variant),
        None => missing(),
    };
    [time, rate, of_read, best, maybe(m.gain(), 2)]
}

fn models(reports: &[(String, Report)]) -> Table {
    let mut columns = plain(&[("model", false), ("kind", false), ("activations", false), ("test", false)]);
    let heads =
        [("tok/s", true), ("range", true), ("bound", true), ("of bound", true), ("host µs", true), AGAINST];
    for i in 0..reports.len() {
        columns.extend(of_report(i, if i == 0 { &heads[..5] } else { &heads }));
    }
    let mut rows = Vec::new();
    for m in compare::models(reports) {
        let r = m.row;
        let mut row =
            vec![or_missing(&r.model), or_missing(&r.kind), or_missing(&r.activations), or_missing(&r.test)];
        for (i, own) in m.of.iter().enumerate() {
            row.push(maybe(own.map(|o| o.tokens_per_second), 2));
            row.push(own.map_or_else(|| MISSING.to_owned(), |o| range(o.range)));
            row.push(maybe(own.and_then(|o| o.bound), 2));
            row.push(own.and_then(|o| o.of_bound).map_or_else(|| MISSING.to_owned(), percent));
            row.push(maybe(own.and_then(|o| o.host_s).map(|s| s * 1e6), 1));
            if i > 0 {
                let first = m.of.first().copied().flatten();
                row.push(maybe(first.zip(*own).map(|(a, b)| b.tokens_per_second / a.tokens_per_second), 2));
            }
        }
        rows.push(row);
    }
    Table {
        title: "Models",
        note: "Medians, with the slowest and the fastest repetition. Bound: tokens per second if nothing but the read \
               ceiling bounded them. Host: its own time per token. × 1: speed relative to report 1.",
        heads: 4,
        columns,
        rows,
    }
}

fn range([lo, hi]: [f64; 2]) -> String {
    match (number(lo, 2), number(hi, 2)) {
        (a, b) if a == MISSING || b == MISSING => MISSING.to_owned(),
        (a, b) => format!("{a} to {b}"),
    }
}

fn refused(reports: &[(String, Report)]) -> Table {
    let columns = plain(&[
        ("#", true),
        ("report", false),
        ("kernel", false),
        ("format", false),
        ("shape", false),
        ("geometry", false),
        ("why", false),
    ]);
    let mut rows = Vec::new();
    for (i, (name, report)) in reports.iter().enumerate() {
        for (r, why) in report.kernels.iter().filter_map(|r| Some((r, r.refused.as_ref()?))) {
            let variant =
                if r.default { format!("{} (default)", clean(&r.variant)) } else { clean(&r.variant) };
            rows.push(vec![
                (i + 1).to_string(),
                or_missing(name),
                or_missing(&r.family),
                or_missing(&r.format),
                or_missing(&r.shape),
                or_missing(&variant),
                or_missing(why),
            ]);
        }
    }
    Table {
        title: "Refused",
        note: "Kernels that were not timed: they disagreed with their references or could not be run.",
        heads: 2,
        columns,
        rows,
    }
}
