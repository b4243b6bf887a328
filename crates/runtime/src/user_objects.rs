//! Objects of a program that graphs keep: when nobody needs one any more, a function of the host is called with it.

use std::collections::BTreeMap;

use crate::handles::{Handle, Table};
use crate::runtime::Runtime;
use crate::status::{Result, Status};

/// A call of a function of the host, by the number of the function and what it is handed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostCall {
    /// The function.
    pub function: u64,
    /// What it is handed.
    pub data: u64,
}

/// An object with how often somebody needs it.
#[derive(Debug)]
struct UserObject {
    end: HostCall,
    references: u64,
}

/// All objects, and what graphs have of them.
#[derive(Debug)]
pub(crate) struct UserObjects {
    objects: Table<UserObject>,
    /// References of graphs, by graph and object.
    held: BTreeMap<Handle, BTreeMap<Handle, u64>>,
    /// Calls that are to be made.
    ended: Vec<HostCall>,
}

impl Default for UserObjects {
    fn default() -> Self {
        Self { objects: Table::new(17), held: BTreeMap::new(), ended: Vec::new() }
    }
}

impl UserObjects {
    /// How often the program itself needs an object, beside graphs.
    fn own_references(&self, object: Handle) -> Option<u64> {
        let of_graphs: u64 = self.held.values().filter_map(|held| held.get(&object)).sum();
        Some(self.objects.get(object)?.references.saturating_sub(of_graphs))
    }

    fn release(&mut self, object: Handle, count: u64) {
        if let Some(known) = self.objects.get_mut(object) {
            known.references = known.references.saturating_sub(count);
            if known.references == 0 {
                self.ended.push(known.end);
                self.objects.remove(object);
            }
        }
    }
}

impl Runtime {
    /// Makes an object that is needed so many times.
    pub fn create_user_object(&mut self, end: HostCall, references: u32) -> Result<Handle> {
        if references == 0 {
            return Err(Status::INVALID_VALUE);
        }
        Ok(self.user_objects.objects.insert(UserObject { end, references: references.into() }))
    }

    /// It is needed so many times more.
    pub fn retain_user_object(&mut self, object: Handle, count: u32) -> Result<()> {
        let known = self.user_objects.objects.get_mut(object).filter(|_| count > 0).ok_or(Status::INVALID_VALUE)?;
        known.references += u64::from(count);
        Ok(())
    }

    /// It is needed so many times less.
    pub fn release_user_object(&mut self, object: Handle, count: u32) -> Result<()> {
        let own = self.user_objects.own_references(object);
        own.filter(|&own| count > 0 && own >= count.into()).ok_or(Status::INVALID_VALUE)?;
        self.user_objects.release(object, count.into());
        Ok(())
    }

    /// A graph needs an object so many times: it takes over references of the caller, or has new ones.
    pub fn graph_retains(&mut self, graph: Handle, object: Handle, count: u32, takes_over: bool) -> Result<()> {
        self.graph_nodes(graph)?;
        match takes_over {
            false => self.retain_user_object(object, count)?,
            true => {
                let own = self.user_objects.own_references(object);
                own.filter(|&own| count > 0 && own >= count.into()).ok_or(Status::INVALID_VALUE)?;
            }
        }
        *self.user_objects.held.entry(graph).or_default().entry(object).or_default() += u64::from(count);
        Ok(())
    }

    /// A graph needs it so many times less.
    pub fn graph_releases(&mut self, graph: Handle, object: Handle, count: u32) -> Result<()> {
        let held = self.user_objects.held.get_mut(&graph).and_then(|held| held.get_mut(&object));
        let held = held.filter(|held| count > 0 && **held >= count.into()).ok_or(Status::INVALID_VALUE)?;
        *held -= u64::from(count);
        self.user_objects.release(object, count.into());
        Ok(())
    }

    /// A copy of a graph needs what the graph needs.
    pub(crate) fn copy_held(&mut self, graph: Handle, copy: Handle) {
        let UserObjects { objects, held, .. } = &mut self.user_objects;
        let Some(of_graph) = held.get(&graph).cloned() else { return };
        for (object, count) in &of_graph {
            if let Some(known) = objects.get_mut(*object) {
                known.references += count;
            }
        }
        held.insert(copy, of_graph);
    }

