//! Graphs and captured streams in the runtime API.

use warplens_runtime::{Operation, Status, Transfer};

use crate::arrays::RuntimeCopy;
use crate::graphs::{
    AllocationNode, AnyNode, FillNode, HostNode, InfoPlaces, Instantiation, KernelNode, UpdateInfo, add, allocation,
    answer, answer_edges, any, capture_info, capture_status, capture_to, edges, exchange, freed, instantiate,
    instantiate_with, mode, update, update_capture,
};
use crate::guard::{device_call, device_guard};
use crate::operations::launch_graph;
use crate::pointers::{In, Memory, Out};
use crate::structures::major_version;
use crate::{Runtime, api};

type Result<T> = std::result::Result<T, Status>;

fn copy(runtime: &Runtime, copy: In<RuntimeCopy>) -> Result<Operation> {
    Ok(Operation::Copy(copy.get()?.transfer(runtime)?))
}

fn line(to: Memory, from: Memory, bytes: usize) -> Operation {
    Operation::Copy(Transfer::line(to.address(), from.address(), bytes as u64))
}

/// The number behind a list: in version 12 it follows the list, since 13 what edges are like stands between.
fn behind(edge_data: Memory, count: usize) -> usize {
    if major_version() < 13 { edge_data.address() as usize } else { count }
}

fn place_behind(edge_data: Memory, count: Out<usize>) -> Out<usize> {
    if major_version() < 13 { Out::of_memory(edge_data) } else { count }
}

fn describe_any(runtime: &mut Runtime, node: Out<AnyNode>) -> Result<Operation> {
    any(runtime, node, "cudaGraphAddNode", |runtime, memory| copy(runtime, In::of(memory)))
}

/// Performs a graph in a stream.
///
/// # Safety
///
/// Functions of the host that the graph calls take their data.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaGraphLaunch(executable: Memory, stream: Memory) -> i32 {
    launch_graph(device_guard, executable, stream)
}

