//! Tables and pages of reports that are empty, ordinary, hostile, and huge.

use super::super::report::{Adapter, CapsFacts, Ceilings, ModelRow, Rate, Report, Row, SCHEMA};
use super::words::{clean, date, number, percent, width};
use super::{axis, compare, html, table};

fn rate(v: f64) -> Rate {
    Rate { per_second: v, range: [v * 0.9, v], variant: "wg=64".into() }
}

fn row(family: &str, format: &str, shape: &str, variant: &str, bits: f64, seconds: f64) -> Row {
    let items = 4096 * 14336;
    let bytes = (items as f64 * bits / 8.0) as u64;
    Row {
        family: family.into(),
        format: format.into(),
        shape: shape.into(),
        variant: variant.into(),
        default: variant == "wg=128 lanes=32 rows=4",
        error: [1e-6, 1e-4],
        seconds,
        range: [seconds, seconds * 1.1],
        items,
        bytes,
        bytes_per_second: bytes as f64 / seconds,
        bits,
        of_read: bytes as f64 / seconds / 7.5e9,
        of_f16: Some(1.5),
        of_control: Some(3.0),
        ..Row::default()
    }
}

const DEFAULT: &str = "wg=128 lanes=32 rows=4";
const OTHER: &str = "wg=32 lanes=1 rows=4 subgroup";

/// A report of a software adapter; `slow` stretches its times.
fn report(request: &str, slow: f64) -> Report {
    let full = request == "full";
    let mut r = Report {
        schema: SCHEMA,
        golay: "0.1.0".into(),
        made: 1_782_864_000,
        host: "native".into(),
        adapter: Adapter {
            name: "llvmpipe (LLVM 15.0.7, 256 bits)".into(),
            kind: "cpu".into(),
            backend: "Vulkan".into(),
            driver: "llvmpipe".into(),
            driver_info: "Mesa 23.2.1".into(),
            pci: [65541, 0],
        },
        caps: CapsFacts {
            request: request.into(),
            f16: full,
            subgroups: full,
            subgroup_size: if full { 8 } else { 0 },
            cpu: true,
            ..CapsFacts::default()
        },
        ceilings: Ceilings {
            read: rate(7.5e9),
            copy: rate(9.1e9),
            f32: rate(52e9),
            f16: full.then(|| rate(20e9)),
            dot4: rate(31e9),
            dispatch_s: 12e-6,
            pass_s: 31e-6,
            submit_s: 90e-6,
        },
        ..Report::default()
    };
    let formats = [("q4_0", 4.5), ("q4_1", 5.0), ("q8_0", 8.5), ("q4_k", 4.5), ("q6_k", 6.56), ("f16", 16.0)];
    for (n, (format, bits)) in formats.iter().enumerate() {
        let t = (10.0 + 3.0 * n as f64) * 1e-3 * slow;
        r.kernels.push(row("gemv", format, "4096x14336", DEFAULT, *bits, t));
        if full {
            r.kernels.push(row("gemv", format, "4096x14336", OTHER, *bits, t / 1.25));
        }
        r.kernels.push(row("gemm", format, "4096x14336 tokens=64", DEFAULT, *bits, t * 30.0));
    }
    let mut attention = row("attention", "f16", "heads=32/8 dim=64 keys=512", DEFAULT, 16.0, 2e-4 * slow);
    (attention.items, attention.bytes) = (2 * 8 * 64 * 512, 2 * 8 * 64 * 512 * 2);
    r.kernels.push(attention);
    let mut norm = row("norm", "", "4096", DEFAULT, 32.0, 2e-5);
    (norm.items, norm.bytes) = (4096, 32768);
    r.kernels.push(norm);
    for (test, speed, bound) in [("pp512", 320.0, None), ("tg64", 41.0, Some(77.6))] {
        r.models.push(ModelRow {
            model: "SmolLM2-135M-Q4_1.gguf".into(),
            kind: "llama 135M Q4_1".into(),
            test: test.into(),
            tokens_per_second: speed / slow,
            range: [speed / slow * 0.97, speed / slow * 1.02],
            bound,
            of_bound: bound.map(|b| speed / slow / b),
            host_s: bound.map(|_| 210e-6),
            activations: "f32".into(),
            ..ModelRow::default()
        });
    }
    r
}

fn pair() -> Vec<(String, Report)> {
    vec![("full".into(), report("full", 1.0)), ("baseline".into(), report("baseline", 2.0))]
}

