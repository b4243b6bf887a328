//! Lines of a trace.

mod line;
mod operand;

use std::collections::HashMap;

use warplens_base::{Diagnostic, Span};
use warplens_trace::{Code, CtaId, CtaTrace, MachineClass, MachineInst, Place, WARP_SIZE, WarpTraceBuilder};

use super::{Dim3, SassTrace, TraceHeader, opcode};
use line::{Inst, Words};
use operand::{Bases, Operand};

/// Findings after which reading stops.
const MAX_PROBLEMS: usize = 20;
/// Threads of a CTA.
const MAX_THREADS: u32 = 1024;

type Parsed<T> = Result<T, Diagnostic>;

pub(super) fn read(text: &str) -> Result<SassTrace, Vec<Diagnostic>> {
    if u32::try_from(text.len()).is_err() {
        return Err(vec![Diagnostic::error("N100", Span::default(), "a trace has less than 4 GiB")]);
    }
    let mut reader = Reader::default();
    let mut start = 0;
    let mut number = 0;
    for line in text.split_inclusive('\n') {
        number += 1;
        let content = line.trim_end();
        let words = Words::new(content, start);
        start += line.len() as u32;
        if let Err(problem) = reader.line(content, words, number) {
            reader.problems.push(problem);
            if reader.problems.len() >= MAX_PROBLEMS {
                break;
            }
        }
    }
    reader.finish(Span::new(start, start))
}

#[derive(Default)]
struct Reader {
    header: TraceHeader,
    shared_base: Option<u64>,
    local_base: Option<u64>,
    line_numbers: bool,
    code: Code,
    /// Block by what its instruction is.
    known: HashMap<Signature, u32>,
    ctas: Vec<CtaTrace>,
    /// The CTA that is open.
    open: Option<OpenCta>,
    /// The sizes of the launch were held against the limits.
    launch_is_checked: bool,
    problems: Vec<Diagnostic>,
}

struct OpenCta {
    id: Option<CtaId>,
    warps: Vec<WarpTraceBuilder>,
    warp: Option<usize>,
    /// Instructions that the current warp still has, and where that was said.
    left: u64,
    said_at: Span,
}

/// What tells two instructions at one program counter apart.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Signature {
    pc: u64,
    opcode: String,
    writes: Vec<u16>,
    reads: Vec<u16>,
    immediate: Option<i64>,
}

impl Reader {
    fn line(&mut self, content: &str, mut words: Words<'_>, number: u32) -> Parsed<()> {
        if content.trim().is_empty() {
            return Ok(());
        }
        match content.split_whitespace().next().unwrap_or_default() {
            "#BEGIN_TB" => self.begin(words.all()),
            "#END_TB" => self.end(words.all()),
            first if first.starts_with('#') => Ok(()),
            first if first.starts_with('-') && self.open.is_none() && self.ctas.is_empty() => {
                self.option(content, &words)
            }
            "thread" => self.thread_block(content, &words),
            "cluster" => Ok(()),
            "warp" => self.warp(content, &words),
            "insts" => self.insts(content, &words),
            _ => {
                let warp = self.announced(words.all())?;
                let inst = Inst::read(&mut words, self.line_numbers)?;
                self.inst(&inst, warp, number)
            }
        }
    }

