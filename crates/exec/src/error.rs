//! What can go wrong while a kernel runs.

use std::fmt;

use thiserror::Error;
use warplens_isa::{Geometry, OpaqueType, Pc, StateSpace};

use crate::decode::Unsupported;
use crate::memory::BadFree;

/// A thread of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadCoordinates {
    /// CTA in the grid.
    pub cta: [u32; 3],
    /// Thread in the CTA.
    pub thread: [u32; 3],
}

impl fmt::Display for ThreadCoordinates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [cx, cy, cz] = self.cta;
        let [tx, ty, tz] = self.thread;
        write!(f, "block ({cx},{cy},{cz}) thread ({tx},{ty},{tz})")
    }
}

/// Why an access was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessFault {
    /// The address belongs to no buffer, or runs over the end of one.
    OutOfBounds,
    /// The address belongs to a buffer that was freed.
    Freed,
    /// The address is not a multiple of the access size.
    Misaligned,
    /// The address lies in the first page, which is never mapped.
    Null,
    /// The address belongs to another state space.
    OtherSpace(StateSpace),
    /// The memory cannot be written.
    ReadOnly,
    /// The CTA of the cluster whose shared memory it is has ended; its rank.
    Exited(u32),
    /// The cluster has fewer CTAs.
    NoSuchCta {
        /// The rank that the address says.
        rank: u32,
        /// CTAs of the cluster.
        n_ctas: u32,
    },
}

/// A refused memory access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessError {
    /// Why.
    pub fault: AccessFault,
    /// The memory instruction.
    pub pc: Pc,
    /// Thread that made it: the lowest lane concerned.
    pub thread: ThreadCoordinates,
    /// State space as the instruction writes it.
    pub space: StateSpace,
    /// "load", "store" or "atomic".
    pub kind: &'static str,
    /// Address.
    pub address: u64,
    /// Bytes accessed.
    pub bytes: u32,
    /// The buffer nearest to the address.
    pub nearest: Option<NearestBuffer>,
}

/// The buffer nearest to a bad address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NearestBuffer {
    /// Its name.
    pub name: String,
    /// Its first address.
    pub base: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Position of the access relative to the buffer's first byte.
    pub offset: i128,
    /// It has been freed.
    pub is_freed: bool,
}

/// Memory is mapped on GPUs in pages of this size.
const MAPPED_BYTES: u64 = 2 << 20;

impl NearestBuffer {
    /// True if an access of so many bytes goes beyond the end of the buffer and stays in the page that the end lies in, if
    /// the buffer begins with a page.
    pub(crate) fn is_overrun_by(&self, bytes: u32) -> bool {
        let size = i128::from(self.bytes);
        let (end, mapped) =
            (self.offset + i128::from(bytes), i128::from(self.bytes.max(1).next_multiple_of(MAPPED_BYTES)));
        !self.is_freed && self.offset >= 0 && end > size && end <= mapped
    }
}

impl fmt::Display for NearestBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, bytes, offset, .. } = self;
        let size = i128::from(*bytes);
        if *offset < 0 {
            write!(f, "{} bytes before `{name}`, which has {bytes} bytes", -offset)
        } else if *offset >= size {
            write!(f, "{} bytes after the end of `{name}`, which has {bytes} bytes", offset - size)
        } else {
            let has = if self.is_freed { "was freed and had" } else { "has" };
            write!(f, "at byte {offset} of `{name}`, which {has} {bytes} bytes")
        }
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.fault {
            AccessFault::OutOfBounds => "out-of-bounds".to_owned(),
            AccessFault::Freed => "use-after-free".to_owned(),
            AccessFault::Misaligned => "misaligned".to_owned(),
            AccessFault::Null => "null-pointer".to_owned(),
            AccessFault::OtherSpace(space) => format!("wrong-space ({space} address)"),
            AccessFault::ReadOnly => "read-only".to_owned(),
            AccessFault::Exited(_) => "late".to_owned(),
            AccessFault::NoSuchCta { .. } => "out-of-cluster".to_owned(),
        };
        let Self { kind, bytes, space, address, thread, .. } = self;
        write!(f, "{what} {space} {kind} of {bytes} bytes at {address:#x} by {thread}")?;
        match (self.fault, &self.nearest) {
            (AccessFault::Exited(rank), _) => {
                write!(f, ": block {rank} of the cluster, whose memory it is, has ended")
            }
            (AccessFault::NoSuchCta { rank, n_ctas }, _) => {
                write!(f, ": it is of block {rank} of a cluster of {n_ctas}")
            }
            (_, Some(nearest)) => write!(f, ": {nearest}"),
            (_, None) => Ok(()),
        }
    }
}

