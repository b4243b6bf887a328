//! An input made ready: PTX read, checked and lowered; its kernels found by name.

mod code;
mod contained;

use std::ops::Range;
use std::sync::Arc;

use warplens_base::Diagnostic;
use warplens_base::nearest;
use warplens_ir::link::{Linked, link};
use warplens_ir::{FunctionId, Module};
use warplens_isa::Pc;
use warplens_sass::container::Cubin;

pub use self::code::{CodeForm, CodeOrigin, CountedCode};
use crate::input::{Input, InputKind};
use crate::machines::{ComputeCapability, Machine};
use crate::source_names::parameter_names;
use crate::toolchain::{self, CodeKind, Search};
use warplens_base::error::{Error, ErrorKind, Findings, Result};
use warplens_launch::{KernelInterface, KernelName};

/// Kernels and what they need, ready to be launched.
#[derive(Clone, Debug)]
pub struct Program {
    /// What messages call the input.
    pub name: String,
    /// The PTX, or the listing of machine code.
    pub ptx: String,
    /// Findings that do not stop the work.
    pub warnings: Findings,
    /// The compiler that made the PTX and what it said, for CUDA C++.
    pub compiled: Option<(String, String)>,
    pub(crate) module: Arc<Module>,
    /// The instructions of each text that was linked, in the order in which the PTX has the texts; empty for one text.
    pub(crate) parts: Vec<Range<u32>>,
    /// What each of them was made for.
    part_targets: Vec<String>,
    /// CUDA C++.
    source: Option<String>,
    /// How its code came about.
    origin: CodeOrigin,
    /// Who assembled its machine code, where that is known.
    assembler: Option<String>,
    /// The GPUs whose code this is, where others have code of their own.
    pub(crate) target: Option<ComputeCapability>,
    /// What other GPUs run of the same input.
    pub(crate) others: Vec<Other>,
}

/// What other GPUs run.
#[derive(Clone, Debug)]
pub(crate) struct Other {
    pub(crate) target: ComputeCapability,
    /// The program, or why it could not be compiled.
    pub(crate) program: Result<Arc<Program>>,
}

/// Oldest target that current compilers know.
const OLDEST: ComputeCapability = ComputeCapability::new(7, 5);

/// What CUDA C++ is compiled for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Targets {
    /// The same for every GPU, such as `sm_80`.
    One(String),
    /// For each GPU what it would get alone, the oldest first.
    Own(Vec<ComputeCapability>),
}

impl Targets {
    /// What these GPUs run, as far back as current compilers go; for no GPU the oldest that they know, or the newest that
    /// an input holds.
    pub fn of(machines: &[Machine]) -> Self {
        let mut targets: Vec<_> = machines.iter().map(of_machine).collect();
        targets.sort();
        targets.dedup();
        Self::Own(targets)
    }

    /// The first of them, such as `sm_80`.
    pub fn first(&self) -> String {
        match self {
            Self::One(target) => target.clone(),
            Self::Own(targets) => targets.first().copied().unwrap_or(OLDEST).target(),
        }
    }
}

/// What CUDA C++ is compiled for where a GPU is asked about alone.
fn of_machine(machine: &Machine) -> ComputeCapability {
    machine.cc.max(OLDEST)
}

/// GPUs run code of their own.
fn differs_by_target(kind: InputKind, search: &Search) -> bool {
    match kind {
        InputKind::CudaSource | InputKind::Fatbin | InputKind::Executable => true,
        InputKind::Ptx => search.code == CodeKind::Machine,
        _ => false,
    }
}

/// Machine code where PTX is asked for.
fn no_ptx(input: &Input) -> Error {
    Error::input(format!("{} is machine code, of which no other is generated", input.name))
        .with_help("--code machine, or no --code, takes it as it is")
}

/// True where a GPU runs the code of this target; all of them run code that no other target has a part in.
pub(crate) fn is_run_by(target: Option<ComputeCapability>, machine: &Machine) -> bool {
    target.is_none_or(|target| of_machine(machine) == target)
}

impl Program {
    /// Reads PTX, or compiles CUDA C++ for every target first. The program is that of the first target for which it can be
    /// compiled.
    pub fn load_for(input: &Input, targets: &Targets, search: &Search) -> Result<Self> {
        let several = match targets {
            Targets::Own(several) if several.len() > 1 && differs_by_target(input.kind, search) => several,
            Targets::Own(none) if none.is_empty() && input.kind.holds_code() => {
                return contained::load(input, None, search);
            }
            Targets::Own(_) | Targets::One(_) => return Self::load(input, &targets.first(), search),
        };
        let mut main: Option<Self> = None;
        let mut others = Vec::new();
        for &target in several {
            match Self::load(input, &target.target(), search) {
                Ok(program) if main.is_none() => main = Some(Self { target: Some(target), ..program }),
                program => {
                    let program = program.map(|program| Arc::new(Self { target: Some(target), ..program }));
                    others.push(Other { target, program });
                }
            }
        }
        match main {
            Some(main) => Ok(Self { others, ..main }),
            None => Err(others.swap_remove(0).program.expect_err("no target has a program")),
        }
    }

