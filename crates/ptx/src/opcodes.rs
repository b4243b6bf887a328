//! The opcodes of the language: which names may follow each, which operands each takes, since when, and what each
//! becomes.
//!
//! One row per base opcode, one line per form. A form is chosen by the names that it needs; its first line is what the
//! manual lists for the form:
//!
//! ```text
//! Name "name" { lowering } lacks Class "purpose" [ Family: (version, "needed names", "other names", "types",
//! "operands") ... ]
//! ```
//!
//! - The version is ten times the PTX version that brought the form: 78 is PTX 7.8.
//! - Forms are tried in order; the first whose needed names are all present is taken, else the last.
//! - `@group` stands for the names of a group, see [`forms`].
//! - A form with types needs at least one of them.
//! - Operands: see [`shape`]; `...` is not checked, `|` separates alternatives.
//! - The family is that which is called like the opcode where the form names none; each is named by some form.
//! - `lacks` says as what class an instruction counts that the emulator does not execute, and what it is for.
//!
//! | Lowering | Meaning |
//! |---|---|
//! | `Op(payload) T <- T U32` | an operation of the written type with a payload of the modifiers: result, `<-`, sources; `T` is the written type |
//! | `function Op(payload) T <- T` | the same for functions whose accuracy old modules leave out |
//! | `by method(arguments), types: n` | a function of `lower/`; no more than `n` types may be written |
//! | `nothing` | nothing that a thread can see |
//! | `none` | the emulator lacks all forms |
//!
//! The table has two readers: this file makes the opcodes and forms of the syntax of it, and `lower/dispatch.rs` the way
//! to operations.

pub mod forms;
pub mod shape;

use warplens_isa::Family;

use crate::syntax::KeywordMap;
use forms::FormText;

