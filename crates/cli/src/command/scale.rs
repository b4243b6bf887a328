//! `warplens scale INPUT`: predicted cycles from one warp to a full SM.

use anyhow::Result;
use clap::Args;
use warplens_question::native;
use warplens_question::timing::over_warps::over_warps;
use warplens_question::timing::scale::Scale;
use warplens_question::timing::{self, Answer};
use warplens_report::{document, view};
use warplens_session::Measurement;
use warplens_session::machines::Machine;
use warplens_session::predict::ModelId;

use super::{Document, Outcome};
use crate::ask::{AskFlags, Measured, Question};
use crate::flags::OutputFlags;
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct ScaleFlags {
    #[command(flatten)]
    ask: AskFlags,
    #[command(flatten)]
    output: OutputFlags,
}

pub(crate) fn run(flags: &ScaleFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    if flags.ask.is_of(ModelId::LuoSuda) {
        return over_warps_of(flags, threads, terminal);
    }
    let question = flags.ask.question_of_teg(threads)?;
    let answers = match flags.ask.native(&question, native::scaled)? {
        Some(answers) => answers,
        None => answers(&flags.ask.measure(&question, terminal)?, &question),
    };
    let sections = || view::timing::scales(&answers);
    let tables = || vec![view::timing::scale_rows(&answers)];
    let json = || document::value(&document::timing::scale(&answers));
    Document { title: "Scaling", sections: &sections, tables: &tables, json: &json }.write(&flags.output, terminal)?;
    Ok(Outcome::of_models(answers.iter().any(|answer| answer.result.is_ok()), terminal))
}

/// The time of the launch's work over the warps that do it, by the model whose paper draws that.
fn over_warps_of(flags: &ScaleFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    let question = flags.ask.question(threads)?;
    let measured = flags.ask.measure(&question, terminal)?;
    let answers =
        on_each(&measured, &question, |measurement, machine| over_warps(measurement, machine, question.options));
    let sections = || view::timing::over_warps(&answers);
    let tables = || vec![view::timing::over_warps_rows(&answers)];
    let json = || document::value(&document::timing::over_warps(&answers));
    Document { title: "Scaling", sections: &sections, tables: &tables, json: &json }.write(&flags.output, terminal)?;
    Ok(Outcome::of_models(answers.iter().any(|answer| answer.result.is_ok()), terminal))
}

/// Every launch on every GPU.
pub(crate) fn answers(measured: &Measured, question: &Question) -> Vec<Answer<Scale>> {
    on_each(measured, question, |measurement, machine| timing::scale(measurement, machine, question.options))
}

fn on_each<T>(measured: &Measured, question: &Question, of: impl Fn(&Measurement, &Machine) -> T) -> Vec<T> {
    let pairs = measured.measurements.iter().flat_map(|of| question.machines.iter().map(move |machine| (of, machine)));
    pairs.map(|(measurement, machine)| of(measurement, machine)).collect()
}
