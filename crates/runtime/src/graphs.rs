//! Graphs: operations with what each of them waits for, made once and performed many times.
//!
//! What is performed is a copy of its own, so that who goes on with a graph changes nothing of what was made of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::capture::{Capture, CaptureMode, Captured};
use crate::handles::{Handle, Table};
use crate::operations::Operation;
use crate::runtime::Runtime;
use crate::status::{Result, Status};

/// How deep graphs may lie in graphs.
const MOST_LEVELS: usize = 32;

/// A graph.
#[derive(Clone, Default, Debug)]
struct Graph {
    /// In the order in which they were added.
    nodes: Vec<Handle>,
    /// It belongs to a node or to what is performed, and nobody else can take it away.
    is_inner: bool,
}

/// An operation of a graph.
#[derive(Clone, Debug)]
struct Node {
    graph: Handle,
    operation: Operation,
    /// Which nodes it waits for.
    after: Vec<Handle>,
    /// The node that it is a copy of.
    copy_of: Option<Handle>,
}

/// A graph that can be performed.
#[derive(Clone, Debug)]
struct Executable {
    /// A copy of its own.
    graph: Handle,
    flags: u64,
    /// Nodes of the copy that do nothing.
    disabled: BTreeSet<Handle>,
}

/// Graphs, what was made of them, and streams whose calls become graphs.
#[derive(Debug)]
pub(crate) struct Graphs {
    graphs: Table<Graph>,
    nodes: Table<Node>,
    executables: Table<Executable>,
    /// Allocations of graphs, which stay: who performs a graph again finds them where they were.
    pub(crate) memory: BTreeMap<u64, u64>,
    pub(crate) captures: Table<Capture>,
    pub(crate) streams: BTreeMap<Handle, Captured>,
    pub(crate) events: BTreeMap<Handle, Captured>,
    pub(crate) modes: std::collections::HashMap<std::thread::ThreadId, CaptureMode>,
}

impl Default for Graphs {
    fn default() -> Self {
        Self {
            graphs: Table::new(6),
            nodes: Table::new(7),
            executables: Table::new(8),
            memory: BTreeMap::new(),
            captures: Table::new(9),
            streams: BTreeMap::new(),
            events: BTreeMap::new(),
            modes: std::collections::HashMap::new(),
        }
    }
}

/// An operation of a graph that is performed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// What is done.
    pub operation: Operation,
    /// The earlier steps that it waits for.
    pub after: Vec<usize>,
}

/// Why what is performed cannot become that of another graph, by CUDA's number (`CUgraphExecUpdateResult`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UpdateFault {
    /// The reason.
    pub reason: i32,
    /// The node of the other graph that does not fit.
    pub node: Handle,
}

/// The shape of the graph differs, the kind of a node differs, or what it does cannot be changed.
const TOPOLOGY: i32 = 2;
const NODE_TYPE: i32 = 3;
const NOT_SUPPORTED: i32 = 6;

impl Runtime {
    /// Makes an empty graph.
    pub fn create_graph(&mut self) -> Result<Handle> {
        self.alive()?;
        Ok(self.graphs.graphs.insert(Graph::default()))
    }

    /// Takes a graph away, with its nodes.
    pub fn destroy_graph(&mut self, graph: Handle) -> Result<()> {
        if self.graph(graph)?.is_inner {
            return Err(Status::INVALID_VALUE);
        }
        self.remove_graph(graph);
        Ok(())
    }

    fn remove_graph(&mut self, graph: Handle) {
        self.release_held(graph);
        for node in self.graphs.graphs.remove(graph).unwrap_or_default().nodes {
            if let Some(Node { operation: Operation::Graph(inner), .. }) = self.graphs.nodes.remove(node) {
                self.remove_graph(inner);
            }
        }
    }

    fn graph(&self, graph: Handle) -> Result<&Graph> {
        self.graphs.graphs.get(graph).ok_or(Status::INVALID_VALUE)
    }

