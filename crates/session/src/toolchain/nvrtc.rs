//! Calls NVRTC, the compiler in a library, which needs no compiler of the host.
//!
//! It runs in a thread of its own, for as long as compilers may take. A thread cannot be ended from outside: one that
//! takes longer is left alone, and ends with the program.
//!
//! This is the only module of the crate that calls foreign code. The functions, their types and the meaning of their
//! results are those of `nvrtc.h`, which have been the same since CUDA 7.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use libloading::Library;

use super::{Compiled, Search, TimeLimit, process, unit};
use crate::input::Input;
use warplens_base::error::{Error, Result};

/// `nvrtcResult`; 0 is success.
type Status = c_int;
/// `nvrtcProgram`.
type Handle = *mut c_void;
type Create = unsafe extern "C" fn(
    *mut Handle,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> Status;
type Compile = unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> Status;
type Destroy = unsafe extern "C" fn(*mut Handle) -> Status;
type Size = unsafe extern "C" fn(Handle, *mut usize) -> Status;
type Get = unsafe extern "C" fn(Handle, *mut c_char) -> Status;

pub(super) fn compile(
    library: &Path,
    input: &Input,
    target: &str,
    macros: &[(String, String)],
    search: &Search,
) -> Result<Compiled> {
    unit::check_target(target)?;
    let virtual_target = target.replace("sm_", "compute_");
    let mut options = vec![format!("--gpu-architecture={virtual_target}"), "-lineinfo".to_owned()];
    let own = unit::folder(input)?;
    let includes = search.include_folders();
    let folders = [&own].into_iter().chain(&search.flags.includes).chain(&includes);
    options.extend(folders.map(|folder| format!("-I{}", folder.display())));
    options.extend(search.flags.words.iter().cloned());
    let nul = |_| Error::input(format!("{} holds a zero byte, which no source text does", input.name));
    let source = CString::new(unit::text(input, macros)?).map_err(nul)?;
    let name = CString::new(input.name.clone()).map_err(nul)?;
    let options: Vec<CString> =
        options.into_iter().map(CString::new).collect::<std::result::Result<_, _>>().map_err(nul)?;
    let job = Job { library: library.to_owned(), shown: input.name.clone(), source, name, options };
    job.run_within(&search.limit)
}

/// What a thread compiles.
struct Job {
    library: PathBuf,
    /// What messages call the source.
    shown: String,
    source: CString,
    name: CString,
    options: Vec<CString>,
}

impl Job {
    /// The stack of the thread: templates recurse, and a main thread, for which NVRTC is made, has as much.
    const STACK_BYTES: usize = 64 << 20;

    fn run_within(self, limit: &TimeLimit) -> Result<Compiled> {
        let seconds = limit.seconds()?;
        let library = self.library.display().to_string();
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::Builder::new().name("nvrtc".to_owned()).stack_size(Self::STACK_BYTES);
        // Nobody listens any more when the time is over.
        let work = move || drop(sender.send(self.run()));
        thread.spawn(work).map_err(|error| Error::input(format!("cannot start a thread for {library}: {error}")))?;
        receiver.recv_timeout(Duration::from_secs(seconds)).unwrap_or_else(|error| match error {
            RecvTimeoutError::Timeout => Err(process::too_slow(&format!("{library} was given up"), seconds)),
            RecvTimeoutError::Disconnected => Err(Error::input(format!("{library} broke off"))),
        })
    }

    fn run(self) -> Result<Compiled> {
        let nvrtc = Nvrtc::load(&self.library)?;
        let mut program = nvrtc.create(&self.source, &self.name)?;
        let compiled = program.compile(&self.options);
        let messages = program.log();
        if !compiled {
            let error = Error::input(format!("NVRTC could not compile {}", self.shown));
            let error = messages.lines().fold(error, Error::with_detail);
            return Err(error.with_help("NVRTC compiles device code alone; a file with host code needs nvcc"));
        }
        let ptx = program.ptx().ok_or_else(|| Error::input("NVRTC gave no PTX"))?;
        Ok(Compiled { ptx, compiler: self.library.display().to_string(), messages })
    }
}

/// The library with the functions that are called.
struct Nvrtc {
    create: Create,
    compile: Compile,
    destroy: Destroy,
    log_size: Size,
    log: Get,
    ptx_size: Size,
    ptx: Get,
    /// Dropped last: the functions live in it.
    _library: Library,
}

impl Nvrtc {
    fn load(path: &Path) -> Result<Self> {
        let failed = |error: libloading::Error| Error::input(format!("cannot load {}: {error}", path.display()));
        // SAFETY: the initialisers of NVRTC have no preconditions; the file was found under NVRTC's name in a place
        // that the user chose for CUDA.
        let library = unsafe { Library::new(path) }.map_err(failed)?;
        // SAFETY: each symbol is read with the type that nvrtc.h declares for its name. The copied pointers are used
        // only while `_library`, kept in the same structure, keeps the code loaded.
        unsafe {
            Ok(Self {
                create: *library.get::<Create>(b"nvrtcCreateProgram\0").map_err(failed)?,
                compile: *library.get::<Compile>(b"nvrtcCompileProgram\0").map_err(failed)?,
                destroy: *library.get::<Destroy>(b"nvrtcDestroyProgram\0").map_err(failed)?,
                log_size: *library.get::<Size>(b"nvrtcGetProgramLogSize\0").map_err(failed)?,
                log: *library.get::<Get>(b"nvrtcGetProgramLog\0").map_err(failed)?,
                ptx_size: *library.get::<Size>(b"nvrtcGetPTXSize\0").map_err(failed)?,
                ptx: *library.get::<Get>(b"nvrtcGetPTX\0").map_err(failed)?,
                _library: library,
            })
        }
    }

    fn create(&self, source: &CString, name: &CString) -> Result<Program<'_>> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: `handle` is writable, both strings end with a zero and outlive the call, and with a count of zero the
        // arrays of headers may be null.
        let status = unsafe {
            (self.create)(&mut handle, source.as_ptr(), name.as_ptr(), 0, std::ptr::null(), std::ptr::null())
        };
        if status != 0 {
            return Err(Error::input(format!("NVRTC refused the source with status {status}")));
        }
        Ok(Program { nvrtc: self, handle })
    }
}

