//! Which page is where. Plain and sealed pages of a layer share its pool: first a fixed number of plain places, then a
//! sealed place for every page of the context.
//!
//! Everything follows from how many pages have left the tail. The first page of a sequence never is sealed: what its first
//! tokens hold weighs too much. Page n > 0 has plain place 1 + (n - 1) mod (places - 1) while it is in the tail, and
//! sealed place n - 1 afterwards.

use super::WINDOW;
use crate::kernels::attention::PAGE;

/// Plain places that a sequence needs which fills by `chunk` positions at a time: the first page, the window, the chunk,
/// and a page begun at either end, with one to spare for steps under way.
pub fn plain_pages(chunk: u32) -> u32 {
    1 + WINDOW / PAGE + chunk.div_ceil(PAGE) + 3
}

/// The pages of one sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Plain places; `None` where nothing is ever sealed and every page has its own.
    places: Option<u32>,
    /// Pages before the tail.
    done: u32,
}

impl Table {
    /// An empty sequence; `chunk` where pages get sealed.
    pub fn new(chunk: Option<u32>) -> Self {
        Self { places: chunk.map(plain_pages), done: 0 }
    }

    /// Entries of a list of plain pages and of one of sealed pages.
    pub fn entries(&self, capacity: u32) -> (u32, u32) {
        let pages = capacity / PAGE;
        match self.places {
            None => (pages, 0),
            Some(places) => (places, pages),
        }
    }

    /// Bytes of `lists` pairs of lists.
    pub fn list_bytes(&self, lists: usize, capacity: u32) -> u64 {
        let (plain, sealed) = self.entries(capacity);
        16 * lists.max(1) as u64 * (2 + u64::from(plain) + u64::from(sealed))
    }

    /// Most jobs at a time.
    pub fn jobs(&self) -> u32 {
        self.places.unwrap_or(1)
    }

    /// Bytes of the jobs of `lists` lists.
    pub fn job_bytes(&self, lists: usize) -> u64 {
        16 * lists.max(1) as u64 * u64::from(self.jobs())
    }

    fn plain_place(&self, page: u32) -> u32 {
        match self.places {
            Some(places) if page > 0 => 1 + (page - 1) % (places - 1),
            _ => page,
        }
    }

    /// Word offset of a sealed page, in a pool whose plain and sealed pages have `words` words.
    fn sealed_offset(&self, page: u32, words: (u32, u32)) -> u32 {
        self.places.unwrap_or(0) * words.0 + (page - 1) * words.1
    }

    /// The pair of lists for pages of `words` words, plain and sealed. Sealed pages have their entries from the start; the
    /// header says how many count.
    pub fn list_words(&self, words: (u32, u32), capacity: u32) -> Vec<u32> {
        let mut out = self.front_words(words, capacity);
        for page in 1..=self.entries(capacity).1 {
            out.extend([self.sealed_offset(page, words), page * PAGE, PAGE, 0]);
        }
        out
    }

    /// The first of these words, up to the header of the sealed list: all that ever changes.
    pub fn front_words(&self, words: (u32, u32), capacity: u32) -> Vec<u32> {
        let plain = self.entries(capacity).0;
        let first = u32::from(self.done > 0);
        let mut out = vec![first, self.done * PAGE, 0, 0];
        let tail = self.done..self.done + plain - first;
        for page in (0..first).chain(tail) {
            out.extend([self.plain_place(page) * words.0, page * PAGE, PAGE, 0]);
        }
        out.extend([self.done.saturating_sub(1), u32::MAX, 0, 0]);
        out
    }

    /// Lets pages leave the tail before positions from `start` on are computed: those that end [`WINDOW`] before it. The
    /// first of them, or `None` when all stay.
    pub fn advance(&mut self, start: u32) -> Option<u32> {
        self.places?;
        let done = start.saturating_sub(WINDOW) / PAGE;
        if done <= self.done {
            return None;
        }
        let first = self.done;
        self.done = done;
        Some(first)
    }

    /// The jobs that seal the pages from `first` on that have left the tail. Pages that never were in the tail, since the
    /// sequence jumped, have nothing to seal.
    pub fn job_words(&self, first: u32, words: (u32, u32)) -> Vec<u32> {
        let Some(places) = self.places else { return Vec::new() };
        let pages = first.max(1)..self.done.min(first + places - 1);
        let job = |page| [self.plain_place(page) * words.0, self.sealed_offset(page, words), PAGE, 0];
        pages.flat_map(job).collect()
    }

    /// Cuts to `len` positions, and further to where no page is sealed that a fresh sequence of that length would still
    /// have in its window, so that the window is plain again when what is missing has been computed anew. What is left,
    /// and whether the lists have changed.
    pub fn cut(&mut self, len: u32) -> (u32, bool) {
        let done = len.saturating_sub(WINDOW) / PAGE;
        if done >= self.done {
            return (len, false);
        }
        self.done = done;
        // Plain places behind the first page may hold later pages by now.
        (if done == 0 { len.min(PAGE) } else { done * PAGE }, true)
    }
}
