//! Performance models: from a profile and a machine to a predicted time that explains itself.
//!
//! Main types: [`Model`], answered by every entry of [`MODELS`]; [`Prediction`], its one answer, with terms, quantities,
//! assumptions and the machine parameters read; [`Refusal`], its other answer, which names what is missing;
//! [`Options`], the named variants; [`Given`], numbers from a file in place of a profile.
//!
//! Reading order: [`workload`] (counts per warp), [`compute`] (cycles to issue them), [`residency`] (how many warps an
//! SM holds), [`mwp_cwp`] (the three cases that two models share), then the models [`hong_kim`], [`analyzer`],
//! [`luo_suda`], [`roofline`], [`speed_of_light`], the timing simulation [`teg`], and [`auto`], which chooses among them.
//!
//! Invariants: a prediction holds finite, non-negative numbers only and its terms make its time; no model reads a
//! machine parameter except through [`warplens_machine::Reader`], so every value carries its source; a missing value is
//! refused by name, never guessed.
//!
//! This crate does not know about PTX, files, the command line or how counts were gathered.

pub mod analyzer;
mod assumption;
pub mod auto;
pub mod compute;
mod demand;
mod given;
pub mod hong_kim;
mod knob;
pub mod luo_suda;
pub mod manual;
mod model;
pub mod mwp_cwp;
pub mod occupancy;
mod options;
mod prediction;
mod quantity;
mod recorded;
pub mod residency;
pub mod roofline;
pub mod scenario;
pub mod speed_of_light;
pub mod teg;
pub mod workload;
pub mod x_model;

pub use assumption::{Assumption, AssumptionId, of_ctas_alike, of_static_counts};
pub use auto::{Band, band};
pub use given::{BadInput, Given, InputField, Origin, check_given, point_name};
pub use knob::{Change, KnobSpec, Knobs};
pub use model::{Input, Model, Needs, Recording, find};
pub use options::{
    CacheHits, CachesBefore, CodeOrder, CountBasis, FermiL1, InWarp, LoadOrder, LuoSudaOptions, Merging, OptionId,
    Options, Reading, SpecialFunctions, UnknownOption, Waves,
};
pub use prediction::{Combine, Detail, Part, Prediction, Refusal, Resource, Term};
pub use quantity::{Quantity, Symbol, Unit};

model::models! {
    /// Lower bound of throughput.
    Roofline "roofline" = roofline::Roofline, auto 6;
    /// Bound that no execution beats.
    SpeedOfLight "speed-of-light" = speed_of_light::SpeedOfLight, auto 0;
    /// MWP-CWP.
    HongKim "hong-kim" = hong_kim::HongKim, auto 3;
    /// MPD-CPD.
    LuoSuda "luo-suda" = luo_suda::LuoSuda, auto 4;
    /// X-model.
    XModel "x-model" = x_model::XModel, auto 5;
    /// The transaction-based CUDA Performance Analyzer.
    Analyzer "analyzer" = analyzer::Analyzer, auto 2;
    /// The timing simulation.
    Teg "teg" = teg::Teg, auto 1;
}
