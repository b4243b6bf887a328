//! Modules and their kernels and variables: what a program registers or loads, and finds by a stub, a shadow or a name.
//!
//! What a program registers when it starts is read when the first of its kernels or variables is used. PTX is what is
//! executed, and machine code where there is no PTX that the GPU takes, or where machine code is asked for.

use std::sync::Arc;

use warplens_isa::StateSpace;
use warplens_sass::container::fatbin::{self, Entry, Kind};
use warplens_sass::container::{Cubin, Target};
use warplens_session::served::{Code, Loaded, Served};
use warplens_session::toolchain::CodeKind;

use crate::handles::Handle;
use crate::runtime::{Runtime, words};
use crate::status::{Result, Status};

/// Flags that put PTX into a program.
const PTX_HELP: &str = "compile with -arch=sm_XX or -gencode arch=compute_XX,code=compute_XX, which put PTX into it";

/// Where the code of a module is.
#[derive(Clone, Debug)]
pub enum ModuleSource {
    /// Containers: the one with the whole program, then those that it was linked from.
    Containers(Vec<Vec<u8>>),
    /// PTX: texts that are linked.
    Texts(Vec<String>),
    /// Machine code: an ELF file.
    MachineCode(Vec<u8>),
}

/// A module that a program brought.
pub(crate) struct Module {
    name: String,
    source: ModuleSource,
    loaded: Option<Result<Arc<Loaded>>>,
    /// Its functions that somebody asked for.
    functions: Vec<(String, Handle)>,
    /// Variables that host and device see at one address, with whoever wants to know it.
    managed: Vec<String>,
}

/// A kernel that a program brought.
pub(crate) struct Function {
    pub(crate) module: Handle,
    pub(crate) name: String,
    served: Option<Result<Arc<Served>>>,
    /// Bytes of dynamic shared memory that were allowed.
    pub(crate) dynamic_shared_limit: Option<u64>,
    /// Clusters may be larger than every GPU has room for.
    allows_large_clusters: bool,
}

/// A variable that a program registered.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    module: Handle,
    name: String,
}

/// What can be asked about a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FunctionInfo {
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of shared memory of its variables.
    pub static_shared: u64,
    /// Bytes of constant memory of the variables of its module.
    pub constant: u64,
    /// Bytes of local memory of a thread that its variables take.
    pub local: u64,
    /// Bytes of dynamic shared memory that a launch may ask for.
    pub dynamic_shared_limit: u64,
    /// Most threads of a block.
    pub max_threads: u32,
}

/// Where a parameter lies in the parameter space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParameterPlace {
    /// Bytes from its start.
    pub offset: usize,
    /// Its size.
    pub bytes: usize,
}

impl Runtime {
    /// Notes code that is read when it is needed.
    pub fn register(&mut self, source: ModuleSource) -> Handle {
        let name = format!("module {}", self.modules.iter().count());
        self.modules.insert(Module { name, source, loaded: None, functions: Vec::new(), managed: Vec::new() })
    }

    /// Reads code at once.
    pub fn load_module(&mut self, source: ModuleSource) -> Result<Handle> {
        self.alive()?;
        let module = self.register(source);
        match self.loaded(module) {
            Ok(_) => Ok(module),
            Err(status) => {
                self.modules.remove(module);
                Err(status)
            }
        }
    }

    /// Takes a module away, with its kernels and variables.
    pub fn unload_module(&mut self, module: Handle) -> Result<()> {
        let gone = self.modules.remove(module).ok_or(Status::INVALID_HANDLE)?;
        for (_, function) in &gone.functions {
            self.functions.remove(*function);
        }
        self.stubs.retain(|_, function| !gone.functions.iter().any(|(_, other)| other == function));
        self.shadows.retain(|_, variable| variable.module != module);
        if let Some(Ok(loaded)) = gone.loaded {
            // What it had is gone at the end in any case.
            let _ = self.context.unload(loaded.module());
        }
        Ok(())
    }