    fn node(&self, node: Handle) -> Result<&Node> {
        self.graphs.nodes.get(node).ok_or(Status::INVALID_VALUE)
    }

    /// Nodes of a graph, in the order in which they were added.
    pub fn graph_nodes(&self, graph: Handle) -> Result<Vec<Handle>> {
        self.graph(graph).map(|graph| graph.nodes.clone())
    }

    /// What waits for what in a graph: pairs of a node and one that waits for it.
    pub fn graph_edges(&self, graph: Handle) -> Result<Vec<(Handle, Handle)>> {
        let mut edges = Vec::new();
        for &node in &self.graph(graph)?.nodes {
            edges.extend(self.node(node)?.after.iter().map(|&before| (before, node)));
        }
        Ok(edges)
    }

    /// The nodes that a node waits for.
    pub fn node_dependencies(&self, node: Handle) -> Result<Vec<Handle>> {
        self.node(node).map(|node| node.after.clone())
    }

    /// The nodes that wait for a node.
    pub fn node_dependents(&self, node: Handle) -> Result<Vec<Handle>> {
        let edges = self.graph_edges(self.node(node)?.graph)?;
        Ok(edges.into_iter().filter(|&(before, _)| before == node).map(|(_, after)| after).collect())
    }

    /// What a node does.
    pub fn node_operation(&self, node: Handle) -> Result<&Operation> {
        self.node(node).map(|node| &node.operation)
    }

    /// The graph of a node.
    pub fn node_graph(&self, node: Handle) -> Result<Handle> {
        self.node(node).map(|node| node.graph)
    }

    /// Adds a node that waits for others. A graph in it is copied.
    pub fn add_node(&mut self, graph: Handle, after: &[Handle], operation: Operation) -> Result<Handle> {
        self.alive()?;
        let of_graph = |node: &Handle| self.node(*node).is_ok_and(|node| node.graph == graph);
        self.graph(graph)?;
        if !after.iter().all(of_graph) {
            return Err(Status::INVALID_VALUE);
        }
        let distinct: BTreeSet<Handle> = after.iter().copied().collect();
        if distinct.len() < after.len() {
            return Err(Status::INVALID_VALUE);
        }
        let operation = match operation {
            Operation::Graph(inner) => Operation::Graph(self.copy_inside(inner)?),
            other => other,
        };
        let node = self.graphs.nodes.insert(Node { graph, operation, after: after.to_vec(), copy_of: None });
        let graph = self.graphs.graphs.get_mut(graph).ok_or(Status::INVALID_VALUE)?;
        graph.nodes.push(node);
        Ok(node)
    }

    /// Replaces what a node does by something of the same kind. Of a graph it gets a copy, as in [`Self::add_node`].
    pub fn set_node(&mut self, node: Handle, operation: Operation) -> Result<()> {
        if self.node(node)?.operation.number() != operation.number() {
            return Err(Status::INVALID_VALUE);
        }
        let operation = match operation {
            Operation::Graph(inner) => Operation::Graph(self.copy_inside(inner)?),
            other => other,
        };
        let of = self.graphs.nodes.get_mut(node).ok_or(Status::INVALID_VALUE)?;
        if let Operation::Graph(before) = std::mem::replace(&mut of.operation, operation) {
            self.remove_graph(before);
        }
        Ok(())
    }

    /// Takes a node away, and who waits for it waits no more.
    pub fn destroy_node(&mut self, node: Handle) -> Result<()> {
        let Node { graph, operation, .. } = self.graphs.nodes.remove(node).ok_or(Status::INVALID_VALUE)?;
        if let Operation::Graph(inner) = operation {
            self.remove_graph(inner);
        }
        let of = self.graphs.graphs.get_mut(graph).ok_or(Status::INVALID_VALUE)?;
        of.nodes.retain(|&other| other != node);
        for other in of.nodes.clone() {
            if let Some(other) = self.graphs.nodes.get_mut(other) {
                other.after.retain(|&before| before != node);
            }
        }
        Ok(())
    }

