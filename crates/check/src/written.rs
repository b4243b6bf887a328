//! Which bytes of the device's memory something has written.
//!
//! There is a bit for each byte, in pages of which most are full. Memory that nobody tracks counts as written: variables,
//! which have a value from the start, and memory that the host writes without a call.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

/// Bytes whose bits are kept together.
const PAGE: u64 = 4096;
const WORDS: usize = (PAGE / 64) as usize;

/// The bits of a page.
#[derive(Clone, Debug)]
enum Page {
    /// All of it is written.
    Full,
    /// A bit for each byte.
    Some(Box<[u64; WORDS]>),
}

/// Sets of bytes by address.
#[derive(Clone, Default, Debug)]
pub(crate) struct Bits {
    pages: FxHashMap<u64, Page>,
}

/// Bits `from..to` of a word; at least one.
fn ones(from: u64, to: u64) -> u64 {
    (u64::MAX >> (64 - (to - from))) << from
}

/// The parts of a range of bytes that lie in one word each: page, word, and the bits.
fn parts(range: std::ops::Range<u64>) -> impl Iterator<Item = (u64, usize, u64)> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        let start = at;
        (start < range.end).then(|| {
            at = range.end.min((start / 64 + 1) * 64);
            let end = at - start / 64 * 64;
            (start / PAGE, (start % PAGE / 64) as usize, ones(start % 64, end))
        })
    })
}

impl Bits {
    /// Adds a range of bytes.
    pub(crate) fn add(&mut self, range: std::ops::Range<u64>) {
        let mut at = range.start;
        while at < range.end {
            let end = range.end.min((at / PAGE + 1) * PAGE);
            if end - at == PAGE {
                self.pages.insert(at / PAGE, Page::Full);
            } else if let Page::Some(words) =
                self.pages.entry(at / PAGE).or_insert_with(|| Page::Some(Box::new([0; WORDS])))
            {
                parts(at..end).for_each(|(_, word, bits)| words[word] |= bits);
                if words.iter().all(|&word| word == u64::MAX) {
                    self.pages.insert(at / PAGE, Page::Full);
                }
            }
            at = end;
        }
    }

    /// Takes a range of bytes out.
    fn remove(&mut self, range: std::ops::Range<u64>) {
        let mut at = range.start;
        while at < range.end {
            let end = range.end.min((at / PAGE + 1) * PAGE);
            if end - at == PAGE {
                self.pages.remove(&(at / PAGE));
            } else if let Some(page) = self.pages.get_mut(&(at / PAGE)) {
                if matches!(page, Page::Full) {
                    *page = Page::Some(Box::new([u64::MAX; WORDS]));
                }
                if let Page::Some(words) = page {
                    parts(at..end).for_each(|(_, word, bits)| words[word] &= !bits);
                }
            }
            at = end;
        }
    }

    /// The bits of a word.
    fn word(&self, page: u64, word: usize) -> u64 {
        match self.pages.get(&page) {
            None => 0,
            Some(Page::Full) => u64::MAX,
            Some(Page::Some(words)) => words[word],
        }
    }

    /// Adds the bytes of another set.
    pub(crate) fn join(&mut self, other: Self) {
        for (number, page) in other.pages {
            match (self.pages.get_mut(&number), page) {
                (Some(Page::Full), _) => {}
                (Some(Page::Some(own)), Page::Some(words)) => {
                    own.iter_mut().zip(words.iter()).for_each(|(own, word)| *own |= word);
                }
                (_, page) => drop(self.pages.insert(number, page)),
            }
        }
    }

    /// The first byte of a range that is neither in this set nor in another one.
    fn first_missing(&self, other: &Self, range: std::ops::Range<u64>) -> Option<u64> {
        parts(range).find_map(|(page, word, bits)| {
            let missing = bits & !self.word(page, word) & !other.word(page, word);
            (missing != 0).then(|| page * PAGE + word as u64 * 64 + u64::from(missing.trailing_zeros()))
        })
    }
}

/// Which bytes of some allocations something has written.
#[derive(Clone, Default, Debug)]
pub struct Written {
    /// Bytes of what is tracked, by first address.
    tracked: BTreeMap<u64, u64>,
    bits: Bits,
}

