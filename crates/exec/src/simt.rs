//! The SIMT engine: runs each operation in all lanes at once, with the lane functions that [`bind`](crate::bind) picks.
//!
//! Registers are stored by word and lane, so that one step is a loop over 32 neighbouring values.

use warplens_isa::{AtomicOp, BarrierKind, Pc, ScalarType};
use warplens_trace::{ActiveMask, Observer, WarpIndex};

use crate::access::{BoxRequest, addresses};
use crate::barrier::Reduction;
use crate::bind;
use crate::calls::frame_top;
use crate::code::{BarrierOperation, Code, Kind, MatrixOperation, SINK, Shared, Wide};
use crate::cta::Cta;
use crate::decoded::{self, File, Register, Unbound};
use crate::engine::{At, BlockEnd, Engine, Frame, LaneValues};
use crate::error::ExecError;
use crate::exchange::{self, Attendance, Brought, attend};
use crate::interpret::{Context, LocalMemory, parted_warpgroup};
use crate::raw::{Lanes, Row, Source, call};
use crate::run::{Request, Run};
use crate::semantics::atomic::{self, Adder};
use crate::semantics::tensor::{Fast, Fragment, MOST_RESULTS, TensorCores};
use crate::semantics::warp::{Exchange, Received};
use crate::synchronize::Arrival;
use crate::warpgroup::wait_for_group;

/// The engine that is used unless another one is asked for.
pub struct Simt;

/// Registers of a warp.
#[derive(Default)]
pub struct Registers {
    /// Rows of all frames.
    pub(crate) rows: Vec<Row>,
    /// Predicates of all frames.
    pub(crate) predicates: Vec<u32>,
}

impl Registers {
    /// Those of a frame, for the lanes of a mask.
    #[inline(always)]
    fn lanes<'r>(&'r mut self, frame: Frame, code: &'r Code, mask: u32) -> Lanes<'r> {
        Lanes {
            rows: &mut self.rows[frame.words as usize..],
            predicates: &mut self.predicates[frame.predicates as usize..],
            pool: &code.pool,
            mask,
        }
    }
}

/// How a register lies in the rows.
enum Lie {
    /// One word.
    Word,
    /// The words of a pair, each a row of its own.
    Words,
    /// The values of a pair side by side in two rows.
    Pair,
}

impl Lie {
    fn of(code: &Code, frame: Frame, register: Register) -> Self {
        let split = &code.split[frame.function];
        let is_split = register.words().any(|word| split.get(word as usize).copied().unwrap_or(false));
        match register.width.words() {
            1 => Self::Word,
            _ if is_split => Self::Words,
            _ => Self::Pair,
        }
    }
}

impl Engine for Simt {
    type Code = Code;
    type Registers = Registers;

    fn bind(code: &mut decoded::Code) -> (Code, Vec<Unbound>) {
        bind::bind_all(code)
    }

    fn n_places(code: &Code) -> usize {
        code.memory.len()
    }

    fn pc(code: &Code, operation: u32) -> Pc {
        code.steps[operation as usize].pc
    }

    fn clear(registers: &mut Registers, words: u32, predicates: u32, unset: Option<&[u32]>) {
        match unset {
            Some(unset) if registers.rows.len() >= words as usize => {
                unset.iter().for_each(|&word| registers.rows[word as usize] = Row::splat(0));
            }
            _ => {
                registers.rows.clear();
                registers.rows.resize(words as usize, Row::splat(0));
            }
        }
        registers.predicates.clear();
        registers.predicates.resize(predicates as usize, 0);
    }

    fn reserve(registers: &mut Registers, words: u32, predicates: u32) {
        let (words, predicates) = (words as usize, predicates as usize);
        if registers.rows.len() < words {
            registers.rows.resize(words, Row::splat(0));
        }
        if registers.predicates.len() < predicates {
            registers.predicates.resize(predicates, 0);
        }
    }

