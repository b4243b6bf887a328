//! The manual's page on models, written from the tables that the models themselves use.

use std::fmt::Write as _;

use crate::teg::BUSY;
use crate::{AssumptionId, MODELS, ModelId, OptionId, Resource, auto};

/// The page: models, their options and input fields, what a kernel can be bound by, and every assumption.
pub fn page() -> String {
    let mut text = String::from("# Models\n\n");
    text.push_str("Each model answers with a time that is made of terms, or refuses and names what is missing.\n");
    text.push_str(
        "`auto` takes the first model that answers, in this order, and says which others answered or refused:\n\n",
    );
    for model in auto::PREFERENCE {
        _ = writeln!(text, "- `{model}`: {}", model.model().rank_reason());
    }
    text.push('\n');
    for model in ModelId::ALL.iter().filter(|model| !auto::PREFERENCE.contains(model)) {
        _ = writeln!(text, "It never takes `{model}`: {}.", model.model().rank_reason());
    }
    text.push_str("The band beside a prediction is the spread of all these models that answered, not an error bar.\n");
    for model in MODELS {
        _ = write!(text, "\n## `{}`\n\n{}.\n", model.name(), sentence(model.about()));
        if !model.options().is_empty() {
            text.push_str("\n| Option | Effect |\n|---|---|\n");
        }
        for option in OptionId::ALL.iter().filter(|option| model.options().contains(option)) {
            _ = writeln!(text, "| `{option}` | {} |", option.about());
        }
        if model.inputs().is_empty() {
            text.push_str("\nIt takes no input file.\n");
            continue;
        }
        text.push_str("\nFields of an input file (`[inputs]`):\n\n");
        text.push_str("| Field | Unit | If it is not given | Meaning |\n|---|---|---|---|\n");
        for field in model.inputs() {
            _ = writeln!(text, "| `{}` | {} | {} | {} |", field.name, field.unit, field.origin, field.about);
        }
    }
    text.push_str("\n## Limiters\n\n");
    _ = writeln!(
        text,
        "The limiter is the resource of the largest term; where terms add up, the resource whose terms make most of the time \
         together.\n`teg` gives the term of issuing to the unit that paces it, where one is busier than the issue slots and for \
         at least {} % of the time.\n",
        100.0 * BUSY,
    );
    for resource in Resource::ALL {
        _ = writeln!(text, "- {}", resource.name());
    }
    text.push_str("\n## Assumptions\n\n| Identifier | Made when | Assumption |\n|---|---|---|\n");
    for assumption in AssumptionId::ALL {
        _ = writeln!(text, "| `{assumption}` | {} | {} |", assumption.when(), assumption.text());
    }
    text
}

fn sentence(about: &str) -> String {
    let mut letters = about.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
