//! Binding of arguments to a kernel `k(a: .u64, b: .u64, n: .u32, x: .f32, s: .b8[16])`.

use warplens_base::error::ErrorKind;
use warplens_ir::RequiredCluster;

use super::*;

fn parameter(name: &str, ty: ScalarType, offset: u32, bytes: u32) -> Parameter {
    let is_array = bytes != ty.bytes();
    Parameter { name: name.into(), ty, offset, bytes, align: bytes.min(8), is_array }
}

fn parameters_of_k() -> Vec<Parameter> {
    vec![
        parameter("k_param_0", ScalarType::U64, 0, 8),
        parameter("k_param_1", ScalarType::U64, 8, 8),
        parameter("k_param_2", ScalarType::U32, 16, 4),
        parameter("k_param_3", ScalarType::F32, 20, 4),
        parameter("k_param_4", ScalarType::B8, 24, 16),
    ]
}

fn bind_with(launches: &[Launch], bounds: LaunchBounds) -> Result<Plan> {
    let parameters = parameters_of_k();
    let interface = KernelInterface {
        name: "k",
        parameters: &parameters,
        source_names: ["in", "out", "n", "x", "s"].map(str::to_owned).to_vec(),
        bounds,
        target: 90,
        pointer_bytes: 8,
        variables: vec![("table", ScalarType::F32, 16), ("blob", ScalarType::B128, 16)],
    };
    let launches: Vec<_> = launches.iter().map(|launch| (launch.clone(), interface.clone())).collect();
    Plan::bind(&launches, 1 << 20, &|path| Err(format!("cannot read {path}")))
}

fn launch(arguments: &[&str]) -> Launch {
    let mut launch = Launch { grid: Some([2, 1, 1]), block: Some([32, 1, 1]), ..Launch::default() };
    arguments.iter().for_each(|text| launch.add_argument(text).unwrap_or_else(|error| panic!("{text}: {error}")));
    launch
}

fn bind(arguments: &[&str]) -> Result<Plan> {
    bind_with(&[launch(arguments)], LaunchBounds::default())
}

fn message(arguments: &[&str]) -> String {
    let error = bind(arguments).expect_err("this cannot be bound");
    assert_eq!(error.kind, ErrorKind::Usage);
    error.message
}

/// The parameter space, with buffer `i` at address `0x1000 * (i + 1)`.
fn space(plan: &Plan, launch: usize) -> Vec<u8> {
    plan.launches[launch]
        .parameters
        .resolved(|buffer| 0x1000 * (u64::from(buffer.0) + 1), |object| 0x10 + u64::from(object.0))
}

const STRUCT: &str = "s=struct(1,2.5,&0+4)";

#[test]
fn arguments_fill_the_parameter_space() {
    let plan = bind(&["f32[4]:iota", "n=-1", "&0+8", "0.5", STRUCT]).unwrap();
    let expected: Vec<u8> = [
        &0x1000u64.to_le_bytes()[..],
        &0x1008u64.to_le_bytes(),
        &(-1i32).to_le_bytes(),
        &0.5f32.to_le_bytes(),
        &1i32.to_le_bytes(),
        &2.5f32.to_le_bytes(),
        &0x1004u64.to_le_bytes(),
    ]
    .concat();
    assert_eq!(space(&plan, 0), expected);
    assert_eq!(plan.launches[0].argument_buffers, [Some(BufferId(0)), Some(BufferId(0)), None, None, None]);
    assert_eq!(plan.launches[0].parameter_names[2], ["k_param_2", "param_2", "n"]);
    assert_eq!(plan.buffers.len(), 1);
}

#[test]
fn overrides_go_by_parameter() {
    let file = launch(&["none", "none", "1", "2", "bytes(000102030405060708090a0b0c0d0e0f)"]);
    let mut flags = Launch::default();
    flags.add_argument("param_2=7").unwrap();
    let plan = bind_with(&[file.overridden_by(flags)], LaunchBounds::default()).unwrap();
    assert_eq!(space(&plan, 0)[16..24], [7u32.to_le_bytes(), 2f32.to_le_bytes()].concat());
}

