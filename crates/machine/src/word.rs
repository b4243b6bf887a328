//! Words as values of parameters: a parameter's words stand in its row of the table ([`Key`]), which makes an enum of
//! them, so that whoever reads the parameter treats each of them or does not compile.

use crate::key::{Key, Shape};

/// The words of one parameter.
pub trait Words: Copy + 'static {
    /// The parameter.
    const KEY: Key;

    /// Every word, in the order of the table.
    const ALL: &'static [Self];

    /// How machine files write it.
    fn name(self) -> &'static str;
}

/// A word that is the value of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word {
    key: Key,
    index: usize,
    name: &'static str,
}

impl Word {
    /// The word of `key` that is written as `text`.
    pub fn parse(key: Key, text: &str) -> Option<Self> {
        let Shape::Word(names) = key.shape() else { return None };
        let (index, &name) = names.iter().enumerate().find(|&(_, &name)| name == text)?;
        Some(Self { key, index, name })
    }

    /// How machine files write it.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The word as one of its parameter's; none of another parameter's.
    pub fn of<W: Words>(self) -> Option<W> {
        W::ALL.get(self.index).copied().filter(|_| self.key == W::KEY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::words;

    #[test]
    fn a_word_is_one_of_its_own_parameter() {
        let word = Word::parse(Key::IssuePolicy, "greedy_oldest").unwrap();
        assert_eq!(word.of(), Some(words::IssuePolicy::GreedyThenOldest));
        assert_eq!(word.of::<words::IssueOccupies>(), None);
        assert_eq!(Word::parse(Key::IssuePolicy, "scheduler"), None);
        assert_eq!(Word::parse(Key::SmCount, "scheduler"), None);
    }

    #[test]
    fn the_enum_and_the_shape_of_a_key_are_one_list() {
        fn check<W: Words>() {
            let Shape::Word(names) = W::KEY.shape() else { panic!("{} has words", W::KEY) };
            assert!(W::ALL.iter().map(|word| word.name()).eq(names.iter().copied()), "{}", W::KEY);
        }
        check::<words::DramType>();
        check::<words::IssuePolicy>();
        check::<words::L1GlobalLoads>();
    }
}
