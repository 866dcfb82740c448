//! The byte alphabet of byte-level BPE: every byte has one printable character, so that a vocabulary is plain text.
//!
//! The 188 printable Latin-1 bytes stand for themselves; the other 68 take the characters from U+0100 upwards in byte
//! order.

const fn stands_for_itself(b: u8) -> bool {
    matches!(b, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF)
}

/// Number of characters from U+0100 on: the bytes that do not stand for themselves.
const SHIFTED: usize = 68;

const fn shifted_bytes() -> [u8; SHIFTED] {
    let mut out = [0u8; SHIFTED];
    let (mut b, mut n) = (0usize, 0usize);
    while b < 256 {
        if !stands_for_itself(b as u8) {
            out[n] = b as u8;
            n += 1;
        }
        b += 1;
    }
    out
}

const SHIFTED_BYTES: [u8; SHIFTED] = shifted_bytes();

/// The byte that a character of the alphabet stands for.
pub(super) fn byte_of(c: char) -> Option<u8> {
    let u = c as u32;
    if u < 0x100 {
        let b = u as u8;
        return stands_for_itself(b).then_some(b);
    }
    SHIFTED_BYTES.get((u - 0x100) as usize).copied()
}

/// The character that stands for a byte.
pub(super) fn char_of(b: u8) -> char {
    if stands_for_itself(b) {
        return char::from(b);
    }
    let n = SHIFTED_BYTES.iter().position(|&x| x == b).unwrap_or(0);
    char::from_u32(0x100 + n as u32).unwrap_or(' ')
}

/// Appends the bytes that a token of the alphabet stands for; false (and nothing appended) when a character is
/// outside the alphabet.
pub(super) fn push_bytes(token: &str, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    for c in token.chars() {
        match byte_of(c) {
            Some(b) => out.push(b),
            None => {
                out.truncate(start);
                return false;
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_a_bijection() {
        let mut seen = std::collections::HashSet::new();
        for b in 0..=255u8 {
            let c = char_of(b);
            assert!(seen.insert(c));
            assert_eq!(byte_of(c), Some(b));
        }
        assert_eq!((char_of(b' '), char_of(b'\n'), char_of(0)), ('Ġ', 'Ċ', 'Ā'));
        assert_eq!(byte_of('▁'), None);
    }
}
