//! Captured streams: what is asked of them becomes nodes of a graph, and is not done.
//!
//! A stream that waits for an event of a captured stream is captured too, and must be waited for before the capture ends.

use std::collections::BTreeSet;
use std::thread::{self, ThreadId};

use crate::handles::Handle;
use crate::operations::Operation;
use crate::runtime::Runtime;
use crate::status::{Result, Status};

/// Which calls are refused while a stream is captured.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum CaptureMode {
    /// Calls of all threads that could disturb a capture.
    #[default]
    Global,
    /// Those of the thread that began it.
    ThreadLocal,
    /// None.
    Relaxed,
}

impl CaptureMode {
    /// The mode with CUDA's number.
    pub fn from_number(number: i32) -> Option<Self> {
        [Self::Global, Self::ThreadLocal, Self::Relaxed].get(usize::try_from(number).ok()?).copied()
    }

    /// CUDA's number of the mode.
    pub fn number(self) -> i32 {
        self as i32
    }
}

/// A capture under way.
#[derive(Debug)]
pub(crate) struct Capture {
    graph: Handle,
    /// The graph was there before.
    is_given: bool,
    /// The stream that it began in.
    origin: Handle,
    mode: CaptureMode,
    thread: ThreadId,
    is_valid: bool,
}

/// A captured stream, or an event in one.
#[derive(Clone, Debug)]
pub(crate) struct Captured {
    capture: Handle,
    /// What comes next waits for these nodes.
    last: Vec<Handle>,
}

/// What can be asked about a captured stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaptureInfo {
    /// False after a call that a capture cannot have.
    pub is_valid: bool,
    /// Number of the capture.
    pub id: u64,
    /// The graph that is made.
    pub graph: Handle,
    /// The nodes that the next one will wait for.
    pub last: Vec<Handle>,
}

impl Runtime {
    /// Begins to capture a stream, into a graph of its own or behind nodes of a given one.
    pub fn begin_capture(
        &mut self,
        stream: Handle,
        mode: CaptureMode,
        into: Option<(Handle, Vec<Handle>)>,
    ) -> Result<()> {
        self.alive()?;
        self.stream_facts(stream)?;
        if self.is_default(stream) {
            return Err(Status::CAPTURE_UNSUPPORTED);
        }
        if self.graphs.streams.contains_key(&stream) {
            return Err(Status::ILLEGAL_STATE);
        }
        let is_given = into.is_some();
        let (graph, last) = match into {
            Some((graph, last)) => {
                for &node in &last {
                    if self.node_graph(node)? != graph {
                        return Err(Status::INVALID_VALUE);
                    }
                }
                self.graph_nodes(graph)?;
                (graph, last)
            }
            None => (self.create_graph()?, Vec::new()),
        };
        let thread = thread::current().id();
        let capture =
            self.graphs.captures.insert(Capture { graph, is_given, origin: stream, mode, thread, is_valid: true });
        self.graphs.streams.insert(stream, Captured { capture, last });
        Ok(())
    }

    /// Ends a capture. Returns its graph.
    pub fn end_capture(&mut self, stream: Handle) -> Result<Handle> {
        self.stream_facts(stream)?;
        let Captured { capture, last } = self.graphs.streams.get(&stream).cloned().ok_or(Status::ILLEGAL_STATE)?;
        let of = self.graphs.captures.get(capture).ok_or(Status::ILLEGAL_STATE)?;
        if of.mode != CaptureMode::Relaxed && of.thread != thread::current().id() {
            return Err(Status::CAPTURE_WRONG_THREAD);
        }
        if of.origin != stream {
            self.invalidate(capture);
            return Err(Status::CAPTURE_UNMATCHED);
        }
        let others = self.graphs.streams.iter().filter(|(other, of)| of.capture == capture && **other != stream);
        let others: Vec<Handle> = others.flat_map(|(_, of)| of.last.iter().copied()).collect();
        let waited = self.reaches(&last);
        let is_joined = others.iter().all(|node| waited.contains(node));
        self.graphs.streams.retain(|_, of| of.capture != capture);
        self.graphs.events.retain(|_, of| of.capture != capture);
        let Capture { graph, is_given, is_valid, .. } =
            self.graphs.captures.remove(capture).ok_or(Status::ILLEGAL_STATE)?;
        let fault = match (is_valid, is_joined) {
            (true, true) => return Ok(graph),
            (false, _) => Status::CAPTURE_INVALIDATED,
            (true, false) => Status::CAPTURE_UNJOINED,
        };
        if !is_given {
            // Nobody knows of it.
            let _ = self.destroy_graph(graph);
        }
        Err(fault)
    }

