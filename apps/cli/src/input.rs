//! Values and texts that people give: ids, sizes, prompts from arguments, files and pipes.

use crate::args::TextSource;
use crate::error::{CliError, Result, at};
use std::io::Read;
use std::path::Path;

/// A list of token ids.
#[derive(Clone, Debug)]
pub struct Ids(pub Vec<u32>);

/// `1,2,3`
pub fn parse_ids(text: &str) -> std::result::Result<Ids, String> {
    let one = |part: &str| {
        let part = part.trim();
        part.parse::<u32>().map_err(|_| format!("{part:?} is not a token id (0 to {})", u32::MAX))
    };
    if text.trim().is_empty() {
        return Ok(Ids(Vec::new()));
    }
    text.split(',').map(one).collect::<std::result::Result<_, _>>().map(Ids)
}

/// Which positions' logits are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Positions {
    All,
    Last(usize),
}

/// `all` or `last:N`
pub fn parse_positions(text: &str) -> std::result::Result<Positions, String> {
    match text.strip_prefix("last:").map(str::parse::<usize>) {
        None if text == "all" => Ok(Positions::All),
        Some(Ok(n)) if n > 0 => Ok(Positions::Last(n)),
        _ => Err("expected `all` or `last:N` with N at least 1".into()),
    }
}

/// `900M`, `6G`, `6.5GiB`, a number of bytes.
pub fn parse_size(text: &str) -> std::result::Result<u64, String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim().to_ascii_lowercase();
    let shift = match unit.trim_end_matches("ib").trim_end_matches('b') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err("expected a size such as 900M or 6G".into()),
    };
    let number: f64 = number.parse().map_err(|_| "expected a size such as 900M or 6G".to_owned())?;
    Ok((number * (1u64 << shift) as f64) as u64)
}

/// Rows and columns.
#[derive(Clone, Copy, Debug)]
pub struct Shape(pub [u32; 2]);

/// `4096x14336`
pub fn parse_shape(text: &str) -> std::result::Result<Shape, String> {
    let (rows, cols) = text.split_once('x').ok_or("expected rows x columns, as 4096x14336")?;
    let one = |t: &str| t.trim().parse::<u32>().ok().filter(|n| (1..=1 << 24).contains(n));
    match (one(rows), one(cols)) {
        (Some(rows), Some(cols)) => Ok(Shape([rows, cols])),
        _ => Err("expected rows x columns, as 4096x14336, each from 1 to 2^24".into()),
    }
}

/// A weight format that kernels read.
pub fn parse_format(text: &str) -> std::result::Result<golay::format::TensorType, String> {
    let all = golay::weights::DEVICE_TYPES;
    all.iter().copied().find(|t| t.name().eq_ignore_ascii_case(text.trim())).ok_or_else(|| {
        let names: Vec<String> = all.iter().map(|t| t.name().to_lowercase()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// A shape of a random model.
pub fn parse_synth(text: &str) -> std::result::Result<golay::model::Synth, String> {
    let all = golay::model::SYNTHS;
    all.iter().copied().find(|s| s.name.eq_ignore_ascii_case(text.trim())).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|s| s.name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// Seconds, more than none and less than a day.
pub fn parse_seconds(text: &str) -> std::result::Result<f64, String> {
    let seconds = text.trim().parse::<f64>().ok().filter(|s| *s > 0.0 && *s <= 86400.0);
    seconds.ok_or_else(|| "expected seconds, as 30 or 2.5".into())
}

/// 64 hexadecimal digits, lower-cased.
pub fn parse_sha256(text: &str) -> std::result::Result<String, String> {
    if text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit()) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("expected 64 hexadecimal digits".into())
    }
}

/// Most bytes that are read as one text.
const LIMIT: u64 = 256 << 20;

/// All of a file or, for `-`, of standard input.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let reader: &mut dyn Read = if path == Path::new("-") {
        &mut std::io::stdin().lock()
    } else {
        &mut std::fs::File::open(path).map_err(at(path))?
    };
    reader.take(LIMIT + 1).read_to_end(&mut bytes).map_err(at(path))?;
    if bytes.len() as u64 > LIMIT {
        return Err(CliError::failed(format!("{}: more than {LIMIT} bytes", shown(path))));
    }
    Ok(bytes)
}

/// The same as text.
pub fn read_text(path: &Path) -> Result<String> {
    String::from_utf8(read_bytes(path)?).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        CliError::failed(format!("{}: not UTF-8 at byte {at}", shown(path)))
    })
}

/// The path, or what `-` stands for.
pub fn shown(path: &Path) -> String {
    if path == Path::new("-") { "standard input".into() } else { path.display().to_string() }
}

impl TextSource {
    /// The text, if one was given.
    pub fn read(&self) -> Result<Option<String>> {
        if let Some(path) = &self.file {
            return read_text(path).map(Some);
        }
        match (&self.prompt, self.text.as_deref()) {
            (Some(p), _) => Ok(Some(p.clone())),
            (None, Some("-")) => read_text(Path::new("-")).map(Some),
            (None, Some(t)) => Ok(Some(t.to_owned())),
            (None, None) => Ok(None),
        }
    }

    /// The text, or a usage error.
    pub fn need(&self) -> Result<String> {
        self.read()?
            .ok_or_else(|| CliError::usage("a text is missing: -p TEXT, -f FILE or - for standard input"))
    }

    /// Whether a text was given.
    pub fn given(&self) -> bool {
        self.prompt.is_some() || self.file.is_some() || self.text.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_or_refused() {
        assert_eq!(parse_ids("1, 2,3").map(|i| i.0), Ok(vec![1, 2, 3]));
        assert!(parse_ids("").is_ok_and(|i| i.0.is_empty()));
        for bad in ["1,,2", "-1", "4294967296", "x"] {
            assert!(parse_ids(bad).is_err(), "{bad}");
        }
        assert_eq!(parse_positions("last:2"), Ok(Positions::Last(2)));
        assert!(parse_positions("last:0").is_err() && parse_positions("first").is_err());
        assert_eq!(parse_size("1.5K"), Ok(1536));
        assert_eq!(parse_size("2GiB"), Ok(2 << 30));
        assert!(parse_size("1X").is_err() && parse_size("").is_err() && parse_size("-1").is_err());
    }
}
