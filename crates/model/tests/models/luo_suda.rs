//! The MPD/CPD model: the numbers that the paper prints, its readings, its limits, and how it walks through periods.

use proptest::prelude::*;
use warplens_machine::Strictness;
use warplens_model::luo_suda::costs::{of_computation, of_memory};
use warplens_model::luo_suda::equations::{
    Constants, Costs, PeriodTime, PeriodType, Situation, accuracy, cpd, cpd1, cpd2, mpd, warp_bwt,
};
use warplens_model::luo_suda::figures::{PUBLISHED, accuracies, time_over_warps};
use warplens_model::luo_suda::walk::{Stream, Work, walk};
use warplens_model::luo_suda::{Forms, Inputs, PeriodInput};
use warplens_model::{Given, Input, Knobs, Options, Prediction, Refusal, find, point_name};
use warplens_stats::{CoalescingRule, CostKind, NumberKind, Period, PeriodStream, Periods, StreamPart};

use crate::support::{empty, machine};

const GTX260: Constants = Constants { a: 3.0, b: 11.0, c: 0.5, d: 80.0, m: 32.0 };
const DOCUMENTED: Forms = Forms { printed_mpd: false, printed_cpd: false, waits_over_cpd: false };

fn close(found: f64, wanted: f64, tolerance: f64) {
    assert!((found - wanted).abs() <= tolerance, "{found}, not {wanted}");
}

#[test]
fn cpd_is_as_the_samples_say() {
    let samples = [
        (0.2623, [(1.0, 0.62, 3.0), (8.0, 2.29, 5.86), (32.0, 7.99, 7.52)]),
        (0.8697, [(1.0, 6.70, 3.0), (8.0, 4.11, 9.92), (32.0, -4.76, 13.93)]),
    ];
    for (p, points) in samples {
        for (n_act, first, second) in points {
            close(cpd1(p, n_act, &GTX260), first, 0.005);
            close(cpd2(p, n_act, &GTX260), second, 0.005);
        }
    }
    // Below c the smaller of both, but at least 1; above c the second alone, unless printed.
    close(cpd(0.2623, 1.0, &GTX260, false), 1.0, 0.0);
    close(cpd(0.2623, 8.0, &GTX260, false), 2.2869, 1e-9);
    close(cpd(0.2623, 32.0, &GTX260, false), 7.5201, 1e-4);
    close(cpd(0.8697, 8.0, &GTX260, false), 9.9208, 1e-4);
    close(cpd(0.8697, 8.0, &GTX260, true), 4.1091, 1e-9);
    close(cpd(0.8697, 32.0, &GTX260, true), 1.0, 0.0);
}

/// 111.9 GB/s at 1242 MHz over 24 SMs; 128 bytes in two transactions of 200 cycles.
#[test]
fn mpd_by_both_readings() {
    let gpu_bwt = 111.9e9 / 1242e6;
    let warp_bwt = warp_bwt(32.0, 4.0, 2.0, 200.0);
    close(warp_bwt, 0.32, 1e-12);
    let at = |n_act, printed| mpd(n_act, gpu_bwt, 24.0, warp_bwt, printed);
    assert_eq!([1.0, 8.0, 11.0, 12.0, 32.0].map(|n_act| at(n_act, false)), [1.0, 8.0, 11.0, 11.0, 11.0]);
    assert_eq!([1.0, 2.0, 3.0, 5.0, 6.0, 32.0].map(|n_act| at(n_act, true)), [1.0, 2.0, 3.0, 2.0, 1.0, 1.0]);
    assert_eq!(mpd(7.0, gpu_bwt, 24.0, 0.0, false), 7.0);
}

