//! When the registers of all warps can be read, and what makes them wait.

use warplens_trace::RegisterNumber;

use crate::Stall;

/// A result on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pending {
    /// Cycle in which an instruction that reads it may be issued.
    pub(crate) at: u64,
    /// What a warp that waits for it is said to wait for.
    pub(crate) stall: Stall,
}

impl Pending {
    /// There since the start.
    pub(crate) const READY: Self = Self { at: 0, stall: Stall::Wait };

    /// The later of two.
    pub(crate) fn later(self, other: Self) -> Self {
        if other.at > self.at { other } else { self }
    }
}

/// State: one entry per register of each resident warp.
#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    n_registers: usize,
    pending: Vec<Pending>,
}

impl Scoreboard {
    /// For so many warps with so many registers each.
    pub(crate) fn new(n_warps: usize, n_registers: u16) -> Self {
        let n_registers = usize::from(n_registers);
        Self { n_registers, pending: vec![Pending::READY; n_warps * n_registers] }
    }

    /// A new warp takes the place of an old one.
    pub(crate) fn clear(&mut self, warp: usize) {
        let first = warp * self.n_registers;
        self.pending[first..first + self.n_registers].fill(Pending::READY);
    }

    /// When the register can be read.
    pub(crate) fn pending(&self, warp: usize, register: RegisterNumber) -> Pending {
        self.pending[warp * self.n_registers + usize::from(register)]
    }

    /// When all of the registers can be read.
    pub(crate) fn all(&self, warp: usize, registers: &[RegisterNumber]) -> Pending {
        let warp = &self.pending[warp * self.n_registers..];
        registers.iter().fold(Pending::READY, |latest, &register| latest.later(warp[usize::from(register)]))
    }

    /// An instruction writes the registers.
    pub(crate) fn write(&mut self, warp: usize, registers: &[RegisterNumber], result: Pending) {
        let warp = &mut self.pending[warp * self.n_registers..];
        for &register in registers {
            warp[usize::from(register)] = result;
        }
    }

    /// An instruction writes the registers in some lanes, while results of others are still on their way.
    pub(crate) fn write_beside(&mut self, warp: usize, registers: &[RegisterNumber], result: Pending) {
        let warp = &mut self.pending[warp * self.n_registers..];
        for &register in registers {
            let pending = &mut warp[usize::from(register)];
            *pending = pending.later(result);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_operand_decides_and_warps_are_apart() {
        let mut scoreboard = Scoreboard::new(2, 4);
        scoreboard.write(0, &[1], Pending { at: 30, stall: Stall::LongScoreboard });
        scoreboard.write(0, &[2, 3], Pending { at: 20, stall: Stall::Wait });
        assert_eq!(scoreboard.all(0, &[2, 1]), Pending { at: 30, stall: Stall::LongScoreboard });
        assert_eq!(scoreboard.all(0, &[3]).at, 20);
        assert_eq!(scoreboard.all(1, &[1, 2, 3]), Pending::READY);
        scoreboard.write_beside(0, &[1, 2], Pending { at: 25, stall: Stall::ShortScoreboard });
        assert_eq!([1, 2].map(|register| scoreboard.pending(0, register).at), [30, 25]);
        scoreboard.clear(0);
        assert_eq!(scoreboard.all(0, &[0, 1, 2, 3]), Pending::READY);
    }
}
