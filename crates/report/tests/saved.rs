//! Saved profiles: what is read back is what was written, and predictions from it are those from the kernel.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value as Json;
use warplens_launch::Launch;
use warplens_report::document;
use warplens_session::machines::{self, Strictness};
use warplens_session::predict::{CountBasis, options, predict};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{Choice, ErrorKind, ExecutionOptions, Input, Measurement, Program, Progress, import, measure};

/// Registers are those of the launch files: which compilers this machine has does not matter.
fn no_compiler() -> Search {
    Search { sites: OnceLock::from(Vec::new()), ..Search::default() }
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Every example at its small size, and the large sizes that are executed in part.
fn measured() -> Vec<Vec<Measurement>> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(examples())
        .expect("the example can be read and runs")
        .map(|entry| entry.expect("the example can be read and runs").path())
        .collect();
    folders.sort();
    let mut all = Vec::new();
    for folder in folders.iter().filter(|folder| folder.join("ptx/sm_80.ptx").exists()) {
        let input = Input::read(folder.join("ptx/sm_80.ptx")).expect("the example can be read and runs");
        let program = Program::load(&input, "sm_80", &no_compiler()).expect("the example can be read and runs");
        let launch = folder.join("launch.toml");
        let launches = warplens_session::source::launches(Some(&launch.to_string_lossy()), Launch::default())
            .expect("the example can be read and runs");
        let options = ExecutionOptions::new();
        let progress = Progress::default();
        all.push(
            measure(&program, &launches, options, Counting::Ptx, &no_compiler(), &progress)
                .expect("the example can be read and runs"),
        );
    }
    assert!(all.len() >= 11, "the examples are there");
    all
}

fn read(text: String) -> Result<Vec<Measurement>, warplens_session::Error> {
    import::read(&Input::new("p.json", None, text.into_bytes())?)
}

#[test]
fn predictions_from_a_saved_profile_are_those_from_the_kernel() {
    let machines = machines::select("h200,c1060,gtx480,k40,8800gtx").unwrap();
    let options = options(&Choice::All, &[], CountBasis::AsWritten, Strictness::AllowInferred).unwrap();
    for mut measurements in measured() {
        let text = serde_json::to_string_pretty(&document::value(&document::profile::document(&measurements))).unwrap();
        let saved = read(text).unwrap_or_else(|error| panic!("{}: {error}", measurements[0].kernel.mangled));
        // A listing is no part of a profile.
        measurements.iter_mut().for_each(|measurement| measurement.listing.clear());
        assert_eq!(saved, measurements);
        // Texts of instructions cannot be compared, but shown.
        assert_eq!(format!("{saved:?}"), format!("{measurements:?}"));
        for (saved, direct) in saved.into_iter().zip(measurements) {
            let ask = |measurement| predict(measurement, &machines, &Choice::All, options);
            assert_eq!(ask(saved), ask(direct));
        }
    }
}

#[test]
fn counts_without_a_run_are_saved_with_what_they_stand_on() {
    let folder = examples().join("histogram_atomics");
    let input = Input::read(folder.join("ptx/sm_80.ptx")).unwrap();
    let program = Program::load(&input, "sm_80", &no_compiler()).unwrap();
    let launches =
        warplens_session::source::launches(Some(&folder.join("launch.toml").to_string_lossy()), Launch::default())
            .unwrap();
    let options = ExecutionOptions { statics: Some(Default::default()), ..ExecutionOptions::new() };
    let progress = Progress::default();
    let mut direct = measure(&program, &launches, options, Counting::Ptx, &no_compiler(), &progress).unwrap();
    direct.iter_mut().for_each(|measurement| measurement.listing.clear());
    assert!(direct[0].statics.as_ref().is_some_and(|statics| !statics.bounds.is_empty()), "addresses depend on data");
    assert_eq!(read(document::value(&document::profile::document(&direct)).to_string()).unwrap(), direct);
}

/// The document of a small kernel with every kind of count, to be edited.
fn sample() -> Json {
    let input = Input::read(examples().join("abt_conflict/ptx/sm_80.ptx")).expect("the example can be read and runs");
    let program = Program::load(&input, "sm_80", &no_compiler()).expect("the example can be read and runs");
    let launch = examples().join("abt_conflict/launch.toml");
    let launches = warplens_session::source::launches(Some(&launch.to_string_lossy()), Launch::default())
        .expect("the example can be read and runs");
    let progress = Progress::default();
    let counting = Counting::Ptx;
    let measured = measure(&program, &launches, ExecutionOptions::new(), counting, &no_compiler(), &progress)
        .expect("the example can be read and runs");
    document::value(&document::profile::document(&measured))
}

