//! Suggestions for names that do not exist.

/// Characters that a name must have to be looked for inside of another.
const SHORTEST_PART: usize = 3;

/// The candidate most like `name`, if one is like it at all. `name` itself is no suggestion.
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let wanted = name.to_lowercase();
    let n_wanted = wanted.chars().count();
    let scored = candidates.into_iter().filter(|&candidate| candidate != name).filter_map(|candidate| {
        let lower = candidate.to_lowercase();
        let shorter = n_wanted.min(lower.chars().count());
        let distance = edit_distance(&wanted, &lower);
        let holds = shorter >= SHORTEST_PART && (lower.contains(&wanted) || wanted.contains(&lower));
        // Every character of a short name may be wrong; then the two have nothing in common.
        let is_like = distance <= 1.max(n_wanted / 3) && distance < shorter;
        (is_like || holds).then_some((if holds { 0 } else { distance }, distance, candidate))
    });
    scored.min_by_key(|&(rank, distance, _)| (rank, distance)).map(|(_, _, candidate)| candidate)
}

/// Number of characters to insert, delete or replace (Levenshtein).
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
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
    }
}
