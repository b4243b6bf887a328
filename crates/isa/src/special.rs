//! Special registers.

/// Axis of a three-dimensional index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Axis {
    /// First, fastest.
    X,
    /// Second.
    Y,
    /// Third.
    Z,
}

macro_rules! special_registers {
    ($($(#[$meta:meta])* $name:ident $text:literal;)*) => {
        /// A register that the hardware fills (PTX ISA, section "Special Registers").
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum SpecialRegister {
            /// `%tid`
            Tid(Axis),
            /// `%ntid`
            Ntid(Axis),
            /// `%ctaid`
            Ctaid(Axis),
            /// `%nctaid`
            Nctaid(Axis),
            /// `%clusterid`
            Clusterid(Axis),
            /// `%nclusterid`
            Nclusterid(Axis),
            /// `%cluster_ctaid`
            ClusterCtaid(Axis),
            /// `%cluster_nctaid`
            ClusterNctaid(Axis),
            /// `%envreg0` to `%envreg31`
            Envreg(u8),
            /// `%pm0` to `%pm7`, `%pm0_64` to `%pm7_64`
            Pm(u8),
            $($(#[$meta])* $name,)*
        }

        const PLAIN: &[(&str, SpecialRegister)] = &[$(($text, SpecialRegister::$name),)*];
    };
}

special_registers! {
    /// `%laneid`
    Laneid "laneid";
    /// `%warpid`
    Warpid "warpid";
    /// `%nwarpid`
    Nwarpid "nwarpid";
    /// `%smid`
    Smid "smid";
    /// `%nsmid`
    Nsmid "nsmid";
    /// `%gridid`
    Gridid "gridid";
    /// `%cluster_ctarank`
    ClusterCtarank "cluster_ctarank";
    /// `%cluster_nctarank`
    ClusterNctarank "cluster_nctarank";
    /// `%is_explicit_cluster`
    IsExplicitCluster "is_explicit_cluster";
    /// `%lanemask_eq`
    LanemaskEq "lanemask_eq";
    /// `%lanemask_le`
    LanemaskLe "lanemask_le";
    /// `%lanemask_lt`
    LanemaskLt "lanemask_lt";
    /// `%lanemask_ge`
    LanemaskGe "lanemask_ge";
    /// `%lanemask_gt`
    LanemaskGt "lanemask_gt";
    /// `%clock`
    Clock "clock";
    /// `%clock_hi`
    ClockHi "clock_hi";
    /// `%clock64`
    Clock64 "clock64";
    /// `%globaltimer`
    Globaltimer "globaltimer";
    /// `%globaltimer_lo`
    GlobaltimerLo "globaltimer_lo";
    /// `%globaltimer_hi`
    GlobaltimerHi "globaltimer_hi";
    /// `%dynamic_smem_size`
    DynamicSmemSize "dynamic_smem_size";
    /// `%total_smem_size`
    TotalSmemSize "total_smem_size";
    /// `%aggr_smem_size`
    AggrSmemSize "aggr_smem_size";
    /// `%reserved_smem_offset_begin`
    ReservedSmemOffsetBegin "reserved_smem_offset_begin";
    /// `%reserved_smem_offset_end`
    ReservedSmemOffsetEnd "reserved_smem_offset_end";
    /// `%reserved_smem_offset_cap`
    ReservedSmemOffsetCap "reserved_smem_offset_cap";
    /// `%current_graph_exec`
    CurrentGraphExec "current_graph_exec";
}

impl SpecialRegister {
    /// The register called `name`, with its `%` and its component: `%tid.x`, `%laneid`. Without a component a
    /// three-dimensional register means its first (old PTX writes `%tid` so).
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.strip_prefix('%')?;
        let (base, axis) = match name.split_once('.') {
            Some((base, "x")) => (base, Axis::X),
            Some((base, "y")) => (base, Axis::Y),
            Some((base, "z")) => (base, Axis::Z),
            Some(_) => return None,
            None => (name, Axis::X),
        };
        let vector = match base {
            "tid" => Self::Tid(axis),
            "ntid" => Self::Ntid(axis),
            "ctaid" => Self::Ctaid(axis),
            "nctaid" => Self::Nctaid(axis),
            "clusterid" => Self::Clusterid(axis),
            "nclusterid" => Self::Nclusterid(axis),
            "cluster_ctaid" => Self::ClusterCtaid(axis),
            "cluster_nctaid" => Self::ClusterNctaid(axis),
            _ => return Self::scalar_from_name(name),
        };
        Some(vector)
    }

    fn scalar_from_name(name: &str) -> Option<Self> {
        if let Some(&(_, register)) = PLAIN.iter().find(|(text, _)| *text == name) {
            return Some(register);
        }
        let number = |digits: &str, limit: u8| digits.parse().ok().filter(|&number: &u8| number < limit);
        if let Some(digits) = name.strip_prefix("envreg") {
            return number(digits, 32).map(Self::Envreg);
        }
        let digits = name.strip_prefix("pm")?;
        number(digits.strip_suffix("_64").unwrap_or(digits), 8).map(Self::Pm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_resolve_with_and_without_component() {
        let cases = [
            ("%tid.y", Some(SpecialRegister::Tid(Axis::Y))),
            ("%ctaid", Some(SpecialRegister::Ctaid(Axis::X))),
            ("%laneid", Some(SpecialRegister::Laneid)),
            ("%envreg31", Some(SpecialRegister::Envreg(31))),
            ("%envreg32", None),
            ("%pm3_64", Some(SpecialRegister::Pm(3))),
            ("%tid.w", None),
            ("tid.x", None),
        ];
        for (name, expected) in cases {
            assert_eq!(SpecialRegister::from_name(name), expected, "{name}");
        }
    }
}
