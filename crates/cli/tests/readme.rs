//! The screens of the README are what the program prints: blocks `console` whose first line is the command.
//!
//! `UPDATE=1 cargo test -p warplens-cli --test readme` rewrites them.

use std::path::Path;
use std::process::Command;

const OPENING: &str = "```console\n$ warplens ";
const CLOSING: &str = "```\n";

#[test]
fn the_screens_are_what_the_program_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("README.md");
    let readme = std::fs::read_to_string(&path).expect("the README can be read");
    let mut parts = readme.split(OPENING);
    let mut fresh = parts.next().unwrap_or_default().to_owned();
    let mut n_screens = 0;
    for part in parts {
        let (command, rest) = part.split_once('\n').expect("a command is a line");
        let (_, rest) = rest.split_once(CLOSING).expect("a block is closed");
        let output = Command::new(env!("CARGO_BIN_EXE_warplens"))
            .args(command.split(' '))
            .current_dir(&root)
            .env_clear()
            .output()
            .expect("the program can be started");
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        fresh += &format!("{OPENING}{command}\n{}{CLOSING}{rest}", String::from_utf8_lossy(&output.stdout));
        n_screens += 1;
    }
    assert!(n_screens > 0, "the README has no screen");
    if std::env::var_os("UPDATE").is_some() {
        return std::fs::write(&path, &fresh).expect("the README can be written");
    }
    assert!(fresh == readme, "the README is stale; UPDATE=1 rewrites its screens");
}
