//! Names that follow an opcode after a dot: types, state spaces, rounding, cache operators and all the rest.
//!
//! Every name is interned once as a [`Modifier`], so that an instruction carries small integers and the lowering
//! matches on them. Types come first and share their numbers with [`Type`].

use super::KeywordMap;

/// Declares [`Modifier`], [`Type`] and their names from one list.
macro_rules! modifiers {
    (types { $($type_id:ident $type_name:literal,)* } others { $($id:ident $name:literal,)* }) => {
        /// A scalar or packed type of the language.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u16)]
        #[allow(missing_docs)]
        pub enum Type { $($type_id,)* }

        impl Type {
            /// Every type, in declaration order.
            pub const ALL: &'static [Type] = &[$(Type::$type_id,)*];
        }

        /// One name after a dot of an instruction.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u16)]
        #[allow(missing_docs)]
        pub enum Modifier {
            $($type_id,)*
            $($id,)*
            /// A name that the language does not have; its text is in
            /// [`Instruction::unknown`](super::ast::Instruction::unknown).
            Unknown,
        }

        impl Modifier {
            /// Every modifier but [`Modifier::Unknown`], in declaration order.
            pub const ALL: &'static [Modifier] = &[$(Modifier::$type_id,)* $(Modifier::$id,)*];
        }

        const NAMES: &[&str] = &[$($type_name,)* $($name,)* "?"];
    };
}

