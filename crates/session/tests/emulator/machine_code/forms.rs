//! What instructions of machine code look like and PTX cannot say: operands from constant banks and with their sign
//! changed, as many types as operands, two places in memory, calls that share registers, control codes.

use warplens_ir::{
    CallTarget, Constant, ConstantBank, ControlCode, Initializer, Memory, Sign, SignedValue, Variable, VariableId,
};
use warplens_isa::{Conversion, CopyRead, MixedTypes, Product};
use warplens_trace::{Access, AccessKind, ActiveMask, CtaId, WarpIndex};

use super::*;

/// Where the parameters lie in bank 0.
const PARAMETERS: u32 = 0x160;
/// Where -1.5 lies in bank 0.
const MINUS_ONE_AND_A_HALF: Constant = Constant { bank: 0, offset: 0x20 };

/// Accesses in their order: where, which, and in which lanes.
#[derive(Default, Debug, PartialEq)]
struct Seen(Vec<(StateSpace, AccessKind, u32)>);

impl Observer for Seen {
    type Cta = ();
    const RECORDS: bool = true;
    fn fork(&self) -> Self {
        Self::default()
    }
    fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }
    fn begin_cta(&mut self, _: CtaId) -> Self::Cta {}
    fn end_cta(&mut self, (): Self::Cta) {}
    fn block(&mut self, (): &mut (), _: WarpIndex, _: BlockId, _: ActiveMask) {}
    fn predicated(&mut self, (): &mut (), _: WarpIndex, _: Pc, _: ActiveMask, _: ActiveMask) {}
    fn branch_indexed(&mut self, (): &mut (), _: WarpIndex, _: Pc, _: u32) {}
    fn access(&mut self, (): &mut (), _: WarpIndex, _: Pc, access: &Access<'_>) {
        self.0.push((access.space, access.kind, access.mask.0));
    }
    fn order_dependent(&mut self, (): &mut (), _: Pc) {}
}

fn bank() -> ConstantBank {
    let mut content = vec![0; 0x20];
    content.extend((-1.5f32).to_le_bytes());
    ConstantBank { number: 0, bytes: 0x168, content, parameters: Some(PARAMETERS) }
}

fn tile() -> Variable {
    Variable {
        name: "tile".into(),
        space: StateSpace::Shared,
        ty: ScalarType::B8,
        bytes: 128,
        align: 16,
        is_dynamic: false,
        function: None,
        opaque: None,
        initializer: Initializer::default(),
    }
}

impl Builder {
    /// Puts the lane into r0 and the address of its result into the words 4 and 5: the start comes from the bank.
    fn result_address_of_bank(&mut self) {
        self.module.constant_banks.push(bank());
        self.inst(Operation::ReadSpecial, ScalarType::U32, Some(r(0)), &[Operand::Special(SpecialRegister::Laneid)]);
        self.inst(Operation::MulWide, ScalarType::U32, Some(pair(6)), &[reg(r(0)), imm(4)]);
        let out = Operand::Constant(Constant { bank: 0, offset: PARAMETERS });
        self.inst(ADD, ScalarType::U64, Some(pair(4)), &[out, reg(pair(6))]);
    }

    fn place(space: StateSpace, base: Register) -> MemoryReference {
        MemoryReference { space, base: reg(base), offset: 0, elements: 1 }
    }

    /// Each lane copies its word to shared memory; odd lanes write zero.
    fn copy_to_tile(&mut self, tile: VariableId) {
        let tile = Operand::Variable { variable: tile, offset: 0, generic: false };
        self.inst(Operation::Mov, ScalarType::U32, Some(r(9)), &[tile]);
        self.inst(ADD, ScalarType::U32, Some(r(9)), &[reg(r(9)), reg(r(6))]);
        self.inst(Operation::And, ScalarType::B32, Some(r(2)), &[reg(r(0)), imm(1)]);
        self.compare(CompareOp::Ne, p(0), reg(r(2)), imm(0));
        let copy = self.inst(Operation::Copy(CopyRead::Unless), ScalarType::B32, None, &[reg(p(0))]);
        copy.memory =
            Memory::Copy { to: Self::place(StateSpace::Shared, r(9)), from: Self::place(StateSpace::Global, pair(4)) };
    }
}

