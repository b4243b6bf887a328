//! Numbers and texts in few bytes, for what is saved.
//!
//! Numbers take seven bits a byte, the lowest first (LEB128); signed ones alternate: 0, -1, 1, -2. Lists that are the same
//! are kept once, as [`Columns`]. A [`Reader`] trusts nothing: whatever the bytes, it gives values or says what is wrong,
//! and never asks for more memory than the bytes can fill.

use std::hash::BuildHasher;

use rustc_hash::{FxBuildHasher, FxHashMap};
use thiserror::Error;

/// Why bytes cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("{0}")]
pub struct Corrupt(pub &'static str);

const ENDS: Corrupt = Corrupt("it ends too early");
const TOO_LARGE: Corrupt = Corrupt("it holds a number that is too large");

/// Bytes that are written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// A number.
    pub fn uint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// A number with a sign.
    pub fn int(&mut self, number: i64) {
        self.uint((number << 1 ^ number >> 63).cast_unsigned());
    }

    /// How many items follow, each of which takes a byte at least.
    pub fn count(&mut self, count: usize) {
        self.uint(count as u64);
    }

    /// A text.
    pub fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    /// A number that may be missing.
    pub fn optional(&mut self, number: Option<u32>) {
        self.uint(number.map_or(0, |number| u64::from(number) + 1));
    }

    /// What was written.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }

    /// What was written up to now.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Bytes that are read.
#[derive(Clone, Debug)]
pub struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    /// From the first of these bytes.
    pub const fn new(bytes: &'b [u8]) -> Self {
        Self(bytes)
    }

    /// A number.
    pub fn uint(&mut self) -> Result<u64, Corrupt> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or(ENDS)?;
            self.0 = rest;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(TOO_LARGE);
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(TOO_LARGE)
    }

    /// A number of a smaller type.
    pub fn narrow<T: TryFrom<u64>>(&mut self) -> Result<T, Corrupt> {
        T::try_from(self.uint()?).map_err(|_| TOO_LARGE)
    }

    /// A number with a sign.
    pub fn int(&mut self) -> Result<i64, Corrupt> {
        let number = self.uint()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    /// How many items follow.
    pub fn count(&mut self) -> Result<usize, Corrupt> {
        let count: usize = self.narrow()?;
        if count > self.0.len() { Err(ENDS) } else { Ok(count) }
    }

    /// So many items as the bytes say.
    pub fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T, Corrupt>) -> Result<Vec<T>, Corrupt> {
        let count = self.count()?;
        (0..count).map(|_| item(self)).collect()
    }

    /// Bytes, as many as they say.
    fn bytes(&mut self) -> Result<&'b [u8], Corrupt> {
        let count = self.count()?;
        let (bytes, rest) = self.0.split_at(count);
        self.0 = rest;
        Ok(bytes)
    }

    /// A text.
    pub fn text(&mut self) -> Result<&'b str, Corrupt> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Corrupt("a text is not in UTF-8"))
    }

    /// A number that may be missing.
    pub fn optional(&mut self) -> Result<Option<u32>, Corrupt> {
        match self.uint()? {
            0 => Ok(None),
            number => u32::try_from(number - 1).map(Some).map_err(|_| TOO_LARGE),
        }
    }

    /// Refuses bytes that are left.
    pub const fn end(&self) -> Result<(), Corrupt> {
        if self.0.is_empty() { Ok(()) } else { Err(Corrupt("it goes on after its end")) }
    }
}

/// Lists that are the same, kept once each and called by number.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// All lists, one after the other, and where each of them ends.
    lists: Writer,
    ends: Vec<usize>,
    /// By hash: the number of the last list that has it.
    numbers: FxHashMap<u64, u32>,
    /// By number: that of the list before of the same hash.
    before: Vec<Option<u32>>,
}

impl Columns {
    /// Writes the number of a list with these items.
    pub fn add<T>(&mut self, items: &[T], pack: impl FnMut(&T, &mut Writer), to: &mut Writer) {
        to.uint(self.number(items, pack).into());
    }

    /// The number of a list with these items.
    pub fn number<T>(&mut self, items: &[T], mut pack: impl FnMut(&T, &mut Writer)) -> u32 {
        let start = self.lists.0.len();
        self.lists.count(items.len());
        items.iter().for_each(|item| pack(item, &mut self.lists));
        let list = &self.lists.0[start..];
        let hash = FxBuildHasher.hash_one(list);
        let same_hash = self.numbers.get(&hash).copied();
        let mut known = same_hash;
        while let Some(number) = known
            && self.list(number) != list
        {
            known = self.before[number as usize];
        }
        if let Some(number) = known {
            self.lists.0.truncate(start);
            return number;
        }
        let next = u32::try_from(self.ends.len()).expect("fewer than 2^32 lists fit in memory");
        self.ends.push(self.lists.0.len());
        self.before.push(same_hash);
        self.numbers.insert(hash, next);
        next
    }

