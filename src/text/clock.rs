//! A small calendar for templates that print the date.

use std::sync::Arc;

/// Where a template gets the time from: seconds since 1970-01-01 00:00 UTC.
#[derive(Clone, Default)]
pub enum Clock {
    /// The machine's clock, in UTC.
    #[default]
    System,
    /// A fixed time, for tests and for answers that can be repeated.
    Fixed(i64),
    /// Any function.
    Custom(Arc<dyn Fn() -> i64 + Send + Sync>),
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Clock::System => f.write_str("System"),
            Clock::Fixed(t) => write!(f, "Fixed({t})"),
            Clock::Custom(_) => f.write_str("Custom"),
        }
    }
}

impl Clock {
    /// The present second.
    pub fn now(&self) -> i64 {
        match self {
            // `web_time` is the standard library's clock natively and the browser's on the web.
            Clock::System => web_time::SystemTime::now()
                .duration_since(web_time::UNIX_EPOCH)
                .map_or(0, |d| i64::try_from(d.as_secs()).unwrap_or(i64::MAX)),
            Clock::Fixed(t) => *t,
            Clock::Custom(f) => f(),
        }
    }
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// A moment in the Gregorian calendar, UTC.
struct Moment {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    weekday: i64,
    year_day: i64,
}

fn is_leap(year: i64) -> bool {
    (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
}

impl Moment {
    fn from_unix(seconds: i64) -> Self {
        // Years 0 to 9999 are all that a template can want.
        let seconds = seconds.clamp(-62_167_219_200, 253_402_300_799);
        let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        // Days are counted from 1 March of year 0, so that the leap day is the last of its year.
        let from_march = days + 719_468;
        let era = from_march.div_euclid(146_097);
        let day_of_era = from_march.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let before = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
        let leap = i64::from(is_leap(year) && month > 2);
        let year_day = before.get((month - 1) as usize).copied().unwrap_or(0) + day + leap;
        Moment {
            year,
            month,
            day,
            hour: rest / 3_600,
            minute: rest / 60 % 60,
            second: rest % 60,
            weekday: (days + 4).rem_euclid(7),
            year_day,
        }
    }

    fn month_name(&self) -> &'static str {
        MONTHS.get((self.month - 1) as usize).copied().unwrap_or("")
    }

    fn day_name(&self) -> &'static str {
        DAYS.get(self.weekday as usize).copied().unwrap_or("")
    }
}

/// Formats a time (seconds since 1970, UTC) by a `strftime` pattern: `%Y %y %m %b %B %d %e %j %a %A %w %u %H %I %M %S
/// %p %F %D %T %R %s %Z %z %n %t %%`, each numeric one also with `-` (no padding). Anything else is copied as it is.
pub fn format_time(seconds: i64, pattern: &str) -> String {
    let t = Moment::from_unix(seconds);
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut plain = false;
        let mut code = chars.next();
        if code == Some('-') {
            plain = true;
            code = chars.next();
        }
        let hour12 = if t.hour % 12 == 0 { 12 } else { t.hour % 12 };
        let mut number = |value: i64, width: usize| {
            let width = if plain { 0 } else { width };
            out.push_str(&format!("{value:0width$}"));
        };
        match code {
            Some('Y') => number(t.year, 4),
            Some('y') => number(t.year % 100, 2),
            Some('m') => number(t.month, 2),
            Some('d') => number(t.day, 2),
            Some('j') => number(t.year_day, 3),
            Some('w') => number(t.weekday, 1),
            Some('u') => number(if t.weekday == 0 { 7 } else { t.weekday }, 1),
            Some('H') => number(t.hour, 2),
            Some('I') => number(hour12, 2),
            Some('M') => number(t.minute, 2),
            Some('S') => number(t.second, 2),
            Some('s') => number(seconds, 1),
            Some('e') if plain => number(t.day, 0),
            Some('e') => out.push_str(&format!("{:2}", t.day)),
            Some('b' | 'h') => out.push_str(t.month_name().get(..3).unwrap_or("")),
            Some('B') => out.push_str(t.month_name()),
            Some('a') => out.push_str(t.day_name().get(..3).unwrap_or("")),
            Some('A') => out.push_str(t.day_name()),
            Some('p') => out.push_str(if t.hour < 12 { "AM" } else { "PM" }),
            Some('F') => out.push_str(&format_time(seconds, "%Y-%m-%d")),
            Some('D') => out.push_str(&format_time(seconds, "%m/%d/%y")),
            Some('T' | 'X') => out.push_str(&format_time(seconds, "%H:%M:%S")),
            Some('R') => out.push_str(&format_time(seconds, "%H:%M")),
            Some('Z') => out.push_str("UTC"),
            Some('z') => out.push_str("+0000"),
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('%') => out.push('%'),
            other => {
                out.push('%');
                if plain {
                    out.push('-');
                }
                out.extend(other);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_that_are_known() {
        // Trial 17.
        assert_eq!(format_time(0, "%d %b %Y"), "01 Jan 1970");
        assert_eq!(
            format_time(1_709_210_096, "%A %e %B %Y %H:%M:%S %j"),
            "Thursday 29 February 2024 12:34:56 060"
        );
        assert_eq!(format_time(1_735_689_599, "%a %-d.%-m.%y %I %p"), "Tue 31.12.24 11 PM");
        assert_eq!(format_time(951_782_400, "%F %T"), "2000-02-29 00:00:00");
        assert_eq!(format_time(-1, "%F %T"), "1969-12-31 23:59:59");
        assert_eq!(
            format_time(1_722_470_400, "%e|%-e|%-I|%%|%Q|%"),
            " 1| 1|12|%|%Q|%".replace("| 1|", "|1|")
        );
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let (mut y, mut m, mut d) = (1970, 1, 1);
        for day in 0..60_000i64 {
            assert_eq!(format_time(day * 86_400 + 7, "%-Y %-m %-d"), format!("{y} {m} {d}"));
            let last = [31, 28 + i64::from(is_leap(y)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
            d += 1;
            if d > last[m as usize - 1] {
                (d, m) = (1, m + 1);
            }
            if m > 12 {
                (m, y) = (1, y + 1);
            }
        }
        for extreme in [i64::MIN, i64::MAX] {
            format_time(extreme, "%Y %j %A");
        }
    }
}
