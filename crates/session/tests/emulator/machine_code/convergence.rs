//! Convergence barriers with masks that change, and jumps to addresses in registers.

use warplens_isa::BarrierKind;

use super::*;

const ODD: u32 = 0xaaaa_aaaa;
const EVEN: u32 = 0x5555_5555;

const fn b(index: u32) -> Register {
    Register { bank: Bank::Convergence, width: Width::One, index }
}

impl Builder {
    fn bssy(&mut self, barrier: Register) {
        self.inst(Operation::Bssy, ScalarType::Pred, Some(barrier), &[]);
    }

    fn bsync(&mut self, barrier: Register, next: u32) {
        self.inst(Operation::Bsync, ScalarType::Pred, None, &[reg(barrier)]);
        self.end_block(Flow::Fallthrough(BlockId(next)));
    }

    fn fall(&mut self, next: u32) {
        self.end_block(Flow::Fallthrough(BlockId(next)));
    }

    fn mov(&mut self, destination: Register, source: Operand) {
        self.inst(Operation::Mov, ScalarType::B32, Some(destination), &[source]);
    }

    fn active(&mut self, destination: Register) {
        self.inst(Operation::Activemask, ScalarType::B32, Some(destination), &[]);
    }

    /// Reads the mask of a barrier. It is empty once all have met; of lanes that went on alone others would be left.
    fn read_mask(&mut self, destination: Register, barrier: Register) {
        self.inst(Operation::ReadConvergence, ScalarType::B32, Some(destination), &[reg(barrier)]);
    }

    fn xor(&mut self, destination: Register, a: Register, other: Register) {
        self.inst(Operation::Xor, ScalarType::B32, Some(destination), &[reg(a), reg(other)]);
    }

    /// The address of the result, and p0 in odd lanes.
    fn begin(&mut self) {
        self.result_address();
        self.inst(Operation::And, ScalarType::B32, Some(r(2)), &[reg(r(0)), imm(1)]);
        self.compare(CompareOp::Ne, p(0), reg(r(2)), imm(0));
    }

    /// Ends a block with a jump to the address in the words 6 and 7.
    fn jump(&mut self, guard: Option<Guard>, targets: &[(u64, u32)], next: Option<u32>) {
        self.inst(Operation::Jump, ScalarType::U64, None, &[reg(pair(6))]).guard = guard;
        let targets = targets.iter().map(|&(address, block)| (address, BlockId(block))).collect();
        self.end_block(Flow::Computed { targets, next: next.map(BlockId) });
    }

    /// Puts a base and a multiple of the lane's parity into the words 6 and 7.
    fn address_by_parity(&mut self, base: u64, stride: u64) {
        self.inst(Operation::Mad(Carry::NONE), ScalarType::U32, Some(r(6)), &[reg(r(2)), imm(stride), imm(base)]);
        self.mov(r(7), imm(0));
    }
}

/// What the lanes of a kernel give that do not depend on their number but for its parity.
fn by_parity(even: u32, odd: u32) -> Vec<u32> {
    (0..32).map(|lane| if lane % 2 == 0 { even } else { odd }).collect()
}

#[test]
fn lanes_break_out_of_an_inner_loop() {
    let mut code = Builder::new();
    code.result_address();
    code.mov(r(8), imm(0));
    code.compare(CompareOp::Lt, p(2), reg(r(0)), imm(8));
    code.bssy(b(0));
    code.fall(1);
    code.bssy(b(1));
    code.fall(2);
    // The first eight lanes leave the loop and the region around it, each after as many turns as its number says.
    code.inst(ADD, ScalarType::U32, Some(r(8)), &[reg(r(8)), imm(1)]);
    code.compare(CompareOp::Gt, p(0), reg(r(8)), reg(r(0)));
    code.inst(Operation::And, ScalarType::Pred, Some(p(3)), &[reg(p(0)), reg(p(2))]);
    code.inst(Operation::Break, ScalarType::Pred, None, &[reg(b(1))]).guard = when(p(3));
    code.branch(when(p(3)), 5, Some(3));
    code.compare(CompareOp::Lt, p(0), reg(r(8)), imm(20));
    code.branch(when(p(0)), 2, Some(4));
    code.bsync(b(1), 6);
    code.mov(r(9), imm(0));
    code.fall(7);
    code.active(r(9));
    code.read_mask(r(10), b(1));
    code.xor(r(9), r(9), r(10));
    code.fall(7);
    code.bsync(b(0), 8);
    code.active(r(10));
    code.xor(r(9), r(9), r(10));
    code.inst(ADD, ScalarType::U32, Some(r(8)), &[reg(r(8)), reg(r(9))]);
    code.store_and_exit(r(8));
    let value = |lane: u32| if lane < 8 { lane } else { 20 + 0xff };
    assert_eq!(code.run(), (0..32).map(value).collect::<Vec<u32>>());
}