    /// Makes nodes wait for others: of each pair the second for the first.
    pub fn add_dependencies(&mut self, graph: Handle, edges: &[(Handle, Handle)]) -> Result<()> {
        for &(before, after) in edges {
            let is_there = self.node(before)?.graph == graph && self.node(after)?.graph == graph;
            if !is_there || before == after || self.node(after)?.after.contains(&before) {
                return Err(Status::INVALID_VALUE);
            }
            let node = self.graphs.nodes.get_mut(after).ok_or(Status::INVALID_VALUE)?;
            node.after.push(before);
        }
        Ok(())
    }

    /// Lets nodes wait for others no more.
    pub fn remove_dependencies(&mut self, graph: Handle, edges: &[(Handle, Handle)]) -> Result<()> {
        for &(before, after) in edges {
            let node = self.graphs.nodes.get_mut(after).filter(|node| node.graph == graph);
            let node = node.filter(|node| node.after.contains(&before)).ok_or(Status::INVALID_VALUE)?;
            node.after.retain(|&other| other != before);
        }
        Ok(())
    }

    /// Copies a graph.
    pub fn clone_graph(&mut self, graph: Handle) -> Result<Handle> {
        self.graph(graph)?;
        self.copy_graph(graph, 0)
    }

    fn copy_inside(&mut self, graph: Handle) -> Result<Handle> {
        let copy = self.clone_graph(graph)?;
        if let Some(copy) = self.graphs.graphs.get_mut(copy) {
            copy.is_inner = true;
        }
        Ok(copy)
    }

    fn copy_graph(&mut self, graph: Handle, level: usize) -> Result<Handle> {
        if level > MOST_LEVELS {
            return Err(Status::INVALID_VALUE);
        }
        let nodes = self.graph(graph)?.nodes.clone();
        let copy = self.graphs.graphs.insert(Graph { nodes: Vec::new(), is_inner: level > 0 });
        let mut copies = BTreeMap::new();
        for &node in &nodes {
            let mut own = self.node(node)?.clone();
            if let Operation::Graph(inner) = own.operation {
                own.operation = Operation::Graph(self.copy_graph(inner, level + 1)?);
            }
            copies.insert(node, self.graphs.nodes.insert(Node { graph: copy, copy_of: Some(node), ..own }));
        }
        for own in copies.values() {
            if let Some(node) = self.graphs.nodes.get_mut(*own) {
                node.after = node.after.iter().filter_map(|before| copies.get(before).copied()).collect();
            }
        }
        if let Some(copy) = self.graphs.graphs.get_mut(copy) {
            copy.nodes = nodes.iter().filter_map(|node| copies.get(node).copied()).collect();
        }
        self.copy_held(graph, copy);
        Ok(copy)
    }

    /// The copy of a node in a copy of its graph.
    pub fn node_in_clone(&self, node: Handle, clone: Handle) -> Result<Handle> {
        let mut nodes = self.graph(clone)?.nodes.iter();
        let found = nodes.find(|&&own| self.node(own).is_ok_and(|own| own.copy_of == Some(node)));
        found.copied().ok_or(Status::INVALID_VALUE)
    }

    /// Makes a graph ready to be performed.
    pub fn instantiate(&mut self, graph: Handle, flags: u64) -> Result<Handle> {
        self.alive()?;
        self.order(graph)?;
        let graph = self.copy_inside(graph)?;
        Ok(self.graphs.executables.insert(Executable { graph, flags, disabled: BTreeSet::new() }))
    }

    fn executable(&self, executable: Handle) -> Result<&Executable> {
        self.graphs.executables.get(executable).ok_or(Status::INVALID_VALUE)
    }

