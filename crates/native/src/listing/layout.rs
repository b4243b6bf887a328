//! From statements to machine code: blocks, register numbers, and the rule of each access.

use std::collections::BTreeMap;

use warplens_base::{Diagnostic, LineIndex, Span};
use warplens_isa::StateSpace;
use warplens_trace::{AccessKind, Code, MachineClass, MachineInst, Place, RegisterNumber};

use super::expr::{Expr, Variable};
use super::opcode::{Shape, is_integer_product, modifier_bytes, multiplies_natively};
use super::parse::{Bank, Inst, Item, Memory, Operand, Register};

/// What a warp goes through.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// A block, with the rules of its accesses.
    Block { block: u32, accesses: Vec<AccessRule> },
    /// A body that is executed several times.
    Loop { counter: Variable, count: Expr, span: Span, body: Vec<Node> },
    /// Two bodies for two sets of lanes.
    If { condition: Expr, span: Span, then: Vec<Node>, otherwise: Vec<Node> },
}

/// Where the lanes of a memory instruction point.
#[derive(Clone, Debug)]
pub(super) struct AccessRule {
    pub(super) slot: u16,
    pub(super) space: StateSpace,
    pub(super) kind: AccessKind,
    pub(super) element_bytes: u8,
    pub(super) elements: u8,
    pub(super) address: Expr,
    pub(super) guard: Option<(Expr, Span)>,
    pub(super) span: Span,
}

/// Makes machine code of statements.
pub(super) fn layout(text: &str, items: &[Item]) -> Result<(Code, Vec<Node>), Vec<Diagnostic>> {
    let mut layout = Layout {
        text,
        lines: LineIndex::new(text),
        code: Code::default(),
        registers: BTreeMap::new(),
        places: BTreeMap::new(),
        open: None,
        problems: Vec::new(),
    };
    let program = layout.nodes(items);
    if layout.problems.is_empty() { Ok((layout.code, program)) } else { Err(layout.problems) }
}

/// The block that is being filled.
struct Open {
    first: u32,
    accesses: Vec<AccessRule>,
}

/// A register, or the scratch register of expanded multiplications.
type Name = Option<Register>;

struct Layout<'t> {
    text: &'t str,
    lines: LineIndex,
    code: Code,
    registers: BTreeMap<Name, RegisterNumber>,
    /// Place by the first byte of its statement: copies of a repeat share one.
    places: BTreeMap<u32, u32>,
    open: Option<Open>,
    problems: Vec<Diagnostic>,
}