/// 8 warps, CPD 2; the period before costs 20 and 400 with an MPD of 2, or nothing.
#[test]
fn each_type_waits_for_what_its_equation_says() {
    let situation = Situation { n_act: 8.0, cpd: 2.0, waits_over_cpd: false };
    let nothing = Costs::default();
    let long = Costs { c: 20.0, m: 400.0, mpd: 2.0 };
    let time = |before: &Costs, c, m| PeriodTime::new(before, &Costs { c, m, mpd: 2.0 }, &situation);
    let parts = |time: PeriodTime| (time.kind.number(), time.compute, time.t_c, time.t_p);
    assert_eq!(parts(time(&nothing, 51.0, 40.0)), (1, 204.0, 0.0, 0.0));
    // 400 - 7 x 51
    assert_eq!(parts(time(&nothing, 51.0, 400.0)), (2, 204.0, 43.0, 0.0));
    // 400 x (8 / 2 - 1) - 7 x 51
    assert_eq!(parts(time(&long, 51.0, 40.0)), (3, 204.0, 0.0, 843.0));
    // The other warps' computation and that wait cover 400 cycles, but not 1500.
    assert_eq!(parts(time(&long, 51.0, 400.0)), (4, 204.0, 0.0, 843.0));
    assert_eq!(parts(time(&long, 51.0, 1500.0)), (4, 204.0, 1500.0 - 357.0 - 843.0, 843.0));
    // 3 x 25 / 2 is rounded up.
    let three = Situation { n_act: 3.0, ..situation };
    assert_eq!(PeriodTime::new(&nothing, &Costs { c: 25.0, m: 0.0, mpd: 1.0 }, &three).total(), 38.0);
    // With CPD the others take 7 x 51 / 2.
    let over = Situation { waits_over_cpd: true, ..situation };
    assert_eq!(PeriodTime::new(&long, &Costs { c: 51.0, m: 40.0, mpd: 2.0 }, &over).t_p, 1200.0 - 178.5);
}

#[test]
fn accuracy_is_the_smaller_over_the_larger() {
    assert_eq!((accuracy(80.0, 100.0), accuracy(100.0, 80.0)), (0.8, 0.8));
    let (each, arithmetic, geometric) = accuracies(&[(1.0, 1.0), (1.0, 4.0)]);
    assert_eq!((each, arithmetic), (vec![1.0, 0.25], 0.625));
    close(geometric, 0.5, 1e-12);
    // Tables 3 and 4.
    assert!(PUBLISHED.iter().all(|row| row.geometric <= row.arithmetic));
    let mean = PUBLISHED.iter().map(|row| row.arithmetic).sum::<f64>() / 6.0;
    close(mean, 0.9037, 1e-4);
}

fn kind(opcode: &str, number: NumberKind, bits: u32, constant: bool) -> CostKind {
    CostKind { number, bits, constant, ..CostKind::parse(opcode) }
}

/// Table 1, row by row: integer constant, integer register, float constant, float register.
#[test]
fn costs_are_those_of_the_table() {
    let table: [(&str, [f64; 4]); 12] = [
        ("add", [22.0, 65.0, 22.0, 65.0]),
        ("sub", [22.0, 65.0, 22.0, 65.0]),
        ("mul", [44.0, 136.0, 22.0, 65.0]),
        ("div", [728.0, 753.0, 748.0, 783.0]),
        ("neg", [22.0, 22.0, 17.0, 17.0]),
        ("min", [62.0; 4]),
        ("max", [62.0; 4]),
        ("and", [64.0; 4]),
        ("or", [62.0; 4]),
        ("xor", [62.0; 4]),
        ("not", [22.0; 4]),
        ("ld.global", [200.0; 4]),
    ];
    for id in ["gtx260", "gtx280", "c1060"] {
        let machine = machine(id);
        let mut reader = warplens_machine::Reader::new(&machine, Strictness::AllowInferred);
        for (opcode, row) in table {
            let forms = [
                (NumberKind::Int, true),
                (NumberKind::Int, false),
                (NumberKind::Float, true),
                (NumberKind::Float, false),
            ];
            for ((number, constant), wanted) in forms.into_iter().zip(row) {
                let kind = kind(opcode, number, 32, constant);
                let row = if opcode.starts_with("ld") { of_memory(&kind) } else { of_computation(&kind) };
                assert!(row.exact, "{kind}");
                assert_eq!(reader.need(row.key).unwrap(), wanted, "{kind} on {id}");
            }
        }
    }
}

