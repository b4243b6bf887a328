//! Registers of products that four warps make together (`wgmma`): who looks at them before a wait for the product, or changes
//! them, gets what the instruction set leaves open.
//!
//! The emulator makes a product where it stands, so that such a program computes here what it may not on a GPU. Copies of
//! registers are let pass, as compilers make them between products and assemblers take them away again.

use std::collections::BTreeMap;

use warplens_base::Diagnostic;
use warplens_ir::{Bank, Cfg, Function, Inst, Module, Operand, Register};
use warplens_isa::{BlockId, Family, Op, Operation};

/// A word that a product still uses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Use {
    /// Groups that were closed since, its own among them; 0 while its group is open.
    age: u64,
    /// It belongs to the result, and not to a factor, which others may read.
    is_result: bool,
}

/// Words of the vector bank that products still use.
type Uses = BTreeMap<u32, Use>;

/// Warns of the first instruction of each function that comes too early.
pub(super) fn early_uses(module: &Module) -> Vec<Diagnostic> {
    let functions = module.functions.iter().map(|(_, function)| function);
    functions.filter_map(|function| early_use(module, function)).collect()
}

fn early_use(module: &Module, function: &Function) -> Option<Diagnostic> {
    let insts = |block: BlockId| &module.blocks[block].insts;
    if !function.block_ids().any(|block| insts(block).iter().any(|inst| inst.op() == Op::MmaAsync)) {
        return None;
    }
    let cfg = Cfg::new(module, function);
    let mut at_start: BTreeMap<BlockId, Uses> = BTreeMap::new();
    let mut is_new = true;
    while is_new {
        is_new = false;
        for &block in cfg.postorder().iter().rev() {
            let mut uses = at_start.get(&block).cloned().unwrap_or_default();
            insts(block).iter().for_each(|inst| follow(module, &mut uses, inst));
            for &next in cfg.successors(block) {
                is_new |= join(at_start.entry(next).or_default(), &uses);
            }
        }
    }
    for block in function.block_ids() {
        let mut uses = at_start.get(&block).cloned().unwrap_or_default();
        for inst in insts(block) {
            if comes_early(&uses, inst) {
                let span = module.pcs[inst.pc].span;
                let message = "a register of a matrix product is used before a wait for the product";
                return Some(
                    Diagnostic::warning("S021", span, message)
                        .with_label("what it finds, or what becomes of the product, is undefined")
                        .with_help("a `wgmma.commit_group` and a `wgmma.wait_group` have to stand between them"),
                );
            }
            follow(module, &mut uses, inst);
        }
    }
    None
}

/// Takes over what may be in use on another way; true when that is more than was known.
fn join(known: &mut Uses, more: &Uses) -> bool {
    let mut is_new = false;
    for (&word, &found) in more {
        let own = known.entry(word).or_insert_with(|| {
            is_new = true;
            found
        });
        let both = Use { age: own.age.min(found.age), is_result: own.is_result || found.is_result };
        is_new |= *own != both;
        *own = both;
    }
    is_new
}

fn words(register: Register) -> impl Iterator<Item = u32> {
    register.words().filter(move |_| register.bank == Bank::Vector)
}

/// The registers of a product: accumulators, and factors.
fn of_product(inst: &Inst) -> Option<(Vec<u32>, Vec<u32>)> {
    let Operation::MmaAsync(group) = inst.operation else { return None };
    let registers = |operands: &[Operand]| -> Vec<u32> {
        operands.iter().filter_map(|operand| operand.register()).flat_map(words).collect()
    };
    let n_factors = if group.a_in_shared { 0 } else { warplens_isa::GroupProduct::REGISTERS_OF_A };
    Some((inst.writes().flat_map(words).collect(), registers(&inst.sources[..n_factors])))
}

fn comes_early(uses: &Uses, inst: &Inst) -> bool {
    let is_result = |word: &u32| uses.get(word).is_some_and(|it| it.is_result);
    if let Some((_, factors)) = of_product(inst) {
        return factors.iter().any(is_result);
    }
    if inst.op() == Op::Mov {
        return false;
    }
    inst.reads().flat_map(words).any(|word| is_result(&word))
        || inst.writes().flat_map(words).any(|word| uses.contains_key(&word))
}

