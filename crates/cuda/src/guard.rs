//! The one way from C into the runtime: a lock, a net for panics, and the last error.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};

use warplens_runtime::{Config, HostCall, Runtime, Status, say};

use crate::driver::use_primary;
use crate::host::{self, Host};
use crate::pointers::{Memory, call_number};

/// The runtime, with the clock of a program whose clocks follow the device.
static RUNTIME: Mutex<Option<(Runtime, Clock)>> = Mutex::new(None);

thread_local! {
    /// The last error of the runtime API in this thread.
    static LAST: Cell<Status> = const { Cell::new(Status::SUCCESS) };
}

fn runtime() -> MutexGuard<'static, Option<(Runtime, Clock)>> {
    // What a panic left is known to be broken by other means.
    let mut runtime = RUNTIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if runtime.is_none() {
        let config = Config::from_environment(&say);
        *runtime = Some((Runtime::new(config, Box::new(Host)), Clock::default()));
    }
    runtime
}

/// When the clocks of host and device were at 0, and when the program has left us last, on the kernel's clock.
#[derive(Default)]
struct Clock(Option<(i64, i64)>);

impl Clock {
    /// The time of the program since it left us last is time on the device's clock, too.
    fn enter(&mut self, runtime: &mut Runtime) {
        if runtime.virtual_clock().is_some() {
            host::stop_clocks();
            let now = host::nanoseconds();
            let (_, left) = *self.0.get_or_insert((now, now));
            runtime.host_ran((now - left) as f64 / 1e9);
        }
    }

    /// The time that we took is none of the program's, but that of the device is, where it waited.
    fn leave(&mut self, runtime: &Runtime) {
        if let Some(clock) = runtime.virtual_clock() {
            let now = host::nanoseconds();
            let (start, left) = self.0.get_or_insert((now, now));
            *left = now;
            host::start_clocks(clock as i64 - (now - *start));
        }
    }
}

/// The process that has the runtime; 0 before there is one.
static OWNER: AtomicU32 = AtomicU32::new(0);
/// A child of that process has been told.
static IS_TOLD: AtomicBool = AtomicBool::new(false);

/// True in a child that was forked after its parent has called CUDA: the device stays with the parent, as on a GPU. The
/// lock may be held by a thread that the child does not have, so that it is not asked.
fn is_forked() -> bool {
    let (own, owner) = (std::process::id(), OWNER.load(Ordering::Relaxed));
    if owner == 0 {
        OWNER.store(own, Ordering::Relaxed);
    }
    let is_forked = owner != 0 && owner != own;
    if is_forked && !IS_TOLD.swap(true, Ordering::Relaxed) {
        say("a process that was forked after the first call of CUDA has no device: fork before, or start a program");
    }
    is_forked
}

fn guarded(work: impl FnOnce(&mut Runtime) -> Result<(), Status>) -> Status {
    if is_forked() {
        return Status::NOT_INITIALIZED;
    }
    entered(work)
}

/// What a compiler lets a program do before `main` and behind it. These are no calls of CUDA: a process that has made none
/// may still fork.
pub(crate) fn registration(work: impl FnOnce(&mut Runtime) -> Result<(), Status>) {
    let owner = OWNER.load(Ordering::Relaxed);
    if owner == 0 || owner == std::process::id() {
        entered(work);
    }
}

fn entered(work: impl FnOnce(&mut Runtime) -> Result<(), Status>) -> Status {
    let mut ended = Vec::new();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let mut runtime = runtime();
        let (runtime, clock) = runtime.as_mut().expect("it was made");
        clock.enter(runtime);
        // A second net inside of the lock, so that the runtime can be told.
        let status = match catch_unwind(AssertUnwindSafe(|| work(runtime))) {
            Ok(result) => result.err().unwrap_or(Status::SUCCESS),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                runtime.broken(text.unwrap_or("an unknown panic"))
            }
        };
        ended = runtime.ended_user_objects();
        clock.leave(runtime);
        status
    }));
    // Outside of the lock, as these functions may call CUDA.
    for HostCall { function, data } in ended {
        call_number(function, Memory::at(data));
    }
    caught.unwrap_or(Status::UNKNOWN)
}

/// A call of the runtime API, whose error is the last one of the thread.
pub(crate) fn runtime_call(work: impl FnOnce(&mut Runtime) -> Result<(), Status>) -> i32 {
    let status = guarded(work);
    if !status.is_success() {
        set_last(status);
    }
    status.0
}

/// A call of the runtime API that needs the device: the first one starts it, and makes the context that both interfaces share
/// the current one of the thread.
pub(crate) fn device_call(work: impl FnOnce(&mut Runtime) -> Result<(), Status>) -> i32 {
    runtime_call(|runtime| {
        use_primary(runtime)?;
        work(runtime)
    })
}

/// A call of the driver API.
pub(crate) fn driver_call(work: impl FnOnce(&mut Runtime) -> Result<(), Status>) -> i32 {
    let status = guarded(work);
    // Some codes are of the runtime API alone.
    if status.driver_name().is_some() { status.0 } else { Status::INVALID_VALUE.0 }
}

/// As [`device_call`], for work that is named elsewhere.
pub(crate) fn device_guard(work: &mut dyn FnMut(&mut Runtime) -> Result<(), Status>) -> i32 {
    device_call(work)
}

/// The same for the driver API.
pub(crate) fn driver_guard(work: &mut dyn FnMut(&mut Runtime) -> Result<(), Status>) -> i32 {
    driver_call(work)
}

/// A call of what is not supported.
pub(crate) fn unsupported(function: &'static str) -> i32 {
    let status = guarded(|runtime| Err(runtime.unsupported(function)));
    if function.starts_with("cuda") {
        set_last(status);
    }
    status.0
}

fn set_last(status: Status) {
    // A thread that ends has no last error any more.
    let _ = LAST.try_with(|last| last.set(status));
}

/// The last error of the thread.
pub(crate) fn last() -> Status {
    LAST.try_with(Cell::get).unwrap_or(Status::SUCCESS)
}

/// Forgets the last error of the thread.
pub(crate) fn forget_last() {
    set_last(Status::SUCCESS);
}
