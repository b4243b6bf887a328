//! Changes that are tried by running the kernel again: another launch, or other PTX.

use std::path::Path;

use warplens_ir::{FunctionId, Module, Operand};
use warplens_isa::{Pc, SpecialRegister, StateSpace};
use warplens_launch::{Extents, Launch};
use warplens_session::machines::Machine;
use warplens_session::profile::{CoalescingRule, Counting, Profile};
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Measurement, Program, Progress, measure_one};

use super::Place;
use crate::listing::source_text;

/// Thread instructions of a launch that is not run again to try something.
const LONGEST: u64 = 1_000_000_000;
/// By how much the bytes that a launch touches may differ from those of another one that does the same.
const SAME: f64 = 0.02;

/// The program and the launches behind an analysis.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// The program.
    pub program: &'a Program,
    /// Its launches, in order: they may share buffers.
    pub launches: &'a [Launch],
    /// Which of them is analysed.
    pub number: usize,
    /// How they were executed.
    pub options: &'a ExecutionOptions,
}

impl Trial<'_> {
    /// The same for one GPU, with the code that it runs.
    pub(super) fn on(self, machine: &Machine) -> Self {
        Self { program: self.program.on(machine), ..self }
    }

    /// What the launch does with another grid and block, for one GPU; none where it fails, or does other work than `before`.
    pub(super) fn launched(
        &self,
        before: &Profile,
        (grid, block): (Extents, Extents),
        machine: &Machine,
    ) -> Option<Measurement> {
        let mut launches = self.launches.to_vec();
        let launch = launches.get_mut(self.number)?;
        launch.grid = Some(grid);
        launch.block = Some(block);
        let measured = self.run(self.program, &launches, before, machine)?;
        does_the_same(before, &measured.profile).then_some(measured)
    }

    /// What the launch does with other PTX, for one GPU.
    pub(super) fn with_ptx(&self, ptx: String, before: &Profile, machine: &Machine) -> Option<Measurement> {
        let program = Program::from_ptx(&self.program.name, ptx).ok()?;
        self.run(&program, self.launches, before, machine)
    }

    fn run(&self, program: &Program, launches: &[Launch], before: &Profile, machine: &Machine) -> Option<Measurement> {
        if before.thread_instructions > LONGEST || self.options.statics.is_some() {
            return None;
        }
        // Nobody asks ptxas again: registers are what they were.
        let mut launches = launches.to_vec();
        launches.get_mut(self.number)?.registers = Some(before.launch.registers);
        let options = ExecutionOptions { traced_for: vec![machine.clone()], ..self.options.clone() };
        let search = Search::default();
        let measured = measure_one(program, &launches, options, Counting::Ptx, &search, &Progress::default()).ok()?;
        let measured = measured.into_iter().nth(self.number)?;
        measured.on(machine).ok().cloned()
    }

    /// The text of the PTX.
    pub(super) fn ptx(&self) -> &str {
        &self.program.ptx
    }

    fn kernel(&self) -> Option<FunctionId> {
        self.program.kernel(self.launches.get(self.number)?.kernel.as_deref()).ok()
    }

    /// Where the kernel reads special registers, each line once.
    pub(super) fn reads(&self, wanted: impl Fn(SpecialRegister) -> bool) -> Vec<Place> {
        let (module, Some(kernel)) = (self.program.module(), self.kernel()) else { return Vec::new() };
        let functions = warplens_ir::call_graph::reachable(module, kernel);
        let mut places: Vec<Place> = Vec::new();
        for inst in module.blocks.iter().flat_map(|(_, block)| &block.insts) {
            let reads = |operand: &Operand| matches!(operand, Operand::Special(special) if wanted(*special));
            if functions.contains(&module.pcs[inst.pc].function) && inst.sources.iter().any(reads) {
                add(&mut places, place(module, inst.pc));
            }
        }
        let share = 1.0 / places.len().max(1) as f64;
        places.iter_mut().for_each(|place| place.share = share);
        places
    }

    /// Where the largest array in shared memory is declared, and its name in the source.
    pub(super) fn shared_array(&self) -> Option<(String, Place)> {
        let (module, kernel) = (self.program.module(), self.kernel()?);
        let functions = warplens_ir::call_graph::reachable(module, kernel);
        let is_its_own = |function: Option<FunctionId>| function.is_none_or(|function| functions.contains(&function));
        let shared = module.variables.iter().map(|(_, variable)| variable);
        let shared = shared.filter(|of| of.space == StateSpace::Shared && !of.is_dynamic && is_its_own(of.function));
        // Names alone say of which kernel a variable at module scope is.
        let function = &module.functions[kernel].name;
        let largest = shared.max_by_key(|of| (of.name.contains(function.as_str()), of.bytes))?;
        let name = source_name(&largest.name);
        let in_ptx =
            self.program.ptx.lines().position(|line| line.contains(".shared") && has_word(line, &largest.name));
        let ptx_lines: Vec<u32> = in_ptx.map(|line| line as u32 + 1).into_iter().collect();
        let first = module.pcs.iter().find(|(_, info)| info.function == kernel);
        let begins = first.and_then(|(pc, _)| module.locations.get(&pc));
        let file = begins.map(|location| module.files[location.file as usize].clone());
        let from = begins.map_or(1, |location| location.line);
        let source = file.and_then(|file| {
            let text = source_text(self.program, Some(Path::new(&self.program.name)), &file)?;
            let line = declared(&text, &name, from)?;
            Some((file, line))
        });
        Some((name, Place { source, ptx_lines, opcodes: Vec::new(), share: 1.0 }))
    }
}