    /// Notes that an address of the host stands for a kernel.
    pub fn register_function(&mut self, module: Handle, stub: u64, name: &str) -> Result<()> {
        let function = self.function_named(module, name)?;
        self.stubs.insert(stub, function);
        Ok(())
    }

    /// Notes that an address of the host stands for a variable.
    pub fn register_variable(&mut self, module: Handle, shadow: u64, name: &str) -> Result<()> {
        self.modules.get(module).ok_or(Status::INVALID_HANDLE)?;
        self.shadows.insert(shadow, Variable { module, name: name.to_owned() });
        Ok(())
    }

    /// The same for one that host and device see at one address.
    pub fn register_managed(&mut self, module: Handle, shadow: u64, name: &str) -> Result<()> {
        self.register_variable(module, shadow, name)?;
        let module = self.modules.get_mut(module).ok_or(Status::INVALID_HANDLE)?;
        module.managed.push(name.to_owned());
        Ok(())
    }

    /// The handle of a kernel that is not looked for yet.
    fn function_named(&mut self, module: Handle, name: &str) -> Result<Handle> {
        let of = self.modules.get_mut(module).ok_or(Status::INVALID_HANDLE)?;
        if let Some((_, function)) = of.functions.iter().find(|(known, _)| known == name) {
            return Ok(*function);
        }
        let function = Function {
            module,
            name: name.to_owned(),
            served: None,
            dynamic_shared_limit: None,
            allows_large_clusters: false,
        };
        let function = self.functions.insert(function);
        of.functions.push((name.to_owned(), function));
        Ok(function)
    }

    /// The kernel of this name.
    pub fn module_function(&mut self, module: Handle, name: &str) -> Result<Handle> {
        self.alive()?;
        let loaded = self.loaded(module)?;
        if !loaded.program().kernels().iter().any(|kernel| kernel.mangled == name) {
            return Err(Status::NOT_FOUND);
        }
        self.function_named(module, name)
    }

    /// Names of the kernels of a module.
    pub fn module_kernels(&mut self, module: Handle) -> Result<Vec<String>> {
        let loaded = self.loaded(module)?;
        Ok(loaded.program().kernels().into_iter().map(|kernel| kernel.mangled).collect())
    }

    /// Address and size of the variable of this name.
    pub fn module_variable(&mut self, module: Handle, name: &str) -> Result<(u64, u64)> {
        self.alive()?;
        let loaded = self.loaded(module)?;
        let symbol = self.context.symbol(loaded.module(), name).map_err(|_| Status::NOT_FOUND)?;
        Ok((symbol.address, symbol.bytes))
    }

    /// The kernel that an address of the host stands for.
    pub fn function_of(&self, stub: u64) -> Result<Handle> {
        self.stubs.get(&stub).copied().ok_or(Status::INVALID_DEVICE_FUNCTION)
    }

    /// The kernel of a stub, or the handle of a kernel itself.
    pub fn function_or_stub(&self, either: u64) -> Result<Handle> {
        if self.functions.get(either).is_some() { Ok(either) } else { self.function_of(either) }
    }

    /// Address and size of the variable that an address of the host stands for.
    pub fn variable_of(&mut self, shadow: u64) -> Result<(u64, u64)> {
        self.alive()?;
        let Variable { module, name } = self.shadows.get(&shadow).cloned().ok_or(Status::INVALID_SYMBOL)?;
        match self.module_variable(module, &name) {
            Err(Status::NOT_FOUND) => Err(Status::INVALID_SYMBOL),
            other => other,
        }
    }

