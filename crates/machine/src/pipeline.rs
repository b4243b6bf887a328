//! How missing values of the SM's pipelines follow from others: for the timing simulation, which needs many of them.
//!
//! Latencies and queues of the SM count in its own cycles, so they carry over between designs as they are.

use std::sync::LazyLock;

use crate::builtin;
use crate::derive::{Rule, latency_of_sibling};
use crate::key::Key;
use crate::machine::{ComputeCapability, Machine};
use crate::reader::{Missing, Reader};
use crate::value::Value;
use crate::words::DramType;

/// The rule for a value of the pipelines, if one applies.
pub(crate) fn rule(machine: &Machine, key: Key) -> Option<Rule> {
    let major = machine.cc.major;
    match key {
        // Where integers share the lanes of everything else, so does their pipeline.
        Key::LatencyInt32Mul if major < 3 => same_as(key, Key::LatencyInt32, "an integer addition's latency"),
        Key::LatencyPredicate if major < 3 => same_as(key, Key::LatencyInt32, "an integer addition's latency"),
        Key::LatencyConversion if major < 2 => same_as(key, Key::LatencyInt32, "an integer addition's latency"),
        Key::LatencyConversion => {
            same_as(key, Key::LatencySfu, "a special function's latency, which the same unit computes")
        }
        Key::LanesConversion => {
            same_as(key, Key::LanesSfu, "the special-function lanes, which are of the unit that converts")
        }
        Key::LanesTensorWarp => {
            same_as(key, Key::LanesTensorFma, "the tensor rate, which operations of one warp are taken to reach")
        }
        Key::LanesTensorWarpFp32 => same_as(
            key,
            Key::LanesTensorWarp,
            "the rate of half-precision results, which single ones are taken to have",
        ),
        Key::LatencyTensorHalf => {
            same_as(key, Key::LatencyTensor, "the latency of a 16x8x16 operation, which a shorter one is taken to have")
        }
        Key::LatencyShuffle => of_design(machine, key)
            .or_else(|| same_as(key, Key::LatencyShared, "the latency of shared memory, whose crossbar it takes")),
        // An arrival goes to another SM, and what it tells comes back, as a load does.
        Key::LatencyClusterBarrier if major >= 9 => same_as(
            key,
            Key::LatencyClusterShared,
            "the way to another SM and back, which nobody measured with the barrier",
        ),
        Key::LatencyClusterShared | Key::SharedClusterBytesPerClk | Key::LatencyBulkCopy if major < 9 => None,
        // Before, a shared atomic is a loop of machine code.
        Key::LatencySharedAtomic if major >= 5 => of_design(machine, key)
            .or_else(|| same_as(key, Key::LatencyShared, "the latency of shared memory, which computes it in place")),
        // That of compute capability 1.x was taken with operands of arithmetic, which there are none of on 2.x.
        Key::SharedPassLatency if major == 2 => same_as(key, Key::SharedPassCycles, "the cycles that the pass takes"),
        Key::SharedPassLatency => {
            of_design(machine, key).or_else(|| same_as(key, Key::SharedPassCycles, "the cycles that the pass takes"))
        }
        Key::LsuSchedulerInterval if major < 3 => interval_of_lanes(key, true),
        Key::LsuSmInterval => interval_of_lanes(key, false),
        Key::L2FloatAtomicCycles if major >= 7 => of_design(machine, key),
        Key::L2FloatAtomicCycles => same_as(key, Key::L2AtomicCycles, "an operation on an integer"),
        Key::L2SliceBytes | Key::L2AtomicSectorCycles if major >= 7 => of_design(machine, key),
        Key::L2AchievedBandwidth => l2_bandwidth(machine),
        Key::DramActivationInterval => activation_interval(machine),
        // Until 7.5 the number of sectors that are fetched cannot be set, and is one.
        Key::DramFetchBytes if major >= 8 => of_design(machine, key),
        Key::DramFetchBytes => same_as(key, Key::L2SectorBytes, "what a line of the L2 cache is fetched by"),
        // Rows of DRAM have taken about as long for many years: the time carries over between kinds of memory.
        Key::DramRowCycle => of_sibling_or_board(machine, key),
        // Times of older chips were taken inside of kernels, or without it.
        Key::LaunchLatency if major >= 3 => of_sibling_or_board(machine, key),
        // What the host does for a launch has much to do with the driver, and little with the GPU.
        Key::LaunchOverhead => of_sibling_or_board(machine, key),
        Key::DramChannels if major < 2 => channels(machine),
        Key::TegMemoryLatency if major < 2 => latency_of_sibling(machine, key).or_else(|| {
            Some(Rule {
                name: format!("{}", Key::DramLatency),
                apply: Box::new(|reader| Ok(reader.need(Key::DramLatency)? / reader.clock()?)),
            })
        }),
        key if OF_PIPELINES.contains(&key) => of_design(machine, key),
        _ => None,
    }
}