fn has_word(line: &str, name: &str) -> bool {
    line.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|word| word == name)
}

/// The line that declares an array in shared memory: the first after a line, or else the last before it.
fn declared(text: &str, name: &str, from: u32) -> Option<u32> {
    let lines = text.lines().zip(1_u32..).filter(|(line, _)| {
        let code = line.split("//").next().unwrap_or_default();
        code.contains("__shared__") && has_word(code, name)
    });
    let lines: Vec<u32> = lines.map(|(_, number)| number).collect();
    lines.iter().find(|line| **line >= from).or(lines.last()).copied()
}

/// `tile` for `_ZZ6kernelE4tile`, by the rules of the Itanium ABI for names in functions.
fn source_name(mangled: &str) -> String {
    let digits_before = |at: usize| mangled[..at].bytes().rev().take_while(u8::is_ascii_digit).count();
    for at in (1..mangled.len()).filter(|&at| mangled.is_char_boundary(at)) {
        let n = digits_before(at);
        let length = mangled[at - n..at].parse::<usize>();
        if n > 0 && mangled[..at - n].ends_with('E') && length.is_ok_and(|length| at + length <= mangled.len()) {
            let end = at + mangled[at - n..at].parse::<usize>().unwrap_or(0);
            return mangled[at..end].to_owned();
        }
    }
    mangled.to_owned()
}

fn place(module: &Module, pc: Pc) -> Place {
    let location = module.locations.get(&pc);
    Place {
        source: location.map(|location| (module.files[location.file as usize].clone(), location.line)),
        ptx_lines: vec![module.pcs[pc].line],
        opcodes: vec![module.spelling(pc).clone()],
        share: 1.0,
    }
}

fn add(places: &mut Vec<Place>, new: Place) {
    match places.iter_mut().find(|place| place.source.is_some() && place.source == new.source) {
        Some(place) => {
            place.ptx_lines.extend(new.ptx_lines);
            place.ptx_lines.sort_unstable();
            place.ptx_lines.dedup();
            place
                .opcodes
                .extend(new.opcodes.into_iter().filter(|opcode| !place.opcodes.contains(opcode)).collect::<Vec<_>>());
        }
        None => places.push(new),
    }
}

/// True where a launch touches as many bytes, and asks for as many, as another one.
fn does_the_same(before: &Profile, after: &Profile) -> bool {
    let near = |before: u64, after: u64| before.abs_diff(after) as f64 <= SAME * before as f64 + 64.0;
    let asked =
        |profile: &Profile| profile.global.get(&CoalescingRule::Cc70).map_or(0, |counts| counts.bytes_requested);
    near(before.distinct_sectors_read, after.distinct_sectors_read)
        && near(before.distinct_sectors_written, after.distinct_sectors_written)
        && near(asked(before), asked(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_functions_are_found() {
        assert_eq!(source_name("_ZZ7mistakeE8reversed"), "reversed");
        assert_eq!(source_name("_ZZ6kernelPKfPfiE4tile"), "tile");
        assert_eq!(source_name("tile"), "tile");
    }

    #[test]
    fn the_declaration_after_the_kernel_begins_is_taken() {
        let text = "__shared__ int tile[4];\n\nkernel {\n  // __shared__ int tile[9];\n  __shared__ int tile[8];\n}\n";
        assert_eq!(declared(text, "tile", 3), Some(5));
        assert_eq!(declared(text, "tile", 6), Some(5));
        assert_eq!(declared(text, "til", 1), None);
    }
}
