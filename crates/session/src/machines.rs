//! GPUs by name: built-in ones and files of the user.

use std::path::Path;

pub use warplens_machine::builtin::UnknownMachine;
pub use warplens_machine::table::{Difference, Entry, Row, diff, entry, show};
pub use warplens_machine::{Basis, ComputeCapability, Key, Machine, ParameterRead, Readings, Strictness, Unit, Value};
use warplens_machine::{LoadError, MachineRef, Selector, builtin, load};

use crate::files;
use crate::input::read_text;
use warplens_base::error::{Error, Result};

/// Every built-in GPU, oldest first.
pub fn all() -> Result<Vec<Machine>> {
    builtin::all().map_err(load_error)
}

/// The GPUs of a comma list such as `h200,sm_90,mine.toml,a100-80@1200`, each once, in the order of the list.
pub fn select(list: &str) -> Result<Vec<Machine>> {
    let mut machines: Vec<Machine> = Vec::new();
    for entry in list.split(',') {
        let reference = MachineRef::parse(entry).map_err(|error| Error::usage(format!("--gpu: {error}")))?;
        let found = match &reference.selector {
            Selector::File(path) => vec![with_own_id(from_file(path)?, path, &machines)],
            _ => builtin_machines(&reference)?,
        };
        for machine in found {
            let machine = match reference.clock {
                Some(hertz) => machine.at_clock(hertz),
                None => machine,
            };
            if !machines.contains(&machine) {
                machines.push(machine);
            }
        }
    }
    Ok(machines)
}

/// The one GPU that a name means.
pub fn one(name: &str) -> Result<Machine> {
    let mut machines = select(name)?;
    if machines.len() > 1 {
        let ids: Vec<&str> = machines.iter().map(|machine| machine.id.as_str()).collect();
        return Err(Error::usage(format!("`{name}` means several GPUs: {}", ids.join(", "))));
    }
    Ok(machines.remove(0))
}

/// Code of the finding that nothing says where a value comes from.
const NO_ORIGIN: &str = "M006";
const ORIGIN_HELP: &str =
    "say in each group where its values come from: basis = \"measured\" and source = \"my board\"";

fn builtin_machines(reference: &MachineRef) -> Result<Vec<Machine>> {
    let ids = builtin::select(reference).map_err(unknown)?;
    let machine = |id: &str| builtin::machine(id).expect("the selection holds built-in names").map_err(load_error);
    ids.into_iter().map(machine).collect()
}

fn unknown(unknown: UnknownMachine) -> Error {
    let error = Error::usage(format!("unknown GPU `{}`", unknown.name));
    match unknown.suggestion {
        Some(near) => error.with_help(format!("did you mean `{near}`? `warplens gpu list` shows all of them")),
        None => error.with_help("`warplens gpu list` shows all of them; a description of your own is a file NAME.toml"),
    }
}

/// A machine file with an identifier that no built-in GPU and no other file of the list has: its path, where its name is
/// taken.
fn with_own_id(machine: Machine, path: &str, others: &[Machine]) -> Machine {
    let is_taken = builtin::text(&machine.id).is_some()
        || others.iter().any(|other| other.board() == machine.id && other.facts != machine.facts);
    if is_taken { Machine { id: path.to_owned(), ..machine } } else { machine }
}

/// A machine file; what it inherits is built in or lies beside it.
fn from_file(path: &str) -> Result<Machine> {
    let text = read_text(path, "machine file")?;
    let id = Path::new(path).file_stem().map_or_else(|| path.to_owned(), |stem| stem.to_string_lossy().into_owned());
    let folder = Path::new(path).parent().unwrap_or(Path::new("")).to_owned();
    let resolve = |name: &str| match builtin::text(name) {
        Some(text) => Some(text.to_owned()),
        None => files::read_to_string(folder.join(format!("{name}.toml"))).ok(),
    };
    load(&id, &text, &resolve).map_err(|error| {
        let name = if error.name == id { path.to_owned() } else { error.name.clone() };
        let lacks_origin = error.diagnostics.iter().any(|diagnostic| diagnostic.code == NO_ORIGIN);
        let all = load_error(LoadError { name, ..error });
        if lacks_origin { all.with_help(ORIGIN_HELP) } else { all }
    })
}

fn load_error(error: LoadError) -> Error {
    let message = error.to_string();
    Error::input(message).with_findings(error.name, &error.text, error.diagnostics)
}

#[cfg(test)]
mod tests {
    use super::*;
    use warplens_base::error::ErrorKind;

    #[test]
    fn no_two_gpus_have_one_label() {
        assert_eq!(
            ids("rtx2080ti,rtx2080ti@1797,rtx2080ti@1350.5"),
            Ok(vec!["rtx2080ti".into(), "rtx2080ti@1797".into(), "rtx2080ti@1350.5".into()])
        );
        let again = one("rtx2080ti@1797").unwrap();
        assert_eq!((again.board(), one(&again.id).unwrap()), ("rtx2080ti", again.clone()));
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        for (name, clock) in [("h200.toml", 1000), ("a/mine.toml", 1100), ("b/mine.toml", 1200)] {
            std::fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
            let clock = format!(
                "[clock]\nbasis = \"measured\"\nsource = \"here\"\ndefault = {{ value = {clock}, unit = \"MHz\" }}\n"
            );
            let text = format!("name = \"Mine\"\ninherits = \"sm_90\"\n{clock}");
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let list = format!("h200,{0},{1},{2},{1}", path("h200.toml"), path("a/mine.toml"), path("b/mine.toml"));
        assert_eq!(ids(&list), Ok(vec!["h200".into(), path("h200.toml"), "mine".into(), path("b/mine.toml")]));
    }

    fn ids(list: &str) -> std::result::Result<Vec<String>, String> {
        let machines = select(list).map_err(|error| {
            assert_eq!(error.kind, ErrorKind::Usage);
            error.message
        })?;
        Ok(machines.into_iter().map(|machine| machine.id).collect())
    }

    #[test]
    fn lists_keep_their_order_and_name_each_gpu_once() {
        assert_eq!(ids("h200,v100,h200"), Ok(vec!["h200".into(), "v100-pcie".into()]));
        assert!(ids("sm_70").unwrap().contains(&"v100-sxm2".to_owned()));
        assert_eq!(ids("h300"), Err("unknown GPU `h300`".into()));
        assert_eq!(ids("h200,"), Err("--gpu: empty GPU name".into()));
        assert!(one("all").unwrap_err().message.starts_with("`all` means several GPUs: 8800gtx"));
    }

    #[test]
    fn a_file_inherits_from_what_is_built_in_or_lies_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("base.toml", "name = \"Base\"\ninherits = \"h200\"\n");
        write("mine.toml", "name = \"Mine\"\ninherits = \"base\"\n");
        write("broken.toml", "name = \"Broken\"\ninherits = \"nothing\"\n");
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        let mine = one(&path("mine.toml")).unwrap();
        assert_eq!((mine.id.as_str(), mine.name.as_str(), mine.cc), ("mine", "Mine", ComputeCapability::new(9, 0)));
        let error = one(&path("broken.toml")).unwrap_err();
        assert_eq!(
            (error.kind, error.findings.map(|findings| findings.name)),
            (ErrorKind::Input, Some(path("broken.toml")))
        );
        assert_eq!(one(&path("none.toml")).unwrap_err().kind, ErrorKind::Input);
    }
}