#[test]
fn other_kinds_take_the_nearest_row_and_say_so() {
    let machine = machine("gtx260");
    let mut reader = warplens_machine::Reader::new(&machine, Strictness::Strict);
    let mut cost = |kind: CostKind| {
        let row = of_computation(&kind);
        (reader.need(row.key).unwrap(), row.exact)
    };
    assert_eq!(cost(kind("fma", NumberKind::Float, 32, false)), (65.0, false));
    assert_eq!(cost(kind("mad", NumberKind::Int, 32, false)), (136.0, false));
    assert_eq!(cost(kind("setp", NumberKind::Int, 32, true)), (62.0, false));
    assert_eq!(cost(kind("shl", NumberKind::Int, 32, true)), (62.0, false));
    assert_eq!(cost(kind("mov", NumberKind::Int, 32, false)), (22.0, false));
    assert_eq!(cost(kind("bra", NumberKind::None, 0, false)), (22.0, false));
    assert_eq!(cost(kind("ld.shared", NumberKind::Float, 32, false)), (65.0, false));
    assert_eq!(cost(kind("rem", NumberKind::Int, 32, false)), (753.0, false));
    // The table is of 32 bits.
    assert_eq!(cost(kind("add", NumberKind::Int, 64, false)), (65.0, false));
}

/// Two additions of registers and a load, 100 times; at the end a move.
pub(crate) fn periods(times: u64, transactions: f64) -> Periods {
    let by_rule = |each: f64| CoalescingRule::ALL.into_iter().map(|rule| (rule, each)).collect();
    let load = kind("ld.global", NumberKind::Float, 32, false);
    Periods {
        warps: 4,
        kinds: vec![
            Period {
                executions: 4 * times,
                computation: [(kind("add", NumberKind::Float, 32, false), 2)].into(),
                memory: [(load, 1)].into(),
                bytes_requested: 128.0,
                transactions: by_rule(transactions),
            },
            Period {
                executions: 4,
                computation: [(kind("mov", NumberKind::Int, 32, false), 1)].into(),
                memory: [].into(),
                bytes_requested: 0.0,
                transactions: by_rule(0.0),
            },
        ],
        streams: vec![PeriodStream {
            warps: 4,
            left_out: 0,
            parts: vec![StreamPart::Loop { times, body: vec![StreamPart::Period(0)] }, StreamPart::Period(1)],
        }],
    }
}

fn predict(id: &str, periods: Option<Periods>, options: Options) -> Result<Prediction, Refusal> {
    let mut profile = empty("k", 240, 256, 16, 0);
    profile.statistics.periods = periods;
    let input = Input { profile: &profile, traces: &warplens_sim::traces::Traces::None, options, knobs: Knobs::NONE };
    find("luo-suda").unwrap().predict(&input, &machine(id))
}

/// 4 blocks of 8 warps fit on an SM of the GTX 260: 32 warps, 2.5 waves. P = (100 x 130 + 22) / (that + 100 x 200);
/// MPD 11; the loads of a round cost 200, and the next round waits 200 x (floor(32/11 - 1) = 1) - 31 x 130 < 0 cycles.
#[test]
fn a_kernel_is_priced_by_hand() {
    let prediction = predict("gtx260", Some(periods(100, 2.0)), Options::default()).unwrap();
    let quantity = |name: &str| prediction.quantity_called(name).unwrap();
    let p = 13022.0 / 33022.0;
    close(quantity("P"), p, 1e-12);
    assert_eq!((quantity("N_act"), quantity("MPD"), quantity("waves")), (32.0, 11.0, 2.5));
    let cpd = cpd(p, 32.0, &GTX260, false);
    let wave = 100.0 * (32.0 * 130.0 / cpd).ceil() + (32.0 * 22.0 / cpd).ceil();
    close(prediction.time.0, 2.5 * wave, 1e-6);
    assert_eq!(
        ["periods of type 1", "periods of type 2", "periods of type 3", "periods of type 4"].map(quantity),
        [0.0, 1.0, 1.0, 99.0]
    );
    let walk = prediction.luo_suda().unwrap();
    assert_eq!(
        walk.rows.iter().map(|row| (row.period, row.executions)).collect::<Vec<_>>(),
        [(0, 1.0), (0, 99.0), (1, 1.0)]
    );
    let said = |id: &str| prediction.assumptions.iter().any(|assumption| assumption.id.name() == id);
    assert!(said("nearest-cost") && said("waves-in-turn") && said("sampled-periods") && said("latency-once"));
    assert!(!said("long-sequences") && !said("as-printed"));
}

