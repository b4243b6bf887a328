//! Changes of the launch: each is tried by running it.

use warplens_isa::SpecialRegister;
use warplens_machine::Key;
use warplens_session::predict::Limiter;

use super::Context;
use super::candidate::{Change, Proposal, flags};

/// Waves from which on the last one takes too little of the time to be advised about.
const MANY_WAVES: f64 = 6.0;
/// Waves of a grid that is tried for a kernel that divides its work by the grid.
const WAVES: [u64; 3] = [1, 2, 4];
/// Sizes of blocks that are tried.
const SIZES: [u32; 5] = [64, 128, 256, 512, 1024];

/// What is known of a launch that was tried.
const UNCHECKED: &str =
    "it was run and touches the same bytes; whether it computes the same is for `tune --check` to say";

/// CTAs that all SMs hold at once.
fn room(context: &Context<'_>) -> Option<u64> {
    let sms = context.as_is.machine.number(Key::SmCount)? as u64;
    Some(sms * u64::from(context.occupancy?.ctas.max(1)))
}

/// True where SMs have nothing to do, or not as much as they could, or the last wave is not full.
fn is_uneven(n_ctas: u64, room: u64) -> bool {
    let waves = n_ctas as f64 / room as f64;
    waves < MANY_WAVES && !n_ctas.is_multiple_of(room)
}

/// As many blocks as there is room for, where the kernel divides its work by the size of the grid.
pub(super) fn grid(context: &Context<'_>) -> Vec<Proposal> {
    let launch = context.profile.launch;
    let (Some(trial), Some(room), [now, 1, 1]) = (context.trial, room(context), launch.grid) else { return Vec::new() };
    let places = trial.reads(|special| matches!(special, SpecialRegister::Nctaid(_)));
    if places.is_empty() || !is_uneven(now.into(), room) {
        return Vec::new();
    }
    let wanted = WAVES.into_iter().filter_map(|waves| u32::try_from(waves * room).ok()).filter(|blocks| *blocks != now);
    let proposal = |blocks: u32| Proposal {
        title: format!("Launch {blocks} blocks instead of {now}"),
        how: "each SM then has as many as it has room for, and all have the same",
        change: Change::Launch([blocks, 1, 1], launch.block),
        question: flags("--set", &[format!("grid={blocks}")]),
        places: places.clone(),
        side_effects: vec![UNCHECKED.into()],
    };
    wanted.map(proposal).collect()
}

/// The same threads in blocks of another size, where it is the size that leaves SMs without work.
pub(super) fn block_size(context: &Context<'_>) -> Vec<Proposal> {
    let profile = context.profile;
    let launch = profile.launch;
    let (threads, ctas) = (launch.n_threads(), launch.n_ctas());
    let (Some(trial), Some(room), Some(occupancy)) = (context.trial, room(context), context.occupancy) else {
        return Vec::new();
    };
    let is_line = launch.block[1..] == [1, 1] && launch.grid[1..] == [1, 1];
    // Threads that work together in a block would do other things in another one.
    if !is_line || profile.barriers > 0 || launch.shared_bytes > 0 {
        return Vec::new();
    }
    let by_blocks = occupancy.share < 1.0 && occupancy.limiters().any(|limiter| limiter == Limiter::CtaSlots);
    if !by_blocks && !is_uneven(ctas, room) {
        return Vec::new();
    }
    let places = trial.reads(|special| matches!(special, SpecialRegister::Ntid(_) | SpecialRegister::Ctaid(_)));
    let others = SIZES.into_iter().filter(|&size| {
        let mut subject = context.as_is.clone();
        subject.profile.launch.block = [size, 1, 1];
        u64::from(size) != threads
            && (threads * ctas).is_multiple_of(u64::from(size))
            && threads * ctas / u64::from(size) <= i32::MAX as u64
            && context.occupancy_of(&subject).is_some_and(|then| then.share >= occupancy.share)
    });
    let proposal = |size: u32| {
        let blocks = (threads * ctas / u64::from(size)) as u32;
        Proposal {
            title: format!("Launch {blocks} blocks of {size} threads instead of {ctas} of {threads}"),
            how: "blocks of another size fill the SMs more evenly",
            change: Change::Launch([blocks, 1, 1], [size, 1, 1]),
            question: flags("--set", &[format!("block={size}"), format!("grid={blocks}")]),
            places: places.clone(),
            side_effects: vec![UNCHECKED.into()],
        }
    };
    others.map(proposal).collect()
}
