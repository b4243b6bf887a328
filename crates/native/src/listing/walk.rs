//! From a rule to what warps execute.

use warplens_base::{Diagnostic, Span};
use warplens_trace::{ActiveMask, CtaId, CtaTrace, WARP_SIZE, WarpTraceBuilder};

use super::expr::{CTA, Expr, FIRST_COUNTER, LANE, THREAD, THREADS, WARP};
use super::layout::{AccessRule, Node};

/// Blocks, accesses and turns of loops that a CTA may have.
const MAX_EVENTS: usize = 1 << 22;
/// Threads that a CTA may have.
const MAX_THREADS: u32 = 1024;

/// What the warps of a CTA execute.
pub(super) fn walk(program: &[Node], n_counters: usize, cta: CtaId, threads: u32) -> Result<CtaTrace, Diagnostic> {
    if !(1..=MAX_THREADS).contains(&threads) {
        let message = format!("a CTA has 1 to {MAX_THREADS} threads, not {threads}");
        return Err(Diagnostic::error("N030", Span::default(), message));
    }
    let mut variables = vec![0; usize::from(FIRST_COUNTER) + n_counters];
    variables[usize::from(CTA)] = i64::from(cta.0);
    variables[usize::from(THREADS)] = i64::from(threads);
    let mut walker = Walker { variables, stack: Vec::new(), warp: WarpTraceBuilder::default(), n_events: 0 };
    let warps = (0..threads.div_ceil(WARP_SIZE as u32)).map(|warp| {
        walker.variables[usize::from(WARP)] = i64::from(warp);
        let mask = ActiveMask::first(threads - warp * WARP_SIZE as u32);
        walker.nodes(program, mask)?;
        Ok(std::mem::take(&mut walker.warp).finish())
    });
    Ok(CtaTrace { id: cta, warps: warps.collect::<Result<_, Diagnostic>>()? })
}

struct Walker {
    variables: Vec<i64>,
    stack: Vec<Option<i64>>,
    warp: WarpTraceBuilder,
    n_events: usize,
}

impl Walker {
    fn nodes(&mut self, nodes: &[Node], mask: ActiveMask) -> Result<(), Diagnostic> {
        for node in nodes {
            match node {
                Node::Block { block, accesses } => {
                    self.count(Span::default())?;
                    self.warp.step(*block, mask);
                    for rule in accesses {
                        self.access(rule, mask)?;
                    }
                }
                Node::Loop { counter, count, span, body } => {
                    let times = self.value(count, *span)?;
                    for turn in 0..times {
                        self.count(*span)?;
                        self.variables[usize::from(*counter)] = turn;
                        self.nodes(body, mask)?;
                    }
                }
                Node::If { condition, span, then, otherwise } => {
                    let holds = self.lanes(condition, *span, mask)?;
                    for (body, mask) in [(then, holds), (otherwise, mask.without(holds))] {
                        if !mask.is_empty() {
                            self.nodes(body, mask)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn count(&mut self, span: Span) -> Result<(), Diagnostic> {
        self.n_events += 1;
        if self.n_events <= MAX_EVENTS {
            return Ok(());
        }
        Err(Diagnostic::error("N031", span, format!("a CTA executes more than {MAX_EVENTS} blocks and accesses")))
    }

    fn access(&mut self, rule: &AccessRule, mask: ActiveMask) -> Result<(), Diagnostic> {
        self.count(rule.span)?;
        let mask = match &rule.guard {
            Some((condition, span)) => self.lanes(condition, *span, mask)?,
            None => mask,
        };
        if mask.is_empty() {
            return Ok(());
        }
        let mut addresses = [0; WARP_SIZE];
        for lane in mask.lanes() {
            let address = self.lane_value(&rule.address, rule.span, lane)?;
            addresses[lane] = u64::try_from(address).map_err(|_| {
                Diagnostic::error("N032", rule.span, format!("lane {lane} would point to {address}"))
                    .with_label(self.whereabouts())
            })?;
        }
        let size = (rule.element_bytes, rule.elements);
        self.warp.access(rule.slot, rule.space, rule.kind, size, mask, &addresses);
        Ok(())
    }

    /// The lanes of `mask` for which a condition holds.
    fn lanes(&mut self, condition: &Expr, span: Span, mask: ActiveMask) -> Result<ActiveMask, Diagnostic> {
        let mut holds = ActiveMask::EMPTY;
        for lane in mask.lanes() {
            if self.lane_value(condition, span, lane)? != 0 {
                holds |= ActiveMask(1 << lane);
            }
        }
        Ok(holds)
    }

    fn lane_value(&mut self, expr: &Expr, span: Span, lane: usize) -> Result<i64, Diagnostic> {
        let lane = lane as i64;
        self.variables[usize::from(LANE)] = lane;
        self.variables[usize::from(THREAD)] = self.variables[usize::from(WARP)] * WARP_SIZE as i64 + lane;
        self.value(expr, span)
    }

    fn value(&mut self, expr: &Expr, span: Span) -> Result<i64, Diagnostic> {
        expr.evaluate(&self.variables, &mut self.stack).ok_or_else(|| {
            Diagnostic::error(
                "N033",
                span,
                "the expression has no value: an overflow, a shift too far or a division by zero",
            )
            .with_label(self.whereabouts())
        })
    }

    fn whereabouts(&self) -> String {
        let of = |variable: u16| self.variables[usize::from(variable)];
        format!("in CTA {}, warp {}", of(CTA), of(WARP))
    }
}
