//! What the opcodes of PTX are: the keys of instructions, from the syntax tree or from text that was saved.

use warplens_isa::{
    CacheOperator, Family, InstKey, MatrixShape, MemoryOrder, NamedType, Part, Precision, Rounding, Scope, Spelling,
    StateSpace,
};

use super::types::{atomic_of, comparison, space_of};
use crate::opcodes::Opcode;
use crate::syntax::ast::{Modifier, Modifiers};

/// The instruction that PTX writes as `text`, an opcode with its modifiers such as `ld.global.f32`. What is no opcode of
/// the language is [`InstKey::UNKNOWN`].
pub fn spelling(text: &str) -> Spelling {
    Spelling::new(parse(text).unwrap_or(InstKey::UNKNOWN), text)
}

fn parse(text: &str) -> Option<InstKey> {
    let mut words = text.split('.');
    let opcode = Opcode::from_name(words.next()?)?;
    let mut modifiers = Modifiers::new();
    for word in words {
        modifiers.push(Modifier::from_name(word)?);
    }
    Some(key(opcode, &modifiers))
}

/// What an opcode with its modifiers is.
pub(super) fn key(opcode: Opcode, modifiers: &[Modifier]) -> InstKey {
    let mut key = InstKey::of_family(opcode.family(modifiers));
    if key.is_load() || key.is_store() || key.is_atomic() {
        key.space = Some(StateSpace::Generic);
    }
    for &modifier in modifiers {
        if let Some(ty) = modifier.as_type().and_then(|ty| NamedType::from_name(ty.name())) {
            key.types.push(ty);
        } else if !meaning_in_family(&mut key, modifier) {
            plain_meaning(&mut key, modifier);
        }
    }
    key
}

/// Applies a modifier whose meaning depends on the family; false when it has none there.
fn meaning_in_family(key: &mut InstKey, modifier: Modifier) -> bool {
    use Family as F;
    match key.family {
        F::Mul | F::Mad | F::Madc | F::Mul24 | F::Mad24 | F::Clmad | F::Dp2a => {
            key.part = match modifier {
                Modifier::Lo => Part::Low,
                Modifier::Hi => Part::High,
                Modifier::Wide => Part::Wide,
                _ => return false,
            };
        }
        F::Set | F::Setp | F::Vset | F::Vset2 | F::Vset4 => match comparison(modifier) {
            Some(compare) => key.compare = Some(compare),
            None => return false,
        },
        F::Atom | F::Red | F::RedAsync | F::Sured | F::Multimem | F::CpReduceAsyncBulk | F::CpReduceAsyncBulkTensor => {
            match atomic_of(modifier) {
                Some(atomic) => key.atomic = Some(atomic),
                None => return false,
            }
        }
        _ => return false,
    }
    true
}

/// Applies a modifier that means the same wherever it stands; others change nothing that a key tells apart.
fn plain_meaning(key: &mut InstKey, modifier: Modifier) {
    use Modifier as M;
    if let Some(space) = space_of(modifier) {
        // A copy names where it goes first.
        if key.space.is_none_or(|known| known == StateSpace::Generic) {
            key.space = Some(space);
        }
    } else if let Some([m, n, k]) = modifier.shape() {
        key.shape = Some(MatrixShape { m, n, k });
    }
    match modifier {
        M::V2 | M::X2 => key.elements = 2,
        M::V4 | M::X4 => key.elements = 4,
        M::V8 | M::X8 => key.elements = 8,
        M::V16 | M::X16 => key.elements = 16,
        M::X32 => key.elements = 32,
        M::X64 => key.elements = 64,
        M::X128 => key.elements = 128,
        M::Approx => key.precision = Precision::Approx,
        M::Full => key.precision = Precision::Full,
        M::Ftz => key.ftz = true,
        M::Sat => key.sat = true,
        M::Nc => key.cache.read_only = true,
        M::L1EvictNormal | M::L1EvictUnchanged | M::L1EvictFirst | M::L1EvictLast | M::L1NoAllocate => {
            key.cache.hinted = true;
        }
        M::L2EvictNormal | M::L2EvictUnchanged | M::L2EvictFirst | M::L2EvictLast | M::L2CacheHint => {
            key.cache.hinted = true;
        }
        M::L264B | M::L2128B | M::L2256B | M::L132B => key.cache.hinted = true,
        _ => {
            key.order = order(modifier).unwrap_or(key.order);
            key.scope = scope(modifier).or(key.scope);
            key.cache.operator = cache_operator(modifier).or(key.cache.operator);
            if let Some((rounding, integral)) = rounding(modifier) {
                (key.rounding, key.integral) = (Some(rounding), integral);
            }
        }
    }
}

fn order(modifier: Modifier) -> Option<MemoryOrder> {
    Some(match modifier {
        Modifier::Volatile => MemoryOrder::Volatile,
        Modifier::Relaxed => MemoryOrder::Relaxed,
        Modifier::Acquire => MemoryOrder::Acquire,
        Modifier::Release => MemoryOrder::Release,
        Modifier::AcqRel => MemoryOrder::AcquireRelease,
        Modifier::Sc => MemoryOrder::SequentiallyConsistent,
        Modifier::Mmio => MemoryOrder::Mmio,
        _ => return None,
    })
}

