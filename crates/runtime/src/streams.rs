//! Streams and events: where work lies on the clock of the device.
//!
//! Work is done when it is asked for, so that waiting takes no time here; what streams and events say is when it would
//! have been done. The host takes time on this clock only to ask for work, and to wait for it.

use warplens_session::trail::Place;

use crate::clock::Nanoseconds;
use crate::handles::Handle;
use crate::runtime::Runtime;
use crate::status::{Result, Status};
use crate::timeline::{Needs, Timeline};

/// Handles of the default stream: none, that of the process, that of a thread.
const DEFAULT: [Handle; 3] = [0, 1, 2];
/// The stream does not wait for the default stream.
const NON_BLOCKING: u32 = 1;
/// The event holds no time.
const DISABLE_TIMING: u32 = 2;

/// A stream.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Stream {
    /// When its last work ends.
    ready: Nanoseconds,
    /// Its number, for people; that of the default stream is 0.
    number: u32,
    /// The number of the stream in which a graph is performed that this is a branch of.
    branch_of: Option<u32>,
    flags: u32,
    priority: i32,
}

/// An event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    flags: u32,
    at: Option<Nanoseconds>,
}

impl Runtime {
    /// Makes a stream.
    pub fn create_stream(&mut self, flags: u32, priority: i32) -> Result<Handle> {
        if flags > NON_BLOCKING {
            return Err(Status::INVALID_VALUE);
        }
        self.streams_made += 1;
        Ok(self.streams.insert(Stream {
            ready: self.host_clock,
            number: self.streams_made,
            branch_of: None,
            flags,
            priority,
        }))
    }

    /// Takes a stream away.
    pub fn destroy_stream(&mut self, stream: Handle) -> Result<()> {
        self.forget_captured(stream);
        self.streams.remove(stream).map(drop).ok_or(Status::INVALID_HANDLE)
    }

    /// Flags and priority of a stream.
    pub fn stream_facts(&self, stream: Handle) -> Result<(u32, i32)> {
        self.stream(stream).map(|stream| (stream.flags, stream.priority))
    }

    fn stream(&self, stream: Handle) -> Result<&Stream> {
        if DEFAULT.contains(&stream) {
            return Ok(&self.default_stream);
        }
        self.streams.get(stream).ok_or(Status::INVALID_HANDLE)
    }

    /// True for the default stream, by whatever handle.
    pub(crate) fn is_default(&self, stream: Handle) -> bool {
        DEFAULT.contains(&stream)
    }

    /// True for a stream that waits for the default stream, and it for the stream.
    pub(crate) fn waits_for_default(&self, stream: Handle) -> bool {
        self.streams.get(stream).is_some_and(|stream| stream.flags & NON_BLOCKING == 0)
    }

    /// When work that is asked for now begins in a stream.
    fn begins(&self, stream: Handle) -> Result<Nanoseconds> {
        let own = self.stream(stream)?;
        let earliest = own.ready.max(self.host_clock);
        if DEFAULT.contains(&stream) {
            // The default stream waits for all others but those that do not want it.
            let blocking = self.streams.iter().filter(|(_, other)| other.flags & NON_BLOCKING == 0);
            return Ok(blocking.fold(earliest, |time, (_, other)| time.max(other.ready)));
        }
        Ok(if own.flags & NON_BLOCKING == 0 { earliest.max(self.default_stream.ready) } else { earliest })
    }

    /// Work of so many seconds in a stream. The host takes its time to ask for it, but for what a graph holds, which it has
    /// asked for as a whole.
    pub(crate) fn work(&mut self, stream: Handle, needs: Needs, seconds: f64) -> Result<Place> {
        self.undisturbed(stream)?;
        if self.stream(stream)?.branch_of.is_none() {
            self.host_asks();
        }
        let ready = self.begins(stream)?;
        let own = self.stream(stream)?;
        let number = own.branch_of.unwrap_or(own.number);
        let (begin, end) = self.timeline.place(needs, ready, seconds, self.host_clock);
        self.ends(stream, end);
        Ok(Place { stream: number, begin: begin.0, end: end.0 })
    }

    /// The host takes its time to ask for work.
    fn host_asks(&mut self) {
        let overhead = self.transfers.first().map_or(0.0, |transfers| transfers.overhead);
        self.host_clock = self.host_clock.after(overhead);
    }

    /// The last work of a stream ends at a time.
    fn ends(&mut self, stream: Handle, end: Nanoseconds) {
        if DEFAULT.contains(&stream) {
            self.default_stream.ready = end;
        } else if let Some(stream) = self.streams.get_mut(stream) {
            stream.ready = end;
        }
    }

