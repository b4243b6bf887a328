//! The simulation as a whole, on programs and machines made for it.

mod arms;
mod atomics;
mod boards;
mod common;
mod copies;
mod identities;
mod l2;
mod passing;
mod phases;
mod products;
mod properties;
mod registers;
mod sharing;