/// Tags of a page and their attributes, after a check that all are closed in order and all attributes are quoted.
fn tags(page: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut rest = page.strip_prefix("<!doctype html>").expect("a doctype");
    let (mut open, mut out): (Vec<String>, Vec<_>) = (Vec::new(), Vec::new());
    while let Some(at) = rest.find('<') {
        assert!(!rest[..at].contains('>'), "a stray > before {}", &rest[at..rest.len().min(at + 40)]);
        rest = &rest[at + 1..];
        if let Some(r) = rest.strip_prefix('/') {
            let (name, r) = r.split_once('>').expect("an end tag ends");
            assert_eq!(open.pop().as_deref(), Some(name));
            rest = r;
            continue;
        }
        let end = rest.find([' ', '>']).expect("a tag ends");
        let name = rest[..end].to_owned();
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric()), "no element `{name}`");
        rest = &rest[end..];
        let mut attributes = Vec::new();
        while let Some(r) = rest.strip_prefix(' ') {
            let (key, r) = r.split_once("=\"").expect("an attribute has a quoted value");
            assert!(key.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-' || b.is_ascii_digit()), "{key}");
            let (value, r) = r.split_once('"').expect("a value ends");
            assert!(!value.contains('<'), "{key}={value}");
            attributes.push((key.to_owned(), value.to_owned()));
            rest = r;
        }
        rest = rest.strip_prefix('>').expect("nothing else in a tag");
        if name == "style" {
            let (css, r) = rest.split_once("</style>").expect("a style sheet ends");
            assert!(!css.contains('<'));
            rest = r;
        } else if name != "meta" {
            open.push(name.clone());
        }
        out.push((name, attributes));
    }
    assert!(open.is_empty(), "never closed: {open:?}");
    out
}

/// A page that is balanced, loads nothing, runs nothing, and whose coordinates are numbers.
fn check(page: &str) -> Vec<(String, Vec<(String, String)>)> {
    let tags = tags(page);
    let mut ids = std::collections::HashSet::new();
    for (name, attributes) in &tags {
        assert!(
            !["script", "link", "img", "iframe", "object", "a", "use", "image"].contains(&name.as_str()),
            "{name}"
        );
        for (key, value) in attributes {
            assert!(!key.starts_with("on") && !["href", "src", "style"].contains(&key.as_str()), "{key}");
            if ["x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height"].contains(&key.as_str())
            {
                let v: f64 = value.parse().unwrap();
                assert!(v.is_finite() && v.abs() <= 2000.0, "{key}={value}");
                assert!(v >= 0.0 || !["width", "height", "r"].contains(&key.as_str()), "{key}={value}");
            }
            if key == "points" || key == "viewBox" {
                assert!(
                    value.split([' ', ',']).all(|n| n.parse::<f64>().is_ok_and(f64::is_finite)),
                    "{value}"
                );
            }
            assert!(key != "id" || ids.insert(value.clone()), "two of {value}");
        }
        let has = |k: &str, v: &str| attributes.iter().any(|(key, value)| key == k && value == v);
        assert!(name != "svg" || has("role", "img") || has("aria-hidden", "true"));
        assert!(name != "th" || attributes.iter().any(|(k, _)| k == "scope"));
    }
    let count = |n: &str| tags.iter().filter(|t| t.0 == n).count();
    assert_eq!(count("table"), count("caption"));
    let pictures = tags.iter().filter(|t| t.1.contains(&("role".into(), "img".into()))).count();
    assert_eq!(pictures, count("desc"));
    assert!(!page.contains("NaN") && !page.contains("inf "), "a number that is none");
    tags
}

/// The blocks of lines that begin with `|`; all lines of a block must be equally wide, and their bars in line.
fn blocks(text: &str) -> Vec<Vec<String>> {
    let mut out: Vec<Vec<String>> = vec![];
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with('|') {
            if !inside {
                out.push(vec![]);
            }
            out.last_mut().unwrap().push(line.to_owned());
        }
        inside = line.starts_with('|');
    }
    for block in &out {
        let bars = |l: &str| {
            let mut at = vec![];
            let mut before = ' ';
            let mut column = 0;
            for c in l.chars() {
                if c == '|' && before != '\\' {
                    at.push(column);
                }
                column += width(&c.to_string());
                before = c;
            }
            at
        };
        assert!(block.iter().all(|l| bars(l) == bars(&block[0])), "{}", block.join("\n"));
    }
    out
}

fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

#[test]
fn nothing_to_compare() {
    assert_eq!(table(&[]), "No reports.\n");
    check(&html(&[]));
    let empty = [(String::new(), Report::default())];
    let text = table(&empty);
    assert!(text.contains("## Adapters") && !text.contains("## Kernels"));
    blocks(&text);
    let tags = check(&html(&empty));
    assert!(!tags.iter().any(|t| t.0 == "svg"));
}

#[test]
fn two_reports_stand_side_by_side() {
    let text = table(&pair());
    let blocks = blocks(&text);
    assert_eq!(blocks.len(), 4, "{text}");
    assert_eq!(cells(&blocks[0][2])[..5], ["1", "full", "llvmpipe (LLVM 15.0.7, 256 bits)", "cpu", "Vulkan"]);
    assert_eq!(cells(&blocks[0][3])[6..9], ["baseline", "no", "no"]);
    assert!(blocks[0][2].contains("| yes, 8 "));
    assert!(blocks[0][2].contains("2026-07-01"));
    assert_eq!(cells(&blocks[1][5]), ["f16", "GFLOP/s", "20.00", "-"]);
    assert_eq!(cells(&blocks[1][7]), ["dispatch", "µs", "12.00", "12.00"]);
    // The default is the default, the best is another, and report 2 takes twice as long.
    let head = cells(&blocks[2][0]);
    assert_eq!(head[3..5], ["1: time µs", "1: GB/s"]);
    assert_eq!(head.last(), Some(&"2: × 1"));
    let line = cells(&blocks[2][2]);
    assert_eq!(line[..5], ["gemv", "q4_0", "4096x14336", "10000.0", "3.30"]);
    assert_eq!(line[6..9], [OTHER, "1.25", "20000.0"]);
    assert_eq!(line[11..], ["-", "-", "0.50"]);
    assert_eq!(blocks[2].len(), 2 + 6 + 6 + 2);
    assert_eq!(cells(&blocks[3][3])[3..9], ["tg64", "41.00", "39.77 to 41.82", "77.60", "52.8 %", "210.0"]);
    assert_eq!(cells(&blocks[3][3]).last(), Some(&"0.50"));
}

#[test]
fn the_page_holds_tables_and_plots() {
    let page = html(&pair());
    let tags = check(&page);
    let pictures = tags.iter().filter(|t| t.1.contains(&("role".into(), "img".into()))).count();
    // Per report gemv, gemm, attention and the others, and bars; once time against bytes.
    assert_eq!(pictures, 2 * 4 + 2 + 1);
    for words in
        ["Roofline of gemm, 2: baseline", "gemv q4_0 4096x14336", "prefers-color-scheme", "read 7.50 GB/s"]
    {
        assert!(page.contains(words), "{words}");
    }
    assert!(page.contains("hollow") && page.contains("c0 full"));
    // Report 1 has two points per format of gemv, one is filled.
    let circles = tags.iter().filter(|t| t.1.iter().any(|a| a.1.ends_with(" hollow"))).count();
    assert_eq!(circles, 6 + 6);
    // The numbers of the text are those of the page.
    for line in blocks(&table(&pair())).concat().iter().filter(|l| !l.starts_with("|-")) {
        for cell in cells(line) {
            let cell = cell.split_once(": ").map_or(cell, |(_, head)| head);
            assert!(page.contains(cell), "{cell}");
        }
    }
}

#[test]
fn a_refused_row_shows_why() {
    let mut r = report("full", 1.0);
    r.kernels[0].refused = Some("disagrees with its reference: y[3] is 7, expected 2".into());
    r.kernels[0].seconds = 0.0;
    let all = [("a".to_owned(), r)];
    let text = table(&all);
    let blocks = blocks(&text);
    let line = cells(&blocks[2][2]);
    assert_eq!(line[3..], ["refused", "-", "-", OTHER, "-"]);
    let refused = blocks.last().unwrap();
    assert!(refused[2].contains("disagrees with its reference: y\\[3] is 7, expected 2"), "{text}");
    assert!(refused[2].contains(DEFAULT));
    let page = html(&all);
    check(&page);
    assert!(page.contains("disagrees with its reference: y[3] is 7, expected 2"));
}

