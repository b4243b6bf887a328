//! The page: one form around the views, filled with the names of what is served. Its looks are those of a report with a
//! few of its own; its script asks questions and puts the answers in place.

use warplens_question::whatif::{ALIASES, COUNTS, EFFECTS, LAUNCH_FIELDS, names};
use warplens_question::x_model::Knob;
use warplens_report::render::page::{self, escaped};

use crate::served::{SIMULATION, Served, closed_forms};

const FRAME: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
/// The scripts of the page: how it asks, and the rest.
pub(crate) const SCRIPTS: [(&str, &str); 2] =
    [("ask.js", include_str!("page/ask.js")), ("page.js", include_str!("page/page.js"))];

/// Machine parameters that have a slider besides those with a short name.
const PARAMETERS: [&str; 4] = ["l1.size", "l2.achieved_bandwidth", "latency.l2", "shared.bytes"];
/// Short names that mean the same as another.
const TWICE: &str = "bandwidth";

/// The looks of the page.
pub(crate) fn style() -> String {
    page::style() + STYLE
}

/// The page for what is served.
pub(crate) fn html(served: &Served) -> String {
    let kernels: Vec<&str> = served.variants.iter().map(|variant| variant.name.as_str()).collect();
    let gpus: Vec<(&str, &str)> =
        served.machines.iter().map(|machine| (machine.id.as_str(), machine.name.as_str())).collect();
    let slots = [
        ("{{kernels}}", kernels.iter().map(|name| option(name, name)).collect()),
        ("{{gpus}}", gpus.iter().map(|(id, name)| option(id, &format!("{id} ({name})"))).collect()),
        ("{{models}}", models()),
        ("{{knobs}}", knobs()),
        ("{{parameters}}", parameters()),
        ("{{counts}}", counts()),
        ("{{effects}}", effects()),
        ("{{names}}", names().map(|name| format!("<option value=\"{name}\">")).collect()),
        ("{{compared-kernels}}", boxes("kernel", kernels.iter().map(|name| (*name, *name)))),
        ("{{compared-gpus}}", boxes("gpu", gpus.iter().copied())),
        ("{{version}}", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    // Names of inputs come last, so that nothing in them is taken for a slot.
    slots.iter().rev().fold(FRAME.to_owned(), |page, (slot, text): &(&str, String)| page.replace(slot, text))
}

fn option(value: &str, text: &str) -> String {
    format!("<option value=\"{}\">{}</option>\n", escaped(value), escaped(text))
}

fn models() -> String {
    let closed: String = closed_forms().iter().map(|model| option(model.name(), model.name())).collect();
    closed + &option(SIMULATION.name(), &format!("{SIMULATION} (simulated)"))
}

fn boxes<'n>(kind: &str, named: impl Iterator<Item = (&'n str, &'n str)>) -> String {
    let row = |(value, text): (&str, &str)| {
        let (value, text) = (escaped(value), escaped(text));
        format!("<label><input type=\"checkbox\" data-compared=\"{kind}\" value=\"{value}\"> {text}</label>\n")
    };
    named.map(row).collect()
}

fn knobs() -> String {
    Knob::ALL.into_iter().map(|knob| slider(knob.spec().name, knob.symbol(), knob.spec().about)).collect()
}

fn parameters() -> String {
    let aliases = ALIASES.iter().filter(|alias| alias.name != TWICE);
    let aliases = aliases.map(|alias| slider(alias.name, alias.name, alias.about));
    let others = PARAMETERS.iter().map(|name| slider(name, name, ""));
    let fields = LAUNCH_FIELDS.iter().filter(|field| !field.runs_again);
    aliases.chain(others).chain(fields.map(|field| slider(field.name, field.name, field.about))).collect()
}

fn counts() -> String {
    COUNTS.iter().map(|count| slider(count.name, count.name, count.about)).collect()
}

/// From a quarter to four times as much, in steps of a twentieth of an octave.
fn slider(name: &str, label: &str, about: &str) -> String {
    let (id, about) = (name.replace('.', "-"), escaped(&about.replace('`', "")));
    format!(
        "<div class=\"slider\" data-name=\"{name}\">\n<label for=\"s-{id}\" id=\"l-{id}\">{label}</label>\n\
         <output for=\"s-{id}\" id=\"o-{id}\">as is</output>\n\
         <input type=\"range\" id=\"s-{id}\" min=\"-40\" max=\"40\" step=\"1\" value=\"0\" aria-describedby=\"a-{id}\">\n\
         <p id=\"a-{id}\">{about}</p>\n</div>\n"
    )
}

fn effects() -> String {
    let row = |name: &str, about: &str| {
        format!(
            "<label class=\"effect\"><input type=\"checkbox\" data-without=\"{name}\"> <b>{name}</b> \
             <span class=\"price\"></span>\n<small>{}</small></label>\n",
            escaped(about)
        )
    };
    EFFECTS.iter().map(|effect| row(effect.name(), effect.about)).collect()
}
