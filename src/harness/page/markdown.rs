//! A table as Markdown whose columns line up in a terminal, too.

use super::tables::{Column, Table};
use super::words::width;

/// Title, note and lines.
pub(super) fn table(t: &Table) -> String {
    let heads: Vec<String> = t.columns.iter().map(head).collect();
    let rows: Vec<Vec<String>> = t.rows.iter().map(|r| r.iter().map(|c| escape(c)).collect()).collect();
    let widths: Vec<usize> = heads
        .iter()
        .enumerate()
        .map(|(i, h)| {
            rows.iter().filter_map(|r| r.get(i)).map(|c| width(c)).max().unwrap_or(0).max(width(h)).max(3)
        })
        .collect();
    let line = |cells: &[String]| {
        let mut out = String::from("|");
        for ((cell, column), w) in cells.iter().zip(&t.columns).zip(&widths) {
            let gap = " ".repeat(w.saturating_sub(width(cell)));
            out += &if column.right { format!(" {gap}{cell} |") } else { format!(" {cell}{gap} |") };
        }
        out + "\n"
    };
    let mut out = format!("## {}\n\n{}\n\n{}|", t.title, t.note, line(&heads));
    for (column, w) in t.columns.iter().zip(&widths) {
        let dashes = "-".repeat(w + 1);
        out += &if column.right { format!("{dashes}:|") } else { format!("{dashes}-|") };
    }
    out.push('\n');
    out.extend(rows.iter().map(|r| line(r)));
    out
}

fn head(c: &Column) -> String {
    c.report.map_or_else(|| c.head.clone(), |i| format!("{}: {}", i + 1, c.head))
}

/// What would end a cell, start HTML, a link or an image, or change how the rest is read.
fn escape(s: &str) -> String {
    let mut out = String::new();
    for c in s.chars() {
        if matches!(c, '\\' | '|' | '<' | '[' | '`' | '*' | '&') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
