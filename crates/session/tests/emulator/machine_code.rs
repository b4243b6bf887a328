//! What PTX does not have and machine code does: register pairs that share words with other registers, registers and
//! predicates that a warp has once, explicit convergence barriers. The functions are written in the IR.
//!
//! The same tests are those of the reference interpreter: whoever includes them says which engine is tested.

#[path = "machine_code/convergence.rs"]
mod convergence;
#[path = "machine_code/forms.rs"]
mod forms;

use std::sync::atomic::AtomicU64;

use warplens_base::Span;
use warplens_exec::{BarrierRule, Device, ExecError, Launch, Program, Schedule};
use warplens_ir::{
    Bank, Block, Flow, Function, FunctionId, FunctionKind, Guard, Inst, LaunchBounds, MemoryReference, Module, Operand,
    Parameter, PcInfo, Register, RegisterWords, Width,
};
use warplens_isa::{
    AccessOrder, BlockId, Branch, Carry, CompareOp, Comparison, InstKey, OpClass, Operation, Pc, Rounding, ScalarType,
    SpecialRegister, Spelling, StateSpace, Sum,
};
use warplens_trace::Observer;

use crate::Tested;

const fn r(index: u32) -> Register {
    Register::vector(index, Width::Word)
}

/// The pair of the words `index` and `index + 1`.
const fn pair(index: u32) -> Register {
    Register::vector(index, Width::Pair)
}

const fn ur(index: u32) -> Register {
    Register { bank: Bank::Uniform, width: Width::Word, index }
}

const fn upair(index: u32) -> Register {
    Register { bank: Bank::Uniform, width: Width::Pair, index }
}

const fn p(index: u32) -> Register {
    Register::predicate(index)
}

const fn up(index: u32) -> Register {
    Register { bank: Bank::UniformPredicate, width: Width::One, index }
}

const B0: Register = Register { bank: Bank::Convergence, width: Width::One, index: 0 };

fn reg(register: Register) -> Operand {
    Operand::Register(register)
}

fn imm(value: u64) -> Operand {
    Operand::Immediate(value)
}

const ADD: Operation = add_with(Carry::NONE);

const fn add_with(carry: Carry) -> Operation {
    Operation::Add(Sum { rounding: Rounding::Nearest, ftz: false, sat: false, carry })
}

/// A kernel with the address of its results as the parameter.
struct Builder {
    module: Module,
    insts: Vec<Inst>,
}

impl Builder {
    fn new() -> Self {
        Self { module: Module { address_bits: 64, ..Module::default() }, insts: Vec::new() }
    }

    fn inst(
        &mut self,
        operation: Operation,
        ty: ScalarType,
        destination: Option<Register>,
        sources: &[Operand],
    ) -> &mut Inst {
        let line = self.module.pcs.len() as u32 + 1;
        let spelling =
            self.module.spellings.push(Spelling::new(InstKey::UNKNOWN, operation.op().name().to_lowercase()));
        let pc = self.module.pcs.push(PcInfo {
            function: FunctionId(0),
            spelling,
            span: Span::default(),
            line,
            class: OpClass::Other,
            high_latency: None,
        });
        let mut inst = Inst::new(pc, operation, ty);
        inst.destinations.extend(destination.map(Some));
        inst.sources.extend_from_slice(sources);
        self.insts.push(inst);
        self.insts.last_mut().unwrap()
    }

    fn end_block(&mut self, flow: Flow) {
        let insts = std::mem::take(&mut self.insts);
        self.module.blocks.push(Block { label: None, stays_rolled: false, insts, flow });
    }

    /// Runs the kernel with one warp and returns 32 words.
    fn run(mut self) -> Vec<u32> {
        let kernel = self.finish(0);
        self.launch(kernel, ()).0
    }

    /// Makes functions of the blocks: the kernel, and of the last ones the subroutine that it may call.
    fn finish(&mut self, n_subroutine: u32) -> FunctionId {
        let out = Parameter { name: "out".into(), ty: ScalarType::U64, offset: 0, bytes: 8, align: 8, is_array: false };
        let registers = RegisterWords { vector: 24, uniform: 8, predicate: 4, uniform_predicate: 2, convergence: 2 };
        let n_kernel = self.module.blocks.len() as u32 - n_subroutine;
        let function = |name: &str, kind: FunctionKind, first: u32, n_blocks: u32| Function {
            name: name.into(),
            kind,
            parameters: Vec::new(),
            arguments: Vec::new(),
            results: Vec::new(),
            registers,
            local_bytes: 0,
            shared_bytes: 0,
            reserved_shared_bytes: 0,
            machine_registers: None,
            first_block: BlockId(first),
            n_blocks,
            bounds: LaunchBounds::default(),
            explicit_convergence: true,
        };
        let kernel = function("kernel", FunctionKind::Kernel, 0, n_kernel);
        let kernel = self.module.functions.push(Function { parameters: vec![out], ..kernel });
        if n_subroutine > 0 {
            self.module.functions.push(function("inner", FunctionKind::Subroutine, n_kernel, n_subroutine));
        }
        kernel
    }

