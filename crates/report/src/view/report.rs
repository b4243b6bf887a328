//! The report: one page with the answer, the pictures, the counts, the listing, and what it takes to get them again.

use warplens_question::glance::Glance;
use warplens_question::listing::CountedText;
use warplens_session::Analysis;

use super::predict::Detail;
use super::{listing, predict, profile};
use crate::figure::Figure;
use crate::render::page::{Page, Part};
use crate::section::{Block, Cell, Field, Section};

/// Everything that the page of a launch shows besides the analysis.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Extras {
    /// The answers at a glance.
    pub glances: Vec<Glance>,
    /// Ranked changes and their gains.
    pub changes: Vec<Section>,
    /// What the warps wait for at each line, where they were followed through time.
    pub stalls: Vec<Section>,
    /// Pictures.
    pub figures: Vec<Figure>,
    /// The program and the PTX with counts.
    pub listings: Vec<CountedText>,
}

/// How the page came to be.
#[derive(Clone, PartialEq, Debug)]
pub struct Origin {
    /// The command, as a user types it.
    pub command: String,
    /// The program's version.
    pub version: String,
    /// The input's name.
    pub input: String,
    /// Name of the compiler that made the PTX, for CUDA C++.
    pub compiler: Option<String>,
    /// The document for programs.
    pub json: String,
}

/// The page. Each launch comes with its extras.
pub fn page(launches: &[(Analysis, Extras)], origin: &Origin) -> Page {
    let several = launches.len() > 1;
    let mut parts = Vec::new();
    for (number, (analysis, extras)) in launches.iter().enumerate() {
        let part = |id: &str, title: &str, sections: Vec<Section>, figures: Vec<Figure>| {
            let kernel = analysis.measurement.kernel.base();
            let (id, title) = match several {
                true => (format!("{id}-{number}"), format!("{title} of {kernel} (launch {number})")),
                false => (id.to_owned(), title.to_owned()),
            };
            Part { id, title, sections, figures, folded: false }
        };
        parts.push(part("answer", "Answer", predict::of_page(analysis, &extras.glances), Vec::new()));
        if !extras.changes.is_empty() {
            parts.push(part("changes", "What to change", extras.changes.clone(), Vec::new()));
        }
        if !extras.stalls.is_empty() {
            parts.push(part("stalls", "What warps wait for", extras.stalls.clone(), Vec::new()));
        }
        parts.push(part("pictures", "Pictures", Vec::new(), figures(extras, several.then_some(number))));
        parts.push(Part { folded: true, ..part("models", "Models", models(analysis), Vec::new()) });
        let mut counts = profile::summary(&analysis.measurement);
        counts.push(profile::lines(&analysis.measurement));
        parts.push(part("counts", "Counts", counts, Vec::new()));
        parts.push(part("listing", "Listing", extras.listings.iter().map(listing::listing).collect(), Vec::new()));
    }
    parts.push(reproduction(origin));
    let kernels: Vec<&str> = launches.iter().map(|(analysis, _)| analysis.measurement.kernel.base()).collect();
    Page {
        title: format!("{} on {}", kernels.join(", "), gpus(launches)),
        lead: format!("Predicted by warplens {} without a GPU, from {}.", origin.version, origin.input),
        parts,
        data: origin.json.clone(),
    }
}

/// The pictures, their names told apart between launches.
fn figures(extras: &Extras, launch: Option<usize>) -> Vec<Figure> {
    let renamed = |figure: &Figure| match launch {
        Some(number) => Figure { id: format!("{}-{number}", figure.id), ..figure.clone() },
        None => figure.clone(),
    };
    extras.figures.iter().map(renamed).collect()
}

/// What each model says, with quantities, assumptions and machine parameters of every answer.
fn models(analysis: &Analysis) -> Vec<Section> {
    let answers = analysis.gpus.iter().flat_map(|gpu| {
        let answered = gpu.answers.iter().filter_map(|answer| answer.result.as_ref().ok());
        answered.map(|prediction| (gpu.machine.id.as_str(), prediction))
    });
    let explained =
        answers.flat_map(|(gpu, prediction)| predict::explanation(Some(gpu), prediction, Detail::Parameters));
    predict::models(analysis).into_iter().chain(explained).collect()
}

fn gpus(launches: &[(Analysis, Extras)]) -> String {
    let mut ids: Vec<&str> = Vec::new();
    for gpu in launches.iter().flat_map(|(analysis, _)| &analysis.gpus) {
        if !ids.contains(&gpu.machine.id.as_str()) {
            ids.push(&gpu.machine.id);
        }
    }
    ids.join(", ")
}

fn reproduction(origin: &Origin) -> Part {
    let mut fields =
        vec![Field::new("warplens", Cell::text(&origin.version)), Field::new("input", Cell::text(&origin.input))];
    fields.extend(origin.compiler.iter().map(|compiler| Field::new("compiler", Cell::text(compiler))));
    let sections = vec![
        Section::new("command", "Command").with(Block::Lines(origin.command.clone())),
        Section::new("program", "Program").with(Block::Fields(fields)).note(
            "The listing holds the whole PTX unless it says otherwise; the button `Save data` saves every number of \
             this page as a JSON document.",
        ),
    ];
    Part { id: "reproduce".into(), title: "Reproduce".into(), sections, figures: Vec::new(), folded: false }
}
