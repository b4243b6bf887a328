//! Questions as the page asks them: the last word of the path says which view, the query string about what.
//!
//! Everything is checked against what is served before anything is computed. A question that is read twice is the same, so
//! that its answer is found again.

use warplens_base::error::{Error, Result};
use warplens_base::nearest;
use warplens_question::whatif::Scenario;
use warplens_session::predict::{ModelId, model};

use crate::served::{SIMULATION, Served, closed_forms};

/// Settings and effects that one question may hold.
const MOST_CHANGES: usize = 64;

/// What is shown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum View {
    /// How long, and what bounds it.
    Answer,
    /// The X-graph.
    Graph,
    /// The answers under other circumstances.
    WhatIf,
    /// What each effect costs.
    Prices,
    /// Variants and GPUs side by side.
    Compare,
    /// The text with stalls beside its lines.
    Listing,
}

/// What is made of the answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Form {
    /// A part of the page.
    Page,
    /// The document of the verb.
    Document,
}

/// Which lines a listing shows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) enum Lines {
    /// Those of the source where it is found, else those of the input.
    #[default]
    Auto,
    /// Those of the source.
    Source,
    /// Those of the input.
    Input,
}

/// A question, checked.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Question {
    pub(crate) view: View,
    pub(crate) form: Form,
    /// Positions of the variants; one unless they are compared.
    pub(crate) variants: Vec<usize>,
    /// Positions of the GPUs; one unless they are compared.
    pub(crate) machines: Vec<usize>,
    /// The models that answer.
    pub(crate) models: Vec<ModelId>,
    /// What else holds: `NAME=VALUE`.
    pub(crate) settings: Vec<String>,
    /// Effects that cost nothing.
    pub(crate) without: Vec<String>,
    /// What the others are compared with.
    pub(crate) baseline: Option<String>,
    pub(crate) lines: Lines,
}

impl View {
    const NAMES: [(&str, Self); 6] = [
        ("answer", Self::Answer),
        ("graph", Self::Graph),
        ("whatif", Self::WhatIf),
        ("prices", Self::Prices),
        ("compare", Self::Compare),
        ("listing", Self::Listing),
    ];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(own, _)| *own == name).map(|&(_, view)| view)
    }
}

impl Question {
    /// Reads the query string of a view.
    pub(crate) fn parse(view: View, form: Form, query: &str, served: &Served) -> Result<Self> {
        let mut question = Self {
            view,
            form,
            variants: Vec::new(),
            machines: Vec::new(),
            models: Vec::new(),
            settings: Vec::new(),
            without: Vec::new(),
            baseline: None,
            lines: Lines::Auto,
        };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            question.take(&name, &value, served)?;
        }
        question.complete(served)?;
        Ok(question)
    }

    /// What each effect costs by every closed form.
    pub(crate) fn prices(variant: usize, machine: usize) -> Self {
        Self {
            view: View::Prices,
            form: Form::Page,
            variants: vec![variant],
            machines: vec![machine],
            models: closed_forms(),
            settings: Vec::new(),
            without: Vec::new(),
            baseline: None,
            lines: Lines::Auto,
        }
    }

    fn take(&mut self, name: &str, value: &str, served: &Served) -> Result<()> {
        match name {
            "kernel" => {
                let names = served.variants.iter().map(|variant| variant.name.as_str());
                let found = served.variant(value).ok_or_else(|| unknown("kernel", value, names))?;
                add(&mut self.variants, found);
            }
            "gpu" => {
                let ids = served.machines.iter().map(|machine| machine.id.as_str());
                let found = served.machine(value).ok_or_else(|| unknown("GPU", value, ids))?;
                add(&mut self.machines, found);
            }
            "model" => add(&mut self.models, model(value)?.id()),
            "set" => self.settings.push(value.to_owned()),
            "without" => add(&mut self.without, value.to_owned()),
            "baseline" => self.baseline = Some(value.to_owned()),
            "lines" => {
                self.lines = match value {
                    "auto" => Lines::Auto,
                    "source" => Lines::Source,
                    "input" => Lines::Input,
                    _ => return Err(Error::usage(format!("lines={value}: auto, source or input"))),
                }
            }
            _ => return Err(Error::usage(format!("there is no parameter `{name}`"))),
        }
        if self.settings.len() + self.without.len() > MOST_CHANGES {
            return Err(Error::usage(format!("more than {MOST_CHANGES} changes in one question")));
        }
        Ok(())
    }

    /// Fills in what was left out, and refuses what the view has no use for.
    fn complete(&mut self, served: &Served) -> Result<()> {
        if self.variants.is_empty() {
            self.variants = vec![0];
        }
        if self.machines.is_empty() {
            self.machines = vec![0];
        }
        match self.view {
            View::Listing => self.models = vec![SIMULATION],
            View::Graph => self.models = vec![ModelId::XModel],
            _ if self.models.is_empty() => self.models = closed_forms(),
            _ => {}
        }
        if self.view != View::Compare && (self.variants.len() > 1 || self.machines.len() > 1) {
            return Err(Error::usage("this view shows one kernel on one GPU"));
        }
        let scenario = self.scenario()?;
        if scenario.runs_again() {
            let name = if scenario.grid.is_some() { "grid" } else { "block" };
            let variant = &served.variants[self.variants[0]].words.alone;
            let error = Error::usage(format!("`{name}` would execute the kernel again, which the page does not"));
            return Err(error.with_help(format!("warplens whatif {variant} --set {name}=VALUE")));
        }
        let changes = !scenario.texts.is_empty();
        match self.view {
            View::Graph | View::WhatIf => Ok(()),
            _ if changes => Err(Error::usage("this view shows things as they are")),
            _ => Ok(()),
        }
    }

    /// What is supposed.
    pub(crate) fn scenario(&self) -> Result<Scenario> {
        Scenario::parse(&self.settings, &self.without)
    }

    /// Whether warps have to be followed through time.
    pub(crate) fn simulates(&self) -> bool {
        self.models.contains(&SIMULATION)
    }
}

fn add<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

fn unknown<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str> + Clone) -> Error {
    let error = Error::usage(format!("no {what} `{name}` is served"));
    match nearest(name, known.clone()) {
        Some(near) => error.with_help(format!("did you mean `{near}`?")),
        None => error.with_help(format!("there are {}", known.collect::<Vec<_>>().join(", "))),
    }
}