    #[inline(always)]
    fn predicate(registers: &Registers, frame: Frame, index: u32) -> u32 {
        registers.predicates[(frame.predicates + index) as usize]
    }

    fn values(code: &Code, registers: &Registers, frame: Frame, register: Register) -> LaneValues {
        if register.file == File::Predicates {
            let bits = Self::predicate(registers, frame, register.index);
            return std::array::from_fn(|lane| u64::from(bits >> lane & 1));
        }
        let row = (frame.words + register.index) as usize;
        let word = |at: usize, lane: usize| u64::from(registers.rows[row + at].0[lane]);
        match Lie::of(code, frame, register) {
            Lie::Word => std::array::from_fn(|lane| word(0, lane)),
            Lie::Words => std::array::from_fn(|lane| word(0, lane) | word(1, lane) << 32),
            // The values of lane n are the words 2 n and 2 n + 1 of both rows together.
            Lie::Pair => std::array::from_fn(|lane| {
                let words = &registers.rows[row + lane / 16].0[2 * (lane % 16)..][..2];
                u64::from(words[0]) | u64::from(words[1]) << 32
            }),
        }
    }

    fn set_values(
        code: &Code,
        registers: &mut Registers,
        frame: Frame,
        register: Register,
        mask: u32,
        values: &LaneValues,
    ) {
        let mut lanes = registers.lanes(frame, code, mask);
        let index = register.index;
        if register.file == File::Predicates {
            let bits = (0..32).fold(0, |bits, lane| bits | (values[lane] as u32 & 1) << lane);
            lanes.set_predicate(index, bits);
            return broadcast_if(register, &mut lanes, Shared::Predicate(index));
        }
        let words = |shift: u32| values.map(|value| (value >> shift) as u32);
        match Lie::of(code, frame, register) {
            Lie::Word => {
                lanes.set_words(index, &words(0));
                broadcast_if(register, &mut lanes, Shared::Word(index));
            }
            Lie::Words => {
                lanes.set_words(index, &words(0));
                lanes.set_words(index + 1, &words(32));
                broadcast_if(register, &mut lanes, Shared::Word(index));
                broadcast_if(register, &mut lanes, Shared::Word(index + 1));
            }
            Lie::Pair => {
                lanes.set_pairs(index, values);
                broadcast_if(register, &mut lanes, Shared::Pair(index));
            }
        }
    }

    fn copy(code: &Code, registers: &mut Registers, from: (Frame, Register), to: (Frame, Register), lanes: u32) {
        let is_word = |(frame, register): (Frame, Register)| {
            register.file == File::Words && !register.is_shared && matches!(Lie::of(code, frame, register), Lie::Word)
        };
        if is_word(from) && is_word(to) {
            let row = registers.rows[(from.0.words + from.1.index) as usize];
            return registers.lanes(to.0, code, lanes).set_words(to.1.index, &row.0);
        }
        let values = Self::values(code, registers, from.0, from.1);
        Self::set_values(code, registers, to.0, to.1, lanes, &values);
    }

    fn bring(at: At<'_, Self>, lanes: u32, what: Exchange, brought: &mut Brought) {
        let step = &at.code.steps[at.operation as usize];
        brought.add(&at.registers.lanes(at.frame, at.code, lanes), step, what);
    }

    fn exchange(what: Exchange, brought: &Brought, members: u32) -> Received {
        what.exchanged(brought, members)
    }

    fn receive(at: At<'_, Self>, lanes: u32, what: Exchange, received: &Received) {
        let step = &at.code.steps[at.operation as usize];
        exchange::receive(received, &mut at.registers.lanes(at.frame, at.code, lanes), step, what);
    }

    #[inline]
    fn update(op: AtomicOp, ty: ScalarType, old: u64, operands: [u64; 2], adder: Adder) -> Option<u64> {
        atomic::apply(op, ty, old, operands, adder)
    }