    /// What is known of a kernel.
    pub fn function_info(&mut self, function: Handle) -> Result<FunctionInfo> {
        let (loaded, served) = self.served(function)?;
        let most = self.properties().max_threads_per_block;
        let allowed = self.functions.get(function).and_then(|function| function.dynamic_shared_limit);
        let default = self.properties().shared_per_block.saturating_sub(served.static_shared());
        let name = self.function_name(function)?;
        let module = loaded.program().module();
        let kernel = module.kernels().find(|(_, kernel)| kernel.name == name);
        let local = kernel.map_or(0, |(_, kernel)| u64::from(kernel.local_bytes));
        let constants = module.variables.iter().filter(|(_, variable)| variable.space == StateSpace::Const);
        let constant = constants.map(|(_, variable)| variable.bytes).sum();
        Ok(FunctionInfo {
            registers: served.registers(),
            static_shared: served.static_shared(),
            constant,
            local,
            dynamic_shared_limit: allowed.unwrap_or(default),
            max_threads: served.max_threads(&loaded).map_or(most, |own| own.min(most)),
        })
    }

    /// Allows a kernel so much dynamic shared memory.
    pub fn allow_dynamic_shared(&mut self, function: Handle, bytes: u64) -> Result<()> {
        let (_, served) = self.served(function)?;
        if bytes + served.static_shared() > self.properties().shared_per_block_optin {
            return Err(Status::INVALID_VALUE);
        }
        let function = self.functions.get_mut(function).ok_or(Status::INVALID_HANDLE)?;
        function.dynamic_shared_limit = Some(bytes);
        Ok(())
    }

    /// Allows a kernel clusters that not every GPU has room for, or forbids it.
    pub fn allow_large_clusters(&mut self, function: Handle, is_allowed: bool) -> Result<()> {
        self.served(function)?;
        let function = self.functions.get_mut(function).ok_or(Status::INVALID_HANDLE)?;
        function.allows_large_clusters = is_allowed;
        Ok(())
    }

    /// True where a kernel was allowed clusters that not every GPU has room for.
    pub fn function_allows_large_clusters(&self, function: Handle) -> bool {
        self.functions.get(function).is_some_and(|function| function.allows_large_clusters)
    }

    /// Where the parameters of a kernel lie.
    pub fn parameter_places(&mut self, function: Handle) -> Result<Vec<ParameterPlace>> {
        let (loaded, served) = self.served(function)?;
        let place = |parameter: &warplens_session::served::Parameter| ParameterPlace {
            offset: parameter.offset as usize,
            bytes: parameter.bytes as usize,
        };
        Ok(served.parameters(&loaded).iter().map(place).collect())
    }

    /// The name of a kernel, as PTX has it.
    pub fn function_name(&self, function: Handle) -> Result<&str> {
        self.functions.get(function).map(|function| function.name.as_str()).ok_or(Status::INVALID_HANDLE)
    }

    /// The module of a kernel.
    pub fn function_module(&self, function: Handle) -> Result<Handle> {
        self.functions.get(function).map(|function| function.module).ok_or(Status::INVALID_HANDLE)
    }

    /// A kernel made ready to run.
    pub(crate) fn served(&mut self, function: Handle) -> Result<(Arc<Loaded>, Arc<Served>)> {
        self.alive()?;
        let Function { module, name, served, .. } = self.functions.get(function).ok_or(Status::INVALID_HANDLE)?;
        let (module, name, known) = (*module, name.clone(), served.clone());
        let loaded = self.loaded(module)?;
        if let Some(known) = known {
            return Ok((loaded, known?));
        }
        let made = match Served::new(&mut self.context, &loaded, &name, &self.search) {
            Ok(Some(served)) => Ok(Arc::new(served)),
            Ok(None) => {
                let what = format!("the code that is used has no kernel `{name}`");
                Err(self.fail(Status::INVALID_DEVICE_FUNCTION, &what))
            }
            Err(error) => Err(self.fail(Status::INVALID_DEVICE_FUNCTION, &words(&error))),
        };
        if let Some(function) = self.functions.get_mut(function) {
            function.served = Some(made.clone());
        }
        Ok((loaded, made?))
    }

