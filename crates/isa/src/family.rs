// tidy: table
//! Families of instructions: what an instruction does, before types and modifiers, in whatever language it was written.
//!
//! A family is what cost tables and counts tell apart by name. Those that the emulator executes are called by the word
//! that starts them in PTX; those that it does not execute are as fine as machine code tells them apart, with dots in
//! their names.

use std::fmt;

macro_rules! families {
    ($($name:ident $text:literal,)*) => {
        /// What an instruction does, before types and modifiers. The order is that of the names.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Family {
            $(#[doc = concat!("`", $text, "`")] $name,)*
        }

        impl Family {
            /// Every family, in the order of their names.
            pub const ALL: &[Family] = &[$(Self::$name,)*];

            /// Name in documents; unique.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

families! {
    Abs "abs", Activemask "activemask", Add "add", Addc "addc", Alloca "alloca", And "and",
    Applypriority "applypriority", Atom "atom", Bar "bar", Barrier "barrier",
    BarrierClusterArrive "barrier.cluster.arrive", BarrierClusterWait "barrier.cluster.wait", Bfe "bfe", Bfi "bfi",
    Bfind "bfind", Bmsk "bmsk", Bra "bra", Brev "brev", Brkpt "brkpt", Brx "brx", Call "call", Clmad "clmad",
    Clusterlaunchcontrol "clusterlaunchcontrol", Clz "clz", Cnot "cnot", Copysign "copysign", Cos "cos",
    CpAsync "cp.async", CpAsyncBulk "cp.async.bulk", CpAsyncBulkCommitGroup "cp.async.bulk.commit_group",
    CpAsyncBulkPrefetch "cp.async.bulk.prefetch", CpAsyncBulkPrefetchTensor "cp.async.bulk.prefetch.tensor",
    CpAsyncBulkTensor "cp.async.bulk.tensor", CpAsyncBulkWaitGroup "cp.async.bulk.wait_group",
    CpAsyncCommitGroup "cp.async.commit_group", CpAsyncMbarrierArrive "cp.async.mbarrier.arrive",
    CpAsyncWaitGroup "cp.async.wait_group", CpReduceAsyncBulk "cp.reduce.async.bulk",
    CpReduceAsyncBulkTensor "cp.reduce.async.bulk.tensor", Createpolicy "createpolicy", Cvt "cvt", Cvta "cvta",
    Discard "discard", Div "div", Dp2a "dp2a", Dp4a "dp4a", Elect "elect", Ex2 "ex2", Exit "exit", Fabric "fabric",
    Fence "fence", Fma "fma", Fns "fns", Getctarank "getctarank", Griddepcontrol "griddepcontrol",
    Isspacep "isspacep", Istypep "istypep", Ld "ld", Ldmatrix "ldmatrix", Ldu "ldu", Lg2 "lg2", Lop3 "lop3",
    Mad "mad", Mad24 "mad24", Madc "madc", Mapa "mapa", Match "match", Max "max", MbarrierArrive "mbarrier.arrive",
    MbarrierArriveDrop "mbarrier.arrive_drop", MbarrierCheckLayout "mbarrier.check_layout",
    MbarrierCompleteTx "mbarrier.complete_tx", MbarrierExpectTx "mbarrier.expect_tx", MbarrierInit "mbarrier.init",
    MbarrierInval "mbarrier.inval", MbarrierPendingCount "mbarrier.pending_count",
    MbarrierTestWait "mbarrier.test_wait", MbarrierTryWait "mbarrier.try_wait", Membar "membar", Min "min", Mma "mma",
    Mov "mov", Movmatrix "movmatrix", Mul "mul", Mul24 "mul24", Multimem "multimem", Nanosleep "nanosleep", Neg "neg",
    Not "not", Or "or", Pmevent "pmevent", Popc "popc", Prefetch "prefetch", Prefetchu "prefetchu", Prmt "prmt",
    Rcp "rcp", Red "red", RedAsync "red.async", Redux "redux", Rem "rem", Ret "ret", Rsqrt "rsqrt", Sad "sad",
    Selp "selp", Set "set", Setmaxnreg "setmaxnreg", Setp "setp", Shf "shf", Shfl "shfl", Shl "shl", Shr "shr",
    Sin "sin", Slct "slct", Sqrt "sqrt", St "st", StAsync "st.async", StBulk "st.bulk", Stackrestore "stackrestore",
    Stacksave "stacksave", Stmatrix "stmatrix", Sub "sub", Subc "subc", Suld "suld", Suq "suq", Sured "sured",
    Sust "sust", Szext "szext", Tanh "tanh", Tcgen05Alloc "tcgen05.alloc", Tcgen05Commit "tcgen05.commit",
    Tcgen05Cp "tcgen05.cp", Tcgen05Dealloc "tcgen05.dealloc", Tcgen05Fence "tcgen05.fence", Tcgen05Ld "tcgen05.ld",
    Tcgen05Mma "tcgen05.mma", Tcgen05RelinquishAllocPermit "tcgen05.relinquish_alloc_permit",
    Tcgen05Shift "tcgen05.shift", Tcgen05St "tcgen05.st", Tcgen05Wait "tcgen05.wait",
    TensormapCpFenceproxy "tensormap.cp_fenceproxy", TensormapReplace "tensormap.replace", Testp "testp", Tex "tex",
    Tld4 "tld4", Trap "trap", Txq "txq", Unknown "unknown", Vabsdiff "vabsdiff", Vabsdiff2 "vabsdiff2",
    Vabsdiff4 "vabsdiff4", Vadd "vadd", Vadd2 "vadd2", Vadd4 "vadd4", Vavrg2 "vavrg2", Vavrg4 "vavrg4", Vmad "vmad",
    Vmax "vmax", Vmax2 "vmax2", Vmax4 "vmax4", Vmin "vmin", Vmin2 "vmin2", Vmin4 "vmin4", Vote "vote", Vset "vset",
    Vset2 "vset2", Vset4 "vset4", Vshl "vshl", Vshr "vshr", Vsub "vsub", Vsub2 "vsub2", Vsub4 "vsub4",
    WgmmaCommitGroup "wgmma.commit_group", WgmmaFence "wgmma.fence", WgmmaMmaAsync "wgmma.mma_async",
    WgmmaWaitGroup "wgmma.wait_group", WmmaLoad "wmma.load", WmmaMma "wmma.mma", WmmaStore "wmma.store", Xor "xor",
}

impl Family {
    /// The family called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.binary_search_by(|family| family.name().cmp(name)).ok().map(|index| Self::ALL[index])
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_sorted_by_name_and_found() {
        assert!(Family::ALL.windows(2).all(|pair| pair[0].name() < pair[1].name()));
        for &family in Family::ALL {
            assert_eq!(Family::from_name(family.name()), Some(family));
        }
        assert_eq!(Family::from_name("addd"), None);
    }
}