impl Layout<'_> {
    fn nodes(&mut self, items: &[Item]) -> Vec<Node> {
        let mut nodes = Vec::new();
        self.collect(items, &mut nodes);
        self.close(&mut nodes);
        nodes
    }

    fn collect(&mut self, items: &[Item], nodes: &mut Vec<Node>) {
        for item in items {
            match item {
                Item::Inst(inst) => {
                    if let Err(problem) = self.inst(inst) {
                        self.problems.push(problem);
                    }
                }
                // All lanes, the same way: the block goes on.
                Item::If { condition, then, otherwise, .. }
                    if otherwise.is_empty() && condition.constant().is_some_and(|value| value != 0) =>
                {
                    self.collect(then, nodes);
                }
                Item::Loop { counter, count, span, body } => {
                    self.close(nodes);
                    let body = self.nodes(body);
                    nodes.push(Node::Loop { counter: *counter, count: count.clone(), span: *span, body });
                }
                Item::If { condition, span, then, otherwise } => {
                    self.close(nodes);
                    let (then, otherwise) = (self.nodes(then), self.nodes(otherwise));
                    nodes.push(Node::If { condition: condition.clone(), span: *span, then, otherwise });
                }
            }
        }
    }

    fn close(&mut self, nodes: &mut Vec<Node>) {
        if let Some(open) = self.open.take() {
            let block = self.code.blocks.len() as u32;
            self.code.blocks.push(open.first..self.code.insts.len() as u32);
            nodes.push(Node::Block { block, accesses: open.accesses });
        }
    }

    fn inst(&mut self, inst: &Inst) -> Result<(), Diagnostic> {
        let operands = Operands::of(inst)?;
        let modifiers: Vec<&str> = inst.modifiers.iter().map(String::as_str).collect();
        if is_integer_product(&inst.name) && !multiplies_natively(&modifiers) {
            return self.expand_product(inst, &operands);
        }
        let mut class = inst.opcode.class;
        if class == MachineClass::Move && operands.memory.is_some() {
            class = MachineClass::Load;
        }
        let writes = self.numbers(&operands.writes);
        let mut reads = operands.reads.clone();
        reads.extend(operands.memory.iter().flat_map(|memory| &memory.registers).copied());
        let reads = self.numbers(&reads);
        let addend = operands.addend.map(|register| self.number(Some(register)));
        self.push(inst, class, reads, writes, addend);
        if class == MachineClass::Barrier {
            let last = self.code.insts.last_mut().expect("an instruction was just pushed");
            last.amount = operands.barrier;
        }
        if let Some(memory) = operands.memory {
            self.access(inst, memory)?;
        }
        Ok(())
    }

    /// `IMUL.U16 t, a, b; IMAD.U16 t, a, b, t; SHL t, t; IMAD.U16 d, a, b, t`, and `IADD d, d, c` of a multiply-add.
    fn expand_product(&mut self, inst: &Inst, operands: &Operands<'_>) -> Result<(), Diagnostic> {
        if let Some(memory) = operands.memory {
            let message = "a 32-bit multiplication becomes several instructions and takes no operand from memory";
            return Err(Diagnostic::error("N020", memory.span, message).with_help("load the operand before it"));
        }
        let adds = inst.opcode.shape == Shape::MultiplyAdd;
        let factors = match operands.addend {
            Some(addend) if adds => {
                let last = operands.reads.iter().rposition(|&register| register == addend);
                let mut reads = operands.reads.clone();
                last.map(|last| reads.remove(last));
                reads
            }
            _ => operands.reads.clone(),
        };
        let factors = self.numbers(&factors);
        let scratch = self.number(None);
        let result = self.numbers(&operands.writes);
        let with_scratch: Vec<_> = factors.iter().copied().chain([scratch]).collect();
        self.push(inst, MachineClass::Int, factors, vec![scratch], None);
        self.push(inst, MachineClass::Int, with_scratch.clone(), vec![scratch], Some(scratch));
        self.push(inst, MachineClass::Int, vec![scratch], vec![scratch], None);
        let product = if adds { vec![scratch] } else { result.clone() };
        self.push(inst, MachineClass::Int, with_scratch, product, Some(scratch));
        if adds {
            let addend = operands.addend.map(|register| self.number(Some(register)));
            let reads = [scratch].into_iter().chain(addend).collect();
            self.push(inst, MachineClass::Int, reads, result, None);
        }
        Ok(())
    }

    fn push(
        &mut self,
        inst: &Inst,
        class: MachineClass,
        mut reads: Vec<RegisterNumber>,
        writes: Vec<RegisterNumber>,
        addend: Option<RegisterNumber>,
    ) {
        let guard = inst.guard.as_ref().map(|guard| self.number(Some(guard.register)));
        reads.extend(guard.filter(|guard| !reads.contains(guard)));
        let place = self.place(inst);
        let first = self.code.insts.len() as u32;
        self.open.get_or_insert(Open { first, accesses: Vec::new() });
        let mut machine = MachineInst::new(class, place);
        machine.reads = self.code.operands_of(&reads);
        machine.writes = self.code.operands_of(&writes);
        machine.addend = addend;
        machine.guard = guard;
        self.code.insts.push(machine);
    }

    /// Gives the last instruction its access.
    fn access(&mut self, inst: &Inst, memory: &Memory) -> Result<(), Diagnostic> {
        let bytes = memory.bytes.unwrap_or_else(|| width(inst));
        let (address, span) = match &memory.address {
            Some((address, span)) => (address.clone(), *span),
            None if memory.registers.is_empty() && memory.space == StateSpace::Shared => {
                (Expr::value(memory.index.wrapping_mul(i64::from(bytes))), memory.span)
            }
            None => {
                return Err(Diagnostic::error("N018", memory.span, "the listing does not say where lanes point")
                    .with_help(
                        "write the byte address of each lane in braces behind it, such as `{0x1000 + 4 * thread}`",
                    ));
            }
        };
        let kind = match (inst.opcode.class, inst.opcode.shape) {
            (MachineClass::Atomic | MachineClass::Reduction, _) => AccessKind::Atomic,
            (_, Shape::Store) => AccessKind::Store,
            _ => AccessKind::Load,
        };
        let guard = inst.guard.as_ref().and_then(|guard| guard.lanes.clone());
        let (element_bytes, elements) = if bytes == 16 { (4, 4) } else { (bytes, 1) };
        let open = self.open.as_mut().expect("an instruction opened the block");
        let slot =
            u16::try_from(open.accesses.len()).expect("fewer accesses than instructions, of which there are fewer");
        open.accesses.push(AccessRule {
            slot,
            space: memory.space,
            kind,
            element_bytes,
            elements,
            address,
            guard,
            span,
        });
        let last = self.code.insts.last_mut().expect("an instruction was just pushed");
        last.slot = slot;
        last.space = memory.space;
        Ok(())
    }

    fn numbers(&mut self, registers: &[Register]) -> Vec<RegisterNumber> {
        let mut numbers: Vec<RegisterNumber> = Vec::with_capacity(registers.len());
        for &register in registers {
            let number = self.number(Some(register));
            if !numbers.contains(&number) {
                numbers.push(number);
            }
        }
        numbers
    }

    fn number(&mut self, name: Name) -> RegisterNumber {
        let next = RegisterNumber::try_from(self.registers.len()).expect("a listing has a few hundred registers");
        *self.registers.entry(name).or_insert(next)
    }

    fn place(&mut self, inst: &Inst) -> u32 {
        let (text, lines, places) = (self.text, &self.lines, &mut self.code.places);
        *self.places.entry(inst.span.start).or_insert_with(|| {
            places.push(Place {
                line: lines.line(inst.span.start),
                text: without_annotations(&text[inst.span.range()]),
                source: None,
            });
            places.len() as u32 - 1
        })
    }
}