/// Why a value is no object that an instruction can use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum HandleFault {
    /// It is the handle of nothing.
    #[error("is no handle of a texture, sampler or surface")]
    Unknown,
    /// What it stood for was taken away.
    #[error("is the handle of an object that was destroyed")]
    Destroyed,
    /// It stands for something else.
    #[error("is the handle of a {}", .0.name())]
    Other(OpaqueType),
    /// It is the address of a variable that nobody bound.
    #[error("is the address of a {} variable that nothing is bound to", .0.name())]
    Unbound(OpaqueType),
    /// The texels were freed.
    #[error("is the handle of an object whose memory was freed")]
    Freed,
}

/// Why a texture or surface instruction was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TextureFault {
    /// The handle does not serve.
    Handle(HandleFault),
    /// The object has another shape.
    Geometry {
        /// What the instruction says.
        wanted: Geometry,
        /// What the object has.
        found: Geometry,
    },
    /// Linear memory is fetched by integer coordinates only, and read through no sampler.
    Linear,
    /// What is reduced is no whole texel.
    Channels {
        /// Bytes that the instruction moves.
        bytes: u32,
        /// Bytes of a texel.
        texel: u32,
    },
    /// A surface is accessed beyond its edge.
    Outside {
        /// Coordinates of the access, layer first where there are any.
        at: Vec<i64>,
        /// What they have to be below.
        extent: Vec<u64>,
    },
    /// The first coordinate of a surface is no multiple of the access.
    Misaligned {
        /// The coordinate.
        byte: i64,
        /// Bytes of the access.
        bytes: u32,
    },
}

/// A refused access to a texture or surface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextureError {
    /// Why.
    pub fault: TextureFault,
    /// What was accessed.
    pub opaque: OpaqueType,
    /// The instruction.
    pub pc: Pc,
    /// Thread that made it: the lowest lane concerned.
    pub thread: ThreadCoordinates,
    /// The handle, or the address of the variable that holds it.
    pub handle: u64,
}

impl fmt::Display for TextureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fault, opaque, thread, handle, .. } = self;
        let opaque = opaque.name();
        match fault {
            TextureFault::Handle(fault) => write!(f, "bad {opaque} by {thread}: {handle:#x} {fault}"),
            TextureFault::Geometry { wanted, found } => {
                let (wanted, found) = (wanted.name(), found.name());
                write!(f, "wrong {opaque} by {thread}: {handle:#x} is {found}, the instruction takes {wanted}")
            }
            TextureFault::Linear => {
                write!(f, "wrong {opaque} by {thread}: {handle:#x} is linear memory, which takes integer coordinates")
            }
            TextureFault::Channels { bytes, texel } => {
                write!(f, "wrong {opaque} by {thread}: texels of {handle:#x} have {texel} bytes, not {bytes}")
            }
            TextureFault::Outside { at, extent } => {
                write!(f, "out-of-bounds {opaque} access by {thread}: {at:?} of {handle:#x}, which ends at {extent:?}")
            }
            TextureFault::Misaligned { byte, bytes } => {
                write!(
                    f,
                    "misaligned {opaque} access of {bytes} bytes by {thread}: at byte {byte} of a row of {handle:#x}"
                )
            }
        }
    }
}

/// Lanes of a warp that wait at a barrier that cannot complete.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitingWarp {
    /// CTA in the grid.
    pub cta: [u32; 3],
    /// Warp in the CTA.
    pub warp: u32,
    /// Lanes that wait.
    pub lanes: u32,
    /// The instruction at which they wait; `None` for lanes that wait to reconverge with lanes that wait elsewhere.
    pub at: Option<Pc>,
    /// What they wait for.
    pub place: WaitingPlace,
}

