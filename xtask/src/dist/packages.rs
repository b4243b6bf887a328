//! The crates as they would be published: each with all files that it needs, and with versions for what it uses.

use anyhow::{Result, ensure};

use crate::workspace::{Workspace, run};

/// What brings a file into the source; its path is relative to the file that says so.
const INCLUDES: [&str; 3] = ["include_str!(\"", "include_bytes!(\"", "include_str!(concat!(\""];

/// Packs every crate that may be published. That each compiles on its own is left out, as it would take as long as all
/// that comes after it; what it is compiled of lies in its folder.
pub(super) fn check(workspace: &Workspace) -> Result<()> {
    let packages = workspace.packages();
    let packed = packages.iter().filter(|package| Workspace::publishes(package));
    let names: Vec<&str> = packed.map(|package| package.name.as_str()).collect();
    let mut outside = Vec::new();
    for path in workspace.files()? {
        let Some((folder, file)) = path.strip_prefix("crates/").and_then(|rest| rest.split_once('/')) else { continue };
        let packed = names.iter().any(|name| name.strip_prefix("warplens-") == Some(folder));
        if packed && file.starts_with("src/") && file.ends_with(".rs") && !file.ends_with("tests.rs") {
            let depth = file.matches('/').count();
            let text = workspace.read(&path)?;
            outside.extend(includes(&text).filter(|target| leaves(target, depth)).map(|to| format!("{path}: {to}")));
        }
    }
    ensure!(outside.is_empty(), "{}\nfiles outside of a crate are missing where it is packed", outside.join("\n"));
    let mut command = workspace.cargo(&["package", "--locked", "--allow-dirty", "--no-verify", "--quiet"]);
    run(command.args(names.iter().flat_map(|name| ["--package", name])))?;
    println!("{} crates can be packed", names.len());
    Ok(())
}

/// Paths that the source of a module includes; its unit tests may take what they want, as they are not packed alone.
fn includes(text: &str) -> impl Iterator<Item = &str> {
    let source = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
    INCLUDES.iter().flat_map(move |opening| source.split(opening).skip(1)).filter_map(|rest| rest.split('"').next())
}

/// True of a path that leads out of the folder which lies this deep above it.
fn leaves(path: &str, depth: usize) -> bool {
    path.split('/').take_while(|part| *part == "..").count() > depth
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_out_of_a_crate_are_found() {
        let text = "const A: &str = include_str!(\"a.txt\");\nconst B: &str = include_str!(\"../../b.txt\");\n\
                    #[cfg(test)]\nmod tests { const C: &str = include_str!(\"../../../c.txt\"); }\n";
        let found: Vec<&str> = includes(text).filter(|path| leaves(path, 1)).collect();
        assert_eq!(found, ["../../b.txt"]);
    }
}
