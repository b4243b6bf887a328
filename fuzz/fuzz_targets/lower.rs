//! What a text lowers to is a sound program: the verifier accepts it, and it can be printed.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let source = String::from_utf8_lossy(bytes);
    let (module, findings) = warplens_ptx::load(&source);
    for finding in &findings {
        assert!(source.get(finding.primary.span.range()).is_some());
    }
    if let Some(module) = module {
        let violations = warplens_ir::verify(&module);
        assert!(violations.is_empty(), "{violations:?}");
        std::hint::black_box(warplens_ir::print(&module));
    }
});
