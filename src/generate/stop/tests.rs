use proptest::prelude::*;

use super::*;

fn matcher(stops: &[&str]) -> StopMatcher {
    StopMatcher::new(stops.iter().map(|s| s.to_string()).collect())
}

/// Pushes the pieces; returns all that came out and the stop that was met.
fn run(m: &mut StopMatcher, pieces: &[&str]) -> (String, Option<usize>) {
    let mut out = String::new();
    for piece in pieces {
        out += &m.push(piece).emit;
    }
    out += &m.finish();
    (out, m.matched())
}

/// By definition: the first byte at which any stop is complete; the longest of those.
fn naive(stops: &[String], text: &str) -> (String, Option<usize>) {
    for end in 1..=text.len() {
        let done = |s: &&String| !s.is_empty() && text.as_bytes()[..end].ends_with(s.as_bytes());
        if let Some(longest) = stops.iter().filter(done).max_by_key(|s| s.len()) {
            let index = stops.iter().position(|s| s == longest);
            return (text[..end - longest.len()].to_string(), index);
        }
    }
    (text.to_string(), None)
}

/// Trial 20: a stop split over three tokens and overlapping itself.
#[test]
fn trial_20_split_and_overlapping() {
    for pieces in [&["aab", "aab", "ab"][..], &["a", "a", "b", "a", "a", "b", "a", "b"], &["aabaabab!"]] {
        assert_eq!(run(&mut matcher(&["abab"]), pieces), ("aaba".to_string(), Some(0)));
    }
}

#[test]
fn holds_back_and_lets_go() {
    let mut m = matcher(&["</s>", "<|im_end|>"]);
    assert_eq!(m.push("hi <").emit, "hi ");
    assert_eq!(m.push("|im_").emit, "");
    assert_eq!(m.push("start|>").emit, "<|im_start|>");
    assert_eq!(m.push("x<|im_end|>tail"), StopOutcome { emit: "x".into(), matched: Some(1) });
    assert_eq!(m.push("more"), StopOutcome { emit: String::new(), matched: Some(1) });
    assert_eq!(m.finish(), "");
}

#[test]
fn earliest_then_longest() {
    assert_eq!(run(&mut matcher(&["bcd", "abcde"]), &["xabcde"]), ("xa".into(), Some(0)));
    assert_eq!(run(&mut matcher(&["d", "bcd", "", "bcd"]), &["abcd"]), ("a".into(), Some(1)));
    assert_eq!(run(&mut matcher(&["", ""]), &["abc"]), ("abc".into(), None));
    assert_eq!(run(&mut matcher(&["abc"]), &["ab"]), ("ab".into(), None));
}

#[test]
fn long_stops_are_linear() {
    // Quadratic work here would be 10^11 steps.
    let mut m = StopMatcher::new(vec!["a".repeat(300_000) + "b"]);
    let text = "a".repeat(300_000);
    assert_eq!(m.push(&text).emit, "");
    assert_eq!(m.push(&text).emit.len(), 300_000);
    assert_eq!(m.push("b").matched, Some(0));
}

fn text(max: usize) -> impl Strategy<Value = String> {
    let letters = prop::sample::select(vec!['a', 'b', 'a', 'b', 'é', 'è', '🦙', '🦊']);
    prop::collection::vec(letters, 0..max).prop_map(|v| v.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_naive_matcher(
        stops in prop::collection::vec(text(5), 0..4),
        pieces in prop::collection::vec(text(6), 0..12),
    ) {
        let whole: String = pieces.concat();
        let (expected, index) = naive(&stops, &whole);
        let mut m = StopMatcher::new(stops.clone());
        let (mut seen, mut shown) = (String::new(), String::new());
        for piece in &pieces {
            let out = m.push(piece);
            seen += piece;
            shown += &out.emit;
            prop_assert!(expected.starts_with(&shown));
            if out.matched.is_none() {
                // Held back is exactly the longest end that could begin a stop.
                let held = (0..=seen.len()).find(|&i| {
                    seen.is_char_boundary(i) && (i == seen.len() || stops.iter().any(|s| s.starts_with(&seen[i..])))
                });
                prop_assert_eq!(shown.len(), held.unwrap());
            }
        }
        shown += &m.finish();
        prop_assert_eq!((shown, m.matched()), (expected, index));
    }
}
