//! What a GPU answers, against the emulator. Ignored where there is no GPU:
//!
//! `HARDWARE=FOLDER cargo test -p warplens-session --test hardware -- --ignored` runs the conformance kernels, the literate
//! cases and the probes of `validation/hardware/probes` on both, and writes `FOLDER/answers.txt`, a line per case,
//! `FOLDER/answers.csv` with the rows for `validation/hardware/answers.csv`, and the buffers of the GPU where they are not
//! those of the emulator. A GPU that has met an error answers nothing more, so
//! that the test ends then; run again it goes on behind the last line.
#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]
#![allow(clippy::print_stderr, reason = "who measures wants to see how far it is")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use warplens_session::hardware::{Gpu, OnGpu};
use warplens_session::{Generation, Output, Program, machines};

use cases::{emulated, hash, kernels, literate};

#[path = "hardware/cases.rs"]
mod cases;

/// What differs, if anything does.
fn difference(of_gpu: &[Output], of_emulator: &[Output]) -> Option<String> {
    let mut text = String::new();
    for (gpu, emulator) in of_gpu.iter().zip(of_emulator) {
        let width = gpu.element.bytes();
        let pairs = || gpu.bytes.chunks_exact(width).zip(emulator.bytes.chunks_exact(width)).enumerate();
        let differing: Vec<_> = pairs().filter(|(_, (gpu, emulator))| gpu != emulator).collect();
        if differing.is_empty() {
            continue;
        }
        let hex = |bytes: &[u8]| bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect::<String>();
        write!(text, " argument {}: {} of {}", gpu.key, differing.len(), gpu.bytes.len() / width).unwrap();
        for (at, (gpu, emulator)) in differing.iter().take(6) {
            write!(text, ", [{at}] {} not {}", hex(gpu), hex(emulator)).unwrap();
        }
    }
    (!text.is_empty()).then_some(text)
}

#[test]
#[ignore = "needs a GPU"]
fn a_gpu_and_the_emulator_give_the_same_answers() {
    let folder = PathBuf::from(std::env::var("HARDWARE").expect("HARDWARE names the folder for the answers"));
    fs::create_dir_all(&folder).unwrap();
    let answers = folder.join("answers.txt");
    let known = fs::read_to_string(&answers).unwrap_or_default().lines().count();
    let mut log = fs::File::options().create(true).append(true).open(&answers).unwrap();
    let mut rows = fs::File::options().create(true).append(true).open(folder.join("answers.csv")).unwrap();
    let gpu = Gpu::open(0).unwrap_or_else(|error| panic!("{}", error.message));
    let cc = gpu.facts().cc;
    let [major, minor] = [cc / 10, cc % 10].map(|number| number as u8);
    let generation = Generation::of(machines::ComputeCapability::new(major, minor));
    let mut cases = Vec::new();
    kernels("crates/exec/tests/data", cc, &mut cases);
    kernels("validation/hardware/probes", cc, &mut cases);
    literate(&mut cases);
    let mut programs: BTreeMap<&str, Result<Program, String>> = BTreeMap::new();
    let mut n_different = 0;
    for case in cases.iter().skip(known) {
        // The line stands before the GPU is asked, so that one that hangs is passed over.
        write!(log, "{}: ", case.name).unwrap();
        log.flush().unwrap();
        let program = programs
            .entry(&case.program)
            .or_insert_with(|| Program::from_ptx(&case.program, case.ptx.clone()).map_err(|error| error.message));
        let answer = program.as_ref().map_err(Clone::clone).and_then(|program| {
            let launches = case.launches()?;
            let of_gpu = OnGpu::load(&gpu, program).and_then(|on_gpu| on_gpu.run(&launches));
            let of_gpu = of_gpu.map_err(|error| format!("{} {}", error.message, error.details.join("; ")))?;
            let keys: Vec<&str> = of_gpu.iter().map(|output| output.key.as_str()).collect();
            let of_emulator =
                emulated(program, &launches, &keys, generation).map_err(|error| format!("emulator: {error}"))?;
            for output in &of_gpu {
                let (key, elements) = (&output.key, output.elements().len());
                writeln!(rows, "{},{key},{elements},{}", case.name, hash(output)).unwrap();
            }
            let different = difference(&of_gpu, &of_emulator);
            if different.is_some() {
                n_different += 1;
                for output in &of_gpu {
                    fs::write(folder.join(format!("{}.{}.npy", case.name, output.key)), output.to_npy()).unwrap();
                }
            }
            Ok(different)
        });
        let line = match answer {
            Ok(None) => "same".to_owned(),
            Ok(Some(difference)) => format!("DIFFERENT{difference}"),
            Err(message) => format!("no answer: {}", message.replace('\n', " ")),
        };
        writeln!(log, "{line}").unwrap();
        log.flush().unwrap();
        if line.starts_with("no answer: the CUDA") && gpu.sm_mhz().is_err() {
            panic!("the GPU answers nothing more after {}; run again", case.name);
        }
    }
    assert_eq!(n_different, 0, "see {}", answers.display());
}
