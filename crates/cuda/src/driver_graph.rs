//! Graphs and captured streams in the driver API.

use warplens_runtime::{Operation, Status};

use crate::arrays::Copy3d;
use crate::driver::in_context;
use crate::graphs::{
    AllocationNode, AnyNode, FillNode, HostNode, InfoPlaces, Instantiation, KernelNode, UpdateInfo, add, allocation,
    answer, answer_edges, any, capture_info, capture_status, capture_to, edges, exchange, freed, instantiate,
    instantiate_with, mode, update, update_capture,
};
use crate::guard::{driver_call, driver_guard};
use crate::operations::launch_graph;
use crate::pointers::{In, Memory, Out};
use crate::{Runtime, api};

type Result<T> = std::result::Result<T, Status>;

fn copy(runtime: &Runtime, copy: In<Copy3d>) -> Result<Operation> {
    Ok(Operation::Copy(copy.get()?.transfer(runtime)?))
}

fn describe_any(runtime: &mut Runtime, node: Out<AnyNode>) -> Result<Operation> {
    any(runtime, node, "cuGraphAddNode", |runtime, memory| copy(runtime, In::of(memory)))
}

/// Performs a graph in a stream.
///
/// # Safety
///
/// Functions of the host that the graph calls take their data.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuGraphLaunch(executable: Memory, stream: Memory) -> i32 {
    launch_graph(driver_guard, executable, stream)
}