/// Operands of an instruction by what happens to them.
struct Operands<'i> {
    writes: Vec<Register>,
    reads: Vec<Register>,
    memory: Option<&'i Memory>,
    addend: Option<Register>,
    barrier: u32,
}

impl<'i> Operands<'i> {
    fn of(inst: &'i Inst) -> Result<Self, Diagnostic> {
        let mut sorted = Self { writes: Vec::new(), reads: Vec::new(), memory: None, addend: None, barrier: 0 };
        let shape = inst.opcode.shape;
        let n_written = usize::from(matches!(shape, Shape::Compute | Shape::MultiplyAdd | Shape::Load | Shape::Atomic));
        for (index, operand) in inst.operands.iter().enumerate() {
            match operand {
                Operand::Plain => {}
                Operand::Barrier(number) => sorted.barrier = *number,
                Operand::Register(register) => {
                    let written = index < n_written;
                    let parts = (0..registers_of(inst, written)).filter_map(|part| nth(*register, part));
                    if written { sorted.writes.extend(parts) } else { sorted.reads.extend(parts) }
                }
                Operand::Memory(memory) => {
                    if sorted.memory.replace(memory).is_some() || index < n_written {
                        let message = "an instruction has one operand in memory, and no result but that of a store";
                        return Err(Diagnostic::error("N019", memory.span, message));
                    }
                }
            }
        }
        if sorted.memory.is_none() && matches!(shape, Shape::Load | Shape::Store | Shape::Atomic) {
            return Err(Diagnostic::error("N021", inst.span, format!("`{}` needs a place in memory", inst.name)));
        }
        if shape == Shape::MultiplyAdd {
            sorted.addend = match inst.operands.get(3) {
                Some(Operand::Register(register)) => Some(*register),
                _ => None,
            };
        }
        sorted.writes.extend(inst.modifiers.iter().filter_map(|modifier| condition_written(modifier)));
        Ok(sorted)
    }
}

/// `.C0` behind an opcode: the condition register that it sets.
fn condition_written(modifier: &str) -> Option<Register> {
    let number = match modifier.as_bytes() {
        [b'C', digit @ b'0'..=b'7'] => digit - b'0',
        [b'P', digit @ b'0'..=b'7'] => digit - b'0' + 8,
        _ => return None,
    };
    Some(Register { bank: Bank::Condition, number })
}

/// Bytes of an operand.
fn width(inst: &Inst) -> u8 {
    inst.modifiers.iter().find_map(|modifier| modifier_bytes(modifier)).unwrap_or(inst.opcode.bytes)
}

/// Registers of 32 bits that an operand takes.
fn registers_of(inst: &Inst, written: bool) -> u8 {
    let types = || inst.modifiers.iter().filter_map(|modifier| modifier_bytes(modifier));
    let bytes = match inst.opcode.class {
        MachineClass::Fp64 if written && inst.name == "DSET" => 4,
        MachineClass::Fp64 => 8,
        MachineClass::Convert if written => types().next().unwrap_or(4),
        MachineClass::Convert => types().next_back().unwrap_or(4),
        MachineClass::Load | MachineClass::Store => width(inst),
        _ => 4,
    };
    bytes.div_ceil(4)
}

fn nth(register: Register, part: u8) -> Option<Register> {
    match register.bank {
        Bank::General => Some(Register { number: register.number.checked_add(part)?, ..register }),
        _ => (part == 0).then_some(register),
    }
}

/// The statement as the chip's tools would write it.
fn without_annotations(text: &str) -> String {
    let mut depth = 0_u32;
    let kept: String = text
        .chars()
        .filter(|&c| {
            depth += u32::from(c == '{');
            let keep = depth == 0;
            depth = depth.saturating_sub(u32::from(c == '}'));
            keep
        })
        .collect();
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}