/// What was left out of a sequence takes its time per period.
#[test]
fn the_end_of_a_long_sequence_counts() {
    let mut long = periods(100, 2.0);
    long.streams[0].left_out = 101;
    let whole = predict("gtx260", Some(periods(100, 2.0)), Options::default()).unwrap();
    let scaled = predict("gtx260", Some(long), Options::default()).unwrap();
    close(scaled.time.0, 2.0 * whole.time.0, 1e-6);
    assert!(scaled.assumptions.iter().any(|assumption| assumption.id.name() == "long-sequences"));
}

#[test]
fn options_are_the_printed_forms() {
    let model = find("luo-suda").unwrap();
    let with = |name: &str| {
        let mut options = Options::default();
        options.set(model, name).unwrap();
        predict("gtx260", Some(periods(100, 8.0)), options).unwrap()
    };
    let plain = predict("gtx260", Some(periods(100, 8.0)), Options::default()).unwrap();
    assert_eq!(plain.quantity_called("MPD"), Some(32.0));
    // 90.1 / (32 x 24 x 0.08) is 1.47.
    assert_eq!(with("printed-mpd").quantity_called("MPD"), Some(1.0));
    assert_eq!(with("as-printed").quantity_called("MPD"), Some(1.0));
    assert!(with("printed-mpd").time > plain.time);
    // At 8 transactions of 200 cycles each the accesses are most of the cost.
    assert!(with("serial-transactions").quantity_called("P").unwrap() < plain.quantity_called("P").unwrap());
    assert!(with("waits-over-cpd").time >= plain.time);
    assert_eq!(with("printed-cpd").time, plain.time);
}

#[test]
fn refusals_name_what_is_missing() {
    for id in ["gtx480", "8800gt"] {
        let refusal = predict(id, Some(periods(1, 1.0)), Options::default()).unwrap_err();
        assert_eq!(refusal.missing, ["luo_suda.a"], "{id}");
        assert!(refusal.reason.contains("not calibrated"), "{}", refusal.reason);
    }
    let refusal = predict("gtx260", None, Options::default()).unwrap_err();
    assert_eq!(refusal.missing, ["periods"]);
    let strict = Options { strictness: Strictness::Strict, ..Options::default() };
    assert_eq!(predict("c1060", Some(periods(1, 1.0)), strict).unwrap_err().missing, ["luo_suda.a"]);
    let inferred = predict("c1060", Some(periods(1, 1.0)), Options::default()).unwrap();
    assert!(inferred.assumptions.iter().any(|said| said.text.contains("which has the same chip")));
    let model = find("luo-suda").unwrap();
    let given = |n_act: f64| -> Given { [("n_act".into(), n_act), (point_name("c_i", 1.0), 65.0)].into() };
    let gtx260 = machine("gtx260");
    let refusal = model.evaluate(&given(40.0), Some(&gtx260), &Options::default()).unwrap_err();
    assert!(refusal.reason.contains("n_act is 40"), "{}", refusal.reason);
    let nothing = model.evaluate(&[("n_act".to_owned(), 4.0)].into(), Some(&gtx260), &Options::default()).unwrap_err();
    assert_eq!(nothing.missing, ["c_i"]);
    assert!(model.evaluate(&given(4.0), Some(&gtx260), &Options::default()).is_ok());
}

fn inputs(c: f64, m: f64, gpu_bwt: f64) -> Inputs {
    Inputs {
        n_act: 16.0,
        n_sm: 24.0,
        gpu_bwt,
        constants: GTX260,
        p: None,
        periods: vec![PeriodInput { c, m, warp_bwt: 0.32 }],
        streams: vec![Stream {
            share: 1.0,
            scale: 1.0,
            parts: vec![StreamPart::Loop { times: 50, body: vec![StreamPart::Period(0)] }],
        }],
        waves: 1.0,
    }
}

