//! A kernel made ready to run.

use warplens_ir::{FunctionId, Inst, Module};
use warplens_isa::{Op, Pc};

use crate::code::Code;
use crate::communication;
use crate::decode::{self, Unsupported};
use crate::layout::Layout;
use crate::memory::Device;

/// A decoded kernel, bound to the addresses of a device.
pub struct Program {
    pub(crate) code: Code,
    pub(crate) kernel: FunctionId,
    layout: Layout,
    unsupported: Vec<Unsupported>,
    order: Order,
}

/// How far the result of a kernel can depend on the order in which its threads run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// CTAs do not communicate.
    Free,
    /// Atomics or device output, but no control that depends on them: results may depend on the order, counts do not.
    Unordered,
    /// Control depends on the value of an atomic or of an ordered load: CTAs or threads may wait for each other.
    Communicating(Pc),
}

impl Program {
    /// Decodes `kernel` for `device`.
    pub fn new(module: &Module, kernel: FunctionId, device: &mut Device) -> Self {
        let functions = decode::reachable(module, kernel);
        let insts = || functions.iter().flat_map(|&function| instructions(module, function));
        if insts().any(|inst| inst.op == Op::SystemCall) {
            device.ensure_heap();
        }
        let layout = Layout::new(module, &functions, device);
        let (code, unsupported) = decode::decode(module, kernel, &layout);
        let order = match communication::deciding_instruction(module, &functions) {
            Some(pc) => Order::Communicating(pc),
            None if insts().any(|inst| matches!(inst.op, Op::Atom | Op::Red | Op::SystemCall)) => Order::Unordered,
            None => Order::Free,
        };
        Self { code, kernel, layout, unsupported, order }
    }

    /// Instructions of the call graph that cannot be executed.
    pub fn unsupported(&self) -> &[Unsupported] {
        &self.unsupported
    }

    /// Bytes of static shared memory per CTA.
    pub fn static_shared_bytes(&self) -> u64 {
        self.layout.static_shared
    }

    /// How far results can depend on the order in which threads run.
    pub fn order(&self) -> Order {
        self.order
    }
}

fn instructions(module: &Module, function: FunctionId) -> impl Iterator<Item = &Inst> {
    module.functions[function].block_ids().flat_map(|block| &module.blocks[block].insts)
}
