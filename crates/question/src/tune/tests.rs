//! Searches over real kernels.

use std::path::Path;

use super::*;
use warplens_launch::Launch;
use warplens_session::machines;
use warplens_session::predict::ModelId;

fn example(name: &str, target: &str) -> Input {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/{name}/ptx/{target}.ptx"));
    Input::read(file).unwrap()
}

fn texts(flag: &str, values: &[&str]) -> Vec<Text> {
    values.iter().map(|value| Text::new(flag, *value)).collect()
}

/// A search over `space` with the arguments of a kernel, on an H200.
fn request<'r>(inputs: &'r [Input], space: &SpaceText, arguments: &[&str]) -> Request<'r> {
    let names: Vec<String> = inputs.iter().map(|input| input.name.clone()).collect();
    let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
    let launch = Launch { registers: Some(16), ..Launch::default() };
    Request {
        inputs,
        variants: (0..inputs.len()).map(|input| (input, None)).collect(),
        target: "sm_80".to_owned(),
        launch: LaunchTemplate::new(launch, &arguments).unwrap(),
        space: Space::new(space, &names, GivenShape::default()).unwrap(),
        machines: machines::select("h200").unwrap(),
        choice: Choice::Auto,
        options: Options::default(),
        execution: ExecutionOptions { threads: 2, ..ExecutionOptions::new() },
        most_points: None,
        check: None,
        band: 0.1,
    }
}

fn searched(request: &Request<'_>) -> Tuning {
    tune(request, &Search::default(), &Progress::default()).unwrap()
}

fn best_time(tuning: &Tuning) -> f64 {
    let ranking = &tuning.rankings[0];
    let best = &tuning.candidates[ranking.order[0]];
    best.answer(0, ranking.model.unwrap()).unwrap().0
}

const VECTOR: [&str; 4] = ["f32[1<<14]:iota", "f32[1<<14]:iota", "f32[1<<14]", "1<<14"];
const REDUCTION: [&str; 3] = ["f32[1<<14]:iota", "f32[{grid.x}]", "1<<14"];

#[test]
fn the_guided_search_finds_what_the_exhaustive_one_finds() {
    let inputs = [example("reduction_shuffle", "sm_80")];
    let space = SpaceText {
        axes: [texts("--block-x", &["32..512:32"]), Vec::new(), Vec::new()],
        grid: (1..=66).map(|grid| Text::new("--grid", (4 * grid).to_string())).collect(),
        ..SpaceText::default()
    };
    let mut request = request(&inputs, &space, &REDUCTION);
    let exhaustive = searched(&request);
    assert_eq!((exhaustive.n_points, exhaustive.method), (1056, Method::Exhaustive));
    assert_eq!(exhaustive.candidates.len(), 1056);
    request.most_points = Some(300);
    let guided = searched(&request);
    assert!(matches!(guided.method, Method::Guided { n_starts: 1.. }));
    assert!(guided.candidates.len() * 10 < 1056 * 3, "{}", guided.candidates.len());
    assert_eq!(best_time(&guided), best_time(&exhaustive));
    // The landscape is no plain: the best is far better than most.
    let ranking = &exhaustive.rankings[0];
    let middle = &exhaustive.candidates[ranking.order[500]];
    assert!(middle.answer(0, ranking.model.unwrap()).unwrap().0 > 1.2 * best_time(&exhaustive));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let inputs = [example("vector_add", "sm_80")];
    let space = SpaceText {
        block: texts("--block", &["32..256:32"]),
        grid: texts("--grid", &["ceil((1<<14)/block.x)"]),
        ..SpaceText::default()
    };
    let mut request = request(&inputs, &space, &VECTOR);
    let two = searched(&request);
    request.execution.threads = 1;
    assert_eq!(searched(&request), two);
    assert!(two.candidates.iter().all(|candidate| candidate.result.is_ok()));
}