api! { device_call;
    /// Makes an empty graph.
    fn cudaGraphCreate(to: Out<u64>, _flags: u32) |runtime| { to.set(runtime.create_graph()?) }

    /// Takes a graph away.
    fn cudaGraphDestroy(graph: Memory) |runtime| { runtime.destroy_graph(graph.address()) }

    /// Copies a graph.
    fn cudaGraphClone(to: Out<u64>, graph: Memory) |runtime| { to.set(runtime.clone_graph(graph.address())?) }

    /// The copy of a node in a copy of its graph.
    fn cudaGraphNodeFindInClone(to: Out<u64>, node: Memory, clone: Memory) |runtime| {
        to.set(runtime.node_in_clone(node.address(), clone.address())?)
    }

    /// Adds a launch.
    fn cudaGraphAddKernelNode(
        to: Out<u64>, graph: Memory, after: In<u64>, count: usize, node: In<KernelNode>,
    ) |runtime| {
        let operation = node.get()?.operation(runtime)?;
        add(runtime, to, graph, (after, count), operation)
    }

    /// Adds a call of a function of the host.
    fn cudaGraphAddHostNode(to: Out<u64>, graph: Memory, after: In<u64>, count: usize, node: In<HostNode>) |runtime| {
        let operation = node.get()?.operation()?;
        add(runtime, to, graph, (after, count), operation)
    }

    /// Adds a graph.
    fn cudaGraphAddChildGraphNode(to: Out<u64>, graph: Memory, after: In<u64>, count: usize, child: Memory) |runtime| {
        add(runtime, to, graph, (after, count), Operation::Graph(child.address()))
    }

    /// Adds a node that does nothing.
    fn cudaGraphAddEmptyNode(to: Out<u64>, graph: Memory, after: In<u64>, count: usize) |runtime| {
        add(runtime, to, graph, (after, count), Operation::Empty)
    }

    /// Adds the recording of an event.
    fn cudaGraphAddEventRecordNode(to: Out<u64>, graph: Memory, after: In<u64>, count: usize, event: Memory) |runtime| {
        add(runtime, to, graph, (after, count), Operation::Record(event.address()))
    }

    /// Adds the waiting for an event.
    fn cudaGraphAddEventWaitNode(to: Out<u64>, graph: Memory, after: In<u64>, count: usize, event: Memory) |runtime| {
        add(runtime, to, graph, (after, count), Operation::Wait(event.address()))
    }

    /// Adds an allocation.
    fn cudaGraphAddMemAllocNode(
        to: Out<u64>, graph: Memory, after: In<u64>, count: usize, node: Out<AllocationNode>,
    ) |runtime| {
        let operation = allocation(runtime, node, "cudaGraphAddMemAllocNode")?;
        add(runtime, to, graph, (after, count), operation)
    }

    /// Adds the end of an allocation.
    fn cudaGraphAddMemFreeNode(to: Out<u64>, graph: Memory, after: In<u64>, count: usize, memory: Memory) |runtime| {
        let operation = freed(runtime, memory.address())?;
        add(runtime, to, graph, (after, count), operation)
    }

    /// Replaces a launch.
    fn cudaGraphKernelNodeSetParams(node: Memory, launch: In<KernelNode>) |runtime| {
        let operation = launch.get()?.operation(runtime)?;
        runtime.set_node(node.address(), operation)
    }

    /// Replaces a setting of memory.
    fn cudaGraphMemsetNodeSetParams(node: Memory, fill: In<FillNode>) |runtime| {
        runtime.set_node(node.address(), fill.get()?.operation()?)
    }

    /// Replaces a call of a function of the host.
    fn cudaGraphHostNodeSetParams(node: Memory, call: In<HostNode>) |runtime| {
        runtime.set_node(node.address(), call.get()?.operation()?)
    }

    /// Says which memory a launch prefers and the like, which changes no result.
    fn cudaGraphKernelNodeSetAttribute(node: Memory, _attribute: i32, _value: Memory) |runtime| {
        runtime.node_operation(node.address()).map(drop)
    }

    /// The same as of another launch.
    fn cudaGraphKernelNodeCopyAttributes(to: Memory, from: Memory) |runtime| {
        runtime.node_operation(to.address())?;
        runtime.node_operation(from.address()).map(drop)
    }

    /// The graph of a node.
    fn cudaGraphChildGraphNodeGetGraph(node: Memory, to: Out<u64>) |runtime| {
        match *runtime.node_operation(node.address())? {
            Operation::Graph(graph) => to.set(graph),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    /// What kind of node it is.
    fn cudaGraphNodeGetType(node: Memory, to: Out<i32>) |runtime| {
        to.set(runtime.node_operation(node.address())?.number())
    }

    /// Nodes of a graph.
    fn cudaGraphGetNodes(graph: Memory, to: Out<u64>, count: Out<usize>) |runtime| {
        answer(&runtime.graph_nodes(graph.address())?, to, count)
    }

    /// Nodes of a graph that wait for none.
    fn cudaGraphGetRootNodes(graph: Memory, to: Out<u64>, count: Out<usize>) |runtime| {
        let mut nodes = runtime.graph_nodes(graph.address())?;
        nodes.retain(|&node| runtime.node_dependencies(node).is_ok_and(|before| before.is_empty()));
        answer(&nodes, to, count)
    }

    /// Takes a node away.
    fn cudaGraphDestroyNode(node: Memory) |runtime| { runtime.destroy_node(node.address()) }

    /// Makes a graph ready.
    fn cudaGraphInstantiateWithFlags(to: Out<u64>, graph: Memory, flags: u64) |runtime| {
        instantiate(runtime, to, graph, flags)
    }

    /// The same with a structure for flags and results.
    fn cudaGraphInstantiateWithParams(to: Out<u64>, graph: Memory, parameters: Out<Instantiation>) |runtime| {
        instantiate_with(runtime, to, graph, parameters)
    }

    /// Flags that it was made ready with.
    fn cudaGraphExecGetFlags(executable: Memory, to: Out<u64>) |runtime| {
        to.set(runtime.executable_flags(executable.address())?)
    }

    /// Replaces a launch of what is performed.
    fn cudaGraphExecKernelNodeSetParams(executable: Memory, node: Memory, launch: In<KernelNode>) |runtime| {
        let operation = launch.get()?.operation(runtime)?;
        runtime.set_executable_node(executable.address(), node.address(), operation)
    }

    /// Replaces a call of what is performed.
    fn cudaGraphExecHostNodeSetParams(executable: Memory, node: Memory, call: In<HostNode>) |runtime| {
        runtime.set_executable_node(executable.address(), node.address(), call.get()?.operation()?)
    }

    /// Replaces a graph of what is performed.
    fn cudaGraphExecChildGraphNodeSetParams(executable: Memory, node: Memory, child: Memory) |runtime| {
        runtime.set_executable_node(executable.address(), node.address(), Operation::Graph(child.address()))
    }

    /// Replaces an event that is recorded.
    fn cudaGraphExecEventRecordNodeSetEvent(executable: Memory, node: Memory, event: Memory) |runtime| {
        runtime.set_executable_node(executable.address(), node.address(), Operation::Record(event.address()))
    }

    /// Replaces an event that is waited for.
    fn cudaGraphExecEventWaitNodeSetEvent(executable: Memory, node: Memory, event: Memory) |runtime| {
        runtime.set_executable_node(executable.address(), node.address(), Operation::Wait(event.address()))
    }

    /// Says whether something is done for a node.
    fn cudaGraphNodeSetEnabled(executable: Memory, node: Memory, enabled: u32) |runtime| {
        runtime.enable_node(executable.address(), node.address(), enabled != 0)
    }

    /// Whether something is done for a node.
    fn cudaGraphNodeGetEnabled(executable: Memory, node: Memory, to: Out<u32>) |runtime| {
        to.set(runtime.is_node_enabled(executable.address(), node.address())?.into())
    }

    /// Takes away what was made ready.
    fn cudaGraphExecDestroy(executable: Memory) |runtime| { runtime.destroy_executable(executable.address()) }

    /// Makes the first launch fast, which it is.
    fn cudaGraphUpload(executable: Memory, stream: Memory) |runtime| {
        runtime.stream_facts(stream.address())?;
        runtime.executable_graph(executable.address()).map(drop)
    }

    /// Makes a graph ready.
    fn cudaGraphInstantiate(to: Out<u64>, graph: Memory, flags: u64) |runtime| { instantiate(runtime, to, graph, flags) }

    /// Adds a setting of memory.
    fn cudaGraphAddMemsetNode(to: Out<u64>, graph: Memory, after: In<u64>, count: usize, node: In<FillNode>) |runtime| {
        let operation = node.get()?.operation()?;
        add(runtime, to, graph, (after, count), operation)
    }

    /// Adds a copy.
    fn cudaGraphAddMemcpyNode(to: Out<u64>, graph: Memory, after: In<u64>, count: usize, node: In<RuntimeCopy>) |runtime| {
        let operation = copy(runtime, node)?;
        add(runtime, to, graph, (after, count), operation)
    }

    /// Adds a copy of bytes that follow each other.
    fn cudaGraphAddMemcpyNode1D(
        node: Out<u64>, graph: Memory, after: In<u64>, count: usize, to: Memory, from: Memory, bytes: usize, _kind: i32,
    ) |runtime| {
        add(runtime, node, graph, (after, count), line(to, from, bytes))
    }

    /// Adds a node of any kind.
    fn cudaGraphAddNode(
        to: Out<u64>, graph: Memory, after: In<u64>, edge_data: Memory, count: usize, node: Out<AnyNode>,
    ) |runtime| {
        let (count, node) = if major_version() < 13 {
            (edge_data.address() as usize, Out::of_memory(Memory::at(count as u64)))
        } else {
            (count, node)
        };
        let operation = describe_any(runtime, node)?;
        add(runtime, to, graph, (after, count), operation)
    }

    /// The same in programs of CUDA 12.
    fn cudaGraphAddNode_v2(
        to: Out<u64>, graph: Memory, after: In<u64>, _edge_data: Memory, count: usize, node: Out<AnyNode>,
    ) |runtime| {
        let operation = describe_any(runtime, node)?;
        add(runtime, to, graph, (after, count), operation)
    }

    /// Replaces what a node does.
    fn cudaGraphNodeSetParams(node: Memory, content: Out<AnyNode>) |runtime| {
        let operation = describe_any(runtime, content)?;
        runtime.set_node(node.address(), operation)
    }

    /// Replaces what is performed for a node.
    fn cudaGraphExecNodeSetParams(executable: Memory, node: Memory, content: Out<AnyNode>) |runtime| {
        let operation = describe_any(runtime, content)?;
        runtime.set_executable_node(executable.address(), node.address(), operation)
    }

    /// Replaces a copy.
    fn cudaGraphMemcpyNodeSetParams(node: Memory, content: In<RuntimeCopy>) |runtime| {
        let operation = copy(runtime, content)?;
        runtime.set_node(node.address(), operation)
    }

    /// Replaces a copy by one of bytes that follow each other.
    fn cudaGraphMemcpyNodeSetParams1D(node: Memory, to: Memory, from: Memory, bytes: usize, _kind: i32) |runtime| {
        runtime.set_node(node.address(), line(to, from, bytes))
    }

    /// Replaces a copy of what is performed.
    fn cudaGraphExecMemcpyNodeSetParams(executable: Memory, node: Memory, content: In<RuntimeCopy>) |runtime| {
        let operation = copy(runtime, content)?;
        runtime.set_executable_node(executable.address(), node.address(), operation)
    }

    /// The same by one of bytes that follow each other.
    fn cudaGraphExecMemcpyNodeSetParams1D(
        executable: Memory, node: Memory, to: Memory, from: Memory, bytes: usize, _kind: i32,
    ) |runtime| {
        runtime.set_executable_node(executable.address(), node.address(), line(to, from, bytes))
    }

    /// Replaces a setting of memory of what is performed.
    fn cudaGraphExecMemsetNodeSetParams(executable: Memory, node: Memory, content: In<FillNode>) |runtime| {
        runtime.set_executable_node(executable.address(), node.address(), content.get()?.operation()?)
    }

    /// What waits for what in a graph.
    fn cudaGraphGetEdges(
        graph: Memory, from: Out<u64>, to: Out<u64>, edge_data: Memory, count: Out<usize>,
    ) |runtime| {
        answer_edges(&runtime.graph_edges(graph.address())?, from, to, place_behind(edge_data, count))
    }

    /// What a node waits for.
    fn cudaGraphNodeGetDependencies(node: Memory, to: Out<u64>, edge_data: Memory, count: Out<usize>) |runtime| {
        answer(&runtime.node_dependencies(node.address())?, to, place_behind(edge_data, count))
    }

    /// What waits for a node.
    fn cudaGraphNodeGetDependentNodes(node: Memory, to: Out<u64>, edge_data: Memory, count: Out<usize>) |runtime| {
        answer(&runtime.node_dependents(node.address())?, to, place_behind(edge_data, count))
    }

    /// Makes nodes wait for others.
    fn cudaGraphAddDependencies(
        graph: Memory, from: In<u64>, to: In<u64>, edge_data: Memory, count: usize,
    ) |runtime| {
        let edges = edges(from, to, behind(edge_data, count))?;
        runtime.add_dependencies(graph.address(), &edges)
    }

    /// The same in programs of CUDA 12.
    fn cudaGraphAddDependencies_v2(
        graph: Memory, from: In<u64>, to: In<u64>, _edge_data: Memory, count: usize,
    ) |runtime| {
        let edges = edges(from, to, count)?;
        runtime.add_dependencies(graph.address(), &edges)
    }

    /// Lets nodes wait for others no more.
    fn cudaGraphRemoveDependencies(
        graph: Memory, from: In<u64>, to: In<u64>, edge_data: Memory, count: usize,
    ) |runtime| {
        let edges = edges(from, to, behind(edge_data, count))?;
        runtime.remove_dependencies(graph.address(), &edges)
    }

    /// Replaces all that is performed by what a graph of the same shape does.
    fn cudaGraphExecUpdate(executable: Memory, graph: Memory, result: Out<UpdateInfo>) |runtime| {
        let (info, updated) = update(runtime, executable, graph)?;
        result.set_if_wanted(info);
        updated
    }

    /// Begins to capture a stream.
    fn cudaStreamBeginCapture(stream: Memory, number: i32) |runtime| {
        runtime.begin_capture(stream.address(), mode(number)?, None)
    }

    /// Begins to capture a stream into a graph.
    fn cudaStreamBeginCaptureToGraph(
        stream: Memory, graph: Memory, after: In<u64>, _edge_data: Memory, count: usize, number: i32,
    ) |runtime| {
        capture_to(runtime, stream, graph, (after, count), number)
    }

    /// Ends it.
    fn cudaStreamEndCapture(stream: Memory, to: Out<u64>) |runtime| {
        let ended = runtime.end_capture(stream.address());
        to.set(ended.unwrap_or(0))?;
        ended.map(drop)
    }

    /// Whether a stream is captured.
    fn cudaStreamIsCapturing(stream: Memory, to: Out<i32>) |runtime| { to.set(capture_status(runtime, stream)?) }

    /// What the capture of a stream is like.
    fn cudaStreamGetCaptureInfo(
        stream: Memory, status: Out<i32>, id: Out<u64>, graph: Out<u64>, nodes: Out<u64>, _edge_data: Memory,
        count: Out<usize>,
    ) |runtime| {
        // In version 12 the function has three arguments.
        let more = if major_version() < 13 { None } else { Some((graph, nodes, count)) };
        capture_info(runtime, stream, InfoPlaces { status, id, more })
    }

    /// The same in programs of CUDA 12.
    fn cudaStreamGetCaptureInfo_v2(
        stream: Memory, status: Out<i32>, id: Out<u64>, graph: Out<u64>, nodes: Out<u64>, count: Out<usize>,
    ) |runtime| {
        capture_info(runtime, stream, InfoPlaces { status, id, more: Some((graph, nodes, count)) })
    }

    /// The same in programs of CUDA 12 that ask what edges are like.
    fn cudaStreamGetCaptureInfo_v3(
        stream: Memory, status: Out<i32>, id: Out<u64>, graph: Out<u64>, nodes: Out<u64>, _edge_data: Memory,
        count: Out<usize>,
    ) |runtime| {
        capture_info(runtime, stream, InfoPlaces { status, id, more: Some((graph, nodes, count)) })
    }

    /// Changes what the next node of a captured stream waits for.
    fn cudaStreamUpdateCaptureDependencies(
        stream: Memory, list: In<u64>, edge_data: Memory, count: usize, flags: u32,
    ) |runtime| {
        // In version 12 nothing stands between the list and its length.
        let (count, flags) =
            if major_version() < 13 { (edge_data.address() as usize, count as u32) } else { (count, flags) };
        update_capture(runtime, stream, (list, count), flags)
    }

    /// The same in programs of CUDA 12.
    fn cudaStreamUpdateCaptureDependencies_v2(
        stream: Memory, list: In<u64>, _edge_data: Memory, count: usize, flags: u32,
    ) |runtime| {
        update_capture(runtime, stream, (list, count), flags)
    }

    /// Replaces the mode of the thread by the one that it had.
    fn cudaThreadExchangeStreamCaptureMode(number: Out<i32>) |runtime| { exchange(runtime, number) }
}
