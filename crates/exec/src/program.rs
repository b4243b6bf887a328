//! A kernel made ready to run.

use rustc_hash::FxHashMap;
use warplens_ir::{FunctionId, Inst, Module, Operand, VariableId, call_graph};
use warplens_isa::{Op, Pc, StateSpace};

use crate::communication::{self, Foreign, Sharing, Writers};
use crate::decode::{self, Unsupported};
use crate::decoded::{Code, Unbound};
use crate::engine::Engine;
use crate::layout::Layout;
use crate::memory::{Device, ImageId, MemoryError};
use crate::simt::Simt;
use crate::{system, waiting};

/// A decoded kernel, bound to the addresses of a device and to an engine.
pub struct Program<E: Engine = Simt> {
    pub(crate) code: Code,
    /// What the engine made of the code.
    pub(crate) bound: E::Code,
    pub(crate) kernel: FunctionId,
    /// The module in memory.
    pub(crate) image: ImageId,
    layout: Layout,
    unsupported: Vec<Unsupported>,
    order: Order,
    sharing: Sharing,
    changes_shared_memory: bool,
}

/// How far the result of a kernel can depend on the order in which its threads run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// CTAs do not communicate.
    Free,
    /// Atomics or device output, but no control that depends on them: results may depend on the order, counts do not.
    Unordered,
    /// Control depends on what threads of the same CTA write: they may wait for each other, CTAs do not.
    Local(Pc),
    /// Control depends on the value of an atomic or of an ordered load: CTAs or threads may wait for each other.
    Communicating(Pc),
}

impl Program {
    /// Decodes `kernel` of a module that is loaded on `device` as `image`.
    pub fn new(module: &Module, image: ImageId, kernel: FunctionId, device: &mut Device) -> Result<Self, MemoryError> {
        Self::for_engine(module, image, kernel, device)
    }
}

impl<E: Engine> Program<E> {
    /// Decodes `kernel` of a module that is loaded on `device` as `image`, for any engine.
    pub fn for_engine(
        module: &Module,
        image: ImageId,
        kernel: FunctionId,
        device: &mut Device,
    ) -> Result<Self, MemoryError> {
        let functions = call_graph::reachable(module, kernel);
        let insts = || functions.iter().flat_map(|&function| instructions(module, function));
        if insts().any(|inst| inst.op() == Op::SystemCall) {
            device.ensure_heap()?;
        }
        let asks = |operand: &Operand| matches!(operand, Operand::Special(register) if system::is_workspace(*register));
        if insts().any(|inst| inst.sources.iter().any(asks)) {
            device.ensure_meeting_place()?;
        }
        let place = device.image(image).expect("kernels are decoded of modules that are loaded");
        let layout = Layout::new(module, place, &functions, device.windows);
        let foreign = Foreign::find(module, &functions);
        let sharing = communication::sharing(module, &functions);
        let across = foreign.deciding_instruction(Writers::Grid).map(Order::Communicating);
        let within = || foreign.deciding_instruction(Writers::Cta).map(Order::Local);
        let order = across.or_else(within).unwrap_or(match sharing {
            Sharing::None => Order::Free,
            Sharing::Commutative | Sharing::Ordered => Order::Unordered,
        });
        let waits = match order {
            Order::Free | Order::Unordered => FxHashMap::default(),
            Order::Local(_) | Order::Communicating(_) => waiting::find(module, &functions, &foreign),
        };
        let (mut code, mut unsupported) = decode::decode(module, kernel, (&layout, device.windows), &waits);
        let (bound, unbound) = E::bind(&mut code);
        unsupported.extend(unbound.into_iter().map(|unbound| describe(module, unbound)));
        let changes_shared_memory = communication::changes_shared_memory(module, &functions);
        Ok(Self { code, bound, kernel, image, layout, unsupported, order, sharing, changes_shared_memory })
    }

    /// Instructions of the call graph that cannot be executed.
    pub fn unsupported(&self) -> &[Unsupported] {
        &self.unsupported
    }

    /// Bytes of static shared memory per CTA, as launches count them.
    pub fn static_shared_bytes(&self) -> u64 {
        self.layout.static_shared.saturating_sub(self.layout.reserved_shared)
    }

    /// The same with those that the system has for itself: where dynamic shared memory begins.
    pub(crate) fn taken_shared_bytes(&self) -> u64 {
        self.layout.static_shared
    }

    /// The largest variable of static shared memory.
    pub fn largest_shared(&self) -> Option<VariableId> {
        self.layout.largest_shared
    }

    /// Address of a variable in its own space, or its generic address.
    pub fn variable_address(&self, variable: VariableId, generic: bool) -> u64 {
        self.layout.variable_address(variable, generic)
    }

    /// Generic address of the first byte of a space; 0 for global memory.
    pub fn window(&self, space: StateSpace) -> u64 {
        self.layout.window(space)
    }

    /// The space that a generic address belongs to.
    pub fn space_of(&self, address: u64) -> StateSpace {
        self.layout.space_of(address)
    }

    /// True when the CTAs may run at the same time without a trace in the results.
    pub(crate) fn is_parallel(&self) -> bool {
        self.sharing != Sharing::Ordered && !matches!(self.order, Order::Communicating(_))
    }

    /// True when CTAs may touch what others write, in a way that this class of kernels is not prepared for.
    pub(crate) fn may_race(&self) -> bool {
        self.changes_shared_memory && !matches!(self.order, Order::Communicating(_))
    }

    /// How far results can depend on the order in which threads run.
    pub fn order(&self) -> Order {
        self.order
    }
}

fn describe(module: &Module, Unbound { pc, op, reason }: Unbound) -> Unsupported {
    let spelling = module.pcs.get(pc).map(|_| module.spelling(pc).to_string());
    let opcode = spelling.unwrap_or_else(|| op.name().to_owned());
    Unsupported { pc, reason: format!("`{opcode}`: {reason}") }
}

fn instructions(module: &Module, function: FunctionId) -> impl Iterator<Item = &Inst> {
    module.functions[function].block_ids().flat_map(|block| &module.blocks[block].insts)
}
