//! Words and numbers of a report, made fit to be shown.

/// Characters of one string that are shown. What a driver calls itself is shorter; a hostile file's is not.
const LONGEST: usize = 160;

/// Shown where a report has no figure.
pub(super) const MISSING: &str = "-";

/// A string of a report without what would move a cursor, break a line or turn text around, and not endless.
pub(super) fn clean(s: &str) -> String {
    let mut out = String::new();
    let mut chars = s.trim().chars();
    for c in chars.by_ref().take(LONGEST) {
        out.push(match c {
            '\n' | '\r' | '\t' => ' ',
            c if c.is_control() || is_invisible(c) => '\u{fffd}',
            c => c,
        });
    }
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

/// Marks that steer the direction or the joining of text, and the private and unassigned ends of Unicode.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{e000}'..='\u{f8ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{fffe}'..='\u{ffff}' | '\u{e0000}'..='\u{10ffff}')
}

/// Like [`clean`], and [`MISSING`] for nothing.
pub(super) fn or_missing(s: &str) -> String {
    let s = clean(s);
    if s.is_empty() { MISSING.to_owned() } else { s }
}

/// Columns of a terminal that a string takes, as far as that can be known.
pub(super) fn width(s: &str) -> usize {
    s.chars().map(columns).sum()
}

fn columns(c: char) -> usize {
    match c {
        // Marks that combine with the letter before them.
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{20d0}'..='\u{20ff}' => {
            0
        }
        // East Asian letters, full-width forms and pictographs.
        '\u{1100}'..='\u{115e}'
        | '\u{2e80}'..='\u{303e}'
        | '\u{3041}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff01}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

/// A positive number with so many decimals; [`MISSING`] for anything else. Numbers that would be endless or would round
/// to nothing get an exponent.
pub(super) fn number(v: f64, decimals: usize) -> String {
    let least = 0.5 * 10f64.powi(-(decimals as i32));
    if !v.is_finite() || v <= 0.0 {
        MISSING.to_owned()
    } else if v >= 1e9 || v < least {
        format!("{v:.2e}")
    } else {
        format!("{v:.decimals$}")
    }
}

/// [`number`] of what may be absent.
pub(super) fn maybe(v: Option<f64>, decimals: usize) -> String {
    v.map_or_else(|| MISSING.to_owned(), |v| number(v, decimals))
}

/// A fraction in percent.
pub(super) fn percent(v: f64) -> String {
    let n = number(v * 100.0, 1);
    if n == MISSING { n } else { n + " %" }
}

/// The logarithm to base 10 of a number that has one.
pub(super) fn log(v: f64) -> Option<f64> {
    (v.is_finite() && v > 0.0).then(|| v.log10())
}

/// `2026-07-01` of seconds since 1970; [`MISSING`] for 0 and for what no clock says.
pub(super) fn date(seconds: u64) -> String {
    let mut days = seconds / 86_400;
    let leap = |y: u64| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
    if seconds == 0 || days > 2_900_000 {
        return MISSING.to_owned();
    }
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let months = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for m in months {
        if days < m {
            break;
        }
        days -= m;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", days + 1)
}
