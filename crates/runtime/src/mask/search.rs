//! Finds any of many values in bytes that come in pieces, in one pass.
//!
//! This is the automaton of Aho and Corasick: a tree of all values, in which each node knows the
//! longest other beginning of a value that its own bytes end with. Each byte of text costs about
//! one step, however many values there are and however long they are. It is written out here
//! because masking asks what libraries do not tell: how many of the last bytes may still become a
//! value.

/// A place in the tree: the beginning of one or more values.
pub(super) type State = u32;

/// Where every search begins.
pub(super) const START: State = 0;

/// The values, made ready to be searched for.
#[derive(Default)]
pub(super) struct Search {
    nodes: Vec<Node>,
    /// Where each first byte leads to. Most bytes of most texts are looked up here.
    first: Vec<State>,
    /// The same for nodes with many children. There are few: each costs as many values.
    wide: Vec<[State; 256]>,
    values: usize,
}

/// How many children a node may have before it gets a table. To look through a list of them takes
/// longer than anything else here.
const MANY: usize = 16;

/// No table.
const NARROW: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Node {
    /// The byte that leads here.
    byte: u8,
    /// How many bytes lead here.
    depth: u32,
    /// The children are a list. [`START`] stands for its end.
    first_child: State,
    next_sibling: State,
    /// The longest other beginning of a value that these bytes end with.
    fallback: State,
    /// The length of the longest value that ends here, or 0.
    found: u32,
    /// How many of the last bytes may become a value with the bytes to come.
    pending: u32,
    /// Its table in `wide`, or [`NARROW`].
    table: u32,
}

impl Node {
    fn new(byte: u8, depth: u32, next_sibling: State) -> Self {
        Self {
            byte,
            depth,
            next_sibling,
            first_child: START,
            fallback: START,
            found: 0,
            pending: 0,
            table: NARROW,
        }
    }
}

impl Search {
    /// A search for values. None of them is empty.
    pub(super) fn new<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut search = Self {
            nodes: vec![Node::new(0, 0, START)],
            first: vec![START; 256],
            wide: Vec::new(),
            values: 0,
        };
        for value in values {
            search.add(value);
        }
        search.widen();
        search.connect();
        search
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values == 0
    }

    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        self.values
    }

    /// The state after one more byte.
    pub(super) fn step(&self, mut state: State, byte: u8) -> State {
        while state != START {
            match self.child(state, byte) {
                START => state = self.node(state).fallback,
                child => return child,
            }
        }
        self.first[usize::from(byte)]
    }

    /// Whether a value begins with this byte.
    pub(super) fn begins_with(&self, byte: u8) -> bool {
        self.first[usize::from(byte)] != START
    }

    /// The length of the longest value that ends with the last byte, or 0.
    pub(super) fn found(&self, state: State) -> usize {
        self.node(state).found as usize
    }

    /// How many of the last bytes may become a value with the bytes to come.
    pub(super) fn pending(&self, state: State) -> usize {
        self.node(state).pending as usize
    }

    fn node(&self, state: State) -> &Node {
        &self.nodes[state as usize]
    }

    /// The child of an inner node, or [`START`] where there is none.
    fn child(&self, parent: State, byte: u8) -> State {
        let parent = self.node(parent);
        if parent.table != NARROW {
            return self.wide[parent.table as usize][usize::from(byte)];
        }
        let mut child = parent.first_child;
        while child != START && self.node(child).byte != byte {
            child = self.node(child).next_sibling;
        }
        child
    }

    fn add(&mut self, value: &[u8]) {
        let mut state = START;
        for (depth, byte) in (1..).zip(value) {
            let known = match state {
                START => self.first[usize::from(*byte)],
                inner => self.child(inner, *byte),
            };
            state = if known == START { self.grow(state, *byte, depth) } else { known };
        }
        let length = u32::try_from(value.len()).expect("values are bounded");
        let end = &mut self.nodes[state as usize].found;
        self.values += usize::from(*end == 0);
        *end = length;
    }

    fn grow(&mut self, parent: State, byte: u8, depth: u32) -> State {
        let new = State::try_from(self.nodes.len()).expect("all values together are bounded");
        self.nodes.push(Node::new(byte, depth, self.node(parent).first_child));
        self.nodes[parent as usize].first_child = new;
        if parent == START {
            self.first[usize::from(byte)] = new;
        }
        new
    }

    /// Gives tables to nodes that have many children.
    fn widen(&mut self) {
        for state in 1..self.nodes.len() {
            let (mut table, mut count) = ([START; 256], 0);
            let mut child = self.nodes[state].first_child;
            while child != START {
                let Node { byte, next_sibling, .. } = *self.node(child);
                table[usize::from(byte)] = child;
                count += 1;
                child = next_sibling;
            }
            if count > MANY {
                self.nodes[state].table = u32::try_from(self.wide.len()).expect("there are fewer than nodes");
                self.wide.push(table);
            }
        }
    }

    /// Works out fallbacks, from the shortest beginnings to the longest: each needs shorter ones.
    fn connect(&mut self) {
        let mut level = vec![START];
        while !level.is_empty() {
            let mut next = Vec::new();
            for parent in level {
                let mut child = self.node(parent).first_child;
                while child != START {
                    let Node { byte, next_sibling, .. } = *self.node(child);
                    let fallback =
                        if parent == START { START } else { self.step(self.node(parent).fallback, byte) };
                    let shorter = *self.node(fallback);
                    let node = &mut self.nodes[child as usize];
                    node.fallback = fallback;
                    node.found = node.found.max(shorter.found);
                    node.pending = if node.first_child == START { shorter.pending } else { node.depth };
                    next.push(child);
                    child = next_sibling;
                }
            }
            level = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_finds_what_a_naive_search_finds(
            values in prop::collection::vec("[ab]{1,5}", 0..6),
            text in "[abc]{0,40}",
        ) {
            let search = Search::new(values.iter().map(String::as_bytes));
            let mut state = START;
            for end in 1..=text.len() {
                state = search.step(state, text.as_bytes()[end - 1]);
                let ends_here = values.iter().filter(|value| text[..end].ends_with(value.as_str()));
                prop_assert_eq!(search.found(state), ends_here.map(String::len).max().unwrap_or(0));
                let begun = (0..end).find(|at| {
                    values.iter().any(|value| value.len() > end - at && value.starts_with(&text[*at..end]))
                });
                prop_assert_eq!(search.pending(state), begun.map_or(0, |at| end - at));
            }
            prop_assert_eq!(search.is_in(text.as_bytes()), values.iter().any(|value| text.contains(value)));
        }
    }

    #[test]
    fn a_search_for_nothing_finds_nothing() {
        let search = Search::new([]);
        assert!(search.is_empty() && !search.is_in(b"anything"));
    }
}
