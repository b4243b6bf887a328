//! What a warp does together, against computations that know no lanes.

use warplens_exec::semantics::warp::{LANES, transpose};

/// A matrix of 8 by 8 elements, row by row.
type Matrix = [[u16; 8]; 8];

/// Elements without a pattern, from a congruential generator.
fn matrix(seed: u32) -> Matrix {
    let mut state = seed;
    std::array::from_fn(|_| {
        std::array::from_fn(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as u16
        })
    })
}

/// The words of a matrix as memory holds it: two elements each, one word for each lane.
fn words(matrix: &Matrix) -> [u32; LANES] {
    let bytes: Vec<u8> = matrix.as_flattened().iter().flat_map(|element| element.to_le_bytes()).collect();
    let mut words = bytes.chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")));
    std::array::from_fn(|_| words.next().expect("a word for each lane"))
}

fn transposed(matrix: &Matrix) -> Matrix {
    let mut transposed = [[0; 8]; 8];
    for (row, elements) in matrix.iter().enumerate() {
        for (column, &element) in elements.iter().enumerate() {
            transposed[column][row] = element;
        }
    }
    transposed
}

#[test]
fn matrices_are_transposed() {
    for seed in 0..64 {
        let matrix = matrix(seed);
        let received = transpose(&words(&matrix), u32::MAX);
        assert_eq!(received, words(&transposed(&matrix)), "seed {seed}");
        assert_eq!(transpose(&received, u32::MAX), words(&matrix), "there and back, seed {seed}");
    }
}

#[test]
fn lanes_that_take_no_part_bring_zeros() {
    // The lanes of the rows 6 and 7 are missing: so are the columns 6 and 7 of what is received.
    let mut matrix = matrix(7);
    let received = transpose(&words(&matrix), 0x00ff_ffff);
    matrix[6] = [0; 8];
    matrix[7] = [0; 8];
    assert_eq!(received, words(&transposed(&matrix)));
}