modifiers! {
    types {
        // Scalar and packed types; their order is the order of [`Type`].
        B1 "b1", B2 "b2", B4 "b4", B8 "b8", B16 "b16", B32 "b32", B64 "b64", B128 "b128", B1024 "b1024", U2 "u2",
        U4 "u4", U8 "u8", U16 "u16", U32 "u32", U64 "u64", U16x2 "u16x2", U8x4 "u8x4", S2 "s2", S4 "s4", S8 "s8",
        S16 "s16", S32 "s32", S64 "s64", S16x2 "s16x2", S8x4 "s8x4", F16 "f16", F16x2 "f16x2", F32 "f32",
        F32x2 "f32x2", F64 "f64", Bf16 "bf16", Bf16x2 "bf16x2", Tf32 "tf32", Pred "pred", E4m3 "e4m3", E5m2 "e5m2",
        E3m4 "e3m4", E2m3 "e2m3", E3m2 "e3m2", E2m1 "e2m1", E0m3 "e0m3", E4m3x2 "e4m3x2", E5m2x2 "e5m2x2",
        E3m4x2 "e3m4x2", E2m3x2 "e2m3x2", E3m2x2 "e3m2x2", E2m1x2 "e2m1x2", E0m3x2 "e0m3x2", E4m3x4 "e4m3x4",
        E5m2x4 "e5m2x4", E3m4x4 "e3m4x4", E2m3x4 "e2m3x4", E3m2x4 "e3m2x4", E2m1x4 "e2m1x4", E0m3x4 "e0m3x4",
        Ue4m3 "ue4m3", Ue8m0 "ue8m0", Ue8m0x2 "ue8m0x2", Ue8m0x4 "ue8m0x4", Ue5m3x2 "ue5m3x2", S2m6 "s2m6",
        S2m6x2 "s2m6x2", S2f6x2 "s2f6x2", S32k2 "s32k2", B16x2 "b16x2", B8x16 "b8x16", B6x16P32 "b6x16_p32",
        B4x16P64 "b4x16_p64", Texref "texref", Samplerref "samplerref", Surfref "surfref",
    }
    others {
        // Vector widths.
        V2 "v2", V4 "v4", V8 "v8", V16 "v16",
        // State spaces, address spaces and what is converted to them.
        Reg "reg", Sreg "sreg", Const "const", Global "global", Local "local", Param "param", Shared "shared",
        ParamEntry "param::entry", ParamFunc "param::func", SharedCta "shared::cta", SharedCluster "shared::cluster",
        Clustershared "clustershared", Unified "unified", To "to", Generic "generic", ConstBank0 "const[0]",
        ConstBank1 "const[1]", ConstBank2 "const[2]", ConstBank3 "const[3]", ConstBank4 "const[4]",
        ConstBank5 "const[5]", ConstBank6 "const[6]", ConstBank7 "const[7]", ConstBank8 "const[8]",
        ConstBank9 "const[9]", ConstBank10 "const[10]",
        // Rounding.
        Rn "rn", Rna "rna", Rz "rz", Rm "rm", Rp "rp", Rs "rs", Rni "rni", Rzi "rzi", Rmi "rmi", Rpi "rpi",
        // Range and precision of arithmetic.
        Ftz "ftz", Noftz "noftz", Sat "sat", Satfinite "satfinite", Satnarrow "satnarrow", Relu "relu",
        Approx "approx", Full "full", Fused "fused", Finite "finite", Infinite "infinite", Normal "normal",
        Subnormal "subnormal", Number "number", Notanumber "notanumber", Abs "abs", Xorsign "xorsign", Hi "hi",
        Lo "lo", Wide "wide", Cc "cc", Po "po", Shiftamt "shiftamt", Clamp "clamp", Wrap "wrap", Left "l", Right "r",
        PropagateNan "NaN", AccF16 "acc::f16", AccF32 "acc::f32", Maxabs "maxabs", Safeadd "safeadd", Oob "oob",
        Reverse "reverse", TwoPi "2pi",
        // Comparison.
        Eq "eq", Ne "ne", Lt "lt", Le "le", Gt "gt", Ge "ge", Ls "ls", Hs "hs", Equ "equ", Neu "neu", Ltu "ltu",
        Leu "leu", Gtu "gtu", Geu "geu", Ordered "num", Unordered "nan",
        // Boolean and reduction operators.
        And "and", Or "or", Xor "xor", Not "not", Add "add", Sub "sub", Min "min", Max "max", Inc "inc", Dec "dec",
        Exch "exch", Cas "cas", Popc "popc", All "all", Any "any", Uni "uni", Ballot "ballot", Unanimous "unanimous",
        Div "div", Divide "divide",
        // Memory order, scope and visibility.
        Weak "weak", Relaxed "relaxed", Acquire "acquire", Release "release", AcqRel "acq_rel", Sc "sc",
        Volatile "volatile", Mmio "mmio", Cta "cta", Cluster "cluster", Gpu "gpu", Sys "sys", Gl "gl", Proxy "proxy",
        Alias "alias", Async "async", AsyncGlobal "async::global", AsyncSharedCta "async::shared::cta",
        AsyncSharedCluster "async::shared::cluster", AsyncGeneric "async::generic",
        AsyncGenericAcquire "async::generic::acquire", AsyncGenericRelease "async::generic::release",
        Tensormap "tensormap", TensormapGeneric "tensormap::generic", ProxyAsync "proxy::async",
        ProxyGeneric "proxy::generic", SyncRestrictSharedCta "sync_restrict::shared::cta",
        SyncRestrictSharedCluster "sync_restrict::shared::cluster", OpRestrict "op_restrict",
        MbarrierInit "mbarrier_init", Thread "thread", Warp "warp", Warpgroup "warpgroup",
        SyncRestrictSharedClusterRead "sync_restrict::shared::cluster::read",
        SyncRestrictSharedReadMmaA "sync_restrict::shared::read::mma::a",
        SyncRestrictProxyAsync "sync_restrict::proxy::async", SyncRestrictRead "sync_restrict::read",
        SyncRestrictReads "sync_restrict::reads", OpRestrictFetching "op_restrict::fetching",
        FabricFabric "fabric::fabric", FabricGeneric "fabric::generic", GenericFabric "generic::fabric",
        ProxyReadonly "proxy::readonly",
        // Caches.
        Ca "ca", Cg "cg", Cs "cs", Lu "lu", Cv "cv", Wb "wb", Wt "wt", Nc "nc", Coarse "coarse", L1 "L1", L2 "L2",
        L132B "L1::32B", ValidAddr "valid_addr", L1EvictNormal "L1::evict_normal",
        L1EvictUnchanged "L1::evict_unchanged", L1EvictFirst "L1::evict_first", L1EvictLast "L1::evict_last",
        L1NoAllocate "L1::no_allocate", L2EvictNormal "L2::evict_normal", L2EvictUnchanged "L2::evict_unchanged",
        L2EvictFirst "L2::evict_first", L2EvictLast "L2::evict_last", L2CacheHint "L2::cache_hint", L264B "L2::64B",
        L2128B "L2::128B", L2256B "L2::256B", Fractional "fractional", Range "range", Cvt "cvt",
        EvictNormal "evict_normal", EvictLast "evict_last", EvictFirst "evict_first",
        // Synchronisation.
        Sync "sync", Aligned "aligned", Arrive "arrive", Wait "wait", Red "red", Barrier "barrier",
        ArriveDrop "arrive_drop", Init "init", Inval "inval", ExpectTx "expect_tx", CompleteTx "complete_tx",
        TestWait "test_wait", TryWait "try_wait", Parity "parity", PendingCount "pending_count",
        NoComplete "noComplete", Mbarrier "mbarrier", MbarrierArriveOne "mbarrier::arrive::one",
        MbarrierCompleteTxBytes "mbarrier::complete_tx::bytes", MbarrierCompleteTx16B "mbarrier::complete_tx::16B",
        MbarrierMeetTxBytes "mbarrier::meet_tx::bytes", MbarrierReportDisabled "mbarrier::report::disabled",
        MbarrierReportFabric "mbarrier::report::fabric",
        MbarrierReportValidityPer16bytes8 "mbarrier::report::validity::per_16bytes::8",
        MbarrierReportValidityPer16bytes80 "mbarrier::report::validity::per_16bytes::80",
        MbarrierReportValidityPer16bytes8000 "mbarrier::report::validity::per_16bytes::8000",
        MbarrierReportValidityPer16bytes80000000 "mbarrier::report::validity::per_16bytes::80000000",
        MbarrierReportValidityPerElementFf "mbarrier::report::validity::per_element::ff", CheckLayout "check_layout",
        LayoutV0 "layout::v0", LayoutV1 "layout::v1", PhaseTypeConditional "phase_type::conditional",
        PhaseTypePrimary "phase_type::primary", Tx "tx", WaitAll "wait_all", WaitGroup "wait_group",
        CommitGroup "commit_group", Read "read", LaunchDependents "launch_dependents", Noinc "noinc",
        IsPhaseValid "is_phase_valid", Conv "conv",
        // Shuffle, match, permute.
        Up "up", Down "down", Bfly "bfly", Idx "idx", F4e "f4e", B4e "b4e", F8k4 "f8k4", H8k4 "h8k4", Rc8 "rc8",
        Rc16 "rc16", Ecl "ecl", Ecr "ecr",
        // Bulk and tensor copies.
        Bulk "bulk", BulkGroup "bulk_group", Tensor "tensor", Tile "tile", TileGather4 "tile::gather4",
        TileScatter4 "tile::scatter4", Im2col "im2col", Im2colW "im2col::w", Im2colW128 "im2col::w::128",
        Im2colNoOffs "im2col_no_offs", Gather4 "gather4", Scatter4 "scatter4", Multicast "multicast",
        MulticastCluster "multicast::cluster", MulticastClusterAll "multicast::cluster::all", CpMask "cp_mask",
        IgnoreOob "ignore_oob", CountedBytes "counted::bytes", OverrideGlobalAddress "override::global_address",
        OverrideGlobalDim "override::global_dim", OverrideGlobalDimStride "override::global_dim_stride",
        MulticastCluster32b "multicast::cluster::32b", Multimem "multimem", Prefetch "prefetch", Reduce "reduce",
        Store "store", Load "load", CpFenceproxy "cp_fenceproxy", Replace "replace", GlobalAddress "global_address",
        GlobalDim "global_dim", GlobalStride "global_stride", Rank "rank", BoxDim "box_dim",
        ElementStride "element_stride", Elemtype "elemtype", InterleaveLayout "interleave_layout",
        SwizzleMode "swizzle_mode", SwizzleAtomicity "swizzle_atomicity", FillMode "fill_mode",
        TryCancel "try_cancel", QueryCancel "query_cancel", IsCanceled "is_canceled",
        GetFirstCtaid "get_first_ctaid", GetFirstCtaidX "get_first_ctaid::x", GetFirstCtaidY "get_first_ctaid::y",
        GetFirstCtaidZ "get_first_ctaid::z", LdReduce "ld_reduce", Submit "submit", TryGet "try_get",
        TryPut "try_put", TryRed "try_red", TryAtom "try_atom", TryPullred "try_pullred",
        // Matrix.
        Row "row", Col "col", Trans "trans", Mma "mma", MmaAsync "mma_async", Sp "sp",
        SpOrderedMetadata "sp::ordered_metadata", Sp2Of4 "sp::2:4", A "a", B "b", C "c", D "d",
        BlockScale "block_scale", ScaleVec1X "scale_vec::1X", ScaleVec2X "scale_vec::2X", ScaleVec4X "scale_vec::4X",
        M8n8 "m8n8", M8n16 "m8n16", M8n32 "m8n32", M8n64 "m8n64", M16n8 "m16n8", M16n16 "m16n16", M8n8k4 "m8n8k4",
        M8n8k16 "m8n8k16", M8n8k32 "m8n8k32", M8n8k64 "m8n8k64", M8n8k128 "m8n8k128", M8n32k16 "m8n32k16",
        M16n8k4 "m16n8k4", M16n8k8 "m16n8k8", M16n8k16 "m16n8k16", M16n8k32 "m16n8k32", M16n8k64 "m16n8k64",
        M16n8k128 "m16n8k128", M16n8k256 "m16n8k256", M16n16k8 "m16n16k8", M16n16k16 "m16n16k16",
        M32n8k16 "m32n8k16", Fence "fence",
        // Fifth-generation tensor core.
        CtaGroup1 "cta_group::1", CtaGroup2 "cta_group::2", KindF16 "kind::f16", KindTf32 "kind::tf32",
        KindF8f6f4 "kind::f8f6f4", KindI8 "kind::i8", KindMxf8f6f4 "kind::mxf8f6f4", KindMxf4 "kind::mxf4",
        KindMxf4nvf4 "kind::mxf4nvf4", Alloc "alloc", Dealloc "dealloc",
        RelinquishAllocPermit "relinquish_alloc_permit", Ld "ld", St "st", Cp "cp", Shift "shift", Commit "commit",
        WaitLd "wait::ld", WaitSt "wait::st", Ws "ws", CollectorAFill "collector::a::fill",
        CollectorAUse "collector::a::use", CollectorALastuse "collector::a::lastuse",
        CollectorADiscard "collector::a::discard", CollectorB0Fill "collector::b0::fill",
        CollectorB0Use "collector::b0::use", CollectorB0Lastuse "collector::b0::lastuse",
        CollectorB0Discard "collector::b0::discard", CollectorB1Fill "collector::b1::fill",
        CollectorB1Use "collector::b1::use", CollectorB1Lastuse "collector::b1::lastuse",
        CollectorB1Discard "collector::b1::discard", CollectorB2Fill "collector::b2::fill",
        CollectorB2Use "collector::b2::use", CollectorB2Lastuse "collector::b2::lastuse",
        CollectorB2Discard "collector::b2::discard", CollectorB3Fill "collector::b3::fill",
        CollectorB3Use "collector::b3::use", CollectorB3Lastuse "collector::b3::lastuse",
        CollectorB3Discard "collector::b3::discard", Ashift "ashift", Block16 "block16", Block32 "block32",
        Spcompress "spcompress", Pack16b "pack::16b", Unpack16b "unpack::16b", Lanes16x64b "16x64b",
        Lanes16x128b "16x128b", Lanes16x256b "16x256b", Lanes32x32b "32x32b", Lanes16x32bx2 "16x32bx2",
        Lanes32x128b "32x128b", Lanes64x128b "64x128b", Lanes128x128b "128x128b", Lanes128x256b "128x256b",
        Lanes4x256b "4x256b", Warpx20213 "warpx2::02_13", Warpx20123 "warpx2::01_23", Warpx4 "warpx4",
        BeforeThreadSync "before_thread_sync", AfterThreadSync "after_thread_sync",
        FenceBeforeThreadSync "fence::before_thread_sync", FenceAfterThreadSync "fence::after_thread_sync",
        Guardrails "guardrails", IsCurrentWarpValidOwner "is_current_warp_valid_owner",
        AreColumnsAllocated "are_columns_allocated", InPhysicalBounds "in_physical_bounds",
        AllocationGranularity "allocation_granularity", DatapathAlignment "datapath_alignment",
        CheckSparseUsage "check_sparse_usage", SpConsistencyAcrossIdescMod "sp_consistency_across_idesc_mod",
        X1 "x1", X2 "x2", X4 "x4", X8 "x8", X16 "x16", X32 "x32", X64 "x64", X128 "x128",
        // Textures and surfaces.
        Dim1 "1d", Dim2 "2d", Dim3 "3d", Dim4 "4d", Dim5 "5d", Array1d "a1d", Array2d "a2d", Cube "cube",
        Acube "acube", Dim2ms "2dms", Array2dms "a2dms", Buffer1d "1d_buffer", Base "base", Level "level",
        Grad "grad", Tex "tex", Trap "trap", Zero "zero", P "p", Width "width", Height "height", Depth "depth",
        ChannelDataType "channel_data_type", ChannelOrder "channel_order", NormalizedCoords "normalized_coords",
        ForceUnnormalizedCoords "force_unnormalized_coords", FilterMode "filter_mode", AddrMode0 "addr_mode_0",
        AddrMode1 "addr_mode_1", AddrMode2 "addr_mode_2", ArraySize "array_size",
        NumMipmapLevels "num_mipmap_levels", NumSamples "num_samples", MemoryLayout "memory_layout", G "g",
        Footprint "footprint",
        // Video.
        Shr7 "shr7", Shr15 "shr15",
        // Accepted by name; the manual gives them no meaning or one of another row.
        Close "close", CommitBatch "commit_batch", Cta1 "cta1", Cta2 "cta2", Desc "desc", Dual "dual", Enaq "enaq",
        Exclusive "exclusive", Expand "expand", Fc "fc", Flush "flush", Frd "frd", Frel "frel", Inv "inv",
        Invall "invall", Keeprefcount "keeprefcount", Mask "mask", NoAtexit "no_atexit",
        NoMembermaskOverlap "no_membermask_overlap", O128 "o128", O4 "o4", One "one", Pack "pack",
        PackedOffsets "packed_offsets", Pair "pair", Quad "quad", Regoffset "regoffset", SelfTarget "self",
        Shl "shl", Shr "shr", S "s", TryAlloc "try_alloc", W "w", W128 "w128", Write "write",
        // Shapes of the warp-group matrix multiplication.
        M64n8k8 "m64n8k8", M64n16k8 "m64n16k8", M64n24k8 "m64n24k8", M64n32k8 "m64n32k8", M64n40k8 "m64n40k8",
        M64n48k8 "m64n48k8", M64n56k8 "m64n56k8", M64n64k8 "m64n64k8", M64n72k8 "m64n72k8", M64n80k8 "m64n80k8",
        M64n88k8 "m64n88k8", M64n96k8 "m64n96k8", M64n104k8 "m64n104k8", M64n112k8 "m64n112k8",
        M64n120k8 "m64n120k8", M64n128k8 "m64n128k8", M64n136k8 "m64n136k8", M64n144k8 "m64n144k8",
        M64n152k8 "m64n152k8", M64n160k8 "m64n160k8", M64n168k8 "m64n168k8", M64n176k8 "m64n176k8",
        M64n184k8 "m64n184k8", M64n192k8 "m64n192k8", M64n200k8 "m64n200k8", M64n208k8 "m64n208k8",
        M64n216k8 "m64n216k8", M64n224k8 "m64n224k8", M64n232k8 "m64n232k8", M64n240k8 "m64n240k8",
        M64n248k8 "m64n248k8", M64n256k8 "m64n256k8", M64n8k16 "m64n8k16", M64n16k16 "m64n16k16",
        M64n24k16 "m64n24k16", M64n32k16 "m64n32k16", M64n40k16 "m64n40k16", M64n48k16 "m64n48k16",
        M64n56k16 "m64n56k16", M64n64k16 "m64n64k16", M64n72k16 "m64n72k16", M64n80k16 "m64n80k16",
        M64n88k16 "m64n88k16", M64n96k16 "m64n96k16", M64n104k16 "m64n104k16", M64n112k16 "m64n112k16",
        M64n120k16 "m64n120k16", M64n128k16 "m64n128k16", M64n136k16 "m64n136k16", M64n144k16 "m64n144k16",
        M64n152k16 "m64n152k16", M64n160k16 "m64n160k16", M64n168k16 "m64n168k16", M64n176k16 "m64n176k16",
        M64n184k16 "m64n184k16", M64n192k16 "m64n192k16", M64n200k16 "m64n200k16", M64n208k16 "m64n208k16",
        M64n216k16 "m64n216k16", M64n224k16 "m64n224k16", M64n232k16 "m64n232k16", M64n240k16 "m64n240k16",
        M64n248k16 "m64n248k16", M64n256k16 "m64n256k16", M64n8k32 "m64n8k32", M64n16k32 "m64n16k32",
        M64n24k32 "m64n24k32", M64n32k32 "m64n32k32", M64n40k32 "m64n40k32", M64n48k32 "m64n48k32",
        M64n56k32 "m64n56k32", M64n64k32 "m64n64k32", M64n72k32 "m64n72k32", M64n80k32 "m64n80k32",
        M64n88k32 "m64n88k32", M64n96k32 "m64n96k32", M64n104k32 "m64n104k32", M64n112k32 "m64n112k32",
        M64n120k32 "m64n120k32", M64n128k32 "m64n128k32", M64n136k32 "m64n136k32", M64n144k32 "m64n144k32",
        M64n152k32 "m64n152k32", M64n160k32 "m64n160k32", M64n168k32 "m64n168k32", M64n176k32 "m64n176k32",
        M64n184k32 "m64n184k32", M64n192k32 "m64n192k32", M64n200k32 "m64n200k32", M64n208k32 "m64n208k32",
        M64n216k32 "m64n216k32", M64n224k32 "m64n224k32", M64n232k32 "m64n232k32", M64n240k32 "m64n240k32",
        M64n248k32 "m64n248k32", M64n256k32 "m64n256k32", M64n8k64 "m64n8k64", M64n16k64 "m64n16k64",
        M64n24k64 "m64n24k64", M64n32k64 "m64n32k64", M64n40k64 "m64n40k64", M64n48k64 "m64n48k64",
        M64n56k64 "m64n56k64", M64n64k64 "m64n64k64", M64n72k64 "m64n72k64", M64n80k64 "m64n80k64",
        M64n88k64 "m64n88k64", M64n96k64 "m64n96k64", M64n104k64 "m64n104k64", M64n112k64 "m64n112k64",
        M64n120k64 "m64n120k64", M64n128k64 "m64n128k64", M64n136k64 "m64n136k64", M64n144k64 "m64n144k64",
        M64n152k64 "m64n152k64", M64n160k64 "m64n160k64", M64n168k64 "m64n168k64", M64n176k64 "m64n176k64",
        M64n184k64 "m64n184k64", M64n192k64 "m64n192k64", M64n200k64 "m64n200k64", M64n208k64 "m64n208k64",
        M64n216k64 "m64n216k64", M64n224k64 "m64n224k64", M64n232k64 "m64n232k64", M64n240k64 "m64n240k64",
        M64n248k64 "m64n248k64", M64n256k64 "m64n256k64", M64n8k256 "m64n8k256", M64n16k256 "m64n16k256",
        M64n24k256 "m64n24k256", M64n32k256 "m64n32k256", M64n40k256 "m64n40k256", M64n48k256 "m64n48k256",
        M64n56k256 "m64n56k256", M64n64k256 "m64n64k256", M64n72k256 "m64n72k256", M64n80k256 "m64n80k256",
        M64n88k256 "m64n88k256", M64n96k256 "m64n96k256", M64n104k256 "m64n104k256", M64n112k256 "m64n112k256",
        M64n120k256 "m64n120k256", M64n128k256 "m64n128k256", M64n136k256 "m64n136k256", M64n144k256 "m64n144k256",
        M64n152k256 "m64n152k256", M64n160k256 "m64n160k256", M64n168k256 "m64n168k256", M64n176k256 "m64n176k256",
        M64n184k256 "m64n184k256", M64n192k256 "m64n192k256", M64n200k256 "m64n200k256", M64n208k256 "m64n208k256",
        M64n216k256 "m64n216k256", M64n224k256 "m64n224k256", M64n232k256 "m64n232k256", M64n240k256 "m64n240k256",
        M64n248k256 "m64n248k256", M64n256k256 "m64n256k256",
    }
}

