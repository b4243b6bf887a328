//! Schedules of random blocks keep what they must keep.

use std::collections::BTreeMap;

use proptest::prelude::*;
use warplens_base::{IdMap, Span};
use warplens_ir::{
    Block, Flow, Function, FunctionId, FunctionKind, Guard, Inst, LaunchBounds, Memory, MemoryReference, Module,
    Operand, PcInfo, Register, RegisterWords, Width,
};
use warplens_isa::{
    AccessOrder, Atomic, AtomicOp, BarrierKind, BlockId, Branch, Carry, CompareOp, Comparison, FusedMultiplyAdd,
    InstKey, Op, OpClass, Operation, Pc, Product, Rounding, ScalarType, ShuffleMode, Spelling, StateSpace, Sum,
};
use warplens_machine::ComputeCapability;
use warplens_trace::MachineClass;

use super::*;
use crate::slots::slots;
use crate::target::Target;
use crate::{Options, emit, generate};

/// Words and predicates of the random kernels.
const N_WORDS: u32 = 12;
const N_PREDICATES: u32 = 2;

#[derive(Clone, Debug)]
enum Random {
    Arithmetic { op: usize, to: u32, a: u32, b: u32, guarded: bool },
    Compare { to: u32, a: u32, b: u32 },
    Load { space: usize, to: u32, base: u32, offset: i64 },
    Store { space: usize, value: u32, base: u32, offset: i64 },
    Atomic { base: u32, value: u32 },
    Shuffle { to: u32, a: u32 },
    Barrier,
    Fence,
}

const OPS: [Operation; 5] = [
    Operation::Add(PLAIN_SUM),
    Operation::Mul(Product { rounding: Rounding::Nearest, ftz: false, sat: false }),
    FMA,
    Operation::Xor,
    Operation::Shl,
];
const PLAIN_SUM: Sum = Sum { rounding: Rounding::Nearest, ftz: false, sat: false, carry: Carry::NONE };
const FMA: Operation =
    Operation::Fma(FusedMultiplyAdd { rounding: Rounding::Nearest, ftz: false, sat: false, relu: false, oob: false });
const SPACES: [StateSpace; 4] = [StateSpace::Global, StateSpace::Shared, StateSpace::Local, StateSpace::Generic];

fn instruction() -> impl Strategy<Value = Random> {
    let word = 0..N_WORDS;
    let offset = prop_oneof![Just(0i64), Just(4), Just(8), Just(2)];
    prop_oneof![
        6 => (0..OPS.len(), word.clone(), word.clone(), word.clone(), any::<bool>())
            .prop_map(|(op, to, a, b, guarded)| Random::Arithmetic { op, to, a, b, guarded }),
        1 => (0..N_PREDICATES, word.clone(), word.clone()).prop_map(|(to, a, b)| Random::Compare { to, a, b }),
        4 => (0..SPACES.len(), word.clone(), word.clone(), offset.clone())
            .prop_map(|(space, to, base, offset)| Random::Load { space, to, base, offset }),
        3 => (0..SPACES.len(), word.clone(), word.clone(), offset)
            .prop_map(|(space, value, base, offset)| Random::Store { space, value, base, offset }),
        1 => (word.clone(), word.clone()).prop_map(|(base, value)| Random::Atomic { base, value }),
        1 => (word.clone(), word).prop_map(|(to, a)| Random::Shuffle { to, a }),
        1 => Just(Random::Barrier),
        1 => Just(Random::Fence),
    ]
}

fn register(index: u32) -> Register {
    Register::vector(index, Width::Word)
}

