//! What was understood of a text prints to a text that is understood in the same way.

#![no_main]

use libfuzzer_sys::fuzz_target;
use warplens_ptx::syntax::{dump_ast, parse, print};

fuzz_target!(|bytes: &[u8]| {
    let source = String::from_utf8_lossy(bytes);
    let (module, findings) = parse(&source);
    let printed = print(&module);
    let (again, findings_again) = parse(&printed);
    assert_eq!(dump_ast(&module, false), dump_ast(&again, false), "another tree");
    assert_eq!(printed, print(&again), "another text");
    if findings.is_empty() {
        assert!(findings_again.is_empty(), "valid text became invalid: {findings_again:?}");
    }
});
