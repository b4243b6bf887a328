//! Sequences with their repetitions folded: loops, and loops of loops.
//!
//! Tokens go through a few levels one after the other. A level holds back the last few tokens; when they repeat it
//! folds them, follows the repetition for as long as it lasts, and hands one token for all of it to the next level, to
//! which it is a token like any other.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

/// Depth to which loops are folded.
const LEVELS: usize = 3;
/// Longest loop body.
const MAX_BODY: usize = 32;

/// A symbol, or a loop by its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Token {
    Symbol(u32),
    Loop(u32),
}

/// A part of a folded sequence.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Folded {
    Symbol(u32),
    Loop { times: u64, body: Vec<Folded> },
}

/// Folds a sequence while it is made.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    levels: [Level; LEVELS],
    loops: Loops,
    output: Vec<Token>,
    size: usize,
}

/// The loops met so far, each once.
#[derive(Debug, Default)]
struct Loops {
    ids: FxHashMap<(Vec<Token>, u64), u32>,
    list: Vec<(Vec<Token>, u64)>,
    /// Parts of each when it is written out.
    sizes: Vec<usize>,
}

impl Loops {
    fn intern(&mut self, body: &[Token], times: u64) -> Token {
        let key = (body.to_vec(), times);
        if let Some(&id) = self.ids.get(&key) {
            return Token::Loop(id);
        }
        let id = self.list.len() as u32;
        self.sizes.push(1 + body.iter().map(|&token| self.size(token)).sum::<usize>());
        self.list.push(key.clone());
        self.ids.insert(key, id);
        Token::Loop(id)
    }

    fn size(&self, token: Token) -> usize {
        match token {
            Token::Symbol(_) => 1,
            Token::Loop(id) => self.sizes[id as usize],
        }
    }
}

#[derive(Debug, Default)]
struct Level {
    /// Tokens that may be the start of a loop.
    tail: VecDeque<Token>,
    /// The loop under way, if not empty; then `tail` is.
    body: Vec<Token>,
    times: u64,
    /// Tokens of the body that have come once more.
    matched: usize,
}

impl Level {
    fn push(&mut self, token: Token, loops: &mut Loops, out: &mut Vec<Token>) {
        if self.body.is_empty() {
            return self.push_literal(token, out);
        }
        if self.body[self.matched] == token {
            self.matched += 1;
            if self.matched == self.body.len() {
                self.matched = 0;
                self.times += 1;
            }
            return;
        }
        for begun in self.end_loop(loops, out) {
            self.push(begun, loops, out);
        }
        self.push(token, loops, out);
    }

    /// Hands the loop on; returns the tokens of its last, incomplete round.
    fn end_loop(&mut self, loops: &mut Loops, out: &mut Vec<Token>) -> Vec<Token> {
        let mut body = std::mem::take(&mut self.body);
        out.push(loops.intern(&body, self.times));
        body.truncate(self.matched);
        self.matched = 0;
        body
    }

    fn push_literal(&mut self, token: Token, out: &mut Vec<Token>) {
        self.tail.push_back(token);
        let n = self.tail.len();
        let repeats = |length: &usize| (n - length..n).rev().all(|at| self.tail[at] == self.tail[at - length]);
        if let Some(length) = (1..=MAX_BODY.min(n / 2)).find(repeats) {
            self.body.extend(self.tail.drain(n - length..));
            self.tail.truncate(n - 2 * length);
            out.extend(self.tail.drain(..));
            self.times = 2;
        } else if n == 2 * MAX_BODY {
            out.extend(self.tail.pop_front());
        }
    }

    fn finish(&mut self, loops: &mut Loops, out: &mut Vec<Token>) {
        while !self.body.is_empty() {
            for begun in self.end_loop(loops, out) {
                self.push(begun, loops, out);
            }
        }
        out.extend(self.tail.drain(..));
    }
}

impl Folder {
    /// Appends a symbol.
    pub(crate) fn push(&mut self, symbol: u32) {
        self.pass(0, Token::Symbol(symbol));
    }

    /// Parts of the sequence so far, without the few that may still become a loop.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    fn pass(&mut self, level: usize, token: Token) {
        let Some(stage) = self.levels.get_mut(level) else {
            self.size += self.loops.size(token);
            return self.output.push(token);
        };
        let mut out = Vec::new();
        stage.push(token, &mut self.loops, &mut out);
        out.into_iter().for_each(|token| self.pass(level + 1, token));
    }

    /// The whole sequence.
    pub(crate) fn finish(mut self) -> Vec<Folded> {
        for level in 0..LEVELS {
            let mut out = Vec::new();
            self.levels[level].finish(&mut self.loops, &mut out);
            out.into_iter().for_each(|token| self.pass(level + 1, token));
        }
        self.output.iter().map(|&token| self.write(token)).collect()
    }

    fn write(&self, token: Token) -> Folded {
        match token {
            Token::Symbol(symbol) => Folded::Symbol(symbol),
            Token::Loop(id) => {
                let (body, times) = &self.loops.list[id as usize];
                Folded::Loop { times: *times, body: body.iter().map(|&token| self.write(token)).collect() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fold(symbols: impl IntoIterator<Item = u32>) -> Vec<Folded> {
        let mut folder = Folder::default();
        symbols.into_iter().for_each(|symbol| folder.push(symbol));
        folder.finish()
    }

    fn unfold(parts: &[Folded], into: &mut Vec<u32>) {
        for part in parts {
            match part {
                Folded::Symbol(symbol) => into.push(*symbol),
                Folded::Loop { times, body } => (0..*times).for_each(|_| unfold(body, into)),
            }
        }
    }

    #[test]
    fn a_loop_is_one_part() {
        let middle = std::iter::repeat_n([1, 2, 3], 1000).flatten();
        let parts = fold([7, 8].into_iter().chain(middle).chain([1, 9]));
        let body = vec![Folded::Symbol(1), Folded::Symbol(2), Folded::Symbol(3)];
        let expected = [
            Folded::Symbol(7),
            Folded::Symbol(8),
            Folded::Loop { times: 1000, body },
            Folded::Symbol(1),
            Folded::Symbol(9),
        ];
        assert_eq!(parts, expected);
    }

    #[test]
    fn a_loop_of_loops_is_one_part() {
        let inner = || [5].into_iter().chain(std::iter::repeat_n(6, 16));
        let parts = fold((0..100).flat_map(|_| inner()).chain([9]));
        let mut all = Vec::new();
        unfold(&parts, &mut all);
        assert_eq!(all.len(), 1701);
        assert!(parts.len() <= 4, "{parts:?}");
    }

    proptest! {
        #[test]
        fn folding_loses_nothing(
            pieces in prop::collection::vec((prop::collection::vec(0u32..3, 1..5), 1usize..40), 0..12),
            rounds in 1usize..5,
        ) {
            let piece = |(body, times): &(Vec<u32>, usize)| std::iter::repeat_n(body.clone(), *times).flatten();
            let all: Vec<u32> = (0..rounds).flat_map(|_| pieces.iter().flat_map(piece)).collect();
            let mut unfolded = Vec::new();
            unfold(&fold(all.clone()), &mut unfolded);
            prop_assert_eq!(unfolded, all);
        }
    }
}