    fn list(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.lists.0[start..self.ends[number]]
    }

    /// Writes all lists, and forgets them.
    pub fn write(&mut self, to: &mut Writer) {
        to.count(self.ends.len());
        let mut start = 0;
        for &end in &self.ends {
            to.count(end - start);
            to.0.extend_from_slice(&self.lists.0[start..end]);
            start = end;
        }
        self.lists.0.clear();
        self.ends.clear();
        self.numbers.clear();
        self.before.clear();
    }

    /// All lists, and behind them what refers to them; both are empty then.
    pub fn before(&mut self, body: &mut Writer) -> Vec<u8> {
        let mut all = Writer(Vec::with_capacity(self.lists.0.len() + 2 * self.ends.len() + body.0.len() + 8));
        self.before_in(body, &mut all);
        all.finish()
    }

    /// The same in memory that is used again.
    pub fn before_in(&mut self, body: &mut Writer, all: &mut Writer) {
        all.0.clear();
        self.write(all);
        all.0.append(&mut body.0);
    }
}

/// The lists of [`Columns`] as they are read.
#[derive(Clone, Debug)]
pub struct Lists<'b>(Vec<&'b [u8]>);

impl<'b> Lists<'b> {
    /// Reads all of them.
    pub fn read(from: &mut Reader<'b>) -> Result<Self, Corrupt> {
        from.list(Reader::bytes).map(Self)
    }

    /// The list whose number comes next.
    pub fn next(&self, from: &mut Reader<'_>) -> Result<Reader<'b>, Corrupt> {
        let number: usize = from.narrow()?;
        self.0.get(number).map(|list| Reader::new(list)).ok_or(Corrupt("it names a list that it does not hold"))
    }

    /// All items of the list whose number comes next.
    pub fn items<T>(
        &self,
        from: &mut Reader<'_>,
        mut item: impl FnMut(&mut Reader<'b>) -> Result<T, Corrupt>,
    ) -> Result<Vec<T>, Corrupt> {
        let mut list = self.next(from)?;
        let items = list.list(&mut item)?;
        list.end()?;
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_come_back() {
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX];
        let signed = [0, -1, 1, 63, -64, 64, i64::MAX, i64::MIN];
        let mut to = Writer::default();
        numbers.iter().for_each(|&number| to.uint(number));
        signed.iter().for_each(|&number| to.int(number));
        to.text("Grüße");
        to.optional(None);
        to.optional(Some(u32::MAX));
        let bytes = to.finish();
        assert_eq!(bytes[..4], [0, 1, 127, 0x80]);
        let mut from = Reader::new(&bytes);
        assert_eq!(numbers.map(|_| from.uint().unwrap()), numbers);
        assert_eq!(signed.map(|_| from.int().unwrap()), signed);
        assert_eq!(from.text(), Ok("Grüße"));
        assert_eq!((from.optional(), from.optional()), (Ok(None), Ok(Some(u32::MAX))));
        assert_eq!(from.end(), Ok(()));
        assert_eq!(from.uint(), Err(ENDS));
    }

    #[test]
    fn lists_are_kept_once() {
        let (mut columns, mut body) = (Columns::default(), Writer::default());
        for items in [&[1, 2, 300][..], &[], &[1, 2, 300]] {
            columns.add(items, |&item, to| to.uint(item), &mut body);
        }
        let mut all = Writer::default();
        columns.write(&mut all);
        let all = all.finish();
        assert_eq!(all, [2, 5, 3, 1, 2, 0xac, 2, 1, 0]);
        let lists = Lists::read(&mut Reader::new(&all)).unwrap();
        let body = body.finish();
        let mut from = Reader::new(&body);
        let mut next = || lists.items(&mut from, Reader::uint).unwrap();
        assert_eq!([next(), next(), next()], [vec![1, 2, 300], vec![], vec![1, 2, 300]]);
        let mut again = Writer::default();
        columns.add(&[7], |&item, to| to.uint(item), &mut again);
        assert_eq!(columns.before(&mut again), [1, 2, 1, 7, 0], "what was written is forgotten");
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert_eq!(Reader::new(&[0x80]).uint(), Err(ENDS));
        assert_eq!(Reader::new(&[0xff; 11]).uint(), Err(TOO_LARGE));
        assert_eq!(Reader::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).uint(), Err(TOO_LARGE));
        assert_eq!(Reader::new(&[0x80, 2]).narrow::<u8>(), Err(TOO_LARGE));
        assert_eq!(Reader::new(&[200, 1, 7]).count(), Err(ENDS), "200 items do not fit in a byte");
        assert_eq!(Reader::new(&[1, 0xff]).text(), Err(Corrupt("a text is not in UTF-8")));
        let lists = Lists::read(&mut Reader::new(&[1, 0])).unwrap();
        assert!(lists.next(&mut Reader::new(&[1])).is_err());
    }
}