/// Hands the whole table to a macro.
macro_rules! with_opcodes {
    ($consumer:ident) => { $consumer! {
        Abs "abs" { Abs(subnormals) T <- T } [(10, "", "ftz", "s16 s32 s64 f32 f64 @half", "d s")]
        Activemask "activemask" { Activemask T <- } [(62, "", "", "b32", "d")]
        Add "add" { by lower_sum(Operation::Add), types: 2 } [
            (10, "", "@round ftz sat cc", "@int u16x2 s16x2 u8x4 s8x4 f32 f32x2 f64 @half", "d s s"),
        ]
        Addc "addc" { by lower_sum(Operation::Add), types: 1 } [(12, "", "cc", "u32 s32 u64 s64", "d s s")]
        Alloca "alloca" { by lower_alloca } [(73, "", "", "u32 u64", "d s c?")]
        And "and" { And T <- T T } [(10, "", "", "pred @bits", "d s s")]
        Applypriority "applypriority" { nothing } [
            (93, "async bulk tensor", "global tile @dim bulk_group L2::evict_normal", "", "..."),
            (93, "async bulk", "global bulk_group L2::evict_normal", "", "m s"),
            (74, "", "global L2::evict_normal", "", "m s"),
        ]
        Atom "atom" { by lower_atomic(Operation::Atom), types: 1 } [
            (11, "cas", "@order @scope @space3 L2::cache_hint", "b16 b32 b64 b128", "d m s s s?"),
            (11, "", "@order @scope @space3 @atomic exch noftz L2::cache_hint v2 v4 v8",
                "b32 b64 b128 u32 u64 s32 s64 f32 f64 @half", "v m v s?"),
        ]
        Bar "bar" { by lower_barrier } [
            (60, "warp", "sync", "", "s"),
            (20, "red", "cta aligned popc and or", "pred u32", "d s p | d s s p"),
            (10, "", "cta sync arrive", "", "s s?"),
        ]
        Barrier "barrier" { by lower_barrier } lacks Barrier "clusters" [
            BarrierClusterArrive: (78, "cluster arrive", "acquire release relaxed aligned", "", ""),
            BarrierClusterWait: (78, "cluster wait", "acquire release relaxed aligned", "", ""),
            (60, "red", "cta aligned popc and or", "pred u32", "d s p | d s s p"),
            (60, "", "cta sync arrive aligned", "", "s s?"),
        ]
        Bfe "bfe" { Bfe T <- T U32 U32 } [(20, "", "", "u32 u64 s32 s64", "d s s s")]
        Bfi "bfi" { Bfi T <- T T U32 U32 } [(20, "", "", "b32 b64", "d s s s s")]
        Bfind "bfind" { Bfind(bfind_answer) U32 <- T } [(20, "", "shiftamt", "u32 u64 s32 s64", "d s")]
        Bmsk "bmsk" { Bmsk(shift_mode) T <- U32 U32 } [(76, "", "clamp wrap", "b32", "d s s")]
        Bra "bra" { by lower_branch } [(10, "", "uni", "", "l")]
        Brev "brev" { Brev T <- T } [(20, "", "", "b32 b64", "d s")]
        Brkpt "brkpt" { nothing } [(10, "", "", "", "")]
        Brx "brx" { by lower_indexed_branch } [(60, "", "idx uni", "", "s l")]
        Call "call" { by lower_call } lacks Control "other" [(10, "", "uni", "", "...")]
        Clmad "clmad" { by lower_clmad, types: 1 } [(93, "", "lo hi", "u64", "d s s s")]
        Clusterlaunchcontrol "clusterlaunchcontrol" { none } lacks Other "clusters" [
            (86, "try_cancel", "async shared::cta mbarrier::complete_tx::bytes multicast::cluster::all", "b128", "m m"),
            (86, "query_cancel",
                "is_canceled get_first_ctaid get_first_ctaid::x get_first_ctaid::y get_first_ctaid::z v4",
                "pred b32 b128", "v s"),
        ]
        Clz "clz" { Clz U32 <- T } [(20, "", "", "b32 b64", "d s")]
        Cnot "cnot" { Cnot T <- T } [(10, "", "", "@bits", "d s")]
        Copysign "copysign" { Copysign T <- T T } [(20, "", "", "f32 f64", "d s s")]
        Cos "cos" { function Cos(approximation) T <- T } [(10, "", "approx ftz 2pi", "f32", "d s")]
        Cp "cp" { by lower_copy } lacks Memory "asynchronous copies" [
            CpReduceAsyncBulkTensor: (80, "reduce async bulk tensor",
                "@dim global shared::cta @reduction tile im2col_no_offs bulk_group L2::cache_hint @override", "",
                "m m s?"),
            CpReduceAsyncBulk: (80, "reduce async bulk",
                "global shared::cta shared::cluster @reduction noftz bulk_group mbarrier::complete_tx::bytes \
                 L2::cache_hint", "f16 bf16 b32 u32 s32 b64 u64 s64 f32 f64", "m m s m | m m s s?"),
            CpAsyncBulkPrefetchTensor: (80, "async bulk prefetch tensor",
                "@dim L2 global tile tile::gather4 im2col im2col::w im2col::w::128 L2::cache_hint L2::evict_last \
                 L2::evict_normal @override", "", "m v? s?"),
            CpAsyncBulkPrefetch: (80, "async bulk prefetch", "L2 global L2::cache_hint L2::evict_last L2::evict_normal",
                "", "m s s?"),
            CpAsyncBulkTensor: (80, "async bulk tensor",
                "@dim global shared::cta shared::cluster tile tile::gather4 tile::scatter4 im2col im2col::w \
                 im2col::w::128 im2col_no_offs mbarrier::complete_tx::bytes bulk_group @multicast cta_group::1 \
                 cta_group::2 L2::cache_hint @override @report", "", "m m m v? s? s? | m m s?"),
            CpAsyncBulkCommitGroup: (80, "async bulk commit_group", "", "", ""),
            CpAsyncBulkWaitGroup: (80, "async bulk wait_group", "read sync_restrict::proxy::async", "", "c"),
            CpAsyncBulk: (80, "async bulk",
                "global shared::cta shared::cluster mbarrier::complete_tx::bytes bulk_group @multicast \
                 L2::cache_hint cp_mask ignore_oob @report", "", "m m s m s? s? | m m s s s m s? | m m s s? s?"),
            CpAsyncCommitGroup: (70, "async commit_group", "", "", ""),
            CpAsyncWaitGroup: (70, "async wait_group", "", "", "c"),
            CpAsyncWaitGroup: (70, "async wait_all", "", "", ""),
            CpAsyncMbarrierArrive: (70, "async mbarrier", "arrive noinc shared shared::cta", "b64", "m"),
            CpAsync: (70, "async", "ca cg shared shared::cta global L2::cache_hint @prefetch", "",
                "m m c p? s? | m m c s s?"),
        ]
        Createpolicy "createpolicy" { by lower_createpolicy } [
            (74, "range", "global @policy", "b64", "d m s s"),
            (74, "fractional", "@policy", "b64", "d s?"),
            (74, "cvt", "L2", "b64", "d s"),
        ]
        Cvt "cvt" { by lower_cvt } [
            (65, "pack", "sat", "u2 s2 u4 s4 u8 s8 u16 s16 s32 b32", "d s s s?"),
            (10, "", "@round rna rs rni rzi rmi rpi ftz sat satfinite relu", "@int u8 s8 f32 f64 @half tf32 @narrow",
                "d v v? s?"),
        ]
        Cvta "cvta" { by lower_cvta, types: 1 } [
            (20, "", "to const global local @shared param param::entry", "u32 u64", "d s"),
        ]
        Discard "discard" { nothing } [(74, "", "global L2", "", "m s")]
        Div "div" { function Div(accuracy) T <- T T } [(10, "", "@round approx full ftz", "@int f32 f64", "d s s")]
        Dp2a "dp2a" { by lower_dp2a, types: 2 } [(50, "", "lo hi", "u32 s32", "d s s s")]
        Dp4a "dp4a" { by lower_dp4a, types: 2 } [(50, "", "", "u32 s32", "d s s s")]
        Elect "elect" { by lower_elect } [(80, "", "sync", "", "q s")]
        Ex2 "ex2" { function Ex2(approximation) T <- T } [(10, "", "approx ftz", "f32 @half", "d s")]
        Exit "exit" { by lower_end(Operation::Exit, End::Exit) } [(10, "", "", "", "")]
        Fabric "fabric" { none } lacks Other "several GPUs" [
            (93, "",
                "submit wait commit_group try_get try_put try_red try_atom try_pullred async multimem tensor @dim \
                 tile @shared mbarrier::complete_tx::bytes mbarrier::complete_tx::16B @report counted::bytes \
                 cp_mask L2::cache_hint @override op_restrict::fetching sync_restrict::read sync_restrict::reads \
                 @order @scope @atomic exch cas acc::f32 noftz sync", "b32 b64 b128 u32 u64 s32 s64 f32 f64 @half?",
                "..."),
        ]
        Fence "fence" { by lower_fence } [
            (60, "proxy",
                "alias async async::global async::shared::cta async::shared::cluster async::generic \
                 tensormap::generic tensormap generic global shared::cta shared::cluster fabric::fabric \
                 fabric::generic generic::fabric proxy::readonly acquire release @scope sync_restrict::shared::cta \
                 sync_restrict::shared::cluster sync_restrict::shared::cluster::read", "", "m s |"),
            (60, "",
                "sc @order @scope mbarrier_init alias op_restrict sync_restrict::shared::cta \
                 sync_restrict::shared::cluster sync_restrict::read", "", ""),
        ]
        Fma "fma" { by lower_fma, types: 2 } [(20, "", "@round ftz sat relu oob", "f32 f32x2 f64 @half", "d s s s")]
        Fns "fns" { Fns T <- T T S32 } [(60, "", "", "b32", "d s s s")]
        Getctarank "getctarank" { by lower_getctarank } lacks Other "clusters" [(78, "", "shared::cluster", "u32 u64", "d s")]
        Griddepcontrol "griddepcontrol" { nothing } [(78, "", "launch_dependents wait", "", "")]
        Isspacep "isspacep" { by lower_isspacep } [(20, "", "const global local @shared param param::entry", "", "d s")]
        Istypep "istypep" { by lower_istypep } [
            (40, "", "", "texref samplerref surfref", "d s"),
        ]
        Ld "ld" { by lower_load, types: 1 } [
            (10, "",
                "weak volatile relaxed acquire mmio @scope @load_space @constant_bank ca cg cs lu cv nc @evict \
                 @prefetch L2::cache_hint unified v2 v4 v8", "@memory", "v m s?"),
        ]
        Ldmatrix "ldmatrix" { by lower_ldmatrix } lacks Memory "tensor cores" [
            (65, "", "sync aligned m8n8 m8n16 m16n16 x1 x2 x4 trans shared shared::cta",
                "b16 b8 b8x16 b6x16_p32 b4x16_p64", "v m"),
        ]
        Ldu "ldu" { by lower_load, types: 1 } [(20, "", "global v2 v4", "@memory", "v m")]
        Lg2 "lg2" { function Lg2(approximation) T <- T } [(10, "", "approx ftz", "f32", "d s")]
        Lop3 "lop3" { by lower_lop3, types: 1 } [(43, "", "or and", "b32", "q s s s c p?")]
        Mad "mad" { by lower_multiply_add, types: 1 } [
            (10, "", "hi lo wide sat cc ftz @round", "@int f32 f64", "d s s s"),
        ]
        Mad24 "mad24" { by lower_mad24, types: 1 } [(10, "", "hi lo sat", "u32 s32", "d s s s")]
        Madc "madc" { by lower_multiply_add, types: 1 } [(30, "", "hi lo cc", "u32 s32 u64 s64", "d s s s")]
        Mapa "mapa" { by lower_mapa } lacks Other "clusters" [(78, "", "shared::cluster", "u32 u64", "d s s")]
        Match "match" { by lower_match, types: 1 } [(60, "", "any all sync", "b32 b64", "q s s")]
        Max "max" { by lower_extremum(Operation::Max), types: 1 } [
            (10, "", "ftz NaN xorsign abs relu", "@int u16x2 s16x2 u8x4 s8x4 f32 f64 @half", "d s s s?"),
        ]
        Mbarrier "mbarrier" { by lower_mbarrier } lacks Barrier "asynchronous copies" [
            MbarrierInit: (70, "init", "shared shared::cta layout::v0 layout::v1", "b64", "m s"),
            MbarrierInval: (70, "inval", "shared shared::cta", "b64", "m"),
            MbarrierCheckLayout: (93, "check_layout", "layout::v0 layout::v1 shared shared::cta", "b64", "d m"),
            MbarrierPendingCount: (70, "pending_count", "", "b64", "d s"),
            MbarrierArrive: (70, "arrive", "expect_tx noComplete @order @scope @shared @multicast", "b64",
                "d m s? s? | m s?"),
            MbarrierArriveDrop: (70, "arrive_drop", "expect_tx noComplete @order @scope @shared @multicast", "b64",
                "d m s? s? | m s?"),
            MbarrierTestWait: (71, "test_wait",
                "parity @order @scope @shared phase_type::primary phase_type::conditional", "b64",
                "q m s s? | q s m s s?"),
            MbarrierTryWait: (78, "try_wait",
                "parity @order @scope @shared phase_type::primary phase_type::conditional", "b64",
                "q m s s? | q s m s s?"),
            MbarrierExpectTx: (80, "expect_tx", "@order @scope @shared @multicast", "b64", "m s s?"),
            MbarrierCompleteTx: (80, "complete_tx", "@order @scope @shared @multicast", "b64", "m s s?"),
        ]
        Membar "membar" { by lower_fence } [
            (75, "proxy", "alias async async::global tensormap global @shared", "", ""),
            (14, "", "cta gl sys", "", ""),
        ]
        Min "min" { by lower_extremum(Operation::Min), types: 1 } [
            (10, "", "ftz NaN xorsign abs relu", "@int u16x2 s16x2 u8x4 s8x4 f32 f64 @half", "d s s s?"),
        ]
        Mma "mma" { by lower_mma } lacks Tensor "tensor cores" [
            (87, "block_scale",
                "sp::ordered_metadata sync aligned row col m16n8k32 m16n8k64 m16n8k128 @scaled_kind scale_vec::1X \
                 scale_vec::2X scale_vec::4X", "f32 e4m3 e5m2 e3m2 e2m3 e2m1 ue8m0 ue4m3",
                "v v v v s v s v | v v v v s s s v s v"),
            MmaSp: (71, "sp", "sync aligned row col @mma_sparse_shape satfinite",
                "f16 bf16 tf32 f32 s8 u8 s4 u4 s32 e4m3 e5m2", "v v v v s s"),
            MmaSp: (85, "sp::ordered_metadata", "sync aligned row col @mma_sparse_shape satfinite kind::f8f6f4",
                "@mma_sparse_type", "v v v v s s"),
            (64, "", "sync aligned row col @mma_shape satfinite and xor popc kind::f8f6f4 @round", "@mma_type",
                "v v v v"),
        ]
        Mov "mov" { by lower_mov, types: 1 } [(10, "", "v2 v4 v8", "pred @bits b128 @int f32 f64", "v v")]
        Movmatrix "movmatrix" { Movmatrix B32 <- B32 } [(78, "", "sync aligned m8n8 trans", "b16", "d s")]
        Mul "mul" { by lower_product, types: 1 } [
            (10, "", "hi lo wide @round ftz sat", "@int f32 f32x2 f64 @half", "d s s"),
        ]
        Mul24 "mul24" { by lower_mul24, types: 1 } [(10, "", "hi lo", "u32 s32", "d s s")]
        Multimem "multimem" { none } lacks Memory "several GPUs" [
            (93, "st async", "@order @scope global v2 v4 mbarrier::complete_tx::bytes @report", "@reducible", "..."),
            (93, "red async", "@order @scope global v2 v4 @reduction mbarrier::complete_tx::bytes @report",
                "@reducible", "..."),
            (92, "cp async bulk",
                "reduce global shared::cta bulk_group @reduction noftz L2::cache_hint cp_mask acc::f32", "@reducible?",
                "m m s s? s?"),
            (81, "ld_reduce", "weak @order @scope global @reduction acc::f32 acc::f16 v2 v4 v8", "@reducible", "v m"),
            (81, "st", "weak @order @scope global v2 v4 v8", "@reducible", "m v"),
            (81, "red", "weak @order @scope global @reduction v2 v4 v8", "@reducible", "m v"),
        ]
        Nanosleep "nanosleep" { nothing } [(63, "", "", "u32", "s")]
        Neg "neg" { Neg(subnormals) T <- T } [(10, "", "ftz", "s16 s32 s64 s8x4 f32 f64 @half", "d s")]
        Not "not" { Not T <- T } [(10, "", "", "pred @bits", "d s")]
        Or "or" { Or T <- T T } [(10, "", "", "pred @bits", "d s s")]
        Pmevent "pmevent" { nothing } [(14, "", "mask", "", "c")]
        Popc "popc" { Popc U32 <- T } [(20, "", "", "b32 b64", "d s")]
        Prefetch "prefetch" { by lower_prefetch } [
            (20, "",
                "global local const param param::entry generic L1 L2 L2::evict_last L2::evict_normal L1::32B \
                 valid_addr tensormap", "", "m"),
        ]
        Prefetchu "prefetchu" { by lower_prefetch } [(20, "", "L1", "", "m")]
        Prmt "prmt" { Prmt(prmt_mode) T <- T T T } [(20, "", "f4e b4e rc8 ecl ecr rc16", "b32", "d s s s")]
        Rcp "rcp" { function Rcp(accuracy) T <- T } [(10, "", "@round approx ftz", "f32 f64", "d s")]
        Red "red" { by lower_atomic(Operation::Red), types: 1 } lacks Other "asynchronous copies" [
            RedAsync: (81, "async", "mmio @order @scope @space3 mbarrier::complete_tx::bytes @reduction",
                "b32 u32 s32 u64 s64", "m s m?"),
            (12, "", "@order @scope @space3 @atomic noftz L2::cache_hint v2 v4 v8",
                "b32 b64 u32 u64 s32 s64 f32 f64 @half", "m v s?"),
        ]
        Redux "redux" { by lower_redux, types: 1 } [
            (70, "", "sync add min max and or xor abs NaN", "u32 s32 b32 f32", "d s s"),
        ]
        Rem "rem" { Rem T <- T T } [(10, "", "", "@int", "d s s")]
        Ret "ret" { by lower_end(Operation::Ret, End::Return) } [(10, "", "uni", "", "")]
        Rsqrt "rsqrt" { function Rsqrt(approximation) T <- T } [(10, "", "approx ftz", "f32 f64", "d s")]
        Sad "sad" { Sad T <- T T T } [(10, "", "", "@int", "d s s s")]
        Selp "selp" { Selp T <- T T Pred } [(10, "", "", "@bits @int f32 f64", "d s s p")]
        Set "set" { by lower_set, types: 2 } [
            (10, "", "@compare and or xor ftz", "@bits @int f32 f64 @half", "d s s p?"),
        ]
        Setmaxnreg "setmaxnreg" { nothing } [(80, "", "inc dec sync aligned", "u32", "c")]
        Setp "setp" { by lower_setp, types: 1 } [
            (10, "", "@compare and or xor ftz", "@bits @int f32 f64 @half", "q s s p?"),
        ]
        Shf "shf" { Shf(funnel_shift) T <- T T U32 } [(31, "", "l r clamp wrap", "b32", "d s s s")]
        Shfl "shfl" { by lower_shuffle, types: 1 } [
            (60, "sync", "up down bfly idx", "b32", "q s s s s"),
            (30, "", "up down bfly idx", "b32", "q s s s"),
        ]
        Shl "shl" { Shl T <- T U32 } [(10, "", "", "@bits", "d s s")]
        Shr "shr" { Shr T <- T U32 } [(10, "", "", "@bits @int", "d s s")]
        Sin "sin" { function Sin(approximation) T <- T } [(10, "", "approx ftz 2pi", "f32", "d s")]
        Slct "slct" { by lower_slct, types: 2 } [(10, "", "ftz", "@bits @int f32 f64", "d s s s")]
        Sqrt "sqrt" { function Sqrt(accuracy) T <- T } [(10, "", "@round approx ftz", "f32 f64", "d s")]
        St "st" { by lower_store, types: 1 } lacks Other "asynchronous copies" [
            StAsync: (81, "async", "weak mmio @order @scope shared::cluster global mbarrier::complete_tx::bytes v2 v4",
                "@memory", "m v m?"),
            StBulk: (86, "bulk", "weak shared::cta", "", "m s s"),
            (10, "",
                "weak volatile relaxed release mmio @scope @load_space wb cg cs wt @evict L2::cache_hint unified v2 \
                 v4 v8", "@memory", "m v s?"),
        ]
        Stackrestore "stackrestore" { by lower_stackrestore } [(73, "", "", "u32 u64", "s")]
        Stacksave "stacksave" { StackSave T <- } [(73, "", "", "u32 u64", "d")]
        Stmatrix "stmatrix" { by lower_stmatrix } lacks Memory "tensor cores" [
            (78, "", "sync aligned m8n8 m16n8 x1 x2 x4 trans shared shared::cta", "b16 b8", "m v"),
        ]
        Sub "sub" { by lower_sum(Operation::Sub), types: 2 } [
            (10, "", "@round ftz sat cc", "@int u8x4 s8x4 f32 f32x2 f64 @half", "d s s"),
        ]
        Subc "subc" { by lower_sum(Operation::Sub), types: 1 } [(12, "", "cc", "u32 s32 u64 s64", "d s s")]
        Suld "suld" { by lower_surface_load, types: 1 } [
            (15, "", "b p @geometry ca cg cs cv v2 v4 trap clamp zero", "b8 b16 b32 b64 u32 s32 f32", "v m"),
        ]
        Suq "suq" { by lower_object_query(OpaqueType::Surface) } [(15, "", "@query", "b32", "d m")]
        Sured "sured" { by lower_surface_reduction, types: 1 } [
            (30, "", "b p add min max and or @geometry trap clamp zero", "u32 u64 s32 s64 b32 b64", "m s"),
        ]
        Sust "sust" { by lower_surface_store, types: 1 } [
            (15, "", "b p @geometry wb cg cs wt v2 v4 trap clamp zero", "b8 b16 b32 b64 u32 s32 f32", "m v"),
        ]
        Szext "szext" { Szext(shift_mode) T <- T U32 } [(76, "", "clamp wrap", "u32 s32", "d s s")]
        Tanh "tanh" { function Tanh(approximation) T <- T } [(70, "", "approx", "f32 @half", "d s")]
        Tcgen05 "tcgen05" { none } lacks Tensor "tensor cores" [
            Tcgen05Alloc: (86, "alloc", "exclusive cta_group::1 cta_group::2 sync aligned shared::cta", "b32", "m s"),
            Tcgen05Dealloc: (86, "dealloc", "exclusive cta_group::1 cta_group::2 sync aligned", "b32", "s s"),
            Tcgen05RelinquishAllocPermit: (86, "relinquish_alloc_permit", "cta_group::1 cta_group::2 sync aligned", "",
                ""),
            Tcgen05Ld: (86, "ld red", "sync aligned @tmem_shape @repeat min max abs NaN spcompress sp::2:4",
                "f32 u32 s32 b2 b4 b8 b16 b32", "..."),
            Tcgen05Ld: (93, "ld spcompress", "sync aligned @tmem_shape @repeat min max abs NaN sp::2:4 pack::16b",
                "f32 u32 s32 b2 b4 b8 b16 b32", "..."),
            Tcgen05Ld: (86, "ld", "sync aligned @tmem_shape @repeat pack::16b", "b32", "v m c?"),
            Tcgen05St: (86, "st", "sync aligned @tmem_shape @repeat unpack::16b", "b32", "m v | m c v"),
            Tcgen05Wait: (86, "wait::ld", "sync aligned", "", ""),
            Tcgen05Wait: (86, "wait::st", "sync aligned", "", ""),
            Tcgen05Cp: (86, "cp",
                "cta_group::1 cta_group::2 128x256b 4x256b 128x128b 64x128b 32x128b warpx2::02_13 warpx2::01_23 \
                 warpx4 b8x16 b6x16_p32 b4x16_p64 sync_restrict::shared::read::mma::a", "", "m s"),
            Tcgen05Shift: (86, "shift", "cta_group::1 cta_group::2 down", "", "m"),
            Tcgen05Commit: (86, "commit",
                "cta_group::1 cta_group::2 mbarrier::arrive::one shared::cluster @multicast \
                 sync_restrict::shared::read::mma::a", "b64", "m s?"),
            Tcgen05Fence: (86, "fence::before_thread_sync", "", "", ""),
            Tcgen05Fence: (86, "fence::after_thread_sync", "", "", ""),
            Tcgen05Mma: (86, "mma",
                "sp ws cta_group::1 cta_group::2 @kind block_scale scale_vec::1X scale_vec::2X scale_vec::4X \
                 block16 block32 @collector ashift", "", "m * s * * *? *? *? *?"),
        ]
        Tensormap "tensormap" { by lower_tensormap } lacks Other "asynchronous copies" [
            TensormapCpFenceproxy: (83, "cp_fenceproxy",
                "global shared::cta tensormap::generic release @scope sync aligned", "", "m m s"),
            TensormapReplace: (83, "replace",
                "tile global_address rank box_dim global_dim global_stride element_stride elemtype \
                 interleave_layout swizzle_mode swizzle_atomicity fill_mode global shared::cta", "b1024 b32 b64",
                "m s s?"),
        ]
        Testp "testp" { by lower_testp, types: 1 } [
            (20, "", "finite infinite number notanumber normal subnormal", "f32 f64", "d s"),
        ]
        Tex "tex" { by lower_texture, types: 2 } lacks Memory "textures and surfaces" [
            (10, "", "level grad base @geometry v2 v4", "u32 s32 f16 f16x2 f32", "t m v? v? v? s?"),
        ]
        Tld4 "tld4" { by lower_gather, types: 2 } lacks Memory "textures and surfaces" [
            (22, "", "r g b a @geometry v2 v4", "u32 s32 f16 f32", "t m v? s?"),
        ]
        Trap "trap" { by lower_end(Operation::Trap, End::Exit) } [(10, "", "", "", "")]
        Txq "txq" { by lower_object_query(OpaqueType::Texture) } [
            (15, "",
                "@query level num_mipmap_levels num_samples force_unnormalized_coords filter_mode addr_mode_0 \
                 addr_mode_1 addr_mode_2", "b32", "d m s?"),
        ]
        Vabsdiff "vabsdiff" { by lower_video(Primary::AbsoluteDifference, 1) } [
            (20, "", "sat add min max", "u32 s32", "d s s s?"),
        ]
        Vabsdiff2 "vabsdiff2" { by lower_video(Primary::AbsoluteDifference, 2) } [
            (30, "", "sat add", "u32 s32", "d s s s?"),
        ]
        Vabsdiff4 "vabsdiff4" { by lower_video(Primary::AbsoluteDifference, 4) } [
            (30, "", "sat add", "u32 s32", "d s s s?"),
        ]
        Vadd "vadd" { by lower_video(Primary::ADD, 1) } [(20, "", "sat add min max", "u32 s32", "d s s s?")]
        Vadd2 "vadd2" { by lower_video(Primary::ADD, 2) } [(30, "", "sat add", "u32 s32", "d s s s?")]
        Vadd4 "vadd4" { by lower_video(Primary::ADD, 4) } [(30, "", "sat add", "u32 s32", "d s s s?")]
        Vavrg2 "vavrg2" { by lower_video(Primary::Average, 2) } [(30, "", "sat add", "u32 s32", "d s s s?")]
        Vavrg4 "vavrg4" { by lower_video(Primary::Average, 4) } [(30, "", "sat add", "u32 s32", "d s s s?")]
        Vmad "vmad" { by lower_vmad } [(20, "", "po sat shr7 shr15", "u32 s32", "d s s s")]
        Vmax "vmax" { by lower_video(Primary::MAX, 1) } [(20, "", "sat add min max", "u32 s32", "d s s s?")]
        Vmax2 "vmax2" { by lower_video(Primary::MAX, 2) } [(30, "", "sat add", "u32 s32", "d s s s?")]
        Vmax4 "vmax4" { by lower_video(Primary::MAX, 4) } [(30, "", "sat add", "u32 s32", "d s s s?")]
        Vmin "vmin" { by lower_video(Primary::MIN, 1) } [(20, "", "sat add min max", "u32 s32", "d s s s?")]
        Vmin2 "vmin2" { by lower_video(Primary::MIN, 2) } [(30, "", "sat add", "u32 s32", "d s s s?")]
        Vmin4 "vmin4" { by lower_video(Primary::MIN, 4) } [(30, "", "sat add", "u32 s32", "d s s s?")]
        Vote "vote" { by lower_vote } [
            (60, "sync", "all any uni ballot", "pred b32", "d p s"),
            (12, "", "all any uni ballot", "pred b32", "d p"),
        ]
        Vset "vset" { by lower_video(Primary::Set, 1) } [
            (20, "", "eq ne lt le gt ge add min max", "u32 s32", "d s s s?"),
        ]
        Vset2 "vset2" { by lower_video(Primary::Set, 2) } [(30, "", "eq ne lt le gt ge add", "u32 s32", "d s s s?")]
        Vset4 "vset4" { by lower_video(Primary::Set, 4) } [(30, "", "eq ne lt le gt ge add", "u32 s32", "d s s s?")]
        Vshl "vshl" { by lower_video(Primary::Shift(Operation::Shl), 1) } [
            (20, "", "sat clamp wrap add min max", "u32 s32", "d s s s?"),
        ]
        Vshr "vshr" { by lower_video(Primary::Shift(Operation::Shr), 1) } [
            (20, "", "sat clamp wrap add min max", "u32 s32", "d s s s?"),
        ]
        Vsub "vsub" { by lower_video(Primary::SUB, 1) } [(20, "", "sat add min max", "u32 s32", "d s s s?")]
        Vsub2 "vsub2" { by lower_video(Primary::SUB, 2) } [(30, "", "sat add", "u32 s32", "d s s s?")]
        Vsub4 "vsub4" { by lower_video(Primary::SUB, 4) } [(30, "", "sat add", "u32 s32", "d s s s?")]
        Wgmma "wgmma" { by lower_wgmma } lacks Tensor "tensor cores" [
            WgmmaFence: (80, "fence", "sync aligned", "", ""),
            WgmmaCommitGroup: (80, "commit_group", "sync aligned", "", ""),
            WgmmaWaitGroup: (80, "wait_group", "sync aligned", "", "c"),
            WgmmaMmaAsyncSp: (82, "mma_async sp", "sync aligned @wgmma_shape satfinite", "@wgmma_sparse_type",
                "v v s s s p s? s? s? s?"),
            WgmmaMmaAsync: (80, "mma_async", "sync aligned @wgmma_shape satfinite and popc", "@wgmma_type",
                "v v s p s? s? s? s?"),
        ]
        Wmma "wmma" { by lower_wmma } lacks Tensor "tensor cores" [
            WmmaLoad: (60, "load", "a b c sync aligned row col @wmma_shape global shared shared::cta", "@wmma_type",
                "v m s?"),
            WmmaStore: (60, "store", "d sync aligned row col @wmma_shape global shared shared::cta", "f16 f32 f64 s32",
                "m v s?"),
            WmmaMma: (60, "mma", "sync aligned row col @wmma_shape satfinite and xor popc @round", "@wmma_type",
                "v v v v"),
        ]
        Xor "xor" { Xor T <- T T } [(10, "", "", "pred @bits", "d s s")]
    } };
}
pub(crate) use with_opcodes;

