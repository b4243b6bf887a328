//! The read ports of a scheduler's registers: an instruction that wants more of one bank than its port gives in time holds
//! back what is issued after it.
//!
//! Registers of even and of odd numbers lie in two banks, each of which gives one register of all lanes per cycle. An
//! instruction of fixed latency has some cycles to read its operands; where the ports are taken for longer, it waits, and
//! with it everything behind it (Huerta et al., Analyzing modern NVIDIA GPU cores, MICRO 2025, section on the register
//! file: two multiply-adds with three operands of one bank each lose two cycles, with fewer one or none). Operands that
//! the operand cache holds take no port; which those are says the machine code. Not modelled: reads of memory
//! instructions, which go another way, and writes.

/// Banks of the registers.
const BANKS: usize = 2;

/// State: when the port of each bank is free.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct RegisterFile {
    free_at: [u64; BANKS],
}

impl RegisterFile {
    /// An instruction issued in `cycle` reads so many registers of each bank, in `read_cycles` cycles if it can; returns
    /// the cycles by which it, and what comes behind it, is late.
    pub(crate) fn read(&mut self, cycle: u64, reads: [u8; BANKS], read_cycles: u64) -> u64 {
        let mut late = 0;
        for (free_at, n) in self.free_at.iter().zip(reads).filter(|&(_, n)| n > 0) {
            let end = cycle.max(*free_at) + u64::from(n);
            late = late.max(end.saturating_sub(cycle + read_cycles));
        }
        for (free_at, n) in self.free_at.iter_mut().zip(reads).filter(|&(_, n)| n > 0) {
            *free_at = (cycle + late).max(*free_at) + u64::from(n);
        }
        late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cycles lost by instructions that are issued one per cycle.
    fn lost(reads: &[[u8; BANKS]]) -> u64 {
        let (mut registers, mut cycle) = (RegisterFile::default(), 100);
        for &reads in reads {
            cycle += 1 + registers.read(cycle, reads, 3);
        }
        cycle - 100 - reads.len() as u64
    }

    #[test]
    fn the_second_of_two_multiply_adds_is_late_by_what_it_wants_of_the_bank_of_the_first() {
        assert_eq!(lost(&[[3, 0], [1, 2]]), 0);
        assert_eq!(lost(&[[3, 0], [2, 1]]), 1);
        assert_eq!(lost(&[[3, 0], [3, 0]]), 2);
        assert_eq!(lost(&[[3, 0], [0, 3]]), 0);
    }

    #[test]
    fn in_the_long_run_a_bank_gives_one_register_per_cycle() {
        let of_100 = |reads| lost(&[reads; 100]);
        assert_eq!(of_100([1, 1]), 0);
        assert_eq!(of_100([2, 0]), 98);
        assert_eq!(of_100([1, 2]), 98);
        assert_eq!(of_100([3, 0]), 198);
        // What reads nothing gives the ports time.
        assert_eq!(lost(&[[2, 0], [0, 0]].repeat(50)), 0);
    }
}