    /// Where work of several branches that a stream has next begins.
    pub fn begin_branches(&mut self, stream: Handle) -> Result<Nanoseconds> {
        self.undisturbed(stream)?;
        self.host_asks();
        self.begins(stream)
    }

    /// A stream for one of them, which begins when others have ended. On the time line it is the stream of the graph.
    pub fn begin_branch(&mut self, of: Handle, begin: Nanoseconds, after: &[Nanoseconds]) -> Handle {
        let ready = after.iter().fold(begin, |latest, end| latest.max(*end));
        let branch_of = self.stream(of).ok().map(|stream| stream.branch_of.unwrap_or(stream.number));
        self.streams.insert(Stream { ready, number: 0, branch_of, flags: NON_BLOCKING, priority: 0 })
    }

    /// Takes it away. Returns when it has ended.
    pub fn end_branch(&mut self, branch: Handle) -> Nanoseconds {
        self.streams.remove(branch).map_or(self.host_clock, |stream| stream.ready)
    }

    /// The stream goes on when all of them have ended.
    pub fn end_branches(&mut self, stream: Handle, ends: &[Nanoseconds]) -> Result<()> {
        let ready = self.begins(stream)?;
        self.ends(stream, ends.iter().fold(ready, |latest, end| latest.max(*end)));
        Ok(())
    }

    /// The host waits for a stream.
    pub fn synchronize_stream(&mut self, stream: Handle) -> Result<()> {
        self.alive()?;
        self.undisturbed(stream)?;
        let end = self.begins(stream)?;
        self.host_clock = self.host_clock.max(end);
        Ok(())
    }

    /// The host waits for everything.
    pub fn synchronize(&mut self) -> Result<()> {
        self.alive()?;
        self.nothing_captured()?;
        let last = self.streams.iter().fold(self.default_stream.ready, |time, (_, stream)| time.max(stream.ready));
        self.host_clock = self.host_clock.max(last);
        Ok(())
    }

    /// Whether a stream is known; all its work is done.
    pub fn query_stream(&mut self, stream: Handle) -> Result<()> {
        self.synchronize_stream(stream)
    }

    /// A stream waits for an event.
    pub fn wait_event(&mut self, stream: Handle, event: Handle) -> Result<()> {
        let at = self.events.get(event).ok_or(Status::INVALID_HANDLE)?.at;
        let ready = self.begins(stream)?.max(at.unwrap_or_default());
        if !self.capture_wait(stream, event)? {
            self.ends(stream, ready);
        }
        Ok(())
    }

    /// Makes an event.
    pub fn create_event(&mut self, flags: u32) -> Result<Handle> {
        if flags > 7 {
            return Err(Status::INVALID_VALUE);
        }
        Ok(self.events.insert(Event { flags, at: None }))
    }

    /// Takes an event away.
    pub fn destroy_event(&mut self, event: Handle) -> Result<()> {
        self.graphs.events.remove(&event);
        self.events.remove(event).map(drop).ok_or(Status::INVALID_HANDLE)
    }

    /// Records an event behind what is in a stream.
    pub fn record_event(&mut self, event: Handle, stream: Handle) -> Result<()> {
        self.alive()?;
        let at = self.begins(stream)?;
        self.events.get(event).ok_or(Status::INVALID_HANDLE)?;
        // An event in a captured stream has no time.
        let at = if self.capture_record(event, stream)? { None } else { Some(at) };
        let event = self.events.get_mut(event).ok_or(Status::INVALID_HANDLE)?;
        event.at = at;
        Ok(())
    }

    /// The host waits for an event.
    pub fn synchronize_event(&mut self, event: Handle) -> Result<()> {
        self.alive()?;
        self.event_is_not_captured(event)?;
        let event = self.events.get(event).ok_or(Status::INVALID_HANDLE)?;
        self.host_clock = self.host_clock.max(event.at.unwrap_or_default());
        Ok(())
    }

    /// Milliseconds of the device between two events.
    pub fn elapsed(&self, start: Handle, end: Handle) -> Result<f32> {
        self.alive()?;
        let time = |event: Handle| {
            let event = self.events.get(event).ok_or(Status::INVALID_HANDLE)?;
            if event.flags & DISABLE_TIMING != 0 {
                return Err(Status::INVALID_HANDLE);
            }
            event.at.ok_or(Status::INVALID_HANDLE)
        };
        let (start, end) = (time(start)?, time(end)?);
        Ok(end.milliseconds_since(start))
    }

    /// Everything in every stream begins anew, as after a reset of the device.
    pub(crate) fn reset_streams(&mut self) {
        self.streams.values_mut().for_each(|stream| stream.ready = Nanoseconds::default());
        self.default_stream.ready = Nanoseconds::default();
        self.timeline = Timeline::default();
        self.host_clock = Nanoseconds::default();
    }
}