    /// The code of a module in memory.
    fn loaded(&mut self, module: Handle) -> Result<Arc<Loaded>> {
        let of = self.modules.get(module).ok_or(Status::INVALID_HANDLE)?;
        if let Some(known) = &of.loaded {
            return known.clone();
        }
        let (name, source, managed) = (of.name.clone(), of.source.clone(), of.managed.clone());
        let loaded = self.load(&name, source);
        if let Some(of) = self.modules.get_mut(module) {
            of.loaded = Some(loaded.clone());
            // What was read is not read again.
            of.source = ModuleSource::Containers(Vec::new());
        }
        let loaded = loaded?;
        for name in managed {
            if let Ok(symbol) = self.context.symbol(loaded.module(), &name) {
                self.share_variable(symbol.address, symbol.bytes)?;
            }
        }
        Ok(loaded)
    }

    /// The PTX of some code that the GPU takes: texts that are linked.
    pub fn texts(&mut self, source: ModuleSource) -> Result<Vec<String>> {
        match self.code(source, CodeKind::Generated)? {
            Code::Ptx(texts) => Ok(texts),
            Code::Machine(_) => {
                let what = format!("machine code is not linked here, and PTX is: {PTX_HELP}");
                Err(self.fail(Status::NO_BINARY_FOR_GPU, &what))
            }
        }
    }

    /// The code of a module that the GPU takes.
    fn code(&mut self, source: ModuleSource, wanted: CodeKind) -> Result<Code> {
        match source {
            ModuleSource::Texts(texts) => Ok(Code::Ptx(texts)),
            ModuleSource::Containers(containers) => self.choose(&containers, wanted),
            ModuleSource::MachineCode(bytes) => Ok(Code::Machine(bytes)),
        }
    }

    fn load(&mut self, name: &str, source: ModuleSource) -> Result<Arc<Loaded>> {
        let code = self.code(source, self.search.code)?;
        let (status, is_other) = match &code {
            Code::Ptx(_) => (Status::INVALID_PTX, None),
            Code::Machine(bytes) => (Status::INVALID_IMAGE, self.other_gpu(bytes)),
        };
        if let Some(what) = is_other {
            return Err(self.fail(Status::NO_BINARY_FOR_GPU, &what));
        }
        let target = self.machines[0].cc.target();
        match Loaded::new(&mut self.context, name, code, (&target, &self.search)) {
            Ok(loaded) => Ok(Arc::new(loaded)),
            Err(error) => Err(self.fail(status, &words(&error))),
        }
    }

    /// Compute capability of the GPU: 80 for 8.0.
    fn own_architecture(&self) -> u32 {
        let cc = self.machine().cc;
        u32::from(cc.major) * 10 + u32::from(cc.minor)
    }

    /// What is said where machine code is for other GPUs than the one that the program sees.
    fn other_gpu(&self, bytes: &[u8]) -> Option<String> {
        let target = Cubin::read(bytes).ok()?.target;
        let own = self.own_architecture();
        let machine = self.machine();
        (!target.runs_on(own)).then(|| {
            format!("the machine code is for {target}, and {} has sm_{own}: name a GPU that runs it", machine.id)
        })
    }

