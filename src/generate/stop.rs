//! Stop strings in a stream: nothing of a stop is ever shown, everything before it is.
//!
//! An Aho-Corasick automaton over bytes. Its state is the longest end of the text so far that could begin a
//! stop, and its depth is just the number of bytes to hold back, so that no text is searched twice. As stops
//! and text are valid UTF-8, that end begins and ends at character boundaries.
//!
//! The stop that completes first wins, at once, whatever another one that began earlier might still become;
//! of several that complete with the same byte the longest wins. This does not depend on how the text is cut
//! into pieces.

/// What one push lets out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StopOutcome {
    /// Text that is safe to show now.
    pub emit: String,
    /// Index of the stop string that was met; the text ends before it.
    pub matched: Option<usize>,
}

#[derive(Debug, Clone, Default)]
struct Node {
    children: Vec<(u8, usize)>,
    /// The longest proper suffix that is also a prefix of some stop.
    fail: usize,
    depth: usize,
    /// `(stop, its length in bytes)`: the longest stop that ends here.
    stop: Option<(usize, usize)>,
}

/// Watches a stream of text for stop strings.
#[derive(Debug, Clone)]
pub struct StopMatcher {
    nodes: Vec<Node>,
    state: usize,
    held: String,
    matched: Option<usize>,
}

impl StopMatcher {
    /// A matcher for these stops. Empty strings are never met; of equal strings the first is reported.
    pub fn new(stops: Vec<String>) -> Self {
        let mut nodes = vec![Node::default()];
        for (index, stop) in stops.iter().enumerate().filter(|(_, s)| !s.is_empty()) {
            let mut at = 0;
            for &byte in stop.as_bytes() {
                at = match child(&nodes[at], byte) {
                    Some(next) => next,
                    None => {
                        let depth = nodes[at].depth + 1;
                        nodes.push(Node { depth, ..Node::default() });
                        let next = nodes.len() - 1;
                        nodes[at].children.push((byte, next));
                        next
                    }
                };
            }
            nodes[at].stop.get_or_insert((index, stop.len()));
        }
        // Breadth first, so that a node's fail link is complete before its children need it.
        let mut queue = std::collections::VecDeque::from([0usize]);
        while let Some(at) = queue.pop_front() {
            for (byte, next) in nodes[at].children.clone() {
                if at != 0 {
                    nodes[next].fail = step(&nodes, nodes[at].fail, byte);
                }
                // A stop that ends here itself is longer than any that its suffix ends with.
                nodes[next].stop = nodes[next].stop.or(nodes[nodes[next].fail].stop);
                queue.push_back(next);
            }
        }
        Self { nodes, state: 0, held: String::new(), matched: None }
    }

    /// Takes the next piece of text. After a stop was met all further text is swallowed.
    pub fn push(&mut self, text: &str) -> StopOutcome {
        if self.matched.is_some() {
            return StopOutcome { emit: String::new(), matched: self.matched };
        }
        let before = self.held.len();
        self.held.push_str(text);
        for (offset, &byte) in text.as_bytes().iter().enumerate() {
            self.state = step(&self.nodes, self.state, byte);
            if let Some((index, length)) = self.nodes[self.state].stop {
                self.matched = Some(index);
                let mut emit = std::mem::take(&mut self.held);
                emit.truncate(floor_boundary(&emit, (before + offset + 1).saturating_sub(length)));
                return StopOutcome { emit, matched: self.matched };
            }
        }
        let cut = self.held.len().saturating_sub(self.nodes[self.state].depth);
        let kept = self.held.split_off(floor_boundary(&self.held, cut));
        StopOutcome { emit: std::mem::replace(&mut self.held, kept), matched: None }
    }

    /// The stream has ended: gives out what was held back. Empty after a match.
    pub fn finish(&mut self) -> String {
        self.state = 0;
        std::mem::take(&mut self.held)
    }

    /// The stop that was met, if any.
    pub fn matched(&self) -> Option<usize> {
        self.matched
    }
}

fn child(node: &Node, byte: u8) -> Option<usize> {
    node.children.iter().find(|c| c.0 == byte).map(|c| c.1)
}

fn step(nodes: &[Node], mut state: usize, byte: u8) -> usize {
    loop {
        match child(&nodes[state], byte) {
            Some(next) => return next,
            None if state == 0 => return 0,
            None => state = nodes[state].fail,
        }
    }
}

/// The boundary at or below `at`. The automaton's cuts are boundaries already (see the module's text); this
/// keeps a mistake there from becoming a panic.
fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0)
}

#[cfg(test)]
mod tests;
