//! The programs of a search: each input with each set of macros, compiled once.

use std::collections::BTreeMap;
use std::sync::Arc;

use warplens_base::nearest;
use warplens_ir::{FunctionId, Module, Operand};
use warplens_isa::SpecialRegister;

use super::parallel;
use warplens_base::error::{Error, Result};
use warplens_launch::KernelName;
use warplens_session::Program;
use warplens_session::registers::{self, Registers};
use warplens_session::toolchain::Search;
use warplens_session::{Input, InputKind};

/// A variant with macros: its position and their values.
pub(crate) type SourceKey = (usize, Vec<(String, String)>);

/// A program whose kernel can be launched.
#[derive(Debug)]
pub(crate) struct Source {
    /// Equal for macros that make the same PTX.
    pub(crate) identity: usize,
    pub(crate) program: Program,
    pub(crate) kernel: FunctionId,
    pub(crate) name: KernelName,
    pub(crate) registers: Registers,
    /// The kernel can see how much dynamic shared memory it has.
    pub(crate) reads_shared_size: bool,
}

/// The programs that were asked for so far; those that cannot be had with the reason.
pub(crate) struct Sources<'r> {
    inputs: &'r [Input],
    target: &'r str,
    variants: &'r [(usize, Option<String>)],
    given_registers: Option<u32>,
    search: &'r Search,
    threads: usize,
    made: BTreeMap<SourceKey, std::result::Result<Arc<Source>, Error>>,
}

impl<'r> Sources<'r> {
    pub(crate) fn new(
        inputs: &'r [Input],
        target: &'r str,
        (variants, given_registers): (&'r [(usize, Option<String>)], Option<u32>),
        search: &'r Search,
        threads: usize,
    ) -> Self {
        Self { inputs, target, variants, given_registers, search, threads, made: BTreeMap::new() }
    }

    /// Makes those of the programs that there are not yet.
    pub(crate) fn prepare(&mut self, keys: impl IntoIterator<Item = SourceKey>) {
        let mut new: Vec<SourceKey> = keys.into_iter().filter(|key| !self.made.contains_key(key)).collect();
        new.sort_unstable();
        new.dedup();
        let (inputs, target, search) = (self.inputs, self.target, self.search);
        let (variants, given) = (self.variants, self.given_registers);
        let made = parallel::map(&new, self.threads, |(variant, macros)| {
            let (input, kernel) = &variants[*variant];
            load(&inputs[*input], target, macros, kernel.as_deref(), given, search)
        });
        for (key, source) in new.into_iter().zip(made) {
            let source = source.map(|source| self.shared(source));
            self.made.insert(key, source);
        }
    }

    /// The program of a key that was prepared.
    pub(crate) fn get(&self, key: &SourceKey) -> &std::result::Result<Arc<Source>, Error> {
        self.made.get(key).expect("the program was prepared")
    }

    /// Programs that were asked for.
    pub(crate) fn len(&self) -> usize {
        self.made.len()
    }

    /// The source, or the one made before of the same PTX.
    fn shared(&self, mut source: Source) -> Arc<Source> {
        let mut before = self.made.values().flatten();
        match before.find(|other| other.name == source.name && other.program.ptx == source.program.ptx) {
            Some(same) => same.clone(),
            None => {
                source.identity = self.made.len();
                Arc::new(source)
            }
        }
    }
}

fn load(
    input: &Input,
    target: &str,
    macros: &[(String, String)],
    kernel: Option<&str>,
    given_registers: Option<u32>,
    search: &Search,
) -> Result<Source> {
    let program = Program::load_with(input, target, macros, search)?;
    let kernel = program.kernel(kernel)?;
    let registers = registers::of(&program, kernel, given_registers, search)?;
    let name = KernelName::new(&program.module().functions[kernel].name);
    let reads_shared_size = reads_shared_size(program.module(), kernel);
    Ok(Source { identity: 0, program, kernel, name, registers, reads_shared_size })
}

/// True where the kernel, or a function that it may call, reads the size of its shared memory.
fn reads_shared_size(module: &Module, kernel: FunctionId) -> bool {
    use SpecialRegister::{AggrSmemSize, DynamicSmemSize, TotalSmemSize};
    let is_size =
        |operand: &Operand| matches!(operand, Operand::Special(AggrSmemSize | DynamicSmemSize | TotalSmemSize));
    let functions = warplens_ir::call_graph::reachable(module, kernel);
    let mut blocks = functions.iter().flat_map(|function| module.functions[*function].block_ids());
    blocks.any(|block| module.blocks[block].insts.iter().any(|inst| inst.sources.iter().any(is_size)))
}

/// Refuses macros that no input can take.
pub(crate) fn check_macros(inputs: &[Input], names: &[String]) -> Result<()> {
    let Some(first) = names.first() else { return Ok(()) };
    if let Some(input) = inputs.iter().find(|input| input.kind != InputKind::CudaSource) {
        let error =
            Error::usage(format!("--macro {first}: {} is {}, which has no macros", input.name, input.kind.name()));
        return Err(error.with_help("give a .cu file, or each variant as an input of its own"));
    }
    for name in names {
        for input in inputs {
            let text = input.text();
            let words = || text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty());
            // Another file may use the macro.
            if text.contains("#include \"") || words().any(|word| word == name) {
                continue;
            }
            let error = Error::usage(format!("--macro {name}: {} does not use a macro of this name", input.name));
            let is_macro = |word: &&str| {
                word.chars().all(|c| !c.is_ascii_lowercase()) && !word.starts_with(|c: char| c.is_ascii_digit())
            };
            return Err(match nearest(name, words().filter(is_macro)) {
                Some(near) => error.with_help(format!("did you mean `{near}`?")),
                None => error
                    .with_help("a macro takes effect where the source says #ifndef NAME, #define NAME VALUE, #endif"),
            });
        }
    }
    Ok(())
}
