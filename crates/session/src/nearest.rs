//! Suggestions for names that do not exist.

/// The candidate most like `name`, if one is like it at all.
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let wanted = name.to_lowercase();
    let scored = candidates.into_iter().map(|candidate| {
        let lower = candidate.to_lowercase();
        let holds = !wanted.is_empty() && (lower.contains(&wanted) || (!lower.is_empty() && wanted.contains(&lower)));
        (if holds { 0 } else { edit_distance(&wanted, &lower) }, candidate)
    });
    let (distance, candidate) = scored.min_by_key(|&(distance, _)| distance)?;
    (distance <= 1.max(wanted.chars().count() / 3)).then_some(candidate)
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
    }
}
