//! Machine code and traces that others wrote down: read or refused, and what was read can be turned into what warps do.

#![no_main]

use libfuzzer_sys::fuzz_target;
use warplens_native::{read_listing, read_sass_trace};
use warplens_trace::CtaId;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let _ = read_sass_trace(&text);
    if let Ok(listing) = read_listing(&text) {
        let _ = listing.trace(CtaId(0), 64);
    }
});
