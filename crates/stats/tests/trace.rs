//! What a trace keeps of accesses.

use warplens_isa::{BlockId, Pc, StateSpace};
use warplens_stats::{TraceRequest, Tracer};
use warplens_trace::{Access, AccessKind, ActiveMask, CtaId, Observer as _, WARP_SIZE, WarpIndex};

#[test]
fn a_bulk_copy_of_one_lane_keeps_the_requests_of_all_its_places() {
    let request = TraceRequest { ctas: vec![CtaId(0)], bytes_per_cta: 1 << 20, ..TraceRequest::default() };
    let mut tracer = Tracer::new([Some((BlockId(0), 0)), Some((BlockId(1), 0))].into(), 1, request);
    let mut cta = tracer.begin_cta(CtaId(0));
    let addresses: [u64; WARP_SIZE] = std::array::from_fn(|place| 4096 + 16 * place as u64);
    let access = |kind, mask| Access {
        space: StateSpace::Global,
        kind,
        element_bytes: 4,
        elements: 4,
        mask,
        addresses: (&addresses).into(),
        unchanged: ActiveMask::EMPTY,
    };
    tracer.block(&mut cta, WarpIndex(0), BlockId(0), ActiveMask::FULL);
    tracer.block(&mut cta, WarpIndex(0), BlockId(1), ActiveMask(1));
    for _ in 0..3 {
        tracer.access(&mut cta, WarpIndex(0), Pc(1), &access(AccessKind::Load, ActiveMask::FULL));
    }
    tracer.access(&mut cta, WarpIndex(0), Pc(0), &access(AccessKind::Store, ActiveMask(6)));
    tracer.end_cta(cta);
    let recorded = tracer.finish();
    let trace = recorded.ctas[0].trace();
    let steps: Vec<_> = trace.warps[0].steps().collect();
    assert_eq!(steps.iter().map(|step| step.block).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(steps.iter().map(|step| trace.warps[0].accesses_of(step).len()).collect::<Vec<_>>(), [1, 3]);
}
