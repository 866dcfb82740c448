//! DRY's sequence breakers: where in a token stream a repeat may not reach across.
//!
//! A breaker is a text. It ends at the token that holds its last byte, however the tokenizer cut it: inside one
//! token (the usual case for "\n"), or over several, which is found from the bytes of those few tokens that
//! overlap with a breaker of more than one byte.

use std::collections::{HashMap, HashSet};

/// Recognises the tokens with which a breaker ends.
#[derive(Debug, Clone, Default)]
pub struct Breakers {
    /// Tokens that contain a whole breaker.
    single: HashSet<u32>,
    /// Breakers of two bytes and more, and the bytes of the tokens that can be part of one.
    long: Vec<Vec<u8>>,
    pieces: HashMap<u32, Vec<u8>>,
    /// Breakers given as token sequences of two and more.
    sequences: Vec<Vec<u32>>,
}

impl Breakers {
    /// No breakers: repeats may reach across anything.
    pub fn none() -> Self {
        Self::default()
    }

    /// Breakers given as token sequences. Empty ones have no effect.
    pub fn from_sequences(sequences: impl IntoIterator<Item = Vec<u32>>) -> Self {
        let mut out = Self::default();
        for sequence in sequences {
            match sequence[..] {
                [] => {}
                [id] => {
                    out.single.insert(id);
                }
                _ => out.sequences.push(sequence),
            }
        }
        out
    }

    /// Breakers given as texts, for a vocabulary of `vocab` tokens whose bytes `bytes` gives (None: a token
    /// without text). Looks at every token once. Empty texts have no effect.
    pub fn from_strings<S: AsRef<str>>(
        strings: &[S],
        vocab: u32,
        mut bytes: impl FnMut(u32) -> Option<Vec<u8>>,
    ) -> Self {
        let texts: Vec<&[u8]> =
            strings.iter().map(|s| s.as_ref().as_bytes()).filter(|b| !b.is_empty()).collect();
        let mut out = Self::default();
        if texts.is_empty() {
            return out;
        }
        for id in 0..vocab {
            let Some(token) = bytes(id).filter(|t| !t.is_empty()) else { continue };
            if texts.iter().any(|text| find(&token, text).is_some()) {
                out.single.insert(id);
            }
            if texts.iter().any(|text| overlaps(&token, text)) {
                out.pieces.insert(id, token);
            }
        }
        out.long = texts.into_iter().filter(|t| t.len() > 1).map(<[u8]>::to_vec).collect();
        out
    }

    /// Whether the token alone is or contains a breaker.
    pub fn is_breaker(&self, id: u32) -> bool {
        self.single.contains(&id)
    }

    /// Whether a breaker ends with the last of these tokens.
    pub fn ends(&self, tokens: &[u32]) -> bool {
        let Some((&last, before)) = tokens.split_last() else { return false };
        if self.single.contains(&last) || self.sequences.iter().any(|s| tokens.ends_with(s)) {
            return true;
        }
        let (Some(reach), Some(last)) = (self.long.iter().map(Vec::len).max(), self.pieces.get(&last)) else {
            return false;
        };
        // The bytes before the last token, back to where no breaker that ends in it can begin.
        let mut parts: Vec<&[u8]> = Vec::new();
        let mut length = 0;
        for id in before.iter().rev() {
            let Some(piece) = self.pieces.get(id).filter(|_| length + 1 < reach) else { break };
            length += piece.len();
            parts.push(piece);
        }
        let mut text: Vec<u8> = parts.iter().rev().flat_map(|p| p.iter().copied()).collect();
        text.extend_from_slice(last);
        self.long.iter().any(|breaker| {
            // Only occurrences that end inside the last token count.
            let from = (length + 1).saturating_sub(breaker.len());
            text.get(from..).is_some_and(|tail| find(tail, breaker).is_some())
        })
    }
}

/// Whether a token can hold a part, but not all, of an occurrence of `text`.
fn overlaps(token: &[u8], text: &[u8]) -> bool {
    (1..text.len()).any(|k| token.ends_with(&text[..k]) || token.starts_with(&text[text.len() - k..]))
        || find(text, token).is_some_and(|_| token.len() < text.len())
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|w| w == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A breaker ends at the token with its last byte, whatever the cut; checked against a search of the text.
    #[test]
    fn ends_agrees_with_a_text_search() {
        let vocab: Vec<&[u8]> = vec![
            b"a",
            b"b",
            b"ab",
            b"ba",
            b"aab",
            b"x",
            b"xa",
            b"bx",
            b"",
            b"a\nb",
            "é".as_bytes(),
            b"\xc3",
            b"\xa9",
        ];
        let strings = ["aba", "\n", "bé", ""];
        let n = vocab.len() as u32;
        let breakers = Breakers::from_strings(&strings, n, |id| Some(vocab[id as usize].to_vec()));
        let mut x = 99u32;
        for _ in 0..400 {
            let mut tokens = Vec::new();
            let mut text = Vec::new();
            for _ in 0..12 {
                x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let id = (x >> 16) % n;
                if vocab[id as usize].is_empty() {
                    continue;
                }
                let start = text.len();
                tokens.push(id);
                text.extend_from_slice(vocab[id as usize]);
                let expected = strings.iter().filter(|s| !s.is_empty()).any(|s| {
                    let s = s.as_bytes();
                    (0..text.len()).any(|at| text[at..].starts_with(s) && at + s.len() > start)
                });
                assert_eq!(breakers.ends(&tokens), expected, "{:?}", String::from_utf8_lossy(&text));
            }
        }
    }

    #[test]
    fn token_sequences() {
        let breakers = Breakers::from_sequences([vec![], vec![3], vec![1, 2]]);
        assert!(breakers.ends(&[0, 3]) && breakers.ends(&[1, 2]) && breakers.is_breaker(3));
        assert!(
            !breakers.ends(&[]) && !breakers.ends(&[1]) && !breakers.ends(&[2]) && !breakers.is_breaker(2)
        );
    }
}
