//! The text that a compiler reads, and the words that reach it.
//!
//! nvcc hands the words of its command line to a shell, most of them unquoted or in double quotes, where `$(...)` still
//! runs. So nothing that a user or a file wrote becomes such a word: the text is compiled under a name of ours, its own
//! name stands inside of it in a `#line`, and so do macros.

use std::path::{Path, PathBuf};

use crate::input::Input;
use warplens_base::error::{Error, Result};

/// The text of an input as a compiler reads it: macros, then the lines under their own name and numbers.
pub(super) fn text(input: &Input, macros: &[(String, String)]) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    for (name, value) in macros {
        check_macro(name, value)?;
        text.extend_from_slice(format!("#define {name} {value}\n").as_bytes());
    }
    text.extend_from_slice(b"#line 1 ");
    text.extend(literal(own_name(input).as_os_str().as_encoded_bytes()));
    text.push(b'\n');
    text.extend_from_slice(&input.bytes);
    Ok(text)
}

/// What line tables call the input: its path from the root, so that they mean the same from every folder.
pub(super) fn own_name(input: &Input) -> PathBuf {
    let path = input.path.as_deref().and_then(|path| std::path::absolute(path).ok());
    path.unwrap_or_else(|| PathBuf::from(&input.name))
}

/// The folder in which the input's `#include "..."` are found, from the root.
pub(super) fn folder(input: &Input) -> Result<PathBuf> {
    let folder = input.path.as_deref().and_then(Path::parent).filter(|folder| *folder != Path::new(""));
    std::path::absolute(folder.unwrap_or(Path::new(".")))
        .map_err(|error| Error::input(format!("cannot tell in which folder {} lies: {error}", input.name)))
}

/// A string literal of C++. What a reader of lines would stumble over is written as a number.
pub(super) fn literal(bytes: &[u8]) -> Vec<u8> {
    let mut text = vec![b'"'];
    for &byte in bytes {
        match byte {
            0..0x20 | 0x7f | b'"' | b'\\' => text.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
            // A trigraph, for compilers that still know them.
            b'?' => text.extend_from_slice(b"\\077"),
            _ => text.push(byte),
        }
    }
    text.push(b'"');
    text
}

/// Refuses a macro that would not stay on its line.
fn check_macro(name: &str, value: &str) -> Result<()> {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    if !name.starts_with(is_start) || !name.chars().all(|c| is_start(c) || c.is_ascii_digit()) {
        return Err(Error::usage(format!("`{name}` is no name of a macro"))
            .with_help("a name is letters, digits and underscores, and begins with no digit"));
    }
    if value.chars().any(char::is_control) || value.ends_with(['\\', '/']) || value.contains("/*") {
        return Err(Error::usage(format!("macro {name}: {value:?} is no value of a macro"))
            .with_help("a value is one line without comments, and does not end with a backslash or a slash"));
    }
    Ok(())
}

/// The target, where it is one: it becomes a word of a command line.
pub(super) fn check_target(target: &str) -> Result<()> {
    let number = target.strip_prefix("sm_").or_else(|| target.strip_prefix("compute_")).unwrap_or("");
    let number = number.strip_suffix(|c: char| c.is_ascii_lowercase()).unwrap_or(number);
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Error::usage(format!("`{target}` is no target to compile for; write one such as sm_80")));
    }
    Ok(())
}

/// Refuses a path with characters that mean something to a shell. `what` is what the path is of.
pub(super) fn check_path(path: &Path, what: &str, help: &str) -> Result<()> {
    let is_plain = |c: char| {
        let of_system: &[char] = if cfg!(windows) { &['\\', ':', '(', ')'] } else { &[':'] };
        c.is_alphanumeric() || "/._-+,@%= ".contains(c) || of_system.contains(&c)
    };
    match path.to_str() {
        Some(text) if text.chars().all(is_plain) => Ok(()),
        _ => Err(Error::input(format!("{what} is {}, and nvcc hands that to a shell", path.display()))
            .with_help(help.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, macros: &[(&str, &str)]) -> Result<String> {
        let input = Input::new(name, None, b"__global__ void f() {}".to_vec()).unwrap();
        let macros: Vec<_> = macros.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        text(&input, &macros).map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn names_and_macros_stand_in_the_text() {
        let text = of("a\"b\\c\n?d.cu", &[("TILE", "8"), ("TYPE", "unsigned int")]).unwrap();
        let expected = "#define TILE 8\n#define TYPE unsigned int\n\
                        #line 1 \"a\\042b\\134c\\012\\077d.cu\"\n__global__ void f() {}";
        assert_eq!(text, expected);
    }

    #[test]
    fn macros_stay_on_their_line() {
        for (name, value) in
            [("A B", "1"), ("1A", "1"), ("", "1"), ("A(x)", "x"), ("A", "1\n#include"), ("A", "1\\"), ("A", "1/*")]
        {
            assert!(of("a.cu", &[(name, value)]).is_err(), "{name} {value}");
        }
        // A shell would run it; a compiler finds no such name.
        assert!(of("a.cu", &[("A", "$(touch Y) `touch Y`; \"'")]).is_ok());
    }

    #[test]
    fn targets_are_targets() {
        for good in ["sm_80", "sm_90a", "compute_100f"] {
            assert!(check_target(good).is_ok(), "{good}");
        }
        for bad in ["", "sm_", "sm_80;ls", "80", "sm_80 -ccbin x", "sm_a", "-optf=x", "sm_80\n"] {
            assert!(check_target(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn paths_are_free_of_what_a_shell_reads() {
        for good in ["/usr/local/cuda-13.0/bin/nvcc", "/home/my name/b_2+é"] {
            assert!(check_path(Path::new(good), "it", "").is_ok(), "{good}");
        }
        for bad in ["/a$(b)", "/a`b`", "/a\"b", "/a'b", "/a;b", "/a&b", "/a|b", "/a\nb", "/a>b", "/a*b", "/a(b)"] {
            assert!(check_path(Path::new(bad), "it", "").is_err(), "{bad}");
        }
    }
}
