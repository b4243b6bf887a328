//! What graphs of both interfaces have in common: structures of nodes, lists, captures.

use std::cell::RefCell;

use warplens_runtime::{CaptureInfo, CaptureMode, Fill, Operation, Request, Rows, Status};

use crate::Runtime;
use crate::driver_module::given_parameters;
use crate::pointers::{Arguments, Callback, HostFunction, In, Memory, Out, number_of};
use crate::structures::Dim3;

type Result<T> = std::result::Result<T, Status>;

/// Most nodes of a list: a longer one is no list.
const MOST_NODES: usize = 1 << 24;

/// `cudaKernelNodeParams` and `CUDA_KERNEL_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct KernelNode {
    function: Memory,
    grid: Dim3,
    block: Dim3,
    shared: u32,
    arguments: Arguments,
    extra: In<Memory>,
}

impl KernelNode {
    /// The launch.
    pub(crate) fn operation(self, runtime: &mut Runtime) -> Result<Operation> {
        let function = runtime.function_or_stub(self.function.address())?;
        let parameters = given_parameters(runtime, function, self.arguments, self.extra)?;
        Ok(Operation::Launch(Request {
            function,
            stream: 0,
            grid: self.grid.extents(),
            block: self.block.extents(),
            cluster: None,
            dynamic_shared: self.shared.into(),
            cooperative: false,
            parameters,
        }))
    }
}

/// `cudaMemsetParams` and `CUDA_MEMSET_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct FillNode {
    to: u64,
    pitch: usize,
    value: u32,
    element: u32,
    width: usize,
    height: usize,
}

impl FillNode {
    /// The setting of memory.
    pub(crate) fn operation(self) -> Result<Operation> {
        let element = self.element as usize;
        if !matches!(element, 1 | 2 | 4) {
            return Err(Status::INVALID_VALUE);
        }
        let bytes = self.width.checked_mul(element).ok_or(Status::INVALID_VALUE)?;
        let to = Rows { address: self.to, pitch: self.pitch as u64, slice: 0 };
        let pattern = self.value.to_le_bytes()[..element].to_vec();
        Ok(Operation::Fill(Fill { to, pattern, extent: [bytes as u64, self.height as u64, 1] }))
    }
}

/// `cudaHostNodeParams` and `CUDA_HOST_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct HostNode {
    function: Callback<HostFunction>,
    data: Memory,
}

impl HostNode {
    /// The call.
    pub(crate) fn operation(self) -> Result<Operation> {
        Ok(Operation::Host { function: number_of(self.function.get()?), data: self.data.address() })
    }
}

/// `cudaMemAllocNodeParams` and `CUDA_MEM_ALLOC_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct AllocationNode {
    /// Properties of the pool, and who may access it.
    pool: [u64; 13],
    bytes: usize,
    address: u64,
}

/// `cudaGraphNodeParams` and `CUgraphNodeParams`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct AnyNode {
    kind: i32,
    reserved: [i32; 3],
    /// A union.
    content: [u64; 29],
}

/// Handles in a list.
pub(crate) fn nodes(list: In<u64>, count: usize) -> Result<Vec<u64>> {
    if count > MOST_NODES {
        return Err(Status::INVALID_VALUE);
    }
    list.list(count)
}

/// Pairs of handles in two lists.
pub(crate) fn edges(from: In<u64>, to: In<u64>, count: usize) -> Result<Vec<(u64, u64)>> {
    Ok(nodes(from, count)?.into_iter().zip(nodes(to, count)?).collect())
}

/// Stores a list, or how long it is where there is no place for it. Places that are left get no handle.
pub(crate) fn answer(found: &[u64], to: Out<u64>, count: Out<usize>) -> Result<()> {
    if to.is_null() {
        return count.set(found.len());
    }
    let room = count.get()?;
    if room > MOST_NODES {
        return Err(Status::INVALID_VALUE);
    }
    let mut stored = found[..found.len().min(room)].to_vec();
    stored.resize(room, 0);
    to.set_list(&stored)?;
    count.set(found.len().min(room))
}

