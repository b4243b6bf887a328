//! The pictures of the manual are what the commands above them draw.
//!
//! Pages hold commands that end in `-o docs/pictures/NAME.svg`; each is run again and compared with that file.
//! `cargo xtask generate` writes the files.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages of the manual that have pictures of their own.
fn pages() -> String {
    let models = std::fs::read_dir(root().join("docs/models")).expect("the pages of models can be listed");
    let models = models.map(|entry| entry.expect("a page can be read").path());
    let pages = [root().join("docs/pictures.md")].into_iter().chain(models);
    pages.map(|path| std::fs::read_to_string(path).expect("a page can be read")).collect()
}

/// Arguments and files of the commands.
fn commands() -> Vec<(Vec<String>, String)> {
    let command = |line: &str| {
        let (arguments, file) = line.strip_prefix("warplens ")?.split_once(" -o ")?;
        let words = arguments.split(' ').map(str::to_owned).collect();
        file.ends_with(".svg").then(|| (words, file.to_owned()))
    };
    pages().lines().filter_map(command).collect()
}

fn draw(arguments: &[String], format: &str) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_warplens"))
        .args(arguments)
        .args(["--format", format])
        .current_dir(root())
        .env_clear()
        .output()
        .expect("the program can be started");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn pictures_of_the_manual_are_fresh() {
    let commands = commands();
    assert!(commands.len() >= 7, "the pages show every kind that needs no times of the user");
    for (arguments, file) in commands {
        let drawn = String::from_utf8(draw(&arguments, "svg")).expect("SVG is text");
        let held = std::fs::read_to_string(root().join(&file)).unwrap_or_default();
        assert!(drawn == held, "{file} is stale; `cargo xtask generate` draws it again");
    }
}

#[test]
fn pictures_are_images_too() {
    for (arguments, file) in commands() {
        let png = draw(&arguments, "png");
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.len() > 10_000, "{file}: {} bytes", png.len());
    }
}

#[test]
fn every_kind_is_in_the_list_and_on_the_page() {
    let page = std::fs::read_to_string(root().join("docs/pictures.md")).expect("the page can be read");
    let help =
        Command::new(env!("CARGO_BIN_EXE_warplens")).args(["plot", "--help"]).output().expect("it can be started");
    let help = String::from_utf8(help.stdout).expect("help is text");
    for kind in warplens_report::view::figure::FIGURES {
        assert!(help.contains(kind.name), "`warplens plot --help` has no {}", kind.name);
        assert!(page.contains(&format!("warplens plot {} ", kind.name)), "docs/pictures.md has no {}", kind.name);
    }
}