macro_rules! opcodes {
    ($($id:ident $name:literal { $($lowering:tt)* } $(lacks $class:ident $reason:literal)?
        [$($($family:ident:)? ($($form:tt)*)),* $(,)?])*) => {
        /// A base opcode: what stands before the first dot of an instruction.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Opcode {
            $(#[doc = concat!("`", $name, "`")] $id,)*
            /// Not an opcode of the language; its text is in `Instruction::unknown`.
            Unknown,
        }

        impl Opcode {
            /// Every opcode but [`Opcode::Unknown`], in declaration order.
            pub const ALL: &'static [Opcode] = &[$(Opcode::$id,)*];

            /// What those forms are for that the emulator does not execute.
            pub fn purpose_of_lacking(self) -> &'static str {
                match self {
                    $(Opcode::$id => purpose!($($reason)?),)*
                    Opcode::Unknown => "other",
                }
            }
        }

        const NAMES: &[&str] = &[$($name,)* "?"];

        /// Forms of each opcode, in declaration order.
        static FORMS: &[&[FormText]] = &[$(&[$(FormText::new(family!($id $($family)?), ($($form)*)),)*],)*];

        /// What the forms are, all in one list.
        const FAMILIES: &[Family] = &[$($(family!($id $($family)?),)*)*];
    };
}