#[test]
fn hostile_words_stay_words() {
    let evil =
        "\"'><script>alert(1)</script><img src=x onerror=y>|`[a](b)*&amp;\n| x |\u{1b}[2J\u{202e}\u{0}--!>";
    let name = || evil.to_owned();
    let mut r = report("full", 1.0);
    r.adapter = Adapter {
        name: name(),
        kind: name(),
        backend: name(),
        driver: name(),
        driver_info: name(),
        pci: [0; 2],
    };
    (r.golay, r.host, r.caps.request) = (name(), name(), name());
    r.ceilings.read.variant = name();
    for (n, k) in r.kernels.iter_mut().enumerate() {
        match n % 5 {
            0 => (k.family, k.shape) = (name(), name()),
            1 => (k.format, k.variant) = (name(), name()),
            2 => k.refused = Some(name()),
            3 => k.shape = format!("heads=0/0 keys=-1 tokens=99999999999999999999 {evil}"),
            _ => k.format = format!("{}{evil}", "x".repeat(100_000)),
        }
    }
    for m in &mut r.models {
        (m.model, m.kind, m.test, m.activations) = (name(), name(), name(), name());
    }
    // As it comes out of a file.
    let r = Report::read(&serde_json::to_string(&r).unwrap()).unwrap();
    let all = [(name(), r.clone()), (name(), r)];
    let text = table(&all);
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{0}']));
    assert!(!text.replace("\\<", "").contains('<'));
    assert!(text.len() < 200_000);
    blocks(&text);
    let page = html(&all);
    check(&page);
    assert!(!page.contains("<script") && !page.contains(['\u{1b}', '\u{202e}', '\u{0}']));
    assert!(page.contains("&lt;script&gt;alert(1)"));
    assert!(page.len() < 1_000_000);
}

