//! Machine code as a timing simulation sees it: what an instruction occupies and waits for, not what it computes.
//!
//! Machine code of one generation is made from the IR, or read from a listing or a foreign trace; the simulation does not
//! know which. Registers are numbered densely, so that a scoreboard is an array.

mod packed;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use warplens_isa::StateSpace;

use crate::WARP_SIZE;

/// Machine instructions by block, in the order in which a warp issues them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Code {
    /// All instructions; a block is a range of them.
    pub insts: Vec<MachineInst>,
    /// Instructions of each block, by the block number of [`Step`](crate::Step).
    pub blocks: Vec<Range<u32>>,
    /// Blocks that were put together, ascending by the first of them, which differ.
    pub chains: Vec<Chain>,
    /// Registers read and written, by the ranges of the instructions.
    pub operands: Vec<RegisterNumber>,
    /// Registers that a warp has.
    pub n_registers: u16,
    /// Where instructions come from, for reports.
    pub places: Vec<Place>,
}

/// Blocks that follow each other and are one block of machine code, such as the turns of an unrolled loop, or some of them:
/// the same block several times.
///
/// A warp that executes them one after the other with the same lanes executes the instructions of the one block. Where it
/// does not, since other lanes come in between or its trace ends, they have instructions of their own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chain {
    /// The blocks in the order in which a warp executes them, at least two.
    pub blocks: Vec<u32>,
    /// The block that has their instructions, in [`Code::blocks`]; no trace has it.
    pub merged: u32,
}

impl Chain {
    /// True for some turns of a loop that goes on behind them.
    pub fn goes_back(&self) -> bool {
        self.blocks.iter().all(|block| *block == self.blocks[0])
    }
}

/// A register of a warp, or a part of one that is always used as a whole.
pub type RegisterNumber = u16;

/// A line of the program that was traced.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// Line of the input, from 1.
    pub line: u32,
    /// The instruction as the input writes it.
    pub text: String,
    /// File and line of the language that it was compiled from, where the input says so.
    pub source: Option<(String, u32)>,
}

/// Mark of an instruction that touches no memory.
pub const NO_SLOT: u16 = u16::MAX;

/// Lanes that do an instruction, of [`MachineClass::Int`] and [`MachineClass::Move`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IntegerLanes {
    /// Those of its class, which alone can.
    #[default]
    OfClass,
    /// Those of its class, where those of multiply-adds could as well.
    Either,
    /// Those of multiply-adds.
    MultiplyAdd,
}

/// One machine instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MachineInst {
    /// What it occupies.
    pub class: MachineClass,
    /// Whose lanes do it.
    pub lanes: IntegerLanes,
    /// State space as written, of memory instructions; [`StateSpace::Generic`] where only the access says.
    pub space: StateSpace,
    /// How much of the class's work one instruction is: multiply-adds of 16-bit elements for [`MachineClass::Tensor`] and its
    /// like (twice as many of wider ones, half as many of narrower ones; of f64 as they are), pending
    /// groups that may be left for [`MachineClass::AsyncWait`], the barrier's number for [`MachineClass::Barrier`], how many
    /// times as wide its accesses are as those of its slot for a [`MachineClass::Load`] (one that was made of several
    /// neighbouring loads; their slots have no instruction), [`Self::ADDED_UP`] for a [`MachineClass::Atomic`] or a
    /// [`MachineClass::Reduction`] in which one lane does the operations of all, [`Self::FLOATING`], [`Self::LOOP`] and
    /// [`Self::COUNTED`] for others of them, 1 elsewhere.
    pub amount: u32,
    /// Which of its block's memory instructions it is: the slot of its [`WarpAccess`](crate::WarpAccess)es. Arithmetic
    /// with a slot has an operand in shared memory (compute capability 1.x).
    pub slot: u16,
    /// Which block of its [`Chain`] that is; 0 elsewhere.
    pub turn: u16,
    /// Registers read, in [`Code::operands`].
    pub reads: Operands,
    /// Registers written, in [`Code::operands`].
    pub writes: Operands,
    /// The register that is added last in a multiply-add, if it reads one; also among `reads`.
    pub addend: Option<RegisterNumber>,
    /// The predicate that guards it, if it has one; also among `reads`.
    pub guard: Option<RegisterNumber>,
    /// Another instruction writes the same registers for the other value of its guard, in other lanes: neither waits for the
    /// other, nor for what was to be written there before, and who reads them waits for all of these.
    pub beside: bool,
    /// Registers that it reads of each bank of the register file, those of even and of odd numbers; without those that the
    /// operand before it has left in the operand cache. Zero where nobody knows, and of instructions that read their
    /// operands by another way.
    pub bank_reads: [u8; 2],
    /// Cycles before its warp issues the next instruction, as the assembler wrote them: results of fixed latency are there
    /// for whoever is issued behind these. 0 where nobody wrote any.
    pub stall: u8,
    /// Index in [`Code::places`].
    pub place: u32,
}

