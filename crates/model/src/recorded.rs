//! What models take of a recorded launch, or why they cannot.

use warplens_machine::Machine;
use warplens_sim::traces::{Listing, Traced, Traces};

use crate::options::CodeOrder;
use crate::{Options, Refusal};

/// What was recorded of a launch, or why nothing was.
pub(crate) fn traced(traces: &Traces) -> Result<&Traced, Refusal> {
    let refusal = |reason: &str| Refusal { missing: vec!["trace".to_owned()], reason: reason.to_owned() };
    match traces {
        Traces::Made(traced) => Ok(traced),
        Traces::Outdated => Err(refusal("a change of counts does not reach the trace that teg simulates")),
        Traces::None => Err(refusal("teg simulates what warps executed, and nothing was recorded of it")),
    }
}

/// The machine code of the kernel on a machine, in the order that is asked for.
pub(crate) fn listing<'t>(traced: &'t Traced, machine: &Machine, options: &Options) -> Result<&'t Listing, Refusal> {
    let board = traced.boards.get(machine.board());
    let others = || traced.boards.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let board = board.ok_or_else(|| Refusal {
        missing: vec!["trace".to_owned()],
        reason: format!("nothing was recorded for {}, but for {}", machine.board(), others()),
    })?;
    let code = board.code.as_ref();
    let code = code.map_err(|reason| Refusal::impossible(format!("there is no machine code: {reason}")))?;
    Ok(match options.code_order {
        CodeOrder::Scheduled => &code.scheduled,
        CodeOrder::Program => &code.program_order,
    })
}