/// Properties of the pipelines that carry over from design to design.
const OF_PIPELINES: &[Key] = &[
    Key::LatencyBulkCopy,
    Key::LatencySfu,
    Key::LatencyFp16,
    Key::LatencyFp64,
    Key::LatencyPredicate,
    Key::LatencyTensor,
    Key::LatencyTensorAsync,
    Key::LatencyTensorFp64,
    Key::LatencyShared,
    Key::LatencySharedOperand,
    Key::LatencyBranch,
    Key::LatencyBarrier,
    Key::LatencyClusterShared,
    Key::SharedClusterBytesPerClk,
    Key::LatencyFence,
    Key::LatencyUniform,
    Key::LatencyL1,
    Key::L1TagsPerClk,
    Key::L1BytesPerClk,
    Key::L2SmBytesPerClk,
    Key::SharedPassCycles,
    Key::SameWarpFp32,
    Key::SameWarpFp64,
    Key::SameWarpLoad,
    Key::LsuQueue,
    Key::LanesTexture,
    Key::LsuSchedulerInterval,
    Key::CtaTurnaround,
    Key::DramInterleave,
];

fn same_as(key: Key, other: Key, why: &str) -> Option<Rule> {
    debug_assert_eq!(key.unit(), other.unit(), "{key} is not like {other}");
    Some(Rule { name: format!("{other}: {why}"), apply: Box::new(move |reader| reader.need(other)) })
}

/// Cycles that a warp's lanes take on the lanes of memory instructions, of the SM or of one scheduler.
fn interval_of_lanes(key: Key, of_scheduler: bool) -> Option<Rule> {
    debug_assert!(matches!(key, Key::LsuSchedulerInterval | Key::LsuSmInterval));
    let subpartitions = if of_scheduler { " x subpartitions" } else { "" };
    Some(Rule {
        name: format!("32 lanes{subpartitions} / {}", Key::LanesLdst),
        apply: Box::new(move |reader| {
            let schedulers = if of_scheduler { reader.need(Key::SmSubpartitions)? } else { 1.0 };
            positive(reader, Key::LanesLdst).map(|lanes| 32.0 * schedulers / lanes)
        }),
    })
}

fn positive(reader: &mut Reader<'_>, key: Key) -> Result<f64, Missing> {
    let number = reader.need(key)?;
    if number > 0.0 { Ok(number) } else { Err(reader.missing(key, "it is 0")) }
}

/// Each channel opens rows on its own: GDDR6 and GDDR6X have as many per bit, and as fast ones. Of other memory nobody
/// measured it.
fn activation_interval(machine: &Machine) -> Option<Rule> {
    const KEYS: [Key; 2] = [Key::DramActivationInterval, Key::DramBusBits];
    let is_gddr6 = |machine: &Machine| {
        let kind = machine.fact(Key::DramType).map(|fact| &fact.value);
        let Some(Value::Word(word)) = kind else { return false };
        matches!(word.of(), Some(DramType::Gddr6 | DramType::Gddr6x))
    };
    if !is_gddr6(machine) {
        return None;
    }
    let states = |board: &&Machine| is_gddr6(board) && KEYS.iter().all(|&key| board.number(key).is_some());
    let board = nearest_generation(machine.cc, BOARDS.iter().filter(states))?;
    let [interval, bits] = KEYS.map(|key| board.number(key));
    let of_bits = interval? * bits?;
    Some(Rule {
        name: format!("{:.1} ns per bit of the interface, as on {}", of_bits * 1e9, board.name),
        apply: Box::new(move |reader| Ok(of_bits / positive(reader, Key::DramBusBits)?)),
    })
}

