//! From a stream of token bytes to text that can be shown at once.

/// Turns token bytes into text, holding back a character until all its bytes are there.
///
/// Bytes that can never become a character are replaced by U+FFFD, one for each maximal valid beginning, as
/// `String::from_utf8_lossy` does for the whole text. What `push` and `finish` return, put together, is what the lossy
/// decoding of all bytes together gives.
#[derive(Debug, Clone, Default)]
pub struct StreamDecoder {
    /// The beginning of a character, at most three bytes.
    tail: Vec<u8>,
    /// Drop the next byte if it is a space: nothing has been seen yet.
    strip: bool,
}

impl StreamDecoder {
    /// A decoder. `strip_leading_space` drops one space at the very beginning (SentencePiece puts one there).
    pub fn new(strip_leading_space: bool) -> Self {
        StreamDecoder { tail: Vec::new(), strip: strip_leading_space }
    }

    /// Takes the bytes of one token and returns the text that is complete now, perhaps none.
    pub fn push(&mut self, token: &[u8]) -> String {
        let mut token = token;
        if self.strip && !token.is_empty() {
            self.strip = false;
            token = token.strip_prefix(b" ").unwrap_or(token);
        }
        self.tail.extend_from_slice(token);
        let mut text = String::with_capacity(self.tail.len());
        let mut kept = 0;
        let mut chunks = self.tail.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            if chunk.invalid().is_empty() {
                continue;
            }
            if chunks.peek().is_none() && could_continue(chunk.invalid()) {
                kept = chunk.invalid().len();
            } else {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        let from = self.tail.len() - kept;
        self.tail.drain(..from);
        text
    }

    /// Whether the beginning of a character is being held back.
    pub fn is_pending(&self) -> bool {
        !self.tail.is_empty()
    }

    /// Ends the stream: what was held back comes out as U+FFFD.
    pub fn finish(&mut self) -> String {
        self.strip = false;
        let text = String::from_utf8_lossy(&self.tail).into_owned();
        self.tail.clear();
        text
    }
}

/// Whether these bytes, which are no character yet, are the beginning of one.
fn could_continue(bytes: &[u8]) -> bool {
    matches!(std::str::from_utf8(bytes), Err(e) if e.valid_up_to() == 0 && e.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_emoji_over_two_tokens_is_one_emoji() {
        // Trial 19.
        let mut d = StreamDecoder::new(false);
        assert_eq!(d.push(&[0xF0, 0x9F]), "");
        assert!(d.is_pending());
        assert_eq!(d.push(&[0x8C, 0x8D]), "🌍");
        assert_eq!(d.finish(), "");
    }

    #[test]
    fn a_family_with_joiners_and_marks_byte_by_byte() {
        // Trial 21.
        let text = "👨‍👩‍👧‍👦 e\u{301}\u{327} 🏴\u{e0067}\u{e007f} 👍🏽";
        let mut d = StreamDecoder::new(false);
        let mut seen = String::new();
        for b in text.as_bytes() {
            let part = d.push(&[*b]);
            assert!(!part.contains('\u{FFFD}'));
            seen.push_str(&part);
            assert!(text.starts_with(&seen));
        }
        assert_eq!(seen + &d.finish(), text);
    }

    #[test]
    fn broken_bytes_do_not_hold_up_the_rest() {
        let mut d = StreamDecoder::new(false);
        assert_eq!(d.push(&[0xFF]), "\u{FFFD}");
        assert_eq!(d.push(&[0xE4, 0xBD]), "");
        assert_eq!(d.push(b"x"), "\u{FFFD}x");
        assert_eq!(d.push(&[0xF0, 0x9F]), "");
        assert_eq!(d.finish(), "\u{FFFD}");
        assert_eq!(d.push(b"again"), "again");
    }

    #[test]
    fn the_first_space_only() {
        let mut d = StreamDecoder::new(true);
        assert_eq!(d.push(b""), "");
        assert_eq!(d.push(b" a"), "a");
        assert_eq!(d.push(b" b"), " b");
        assert_eq!(StreamDecoder::new(true).push(b"  x"), " x");
        assert_eq!(StreamDecoder::new(false).push(b" x"), " x");
    }

    proptest! {
        #[test]
        fn pieces_give_what_the_whole_gives(
            bytes in proptest::collection::vec(any::<u8>(), 0..64),
            text in any::<String>(),
            cuts in proptest::collection::vec(1usize..7, 1..40),
        ) {
            for all in [bytes, text.into_bytes()] {
                let mut d = StreamDecoder::new(false);
                let (mut out, mut rest) = (String::new(), &all[..]);
                for cut in cuts.iter().cycle() {
                    if rest.is_empty() { break; }
                    let (now, later) = rest.split_at((*cut).min(rest.len()));
                    out.push_str(&d.push(now));
                    rest = later;
                }
                out.push_str(&d.finish());
                prop_assert_eq!(out, String::from_utf8_lossy(&all).into_owned());
            }
        }
    }
}
