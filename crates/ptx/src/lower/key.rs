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
    let family = family(opcode, modifiers);
    let mut key = InstKey::of_family(family);
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

macro_rules! same_names {
    ($opcode:expr, $($name:ident)*; $($special:ident => $family:expr,)*) => {
        match $opcode {
            $(Opcode::$name => Family::$name,)*
            $(Opcode::$special => $family,)*
            Opcode::Unknown => Family::Unknown,
        }
    };
}

/// What an opcode does: mostly what it is called, but some are several things by their modifiers.
fn family(opcode: Opcode, modifiers: &[Modifier]) -> Family {
    let has = |modifier: Modifier| modifiers.contains(&modifier);
    same_names! {
        opcode,
        Abs Activemask Add Addc Alloca And Applypriority Atom Bar Bfe Bfi Bfind Bmsk Bra Brev Brkpt Brx Call Clmad
        Clusterlaunchcontrol Clz Cnot Copysign Cos Createpolicy Cvt Cvta Discard Div Dp2a Dp4a Elect Ex2 Exit Fabric
        Fence Fma Fns Getctarank Griddepcontrol Isspacep Istypep Ld Ldmatrix Ldu Lg2 Lop3 Mad Mad24 Madc Mapa Match
        Max Membar Min Mma Mov Movmatrix Mul Mul24 Multimem Nanosleep Neg Not Or Pmevent Popc Prefetch Prefetchu Prmt
        Rcp Redux Rem Ret Rsqrt Sad Selp Set Setmaxnreg Setp Shf Shfl Shl Shr Sin Slct Sqrt Stackrestore Stacksave
        Stmatrix Sub Subc Suld Suq Sured Sust Szext Tanh Testp Tex Tld4 Trap Txq Vabsdiff Vabsdiff2 Vabsdiff4 Vadd
        Vadd2 Vadd4 Vavrg2 Vavrg4 Vmad Vmax Vmax2 Vmax4 Vmin Vmin2 Vmin4 Vote Vset Vset2 Vset4 Vshl Vshr Vsub Vsub2
        Vsub4 Xor;
        Barrier => match () {
            () if !has(Modifier::Cluster) => Family::Barrier,
            () if has(Modifier::Arrive) => Family::BarrierClusterArrive,
            () => Family::BarrierClusterWait,
        },
        Cp => copy(has),
        Mbarrier => mbarrier(modifiers),
        Red => if has(Modifier::Async) { Family::RedAsync } else { Family::Red },
        St => match () {
            () if has(Modifier::Async) => Family::StAsync,
            () if has(Modifier::Bulk) => Family::StBulk,
            () => Family::St,
        },
        Tcgen05 => tensor_core(modifiers),
        Tensormap => if has(Modifier::Replace) { Family::TensormapReplace } else { Family::TensormapCpFenceproxy },
        Wgmma => match () {
            () if has(Modifier::MmaAsync) => Family::WgmmaMmaAsync,
            () if has(Modifier::CommitGroup) => Family::WgmmaCommitGroup,
            () if has(Modifier::WaitGroup) => Family::WgmmaWaitGroup,
            () => Family::WgmmaFence,
        },
        Wmma => match () {
            () if has(Modifier::Load) => Family::WmmaLoad,
            () if has(Modifier::Store) => Family::WmmaStore,
            () => Family::WmmaMma,
        },
    }
}

/// Asynchronous copies and what commits and awaits them.
fn copy(has: impl Fn(Modifier) -> bool) -> Family {
    let is_tensor = has(Modifier::Tensor);
    match (has(Modifier::Bulk), is_tensor) {
        (_, true) if has(Modifier::Reduce) => Family::CpReduceAsyncBulkTensor,
        (_, false) if has(Modifier::Reduce) => Family::CpReduceAsyncBulk,
        (_, true) if has(Modifier::Prefetch) => Family::CpAsyncBulkPrefetchTensor,
        (_, false) if has(Modifier::Prefetch) => Family::CpAsyncBulkPrefetch,
        (true, _) if has(Modifier::CommitGroup) => Family::CpAsyncBulkCommitGroup,
        (true, _) if has(Modifier::WaitGroup) => Family::CpAsyncBulkWaitGroup,
        (true, true) => Family::CpAsyncBulkTensor,
        (true, false) => Family::CpAsyncBulk,
        (false, _) if has(Modifier::CommitGroup) => Family::CpAsyncCommitGroup,
        (false, _) if has(Modifier::WaitGroup) || has(Modifier::WaitAll) => Family::CpAsyncWaitGroup,
        (false, _) if has(Modifier::Mbarrier) => Family::CpAsyncMbarrierArrive,
        (false, _) => Family::CpAsync,
    }
}

/// What is done with a barrier object in memory; the first modifier says it.
fn mbarrier(modifiers: &[Modifier]) -> Family {
    let named = modifiers.iter().find_map(|modifier| {
        Some(match modifier {
            Modifier::Init => Family::MbarrierInit,
            Modifier::Inval => Family::MbarrierInval,
            Modifier::CheckLayout => Family::MbarrierCheckLayout,
            Modifier::PendingCount => Family::MbarrierPendingCount,
            Modifier::Arrive => Family::MbarrierArrive,
            Modifier::ArriveDrop => Family::MbarrierArriveDrop,
            Modifier::TestWait => Family::MbarrierTestWait,
            Modifier::TryWait => Family::MbarrierTryWait,
            Modifier::ExpectTx => Family::MbarrierExpectTx,
            Modifier::CompleteTx => Family::MbarrierCompleteTx,
            _ => return None,
        })
    });
    named.unwrap_or(Family::Unknown)
}

/// What the tensor core of the fifth generation does; the first modifier says it.
fn tensor_core(modifiers: &[Modifier]) -> Family {
    let named = modifiers.iter().find_map(|modifier| {
        Some(match modifier {
            Modifier::Alloc => Family::Tcgen05Alloc,
            Modifier::Dealloc => Family::Tcgen05Dealloc,
            Modifier::RelinquishAllocPermit => Family::Tcgen05RelinquishAllocPermit,
            Modifier::Ld => Family::Tcgen05Ld,
            Modifier::St => Family::Tcgen05St,
            Modifier::WaitLd | Modifier::WaitSt => Family::Tcgen05Wait,
            Modifier::Cp => Family::Tcgen05Cp,
            Modifier::Shift => Family::Tcgen05Shift,
            Modifier::Commit => Family::Tcgen05Commit,
            Modifier::FenceBeforeThreadSync | Modifier::FenceAfterThreadSync => Family::Tcgen05Fence,
            Modifier::Mma => Family::Tcgen05Mma,
            _ => return None,
        })
    });
    named.unwrap_or(Family::Unknown)
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
    fn every_opcode_has_a_family_of_its_name() {
        for opcode in Opcode::ALL {
            let name = family(*opcode, &[]).name();
            let is_split = matches!(opcode, Opcode::Cp | Opcode::Tensormap | Opcode::Wgmma | Opcode::Wmma);
            let needs_more = matches!(opcode, Opcode::Mbarrier | Opcode::Tcgen05);
            assert_eq!(name == opcode.name(), !is_split && !needs_more, "{}", opcode.name());
            assert_eq!(name == "unknown", needs_more, "{}", opcode.name());
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
