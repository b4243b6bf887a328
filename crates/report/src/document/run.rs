//! `warplens.run`.

use warplens_document::run::{Buffer, Run};
use warplens_document::{self as document, Id, Number};
use warplens_launch::Element;
use warplens_session::{Output, RunResult, saved};

/// The document of the `run` verb.
pub fn document(run: &RunResult) -> Run {
    let buffer = |output: &Output| {
        let values = output.elements().map(element).collect();
        (output.key.clone(), Buffer { kind: output.element.name().to_owned(), values })
    };
    Run {
        schema: Id::new(),
        kernels: run.kernels.iter().map(|kernel| kernel.mangled.clone()).collect(),
        buffers: run.outputs.iter().map(buffer).collect(),
        races: run.races.iter().map(saved::race).collect(),
        printed: run.printed.clone(),
        support: saved::support(&run.support),
        emulation: saved::emulation(&run.emulation),
    }
}

fn element(element: Element) -> document::Element {
    match element {
        Element::Unsigned(value) => document::Element::Unsigned(value),
        Element::Signed(value) => document::Element::Signed(value),
        // The shortest digits that read back as the same f32; widening to f64 first would print digits of the widening.
        Element::Single(value) => {
            document::Element::Float(Number(value.to_string().parse().unwrap_or(f64::from(value))))
        }
        Element::Double(value) => document::Element::Float(Number(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_numbers_or_names_of_what_is_no_number() {
        let shown = |value| crate::document::value(&element(value)).to_string();
        assert_eq!(shown(Element::Unsigned(u64::MAX)), "18446744073709551615");
        assert_eq!(shown(Element::Signed(-1)), "-1");
        assert_eq!(shown(Element::Single(0.1)), "0.1");
        assert_eq!(shown(Element::Single(f32::NAN)), "\"nan\"");
        assert_eq!(shown(Element::Single(f32::INFINITY)), "\"inf\"");
        assert_eq!(shown(Element::Double(f64::NEG_INFINITY)), "\"-inf\"");
        assert_eq!(shown(Element::Double(0.1)), "0.1");
    }
}
