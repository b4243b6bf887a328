//! The live page: questions about kernels, asked in a browser of this machine and answered by the models while a slider
//! moves.
//!
//! [`Served`] is what is asked about: launches that were executed once, and GPUs. [`Server`] waits for a browser on the
//! loopback interface until it is stopped. A question is read from the address (`question`), answered with the views and
//! documents of `report` (`answer`), and kept (`jobs`), where simulations run one at a time while the page shows how far
//! they are. What a stranger could try is refused in `guard`.
//! This crate does not know about flags or terminals, it opens no file for a browser, and it computes nothing itself.

mod answer;
mod command;
mod graph;
mod guard;
mod http;
mod jobs;
mod page;
mod question;
mod served;
mod server;

pub use served::{Served, Variant, Words};
pub use server::{Port, Server, Stop};
