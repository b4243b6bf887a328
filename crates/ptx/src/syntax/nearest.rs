//! The name that somebody probably meant.

/// The candidate with the fewest edits from `name`, when those are few enough to be a slip.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > 40 {
        return None;
    }
    let limit = match name.len() {
        0..=2 => 1,
        3..=5 => 2,
        _ => 3,
    };
    candidates
        .map(|candidate| (distance(name.as_bytes(), candidate.as_bytes()), candidate))
        .filter(|&(edits, candidate)| edits <= limit && edits < candidate.len())
        .min_by_key(|&(edits, candidate)| (edits, name.len().abs_diff(candidate.len())))
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions and substitutions that turn one name into the other.
fn distance(from: &[u8], to: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let substituted = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let names = ["fma", "fmin", "setp", "selp", "u32", "f32"];
        assert_eq!(nearest("fmaa", names.into_iter()), Some("fma"));
        assert_eq!(nearest("stp", names.into_iter()), Some("setp"));
        assert_eq!(nearest("u23", names.into_iter()), Some("u32"));
        assert_eq!(nearest("something", names.into_iter()), None);
    }
}
