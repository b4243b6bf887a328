//! Which series looks how: one look for each name, over all panels.

use super::palette::Style;
use crate::figure::{Figure, Look};

/// Looks by panel and series.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Styles(Vec<Vec<Style>>);

impl Styles {
    pub(crate) fn new(figure: &Figure) -> Self {
        let mut known: Vec<(&str, Look)> = Vec::new();
        let mut styles = Vec::new();
        for panel in &figure.panels {
            let of_panel = panel.series.iter().map(|series| {
                let name = series.name.as_str();
                let is_same = |&(other, look): &(&str, Look)| !name.is_empty() && other == name && look == series.look;
                let number = known.iter().position(is_same).unwrap_or_else(|| {
                    known.push((name, series.look));
                    known.len() - 1
                });
                Style::new(number, series.look)
            });
            styles.push(of_panel.collect());
        }
        Self(styles)
    }

    /// The look of a series of a panel.
    pub(crate) fn of(&self, panel: usize, series: usize) -> Style {
        self.0[panel][series]
    }
}
