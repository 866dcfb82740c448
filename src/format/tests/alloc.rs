//! Counts what a thread allocates, so that a test can say that a refusal did not take what the file claimed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static TAKEN: Cell<u64> = const { Cell::new(0) };
}

fn count(bytes: usize) {
    // A thread that is ending has no counter any more.
    let _ = TAKEN.try_with(|t| t.set(t.get() + bytes as u64));
}

// SAFETY: every call goes on to the system's allocator unchanged; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: `at` came from `System` by way of `alloc` or `realloc`.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as for `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: as for `dealloc`; the caller vouches for `size`.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs `f` and says how many bytes this thread asked for meanwhile, freed ones included.
pub fn bytes_taken<T>(f: impl FnOnce() -> T) -> (T, u64) {
    let before = TAKEN.get();
    let out = f();
    (out, TAKEN.get() - before)
}

#[test]
fn the_counter_counts() {
    let (v, taken) = bytes_taken(|| vec![0u8; 100_000]);
    assert!((100_000..110_000).contains(&taken), "{taken} for {}", v.len());
}