/// The same for two lists of one length.
pub(crate) fn answer_edges(found: &[(u64, u64)], from: Out<u64>, to: Out<u64>, count: Out<usize>) -> Result<()> {
    let (before, after): (Vec<u64>, Vec<u64>) = found.iter().copied().unzip();
    if from.is_null() != to.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    let room = if from.is_null() { 0 } else { count.get()? };
    answer(&before, from, count)?;
    if !to.is_null() {
        count.set(room)?;
        answer(&after, to, count)?;
    }
    Ok(())
}

/// Adds a node behind those of a list.
pub(crate) fn add(
    runtime: &mut Runtime,
    to: Out<u64>,
    graph: Memory,
    (after, count): (In<u64>, usize),
    operation: Operation,
) -> Result<()> {
    let after = nodes(after, count)?;
    to.set(runtime.add_node(graph.address(), &after, operation)?)
}

/// What a node of a union does. `copy` reads copies, which the interfaces describe in their own ways.
pub(crate) fn any(
    runtime: &mut Runtime,
    node: Out<AnyNode>,
    call: &str,
    copy: impl FnOnce(&Runtime, Memory) -> Result<Operation>,
) -> Result<Operation> {
    let AnyNode { kind, reserved, mut content } = node.get()?;
    let memory = Memory::of_words(&content);
    Ok(match kind {
        0 => In::<KernelNode>::of(memory).get()?.operation(runtime)?,
        // Flags lie before the copy.
        1 => copy(runtime, memory.offset(16))?,
        2 => In::<FillNode>::of(memory).get()?.operation()?,
        3 => In::<HostNode>::of(memory).get()?.operation()?,
        4 => Operation::Graph(content[0]),
        5 => Operation::Empty,
        6 => Operation::Wait(content[0]),
        7 => Operation::Record(content[0]),
        10 => {
            let mut allocation = In::<AllocationNode>::of(memory).get()?;
            let operation = allocate(runtime, &mut allocation, call)?;
            // The last word of the structure.
            content[14] = allocation.address;
            node.set(AnyNode { kind, reserved, content })?;
            operation
        }
        11 => Operation::Free(content[0]),
        _ => return Err(runtime.unsupported(&format!("{call} for nodes of kind {kind}"))),
    })
}

fn allocate(runtime: &mut Runtime, node: &mut AllocationNode, call: &str) -> Result<Operation> {
    let operation = runtime.allocate_for_graph(call, node.bytes as u64)?;
    if let Operation::Allocate { address, .. } = operation {
        node.address = address;
    }
    Ok(operation)
}

/// An allocation, whose address is stored in its description.
pub(crate) fn allocation(runtime: &mut Runtime, node: Out<AllocationNode>, call: &str) -> Result<Operation> {
    let mut description = node.get()?;
    let operation = allocate(runtime, &mut description, call)?;
    node.set(description)?;
    Ok(operation)
}

/// Memory that a node frees: the start of an allocation of a graph.
pub(crate) fn freed(runtime: &Runtime, memory: u64) -> Result<Operation> {
    let is_start = runtime.pointer(memory).is_some_and(|pointer| pointer.base == memory);
    if is_start { Ok(Operation::Free(memory)) } else { Err(Status::INVALID_VALUE) }
}

/// Makes a graph ready, and stores where it failed: nowhere.
pub(crate) fn instantiate(runtime: &mut Runtime, to: Out<u64>, graph: Memory, flags: u64) -> Result<()> {
    to.set(runtime.instantiate(graph.address(), flags)?)
}

/// `cudaGraphInstantiateParams` and `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Instantiation {
    flags: u64,
    stream: u64,
    node: u64,
    result: i32,
}

/// The same with a structure for flags and results.
pub(crate) fn instantiate_with(
    runtime: &mut Runtime,
    to: Out<u64>,
    graph: Memory,
    parameters: Out<Instantiation>,
) -> Result<()> {
    let given = parameters.get()?;
    let made = instantiate(runtime, to, graph, given.flags);
    parameters.set(Instantiation { node: 0, result: i32::from(made.is_err()), ..given })?;
    made
}