/// What a form is: called like its opcode unless it says otherwise.
macro_rules! family {
    ($id:ident) => {
        Family::$id
    };
    ($id:ident $family:ident) => {
        Family::$family
    };
}

macro_rules! purpose {
    () => {
        "other"
    };
    ($purpose:literal) => {
        $purpose
    };
}

with_opcodes!(opcodes);

/// Every family but the unknown one is written somehow.
const _: () = {
    let mut written = [false; Family::ALL.len()];
    let mut at = 0;
    while at < FAMILIES.len() {
        written[FAMILIES[at] as usize] = true;
        at += 1;
    }
    let mut family = 0;
    while family < written.len() {
        assert!(written[family] || family == Family::Unknown as usize, "no form of the opcode table is of a family");
        family += 1;
    }
};

impl Opcode {
    /// The mnemonic; `?` for [`Opcode::Unknown`].
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// The opcode of a mnemonic.
    pub fn from_name(name: &str) -> Option<Opcode> {
        OPCODES.get(name.as_bytes()).map(|index| Opcode::ALL[usize::from(index)])
    }
}

static OPCODES: KeywordMap<1024> = KeywordMap::new(NAMES, Opcode::ALL.len());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mnemonics_are_sorted_and_found() {
        let mut sorted = NAMES[..Opcode::ALL.len()].to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), Opcode::ALL.len());
        for opcode in Opcode::ALL {
            assert_eq!(Opcode::from_name(opcode.name()), Some(*opcode));
        }
        assert_eq!(Opcode::from_name("?"), None);
        assert_eq!(Opcode::from_name("addd"), None);
    }
}
