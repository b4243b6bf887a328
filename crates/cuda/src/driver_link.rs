//! Linking in the driver API, and the options of its compiler.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use warplens_runtime::{Handle, Status};

use crate::driver::in_context;
use crate::guard::driver_call;
use crate::pointers::{In, Memory, Out, Text};
use crate::registration::image_in;
use crate::{Runtime, api};

type Result<T> = std::result::Result<T, Status>;

/// `CUjit_option`.
const WALL_TIME: i32 = 2;
const INFO_LOG: i32 = 3;
const INFO_LOG_BYTES: i32 = 4;
const ERROR_LOG: i32 = 5;
const ERROR_LOG_BYTES: i32 = 6;
/// Most options that a call may have: as many as there are, and some.
const MOST_OPTIONS: u32 = 64;

/// `CUjitInputType`.
const CUBIN: i32 = 0;
const PTX: i32 = 1;
const FATBINARY: i32 = 2;
const OBJECT: i32 = 3;
const LIBRARY: i32 = 4;

/// A log that the caller wants to have: where it goes, its bytes, and where their number is stored.
#[derive(Clone, Copy, Default)]
struct Log {
    buffer: u64,
    bytes: usize,
    count: Option<u64>,
}

impl Log {
    fn write(self, text: &str) {
        if self.buffer == 0 || self.bytes == 0 {
            return;
        }
        let kept = &text.as_bytes()[..text.len().min(self.bytes - 1)];
        let stored = Memory::at(self.buffer).with_bytes_mut(kept.len() + 1, |to| {
            to[..kept.len()].copy_from_slice(kept);
            to[kept.len()] = 0;
            Ok(())
        });
        if let (Ok(()), Some(count)) = (stored, self.count) {
            store(count, kept.len() as u32);
        }
    }
}

/// The logs among the options of the compiler.
#[derive(Clone, Copy, Default)]
pub(crate) struct Logs {
    info: Log,
    error: Log,
}

/// Stores a word where an option has its value.
fn store(place: u64, word: u32) {
    // The place is not null.
    let _ = Memory::at(place).with_bytes_mut(4, |bytes| {
        bytes.copy_from_slice(&word.to_le_bytes());
        Ok(())
    });
}

impl Logs {
    /// Reads options. Those that say how code is made have nothing to say where PTX is what runs.
    pub(crate) fn of(count: u32, options: In<i32>, values: In<Memory>) -> Result<Self> {
        let mut logs = Self::default();
        if count > MOST_OPTIONS {
            return Err(Status::INVALID_VALUE);
        }
        for index in 0..count as usize {
            let (option, value) = (options.at(index)?, values.at(index)?.address());
            let place = values.address() + 8 * index as u64;
            // The number is one of 32 bits in the place of a pointer.
            let bytes = (value as u32) as usize;
            match option {
                WALL_TIME => store(place, 0),
                INFO_LOG => logs.info.buffer = value,
                INFO_LOG_BYTES => logs.info = Log { bytes, count: Some(place), ..logs.info },
                ERROR_LOG => logs.error.buffer = value,
                ERROR_LOG_BYTES => logs.error = Log { bytes, count: Some(place), ..logs.error },
                _ => {}
            }
        }
        Ok(logs)
    }

    /// Does work and says in the logs how it went.
    pub(crate) fn tell<T>(self, runtime: &mut Runtime, work: impl FnOnce(&mut Runtime) -> Result<T>) -> Result<T> {
        let result = work(runtime);
        self.info.write("");
        self.error.write(if result.is_err() { runtime.last_words() } else { "" });
        result
    }
}

/// Logs of the linkers that are there.
static LOGS: Mutex<BTreeMap<Handle, Logs>> = Mutex::new(BTreeMap::new());

fn logs() -> MutexGuard<'static, BTreeMap<Handle, Logs>> {
    LOGS.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn logs_of(linker: Memory) -> Logs {
    logs().get(&linker.address()).copied().unwrap_or_default()
}