    fn write_reduction(at: At<'_, Self>, lanes: u32, reduction: Reduction) {
        let step = &at.code.steps[at.operation as usize];
        let Kind::Barrier(index) = step.kind else { return };
        let BarrierOperation { kind, destination, .. } = at.code.barriers[index as usize];
        if destination == SINK {
            return;
        }
        let mut lanes = at.registers.lanes(at.frame, at.code, lanes);
        if let Some(guard) = step.guard {
            lanes.mask &= lanes.predicate(guard.predicate);
        }
        let answer = match kind {
            BarrierKind::ReduceAnd => reduction.truths == reduction.arrived,
            BarrierKind::ReduceOr => reduction.truths != 0,
            BarrierKind::ReducePopc | BarrierKind::Sync | BarrierKind::Arrive => {
                return set_value(&mut lanes, destination, Wide::No, u64::from(reduction.truths));
            }
        };
        lanes.set_predicate(destination, if answer { u32::MAX } else { 0 });
    }

    #[inline(always)]
    fn run_block<O: Observer>(run: Run<'_, '_, Self, O>) -> Result<BlockEnd, ExecError> {
        let Run { worker, cta, warp_index, path, block, first } = run;
        let (code, bound) = (worker.shared.code(), worker.shared.bound());
        let Cta { warps, shared, cluster, record, coordinates, warpgroups, .. } = cta;
        let cluster = cluster.as_deref();
        let n_warps = warps.len();
        let warp = &mut warps[warp_index];
        let local_top = frame_top(bound, warp, path, &code.functions[path.frame.function]);
        let mut lanes = warp.registers.lanes(path.frame, bound, path.mask);
        let local =
            LocalMemory { cells: &warp.local, base: path.frame.local, top: local_top, stride: warp.local_stride };
        let mut context =
            Context { warp_index: warp_index as u32, coordinates: *coordinates, shared, cluster, local, record };
        let steps = &bound.steps[first as usize..block.operations.end as usize];
        for (index, step) in steps.iter().enumerate() {
            lanes.mask = path.mask;
            if let Some(guard) = step.guard {
                lanes.mask &= lanes.predicate(guard.predicate);
                if O::RECORDS && guard.is_reported {
                    let (active, on) = (ActiveMask(path.mask), ActiveMask(lanes.mask));
                    worker.observer.predicated(context.record, WarpIndex(warp_index as u32), step.pc, active, on);
                }
                if lanes.mask == 0 {
                    continue;
                }
            }
            let operation = first + index as u32;
            match step.kind {
                Kind::Lane => call(&mut lanes, step),
                Kind::Load(index) => {
                    let memory = &bound.memory[index as usize];
                    worker.load(&mut context, &mut lanes, memory, index, step.pc)?;
                }
                Kind::LoadPart(index) => {
                    let bytes = *lanes.words(step.sources[0]);
                    let memory = &bound.memory[index as usize];
                    worker.load_part(&mut context, &mut lanes, memory, (index, step.pc), &bytes)?;
                }
                Kind::Bulk(index) => {
                    let bytes = *lanes.words(step.sources[0]);
                    let copy = &bound.bulk[index as usize];
                    let masks = copy.multicast.then(|| *lanes.words(step.sources[1]));
                    let places = (&bound.memory[copy.from as usize], &bound.memory[copy.to as usize]);
                    worker.copy_bulk(&mut context, &mut lanes, places, copy, (&bytes, masks.as_ref()), step.pc)?;
                }
                Kind::Fill(index) => {
                    let bytes = *lanes.pairs(step.sources[0]);
                    let memory = &bound.memory[index as usize];
                    worker.fill_bulk(&mut context, &mut lanes, (memory, index), &bytes, step.pc)?;
                }
                Kind::Store(index) => {
                    let memory = &bound.memory[index as usize];
                    worker.store(&mut context, &mut lanes, memory, index, step.pc)?;
                }
                Kind::Atomic(index) => {
                    let memory = &bound.memory[index as usize];
                    worker.atomic(&mut context, &mut lanes, memory, index, step.pc)?;
                }
                Kind::Special(register, wide) => {
                    let destination = step.destinations[0];
                    match (worker.lane_values(context.warp_index, register), wide) {
                        (Some(values), Wide::Yes) => lanes.set_pairs(destination, &values.map(u64::from)),
                        (Some(values), Wide::No) => lanes.set_words(destination, &values),
                        (None, wide) => {
                            let value = worker.warp_value((context.warp_index, *coordinates), register);
                            set_value(&mut lanes, destination, wide, value);
                        }
                    }
                }
                Kind::FrameAddress(wide) => {
                    let offset = lanes.pairs(step.sources[0])[0].wrapping_add(u64::from(path.frame.local));
                    set_value(&mut lanes, step.destinations[0], wide, offset);
                }
                Kind::InSpace(space, wide) => worker.in_space(&mut lanes, step, space, wide),
                Kind::GroupMatrix(index) => {
                    let group = &bound.groups[index as usize];
                    let come = warpgroups.come(warp_index, n_warps, step.pc);
                    come.map_err(|parted| parted_warpgroup(context.coordinates, parted))?;
                    worker.multiply_group(&context, &mut lanes, group, step.pc)?;
                    if !warpgroups.are_together(warp_index) {
                        return Ok(wait_for_group(warp, path, operation));
                    }
                }
                Kind::LoadMatrices(index) => {
                    let matrices = &bound.moves[index as usize];
                    let memory = &bound.memory[matrices.memory as usize];
                    worker.load_matrices(&mut context, &mut lanes, (matrices, memory), step.pc)?;
                }
                Kind::StoreMatrices(index) => {
                    let matrices = &bound.moves[index as usize];
                    let memory = &bound.memory[matrices.memory as usize];
                    worker.store_matrices(&mut context, &mut lanes, (matrices, memory), step.pc)?;
                }
                Kind::ActiveMask => {
                    let mask = lanes.mask;
                    set_value(&mut lanes, step.destinations[0], Wide::No, u64::from(mask));
                }
                Kind::JoinConvergence(barrier) => {
                    warp.convergence[barrier as usize] |= lanes.mask;
                }
                Kind::ReadConvergence(barrier) => {
                    let mask = warp.convergence[barrier as usize];
                    set_value(&mut lanes, step.destinations[0], Wide::No, u64::from(mask));
                }
                Kind::BreakConvergence(barrier) => {
                    let on = lanes.mask;
                    warp.break_convergence(barrier, on);
                    path.operation = Some(operation + 1);
                    return Ok(BlockEnd::Again);
                }
                Kind::WriteConvergence(barrier) => {
                    let masks = lanes.words(step.sources[0]);
                    let on = ActiveMask(lanes.mask);
                    let mask = on.lanes().fold(0, |mask, lane| mask | masks[lane]);
                    warp.write_convergence(barrier, mask);
                    path.operation = Some(operation + 1);
                    return Ok(BlockEnd::Again);
                }
                Kind::Alloca(wide) => {
                    let on = lanes.mask;
                    let bytes = values_of(&lanes, step.sources[0], wide);
                    let aligns = values_of(&lanes, step.sources[1], Wide::No);
                    let values = worker.allocate_stack(cta, warp_index, path, (on, step.pc), (&bytes, &aligns))?;
                    let mut lanes = cta.warps[warp_index].registers.lanes(path.frame, bound, on);
                    match wide {
                        Wide::Yes => lanes.set_pairs(step.destinations[0], &values),
                        Wide::No => lanes.set_words(step.destinations[0], &values.map(|value| value as u32)),
                    }
                    path.operation = Some(operation + 1);
                    return Ok(BlockEnd::Again);
                }
                Kind::Broadcast(shared) => broadcast(&mut lanes, shared),
                Kind::System(service, arguments) => {
                    let arguments = bound.system[arguments as usize].iter();
                    let arguments: Vec<LaneValues> =
                        arguments.map(|&(source, wide)| values_of(&lanes, source, wide)).collect();
                    let results = worker.system_call(&context, (lanes.mask, step.pc), service, &arguments)?;
                    let is_address = matches!(service, warplens_isa::SystemCall::Malloc);
                    match step.destinations[0] {
                        SINK => {}
                        row if is_address && code.address_bits() == 64 => lanes.set_pairs(row, &results),
                        row => lanes.set_words(row, &results.map(|result| result as u32)),
                    }
                }
                Kind::Unsupported => {
                    let thread = worker.thread(*coordinates, warp_index as u32, lanes.mask);
                    return Err(ExecError::ReachedUnsupported { pc: step.pc, thread });
                }
                Kind::Exchange(exchange) => {
                    let exchange = &bound.exchanges[exchange as usize];
                    match attend(&mut lanes, step, exchange, warp.live) {
                        Attendance::Made => {}
                        Attendance::Stranger { lane, members } => {
                            let thread = worker.thread(*coordinates, warp_index as u32, 1 << lane);
                            return Err(ExecError::NotMember { pc: step.pc, thread, members });
                        }
                        Attendance::Lacking(groups) => {
                            let groups = (exchange.what, &groups[..]);
                            return Ok(worker.wait_for_lanes(cta, warp_index, path, block, groups, operation));
                        }
                    }
                }
                Kind::Tensor(index) => {
                    let tensor = &bound.tensors[index as usize];
                    let memory = &bound.memory[tensor.memory as usize];
                    let request = BoxRequest {
                        pc: step.pc,
                        place: tensor.memory,
                        lanes: lanes.mask,
                        space: memory.space,
                        addresses: addresses(&lanes, memory, path.frame.local),
                        maps: *lanes.pairs(tensor.map),
                        coordinates: tensor.coordinates.iter().map(|&source| *lanes.words(source)).collect(),
                        masks: tensor.mask.map(|mask| *lanes.words(mask)),
                    };
                    let bytes = worker.copy_box(&mut context, &request, &tensor.copy)?;
                    lanes.set_pairs(tensor.bytes, &bytes);
                }
                Kind::TestPhase(index) => {
                    let phase = &bound.phases[index as usize];
                    let memory = &bound.memory[phase.memory as usize];
                    let request = Request {
                        pc: step.pc,
                        place: phase.memory,
                        space: memory.space,
                        lanes: lanes.mask,
                        addresses: addresses(&lanes, memory, path.frame.local),
                        element_bytes: memory.element_bytes,
                        elements: 1,
                        ordered: true,
                    };
                    let parities = *lanes.words(phase.parity);
                    let mut run = Run { worker, cta, warp_index, path, block, first };
                    return run.test_phase(operation, &request, &parities, phase.destination);
                }
                Kind::ClusterBarrier(half) => {
                    let on = lanes.mask;
                    return Ok(worker.meet_cluster((cta, warp_index), (path, block), (on, half), operation));
                }
                Kind::AtomicCluster(index) => {
                    let masks = *lanes.words(step.sources[0]);
                    let memory = &bound.memory[index as usize];
                    worker.atomic_in_ctas(&mut context, &mut lanes, memory, (index, step.pc), &masks)?;
                }
                Kind::Matrix(index) => {
                    let matrix = &bound.matrices[index as usize];
                    let cores = worker.tensor_cores(matrix.product.work());
                    multiply(&mut lanes, matrix, cores);
                }
                Kind::Texture(index) => {
                    let texture = &bound.textures[index as usize];
                    worker.texture_operation(&mut context, &mut lanes, texture, step.pc)?;
                }
                Kind::Barrier(index) => {
                    let BarrierOperation { kind, barrier, count, predicate, .. } = bound.barriers[index as usize];
                    let lowest = lanes.mask.trailing_zeros().min(31) as usize;
                    let arrival = Arrival {
                        kind,
                        barrier: lanes.words(barrier)[lowest],
                        count: count.map(|count| lanes.words(count)[lowest]),
                        truths: predicate.map_or(0, |predicate| lanes.predicate(predicate)),
                    };
                    let on = lanes.mask;
                    let at = (operation, step.pc);
                    return worker.wait_at_barrier((cta, warp_index), (path, block), (on, arrival), at);
                }
            }
        }
        Ok(BlockEnd::Through)
    }
}