    /// `-name = value`; names that are not needed are passed over.
    fn option(&mut self, content: &str, words: &Words<'_>) -> Parsed<()> {
        let span = words.all();
        let Some((name, value)) = content[1..].split_once('=') else {
            return Err(Diagnostic::error("N101", span, "a line of the header is `-name = value`"));
        };
        let value = value.trim();
        let number = || value.parse().map_err(|_| Diagnostic::error("N102", span, "this is no number"));
        let address = || line::hexadecimal(value).ok_or_else(|| Diagnostic::error("N102", span, "this is no address"));
        match name.trim() {
            "kernel name" => value.clone_into(&mut self.header.kernel),
            "grid dim" => self.header.grid = sizes(value, span)?,
            "block dim" => self.header.block = sizes(value, span)?,
            "shmem" => self.header.shared_bytes = number()?,
            "nregs" => self.header.registers = number()?,
            "binary version" => self.header.binary_version = number()?,
            "shmem base_addr" => self.shared_base = Some(address()?).filter(|&base| base > 0),
            "local mem base_addr" => self.local_base = Some(address()?).filter(|&base| base > 0),
            "enable lineinfo" => self.line_numbers = value == "1",
            "accelsim tracer version" => {
                let version: u32 = number()?;
                if version < 3 {
                    let message = format!("traces of tracer version {version} are not read");
                    return Err(Diagnostic::error("N103", span, message).with_help("version 3 and later are"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, span: Span) -> Parsed<()> {
        if !self.launch_is_checked {
            self.launch_is_checked = true;
            let threads = self.header.block.count().filter(|threads| (1..=MAX_THREADS).contains(threads));
            if threads.is_none() || self.header.grid.count().is_none_or(|count| count == 0) {
                let message = format!(
                    "the header before this has no `-grid dim` and `-block dim`, or not those of 1 to {MAX_THREADS} threads"
                );
                self.problems.push(Diagnostic::error("N104", span, message));
            }
        }
        if self.open.is_some() {
            return Err(Diagnostic::error("N105", span, "the CTA before this has no `#END_TB`"));
        }
        let n_warps = self.header.block.count().unwrap_or(0).min(MAX_THREADS).div_ceil(WARP_SIZE as u32);
        let warps = vec![WarpTraceBuilder::default(); n_warps as usize];
        self.open = Some(OpenCta { id: None, warps, warp: None, left: 0, said_at: span });
        Ok(())
    }

    fn end(&mut self, span: Span) -> Parsed<()> {
        let Some(cta) = self.open.take() else {
            return Err(Diagnostic::error("N105", span, "no CTA is open here"));
        };
        let missing = cta.missing();
        let Some(id) = cta.id else {
            return Err(Diagnostic::error("N106", span, "the CTA has no `thread block = x,y,z`"));
        };
        self.ctas.push(CtaTrace { id, warps: cta.warps.into_iter().map(WarpTraceBuilder::finish).collect() });
        missing.map_or(Ok(()), Err)
    }

    fn opened(&mut self, span: Span) -> Parsed<&mut OpenCta> {
        self.open.as_mut().ok_or_else(|| {
            Diagnostic::error("N105", span, "this stands outside of a CTA").with_help("a CTA begins with `#BEGIN_TB`")
        })
    }

    fn thread_block(&mut self, content: &str, words: &Words<'_>) -> Parsed<()> {
        let span = words.all();
        let value = content.split_once('=').map_or("", |(_, value)| value.trim());
        let index = sizes(value, span)?;
        let grid = self.header.grid;
        if index.x >= grid.x || index.y >= grid.y || index.z >= grid.z {
            return Err(Diagnostic::error("N107", span, "the grid has no such CTA"));
        }
        // The grid's size was held against 32 bits.
        let linear = (index.z.wrapping_mul(grid.y).wrapping_add(index.y)).wrapping_mul(grid.x).wrapping_add(index.x);
        self.opened(span)?.id = Some(CtaId(linear));
        Ok(())
    }

    fn warp(&mut self, content: &str, words: &Words<'_>) -> Parsed<()> {
        let span = words.all();
        let number = after_equals(content, span)?;
        let cta = self.opened(span)?;
        let missing = cta.missing();
        let index = usize::try_from(number).ok().filter(|&index| index < cta.warps.len());
        cta.warp = index;
        cta.left = 0;
        if index.is_none() {
            return Err(Diagnostic::error("N108", span, format!("a CTA has {} warps", cta.warps.len())));
        }
        missing.map_or(Ok(()), Err)
    }

    fn insts(&mut self, content: &str, words: &Words<'_>) -> Parsed<()> {
        let span = words.all();
        let number = after_equals(content, span)?;
        let cta = self.opened(span)?;
        (cta.left, cta.said_at) = (number, span);
        Ok(())
    }

    /// The warp that the next instruction belongs to, which is then one of those announced.
    fn announced(&mut self, span: Span) -> Parsed<usize> {
        let cta = self.opened(span)?;
        let Some(warp) = cta.warp else {
            return Err(Diagnostic::error("N109", span, "no `warp = n` stands before this"));
        };
        if cta.left == 0 {
            return Err(Diagnostic::error("N110", span, "the warp has more instructions than `insts` says"));
        }
        cta.left -= 1;
        Ok(warp)
    }

    fn inst(&mut self, inst: &Inst<'_>, warp: usize, number: u32) -> Parsed<()> {
        let (name, modifiers) = inst.opcode.split_once('.').unwrap_or((inst.opcode, ""));
        let class = opcode::class(name, modifiers).ok_or_else(|| {
            Diagnostic::error(
                "N111",
                inst.opcode_span,
                format!("line {number}: no class is known for opcode `{}`", inst.opcode),
            )
        })?;
        let operand = Operand { inst, name, modifiers, class };
        let block = self.block(&operand, number)?;
        let bases = Bases { shared: self.shared_base, local: self.local_base };
        let cta = self.open.as_mut().expect("an instruction was announced in it");
        let trace = &mut cta.warps[warp];
        trace.step(block, inst.mask);
        if class.accesses_memory() {
            operand.accesses(trace, bases);
        }
        Ok(())
    }

    /// The block of an instruction; a new one at its first line.
    fn block(&mut self, operand: &Operand<'_>, number: u32) -> Parsed<u32> {
        let (inst, class) = (operand.inst, operand.class);
        let counts = matches!(class, MachineClass::AsyncWait | MachineClass::Barrier);
        let signature = Signature {
            pc: inst.pc,
            opcode: inst.opcode.to_owned(),
            writes: inst.writes.clone(),
            reads: inst.reads.clone(),
            immediate: inst.immediate.filter(|_| counts),
        };
        if let Some(&block) = self.known.get(&signature) {
            return Ok(block);
        }
        let class = match (class, operand.modifiers.split('.').next()) {
            (MachineClass::Barrier, Some("ARV")) => MachineClass::BarrierArrive,
            _ => class,
        };
        let place = self.code.places.len() as u32;
        self.code.places.push(Place {
            line: number,
            text: inst.text.to_owned(),
            source: inst.source_line.map(|line| ("source line".to_owned(), line)),
        });
        let mut machine = MachineInst::new(class, place);
        machine.writes = self.code.operands_of(&operand.writes());
        machine.reads = self.code.operands_of(&operand.reads());
        machine.addend = operand.addend();
        machine.amount = operand.amount()?;
        if class.accesses_memory() {
            machine.slot = 0;
            machine.space = operand.space();
        }
        let block = self.code.blocks.len() as u32;
        let first = self.code.insts.len() as u32;
        self.code.insts.push(machine);
        self.code.blocks.push(first..first + 1);
        self.known.insert(signature, block);
        Ok(block)
    }

    fn finish(mut self, end: Span) -> Result<SassTrace, Vec<Diagnostic>> {
        if self.problems.is_empty() {
            if self.open.is_some() {
                self.problems.push(Diagnostic::error("N105", end, "the last CTA has no `#END_TB`"));
            } else if self.ctas.is_empty() {
                self.problems.push(Diagnostic::error("N112", end, "the trace has no CTA"));
            }
        }
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        Ok(SassTrace { header: self.header, code: self.code, ctas: self.ctas })
    }
}

impl OpenCta {
    /// What is said when the current warp has fewer instructions than announced.
    fn missing(&self) -> Option<Diagnostic> {
        (self.left > 0).then(|| {
            Diagnostic::error("N110", self.said_at, format!("{} instructions of these are missing", self.left))
        })
    }
}

/// Three numbers with commas between them, with or without brackets.
fn sizes(value: &str, span: Span) -> Parsed<Dim3> {
    let mut numbers =
        value.trim_start_matches('(').trim_end_matches(')').split(',').map(|number| number.trim().parse().ok());
    match (numbers.next(), numbers.next(), numbers.next(), numbers.next()) {
        (Some(Some(x)), Some(Some(y)), Some(Some(z)), None) => Ok(Dim3 { x, y, z }),
        _ => Err(Diagnostic::error("N102", span, "expected three numbers")),
    }
}

fn after_equals(content: &str, span: Span) -> Parsed<u64> {
    let number = content.split_once('=').and_then(|(_, value)| value.trim().parse().ok());
    number.ok_or_else(|| Diagnostic::error("N102", span, "expected `= number`"))
}