fn add(runtime: &mut Runtime, linker: Memory, name: &str, kind: i32, bytes: &[u8]) -> Result<()> {
    logs_of(linker).tell(runtime, |runtime| match kind {
        // What another linker gave is a container as well.
        CUBIN | PTX | FATBINARY => runtime.add_to_linker(linker.address(), name, image_in(bytes)?),
        OBJECT | LIBRARY => runtime.add_library_to_linker(linker.address(), name, bytes),
        _ => Err(Status::INVALID_VALUE),
    })
}

fn name_of(name: Text) -> Result<String> {
    if name.is_null() { Ok("a part".to_owned()) } else { name.get() }
}

fn create(runtime: &mut Runtime, logs_of_it: Result<Logs>, to: Out<u64>) -> Result<()> {
    in_context(runtime)?;
    let logs_of_it = logs_of_it?;
    let linker = runtime.create_linker();
    logs().insert(linker, logs_of_it);
    to.set(linker)
}

fn add_data(
    runtime: &mut Runtime,
    linker: Memory,
    kind: i32,
    (data, bytes): (Memory, usize),
    name: Text,
) -> Result<()> {
    let name = name_of(name)?;
    data.with_bytes(bytes, |bytes| add(runtime, linker, &name, kind, bytes))
}

fn add_file(runtime: &mut Runtime, linker: Memory, kind: i32, path: Text) -> Result<()> {
    let path = path.get()?;
    // The file that is not found has a code of its own.
    let bytes = std::fs::read(&path).map_err(|_| Status::FILE_NOT_FOUND)?;
    add(runtime, linker, &path, kind, &bytes)
}

api! { driver_call;
    /// Begins to link.
    fn cuLinkCreate(count: u32, options: In<i32>, values: In<Memory>, to: Out<u64>) |runtime| {
        create(runtime, Logs::of(count, options, values), to)
    }

    /// The same.
    fn cuLinkCreate_v2(count: u32, options: In<i32>, values: In<Memory>, to: Out<u64>) |runtime| {
        create(runtime, Logs::of(count, options, values), to)
    }

    /// Adds a part.
    fn cuLinkAddData(
        linker: Memory, kind: i32, data: Memory, bytes: usize, name: Text, _count: u32, _options: In<i32>,
        _values: In<Memory>,
    ) |runtime| {
        add_data(runtime, linker, kind, (data, bytes), name)
    }

    /// The same.
    fn cuLinkAddData_v2(
        linker: Memory, kind: i32, data: Memory, bytes: usize, name: Text, _count: u32, _options: In<i32>,
        _values: In<Memory>,
    ) |runtime| {
        add_data(runtime, linker, kind, (data, bytes), name)
    }

    /// Adds a part that is in a file.
    fn cuLinkAddFile(
        linker: Memory, kind: i32, path: Text, _count: u32, _options: In<i32>, _values: In<Memory>,
    ) |runtime| {
        add_file(runtime, linker, kind, path)
    }

    /// The same.
    fn cuLinkAddFile_v2(
        linker: Memory, kind: i32, path: Text, _count: u32, _options: In<i32>, _values: In<Memory>,
    ) |runtime| {
        add_file(runtime, linker, kind, path)
    }

    /// Links the parts: what comes out can be loaded, and is there as long as the linker.
    fn cuLinkComplete(linker: Memory, to: Out<u64>, bytes: Out<usize>) |runtime| {
        let (address, length) = logs_of(linker).tell(runtime, |runtime| {
            let container = runtime.complete_linker(linker.address())?;
            Ok((Memory::of(container).address(), container.len()))
        })?;
        to.set(address)?;
        bytes.set_if_wanted(length);
        Ok(())
    }

    /// Ends it.
    fn cuLinkDestroy(linker: Memory) |runtime| {
        logs().remove(&linker.address());
        runtime.destroy_linker(linker.address())
    }
}
