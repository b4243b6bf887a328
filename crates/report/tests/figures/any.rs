//! Figures of any numbers and any shape: nothing makes the renderers panic, and no number without a place is drawn.

use proptest::prelude::*;
use warplens_report::figure::{Axis, Data, Figure, HeatCell, Mark, Panel, Point, Scale, Segment, Series};
use warplens_report::{document, render, view};

/// Numbers of all sizes, with those that have no place.
fn number() -> impl Strategy<Value = f64> {
    let special =
        [0.0, -0.0, 1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, 5e-324, 1e300, -1e-300];
    prop_oneof![proptest::sample::select(special.to_vec()), -1e3..1e3, any::<f64>()]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-zA-Z <>&\"µδ\n]{0,30}", "\\PC{0,60}"]
}

fn pairs() -> impl Strategy<Value = Vec<(f64, f64)>> {
    proptest::collection::vec((number(), number()), 0..6)
}

fn scale() -> impl Strategy<Value = Scale> {
    prop_oneof![
        Just(Scale::Linear),
        Just(Scale::Percent),
        Just(Scale::Log10),
        Just(Scale::Log2),
        proptest::collection::vec(text(), 0..5).prop_map(Scale::Names),
    ]
}

fn axis() -> impl Strategy<Value = Axis> {
    let range = proptest::option::of((number(), number()));
    (text(), text(), scale(), range)
        .prop_map(|(label, unit, scale, range)| Axis { range, ..Axis::new(label, unit).scaled(scale) })
}

fn data() -> impl Strategy<Value = Data> {
    let point = (number(), number(), text(), any::<bool>());
    let cell = (0usize..9, 0usize..9, proptest::option::of(number()), text(), any::<bool>());
    let segment = (0usize..9, number(), number(), text());
    prop_oneof![
        pairs().prop_map(Data::Line),
        pairs().prop_map(Data::Step),
        proptest::collection::vec(point, 0..5).prop_map(|points| {
            let point = |(x, y, label, hollow)| Point { x, y, label, hollow };
            Data::Points(points.into_iter().map(point).collect())
        }),
        (proptest::collection::vec(proptest::option::of(number()), 0..5), 0usize..3)
            .prop_map(|(values, stack)| Data::Bars { values, stack }),
        proptest::collection::vec(cell, 0..5).prop_map(|cells| {
            let cell = |(column, row, value, label, framed)| HeatCell { column, row, value, label, framed };
            Data::Cells(cells.into_iter().map(cell).collect())
        }),
        proptest::collection::vec(segment, 0..5).prop_map(|segments| {
            let segment = |(lane, start, end, label)| Segment { lane, start, end, label };
            Data::Segments(segments.into_iter().map(segment).collect())
        }),
    ]
}

fn mark() -> impl Strategy<Value = Mark> {
    (0..8, number(), number(), number(), number(), text()).prop_map(|(kind, a, b, c, d, label)| match kind {
        0 => Mark::vertical(a, label),
        1 => Mark::horizontal(a, label),
        2 => Mark::columns(a, b, label),
        3 => Mark::rows(a, b, label),
        4 => Mark::diagonal(a, label),
        5 => Mark::band(a, b, label),
        6 => Mark::note(a, b, label),
        _ => Mark::arrow((a, b), (c, d), label),
    })
}

fn panel() -> impl Strategy<Value = Panel> {
    let series = (text(), data(), any::<bool>()).prop_map(|(name, data, on_right)| {
        let series = Series::new(name, data);
        if on_right { series.on_right() } else { series }
    });
    let series = proptest::collection::vec(series, 0..4);
    let marks = proptest::collection::vec(mark(), 0..4);
    (text(), axis(), axis(), proptest::option::of(axis()), series, marks)
        .prop_map(|(title, x, y, right, series, marks)| Panel { title, x, y, right, series, marks })
}

fn figure() -> impl Strategy<Value = Figure> {
    let panels = proptest::collection::vec(panel(), 0..4);
    (text(), text(), panels, 0usize..5)
        .prop_map(|(title, caption, panels, columns)| Figure::of_panels("any", title, panels, columns).caption(caption))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn nothing_panics(figure in figure()) {
        let svg = render::svg::figure(&figure);
        for attribute in ["\"NaN", "\"inf", "\"-inf", " NaN", "LNaN", "MNaN", "Linf", "Minf"] {
            let numbers = svg.lines().filter(|line| !line.starts_with("<text") && !line.starts_with("<title") && !line.starts_with("<desc"));
            prop_assert!(!numbers.into_iter().any(|line| line.contains(attribute)), "{attribute}");
        }
        super::well_formed(&svg);
        render::csv(&[view::figure::data(&figure)]);
        document::value(&document::figure::document(&figure)).to_string();
        // Whatever has a flaw is refused by name.
        if let Err(flaw) = figure.check() {
            prop_assert!(!flaw.to_string().is_empty());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(25))]

    #[test]
    fn images_have_a_size(figure in figure()) {
        let png = render::png::figure(&figure);
        prop_assert!(tiny_skia::Pixmap::decode_png(&png).is_ok());
    }
}
