//! What programs do on a GPU beside kernels: how long copies take, and how often the host can ask for work.
//!
//! No model of a paper is behind these times: bytes over the rate of what they go through.

use warplens_machine::{Key, Machine, Reader, Strictness};

use crate::trail::CopyKind;

/// What holds for every GPU.
const OF_TIME_LINES: [&str; 3] = [
    "the host takes launch.overhead to ask for a launch, a copy or a whole graph, whatever the graph holds",
    "memory of the host that is not pinned is copied as fast as memory that is",
    "kernels and copies that run at the same time cost each other nothing",
];

/// The rates of a GPU.
#[derive(Clone, PartialEq, Debug)]
pub struct Transfers {
    /// Seconds that the host takes to ask for a launch or a copy.
    pub overhead: f64,
    /// Bytes per second between host and device; none where they share their memory.
    link: Option<f64>,
    /// Bytes per second of the device's memory.
    memory: Option<f64>,
    /// Where the rates come from, and what else is taken for granted of what happens when, as sentences.
    pub assumptions: Vec<String>,
}

impl Transfers {
    /// The rates of a machine file.
    pub fn of(machine: &Machine) -> Self {
        let mut reader = Reader::new(machine, Strictness::AllowInferred);
        let overhead = reader.optional(Key::LaunchOverhead).unwrap_or_default();
        let link = reader.optional(Key::LinkBandwidth);
        let memory = reader.memory_bandwidth().ok();
        if link.is_none() {
            reader.assume("copies between host and device go through the memory that they share");
        }
        OF_TIME_LINES.into_iter().for_each(|sentence| reader.assume(sentence));
        Self { overhead, link, memory, assumptions: reader.finish().assumptions }
    }

    /// Seconds that bytes take; none where a rate is not known.
    pub fn seconds(&self, kind: CopyKind, bytes: u64) -> Option<f64> {
        let bytes = bytes as f64;
        match kind {
            CopyKind::ToDevice | CopyKind::ToHost => match self.link {
                Some(link) => Some(bytes / link),
                None => Some(2.0 * bytes / self.memory?),
            },
            CopyKind::OnDevice => Some(2.0 * bytes / self.memory?),
            CopyKind::Set => Some(bytes / self.memory?),
            // The host does it in its own time.
            CopyKind::OnHost => Some(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machines;

    #[test]
    fn copies_go_at_the_rate_of_what_they_go_through() {
        let [a100, h200] = ["a100-80", "h200"].map(|name| Transfers::of(&machines::select(name).unwrap()[0]));
        let rate = |of: &Transfers, kind| 1e9 / of.seconds(kind, 1_000_000_000).unwrap() / 1e9;
        assert!((26.0..27.0).contains(&rate(&a100, CopyKind::ToDevice)));
        assert!((52.0..54.0).contains(&rate(&h200, CopyKind::ToHost)));
        assert!((1700.0..1800.0).contains(&rate(&h200, CopyKind::OnDevice)));
        assert!((3500.0..3600.0).contains(&rate(&h200, CopyKind::Set)));
        assert!(h200.overhead > 1e-6 && h200.overhead < 1e-5);
    }

    #[test]
    fn what_no_file_says_is_derived_by_a_rule_with_a_name() {
        let k40 = Transfers::of(&machines::select("k40").unwrap()[0]);
        assert!(k40.overhead > 1e-6);
        let said = k40.assumptions.join("\n");
        assert!(said.contains("PCI Express 3.0 x16") && said.contains("launch.overhead"), "{said}");
        assert!(said.contains("a whole graph") && said.contains("not pinned"), "{said}");
    }
}
