//! `warplens.run/1`.

use serde_json::{Map, Value as Json, json};
use warplens_session::RunResult;
use warplens_session::launch::Element;

use super::json::number;
use super::profile::{emulation, race, support};

/// The document of the `run` verb.
pub fn document(run: &RunResult) -> Json {
    let buffers: Map<String, Json> = run
        .outputs
        .iter()
        .map(|output| {
            let values: Vec<Json> = output.elements().map(element).collect();
            (output.key.clone(), json!({ "type": output.element.name(), "values": values }))
        })
        .collect();
    json!({
        "schema": "warplens.run/1",
        "kernels": run.kernels.iter().map(|kernel| kernel.mangled.as_str()).collect::<Vec<_>>(),
        "buffers": buffers,
        "races": run.races.iter().map(race).collect::<Vec<_>>(),
        "printed": run.printed,
        "support": support(&run.support),
        "emulation": emulation(&run.emulation),
    })
}

fn element(element: Element) -> Json {
    match element {
        Element::Unsigned(value) => value.into(),
        Element::Signed(value) => value.into(),
        // The shortest digits that read back as the same f32; widening to f64 first would print digits of the widening.
        Element::Single(value) => match value.to_string().parse() {
            Ok(wide) => number(wide),
            Err(_) => number(f64::from(value)),
        },
        Element::Double(value) => number(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_numbers_or_names_of_what_is_no_number() {
        let shown = |value| element(value).to_string();
        assert_eq!(shown(Element::Unsigned(u64::MAX)), "18446744073709551615");
        assert_eq!(shown(Element::Signed(-1)), "-1");
        assert_eq!(shown(Element::Single(0.1)), "0.1");
        assert_eq!(shown(Element::Single(f32::NAN)), "\"nan\"");
        assert_eq!(shown(Element::Single(f32::INFINITY)), "\"inf\"");
        assert_eq!(shown(Element::Double(f64::NEG_INFINITY)), "\"-inf\"");
        assert_eq!(shown(Element::Double(0.1)), "0.1");
    }
}
