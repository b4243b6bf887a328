//! The code of a kernel as blocks.

use std::collections::{BTreeMap, BTreeSet};

use warplens_base::Span;
use warplens_ir::{
    Bank, Block, ControlCode, Flow, FunctionId, Guard, Inst, Operand as Ir, Register, SignedValue, SpellingId, Width,
};
use warplens_isa::{BlockId, InstKey, Op, OpClass, Operation, Pc, ScalarType, Spelling, StateSpace, SystemCall};

use super::constants::Facts;
use super::opcodes::End;
use super::operands::{FIRST_TEMPORARY, Lowering, PREDICATES, word};
use super::origin::Origins;
use crate::container::SectionId;
use crate::control::Control;
use crate::decode::{Decoder, WORD_BYTES, words};
use crate::syntax::Syntax;

/// A stretch of code that has its addresses from the beginning on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section<'b> {
    /// Which it is of the file.
    pub(super) id: SectionId,
    /// Address of its first instruction among all code of the module.
    pub(super) base: u64,
    pub(super) bytes: &'b [u8],
}

/// A service that code calls by its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Service {
    pub(super) address: u64,
    pub(super) call: SystemCall,
}

/// The names of the source instructions of a module.
pub(super) type Spellings = BTreeMap<String, SpellingId>;

/// What the lowering of code adds to.
pub(super) struct Output<'m> {
    pub(super) module: &'m mut warplens_ir::Module,
    pub(super) spellings: &'m mut Spellings,
    /// The text whose lines are the instructions.
    pub(super) listing: &'m mut String,
    /// Lines that the listing has.
    pub(super) n_lines: &'m mut u32,
    /// Where instructions came from.
    pub(super) origins: &'m mut Origins,
    /// Uniform registers that the function names.
    pub(super) uniform: u32,
    pub(super) function: FunctionId,
}

/// An instruction and what follows it.
struct Item {
    address: u64,
    insts: Vec<Inst>,
    end: End,
}

