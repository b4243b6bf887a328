//! How an instruction was written.

use std::fmt;
use std::sync::Arc;

use crate::InstKey;

/// The text of an opcode with its modifiers, for display and nothing else: what an instruction is, its [`InstKey`] says.
///
/// Texts cannot be compared:
///
/// ```compile_fail,E0369
/// use warplens_isa::OpcodeText;
/// let is_same = OpcodeText::new("ld.global.f32") == OpcodeText::new("ld.global.f32");
/// ```
///
/// They sort nothing and are no keys:
///
/// ```compile_fail,E0277
/// use warplens_isa::OpcodeText;
/// std::collections::BTreeMap::from([(OpcodeText::new("ld.global.f32"), 1)]);
/// ```
///
/// ```compile_fail,E0277
/// use warplens_isa::OpcodeText;
/// std::collections::HashMap::from([(OpcodeText::new("ld.global.f32"), 1)]);
/// ```
///
/// They have none of the methods of strings:
///
/// ```compile_fail,E0599
/// use warplens_isa::OpcodeText;
/// let is_load = OpcodeText::new("ld.global.f32").starts_with("ld");
/// ```
///
/// ```compile_fail,E0599
/// use warplens_isa::OpcodeText;
/// let words = OpcodeText::new("ld.global.f32").split('.');
/// ```
///
/// ```compile_fail,E0308
/// use warplens_isa::OpcodeText;
/// let text = OpcodeText::new("ld.global.f32");
/// let text: &str = &text;
/// ```
///
/// They are shown:
///
/// ```
/// use warplens_isa::OpcodeText;
/// assert_eq!(format!("{}", OpcodeText::new("ld.global.f32")), "ld.global.f32");
/// ```
#[derive(Clone)]
pub struct OpcodeText(Arc<str>);

impl OpcodeText {
    /// The text as written.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for OpcodeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for OpcodeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// An instruction with the text that it was written as. Two are equal when they are the same instruction, whatever their
/// texts.
#[derive(Clone)]
pub struct Spelling {
    /// What it is.
    pub key: InstKey,
    /// How it was written.
    pub text: OpcodeText,
}

impl Spelling {
    /// The instruction `key`, written as `text`.
    pub fn new(key: InstKey, text: impl Into<Arc<str>>) -> Self {
        Self { key, text: OpcodeText::new(text) }
    }
}

/// The instruction as its key displays.
impl From<InstKey> for Spelling {
    fn from(key: InstKey) -> Self {
        Self::new(key, key.to_string())
    }
}

impl PartialEq for Spelling {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Spelling {}

impl fmt::Display for Spelling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.text, f)
    }
}

impl fmt::Debug for Spelling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}