impl Modifier {
    /// Number of distinct modifiers.
    pub const COUNT: usize = Modifier::ALL.len();

    /// The name without the dot; `?` for [`Modifier::Unknown`].
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// The modifier of a name without the dot.
    pub fn from_name(name: &str) -> Option<Modifier> {
        MODIFIERS.get(name.as_bytes()).map(|index| Modifier::ALL[usize::from(index)])
    }

    /// The type that the modifier names.
    pub fn as_type(self) -> Option<Type> {
        Type::ALL.get(self as usize).copied()
    }

    /// Rows, columns and depth of a matrix shape such as `m16n8k16`; `m8n8` has depth 0.
    pub fn shape(self) -> Option<[u16; 3]> {
        let (rows, rest) = self.name().strip_prefix('m')?.split_once('n')?;
        let (columns, depth) = rest.split_once('k').unwrap_or((rest, "0"));
        Some([rows.parse().ok()?, columns.parse().ok()?, depth.parse().ok()?])
    }
}

impl Type {
    /// The name without the dot.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// The type of a name without the dot.
    pub fn from_name(name: &str) -> Option<Type> {
        Modifier::from_name(name)?.as_type()
    }
}

impl From<Type> for Modifier {
    fn from(ty: Type) -> Self {
        Modifier::ALL[ty as usize]
    }
}

static MODIFIERS: KeywordMap<2048> = KeywordMap::new(NAMES, Modifier::COUNT);
