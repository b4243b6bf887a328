//! Scheduling that the assembler wrote into an instruction: bits 105 to 125 of a word, on chips from sm_70 on.
//!
//! Positions and meanings were found on code that ptxas wrote: the reuse bits agree with what nvdisasm prints, and a result
//! of variable latency is waited for by the barrier that its producer names before its first reader.

use std::fmt;

const FIRST: u32 = 105;

/// Scheduling of one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Control {
    /// Cycles until the warp may issue its next instruction.
    pub stall: u8,
    /// The scheduler is told to look for another warp.
    pub yields: bool,
    /// The dependency barrier that is released when the result is written.
    pub write_barrier: Option<u8>,
    /// The one that is released when the sources were read.
    pub read_barrier: Option<u8>,
    /// Barriers that are waited for before issue: bit b for barrier b.
    pub wait: u8,
    /// Source slots whose register stays in the reuse cache: bit 0 for the first.
    pub reuse: u8,
}

impl Control {
    /// Dependency barriers of a warp.
    pub const BARRIERS: u8 = 6;

    /// The scheduling in a word.
    pub const fn of(word: u128) -> Self {
        let bits = (word >> FIRST) as u32;
        Self {
            stall: (bits & 0xf) as u8,
            // The bit says that the warp stays.
            yields: bits >> 4 & 1 == 0,
            write_barrier: barrier(bits >> 5),
            read_barrier: barrier(bits >> 8),
            wait: (bits >> 11 & 0x3f) as u8,
            reuse: (bits >> 17 & 0xf) as u8,
        }
    }
}

const fn barrier(bits: u32) -> Option<u8> {
    let number = (bits & 7) as u8;
    if number < Control::BARRIERS { Some(number) } else { None }
}

impl fmt::Display for Control {
    /// In columns: the barriers waited for, the one of the reads, the one of the write, `Y`, the stall.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for barrier in 0..Self::BARRIERS {
            match self.wait >> barrier & 1 {
                0 => f.write_str("-")?,
                _ => write!(f, "{barrier}")?,
            }
        }
        for (letter, barrier) in [('R', self.read_barrier), ('W', self.write_barrier)] {
            match barrier {
                Some(barrier) => write!(f, ":{letter}{barrier}")?,
                None => write!(f, ":{letter}-")?,
            }
        }
        write!(f, ":{}:S{:02}", if self.yields { 'Y' } else { '-' }, self.stall)
    }
}

#[cfg(test)]
mod tests {
    use super::Control;

    #[test]
    fn a_load_names_its_barrier_and_its_reader_waits() {
        // S2R R14, SR_TID.Y with barrier 0, and a LEA that waits for it.
        let load = Control::of(0x000e_2e00_0000_2200_0000_0000_000e_7919);
        assert_eq!((load.write_barrier, load.read_barrier, load.wait), (Some(0), None, 0));
        let reader = Control::of(0x001f_c400_078e_20ff_0000_000e_0700_7211);
        assert_eq!((reader.wait, reader.stall, reader.yields), (1, 2, true));
        assert_eq!(reader.to_string(), "0-----:R-:W-:Y:S02");
    }
}
