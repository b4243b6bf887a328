//! Where instructions came from: their lines of the program and of the PTX, as far as the compiler wrote them down.

use std::collections::BTreeMap;
use std::sync::Arc;

use warplens_ir::{Module, PtxLine, SourceLocation};
use warplens_isa::Pc;

use crate::container::{Cubin, LineTable, SectionId};

/// The lines of a cubin on their way into a module.
pub(super) struct Origins {
    table: LineTable,
    /// Files of the module, by those of the table.
    files: BTreeMap<usize, u32>,
    /// Lines of the PTX, each once.
    texts: BTreeMap<u64, Arc<str>>,
    /// What the listing has named last.
    named: (Option<SourceLocation>, Option<u64>),
}

impl Origins {
    /// Those of a cubin. Code runs without its lines, also where they are damaged.
    pub(super) fn of(cubin: &Cubin) -> Self {
        let table = cubin.lines().unwrap_or_default();
        Self { table, files: BTreeMap::new(), texts: BTreeMap::new(), named: (None, None) }
    }

    /// The listing begins with another kernel.
    pub(super) fn begin(&mut self) {
        self.named = (None, None);
    }

    /// Notes where an instruction came from. Returns the lines that stand above it in the listing, where they are others
    /// than those of the instruction before.
    pub(super) fn note(&mut self, module: &mut Module, pc: Pc, (section, offset): (SectionId, u64)) -> Vec<String> {
        let location = self.location(module, section, offset);
        let line = self.table.ptx_line(section, offset);
        let mut heads = Vec::new();
        if let Some(location) = location {
            module.locations.insert(pc, location);
            if self.named.0 != Some(location) {
                heads.push(format!("// {}:{}", module.files[location.file as usize], location.line));
            }
        }
        if let Some((line, text)) = line.and_then(|line| Some((line, self.text(line)?))) {
            if self.named.1 != Some(line) {
                heads.push(format!("// PTX: {text}"));
            }
            let line = u32::try_from(line).unwrap_or(u32::MAX);
            module.ptx_lines.insert(pc, PtxLine { line, text });
        }
        self.named = (location, line);
        heads
    }

    fn location(&mut self, module: &mut Module, section: SectionId, offset: u64) -> Option<SourceLocation> {
        let row = self.table.at(section, offset)?;
        let line = u32::try_from(row.line).ok().filter(|&line| line > 0)?;
        let file = row.file?;
        let path = self.table.path(file)?;
        let file = *self.files.entry(file).or_insert_with(|| {
            // Several programs of lines may name one file.
            let known = module.files.iter().position(|known| *known == path);
            let at = known.unwrap_or_else(|| {
                module.files.push(path);
                module.files.len() - 1
            });
            at as u32
        });
        Some(SourceLocation { file, line })
    }

    fn text(&mut self, line: u64) -> Option<Arc<str>> {
        if let Some(text) = self.texts.get(&line) {
            return Some(Arc::clone(text));
        }
        let text: Arc<str> = self.table.ptx_text(line)?.split_whitespace().collect::<Vec<_>>().join(" ").into();
        self.texts.insert(line, Arc::clone(&text));
        Some(text)
    }
}
