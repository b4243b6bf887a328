//! Atomic operations on the same address: lanes of an access that share one are served one after the other.

use std::marker::PhantomData;

use warplens_machine::{Missing, Reader};
use warplens_stats::Request;
use warplens_trace::{AccessKind, ActiveMask, MachineClass, WarpAccess};

use super::Delay;
use crate::{Job, SmConfig, Without};

/// The unit has no state.
#[derive(Debug)]
pub(crate) struct Atomics<'a>(PhantomData<&'a ()>);

impl<'a> Delay<'a> for Atomics<'a> {
    type Config = ();

    fn read(_: &mut Reader<'_>, _: &[MachineClass]) -> Result<(), Missing> {
        Ok(())
    }

    fn new((): &(), _: &SmConfig, _: &Job<'a>, _: Without) -> Self {
        Self(PhantomData)
    }

    fn served(&mut self, access: &WarpAccess, request: &Request<'_>, done: f64) -> f64 {
        if access.kind == AccessKind::Atomic { done + f64::from(same_address(request) - 1) } else { done }
    }
}

/// Most lanes that access one address.
fn same_address(request: &Request<'_>) -> u32 {
    let mut rest = request.mask;
    let mut most = 1;
    while let Some(lane) = rest.lowest() {
        let same = rest.lanes().filter(|&other| request.addresses[other] == request.addresses[lane]);
        let same = ActiveMask(same.fold(0, |mask, other| mask | 1 << other));
        most = most.max(same.count());
        rest = rest.without(same);
    }
    most
}
