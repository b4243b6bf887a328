//! What is asked of a stream: done at once, or kept where the stream is captured.

use warplens_runtime::{CopyKind, Fill, MemoryKind, Operation, Rows, Status, Transfer, is_empty};

use crate::pointers::{self, HostFunction, Memory};
use crate::{Runtime, host};

type Result<T> = std::result::Result<T, Status>;

/// Asks something of a stream.
pub(crate) fn submit(runtime: &mut Runtime, stream: u64, operation: Operation) -> Result<()> {
    match runtime.submit(stream, operation)? {
        Some(operation) => perform(runtime, stream, &operation),
        None => Ok(()),
    }
}

/// Does something in a stream. Functions of the host are called elsewhere, outside of the runtime.
pub(crate) fn perform(runtime: &mut Runtime, stream: u64, operation: &Operation) -> Result<()> {
    match operation {
        Operation::Launch(request) => {
            let mut request = request.clone();
            request.stream = stream;
            match runtime.launch(&request) {
                Ok(printed) => {
                    host::print(&printed);
                    Ok(())
                }
                // As on a GPU, the launch went well, and who waits for it learns how it ended.
                Err(status) if status.is_sticky() && runtime.alive().is_err() => Ok(()),
                Err(status) => Err(status),
            }
        }
        Operation::Copy(transfer) => copy(runtime, stream, transfer),
        Operation::Fill(what) => fill(runtime, stream, what),
        Operation::Record(event) => runtime.record_event(*event, stream),
        Operation::Wait(event) => runtime.wait_event(stream, *event),
        Operation::Empty
        | Operation::Host { .. }
        | Operation::Graph(_)
        | Operation::Allocate { .. }
        | Operation::Free(_) => Ok(()),
    }
}

/// Memory of a copy: that of the device, or that of the host at its own address.
fn side(runtime: &Runtime, rows: Rows, extent: [u64; 3]) -> Result<(Rows, bool)> {
    let Some(pointer) = runtime.pointer(rows.address) else { return Ok((rows, false)) };
    if pointer.kind == MemoryKind::Device {
        return Ok((rows, true));
    }
    // Memory of the host that the runtime gave out: what lies behind it is nobody's to copy.
    let own = runtime.host_address(rows.address);
    let left = runtime.host_address(pointer.base).wrapping_add(pointer.bytes).wrapping_sub(own);
    let steps = (extent[2] - 1).checked_mul(rows.slice).zip((extent[1] - 1).checked_mul(rows.pitch));
    let all = steps.and_then(|(slices, rows)| slices.checked_add(rows)?.checked_add(extent[0]));
    if all.is_none_or(|all| all > left) {
        return Err(Status::INVALID_VALUE);
    }
    Ok((Rows { address: own, ..rows }, false))
}

fn copy(runtime: &mut Runtime, stream: u64, transfer: &Transfer) -> Result<()> {
    runtime.alive()?;
    if is_empty(transfer.extent) {
        return Ok(());
    }
    let Transfer { to, from, extent } = transfer.merged();
    let ((to, to_device), (from, from_device)) = (side(runtime, to, extent)?, side(runtime, from, extent)?);
    let kind = match (to_device, from_device) {
        (true, true) => CopyKind::OnDevice,
        (true, false) => CopyKind::ToDevice,
        (false, true) => CopyKind::ToHost,
        (false, false) => CopyKind::OnHost,
    };
    let [width, height, depth] = extent;
    runtime.note_copy(kind, width.saturating_mul(height).saturating_mul(depth), stream)?;
    let bytes = usize::try_from(width).map_err(|_| Status::INVALID_VALUE)?;
    for (slice, row) in rows(height, depth) {
        let (to, from) = (to.row(slice, row), from.row(slice, row));
        match kind {
            CopyKind::OnDevice => runtime.copy(to, from, width)?,
            CopyKind::ToDevice => Memory::at(from).with_bytes(bytes, |bytes| runtime.write(to, bytes))?,
            CopyKind::ToHost => Memory::at(to).with_bytes_mut(bytes, |bytes| runtime.read(from, bytes))?,
            CopyKind::OnHost | CopyKind::Set => Memory::at(to).copy_from(Memory::at(from), bytes)?,
        }
    }
    Ok(())
}

fn rows(height: u64, depth: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..depth).flat_map(move |slice| (0..height).map(move |row| (slice, row)))
}

fn fill(runtime: &mut Runtime, stream: u64, what: &Fill) -> Result<()> {
    runtime.alive()?;
    if is_empty(what.extent) {
        return Ok(());
    }
    runtime.pointer(what.to.address).ok_or(Status::INVALID_VALUE)?;
    let Fill { to, pattern, extent } = what.merged();
    let (to, on_device) = side(runtime, to, extent)?;
    let [width, height, depth] = extent;
    runtime.note_copy(CopyKind::Set, width.saturating_mul(height).saturating_mul(depth), stream)?;
    for (slice, row) in rows(height, depth) {
        let to = to.row(slice, row);
        if on_device {
            runtime.fill(to, &pattern, width / pattern.len() as u64)?;
            continue;
        }
        let bytes = usize::try_from(width).map_err(|_| Status::INVALID_VALUE)?;
        Memory::at(to).with_bytes_mut(bytes, |bytes| {
            bytes.chunks_mut(pattern.len()).for_each(|chunk| chunk.copy_from_slice(&pattern[..chunk.len()]));
            Ok(())
        })?;
    }
    Ok(())
}

/// The way into the runtime of one of the interfaces.
pub(crate) type Guard = fn(&mut dyn FnMut(&mut Runtime) -> Result<()>) -> i32;

/// Calls a function of the program behind what is in a stream: at once, since that is done.
pub(crate) fn call_host(guard: Guard, stream: Memory, function: Result<HostFunction>, data: Memory) -> i32 {
    let mut is_now = false;
    let checked = guard(&mut |runtime| {
        let (function, data) = (pointers::number_of(function?), data.address());
        is_now = runtime.submit(stream.address(), Operation::Host { function, data })?.is_some();
        Ok(())
    });
    // Outside of the runtime, whose functions it must not call in CUDA, but may here.
    if let (0, true, Ok(function)) = (checked, is_now, function) {
        pointers::call(function, data);
    }
    checked
}

/// Performs a graph in a stream: each operation in a branch of its own, which begins when what it waits for has ended.
pub(crate) fn launch_graph(guard: Guard, executable: Memory, stream: Memory) -> i32 {
    let (executable, stream) = (executable.address(), stream.address());
    let mut steps = Vec::new();
    let mut begin = Default::default();
    let begun = guard(&mut |runtime| {
        let graph = runtime.executable_graph(executable)?;
        if runtime.submit(stream, Operation::Graph(graph))?.is_some() {
            steps = runtime.steps(executable)?;
            begin = runtime.begin_branches(stream)?;
        }
        Ok(())
    });
    if begun != 0 {
        return begun;
    }
    let mut ends = Vec::with_capacity(steps.len());
    for step in &steps {
        let done = guard(&mut |runtime| {
            let after: Vec<_> = step.after.iter().filter_map(|&before| ends.get(before).copied()).collect();
            let branch = runtime.begin_branch(stream, begin, &after);
            let done = perform(runtime, branch, &step.operation);
            ends.push(runtime.end_branch(branch));
            done
        });
        if done != 0 {
            return done;
        }
        if let Operation::Host { function, data } = step.operation {
            pointers::call_number(function, Memory::at(data));
        }
    }
    if steps.is_empty() { 0 } else { guard(&mut |runtime| runtime.end_branches(stream, &ends)) }
}