    /// Nodes with all that they wait for.
    fn reaches(&self, nodes: &[Handle]) -> BTreeSet<Handle> {
        let mut found = BTreeSet::new();
        let mut left = nodes.to_vec();
        while let Some(node) = left.pop() {
            if found.insert(node) {
                left.extend(self.node_dependencies(node).unwrap_or_default());
            }
        }
        found
    }

    /// What a stream's capture is like; none where it is not captured.
    pub fn capture_info(&mut self, stream: Handle) -> Result<Option<CaptureInfo>> {
        self.stream_facts(stream)?;
        if self.is_default(stream) {
            self.undisturbed(stream)?;
        }
        let Some(Captured { capture, last }) = self.graphs.streams.get(&stream) else { return Ok(None) };
        let of = self.graphs.captures.get(*capture).ok_or(Status::ILLEGAL_STATE)?;
        Ok(Some(CaptureInfo { is_valid: of.is_valid, id: *capture, graph: of.graph, last: last.clone() }))
    }

    /// Adds to the nodes that the next one waits for, or replaces them.
    pub fn update_capture(&mut self, stream: Handle, nodes: &[Handle], replace: bool) -> Result<()> {
        let info = self.capture_info(stream)?.ok_or(Status::ILLEGAL_STATE)?;
        for &node in nodes {
            if self.node_graph(node)? != info.graph {
                return Err(Status::INVALID_VALUE);
            }
        }
        let captured = self.graphs.streams.get_mut(&stream).ok_or(Status::ILLEGAL_STATE)?;
        if replace {
            captured.last.clear();
        }
        add(&mut captured.last, nodes);
        Ok(())
    }

    /// Replaces the mode of the thread. Returns the one that it had.
    pub fn exchange_capture_mode(&mut self, mode: CaptureMode) -> CaptureMode {
        self.graphs.modes.insert(thread::current().id(), mode).unwrap_or_default()
    }

    /// An operation of a stream: it comes back if it is to be done now, and becomes a node if the stream is captured.
    pub fn submit(&mut self, stream: Handle, operation: Operation) -> Result<Option<Operation>> {
        self.alive()?;
        self.stream_facts(stream)?;
        let Some(Captured { capture, last }) = self.graphs.streams.get(&stream).cloned() else {
            self.undisturbed(stream)?;
            return Ok(Some(operation));
        };
        let of = self.graphs.captures.get(capture).ok_or(Status::ILLEGAL_STATE)?;
        if !of.is_valid {
            return Err(Status::CAPTURE_INVALIDATED);
        }
        let graph = of.graph;
        if let Operation::Launch(request) = &operation
            && let Err(status) = self.check(request)
        {
            self.invalidate(capture);
            return Err(status);
        }
        let node = self.add_node(graph, &last, operation)?;
        if let Some(captured) = self.graphs.streams.get_mut(&stream) {
            captured.last = vec![node];
        }
        Ok(None)
    }

    /// Records an event in a captured stream. False if the stream is not captured.
    pub(crate) fn capture_record(&mut self, event: Handle, stream: Handle) -> Result<bool> {
        match self.graphs.streams.get(&stream).cloned() {
            Some(captured) => {
                self.graphs.events.insert(event, captured);
                Ok(true)
            }
            None => {
                self.undisturbed(stream)?;
                self.graphs.events.remove(&event);
                Ok(false)
            }
        }
    }