fn inst(pc: u32, random: &Random) -> Inst {
    let word = |index: u32| Operand::Register(register(index));
    let memory = |space: StateSpace, base: u32, offset: i64| {
        Memory::One(MemoryReference { space, base: word(base), offset, elements: 1 })
    };
    let mut inst = Inst::new(Pc(pc), Operation::Fence, ScalarType::U32);
    match *random {
        Random::Arithmetic { op, to, a, b, guarded } => {
            inst.operation = OPS[op];
            inst.sources = if inst.op() == Op::Fma { vec![word(a), word(b), word(to)] } else { vec![word(a), word(b)] };
            inst.ty = if inst.op() == Op::Fma { ScalarType::F32 } else { ScalarType::U32 };
            inst.destinations = vec![Some(register(to))];
            inst.guard = guarded.then_some(Guard { predicate: Register::predicate(0), negated: false });
        }
        Random::Compare { to, a, b } => {
            inst.operation = Operation::Setp(Comparison::new(CompareOp::Eq));
            inst.sources = vec![word(a), word(b)];
            inst.destinations = vec![Some(Register::predicate(to))];
        }
        Random::Load { space, to, base, offset } => {
            inst.operation = Operation::Ld(AccessOrder::default());
            inst.destinations = vec![Some(register(to))];
            inst.memory = memory(SPACES[space], base, offset);
        }
        Random::Store { space, value, base, offset } => {
            inst.operation = Operation::St(AccessOrder::default());
            inst.sources = vec![word(value)];
            inst.memory = memory(SPACES[space], base, offset);
        }
        Random::Atomic { base, value } => {
            inst.operation = Operation::Red(Atomic { op: AtomicOp::Add, ordered: false });
            inst.sources = vec![word(value)];
            inst.memory = memory(StateSpace::Global, base, 0);
        }
        Random::Shuffle { to, a } => {
            inst.operation = Operation::Shfl(ShuffleMode::Index);
            inst.sources = vec![word(a), Operand::Immediate(1), Operand::Immediate(31), Operand::Immediate(0)];
            inst.destinations = vec![Some(register(to))];
        }
        Random::Barrier => {
            inst.operation = Operation::Bar(BarrierKind::Sync);
            inst.sources = vec![Operand::Immediate(0)];
        }
        Random::Fence => {}
    }
    inst
}

/// A kernel whose second block is the random one and may come again, so that words live around it.
fn module(body: &[Random]) -> Module {
    let mut module = Module { address_bits: 32, ..Module::default() };
    let mut insts: Vec<Inst> = body.iter().enumerate().map(|(pc, random)| inst(pc as u32, random)).collect();
    let n = insts.len() as u32;
    let mut branch = Inst::new(Pc(n), Operation::Bra(Branch::default()), ScalarType::Pred);
    branch.guard = Some(Guard { predicate: Register::predicate(1), negated: false });
    insts.push(branch);
    let end = vec![Inst::new(Pc(n + 1), Operation::Ret, ScalarType::Pred)];
    for (insts, flow) in [
        (Vec::new(), Flow::Fallthrough(BlockId(1))),
        (insts, Flow::Branch { taken: BlockId(1), next: Some(BlockId(2)) }),
        (end, Flow::Return { next: None }),
    ] {
        module.blocks.push(Block { label: None, stays_rolled: false, insts, flow });
    }
    let spelling = module.spellings.push(Spelling::new(InstKey::UNKNOWN, "any"));
    module.pcs = IdMap::from_iter((0..n + 2).map(|line| PcInfo {
        function: FunctionId(0),
        spelling,
        span: Span::default(),
        line,
        class: OpClass::Other,
        high_latency: None,
    }));
    module.functions = IdMap::from_iter([Function {
        name: "k".into(),
        kind: FunctionKind::Kernel,
        parameters: Vec::new(),
        arguments: Vec::new(),
        results: Vec::new(),
        registers: RegisterWords { vector: N_WORDS, predicate: N_PREDICATES, ..RegisterWords::default() },
        local_bytes: 0,
        shared_bytes: 0,
        reserved_shared_bytes: 0,
        machine_registers: None,
        first_block: BlockId(0),
        n_blocks: 3,
        bounds: LaunchBounds::default(),
        explicit_convergence: false,
    }]);
    module
}

fn target() -> Target {
    Target::plain(ComputeCapability::new(8, 0))
}

fn crosses_nothing(class: MachineClass) -> bool {
    use MachineClass as C;
    matches!(class, C::Barrier | C::Fence | C::Reduction)
}

fn touches_or_orders(atom: &Atom) -> bool {
    atom.touches_memory() || crosses_nothing(atom.class) || atom.class == MachineClass::Shuffle
}