    /// Runs the kernel with one warp and returns 32 words, and the observer.
    fn launch<O: Observer + Sync>(&self, kernel: FunctionId, observer: O) -> (Vec<u32>, O) {
        self.try_launch(kernel, observer).expect("the kernel ends")
    }

    fn try_launch<O: Observer + Sync>(&self, kernel: FunctionId, observer: O) -> Result<(Vec<u32>, O), ExecError> {
        assert_eq!(warplens_ir::verify(&self.module), []);
        let mut device = Device::new(self.module.address_bits, u64::MAX);
        let image = device.load(&self.module).unwrap();
        let results = device.allocate("out", 128).unwrap();
        let program = Program::<Tested>::for_engine(&self.module, image, kernel, &mut device).unwrap();
        assert_eq!(program.unsupported(), []);
        let launch = Launch {
            grid: [1; 3],
            block: [32, 1, 1],
            cluster: None,
            dynamic_shared: 0,
            parameters: device.buffer(results).base.to_le_bytes().to_vec(),
            ctas: None,
            budget: 10_000,
            launch_budget: u64::MAX,
            resident_ctas: 1,
            threads: 1,
            schedule: Schedule::Any,
            allow_unsupported: false,
            allow_overreads: false,
            barriers: BarrierRule::Threads,
            tensor_cores: warplens_exec::TensorCores::default(),
        };
        let (observer, _) = warplens_exec::launch(&program, &device, &launch, observer, &AtomicU64::new(0))?;
        let words = device.read(results, 0, 128);
        Ok((words.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect(), observer))
    }

    /// Puts the address of the lane's result into the words 4 and 5, added up word by word with a carry.
    fn result_address(&mut self) {
        let load = self.inst(Operation::Ld(AccessOrder::default()), ScalarType::B64, Some(upair(2)), &[]);
        load.memory = MemoryReference { space: StateSpace::Param, base: imm(0), offset: 0, elements: 1 }.into();
        self.inst(Operation::ReadSpecial, ScalarType::U32, Some(r(0)), &[Operand::Special(SpecialRegister::Laneid)]);
        self.inst(Operation::Shl, ScalarType::B32, Some(r(1)), &[reg(r(0)), imm(2)]);
        let low = self.inst(
            add_with(Carry { reads: false, writes: true }),
            ScalarType::U32,
            Some(r(4)),
            &[reg(ur(2)), reg(r(1))],
        );
        low.destinations.push(Some(p(1)));
        let carry = add_with(Carry { reads: true, writes: false });
        self.inst(carry, ScalarType::U32, Some(r(5)), &[reg(ur(3)), imm(0), reg(p(1))]);
    }

    fn store_and_exit(&mut self, value: Register) {
        let store = self.inst(Operation::St(AccessOrder::default()), ScalarType::B32, None, &[reg(value)]);
        store.memory = MemoryReference { space: StateSpace::Global, base: reg(pair(4)), offset: 0, elements: 1 }.into();
        self.inst(Operation::Exit, ScalarType::Pred, None, &[]);
        self.end_block(Flow::Exit { next: None });
    }

    fn branch(&mut self, guard: Option<Guard>, taken: u32, next: Option<u32>) {
        self.inst(Operation::Bra(Branch::default()), ScalarType::Pred, None, &[]).guard = guard;
        self.end_block(Flow::Branch { taken: BlockId(taken), next: next.map(BlockId) });
    }

    fn open_region(&mut self) {
        self.inst(Operation::Bssy, ScalarType::Pred, Some(B0), &[]);
    }

    /// Ends a block with the wait at the convergence barrier.
    fn meet(&mut self, next: u32) {
        self.inst(Operation::Bsync, ScalarType::Pred, None, &[reg(B0)]);
        self.end_block(Flow::Fallthrough(BlockId(next)));
    }