#[test]
fn hostile_numbers_break_no_plot() {
    let bad = [0.0, -1.0, 1e308, -1e308, 5e-324, 1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let mut all = pair();
    for (n, &v) in bad.iter().cycle().take(81).enumerate() {
        let w = bad[n / 9];
        let mut r = report("full", 1.0);
        r.made = u64::MAX - n as u64;
        let c = &mut r.ceilings;
        c.read.per_second = v;
        c.f32.per_second = w;
        c.f16 = Some(rate(v));
        (c.dot4.per_second, c.dispatch_s, c.pass_s, c.submit_s) = (w, v, w, v);
        for (i, k) in r.kernels.iter_mut().enumerate() {
            (k.seconds, k.bytes_per_second, k.of_read) = if i % 2 == 0 { (v, w, v) } else { (w, v, w) };
            (k.of_f16, k.of_control, k.error, k.range) = (Some(v), Some(w), [v, w], [w, v]);
            (k.items, k.bytes) = [(0, 0), (u64::MAX, 1), (1, u64::MAX), (u64::MAX, u64::MAX)][i % 4];
        }
        for m in &mut r.models {
            (m.tokens_per_second, m.range, m.bound) = (v, [v, w], Some(w));
            (m.of_bound, m.host_s) = (Some(v), Some(w));
        }
        let alone = [("a".to_owned(), r.clone())];
        check(&html(&alone));
        let text = table(&alone);
        blocks(&text);
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        if n % 9 == 2 {
            all.push(("more".into(), r));
        }
    }
    check(&html(&all));
    blocks(&table(&all));
}

#[test]
fn many_rows_stay_readable() {
    let mut r = report("full", 1.0);
    for n in 0..30_000 {
        let family = if n % 3 == 0 { "gemv".to_owned() } else { format!("family{}", n % 100) };
        let mut k = row(&family, &format!("f{n}"), "64x64", DEFAULT, 4.0, 1e-6 * f64::from(n + 1));
        k.default = n % 2 == 0;
        r.kernels.push(k);
    }
    let all = [("many".to_owned(), r)];
    let start = web_time::Instant::now();
    let page = html(&all);
    assert!(start.elapsed().as_secs() < 20);
    let tags = tags(&page);
    let pictures = tags.iter().filter(|t| t.1.contains(&("role".into(), "img".into()))).count();
    assert!((5..=10).contains(&pictures), "{pictures}");
    let drawn = tags.iter().filter(|t| t.1.iter().any(|a| a.0 == "class" && a.1.starts_with('c'))).count();
    assert!(drawn <= 8 * (super::plot::POINTS + 40), "{drawn}");
    // No plot has more labels than it may: they are the texts of its groups `labels`.
    for group in page.split("class=\"labels\"").skip(1) {
        let inside = group.split("</g>").next().unwrap();
        assert!(inside.matches("<text").count() <= super::plot::LABELS);
    }
    assert!(page.contains("points are drawn") && page.contains("more formats are in the table"));
    assert!(table(&all).lines().count() > 30_000);
}

#[test]
fn rows_of_both_reports_meet() {
    let mut all = pair();
    all[1].1.kernels.insert(0, row("select", "", "128256", DEFAULT, 32.0, 1e-3));
    all[1].1.kernels.push(row("gemv", "q2_k", "4096x14336", OTHER, 2.6, 1e-3));
    let k = compare::kernels(&all);
    let families: Vec<&str> = k.iter().map(|k| k.family).collect();
    assert!(families.is_sorted_by_key(|f| families.iter().position(|o| o == f)), "{families:?}");
    let q2 = k.iter().find(|k| k.format == "q2_k").unwrap();
    assert!(q2.of[0].best.is_none() && q2.of[1].default.is_none());
    // A best without a default is a choice, and no gain.
    assert!(q2.of[1].choice().is_some() && q2.of[1].gain().is_none());
}

#[test]
fn operations_follow_the_shape() {
    let of = |family: &str, shape: &str, items: u64| {
        compare::operations(&Row { family: family.into(), shape: shape.into(), items, ..Row::default() })
    };
    assert_eq!(of("gemv", "64x32", 2048), 4096.0);
    assert_eq!(of("gemm", "64x32 tokens=8", 2048), 32768.0);
    assert_eq!(of("gemm", "64x32 tokens=0", 2048), 4096.0);
    assert_eq!(of("attention", "heads=9/3 dim=64 keys=10", 3840), 2.0 * 3840.0 * 3.0);
    // The first of four tokens sees 7 of 10 keys, the last all of them: 8.5 on average.
    assert_eq!(of("attention", "heads=3/3 dim=64 keys=10 tokens=4", 100), 2.0 * 100.0 * 4.0 * 0.85);
    assert_eq!(of("norm", "4096 tokens=64", 1000), 4000.0);
    assert_eq!(of("", "", 3), 3.0);
}

#[test]
fn numbers_and_dates_are_short() {
    let all = [(0.0, "-"), (-3.0, "-"), (f64::NAN, "-"), (f64::INFINITY, "-"), (12.345, "12.35")];
    for (v, words) in all.into_iter().chain([(0.001, "1.00e-3"), (1e308, "1.00e308"), (5e-324, "4.94e-324")])
    {
        assert_eq!(number(v, 2), words);
    }
    assert_eq!(percent(0.877), "87.7 %");
    assert_eq!(percent(1e308), "-");
    let dates = [(1, "1970-01-01"), (951_782_400, "2000-02-29"), (951_868_800, "2000-03-01"), (0, "-")];
    for (s, words) in dates.into_iter().chain([(1_735_689_599, "2024-12-31"), (u64::MAX, "-")]) {
        assert_eq!(date(s), words);
    }
    assert_eq!(clean(" a\tb\n"), "a b");
    assert_eq!(clean(&"é".repeat(1000)).chars().count(), 161);
    assert_eq!((width("µs"), width("漢字"), width("e\u{301}")), (2, 4, 1));
}

#[test]
fn axes_have_a_few_ticks_and_lines_stay_inside() {
    for (lo, hi) in [(0.0, 0.0), (-1.0, 1.5), (-324.0, 309.0), (3.0, 3.01), (-2.0, 7.0)] {
        let axis = axis::Axis::around([lo, hi, f64::NAN], 0.0, 100.0).unwrap();
        let ticks = axis.ticks();
        assert!((2..=10).contains(&ticks.len()), "{lo} {hi}: {ticks:?}");
        assert!(ticks.iter().all(|t| (0.0..=100.0).contains(&axis.at(t.0))));
        for above in [-400.0, -1.0, 0.0, 2.0, 700.0] {
            let line = axis::diagonal(&axis, &axis, above, 1e9);
            assert!(line.is_none_or(|l| l.iter().all(|v| (-1e-6..=100.0 + 1e-6).contains(v))), "{line:?}");
        }
    }
    assert!(axis::Axis::around([], 0.0, 1.0).is_none());
    let words: Vec<String> =
        axis::Axis::around([-3.0, 5.0], 0.0, 1.0).unwrap().ticks().into_iter().map(|t| t.1).collect();
    assert_eq!(words[..3], ["0.01", "1", "100"].map(str::to_owned));
}
