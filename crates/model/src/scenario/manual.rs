//! The manual's page on what-if questions, written from the tables that the program itself uses.

use std::fmt::Write as _;

use warplens_machine::{Key, Shape};

use super::effect::knobs;
use super::{ALIASES, COUNTS, EFFECTS, LAUNCH_FIELDS};
use crate::{MODELS, ModelId};

const OPENING: &str = "\
# What-if questions

`warplens whatif INPUT --set NAME=VALUE` asks all models the same question twice: as things are, and as they would be with another value.
`--without EFFECT` supposes that an effect costs nothing.
Both may be given several times and together; all of it holds at once.
`--each` prices every effect by itself, and all together, and sorts them by what they cost.

A value is a number with its unit (`4TB/s`, `2GHz`, `400ns`, `400cycles`) or a factor (`2x`, `0.5x`).
Effects are taken away first, then values are set in their order.
What follows from a changed value follows: a derived parameter is derived again, and the distances between memory transactions that a GPU's file states shrink as the bandwidth grows.
A changed machine parameter stands among the parameters of the prediction with the basis `what-if`.

`warplens explain INPUT` says in words what bounds a kernel and ranks the changes that its counts support; each gain is the answer to a what-if question of this page.
";

/// The page: effects, and everything that can be set.
pub fn page() -> String {
    let mut text = OPENING.to_owned();
    text.push_str(
        "\n## Effects\n\n| Effect | What is supposed without it | Models that do not have it |\n|---|---|---|\n",
    );
    for effect in EFFECTS {
        let unmodelled = ModelId::ALL.iter().filter(|model| !effect.is_modelled_by(**model));
        let without: Vec<String> = unmodelled.map(|model| format!("`{model}`")).collect();
        _ = writeln!(text, "| `{}` | {} | {} |", effect.name(), effect.about, without.join(", "));
    }
    text.push_str(
        "\n## Machine parameters\n\nEvery parameter of [machines.md](machines.md) that is one number, by its name:\n",
    );
    let names: Vec<String> =
        Key::ALL.iter().filter(|key| key.shape() == Shape::Number).map(|key| format!("`{key}`")).collect();
    _ = writeln!(text, "{}.", names.join(", "));
    text.push_str("\n| Short name | Sets |\n|---|---|\n");
    for alias in ALIASES {
        _ = writeln!(text, "| `{}` | {} |", alias.name, alias.about);
    }
    text.push_str("\n## Launch\n\n| Name | Meaning |\n|---|---|\n");
    for field in LAUNCH_FIELDS {
        _ = writeln!(text, "| `{}` | {} |", field.name, field.about);
    }
    text.push_str(
        "\n## Counts\n\nA count of a warp is the mean over all warps of the launch.\n\n| Name | Meaning |\n|---|---|\n",
    );
    for count in COUNTS {
        _ = writeln!(text, "| `{}` | {} |", count.name, count.about);
    }
    if knobs().next().is_some() {
        text.push_str("\n## Quantities of one model\n\n| Name | Unit | Meaning |\n|---|---|---|\n");
    }
    for knob in MODELS.iter().flat_map(|model| model.knobs()) {
        _ = writeln!(text, "| `{}` | {} | {} |", knob.name, knob.unit, knob.about);
    }
    text
}