    /// A graph is gone.
    pub(crate) fn release_held(&mut self, graph: Handle) {
        for (object, count) in self.user_objects.held.remove(&graph).unwrap_or_default() {
            self.user_objects.release(object, count);
        }
    }

    /// Calls that are to be made because nobody needs an object any more. They are handed out once.
    pub fn ended_user_objects(&mut self) -> Vec<HostCall> {
        std::mem::take(&mut self.user_objects.ended)
    }
}

#[cfg(test)]
mod tests {
    use crate::operations::Operation;
    use crate::runtime::tests::runtime;

    use super::*;

    const END: HostCall = HostCall { function: 7, data: 9 };

    #[test]
    fn an_object_ends_when_its_owner_and_all_graphs_have_given_it_back() {
        let mut runtime = runtime();
        let graph = runtime.create_graph().unwrap();
        let object = runtime.create_user_object(END, 2).unwrap();
        assert_eq!(runtime.graph_retains(graph, object, 3, true), Err(Status::INVALID_VALUE), "there are two");
        runtime.graph_retains(graph, object, 1, true).unwrap();
        runtime.graph_retains(graph, object, 1, false).unwrap();
        let made = runtime.instantiate(graph, 0).unwrap();
        runtime.release_user_object(object, 1).unwrap();
        runtime.destroy_graph(graph).unwrap();
        assert_eq!(runtime.ended_user_objects(), [], "what is performed has it");
        runtime.destroy_executable(made).unwrap();
        assert_eq!(runtime.ended_user_objects(), [END]);
        assert_eq!(
            (runtime.ended_user_objects().len(), runtime.retain_user_object(object, 1)),
            (0, Err(Status::INVALID_VALUE))
        );
    }

    /// A graph inside of another goes when another takes its place, and the one that was given stays its owner's.
    #[test]
    fn a_graph_that_is_replaced_gives_back_what_it_held() {
        let mut runtime = runtime();
        let [outer, first, second] = [0; 3].map(|_| runtime.create_graph().unwrap());
        let object = runtime.create_user_object(END, 1).unwrap();
        runtime.graph_retains(first, object, 1, true).unwrap();
        let node = runtime.add_node(outer, &[], Operation::Graph(first)).unwrap();
        let made = runtime.instantiate(outer, 0).unwrap();
        runtime.destroy_graph(first).unwrap();
        runtime.set_node(node, Operation::Graph(second)).unwrap();
        assert_eq!(runtime.ended_user_objects(), [], "what is performed has it");
        runtime.set_executable_node(made, node, Operation::Graph(second)).unwrap();
        assert_eq!(runtime.ended_user_objects(), [END]);
        runtime.destroy_graph(second).unwrap();
        assert_eq!(runtime.steps(made).unwrap().len(), 0);
        assert_eq!(runtime.destroy_graph(first), Err(Status::INVALID_VALUE), "it is gone already");
    }

    #[test]
    fn wrong_counts_are_refused() {
        let mut runtime = runtime();
        assert_eq!(runtime.create_user_object(END, 0), Err(Status::INVALID_VALUE));
        let (graph, object) = (runtime.create_graph().unwrap(), runtime.create_user_object(END, 1).unwrap());
        assert_eq!(runtime.release_user_object(object, 2), Err(Status::INVALID_VALUE));
        assert_eq!(runtime.graph_releases(graph, object, 1), Err(Status::INVALID_VALUE), "it has none");
        runtime.graph_retains(graph, object, 2, false).unwrap();
        assert_eq!(runtime.release_user_object(object, 2), Err(Status::INVALID_VALUE), "two of three are the graph's");
        let other = runtime.create_graph().unwrap();
        assert_eq!(runtime.graph_retains(other, object, 2, true), Err(Status::INVALID_VALUE));
        runtime.graph_releases(graph, object, 2).unwrap();
        assert_eq!(runtime.ended_user_objects(), []);
        runtime.release_user_object(object, 1).unwrap();
        assert_eq!(runtime.ended_user_objects(), [END]);
    }
}
