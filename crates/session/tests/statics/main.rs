//! Counts without a run, held against the emulator's on every shipped example.

use std::path::{Path, PathBuf};

use warplens_session::launch::Launch;
use warplens_session::profile::{Counting, Profile};
use warplens_session::statics::{self, Given};
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Extent, Measurement, Program, Progress, measure};

fn folder(example: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example)
}

fn program(example: &str, target: &str) -> Program {
    let path = folder(example).join(format!("ptx/{target}.ptx"));
    let text = std::fs::read_to_string(&path).expect("the PTX can be read");
    Program::from_ptx(&path.display().to_string(), text).expect("the PTX is fine")
}

fn launches(example: &str, file: &str) -> Vec<Launch> {
    Launch::load(folder(example).join(file).to_str(), Launch::default()).expect("the launch file is fine")
}

fn emulated(program: &Program, launches: &[Launch]) -> Profile {
    let options = ExecutionOptions { extent: Extent::Full, ..ExecutionOptions::new() };
    let measured =
        measure(program, launches, options, Counting::Ptx, &Search::default(), &Progress::default()).expect("it runs");
    measured.into_iter().next().expect("there is a launch").profile
}

fn counted(program: &Program, launches: &[Launch], given: &Given) -> Measurement {
    let options = ExecutionOptions::new();
    let counted = statics::count(program, launches, given, options, Counting::Ptx, &Search::default());
    counted.unwrap_or_else(|error| panic!("{error:?}")).into_iter().next().expect("there is a launch")
}

#[test]
fn print_all() {
    for example in std::env::var("EXAMPLES").unwrap_or_default().split_whitespace() {
        let program = program(example, "sm_80");
        let launches = launches(example, "launch.toml");
        let start = std::time::Instant::now();
        let run = emulated(&program, &launches);
        let t_run = start.elapsed();
        let start = std::time::Instant::now();
        let counted = counted(&program, &launches, &Given::default());
        let t = start.elapsed();
        let stat = counted.statics.clone().unwrap();
        println!(
            "{example}: {t_run:?} {t:?} walked {} {} equal {}",
            stat.walked_ctas,
            stat.walked_instructions,
            run == counted.profile
        );
        if run != counted.profile {
            let (a, b) = (format!("{run:#?}"), format!("{:#?}", counted.profile));
            for (x, y) in a.lines().zip(b.lines()) {
                if x != y {
                    println!("   {x}   |   {y}");
                }
            }
            println!("{:?}", stat.bounds);
        }
    }
}