    /// Flags that it was made ready with.
    pub fn executable_flags(&self, executable: Handle) -> Result<u64> {
        self.executable(executable).map(|executable| executable.flags)
    }

    /// The graph that is performed.
    pub fn executable_graph(&self, executable: Handle) -> Result<Handle> {
        self.executable(executable).map(|executable| executable.graph)
    }

    /// Takes away what was made ready.
    pub fn destroy_executable(&mut self, executable: Handle) -> Result<()> {
        let gone = self.graphs.executables.remove(executable).ok_or(Status::INVALID_VALUE)?;
        self.remove_graph(gone.graph);
        Ok(())
    }

    /// Replaces what is done for a node of the graph that something was made of.
    pub fn set_executable_node(&mut self, executable: Handle, node: Handle, operation: Operation) -> Result<()> {
        let own = self.node_in_clone(node, self.executable(executable)?.graph)?;
        self.set_node(own, operation)
    }

    /// Says whether something is done for a node of the graph.
    pub fn enable_node(&mut self, executable: Handle, node: Handle, is_enabled: bool) -> Result<()> {
        let own = self.node_in_clone(node, self.executable(executable)?.graph)?;
        let executable = self.graphs.executables.get_mut(executable).ok_or(Status::INVALID_VALUE)?;
        if is_enabled {
            executable.disabled.remove(&own);
        } else {
            executable.disabled.insert(own);
        }
        Ok(())
    }

    /// Whether something is done for a node of the graph.
    pub fn is_node_enabled(&self, executable: Handle, node: Handle) -> Result<bool> {
        let executable = self.executable(executable)?;
        Ok(!executable.disabled.contains(&self.node_in_clone(node, executable.graph)?))
    }

    /// Replaces all that is performed by what a graph of the same shape does.
    pub fn update_executable(
        &mut self,
        executable: Handle,
        graph: Handle,
    ) -> Result<std::result::Result<(), UpdateFault>> {
        let own = self.executable(executable)?.graph;
        if let Err(fault) = self.compare(own, graph, 0)? {
            return Ok(Err(fault));
        }
        let copy = self.copy_inside(graph)?;
        let executable = self.graphs.executables.get_mut(executable).ok_or(Status::INVALID_VALUE)?;
        (executable.graph, executable.disabled) = (copy, BTreeSet::new());
        // Nodes go on to be found by those of the graph that this was made of first.
        let (old, new) = (self.graph(own)?.nodes.clone(), self.graph(copy)?.nodes.clone());
        for (old, new) in old.into_iter().zip(new) {
            let copy_of = self.node(old)?.copy_of;
            if let Some(new) = self.graphs.nodes.get_mut(new) {
                new.copy_of = copy_of;
            }
        }
        self.remove_graph(own);
        Ok(Ok(()))
    }

    /// Whether two graphs have the same shape.
    fn compare(&self, own: Handle, other: Handle, level: usize) -> Result<std::result::Result<(), UpdateFault>> {
        let (own, other) = (&self.graph(own)?.nodes, &self.graph(other)?.nodes);
        let fault = |reason, node| Ok(Err(UpdateFault { reason, node }));
        if own.len() != other.len() || level > MOST_LEVELS {
            return fault(TOPOLOGY, 0);
        }
        let places = |nodes: &[Handle]| -> BTreeMap<Handle, usize> {
            nodes.iter().enumerate().map(|(place, &node)| (node, place)).collect()
        };
        let (own_places, other_places) = (places(own), places(other));
        for (&own, &other) in own.iter().zip(other) {
            let (of_own, of_other) = (self.node(own)?, self.node(other)?);
            if of_own.operation.number() != of_other.operation.number() {
                return fault(NODE_TYPE, other);
            }
            let after = |node: &Node, places: &BTreeMap<Handle, usize>| -> BTreeSet<usize> {
                node.after.iter().filter_map(|before| places.get(before).copied()).collect()
            };
            if after(of_own, &own_places) != after(of_other, &other_places) {
                return fault(TOPOLOGY, other);
            }
            match (&of_own.operation, &of_other.operation) {
                (Operation::Graph(own), Operation::Graph(of_other)) => {
                    if let Err(UpdateFault { reason, .. }) = self.compare(*own, *of_other, level + 1)? {
                        return fault(reason, other);
                    }
                }
                (own @ Operation::Allocate { .. }, new) if own != new => return fault(NOT_SUPPORTED, other),
                _ => {}
            }
        }
        Ok(Ok(()))
    }