/// A program that NVRTC holds; destroyed on drop.
struct Program<'n> {
    nvrtc: &'n Nvrtc,
    handle: Handle,
}

impl Program<'_> {
    fn compile(&mut self, options: &[CString]) -> bool {
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let count = c_int::try_from(pointers.len()).expect("a handful of options");
        // SAFETY: the handle is live; `pointers` holds `count` pointers to strings that end with a zero and outlive the
        // call.
        unsafe { (self.nvrtc.compile)(self.handle, count, pointers.as_ptr()) == 0 }
    }

    fn log(&self) -> String {
        self.text(self.nvrtc.log_size, self.nvrtc.log).unwrap_or_default()
    }

    fn ptx(&self) -> Option<String> {
        self.text(self.nvrtc.ptx_size, self.nvrtc.ptx)
    }

    /// A text of the program: its size is asked for first, and counts the zero at its end.
    fn text(&self, size: Size, get: Get) -> Option<String> {
        let mut n_bytes = 0;
        // SAFETY: the handle is live and `n_bytes` is writable.
        if unsafe { size(self.handle, &mut n_bytes) } != 0 {
            return None;
        }
        let mut bytes = vec![0u8; n_bytes];
        // SAFETY: the handle is live; the buffer has the size that NVRTC just stated for this text.
        if unsafe { get(self.handle, bytes.as_mut_ptr().cast()) } != 0 {
            return None;
        }
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is live and is not used again. A failure leaves nothing to be done.
        unsafe { (self.nvrtc.destroy)(&mut self.handle) };
    }
}