    /// Machine code that the GPU runs, the nearest to it.
    fn machine_code(&mut self, entries: &[Entry<'_>]) -> Result<Option<Code>> {
        let own = self.own_architecture();
        let runs = |entry: &Entry<'_>| Target { sm: entry.architecture, variant: None }.runs_on(own);
        let fitting = entries.iter().filter(|entry| entry.kind == Kind::MachineCode && runs(entry));
        let Some(entry) = fitting.max_by_key(|entry| entry.architecture) else { return Ok(None) };
        match entry.unpack() {
            Ok(bytes) => Ok(Some(Code::Machine(bytes))),
            Err(fault) => {
                let what = format!("the program's machine code cannot be read: {fault}");
                Err(self.fail(Status::INVALID_IMAGE, &what))
            }
        }
    }

    /// The code that the GPU takes. Of PTX that is of each container the newest that is not newer than the GPU: a program
    /// that is linked by the compiler has PTX only in the containers behind the first. Of machine code it is the first
    /// container, which has all of it.
    fn choose(&mut self, containers: &[Vec<u8>], wanted: CodeKind) -> Result<Code> {
        let mut found = Vec::with_capacity(containers.len());
        for container in containers {
            match fatbin::entries(container) {
                Ok(entries) => found.push(entries),
                Err(fault) => {
                    let what = format!("the program's device code cannot be read: {fault}");
                    return Err(self.fail(Status::INVALID_IMAGE, &what));
                }
            }
        }
        let is_ptx = |entry: &&Entry<'_>| entry.kind == Kind::Ptx;
        let own = self.own_architecture();
        let has_fitting =
            |entries: &Vec<Entry<'_>>| entries.iter().any(|entry| is_ptx(&entry) && entry.architecture <= own);
        if (wanted == CodeKind::Machine || !found.iter().any(has_fitting))
            && let Some(entries) = found.first()
            && let Some(code) = self.machine_code(entries)?
        {
            return Ok(code);
        }
        let whole = found.first().filter(|entries| entries.iter().any(|entry| is_ptx(&entry)));
        let containers = if whole.is_some() { &found[..1] } else { &found[..] };
        // Containers without PTX are libraries, such as NVIDIA's own: what is missing is found out by who needs it.
        let containers = containers.iter().filter(|entries| entries.iter().any(|entry| is_ptx(&entry)));
        let texts = containers.map(|entries| self.newest(&entries.iter().filter(is_ptx).copied().collect::<Vec<_>>()));
        let texts = texts.collect::<Result<Vec<String>>>()?;
        if texts.is_empty() {
            let machine_code = found.iter().flatten().any(|entry| entry.kind == Kind::MachineCode);
            let gpu = &self.machine().id;
            let has = if machine_code {
                format!("has machine code for other GPUs than {gpu}")
            } else {
                "has no device code".to_owned()
            };
            let what = format!("the program {has}: {PTX_HELP}");
            return Err(self.fail(Status::NO_BINARY_FOR_GPU, &what));
        }
        Ok(Code::Ptx(texts))
    }

    /// The PTX in an object or an archive, of each container one. NVIDIA's own libraries have PTX for the newest GPUs
    /// alone beside machine code for all: that serves where nothing else is there.
    pub(crate) fn library_texts(&mut self, library: &[u8]) -> Result<Vec<String>> {
        let own = self.own_architecture();
        let mut texts = Vec::new();
        for container in fatbin::within(library) {
            let entries = fatbin::entries(container).unwrap_or_default();
            let ptx: Vec<Entry<'_>> = entries.into_iter().filter(|entry| entry.kind == Kind::Ptx).collect();
            let fitting = ptx.iter().filter(|entry| entry.architecture <= own).max_by_key(|entry| entry.architecture);
            let chosen = fitting.or_else(|| ptx.iter().min_by_key(|entry| entry.architecture));
            texts.extend(chosen.map(Entry::text).transpose().map_err(|_| Status::INVALID_IMAGE)?);
        }
        if texts.is_empty() {
            return Err(self.fail(Status::NO_BINARY_FOR_GPU, &format!("the library has no PTX: {PTX_HELP}")));
        }
        Ok(texts)
    }

    /// The newest of some PTX that the GPU takes.
    fn newest(&mut self, entries: &[Entry<'_>]) -> Result<String> {
        let cc = self.machine().cc;
        let own = self.own_architecture();
        let fitting = entries.iter().filter(|entry| entry.architecture <= own);
        let Some(entry) = fitting.max_by_key(|entry| entry.architecture) else {
            let least = entries.iter().map(|entry| entry.architecture).min().unwrap_or_default();
            let what = format!(
                "the program has PTX for compute capability {}.{} and later, and {} has {}.{}: name a newer GPU first, or \
                 compile with -arch=sm_{own}",
                least / 10,
                least % 10,
                self.machine().id,
                cc.major,
                cc.minor
            );
            return Err(self.fail(Status::NO_BINARY_FOR_GPU, &what));
        };
        entry.text().map_err(|fault| {
            let what = format!("the program's PTX cannot be read: {fault}");
            self.fail(Status::INVALID_IMAGE, &what)
        })
    }
}