    /// The nodes of a graph, each behind all that it waits for.
    fn order(&self, graph: Handle) -> Result<Vec<Handle>> {
        let mut waiting: Vec<Handle> = self.graph(graph)?.nodes.clone();
        let mut done = BTreeSet::new();
        let mut order = Vec::with_capacity(waiting.len());
        while !waiting.is_empty() {
            let before = order.len();
            let mut left = Vec::new();
            for node in waiting {
                if self.node(node)?.after.iter().all(|before| done.contains(before)) {
                    done.insert(node);
                    order.push(node);
                } else {
                    left.push(node);
                }
            }
            if order.len() == before {
                // The rest waits for itself.
                return Err(Status::INVALID_VALUE);
            }
            waiting = left;
        }
        Ok(order)
    }

    /// What is done when a graph is performed, in an order that can be followed.
    pub fn steps(&self, executable: Handle) -> Result<Vec<Step>> {
        let Executable { graph, disabled, .. } = self.executable(executable)?;
        let mut steps = Vec::new();
        self.add_steps(*graph, &[], disabled, &mut steps)?;
        Ok(steps)
    }

    /// Adds the steps of a graph that begins after some others. Returns its last ones.
    fn add_steps(
        &self,
        graph: Handle,
        first: &[usize],
        disabled: &BTreeSet<Handle>,
        steps: &mut Vec<Step>,
    ) -> Result<Vec<usize>> {
        let mut ends: BTreeMap<Handle, Vec<usize>> = BTreeMap::new();
        let mut is_last: BTreeSet<Handle> = BTreeSet::new();
        for node in self.order(graph)? {
            let Node { operation, after, .. } = self.node(node)?;
            let mut waits: Vec<usize> = after.iter().filter_map(|before| ends.get(before)).flatten().copied().collect();
            if after.is_empty() {
                waits.extend_from_slice(first);
            }
            waits.sort_unstable();
            waits.dedup();
            let end = match operation {
                Operation::Graph(inner) if !disabled.contains(&node) => {
                    let end = self.add_steps(*inner, &waits, disabled, steps)?;
                    if end.is_empty() { waits } else { end }
                }
                operation => {
                    let operation = if disabled.contains(&node) { Operation::Empty } else { operation.clone() };
                    steps.push(Step { operation, after: waits });
                    vec![steps.len() - 1]
                }
            };
            is_last.retain(|last| !after.contains(last));
            is_last.insert(node);
            ends.insert(node, end);
        }
        Ok(is_last.iter().filter_map(|node| ends.get(node)).flatten().copied().collect())
    }

    /// Memory of a graph, which has its address before the graph is performed.
    pub fn allocate_for_graph(&mut self, call: &str, bytes: u64) -> Result<Operation> {
        let address = self.allocate_in_order(call, bytes)?;
        self.graphs.memory.insert(address, bytes);
        Ok(Operation::Allocate { address, bytes })
    }

