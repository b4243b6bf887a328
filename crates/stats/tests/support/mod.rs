//! Builds kernels and executions by hand.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use std::sync::Arc;

use warplens_base::{Id, Span};
use warplens_ir::{
    Block, Flow, Function, FunctionId, FunctionKind, Guard, Inst, LaunchBounds, Memory, MemoryReference, Module,
    Operand, PcInfo, Register, RegisterWords, SourceLocation, SpellingId, Width,
};
use warplens_isa::{
    AccessOrder, BarrierKind, BlockId, Branch, Family, InstKey, Op, Operation, Pc, ScalarType, SlowOperation, Spelling,
    StateSpace, Sum,
};
use warplens_stats::{Counting, CtaRecord, FinishOptions, LaunchShape, Profile, Program, Recorder, RegistersBasis};
use warplens_trace::{Access, AccessKind, ActiveMask, CtaId, Observer, WarpIndex};

/// Register `index`, one word.
pub fn r(index: u32) -> Register {
    Register::vector(index, Width::Word)
}

/// Predicate `index`.
pub fn p(index: u32) -> Register {
    Register::predicate(index)
}

/// A module that grows instruction by instruction; pc n stands on PTX line n + 10 and source line n + 100.
pub struct Kernel {
    pub module: Module,
}

impl Default for Kernel {
    fn default() -> Self {
        Self::new()
    }
}

impl Kernel {
    /// A module with the kernel `k` and no blocks yet.
    pub fn new() -> Self {
        let mut module = Module { address_bits: 64, target: "sm_80".into(), ..Module::default() };
        module.files.push("k.cu".into());
        let mut kernel = Self { module };
        kernel.function("k", FunctionKind::Kernel);
        kernel
    }

    /// Starts another function; the blocks that follow are its own.
    pub fn function(&mut self, name: &str, kind: FunctionKind) -> FunctionId {
        self.module.functions.push(Function {
            name: name.into(),
            kind,
            parameters: Vec::new(),
            arguments: Vec::new(),
            results: Vec::new(),
            registers: RegisterWords { vector: 64, predicate: 8, ..RegisterWords::default() },
            local_bytes: 0,
            shared_bytes: 0,
            reserved_shared_bytes: 0,
            machine_registers: None,
            first_block: BlockId::from_index(self.module.blocks.len()),
            n_blocks: 0,
            bounds: LaunchBounds::default(),
            explicit_convergence: false,
        })
    }

    /// Appends a block.
    pub fn block(&mut self, insts: Vec<Inst>, flow: Flow) -> BlockId {
        let (_, function) = self.module.functions.iter_mut().next_back().expect("there is a kernel");
        function.n_blocks += 1;
        self.module.blocks.push(Block { label: None, stays_rolled: false, insts, flow })
    }

    /// A new source instruction.
    pub fn pc(&mut self, opcode: &str, op: Op, ty: ScalarType) -> Pc {
        let n = self.module.pcs.len() as u32;
        let class = if opcode.starts_with("ld.param") { warplens_isa::OpClass::Virtual } else { op.class(ty) };
        let spelling = self.spelling(opcode, ty);
        let pc = self.module.pcs.push(PcInfo {
            function: FunctionId::from_index(self.module.functions.len() - 1),
            spelling,
            span: Span::default(),
            line: n + 10,
            class,
            high_latency: op.high_latency(ty).map(|kind| SlowOperation { kind, ty }),
        });
        self.module.locations.insert(pc, SourceLocation { file: 0, line: n + 100 });
        pc
    }

    /// The spelling of an opcode: its family is the first word, `nc` the only modifier that is understood.
    fn spelling(&mut self, opcode: &str, ty: ScalarType) -> SpellingId {
        let known = self.module.spellings.iter().find(|(_, spelling)| spelling.to_string() == opcode);
        if let Some((id, _)) = known {
            return id;
        }
        let mut words = opcode.split('.');
        let family = words.next().and_then(Family::from_name).expect("a family");
        let mut key = InstKey::new(family, ty);
        key.cache.read_only = words.any(|word| word == "nc");
        self.module.spellings.push(Spelling::new(key, opcode))
    }

