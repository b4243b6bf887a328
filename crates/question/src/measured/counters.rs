//! Counters of a profiler that stand beside a measured time, and what is counted here for each.

use warplens_machine::ComputeCapability;
use warplens_model::ModelId;
use warplens_session::predict::{GpuAnalysis, Symbol};
use warplens_session::profile::{BankRule, CoalescingRule, OpClass, Profile};

macro_rules! counters {
    ($($(#[doc = $about:literal])+ $name:ident = $column:literal;)*) => {
        /// A counter.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Counter {
            $($(#[doc = $about])+ $name,)*
        }

        impl Counter {
            /// Every counter.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Its column in tables.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $column,)* }
            }
        }
    };
}

counters! {
    /// Instructions of warps, of machine code.
    Instructions = "instructions";
    /// Operations of threads in single precision, special functions among them.
    ThreadFp32 = "thread_fp32";
    /// Requests of loads from device memory.
    GlobalLoads = "global_loads";
    /// Wavefronts of loads and stores of shared memory.
    SharedWavefronts = "shared_wavefronts";
    /// Bytes between the device memory and its caches, read and written.
    DramBytes = "dram_bytes";
}

impl Counter {
    /// What is counted for it; nothing where no answer holds it.
    pub fn of(self, profile: &Profile, cc: ComputeCapability, answers: &[&GpuAnalysis]) -> Option<f64> {
        let quantity = |model: ModelId, symbol| {
            let answers = answers.iter().flat_map(|analysis| &analysis.answers);
            let of_model = answers.filter(|answer| answer.model == model);
            of_model.filter_map(|answer| answer.result.as_ref().ok()).find_map(|prediction| prediction.quantity(symbol))
        };
        let operations = |class| 32.0 * profile.instructions.of_class(class) as f64;
        match self {
            Self::Instructions => quantity(ModelId::SpeedOfLight, Symbol::WarpInstructions),
            Self::ThreadFp32 => Some(operations(OpClass::Fp32) + operations(OpClass::Sfu)),
            Self::GlobalLoads => {
                let rule = CoalescingRule::of(u32::from(cc.major), u32::from(cc.minor));
                profile.global.get(&rule).map(|counts| counts.loads as f64)
            }
            Self::SharedWavefronts => {
                // Those of atomics are not among what profilers count of loads and stores.
                let counts = profile.shared.get(&BankRule::of(cc.major.into())).filter(|counts| counts.atomics == 0);
                counts.map(|counts| counts.wavefronts as f64)
            }
            Self::DramBytes => quantity(ModelId::Teg, Symbol::DramBytes),
        }
    }
}
