//! Writes the functions that are not supported, those that are others by another name, and the table by which functions
//! are found by name.
//!
//! A program that is compiled for default streams of its threads calls functions with a suffix. There is one default
//! stream here, so that each is the function without it.
//!
//! The names of all public functions are data (`api/`). Which of them are supported is read from the source: each is
//! declared there as `fn NAME(`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Suffixes of functions that mean the default stream of their thread.
const PER_THREAD: [&str; 2] = ["_ptsz", "_ptds"];

fn main() {
    println!("cargo:rerun-if-changed=api");
    println!("cargo:rerun-if-changed=src");
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let supported = supported(&root.join("src"));
    let runtime = lines(&root.join("api/runtime.txt"));
    let mut names: BTreeSet<String> = runtime.into_iter().collect();
    let mut versions: BTreeMap<String, Vec<(u32, String)>> = BTreeMap::new();
    for line in lines(&root.join("api/driver.txt")) {
        let mut words = line.split(' ');
        let base = words.next().expect("a line is not empty").to_owned();
        for word in words {
            let (suffix, version) = word.split_once('=').unwrap_or((word, ""));
            let name = format!("{base}{}", if suffix == "-" { "" } else { suffix });
            if let Ok(version) = version.parse() {
                versions.entry(base.clone()).or_default().push((version, name.clone()));
            }
            names.insert(name);
        }
    }
    let unknown: Vec<&String> = supported.difference(&names).collect();
    assert!(unknown.is_empty(), "functions that api/ does not name: {unknown:?}");
    let mut text = String::new();
    // It goes on in another function with all arguments where they are.
    let jump = if env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("x86_64") { "jmp" } else { "b" };
    let same = |name: &str| {
        let base = PER_THREAD.iter().find_map(|suffix| name.strip_suffix(suffix))?;
        supported.contains(base).then(|| base.to_owned())
    };
    for name in names.difference(&supported) {
        let function = match same(name) {
            Some(base) => format!(
                "#[unsafe(no_mangle)]\n#[unsafe(naked)]\npub unsafe extern \"C\" fn {name}() {{ core::arch::naked_asm!(\
                 \"{jump} {{}}\", sym declared::{base}) }}"
            ),
            None => format!(
                "#[unsafe(no_mangle)]\npub extern \"C\" fn {name}() -> i32 {{ crate::guard::unsupported(\"{name}\") }}"
            ),
        };
        text += &(function + "\n");
    }
    text += "mod declared { unsafe extern \"C\" {\n";
    for name in &names {
        writeln!(text, "    pub(super) fn {name}();").expect("a string takes all");
    }
    text += "} }\n\npub(super) const FUNCTIONS: &[(&str, unsafe extern \"C\" fn())] = &[\n";
    for name in &names {
        writeln!(text, "    (\"{name}\", declared::{name}),").expect("a string takes all");
    }
    text += "];\n\npub(super) const VERSIONS: &[(&str, &[(u32, &str)])] = &[\n";
    for (base, names) in &versions {
        writeln!(text, "    (\"{base}\", &{names:?}),").expect("a string takes all");
    }
    text += "];\n";
    fs::write(out.join("functions.rs"), text).expect("the folder of the build can be written");
}

/// Lines that are no comments.
fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("the lists of functions are there");
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(str::to_owned).collect()
}

/// The functions of the source whose names are those of CUDA.
fn supported(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("the source is there").flatten() {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        for line in text.lines() {
            let Some((_, rest)) = line.split_once("fn ") else { continue };
            let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            let is_of_cuda = ["__cuda", "cuda", "cu"].iter().any(|prefix| {
                name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
            });
            if is_of_cuda && rest[name.len()..].starts_with('(') {
                found.insert(name);
            }
        }
    }
    found
}
