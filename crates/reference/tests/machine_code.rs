//! The tests of what PTX does not have and machine code does, for the reference interpreter.
#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]

#[path = "../../session/tests/emulator/machine_code.rs"]
mod machine_code;

/// The engine that executes what is written in the IR.
type Tested = warplens_reference::Reference;
