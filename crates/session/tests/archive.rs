//! Launches that are kept on disk give the same answers as in their program.
#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]

use std::path::Path;

use warplens_device::Context;
use warplens_session::archive::{Archive, Folder, Kept, Snapshot, Store};
use warplens_session::findings::Checks;
use warplens_session::machines::{self, Machine};
use warplens_session::predict::{self, Choice, Options};
use warplens_session::profile::Counting;
use warplens_session::served::{self, Code, Loaded, Served, ServedLaunch};
use warplens_session::toolchain::Search;
use warplens_session::trail::{Entry, TimeOn};
use warplens_session::{ExecutionOptions, Generation, Measurement, Progress};

/// Adds what a list points to, times a constant, to a variable of the module: `entry` holds a pointer and a count.
const PTX: &str = r"
.version 8.0
.target sm_80
.address_size 64
.visible .const .align 4 .u32 factor;
.visible .global .align 4 .u32 sums[256];
.visible .entry add(.param .u64 entry) {
  .reg .pred %p; .reg .b32 %r<10>; .reg .b64 %rd<10>;
  ld.param.u64 %rd1, [entry];
  ld.global.u64 %rd2, [%rd1]; ld.global.u32 %r1, [%rd1+8];
  mov.u32 %r2, %tid.x; mov.u32 %r9, %r2; ld.const.u32 %r3, [factor]; mov.u32 %r4, 0;
LOOP:
  setp.ge.u32 %p, %r9, %r1; @%p bra DONE;
  mul.wide.u32 %rd3, %r9, 4; add.u64 %rd4, %rd2, %rd3; ld.global.u32 %r5, [%rd4];
  mad.lo.u32 %r4, %r5, %r3, %r4; add.u32 %r9, %r9, 256; bra LOOP;
DONE:
  mov.u64 %rd5, sums; mul.wide.u32 %rd6, %r2, 4; add.u64 %rd7, %rd5, %rd6;
  ld.global.u32 %r6, [%rd7]; add.u32 %r7, %r6, %r4; st.global.u32 [%rd7], %r7;
  ret;
}
";

const OTHER: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .align 4 .u32 unused[100];\n\
                     .visible .const .align 4 .u32 more[10];\n.visible .entry nothing() { ret; }\n";

fn search() -> Search {
    Search { homes: Vec::new(), path: Vec::new(), ..Search::from_environment() }
}

fn gpus() -> Vec<Machine> {
    machines::select("a100-80").unwrap()
}

fn answers(measurement: Measurement) -> Vec<TimeOn> {
    let analysis = predict::predict(measurement, &gpus(), &Choice::Auto, Options::default());
    let answer = |gpu: &predict::GpuAnalysis| TimeOn {
        gpu: gpu.machine.id.clone(),
        seconds: gpu.prediction().map(|prediction| prediction.seconds().0),
        model: gpu.prediction().map(|prediction| prediction.model.name().to_owned()),
        bound_by: None,
        refused: None,
    };
    analysis.gpus.iter().map(answer).collect()
}

/// Runs a launch as the library does, and keeps it in a folder.
fn kept(folder: &Path, limit: u64) -> (Kept<()>, Vec<TimeOn>) {
    let archive = Folder::new(folder).unwrap();
    let machines = gpus();
    let mut context = Context::new(64, 1 << 30);
    let load = |context: &mut Context, text: &str| {
        Loaded::new(context, "module", Code::Ptx(vec![text.to_owned()]), ("sm_80", &search())).unwrap()
    };
    load(&mut context, OTHER);
    let allocate = |context: &mut Context, name: &str, bytes: u64| {
        let allocation = context.allocate(name, bytes).unwrap();
        (allocation, context.extent(allocation).unwrap().0)
    };
    let (gone, _) = allocate(&mut context, "gone", 5000);
    let (_, values) = allocate(&mut context, "values", 4 << 20);
    context.free(gone).unwrap();
    let loaded = load(&mut context, PTX);
    let (_, unreached) = allocate(&mut context, "unreached", 100);
    let (_, entry) = allocate(&mut context, "entry", 16);
    let bytes: Vec<u8> = (0..1 << 20).flat_map(|n: u32| (n % 4096 * 7).to_le_bytes()).collect();
    context.write(values, &bytes).unwrap();
    context.write(unreached, &[9; 100]).unwrap();
    context.write(entry, &[values.to_le_bytes(), 5000_u64.to_le_bytes()].concat()).unwrap();
    for (name, value) in [("factor", 3_u32), ("sums", 11)] {
        let symbol = context.symbol(loaded.module(), name).unwrap();
        context.write(symbol.address, &value.to_le_bytes()).unwrap();
    }
    let served = Served::new(&mut context, &loaded, "add", &search()).unwrap().unwrap();
    let launch = ServedLaunch {
        grid: [1, 1, 1],
        block: [256, 1, 1],
        cluster: None,
        allows_large_clusters: false,
        dynamic_shared: 0,
        parameters: entry.to_le_bytes().to_vec(),
        memory_bytes: 16,
    };
    let mut store = Store::new(folder, limit).unwrap();
    let snapshot = Snapshot::take(&context, &loaded, &launch, 1 << 30).unwrap();
    let options = (&served::options(&machines, 1, None), &mut Checks::default());
    let measured = served.measure(&mut context, &loaded, &launch, options).unwrap();
    let answers = answers(measured.result);
    let of = (&loaded, &served, &launch);
    let Kept::Whole(launch) = snapshot.keep(&mut store, of, (7, 3), &answers).unwrap() else {
        return (Kept::TooLarge, answers);
    };
    let mut names: Vec<_> = launch.memory.iter().map(|memory| memory.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["entry", "factor", "sums", "values"], "what it cannot reach is not kept");
    let start = Entry::Start { process: 7, gpus: vec!["a100-80".into()], assumptions: Vec::new() };
    let entries = [start, Entry::Archived { process: 7, launch: Box::new(launch) }];
    assert_eq!(archive.finish(&entries, &["program".to_owned()]).unwrap(), (1, 0));
    (Kept::Whole(()), answers)
}