/// A range of [`Code::operands`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Operands {
    /// First index.
    pub first: u32,
    /// Number of registers.
    pub count: u16,
}

impl MachineInst {
    /// The amount of an atomic operation that one lane does for its warp.
    pub const ADDED_UP: u32 = WARP_SIZE as u32;
    /// The amount of an atomic operation on floating-point numbers, which takes the place of its word for longer.
    pub const FLOATING: u32 = Self::ADDED_UP + 1;
    /// The amount of an atomic operation on shared memory that is a loop of machine code: it loads, computes, and exchanges
    /// if nobody else was faster.
    pub const LOOP: u32 = Self::FLOATING + 1;
    /// The amount of an atomic operation on shared memory that adds to each word how many lanes mean it.
    pub const COUNTED: u32 = Self::LOOP + 1;

    /// Units of its class's work that it is: multiply-adds on the tensor lanes, one instruction elsewhere.
    pub const fn units(&self) -> u32 {
        use MachineClass as C;
        match self.class {
            C::Tensor | C::TensorFp32 | C::TensorFp64 | C::TensorAsync => self.amount,
            C::Fp32
            | C::Fp32Mul
            | C::Int
            | C::IntMul
            | C::Fp64
            | C::Fp16
            | C::Sfu
            | C::Convert
            | C::Move
            | C::Uniform
            | C::Shuffle
            | C::Vote
            | C::Load
            | C::Texture
            | C::Store
            | C::Atomic
            | C::Reduction
            | C::AsyncCopy
            | C::AsyncCommit
            | C::AsyncWait
            | C::Barrier
            | C::BarrierArrive
            | C::Fence
            | C::Branch
            | C::Exit
            | C::Nop => 1,
        }
    }

    /// The class whose time it takes.
    #[inline]
    pub const fn timed_as(&self) -> MachineClass {
        match self.lanes {
            IntegerLanes::OfClass | IntegerLanes::Either => self.class,
            IntegerLanes::MultiplyAdd => MachineClass::IntMul,
        }
    }

    /// An instruction without operands.
    pub const fn new(class: MachineClass, place: u32) -> Self {
        const NONE: Operands = Operands { first: 0, count: 0 };
        Self {
            class,
            lanes: IntegerLanes::OfClass,
            space: StateSpace::Generic,
            amount: 1,
            slot: NO_SLOT,
            turn: 0,
            reads: NONE,
            writes: NONE,
            addend: None,
            guard: None,
            beside: false,
            bank_reads: [0; 2],
            stall: 0,
            place,
        }
    }

    /// True when it has accesses of its own.
    pub const fn touches_memory(&self) -> bool {
        self.slot != NO_SLOT
    }
}

impl Code {
    /// Appends registers.
    pub fn operands_of(&mut self, registers: &[RegisterNumber]) -> Operands {
        let first = u32::try_from(self.operands.len()).expect("fewer than 2^32 operands");
        self.operands.extend_from_slice(registers);
        let most = registers.iter().map(|&register| register + 1).max().unwrap_or(0);
        self.n_registers = self.n_registers.max(most);
        Operands { first, count: u16::try_from(registers.len()).expect("fewer than 2^16 operands of an instruction") }
    }

    /// The classes whose time its instructions take, each once.
    pub fn timed_classes(&self) -> Vec<MachineClass> {
        let mut classes: Vec<MachineClass> = self.insts.iter().map(MachineInst::timed_as).collect();
        classes.sort_unstable();
        classes.dedup();
        classes
    }

    /// The registers of a range.
    pub fn registers(&self, operands: Operands) -> &[RegisterNumber] {
        let first = operands.first as usize;
        &self.operands[first..first + usize::from(operands.count)]
    }

    /// The chain that begins with a block.
    #[inline]
    pub fn chain(&self, block: u32) -> Option<&Chain> {
        if self.chains.is_empty() {
            return None;
        }
        let index = self.chains.binary_search_by_key(&block, |chain| chain.blocks[0]).ok()?;
        Some(&self.chains[index])
    }

    /// The block whose memory instructions an instruction of `block` counts among: one of a chain where `block` is what was
    /// put together.
    pub fn block_of(&self, block: u32, inst: &MachineInst) -> u32 {
        let chain = self.chains.iter().find(|chain| chain.merged == block);
        chain.map_or(block, |chain| chain.blocks[usize::from(inst.turn)])
    }