#[test]
fn a_break_releases_those_that_wait() {
    let mut code = Builder::new();
    code.begin();
    code.bssy(b(0));
    code.branch(when(p(0)), 3, Some(1));
    // Even lanes come first, and wait for the odd ones, which wait for them at the barrier of the warp.
    code.bsync(b(0), 2);
    code.active(r(9));
    code.inst(Operation::BarWarp, ScalarType::B32, None, &[imm(u64::from(u32::MAX))]);
    code.fall(4);
    code.inst(Operation::Break, ScalarType::Pred, None, &[reg(b(0))]);
    code.read_mask(r(8), b(0));
    code.inst(Operation::BarWarp, ScalarType::B32, None, &[imm(u64::from(u32::MAX))]);
    code.active(r(9));
    code.xor(r(9), r(9), r(8));
    code.fall(4);
    code.store_and_exit(r(9));
    assert_eq!(code.run(), by_parity(EVEN, ODD));
}

#[test]
fn groups_of_lanes_that_enter_a_region_apart_wait_for_each_other() {
    // At one place and at two: those that are released together run together where they stand at the same place.
    for (meeting, expected) in [([3, 3], [u32::MAX; 2]), ([3, 4], [EVEN, ODD])] {
        let mut code = Builder::new();
        code.begin();
        code.branch(when(p(0)), 2, Some(1));
        for place in meeting {
            code.bssy(b(0));
            code.inst(Operation::BarWarp, ScalarType::B32, None, &[imm(u64::from(u32::MAX))]);
            code.branch(None, place, None);
        }
        code.bsync(b(0), 5);
        code.bsync(b(0), 6);
        code.active(r(9));
        code.branch(None, 7, None);
        code.active(r(9));
        code.fall(7);
        code.store_and_exit(r(9));
        assert_eq!(code.run(), by_parity(expected[0], expected[1]), "{meeting:?}");
    }
}

#[test]
fn a_barrier_is_used_again_while_lanes_wait_at_it() {
    let mut code = Builder::new();
    code.begin();
    code.inst(Operation::And, ScalarType::B32, Some(r(3)), &[reg(r(0)), imm(2)]);
    code.compare(CompareOp::Ne, p(2), reg(r(3)), imm(0));
    code.mov(r(9), imm(0));
    code.bssy(b(0));
    // Even lanes wait at the end of the outer region.
    code.branch(when(p(0)), 1, Some(5));
    code.read_mask(r(12), b(0));
    code.inst(Operation::WriteConvergence, ScalarType::B32, Some(b(0)), &[imm(0)]);
    code.bssy(b(0));
    code.branch(when(p(2)), 3, Some(2));
    code.mov(r(11), imm(1));
    code.fall(3);
    code.bsync(b(0), 4);
    code.active(r(9));
    code.inst(Operation::Xor, ScalarType::B32, Some(r(9)), &[reg(r(9)), reg(r(12))]);
    code.inst(Operation::WriteConvergence, ScalarType::B32, Some(b(0)), &[reg(r(12))]);
    code.fall(5);
    code.bsync(b(0), 6);
    code.active(r(10));
    code.xor(r(9), r(9), r(10));
    code.store_and_exit(r(9));
    assert_eq!(code.run(), by_parity(u32::MAX, ODD), "the mask was of all lanes, odd ones met, then all");
}

#[test]
fn lanes_that_exit_are_not_waited_for() {
    let mut code = Builder::new();
    code.begin();
    code.mov(r(9), imm(0));
    code.bssy(b(0));
    code.branch(when(p(0)), 1, Some(2));
    code.inst(Operation::Exit, ScalarType::Pred, None, &[]);
    code.end_block(Flow::Exit { next: None });
    code.bsync(b(0), 3);
    code.active(r(9));
    code.read_mask(r(10), b(0));
    code.xor(r(9), r(9), r(10));
    code.store_and_exit(r(9));
    assert_eq!(code.run(), by_parity(EVEN, 0));
}

#[test]
fn calls_return_to_the_address_in_a_register() {
    let mut code = Builder::new();
    code.begin();
    code.compare(CompareOp::Lt, p(2), reg(r(0)), imm(16));
    code.bssy(b(0));
    code.address_by_parity(0x1_0110, 0x20);
    code.branch(None, 1, None);
    // What is called: lanes from 16 on return some other way.
    code.inst(Operation::Shl, ScalarType::B32, Some(r(8)), &[reg(r(0)), imm(1)]);
    code.jump(when(p(2)), &[(0x1_0110, 2), (0x1_0120, 4), (0x1_0130, 3)], Some(4));
    for added in [100, 200, 300] {
        code.inst(ADD, ScalarType::U32, Some(r(8)), &[reg(r(8)), imm(added)]);
        code.active(r(9));
        code.branch(None, 5, None);
    }
    code.bsync(b(0), 6);
    code.active(r(10));
    code.xor(r(9), r(9), r(10));
    code.xor(r(8), r(8), r(9));
    code.store_and_exit(r(8));
    let value = |lane: u32| match (lane < 16, lane.is_multiple_of(2)) {
        (true, true) => (2 * lane + 100) ^ !(EVEN & 0xffff),
        (true, false) => (2 * lane + 200) ^ !(ODD & 0xffff),
        (false, _) => (2 * lane + 300) ^ 0xffff,
    };
    assert_eq!(code.run(), (0..32).map(value).collect::<Vec<u32>>());
}