/// `cudaGraphExecUpdateResultInfo` and `CUgraphExecUpdateResultInfo`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct UpdateInfo {
    pub(crate) result: i32,
    pub(crate) node: u64,
    from: u64,
}

/// Replaces what is performed by what another graph does.
pub(crate) fn update(runtime: &mut Runtime, executable: Memory, graph: Memory) -> Result<(UpdateInfo, Result<()>)> {
    Ok(match runtime.update_executable(executable.address(), graph.address())? {
        Ok(()) => (UpdateInfo { result: 0, node: 0, from: 0 }, Ok(())),
        Err(fault) => {
            let info = UpdateInfo { result: fault.reason, node: fault.node, from: 0 };
            (info, Err(Status::GRAPH_EXEC_UPDATE_FAILURE))
        }
    })
}

pub(crate) fn mode(number: i32) -> Result<CaptureMode> {
    CaptureMode::from_number(number).ok_or(Status::INVALID_VALUE)
}

/// Begins to capture behind nodes of a graph.
pub(crate) fn capture_to(
    runtime: &mut Runtime,
    stream: Memory,
    graph: Memory,
    (after, count): (In<u64>, usize),
    number: i32,
) -> Result<()> {
    let after = nodes(after, count)?;
    runtime.begin_capture(stream.address(), mode(number)?, Some((graph.address(), after)))
}

/// Replaces the mode of the thread by the one that it had.
pub(crate) fn exchange(runtime: &mut Runtime, number: Out<i32>) -> Result<()> {
    let new = mode(number.get()?)?;
    number.set(runtime.exchange_capture_mode(new).number())
}

thread_local! {
    /// The nodes that the thread asked for last, which it may look at until it asks again.
    static ASKED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Whether a stream is captured: not (0), yes (1), but the capture has failed (2).
pub(crate) fn capture_status(runtime: &mut Runtime, stream: Memory) -> Result<i32> {
    runtime.capture_info(stream.address()).map(|info| status_of(info.as_ref()))
}

fn status_of(info: Option<&CaptureInfo>) -> i32 {
    info.map_or(0, |info| if info.is_valid { 1 } else { 2 })
}

/// What is told about a capture, as far as it is wanted.
#[derive(Clone, Copy)]
pub(crate) struct InfoPlaces {
    pub(crate) status: Out<i32>,
    pub(crate) id: Out<u64>,
    /// Graph, nodes and their number, where the function has them.
    pub(crate) more: Option<(Out<u64>, Out<u64>, Out<usize>)>,
}

/// Tells about the capture of a stream.
pub(crate) fn capture_info(runtime: &mut Runtime, stream: Memory, places: InfoPlaces) -> Result<()> {
    let info = runtime.capture_info(stream.address())?;
    places.status.set(status_of(info.as_ref()))?;
    let Some(info) = info else { return Ok(()) };
    places.id.set_if_wanted(info.id);
    let Some((graph, nodes, count)) = places.more else { return Ok(()) };
    graph.set_if_wanted(info.graph);
    count.set_if_wanted(info.last.len());
    let address = ASKED.try_with(|asked| {
        let mut asked = asked.borrow_mut();
        *asked = info.last;
        asked.as_ptr().expose_provenance() as u64
    });
    nodes.set_if_wanted(address.unwrap_or(0));
    Ok(())
}

/// Adds to what the next node of a captured stream waits for, or replaces it.
pub(crate) fn update_capture(
    runtime: &mut Runtime,
    stream: Memory,
    (list, count): (In<u64>, usize),
    flags: u32,
) -> Result<()> {
    if flags > 1 {
        return Err(Status::INVALID_VALUE);
    }
    let nodes = nodes(list, count)?;
    runtime.update_capture(stream.address(), &nodes, flags == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_size_that_the_headers_give_them() {
        assert_eq!((size_of::<KernelNode>(), size_of::<FillNode>(), size_of::<HostNode>()), (56, 40, 16));
        assert_eq!((size_of::<AllocationNode>(), size_of::<AnyNode>()), (120, 248));
        assert_eq!((size_of::<Instantiation>(), size_of::<UpdateInfo>()), (32, 24));
    }
}
