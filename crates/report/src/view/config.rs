//! What is asked for unless flags say otherwise.
//!
//! ```text
//! key  value  from           what it is
//! gpu  h200   built in       GPUs that are asked
//! ```

use warplens_document::Id;
use warplens_document::config::{Config, Setting};

use crate::section::{Block, Cell, Section, Table};

/// A key with its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The key.
    pub key: String,
    /// What it is for.
    pub about: String,
    /// Its value; none where nothing is asked for.
    pub value: Option<String>,
    /// The file that says so; none where it is built in.
    pub file: Option<String>,
}

/// All keys; `files` are those that were read, the strongest first.
pub fn settings(rows: &[Row], files: &[String]) -> Vec<Section> {
    let mut table = Table::new(&[("key", "key"), ("value", "value"), ("from", "from"), ("what it is", "about")]);
    for row in rows {
        let value = row.value.as_ref().map_or(Cell::Missing, Cell::text);
        let from = row.file.as_deref().unwrap_or("built in");
        table.push(vec![Cell::text(&row.key), value, Cell::text(from), Cell::text(&row.about)]);
    }
    let section = Section::new("config", "Defaults of flags").with(Block::Table(table));
    let said = match files {
        [] => {
            "No warplens.toml was found, neither here and above nor in the user's folder of configurations.".to_owned()
        }
        files => format!("Read: {}.", files.join(", ")),
    };
    vec![section.note(said)]
}

/// The document of the `config show` verb.
pub fn document(rows: &[Row], files: &[String]) -> Config {
    let setting = |row: &Row| Setting {
        key: row.key.clone(),
        value: row.value.clone(),
        file: row.file.clone(),
        about: row.about.clone(),
    };
    Config { schema: Id::new(), files: files.to_vec(), settings: rows.iter().map(setting).collect() }
}