#[test]
fn a_jump_beside_its_targets_is_an_error() {
    let mut code = Builder::new();
    code.begin();
    code.address_by_parity(0x110, 0x8);
    code.jump(None, &[(0x110, 1), (0x120, 1)], None);
    code.store_and_exit(r(0));
    let kernel = code.finish(0);
    let Err(error) = code.try_launch(kernel, ()) else { panic!("0x118 is no target") };
    let ExecError::BadTarget { what, address, thread, .. } = &error else { panic!("{error}") };
    assert_eq!((*what, *address, thread.thread), ("branch", 0x118, [1, 0, 0]));
    assert!(error.to_string().contains("0x118"), "{error}");
}

#[test]
fn lanes_do_not_wait_for_ever_to_run_together() {
    // Even lanes wait for the odd ones at one barrier, and these for them at the other.
    let mut code = Builder::new();
    code.begin();
    code.bssy(b(0));
    code.bssy(b(1));
    code.branch(when(p(0)), 2, Some(1));
    code.bsync(b(0), 3);
    code.bsync(b(1), 3);
    code.active(r(9));
    code.store_and_exit(r(9));
    assert_eq!(code.run(), by_parity(EVEN, ODD));
}

#[test]
fn lanes_at_a_cta_barrier_are_not_held_up_by_those_that_wait_for_them() {
    let mut code = Builder::new();
    code.begin();
    code.bssy(b(0));
    code.branch(when(p(0)), 2, Some(1));
    code.inst(Operation::Bar(BarrierKind::Sync), ScalarType::U32, None, &[imm(0)]);
    code.bsync(b(0), 3);
    code.bsync(b(0), 4);
    code.active(r(9));
    code.branch(None, 5, None);
    code.active(r(9));
    code.inst(Operation::Bar(BarrierKind::Sync), ScalarType::U32, None, &[imm(0)]);
    code.fall(5);
    code.store_and_exit(r(9));
    assert_eq!(code.run(), by_parity(EVEN, ODD));
}

#[test]
fn lanes_that_spin_are_not_waited_for() {
    let mut code = Builder::new();
    code.begin();
    code.bssy(b(0));
    code.branch(when(p(0)), 3, Some(1));
    // Even lanes wait for a word that odd lanes write behind the place where they wait for the even ones.
    let flag = |inst: &mut Inst| {
        inst.memory = MemoryReference { space: StateSpace::Global, base: reg(upair(2)), offset: 0, elements: 1 }.into();
    };
    flag(code.inst(Operation::Ld(AccessOrder { ordered: true }), ScalarType::B32, Some(r(8)), &[]));
    code.compare(CompareOp::Eq, p(2), reg(r(8)), imm(0));
    code.branch(when(p(2)), 1, Some(2));
    code.bsync(b(0), 5);
    code.bsync(b(0), 4);
    code.mov(r(8), imm(7));
    flag(code.inst(Operation::St(AccessOrder::default()), ScalarType::B32, None, &[reg(r(8))]));
    code.mov(r(8), imm(8));
    code.fall(5);
    code.store_and_exit(r(8));
    assert_eq!(code.run(), by_parity(7, 8));
}

#[test]
fn the_verifier_and_the_printer_know_computed_jumps() {
    let mut code = Builder::new();
    code.jump(when(p(0)), &[(0x120, 1), (0x110, 0)], Some(1));
    code.inst(Operation::Exit, ScalarType::Pred, None, &[]);
    code.end_block(Flow::Exit { next: None });
    code.finish(0);
    let messages: Vec<String> =
        warplens_ir::verify(&code.module).into_iter().map(|violation| violation.message).collect();
    assert_eq!(messages, ["the targets of a computed jump are not sorted by address"]);
    let Flow::Computed { targets, .. } = &mut code.module.blocks[BlockId(0)].flow else { panic!("it is a jump") };
    targets.sort();
    assert_eq!(warplens_ir::verify(&code.module), []);
    let text = warplens_ir::print(&code.module);
    assert!(text.contains("-> [0x110: b0, 0x120: b1] else b1\n"), "{text}");
    assert_eq!(code.module.blocks[BlockId(0)].flow.successors(), [BlockId(0), BlockId(1)]);
}
