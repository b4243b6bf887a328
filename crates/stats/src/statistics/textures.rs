//! Fetches from textures and accesses to surfaces: how often, and how many sectors they need.
//!
//! A *texture request* is one execution of a texture fetch (`tex`, `tld4`) by a warp with an active lane. Its *sectors* are
//! the distinct aligned 32 bytes that hold the texels of all its lanes: of each lane the nearest texel, or all those that
//! the filter of its sampler mixes, whatever their weight; of a gather the four that it looks at. The border takes none,
//! and a request without any texel is not counted. A request with more than 32 sectors counts as as many requests as it
//! has parts of 32, ascending. Its *lines* are the distinct 128 bytes.
//!
//! A *surface request* is one execution of `suld`, `sust` or `sured` by a warp with a lane that has a part in it: one
//! inside the surface, or brought there. A formatted store counts as one for each lane. Sectors and lines are those of the
//! bytes that it accesses.
//!
//! Where a texel of an array lies is said by the layout of the emulated device (`warplens_exec::texture::Resource::shown`),
//! which is inferred. Neither kind is among the requests to global memory, as on GPUs; the distinct sectors of the launch
//! have those of both.

use warplens_isa::StateSpace;
use warplens_trace::{Access, AccessKind};

use super::{Event, Finish, Statistic};
use crate::recorder::Times;

/// Bytes of a sector and of a line.
const SECTOR: u64 = 32;
const LINE: u64 = 128;

/// Fetches from textures and accesses to surfaces of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Textures {
    /// Texture requests.
    pub fetches: u64,
    /// Sectors of them.
    pub fetched_sectors: u64,
    /// Lines of them.
    pub fetched_lines: u64,
    /// Surface requests that load.
    pub surface_loads: u64,
    /// Surface requests that store.
    pub surface_stores: u64,
    /// Surface requests that reduce.
    pub surface_atomics: u64,
    /// Sectors of all surface requests.
    pub surface_sectors: u64,
    /// Lines of all surface requests.
    pub surface_lines: u64,
}

impl Textures {
    /// Every count.
    pub fn counts_mut(&mut self) -> [&mut u64; 8] {
        let Self {
            fetches,
            fetched_sectors,
            fetched_lines,
            surface_loads,
            surface_stores,
            surface_atomics,
            surface_sectors,
            surface_lines,
        } = self;
        [
            fetches,
            fetched_sectors,
            fetched_lines,
            surface_loads,
            surface_stores,
            surface_atomics,
            surface_sectors,
            surface_lines,
        ]
    }

    /// True without any request.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The fold.
#[derive(Debug)]
pub(crate) struct TextureCounter {
    counts: Textures,
    scratch: Vec<u64>,
}

impl TextureCounter {
    /// Distinct pieces of `bytes` that an access touches.
    fn distinct(&mut self, access: &Access<'_>, bytes: u64) -> u64 {
        self.scratch.clear();
        for lane in access.mask.lanes() {
            let first = access.addresses.of(lane);
            let last = first + u64::from(access.lane_bytes()).max(1) - 1;
            self.scratch.extend(first / bytes..=last / bytes);
        }
        self.scratch.sort_unstable();
        self.scratch.dedup();
        self.scratch.len() as u64
    }
}

impl Statistic for TextureCounter {
    type Warp = ();
    type Counts = Textures;

    fn new() -> Self {
        Self { counts: Textures::default(), scratch: Vec::new() }
    }

    #[inline(always)]
    fn listens(access: &Access<'_>) -> bool {
        matches!(access.space, StateSpace::Texture | StateSpace::Surface)
    }

    fn count(&mut self, event: &Event<'_>) {
        let access = event.access;
        let [sectors, lines] = [SECTOR, LINE].map(|bytes| self.distinct(access, bytes));
        let counts = &mut self.counts;
        if access.space == StateSpace::Texture {
            counts.fetches += 1;
            counts.fetched_sectors += sectors;
            counts.fetched_lines += lines;
            return;
        }
        match access.kind {
            AccessKind::Load => counts.surface_loads += 1,
            AccessKind::Store => counts.surface_stores += 1,
            AccessKind::Atomic => counts.surface_atomics += 1,
        }
        counts.surface_sectors += sectors;
        counts.surface_lines += lines;
    }

    fn merge(&mut self, other: &Self, times: Times) {
        let mut other = other.counts;
        for (own, other) in self.counts.counts_mut().into_iter().zip(other.counts_mut()) {
            *own += times.of(*other);
        }
    }

    fn finish(&self, finish: &Finish<'_>) -> Textures {
        let scale = finish.recorder.scale();
        let mut counts = self.counts;
        counts.counts_mut().into_iter().for_each(|count| *count = scale.apply(*count));
        counts
    }

    /// Where texels lie is in the object of a handle, which nobody knows without a run.
    fn without_run(counts: &mut Option<Textures>, _: bool) {
        *counts = counts.take().filter(Textures::is_empty);
    }
}
