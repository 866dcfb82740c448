//! Ctrl-C: while an answer is computed it stops the answer, otherwise the program.

use golay::engine::Cancel;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

/// What the shell expects of a program that a signal ended.
const INTERRUPTED: i32 = 130;

/// Whom a Ctrl-C is for: the cancel flag of the present computation and how many presses end the program anyway.
static PRESENT: LazyLock<Mutex<Option<(Cancel, u32)>>> = LazyLock::new(|| Mutex::new(None));
static PRESSES: AtomicU32 = AtomicU32::new(0);

/// Installs the handler; without one Ctrl-C ends the program as it always does.
pub fn install() {
    let _ = ctrlc::set_handler(|| {
        let present = PRESENT.lock().unwrap_or_else(PoisonError::into_inner);
        match &*present {
            Some((cancel, patience)) if PRESSES.fetch_add(1, Ordering::Relaxed) + 1 < *patience => {
                cancel.cancel();
            }
            _ => std::process::exit(INTERRUPTED),
        }
    });
}

/// While this lives, Ctrl-C cancels instead of ending the program.
pub struct Guard;

/// Directs Ctrl-C to a computation; the `patience`-th press ends the program all the same, for when the device hangs.
pub fn guard(cancel: &Cancel, patience: u32) -> Guard {
    cancel.reset();
    PRESSES.store(0, Ordering::Relaxed);
    *PRESENT.lock().unwrap_or_else(PoisonError::into_inner) = Some((cancel.clone(), patience));
    Guard
}

impl Drop for Guard {
    fn drop(&mut self) {
        *PRESENT.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
