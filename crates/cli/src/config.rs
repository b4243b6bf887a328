//! What a user or a project asks for each time: files called `warplens.toml`, whose keys are defaults of flags.
//!
//! The nearest file in the working folder or a folder above it is the project's, one in the user's folder of
//! configurations is the user's. A flag goes over the project, the project over the user, the user over what is built in.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Command, CommandFactory};
use warplens_base::nearest;
use warplens_question::toml_file;
use warplens_session::{Error, files};

use crate::flags::Cli;

/// Name of the files.
const FILE: &str = "warplens.toml";
/// Names the one file that is read, or none where it is empty.
const VARIABLE: &str = "WARPLENS_CONFIG";

/// Flags that may have another default, with what they are for.
pub(crate) const KEYS: [(&str, &str); 9] = [
    ("gpu", "GPUs that are asked"),
    ("model", "models that are asked"),
    ("strict", "refuse where a machine parameter would have to be derived"),
    ("count", "which instructions count"),
    ("code", "code that is executed and simulated"),
    ("format", "format of the result"),
    ("color", "colour of the output"),
    ("width", "columns of the text"),
    ("threads", "host threads"),
];

/// A default that a file gives.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Setting {
    /// The flag.
    pub(crate) key: &'static str,
    /// Its value as a word of the command line.
    pub(crate) value: String,
    /// The file.
    pub(crate) file: PathBuf,
}

/// What the files say, each key once.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Config {
    /// The files that were read, the strongest first.
    pub(crate) files: Vec<PathBuf>,
    /// The defaults.
    pub(crate) settings: Vec<Setting>,
}

impl Config {
    /// Reads the files that are there.
    pub(crate) fn load() -> Result<Self> {
        let mut config = Self::default();
        for file in places() {
            let text = match files::read_to_string(&file) {
                Ok(text) => text,
                Err(error) => return Err(Error::input(format!("cannot read {}: {error}", file.display())).into()),
            };
            for setting in parse(&file, &text)? {
                if config.settings.iter().all(|own| own.key != setting.key) {
                    config.settings.push(setting);
                }
            }
            config.files.push(file);
        }
        Ok(config)
    }

    /// The command with these defaults.
    pub(crate) fn command(&self) -> Command {
        self.settings.iter().fold(Cli::command(), with_default)
    }
}

/// The files that there are, the strongest first.
fn places() -> Vec<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        return Some(PathBuf::from(named)).filter(|path| !path.as_os_str().is_empty()).into_iter().collect();
    }
    let folder = std::env::current_dir().unwrap_or_default();
    let project = folder.ancestors().map(|folder| folder.join(FILE)).find(|file| file.is_file());
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".config"));
    let user = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute()).or_else(home);
    let user = user.map(|folder| folder.join("warplens").join(FILE)).filter(|file| file.is_file());
    let mut found: Vec<PathBuf> = project.into_iter().chain(user).collect();
    found.dedup();
    found
}

fn parse(file: &Path, text: &str) -> Result<Vec<Setting>> {
    let name = file.display();
    let table: toml::Table = toml_file::read(&name.to_string(), text)?;
    let setting = |(key, value): (String, toml::Value)| -> Result<Setting> {
        let known = KEYS.iter().map(|(known, _)| *known).find(|known| *known == key);
        let Some(key) = known else { return Err(unknown(file, &key).into()) };
        let value = match value {
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Boolean(is_set) => is_set.to_string(),
            toml::Value::Array(values) if key == "gpu" && values.iter().all(toml::Value::is_str) => {
                values.iter().filter_map(toml::Value::as_str).collect::<Vec<_>>().join(",")
            }
            _ => return Err(Error::usage(format!("{name}: `{key}` is no text, number, true or false")).into()),
        };
        let setting = Setting { key, value, file: file.to_owned() };
        check(&setting)?;
        Ok(setting)
    };
    table.into_iter().map(setting).collect()
}

/// What the flag itself would say of the value.
fn check(setting: &Setting) -> Result<()> {
    let command = with_default(Cli::command(), setting);
    let words = ["warplens", "predict", "input"];
    command.try_get_matches_from(words).map(|_| ()).map_err(|error| {
        // The first line names the value and the flag.
        let text = error.to_string();
        let said = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        Error::usage(format!("{}: {said}", setting.file.display())).into()
    })
}

fn unknown(file: &Path, key: &str) -> Error {
    let error = Error::usage(format!("{}: there is no key `{key}`", file.display()));
    let keys = || KEYS.iter().map(|(key, _)| *key);
    match nearest(key, keys()) {
        Some(near) => error.with_help(format!("did you mean `{near}`?")),
        None => error.with_help(format!("the keys are {}", keys().collect::<Vec<_>>().join(", "))),
    }
}

/// The command, where every verb that has the flag takes the value unless told otherwise.
fn with_default(mut command: Command, setting: &Setting) -> Command {
    if command.get_arguments().any(|argument| argument.get_id() == setting.key) {
        let value = setting.value.clone();
        command = command.mut_arg(setting.key, |argument| argument.default_value(value));
    }
    let verbs: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    verbs.iter().fold(command, |command, verb| command.mut_subcommand(verb, |verb| with_default(verb, setting)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> std::result::Result<Vec<(&'static str, String)>, String> {
        let settings = parse(Path::new("w.toml"), text).map_err(|error| error.to_string())?;
        Ok(settings.into_iter().map(|setting| (setting.key, setting.value)).collect())
    }

    #[test]
    fn keys_are_flags() {
        let command = Cli::command();
        for (key, _) in KEYS {
            let has = |command: &Command| command.get_arguments().any(|argument| argument.get_id() == key);
            assert!(has(&command) || command.get_subcommands().any(has), "{key}");
        }
    }

    #[test]
    fn values_are_those_of_the_flags() {
        assert_eq!(read("gpu = [\"h200\", \"k40\"]\n").unwrap(), [("gpu", "h200,k40".to_owned())]);
        assert_eq!(read("strict = true\nthreads = 2\n").unwrap().len(), 2);
        for (text, message) in [
            ("gpus = \"h200\"", "there is no key `gpus`"),
            ("format = \"pdf\"", "invalid value 'pdf' for '--format <FORMAT>'"),
            ("width = 3", "invalid value '3' for '--width <COLUMNS>'"),
            ("threads = 1.5", "`threads` is no text"),
            ("\ngpu = ", "w.toml, line 2"),
        ] {
            let said = read(text).unwrap_err();
            assert!(said.contains(message), "{text}: {said}");
        }
    }

    #[test]
    fn a_flag_goes_over_a_setting() {
        let setting = Setting { key: "gpu", value: "k40".to_owned(), file: PathBuf::new() };
        let config = Config { files: Vec::new(), settings: vec![setting] };
        let gpu = |words: &[&str]| {
            let matches = config.command().try_get_matches_from(words).unwrap();
            let (_, verb) = matches.subcommand().unwrap();
            verb.get_one::<String>("gpu").unwrap().clone()
        };
        assert_eq!(gpu(&["warplens", "predict", "x"]), "k40");
        assert_eq!(gpu(&["warplens", "tune", "x", "--gpu", "h200"]), "h200");
    }
}