    fn compare(&mut self, op: CompareOp, destination: Register, a: Operand, b: Operand) {
        self.inst(Operation::Setp(Comparison::new(op)), ScalarType::U32, Some(destination), &[a, b]);
    }
}

const fn when(predicate: Register) -> Option<Guard> {
    Some(Guard { predicate, negated: false })
}

const fn unless(predicate: Register) -> Option<Guard> {
    Some(Guard { predicate, negated: true })
}

#[test]
fn pairs_share_their_words() {
    let mut code = Builder::new();
    code.result_address();
    // Words 6 and 7 are written one by one, shifted as a pair, and read one by one.
    code.inst(Operation::Mov, ScalarType::B32, Some(r(6)), &[reg(r(0))]);
    code.inst(Operation::Mov, ScalarType::B32, Some(r(7)), &[imm(3)]);
    code.inst(Operation::Shr, ScalarType::U64, Some(pair(6)), &[reg(pair(6)), imm(1)]);
    // A pair that overlaps another one: words 7 and 8.
    code.inst(Operation::Mov, ScalarType::B32, Some(r(8)), &[imm(5)]);
    code.inst(ADD, ScalarType::U64, Some(pair(7)), &[reg(pair(7)), imm(0xffff_ffff)]);
    // Word 6: lane / 2 and the low bit of 3 on top. Words 7 and 8: 1 + 0xffffffff carries into 5.
    code.inst(Operation::Shl, ScalarType::B32, Some(r(8)), &[reg(r(8)), imm(8)]);
    code.inst(ADD, ScalarType::U32, Some(r(9)), &[reg(r(6)), reg(r(7))]);
    code.inst(ADD, ScalarType::U32, Some(r(9)), &[reg(r(9)), reg(r(8))]);
    code.store_and_exit(r(9));
    let expected: Vec<u32> = (0..32).map(|lane| (0x8000_0000 | lane >> 1) + (6 << 8)).collect();
    assert_eq!(code.run(), expected);
}

#[test]
fn quads_share_their_words() {
    let mut code = Builder::new();
    code.result_address();
    for word in 0..4 {
        code.inst(ADD, ScalarType::U32, Some(r(8 + word)), &[reg(r(0)), imm(u64::from(100 * word))]);
    }
    let quad = |index| Register::vector(index, Width::Quad);
    code.inst(Operation::Mov, ScalarType::B128, Some(quad(12)), &[reg(quad(8))]);
    code.inst(ADD, ScalarType::U64, Some(pair(14)), &[reg(pair(14)), reg(pair(12))]);
    code.inst(Operation::Mad(Carry::NONE), ScalarType::U32, Some(r(16)), &[reg(r(15)), imm(1000), reg(r(14))]);
    code.store_and_exit(r(16));
    let expected: Vec<u32> = (0..32).map(|lane| (2 * lane + 400) * 1000 + 2 * lane + 200).collect();
    assert_eq!(code.run(), expected);
}

#[test]
fn lanes_meet_at_the_convergence_barrier() {
    let mut code = Builder::new();
    code.result_address();
    code.inst(Operation::And, ScalarType::B32, Some(r(2)), &[reg(r(0)), imm(1)]);
    code.compare(CompareOp::Ne, p(0), reg(r(2)), imm(0));
    code.open_region();
    code.branch(when(p(0)), 2, Some(1));
    // Even lanes.
    code.inst(Operation::Activemask, ScalarType::B32, Some(r(9)), &[]);
    code.branch(None, 3, None);
    // Odd lanes.
    code.inst(Operation::Activemask, ScalarType::B32, Some(r(9)), &[]);
    code.end_block(Flow::Fallthrough(BlockId(3)));
    code.meet(4);
    code.inst(Operation::Activemask, ScalarType::B32, Some(r(10)), &[]);
    code.inst(Operation::Xor, ScalarType::B32, Some(r(9)), &[reg(r(9)), reg(r(10))]);
    code.store_and_exit(r(9));
    let expected: Vec<u32> = (0..32).map(|lane| if lane % 2 == 0 { 0xaaaa_aaaa } else { 0x5555_5555 }).collect();
    assert_eq!(code.run(), expected);
}

