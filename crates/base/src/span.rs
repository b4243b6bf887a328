//! Byte ranges of a source text and their lines.

/// A half-open byte range of one source text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end`.
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// The smallest span that holds both.
    pub fn to(self, other: Span) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The span as a range of indices.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Finds the line of a byte offset.
#[derive(Clone, Debug)]
pub struct LineIndex {
    /// Offset of the first byte of each line.
    starts: Vec<u32>,
}

impl LineIndex {
    /// Indexes the lines of `text`.
    pub fn new(text: &str) -> Self {
        let starts = std::iter::once(0)
            .chain(text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at as u32 + 1))
            .collect();
        Self { starts }
    }

    /// Line of `offset`, counted from 1.
    pub fn line(&self, offset: u32) -> u32 {
        self.starts.partition_point(|&start| start <= offset) as u32
    }

    /// Line and column of `offset`, both counted from 1, the column in bytes.
    pub fn line_column(&self, offset: u32) -> (u32, u32) {
        let line = self.line(offset);
        (line, offset - self.starts[line as usize - 1] + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one() {
        let index = LineIndex::new("ab\n\ncd");
        let at = |offset| index.line_column(offset);
        assert_eq!([at(0), at(2), at(3), at(4), at(5), at(6)], [(1, 1), (1, 3), (2, 1), (3, 1), (3, 2), (3, 3)]);
    }
}
