//! Ctrl-C: while an answer is computed it stops the answer, otherwise the program.

use golay::engine::Cancel;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

/// What the shell expects of a program that a signal ended.
pub const CODE: u8 = 130;

/// Whom a Ctrl-C is for; nobody at first.
static PRESENT: LazyLock<Mutex<Option<Target>>> = LazyLock::new(|| Mutex::new(None));
static PRESSES: AtomicU32 = AtomicU32::new(0);

#[derive(Clone)]
enum Target {
    /// An answer, and how many presses end the program all the same.
    Answer(Cancel, u32),
    /// A prompt: the first press is answered with a hint.
    Prompt,
}

/// What Ctrl-C says at a prompt.
pub const HINT: &str = "(/bye or Ctrl-D ends)";

/// Installs the handler; without one Ctrl-C ends the program as it always does.
pub fn install() {
    let _ = ctrlc::set_handler(|| {
        let present = PRESENT.lock().unwrap_or_else(PoisonError::into_inner);
        let press = PRESSES.fetch_add(1, Ordering::Relaxed) + 1;
        match &*present {
            Some(Target::Answer(cancel, patience)) if press < *patience => cancel.cancel(),
            Some(Target::Prompt) if press < 2 => crate::output::note(HINT),
            _ => {
                crate::target::abandon();
                // Said on the way out, unless nobody takes it.
                let said = std::thread::spawn(|| crate::output::error("interrupted"));
                for _ in 0..20 {
                    if said.is_finished() {
                        break;
                    }
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                std::process::exit(i32::from(CODE))
            }
        }
    });
}

/// While this lives, Ctrl-C goes where it was directed; then where it went before.
pub struct Guard(Option<Target>);

/// Directs Ctrl-C to a computation; the `patience`-th press ends the program all the same, for when the device hangs.
pub fn guard(cancel: &Cancel, patience: u32) -> Guard {
    cancel.reset();
    direct(Target::Answer(cancel.clone(), patience))
}

/// While a person is asked: one press is a mistake, two are meant.
pub fn at_prompt() -> Guard {
    direct(Target::Prompt)
}

fn direct(to: Target) -> Guard {
    PRESSES.store(0, Ordering::Relaxed);
    Guard(PRESENT.lock().unwrap_or_else(PoisonError::into_inner).replace(to))
}

impl Drop for Guard {
    fn drop(&mut self) {
        PRESSES.store(0, Ordering::Relaxed);
        *PRESENT.lock().unwrap_or_else(PoisonError::into_inner) = self.0.take();
    }
}