impl Written {
    /// Begins to track memory of which nothing is written.
    pub fn track(&mut self, address: u64, bytes: u64) {
        self.tracked.insert(address, bytes);
    }

    /// Tracks memory no more.
    pub fn forget(&mut self, address: u64) {
        if let Some(bytes) = self.tracked.remove(&address) {
            self.bits.remove(address..address + bytes);
        }
    }

    /// Notes that bytes are written.
    pub fn write(&mut self, address: u64, bytes: u64) {
        if self.is_tracked(address) {
            self.bits.add(address..address + bytes);
        }
    }

    /// Notes a copy: a byte of the target is as written as that of the source.
    pub fn copy(&mut self, to: u64, from: u64, bytes: u64) {
        if !self.is_tracked(to) {
            return;
        }
        if !self.is_tracked(from) || self.first_unwritten(&Bits::default(), from, bytes).is_none() {
            return self.bits.add(to..to + bytes);
        }
        // The two may overlap.
        let source = self.bits.clone();
        self.bits.remove(to..to + bytes);
        for byte in 0..bytes {
            let at = from + byte;
            if source.word(at / PAGE, (at % PAGE / 64) as usize) >> (at % 64) & 1 == 1 {
                self.bits.add(to + byte..to + byte + 1);
            }
        }
    }

    /// Takes over what a launch has written.
    pub(crate) fn join(&mut self, bits: Bits) {
        self.bits.join(bits);
    }

    pub(crate) fn is_tracked(&self, address: u64) -> bool {
        let before = self.tracked.range(..=address).next_back();
        before.is_some_and(|(&base, &bytes)| address - base < bytes)
    }

    /// The first byte of some that neither this nor `others` have written.
    pub(crate) fn first_unwritten(&self, others: &Bits, address: u64, bytes: u64) -> Option<u64> {
        if !self.is_tracked(address) {
            return None;
        }
        self.bits.first_missing(others, address..address + bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 0x7000_0000_0200;

    fn first(written: &Written, address: u64, bytes: u64) -> Option<u64> {
        written.first_unwritten(&Bits::default(), address, bytes).map(|at| at - BASE)
    }

    #[test]
    fn bytes_are_written_one_by_one_and_in_pages() {
        let mut written = Written::default();
        written.track(BASE, 20_000);
        assert_eq!(first(&written, BASE + 3, 4), Some(3));
        written.write(BASE + 3, 5);
        assert_eq!((first(&written, BASE + 3, 5), first(&written, BASE + 3, 6)), (None, Some(8)));
        written.write(BASE, 12_345);
        assert_eq!(first(&written, BASE, 20_000), Some(12_345));
        assert_eq!(first(&written, BASE + 20_000, 4), None, "what is not tracked counts as written");
        written.forget(BASE);
        written.track(BASE, 20_000);
        assert_eq!(first(&written, BASE, 1), Some(0), "memory that is made anew is not written");
    }

    #[test]
    fn copies_bring_what_is_written_and_no_more() {
        let mut written = Written::default();
        written.track(BASE, 1000);
        written.track(BASE + 8192, 1000);
        written.write(BASE + 100, 50);
        written.copy(BASE + 8192, BASE + 90, 100);
        assert_eq!(first(&written, BASE + 8192 + 10, 50), None);
        assert_eq!(first(&written, BASE + 8192 + 10, 51), Some(8192 + 60));
        assert_eq!(first(&written, BASE + 8192, 1), Some(8192));
        written.copy(BASE + 8192, BASE + 50_000, 100);
        assert_eq!(first(&written, BASE + 8192, 100), None, "what is not tracked is written");
    }

    #[test]
    fn what_a_launch_writes_is_added_at_its_end() {
        let mut written = Written::default();
        written.track(BASE, 10_000);
        written.write(BASE, 10);
        let mut own = Bits::default();
        own.add(BASE + 10..BASE + 9000);
        assert_eq!(written.first_unwritten(&own, BASE, 9000), None);
        assert_eq!(written.first_unwritten(&own, BASE, 9001), Some(BASE + 9000));
        written.join(own);
        assert_eq!(first(&written, BASE, 10_000), Some(9000));
    }
}
