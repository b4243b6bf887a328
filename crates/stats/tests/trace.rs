//! What a trace keeps of accesses.

use warplens_isa::{BlockId, Pc, StateSpace};
use warplens_stats::{TraceRequest, TracedCta, Tracer};
use warplens_trace::{Access, AccessKind, ActiveMask, Addresses, CtaId, Observer as _, WARP_SIZE, WarpIndex};

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

#[test]
fn a_block_is_recorded_as_if_it_were_the_first() {
    let request = TraceRequest {
        ctas: vec![CtaId(0), CtaId(1)],
        bytes_per_cta: 1 << 12,
        window: 2,
        pattern: vec![CtaId(0), CtaId(1)],
    };
    let places: Vec<_> = (0..12).map(|slot| Some((BlockId(0), slot))).collect();
    let tracer = || Tracer::new(places.clone().into(), 2, request.clone());
    let record = |tracer: &mut Tracer, id: u32, turns: u64| {
        let mut cta = tracer.begin_cta(CtaId(id));
        for (turn, warp) in (0..turns).flat_map(|turn| [(turn, WarpIndex(0)), (turn, WarpIndex(1))]) {
            tracer.block(&mut cta, warp, BlockId(0), ActiveMask::FULL);
            for pc in 0..12 {
                // Rows, patterns and places that are far apart, all with shapes that come again in both blocks.
                let place = |lane: u64| match pc % 3 {
                    0 => 4096 * turn + 4 * lane,
                    1 => 8 * (lane * lane % 40) + 128 * u64::from(pc),
                    _ => (lane << 40) + 4 * turn,
                };
                let addresses: [u64; WARP_SIZE] = std::array::from_fn(|lane| place(lane as u64));
                let offsets: [u32; WARP_SIZE] = std::array::from_fn(|lane| (addresses[lane] - addresses[0]) as u32);
                let known = Addresses::from_offsets(addresses[0], &offsets).with_shape(1 + u64::from(pc));
                let access = Access {
                    space: StateSpace::Global,
                    kind: if pc % 2 == 0 { AccessKind::Load } else { AccessKind::Store },
                    element_bytes: 4,
                    elements: 1,
                    mask: ActiveMask::FULL,
                    addresses: if pc % 3 == 2 { (&addresses).into() } else { known },
                    unchanged: ActiveMask::EMPTY,
                };
                tracer.access(&mut cta, warp, Pc(pc), &access);
            }
        }
        tracer.end_cta(cta);
    };
    let mut first = tracer();
    // So many turns that not all of them are kept.
    record(&mut first, 0, 40);
    record(&mut first, 1, 2);
    let first = first.finish();
    assert!(!first.ctas[0].left_out().is_empty());
    let mut alone = tracer();
    record(&mut alone, 1, 2);
    let alone = alone.finish();
    assert_eq!(first.ctas[1..], alone.ctas);
    assert_eq!(
        (&first.lines[1..], &first.words[1..], &first.stored[1..]),
        (&alone.lines[..], &alone.words[..], &alone.stored[..])
    );
    for cta in &first.ctas {
        assert_eq!(*cta, TracedCta::new(&cta.trace(), cta.left_out().to_vec()), "packed as it is from a whole trace");
    }
}
