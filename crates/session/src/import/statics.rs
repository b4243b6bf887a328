//! Reads what a saved profile that was counted without a run stands on.

use warplens_isa::Pc;

use super::node::Node;
use crate::error::Result;
use crate::statics::{Bound, BoundKind, Line, Statics};

pub(super) fn statics(node: &Node<'_>) -> Result<Statics> {
    node.keys(&["basis", "bounds", "given", "unused", "ctas_walked", "warp_instructions_walked"])?;
    let given = |node: &Node<'_>| {
        node.keys(&["line", "value"])?;
        Ok((line(&node.need("line")?)?, node.need("value")?.number()?))
    };
    Ok(Statics {
        bounds: node.need("bounds")?.items()?.iter().map(bound).collect::<Result<_>>()?,
        used: node.need("given")?.items()?.iter().map(given).collect::<Result<_>>()?,
        unused: node.need("unused")?.items()?.iter().map(line).collect::<Result<_>>()?,
        walked_ctas: node.need("ctas_walked")?.count()?,
        walked_instructions: node.need("warp_instructions_walked")?.count()?,
    })
}

fn bound(node: &Node<'_>) -> Result<Bound> {
    node.keys(&["kind", "pc", "ptx_line", "file", "line", "opcode"])?;
    let kind = node.need("kind")?;
    let name = kind.text()?;
    let found = [BoundKind::Branch, BoundKind::Address].into_iter().find(|kind| kind.name() == name);
    Ok(Bound {
        kind: found.ok_or_else(|| kind.fail(format!("there is no kind `{name}`")))?,
        pc: Pc(node.get("pc").map_or(Ok(0), |node| node.small_count())?),
        ptx_line: node.need("ptx_line")?.small_count()?,
        source: source(node)?,
        opcode: warplens_ptx::spelling(node.need("opcode")?.text()?),
    })
}

/// File and line of the program, both or none.
pub(super) fn source(node: &Node<'_>) -> Result<Option<(String, u32)>> {
    let optional = |key: &str| node.get(key).filter(|node| !node.is_null());
    match (optional("file"), optional("line")) {
        (Some(file), Some(line)) => Ok(Some((file.text()?.to_owned(), line.small_count()?))),
        (None, None) => Ok(None),
        _ => Err(node.fail("file and line go together")),
    }
}

/// `12`, `ptx:12` or `source:12`.
fn line(node: &Node<'_>) -> Result<Line> {
    let text = node.text()?;
    let (make, digits): (fn(u32) -> Line, &str) = match text.split_once(':') {
        Some(("ptx", digits)) => (Line::Ptx, digits),
        Some(("source", digits)) => (Line::Source, digits),
        _ => (Line::Either, text),
    };
    digits.parse().map(make).map_err(|_| node.fail(format!("`{text}` is no line")))
}
