//! Calls and returns, the frames that they make, and memory that functions reserve on the stack.

use warplens_ir::FunctionId;
use warplens_isa::{BlockId, Pc};
use warplens_trace::{ActiveMask, Observer};

use crate::cta::{Cta, Warp};
use crate::decoded::{Block, Call, Callee, Code, Flow, Function, Operand};
use crate::divergence::{Caller, Path};
use crate::engine::{Engine, Frame, LaneValues};
use crate::error::ExecError;
use crate::flow::go;
use crate::interpret::Worker;

/// Stack of a thread: frames of local memory and registers together.
pub(crate) const STACK_LIMIT: u64 = 512 << 10;

impl<E: Engine, O: Observer> Worker<'_, E, O> {
    pub(crate) fn call(
        &mut self,
        cta: &mut Cta<E, O::Cta>,
        warp_index: usize,
        mut path: Path,
        block: &Block,
        call: &Call,
        on: u32,
    ) -> Result<Option<Path>, ExecError> {
        let warp = &mut cta.warps[warp_index];
        if on == 0 {
            return Ok(go(warp, path, call.next));
        }
        let off = (on != path.mask).then(|| Path { mask: path.mask & !on, ..path.clone() });
        warp.nodes.call(&mut path, call.next, off);
        path.mask = on;
        let mut entered = Vec::new();
        for (callee, lanes) in self.callees(cta, warp_index, &path, block, call)? {
            let part = Path { mask: lanes, ..path.clone() };
            entered.push(self.enter(cta, warp_index, part, block, call, callee)?);
        }
        let first = entered.pop();
        cta.warps[warp_index].runnable.extend(entered);
        Ok(first)
    }

    /// The functions that the lanes of a path call.
    fn callees(
        &mut self,
        cta: &Cta<E, O::Cta>,
        warp_index: usize,
        path: &Path,
        block: &Block,
        call: &Call,
    ) -> Result<Vec<(FunctionId, u32)>, ExecError> {
        let operand = match call.callee {
            Callee::Direct(function) => return Ok(vec![(function, path.mask)]),
            Callee::Indirect(operand) => operand,
        };
        let addresses = self.operand(cta, warp_index, path, operand);
        let code = self.shared.code();
        let mut parts: Vec<(FunctionId, u32)> = Vec::new();
        for lane in ActiveMask(path.mask).lanes() {
            let address = addresses[lane];
            let fits = |function: &FunctionId| {
                let callee = &code.functions[*function];
                let fits_registers = !callee.is_subroutine || callee.words == code.functions[path.frame.function].words;
                callee.arguments.len() == call.arguments.len()
                    && callee.results.len() >= call.results.len()
                    && fits_registers
            };
            let Some(function) = code.function_at(address).filter(fits) else {
                let thread = self.thread(cta.coordinates, warp_index as u32, 1 << lane);
                return Err(ExecError::BadTarget { pc: block.flow_pc, thread, what: "call", address });
            };
            match parts.iter_mut().find(|(callee, _)| *callee == function) {
                Some((_, mask)) => *mask |= 1 << lane,
                None => parts.push((function, 1 << lane)),
            }
        }
        Ok(parts)
    }

    /// Makes a frame for the callee and copies the arguments.
    fn enter(
        &mut self,
        cta: &mut Cta<E, O::Cta>,
        warp_index: usize,
        mut path: Path,
        block: &Block,
        call: &Call,
        callee: FunctionId,
    ) -> Result<Path, ExecError> {
        let (code, bound) = (self.shared.code(), self.shared.bound());
        let (caller, function) = (&code.functions[path.frame.function], &code.functions[callee]);
        if function.is_subroutine {
            return self.enter_subroutine(cta, warp_index, path, block, callee);
        }
        let top = frame_top(bound, &cta.warps[warp_index], &path, caller).next_multiple_of(16);
        let frame = Frame {
            function: callee,
            words: path.frame.words + caller.words,
            predicates: path.frame.predicates + caller.predicates,
            local: top,
        };
        let n_words = frame.words + function.words;
        let stack = u64::from(frame.local) + u64::from(function.local_bytes) + 4 * u64::from(n_words);
        if stack > STACK_LIMIT {
            let thread = self.thread(cta.coordinates, warp_index as u32, path.mask);
            return Err(ExecError::StackOverflow { pc: block.flow_pc, thread, limit: STACK_LIMIT });
        }
        let warp = &mut cta.warps[warp_index];
        E::reserve(&mut warp.registers, n_words, frame.predicates + function.predicates);
        warp.reserve_local(frame.local + function.local_bytes);
        for (argument, &register) in call.arguments.iter().zip(&function.arguments) {
            if let Operand::Register(from) = argument {
                let registers = &mut cta.warps[warp_index].registers;
                E::copy(bound, registers, (path.frame, *from), (frame, register), path.mask);
                continue;
            }
            let values = self.operand(cta, warp_index, &path, *argument);
            E::set_values(bound, &mut cta.warps[warp_index].registers, frame, register, path.mask, &values);
        }
        if let Some(register) = function.stack {
            let tops = [u64::from(frame.local + function.local_bytes); 32];
            E::set_values(bound, &mut cta.warps[warp_index].registers, frame, register, path.mask, &tops);
        }
        path.callers.push(Caller { block: path.block, frame: path.frame });
        path.frame = frame;
        path.block = function.entry.expect("called functions have bodies");
        Ok(path)
    }

    /// Goes on in a subroutine, which works on the frame of its caller.
    fn enter_subroutine(
        &self,
        cta: &Cta<E, O::Cta>,
        warp_index: usize,
        mut path: Path,
        block: &Block,
        callee: FunctionId,
    ) -> Result<Path, ExecError> {
        // Nothing but the place to return to is kept, and there is room for that many.
        if path.callers.len() as u64 * 8 > STACK_LIMIT {
            let thread = self.thread(cta.coordinates, warp_index as u32, path.mask);
            return Err(ExecError::StackOverflow { pc: block.flow_pc, thread, limit: STACK_LIMIT });
        }
        path.callers.push(Caller { block: path.block, frame: path.frame });
        path.frame.function = callee;
        path.block = self.shared.code().functions[callee].entry.expect("called functions have bodies");
        Ok(path)
    }

    /// Returns the lanes in `on` to the caller; the others go to `next`.
    pub(crate) fn return_(
        &mut self,
        cta: &mut Cta<E, O::Cta>,
        warp_index: usize,
        mut path: Path,
        on: u32,
        next: Option<BlockId>,
    ) -> Option<Path> {
        let (code, bound) = (self.shared.code(), self.shared.bound());
        let warp = &mut cta.warps[warp_index];
        let off = path.mask & !on;
        if let Some(next) = next
            && off != 0
        {
            warp.nodes.stay(&mut warp.runnable, Path { mask: off, ..path.clone() }, next, on != 0);
        }
        if on == 0 {
            return warp.runnable.pop();
        }
        path.mask = on;
        let callee = &code.functions[path.frame.function];
        let caller = path.callers.pop().expect("a return without caller is an exit");
        let call = call_of(code, &caller);
        for (register, &result) in call.results.iter().zip(&callee.results) {
            if let Some(register) = register {
                E::copy(bound, &mut warp.registers, (path.frame, result), (caller.frame, *register), on);
            }
        }
        path.frame = caller.frame;
        go(warp, path, call.next)
    }

    /// Reserves local memory behind what the lanes of the mask have. Returns where it begins in each.
    pub(crate) fn allocate_stack(
        &mut self,
        cta: &mut Cta<E, O::Cta>,
        warp_index: usize,
        path: &Path,
        (mask, pc): (u32, Pc),
        (bytes, aligns): (&LaneValues, &LaneValues),
    ) -> Result<LaneValues, ExecError> {
        let (code, bound) = (self.shared.code(), self.shared.bound());
        let function = &code.functions[path.frame.function];
        let register = function.stack.expect("a function that reserves memory has the register");
        let warp = &mut cta.warps[warp_index];
        let mut tops = E::values(bound, &warp.registers, path.frame, register);
        let mut addresses = [0; 32];
        for lane in ActiveMask(mask).lanes() {
            let start = tops[lane].next_multiple_of(aligns[lane].max(1));
            let end = start.saturating_add(bytes[lane]);
            if end > STACK_LIMIT {
                let thread = self.thread(cta.coordinates, warp_index as u32, 1 << lane);
                return Err(ExecError::StackOverflow { pc, thread, limit: STACK_LIMIT });
            }
            (addresses[lane], tops[lane]) = (start, end);
        }
        E::set_values(bound, &mut warp.registers, path.frame, register, mask, &tops);
        let top = frame_top(bound, warp, path, function);
        warp.reserve_local(top);
        Ok(addresses)
    }

    /// The values of an operand in all lanes, for what is no operation: calls and branches through tables.
    pub(crate) fn operand(
        &mut self,
        cta: &Cta<E, O::Cta>,
        warp_index: usize,
        path: &Path,
        operand: Operand,
    ) -> LaneValues {
        match operand {
            Operand::Register(register) | Operand::NotPredicate(register) => {
                E::values(self.shared.bound(), &cta.warps[warp_index].registers, path.frame, register)
            }
            Operand::Immediate(value) => [value; 32],
            Operand::Parameter(offset) => [self.parameter(offset, 8); 32],
            // The words of a call and the index of a branch have no sign.
            Operand::Signed(_, value) => self.operand(cta, warp_index, path, value.operand()),
            Operand::Special(register) => self.special_values((warp_index as u32, cta.coordinates), register),
            Operand::Frame(offset) => [u64::from(path.frame.local).wrapping_add_signed(offset); 32],
        }
    }

    /// A parameter of the launch in the low bytes, as much of it as there is.
    pub(crate) fn parameter(&self, offset: u32, bytes: usize) -> u64 {
        let parameters = self.shared.launch.parameters.iter().skip(offset as usize).take(bytes);
        parameters.enumerate().fold(0, |value, (at, &byte)| value | u64::from(byte) << (8 * at))
    }
}

/// The call that a caller made.
fn call_of<'c>(code: &'c Code, caller: &Caller) -> &'c Call {
    match &code.block(caller.block).flow {
        Flow::Call(call) => call,
        _ => unreachable!("frames are made by calls"),
    }
}

/// One past the last byte of local memory that the lanes of a path have.
#[inline(always)]
pub(crate) fn frame_top<E: Engine>(code: &E::Code, warp: &Warp<E>, path: &Path, function: &Function) -> u32 {
    let fixed = path.frame.local + function.local_bytes;
    match function.stack {
        None => fixed,
        Some(register) => {
            let tops = E::values(code, &warp.registers, path.frame, register);
            ActiveMask(path.mask).lanes().map(|lane| tops[lane] as u32).fold(fixed, u32::max)
        }
    }
}