/// The width of a channel carries over between boards: GT200 has 64 bits each.
fn channels(machine: &Machine) -> Option<Rule> {
    const KEYS: [Key; 2] = [Key::DramBusBits, Key::DramChannels];
    let states = |board: &&Machine| KEYS.iter().all(|&key| board.number(key).is_some());
    let board =
        nearest_generation(machine.cc, BOARDS.iter().filter(states).filter(|board| alike(machine.cc, board.cc)))?;
    let [bits, channels] = KEYS.map(|key| board.number(key));
    let bits = bits? / channels?;
    Some(Rule {
        name: format!("one channel per {bits} bits of the interface, as on {}", board.name),
        apply: Box::new(move |reader| Ok((reader.need(Key::DramBusBits)? / bits).floor())),
    })
}

/// Bytes per cycle and SM carry over between boards; where no sibling was measured, what its SMs can take.
fn l2_bandwidth(machine: &Machine) -> Option<Rule> {
    const KEYS: [Key; 2] = [Key::L2AchievedBandwidth, Key::SmCount];
    let sibling = machine.siblings.iter().find_map(|sibling| {
        let [bandwidth, sms] = KEYS.map(|key| sibling.number(key));
        Some((sibling, bandwidth? / sms? / sibling.clock()?))
    });
    Some(match sibling {
        Some((sibling, per_sm)) => Rule {
            name: format!("{per_sm:.1} B per cycle and SM, as on {}, x SMs x clock", sibling.name),
            apply: Box::new(move |reader| Ok(per_sm * reader.need(Key::SmCount)? * reader.clock()?)),
        },
        None => Rule {
            name: format!("{} x SMs x clock: what the SMs can take", Key::L2SmBytesPerClk),
            apply: Box::new(|reader| {
                Ok(reader.need(Key::L2SmBytesPerClk)? * reader.need(Key::SmCount)? * reader.clock()?)
            }),
        },
    })
}

static DESIGNS: LazyLock<Vec<Machine>> =
    LazyLock::new(|| builtin::designs().filter_map(|id| builtin::machine(id)?.ok()).collect());

/// Pipelines of these generations are alike: those of compute capability 1.x and 2.x run at a clock of their own.
fn alike(one: ComputeCapability, other: ComputeCapability) -> bool {
    (one.major < 3) == (other.major < 3)
}

static BOARDS: LazyLock<Vec<Machine>> =
    LazyLock::new(|| builtin::ids().filter_map(|id| builtin::machine(id)?.ok()).collect());

/// The nearest of the machines by generation: the newest that is not newer, else the oldest that is newer.
fn nearest_generation<'m>(
    cc: ComputeCapability,
    machines: impl Iterator<Item = &'m Machine> + Clone,
) -> Option<&'m Machine> {
    let older = machines.clone().filter(|other| other.cc <= cc).max_by_key(|other| other.cc);
    older.or_else(|| machines.filter(|other| other.cc > cc).min_by_key(|other| other.cc))
}

fn of_sibling_or_board(machine: &Machine, key: Key) -> Option<Rule> {
    latency_of_sibling(machine, key).or_else(|| of_board(machine, key))
}

/// The time that the nearest board states, for what a board has around its SMs.
fn of_board(machine: &Machine, key: Key) -> Option<Rule> {
    let boards = BOARDS.iter().filter(|board| board.number(key).is_some());
    let board = nearest_generation(machine.cc, boards)?;
    let fact = board.fact(key)?;
    let seconds = fact.number()?;
    let (name, basis) = (&board.name, fact.basis);
    Some(Rule {
        name: format!("{:.1} ns, as on {name}, the nearest board that states one ({basis})", seconds * 1e9),
        apply: Box::new(move |_| Ok(seconds)),
    })
}

/// The value of the nearest sibling that states one, else of the nearest older SM design, else of the nearest newer one.
/// Queues of the memory unit are known of so few designs that any will do.
fn of_design(machine: &Machine, key: Key) -> Option<Rule> {
    let states = |other: &&Machine| other.number(key).is_some();
    let like = |other: &&Machine| key == Key::LsuQueue || alike(machine.cc, other.cc);
    let of_designs = || nearest_generation(machine.cc, DESIGNS.iter().filter(states).filter(like));
    let source = machine.siblings.iter().filter(like).find(states).or_else(of_designs)?;
    let fact = source.fact(key)?;
    let value = fact.number()?;
    let (design, basis) = (&fact.stated_in, fact.basis);
    Some(Rule {
        name: format!("the value of {design}, the nearest design that states one ({basis})"),
        apply: Box::new(move |_| Ok(value)),
    })
}
