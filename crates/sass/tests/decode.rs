//! Instructions that ptxas wrote, with the text that nvdisasm gives them.
//!
//! `data/words.txt` has one of each kind and chip; `data/words.py` takes them from cubins.
#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]

use proptest::prelude::*;
use warplens_sass::{CHIPS, Decoder, WORD_BYTES};

const WORDS: &str = include_str!("data/words.txt");

/// Chip, address, word and text of each line.
fn cases() -> impl Iterator<Item = (u32, u64, u128, &'static str)> {
    WORDS.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut parts = line.splitn(4, ' ');
        let sm = parts.next().unwrap().parse().unwrap();
        let address = u64::from_str_radix(parts.next().unwrap(), 16).unwrap();
        let word = u128::from_str_radix(parts.next().unwrap(), 16).unwrap();
        (sm, address, word, parts.next().unwrap())
    })
}

#[test]
fn texts_are_those_of_nvdisasm() {
    let mut wrong = Vec::new();
    for sm in CHIPS {
        let decoder = Decoder::of(sm).unwrap();
        let mut n_cases = 0;
        for (_, address, word, text) in cases().filter(|&(chip, ..)| chip == sm) {
            let got = decoder.decode(word).map_or("unknown".to_owned(), |instruction| instruction.text(address));
            if got != text {
                wrong.push(format!("sm_{sm} {word:032x}: {got}, not {text}"));
            }
            n_cases += 1;
        }
        assert!(n_cases >= 200, "{n_cases} cases of sm_{sm}");
    }
    assert!(wrong.is_empty(), "{} are not as they should be:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_branch_knows_its_target() {
    for (sm, address, word, text) in cases() {
        let Some(target) = text.strip_prefix("BRA 0x") else { continue };
        let target = u64::from_str_radix(target, 16).unwrap();
        let instruction = Decoder::of(sm).unwrap().decode(word).unwrap();
        assert_eq!((address + WORD_BYTES).checked_add_signed(instruction.target().unwrap()), Some(target));
    }
}

#[test]
fn other_chips_are_refused() {
    assert!(Decoder::of(70).unwrap_err().to_string().contains("sm_70"));
}

proptest! {
    #[test]
    fn any_word_is_an_instruction_or_none(word: u128, key in 0_u128..4096, chip in 0..CHIPS.len()) {
        let decoder = Decoder::of(CHIPS[chip]).unwrap();
        for word in [word, word >> 12 << 12 | key] {
            if let Some(instruction) = decoder.decode(word) {
                prop_assert!(!instruction.text(0).is_empty());
            }
        }
    }
}
