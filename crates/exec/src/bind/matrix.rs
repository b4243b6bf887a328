//! Products of matrices that a warp holds.

use warplens_isa::{MatrixProduct, ScalarType};

use super::{Binder, Binding, exchange};
use crate::code::{Kind, MatrixOperation, SINK};
use crate::decoded::Decoded;
use crate::semantics::warp::Exchange;

/// All lanes that have not exited meet first; then they are together at the product.
pub(super) fn mma(binder: &mut Binder<'_>, inst: &Decoded, product: &MatrixProduct) -> Binding {
    let [n_d, n_a, n_b, n_c] = product.registers();
    if inst.destinations.len() != n_d || inst.sources.len() != n_a + n_b + n_c {
        return Err("a fragment is missing");
    }
    let meeting = Decoded { sources: Vec::new(), destinations: Vec::new(), ..inst.clone() };
    exchange::bind(binder, &meeting, Exchange::Barrier)?;
    let ty = if product.is_double() { ScalarType::B64 } else { ScalarType::B32 };
    let sources = inst.sources.iter().map(|operand| binder.read(operand, ty)).collect();
    let destinations = inst.destinations.iter().map(|&register| binder.write(register, ty)).collect();
    let index = binder.matrix(MatrixOperation { product: *product, sources, destinations });
    binder.other(Kind::Matrix(index), [SINK; 2], &[]);
    Ok(())
}
