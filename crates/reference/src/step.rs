//! Executes the operations of a block, one after the other.

use warplens_exec::ExecError;
use warplens_exec::decoded::{Decoded, MemoryReference, Operand};
use warplens_exec::engine::{Arrival, BlockEnd, BoxRequest, Frame, LaneValues, Request, Run};
use warplens_exec::semantics::warp::Unnamed;
use warplens_ir::Width;
use warplens_isa::{
    AtomicOp, BarrierKind, CopyRead, GroupProduct, MatrixMove, MovedElements, PhaseOf, ScalarType, SystemCall,
};
use warplens_trace::Observer;

use crate::meaning::{Meaning, converted, meaning};
use crate::operand::{At, read, to_fetch};
use crate::registers::Registers;
use crate::value::{Sources, ones, signed};
use crate::warp::lanes;
use crate::{Reference, group, tensor, write};

/// Texture and surface instructions.
mod object;

/// More bytes than a copy of one lane has.
const MOST: u32 = 64;

type Running<'r, 'a, O> = Run<'r, 'a, Reference, O>;

/// So many lanes from the first on.
fn first_lanes(count: usize) -> u32 {
    (0..count).fold(0, |mask, lane| mask | 1 << lane)
}

/// The lanes in which the guard of an operation is true, whoever takes part.
pub(crate) fn guard_lanes(inst: &Decoded, registers: &Registers, frame: Frame) -> u32 {
    let Some(guard) = inst.guard else { return u32::MAX };
    lanes(u32::MAX)
        .filter(|&lane| registers.predicate(frame, guard.predicate, lane) != guard.negated)
        .fold(0, |mask, lane| mask | 1 << lane)
}

pub(crate) fn run_block<O: Observer>(mut run: Running<'_, '_, O>) -> Result<BlockEnd, ExecError> {
    for number in run.operations() {
        let inst = &run.code().operations[number as usize];
        let meaning = meaning(inst);
        // What is read in passing is read in all lanes, and time goes on.
        let is_moved = matches!(meaning, Meaning::Special(_));
        let operands = inst.sources.iter().chain(inst.memory.iter().map(|memory| &memory.base));
        let wanted: Vec<Operand> = operands.filter_map(to_fetch).filter(|_| !is_moved).collect();
        let fetched: Vec<(Operand, LaneValues)> =
            wanted.into_iter().map(|operand| (operand, fetch(&mut run, operand))).collect();
        let frame = run.frame();
        let on = run.lanes() & guard_lanes(inst, run.registers(), frame);
        if inst.guard.is_some() {
            run.guarded(inst.pc, on);
        }
        if on == 0 {
            continue;
        }
        let step = Step { inst, on, frame, fetched: &fetched };
        match meaning {
            Meaning::Exchange(what, members_at) => {
                let members = match (inst.sources.get(members_at), what.unnamed()) {
                    (Some(operand), _) => {
                        Some(step.all(run.registers(), operand, ScalarType::B32).map(|mask| mask as u32))
                    }
                    (None, Unnamed::All) => Some([u32::MAX; 32]),
                    (None, Unnamed::Present) => None,
                };
                if let Some(end) = run.exchange((number, inst.pc), on, what, members.as_ref())? {
                    return Ok(end);
                }
            }
            Meaning::Barrier(kind) => {
                let arrival = step.arrival(run.registers(), kind);
                return run.arrive((number, inst.pc), on, arrival);
            }
            Meaning::TestPhase(of) => {
                let place = run.code().places[number as usize];
                let request = Request { ordered: true, ..step.request(run.registers(), place, &inst.memory[0], on) };
                let parities = match of {
                    PhaseOf::Parity => step.source(run.registers(), 0, ScalarType::U32, 0).map(|it| it as u32 & 1),
                    PhaseOf::State => step.source(run.registers(), 0, ScalarType::B64, 0).map(|it| (it >> 63) as u32),
                };
                return run.test_phase(number, &request, &parities, inst.destinations[0]);
            }
            Meaning::ClusterBarrier(half) => return Ok(run.meet_cluster(number, on, half)),
            Meaning::Group(product) => {
                step.multiply_group(&mut run, product)?;
                if let Some(end) = run.wait_for_group(number) {
                    return Ok(end);
                }
            }
            meaning => step.execute(&mut run, number, meaning)?,
        }
    }
    Ok(BlockEnd::Through)
}

