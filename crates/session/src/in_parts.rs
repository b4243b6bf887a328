//! A launch that is executed some CTAs at a time: the first, which tells how much work the others are, then all others or a
//! part of them, and then those that only a trace needs. No CTA is executed again: a second time would find what it left
//! behind.

use std::sync::atomic::Ordering;

use warplens_device::Kernel;
use warplens_exec as exec;
use warplens_statics::Counts;
use warplens_stats::{Recorder, TraceRequest, Tracer};
use warplens_trace::{Clusters, Observer as _};

use crate::alike;
use crate::execution::{Counters, Execution, Extent};
use crate::progress::Progress;
use crate::trace::{self, Cost};
use crate::watched::{Alike, Observed, Watched, observed};
use warplens_base::error::Result;

/// Such a part is this share of that work.
const PART_SHARE: u64 = 4;
/// Fewest CTAs of a part.
const FEWEST_CTAS: u64 = 16;
/// Thread instructions that take as long as starting a CTA: grids of millions of tiny CTAs are large too.
const CTA_COST: u64 = 500;

/// A launch of which some CTAs have been executed.
pub(crate) struct InParts<'r, 'p> {
    execution: &'r mut Execution<'p>,
    launch: (usize, &'r Kernel),
    parts: &'r mut exec::Parts,
    clusters: Clusters,
    progress: &'r Progress,
    /// They, ascending.
    executed: Vec<u32>,
    /// Two of them that touch what one of them writes; then nothing more is executed.
    race: Option<exec::Race>,
}

impl<'r, 'p> InParts<'r, 'p> {
    /// Before anything is executed. Clusters are executed whole.
    pub(crate) fn new(
        execution: &'r mut Execution<'p>,
        launch: (usize, &'r Kernel),
        parts: &'r mut exec::Parts,
        clusters: Clusters,
        progress: &'r Progress,
    ) -> Self {
        Self { execution, launch, parts, clusters, progress, executed: Vec::new(), race: None }
    }

    /// Executes as much as is wanted, and counts and traces it.
    pub(crate) fn observe(mut self, watched: &mut Watched, extent: &Extent) -> Result<Observed> {
        // It is one of many also where only some are looked at closely.
        let among_all = watched.recorder(0..watched.n_ctas);
        let start = self.clusters.whole([0]);
        let observer = (Some(among_all), watched.tracer(|need| need.first(&start)));
        let ((first, tracer), summary) = self.count(start, observer)?;
        let cost = Cost::new(&summary, self.clusters.n_ctas(), tracer.as_ref());
        if *extent != Extent::Full
            && let shape = (watched.kernel, watched.shape)
            && let Some(counts) = alike::count(self.execution, self.launch, shape, watched.counting, cost)
        {
            return self.of_alike(watched, extent, (counts, cost), (first, tracer));
        }
        let part = match extent {
            Extent::Full => None,
            _ => {
                let limit = self.execution.options().full_limit;
                part_of(watched.n_ctas / self.clusters.n_ctas(), summary.work(), limit)
            }
        };
        let is_part = part.is_some();
        let ctas: Vec<u32> = match part {
            Some(part) => {
                let members = part.into_iter().flat_map(|cluster| self.clusters.members(cluster));
                self.clusters.whole(members.map(|cta| cta.0))
            }
            None => (0..watched.n_ctas).collect(),
        };
        let request = watched.need.as_mut().map(|need| need.request(Some(cost))).unwrap_or_default();
        let more = trace::lacking(&request, &ctas);
        let mut all = watched.recorder(ctas.iter().copied());
        all.merge(first.expect("it was handed in"));
        let ((recorder, tracer), _) = self.count(ctas, (Some(all), tracer.map(|of| of.continued(request))))?;
        let ((_, tracer), _) = self.count(more, (None::<Recorder>, tracer))?;
        match extent {
            Extent::Counted if is_part => self.rest(watched.n_ctas)?,
            // CTAs that lie apart may have nothing to do with each other where neighbours race.
            _ if is_part && self.parts.exchange_data() => self.run(neighbours(watched.shape.grid))?,
            _ => {}
        }
        Ok(observed((recorder, tracer), self.race))
    }

    /// Executes those CTAs that tell whether accesses are allowed, whether CTAs race, and what a trace needs; the counts are
    /// known. The first CTA was executed.
    fn of_alike(
        mut self,
        watched: &mut Watched,
        extent: &Extent,
        (counts, cost): (Counts, Cost),
        (first, tracer): Counters,
    ) -> Result<Observed> {
        let cost = Cost { is_of_all: alike::do_as_much(&counts), ..cost };
        let continued = |tracer: Option<Tracer>, request: TraceRequest| tracer.map(|tracer| tracer.continued(request));
        let looking = watched.need.as_mut().map(|need| need.looking(cost)).unwrap_or_default();
        let pattern = looking.pattern.iter().map(|cta| cta.0);
        let shown: Vec<u32> = spread(FEWEST_CTAS, watched.n_ctas).chain(pattern).collect();
        let ((_, tracer), _) = self.count(shown, (None, continued(tracer, looking)))?;
        let lines_are_known = tracer.as_ref().zip(watched.need.as_ref()).is_some_and(|(of, need)| need.has_pattern(of));
        let cost = Cost { lines_are_known, ..cost };
        let request = watched.need.as_mut().map(|need| need.request(Some(cost))).unwrap_or_default();
        let corners = counts.corners.iter().map(|cta| cta.0);
        let others = corners.chain(neighbours(watched.shape.grid)).chain(trace::lacking(&request, &self.executed));
        let ((_, tracer), _) = self.count(others.collect(), (None, continued(tracer, request)))?;
        if *extent == Extent::Counted {
            self.rest(watched.n_ctas)?;
        }
        let alike = Some(Alike { counts, n_executed: self.executed.len() as u64 });
        Ok(Observed { alike, ..observed((first, tracer), self.race) })
    }

    /// Those of some CTAs that are to be executed now.
    fn due(&mut self, ctas: Vec<u32>) -> Vec<u32> {
        let due = if self.race.is_some() { Vec::new() } else { without(self.clusters.whole(ctas), &self.executed) };
        self.progress.total.fetch_add(due.len() as u64, Ordering::Relaxed);
        self.executed.extend(&due);
        self.executed.sort_unstable();
        due
    }

    /// Executes CTAs, and lets them be counted and traced.
    fn count(&mut self, ctas: Vec<u32>, observer: Counters) -> Result<(Counters, exec::LaunchSummary)> {
        let due = self.due(ctas);
        if due.is_empty() {
            return Ok((observer, exec::LaunchSummary::default()));
        }
        let any = exec::Schedule::Any;
        let (observer, summary) =
            self.execution.count(self.launch, self.parts, any, Some(due), observer, self.progress)?;
        self.race = self.race.take().or_else(|| summary.race.clone());
        Ok((observer, summary))
    }

    /// Executes CTAs.
    fn run(&mut self, ctas: Vec<u32>) -> Result<()> {
        let due = self.due(ctas);
        if due.is_empty() {
            return Ok(());
        }
        let any = exec::Schedule::Any;
        let summary = self.execution.run(self.launch, self.parts, any, Some(due), self.progress)?;
        self.race = self.race.take().or(summary.race);
        Ok(())
    }

    /// Executes all that have not been.
    fn rest(&mut self, n_ctas: u32) -> Result<()> {
        self.run((0..n_ctas).collect())
    }
}

/// The CTAs (ascending) that are not among others (ascending).
pub(crate) fn without(mut ctas: Vec<u32>, others: &[u32]) -> Vec<u32> {
    ctas.retain(|cta| others.binary_search(cta).is_err());
    ctas
}

/// The neighbours of the first CTA along the axes of the grid.
fn neighbours([x, y, z]: [u32; 3]) -> Vec<u32> {
    let along = [(x, Some(1)), (y, Some(x)), (z, x.checked_mul(y))];
    along.into_iter().filter(|&(extent, _)| extent > 1).filter_map(|(_, cta)| cta).collect()
}

/// The CTAs to execute when the first is so much `work`, and all may be as much as the limit: first, last and evenly
/// spread. `None` for all.
fn part_of(n_ctas: u32, work: u64, limit: u64) -> Option<Vec<u32>> {
    let per_cta = work.max(CTA_COST);
    if per_cta.saturating_mul(n_ctas.into()) <= limit {
        return None;
    }
    Some(spread((limit / PART_SHARE / per_cta).max(FEWEST_CTAS), n_ctas).collect())
}

/// So many CTAs of a grid, or all where it has no more: first, last and evenly spread.
fn spread(wanted: u64, n_ctas: u32) -> impl Iterator<Item = u32> {
    let last = u64::from(n_ctas) - 1;
    let count = wanted.min(last + 1);
    (0..count).map(move |index| u32::try_from(index * last / (count - 1).max(1)).expect("not beyond the last CTA"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::FULL_LIMIT;

    #[test]
    fn the_first_block_has_a_neighbour_along_each_axis() {
        assert_eq!(neighbours([7, 5, 3]), [1, 7, 35]);
        assert_eq!(neighbours([1, 5, 1]), [1]);
        assert!(neighbours([1, 1, 1]).is_empty());
    }

    #[test]
    fn a_part_holds_both_ends_and_is_evenly_spread() {
        let part_of = |n_ctas, work| part_of(n_ctas, work, FULL_LIMIT);
        assert_eq!(part_of(1000, 2_000_000), None);
        let part = part_of(1_000_000, 1_000_000).unwrap();
        assert_eq!((part.len(), part[0], part[499]), (500, 0, 999_999));
        assert!(part.windows(2).all(|pair| (2003..=2005).contains(&(pair[1] - pair[0]))));
        let few = part_of(100, 1_000_000_000).unwrap();
        assert_eq!((few.len(), few[15]), (16, 99));
        assert_eq!(part_of(2, 2_000_000_000), Some(vec![0, 1]));
        assert_eq!(part_of(u32::MAX, 1).map(|part| part.len()), Some(1_000_000));
    }
}