    /// An instruction without memory.
    pub fn inst(
        &mut self,
        opcode: &str,
        operation: Operation,
        ty: ScalarType,
        writes: &[Register],
        reads: &[Register],
    ) -> Inst {
        let pc = self.pc(opcode, operation.op(), ty);
        Inst {
            destinations: writes.iter().copied().map(Some).collect(),
            sources: reads.iter().copied().map(Operand::Register).collect(),
            ..Inst::new(pc, operation, ty)
        }
    }

    /// `add.f32`.
    pub fn add(&mut self, to: Register, reads: &[Register]) -> Inst {
        self.inst("add.f32", Operation::Add(Sum::default()), ScalarType::F32, &[to], reads)
    }

    /// A scalar load of 32 bits.
    pub fn load(&mut self, space: StateSpace, to: Register, base: Register, offset: i64) -> Inst {
        let mut inst =
            self.inst(&format!("ld.{space}.f32"), Operation::Ld(AccessOrder::default()), ScalarType::F32, &[to], &[]);
        inst.memory = Memory::One(MemoryReference { space, base: Operand::Register(base), offset, elements: 1 });
        inst
    }

    /// A scalar store of 32 bits.
    pub fn store(&mut self, space: StateSpace, base: Register, offset: i64, value: Register) -> Inst {
        let mut inst = self.inst(
            &format!("st.{space}.f32"),
            Operation::St(AccessOrder::default()),
            ScalarType::F32,
            &[],
            &[value],
        );
        inst.memory = Memory::One(MemoryReference { space, base: Operand::Register(base), offset, elements: 1 });
        inst
    }

    /// `bar.sync`.
    pub fn barrier(&mut self) -> Inst {
        self.inst("bar.sync", Operation::Bar(BarrierKind::Sync), ScalarType::B32, &[], &[])
    }

    /// `bra`, guarded by a predicate if one is given.
    pub fn branch(&mut self, guard: Option<Register>) -> Inst {
        let inst = self.inst("bra", Operation::Bra(Branch::default()), ScalarType::Pred, &[], &[]);
        guarded(inst, guard)
    }

    /// `exit`.
    pub fn exit(&mut self) -> Inst {
        self.inst("exit", Operation::Exit, ScalarType::Pred, &[], &[])
    }

    /// The facts of the kernel launched on `grid` CTAs of `block` threads.
    pub fn program(&self, grid: u32, block: u32) -> Arc<Program> {
        let violations = warplens_ir::verify(&self.module);
        assert!(violations.is_empty(), "{violations:?}");
        Program::new(&self.module, FunctionId(0), shape(grid, block))
    }

    /// A recorder of a launch of which every CTA is executed.
    pub fn recorder(&self, grid: u32, block: u32) -> Recorder {
        Recorder::new(self.program(grid, block), (0..grid).map(CtaId))
    }
}

/// `inst` under a predicate.
pub fn guarded(inst: Inst, guard: Option<Register>) -> Inst {
    Inst { guard: guard.map(|predicate| Guard { predicate, negated: false }), ..inst }
}

/// A one-dimensional launch.
pub fn shape(grid: u32, block: u32) -> LaunchShape {
    LaunchShape {
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        cluster: None,
        shared_bytes: 0,
        registers: 16,
        registers_basis: RegistersBasis::User,
    }
}

/// The profile of PTX as written.
pub fn profile(recorder: &Recorder) -> Profile {
    recorder.finish(FinishOptions { counting: Counting::Ptx, global_bytes: None })
}

/// Addresses by lane. Not inlined, so that in benchmarks they cost the same whatever the code around them is.
#[inline(never)]
pub fn by_lane(address: impl Fn(u64) -> u64) -> [u64; 32] {
    std::array::from_fn(|lane| address(lane as u64))
}

/// An access of 4-byte elements by all lanes.
pub fn access(space: StateSpace, kind: AccessKind, addresses: &[u64; 32]) -> Access<'_> {
    Access {
        space,
        kind,
        element_bytes: 4,
        elements: 1,
        mask: ActiveMask::FULL,
        addresses: addresses.into(),
        unchanged: ActiveMask::EMPTY,
    }
}

/// Runs one CTA of one warp: `run` gets the recorder and the CTA's record.
pub fn in_cta(recorder: &mut Recorder, cta: u32, run: impl FnOnce(&mut Recorder, &mut CtaRecord)) {
    let mut record = recorder.begin_cta(CtaId(cta));
    run(recorder, &mut record);
    recorder.end_cta(record);
}

/// Warp 0.
pub const W0: WarpIndex = WarpIndex(0);
