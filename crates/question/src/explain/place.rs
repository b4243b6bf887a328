//! The lines that an effect comes from, each with its share.

use warplens_session::profile::{LineCounts, Spelling};

/// A line of the program with its share of an effect; a line of the PTX where the program's is not known.
#[derive(Clone, PartialEq, Debug)]
pub struct Place {
    /// File and line of the program, if the PTX says so.
    pub source: Option<(String, u32)>,
    /// Lines of its instructions in the PTX, from 1, ascending.
    pub ptx_lines: Vec<u32>,
    /// What they are, each once.
    pub opcodes: Vec<Spelling>,
    /// Share of the effect.
    pub share: f64,
}

/// Below this share a place is left out.
const LEAST_SHARE: f64 = 0.01;

/// The places of an effect whose weight at each instruction is `weight`, the largest share first.
pub(super) fn places(lines: &[LineCounts], weight: impl Fn(&LineCounts) -> f64) -> Vec<Place> {
    let weights: Vec<f64> = lines.iter().map(|line| weight(line).max(0.0)).collect();
    let total: f64 = weights.iter().sum();
    let mut places: Vec<Place> = Vec::new();
    for (line, weight) in lines.iter().zip(&weights).filter(|(_, weight)| **weight > 0.0) {
        let same = places.iter_mut().find(|place| place.source.is_some() && place.source == line.source);
        let place = match same {
            Some(place) => place,
            None => {
                places.push(Place {
                    source: line.source.clone(),
                    ptx_lines: Vec::new(),
                    opcodes: Vec::new(),
                    share: 0.0,
                });
                places.last_mut().expect("one was added")
            }
        };
        place.share += weight / total;
        place.ptx_lines.push(line.ptx_line);
        if !place.opcodes.contains(&line.opcode) {
            place.opcodes.push(line.opcode.clone());
        }
    }
    places.retain(|place| place.share >= LEAST_SHARE);
    places.iter_mut().for_each(|place| place.ptx_lines.sort_unstable());
    places.sort_by(|left, right| right.share.total_cmp(&left.share).then(left.ptx_lines.cmp(&right.ptx_lines)));
    places
}