/// The values of a source in all lanes.
fn values_of(lanes: &Lanes<'_>, source: Source, wide: Wide) -> LaneValues {
    match wide {
        Wide::Yes => *lanes.pairs(source),
        Wide::No => lanes.words(source).map(u64::from),
    }
}

/// Writes the same value to all active lanes.
pub(crate) fn set_value(lanes: &mut Lanes<'_>, row: u32, wide: Wide, value: u64) {
    match wide {
        Wide::Yes => lanes.set_pairs(row, &[value; 32]),
        Wide::No => lanes.set_words(row, &[value as u32; 32]),
    }
}

fn broadcast_if(register: Register, lanes: &mut Lanes<'_>, shared: Shared) {
    if register.is_shared {
        broadcast(lanes, shared);
    }
}

/// Gives all lanes, the inactive ones too, the value of the lowest active one.
fn broadcast(lanes: &mut Lanes<'_>, shared: Shared) {
    let lowest = lanes.mask.trailing_zeros().min(31) as usize;
    let active = std::mem::replace(&mut lanes.mask, u32::MAX);
    match shared {
        Shared::Word(row) => lanes.set_words(row, &[lanes.words(Source::frame(row))[lowest]; 32]),
        Shared::Pair(row) => lanes.set_pairs(row, &[lanes.pairs(Source::frame(row))[lowest]; 32]),
        Shared::Predicate(index) => {
            let truth = lanes.predicate(Source::frame(index)) >> lowest & 1;
            lanes.set_predicate(index, 0u32.wrapping_sub(truth));
        }
    }
    lanes.mask = active;
}