#[test]
fn a_sequence_shares_the_buffers_of_its_first_launch() {
    let first = launch(&["u8[16]", "u8[32]", "1", "1", STRUCT]);
    let second = launch(&["&1", "&1.0+4", "1", "1", STRUCT]);
    let plan = bind_with(&[first, second], LaunchBounds::default()).unwrap();
    assert_eq!(plan.buffers.len(), 2);
    assert_eq!(space(&plan, 1)[..16], [0x2000u64.to_le_bytes(), 0x2004u64.to_le_bytes()].concat());
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let full = |which: usize, text: &str| {
        let mut all = ["none", "none", "1", "1", STRUCT].map(str::to_owned);
        all[0] = "u8[8]".to_owned();
        all[which] = format!("{which}={text}");
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        message(&all)
    };
    assert_eq!(message(&["none", "none"]), "kernel `k`: missing argument 2 (`n`, u32) and 2 more");
    assert_eq!(full(2, "2.5"), "--arg 2 (`2=2.5`): 2.5 is not an integer, as .u32 needs");
    assert_eq!(full(2, "1<<32"), "--arg 2 (`2=1<<32`): 4294967296 does not fit .u32 (-2147483648 to 4294967295)");
    assert_eq!(full(2, "f32[4]"), "--arg 2 (`2=f32[4]`): the parameter holds no address, so that it takes a number");
    assert_eq!(full(4, "1"), "--arg 4 (`4=1`): a structure cannot be the number 1; write struct(1,...) or bytes(HEX)");
    assert_eq!(full(4, "bytes(00)"), "--arg 4 (`4=bytes(00)`): 1 bytes are given, the parameter takes 16");
    assert_eq!(full(4, "struct(1)"), "--arg 4 (`4=struct(1)`): the members take 4 bytes, the parameter takes 16");
    assert_eq!(full(1, "&0+9"), "--arg 1 (`1=&0+9`): the offset lies outside the buffer of 8 bytes");
    assert_eq!(full(1, "&2"), "--arg 1 (`1=&2`): argument 2 is no buffer (`1`)");
    assert_eq!(full(1, "&9"), "--arg 1 (`1=&9`): there is no argument 9 in launch 0");
    assert_eq!(full(1, "&1"), "--arg 1 (`1=&1`): the references go in a circle");
    assert!(full(1, "f32[1<<50]").contains("more memory than is free"));
    assert_eq!(message(&["m=1"]), "--arg 0: kernel `k` has no parameter `m`");
    assert_eq!(message(&["9=1"]), "--arg 0: there is no argument 9: kernel `k` has 5 parameters");
    assert_eq!(message(&["n=1", "2=1"]), "--arg 1: argument 2 (`k_param_2`) is given twice");
    assert_eq!(message(&["1"; 6]), "--arg 5 (`1`) is one too many: kernel `k` has 5 parameters");
}

#[test]
fn the_block_must_suit_the_kernel() {
    let bound = |bounds| bind_with(&[launch(&["none", "none", "1", "1", "struct(1,1,1,1)"])], bounds);
    let message = |bounds| bound(bounds).unwrap_err().message;
    let most = LaunchBounds { max_threads: Some(16), ..LaunchBounds::default() };
    assert_eq!(message(most), "impossible block 32 x 1 x 1: kernel `k` was compiled for at most 16 threads");
    let required = LaunchBounds { required_threads: Some([64, 1, 1]), ..LaunchBounds::default() };
    assert_eq!(message(required), "impossible block 32 x 1 x 1: kernel `k` requires 64 x 1 x 1");
    let mut no_grid = launch(&["none", "none", "1", "1", "struct(1,1,1,1)"]);
    no_grid.grid = None;
    let error = bind_with(&[no_grid], LaunchBounds::default()).unwrap_err();
    assert_eq!(error.message, "no grid is given for kernel `k`");
}

