//! Words as a shell takes them, for commands that a user may copy.

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./,=:+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_words_go_without_quotes() {
        assert_eq!(quoted("a/b-c_1.ptx@x,2"), "a/b-c_1.ptx@x,2");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("a; rm b"), "'a; rm b'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