/// The curves of figure 8 fall and then level off; as (2) is printed, the time of a kernel that waits for memory jumps.
#[test]
fn time_over_warps_levels_off() {
    let rise = |forms: Forms| {
        let points = time_over_warps(&inputs(2.0, 400.0, 90.1), 768.0, forms).unwrap();
        assert_eq!(points.len(), 32);
        assert!(points[10].cycles < 0.2 * points[0].cycles, "{points:?}");
        points.windows(2).map(|pair| pair[1].cycles / pair[0].cycles).fold(0.0, f64::max)
    };
    assert!(rise(DOCUMENTED) < 3.0, "{}", rise(DOCUMENTED));
    let printed = Forms { printed_mpd: true, ..DOCUMENTED };
    let points = time_over_warps(&inputs(2.0, 400.0, 90.1), 768.0, printed).unwrap();
    let documented = time_over_warps(&inputs(2.0, 400.0, 90.1), 768.0, DOCUMENTED).unwrap();
    assert!(points[31].cycles > 10.0 * documented[31].cycles, "{} {}", points[31].cycles, documented[31].cycles);
}

fn flat(parts: &[StreamPart]) -> Vec<StreamPart> {
    let one = |part: &StreamPart| match part {
        StreamPart::Period(period) => vec![StreamPart::Period(*period)],
        StreamPart::Loop { times, body } => (0..*times).flat_map(|_| flat(body)).collect(),
    };
    parts.iter().flat_map(one).collect()
}

fn any_parts() -> impl Strategy<Value = Vec<StreamPart>> {
    let leaf = (0usize..4).prop_map(StreamPart::Period);
    let part = leaf.prop_recursive(2, 12, 4, |inner| {
        (1u64..5, prop::collection::vec(inner, 1..4)).prop_map(|(times, body)| StreamPart::Loop { times, body })
    });
    prop::collection::vec(part, 1..6)
}

fn any_costs() -> impl Strategy<Value = Costs> {
    (0.0f64..2000.0, 0.0f64..2000.0, 1u32..32).prop_map(|(c, m, mpd)| Costs { c, m, mpd: f64::from(mpd) })
}

