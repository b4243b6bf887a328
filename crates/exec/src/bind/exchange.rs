//! Operations in which the lanes of a warp look at each other: [`Exchange`] says what they bring and receive.

use warplens_isa::ScalarType;

use super::{Binder, Binding};
use crate::code::{ExchangeOperation, Kind, Members, SINK, Wide};
use crate::decoded::Decoded;
use crate::raw::Source;
use crate::semantics::warp::{Exchange, Gives, Sort, Unnamed};

/// Emits an exchange: the sources are what it brings, then the member mask if there is one.
pub(super) fn bind(binder: &mut Binder<'_>, inst: &Decoded, what: Exchange) -> Binding {
    let brings = what.brings();
    if inst.sources.len() < brings.len() {
        return Err("an operand is missing");
    }
    let values = brings.iter().zip(&inst.sources);
    let sources: Vec<Source> = values.map(|(&sort, operand)| binder.read(operand, type_of(sort, inst.ty))).collect();
    let members = match (inst.sources.get(brings.len()), what.unnamed()) {
        (Some(operand), _) => Members::Named(binder.read(operand, ScalarType::B32)),
        (None, Unnamed::All) => Members::Named(binder.constant(u32::MAX.into(), Wide::No)),
        (None, Unnamed::Present) => Members::Present,
    };
    let mut destination = |at: usize, sort| {
        let register = inst.destinations.get(at).copied().flatten();
        // The first is written to a place of its own if nobody wants it.
        if at > 0 && register.is_none() { SINK } else { binder.write(register, type_of(sort, inst.ty)) }
    };
    let destinations = match what.gives() {
        Gives::Nothing => [SINK; 2],
        Gives::Word => [destination(0, Sort::Word), SINK],
        Gives::Truth => [destination(0, Sort::Truth), SINK],
        Gives::WordAndTruth => [destination(0, Sort::Word), destination(1, Sort::Truth)],
    };
    let exchange = binder.exchange_operation(ExchangeOperation { what, members });
    binder.other(Kind::Exchange(exchange), destinations, &sources);
    Ok(())
}

/// The type as which a value is read or written; that of the instruction where it is of the same size.
fn type_of(sort: Sort, ty: ScalarType) -> ScalarType {
    match sort {
        Sort::Word if ty.bits() == 32 => ty,
        Sort::Word => ScalarType::B32,
        Sort::Pair if ty.bits() == 64 => ty,
        Sort::Pair => ScalarType::B64,
        Sort::Truth => ScalarType::Pred,
    }
}
