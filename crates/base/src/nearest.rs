//! The name that somebody probably meant.

use std::cmp::Reverse;

/// Characters that a name must have to be looked for inside of another.
const SHORTEST_PART: usize = 3;
/// Longer names are nobody's slip; a hostile input may be full of them.
const LONGEST: usize = 64;
/// More edits than this are another name, however long it is.
const MOST_EDITS: usize = 4;

/// The candidate most like `name` whatever the case of letters, if one is like it at all. `name` itself is no suggestion.
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    nearest_by(name, candidates, str::to_lowercase)
}

/// [`nearest`] among names in the form that `normal` gives them.
pub fn nearest_by<'c>(
    name: &str,
    candidates: impl IntoIterator<Item = &'c str>,
    normal: impl Fn(&str) -> String,
) -> Option<&'c str> {
    let wanted: Vec<char> = normal(name).chars().collect();
    if wanted.len() > LONGEST {
        return None;
    }
    let scored = candidates.into_iter().filter(|&candidate| candidate != name).filter_map(|candidate| {
        let chars: Vec<char> = normal(candidate).chars().collect();
        if chars.len() > LONGEST {
            return None;
        }
        let shorter = wanted.len().min(chars.len());
        let edits = edits(&wanted, &chars);
        let holds = shorter >= SHORTEST_PART && (contains(&chars, &wanted) || contains(&wanted, &chars));
        // Every character of a short name may be wrong; then the two have nothing in common.
        let is_like = edits <= 1.max(wanted.len() / 3).min(MOST_EDITS) && edits < shorter;
        let shared_start = wanted.iter().zip(&chars).take_while(|(a, b)| a == b).count();
        let rank = if holds { 0 } else { edits };
        (is_like || holds).then_some((rank, edits, Reverse(shared_start), candidate))
    });
    scored.min_by_key(|&(rank, edits, start, _)| (rank, edits, start)).map(|(.., candidate)| candidate)
}

fn contains(text: &[char], part: &[char]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one name into the other.
fn edits(from: &[char], to: &[char]) -> usize {
    let mut before = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for i in 0..from.len() {
        let mut row = vec![i + 1; to.len() + 1];
        for j in 0..to.len() {
            let replaced = last[j] + usize::from(from[i] != to[j]);
            row[j + 1] = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j] {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_names_are_suggested() {
        let names = ["vector_add", "matmul_tiled", "roofline", "h200"];
        assert_eq!(nearest("vector_ad", names), Some("vector_add"));
        assert_eq!(nearest("Roofine", names), Some("roofline"));
        assert_eq!(nearest("matmul", names), Some("matmul_tiled"));
        assert_eq!(nearest("h300", names), Some("h200"));
        assert_eq!(nearest("something", names), None);
        assert_eq!(nearest("nosuch.ptx", ["o", "x"]), None);
        assert_eq!(nearest("x", ["a", "xs"]), None);
        assert_eq!(nearest("h200", ["h200"]), None);
        assert_eq!(nearest("H200", ["h100", "h200"]), Some("h200"));
        assert_eq!(nearest("", names), None);
        assert_eq!(nearest(&"h".repeat(1000), names), None);
    }

    #[test]
    fn slips_of_mnemonics_are_found_and_strangers_are_not() {
        let names = ["fma", "fmin", "setp", "selp", "u32", "f32"];
        assert_eq!(nearest("fmaa", names), Some("fma"));
        assert_eq!(nearest("stp", names), Some("setp"));
        assert_eq!(nearest("fm", names), Some("fma"));
        assert_eq!(nearest("u23", names), Some("u32"));
        assert_eq!(nearest("something", names), None);
    }
}