api! { driver_call;
    /// Makes an empty graph.
    fn cuGraphCreate(to: Out<u64>, _flags: u32) |runtime| {
        in_context(runtime)?;
        to.set(runtime.create_graph()?)
    }

    /// Takes a graph away.
    fn cuGraphDestroy(graph: Memory) |runtime| { runtime.destroy_graph(graph.address()) }

    /// Copies a graph.
    fn cuGraphClone(to: Out<u64>, graph: Memory) |runtime| { to.set(runtime.clone_graph(graph.address())?) }

    /// The copy of a node in a copy of its graph.
    fn cuGraphNodeFindInClone(to: Out<u64>, node: Memory, clone: Memory) |runtime| {
        to.set(runtime.node_in_clone(node.address(), clone.address())?)
    }

    /// Adds a launch.
    fn cuGraphAddKernelNode_v2(
        to: Out<u64>, graph: Memory, after: In<u64>, count: usize, node: In<KernelNode>,
    ) |runtime| {
        let operation = node.get()?.operation(runtime)?;
        add(runtime, to, graph, (after, count), operation)
    }

    /// Adds a call of a function of the host.
    fn cuGraphAddHostNode(to: Out<u64>, graph: Memory, after: In<u64>, count: usize, node: In<HostNode>) |runtime| {
        let operation = node.get()?.operation()?;
        add(runtime, to, graph, (after, count), operation)
    }

    /// Adds a graph.
    fn cuGraphAddChildGraphNode(to: Out<u64>, graph: Memory, after: In<u64>, count: usize, child: Memory) |runtime| {
        add(runtime, to, graph, (after, count), Operation::Graph(child.address()))
    }

    /// Adds a node that does nothing.
    fn cuGraphAddEmptyNode(to: Out<u64>, graph: Memory, after: In<u64>, count: usize) |runtime| {
        add(runtime, to, graph, (after, count), Operation::Empty)
    }

    /// Adds the recording of an event.
    fn cuGraphAddEventRecordNode(to: Out<u64>, graph: Memory, after: In<u64>, count: usize, event: Memory) |runtime| {
        add(runtime, to, graph, (after, count), Operation::Record(event.address()))
    }

    /// Adds the waiting for an event.
    fn cuGraphAddEventWaitNode(to: Out<u64>, graph: Memory, after: In<u64>, count: usize, event: Memory) |runtime| {
        add(runtime, to, graph, (after, count), Operation::Wait(event.address()))
    }

    /// Adds an allocation.
    fn cuGraphAddMemAllocNode(
        to: Out<u64>, graph: Memory, after: In<u64>, count: usize, node: Out<AllocationNode>,
    ) |runtime| {
        let operation = allocation(runtime, node, "cuGraphAddMemAllocNode")?;
        add(runtime, to, graph, (after, count), operation)
    }

    /// Adds the end of an allocation.
    fn cuGraphAddMemFreeNode(to: Out<u64>, graph: Memory, after: In<u64>, count: usize, memory: Memory) |runtime| {
        let operation = freed(runtime, memory.address())?;
        add(runtime, to, graph, (after, count), operation)
    }

    /// Replaces a launch.
    fn cuGraphKernelNodeSetParams_v2(node: Memory, launch: In<KernelNode>) |runtime| {
        let operation = launch.get()?.operation(runtime)?;
        runtime.set_node(node.address(), operation)
    }

    /// Replaces a setting of memory.
    fn cuGraphMemsetNodeSetParams(node: Memory, fill: In<FillNode>) |runtime| {
        runtime.set_node(node.address(), fill.get()?.operation()?)
    }

    /// Replaces a call of a function of the host.
    fn cuGraphHostNodeSetParams(node: Memory, call: In<HostNode>) |runtime| {
        runtime.set_node(node.address(), call.get()?.operation()?)
    }

    /// Says which memory a launch prefers and the like, which changes no result.
    fn cuGraphKernelNodeSetAttribute(node: Memory, _attribute: i32, _value: Memory) |runtime| {
        runtime.node_operation(node.address()).map(drop)
    }

    /// The same as of another launch.
    fn cuGraphKernelNodeCopyAttributes(to: Memory, from: Memory) |runtime| {
        runtime.node_operation(to.address())?;
        runtime.node_operation(from.address()).map(drop)
    }

    /// The graph of a node.
    fn cuGraphChildGraphNodeGetGraph(node: Memory, to: Out<u64>) |runtime| {
        match *runtime.node_operation(node.address())? {
            Operation::Graph(graph) => to.set(graph),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    /// What kind of node it is.
    fn cuGraphNodeGetType(node: Memory, to: Out<i32>) |runtime| {
        to.set(runtime.node_operation(node.address())?.number())
    }

    /// Nodes of a graph.
    fn cuGraphGetNodes(graph: Memory, to: Out<u64>, count: Out<usize>) |runtime| {
        answer(&runtime.graph_nodes(graph.address())?, to, count)
    }

    /// Nodes of a graph that wait for none.
    fn cuGraphGetRootNodes(graph: Memory, to: Out<u64>, count: Out<usize>) |runtime| {
        let mut nodes = runtime.graph_nodes(graph.address())?;
        nodes.retain(|&node| runtime.node_dependencies(node).is_ok_and(|before| before.is_empty()));
        answer(&nodes, to, count)
    }

    /// Takes a node away.
    fn cuGraphDestroyNode(node: Memory) |runtime| { runtime.destroy_node(node.address()) }

    /// Makes a graph ready.
    fn cuGraphInstantiateWithFlags(to: Out<u64>, graph: Memory, flags: u64) |runtime| {
        instantiate(runtime, to, graph, flags)
    }

    /// The same with a structure for flags and results.
    fn cuGraphInstantiateWithParams(to: Out<u64>, graph: Memory, parameters: Out<Instantiation>) |runtime| {
        instantiate_with(runtime, to, graph, parameters)
    }

    /// Flags that it was made ready with.
    fn cuGraphExecGetFlags(executable: Memory, to: Out<u64>) |runtime| {
        to.set(runtime.executable_flags(executable.address())?)
    }

    /// Replaces a launch of what is performed.
    fn cuGraphExecKernelNodeSetParams_v2(executable: Memory, node: Memory, launch: In<KernelNode>) |runtime| {
        let operation = launch.get()?.operation(runtime)?;
        runtime.set_executable_node(executable.address(), node.address(), operation)
    }

    /// Replaces a call of what is performed.
    fn cuGraphExecHostNodeSetParams(executable: Memory, node: Memory, call: In<HostNode>) |runtime| {
        runtime.set_executable_node(executable.address(), node.address(), call.get()?.operation()?)
    }

    /// Replaces a graph of what is performed.
    fn cuGraphExecChildGraphNodeSetParams(executable: Memory, node: Memory, child: Memory) |runtime| {
        runtime.set_executable_node(executable.address(), node.address(), Operation::Graph(child.address()))
    }

    /// Replaces an event that is recorded.
    fn cuGraphExecEventRecordNodeSetEvent(executable: Memory, node: Memory, event: Memory) |runtime| {
        runtime.set_executable_node(executable.address(), node.address(), Operation::Record(event.address()))
    }

    /// Replaces an event that is waited for.
    fn cuGraphExecEventWaitNodeSetEvent(executable: Memory, node: Memory, event: Memory) |runtime| {
        runtime.set_executable_node(executable.address(), node.address(), Operation::Wait(event.address()))
    }

    /// Says whether something is done for a node.
    fn cuGraphNodeSetEnabled(executable: Memory, node: Memory, enabled: u32) |runtime| {
        runtime.enable_node(executable.address(), node.address(), enabled != 0)
    }

    /// Whether something is done for a node.
    fn cuGraphNodeGetEnabled(executable: Memory, node: Memory, to: Out<u32>) |runtime| {
        to.set(runtime.is_node_enabled(executable.address(), node.address())?.into())
    }

    /// Takes away what was made ready.
    fn cuGraphExecDestroy(executable: Memory) |runtime| { runtime.destroy_executable(executable.address()) }

    /// Makes the first launch fast, which it is.
    fn cuGraphUpload(executable: Memory, stream: Memory) |runtime| {
        runtime.stream_facts(stream.address())?;
        runtime.executable_graph(executable.address()).map(drop)
    }

    /// Adds a launch, as programs of CUDA 11 do.
    fn cuGraphAddKernelNode(
        to: Out<u64>, graph: Memory, after: In<u64>, count: usize, node: In<KernelNode>,
    ) |runtime| {
        let operation = node.get()?.operation(runtime)?;
        add(runtime, to, graph, (after, count), operation)
    }

    /// Replaces a launch of what is performed, as programs of CUDA 11 do.
    fn cuGraphExecKernelNodeSetParams(executable: Memory, node: Memory, launch: In<KernelNode>) |runtime| {
        let operation = launch.get()?.operation(runtime)?;
        runtime.set_executable_node(executable.address(), node.address(), operation)
    }

    /// Makes a graph ready, with places for what went wrong.
    fn cuGraphInstantiate(to: Out<u64>, graph: Memory, node: Out<u64>, _log: Memory, _bytes: usize) |runtime| {
        node.set_if_wanted(0);
        instantiate(runtime, to, graph, 0)
    }

    /// The same.
    fn cuGraphInstantiate_v2(to: Out<u64>, graph: Memory, node: Out<u64>, _log: Memory, _bytes: usize) |runtime| {
        node.set_if_wanted(0);
        instantiate(runtime, to, graph, 0)
    }

    /// Adds a setting of memory.
    fn cuGraphAddMemsetNode(
        to: Out<u64>, graph: Memory, after: In<u64>, count: usize, node: In<FillNode>, _context: Memory,
    ) |runtime| {
        let operation = node.get()?.operation()?;
        add(runtime, to, graph, (after, count), operation)
    }

    /// Adds a copy.
    fn cuGraphAddMemcpyNode(
        to: Out<u64>, graph: Memory, after: In<u64>, count: usize, node: In<Copy3d>, _context: Memory,
    ) |runtime| {
        let operation = copy(runtime, node)?;
        add(runtime, to, graph, (after, count), operation)
    }

    /// Adds a node of any kind.
    fn cuGraphAddNode(to: Out<u64>, graph: Memory, after: In<u64>, count: usize, node: Out<AnyNode>) |runtime| {
        let operation = describe_any(runtime, node)?;
        add(runtime, to, graph, (after, count), operation)
    }

    /// The same.
    fn cuGraphAddNode_v2(
        to: Out<u64>, graph: Memory, after: In<u64>, _edge_data: Memory, count: usize, node: Out<AnyNode>,
    ) |runtime| {
        let operation = describe_any(runtime, node)?;
        add(runtime, to, graph, (after, count), operation)
    }

    /// Replaces what a node does.
    fn cuGraphNodeSetParams(node: Memory, content: Out<AnyNode>) |runtime| {
        let operation = describe_any(runtime, content)?;
        runtime.set_node(node.address(), operation)
    }

    /// Replaces what is performed for a node.
    fn cuGraphExecNodeSetParams(executable: Memory, node: Memory, content: Out<AnyNode>) |runtime| {
        let operation = describe_any(runtime, content)?;
        runtime.set_executable_node(executable.address(), node.address(), operation)
    }

    /// Replaces a copy.
    fn cuGraphMemcpyNodeSetParams(node: Memory, content: In<Copy3d>) |runtime| {
        let operation = copy(runtime, content)?;
        runtime.set_node(node.address(), operation)
    }

    /// Replaces a copy of what is performed.
    fn cuGraphExecMemcpyNodeSetParams(
        executable: Memory, node: Memory, content: In<Copy3d>, _context: Memory,
    ) |runtime| {
        let operation = copy(runtime, content)?;
        runtime.set_executable_node(executable.address(), node.address(), operation)
    }

    /// Replaces a setting of memory of what is performed.
    fn cuGraphExecMemsetNodeSetParams(
        executable: Memory, node: Memory, content: In<FillNode>, _context: Memory,
    ) |runtime| {
        runtime.set_executable_node(executable.address(), node.address(), content.get()?.operation()?)
    }

    /// What waits for what in a graph.
    fn cuGraphGetEdges(graph: Memory, from: Out<u64>, to: Out<u64>, count: Out<usize>) |runtime| {
        answer_edges(&runtime.graph_edges(graph.address())?, from, to, count)
    }

    /// The same.
    fn cuGraphGetEdges_v2(
        graph: Memory, from: Out<u64>, to: Out<u64>, _edge_data: Memory, count: Out<usize>,
    ) |runtime| {
        answer_edges(&runtime.graph_edges(graph.address())?, from, to, count)
    }

    /// What a node waits for.
    fn cuGraphNodeGetDependencies(node: Memory, to: Out<u64>, count: Out<usize>) |runtime| {
        answer(&runtime.node_dependencies(node.address())?, to, count)
    }

    /// The same.
    fn cuGraphNodeGetDependencies_v2(node: Memory, to: Out<u64>, _edge_data: Memory, count: Out<usize>) |runtime| {
        answer(&runtime.node_dependencies(node.address())?, to, count)
    }

    /// What waits for a node.
    fn cuGraphNodeGetDependentNodes(node: Memory, to: Out<u64>, count: Out<usize>) |runtime| {
        answer(&runtime.node_dependents(node.address())?, to, count)
    }

    /// The same.
    fn cuGraphNodeGetDependentNodes_v2(node: Memory, to: Out<u64>, _edge_data: Memory, count: Out<usize>) |runtime| {
        answer(&runtime.node_dependents(node.address())?, to, count)
    }

    /// Makes nodes wait for others.
    fn cuGraphAddDependencies(graph: Memory, from: In<u64>, to: In<u64>, count: usize) |runtime| {
        let edges = edges(from, to, count)?;
        runtime.add_dependencies(graph.address(), &edges)
    }

    /// The same.
    fn cuGraphAddDependencies_v2(
        graph: Memory, from: In<u64>, to: In<u64>, _edge_data: Memory, count: usize,
    ) |runtime| {
        let edges = edges(from, to, count)?;
        runtime.add_dependencies(graph.address(), &edges)
    }

    /// Lets nodes wait for others no more.
    fn cuGraphRemoveDependencies(graph: Memory, from: In<u64>, to: In<u64>, count: usize) |runtime| {
        let edges = edges(from, to, count)?;
        runtime.remove_dependencies(graph.address(), &edges)
    }

    /// The same.
    fn cuGraphRemoveDependencies_v2(
        graph: Memory, from: In<u64>, to: In<u64>, _edge_data: Memory, count: usize,
    ) |runtime| {
        let edges = edges(from, to, count)?;
        runtime.remove_dependencies(graph.address(), &edges)
    }

    /// Replaces all that is performed by what a graph of the same shape does.
    fn cuGraphExecUpdate(executable: Memory, graph: Memory, node: Out<u64>, result: Out<i32>) |runtime| {
        let (info, updated) = update(runtime, executable, graph)?;
        node.set_if_wanted(info.node);
        result.set_if_wanted(info.result);
        updated
    }

    /// The same with a structure for the result.
    fn cuGraphExecUpdate_v2(executable: Memory, graph: Memory, result: Out<UpdateInfo>) |runtime| {
        let (info, updated) = update(runtime, executable, graph)?;
        result.set_if_wanted(info);
        updated
    }

    /// Begins to capture a stream, as programs of CUDA 10.0 do.
    fn cuStreamBeginCapture(stream: Memory) |runtime| { runtime.begin_capture(stream.address(), mode(0)?, None) }

    /// Begins to capture a stream.
    fn cuStreamBeginCapture_v2(stream: Memory, number: i32) |runtime| {
        in_context(runtime)?;
        runtime.begin_capture(stream.address(), mode(number)?, None)
    }

    /// Begins to capture a stream into a graph.
    fn cuStreamBeginCaptureToGraph(
        stream: Memory, graph: Memory, after: In<u64>, _edge_data: Memory, count: usize, number: i32,
    ) |runtime| {
        capture_to(runtime, stream, graph, (after, count), number)
    }

    /// Ends it.
    fn cuStreamEndCapture(stream: Memory, to: Out<u64>) |runtime| {
        let ended = runtime.end_capture(stream.address());
        to.set(ended.unwrap_or(0))?;
        ended.map(drop)
    }

    /// Whether a stream is captured.
    fn cuStreamIsCapturing(stream: Memory, to: Out<i32>) |runtime| { to.set(capture_status(runtime, stream)?) }

    /// What the capture of a stream is like, as programs of CUDA 10 ask.
    fn cuStreamGetCaptureInfo(stream: Memory, status: Out<i32>, id: Out<u64>) |runtime| {
        capture_info(runtime, stream, InfoPlaces { status, id, more: None })
    }

    /// The same with its graph.
    fn cuStreamGetCaptureInfo_v2(
        stream: Memory, status: Out<i32>, id: Out<u64>, graph: Out<u64>, nodes: Out<u64>, count: Out<usize>,
    ) |runtime| {
        capture_info(runtime, stream, InfoPlaces { status, id, more: Some((graph, nodes, count)) })
    }

    /// The same with what edges are like.
    fn cuStreamGetCaptureInfo_v3(
        stream: Memory, status: Out<i32>, id: Out<u64>, graph: Out<u64>, nodes: Out<u64>, _edge_data: Memory,
        count: Out<usize>,
    ) |runtime| {
        capture_info(runtime, stream, InfoPlaces { status, id, more: Some((graph, nodes, count)) })
    }

    /// Changes what the next node of a captured stream waits for.
    fn cuStreamUpdateCaptureDependencies(stream: Memory, list: In<u64>, count: usize, flags: u32) |runtime| {
        update_capture(runtime, stream, (list, count), flags)
    }

    /// The same with what edges are like.
    fn cuStreamUpdateCaptureDependencies_v2(
        stream: Memory, list: In<u64>, _edge_data: Memory, count: usize, flags: u32,
    ) |runtime| {
        update_capture(runtime, stream, (list, count), flags)
    }

    /// Replaces the mode of the thread by the one that it had.
    fn cuThreadExchangeStreamCaptureMode(number: Out<i32>) |runtime| { exchange(runtime, number) }
}