/// What lanes wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitingPlace {
    /// Other lanes of the warp.
    Lanes,
    /// A CTA barrier, of this number.
    Barrier(u32),
    /// The barrier of the cluster.
    Cluster,
    /// The other warps of a group that multiply matrices together.
    Group,
    /// The end of a phase of a barrier in memory.
    Phase {
        /// Address of the barrier in shared memory.
        address: u64,
        /// Parity of the phase.
        parity: bool,
        /// Arrivals that the phase still waits for, and bytes, where that is known.
        missing: Option<(u32, i32)>,
    },
}

/// Why a launch stopped.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ExecError {
    /// An instruction of the call graph cannot be executed; found before anything ran.
    #[error("{} instructions of the kernel cannot be executed", .0.len())]
    Unsupported(Vec<Unsupported>),
    /// An instruction that cannot be executed was reached.
    #[error("an instruction that cannot be executed was reached by {thread}")]
    ReachedUnsupported {
        /// The instruction.
        pc: Pc,
        /// Thread that reached it.
        thread: ThreadCoordinates,
    },
    /// A refused memory access.
    #[error("{0}")]
    Access(Box<AccessError>),
    /// A refused access to a texture or surface.
    #[error("{0}")]
    Texture(Box<TextureError>),
    /// The instruction budget is used up.
    #[error("{} in block ({},{},{})", budget_text(*budget, *warp), cta[0], cta[1], cta[2])]
    Budget {
        /// The budget of a warp in instructions.
        budget: u64,
        /// CTA that was running.
        cta: [u32; 3],
        /// The warp that used its budget up; `None` if the warps of a kernel that waits did so together.
        warp: Option<u32>,
        /// Where it was.
        pc: Pc,
    },
    /// The warps of the launch have executed more than they may together.
    #[error("the launch has executed its budget of {budget} warp instructions")]
    LaunchBudget {
        /// What they may execute.
        budget: u64,
        /// Where one of them was.
        pc: Pc,
    },
    /// A barrier that can never complete.
    #[error("deadlock: {} at barriers that can never complete", waiting_text(.0))]
    Deadlock(Vec<WaitingWarp>),
    /// A `trap` instruction, or a failed device assertion.
    #[error("{message} by {thread}")]
    Trap {
        /// The instruction.
        pc: Pc,
        /// Thread that executed it.
        thread: ThreadCoordinates,
        /// What happened.
        message: String,
    },
    /// The four warps of a group, which multiply matrices together, have not come to the same products.
    #[error("{}", parted_text(*warp, *cta, *others))]
    PartedWarpgroup {
        /// The product.
        pc: Pc,
        /// CTA in the grid.
        cta: [u32; 3],
        /// The warp that has come to it, or that has not.
        warp: u32,
        /// The product that others of the group have come to in its place; none if the warp did not come.
        others: Option<Pc>,
    },
    /// The module of the kernel was unloaded.
    #[error("the module of the kernel has been unloaded")]
    Unloaded,
    /// The kernel's own frame is larger than a thread may have.
    #[error("a thread takes {bytes} bytes of local memory and registers, and has at most {limit}")]
    Frame {
        /// Bytes of the frame.
        bytes: u64,
        /// Limit in bytes per thread.
        limit: u64,
    },
    /// The call stack grew beyond its limit.
    #[error("stack overflow: more than {limit} bytes of frames in {thread}")]
    StackOverflow {
        /// The call.
        pc: Pc,
        /// Thread that made it.
        thread: ThreadCoordinates,
        /// Limit in bytes per thread.
        limit: u64,
    },
    /// An indirect call or branch to an address that is no function or target.
    #[error("indirect {what} to {address:#x}, which is no target, by {thread}")]
    BadTarget {
        /// The instruction.
        pc: Pc,
        /// Thread that executed it.
        thread: ThreadCoordinates,
        /// "call" or "branch".
        what: &'static str,
        /// Address or index.
        address: u64,
    },
    /// A lane takes part in an exchange whose member mask does not name it, which the instruction set leaves undefined.
    #[error("the member mask {members:#010x} does not name the lane itself, by {thread}")]
    NotMember {
        /// The instruction.
        pc: Pc,
        /// Thread that executed it.
        thread: ThreadCoordinates,
        /// Its member mask.
        members: u32,
    },
    /// A copy of a box whose tensor map is none, or that cannot be made by it.
    #[error("tensor map at {address:#x}: {reason}, by {thread}")]
    BadTensorMap {
        /// The copy.
        pc: Pc,
        /// Thread that made it.
        thread: ThreadCoordinates,
        /// Address of the map.
        address: u64,
        /// What is wrong.
        reason: String,
    },
    /// A device-side `free` of something that cannot be freed.
    #[error("free of {address:#x}, {reason}, by {thread}")]
    BadFree {
        /// The call.
        pc: Pc,
        /// Thread that made it.
        thread: ThreadCoordinates,
        /// Address.
        address: u64,
        /// Why it cannot be freed.
        reason: BadFree,
    },
    /// A barrier number beyond 15 or a thread count of zero.
    #[error("barrier {barrier} with {count} threads is impossible, by {thread}")]
    BadBarrier {
        /// The instruction.
        pc: Pc,
        /// Thread that executed it.
        thread: ThreadCoordinates,
        /// Barrier number.
        barrier: u32,
        /// Thread count.
        count: u32,
    },
}

