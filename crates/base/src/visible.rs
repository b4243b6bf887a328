//! Text of others on its way to a terminal.
//!
//! A terminal obeys some characters instead of showing them: escape sequences colour, move and retitle, and controls of
//! writing direction let a line read other than it is. Names and lines of inputs may hold any character, so whoever
//! shows them makes those visible first.

use std::borrow::Cow;

/// What of a text stays as it is beside what a terminal shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// Line breaks and tabs, as in a text of several lines.
    Lines,
    /// Tabs alone, as in a name, which has one line.
    Tabs,
}

/// The text with characters that a terminal would obey written as `\u{1b}`. Most texts have none and are not copied.
pub fn visible(text: &str, keep: Keep) -> Cow<'_, str> {
    // Half of a line break is none by itself.
    let is_break = |at: usize| keep == Keep::Lines && text[at..].starts_with("\r\n");
    let is_obeyed = |at: usize, c: char| is_obeyed(c, keep) && !is_break(at);
    if !text.char_indices().any(|(at, c)| is_obeyed(at, c)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for (at, c) in text.char_indices() {
        match is_obeyed(at, c) {
            true => shown.extend(c.escape_unicode()),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

fn is_obeyed(c: char, keep: Keep) -> bool {
    match c {
        '\t' => false,
        '\n' => keep == Keep::Tabs,
        _ => is_control(c),
    }
}

/// True for control characters (C0, DEL, C1), for what breaks lines beside them, and for controls of writing direction.
pub fn is_control(c: char) -> bool {
    let of_direction =
        |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || of_direction(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown() {
        for (text, shown) in [
            ("a\u{1b}[2Jb", "a\\u{1b}[2Jb"),
            ("a\u{9b}2Jb\u{7f}", "a\\u{9b}2Jb\\u{7f}"),
            ("\u{202e}cba\u{2066}\u{200f}", "\\u{202e}cba\\u{2066}\\u{200f}"),
            ("bell\u{7}\r\u{8}", "bell\\u{7}\\u{d}\\u{8}"),
            ("line\u{2028}line", "line\\u{2028}line"),
        ] {
            assert_eq!(visible(text, Keep::Lines), shown);
            assert_eq!(visible(text, Keep::Tabs), shown);
        }
        assert_eq!(visible("a\tb\r\nc\n", Keep::Lines), "a\tb\r\nc\n");
        assert_eq!(visible("a\tb\nc", Keep::Tabs), "a\tb\\u{a}c");
        for plain in ["", "kernel<float>", "größe \u{30b3}"] {
            assert!(matches!(visible(plain, Keep::Tabs), Cow::Borrowed(_)), "{plain}");
        }
    }
}