    /// Lets a stream wait for an event where one of them is captured. False if none is.
    pub(crate) fn capture_wait(&mut self, stream: Handle, event: Handle) -> Result<bool> {
        let of_event = self.graphs.events.get(&event).cloned();
        match (self.graphs.streams.get(&stream).cloned(), of_event) {
            (None, None) => {
                self.undisturbed(stream)?;
                Ok(false)
            }
            (None, Some(captured)) => {
                if self.is_default(stream) {
                    self.invalidate(captured.capture);
                    return Err(Status::CAPTURE_IMPLICIT);
                }
                self.graphs.streams.insert(stream, captured);
                Ok(true)
            }
            (Some(own), None) => {
                self.invalidate(own.capture);
                Err(Status::CAPTURE_ISOLATION)
            }
            (Some(own), Some(other)) if own.capture != other.capture => {
                self.invalidate(own.capture);
                self.invalidate(other.capture);
                Err(Status::CAPTURE_MERGE)
            }
            (Some(mut own), Some(other)) => {
                add(&mut own.last, &other.last);
                self.graphs.streams.insert(stream, own);
                Ok(true)
            }
        }
    }

    /// Refuses to ask an event of a captured stream how far it is.
    pub(crate) fn event_is_not_captured(&mut self, event: Handle) -> Result<()> {
        match self.graphs.events.get(&event).map(|captured| captured.capture) {
            Some(capture) => {
                self.invalidate(capture);
                Err(Status::CAPTURED_EVENT)
            }
            None => Ok(()),
        }
    }

    /// A stream is taken away. A capture that began in it ends; of others it is known until they end what was captured.
    pub(crate) fn forget_captured(&mut self, stream: Handle) {
        if let Some(Captured { capture, .. }) = self.graphs.streams.get(&stream) {
            let capture = *capture;
            if self.graphs.captures.get(capture).is_some_and(|of| of.origin == stream) {
                self.invalidate(capture);
                // It fails, and that is all that is left of it.
                let _ = self.end_capture(stream);
                self.graphs.streams.remove(&stream);
            }
        }
    }

    /// Refuses work in a stream that is captured, and in the default stream while one is captured that waits for it.
    pub(crate) fn undisturbed(&mut self, stream: Handle) -> Result<()> {
        if self.graphs.streams.is_empty() {
            return Ok(());
        }
        if let Some(Captured { capture, .. }) = self.graphs.streams.get(&stream) {
            self.invalidate(*capture);
            return Err(Status::CAPTURE_UNSUPPORTED);
        }
        if self.is_default(stream) {
            let blocking = self.graphs.streams.iter().filter(|(stream, _)| self.waits_for_default(**stream));
            let captures: Vec<Handle> = blocking.map(|(_, of)| of.capture).collect();
            if !captures.is_empty() {
                captures.into_iter().for_each(|capture| self.invalidate(capture));
                return Err(Status::CAPTURE_IMPLICIT);
            }
        }
        Ok(())
    }

    /// Refuses to wait for the device while a stream of it is captured.
    pub(crate) fn nothing_captured(&mut self) -> Result<()> {
        if self.graphs.streams.is_empty() {
            return Ok(());
        }
        let all: BTreeSet<Handle> = self.graphs.streams.values().map(|of| of.capture).collect();
        all.into_iter().for_each(|capture| self.invalidate(capture));
        Err(Status::CAPTURE_UNSUPPORTED)
    }

    /// Refuses calls that could disturb a capture, such as allocations, as the modes say.
    pub(crate) fn undisturbing(&mut self) -> Result<()> {
        if self.graphs.streams.is_empty() {
            return Ok(());
        }
        let thread = thread::current().id();
        let own = self.graphs.modes.get(&thread).copied().unwrap_or_default();
        let disturbs = |of: &Capture| match (own, of.mode) {
            (CaptureMode::Relaxed, _) | (_, CaptureMode::Relaxed) => false,
            (CaptureMode::Global, CaptureMode::Global) => true,
            (CaptureMode::ThreadLocal, _) | (_, CaptureMode::ThreadLocal) => of.thread == thread,
        };
        let disturbed: Vec<Handle> =
            self.graphs.captures.iter().filter(|(_, of)| disturbs(of)).map(|(capture, _)| capture).collect();
        if disturbed.is_empty() {
            return Ok(());
        }
        disturbed.into_iter().for_each(|capture| self.invalidate(capture));
        Err(Status::CAPTURE_UNSUPPORTED)
    }

    fn invalidate(&mut self, capture: Handle) {
        if let Some(capture) = self.graphs.captures.get_mut(capture) {
            capture.is_valid = false;
        }
    }
}

