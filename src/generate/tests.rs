//! Tests of the room as a whole; small ones stand beside what they test.

mod chain;
mod dry;
mod mirostat;
mod params;
mod reference;
mod state;
mod trials;