#[test]
fn mistakes_of_an_editor_are_named_with_their_place() {
    let sample = sample();
    let message = |edit: &dyn Fn(&mut Json)| {
        let mut document = sample.clone();
        edit(&mut document);
        let error = read(document.to_string()).expect_err("the document is wrong");
        assert_eq!(error.kind, ErrorKind::Input);
        match error.help {
            Some(help) => format!("{}; {help}", error.message),
            None => error.message,
        }
    };
    type Edit = fn(&mut Json);
    let cases: [(Edit, &str); 16] = [
        (|d| d["barrers"] = 3.into(), "p.json: unknown key `barrers`; did you mean `barriers`?"),
        (|d| d["global"]["7.0"]["t33"] = 3.into(), "p.json: unknown key `global[\"7.0\"].t33`; did you mean `t32`?"),
        (|d| d["branches"] = "many".into(), "p.json: branches: a count is needed, not the text \"many\""),
        (|d| d["barriers"] = (-3).into(), "p.json: barriers: a count cannot be negative, as -3 is"),
        (|d| d["barriers"] = 2.5.into(), "p.json: barriers: a count is a whole number, not 2.5"),
        (|d| d["warps"] = 7.into(), "p.json: warps is 7, but the warps of launch.grid and launch.block is 2048"),
        (|d| d["launch"]["grid"] = vec![1, 2].into(), "p.json: launch.grid: three extents are needed, not 2"),
        (
            |d| d["instructions"]["by_class"]["fp32"] = 9_000_000.into(),
            "p.json: the sum of instructions.by_class is 10558528, more than instructions.total, which is 2082816",
        ),
        (
            |d| d["instructions"]["by_class"]["fp33"] = 0.into(),
            "p.json: instructions.by_class.fp33: there is no class `fp33`; did you mean `fp32`?",
        ),
        (
            |d| d["global"]["7.0"]["loads"] = 1.into(),
            "p.json: global[\"7.0\"]: loads + stores + atomics is 2049, but requests is 67584",
        ),
        (
            |d| d["global"]["7.0"]["t32"] = 1.into(),
            "p.json: global[\"7.0\"]: coalesced_transactions + uncoalesced_transactions is 270336, but t32 + t64 + t128 is 1",
        ),
        (
            |d| d["shared"]["2.0"]["conflicted"] = 2_000_000.into(),
            "p.json: shared[\"2.0\"]: conflicted is 2000000, more than requests, which is 1114112",
        ),
        (|d| d["independent_loads"] = 0.into(), "p.json: independent_loads: the number must be above 0"),
        (
            |d| d["schema"] = "warplens.profile/2".into(),
            "p.json: the schema is `warplens.profile/2`; `warplens.profile/1` is needed; a later warplens wrote it; read it with that one",
        ),
        (|d| d["lines"][0]["executed"] = Json::Null, "p.json: lines[0].executed: a count is needed, not null"),
        (|d| d["kernel"] = Json::Null, "p.json: kernel: a text is needed, not null"),
    ];
    for (edit, expected) in cases {
        assert_eq!(message(&edit), expected);
    }
    let error = read("{\"schema\": \"warplens.profile/1\",\n \"kernel\": }".to_owned()).unwrap_err();
    assert_eq!(error.message, "p.json, line 2, column 12: expected value");
}

#[test]
fn a_missing_key_is_a_count_that_models_ask_for_by_name() {
    let sample = sample();
    let machines = machines::select("h200").unwrap();
    let refusals = |keys: &[&str], strictness| -> Vec<(&'static str, Option<Vec<String>>)> {
        let mut document = sample.clone();
        for key in keys {
            let (path, last) = key.rsplit_once('/').expect("a pointer");
            let parent = document.pointer_mut(path).expect("the key is there").as_object_mut().unwrap();
            parent.remove(last).expect("the key is there");
        }
        let measurement = read(document.to_string()).unwrap().remove(0);
        let options = options(&Choice::All, &[], CountBasis::AsWritten, strictness).unwrap();
        let analysis = predict(measurement, &machines, &Choice::All, options);
        let answers = analysis.gpus[0].answers.iter();
        answers
            .map(|answer| (answer.model.name(), answer.result.as_ref().err().map(|refusal| refusal.missing.clone())))
            .collect()
    };
    let of = |model: &str, refusals: &[(&'static str, Option<Vec<String>>)]| {
        refusals.iter().find(|(name, _)| *name == model).expect("every model answers").1.clone()
    };
    let lenient = Strictness::AllowInferred;
    let without = refusals(&["/instructions/by_class"], lenient);
    for model in ["analyzer", "hong-kim", "roofline"] {
        assert_eq!(of(model, &without), Some(vec!["instructions.by_class".to_owned()]), "{model}");
    }
    let without = refusals(&["/global"], lenient);
    let global = |keys: &[&str]| Some(keys.iter().map(|key| format!("global[\"7.0\"].{key}")).collect::<Vec<_>>());
    assert_eq!(of("analyzer", &without), global(&["requests", "t32"]));
    assert_eq!(of("hong-kim", &without), global(&["requests", "coalesced", "bytes_requested"]));
    assert_eq!(of("roofline", &without), None);
    // One generation's rule does not stand in for another's.
    assert_eq!(of("analyzer", &refusals(&["/global/7.0"], lenient)), global(&["requests", "t32"]));
    let without = refusals(&["/distinct_sectors_written"], lenient);
    assert_eq!(of("roofline", &without), Some(vec!["distinct_sectors_read".to_owned()]));
    let barriers = ["/barriers"];
    assert_eq!(of("analyzer", &refusals(&barriers, lenient)), None);
    assert_eq!(
        of("analyzer", &refusals(&barriers, Strictness::Strict)).map(|missing| missing[0].clone()),
        Some("barriers".into())
    );
}

#[test]
fn what_is_left_out_is_said() {
    let mut document = sample();
    document.as_object_mut().unwrap().remove("barriers");
    document.as_object_mut().unwrap().remove("independent_loads");
    let measurement = read(document.to_string()).unwrap().remove(0);
    assert_eq!(
        measurement.profile.absent.iter().map(|count| count.name()).collect::<Vec<_>>(),
        ["barriers", "independent_loads"]
    );
    let options = options(&Choice::All, &[], CountBasis::AsWritten, Strictness::AllowInferred).unwrap();
    let machines = machines::select("c1060").unwrap();
    let analysis = predict(measurement, &machines, &Choice::parse("analyzer").unwrap(), options);
    let said: Vec<&str> =
        analysis.gpus[0].prediction().unwrap().assumptions.iter().map(|said| said.id.name()).collect();
    assert!(said.contains(&"not-counted") && said.contains(&"one-load"), "{said:?}");
}
