//! A kernel made ready to run.

use rustc_hash::FxHashMap;
use warplens_ir::{FunctionId, Inst, Module, VariableId, call_graph};
use warplens_isa::{Op, Pc, StateSpace};

use crate::code::Code;
use crate::communication::{self, Foreign, Sharing, Writers};
use crate::decode::{self, Unsupported};
use crate::layout::Layout;
use crate::memory::Device;
use crate::waiting;

/// A decoded kernel, bound to the addresses of a device.
pub struct Program {
    pub(crate) code: Code,
    pub(crate) kernel: FunctionId,
    layout: Layout,
    unsupported: Vec<Unsupported>,
    order: Order,
    sharing: Sharing,
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
    /// Decodes `kernel` for `device`.
    pub fn new(module: &Module, kernel: FunctionId, device: &mut Device) -> Self {
        let functions = call_graph::reachable(module, kernel);
        let insts = || functions.iter().flat_map(|&function| instructions(module, function));
        if insts().any(|inst| inst.op == Op::SystemCall) {
            device.ensure_heap();
        }
        let layout = Layout::new(module, &functions, device);
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
        let (code, unsupported) = decode::decode(module, kernel, &layout, &waits);
        Self { code, kernel, layout, unsupported, order, sharing }
    }

    /// Instructions of the call graph that cannot be executed.
    pub fn unsupported(&self) -> &[Unsupported] {
        &self.unsupported
    }

    /// Bytes of static shared memory per CTA.
    pub fn static_shared_bytes(&self) -> u64 {
        self.layout.static_shared
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

    /// How far results can depend on the order in which threads run.
    pub fn order(&self) -> Order {
        self.order
    }
}

fn instructions(module: &Module, function: FunctionId) -> impl Iterator<Item = &Inst> {
    module.functions[function].block_ids().flat_map(|block| &module.blocks[block].insts)
}