    /// How often blocks are executed, in machine code: what chains have of them is taken from their blocks. Where some turns
    /// of a loop are together ([`Chain::goes_back`]) that is the most that there can be: it is not known how many turns are
    /// left over each time.
    pub fn executions(&self, of_blocks: &[(u32, u64)]) -> Vec<(u32, u64)> {
        let mut executions: BTreeMap<u32, u64> = of_blocks.iter().copied().collect();
        for Chain { blocks, merged } in &self.chains {
            let mut times: BTreeMap<u32, u64> = BTreeMap::new();
            blocks.iter().for_each(|&block| *times.entry(block).or_default() += 1);
            let of = |(block, times): (&u32, &u64)| executions.get(block).copied().unwrap_or(0) / times;
            let whole = times.iter().map(of).min().unwrap_or(0);
            for (block, times) in &times {
                if let Some(n) = executions.get_mut(block) {
                    *n -= whole * times;
                }
            }
            executions.insert(*merged, whole);
        }
        executions.into_iter().filter(|&(_, n)| n > 0).collect()
    }

    /// The instructions of a block.
    pub fn block(&self, block: u32) -> &[MachineInst] {
        let range = &self.blocks[block as usize];
        &self.insts[range.start as usize..range.end as usize]
    }
}

macro_rules! machine_classes {
    ($($(#[$meta:meta])* $name:ident $text:literal;)*) => {
        /// What a machine instruction occupies. A new class is made only if timing truly differs.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum MachineClass {
            $($(#[$meta])* $name,)*
        }

        impl MachineClass {
            /// Every class.
            pub const ALL: &[MachineClass] = &[$(Self::$name,)*];

            /// Name in listings and data files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The class of a name.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|class| class.name() == name)
            }
        }
    };
}

machine_classes! {
    /// f32 add, multiply-add, minimum, maximum, compare.
    Fp32 "fp32";
    /// f32 multiplication alone, which two units can do on compute capability 1.x.
    Fp32Mul "fp32_mul";
    /// Integer add, logic, shift, compare, select; 16-bit multiplication on compute capability 1.x.
    Int "int";
    /// 32-bit integer multiply and multiply-add, where the machine has them.
    IntMul "int_mul";
    /// f64 arithmetic.
    Fp64 "fp64";
    /// f16 and bf16 arithmetic.
    Fp16 "fp16";
    /// Special functions.
    Sfu "sfu";
    /// Conversions between types that the special-function or a slow pipe does.
    Convert "convert";
    /// Register copies, special registers read from a register file, constants.
    Move "move";
    /// Operations on values that are the same in all lanes.
    Uniform "uniform";
    /// Matrix multiply-accumulate whose result is no f32: of f16, integers and bits.
    Tensor "tensor";
    /// Matrix multiply-accumulate in f32.
    TensorFp32 "tensor_fp32";
    /// Matrix multiply-accumulate in f64.
    TensorFp64 "tensor_fp64";
    /// Matrix multiply-accumulate that runs on after its issue and is waited for as a group.
    TensorAsync "tensor_async";
    /// Shuffles and other exchange through the shared-memory crossbar.
    Shuffle "shuffle";
    /// Votes, matches and reductions inside a warp.
    Vote "vote";
    /// Loads of any space.
    Load "load";
    /// Fetches from textures, and what is asked of them.
    Texture "texture";
    /// Stores of any space.
    Store "store";
    /// Atomics that return the old value.
    Atomic "atomic";
    /// Atomics that return nothing.
    Reduction "reduction";
    /// Copies from global to shared memory that run on after their issue; the global side is a load, the shared side a
    /// store of the same slot.
    AsyncCopy "async_copy";
    /// Closes a group of asynchronous copies.
    AsyncCommit "async_commit";
    /// Waits until at most `amount` groups are pending.
    AsyncWait "async_wait";
    /// CTA barrier at which the warp waits.
    Barrier "barrier";
    /// CTA barrier at which the warp arrives and goes on.
    BarrierArrive "barrier_arrive";
    /// Memory fences.
    Fence "fence";
    /// Branches, calls, returns, convergence.
    Branch "branch";
    /// End of the thread.
    Exit "exit";
    /// Does nothing but take an issue slot.
    Nop "nop";
}

impl MachineClass {
    /// True for the classes that access memory.
    pub const fn accesses_memory(self) -> bool {
        matches!(self, Self::Load | Self::Texture | Self::Store | Self::Atomic | Self::Reduction | Self::AsyncCopy)
    }
}

impl fmt::Display for MachineClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
