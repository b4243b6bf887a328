//! Where the elements of a matrix lie among the registers of a warp.
//!
//! Lane 4g + t holds what the group g and the thread t in it are given: of `a` the rows g and g + 8, of `b` the column g,
//! of both as many neighbours in depth as a register holds; of `c` and `d` two neighbours of the rows g and g + 8.

use warplens_isa::MatrixType;

/// A place of an element: register, lane, and the number of the element in the register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) register: usize,
    pub(super) lane: usize,
    pub(super) element: usize,
}

/// Row or column `line` of a factor at depth `k`; the matrix has `lines` of them, 8 or 16.
pub(super) fn factor(lines: usize, ty: MatrixType, line: usize, k: usize) -> Place {
    let in_register = ty.per_register();
    let step = 4 * in_register;
    Place {
        register: line / 8 + lines / 8 * (k / step),
        lane: line % 8 * 4 + k % step / in_register,
        element: k % in_register,
    }
}

/// Row and column of an accumulator.
pub(super) fn accumulator(ty: MatrixType, row: usize, column: usize) -> Place {
    let lane = row % 8 * 4 + column / 2;
    match ty.per_register() {
        1 => Place { register: 2 * (row / 8) + column % 2, lane, element: 0 },
        _ => Place { register: row / 8, lane, element: column % 2 },
    }
}
