//! The terms of the glossary.

use warplens_base::error::{Error, Result};
use warplens_base::nearest_by;

/// The document with all terms.
const TEXT: &str = include_str!("../GLOSSARY.md");

/// A term of the field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Term {
    /// The part of the glossary: launch and execution, counts.
    pub part: &'static str,
    /// The term; several names are separated by commas.
    pub term: &'static str,
    /// What it means, in one line.
    pub meaning: &'static str,
}

/// All terms, in the order of the glossary.
pub fn terms() -> Vec<Term> {
    let mut part = "";
    let mut terms = Vec::new();
    for line in TEXT.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            part = heading;
        }
        // Heads and rules of the tables stand before their terms.
        let Some(row) = line.strip_prefix("| ").filter(|row| !row.starts_with("Term |") && !part.is_empty()) else {
            continue;
        };
        let mut cells = row.split(" | ");
        if let (Some(term), Some(meaning)) = (cells.next(), cells.next()) {
            terms.push(Term { part, term, meaning });
        }
    }
    terms
}

/// The terms that a word means: those that are called so, else those whose names or meanings have it.
pub fn find(word: &str) -> Result<Vec<Term>> {
    let wanted = word.trim().to_lowercase();
    let names = |term: &Term| -> Vec<String> {
        term.term.split(", ").map(|name| name.replace('`', "").to_lowercase()).collect()
    };
    let all = terms();
    let of = |is: &dyn Fn(&Term) -> bool| -> Vec<Term> { all.iter().copied().filter(is).collect() };
    let called = of(&|term| names(term).contains(&wanted));
    let named = || of(&|term| names(term).iter().any(|name| name.contains(&wanted)));
    let said = || of(&|term| term.meaning.to_lowercase().contains(&wanted));
    let found = [called].into_iter().chain(std::iter::once_with(named)).chain(std::iter::once_with(said));
    match found.into_iter().find(|found| !found.is_empty() && !wanted.is_empty()) {
        Some(found) => Ok(found),
        None => Err(unknown(word, &all)),
    }
}

fn unknown(word: &str, all: &[Term]) -> Error {
    let error = Error::usage(format!("the glossary has no term `{word}`"));
    match nearest_by(word, all.iter().flat_map(|term| term.term.split(", ")), str::to_lowercase) {
        Some(near) => error.with_help(format!("did you mean `{near}`?")),
        None => error.with_help("warplens glossary lists all terms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_glossary_is_a_term() {
        let rows = TEXT.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| Term |")).count();
        assert_eq!(terms().len(), rows);
        assert!(terms().iter().all(|term| !term.term.is_empty() && !term.meaning.is_empty()));
    }

    #[test]
    fn a_term_is_found_by_its_names_and_its_meaning() {
        let of = |word: &str| find(word).unwrap().iter().map(|term| term.term).collect::<Vec<_>>();
        assert_eq!(of("Warp"), ["warp"]);
        assert_eq!(of("thread block"), ["CTA, thread block"]);
        assert!(of("reconverg").contains(&"reconvergence point"));
        assert!(!of("three dimensions").is_empty(), "meanings are looked through");
        assert!(find("occupency").unwrap_err().help.unwrap().contains("occupancy"));
        assert!(find("").is_err());
    }
}
