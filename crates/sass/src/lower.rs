//! From a cubin to a module of the warplens IR, which the emulator executes.
//!
//! A kernel becomes one function with explicit convergence barriers, whose registers are those of the code with a few
//! temporaries behind them; functions that it may call are part of it, and calls are jumps, as they are in the code. What
//! the driver and the loader fill in (extents of the launch, the stack, addresses) becomes what the emulator has for it.
//! An instruction that is not known becomes one that is not supported, which stops the kernels that hold it and no others.

mod asynchronous;
mod cluster;
mod code;
mod constants;
mod convert;
mod float;
mod group;
mod half;
mod integer;
mod memory;
mod opcodes;
mod operands;
mod origin;
mod texture;
mod warp;

use std::collections::{BTreeMap, BTreeSet};

use warplens_ir::{
    ConstantBank, Function, FunctionId, FunctionKind, Initializer, LaunchBounds, MOST_REGISTERS, Module, Operand as Ir,
    Parameter, RegisterWords, RequiredCluster, Variable, VariableId,
};
use warplens_isa::{BlockId, ScalarType, StateSpace, SystemCall};

use self::code::{Output, Section, Service, Spellings};
use self::constants::{Facts, Relocated};
use self::origin::Origins;
use crate::container::{Cubin, Kernel, Relocation, SectionId, VariableSpace, relocation_name};
use crate::decode::{Decoder, DecoderError};

/// A cubin that cannot become a module.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LowerError {
    /// Its chip is not known.
    #[error(transparent)]
    Decoder(#[from] DecoderError),
    /// It has to be linked first.
    #[error("an object that is not linked: nvlink makes a program of it")]
    Relocatable,
    /// Its kernels have more code than is taken.
    #[error("its kernels, each with the functions that it may call, have more than {MOST_INSTRUCTIONS} instructions")]
    TooLarge,
}

/// Instructions of a module from which on no further kernel is taken.
const MOST_INSTRUCTIONS: usize = 1 << 24;

/// Addresses of code begin here, so that none is zero.
const FIRST_CODE: u64 = 0x10_0000;
/// Sections of code begin at multiples of this.
const CODE_ALIGNMENT: u64 = 0x1000;
/// Services of the device runtime lie here.
const FIRST_SERVICE: u64 = 0x7000_0000_0000;

/// A module and the text that its instructions have their lines in.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The module.
    pub module: Module,
    /// The listing of its kernels.
    pub listing: String,
}

/// Makes a module of a cubin.
pub fn lower(cubin: &Cubin) -> Result<Lowered, LowerError> {
    let decoder = Decoder::of(cubin.target.sm)?;
    if cubin.is_relocatable {
        return Err(LowerError::Relocatable);
    }
    let mut module = Module { address_bits: 64, target: cubin.target.to_string(), ..Module::default() };
    let mut linker = Linker::new(cubin);
    linker.place_variables(&mut module);
    linker.place_addresses(&mut module);
    linker.resolve_code();
    module.constant_banks.push(linker.parameter_bank.clone());
    let mut spellings = Spellings::default();
    let (mut listing, mut n_lines) = (String::new(), 0);
    let mut origins = Origins::of(cubin);
    let services: Vec<Service> = linker.services.values().copied().collect();
    for (number, kernel) in cubin.kernels.iter().enumerate() {
        if module.pcs.len() > MOST_INSTRUCTIONS {
            return Err(LowerError::TooLarge);
        }
        let function = FunctionId(number as u32);
        let first_block = BlockId(module.blocks.len() as u32);
        let first_word = kernel.function.registers.unwrap_or(MOST_REGISTERS).clamp(LEAST_REGISTERS, MOST_REGISTERS);
        let sections = linker.sections(kernel);
        let is_of_cluster = kernel.cluster.is_some() || cluster::knows_clusters(&decoder, &sections);
        let facts = Facts { is_of_cluster, ..linker.facts(kernel) };
        let jumped_to = linker.jumped_to(kernel);
        let mut output = Output {
            module: &mut module,
            spellings: &mut spellings,
            listing: &mut listing,
            n_lines: &mut n_lines,
            origins: &mut origins,
            uniform: 0,
            function,
        };
        output.origins.begin();
        output.list(&format!("{}:", kernel.function.name));
        let n_blocks = code::lower(&mut output, &decoder, &facts, (&sections, &services), (first_word, &jumped_to));
        let uniform = output.uniform;
        module.functions.push(Function {
            name: kernel.function.name.clone(),
            kind: FunctionKind::Kernel,
            parameters: parameters(kernel),
            arguments: Vec::new(),
            results: Vec::new(),
            registers: RegisterWords {
                vector: first_word + operands::TEMPORARY_WORDS + 1,
                uniform,
                predicate: operands::PREDICATES + operands::TEMPORARY_PREDICATES + 1,
                uniform_predicate: operands::PREDICATES,
                convergence: operands::BARRIERS,
            },
            local_bytes: linker.local_bytes(kernel),
            shared_bytes: u32::try_from(kernel.shared.section_bytes).unwrap_or(u32::MAX),
            reserved_shared_bytes: u32::try_from(kernel.shared.reserved_bytes).unwrap_or(u32::MAX),
            machine_registers: kernel.function.registers,
            first_block,
            n_blocks,
            bounds: bounds(kernel),
            explicit_convergence: true,
        });
    }
    Ok(Lowered { module, listing })
}

