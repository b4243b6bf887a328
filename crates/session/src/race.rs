//! Launches whose blocks race, said with the places in the PTX and in the program.

use warplens_exec as exec;

use crate::program::{CodeForm, Program};

/// Two blocks that touch the same byte of device memory without an ordered access, at least one of which writes it. What
/// the launch leaves, and often what it counts, depends on the order of its blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Race {
    /// The buffer.
    pub buffer: String,
    /// The byte in the buffer.
    pub byte: u64,
    /// The block that came second, by its number in the grid.
    pub block: u32,
    /// The block that came first; `None` if there were several.
    pub other_block: Option<u32>,
    /// Line of the second access in the PTX.
    pub ptx_line: u32,
    /// File and line of the program.
    pub source: Option<(String, u32)>,
}

impl Race {
    pub(crate) fn new(program: &Program, race: &exec::Race) -> Self {
        let info = &program.module.pcs[race.pc];
        let source = program.module.locations.get(&race.pc).and_then(|at| {
            let file = program.module.files.get(at.file as usize)?;
            Some((file.clone(), at.line))
        });
        Self {
            buffer: race.buffer.clone(),
            byte: race.offset,
            block: race.cta.0,
            other_block: race.other.map(|cta| cta.0),
            ptx_line: info.line,
            source,
        }
    }

    /// The race in words, in code of this form.
    pub fn said(&self, form: CodeForm) -> String {
        let Self { buffer, byte, block, ptx_line, .. } = self;
        let other = self.other_block.map_or_else(|| "other blocks".to_owned(), |other| format!("block {other}"));
        let place = form.place(self.source.as_ref(), *ptx_line);
        format!("block {block} ({place}) and {other} touch byte {byte} of `{buffer}`, and not only to read it")
    }
}
