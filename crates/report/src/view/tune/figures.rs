//! The times of a search as a heat map: block sizes to the right, everything else downwards.

use warplens_question::tune::{Candidate, Dimension, Ranking, Tuning};

use crate::figure::{Axis, Figure, HeatCell, Panel, Series};
use crate::render::time_label;

/// Rows of a panel; the best ones are kept.
const MOST_ROWS: usize = 40;

/// The heat map; none where nothing is varied or no point has a time.
pub fn heat_map(tuning: &Tuning) -> Option<Figure> {
    let across = across(tuning)?;
    let ranked = tuning.rankings.iter().enumerate().filter(|(_, ranking)| !ranking.order.is_empty());
    let panels: Vec<Panel> = ranked.map(|(gpu, ranking)| panel(tuning, across, gpu, ranking)).collect();
    let figure = Figure::of_panels("heat", "Predicted time of each point", panels, 1).caption(
        "The colour is the time over the best of the panel, which is framed; the number is the time. Empty fields are \
         points that cannot be launched or were not evaluated.",
    );
    figure.check().is_ok().then_some(figure)
}

/// The dimension that goes to the right: the block, else the one with the most values.
fn across(tuning: &Tuning) -> Option<&Dimension> {
    let dimensions = tuning.dimensions.iter();
    let block = dimensions.clone().find(|dimension| dimension.name.starts_with("block"));
    block.or_else(|| dimensions.max_by_key(|dimension| dimension.values.len()))
}

fn panel(tuning: &Tuning, across: &Dimension, gpu: usize, ranking: &Ranking) -> Panel {
    let label = |candidate: &Candidate| tuning.label_without(candidate, &[&across.name]);
    // Best first, so that the rows that are kept are the ones worth a look.
    let mut rows: Vec<String> = Vec::new();
    for &at in &ranking.order {
        let row = label(&tuning.candidates[at]);
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows.truncate(MOST_ROWS);
    let time = |candidate: &Candidate| candidate.answer(gpu, ranking.model?).map(|(time, _)| time);
    let best = ranking.order.first().copied();
    let shortest = best.and_then(|best| time(&tuning.candidates[best]));
    let mut cells = Vec::new();
    for (at, candidate) in tuning.candidates.iter().enumerate() {
        let Some(row) = rows.iter().position(|row| *row == label(candidate)) else { continue };
        let own = time(candidate);
        let value = own.zip(shortest).map(|(own, shortest)| own / shortest);
        let column = candidate.choices[across.position];
        let label = time_label(own);
        cells.push(HeatCell { column, row, value, label, framed: Some(at) == best });
    }
    let model = ranking.model.map_or("", |model| model.name());
    Panel::new(Axis::names(across.name.as_str(), across.values.clone()), Axis::names("", rows))
        .titled(format!("{}, {model}", ranking.gpu))
        // Each panel has colours of its own, and so a legend of its own.
        .series(Series::cells(format!("time over the best, {}", ranking.gpu), cells))
}