/// Those that services of the device runtime and the calling convention use.
const LEAST_REGISTERS: u32 = 24;

/// The stack of a thread that the driver gives kernels which do not say how much they need, because they call functions
/// by their addresses or again and again: CUDA's default of `cudaLimitStackSize`.
const OPEN_STACK: u32 = 1024;
/// What the file says of the stack of a kernel whose functions call themselves.
const UNKNOWN_STACK: u32 = u32::MAX;
/// Bytes that a stack is a multiple of.
const STACK_ALIGNMENT: u32 = 16;

fn bounds(kernel: &Kernel) -> LaunchBounds {
    LaunchBounds {
        max_threads: kernel.max_threads.map(|[x, y, z]| x.saturating_mul(y).saturating_mul(z)),
        required_threads: kernel.required_threads,
        min_ctas_per_sm: None,
        max_registers: kernel.register_limit,
        cluster: kernel.cluster.map(|ctas| RequiredCluster { ctas: Some(ctas), line: 1 }),
        max_cluster: kernel.max_cluster,
    }
}

/// The parameters, whose names and types the file does not say.
fn parameters(kernel: &Kernel) -> Vec<Parameter> {
    let mut parameters: Vec<Parameter> = kernel
        .parameters
        .iter()
        .map(|parameter| {
            let ty = type_of(u64::from(parameter.bytes));
            let is_array = ty.bytes() != parameter.bytes;
            Parameter {
                name: format!("{}_param_{}", kernel.function.name, parameter.ordinal),
                ty,
                offset: parameter.offset,
                bytes: parameter.bytes,
                align: ty.bytes().max(1),
                is_array,
            }
        })
        .collect();
    parameters.sort_by_key(|parameter| parameter.offset);
    parameters
}

/// The bank of the driver and the parameters, as large as the kernel with the most of them has it.
fn parameter_bank(cubin: &Cubin) -> ConstantBank {
    let base = cubin.kernels.iter().find_map(|kernel| kernel.parameter_base);
    let base = base.unwrap_or(constants::first_parameter(cubin.target.sm));
    let most = cubin.kernels.iter().filter_map(|kernel| kernel.parameter_bytes).max().unwrap_or(0);
    ConstantBank {
        number: 0,
        bytes: base.saturating_add(most).saturating_add(constants::PARAMETER_SLACK),
        content: Vec::new(),
        parameters: Some(base),
    }
}

