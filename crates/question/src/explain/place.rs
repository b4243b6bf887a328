//! The lines that an effect comes from, each with its share.

use warplens_session::profile::{LineCounts, Spelling};
use warplens_trace::Code;

/// A line of the program with its share of an effect; a line of the PTX, or of the listing of machine code, where the
/// program's is not known.
#[derive(Clone, PartialEq, Debug)]
pub struct Place {
    /// File and line of the program, if the PTX says so.
    pub source: Option<(String, u32)>,
    /// Lines of its instructions in the PTX or the listing, from 1, ascending.
    pub ptx_lines: Vec<u32>,
    /// What they are, each once.
    pub opcodes: Vec<Spelling>,
    /// Share of the effect.
    pub share: f64,
}

/// Below this share a place is left out.
const LEAST_SHARE: f64 = 0.01;

/// The places of an effect whose weight at each machine instruction is `weight`, by its number; the largest share first.
pub(super) fn of_code(code: &Code, lines: &[LineCounts], weight: impl Fn(usize) -> f64) -> Vec<Place> {
    let total: f64 = (0..code.insts.len()).map(&weight).sum();
    let mut places: Vec<Place> = Vec::new();
    for (at, inst) in code.insts.iter().enumerate().filter(|(at, _)| weight(*at) > 0.0) {
        let Some(found) = code.places.get(inst.place as usize) else { continue };
        let same = |place: &&mut Place| match &place.source {
            Some(_) => place.source == found.source,
            None => found.source.is_none() && place.ptx_lines.contains(&found.line),
        };
        let place = match places.iter_mut().find(same) {
            Some(place) => place,
            None => {
                let (source, ptx_lines, opcodes) = (found.source.clone(), Vec::new(), Vec::new());
                places.push(Place { source, ptx_lines, opcodes, share: 0.0 });
                places.last_mut().expect("one was added")
            }
        };
        place.share += weight(at) / total;
        if !place.ptx_lines.contains(&found.line) {
            place.ptx_lines.push(found.line);
        }
        let opcode = lines.iter().find(|line| line.ptx_line == found.line).map(|line| &line.opcode);
        if let Some(opcode) = opcode.filter(|opcode| !place.opcodes.contains(opcode)) {
            place.opcodes.push(opcode.clone());
        }
    }
    in_order(places)
}

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
    in_order(places)
}

fn in_order(mut places: Vec<Place>) -> Vec<Place> {
    places.retain(|place| place.share >= LEAST_SHARE);
    places.iter_mut().for_each(|place| place.ptx_lines.sort_unstable());
    places.sort_by(|left, right| right.share.total_cmp(&left.share).then(left.ptx_lines.cmp(&right.ptx_lines)));
    places
}
