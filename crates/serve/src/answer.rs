//! Questions to answers: the same functions that the verbs call, their views as HTML, and their documents.

use serde_json::Value;
use warplens_base::error::{Error, Result};
use warplens_question::compare::{self, CompareOptions};
use warplens_question::timing::{self, annotate::By};
use warplens_question::whatif::{self, Kept};
use warplens_question::{glance, plot};
use warplens_report::render::{page, show};
use warplens_report::view::predict::Detail;
use warplens_report::{Cell, Figure, Section, Unit, document, view};
use warplens_session::machines::Machine;
use warplens_session::predict::{self, Choice};
use warplens_session::{Analysis, Progress};

use crate::question::{Form, Lines, Question, View};
use crate::served::{Served, Subject, Variant};
use crate::{command, graph};

/// Times that differ by less than this fraction are equal, as the verb has it.
const BAND: f64 = 0.1;

/// The answer to a question, in the form that was asked for.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// For people.
    Page {
        html: String,
        /// The command that says the same.
        command: String,
        /// What the page puts elsewhere: the headline, the values of sliders.
        extra: Value,
    },
    /// For programs: the document of the verb.
    Document(Value),
}

/// A question in the hands of those who answer it.
struct Asked<'a> {
    question: &'a Question,
    served: &'a Served,
    kept: &'a Kept,
    variant: &'a Variant,
    machine: &'a Machine,
    choice: Choice,
    progress: &'a Progress,
}

/// Answers a question.
pub(crate) fn answer(question: &Question, subject: &Subject, progress: &Progress) -> Result<Answer> {
    let served = &subject.served;
    let asked = Asked {
        question,
        served,
        kept: &subject.kept[question.variants[0]],
        variant: &served.variants[question.variants[0]],
        machine: &served.machines[question.machines[0]],
        choice: Choice::Alone(question.models.clone()),
        progress,
    };
    match question.view {
        View::Answer => Ok(asked.prediction()),
        View::Graph => asked.graph(),
        View::WhatIf => asked.whatif(),
        View::Prices => Ok(asked.prices()),
        View::Compare => asked.comparison(),
        View::Listing => asked.listing(),
    }
}

