//! Launches of an archive, put back on a device of their own and measured.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use warplens_base::error::{Error, Result};
use warplens_device::{Context, Marks};
use warplens_document::archive::{self as document, ArchivedLaunch, ArchivedMemory};
use warplens_ir::MOST_REGISTERS;
use warplens_launch::KernelName;
use warplens_stats::Counting;

use super::{INDEX, MACHINE, PTX, store};
use crate::execution::ExecutionOptions;
use crate::host;
use crate::measurement::Measurement;
use crate::progress::Progress;
use crate::runs;
use crate::saved;
use crate::served::{Code, Loaded, Served, ServedLaunch};
use crate::toolchain::{CodeKind, Search};

/// An archive that is read.
#[derive(Debug)]
pub struct Archive {
    name: String,
    folder: PathBuf,
    launches: Vec<ArchivedLaunch>,
}

/// A launch of an archive.
#[derive(Clone, Debug)]
pub struct Archived {
    name: String,
    number: usize,
    folder: PathBuf,
    launch: Arc<ArchivedLaunch>,
}

impl Archive {
    /// Reads the index of an archive. `name` is what messages call it.
    pub fn read(name: &str, folder: &Path, index: &str) -> Result<Self> {
        let document: document::Archive = saved::document_of(&format!("{name} ({INDEX})"), index)?;
        Ok(Self { name: name.to_owned(), folder: folder.to_owned(), launches: document.launches })
    }

    /// The launch with a number, or all; of the kernel with a name where one is given.
    pub fn launches(self, number: Option<usize>, kernel: Option<&str>) -> Result<Vec<Archived>> {
        let Self { name, folder, launches } = self;
        let count = launches.len();
        if let Some(number) = number.filter(|&number| number >= count) {
            let last = count.checked_sub(1).map_or_else(|| "none".to_owned(), |last| format!("0 to {last}"));
            return Err(Error::usage(format!("{name} has no launch {number}; it has {last}")));
        }
        let mut chosen = Vec::new();
        for (at, launch) in launches.into_iter().enumerate() {
            let is_named = kernel.map_or(Ok(true), |kernel| KernelName::new(&launch.kernel).matches(kernel))?;
            if is_named && number.is_none_or(|number| number == at) {
                let name = format!("{name}, launch {at}");
                chosen.push(Archived { name, number: at, folder: folder.clone(), launch: Arc::new(launch) });
            }
        }
        if chosen.is_empty() {
            return Err(match kernel {
                Some(kernel) => Error::input(format!("{name} holds no launch of kernel `{kernel}`")),
                None => Error::input(format!("{name} holds no launch")),
            });
        }
        Ok(chosen)
    }
}

impl Archived {
    /// Executes and counts the launch, on each generation that it is asked about.
    pub fn measure(
        &self,
        options: &ExecutionOptions,
        counting: Counting,
        search: &Search,
        progress: &Progress,
    ) -> Result<Vec<Measurement>> {
        if options.statics.is_some() {
            return Err(Error::usage(format!("{} is executed: --static is of no use", self.name)));
        }
        let launch = self.launch()?;
        let measured = runs::on_each(&options.generations, |generation| {
            let (mut context, loaded, served) = self.placed(search)?;
            let on = (&mut context, &loaded);
            served.ran(on, &launch, (options, generation), counting, progress)
        });
        let named = |measurement| Measurement { archived: Some(self.number), ..measurement };
        Ok(measured?.into_iter().map(named).collect())
    }

    fn damaged(&self, what: impl std::fmt::Display) -> Error {
        Error::input(format!("{} cannot be read: {what}", self.name))
    }

    fn launch(&self) -> Result<ServedLaunch> {
        let ArchivedLaunch { parameters, grid, block, cluster, dynamic_shared_bytes, reachable_bytes, .. } =
            &*self.launch;
        let digits = parameters.as_bytes();
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes: Option<Vec<u8>> = digits.chunks(2).map(|pair| byte(pair).filter(|_| pair.len() == 2)).collect();
        Ok(ServedLaunch {
            grid: *grid,
            block: *block,
            cluster: *cluster,
            // It was launched.
            allows_large_clusters: true,
            dynamic_shared: *dynamic_shared_bytes,
            parameters: bytes.ok_or_else(|| self.damaged("its parameters are no hexadecimal digits"))?,
            memory_bytes: *reachable_bytes,
        })
    }

    /// A device with everything in its place.
    fn placed(&self, search: &Search) -> Result<(Context, Loaded, Served)> {
        let ArchivedLaunch { kernel, code, memory, .. } = &*self.launch;
        let limit = host::memory_for_buffers();
        let bytes = memory.iter().map(|memory| &memory.content).chain(&code.parts).map(|content| content.bytes);
        let bytes = bytes.fold(0, u64::saturating_add);
        if bytes > limit {
            return Err(self.damaged(format!("it takes {bytes} bytes of memory, and {limit} are left")));
        }
        let mut context = Context::new(64, limit);
        let is_below = |memory: &&ArchivedMemory| memory.address < code.global_address;
        let others = || memory.iter().filter(|memory| !memory.of_module);
        others().filter(is_below).try_for_each(|memory| self.place(&mut context, memory))?;
        let marks =
            Marks { global: code.global_address, constant: code.constant_address, function: code.function_address };
        context.advance(marks).map_err(|error| self.damaged(error))?;
        let (kind, target) = match &code.assembled_for {
            Some(target) => (CodeKind::Machine, target.as_str()),
            None => (CodeKind::Generated, ""),
        };
        let search = Search { code: kind, ..search.clone() };
        let loaded = Loaded::new(&mut context, &self.name, self.code()?, (target, &search))?;
        others().filter(|memory| !is_below(memory)).try_for_each(|memory| self.place(&mut context, memory))?;
        for memory in memory {
            let bytes = store::read(&self.folder, &memory.content).map_err(|error| self.damaged(error))?;
            context.write(memory.address, &bytes).map_err(|error| self.damaged(error))?;
        }
        if !(1..=MOST_REGISTERS).contains(&self.launch.registers) {
            return Err(self.damaged(format!("a thread has no {} registers", self.launch.registers)));
        }
        let registers = (self.launch.registers, saved::read_registers_basis(self.launch.registers_basis));
        let served = Served::with_registers(&mut context, &loaded, kernel, registers)?;
        let served = served.ok_or_else(|| self.damaged(format!("its code has no kernel `{kernel}`")))?;
        Ok((context, loaded, served))
    }

    fn place(&self, context: &mut Context, memory: &ArchivedMemory) -> Result<()> {
        let placed = context.place_at(&memory.name, memory.address, memory.content.bytes);
        placed.map(drop).map_err(|error| self.damaged(error))
    }

    fn code(&self) -> Result<Code> {
        let code = &self.launch.code;
        let parts = code.parts.iter().map(|part| store::read(&self.folder, part).map_err(|error| self.damaged(error)));
        let mut parts = parts.collect::<Result<Vec<_>>>()?;
        let text = |bytes| String::from_utf8(bytes).map_err(|_| self.damaged("its PTX is no text in UTF-8"));
        match (code.kind.as_str(), parts.len()) {
            (_, 0) => Err(self.damaged("it has no code")),
            (PTX, _) => Ok(Code::Ptx(parts.into_iter().map(text).collect::<Result<_>>()?)),
            (MACHINE, 1) => Ok(Code::Machine(parts.remove(0))),
            (kind, count) => Err(self.damaged(format!("there is no code `{kind}` in {count} parts"))),
        }
    }
}
