//! Words that a document chooses from: a table makes the type, its text, and its part of the schema.

/// Makes an enum of words; the text in front of its name is what messages call such a word.
macro_rules! words {
    ($($(#[doc = $doc:literal])* $title:literal $name:ident {
        $($(#[doc = $word_doc:literal])* $word:ident = $text:literal,)*
    })*) => {$(
        $(#[doc = $doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name {
            $($(#[doc = $word_doc])* $word,)*
        }

        impl $name {
            /// Every word, in the order of the documents.
            pub const ALL: &[Self] = &[$(Self::$word,)*];

            /// The word as it is written.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$word => $text,)* }
            }

            /// The word that is written `text`.
            pub fn of(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|word| word.name() == text)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                Self::of(&text).ok_or_else(|| {
                    serde::de::Error::unknown_variant(&text, &[$($text,)*])
                })
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let description = concat!($($doc, "\n",)*);
                let description: Vec<&str> = description.lines().map(str::trim).collect();
                schemars::json_schema!({
                    "title": $title,
                    "description": description.join(" "),
                    "type": "string",
                    "enum": [$($text,)*],
                })
            }
        }
    )*};
}

pub(crate) use words;
