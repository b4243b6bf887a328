//! What profiles hold of the order in which warps did things: reuse distances and calculate periods.

use std::collections::BTreeMap;

use warplens_document::profile as document;
use warplens_document::{Amount, Fault, Named, Place};
use warplens_stats::{CostKind, Period, PeriodStream, Periods, Reuse, ReuseHistogram, StreamPart};

use super::check::{agree, sum};
use super::words::Word;

type Result<T> = std::result::Result<T, Fault>;

pub(super) fn write_reuse(reuse: &Reuse) -> document::Reuse {
    document::Reuse {
        warps: reuse.warps,
        requests: reuse.requests,
        requests_left_out: reuse.requests_left_out,
        lines: write_histogram(&reuse.lines),
        sectors: write_histogram(&reuse.sectors),
    }
}

fn write_histogram(histogram: &ReuseHistogram) -> document::Histogram {
    document::Histogram {
        accesses: histogram.accesses,
        cold: histogram.cold,
        distances: histogram.distances.iter().map(|(bytes, &count)| (bytes.to_string(), count)).collect(),
    }
}

pub(super) fn read_reuse(reuse: document::Reuse, place: &Place) -> Result<Reuse> {
    Ok(Reuse {
        warps: reuse.warps,
        requests: reuse.requests,
        requests_left_out: reuse.requests_left_out,
        lines: read_histogram(reuse.lines, &place.key("lines"))?,
        sectors: read_histogram(reuse.sectors, &place.key("sectors"))?,
    })
}

fn read_histogram(histogram: document::Histogram, place: &Place) -> Result<ReuseHistogram> {
    let bucket = |(bytes, count): (String, u64)| {
        let distance = bytes.parse();
        let wrong = |_| place.key("distances").key(&bytes).fault("the key is a distance in bytes");
        Ok((distance.map_err(wrong)?, count))
    };
    let distances: BTreeMap<u64, u64> = histogram.distances.0.into_iter().map(bucket).collect::<Result<_>>()?;
    let all = sum(distances.values().copied().chain([histogram.cold]));
    agree(place, "cold and distances together", all, "accesses", histogram.accesses)?;
    Ok(ReuseHistogram { accesses: histogram.accesses, cold: histogram.cold, distances })
}

pub(super) fn write_periods(periods: &Periods) -> document::Periods {
    let stream = |stream: &PeriodStream| document::Stream {
        warps: stream.warps,
        left_out: stream.left_out,
        parts: write_parts(&stream.parts),
    };
    document::Periods {
        warps: periods.warps,
        kinds: periods.kinds.iter().map(write_period).collect(),
        streams: periods.streams.iter().map(stream).collect(),
    }
}

fn write_period(period: &Period) -> document::Period {
    let task = |task: &BTreeMap<CostKind, u64>| -> Named<String, u64> {
        task.iter().map(|(kind, &count)| (kind.to_string(), count)).collect()
    };
    let transactions = period.transactions.iter().map(|(rule, &mean)| (rule.written(), Amount(mean)));
    document::Period {
        executions: period.executions,
        computation_task: task(&period.computation),
        memory_task: task(&period.memory),
        bytes_requested: Amount(period.bytes_requested),
        transactions: transactions.collect(),
    }
}

fn write_parts(parts: &[StreamPart]) -> Vec<document::Part> {
    let one = |part: &StreamPart| match part {
        StreamPart::Period(kind) => document::Part::Period(*kind as u64),
        StreamPart::Loop { times, body } => {
            document::Part::Repeated(document::Repeated { times: *times, body: write_parts(body) })
        }
    };
    parts.iter().map(one).collect()
}

pub(super) fn read_periods(periods: document::Periods, place: &Place) -> Result<Periods> {
    let kinds: Vec<Period> = periods.kinds.into_iter().map(read_period).collect();
    let streams = periods.streams.into_iter().enumerate();
    let streams = streams.map(|(index, stream)| {
        let place = place.key("streams").item(index).key("parts");
        let (parts, _) = read_parts(stream.parts, kinds.len(), MOST_NESTED, &place)?;
        Ok(PeriodStream { warps: stream.warps, left_out: stream.left_out, parts })
    });
    let streams = streams.collect::<Result<_>>()?;
    Ok(Periods { warps: periods.warps, kinds, streams })
}

fn read_period(period: document::Period) -> Period {
    let task = |task: Named<String, u64>| -> BTreeMap<CostKind, u64> {
        task.0.into_iter().map(|(kind, count)| (CostKind::parse(&kind), count)).collect()
    };
    let transactions = period.transactions.0.into_iter();
    Period {
        executions: period.executions,
        computation: task(period.computation_task),
        memory: task(period.memory_task),
        bytes_requested: period.bytes_requested.0,
        transactions: transactions.map(|(rule, mean)| (Word::from_written(rule), mean.0)).collect(),
    }
}

/// Loops inside each other that are read. Whoever walks a sequence may walk the body of a loop twice, which doubles the
/// work at every level.
const MOST_NESTED: usize = 12;

/// Periods by their number, and loops of them; with the number of periods when all loops are turned.
fn read_parts(
    parts: Vec<document::Part>,
    n_kinds: usize,
    nested: usize,
    place: &Place,
) -> Result<(Vec<StreamPart>, u64)> {
    let mut length = 0_u64;
    let mut read = Vec::new();
    for (index, part) in parts.into_iter().enumerate() {
        let place = place.item(index);
        let (part, periods) = match part {
            document::Part::Period(kind) => {
                let kind = usize::try_from(kind).ok().filter(|&kind| kind < n_kinds);
                let kind = kind.ok_or_else(|| place.fault(format!("there are {n_kinds} kinds of periods")))?;
                (StreamPart::Period(kind), Some(1))
            }
            document::Part::Repeated(repeated) => {
                let nested = nested.checked_sub(1);
                let nested = nested.ok_or_else(|| place.fault(format!("more than {MOST_NESTED} loops are nested")))?;
                let (body, once) = read_parts(repeated.body, n_kinds, nested, &place.key("body"))?;
                (StreamPart::Loop { times: repeated.times, body }, once.checked_mul(repeated.times))
            }
        };
        let total = periods.and_then(|periods| length.checked_add(periods));
        length = total.ok_or_else(|| place.fault("these are more periods than can be counted"))?;
        read.push(part);
    }
    Ok((read, length))
}