fn scope(modifier: Modifier) -> Option<Scope> {
    Some(match modifier {
        Modifier::Warp => Scope::Warp,
        Modifier::Cta => Scope::Cta,
        Modifier::Cluster => Scope::Cluster,
        Modifier::Gpu | Modifier::Gl => Scope::Gpu,
        Modifier::Sys => Scope::System,
        _ => return None,
    })
}

fn cache_operator(modifier: Modifier) -> Option<CacheOperator> {
    Some(match modifier {
        Modifier::Ca => CacheOperator::Ca,
        Modifier::Cg => CacheOperator::Cg,
        Modifier::Cs => CacheOperator::Cs,
        Modifier::Lu => CacheOperator::Lu,
        Modifier::Cv => CacheOperator::Cv,
        Modifier::Wb => CacheOperator::Wb,
        Modifier::Wt => CacheOperator::Wt,
        _ => return None,
    })
}

/// The rounding, and whether it is one to an integral value.
fn rounding(modifier: Modifier) -> Option<(Rounding, bool)> {
    Some(match modifier {
        Modifier::Rn => (Rounding::Nearest, false),
        Modifier::Rz => (Rounding::Zero, false),
        Modifier::Rm => (Rounding::Down, false),
        Modifier::Rp => (Rounding::Up, false),
        Modifier::Rna => (Rounding::NearestAway, false),
        Modifier::Rni => (Rounding::Nearest, true),
        Modifier::Rzi => (Rounding::Zero, true),
        Modifier::Rmi => (Rounding::Down, true),
        Modifier::Rpi => (Rounding::Up, true),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use warplens_isa::ScalarType;

    use super::*;
    use crate::syntax::ast::Type;

    fn key_of(text: &str) -> InstKey {
        spelling(text).key
    }

    #[test]
    fn every_type_of_the_language_has_a_name_in_keys() {
        for ty in Type::ALL {
            assert!(NamedType::from_name(ty.name()).is_some(), "{}", ty.name());
        }
    }

    #[test]
    fn opcodes_are_families_of_their_name_unless_their_forms_are_several() {
        let split = ["cp", "mbarrier", "tcgen05", "tensormap", "wgmma", "wmma"];
        for opcode in Opcode::ALL {
            let expected = if split.contains(&opcode.name()) { "unknown" } else { opcode.name() };
            assert_eq!(opcode.family(&[]).name(), expected, "{}", opcode.name());
            for form in opcode.forms() {
                assert_eq!(opcode.family(&form.needs), form.family, "{} {:?}", opcode.name(), form.needs);
                assert!(form.family.name().starts_with(opcode.name()), "{}", opcode.name());
            }
        }
    }

    #[test]
    fn keys_show_what_they_tell_apart() {
        for text in [
            "ld.global.nc.v4.f32",
            "ld.volatile.shared.u32",
            "st.release.gpu.global.u32",
            "div.rn.ftz.f32",
            "div.full.f32",
            "sqrt.approx.ftz.f32",
            "mul.wide.s32",
            "mad.hi.sat.s32",
            "setp.lo.u32",
            "cvt.rzi.ftz.s32.f32",
            "atom.shared.add.u32",
            "red.relaxed.gpu.global.max.s32",
            "bar.warp",
            "mma.m16n8k16.f32.f16.f16.f32",
            "wgmma.mma_async.m64n128k16.f32.bf16.bf16",
            "tcgen05.mma",
            "tensormap.replace.global.b1024.b64",
        ] {
            assert_eq!(key_of(text).to_string(), text);
        }
    }

    #[test]
    fn families_go_beyond_the_first_word() {
        let cases = [
            ("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes", Family::CpAsyncBulkTensor),
            ("cp.async.bulk.wait_group.read", Family::CpAsyncBulkWaitGroup),
            ("cp.async.wait_all", Family::CpAsyncWaitGroup),
            ("cp.async.mbarrier.arrive.noinc.shared.b64", Family::CpAsyncMbarrierArrive),
            ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32", Family::CpReduceAsyncBulk),
            ("mbarrier.try_wait.parity.shared::cta.b64", Family::MbarrierTryWait),
            ("mbarrier.arrive.expect_tx.shared::cta.b64", Family::MbarrierArrive),
            ("barrier.cluster.arrive.release.aligned", Family::BarrierClusterArrive),
            ("barrier.sync.aligned", Family::Barrier),
            ("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32", Family::StAsync),
            ("tcgen05.fence::after_thread_sync", Family::Tcgen05Fence),
            ("wgmma.fence.sync.aligned", Family::WgmmaFence),
            ("FADD", Family::Unknown),
            ("add.f31", Family::Unknown),
            ("", Family::Unknown),
        ];
        for (text, family) in cases {
            assert_eq!(key_of(text).family, family, "{text}");
        }
    }

    #[test]
    fn the_last_type_is_that_of_the_sources() {
        assert_eq!(key_of("cvt.rn.f32.f64").ty(), Some(ScalarType::F64));
        assert_eq!(key_of("bar.sync").ty(), None);
        assert_eq!(key_of("tanh.approx.f16x2").ty(), Some(ScalarType::F16x2));
    }
}
