//! What of a program was executed: PTX or machine code, for which target, and how it came about.

use warplens_machine::ComputeCapability;
use warplens_sass::Decoder;
use warplens_sass::container::Cubin;

use crate::toolchain::release;

/// The code of a kernel that was executed and counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountedCode {
    /// PTX or machine code.
    pub form: CodeForm,
    /// What it was made for, such as `sm_80`.
    pub target: String,
    /// How it came about.
    pub origin: CodeOrigin,
    /// The assembler of machine code with its release, such as `ptxas 13.0`, where that is known.
    pub assembler: Option<String>,
}

impl CountedCode {
    /// It is the PTX of the input, or what CUDA C++ was compiled to.
    pub fn is_plain(&self) -> bool {
        self.form == CodeForm::Ptx && matches!(self.origin, CodeOrigin::Input | CodeOrigin::Compiler)
    }
}

/// The language of code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CodeForm {
    /// PTX; the timing simulation takes machine code that is generated of it.
    #[default]
    Ptx,
    /// Machine code; the timing simulation takes it as it is.
    Machine,
}

impl CodeForm {
    /// Every form.
    pub const ALL: [Self; 2] = [Self::Ptx, Self::Machine];

    /// Its name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ptx => "ptx",
            Self::Machine => "machine",
        }
    }

    /// What messages call it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Ptx => "PTX",
            Self::Machine => "machine code",
        }
    }

    /// What messages call a line of its text: machine code has its listing.
    pub const fn line(self) -> &'static str {
        match self {
            Self::Ptx => "PTX line",
            Self::Machine => "listing line",
        }
    }

    /// A place in words: file and line of the program where they are known, else the line of this text.
    pub fn place(self, source: Option<&(String, u32)>, line: u32) -> String {
        match source {
            Some((file, line)) => format!("{file}:{line}"),
            None => format!("{} {line}", self.line()),
        }
    }
}

/// How code came about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CodeOrigin {
    /// It is the input, or was loaded by a program.
    #[default]
    Input,
    /// It was chosen among what the input holds.
    Container,
    /// A compiler of CUDA C++ made it.
    Compiler,
    /// ptxas made it of PTX.
    Ptxas,
}

impl CodeOrigin {
    /// Every origin.
    pub const ALL: [Self; 4] = [Self::Input, Self::Container, Self::Compiler, Self::Ptxas];

    /// Its name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Container => "container",
            Self::Compiler => "compiler",
            Self::Ptxas => "ptxas",
        }
    }
}

impl std::fmt::Display for CountedCode {
    /// `machine code for sm_80 by ptxas 13.0, made here`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} for {}", self.form.words(), self.target)?;
        let of_ptxas = (self.origin == CodeOrigin::Ptxas).then_some("ptxas");
        self.assembler.as_deref().or(of_ptxas).map_or(Ok(()), |assembler| write!(f, " by {assembler}"))?;
        f.write_str(match self.origin {
            CodeOrigin::Input => "",
            CodeOrigin::Container => ", of the input",
            CodeOrigin::Compiler => ", compiled",
            CodeOrigin::Ptxas => ", made here",
        })
    }
}

/// `ptxas 13.0` of a cubin, where it says so. What was linked was assembled before.
pub(super) fn assembler(cubin: &Cubin) -> Option<String> {
    let producer = cubin.producers.iter().find(|producer| producer.tool == "ptxas").or(cubin.producers.first())?;
    Some(match release(&producer.version) {
        Some(release) => format!("{} {release}", producer.tool),
        None => producer.tool.clone(),
    })
}

/// The number of a compute capability in the names of targets: 80 for 8.0.
pub(super) fn number(cc: ComputeCapability) -> u32 {
    u32::from(cc.major) * 10 + u32::from(cc.minor)
}

/// The encodings of this chip are known.
pub(super) fn is_decoded(sm: u32) -> bool {
    Decoder::of(sm).is_ok()
}
