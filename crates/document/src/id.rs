//! Name and version of a document, in the document.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::schema::id_schema;

/// What has a name and a version.
pub trait Identified {
    /// Name and version: `warplens.profile/1`.
    const ID: &'static str;
    /// True where the program reads what it writes.
    const IS_READ: bool = false;
}

/// The value of the key `schema` of `D`.
pub struct Id<D>(PhantomData<fn() -> D>);

impl<D> Id<D> {
    /// The only value.
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<D> Default for Id<D> {
    fn default() -> Self {
        Self::new()
    }
}

impl<D> Clone for Id<D> {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl<D> PartialEq for Id<D> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<D: Identified> fmt::Debug for Id<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(D::ID)
    }
}

impl<D: Identified> Serialize for Id<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(D::ID)
    }
}

impl<'de, D: Identified> Deserialize<'de> for Id<D> {
    fn deserialize<S: Deserializer<'de>>(deserializer: S) -> Result<Self, S::Error> {
        let text = <Cow<'de, str>>::deserialize(deserializer)?;
        if text == D::ID { Ok(Self::new()) } else { Err(S::Error::invalid_value(Unexpected::Str(&text), &D::ID)) }
    }
}

impl<D: Identified> JsonSchema for Id<D> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("IdOf{}", D::ID).into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Schema::try_from(id_schema(D::ID)).unwrap_or_default()
    }
}