#[test]
fn points_that_differ_by_shared_memory_alone_share_an_emulation() {
    let inputs = [example("vector_add", "sm_80")];
    let space = SpaceText {
        block: texts("--block", &["128,256"]),
        grid: texts("--grid", &["ceil((1<<14)/block.x)"]),
        shared: texts("--shared", &["0,16384,200000,300000"]),
        ..SpaceText::default()
    };
    let tuning = searched(&request(&inputs, &space, &VECTOR));
    assert_eq!((tuning.candidates.len(), tuning.n_emulated), (8, 2));
    let occupancy = |at: usize| tuning.candidates[at].measured().map(|measured| measured.gpus[0].occupancy);
    assert_eq!(occupancy(4), Some(Some(1.0)));
    assert_eq!(occupancy(6), Some(Some(0.125)));
    let reason = tuning.candidates[7].result.as_ref().unwrap_err();
    assert_eq!(reason, "impossible launch: 300000 bytes of shared memory per block, and no GPU has more than 232448");
}

#[test]
fn impossible_points_are_kept_with_their_reason() {
    let inputs = [example("vector_add", "sm_80")];
    let space = SpaceText {
        lets: texts("--let", &["n=1<<14"]),
        block: texts("--block", &["96,256,2048"]),
        grid: texts("--grid", &["n/block.x"]),
        ..SpaceText::default()
    };
    let mut request = request(&inputs, &space, &VECTOR);
    request.machines = machines::select("h200,gtx280").unwrap();
    request.launch.launch.registers = Some(100);
    let tuning = searched(&request);
    let reasons: Vec<Option<&str>> =
        tuning.candidates.iter().map(|candidate| candidate.result.as_ref().err().map(String::as_str)).collect();
    assert!(reasons[0].unwrap().contains("no whole number"), "{reasons:?}");
    assert_eq!(reasons[1], None);
    assert!(reasons[2].unwrap().starts_with("impossible block 2048 x 1 x 1"), "{reasons:?}");
    let on_gtx280 = tuning.candidates[1].measured().unwrap().gpus[1].impossible.as_deref();
    assert_eq!(on_gtx280, Some("no block fits an SM of gtx280: registers"));
    assert_eq!(tuning.rankings.iter().map(|ranking| ranking.order.len()).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(tuning.compromise, None);
}

#[test]
fn outputs_are_compared_with_those_of_the_first_point() {
    let inputs = [example("vector_add", "sm_80")];
    let space = SpaceText {
        block: texts("--block", &["64,128"]),
        // The second mapping leaves half of the elements out.
        grid: texts("--grid", &["(1<<14)/block.x", "(1<<13)/block.x"]),
        ..SpaceText::default()
    };
    let mut request = request(&inputs, &space, &VECTOR);
    request.check = Some(1e-5);
    let tuning = searched(&request);
    let checks: Vec<&Check> = tuning.candidates.iter().filter_map(|candidate| candidate.check.as_ref()).collect();
    assert_eq!((checks[0], checks[2]), (&Check::Reference, &Check::Same));
    let lost = Check::Differs { buffer: "vector_add_param_2".to_owned(), n_different: 8192, first: 8192 };
    assert_eq!((checks[1], checks[3]), (&lost, &lost));
}

const TWO_KERNELS: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
    .visible .entry once(.param .u64 out) { .reg .b64 %rd<3>; .reg .b32 %r<2>; ld.param.u64 %rd0, [out]; \
    mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 4; add.u64 %rd2, %rd0, %rd1; st.global.u32 [%rd2], %r0; ret; }\n\
    .visible .entry sized(.param .u64 out) { .reg .b64 %rd<3>; .reg .b32 %r<2>; ld.param.u64 %rd0, [out]; \
    mov.u32 %r0, %dynamic_smem_size; st.global.u32 [%rd0], %r0; ret; }\n";

#[test]
fn kernels_of_one_file_are_variants_and_a_visible_size_of_shared_memory_is_emulated() {
    let inputs = [Input::new("two.ptx", None, TWO_KERNELS.into()).unwrap()];
    let space = SpaceText {
        block: texts("--block", &["32,64"]),
        grid: texts("--grid", &["4"]),
        shared: texts("--shared", &["0,1024"]),
        ..SpaceText::default()
    };
    let mut request = request(&inputs, &space, &["u32[64]"]);
    let kernels = ["once", "sized"].map(str::to_owned);
    request.variants = kernels.iter().map(|name| (0, Some(name.clone()))).collect();
    request.space = Space::new(&space, &kernels, GivenShape::default()).unwrap().of_variants("kernel");
    let tuning = searched(&request);
    assert_eq!(tuning.dimensions[0].name, "kernel");
    // Two blocks of the one kernel; of the other also both sizes, as it can see them.
    assert_eq!((tuning.candidates.len(), tuning.n_emulated), (8, 6));
    assert!(tuning.candidates.iter().all(|candidate| candidate.result.is_ok()));
}

#[test]
fn what_is_wrong_with_every_point_is_an_error() {
    let inputs = [example("vector_add", "sm_80")];
    let space =
        SpaceText { block: texts("--block", &["64,128"]), grid: texts("--grid", &["16"]), ..SpaceText::default() };
    let error = |request: &Request<'_>| tune(request, &Search::default(), &Progress::default()).unwrap_err();
    let missing = error(&request(&inputs, &space, &VECTOR[..3]));
    assert!(missing.message.contains("missing argument 3"), "{missing}");
    let constraints = texts("--constraint", &["block.x > 128"]);
    let excluded = error(&request(&inputs, &SpaceText { constraints, ..space.clone() }, &VECTOR));
    assert_eq!(excluded.message, "no point is left: the constraints exclude all 2");
    let macros = texts("--macro", &["TILE=8,16"]);
    let ptx = error(&request(&inputs, &SpaceText { macros, ..space }, &VECTOR));
    assert!(ptx.message.ends_with("is PTX, which has no macros"), "{ptx}");
}

/// Two models; which ones plays no part.
const FIRST: ModelId = ModelId::Analyzer;
const SECOND: ModelId = ModelId::Roofline;

fn model_time(model: ModelId, time: f64) -> ModelTime {
    ModelTime { model, result: Ok((time, "compute")) }
}

/// A point whose two models give these times.
fn candidate(first: f64, second: f64) -> Candidate {
    let answers = vec![model_time(FIRST, first), model_time(SECOND, second)];
    let gpus = vec![OnGpu { impossible: None, occupancy: Some(1.0), answers }];
    let measured = Measured {
        registers: 16,
        registers_basis: RegistersBasis::User,
        shared_bytes: 0,
        instructions: 1,
        ctas: (1, 1),
        gpus,
    };
    Candidate { choices: vec![0], input: 0, macros: Vec::new(), point: None, result: Ok(measured), check: None }
}

#[test]
fn ties_are_what_models_cannot_agree_on() {
    let rank = |candidates: &[Candidate]| ranking::rank("g", 0, &[FIRST, SECOND], candidates, 0.1);
    // 1 % slower: no model resolves it. 5 % slower, and the other model has it the other way round: tied. 5 % slower, and
    // both agree: not tied. 20 % slower, whatever the other says: not tied.
    let ranking = rank(&[
        candidate(120.0, 1.0),
        candidate(100.0, 50.0),
        candidate(101.0, 60.0),
        candidate(105.0, 49.0),
        candidate(105.0, 50.0),
    ]);
    assert_eq!((ranking.model, ranking.order.as_slice()), (Some(FIRST), &[1, 2, 3, 4, 0][..]));
    assert_eq!(ranking.tied, [1, 2, 3]);
    assert_eq!(rank(&[]).tied, [] as [usize; 0]);
}

#[test]
fn the_model_that_answers_most_points_ranks() {
    let mut silent = candidate(1.0, 2.0);
    if let Ok(measured) = &mut silent.result {
        measured.gpus[0].answers[0].result = Err("lacks a parameter".to_owned());
    }
    let ranking = ranking::rank("g", 0, &[FIRST, SECOND], &[candidate(1.0, 3.0), silent], 0.1);
    assert_eq!((ranking.model, ranking.order.as_slice()), (Some(SECOND), &[1, 0][..]));
}