    /// Bytes of the memory of graphs.
    pub fn graph_memory(&self) -> u64 {
        self.graphs.memory.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use crate::operations::Operation;
    use crate::runtime::tests::runtime;
    use crate::status::Status;

    fn host(data: u64) -> Operation {
        Operation::Host { function: 1, data }
    }

    #[test]
    fn steps_come_behind_what_they_wait_for() {
        let mut runtime = runtime();
        let graph = runtime.create_graph().unwrap();
        let last = runtime.add_node(graph, &[], host(3)).unwrap();
        let first = runtime.add_node(graph, &[], host(1)).unwrap();
        let branches = [runtime.add_node(graph, &[first], host(2)), runtime.add_node(graph, &[first], host(2))];
        let [a, b] = branches.map(|node| node.unwrap());
        runtime.add_dependencies(graph, &[(a, last), (b, last)]).unwrap();
        let executable = runtime.instantiate(graph, 0).unwrap();
        let steps = runtime.steps(executable).unwrap();
        assert_eq!(
            steps.iter().map(|step| &step.operation).collect::<Vec<_>>(),
            [&host(1), &host(2), &host(2), &host(3)]
        );
        assert_eq!(steps.iter().map(|step| step.after.as_slice()).collect::<Vec<_>>(), [&[][..], &[0], &[0], &[1, 2]]);

        // A graph that waits for itself cannot be performed, and one that is gone can still be.
        runtime.add_dependencies(graph, &[(last, first)]).unwrap();
        assert_eq!(runtime.instantiate(graph, 0), Err(Status::INVALID_VALUE));
        runtime.set_executable_node(executable, last, host(4)).unwrap();
        runtime.enable_node(executable, first, false).unwrap();
        runtime.destroy_graph(graph).unwrap();
        assert_eq!(runtime.destroy_graph(graph), Err(Status::INVALID_VALUE));
        let steps = runtime.steps(executable).unwrap();
        assert_eq!((&steps[0].operation, &steps[3].operation), (&Operation::Empty, &host(4)));
    }

    #[test]
    fn graphs_lie_in_graphs() {
        let mut runtime = runtime();
        let [inner, outer] = [(); 2].map(|()| runtime.create_graph().unwrap());
        let [a, b] = [1, 2].map(|data| runtime.add_node(inner, &[], host(data)).unwrap());
        let first = runtime.add_node(outer, &[], host(0)).unwrap();
        let child = runtime.add_node(outer, &[first], Operation::Graph(inner)).unwrap();
        runtime.add_node(outer, &[child], host(3)).unwrap();
        runtime.destroy_node(a).unwrap();
        runtime.destroy_node(b).unwrap();
        let executable = runtime.instantiate(outer, 0).unwrap();
        let steps = runtime.steps(executable).unwrap();
        assert_eq!(steps.iter().map(|step| step.after.as_slice()).collect::<Vec<_>>(), [&[][..], &[0], &[0], &[1, 2]]);
        assert_eq!(runtime.add_node(outer, &[a], host(0)), Err(Status::INVALID_VALUE));
    }

    #[test]
    fn what_is_performed_takes_over_graphs_of_the_same_shape() {
        let mut runtime = runtime();
        let graph = runtime.create_graph().unwrap();
        let a = runtime.add_node(graph, &[], host(1)).unwrap();
        let b = runtime.add_node(graph, &[a], Operation::Empty).unwrap();
        let executable = runtime.instantiate(graph, 0).unwrap();
        let other = runtime.clone_graph(graph).unwrap();
        runtime.set_node(runtime.node_in_clone(a, other).unwrap(), host(7)).unwrap();
        assert_eq!(runtime.update_executable(executable, other).unwrap(), Ok(()));
        assert_eq!(runtime.steps(executable).unwrap()[0].operation, host(7));
        runtime.set_executable_node(executable, a, host(8)).unwrap();
        assert_eq!(runtime.set_node(a, Operation::Empty), Err(Status::INVALID_VALUE));
        runtime.remove_dependencies(other, &runtime.graph_edges(other).unwrap()).unwrap();
        let fault = runtime.update_executable(executable, other).unwrap().unwrap_err();
        assert_eq!((fault.reason, fault.node), (super::TOPOLOGY, runtime.node_in_clone(b, other).unwrap()));
    }
}