/// How many warps wait. One warp may do so at several places.
fn parted_text(warp: u32, [x, y, z]: [u32; 3], others: Option<Pc>) -> String {
    let reason = match others {
        Some(_) => format!("warp {warp} has come to it while another warp of its group has come to another one"),
        None => format!("warp {warp} has not come to it"),
    };
    format!("the four warps of a group multiply matrices together, and {reason} in block ({x},{y},{z})")
}

fn waiting_text(waiting: &[WaitingWarp]) -> String {
    let mut warps: Vec<([u32; 3], u32)> = waiting.iter().map(|waiting| (waiting.cta, waiting.warp)).collect();
    warps.sort_unstable();
    warps.dedup();
    match warps.len() {
        1 => "1 warp waits".to_owned(),
        n => format!("{n} warps wait"),
    }
}

fn budget_text(budget: u64, warp: Option<u32>) -> String {
    match warp {
        Some(warp) => format!("warp {warp} has executed its budget of {budget} instructions"),
        None => format!(
            "warps that wait for each other have executed {SPIN_FACTOR} times the budget of {budget} instructions"
        ),
    }
}

/// How many times the budget of one warp the warps of a kernel may execute together, if it is one in which threads wait
/// for each other: there all of them can spin.
pub(crate) const SPIN_FACTOR: u64 = 20;

impl ExecError {
    /// An error of a request whose lanes stand for places, said of the thread that asked for them.
    pub(crate) fn of_thread(mut self, thread: ThreadCoordinates) -> Self {
        if let Self::Access(access) = &mut self {
            access.thread = thread;
        }
        self
    }

    /// The instruction that the error points at.
    pub fn pc(&self) -> Option<Pc> {
        match self {
            Self::Unsupported(list) => list.first().map(|unsupported| unsupported.pc),
            Self::Frame { .. } | Self::Unloaded => None,
            Self::Access(error) => Some(error.pc),
            Self::Texture(error) => Some(error.pc),
            Self::Deadlock(warps) => warps.iter().find_map(|warp| warp.at),
            Self::ReachedUnsupported { pc, .. }
            | Self::Budget { pc, .. }
            | Self::LaunchBudget { pc, .. }
            | Self::Trap { pc, .. }
            | Self::StackOverflow { pc, .. }
            | Self::BadTarget { pc, .. }
            | Self::NotMember { pc, .. }
            | Self::BadTensorMap { pc, .. }
            | Self::BadFree { pc, .. }
            | Self::PartedWarpgroup { pc, .. }
            | Self::BadBarrier { pc, .. } => Some(*pc),
        }
    }
}
