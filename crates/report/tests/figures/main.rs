//! Pictures: every kind of data, axis and mark is drawn, the same bytes each time, and nothing makes a renderer panic.
//!
//! `golden/` holds the SVG of every sample; `UPDATE=1 cargo test -p warplens-report` rewrites it.

mod any;
mod samples;

use std::path::Path;

use warplens_report::figure::{Axis, Figure, Panel, Series};
use warplens_report::{document, render, view};

#[test]
fn samples_look_as_they_did() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/figures/golden");
    for figure in samples::all() {
        figure.check().expect("samples have no flaw");
        let path = folder.join(format!("{}.svg", figure.id));
        let svg = render::svg::figure(&figure);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &svg).expect("a golden file can be written");
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        let differs = golden.lines().zip(svg.lines()).find(|(old, new)| old != new);
        assert!(golden == svg, "{} differs: {differs:?}; UPDATE=1 rewrites it", path.display());
    }
}

#[test]
fn svg_fits_into_a_page() {
    for figure in samples::all() {
        let svg = render::svg::figure(&figure);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "no declaration, one element");
        well_formed(&svg);
        // Nothing is loaded, nothing runs, no two figures of a page disturb each other.
        for word in ["href", "url(", "<script", "clip-path", "@import"] {
            assert!(!svg.contains(word), "{}: {word}", figure.id);
        }
        let ids: Vec<&str> = svg.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(ids.iter().all(|id| id.starts_with(&figure.id)), "{ids:?}");
    }
}

#[test]
fn names_are_escaped() {
    let panel = Panel::new(Axis::new("a < b & \"c\"", "µs"), Axis::new("y\u{1}", ""))
        .series(Series::line("f<T>(int&)", vec![(0.0, 1.0), (1.0, 2.0)]));
    let svg = render::svg::figure(&Figure::new("f", "<script>alert(1)</script>", panel));
    assert!(svg.contains("f&lt;T&gt;(int&amp;)") && !svg.contains("<script>"));
    well_formed(&svg);
}

#[test]
fn png_shows_something_and_is_the_same_each_time() {
    for figure in samples::all() {
        let png = render::png::figure(&figure);
        assert_eq!(png, render::png::figure(&figure), "{}", figure.id);
        let image = tiny_skia::Pixmap::decode_png(&png).expect("it is a PNG");
        let svg = render::svg::figure(&figure);
        let size = |name: &str| {
            let text = svg.split(&format!(" {name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
            text.and_then(|text| text.parse::<u32>().ok()).expect("the SVG states its size")
        };
        assert_eq!((image.width(), image.height()), (2 * size("width"), 2 * size("height")), "{}", figure.id);
        let colors: std::collections::BTreeSet<_> =
            image.pixels().iter().map(|pixel| (pixel.red(), pixel.green(), pixel.blue())).collect();
        assert!(colors.len() > 8 && colors.contains(&(255, 255, 255)), "{}: {} colours", figure.id, colors.len());
        let dark = image.pixels().iter().filter(|pixel| pixel.green() < 128).count();
        let all = image.pixels().len();
        assert!(dark > all / 500 && dark < all / 2, "{}: {dark} of {all} pixels are dark", figure.id);
    }
}

#[test]
fn every_value_is_exported() {
    for figure in samples::all() {
        let n_rows = render::csv(&[view::figure::data(&figure)]).lines().count() - 1;
        let json = document::value(&document::figure::document(&figure));
        let series = |panel: &serde_json::Value| {
            let series = panel["series"].as_array().expect("a panel has series").clone();
            series.iter().map(|series| series["rows"].as_array().expect("a series has rows").len()).sum::<usize>()
        };
        let in_json: usize = json["panels"].as_array().expect("a figure has panels").iter().map(series).sum();
        assert_eq!(n_rows, in_json, "{}", figure.id);
        assert!(n_rows > 4);
    }
}

/// Every element is closed, in order.
fn well_formed(svg: &str) {
    let mut open: Vec<&str> = Vec::new();
    for tag in svg.split('<').skip(1) {
        let (inside, text) = tag.split_once('>').expect("a tag ends");
        assert!(!text.contains('>') || text.contains("&gt;") || inside == "style", "{text}");
        assert_eq!(inside.matches('"').count() % 2, 0, "{inside}");
        let name = inside.split([' ', '/']).find(|name| !name.is_empty()).expect("a tag has a name");
        if let Some(closed) = inside.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed));
        } else if !inside.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}
