//! Special registers: read-only values that the hardware provides.

use super::ast::Type;

/// A special register by its name without components: `%tid.x` is [`SpecialRegister::Tid`] and component `x`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum SpecialRegister {
    Tid,
    Ntid,
    Laneid,
    Warpid,
    Nwarpid,
    Ctaid,
    Nctaid,
    Smid,
    Nsmid,
    Gridid,
    IsExplicitCluster,
    Clusterid,
    Nclusterid,
    ClusterCtaid,
    ClusterNctaid,
    ClusterCtarank,
    ClusterNctarank,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    Clock,
    ClockHi,
    Clock64,
    Globaltimer,
    GlobaltimerLo,
    GlobaltimerHi,
    ReservedSmemOffsetBegin,
    ReservedSmemOffsetEnd,
    ReservedSmemOffsetCap,
    TotalSmemSize,
    AggrSmemSize,
    DynamicSmemSize,
    CurrentGraphExec,
    /// `%pm0` to `%pm7`
    Pm(u8),
    /// `%pm0_64` to `%pm7_64`
    Pm64(u8),
    /// `%envreg0` to `%envreg31`
    Envreg(u8),
    /// `%reserved_smem_offset_0` and `_1`
    ReservedSmemOffset(u8),
}

const FIXED: &[(&str, SpecialRegister)] = {
    use SpecialRegister::*;
    &[
        ("tid", Tid),
        ("ntid", Ntid),
        ("laneid", Laneid),
        ("warpid", Warpid),
        ("nwarpid", Nwarpid),
        ("ctaid", Ctaid),
        ("nctaid", Nctaid),
        ("smid", Smid),
        ("nsmid", Nsmid),
        ("gridid", Gridid),
        ("is_explicit_cluster", IsExplicitCluster),
        ("clusterid", Clusterid),
        ("nclusterid", Nclusterid),
        ("cluster_ctaid", ClusterCtaid),
        ("cluster_nctaid", ClusterNctaid),
        ("cluster_ctarank", ClusterCtarank),
        ("cluster_nctarank", ClusterNctarank),
        ("lanemask_eq", LanemaskEq),
        ("lanemask_le", LanemaskLe),
        ("lanemask_lt", LanemaskLt),
        ("lanemask_ge", LanemaskGe),
        ("lanemask_gt", LanemaskGt),
        ("clock", Clock),
        ("clock_hi", ClockHi),
        ("clock64", Clock64),
        ("globaltimer", Globaltimer),
        ("globaltimer_lo", GlobaltimerLo),
        ("globaltimer_hi", GlobaltimerHi),
        ("reserved_smem_offset_begin", ReservedSmemOffsetBegin),
        ("reserved_smem_offset_end", ReservedSmemOffsetEnd),
        ("reserved_smem_offset_cap", ReservedSmemOffsetCap),
        ("total_smem_size", TotalSmemSize),
        ("aggr_smem_size", AggrSmemSize),
        ("dynamic_smem_size", DynamicSmemSize),
        ("current_graph_exec", CurrentGraphExec),
    ]
};

impl SpecialRegister {
    /// The special register of a name with its `%`.
    pub fn from_name(name: &str) -> Option<SpecialRegister> {
        let name = name.strip_prefix('%')?;
        if let Some((_, register)) = FIXED.iter().find(|(text, _)| *text == name) {
            return Some(*register);
        }
        let number = |digits: &str, limit: u8| {
            let plain = digits == "0" || !digits.starts_with('0');
            digits.parse().ok().filter(|&number: &u8| plain && number < limit && !digits.starts_with('+'))
        };
        if let Some(rest) = name.strip_prefix("pm") {
            return match rest.strip_suffix("_64") {
                Some(digits) => number(digits, 8).map(SpecialRegister::Pm64),
                None => number(rest, 8).map(SpecialRegister::Pm),
            };
        }
        if let Some(digits) = name.strip_prefix("envreg") {
            return number(digits, 32).map(SpecialRegister::Envreg);
        }
        name.strip_prefix("reserved_smem_offset_")
            .and_then(|digits| number(digits, 2))
            .map(SpecialRegister::ReservedSmemOffset)
    }

    /// Number of components: 4 for those that are read with `.x`, `.y`, `.z`; 1 for the others.
    pub fn components(self) -> u8 {
        use SpecialRegister::{ClusterCtaid, ClusterNctaid, Clusterid, Ctaid, Nclusterid, Nctaid, Ntid, Tid};
        match self {
            Tid | Ntid | Ctaid | Nctaid | Clusterid | Nclusterid | ClusterCtaid | ClusterNctaid => 4,
            _ => 1,
        }
    }

    /// Type of a component.
    pub fn ty(self) -> Type {
        match self {
            SpecialRegister::IsExplicitCluster => Type::Pred,
            SpecialRegister::Gridid
            | SpecialRegister::Clock64
            | SpecialRegister::Globaltimer
            | SpecialRegister::CurrentGraphExec
            | SpecialRegister::Pm64(_) => Type::U64,
            SpecialRegister::Envreg(_)
            | SpecialRegister::ReservedSmemOffset(_)
            | SpecialRegister::ReservedSmemOffsetBegin
            | SpecialRegister::ReservedSmemOffsetEnd
            | SpecialRegister::ReservedSmemOffsetCap => Type::B32,
            _ => Type::U32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_registers_end_where_the_hardware_ends() {
        let find = SpecialRegister::from_name;
        assert_eq!(find("%envreg31"), Some(SpecialRegister::Envreg(31)));
        assert_eq!(find("%pm7_64"), Some(SpecialRegister::Pm64(7)));
        assert_eq!(find("%tid").map(SpecialRegister::components), Some(4));
        for other in ["%envreg32", "%pm8", "%pm01", "%pm+1", "tid", "%", "%r1", "%reserved_smem_offset_2"] {
            assert_eq!(find(other), None, "{other}");
        }
    }
}