/// Resolves what the code refers to.
struct Linker<'c> {
    cubin: &'c Cubin,
    parameter_bank: ConstantBank,
    /// The kernels call functions other than the compiler's own.
    is_open: bool,
    /// Variables of the module by their section and offset.
    variables: BTreeMap<SectionId, BTreeMap<u64, VariableId>>,
    /// The variables of the bank of the program's constants, by offset.
    constants: BTreeMap<u32, VariableId>,
    /// Variables with the compiler's constants, by kernel.
    compiled: BTreeMap<SectionId, VariableId>,
    /// Addresses of the code.
    code: BTreeMap<SectionId, u64>,
    /// Sections of code that are no kernel's.
    shared_code: Vec<SectionId>,
    /// Values that a loader puts into the code, by the place of the instruction.
    relocated: BTreeMap<u64, Relocated>,
    /// Places that any code jumps to by their address.
    jumped_to: BTreeSet<u64>,
    /// Addresses that constant banks hold.
    addresses: BTreeMap<(u32, u32), Ir>,
    /// The variable with the addresses that a bank holds.
    address_variable: Option<VariableId>,
    services: BTreeMap<String, Service>,
}

/// Relocations that write the address of the function that an instruction calls.
const CALLS: [&str; 2] = ["R_CUDA_ABS47_34", "R_CUDA_ABS55_16_34"];

impl<'c> Linker<'c> {
    fn new(cubin: &'c Cubin) -> Self {
        let mut code = BTreeMap::new();
        let mut next = FIRST_CODE;
        let functions = cubin.kernels.iter().map(|kernel| &kernel.function).chain(&cubin.functions);
        for function in functions {
            code.entry(function.section).or_insert_with(|| {
                let base = next;
                next += (cubin.sections[function.section].bytes.len() as u64 + 1).next_multiple_of(CODE_ALIGNMENT);
                base
            });
        }
        let kernels: BTreeSet<SectionId> = cubin.kernels.iter().map(|kernel| kernel.function.section).collect();
        Self {
            cubin,
            parameter_bank: parameter_bank(cubin),
            // The functions of the compiler itself have no frames; sizes that the file states are not those of all versions.
            is_open: cubin.functions.iter().any(|function| !function.name.contains("__internal_")),
            shared_code: code.keys().copied().filter(|section| !kernels.contains(section)).collect(),
            relocated: BTreeMap::new(),
            jumped_to: BTreeSet::new(),
            variables: BTreeMap::new(),
            constants: BTreeMap::new(),
            compiled: BTreeMap::new(),
            code,
            addresses: BTreeMap::new(),
            address_variable: None,
            services: BTreeMap::new(),
        }
    }

    /// Gives the module the variables of the file. Those of the constant bank lie as close as they do there, so that code
    /// may count from one to the next.
    fn place_variables(&mut self, module: &mut Module) {
        let cubin = self.cubin;
        let mut variables: Vec<_> = cubin.variables.iter().collect();
        variables.sort_by_key(|variable| (variable.section, variable.offset));
        let mut constant_end = 0;
        for variable in variables {
            let is_constant = matches!(variable.space, VariableSpace::Constant { .. });
            if is_constant {
                if variable.offset < constant_end {
                    continue;
                }
                let gap = variable.offset - constant_end;
                if gap > 0 {
                    module.variables.push(constant(String::new(), gap, Vec::new()));
                }
                constant_end = variable.offset.saturating_add(variable.bytes);
            }
            let bytes = cubin.initial(variable).unwrap_or_default().to_vec();
            let id = module.variables.push(Variable {
                space: if is_constant { StateSpace::Const } else { StateSpace::Global },
                align: if is_constant { 1 } else { variable.alignment.max(1) },
                ..constant(variable.name.clone(), variable.bytes, bytes)
            });
            self.variables.entry(variable.section).or_default().insert(variable.offset, id);
            if is_constant {
                self.constants.insert(variable.offset as u32, id);
            }
        }
        for kernel in &cubin.kernels {
            let bytes = self.compiled_constants(kernel);
            if !bytes.is_empty() {
                let variable = constant(String::new(), bytes.len() as u64, bytes.to_vec());
                let variable = module.variables.push(Variable { align: 16, ..variable });
                self.compiled.insert(kernel.function.section, variable);
            }
        }
        self.initialize_addresses(module);
    }

    /// Addresses that stand in variables.
    fn initialize_addresses(&self, module: &mut Module) {
        for (&section, variables) in &self.variables {
            for relocation in &self.cubin.sections[section].relocations {
                let Some((&start, &id)) = variables.range(..=relocation.offset).next_back() else { continue };
                if let Some(Ir::Variable { variable, offset, .. }) = self.target(section, relocation) {
                    let at = relocation.offset - start;
                    module.variables[id].initializer.addresses.push((at, 8, variable, offset, true));
                }
            }
        }
    }

