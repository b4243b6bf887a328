//! What each stage makes of an input, as text.

use warplens_ptx::syntax;

use crate::error::{Error, Findings, Result};
use crate::input::{Input, InputKind};

/// A stage's result, and what the stage had to say about the input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dump {
    /// The result.
    pub text: String,
    /// The findings.
    pub findings: Findings,
}

/// The tokens of a PTX text, one per line.
pub fn tokens(input: &Input) -> Result<Dump> {
    let source = ptx_text(input)?;
    Ok(Dump { text: syntax::dump_tokens(&source), findings: findings(input, &source, Vec::new()) })
}

/// The syntax tree of a PTX text. Errors do not stop it: what could be read is shown.
pub fn syntax_tree(input: &Input) -> Result<Dump> {
    let source = ptx_text(input)?;
    let (module, diagnostics) = syntax::parse(&source);
    let text = syntax::dump_ast(&module, false);
    drop(module);
    Ok(Dump { text, findings: findings(input, &source, diagnostics) })
}

fn findings(input: &Input, source: &str, diagnostics: Vec<warplens_base::Diagnostic>) -> Findings {
    Findings { name: input.name.clone(), text: source.to_owned(), diagnostics }
}

fn ptx_text(input: &Input) -> Result<String> {
    match input.kind {
        InputKind::Ptx => Ok(input.text()),
        InputKind::CudaSource => Err(Error::input(format!("{} is CUDA C++; this stage takes PTX", input.name))
            .with_help("compile it first: nvcc -ptx FILE.cu")),
        _ => Err(input.unusable()),
    }
}