#[test]
fn four_types_two_places_and_a_constant_bank() {
    let mut code = Builder::new();
    let tile = code.module.variables.push(tile());
    code.result_address_of_bank();
    let to_float = code.inst(Operation::Cvt(Conversion::default()), ScalarType::F32, Some(r(8)), &[reg(r(0))]);
    to_float.source_ty = ScalarType::U32;
    code.inst(Operation::St(AccessOrder::default()), ScalarType::F32, None, &[reg(r(8))]).memory =
        Builder::place(StateSpace::Global, pair(4)).into();
    code.copy_to_tile(tile);
    code.inst(Operation::Ld(AccessOrder::default()), ScalarType::F32, Some(r(10)), &[]).memory =
        Builder::place(StateSpace::Shared, r(9)).into();
    // 2.0 as f16, 3.0 as bf16, the negated word as f32, all summed up in f64.
    let (a, b, c) = (ScalarType::F16, ScalarType::Bf16, ScalarType::F32);
    let mixed = Operation::FmaMixed(MixedTypes { a, b, c, rounding: Rounding::Nearest });
    code.inst(Operation::Mov, ScalarType::B32, Some(r(11)), &[imm(0x4040)]);
    let negated = Operand::Signed(Sign::Negated, SignedValue::Register(r(10)));
    let fma = code.inst(mixed, ScalarType::F64, Some(pair(12)), &[imm(0x4000), reg(r(11)), negated]).pc;
    let narrowed = code.inst(Operation::Cvt(Conversion::default()), ScalarType::F32, Some(r(14)), &[reg(pair(12))]);
    narrowed.source_ty = ScalarType::F64;
    let magnitude = Operand::Signed(Sign::Absolute, SignedValue::Constant(MINUS_ONE_AND_A_HALF));
    code.inst(ADD, ScalarType::F32, Some(r(14)), &[reg(r(14)), magnitude]);
    code.store_and_exit(r(14));
    code.module.controls.insert(fma, ControlCode { stall: 4, waits: 0b1, ..ControlCode::default() });
    let kernel = code.finish(0);

    let text = warplens_ir::print(&code.module);
    for line in [
        "bank 0 360 bytes parameters at 352",
        "Add.u64 r4.64, c[0x0][0x160], r6.64",
        "Copy.b32 shared[r9+0]x1, global[r4.64+0]x1, p0",
        "FmaMixed.f64 [f16 bf16 f32] r12.64, 0x4000, r11, -r10 // stall 4 waits 0b1",
        "Add.f32 r14, r14, |c[0x0][0x20]|",
    ] {
        assert!(text.contains(line), "`{line}` is missing in\n{text}");
    }

    let (words, seen) = code.launch(kernel, Seen::default());
    let value = |lane: u32| if lane.is_multiple_of(2) { 7.5 - lane as f32 } else { 7.5 };
    assert_eq!(
        words.iter().map(|&bits| f32::from_bits(bits)).collect::<Vec<_>>(),
        (0..32).map(value).collect::<Vec<_>>()
    );
    // The copy is heard of twice: it reads where no zeros are asked for, and writes everywhere.
    assert_eq!(
        seen.0,
        [
            (StateSpace::Global, AccessKind::Store, u32::MAX),
            (StateSpace::Global, AccessKind::Load, 0x5555_5555),
            (StateSpace::Shared, AccessKind::Store, u32::MAX),
            (StateSpace::Shared, AccessKind::Load, u32::MAX),
            (StateSpace::Global, AccessKind::Store, u32::MAX),
        ]
    );
}

#[test]
fn signs_change_on_the_way_into_operations() {
    let signed = |sign, index| Operand::Signed(sign, SignedValue::Register(r(index)));
    let mut code = Builder::new();
    code.result_address_of_bank();
    code.inst(Operation::Mov, ScalarType::B32, Some(r(8)), &[imm(u64::from((-3.0f32).to_bits()))]);
    // |-3| * -|-3| = -9
    let product = Operation::Mul(Product::default());
    let factors = [signed(Sign::Absolute, 8), signed(Sign::NegatedAbsolute, 8)];
    code.inst(product, ScalarType::F32, Some(r(9)), &factors);
    let towards_zero = Operation::Cvt(Conversion { rounding: Rounding::Zero, integral: true, ..Conversion::default() });
    code.inst(towards_zero, ScalarType::S32, Some(r(10)), &[reg(r(9))]).source_ty = ScalarType::F32;
    // lane - -9, as integers.
    code.inst(ADD, ScalarType::S32, Some(r(11)), &[reg(r(0)), signed(Sign::Negated, 10)]);
    code.store_and_exit(r(11));
    assert_eq!(code.run(), (9..41).collect::<Vec<u32>>());
}

#[test]
fn variables_lie_behind_the_shared_memory_that_code_addresses_itself() {
    let mut code = Builder::new();
    code.result_address();
    let tile = code.module.variables.push(tile());
    let tile = Operand::Variable { variable: tile, offset: 0, generic: false };
    code.inst(Operation::Mov, ScalarType::U32, Some(r(9)), &[tile]);
    code.store_and_exit(r(9));
    let kernel = code.finish(0);
    code.module.functions[kernel].shared_bytes = 72;
    assert!(warplens_ir::print(&code.module).contains("  shared 72 bytes\n"));
    let mut device = Device::new(64, u64::MAX);
    let image = device.load(&code.module).unwrap();
    let program = Program::<Tested>::for_engine(&code.module, image, kernel, &mut device).unwrap();
    assert_eq!(program.static_shared_bytes(), 80 + 128);
    assert_eq!(code.launch(kernel, ()).0, [80; 32]);
}