    /// Addresses that stand in the constant banks of the module: for code that names their places, and in a variable for
    /// code that counts them.
    fn place_addresses(&mut self, module: &mut Module) {
        let cubin = self.cubin;
        for bank in &cubin.banks {
            let section = &cubin.sections[bank.section];
            let mut initializer = Initializer { bytes: section.bytes.clone(), ..Initializer::default() };
            for relocation in &section.relocations {
                let Some(target) = self.target_or_service(bank.section, relocation) else { continue };
                self.addresses.insert((u32::from(bank.number), relocation.offset as u32), target);
                match target {
                    Ir::Variable { variable, offset, generic } => {
                        initializer.addresses.push((relocation.offset, 8, variable, offset, generic));
                    }
                    Ir::Immediate(address) => {
                        let at = relocation.offset as usize;
                        if let Some(bytes) = initializer.bytes.get_mut(at..at.saturating_add(8)) {
                            bytes.copy_from_slice(&address.to_le_bytes());
                        }
                    }
                    _ => {}
                }
            }
            if bank.number == ADDRESSES {
                let bytes = section.bytes.len() as u64;
                let variable = Variable { align: 16, initializer, ..constant(String::new(), bytes, Vec::new()) };
                self.address_variable = Some(module.variables.push(variable));
            }
        }
    }

    fn target_or_service(&mut self, section: SectionId, relocation: &Relocation) -> Option<Ir> {
        if let Some(target) = self.target(section, relocation) {
            return Some(target);
        }
        let name = &self.cubin.symbols[relocation.symbol].name;
        let call = match name.as_str() {
            "vprintf" => SystemCall::Vprintf,
            "malloc" => SystemCall::Malloc,
            "free" => SystemCall::Free,
            "__assertfail" => SystemCall::AssertFail,
            _ => return None,
        };
        let address = FIRST_SERVICE + crate::WORD_BYTES * 256 * self.services.len() as u64;
        let service = self.services.entry(name.clone()).or_insert(Service { address, call });
        Some(Ir::Immediate(service.address))
    }

    /// What a relocation refers to: a place in a variable, or in code.
    fn target(&self, section: SectionId, relocation: &Relocation) -> Option<Ir> {
        let symbol = &self.cubin.symbols[relocation.symbol];
        let addend = relocation.addend.unwrap_or_else(|| self.addend_in_place(section, relocation));
        let of = symbol.section?;
        let place = symbol.value.wrapping_add_signed(addend);
        if let Some(&base) = self.code.get(&of) {
            return Some(Ir::Immediate(base.wrapping_add(place)));
        }
        let (&start, &variable) = self.variables.get(&of)?.range(..=place).next_back()?;
        Some(Ir::Variable { variable, offset: (place - start) as i64, generic: true })
    }

    /// What stands in the words that a relocation changes, of those in data; code has nothing there.
    fn addend_in_place(&self, section: SectionId, relocation: &Relocation) -> i64 {
        let section = &self.cubin.sections[section];
        if section.name.starts_with(".text") {
            return 0;
        }
        let bytes = usize::try_from(relocation.offset).ok().and_then(|at| section.bytes.get(at..at.checked_add(8)?));
        bytes.and_then(|bytes| Some(i64::from_le_bytes(bytes.try_into().ok()?))).unwrap_or(0)
    }