/// The times of the launches of an archive.
fn read(folder: &Path, number: Option<usize>, gpus: &[Machine]) -> warplens_session::Result<Vec<Measurement>> {
    let index = std::fs::read_to_string(folder.join("index.json")).unwrap();
    let options = ExecutionOptions {
        traced_for: Choice::Auto.traced(gpus),
        generations: Generation::of_all(gpus),
        ..ExecutionOptions::new()
    };
    let launches = Archive::read("archive", folder, &index)?.launches(number, None)?;
    let measure = |launch: &warplens_session::archive::Archived| {
        launch.measure(&options, Counting::Ptx, &search(), &Progress::default())
    };
    Ok(launches.iter().map(measure).collect::<warplens_session::Result<Vec<_>>>()?.concat())
}

#[test]
fn a_launch_that_was_kept_has_the_time_that_it_had_in_its_program() {
    let folder = tempfile::tempdir().unwrap();
    let (_, expected) = kept(folder.path(), 1 << 30);
    // On another computer the folder lies elsewhere.
    let other = tempfile::tempdir().unwrap();
    let place = other.path().join("copy");
    std::fs::rename(folder.path(), &place).unwrap();
    let measurements = read(&place, None, &gpus()).unwrap();
    assert_eq!(measurements.len(), 1);
    assert_eq!(answers(measurements[0].clone()), expected);
    assert!(expected[0].seconds.is_some_and(|seconds| seconds > 1e-6));
    // The four pieces of `values` are the same.
    let bytes: u64 =
        std::fs::read_dir(place.join("pieces")).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes < 1 << 20, "{bytes}");
    // GPUs that the program did not see run it, too.
    let several = machines::select("k40,h200").unwrap();
    let measurements = read(&place, Some(0), &several).unwrap();
    assert_eq!(measurements[0].profile.launch.block, [256, 1, 1]);
    assert_eq!(measurements[0].archived, Some(0), "it can be asked for alone");
}

#[test]
fn an_archive_that_cannot_be_read_says_why() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(kept(folder.path(), 1000).0, Kept::TooLarge);
    assert!(Folder::new(folder.path()).unwrap_err().message.contains("is not empty"));
    let folder = tempfile::tempdir().unwrap();
    kept(folder.path(), 1 << 30);
    let index = folder.path().join("index.json");
    let text = std::fs::read_to_string(&index).unwrap();
    let message = |text: &str, number| {
        std::fs::write(&index, text).unwrap();
        read(folder.path(), number, &gpus()).unwrap_err().message
    };
    let replaced = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    };
    let address = text.lines().find(|line| line.contains("\"global_address\"")).unwrap();
    let cases = [
        (text.clone(), Some(1), "has no launch 1; it has 0 to 0"),
        ("{}".to_owned(), None, "the key `schema` is missing"),
        (text[..text.len() / 2].to_owned(), None, "line "),
        (replaced("warplens.archive/1", "warplens.profile/1"), None, "`warplens.archive/1` is needed"),
        (replaced("\"kernel\": \"add\"", "\"kernel\": \"sub\""), None, "its code has no kernel `sub`"),
        (replaced("\"parameters\": \"", "\"parameters\": \"xy"), None, "no hexadecimal digits"),
        (replaced("\"kind\": \"ptx\"", "\"kind\": \"wasm\""), None, "there is no code `wasm`"),
        (replaced(address, "        \"global_address\": 1,"), None, "nothing can be placed at 0x1"),
        (replaced("\"bytes\": 4194304", "\"bytes\": 4294967296000000"), None, "bytes of memory, and"),
        (replaced("\"bytes\": 16,", "\"bytes\": 0,"), None, "0 bytes do not lie in 1 pieces"),
    ];
    for (text, number, words) in cases {
        let said = message(&text, number);
        assert!(said.contains(words) && said.contains("archive"), "{words}: {said}");
    }
    std::fs::remove_dir_all(folder.path().join("pieces")).unwrap();
    assert!(message(&text, None).contains("is missing"));
}
