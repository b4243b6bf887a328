//! How a program was linked, as far as its file says: with which runtime library, or with one inside of it.
//!
//! The file is searched for the words that matter: the name of the shared library among the libraries that it needs, and
//! the section of device code that every compiled kernel leaves. That tells apart what has to be told apart, without
//! reading the tables of the file.

use warplens_session::trail::environment::GPUS;

/// Versions of the runtime library that are served, the newest first.
pub const VERSIONS: [u32; 2] = [13, 12];

/// How a program was linked with the runtime library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linked {
    /// It asks for the shared library of this version.
    Shared(u32),
    /// It has device code and asks for no shared library: NVIDIA's library is inside of it.
    Statically,
    /// The library that is served is inside of it.
    Served,
    /// Neither: a script, or a program that loads its libraries itself.
    Unknown,
}

/// How a program was linked, by the bytes of its file.
pub fn linked(file: &[u8]) -> Linked {
    let has = |word: &str| contains(file, word.as_bytes());
    if !file.starts_with(b"\x7fELF") {
        return Linked::Unknown;
    }
    match VERSIONS.into_iter().find(|version| has(&format!("\0libcudart.so.{version}\0"))) {
        Some(version) => Linked::Shared(version),
        None if has(GPUS) => Linked::Served,
        None if has(".nv_fatbin") => Linked::Statically,
        None => Linked::Unknown,
    }
}

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_told_apart_by_what_they_ask_for() {
        let file = |words: &str| [b"\x7fELF\0", words.as_bytes()].concat();
        assert_eq!(linked(&file("\0libcudart.so.13\0.nv_fatbin\0")), Linked::Shared(13));
        assert_eq!(linked(&file("\0libcudart.so.12\0")), Linked::Shared(12));
        assert_eq!(linked(&file(".nv_fatbin\0")), Linked::Statically);
        assert_eq!(linked(&file(".nv_fatbin\0WARPLENS_EXEC_GPU")), Linked::Served);
        assert_eq!(linked(&file("libc.so.6\0")), Linked::Unknown);
        assert_eq!(linked(b"#!/bin/sh\n./program\n"), Linked::Unknown);
        assert_eq!(linked(b""), Linked::Unknown);
    }
}
