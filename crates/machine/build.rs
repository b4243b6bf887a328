//! Lists the folder `machines/`: the designs of SMs, and the boards, oldest first. It is that of the repository, to which
//! a link leads, so that it is part of the crate where that is packed.
//!
//! What orders them stands in the files: a design's compute capability is its name, a board says the year in which it was
//! announced. Boards of one year are in the order of their names.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo says where the crate is")).join("machines");
    println!("cargo::rerun-if-changed={}", folder.display());
    let (mut designs, mut boards) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(&folder).expect("the folder of machines can be read") {
        let path = entry.expect("the folder of machines can be read").path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        println!("cargo::rerun-if-changed={}", path.display());
        let id = path.file_stem().and_then(|stem| stem.to_str()).expect("a machine's name is plain text").to_owned();
        match id.strip_prefix("sm_") {
            Some(digits) => designs.push((number(&path, digits), id, path)),
            None => boards.push((year(&path), id, path)),
        }
    }
    let text = format!(
        "/// SM designs, from which the boards inherit, by compute capability.\nconst DESIGNS: &[(&str, &str)] = &[\n{}];\n\n\
         /// Boards, oldest first.\nconst BOARDS: &[(&str, &str)] = &[\n{}];\n",
        list(designs),
        list(boards)
    );
    let out = Path::new(&env::var("OUT_DIR").expect("cargo gives a folder")).join("machines.rs");
    fs::write(out, text).expect("the folder of cargo can be written to");
}

fn list(mut machines: Vec<(u32, String, PathBuf)>) -> String {
    machines.sort();
    let mut text = String::new();
    for (_, id, path) in machines {
        let path = path.canonicalize().expect("the file was there");
        _ = writeln!(text, "    ({id:?}, include_str!({:?})),", path.display().to_string());
    }
    text
}

/// The year that a board's file states before its groups. Whether the file is right otherwise is for the tests to say.
fn year(path: &Path) -> u32 {
    let text = fs::read_to_string(path).expect("a machine file can be read");
    let head = text.lines().take_while(|line| !line.starts_with('['));
    let stated = head.filter_map(|line| line.split_once('=')).find(|(field, _)| field.trim() == "year");
    let Some((_, year)) = stated else {
        panic!("{}: a board says in which year it was announced: year = 2024", path.display());
    };
    number(path, year.trim())
}

fn number(path: &Path, digits: &str) -> u32 {
    digits.parse().unwrap_or_else(|_| panic!("{}: `{digits}` is no number", path.display()))
}
