//! Configurations executed, and models asked about them.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use warplens_base::error::Error;
use warplens_session::execution::ExecutionOptions;
use warplens_session::machines::Machine;
use warplens_session::predict::{self, GpuAnalysis};
use warplens_session::toolchain::Search;
use warplens_session::{Measurement, Progress, Targets};

use super::configuration::{Configuration, Loaded, Part};
use super::{Answer, Launched, Row};
use crate::tune::emulator::{Emulator, Job, reason};
use crate::tune::source::Sources;
use crate::tune::{Point, Resolved, parallel};
use crate::whatif;

/// Takes the rows of a configuration.
pub type Done<'d> = &'d (dyn Fn(&Configuration, &[Row]) -> Result<(), Error> + Sync);

/// Evaluates configurations on all threads of `execution`. `done` gets the rows of each as soon as they are there, in any
/// order; an error of it ends the work.
pub fn evaluate(
    loaded: &Loaded,
    wanted: &[&Configuration],
    execution: &ExecutionOptions,
    search: &Search,
    progress: &Progress,
    done: Done<'_>,
) -> Result<(), Error> {
    progress.total.store(wanted.len() as u64, Ordering::Relaxed);
    for kernel in 0..loaded.study.kernels.len() {
        let own: Vec<&Configuration> =
            wanted.iter().copied().filter(|wanted| loaded.parts[wanted.part].kernel == kernel).collect();
        if !own.is_empty() {
            of_kernel(loaded, kernel, &own, (execution, search, progress), done)?;
        }
    }
    Ok(())
}

fn of_kernel(
    loaded: &Loaded,
    kernel: usize,
    wanted: &[&Configuration],
    (execution, search, progress): (&ExecutionOptions, &Search, &Progress),
    done: Done<'_>,
) -> Result<(), Error> {
    let study = &loaded.study.kernels[kernel];
    let target = study.target.clone().map_or_else(|| Targets::of(&loaded.machines), Targets::One).first();
    let variants = [(0, study.kernel.clone().or_else(|| loaded.templates[kernel].launch.kernel.clone()))];
    let inputs = std::slice::from_ref(&loaded.inputs[kernel]);
    let sources = Sources::new(inputs, &target, (&variants, study.registers), search, execution.threads);
    let mut emulator = Emulator::new(&loaded.templates[kernel], sources, execution.clone());
    let sourced = wanted.iter().map(|own| loaded.parts[own.part].space.source(&own.choices));
    emulator.sources.prepare(sourced.collect::<Vec<_>>());
    let resolved: Vec<(&Configuration, Ready)> =
        wanted.iter().map(|own| (*own, ready(&emulator, &loaded.parts[own.part], own))).collect();
    let first = resolved.iter().find_map(|(_, ready)| ready.job.as_ref().ok());
    let (n_workers, threads) = emulator.workers(resolved.len(), first);
    let results = parallel::map(&resolved, n_workers, |(configuration, ready)| {
        let rows = rows(loaded, configuration, ready, |job| emulator.run(job, threads).map(|ran| ran.measurement));
        progress.done.fetch_add(1, Ordering::Relaxed);
        done(configuration, &rows)
    });
    results.into_iter().collect()
}

/// A configuration that can be executed, or why it cannot.
struct Ready {
    point: Option<Point>,
    job: Result<Job, String>,
}

fn ready(emulator: &Emulator<'_>, part: &Part, configuration: &Configuration) -> Ready {
    match part.space.resolve(&configuration.choices) {
        Resolved::Launch(point) => {
            let key = part.space.source(&configuration.choices);
            Ready { job: emulator.job(0, &key, &point), point: Some(point) }
        }
        Resolved::Impossible(reason) => Ready { point: None, job: Err(reason) },
        Resolved::Excluded => unreachable!("what is excluded is no configuration"),
    }
}

fn rows(
    loaded: &Loaded,
    configuration: &Configuration,
    ready: &Ready,
    run: impl Fn(&Job) -> Result<Measurement, Error>,
) -> Vec<Row> {
    let measured = match &ready.job {
        Ok(job) => run(job).map_err(|error| reason(&error)),
        Err(reason) => Err(reason.clone()),
    };
    let part = &loaded.parts[configuration.part];
    let macros: BTreeMap<String, String> = part.space.source(&configuration.choices).1.into_iter().collect();
    let row = |gpu: &Machine, what_if: Option<&str>, answer| Row {
        configuration: configuration.number,
        kernel: loaded.study.kernels[part.kernel].name.clone(),
        values: part.sizes.iter().cloned().chain(macros.clone()).collect(),
        launch: launched(ready, measured.as_ref().ok()),
        gpu: gpu.id.clone(),
        what_if: what_if.map(str::to_owned),
        answer,
    };
    let mut rows = Vec::new();
    for machine in &loaded.machines {
        let answers = match &measured {
            Ok(measurement) => answers(loaded, measurement, machine),
            Err(reason) => vec![Err(reason.clone()); 1 + loaded.study.what_ifs.len()],
        };
        let names = std::iter::once(None).chain(loaded.study.what_ifs.iter().map(|own| Some(own.name.as_str())));
        rows.extend(names.zip(answers).map(|(name, answer)| row(machine, name, answer)));
    }
    rows
}

fn launched(ready: &Ready, measured: Option<&Measurement>) -> Option<Launched> {
    let point = ready.point.as_ref()?;
    Some(Launched {
        grid: point.grid,
        block: point.block,
        shared_bytes: point.shared,
        registers: measured.map(|measurement| measurement.profile.launch.registers),
        instructions: measured.map(|measurement| measurement.profile.instructions.total),
    })
}

/// How things are, then each question.
fn answers(loaded: &Loaded, measurement: &Measurement, machine: &Machine) -> Vec<Result<Answer, String>> {
    let (choice, options) = (&loaded.choice, loaded.options);
    let now = predict::measured_on(measurement, machine, choice, options);
    let mut answers = vec![answer(&now)];
    for what_if in &loaded.study.what_ifs {
        let machines = std::slice::from_ref(machine);
        let asked = whatif::run(measurement.clone(), None, machines, choice, options, &what_if.scenario);
        answers.push(match &asked.gpus[0].after {
            Ok(after) => answer(after),
            Err(impossible) => Err(impossible.to_string()),
        });
    }
    answers
}

fn answer(on: &GpuAnalysis) -> Result<Answer, String> {
    let Some(prediction) = on.prediction() else {
        let refused = on.answers.iter().find_map(|answer| answer.result.as_ref().err());
        return Err(refused.map_or_else(|| "no model answered".to_owned(), |refusal| refusal.reason.clone()));
    };
    let range = on.range.as_ref();
    Ok(Answer {
        model: prediction.model.to_string(),
        time_us: prediction.seconds().microseconds(),
        range_us: range.map(|range| (range.low.microseconds(), range.high.microseconds())),
        limiter: prediction.limiter().name().to_owned(),
        occupancy: on.occupancy.as_ref().map(|occupancy| occupancy.share),
    })
}
