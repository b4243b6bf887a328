//! What a user hands on to the compiler: folders of headers, and words of its command line.
//!
//! nvcc gives its words to a shell, so a word has none of the characters that a shell reads, and a folder goes under a
//! name of ours. What decides what is made stays with us.

use std::path::PathBuf;

use warplens_base::error::{Error, Result};

/// Checked flags of a compiler.
#[derive(Clone, Debug, Default)]
pub struct CompilerFlags {
    /// Folders in which headers are looked for, behind that of the source, from the root.
    pub(super) includes: Vec<PathBuf>,
    /// Words of the command line.
    pub(super) words: Vec<String>,
}

/// Beginnings of flags that say what is made, from what and where, with the flag that is for it.
const OURS: &[(&str, &str)] = &[
    ("-o", "the PTX is kept in memory"),
    ("--output", "the PTX is kept in memory"),
    ("-arch", "write --target"),
    ("--gpu", "write --target"),
    ("-gencode", "write --target"),
    ("--generate", "write --target"),
    ("-I", "write -I without --nvcc-flag"),
    ("--include-path", "write -I without --nvcc-flag"),
    ("-optf", "write the flags themselves"),
    ("--options-file", "write the flags themselves"),
    ("-run", "nothing but PTX is made"),
    ("--run", "nothing but PTX is made"),
];

impl CompilerFlags {
    /// Checks what a user wrote.
    pub fn new(includes: &[PathBuf], words: &[String]) -> Result<Self> {
        words.iter().try_for_each(|word| check(word))?;
        let folder = |path: &PathBuf| match std::path::absolute(path) {
            Ok(folder) if folder.is_dir() => Ok(folder),
            _ => Err(Error::usage(format!("-I {}: there is no such folder", path.display()))),
        };
        Ok(Self { includes: includes.iter().map(folder).collect::<Result<_>>()?, words: words.to_vec() })
    }
}

fn check(word: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,+:/@%".contains(c);
    if !word.starts_with('-') || word.len() < 2 {
        return Err(Error::usage(format!("--nvcc-flag {word}: a flag begins with a dash"))
            .with_help("write a flag and its value as one word: --nvcc-flag=-std=c++17"));
    }
    if !word.chars().all(is_plain) {
        return Err(Error::usage(format!("--nvcc-flag {word}: nvcc hands its flags to a shell"))
            .with_help("a flag is letters, digits and -_=.,+:/@%"));
    }
    match OURS.iter().find(|(beginning, _)| word.starts_with(beginning)) {
        Some((_, instead)) => {
            Err(Error::usage(format!("--nvcc-flag {word}: what is made is for warplens to say")).with_help(*instead))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_words_that_a_shell_leaves_alone() {
        let of = |word: &str| CompilerFlags::new(&[], &[word.to_owned()]);
        for good in ["-std=c++17", "-DTILE=8", "--use_fast_math", "-Xptxas=-v", "-maxrregcount=32", "-O3"] {
            assert!(of(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "-",
            "kernel.cu",
            "-D$(touch Y)",
            "-DA=`b`",
            "-DA=b c",
            "-DA='b'",
            "-D\"A\"",
            "-DA;ls",
            "-DA|b",
            "-DA&",
            "-DA>b",
            "-DA\nb",
            "-o",
            "-o=x",
            "--output-file=x",
            "-arch=sm_90",
            "-gencode=x",
            "-Ifolder",
            "--run",
            "-run",
        ] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn folders_are_there() {
        let here = CompilerFlags::new(&[PathBuf::from(".")], &[]).unwrap();
        assert!(here.includes[0].is_absolute());
        assert!(CompilerFlags::new(&[PathBuf::from("no such folder")], &[]).is_err());
    }
}
