//! `cargo xtask sanitize`: the tests of the emulator's crate, which holds the unsafe code, under sanitizers of the
//! compiler and under Miri.
//!
//! A sanitizer is a flag that the stable compiler keeps for itself; `RUSTC_BOOTSTRAP` asks for it all the same. The
//! address sanitizer does not mind that the standard library, which the toolchain comes with, was built without it. The
//! thread sanitizer would take what it cannot see there for races, so that the library is built with it.
//! Miri interprets every step and takes hours for whole crates, so it runs the unsafe module and what uses it directly.

use anyhow::{Result, bail};

use crate::workspace::{Workspace, run};

/// A way to look for undefined behaviour.
struct Check {
    name: &'static str,
    about: &'static str,
    how: How,
}

enum How {
    /// A sanitizer, with what the compiler is told.
    Sanitizer { flags: &'static str, builds_library: bool },
    /// An interpreter, which needs another toolchain.
    Miri,
}

const CHECKS: &[Check] = &[
    Check {
        name: "address",
        about: "accesses outside of memory (AddressSanitizer)",
        how: How::Sanitizer { flags: "-Zsanitizer=address", builds_library: false },
    },
    Check {
        name: "thread",
        about: "data races (ThreadSanitizer; needs `rustup component add rust-src`)",
        how: How::Sanitizer { flags: "-Zsanitizer=thread", builds_library: true },
    },
    Check {
        name: "miri",
        about: "any undefined behaviour (needs `rustup +nightly component add miri rust-src`)",
        how: How::Miri,
    },
];

/// Targets for which the compiler has the sanitizers and their run-time libraries.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Runs the named checks; the sanitizers without a name.
pub(crate) fn check(workspace: &Workspace, names: &[&str]) -> Result<()> {
    let names = if names.is_empty() { &["address", "thread"] } else { names };
    for name in names {
        let Some(check) = CHECKS.iter().find(|check| check.name == *name) else {
            let known: Vec<String> = CHECKS.iter().map(|check| format!("{}: {}", check.name, check.about)).collect();
            bail!("no sanitizer `{name}`; there are\n  {}", known.join("\n  "));
        };
        println!("{}: {}", check.name, check.about);
        let folder = workspace.metadata.target_directory.join("sanitize").join(check.name);
        let mut command = match check.how {
            How::Sanitizer { flags, builds_library } => {
                // Examples in comments are compiled by rustdoc, which has flags of its own.
                let mut tests = vec!["test", "--locked", "-p", "warplens-exec", "--tests", "--target", TARGET];
                tests.extend(builds_library.then_some("-Zbuild-std"));
                let mut command = workspace.cargo(&tests);
                command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", flags);
                // A test asks for more memory than any host has, and wants to be told.
                let refuse = "allocator_may_return_null=1";
                command.env("ASAN_OPTIONS", refuse).env("TSAN_OPTIONS", refuse);
                command
            }
            How::Miri => {
                let mut command = std::process::Command::new("cargo");
                let tests =
                    ["+nightly", "miri", "test", "--locked", "-p", "warplens-exec", "--lib", "--", "raw::", "race::"];
                command.args(tests).current_dir(&workspace.root).stdin(std::process::Stdio::null());
                command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").env_remove("RUSTC");
                command
            }
        };
        run(command.env("CARGO_TARGET_DIR", folder))?;
    }
    Ok(())
}