fn fetch<O: Observer>(run: &mut Running<'_, '_, O>, operand: Operand) -> LaneValues {
    match operand {
        Operand::Special(register) => run.special(register),
        Operand::Parameter(offset) => [run.parameter(offset, 8); 32],
        _ => unreachable!("only these are fetched"),
    }
}

/// An operation at work.
struct Step<'s> {
    inst: &'s Decoded,
    /// Lanes that take part.
    on: u32,
    frame: Frame,
    /// Special registers and parameters, as they were when the operation began.
    fetched: &'s [(Operand, LaneValues)],
}

impl Step<'_> {
    fn read(&self, registers: &Registers, operand: &Operand, ty: ScalarType, lane: usize) -> u128 {
        let fetched = |wanted: &Operand, lane: usize| {
            let found = self.fetched.iter().find(|(operand, _)| operand == wanted);
            found.map_or(0, |(_, values)| values[lane].into())
        };
        read(&At { registers, frame: self.frame, fetched: &fetched }, operand, ty, lane)
    }

    /// An operand in all lanes.
    fn all(&self, registers: &Registers, operand: &Operand, ty: ScalarType) -> LaneValues {
        std::array::from_fn(|lane| self.read(registers, operand, ty, lane) as u64)
    }

    /// A source in all lanes, or what stands for it where there is none.
    fn source(&self, registers: &Registers, index: usize, ty: ScalarType, default: u64) -> LaneValues {
        self.inst.sources.get(index).map_or([default; 32], |operand| self.all(registers, operand, ty))
    }

    /// Writes a destination.
    fn write(&self, registers: &mut Registers, index: usize, ty: ScalarType, values: &LaneValues) {
        if let Some(Some(register)) = self.inst.destinations.get(index) {
            write(registers, (self.frame, *register), self.on, |lane| (values[lane].into(), ty));
        }
    }

    fn execute<O: Observer>(
        &self,
        run: &mut Running<'_, '_, O>,
        number: u32,
        meaning: Meaning<'_>,
    ) -> Result<(), ExecError> {
        let inst = self.inst;
        let (decoded, registers) = (run.decoded(), run.registers());
        match meaning {
            Meaning::Lane(rule) => {
                // All lanes have read before one writes: a lane may be read by another as a register of the warp.
                let results = lanes(self.on).map(|lane| {
                    let read = |operand: &Operand, ty: ScalarType| self.read(registers, operand, ty, lane);
                    rule(&Sources { inst, read: &read })
                });
                let Ok(results) = results.collect::<Result<Vec<_>, _>>() else {
                    return Err(run.unsupported(inst.pc, self.on));
                };
                for (index, register) in inst.destinations.iter().enumerate() {
                    let Some(register) = register else { continue };
                    let of = |lane: usize| lanes(self.on).position(|other| other == lane).unwrap_or(0);
                    if results[0].len() > index {
                        write(registers, (self.frame, *register), self.on, |lane| results[of(lane)][index]);
                    }
                }
            }
            Meaning::Special(register) => {
                let values = run.special(register);
                let ty = if inst.ty.bits() == 64 { ScalarType::U64 } else { inst.ty };
                self.write(run.registers(), 0, ty, &values);
            }
            Meaning::Address(conversion) => {
                let ty = if inst.ty.bits() == 64 { ScalarType::U64 } else { ScalarType::U32 };
                let window = decoded.window(conversion.space);
                let addresses = self.source(registers, 0, ty, 0);
                let addresses = addresses.map(|address| converted(conversion, window, address.into()) as u64);
                self.write(registers, 0, ty, &addresses);
            }
            Meaning::IsIn(space) => {
                let is_word = inst.sources[0].register().is_some_and(|register| register.width == Width::Word);
                let is_narrow = is_word || decoded.address_bits() == 32;
                let ty = if is_narrow { ScalarType::U32 } else { ScalarType::U64 };
                let addresses = self.source(registers, 0, ty, 0);
                let truths = addresses.map(|address| u64::from(decoded.space_of(address) == space));
                self.write(registers, 0, ScalarType::Pred, &truths);
            }
            Meaning::Load => self.load(run, number)?,
            Meaning::Store => self.store(run, number)?,
            Meaning::Atomic(op) => self.atomic(run, number, op)?,
            Meaning::Copy(read) => self.copy(run, number, read)?,
            Meaning::CopyBulk(reduction, is_multicast) => self.copy_bulk(run, number, reduction, is_multicast)?,
            Meaning::FillBulk => self.fill_bulk(run, number)?,
            Meaning::CopyTensor(copy) => {
                let n = usize::from(copy.dimensions);
                let place = run.code().places[number as usize];
                let registers = run.registers();
                let at = self.request(registers, place, &inst.memory[0], self.on);
                let word = |index: usize| self.source(registers, index, ScalarType::U32, 0).map(|word| word as u32);
                let request = BoxRequest {
                    pc: inst.pc,
                    place,
                    lanes: self.on,
                    space: at.space,
                    addresses: at.addresses,
                    maps: self.source(registers, 0, ScalarType::U64, 0),
                    coordinates: (1..=n).map(word).collect(),
                    masks: copy.multicast.then(|| word(1 + n)),
                };
                let bytes = run.copy_box(&request, &copy)?;
                self.write(run.registers(), 0, ScalarType::U64, &bytes);
            }
            Meaning::AtomicInCtas(op) => self.atomic_in_ctas(run, number, op)?,
            Meaning::Texture => self.texture(run)?,
            Meaning::ActiveMask => self.write(registers, 0, ScalarType::B32, &[self.on.into(); 32]),
            Meaning::Matrix(product) => {
                let ty = if product.is_double() { ScalarType::B64 } else { ScalarType::B32 };
                let hold = |operand: &Operand| {
                    let values = self.all(registers, operand, ty);
                    std::array::from_fn(|lane| if self.on >> lane & 1 == 1 { values[lane] } else { 0 })
                };
                let fragments: Vec<LaneValues> = inst.sources.iter().map(hold).collect();
                let cores = run.tensor_cores(product.work());
                let results = tensor::product(cores, product, &fragments);
                for (index, values) in results.iter().enumerate() {
                    self.write(run.registers(), index, ty, values);
                }
            }
            Meaning::LoadMatrices(matrices) => self.load_matrices(run, number, matrices)?,
            Meaning::StoreMatrices(matrices) => self.store_matrices(run, number, matrices)?,
            Meaning::JoinConvergence(barrier) => run.join_convergence(barrier, self.on),
            Meaning::BreakConvergence(barrier) => run.break_convergence(barrier, self.on),
            Meaning::ReadConvergence(barrier) => {
                let mask = run.convergence(barrier);
                self.write(run.registers(), 0, ScalarType::B32, &[mask.into(); 32]);
            }
            Meaning::WriteConvergence(barrier) => {
                let masks = self.source(registers, 0, ScalarType::B32, 0);
                run.write_convergence(barrier, lanes(self.on).fold(0, |mask, lane| mask | masks[lane] as u32));
            }
            Meaning::ReserveStack => {
                let bytes = self.source(registers, 0, inst.ty, 0);
                let aligns = self.source(registers, 1, ScalarType::U32, 8);
                let starts = run.reserve_stack((self.on, inst.pc), &bytes, &aligns)?;
                self.write(run.registers(), 0, inst.ty, &starts);
            }
            Meaning::SaveStack => {
                let Some(stack) = decoded.functions[self.frame.function].stack else { return Ok(()) };
                let tops = self.all(registers, &Operand::Register(stack), ScalarType::U32);
                self.write(registers, 0, inst.ty, &tops);
            }
            Meaning::RestoreStack => {
                let Some(stack) = decoded.functions[self.frame.function].stack else { return Ok(()) };
                let tops = self.source(registers, 0, inst.ty, 0);
                write(registers, (self.frame, stack), self.on, |lane| (tops[lane].into(), ScalarType::U32));
            }
            Meaning::System(service) => self.system(run, service)?,
            Meaning::Nothing => {}
            Meaning::No(_) => return Err(run.unsupported(inst.pc, self.on)),
            Meaning::Exchange(..)
            | Meaning::Barrier(_)
            | Meaning::ClusterBarrier(_)
            | Meaning::TestPhase(_)
            | Meaning::Group(_) => {
                unreachable!("they may end the block")
            }
        }
        Ok(())
    }

    fn arrival(&self, registers: &Registers, kind: BarrierKind) -> Arrival {
        let sources = &self.inst.sources;
        let reduces = match kind {
            BarrierKind::ReducePopc | BarrierKind::ReduceAnd | BarrierKind::ReduceOr => true,
            BarrierKind::Sync | BarrierKind::Arrive => false,
        };
        let lowest = self.on.trailing_zeros() as usize;
        let has_count = sources.len() - usize::from(reduces && sources.len() > 1) > 1;
        let truths = match sources.last().filter(|_| reduces) {
            Some(operand) => self.all(registers, operand, ScalarType::Pred),
            None => [u64::from(reduces); 32],
        };
        Arrival {
            kind,
            barrier: self.source(registers, 0, ScalarType::U32, 0)[lowest] as u32,
            count: has_count.then(|| self.source(registers, 1, ScalarType::U32, 0)[lowest] as u32),
            truths: lanes(u32::MAX).fold(0, |mask, lane| mask | (truths[lane] as u32 & 1) << lane),
        }
    }

    fn system<O: Observer>(&self, run: &mut Running<'_, '_, O>, service: SystemCall) -> Result<(), ExecError> {
        let registers = run.registers();
        let arguments: Vec<LaneValues> = self
            .inst
            .sources
            .iter()
            .map(|operand| {
                let is_word = operand.register().is_some_and(|register| register.width == Width::Word);
                self.all(registers, operand, if is_word { ScalarType::U32 } else { ScalarType::U64 })
            })
            .collect();
        let results = run.system_call((self.on, self.inst.pc), service, &arguments)?;
        let is_address = service == SystemCall::Malloc && run.decoded().address_bits() == 64;
        let ty = if is_address { ScalarType::U64 } else { ScalarType::U32 };
        self.write(run.registers(), 0, ty, &results);
        Ok(())
    }

    /// What is asked of memory: a place of the operation, for some lanes.
    fn request(&self, registers: &Registers, place: u32, memory: &MemoryReference, on: u32) -> Request {
        let is_word = memory.base.register().is_some_and(|register| register.width == Width::Word);
        let address = |lane: usize| {
            if is_word {
                let base = self.read(registers, &memory.base, ScalarType::U32, lane) as u32;
                return u64::from(base.wrapping_add(memory.offset as u32));
            }
            let base = self.read(registers, &memory.base, ScalarType::U64, lane) as u64;
            base.wrapping_add_signed(memory.offset)
        };
        Request {
            pc: self.inst.pc,
            place,
            space: memory.space,
            lanes: on,
            addresses: std::array::from_fn(address),
            element_bytes: self.inst.ty.bytes() as u8,
            elements: memory.elements,
            ordered: self.inst.operation.is_ordered(),
        }
    }

    /// The elements of lanes, each of one or two parts.
    fn joined(&self, parts: &[LaneValues], element: usize, lane: usize) -> u128 {
        if self.inst.ty.bits() < 128 {
            return parts[element][lane].into();
        }
        u128::from(parts[2 * element][lane]) | u128::from(parts[2 * element + 1][lane]) << 64
    }

    fn load<O: Observer>(&self, run: &mut Running<'_, '_, O>, number: u32) -> Result<(), ExecError> {
        let place = run.code().places[number as usize];
        let request = self.request(run.registers(), place, &self.inst.memory[0], self.on);
        let parts = run.load(&request)?;
        let ty = self.inst.ty;
        for (element, register) in self.inst.destinations.iter().enumerate() {
            let Some(register) = register else { continue };
            let value = |lane: usize| {
                let bits = self.joined(&parts, element, lane);
                // A signed number that is narrower than its register extends to all of it.
                let is_narrow = ty.bits() < register.width.bits();
                let extended = if ty.is_signed() && is_narrow { signed(bits, ty.bits()) as u128 } else { bits };
                let width = register.width.bits().max(ty.bits());
                (extended & ones(width), crate::meaning::bits_of(width).unwrap_or(ty))
            };
            write(run.registers(), (self.frame, *register), self.on, value);
        }
        Ok(())
    }

    /// What a store or an atomic is given, in parts of at most 64 bits.
    fn values(&self, registers: &Registers) -> Vec<LaneValues> {
        let ty = self.inst.ty;
        let mut values = Vec::new();
        for operand in &self.inst.sources {
            let wide: [u128; 32] = std::array::from_fn(|lane| self.read(registers, operand, ty, lane));
            values.push(wide.map(|value| value as u64));
            if ty.bits() == 128 {
                values.push(wide.map(|value| (value >> 64) as u64));
            }
        }
        values
    }

    fn store<O: Observer>(&self, run: &mut Running<'_, '_, O>, number: u32) -> Result<(), ExecError> {
        let place = run.code().places[number as usize];
        let registers = run.registers();
        let request = self.request(registers, place, &self.inst.memory[0], self.on);
        let values = self.values(registers);
        run.store(&request, &values)
    }

    fn atomic<O: Observer>(&self, run: &mut Running<'_, '_, O>, number: u32, op: AtomicOp) -> Result<(), ExecError> {
        let place = run.code().places[number as usize];
        let registers = run.registers();
        let request = Request { ordered: true, ..self.request(registers, place, &self.inst.memory[0], self.on) };
        let operands = self.values(registers);
        let old = run.update(&request, (op, self.inst.ty), &operands)?;
        if let (128, Some(Some(register))) = (self.inst.ty.bits(), self.inst.destinations.first()) {
            let value = |lane: usize| (self.joined(&old, 0, lane), self.inst.ty);
            write(run.registers(), (self.frame, *register), self.on, value);
            return Ok(());
        }
        for (element, values) in old.iter().enumerate() {
            self.write(run.registers(), element, self.inst.ty, values);
        }
        Ok(())
    }

    /// The atomic of each lane, in each block that its mask names.
    fn atomic_in_ctas<O: Observer>(
        &self,
        run: &mut Running<'_, '_, O>,
        number: u32,
        op: AtomicOp,
    ) -> Result<(), ExecError> {
        let place = run.code().places[number as usize];
        let registers = run.registers();
        let request = Request { ordered: true, ..self.request(registers, place, &self.inst.memory[0], self.on) };
        let operands = self.source(registers, 0, self.inst.ty, 0);
        let masks = self.source(registers, 1, ScalarType::U32, 0);
        for lane in lanes(self.on) {
            for rank in lanes(masks[lane] as u32) {
                let one = Request { lanes: 1 << lane, ..in_cta(rank, &request) };
                run.update(&one, (op, self.inst.ty), &[operands])?;
            }
        }
        Ok(())
    }

    /// Lanes that ask for zeros read nothing; those that ask for some bytes read these.
    fn copy<O: Observer>(&self, run: &mut Running<'_, '_, O>, number: u32, read: CopyRead) -> Result<(), ExecError> {
        let place = run.code().places[number as usize];
        let [to, from] = &self.inst.memory[..] else { return Err(run.unsupported(self.inst.pc, self.on)) };
        let registers = run.registers();
        let bytes: [u32; 32] = match read {
            CopyRead::Unless => {
                self.source(registers, 0, ScalarType::Pred, 0).map(|zeros| u32::from(zeros == 0) * MOST)
            }
            CopyRead::Bytes => self.source(registers, 0, ScalarType::U32, MOST.into()).map(|bytes| bytes as u32),
        };
        let reading = lanes(self.on).filter(|&lane| bytes[lane] > 0).fold(0, |mask, lane| mask | 1 << lane);
        let store = self.request(registers, place, to, self.on);
        let load = self.request(registers, place + 1, from, reading);
        let mut values = vec![[0; 32]; store.n_values()];
        if reading != 0 {
            let loaded = run.load_part(&load, &bytes)?;
            for (values, loaded) in values.iter_mut().zip(loaded) {
                lanes(reading).for_each(|lane| values[lane] = loaded[lane]);
            }
        }
        run.store(&store, &values)
    }

    /// Warp 4g + w of a CTA makes the rows 16w to 16w + 15.
    fn multiply_group<O: Observer>(
        &self,
        run: &mut Running<'_, '_, O>,
        product: &GroupProduct,
    ) -> Result<(), ExecError> {
        run.come_to_group_product(self.inst.pc)?;
        let cores = run.tensor_cores(product.work());
        let (sources, at) = (&self.inst.sources, (self.inst.pc, self.on.trailing_zeros()));
        let lane = at.1 as usize;
        let [_, a_type, b_type, _] = product.product.types;
        let (n, k) = (u64::from(product.product.shape.n), u64::from(product.product.shape.k));
        let is_sparse = product.product.sparsity.is_some();
        let held_depth = if is_sparse { k / 2 } else { k };
        let n_a = if product.a_in_shared { 1 } else { 4 };
        let descriptor = |index: usize, run: &mut Running<'_, '_, O>| {
            self.all(run.registers(), &sources[index], ScalarType::B64)[lane]
        };
        let a = if product.a_in_shared {
            let (from, first) = (descriptor(0, run), u64::from(run.warp_index() % 4) * 16);
            let read = |address: u64| run.shared_bytes(address as u32, at);
            group::matrix(from, a_type, (first, 16, held_depth), product.product.turned[0], read)?
        } else {
            let held: Vec<LaneValues> =
                (0..4).map(|index| self.source(run.registers(), index, ScalarType::B32, 0)).collect();
            tensor::rows(&held, a_type, held_depth as usize)
        };
        let from = descriptor(n_a, run);
        let read = |address: u64| run.shared_bytes(address as u32, at);
        let b = group::matrix(from, b_type, (0, n, k), product.product.turned[1], read)?;
        let registers = run.registers();
        let adds = self.all(registers, &sources[n_a + 1], ScalarType::Pred)[lane] == 1;
        let accumulators: Vec<LaneValues> = sources[n_a + 2..][..self.inst.destinations.len()]
            .iter()
            .map(|operand| if adds { self.all(registers, operand, ScalarType::B32) } else { [0; 32] })
            .collect();
        let metadata =
            sources.last().filter(|_| is_sparse).map(|operand| self.all(registers, operand, ScalarType::B32));
        let results = group::product(cores, product, (&a, &b), &accumulators, metadata.as_ref());
        for (index, values) in results.iter().enumerate() {
            self.write(run.registers(), index, ScalarType::B32, values);
        }
        Ok(())
    }

    /// The lanes that name rows read them; each lane takes two elements of each matrix, one after the other.
    fn load_matrices<O: Observer>(
        &self,
        run: &mut Running<'_, '_, O>,
        number: u32,
        matrices: MatrixMove,
    ) -> Result<(), ExecError> {
        let place = run.code().places[number as usize];
        let naming = self.on & first_lanes(8 * usize::from(matrices.count));
        let request = self.request(run.registers(), place, &self.inst.memory[0], naming);
        let words = if naming == 0 { vec![[0; 32]; 4] } else { run.load(&request)? };
        for matrix in 0..usize::from(matrices.count) {
            let element = |row: usize, column: usize| {
                let from = 8 * matrix + row;
                let word = if naming >> from & 1 == 1 { words[column / 2][from] } else { 0 };
                if column.is_multiple_of(2) { word % (1 << 16) } else { word >> 16 }
            };
            let bits: u64 = match matrices.elements {
                MovedElements::SixBits => 6,
                MovedElements::FourBits => 4,
                MovedElements::Halves | MovedElements::Bytes => 16,
            };
            // An element of less than a byte may lie in two words.
            let narrow = |row: usize, column: u64| {
                let from = 8 * matrix + row;
                let bit =
                    |at: u64| if naming >> from & 1 == 1 { words[at as usize / 32][from] >> (at % 32) & 1 } else { 0 };
                (0..bits).map(|at| bit(bits * column + at) << at).sum::<u64>()
            };
            let values = std::array::from_fn(|lane| {
                if bits < 8 {
                    return (0..4).map(|at| narrow(lane / 4, 4 * (lane as u64 % 4) + at) << (8 * at)).sum();
                }
                let pair = [2 * (lane % 4), 2 * (lane % 4) + 1].map(|place| match matrices.transposed {
                    false => element(lane / 4, place),
                    true => element(place, lane / 4),
                });
                pair[0] + (pair[1] << 16)
            });
            self.write(run.registers(), matrix, ScalarType::B32, &values);
        }
        Ok(())
    }

    /// The other way round.
    fn store_matrices<O: Observer>(
        &self,
        run: &mut Running<'_, '_, O>,
        number: u32,
        matrices: MatrixMove,
    ) -> Result<(), ExecError> {
        let place = run.code().places[number as usize];
        let naming = self.on & first_lanes(8 * usize::from(matrices.count));
        let registers = run.registers();
        let request = self.request(registers, place, &self.inst.memory[0], naming);
        let held = self.values(registers);
        let mut words = vec![[0; 32]; 4];
        for (matrix, values) in held.iter().enumerate() {
            for lane in lanes(self.on) {
                if matrices.elements == MovedElements::Bytes {
                    for at in 0..4 {
                        let (row, column) = (lane / 4 + at / 2 * 8, 2 * (lane % 4) + at % 2);
                        words[row / 4][8 * matrix + column] |= (values[lane] >> (8 * at) & 0xff) << (8 * (row % 4));
                    }
                    continue;
                }
                for place in 0..2 {
                    let (line, at) = (lane / 4, 2 * (lane % 4) + place);
                    let (row, column) = if matrices.transposed { (at, line) } else { (line, at) };
                    let element = values[lane] >> (16 * place) & 0xffff;
                    words[column / 2][8 * matrix + row] |= element << (16 * (column % 2));
                }
            }
        }
        if naming == 0 { Ok(()) } else { run.store(&request, &words) }
    }

    /// Each lane clears its bytes with requests of up to 32 places of 8 bytes.
    fn fill_bulk<O: Observer>(&self, run: &mut Running<'_, '_, O>, number: u32) -> Result<(), ExecError> {
        let place = run.code().places[number as usize];
        let registers = run.registers();
        let bytes = self.source(registers, 0, ScalarType::U64, 0);
        let request = self.request(registers, place, &self.inst.memory[0], self.on);
        for lane in lanes(self.on) {
            let places: Vec<u64> =
                (0..bytes[lane]).step_by(8).map(|at| request.addresses[lane].wrapping_add(at)).collect();
            for some in places.chunks(32) {
                let one = Request {
                    lanes: first_lanes(some.len()),
                    addresses: std::array::from_fn(|n| some.get(n).copied().unwrap_or(0)),
                    elements: 1,
                    ..request.clone()
                };
                run.store(&one, &[[0; 32]]).map_err(|error| run.asked_by(lane, error))?;
            }
        }
        Ok(())
    }

    /// Each lane moves its bytes with as many requests of 32 places of 16 bytes as that takes.
    fn copy_bulk<O: Observer>(
        &self,
        run: &mut Running<'_, '_, O>,
        number: u32,
        reduction: Option<AtomicOp>,
        is_multicast: bool,
    ) -> Result<(), ExecError> {
        let first_place = run.code().places[number as usize];
        let [to, from] = &self.inst.memory[..] else { return Err(run.unsupported(self.inst.pc, self.on)) };
        let bytes = self.source(run.registers(), 0, ScalarType::U32, 0);
        let masks = self.source(run.registers(), 1, ScalarType::U32, 0);
        for lane in lanes(self.on) {
            for start in (0..bytes[lane]).step_by(512) {
                let n_places = (bytes[lane] - start).min(512).div_ceil(16);
                let of_lane = |place: u32, request: Request| Request {
                    place,
                    lanes: (0..n_places).fold(0, |mask, place| mask | 1 << place),
                    addresses: std::array::from_fn(|n| request.addresses[lane].wrapping_add(start + 16 * n as u64)),
                    elements: (16 / self.inst.ty.bytes()) as u8,
                    ..request
                };
                let load = of_lane(first_place + 1, self.request(run.registers(), first_place, from, self.on));
                let values = run.load(&load).map_err(|error| run.asked_by(lane, error))?;
                let store = of_lane(first_place, self.request(run.registers(), first_place, to, self.on));
                let targets = match is_multicast {
                    true => lanes(masks[lane] as u32).map(|rank| in_cta(rank, &store)).collect(),
                    false => vec![store],
                };
                for store in targets {
                    let written = match reduction {
                        Some(op) => {
                            run.update(&Request { ordered: true, ..store }, (op, self.inst.ty), &values).map(drop)
                        }
                        None => run.store(&store, &values),
                    };
                    written.map_err(|error| run.asked_by(lane, error))?;
                }
            }
        }
        Ok(())
    }
}

/// The request at the same places of another CTA of the cluster.
fn in_cta(rank: usize, request: &Request) -> Request {
    let offset_bits = warplens_isa::CLUSTER_WINDOW_BITS;
    let moved = |address: u64| (address & ((1 << offset_bits) - 1)) | (rank as u64 + 1) << offset_bits;
    Request { addresses: request.addresses.map(moved), ..request.clone() }
}
