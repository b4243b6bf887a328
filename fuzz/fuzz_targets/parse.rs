//! Any bytes: the parser ends, does not panic, and its findings point into the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use warplens_ptx::syntax::{dump_ast, parse};

fuzz_target!(|bytes: &[u8]| {
    let source = String::from_utf8_lossy(bytes);
    let (module, findings) = parse(&source);
    for finding in &findings {
        assert!(source.get(finding.primary.span.range()).is_some());
    }
    dump_ast(&module, true);
});