/// True when `b` must stay behind `a`: told from the instructions alone, one pair at a time. `rewritten` says whether
/// a word is written between both.
fn must_follow(body: &Body<'_>, a: &Atom, b: &Atom, rewritten: &dyn Fn(Word) -> bool) -> bool {
    let shares = |x: &[Word], y: &[Word]| x.iter().any(|word| y.contains(word));
    if shares(&a.writes, &b.reads) || shares(&a.reads, &b.writes) || shares(&a.writes, &b.writes) {
        return true;
    }
    if crosses_nothing(a.class) && touches_or_orders(b) || crosses_nothing(b.class) && touches_or_orders(a) {
        return true;
    }
    if a.class == MachineClass::Shuffle && b.class == MachineClass::Shuffle {
        return true;
    }
    let both_load = a.class == MachineClass::Load && b.class == MachineClass::Load;
    if !a.touches_memory() || !b.touches_memory() || both_load {
        return false;
    }
    let address = |atom: &Atom| atom.node.and_then(|id| body.nodes[id].address.clone());
    let (Some(x), Some(y)) = (address(a), address(b)) else { return true };
    let generic = x.space == StateSpace::Generic || y.space == StateSpace::Generic;
    if x.space != y.space && !generic {
        return false;
    }
    let same_base = x.base == y.base && !x.base.words().iter().any(|&word| rewritten(word));
    !(same_base && (x.offset + 4 <= y.offset || y.offset + 4 <= x.offset))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_schedule_is_a_permutation_that_keeps_dependences(
        instructions in prop::collection::vec(instruction(), 1..60),
        registers in 4u32..24,
    ) {
        let module = module(&instructions);
        let slots = slots(&module);
        let body = Body::new(&module, &module.functions[FunctionId(0)], &slots, |_| 0);
        let before = emit::select(&body, &target());
        let mut after = before.clone();
        schedule(&body, &mut after, Budget { registers, is_known: true });
        for (atoms, scheduled) in before.blocks.iter().zip(&after.blocks) {
            // Equal instructions keep their order or are exchangeable: the k-th of a kind is the k-th of that kind.
            let mut seen: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for (index, atom) in atoms.iter().enumerate() {
                seen.entry(format!("{atom:?}")).or_default().push(index);
            }
            let mut place = vec![usize::MAX; atoms.len()];
            for (position, atom) in scheduled.iter().enumerate() {
                let indices = seen.get_mut(&format!("{atom:?}"));
                let index = indices.filter(|indices| !indices.is_empty()).map(|indices| indices.remove(0));
                prop_assert!(index.is_some(), "an instruction that was not there: {atom:?}");
                place[index.unwrap_or(0)] = position;
            }
            prop_assert_eq!(scheduled.len(), atoms.len());
            for later in 0..atoms.len() {
                for earlier in 0..later {
                    let rewritten = |word: Word| {
                        atoms[earlier..later].iter().any(|atom| atom.writes.contains(&word))
                    };
                    if must_follow(&body, &atoms[earlier], &atoms[later], &rewritten) {
                        prop_assert!(
                            place[earlier] < place[later],
                            "{:?}\nmust come before\n{:?}", atoms[earlier], atoms[later]
                        );
                    }
                }
            }
            if let Some(last) = atoms.last().filter(|atom| atom.class == MachineClass::Branch) {
                prop_assert_eq!(Some(last), scheduled.last());
            }
        }
    }

    #[test]
    fn a_schedule_stays_in_the_budget_where_the_order_of_the_text_does(
        instructions in prop::collection::vec(instruction(), 1..60),
        registers in 4u32..24,
    ) {
        let module = module(&instructions);
        let slots = slots(&module);
        let body = Body::new(&module, &module.functions[FunctionId(0)], &slots, |_| 0);
        let before = emit::select(&body, &target());
        let mut after = before.clone();
        schedule(&body, &mut after, Budget { registers, is_known: true });
        let most = |selected: &Selected| {
            let liveness = Liveness::solve(
                body.function,
                &body.cfg,
                selected.n_words,
                |block| &selected.blocks[block.index()],
                |_| Vec::new(),
            );
            let of = |(position, atoms): (usize, &Vec<Atom>)| {
                let block = body.block_id(position);
                let values = values(&body, atoms, liveness.live_in(block), liveness.live_out(block));
                Pressure::of(&values, 0..atoms.len())
            };
            selected.blocks.iter().enumerate().map(of).max().unwrap_or(0)
        };
        let budget = registers.saturating_sub(RESERVED);
        prop_assert!(most(&after) <= most(&before).max(budget + budget / SLACK));
    }

    #[test]
    fn code_is_the_same_each_time_and_in_order_without_a_schedule(
        instructions in prop::collection::vec(instruction(), 1..40),
    ) {
        let module = module(&instructions);
        let options = Options { schedule: false, registers: Some(32) };
        let code = |options| generate(&module, FunctionId(0), &target(), options).map(|generated| generated.code);
        prop_assert_eq!(code(Options::default()), code(Options::default()));
        let Ok(unscheduled) = code(options) else { return Ok(()) };
        let places: Vec<u32> = unscheduled.block(1).iter().map(|inst| inst.place).collect();
        prop_assert!(places.is_sorted(), "{places:?}");
        // Every access that is left has the slot that the recorder files it under.
        let slots = slots(&module);
        for inst in unscheduled.insts.iter().filter(|inst| inst.touches_memory()) {
            prop_assert_eq!(slots.of(Pc(inst.place)).map(|(_, slot)| slot), Some(inst.slot));
        }
    }
}
