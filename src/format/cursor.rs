//! Reads little-endian fields from bytes that nobody has checked.
//!
//! Every method takes a description of the field, which is only turned into text when there is an error.

use std::fmt::Display;

use super::error::{FormatError, show};

/// A place in the bytes of a file.
pub(crate) struct Cursor<'a> {
    /// File, for messages.
    pub file: &'a str,
    bytes: &'a [u8],
    at: usize,
}

macro_rules! numbers {
    ($($name:ident)*) => {
        $(pub fn $name(&mut self, what: impl Display) -> Result<$name, FormatError> {
            self.array(what).map($name::from_le_bytes)
        })*
    };
}

impl<'a> Cursor<'a> {
    pub fn new(file: &'a str, bytes: &'a [u8]) -> Self {
        Self { file, bytes, at: 0 }
    }

    /// Offset of the next byte.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The next `n` bytes.
    pub fn take(&mut self, n: u64, what: impl Display) -> Result<&'a [u8], FormatError> {
        let taken = usize::try_from(n).ok().and_then(|n| self.bytes.get(self.at..)?.get(..n));
        let taken = taken.ok_or_else(|| self.truncated(what, n.into()))?;
        self.at += taken.len();
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: impl Display) -> Result<[u8; N], FormatError> {
        let found = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>()).copied();
        let found = found.ok_or_else(|| self.truncated(what, N as u128))?;
        self.at += N;
        Ok(found)
    }

    numbers! { u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 }

    /// A byte that must be 0 or 1.
    pub fn bool(&mut self, what: impl Display) -> Result<bool, FormatError> {
        match self.u8(&what)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(FormatError::Field {
                file: self.file.to_owned(),
                what: what.to_string(),
                expected: "a bool, 0 or 1".to_owned(),
                found: other.to_string(),
            }),
        }
    }

    /// A 64-bit length and that many bytes of UTF-8.
    pub fn string(&mut self, what: impl Display) -> Result<&'a str, FormatError> {
        let len = self.u64(format_args!("the length of {what}"))?;
        let bytes = self.take(len, &what)?;
        std::str::from_utf8(bytes)
            .map_err(|_| FormatError::Utf8 { file: self.file.to_owned(), what: what.to_string() })
    }

    /// A 64-bit count of things of which each takes at least `least` bytes; refused when they cannot all follow.
    pub fn count(&mut self, least: u64, what: impl Display) -> Result<usize, FormatError> {
        let n = self.u64(&what)?;
        let needed = u128::from(n) * u128::from(least);
        if needed > self.left() as u128 {
            return Err(self.truncated(what, needed));
        }
        // It is at most the number of bytes left.
        Ok(n as usize)
    }

    fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    fn truncated(&self, what: impl Display, needed: u128) -> FormatError {
        FormatError::Truncated {
            file: self.file.to_owned(),
            what: what.to_string(),
            at: self.at as u64,
            needed,
            left: self.left() as u64,
        }
    }

    /// An error about a field.
    pub fn field(&self, what: impl Display, expected: impl Display, found: impl Display) -> FormatError {
        FormatError::Field {
            file: self.file.to_owned(),
            what: what.to_string(),
            expected: expected.to_string(),
            found: found.to_string(),
        }
    }
}

/// A name for messages: nothing is formatted until it is shown.
pub(crate) struct Named<'a>(pub &'static str, pub &'a str);

impl Display for Named<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.0, show(self.1))
    }
}
