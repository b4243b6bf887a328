//! Reads what profiles hold of the order in which warps did things: reuse distances and calculate periods.

use std::collections::BTreeMap;

use warplens_stats::{CostKind, Period, PeriodStream, Periods, Reuse, ReuseHistogram, StreamPart};

use super::json::{agree, coalescing_rule, sum};
use super::node::Node;
use crate::error::Result;

pub(super) fn reuse(node: &Node<'_>) -> Result<Reuse> {
    node.keys(&["warps", "requests", "requests_left_out", "lines", "sectors"])?;
    Ok(Reuse {
        warps: node.need("warps")?.count()?,
        requests: node.need("requests")?.count()?,
        requests_left_out: node.need("requests_left_out")?.count()?,
        lines: histogram(&node.need("lines")?)?,
        sectors: histogram(&node.need("sectors")?)?,
    })
}

fn histogram(node: &Node<'_>) -> Result<ReuseHistogram> {
    node.keys(&["accesses", "cold", "distances"])?;
    let bucket = |(bytes, node): (&str, Node<'_>)| {
        let bytes = bytes.parse().map_err(|_| node.fail("the key is a distance in bytes"))?;
        Ok((bytes, node.count()?))
    };
    let histogram = ReuseHistogram {
        accesses: node.need("accesses")?.count()?,
        cold: node.need("cold")?.count()?,
        distances: node.need("distances")?.entries()?.into_iter().map(bucket).collect::<Result<_>>()?,
    };
    let all = sum(histogram.distances.values().copied().chain([histogram.cold]));
    agree(node, "cold and distances together", all, "accesses", histogram.accesses)?;
    Ok(histogram)
}

pub(super) fn periods(node: &Node<'_>) -> Result<Periods> {
    node.keys(&["warps", "kinds", "streams"])?;
    let kinds: Vec<Period> = node.need("kinds")?.items()?.iter().map(period).collect::<Result<_>>()?;
    let streams = node.need("streams")?.items()?.iter().map(|node| stream(node, kinds.len())).collect::<Result<_>>()?;
    Ok(Periods { warps: node.need("warps")?.count()?, kinds, streams })
}

fn period(node: &Node<'_>) -> Result<Period> {
    node.keys(&["executions", "computation_task", "memory_task", "bytes_requested", "transactions"])?;
    let task = |node: Node<'_>| -> Result<BTreeMap<CostKind, u64>> {
        node.entries()?.into_iter().map(|(kind, node)| Ok((CostKind::parse(kind), node.count()?))).collect()
    };
    let transactions = node.need("transactions")?.entries()?;
    let transactions = transactions.into_iter().map(|(rule, node)| Ok((coalescing_rule(rule, &node)?, node.number()?)));
    Ok(Period {
        executions: node.need("executions")?.count()?,
        computation: task(node.need("computation_task")?)?,
        memory: task(node.need("memory_task")?)?,
        bytes_requested: node.need("bytes_requested")?.number()?,
        transactions: transactions.collect::<Result<_>>()?,
    })
}

fn stream(node: &Node<'_>, n_kinds: usize) -> Result<PeriodStream> {
    node.keys(&["warps", "left_out", "parts"])?;
    Ok(PeriodStream {
        warps: node.need("warps")?.count()?,
        left_out: node.need("left_out")?.count()?,
        parts: parts(&node.need("parts")?, n_kinds)?,
    })
}

/// Periods by their number, and loops of them.
fn parts(node: &Node<'_>, n_kinds: usize) -> Result<Vec<StreamPart>> {
    let one = |node: &Node<'_>| {
        if node.is_object() {
            node.keys(&["times", "body"])?;
            return Ok(StreamPart::Loop {
                times: node.need("times")?.count()?,
                body: parts(&node.need("body")?, n_kinds)?,
            });
        }
        let kind = usize::try_from(node.count()?).ok().filter(|&kind| kind < n_kinds);
        kind.map(StreamPart::Period).ok_or_else(|| node.fail(format!("there are {n_kinds} kinds of periods")))
    };
    node.items()?.iter().map(one).collect()
}
