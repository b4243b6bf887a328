//! Hand-made modules: ids move behind those of the modules before, and names find their definitions.

use warplens_base::Span;
use warplens_isa::{BlockId, Branch, InstKey, OpClass, Operation, Pc, ScalarType, Spelling};

use super::*;
use crate::{
    Block, CallTarget, Flow, Function, FunctionKind, Inst, LaunchBounds, PcInfo, RegisterWords, SourceLocation,
};

/// A module of one function that calls function `callee`, and returns.
fn module(name: &str, callee: FunctionId) -> Module {
    let mut module = Module { address_bits: 64, files: vec![format!("{name}.cu")], ..Module::default() };
    for (opcode, line) in [("call", 1), ("ret", 2)] {
        let spelling = module.spellings.push(Spelling::new(InstKey::UNKNOWN, opcode));
        let pc = module.pcs.push(PcInfo {
            function: FunctionId(0),
            spelling,
            span: Span::new(line, line + 1),
            line,
            class: OpClass::Control,
            high_latency: None,
        });
        module.locations.insert(pc, SourceLocation { file: 0, line });
    }
    let flow = Flow::Call { target: CallTarget::Direct(callee), next: BlockId(1) };
    let block = |operation, pc, flow| Block {
        label: None,
        stays_rolled: false,
        insts: vec![Inst::new(Pc(pc), operation, ScalarType::B32)],
        flow,
    };
    module.blocks.push(block(Operation::Call(Branch::default()), 0, flow));
    module.blocks.push(block(Operation::Ret, 1, Flow::Return { next: None }));
    module.functions.push(Function {
        name: name.to_owned(),
        kind: FunctionKind::Device,
        parameters: Vec::new(),
        arguments: Vec::new(),
        results: Vec::new(),
        registers: RegisterWords::default(),
        local_bytes: 0,
        shared_bytes: 0,
        reserved_shared_bytes: 0,
        machine_registers: None,
        first_block: BlockId(0),
        n_blocks: 2,
        bounds: LaunchBounds::default(),
        explicit_convergence: false,
    });
    let (name, symbol) = (name.to_owned(), Symbol::Function(FunctionId(0)));
    module.interface.exports.push(Export { name, symbol, linkage: Linkage::Strong });
    module
}

/// A module whose function calls that of another.
fn caller(name: &str, other: &str) -> Module {
    let mut module = module(name, FunctionId(1));
    let external = ExternalFunction { name: other.to_owned(), arguments: Vec::new(), results: Vec::new() };
    module.interface.functions.push(external);
    module
}

#[test]
fn ids_move_behind_those_of_the_modules_before() {
    let modules = [caller("a", "c"), module("b", FunctionId(0)), caller("c", "a")];
    let linked = link(&modules.each_ref()).unwrap_or_else(|errors| panic!("{errors:?}"));
    let callees: Vec<Flow> = [0, 2, 4].map(|block| linked.module.blocks[BlockId(block)].flow.clone()).into();
    let call = |callee, next| Flow::Call { target: CallTarget::Direct(FunctionId(callee)), next: BlockId(next) };
    assert_eq!(callees, [call(2, 1), call(1, 3), call(0, 5)]);
    assert_eq!(linked.module.files, ["a.cu", "b.cu", "c.cu"]);
    let info = &linked.module.pcs[Pc(4)];
    let file = linked.module.locations.get(&Pc(4)).map(|it| it.file);
    assert_eq!((info.function, file, info.span), (FunctionId(2), Some(2), Span::new(1, 2)));
    // Each text once, though every module has it.
    assert_eq!(linked.module.spellings.as_slice().iter().map(ToString::to_string).collect::<Vec<_>>(), ["call", "ret"]);
    assert_eq!(linked.module.spelling(Pc(5)).to_string(), "ret");
    assert_eq!([Pc(0), Pc(3), Pc(4)].map(|pc| linked.origin(pc)), [(0, Pc(0)), (1, Pc(1)), (2, Pc(0))]);
    let parts: Vec<_> = linked.parts.iter().map(|part| part.functions.clone()).collect();
    assert_eq!(parts, [0..1, 1..2, 2..3]);
    assert!(linked.module.interface.functions.is_empty() && linked.module.interface.exports.len() == 3);
}

#[test]
fn what_was_linked_can_be_linked_again() {
    let first = link(&[&caller("a", "b"), &module("b", FunctionId(0))]).unwrap_or_else(|errors| panic!("{errors:?}"));
    let both = link(&[&caller("c", "b"), &first.module]).unwrap_or_else(|errors| panic!("{errors:?}"));
    let Flow::Call { target: CallTarget::Direct(callee), .. } = both.module.blocks[BlockId(0)].flow else {
        panic!("the first block calls");
    };
    assert_eq!(both.module.functions[callee].name, "b");
}

#[test]
fn widths_of_addresses_must_agree() {
    let narrow = Module { address_bits: 32, ..module("b", FunctionId(0)) };
    let errors = link(&[&module("a", FunctionId(0)), &narrow]).map(|_| ()).unwrap_err();
    assert_eq!(errors, [LinkError::AddressBits { module: 1, bits: 32, first: 64 }]);
}