proptest! {
    #[test]
    fn loops_take_what_their_rounds_take(
        parts in any_parts(),
        periods in prop::collection::vec(any_costs(), 4),
        n_act in 1u32..=32,
    ) {
        let situation = Situation { n_act: f64::from(n_act), cpd: 3.0, waits_over_cpd: false };
        let cycles = |parts: Vec<StreamPart>| {
            let streams = vec![Stream { share: 1.0, scale: 1.0, parts }];
            walk(&Work { periods: periods.clone(), streams }, &situation).cycles()
        };
        let (folded, unfolded) = (cycles(parts.clone()), cycles(flat(&parts)));
        prop_assert!((folded - unfolded).abs() <= 1e-9 * unfolded.max(1.0), "{folded} {unfolded}");
    }

    /// One warp waits for all of each memory task that is longer than its computation, and for nothing else.
    #[test]
    fn one_warp_overlaps_nothing(before in any_costs(), c in 0.0f64..2000.0, m in 0.0f64..2000.0) {
        let situation = Situation { n_act: 1.0, cpd: 1.0, waits_over_cpd: false };
        let before = Costs { mpd: 1.0, ..before };
        let time = PeriodTime::new(&before, &Costs { c, m, mpd: 1.0 }, &situation);
        prop_assert_eq!(time.total(), c.ceil() + if c < m { m } else { 0.0 });
    }

    /// Without a limit of bandwidth no period waits for the one before.
    #[test]
    fn infinite_bandwidth_leaves_no_earlier_waits(before in any_costs(), now in any_costs(), n_act in 1u32..=32) {
        let n_act = f64::from(n_act);
        let unlimited = |costs: Costs| Costs { mpd: mpd(n_act, f64::INFINITY, 24.0, 0.32, false), ..costs };
        let situation = Situation { n_act, cpd: 2.0, waits_over_cpd: false };
        let time = PeriodTime::new(&unlimited(before), &unlimited(now), &situation);
        prop_assert_eq!(time.t_p, 0.0);
    }

    /// Longer accesses and less bandwidth never make a period shorter.
    #[test]
    fn time_never_falls_with_latency_or_rises_with_bandwidth(
        before in any_costs(),
        now in any_costs(),
        n_act in 1u32..=32,
        more in 0.0f64..1000.0,
        waits_over_cpd: bool,
    ) {
        let situation = Situation { n_act: f64::from(n_act), cpd: 2.5, waits_over_cpd };
        let total = |before: Costs, now: Costs| PeriodTime::new(&before, &now, &situation).total();
        let time = total(before, now);
        let longer = total(before, Costs { m: now.m + more, ..now });
        let longer_before = total(Costs { m: before.m + more, ..before }, now);
        let wider = total(Costs { mpd: before.mpd + 1.0, ..before }, now);
        prop_assert!(longer >= time - 1e-9, "{longer} {time}");
        prop_assert!(longer_before >= time - 1e-9, "{longer_before} {time}");
        prop_assert!(wider <= time + 1e-9, "{wider} {time}");
    }

    /// Where all computation is divided by CPD, more computation never makes a period shorter, rounding aside.
    #[test]
    fn time_never_falls_with_computation(before in any_costs(), now in any_costs(), n_act in 1u32..=32, more in 0.0f64..500.0) {
        let situation = Situation { n_act: f64::from(n_act), cpd: 2.5, waits_over_cpd: true };
        let now = Costs { m: now.m.max(now.c + more + 1.0), ..now };
        let total = |c: f64| PeriodTime::new(&before, &Costs { c, ..now }, &situation).total();
        prop_assert!(total(now.c + more) >= total(now.c) - 1.0);
    }

    #[test]
    fn cpd_is_between_one_and_its_ceiling(p in 0.0f64..1.0, n_act in 1u32..=32, printed: bool) {
        let found = cpd(p, f64::from(n_act), &GTX260, printed);
        prop_assert!((1.0..=3.0 + 80.0 * 0.25 * 32.0 / 31.0).contains(&found), "{found}");
    }
}

#[test]
fn types_are_by_who_is_longer() {
    let of = |before: (f64, f64), now: (f64, f64)| {
        let costs = |(c, m): (f64, f64)| Costs { c, m, mpd: 1.0 };
        PeriodType::of(&costs(before), &costs(now))
    };
    assert_eq!(of((2.0, 2.0), (2.0, 2.0)), PeriodType::One);
    assert_eq!(of((2.0, 1.0), (1.0, 2.0)), PeriodType::Two);
    assert_eq!(of((1.0, 2.0), (2.0, 2.0)), PeriodType::Three);
    assert_eq!(of((1.0, 2.0), (1.0, 2.0)), PeriodType::Four);
}

/// Values that were fitted to the timing simulation are said in the answer, of a board of the same chip too; strict mode
/// refuses them, and they are no part of what the models say together.
#[test]
fn values_from_the_simulation_are_said_and_refused_by_strict_mode() {
    for id in ["k40", "a100-80", "a100-40"] {
        let prediction = predict(id, Some(periods(1, 1.0)), Options::default()).unwrap();
        let said = prediction.assumptions.iter().filter(|said| said.text.contains("fitted to the timing simulation"));
        assert_eq!(said.count(), 1, "{id}: {:?}", prediction.assumptions);
        assert!(warplens_model::band([&prediction]).is_none(), "{id}");
        let strict = Options { strictness: Strictness::Strict, ..Options::default() };
        let refusal = predict(id, Some(periods(1, 1.0)), strict).unwrap_err();
        assert_eq!(refusal.missing, ["luo_suda.a"], "{id}");
        assert!(refusal.reason.contains("strict mode refuses"), "{}", refusal.reason);
    }
    let printed = predict("gtx260", Some(periods(1, 1.0)), Options::default()).unwrap();
    assert_eq!(warplens_model::band([&printed]).unwrap().n_models, 1);
}