impl Asked<'_> {
    fn prediction(&self) -> Answer {
        let (measurement, options) = (self.variant.measurement.clone(), self.served.options);
        let machines = std::slice::from_ref(self.machine);
        let analysis = predict::predict_watched(measurement, machines, &self.choice, options, self.progress);
        let analyses = std::slice::from_ref(&analysis);
        if self.question.form == Form::Document {
            return Answer::Document(document::value(&document::predict::document(analyses)));
        }
        let glances = glance::glances(&analysis, options);
        let mut sections = view::predict::predictions(&analysis, &glances, None, Detail::Screen, None);
        // They are about a terminal.
        sections.retain(|section| section.id != "notes");
        let roofline = plot::roofline::rooflines(analyses, options).ok().map(|data| view::figure::roofline(&data));
        let terms = plot::terms::times(analyses).ok().map(|data| view::figure::cpi(&data));
        let figures = if self.question.simulates() { vec![roofline] } else { vec![roofline, terms] };
        self.page(&sections, figures, headline(&analysis, &glances))
    }

    fn graph(&self) -> Result<Answer> {
        let (measurement, options) = (self.variant.measurement.clone(), self.served.options);
        let graph =
            plot::x_graph::x_graph_kept(measurement, self.machine, options, &self.question.scenario()?, self.kept)?;
        let figure = view::figure::x_graph(&graph);
        figure.check().map_err(|flaw| Error::input(flaw.to_string()))?;
        match self.question.form {
            Form::Document => Ok(Answer::Document(document::value(&document::figure::document(&figure)))),
            Form::Page => Ok(self.page(&[], vec![Some(figure)], graph::knobs(&graph))),
        }
    }

    fn whatif(&self) -> Result<Answer> {
        let scenario = self.question.scenario()?;
        if scenario.texts.is_empty() {
            return Err(Error::usage("nothing to suppose: move a slider or take an effect away"));
        }
        let machines = std::slice::from_ref(self.machine);
        let (measurement, options) = (self.variant.measurement.clone(), self.served.options);
        let answer = whatif::run_kept(measurement, None, machines, &self.choice, options, &scenario, self.kept);
        if let Some(Err(why)) = answer.gpus.first().map(|gpu| &gpu.after) {
            return Err(Error::usage(why.reason.clone()));
        }
        if self.question.form == Form::Document {
            let document = document::whatif::document(std::slice::from_ref(&answer));
            return Ok(Answer::Document(document::value(&document)));
        }
        // The answers are seen at once, and what they are made of when somebody asks.
        let (terms, sections): (Vec<Section>, Vec<Section>) =
            view::whatif::answer(&answer).into_iter().partition(|section| section.id == "terms");
        Ok(self.page_with(page::sections(&sections) + &page::folded(&terms), Value::Null))
    }

    fn prices(&self) -> Answer {
        let machines = std::slice::from_ref(self.machine);
        let (measurement, options) = (self.variant.measurement.clone(), self.served.options);
        let prices = whatif::price_watched(measurement, machines, &self.choice, options, self.kept, self.progress);
        match self.question.form {
            Form::Document => {
                Answer::Document(document::value(&document::whatif::prices(std::slice::from_ref(&prices))))
            }
            Form::Page => self.page(&view::whatif::prices(&prices), Vec::new(), Value::Null),
        }
    }

    fn comparison(&self) -> Result<Answer> {
        let variants = self.question.variants.iter().map(|&at| &self.served.variants[at]);
        let variants: Vec<compare::Variant> = variants
            .map(|own| compare::Variant { name: own.name.clone(), block: None, measurement: own.measurement.clone() })
            .collect();
        let machines: Vec<Machine> =
            self.question.machines.iter().map(|&at| self.served.machines[at].clone()).collect();
        if variants.len() * machines.len() < 2 {
            return Err(Error::usage("choose two kernels or two GPUs"));
        }
        let several = variants.len() > 1;
        let how = CompareOptions {
            choice: self.choice.clone(),
            options: self.served.options,
            baseline: self.question.baseline.clone(),
            band: BAND,
            measured: None,
        };
        let comparison = compare::compare_watched(variants, machines, &how, self.progress)?;
        if self.question.form == Form::Document {
            return Ok(Answer::Document(document::value(&document::compare::document(&comparison))));
        }
        let heat = view::compare::figure(&comparison, "heat");
        let sign = if several { view::compare::figure(&comparison, "sign") } else { None };
        let sections = view::compare::comparison(&comparison, Detail::Screen);
        Ok(self.page(&sections, vec![heat, sign], Value::Null))
    }

    fn listing(&self) -> Result<Answer> {
        let by = match self.question.lines {
            Lines::Auto => By::Auto,
            Lines::Source => By::Source,
            Lines::Input => By::Input,
        };
        let (program, input) = (self.variant.program.as_deref(), Some(self.variant.input.as_path()));
        let text = timing::annotate::Text { program, input, by };
        let answer = timing::annotated(&self.variant.measurement, self.machine, self.served.options, &text)?;
        if self.question.form == Form::Document {
            let document = document::timing::annotate(std::slice::from_ref(&answer));
            return Ok(Answer::Document(document::value(&document)));
        }
        let of = answer.result.map_err(|refusal| Error::input(format!("{}: {refusal}", self.machine.id)))?;
        let stalls = plot::stalls::stalls(&of).ok().map(|data| view::figure::stalls(&data));
        Ok(self.page(&view::timing::annotation(&of, false), vec![stalls], Value::Null))
    }

    fn page(&self, sections: &[Section], figures: Vec<Option<Figure>>, extra: Value) -> Answer {
        let figures = figures.into_iter().flatten().filter(|figure| figure.check().is_ok());
        let figures: String = figures.map(|figure| page::figure(&figure)).collect();
        let html = match figures.as_str() {
            "" => page::sections(sections),
            figures => format!("{}<div class=\"figures\">\n{figures}</div>\n", page::sections(sections)),
        };
        self.page_with(html, extra)
    }

    fn page_with(&self, html: String, extra: Value) -> Answer {
        Answer::Page { html, command: command::of(self.question, self.served), extra }
    }
}

/// Where a line stands: in the source where that is known.
fn place(glance: &glance::Glance, line: &glance::WaitLine) -> String {
    match &line.source {
        Some((file, number)) => format!("{}:{number}", file.rsplit('/').next().unwrap_or(file)),
        None => glance.place(line),
    }
}

/// What the top of the page says: how long, by which model, and what bounds it.
fn headline(analysis: &Analysis, glances: &[glance::Glance]) -> Value {
    let of = |glance: &glance::Glance| {
        serde_json::json!({
            "time": show(&Cell::Number(glance.time.microseconds(), Unit::Microseconds)),
            "model": glance.model.name(),
            "bound": glance.bound.resource.name(),
            "share": show(&Cell::Number(glance.bound.share, Unit::Share)),
            "line": glance.line.as_ref().map(|line| place(glance, line)),
        })
    };
    let refusals = analysis.gpus.iter().flat_map(|gpu| &gpu.answers);
    let why =
        || refusals.filter_map(|answer| answer.result.as_ref().err()).map(|refusal| refusal.reason.clone()).next();
    glances.first().map_or_else(|| serde_json::json!({ "refused": why() }), of)
}
