//! The command that answers a question of the page, so that what was found by hand goes into a script.

use warplens_base::quoted;

use crate::question::{Lines, Question, View};
use crate::served::{Served, Variant};

/// As a user types it.
pub(crate) fn of(question: &Question, served: &Served) -> String {
    let variants: Vec<&Variant> = question.variants.iter().map(|&at| &served.variants[at]).collect();
    let words = &variants[0].words;
    let mut all = match question.view {
        View::Answer => vec!["warplens predict".to_owned(), words.alone.clone()],
        View::Graph => vec!["warplens plot x-graph".to_owned(), words.alone.clone()],
        View::WhatIf | View::Prices => vec!["warplens whatif".to_owned(), words.alone.clone()],
        View::Listing => vec!["warplens annotate".to_owned(), words.alone.clone()],
        View::Compare => compared(&variants),
    };
    let gpus: Vec<&str> = question.machines.iter().map(|&at| served.machines[at].id.as_str()).collect();
    all.push(format!("--gpu {}", quoted(&gpus.join(","))));
    if !matches!(question.view, View::Graph | View::Listing) {
        let models: Vec<&str> = question.models.iter().map(|model| model.name()).collect();
        all.push(format!("--model {}", models.join(",")));
    }
    all.extend(question.settings.iter().map(|text| format!("--set {}", quoted(text))));
    all.extend(question.without.iter().map(|name| format!("--without {}", quoted(name))));
    match question.view {
        View::Prices => all.push("--each".to_owned()),
        View::Compare => all.extend(question.baseline.iter().map(|name| format!("--baseline {}", quoted(name)))),
        View::Listing => all.extend(lines(question.lines).map(|name| format!("--by {name}"))),
        View::Answer | View::Graph | View::WhatIf => {}
    }
    all.push(served.flags.clone());
    if question.view == View::Graph {
        all.push("-o x-graph.svg".to_owned());
    }
    all.retain(|words| !words.is_empty());
    all.join(" ")
}

/// One input as the other verbs take it, several with their names.
fn compared(variants: &[&Variant]) -> Vec<String> {
    let mut all = vec!["warplens compare".to_owned()];
    if let [one] = variants {
        all.push(one.words.alone.clone());
        return all;
    }
    for variant in variants {
        if !all.contains(&variant.words.item) {
            all.push(variant.words.item.clone());
        }
    }
    all.extend(variants.iter().filter_map(|variant| Some(format!("-k {}", quoted(variant.words.kernel.as_ref()?)))));
    all.push(variants[0].words.common.clone());
    all
}

fn lines(lines: Lines) -> Option<&'static str> {
    match lines {
        Lines::Auto => None,
        Lines::Source => Some("source"),
        Lines::Input => Some("input"),
    }
}
