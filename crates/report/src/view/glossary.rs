//! Terms of the glossary, and the keys of documents with what Nsight Compute calls the same.

use warplens_document::Id;
use warplens_document::glossary::{Glossary, Metric, Metrics, Term as Entry};
use warplens_document::keys::Key;
use warplens_question::glossary::Term;

use crate::section::{Block, Cell, Section, Table};

/// Terms with their meanings, part by part.
pub fn terms(terms: &[Term]) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for part in terms.chunk_by(|left, right| left.part == right.part) {
        let mut table = Table::new(&[("term", "term"), ("meaning", "meaning")]);
        for term in part {
            table.push(vec![Cell::text(plain(term.term)), Cell::text(plain(term.meaning))]);
        }
        sections.push(Section::new("glossary", part[0].part).with(Block::Table(table)));
    }
    sections
}

/// Keys with their meanings, document by document.
pub fn metrics(keys: &[Key]) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for document in keys.chunk_by(|left, right| left.document == right.document) {
        let mut table = Table::new(&[("key", "key"), ("meaning", "meaning"), ("Nsight Compute", "nsight_compute")]);
        for key in document {
            let cells = [key.path.as_str(), &plain(&key.meaning), &key.nsight.join(", ")];
            table.push(cells.map(Cell::text).to_vec());
        }
        let title = format!("Keys of {} --format json", document[0].document);
        sections.push(Section::new("metrics", title).with(Block::Table(table)));
    }
    sections
}

/// The text without the marks of code.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

/// The document of terms.
pub fn document(terms: &[Term]) -> Glossary {
    let entry =
        |term: &Term| Entry { term: plain(term.term), meaning: plain(term.meaning), part: term.part.to_owned() };
    Glossary { schema: Id::new(), terms: terms.iter().map(entry).collect() }
}

/// The document of keys.
pub fn metrics_document(keys: &[Key]) -> Metrics {
    let metric = |key: &Key| Metric {
        document: key.document.to_owned(),
        key: key.path.clone(),
        meaning: key.meaning.clone(),
        nsight_compute: key.nsight.clone(),
    };
    Metrics { schema: Id::new(), metrics: keys.iter().map(metric).collect() }
}
