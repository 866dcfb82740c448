//! Tests of the room as a whole; small ones stand beside what they test.