/// Lowers sections, of which the first begins with the kernel, to blocks behind those that the module has. Returns how
/// many there are.
pub(super) fn lower(
    output: &mut Output<'_>,
    decoder: &Decoder,
    facts: &Facts<'_>,
    (sections, services): (&[Section<'_>], &[Service]),
    (first_word, jumped_to): (u32, &BTreeSet<u64>),
) -> u32 {
    let mut items = Vec::new();
    let mut starts: BTreeSet<u64> = jumped_to.clone();
    let mut returns: BTreeSet<u64> = jumped_to.clone();
    for section in sections {
        starts.insert(section.base);
        let before = items.len();
        for (index, bits) in words(section.bytes).enumerate() {
            let address = section.base + WORD_BYTES * index as u64;
            items.push(instruction(output, decoder, facts, (bits, address, section), first_word));
        }
        for item in &items[before..] {
            let next = item.address + WORD_BYTES;
            match item.end {
                End::Next => continue,
                End::Branch(target) => starts.insert(target),
                End::Call(target) => returns.insert(next) | starts.insert(target),
                End::Jump => returns.insert(next),
                End::Apart | End::Meeting | End::Exit | End::Trap => true,
            };
            starts.insert(next);
        }
    }
    for service in services {
        starts.insert(service.address);
        returns.insert(service.address);
        items.push(serve(output, *service));
    }
    refuse_jumps(&mut items, returns.len());
    Blocks::new(&items, &starts, &returns, output.module.blocks.len() as u32).build(items, output)
}

/// Most targets of all jumps of a kernel together: far more than calls and returns of a program have.
const MOST_TARGETS: usize = 1 << 22;

/// Jumps that may go to too many places are not supported.
fn refuse_jumps(items: &mut [Item], n_targets: usize) {
    let n_jumps = items.iter().filter(|item| item.end == End::Jump).count();
    if n_jumps.saturating_mul(n_targets) <= MOST_TARGETS {
        return;
    }
    for item in items.iter_mut().filter(|item| item.end == End::Jump) {
        let pc = item.insts.first().map_or(Pc(0), |inst| inst.pc);
        item.insts = vec![Inst::new(pc, Operation::Unsupported, ScalarType::B32)];
        item.end = End::Next;
    }
}

fn instruction(
    output: &mut Output<'_>,
    decoder: &Decoder,
    facts: &Facts<'_>,
    (bits, address, section): (u128, u64, &Section<'_>),
    first_word: u32,
) -> Item {
    let pc = Pc(output.module.pcs.len() as u32);
    let mut lowering = Lowering::new(facts, (pc, address));
    let decoded = decoder.decode(bits);
    let syntax = decoded.and_then(|instruction| Syntax::of(&instruction, address));
    let lowered = match (&decoded, &syntax) {
        (Some(instruction), Some(syntax)) => {
            let guarded = lowering.set_guard(instruction.guard());
            let end = guarded.and_then(|()| lowering.instruction(syntax));
            end.and_then(
                |end| if super::opcodes::is_understood(syntax) { Ok(end) } else { Err("a form that is not known") },
            )
        }
        _ => Err("not an instruction that is known"),
    };
    let placed = match lowered {
        Ok(end) if lowering.is_within_bounds() => {
            let mut insts = with_own_guard(lowering);
            let fits = insts.iter_mut().all(|inst| place(inst, first_word, &mut output.uniform));
            fits.then_some((insts, end))
        }
        _ => None,
    };
    let refused = || (vec![Inst::new(pc, Operation::Unsupported, ScalarType::B32)], End::Next);
    let (insts, end) = placed.unwrap_or_else(refused);
    let unknown = || format!("unknown {:#018x} {:#018x}", bits as u64, (bits >> 64) as u64);
    let offset = address - section.base;
    let written = decoded.map_or_else(unknown, |instruction| instruction.text(offset));
    let mnemonic = syntax.map_or_else(|| "unknown".to_owned(), |syntax| syntax.mnemonic());
    let control = Control::of(bits);
    for head in output.origins.note(output.module, pc, (section.id, offset)) {
        output.list(&format!("  {head}"));
    }
    note(output, (mnemonic, &insts), &format!("{offset:04x}  {control}  {written}"));
    output.module.controls.insert(pc, code_of(control));
    Item { address, insts, end }
}

/// Puts the temporaries of an operation behind the registers of the function. False where it names a register that the
/// function does not have. Notes how many uniform registers there are.
fn place(inst: &mut Inst, first_word: u32, uniform: &mut u32) -> bool {
    let mut fits = true;
    let mut place = |register: &mut Register| match register.bank {
        Bank::Vector if register.index >= FIRST_TEMPORARY => {
            register.index = register.index - FIRST_TEMPORARY + first_word;
        }
        Bank::Vector => fits &= register.words().end <= first_word,
        Bank::Uniform => *uniform = (*uniform).max(register.words().end),
        Bank::Predicate | Bank::UniformPredicate | Bank::Convergence => {}
    };
    inst.destinations.iter_mut().flatten().for_each(&mut place);
    let bases = inst.memory.iter_mut().map(|memory| &mut memory.base);
    for operand in inst.sources.iter_mut().chain(bases) {
        match operand {
            Ir::Register(register) | Ir::Signed(_, SignedValue::Register(register)) => place(register),
            _ => {}
        }
    }
    fits
}

/// A service's code: the call, and the jump back to the address that its caller left in the registers 20 and 21.
fn serve(output: &mut Output<'_>, Service { address, call }: Service) -> Item {
    let pc = Pc(output.module.pcs.len() as u32);
    let pair = |index| Ir::Register(Register::vector(index, Width::Pair));
    let (sources, result) = match call {
        SystemCall::Vprintf => (vec![pair(4), pair(6)], Some(word(4))),
        SystemCall::Malloc => (vec![pair(4)], Some(Register::vector(4, Width::Pair))),
        SystemCall::Free => (vec![pair(4)], None),
        SystemCall::AssertFail => (vec![pair(4), pair(6), Ir::Register(word(8)), pair(10), pair(12)], None),
    };
    let mut called = Inst::new(pc, Operation::SystemCall(call), ScalarType::B32);
    called.sources = sources;
    called.destinations = vec![result];
    let mut back = Inst::new(pc, Operation::Jump, ScalarType::U64);
    back.sources = vec![pair(20)];
    let insts = vec![called, back];
    note(output, ("CALL".to_owned(), &insts), &format!("{call:?}, of the device runtime"));
    Item { address, insts, end: End::Jump }
}

/// Adds an instruction to the module's table, and to the listing.
fn note(output: &mut Output<'_>, (mnemonic, insts): (String, &[Inst]), line: &str) {
    let start = output.listing.len() as u32 + 2;
    output.list(&format!("  {line}"));
    let Output { module, spellings, function, listing, n_lines, .. } = output;
    let main = main_operation(insts);
    let class = main.map_or(OpClass::Int, |inst| inst.op().class(inst.ty));
    let spelling = *spellings
        .entry(mnemonic)
        .or_insert_with_key(|text| module.spellings.push(Spelling::new(key_of(main), text.as_str())));
    module.pcs.push(warplens_ir::PcInfo {
        function: *function,
        spelling,
        span: Span { start, end: listing.len() as u32 - 1 },
        line: **n_lines,
        class,
        high_latency: None,
    });
}

/// The operation that an instruction is about: its access, or the last that is more than a copy.
fn main_operation(insts: &[Inst]) -> Option<&Inst> {
    // What a barrier is told of a copy comes behind it.
    let copies = |inst: &&Inst| inst.op().is_bulk();
    let accesses = || insts.iter().rev().filter(|inst| !inst.memory.is_empty() && !is_operand(inst));
    let product = insts.iter().find(|inst| inst.op() == Op::MmaAsync);
    let access = product.or_else(|| accesses().find(copies)).or_else(|| accesses().next());
    access.or_else(|| insts.iter().rev().find(|inst| inst.op().class(inst.ty) != OpClass::Virtual && !is_operand(inst)))
}

/// It brings a constant of the program to an instruction that names it.
fn is_operand(inst: &Inst) -> bool {
    inst.memory.iter().any(|memory| memory.space == StateSpace::Const && memory.base.register().is_none())
}

/// What counts know an instruction by: that of PTX which does the same, where there is one.
fn key_of(main: Option<&Inst>) -> InstKey {
    use warplens_isa::Family as F;
    let Some(inst) = main else { return InstKey::UNKNOWN };
    let family = match inst.op() {
        Op::Ld | Op::Ldmatrix => F::Ld,
        Op::St => F::St,
        Op::Atom => F::Atom,
        Op::Red => F::Red,
        Op::Copy => F::CpAsync,
        Op::Fma => F::Fma,
        Op::Add => F::Add,
        Op::Sub => F::Sub,
        Op::Mul => F::Mul,
        Op::Mad | Op::MadWide => F::Mad,
        Op::And => F::And,
        Op::Or => F::Or,
        Op::Xor => F::Xor,
        Op::Lop3 => F::Lop3,
        Op::Shl => F::Shl,
        Op::Shr => F::Shr,
        Op::Setp => F::Setp,
        Op::Selp => F::Selp,
        Op::Min => F::Min,
        Op::Max => F::Max,
        Op::Shfl => F::Shfl,
        Op::Vote => F::Vote,
        Op::Bar => F::Bar,
        Op::Bra | Op::Jump => F::Bra,
        Op::Exit => F::Exit,
        _ => return InstKey::UNKNOWN,
    };
    let mut key = InstKey::new(family, inst.ty);
    if let Some(memory) = inst.memory.iter().next() {
        key.space = Some(memory.space);
        key.elements = memory.elements;
    }
    key
}

impl Output<'_> {
    /// Adds a line to the listing.
    pub(super) fn list(&mut self, line: &str) {
        self.listing.push_str(line);
        self.listing.push('\n');
        *self.n_lines += 1;
    }
}

fn code_of(control: Control) -> ControlCode {
    ControlCode {
        stall: control.stall,
        yields: control.yields,
        write_scoreboard: control.write_barrier,
        read_scoreboard: control.read_barrier,
        waits: control.wait,
        reuse: control.reuse,
    }
}

/// The operations of an instruction, whose guard none of them changes before the last has looked at it.
fn with_own_guard(mut lowering: Lowering<'_>) -> Vec<Inst> {
    let mut insts = std::mem::take(&mut lowering.insts);
    // A condition that the instruction has computed is its own.
    let is_own = |guard: &Guard| guard.predicate.bank == Bank::Predicate && guard.predicate.index >= PREDICATES;
    let Some(guard) = insts.last().and_then(|inst| inst.guard).filter(|guard| !is_own(guard)) else { return insts };
    let n = insts.len();
    let changes = insts[..n - 1].iter().any(|inst| inst.writes().any(|register| register == guard.predicate));
    if changes {
        let kept = lowering.temporary_predicate();
        let pc = insts[0].pc;
        for inst in insts.iter_mut().filter(|inst| inst.guard == Some(guard)) {
            inst.guard = Some(Guard { predicate: kept, ..guard });
        }
        let mut keep = Inst::new(pc, Operation::Mov, ScalarType::Pred);
        keep.destinations = vec![Some(kept)];
        keep.sources = vec![Ir::Register(guard.predicate)];
        insts.insert(0, keep);
    }
    insts
}

/// Puts instructions into blocks.
struct Blocks {
    ids: BTreeMap<u64, BlockId>,
    /// Where jumps may go.
    returns: Vec<(u64, BlockId)>,
    /// Where control goes that goes nowhere.
    nowhere: BlockId,
}

impl Blocks {
    fn new(items: &[Item], starts: &BTreeSet<u64>, returns: &BTreeSet<u64>, first: u32) -> Self {
        let begins = items.iter().map(|item| item.address).filter(|address| starts.contains(address));
        let ids: BTreeMap<u64, BlockId> =
            begins.zip(first..).map(|(address, number)| (address, BlockId(number))).collect();
        let nowhere = BlockId(first + ids.len() as u32);
        let returns = returns.iter().filter_map(|address| Some((*address, *ids.get(address)?))).collect();
        Self { ids, returns, nowhere }
    }

    fn build(self, items: Vec<Item>, output: &mut Output<'_>) -> u32 {
        let mut items = items.into_iter().peekable();
        let mut insts = Vec::new();
        let mut n = 0;
        while let Some(item) = items.next() {
            insts.extend(item.insts);
            let next_address = item.address + WORD_BYTES;
            let begins_block =
                items.peek().is_none_or(|next| next.address != next_address || self.ids.contains_key(&next.address));
            if item.end == End::Next && !begins_block {
                continue;
            }
            let next = self.block_at(next_address);
            let is_guarded = insts.last().is_some_and(|inst: &Inst| inst.guard.is_some());
            let otherwise = is_guarded.then_some(next);
            let flow = match item.end {
                End::Next | End::Meeting => Flow::Fallthrough(next),
                End::Branch(target) | End::Call(target) => {
                    Flow::Branch { taken: self.block_at(target), next: otherwise }
                }
                // The groups come as the numbers of their first lanes.
                End::Apart => Flow::Computed { targets: (0..32).map(|lane| (lane, next)).collect(), next: otherwise },
                End::Jump => Flow::Computed { targets: self.returns.clone(), next: otherwise },
                End::Exit | End::Trap => Flow::Exit { next: otherwise },
            };
            let insts = std::mem::take(&mut insts);
            output.module.blocks.push(Block { label: None, stays_rolled: false, insts, flow });
            n += 1;
        }
        // Code that is run into by nobody: behind the last instruction.
        let pc = Pc(output.module.pcs.len() as u32);
        let end = vec![Inst::new(pc, Operation::Trap, ScalarType::Pred)];
        note(output, ("(end)".to_owned(), &end), "(the end of the code)");
        output.module.blocks.push(Block {
            label: None,
            stays_rolled: false,
            insts: end,
            flow: Flow::Exit { next: None },
        });
        n + 1
    }

    fn block_at(&self, address: u64) -> BlockId {
        self.ids.get(&address).copied().unwrap_or(self.nowhere)
    }
}
