//! Any words are instructions of a chip or none, and what is decoded has a text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use warplens_sass::{CHIPS, Decoder, words};

fuzz_target!(|bytes: &[u8]| {
    let Some((&chip, code)) = bytes.split_first() else { return };
    let sm = CHIPS[usize::from(chip) % CHIPS.len()];
    let decoder = Decoder::of(sm).expect("the table of forms reads");
    for (index, word) in words(code).enumerate() {
        if let Some(instruction) = decoder.decode(word) {
            assert!(!instruction.text(index as u64 * 16).is_empty());
        }
    }
});