fn follow(module: &Module, uses: &mut Uses, inst: &Inst) {
    if uses.is_empty() && inst.op() != Op::MmaAsync {
        return;
    }
    if let Some((results, factors)) = of_product(inst) {
        uses.extend(factors.into_iter().map(|word| (word, Use { age: 0, is_result: false })));
        uses.extend(results.into_iter().map(|word| (word, Use { age: 0, is_result: true })));
        return;
    }
    match (inst.op(), module.key(inst.pc).family) {
        (Op::CopyCommit, Family::WgmmaCommitGroup) => uses.values_mut().for_each(|it| it.age += 1),
        (Op::CopyWait, Family::WgmmaWaitGroup) => {
            let Some(&Operand::Immediate(left)) = inst.sources.first() else { return };
            uses.retain(|_, it| it.age == 0 || it.age <= left);
        }
        _ => {
            let copied = inst.reads().flat_map(words).filter_map(|word| uses.get(&word)).min().copied();
            for word in inst.writes().flat_map(words) {
                match copied.filter(|it| inst.op() == Op::Mov && it.is_result) {
                    Some(use_) => uses.insert(word, use_),
                    None => uses.remove(&word),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    const HEAD: &str = ".version 8.0\n.target sm_90a\n.address_size 64\n.entry kernel(.param .u64 p)\n{\n\
         .reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .f32 %f<16>;\n.reg .b64 %rd<4>;\nld.param.u64 %rd1, [p];\n";
    const PRODUCT: &str =
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd1, 1, 1, 1, 0, 0;";
    const OF_REGISTERS: &str = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, %rd1, 1, 1, 1, 0;";
    const COMMIT: &str = "wgmma.commit_group.sync.aligned;";
    const STORE: &str = "st.global.f32 [%rd1], %f2;";

    /// What is warned of in a kernel of these statements, if anything.
    fn warned(statements: &[&str]) -> Option<String> {
        let text = format!("{HEAD}{}\nret;\n}}\n", statements.join("\n"));
        let (module, diagnostics) = crate::load(&text);
        assert!(module.is_some(), "{diagnostics:?}");
        let found = diagnostics.iter().find(|diagnostic| diagnostic.code == "S021")?;
        let span = found.primary.span;
        Some(text[span.start as usize..span.end as usize].trim_end_matches(';').to_owned())
    }

    fn wait(groups: u32) -> String {
        format!("wgmma.wait_group.sync.aligned {groups};")
    }

    #[test]
    fn results_are_waited_for() {
        let store = Some(STORE.trim_end_matches(';').to_owned());
        assert_eq!(warned(&[PRODUCT, COMMIT, &wait(0), STORE]), None);
        assert_eq!(warned(&[PRODUCT, STORE]), store);
        // The next group is still under way, and one that is open is not waited for.
        assert_eq!(warned(&[PRODUCT, COMMIT, &wait(1), STORE]), store);
        assert_eq!(warned(&[PRODUCT, &wait(0), STORE]), store);
        assert_eq!(warned(&[PRODUCT, COMMIT, COMMIT, &wait(1), STORE]), None);
        // The next product adds to the same registers, and copies are let pass, with what they copy.
        assert_eq!(warned(&[PRODUCT, PRODUCT, "mov.f32 %f9, %f2;", COMMIT, &wait(0), STORE]), None);
        let copied = warned(&[PRODUCT, COMMIT, "mov.f32 %f9, %f2;", "add.f32 %f8, %f9, %f9;"]);
        assert_eq!(copied.as_deref(), Some("add.f32 %f8, %f9, %f9"));
    }

    #[test]
    fn factors_may_be_read_but_not_changed() {
        assert_eq!(warned(&[OF_REGISTERS, "add.u32 %r5, %r1, %r2;"]), None);
        let changed = warned(&[OF_REGISTERS, COMMIT, "add.u32 %r1, %r1, %r2;"]);
        assert_eq!(changed.as_deref(), Some("add.u32 %r1, %r1, %r2"));
    }

    #[test]
    fn a_loop_may_leave_one_group_under_way() {
        let turn = ["again:", PRODUCT, COMMIT, "wgmma.wait_group.sync.aligned 1;", "@%p1 bra again;"];
        let early = [&turn[..], &[STORE]].concat();
        assert!(warned(&early).is_some());
        let late = [&turn[..], &["wgmma.wait_group.sync.aligned 0;", STORE]].concat();
        assert_eq!(warned(&late), None);
    }
}
