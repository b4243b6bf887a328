//! The JSON documents of warplens as types: the public interface.
//!
//! A document is one type for both directions. Its doc comments say what a key means and in which unit, and a JSON
//! Schema is made of them ([`schema`]); `docs/report-schema.md` and `docs/schema/` are written from that.
//!
//! # Versions
//!
//! The key `schema` of a document holds its name and version: `warplens.profile/1`. The version changes when a key
//! changes its meaning or type, or goes away; a key may be added within a version, and is one that a reader can do
//! without. Objects are closed: a program that meets a key that it does not know says so instead of losing what stands
//! there, as does a validator with the schema of an earlier release.
//!
//! Nothing here depends on the types of the engines: whoever writes or reads a document converts.

#![warn(missing_docs)]

mod assumption;
mod check;
mod held;
mod id;
pub mod keys;
mod launches;
mod named;
mod number;
mod schema;
mod table;
mod words;

// generated: modules
pub mod archive;
pub mod calibrate;
pub mod compare;
pub mod config;
pub mod exec;
pub mod explain;
pub mod figure;
pub mod glossary;
pub mod gpu;
pub mod manual;
pub mod predict;
pub mod profile;
pub mod run;
pub mod simulation;
pub mod sweep;
pub mod timeline;
pub mod trace_events;
pub mod tune;
pub mod validate;
pub mod whatif;
pub mod which;
pub mod x_model;
// end: modules

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use assumption::{Assumption, AssumptionId, assumption_ids};
pub use check::{Fault, Place, check};
pub use held::Held;
pub use id::{Id, Identified};
pub use launches::Launches;
pub use named::Named;
pub use number::{Amount, Element, Factor, Number};
pub use schema::schema;
pub(crate) use table::entry;
pub use table::{Entry, documents};

/// A document with a name, a version and a schema.
pub trait Document: Identified + JsonSchema {}

impl<D: Identified + JsonSchema> Document for D {}

/// Why a text is no document of a kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReadError {
    /// It is no JSON.
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What the parser says.
        message: String,
    },
    /// It is JSON, but not as the schema has it.
    Fault(Fault),
}

impl From<Fault> for ReadError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Reads a document. Whatever the text, the answer is a document or what is wrong with it.
pub fn read<D: Document + DeserializeOwned>(text: &str) -> Result<D, ReadError> {
    let mut value: Value = serde_json::from_str(text).map_err(|error| {
        let whole = error.to_string();
        let message = whole.split(" at line ").next().unwrap_or(&whole).to_owned();
        ReadError::Syntax { line: error.line(), column: error.column(), message }
    })?;
    let schema = schema::<D>();
    match value.get("schema") {
        Some(Value::String(id)) if id != D::ID => return Err(other_document(id, D::ID).into()),
        Some(Value::String(_)) => {}
        Some(_) => return Err(Place::default().key("schema").fault("a text is needed").into()),
        None if value.is_object() => return Err(Place::default().fault("the key `schema` is missing").into()),
        None => return Err(Place::default().fault("an object is needed").into()),
    }
    check(&schema, &mut value)?;
    serde_json::from_value(value).map_err(|error| Place::default().fault(error).into())
}

/// Says how a document is not the one that is needed: another one, or another version of it.
fn other_document(id: &str, needed: &str) -> Fault {
    let split = |id: &str| {
        let (name, version) = id.rsplit_once('/')?;
        Some((name.to_owned(), version.parse::<u32>().ok()?))
    };
    let help = match (split(id), split(needed)) {
        (Some((name, found)), Some((wanted, version))) if name == wanted && found > version => {
            Some("a later warplens wrote it; read it with that one".to_owned())
        }
        (Some((name, found)), Some((wanted, version))) if name == wanted && found < version => {
            Some("an earlier warplens wrote it; write it again with this one".to_owned())
        }
        _ => None,
    };
    Fault { message: format!("the schema is `{id}`; `{needed}` is needed"), help }
}
