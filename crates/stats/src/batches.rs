//! Counts load batches while blocks go by: one table look-up per block and warp.
//!
//! What a warp carries from block to block, its open batches, takes few different values in practice. They are numbered
//! as they are met, and what a block does to each is computed once.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::Program;
use crate::dependence::{BatchState, Loaded};
use crate::recorder::Times;

/// Number of a [`BatchState`]; 0 is the state of a warp that starts.
pub(crate) type StateId = u32;

/// Entries of the transition table, 20 bytes each.
const MAX_TRANSITIONS: usize = 1 << 20;
/// Entries of the table for blocks of which some loads do not take place.
const MAX_PARTIAL: usize = 1 << 16;

/// Load batches of the executions seen so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct BatchCounts {
    /// Dynamic global loads.
    pub(crate) loads: u64,
    /// Batches with reordering inside blocks.
    pub(crate) batches: u64,
    /// Batches in program order.
    pub(crate) batches_program_order: u64,
    /// Instructions that issue while a loaded value is on its way, in program order.
    pub(crate) overlap: u64,
}

#[derive(Clone, Copy, Debug)]
struct Transition {
    next: StateId,
    loads: u32,
    batches: u32,
    batches_program_order: u32,
    overlap: u32,
}

const UNKNOWN: Transition =
    Transition { next: StateId::MAX, loads: 0, batches: 0, batches_program_order: 0, overlap: 0 };

/// The table of states and transitions, filled on demand, and the counts.
pub(crate) struct BatchCounter {
    program: Arc<Program>,
    n_blocks: usize,
    max_states: usize,
    states: Vec<BatchState>,
    ids: FxHashMap<BatchState, StateId>,
    /// By state, then by block, when every load of the block takes place.
    transitions: Vec<Transition>,
    /// The same when only some do.
    partial: FxHashMap<(StateId, u32, Loaded), Transition>,
    pub(crate) counts: BatchCounts,
}

impl BatchCounter {
    pub(crate) fn new(program: Arc<Program>) -> Self {
        let n_blocks = program.n_blocks();
        let mut counter = Self {
            program,
            n_blocks,
            max_states: (MAX_TRANSITIONS / n_blocks.max(1)).clamp(16, 4096),
            states: Vec::new(),
            ids: FxHashMap::default(),
            transitions: Vec::new(),
            partial: FxHashMap::default(),
            counts: BatchCounts::default(),
        };
        counter.id_of(BatchState::default());
        counter
    }

    /// A warp in `state` executes the block at `position` and all its loads; returns its next state.
    #[inline]
    pub(crate) fn enter(&mut self, state: StateId, position: usize) -> StateId {
        let mut transition = self.transitions[state as usize * self.n_blocks + position];
        if transition.next == UNKNOWN.next {
            transition = self.compute(state, position, Loaded::MAX);
            self.transitions[state as usize * self.n_blocks + position] = transition;
        }
        self.take(transition)
    }

    /// As [`BatchCounter::enter`], but of the loads that do not always take place only those of `loaded` did.
    #[cold]
    #[inline(never)]
    pub(crate) fn enter_partly(&mut self, state: StateId, position: usize, loaded: Loaded) -> StateId {
        let key = (state, position as u32, loaded);
        let transition = match self.partial.get(&key) {
            Some(&transition) => transition,
            None => {
                let transition = self.compute(state, position, loaded);
                if self.partial.len() < MAX_PARTIAL {
                    self.partial.insert(key, transition);
                }
                transition
            }
        };
        self.take(transition)
    }

    #[inline]
    fn take(&mut self, transition: Transition) -> StateId {
        self.counts.loads += u64::from(transition.loads);
        self.counts.batches += u64::from(transition.batches);
        self.counts.batches_program_order += u64::from(transition.batches_program_order);
        self.counts.overlap += u64::from(transition.overlap);
        transition.next
    }

    #[cold]
    #[inline(never)]
    fn compute(&mut self, state: StateId, position: usize, loaded: Loaded) -> Transition {
        let passage = self.program.steps(position).run(&self.states[state as usize], loaded);
        Transition {
            next: self.id_of(passage.state),
            loads: passage.loads,
            batches: passage.batches,
            batches_program_order: passage.batches_program_order,
            overlap: passage.overlap,
        }
    }

    /// The number of `state`. Beyond the limit the open batches are taken to end.
    fn id_of(&mut self, state: BatchState) -> StateId {
        if let Some(&id) = self.ids.get(&state) {
            return id;
        }
        if self.states.len() == self.max_states {
            return 0;
        }
        let id = self.states.len() as StateId;
        self.states.push(state.clone());
        self.ids.insert(state, id);
        self.transitions.resize(self.states.len() * self.n_blocks, UNKNOWN);
        id
    }
}

impl BatchCounts {
    pub(crate) fn add(&mut self, other: &Self, times: Times) {
        self.loads += times.of(other.loads);
        self.batches += times.of(other.batches);
        self.batches_program_order += times.of(other.batches_program_order);
        self.overlap += times.of(other.overlap);
    }
}