#[test]
fn lanes_that_leave_a_loop_wait_at_the_convergence_barrier() {
    let mut code = Builder::new();
    code.result_address();
    code.inst(Operation::Mov, ScalarType::B32, Some(r(8)), &[imm(0)]);
    code.open_region();
    code.end_block(Flow::Fallthrough(BlockId(1)));
    code.inst(ADD, ScalarType::U32, Some(r(8)), &[reg(r(8)), imm(1)]);
    code.compare(CompareOp::Gt, p(0), reg(r(8)), reg(r(0)));
    code.branch(unless(p(0)), 1, Some(2));
    code.meet(3);
    // Lane 3 ends; nobody waits for it afterwards.
    code.compare(CompareOp::Eq, p(2), reg(r(0)), imm(3));
    code.inst(Operation::Exit, ScalarType::Pred, None, &[]).guard = when(p(2));
    code.end_block(Flow::Exit { next: Some(BlockId(4)) });
    code.inst(Operation::Activemask, ScalarType::B32, Some(r(9)), &[]);
    code.inst(ADD, ScalarType::U32, Some(r(8)), &[reg(r(8)), reg(r(9))]);
    code.store_and_exit(r(8));
    let value = |lane: u32| if lane == 3 { 0 } else { (lane + 1).wrapping_add(!8) };
    assert_eq!(code.run(), (0..32).map(value).collect::<Vec<u32>>());
}

#[test]
fn a_warp_has_uniform_registers_once() {
    let mut code = Builder::new();
    code.result_address();
    code.inst(Operation::Mov, ScalarType::B32, Some(ur(0)), &[imm(5)]);
    code.inst(Operation::Mov, ScalarType::B32, Some(ur(1)), &[imm(1)]);
    code.compare(CompareOp::Gt, up(0), reg(ur(0)), imm(3));
    code.compare(CompareOp::Gt, up(1), reg(ur(0)), imm(30));
    // Words 4 and 5 are also read as a pair.
    code.inst(Operation::MulWide, ScalarType::U32, Some(upair(4)), &[reg(ur(0)), imm(0x8000_0000)]);
    code.inst(Operation::And, ScalarType::B32, Some(r(2)), &[reg(r(0)), imm(1)]);
    code.compare(CompareOp::Ne, p(0), reg(r(2)), imm(0));
    code.open_region();
    code.branch(when(p(0)), 2, Some(1));
    code.branch(None, 3, None);
    // Odd lanes write for all: the value of lane 1, the lowest of them.
    code.inst(ADD, ScalarType::U32, Some(ur(1)), &[reg(r(0)), imm(70)]);
    code.compare(CompareOp::Lt, up(1), reg(ur(0)), imm(30));
    code.inst(Operation::Mov, ScalarType::B64, Some(upair(6)), &[reg(upair(4))]);
    code.end_block(Flow::Fallthrough(BlockId(3)));
    code.meet(4);
    code.inst(ADD, ScalarType::U32, Some(r(8)), &[reg(ur(1)), reg(ur(5))]);
    code.inst(ADD, ScalarType::U32, Some(r(8)), &[reg(r(8)), imm(1000)]).guard = when(up(0));
    code.inst(ADD, ScalarType::U32, Some(r(8)), &[reg(r(8)), imm(20000)]).guard = when(up(1));
    code.inst(ADD, ScalarType::U32, Some(r(8)), &[reg(r(8)), imm(300_000)]).guard = unless(up(1));
    code.inst(ADD, ScalarType::U32, Some(r(8)), &[reg(r(8)), reg(ur(6))]);
    code.store_and_exit(r(8));
    assert_eq!(code.run(), [71 + 2 + 1000 + 20000 + 0x8000_0000; 32]);
}

#[test]
fn the_source_of_an_error_is_the_instruction() {
    let mut code = Builder::new();
    code.inst(Operation::Mov, ScalarType::B32, Some(r(40)), &[imm(5)]);
    code.inst(Operation::Exit, ScalarType::Pred, None, &[]);
    code.end_block(Flow::Exit { next: None });
    code.module.functions.push(Function {
        name: "kernel".into(),
        kind: FunctionKind::Kernel,
        parameters: Vec::new(),
        arguments: Vec::new(),
        results: Vec::new(),
        registers: RegisterWords::default(),
        local_bytes: 0,
        shared_bytes: 0,
        reserved_shared_bytes: 0,
        machine_registers: None,
        first_block: BlockId(0),
        n_blocks: 1,
        bounds: LaunchBounds::default(),
        explicit_convergence: true,
    });
    let violations = warplens_ir::verify(&code.module);
    assert_eq!(violations.iter().map(|violation| violation.pc).collect::<Vec<_>>(), [Some(Pc(0))]);
    assert_eq!(violations[0].message, "r40 lies outside of its bank");
}