/// Registers of the factors and accumulators of a product that is tried at once, at most.
const MOST_SOURCES: usize = 16;

/// Multiplies matrices. What lanes hold that take no part counts as zeros.
fn multiply(lanes: &mut Lanes<'_>, operation: &MatrixOperation, cores: TensorCores) {
    let MatrixOperation { product, sources, destinations } = operation;
    let wide = if product.is_double() { Wide::Yes } else { Wide::No };
    let mask = lanes.mask;
    let mut fast = Fast::Otherwise;
    if mask == u32::MAX && matches!(wide, Wide::No) && sources.len() <= MOST_SOURCES {
        let mut results = [[0; 32]; MOST_RESULTS];
        let mut registers = [lanes.words(sources[0]); MOST_SOURCES];
        registers.iter_mut().zip(sources).for_each(|(register, &source)| *register = lanes.words(source));
        fast = cores.fast_product(product, &registers[..sources.len()], &mut results);
        if fast == Fast::Made {
            return destinations.iter().zip(&results).for_each(|(&row, values)| lanes.set_words(row, values));
        }
    }
    let fragment = |&source: &Source| -> Fragment {
        let values = values_of(lanes, source, wide);
        std::array::from_fn(|lane| if mask >> lane & 1 == 1 { values[lane] } else { 0 })
    };
    let fragments: Vec<Fragment> = sources.iter().map(fragment).collect();
    let results = match fast {
        Fast::OneByOne => cores.product_one_by_one(product, &fragments),
        Fast::Made | Fast::Otherwise => cores.product(product, &fragments),
    };
    for (&row, values) in destinations.iter().zip(&results) {
        match wide {
            Wide::Yes => lanes.set_pairs(row, values),
            Wide::No => lanes.set_words(row, &values.map(|value| value as u32)),
        }
    }
}
