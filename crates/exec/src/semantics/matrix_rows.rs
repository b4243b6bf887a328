//! How the rows of matrices in memory and the parts that lanes hold belong together.
//!
//! A matrix has eight rows of eight elements of 16 bits. In memory a row is four words, read or written by lane 8m + r for
//! row r of matrix m; in registers lane 4r + c holds the elements 2c and 2c + 1 of row r, or of column r if transposed.
//!
//! Of 16 elements of a byte or less in a row, lane 4r + c receives the four from 4c on. A store of bytes takes rows as columns:
//! lane 4r + c holds the elements 2c and 2c + 1 of the rows r and r + 8.

use warplens_isa::{MatrixMove, MovedElements};

use super::warp::LANES;

/// The part of a matrix that each lane receives, of the words that the lanes have read.
pub fn received(words: &[[u32; LANES]; 4], matrix: usize, moved: MatrixMove) -> [u32; LANES] {
    let narrow = |bits: u32| {
        std::array::from_fn(|lane| {
            let row = words.iter().rev().fold(0, |row: u128, word| row << 32 | u128::from(word[8 * matrix + lane / 4]));
            let element = |at: u32| (row >> (bits * at)) as u32 & ((1 << bits) - 1);
            (0..4).fold(0, |all, at| all | element(4 * (lane as u32 % 4) + at) << (8 * at))
        })
    };
    match moved.elements {
        MovedElements::SixBits => return narrow(6),
        MovedElements::FourBits => return narrow(4),
        MovedElements::Bytes | MovedElements::Halves => {}
    }
    // The words of each column of words, by rows.
    let words: [&[u32; 8]; 4] = std::array::from_fn(|column| &words[column].as_chunks().0[matrix]);
    let mut parts = [0; LANES];
    for (line, parts) in parts.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        *parts = match moved.transposed {
            true => {
                let element = |row: usize| half(words[line / 2][row], line);
                std::array::from_fn(|part| element(2 * part) | element(2 * part + 1) << 16)
            }
            // Two neighbouring elements of a row are one of its words.
            false => std::array::from_fn(|part| words[part][line]),
        };
    }
    parts
}

/// The words that the lanes write, of the parts that they hold of each matrix.
pub fn brought(fragments: &[[u32; LANES]], moved: MatrixMove) -> [[u32; LANES]; 4] {
    if moved.elements == MovedElements::Bytes {
        // A row in memory is the column of this number.
        let byte = |matrix: usize, row: usize, column: usize| {
            let held = fragments.get(matrix).map_or(0, |fragment| fragment[4 * (row % 8) + column / 2]);
            held >> (16 * (row / 8) + 8 * (column % 2)) & 0xff
        };
        return std::array::from_fn(|word| {
            let of = |lane: usize, at: usize| byte(lane / 8, 4 * word + at, lane % 8) << (8 * at);
            std::array::from_fn(|lane| (0..4).fold(0, |all, at| all | of(lane, at)))
        });
    }
    let transposed = moved.transposed;
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

    fn halves(transposed: bool) -> MatrixMove {
        MatrixMove { count: 4, elements: MovedElements::Halves, transposed }
    }

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
        let plain = received(&rows(), 2, halves(false));
        assert_eq!((plain[0], plain[1], plain[31]), (128 | 129 << 16, 130 | 131 << 16, 190 | 191 << 16));
        let transposed = received(&rows(), 2, halves(true));
        assert_eq!((transposed[0], transposed[1], transposed[31]), (128 | 136 << 16, 144 | 152 << 16, 183 | 191 << 16));
    }

    #[test]
    fn what_is_received_is_brought_back() {
        for transposed in [false, true] {
            let moved = halves(transposed);
            let fragments: Vec<_> = (0..4).map(|matrix| received(&rows(), matrix, moved)).collect();
            assert_eq!(brought(&fragments, moved), rows());
        }
    }

    #[test]
    fn narrow_elements_become_bytes() {
        let mut words = [[0; LANES]; 4];
        (words[0][9], words[1][9], words[2][9]) = (0x7654_3210, 0xfedc_ba98, 0);
        let moved = |elements| MatrixMove { count: 2, elements, transposed: false };
        let fours = received(&words, 1, moved(MovedElements::FourBits));
        assert_eq!((fours[4], fours[7], fours[8]), (0x0302_0100, 0x0f0e_0d0c, 0));
        let sixes = received(&words, 1, moved(MovedElements::SixBits));
        // From the lowest bits on: 010000, 001000, 000011, 010101.
        assert_eq!(sixes[4], 0x1503_0810);
    }

    #[test]
    fn bytes_are_stored_by_columns() {
        let fragment = std::array::from_fn(|lane| 4 * lane as u32 * 0x0101_0101 + 0x0302_0100);
        let moved = MatrixMove { count: 1, elements: MovedElements::Bytes, transposed: true };
        let words = brought(&[fragment], moved);
        // Column 1: the second bytes of lanes 0, 4, 8 and 12, and further on the fourth of lane 0.
        assert_eq!((words[0][1], words[2][1] & 0xff), (0x3121_1101, 3));
        assert_eq!(words[0][2], 0x3424_1404);
    }
}
