//! The name that somebody probably meant.

use std::cmp::Reverse;

/// Longer names are nobody's slip.
const LONGEST: usize = 40;

/// The candidate with the fewest edits from `name`, when those are few enough to be a slip.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > LONGEST {
        return None;
    }
    let limit = name.len().div_ceil(4).min(3);
    candidates
        .filter(|candidate| candidate.len().abs_diff(name.len()) <= limit && candidate.len() <= LONGEST)
        .map(|candidate| (distance(name.as_bytes(), candidate.as_bytes()), candidate))
        .filter(|&(edits, candidate)| edits <= limit && edits < candidate.len())
        .min_by_key(|&(edits, candidate)| (edits, Reverse(shared_start(name, candidate))))
        .map(|(_, candidate)| candidate)
}

/// Number of bytes at the start that two names share.
fn shared_start(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}

/// Insertions, deletions, substitutions and swaps of neighbours that turn one name into the other; neither is longer
/// than [`LONGEST`].
fn distance(from: &[u8], to: &[u8]) -> usize {
    let mut before = [0; LONGEST + 1];
    let mut last: [usize; LONGEST + 1] = std::array::from_fn(|index| index);
    for i in 0..from.len() {
        let mut row = [i + 1; LONGEST + 1];
        for j in 0..to.len() {
            let substituted = last[j] + usize::from(from[i] != to[j]);
            let mut best = substituted.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j] {
                best = best.min(before[j - 1] + 1);
            }
            row[j + 1] = best;
        }
        before = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let names = ["fma", "fmin", "setp", "selp", "u32", "f32"];
        assert_eq!(nearest("fmaa", names.into_iter()), Some("fma"));
        assert_eq!(nearest("stp", names.into_iter()), Some("setp"));
        assert_eq!(nearest("fm", names.into_iter()), Some("fma"));
        assert_eq!(nearest("u23", names.into_iter()), Some("u32"));
        assert_eq!(nearest("something", names.into_iter()), None);
    }
}
