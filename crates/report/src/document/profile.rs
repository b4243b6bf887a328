//! `warplens.profile`. The document is made where it is read, too: in [`warplens_session::saved`].

pub use warplens_session::saved::document;