#[test]
fn a_subroutine_works_on_the_registers_of_its_caller() {
    let mut code = Builder::new();
    code.result_address_of_bank();
    code.compare(CompareOp::Gt, p(0), reg(r(0)), imm(15));
    code.inst(Operation::Mov, ScalarType::B32, Some(r(8)), &[imm(0xffff_ffff)]);
    code.inst(Operation::Mov, ScalarType::B32, Some(r(9)), &[imm(0)]);
    let call = |code: &mut Builder, next: u32| {
        code.inst(Operation::Call(Branch::default()), ScalarType::B32, None, &[]);
        code.end_block(Flow::Call { target: CallTarget::Direct(FunctionId(1)), next: BlockId(next) });
    };
    call(&mut code, 1);
    code.inst(ADD, ScalarType::U32, Some(r(8)), &[reg(r(8)), imm(100)]);
    call(&mut code, 2);
    // Word 8 after two sums and 100, word 9 after one carry (or two where lanes add more).
    code.inst(ADD, ScalarType::U32, Some(r(10)), &[reg(r(8)), reg(r(9))]);
    code.store_and_exit(r(10));
    // The subroutine takes as a pair what its caller takes as words, and ends under the predicate of its caller.
    code.inst(ADD, ScalarType::U64, Some(pair(8)), &[reg(pair(8)), imm(1)]);
    code.inst(Operation::Ret, ScalarType::Pred, None, &[]).guard = unless(p(0));
    code.end_block(Flow::Return { next: Some(BlockId(4)) });
    code.inst(ADD, ScalarType::U64, Some(pair(8)), &[reg(pair(8)), imm(0x1_0000_0000)]);
    code.inst(Operation::Ret, ScalarType::Pred, None, &[]);
    code.end_block(Flow::Return { next: None });
    let kernel = code.finish(2);
    assert!(warplens_ir::print(&code.module).contains("subroutine inner {"));
    let value = |lane: u32| 101 + if lane > 15 { 3 } else { 1 };
    assert_eq!(code.launch(kernel, ()).0, (0..32).map(value).collect::<Vec<u32>>());
}

/// The messages of the verifier about a kernel of one block.
fn violations(build: impl FnOnce(&mut Builder)) -> Vec<String> {
    let mut code = Builder::new();
    code.module.constant_banks.push(bank());
    build(&mut code);
    code.inst(Operation::Exit, ScalarType::Pred, None, &[]);
    code.end_block(Flow::Exit { next: None });
    code.finish(0);
    warplens_ir::verify(&code.module).into_iter().map(|violation| violation.message).collect()
}

#[test]
fn the_verifier_knows_the_forms() {
    let constant = |bank: u8, offset: u32| Operand::Constant(Constant { bank, offset });
    let one = |operand: Operand, ty: ScalarType| {
        violations(move |code| {
            code.inst(ADD, ty, Some(r(0)), &[operand, imm(0)]);
        })
    };
    assert_eq!(one(constant(0, 0x164), ScalarType::U32), [""; 0]);
    assert_eq!(one(constant(0, 0x168), ScalarType::U32), ["0x168 lies outside of constant bank 0"]);
    assert_eq!(one(constant(3, 0), ScalarType::U32), ["there is no constant bank 3"]);
    let magnitude = Operand::Signed(Sign::Absolute, SignedValue::Register(r(1)));
    assert_eq!(one(magnitude, ScalarType::F32), [""; 0]);
    assert_eq!(one(magnitude, ScalarType::U32), ["Add does not change the sign of an operand"]);
    let one_place = violations(|code| {
        code.inst(Operation::Copy(CopyRead::Unless), ScalarType::B32, None, &[]).memory =
            Builder::place(StateSpace::Shared, r(9)).into();
    });
    assert_eq!(one_place, ["Copy touches 2 places in memory, not 1"]);
    let no_barrier = violations(|code| {
        code.inst(Operation::Break, ScalarType::Pred, None, &[]);
    });
    assert_eq!(no_barrier, ["Break names no convergence barrier"]);
    let stalls = violations(|code| {
        let pc = code.inst(Operation::Nop, ScalarType::B32, None, &[]).pc;
        code.module.controls.insert(pc, ControlCode { stall: 16, ..ControlCode::default() });
    });
    assert!(stalls[0].starts_with("the control code"), "{stalls:?}");
}

#[test]
fn the_verifier_wants_one_register_file_for_a_subroutine_and_its_callers() {
    let mut code = Builder::new();
    code.inst(Operation::Call(Branch::default()), ScalarType::B32, None, &[]);
    code.end_block(Flow::Call { target: CallTarget::Direct(FunctionId(1)), next: BlockId(1) });
    code.inst(Operation::Exit, ScalarType::Pred, None, &[]);
    code.end_block(Flow::Exit { next: None });
    code.inst(Operation::Ret, ScalarType::Pred, None, &[]);
    code.end_block(Flow::Return { next: None });
    code.finish(1);
    assert_eq!(warplens_ir::verify(&code.module), []);
    code.module.functions[FunctionId(1)].registers.vector += 2;
    let violations = warplens_ir::verify(&code.module);
    let messages: Vec<&str> = violations.iter().map(|violation| violation.message.as_str()).collect();
    assert_eq!(messages, ["inner has other registers or local memory than its caller kernel"]);
}
