//! How the rows of matrices in memory and the parts that lanes hold belong together.
//!
//! A matrix has eight rows of eight elements of 16 bits. In memory a row is four words, read or written by lane 8m + r for
//! row r of matrix m; in registers lane 4r + c holds the elements 2c and 2c + 1 of row r, or of column r if transposed.

use super::warp::LANES;

/// The part of a matrix that each lane receives, of the words that the lanes have read.
pub fn received(words: &[[u32; LANES]; 4], matrix: usize, transposed: bool) -> [u32; LANES] {
    let element = |row: usize, column: usize| half(words[column / 2][8 * matrix + row], column);
    std::array::from_fn(|lane| {
        let (line, first) = (lane / 4, 2 * (lane % 4));
        match transposed {
            true => element(first, line) | element(first + 1, line) << 16,
            false => element(line, first) | element(line, first + 1) << 16,
        }
    })
}

/// The words that the lanes write, of the parts that they hold of each matrix.
pub fn brought(fragments: &[[u32; LANES]], transposed: bool) -> [[u32; LANES]; 4] {
    let element = |matrix: usize, row: usize, column: usize| {
        let (line, place) = if transposed { (column, row) } else { (row, column) };
        fragments.get(matrix).map_or(0, |fragment| half(fragment[4 * line + place / 2], place))
    };
    std::array::from_fn(|word| {
        std::array::from_fn(|lane| {
            let (matrix, row) = (lane / 8, lane % 8);
            element(matrix, row, 2 * word) | element(matrix, row, 2 * word + 1) << 16
        })
    })
}

/// One of the two elements of a word.
fn half(word: u32, place: usize) -> u32 {
    word >> (16 * (place % 2)) & 0xffff
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Row r of matrix m holds 64 m + 8 r to 64 m + 8 r + 7.
    fn rows() -> [[u32; LANES]; 4] {
        std::array::from_fn(|word| {
            std::array::from_fn(|lane| {
                let first = 8 * lane as u32 + 2 * word as u32;
                first | (first + 1) << 16
            })
        })
    }

    #[test]
    fn lanes_receive_rows_and_columns() {
        let plain = received(&rows(), 2, false);
        assert_eq!((plain[0], plain[1], plain[31]), (128 | 129 << 16, 130 | 131 << 16, 190 | 191 << 16));
        let transposed = received(&rows(), 2, true);
        assert_eq!((transposed[0], transposed[1], transposed[31]), (128 | 136 << 16, 144 | 152 << 16, 183 | 191 << 16));
    }

    #[test]
    fn what_is_received_is_brought_back() {
        for transposed in [false, true] {
            let fragments: Vec<_> = (0..4).map(|matrix| received(&rows(), matrix, transposed)).collect();
            assert_eq!(brought(&fragments, transposed), rows());
        }
    }
}
