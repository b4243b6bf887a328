//! Registers per thread: from the user, from ptxas, or estimated from live ranges.

use warplens_codegen::{self as codegen, Target};
use warplens_ir::{FunctionId, LaunchBounds, Module, local_arrays_in_registers, most_registers, register_estimate};
use warplens_machine::ComputeCapability;
use warplens_stats::RegistersBasis;

use crate::program::Program;
use crate::toolchain::{self, Search};
use warplens_base::error::Result;

/// Target that the estimate takes for modules that name none that it can read.
const USUAL_TARGET: u32 = 80;

/// Most threads of a block: what has more is refused where it is launched.
const MOST_THREADS: u32 = 1024;

/// Registers per thread and where the number comes from.
pub type Registers = (u32, RegistersBasis);

/// The registers of a kernel and where the number comes from.
pub fn of(program: &Program, kernel: FunctionId, given: Option<u32>, search: &Search) -> Result<Registers> {
    if let Some(given) = given {
        return Ok((given, RegistersBasis::User));
    }
    let module = &program.module;
    let function = &module.functions[kernel];
    if let Some(registers) = function.machine_registers {
        return Ok((registers, RegistersBasis::Ptxas));
    }
    // ptxas reads one text.
    let allocated = match program.parts.len() {
        0 => toolchain::registers(&program.ptx, &module.target, search)?,
        _ => None,
    };
    Ok(match allocated.and_then(|kernels| kernels.get(&function.name).copied()) {
        Some(registers) => (registers, RegistersBasis::Ptxas),
        None => (estimate(module, kernel), RegistersBasis::Estimate),
    })
}

/// The same for a launch with blocks of this shape. An estimate is at most what they leave to a thread: a program that launches
/// them was compiled so that it can.
pub fn of_launch(
    program: &Program,
    kernel: FunctionId,
    (given, block): (Option<u32>, [u32; 3]),
    search: &Search,
) -> Result<Registers> {
    Ok(in_blocks(of(program, kernel, given, search)?, block))
}

/// The same of registers that were found without a launch.
pub(crate) fn in_blocks((registers, basis): Registers, block: [u32; 3]) -> Registers {
    match basis {
        RegistersBasis::Estimate => (registers.min(left_to_a_thread(block)), basis),
        _ => (registers, basis),
    }
}

/// Registers that a block leaves to each of its threads, as the demand for such blocks would.
fn left_to_a_thread(block: [u32; 3]) -> u32 {
    let threads = block.iter().fold(1_u32, |threads, &extent| threads.saturating_mul(extent)).min(MOST_THREADS);
    most_registers(&LaunchBounds { max_threads: Some(threads), ..LaunchBounds::default() })
}

/// The estimate, with the local arrays that ptxas keeps in registers; at least what the machine code needs that is made
/// for the estimate alone, without the slack of registers that are known, as far as the kernel's own demands allow.
fn estimate(module: &Module, kernel: FunctionId) -> u32 {
    let target = capability(&module.target);
    let rewritten = local_arrays_in_registers(module, &[kernel], None);
    let estimate = register_estimate(rewritten.as_ref().unwrap_or(module), kernel, target);
    let (Ok(major), Ok(minor)) = (u8::try_from(target / 10), u8::try_from(target % 10)) else { return estimate };
    let plain = Target::plain(ComputeCapability::new(major, minor));
    let options = codegen::Options { schedule: true, registers: None };
    let needed = codegen::generate(module, kernel, &plain, options).map_or(0, |generated| generated.needed);
    estimate.max(needed.min(most_registers(&module.functions[kernel].bounds)))
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
    fn a_block_leaves_a_part_of_the_registers_to_a_thread() {
        let cases = [([1024, 1, 1], 64), ([32, 8, 2], 128), ([33, 1, 1], 255), ([0, 1, 1], 255), ([u32::MAX; 3], 64)];
        for (block, left) in cases {
            assert_eq!(left_to_a_thread(block), left, "{block:?}");
        }
    }

    #[test]
    fn the_compute_capability_is_read_from_the_target() {
        let cases = [("sm_80", 80), ("sm_100a", 100), ("sm_13, map_f64_to_f32", 13), ("", USUAL_TARGET)];
        for (target, expected) in cases {
            assert_eq!(capability(target), expected, "{target}");
        }
    }

    /// ptxas 13.5 reports these for the kernels of `validation/coulomb`, with arrays of 4, 16 and 32 words in registers.
    #[test]
    fn arrays_in_registers_take_registers() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../validation/coulomb/sm_75.ptx");
        let (module, _) = warplens_ptx::load(&std::fs::read_to_string(path).unwrap());
        let module = module.unwrap();
        for (name, ptxas) in [("aos_z4_unroll1", 22), ("aos_z16_unroll4", 40), ("aos_z32_unroll8", 57)] {
            let estimate = estimate(&module, module.function_named(name).unwrap());
            assert!(estimate.abs_diff(ptxas) <= 8, "{name}: {estimate} for {ptxas}");
        }
    }
}
