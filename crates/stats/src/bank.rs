//! Bank conflicts of shared memory and broadcasts of constant memory.
//!
//! A request is served in phases, a phase in one or more wavefronts; without conflict a phase takes one. The passes of a
//! request are the most wavefronts that one of its phases takes: 1 without conflict, n when n words of a bank are wanted
//! in a phase (an n-way conflict). So the half-warps of 1.x and the phases of wide accesses, which are no conflicts, do
//! not show in the passes; what shared memory is kept busy with are the wavefronts of all phases.
//!
//! - 1.x: 16 banks of 4 B, a phase per half-warp. In each wavefront one word of the banks' words is broadcast to all lanes
//!   that read it, and every other bank serves one more lane (CUDA programming guide, compute capability 1.x). The guide
//!   leaves open which word is broadcast; here it is the most wanted one of the busiest bank. Wider accesses are
//!   separate 32-bit requests, as the compiler makes them. Of several lanes that write the same address one writes.
//! - 2.x, 5.x and later: 32 banks of 4 B; lanes in the same word share a wavefront. 64-bit accesses take two phases of
//!   half-warps, 128-bit accesses four of quarter-warps.
//! - 3.x: 32 banks of 8 B; lanes in the same 8 B word share a
//!   wavefront. 128-bit accesses take two phases of half-warps.
//!
//! Atomics have no broadcast: each lane's operation takes its own wavefront at the bank, also on the same word.

use warplens_trace::{AccessKind, ActiveMask, WARP_SIZE};

use crate::{BankRule, Request};

const MAX_BANKS: usize = 32;
/// Banks of cc 1.x.
const EARLY_BANKS: usize = 16;

/// How one shared-memory request is served.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Passes {
    /// Most wavefronts of a phase; 1 without conflict.
    pub passes: u32,
    /// Wavefronts of all phases.
    pub wavefronts: u32,
    /// Wavefronts without any conflict: the phases.
    pub ideal: u32,
}

impl Passes {
    fn add_phase(&mut self, wavefronts: u32) {
        self.passes = self.passes.max(wavefronts);
        self.wavefronts += wavefronts;
        self.ideal += 1;
    }
}

/// The passes of `request` under every rule, in the order of [`BankRule::ALL`].
pub fn all_passes(kind: AccessKind, request: &Request<'_>) -> [Passes; BankRule::ALL.len()] {
    BankRule::ALL.map(|rule| passes(rule, kind, request))
}

/// The passes of `request` under `rule`.
pub fn passes(rule: BankRule, kind: AccessKind, request: &Request<'_>) -> Passes {
    match rule {
        BankRule::Cc10 => {
            let mut sum = Passes::default();
            for word in 0..u64::from(request.lane_bytes.div_ceil(4)) {
                for_phases(request.mask, 16, |mask| {
                    let lanes: Lanes =
                        mask.lanes().map(|lane| request.addresses[lane].wrapping_add(4 * word)).collect();
                    sum.add_phase(if kind == AccessKind::Load {
                        broadcast_wavefronts(lanes)
                    } else {
                        write_wavefronts(kind, lanes)
                    });
                });
            }
            sum
        }
        BankRule::Cc20 => phased(kind, request, 4, 1),
        BankRule::Cc30 => phased(kind, request, 8, 1),
    }
}

/// Whether devices of a compute capability pack what lanes share ([`packed_passes`]). Said of 7.0 to 7.5, and taken for later
/// ones too: without it step 4 of `validation/sgemm` would need more cycles of shared memory on an RTX A6000 than it took in
/// all.
pub const fn packs_pairs(major: u8) -> bool {
    major >= 7
}

/// The fewest passes that there can be of one that [`passes`] counts, for loads of more than 32 bits per lane where the
/// machine packs.
pub const LEAST_PACKED: f64 = 0.5;

