//! Hazards of machine code, as text: results that the code's own scheduling does not guarantee where they are used.

use std::fmt::Write;

use warplens_base::error::{Error, Result};
use warplens_ir::{Bank, Module};
use warplens_isa::Pc;
use warplens_launch::KernelName;
use warplens_sass::container::{self, Cubin, ImageKind};
use warplens_sass::hazards::latency::Latencies;
use warplens_sass::hazards::{self, Hazard};
use warplens_sass::lower::{Lowered, lower};
use warplens_session::Input;

/// What is asked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Request {
    /// The kernel, by its mangled name, its name, or its signature; all without it.
    pub kernel: Option<String>,
    /// Only code for this compute capability, times ten.
    pub sm: Option<u32>,
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Checked {
    /// The hazards in words, by kernel.
    pub text: String,
    /// Kernels that were looked at.
    pub kernels: usize,
    /// Hazards of all of them.
    pub hazards: usize,
}

/// Looks for hazards in the kernels of a file.
pub fn check(input: &Input, request: &Request) -> Result<Checked> {
    let damaged = |error: container::Error| Error::input(format!("{}: {error}", input.name));
    let images = container::read(&input.bytes).map_err(damaged)?;
    let mut checked = Checked::default();
    for image in images.iter().filter(|image| image.kind == ImageKind::Cubin) {
        let cubin = image.cubin().map_err(damaged)?;
        let is_wanted = request.sm.is_none_or(|sm| sm == cubin.target.sm);
        // Objects that are yet to be linked hold parts of kernels.
        if is_wanted && !cubin.is_relocatable {
            of_cubin(input, &cubin, request, &mut checked)?;
        }
    }
    if checked.kernels == 0 {
        let kernel = request.kernel.as_ref().map_or_else(String::new, |kernel| format!(" `{kernel}`"));
        let chip = request.sm.map_or_else(String::new, |sm| format!(" for sm_{sm}"));
        return Err(Error::input(format!("{} holds no machine code of a kernel{kernel}{chip}", input.name))
            .with_help("`warplens dev disasm` lists the machine code that is there"));
    }
    Ok(checked)
}

fn of_cubin(input: &Input, cubin: &Cubin, request: &Request, checked: &mut Checked) -> Result<()> {
    let lowered = lower(cubin).map_err(|error| Error::input(format!("{}: {error}", input.name)))?;
    let latencies = Latencies::of_chip(cubin.target.sm);
    for (id, kernel) in lowered.module.kernels() {
        let name = KernelName::new(&kernel.name);
        if !request.kernel.as_ref().map_or(Ok(true), |wanted| name.matches(wanted))? {
            continue;
        }
        let hazards = hazards::of(&lowered, id, &latencies);
        checked.kernels += 1;
        checked.hazards += hazards.len();
        let count = match hazards.len() {
            0 => "no hazards".to_owned(),
            1 => "1 hazard".to_owned(),
            n => format!("{n} hazards"),
        };
        // Writing to a string does not fail.
        let _ = writeln!(checked.text, "{} for {}: {count}", name.demangled, cubin.target);
        hazards.iter().for_each(|hazard| describe(&lowered, hazard, &mut checked.text));
    }
    Ok(())
}

fn describe(lowered: &Lowered, hazard: &Hazard, out: &mut String) {
    let letters = match hazard.bank {
        Bank::Vector => "R",
        Bank::Uniform => "UR",
        Bank::Predicate => "P",
        Bank::UniformPredicate => "UP",
        Bank::Convergence => "B",
    };
    let _ = writeln!(out, "  {}{}", line(lowered, hazard.user), source(&lowered.module, hazard.user));
    let _ = writeln!(out, "    {letters}{}: {}", hazard.index, line(lowered, hazard.producer));
    let _ = writeln!(out, "      {}", hazard.kind);
}

fn line(lowered: &Lowered, pc: Pc) -> &str {
    let span = lowered.module.pcs[pc].span;
    lowered.listing.get(span.start as usize..span.end as usize).unwrap_or_default()
}

/// The line of the program that an instruction came from.
fn source(module: &Module, pc: Pc) -> String {
    let location = module.locations.get(&pc);
    location.map_or_else(String::new, |at| format!("  // {}:{}", module.files[at.file as usize], at.line))
}