#[test]
fn clusters_must_suit_the_kernel_and_the_grid() {
    let bound = |given: Option<[u32; 3]>, required: Option<Option<[u32; 3]>>, max_cluster| {
        let mut launch = launch(&["none", "none", "1", "1", "struct(1,1,1,1)"]);
        (launch.cluster, launch.grid) = (given, Some([64, 6, 1]));
        let cluster = required.map(|ctas| RequiredCluster { ctas, line: 7 });
        let plan = bind_with(&[launch], LaunchBounds { cluster, max_cluster, ..LaunchBounds::default() });
        plan.map(|plan| plan.launches[0].cluster).map_err(|error| error.message)
    };
    assert_eq!(bound(None, None, None), Ok(None));
    assert_eq!(bound(Some([4, 2, 1]), None, None), Ok(Some([4, 2, 1])));
    assert_eq!(bound(None, Some(Some([2, 1, 1])), None), Ok(Some([2, 1, 1])));
    assert_eq!(bound(None, Some(Some([16, 1, 1])), None), Ok(Some([16, 1, 1])));
    assert_eq!(bound(Some([16, 1, 1]), None, Some(16)), Ok(Some([16, 1, 1])));
    assert_eq!(bound(Some([2, 1, 1]), Some(None), None), Ok(Some([2, 1, 1])));
    let cases = [
        (None, Some(None), None, "no cluster is given for kernel `k`, which demands one on PTX line 7"),
        (Some([4, 1, 1]), Some(Some([2, 1, 1])), None, "impossible cluster 4 x 1 x 1: kernel `k` requires 2 x 1 x 1"),
        (Some([0, 1, 1]), None, None, "impossible cluster 0 x 1 x 1: its x extent is 0"),
        (
            Some([16, 1, 1]),
            None,
            None,
            "impossible cluster 16 x 1 x 1: it has 16 blocks, and not every GPU has room for more than 8",
        ),
        (Some([8, 1, 1]), None, Some(4), "impossible cluster 8 x 1 x 1: it has 8 blocks, and kernel `k` allows 4"),
        (
            Some([32, 1, 1]),
            None,
            Some(64),
            "impossible cluster 32 x 1 x 1: it has 32 blocks, and no GPU has room for more than 16",
        ),
        (
            Some([1, 4, 1]),
            None,
            None,
            "impossible cluster 1 x 4 x 1: it does not divide the grid 64 x 6 x 1: 6 blocks along y, and 4 of a cluster",
        ),
    ];
    for (given, required, most, message) in cases {
        assert_eq!(bound(given, required, most), Err(message.to_owned()));
    }
}

#[test]
fn symbols_are_set_by_name() {
    let symbol = |text: &str| {
        let mut launch = launch(&["none", "none", "1", "1", "struct(1,1,1,1)"]);
        launch.add_symbol("--symbol", text).unwrap();
        let plan = bind_with(&[launch], LaunchBounds::default()).map_err(|error| error.message)?;
        Ok::<_, String>(plan.launches[0].symbols[0].content.bytes.clone())
    };
    assert_eq!(symbol("table=values(1,2)"), Ok([1f32.to_le_bytes(), 2f32.to_le_bytes()].concat()));
    assert_eq!(symbol("table=fill(1)"), Ok(1f32.to_le_bytes().repeat(4)));
    assert_eq!(symbol("table=2.5"), Ok(2.5f32.to_le_bytes().to_vec()));
    assert_eq!(symbol("blob=u8[2]:iota"), Ok(vec![0, 1]));
    assert_eq!(symbol("blob=struct(u8:1,s16:-1)"), Ok(vec![1, 0, 255, 255]));
    assert_eq!(
        symbol("table=u8[17]"),
        Err("--symbol (`table=u8[17]`): 17 bytes are given, the variable has 16".into())
    );
    assert_eq!(symbol("tabel=1"), Err("--symbol (`tabel=1`): there is no variable `tabel`".into()));
}