/// The same where the machine packs what lanes get that agree in pairs: of a load of more than 32 bits per lane it serves
/// two phases at once where all active lanes `n` and `n ^ 1`, or all `n` and `n ^ 2`, read the same address. Devices of
/// compute capability 7.0 to 7.5 do (an engineer of NVIDIA, forums.developer.nvidia.com/t/77228: of such a 128-bit load the
/// warp takes 2 requests instead of 4).
pub fn packed_passes(rule: BankRule, kind: AccessKind, request: &Request<'_>) -> Passes {
    let agree = |distance: usize| {
        let pairs = request.mask.lanes().map(|lane| (lane, lane ^ distance));
        pairs
            .filter(|&(_, other)| request.mask.contains(other))
            .all(|(lane, other)| request.addresses[lane] == request.addresses[other])
    };
    let is_wide = kind == AccessKind::Load && request.lane_bytes > 4;
    if rule == BankRule::Cc20 && is_wide && (agree(1) || agree(2)) {
        phased(kind, request, 4, 2)
    } else {
        passes(rule, kind, request)
    }
}

/// Distinct words that a constant-memory request reads: a word is 4 B, or the width of wider accesses.
pub fn constant_passes(request: &Request<'_>) -> u32 {
    let word_bytes = u64::from(request.lane_bytes.max(4));
    let mut words: Lanes = request.mask.lanes().map(|lane| request.addresses[lane] / word_bytes).collect();
    words.sort();
    words.distinct()
}

/// 32 banks of `bank_bytes`, and so many times the lanes in a phase that can get a word of each.
fn phased(kind: AccessKind, request: &Request<'_>, bank_bytes: u64, times: u32) -> Passes {
    let row_bytes = MAX_BANKS as u64 * bank_bytes;
    let lanes_per_phase = (times * (row_bytes as u32 / request.lane_bytes.max(1))).clamp(1, WARP_SIZE as u32);
    let mut sum = Passes::default();
    for_phases(request.mask, lanes_per_phase, |mask| {
        sum.add_phase(banked_phase(kind, request, mask, bank_bytes));
    });
    sum
}

/// Largest number of distinct words in a bank; for atomics of words.
fn banked_phase(kind: AccessKind, request: &Request<'_>, mask: ActiveMask, bank_bytes: u64) -> u32 {
    // A word is the first piece of one lane and the second of another only for unaligned addresses, which do not occur;
    // counting pieces apart is exact.
    let words_per_lane = u64::from(request.lane_bytes).div_ceil(bank_bytes);
    let mut per_bank = [0; MAX_BANKS];
    for piece in 0..words_per_lane {
        let words: Lanes = mask.lanes().map(|lane| request.addresses[lane] / bank_bytes + piece).collect();
        match kind {
            AccessKind::Load | AccessKind::Store => count_words(words.values(), &mut per_bank),
            AccessKind::Atomic => words.values().iter().for_each(|word| per_bank[*word as usize % MAX_BANKS] += 1),
        }
    }
    per_bank.into_iter().max().unwrap_or(0)
}

/// Adds the distinct words of each bank to its number. Words that do not ascend are not sorted: a word is looked for among
/// those of its bank, which are few where lanes gather.
fn count_words(words: &[u64], per_bank: &mut [u32; MAX_BANKS]) {
    if words.is_sorted() {
        let mut last = None;
        for &word in words {
            per_bank[word as usize % MAX_BANKS] += u32::from(last != Some(word));
            last = Some(word);
        }
        return;
    }
    // By bank the last of its words, by word the one before it in its bank; one further than the index.
    let (mut newest, mut before) = ([0_u8; MAX_BANKS], [0_u8; WARP_SIZE]);
    for (index, &word) in words.iter().enumerate().take(WARP_SIZE) {
        let bank = word as usize % MAX_BANKS;
        let mut other = usize::from(newest[bank]);
        while other > 0 && words[other - 1] != word {
            other = usize::from(before[other - 1]);
        }
        if other == 0 {
            before[index] = newest[bank];
            newest[bank] = index as u8 + 1;
            per_bank[bank] += 1;
        }
    }
}

