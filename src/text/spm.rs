//! SentencePiece BPE: the pair whose joined text has the highest score merges first, the leftmost one on a tie.
//!
//! The rank-ordered BPE of other files cannot express this: there a merge has a rank of its own, here every way to
//! split a token has that token's score. So this engine is our own. A run costs O(n log n).

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

use super::vocab::SPACE_MARK;

/// The vocabulary of one SentencePiece model, ready to encode.
pub(super) struct SpmModel {
    /// Pieces that text can become (no control, unknown or byte tokens) with id and score.
    pieces: HashMap<Box<str>, Piece>,
    /// Ids of `<0x00>` to `<0xFF>`.
    byte_ids: Option<Box<[u32; 256]>>,
    unknown: Option<u32>,
    add_space_prefix: bool,
    /// Length in bytes of the longest piece; longer joins need no look-up.
    longest: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub(super) id: u32,
    pub(super) score: f32,
    /// Reserved pieces take part in merging but are taken apart again at the end.
    pub(super) unused: bool,
}

/// A stretch of the text in the list of symbols.
#[derive(Clone, Copy)]
struct Symbol {
    start: usize,
    /// Zero once the symbol has been merged away.
    len: usize,
    prev: usize,
    next: usize,
}

const NONE: usize = usize::MAX;

/// A pair that could merge. Ordered so that the heap gives the best pair first.
struct Candidate {
    score: f32,
    left: usize,
    right: usize,
    /// Joined length when the candidate was made; a candidate whose symbols have changed since is stale.
    len: usize,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then_with(|| other.left.cmp(&self.left))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

impl SpmModel {
    pub(super) fn new(
        pieces: HashMap<Box<str>, Piece>,
        byte_ids: Option<Box<[u32; 256]>>,
        unknown: Option<u32>,
        add_space_prefix: bool,
    ) -> Self {
        let longest = pieces.keys().map(|p| p.len()).max().unwrap_or(0);
        SpmModel { pieces, byte_ids, unknown, add_space_prefix, longest }
    }

    /// The id of a piece.
    pub(super) fn id(&self, piece: &str) -> Option<u32> {
        self.pieces.get(piece).map(|p| p.id)
    }

    /// Appends the ids of a stretch of text that holds no added tokens.
    pub(super) fn encode(&self, text: &str, out: &mut Vec<u32>) {
        if text.is_empty() {
            return;
        }
        let mut marked = String::with_capacity(text.len() + text.len() / 3 + 3);
        if self.add_space_prefix {
            marked.push(SPACE_MARK);
        }
        marked.extend(text.chars().map(|c| if c == ' ' { SPACE_MARK } else { c }));
        self.merge(&marked, out);
    }

    fn merge(&self, text: &str, out: &mut Vec<u32>) {
        let mut symbols: Vec<Symbol> = text
            .char_indices()
            .enumerate()
            .map(|(i, (start, c))| Symbol { start, len: c.len_utf8(), prev: i.wrapping_sub(1), next: i + 1 })
            .collect();
        if let Some(last) = symbols.last_mut() {
            last.next = NONE;
        }
        let mut heap = BinaryHeap::new();
        // Which two stretches made a reserved piece, to take it apart again.
        let mut halves: HashMap<&str, usize> = HashMap::new();
        for right in 1..symbols.len() {
            self.consider(text, &symbols, right - 1, right, &mut heap, &mut halves);
        }
        while let Some(c) = heap.pop() {
            let (Some(&left), Some(&right)) = (symbols.get(c.left), symbols.get(c.right)) else { continue };
            if left.len == 0 || right.len == 0 || left.len + right.len != c.len {
                continue;
            }
            if let Some(l) = symbols.get_mut(c.left) {
                l.len += right.len;
                l.next = right.next;
            }
            if let Some(r) = symbols.get_mut(c.right) {
                r.len = 0;
            }
            if let Some(after) = symbols.get_mut(right.next) {
                after.prev = c.left;
            }
            self.consider(text, &symbols, left.prev, c.left, &mut heap, &mut halves);
            self.consider(text, &symbols, c.left, right.next, &mut heap, &mut halves);
        }
        let mut at = 0;
        while let Some(s) = symbols.get(at) {
            self.emit(text.get(s.start..s.start + s.len).unwrap_or(""), &halves, out);
            at = s.next;
        }
    }

    /// Puts the pair on the heap when its join is a piece.
    fn consider<'t>(
        &self,
        text: &'t str,
        symbols: &[Symbol],
        left: usize,
        right: usize,
        heap: &mut BinaryHeap<Candidate>,
        halves: &mut HashMap<&'t str, usize>,
    ) {
        let (Some(l), Some(r)) = (symbols.get(left), symbols.get(right)) else { return };
        let len = l.len + r.len;
        if len > self.longest {
            return;
        }
        let Some(joined) = text.get(l.start..l.start + len) else { return };
        let Some(piece) = self.pieces.get(joined) else { return };
        heap.push(Candidate { score: piece.score, left, right, len });
        if piece.unused {
            halves.insert(joined, l.len);
        }
    }

    /// Appends the id of a finished symbol: the piece, its parts when it is reserved, or its bytes.
    fn emit<'t>(&self, symbol: &'t str, halves: &HashMap<&'t str, usize>, out: &mut Vec<u32>) {
        let mut todo = vec![symbol];
        while let Some(s) = todo.pop() {
            match self.pieces.get(s) {
                Some(p) if p.unused => match halves.get(s).and_then(|&at| s.split_at_checked(at)) {
                    Some((a, b)) => todo.extend([b, a]),
                    None => out.push(p.id),
                },
                Some(p) => out.push(p.id),
                None => match (&self.byte_ids, self.unknown) {
                    (Some(ids), _) => {
                        out.extend(s.bytes().map(|b| ids.get(usize::from(b)).copied().unwrap_or(0)));
                    }
                    (None, Some(unknown)) => out.push(unknown),
                    (None, None) => {}
                },
            }
        }
    }
}