    /// What the relocations of the code say: values that go into it, and places that it jumps to by their address, which
    /// are functions and what stands behind calls that the code names.
    fn resolve_code(&mut self) {
        let functions = self.cubin.functions.iter();
        let mut jumped_to: BTreeSet<u64> = functions
            .filter_map(|function| Some(self.code.get(&function.section)?.wrapping_add(function.offset)))
            .collect();
        let mut relocated = BTreeMap::new();
        for (section, base) in self.code.clone() {
            for relocation in &self.cubin.sections[section].relocations {
                let kind = relocation_name(relocation.kind).unwrap_or_default();
                let is_call = CALLS.contains(&kind);
                let target = if is_call {
                    self.target_or_service(section, relocation)
                } else {
                    self.target(section, relocation)
                };
                let Some(operand) = target else { continue };
                if let Ir::Immediate(place) = operand {
                    jumped_to.insert(place);
                }
                let (is_lower, is_upper) = (kind.contains("_LO"), kind.contains("_HI"));
                if is_lower || is_upper || is_call {
                    let at = base.wrapping_add(relocation.offset) / crate::WORD_BYTES * crate::WORD_BYTES;
                    relocated.insert(at, Relocated { operand, is_upper });
                }
            }
        }
        (self.relocated, self.jumped_to) = (relocated, jumped_to);
    }

    /// The constants that the compiler made for a kernel.
    fn compiled_constants(&self, kernel: &Kernel) -> &'c [u8] {
        let bank = kernel.banks.iter().find(|bank| bank.number == COMPILER);
        bank.map_or(&[], |bank| &self.cubin.sections[bank.section].bytes)
    }

    fn local_bytes(&self, kernel: &Kernel) -> u32 {
        let function = &kernel.function;
        let known = function.min_stack_bytes.filter(|&bytes| bytes != UNKNOWN_STACK);
        let own = known.unwrap_or(0).max(function.frame_bytes.unwrap_or(0));
        let is_open = self.is_open || known != function.min_stack_bytes;
        let stack = own.saturating_add(if is_open { OPEN_STACK } else { 0 });
        let stack = stack.max(u32::try_from(kernel.local_bytes).unwrap_or(u32::MAX));
        stack.checked_next_multiple_of(STACK_ALIGNMENT).unwrap_or(u32::MAX / STACK_ALIGNMENT * STACK_ALIGNMENT)
    }

    fn facts(&self, kernel: &Kernel) -> Facts<'_> {
        Facts {
            sm: self.cubin.target.sm,
            is_of_cluster: false,
            parameter_base: kernel.parameter_base.unwrap_or(constants::first_parameter(self.cubin.target.sm)),
            parameter_end: self.parameter_bank.bytes,
            local_bytes: self.local_bytes(kernel),
            compiled: self.compiled_constants(kernel),
            compiled_variable: self.compiled.get(&kernel.function.section).copied(),
            addresses: &self.addresses,
            address_variable: self.address_variable,
            constants: &self.constants,
            relocated: &self.relocated,
        }
    }

    /// The code of a kernel, and that of all functions that lie elsewhere.
    fn sections(&self, kernel: &Kernel) -> Vec<Section<'c>> {
        std::iter::once(kernel.function.section)
            .chain(self.shared_code.iter().copied())
            .map(|id| Section { id, base: self.code[&id], bytes: &self.cubin.sections[id].bytes })
            .collect()
    }

    /// Places that code jumps to by their address, with those in the tables of the kernel's branches.
    fn jumped_to(&self, kernel: &Kernel) -> BTreeSet<u64> {
        let base = self.code[&kernel.function.section];
        let (words, _) = self.compiled_constants(kernel).as_chunks::<4>();
        let of_tables = words.iter().map(|word| base + u64::from(u32::from_le_bytes(*word)));
        let places = self.jumped_to.iter().copied().chain(of_tables);
        places.filter(|place| place % crate::WORD_BYTES == 0).collect()
    }
}

/// The bank of addresses.
const ADDRESSES: u8 = 4;
/// The bank of the constants that the compiler made for one kernel.
const COMPILER: u8 = 2;

/// The type of a value of which only the size is known.
const fn type_of(bytes: u64) -> ScalarType {
    match bytes {
        2 => ScalarType::B16,
        4 => ScalarType::B32,
        8 => ScalarType::B64,
        _ => ScalarType::B8,
    }
}

fn constant(name: String, bytes: u64, initial: Vec<u8>) -> Variable {
    Variable {
        name,
        space: StateSpace::Const,
        ty: type_of(bytes),
        bytes,
        align: 1,
        is_dynamic: false,
        function: None,
        initializer: Initializer { bytes: initial, ..Initializer::default() },
        opaque: None,
    }
}