/// Calls `count` for every distinct value; for atomics for every value.
fn count_values(kind: AccessKind, mut values: Lanes, mut count: impl FnMut(u64)) {
    let is_atomic = kind == AccessKind::Atomic;
    if !is_atomic {
        values.sort();
    }
    let mut last = None;
    for &value in values.values() {
        if is_atomic || last != Some(value) {
            count(value);
        }
        last = Some(value);
    }
}

/// cc 1.x loads of a half-warp's 32-bit words.
fn broadcast_wavefronts(addresses: Lanes) -> u32 {
    let mut words = addresses.map(|address| address / 4);
    words.sort();
    let mut banks = [WaitingBank::default(); EARLY_BANKS];
    for lanes in words.values().chunk_by(|a, b| a == b) {
        banks[lanes[0] as usize % EARLY_BANKS].add(lanes.len() as u32);
    }
    let mut wavefronts = 0;
    loop {
        let busiest = banks.iter().enumerate().max_by_key(|(_, bank)| bank.lanes);
        let Some((busiest, _)) = busiest.filter(|(_, bank)| bank.lanes > 0) else { return wavefronts };
        wavefronts += 1;
        for (index, bank) in banks.iter_mut().enumerate() {
            if index == busiest { bank.broadcast() } else { bank.serve_one() }
        }
    }
}

/// Lanes of a half-warp that wait for words of one bank.
#[derive(Clone, Copy, Default)]
struct WaitingBank {
    lanes: u32,
    /// Lanes by word, ascending, in `first..end`.
    by_word: [u32; 16],
    first: usize,
    end: usize,
}

impl WaitingBank {
    fn add(&mut self, lanes: u32) {
        self.by_word[self.end] = lanes;
        self.end += 1;
        self.lanes += lanes;
        self.by_word[..self.end].sort_unstable();
    }

    /// Serves all lanes of the most wanted word.
    fn broadcast(&mut self) {
        self.end -= 1;
        self.lanes -= self.by_word[self.end];
    }

    /// Serves one lane, of the least wanted word: widely wanted ones can still be broadcast later.
    fn serve_one(&mut self) {
        if self.lanes > 0 {
            self.lanes -= 1;
            self.by_word[self.first] -= 1;
            self.first += usize::from(self.by_word[self.first] == 0);
        }
    }
}

/// cc 1.x stores and atomics of a half-warp's 32-bit words.
fn write_wavefronts(kind: AccessKind, addresses: Lanes) -> u32 {
    let mut per_bank = [0; EARLY_BANKS];
    count_values(kind, addresses, |address| per_bank[(address / 4) as usize % EARLY_BANKS] += 1);
    per_bank.into_iter().max().unwrap_or(0)
}

/// Calls `serve` for every phase of `lanes` lanes in which a lane is active.
fn for_phases(mask: ActiveMask, lanes: u32, mut serve: impl FnMut(ActiveMask)) {
    for phase in 0..WARP_SIZE as u32 / lanes {
        let phase_mask = mask & ActiveMask(ActiveMask::first(lanes).0 << (phase * lanes));
        if !phase_mask.is_empty() {
            serve(phase_mask);
        }
    }
}

/// One value per active lane.
struct Lanes {
    n: usize,
    values: [u64; WARP_SIZE],
}

impl Lanes {
    fn values(&self) -> &[u64] {
        &self.values[..self.n]
    }

    fn sort(&mut self) {
        self.values[..self.n].sort_unstable();
    }

    fn map(mut self, change: impl Fn(u64) -> u64) -> Self {
        for value in &mut self.values[..self.n] {
            *value = change(*value);
        }
        self
    }

    /// Number of different values; they must be sorted.
    fn distinct(&self) -> u32 {
        self.values().chunk_by(|a, b| a == b).count() as u32
    }
}

impl FromIterator<u64> for Lanes {
    fn from_iter<I: IntoIterator<Item = u64>>(iter: I) -> Self {
        let mut lanes = Self { n: 0, values: [0; WARP_SIZE] };
        for value in iter {
            lanes.values[lanes.n] = value;
            lanes.n += 1;
        }
        lanes
    }
}
