//! Registers per thread: from the user, from ptxas, or estimated from live ranges.

use warplens_ir::{FunctionId, register_estimate};
use warplens_stats::RegistersBasis;

use crate::program::Program;
use crate::toolchain::{self, Search};

/// Target that the estimate takes for modules that name none that it can read.
const USUAL_TARGET: u32 = 80;

/// Registers per thread and where the number comes from.
pub(crate) type Registers = (u32, RegistersBasis);

/// The registers of a kernel and where the number comes from.
pub(crate) fn of(program: &Program, kernel: FunctionId, given: Option<u32>, search: &Search) -> Registers {
    if let Some(given) = given {
        return (given, RegistersBasis::User);
    }
    let module = &program.module;
    let function = &module.functions[kernel];
    let allocated = toolchain::registers(&program.ptx, &module.target, search);
    match allocated.and_then(|kernels| kernels.get(&function.name).copied()) {
        Some(registers) => (registers, RegistersBasis::Ptxas),
        None => (register_estimate(module, function, capability(&module.target)), RegistersBasis::Estimate),
    }
}

/// 80 for `sm_80` or `sm_80a, texmode_independent`.
fn capability(target: &str) -> u32 {
    let digits = target.trim_start_matches("sm_").chars().take_while(char::is_ascii_digit);
    digits.collect::<String>().parse().unwrap_or(USUAL_TARGET)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compute_capability_is_read_from_the_target() {
        let cases = [("sm_80", 80), ("sm_100a", 100), ("sm_13, map_f64_to_f32", 13), ("", USUAL_TARGET)];
        for (target, expected) in cases {
            assert_eq!(capability(target), expected, "{target}");
        }
    }
}