/// Adds what is not there.
fn add(to: &mut Vec<Handle>, nodes: &[Handle]) {
    for node in nodes {
        if !to.contains(node) {
            to.push(*node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::tests::runtime;

    fn host(data: u64) -> Operation {
        Operation::Host { function: 1, data }
    }

    #[test]
    fn streams_become_branches_of_a_graph() {
        let mut runtime = runtime();
        let [a, b] = [(); 2].map(|()| runtime.create_stream(0, 0).unwrap());
        let [forked, joined] = [(); 2].map(|()| runtime.create_event(0).unwrap());
        runtime.begin_capture(a, CaptureMode::Global, None).unwrap();
        assert_eq!(runtime.submit(a, host(1)), Ok(None));
        runtime.record_event(forked, a).unwrap();
        runtime.wait_event(b, forked).unwrap();
        assert_eq!((runtime.submit(b, host(2)), runtime.submit(a, host(3))), (Ok(None), Ok(None)));
        runtime.record_event(joined, b).unwrap();
        runtime.wait_event(a, joined).unwrap();
        assert_eq!(runtime.submit(a, host(4)), Ok(None));
        assert!(runtime.capture_info(b).unwrap().is_some());
        // Nobody needs the branch any more.
        runtime.destroy_stream(b).unwrap();
        let graph = runtime.end_capture(a).unwrap();
        let executable = runtime.instantiate(graph, 0).unwrap();
        let steps = runtime.steps(executable).unwrap();
        assert_eq!(steps.iter().map(|step| step.after.as_slice()).collect::<Vec<_>>(), [&[][..], &[0], &[0], &[1, 2]]);
        // Afterwards the streams work as ever.
        assert_eq!(runtime.submit(a, host(5)), Ok(Some(host(5))));
    }

    #[test]
    fn what_a_capture_cannot_have_ends_it() {
        let mut runtime = runtime();
        let [a, b] = [(); 2].map(|()| runtime.create_stream(0, 0).unwrap());
        let event = runtime.create_event(0).unwrap();
        let mut refused = |call: &mut dyn FnMut(&mut Runtime) -> Result<()>, expected: Status| {
            runtime.begin_capture(a, CaptureMode::Global, None).unwrap();
            runtime.submit(a, Operation::Empty).unwrap();
            assert_eq!(call(&mut runtime), Err(expected));
            assert_eq!(runtime.end_capture(a), Err(Status::CAPTURE_INVALIDATED), "{expected:?}");
            assert_eq!(runtime.end_capture(a), Err(Status::ILLEGAL_STATE));
        };
        refused(&mut |runtime| runtime.synchronize_stream(a), Status::CAPTURE_UNSUPPORTED);
        refused(&mut |runtime| runtime.synchronize(), Status::CAPTURE_UNSUPPORTED);
        refused(&mut |runtime| runtime.submit(0, Operation::Empty).map(drop), Status::CAPTURE_IMPLICIT);
        refused(&mut |runtime| runtime.wait_event(a, event), Status::CAPTURE_ISOLATION);
        refused(
            &mut |runtime| runtime.allocate("cudaMalloc", 4, crate::memory::MemoryKind::Device).map(drop),
            Status::CAPTURE_UNSUPPORTED,
        );
        refused(
            &mut |runtime| {
                runtime.record_event(event, a)?;
                runtime.synchronize_event(event)
            },
            Status::CAPTURED_EVENT,
        );
        refused(
            &mut |runtime| {
                runtime.record_event(event, a)?;
                runtime.wait_event(b, event)?;
                runtime.end_capture(b).map(drop)
            },
            Status::CAPTURE_UNMATCHED,
        );
        runtime.begin_capture(a, CaptureMode::Relaxed, None).unwrap();
        runtime.allocate("cudaMalloc", 4, crate::memory::MemoryKind::Device).unwrap();
        runtime.record_event(event, a).unwrap();
        runtime.wait_event(b, event).unwrap();
        runtime.submit(b, Operation::Empty).unwrap();
        assert_eq!(runtime.end_capture(a), Err(Status::CAPTURE_UNJOINED));
        assert_eq!(runtime.capture_info(b), Ok(None));
        runtime.begin_capture(b, CaptureMode::Global, None).unwrap();
        runtime.destroy_stream(b).unwrap();
        assert!(runtime.graphs.captures.iter().next().is_none());
        assert_eq!(runtime.begin_capture(0, CaptureMode::Global, None), Err(Status::CAPTURE_UNSUPPORTED));
    }
}