    /// The targets of its PTX: several where CUDA C++ was compiled for several.
    pub fn targets(&self) -> Vec<&str> {
        self.each().map(|program| program.module.target.as_str()).collect()
    }

    /// It and those for other GPUs.
    pub(crate) fn each(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.others.iter().filter_map(|other| other.program.as_deref().ok()))
    }

    /// The program as a GPU runs it.
    pub fn on(&self, machine: &Machine) -> &Self {
        self.each().find(|program| is_run_by(program.target, machine)).unwrap_or(self)
    }

    /// Reads PTX, or compiles CUDA C++ for `target` (such as `sm_80`) first.
    pub fn load(input: &Input, target: &str, search: &Search) -> Result<Self> {
        Self::load_with(input, target, &[], search)
    }

    /// The same with macros defined for CUDA C++.
    pub fn load_with(input: &Input, target: &str, macros: &[(String, String)], search: &Search) -> Result<Self> {
        let program = match input.kind {
            InputKind::Cubin if search.code == CodeKind::Generated => return Err(no_ptx(input)),
            InputKind::Cubin => return Self::from_cubin(&input.name, &input.bytes),
            InputKind::Fatbin | InputKind::Executable => {
                let target = ComputeCapability::parse(target.trim_end_matches(['a', 'f'])).map(code::number);
                return contained::load(input, target, search);
            }
            InputKind::Ptx => Self::from_ptx(&input.name, input.text())?,
            InputKind::CudaSource => {
                let compiled = toolchain::compile(input, target, macros, search)?;
                let mut program = Self::from_ptx(&format!("{} (PTX)", input.name), compiled.ptx)?;
                program.compiled = Some((compiled.compiler, compiled.messages));
                program.source = Some(input.text());
                program.origin = CodeOrigin::Compiler;
                program.name = input.name.clone();
                program
            }
            _ => return Err(input.unusable()),
        };
        program.in_code(target, search)
    }

    /// The code of PTX that is wanted, for a target.
    pub fn in_code(self, target: &str, search: &Search) -> Result<Self> {
        match search.code {
            CodeKind::Auto | CodeKind::Generated => Ok(self),
            CodeKind::Machine => self.assembled(target, search),
        }
    }

    /// The machine code that ptxas makes of the program's PTX for a target. Parameters keep their names and types, which
    /// machine code does not say.
    fn assembled(&self, target: &str, search: &Search) -> Result<Self> {
        if !self.parts.is_empty() {
            let what = format!("the PTX of {} is in {} parts, which are not assembled", self.name, self.parts.len());
            return Err(Error::new(ErrorKind::Unsupported, what)
                .with_help("have nvcc put machine code into it: -gencode code=sm_XX"));
        }
        // Code for one architecture alone is assembled for that.
        let own = self.module.target.split(',').next().unwrap_or_default().trim();
        let target = if own.trim_end_matches(['a', 'f']) == target { own } else { target };
        let assembled = toolchain::assemble(&self.name, &self.ptx, target, search)?;
        let mut machine = Self::from_cubin(&format!("{} ({target})", self.name), &assembled.cubin)?;
        let module = Arc::make_mut(&mut machine.module);
        for (_, function) in module.functions.iter_mut() {
            let Some(id) = self.module.function_named(&function.name) else { continue };
            for parameter in &mut function.parameters {
                let written = self.module.functions[id].parameters.iter();
                if let Some(written) = written.clone().find(|written| written.offset == parameter.offset) {
                    *parameter = written.clone();
                }
            }
        }
        Ok(Self {
            name: self.name.clone(),
            source: self.source.clone(),
            compiled: self.compiled.clone(),
            origin: CodeOrigin::Ptxas,
            assembler: assembled.assembler.clone().or_else(|| machine.assembler.clone()),
            ..machine
        })
    }

    /// Reads machine code. Its text is the listing of its kernels.
    pub fn from_cubin(name: &str, bytes: &[u8]) -> Result<Self> {
        let damaged = |error| Error::input(format!("{name} cannot be read: {error}"));
        Self::of_cubin(name, &Cubin::read(bytes).map_err(damaged)?)
    }

    fn of_cubin(name: &str, cubin: &Cubin) -> Result<Self> {
        let damaged = |error| Error::input(format!("{name} cannot be read: {error}"));
        let lowered = warplens_sass::lower::lower(cubin).map_err(damaged)?;
        let program = Self::of_module(name, lowered.listing, (Some(lowered.module), Vec::new()))?;
        Ok(Self { assembler: code::assembler(cubin), ..program })
    }

    /// Reads PTX.
    pub fn from_ptx(name: &str, ptx: String) -> Result<Self> {
        let read = warplens_ptx::load(&ptx);
        Self::of_module(name, ptx, read)
    }

    fn of_module(name: &str, ptx: String, (module, diagnostics): (Option<Module>, Vec<Diagnostic>)) -> Result<Self> {
        let n_errors = diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
        let Some(module) = module else {
            let message = match n_errors {
                1 => format!("{name} has an error"),
                _ => format!("{name} has {n_errors} errors"),
            };
            return Err(Error::input(message).with_findings(name, &ptx, diagnostics));
        };
        let warnings: Vec<Diagnostic> = diagnostics.into_iter().filter(|diagnostic| !diagnostic.is_error()).collect();
        let warnings = Findings {
            name: name.to_owned(),
            text: if warnings.is_empty() { String::new() } else { ptx.clone() },
            diagnostics: warnings,
        };
        Ok(Self {
            name: name.to_owned(),
            ptx,
            warnings,
            compiled: None,
            module: Arc::new(module),
            parts: Vec::new(),
            part_targets: Vec::new(),
            source: None,
            origin: CodeOrigin::Input,
            assembler: None,
            target: None,
            others: Vec::new(),
        })
    }

    /// Reads PTX that was compiled in parts, and links it. Texts and findings of the program are those of all parts, one
    /// after the other; lines are counted in each.
    pub fn linked(name: &str, texts: Vec<String>) -> Result<Self> {
        let mut parts = Vec::with_capacity(texts.len());
        for (number, text) in texts.into_iter().enumerate() {
            let read = warplens_ptx::load_part(&text);
            parts.push(Self::of_module(&format!("{name}, part {}", number + 1), text, read)?);
        }
        Self::joined(name, parts)
    }

    /// Programs as one, which have nothing of the same name.
    fn joined(name: &str, parts: Vec<Self>) -> Result<Self> {
        let modules: Vec<&Module> = parts.iter().map(|part| part.module()).collect();
        let Linked { mut module, parts: ranges } = link(&modules).map_err(|errors| {
            let error = Error::input(format!("{name} cannot be linked"));
            errors.iter().fold(error, |error, link| error.with_detail(link.to_string()))
        })?;
        let mut whole = Self { name: name.to_owned(), ptx: String::new(), ..parts[0].clone() };
        whole.warnings = Findings { name: name.to_owned(), text: String::new(), diagnostics: Vec::new() };
        for (part, range) in parts.iter().zip(&ranges) {
            let start = whole.ptx.len() as u32;
            for pc in range.pcs.clone() {
                let span = &mut module.pcs[Pc(pc)].span;
                (span.start, span.end) = (span.start + start, span.end + start);
            }
            whole.ptx += &part.ptx;
        }
        whole.module = Arc::new(module);
        let same = parts.iter().all(|part| part.assembler == parts[0].assembler);
        whole.assembler = whole.assembler.filter(|_| same);
        whole.part_targets = parts.iter().map(|part| part.module.target.clone()).collect();
        whole.parts = ranges.into_iter().map(|range| range.pcs).collect();
        Ok(whole)
    }

    /// The part that an instruction came from, from 1, where the program was linked.
    pub(crate) fn part_of(&self, pc: Pc) -> Option<usize> {
        self.parts.iter().position(|part| part.contains(&pc.0)).map(|part| part + 1)
    }

    /// The CUDA C++ that the PTX was made from, if that was the input.
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// What is executed of a kernel.
    pub fn code(&self, kernel: FunctionId) -> CountedCode {
        let function = &self.module.functions[kernel];
        let form = if function.machine_registers.is_some() { CodeForm::Machine } else { CodeForm::Ptx };
        let first = function.block_ids().find_map(|block| self.module.blocks[block].insts.first());
        let part = first.and_then(|first| self.parts.iter().position(|part| part.contains(&first.pc.0)));
        let target = part.and_then(|part| self.part_targets.get(part)).unwrap_or(&self.module.target);
        let target = target.split(',').next().unwrap_or_default().trim().to_owned();
        let assembler = self.assembler.clone().filter(|_| form == CodeForm::Machine);
        CountedCode { form, target, origin: self.origin, assembler }
    }

    /// What messages call its text.
    pub fn text_name(&self) -> String {
        format!("{} of {}", self.form().words(), self.name)
    }

    /// The language of its text.
    pub(crate) fn form(&self) -> CodeForm {
        if self.is_machine_code() { CodeForm::Machine } else { CodeForm::Ptx }
    }

    /// It is machine code: its text is a listing.
    pub fn is_machine_code(&self) -> bool {
        self.module.functions.iter().any(|(_, function)| function.machine_registers.is_some())
    }

    /// The PTX lowered.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// The kernels, in text order.
    pub fn kernels(&self) -> Vec<KernelName> {
        let mut names: Vec<KernelName> = Vec::new();
        for (_, kernel) in self.module.kernels() {
            if names.iter().all(|known| known.mangled != kernel.name) {
                names.push(KernelName::new(&kernel.name));
            }
        }
        names
    }

    /// The kernel that `wanted` means: a mangled or demangled name, or `regex:RE`. Without a name there must be one.
    pub fn kernel(&self, wanted: Option<&str>) -> Result<FunctionId> {
        let kernels: Vec<(FunctionId, KernelName)> =
            self.module.kernels().map(|(id, kernel)| (id, KernelName::new(&kernel.name))).collect();
        let mut found = Vec::new();
        for kernel in &kernels {
            // What several parts have, such as an instance of a template, is the same in each.
            let is_new = found.iter().all(|(_, known): &&(FunctionId, KernelName)| known.mangled != kernel.1.mangled);
            if is_new && wanted.map_or(Ok(true), |wanted| kernel.1.matches(wanted))? {
                found.push(kernel);
            }
        }
        match (found.as_slice(), wanted) {
            ([(id, _)], _) => Ok(*id),
            ([], None) => Err(Error::input(format!("{} has no kernel", self.name))
                .with_help("a kernel is an .entry in PTX, a __global__ function in CUDA C++")),
            ([], Some(wanted)) => Err(self.unknown_kernel(wanted, &kernels)),
            (several, _) => {
                let message = match wanted {
                    None => format!("{} has {} kernels; choose one with -k NAME", self.name, several.len()),
                    Some(wanted) => format!("`{wanted}` means {} kernels of {}", several.len(), self.name),
                };
                let names = several.iter().map(|(_, kernel)| kernel.demangled.as_str());
                // Which of them is meant is for the command line to say.
                Err(names.fold(Error::usage(message), Error::with_detail))
            }
        }
    }

    fn unknown_kernel(&self, wanted: &str, kernels: &[(FunctionId, KernelName)]) -> Error {
        let error = Error::input(format!("{} has no kernel `{wanted}`", self.name));
        let names = kernels.iter().flat_map(|(_, kernel)| [kernel.base(), kernel.mangled.as_str()]);
        match nearest(wanted, names) {
            Some(near) => error.with_help(format!("did you mean `{near}`?")),
            None => kernels.iter().fold(error.with_help("its kernels are listed above"), |error, (_, kernel)| {
                error.with_detail(&kernel.demangled)
            }),
        }
    }

    /// What a launch has to know about a kernel.
    pub fn interface(&self, kernel: FunctionId) -> KernelInterface<'_> {
        let function = &self.module.functions[kernel];
        let name = KernelName::new(&function.name);
        let n_parameters = function.parameters.len();
        let source_names = self.source.as_deref().and_then(|source| parameter_names(source, name.base(), n_parameters));
        let variables = self.module.variables.iter().filter(|(_, variable)| {
            variable.function.is_none() && !variable.is_dynamic && variable.space != warplens_isa::StateSpace::Shared
        });
        KernelInterface {
            name: &function.name,
            parameters: &function.parameters,
            source_names: source_names.unwrap_or_default(),
            bounds: function.bounds,
            target: self.module.target_number(),
            pointer_bytes: self.module.address_bits / 8,
            variables: variables.map(|(_, variable)| (variable.name.as_str(), variable.ty, variable.bytes)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warplens_base::error::ErrorKind;

    fn program(kernels: &[&str]) -> Program {
        let entries: String = kernels
            .iter()
            .map(|name| format!(".visible .entry {name}(.param .u32 {name}_param_0) {{ ret; }}\n"))
            .collect();
        let ptx = format!(".version 8.0\n.target sm_80\n.address_size 64\n.global .f32 table[4];\n{entries}");
        Program::from_ptx("k.ptx", ptx).unwrap_or_else(|error| panic!("{error:?}"))
    }

    fn chosen(kernels: &[&str], wanted: Option<&str>) -> std::result::Result<String, String> {
        let program = program(kernels);
        let id = program.kernel(wanted).map_err(|error| error.message)?;
        Ok(program.interface(id).name.to_owned())
    }

    const ADD: &str = "_Z3addPKfPf";
    const TEMPLATE: &str = "_ZN4math5scaleIfLi4EEEvPT_";

    #[test]
    fn kernels_go_by_mangled_and_demangled_names() {
        let both = [ADD, TEMPLATE];
        for name in [ADD, "add", "add(float const*, float*)"] {
            assert_eq!(chosen(&both, Some(name)), Ok(ADD.into()), "{name}");
        }
        for name in
            ["scale", "math::scale<float, 4>", "math::scale", "regex:^_ZN4math", "void math::scale<float, 4>(float*)"]
        {
            assert_eq!(chosen(&both, Some(name)), Ok(TEMPLATE.into()), "{name}");
        }
        assert_eq!(chosen(&["k"], None), Ok("k".into()));
    }

    #[test]
    fn what_two_parts_of_machine_code_have_is_one_kernel() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/vector_add/cubin/sm_75.cubin");
        let part = Program::from_cubin("k.cubin", &std::fs::read(path).unwrap()).unwrap();
        let program = Program::joined("k", vec![part.clone(), part]).unwrap();
        assert_eq!(program.module.kernels().count(), 2);
        assert_eq!(program.kernels().len(), 1);
        let first = program.module.kernels().next().unwrap().0;
        assert_eq!(program.kernel(None).unwrap(), first);
        assert_eq!(program.kernel(Some("vector_add")).unwrap(), first);
    }

    #[test]
    fn names_that_were_not_mangled_are_no_codes_of_types() {
        for name in ["f", "a", "i", "PKc", "St6vector", "scale"] {
            assert_eq!(KernelName::new(name).demangled, name);
            assert_eq!(chosen(&[name], Some(name)), Ok(name.into()));
        }
        assert_eq!(KernelName::new(ADD).demangled, "add(float const*, float*)");
    }

    #[test]
    fn a_wrong_or_missing_name_is_an_error_that_helps() {
        let error = program(&[ADD, TEMPLATE]).kernel(None).unwrap_err();
        assert_eq!(
            (error.kind, error.message.as_str()),
            (ErrorKind::Usage, "k.ptx has 2 kernels; choose one with -k NAME")
        );
        assert_eq!(error.details, ["add(float const*, float*)", "void math::scale<float, 4>(float*)"]);
        let error = program(&[ADD]).kernel(Some("ad")).unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Input, "k.ptx has no kernel `ad`"));
        assert_eq!(error.help.as_deref(), Some("did you mean `add`?"));
        assert_eq!(chosen(&[], None), Err("k.ptx has no kernel".into()));
        assert!(chosen(&[ADD], Some("regex:(")).unwrap_err().starts_with("--kernel regex:(: "));
    }

    #[test]
    fn variables_can_be_set() {
        let program = program(&["k"]);
        let id = program.kernel(None).unwrap();
        assert_eq!(program.interface(id).variables, [("table", warplens_isa::ScalarType::F32, 16)]);
    }

    #[test]
    fn parts_are_linked_and_instructions_keep_their_texts() {
        let header = ".version 8.0\n.target sm_80\n.address_size 64\n";
        let caller = format!("{header}.extern .func f;\n.visible .entry k() {{ call f; ret; }}\n");
        let callee = format!("{header}.visible .func f {{ bar.sync 0; ret; }}\n");
        let program = Program::linked("p", vec![caller.clone(), callee]).unwrap();
        assert_eq!(program.kernels().len(), 1);
        let (pc, info) = program.module.pcs.iter().find(|(_, info)| info.span.start as usize > caller.len()).unwrap();
        assert!(program.ptx[info.span.start as usize..].starts_with("bar.sync 0"));
        assert_eq!((program.part_of(pc), info.line), (Some(2), 4));
        let error = Program::linked("p", vec![caller]).unwrap_err();
        assert_eq!(error.details, ["`f`, which module 0 uses, is defined nowhere"]);
    }

    #[test]
    fn errors_in_the_text_keep_their_places() {
        let error =
            Program::from_ptx("k.ptx", ".version 8.0\n.target sm_80\n.entry k() { mov.u32 %r1 }\n".into()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Input);
        let findings = error.findings.expect("there are findings");
        assert!(findings.diagnostics.iter().any(|diagnostic| diagnostic.primary.span.start > 28), "{findings:?}");
    }
}
