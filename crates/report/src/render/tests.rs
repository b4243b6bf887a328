//! One section with every kind of block, in every format.

use super::page::Page;
use super::*;
use crate::section::{Block, Cell, Column, Field, ListedLine, Listing, Plot, Section, Table, Unit};

fn sample() -> Vec<Section> {
    let mut table = Table::new(&[("GPU", "gpu"), ("time", "time_us"), ("bound by", "limiter")]);
    table.push(vec![Cell::text("h200"), Cell::Number(12.345_67, Unit::Microseconds), Cell::text("dram, mostly")]);
    table.push(vec![Cell::text("k40 <old>"), Cell::Missing, Cell::text("a | b")]);
    let fields =
        vec![Field::new("warps", Cell::Count(32_768)), Field::new("registers", Cell::Count(12)).remark("estimate")];
    let plot = Plot {
        title: "cycles".into(),
        bars: vec![("memory".into(), 0.75), ("compute".into(), 0.25)],
        unit: Unit::Share,
        full: Some(1.0),
    };
    vec![
        Section::new("sample", "Sample").with(Block::Fields(fields)).with(Block::Table(table)),
        Section::new("more", "").with(Block::Plot(plot)).note("The end."),
    ]
}

#[test]
fn text_is_aligned() {
    let expected = "\
Sample
  warps      32 768
  registers  12  (estimate)
  GPU            time  bound by
  h200       12.35 us  dram, mostly
  k40 <old>         -  a | b

cycles
memory   75.0 %  ███████████████████████
compute  25.0 %  ████████
The end.
";
    assert_eq!(text(&sample(), Style::Plain, WIDTH), expected);
    let colored = text(&sample(), Style::Colored, WIDTH);
    assert!(colored.starts_with("\x1b[1mSample\x1b[0m\n"));
}

#[test]
fn items_of_a_note_keep_their_marks() {
    let long = "words ".repeat(20);
    let section = Section::new("notes", "").note(format!("- a {long}\n- every end"));
    let lines: Vec<String> = text(&[section], Style::Plain, WIDTH).lines().map(str::to_owned).collect();
    assert!(lines[0].starts_with("- a words "), "{lines:?}");
    assert!(lines[1].starts_with("  words"), "{lines:?}");
    assert_eq!(lines.last().map(String::as_str), Some("- every end"));
}

#[test]
fn csv_keeps_every_digit_and_quotes() {
    assert_eq!(csv(&sample()), "gpu,time_us,limiter\nh200,12.34567,\"dram, mostly\"\nk40 <old>,,a | b\n");
}

#[test]
fn markdown_escapes_marks() {
    let expected = "\
## Sample

- warps: 32 768
- registers: 12 (estimate)

| GPU | time | bound by |
| --- | ---: | --- |
| h200 | 12.35 us | dram, mostly |
| k40 \\<old> | - | a \\| b |

| cycles | value |
| --- | ---: |
| memory | 75.0 % |
| compute | 25.0 % |

The end.
";
    assert_eq!(markdown(&sample()), expected);
}

fn one_cell(text: &str) -> Vec<Section> {
    let mut table = Table::new(&[("kernel", "kernel")]);
    table.push(vec![Cell::text(text)]);
    vec![Section { id: "s", title: String::new(), blocks: vec![Block::Table(table)] }]
}

#[test]
fn text_of_inputs_stays_text_in_markdown() {
    let cell = |text| markdown(&one_cell(text)).lines().nth(2).map(str::to_owned).unwrap();
    assert_eq!(cell("a<script>x</script>"), "| a\\<script>x\\</script> |");
    assert_eq!(cell("[click](javascript:x)"), "| \\[click\\](javascript:x) |");
    assert_eq!(cell("**bold** `a|b<c>`"), "| \\*\\*bold\\*\\* `a\\|b<c>` |");
    assert_eq!(cell("an open ` tick <"), "| an open \\` tick \\< |");
    let lines = Section { id: "s", title: String::new(), blocks: vec![Block::Lines("````\n# out".into())] };
    assert_eq!(markdown(&[lines]), "`````text\n````\n# out\n`````\n");
}

#[test]
fn no_text_is_a_formula_in_csv() {
    let cell = |text| csv(&one_cell(text)).lines().nth(1).map(str::to_owned).unwrap();
    assert_eq!(cell("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
    assert_eq!(["+1", "-1+1", "@SUM(A1)"].map(cell), ["'+1", "'-1+1", "'@SUM(A1)"]);
    assert_eq!(["a=b", "-", "x-y"].map(cell), ["a=b", "-", "x-y"]);
}

#[test]
fn a_page_runs_its_own_script_only() {
    let page = html("p", &sample());
    let policy =
        page.split("http-equiv=\"Content-Security-Policy\" content=\"").nth(1).unwrap().split('"').next().unwrap();
    let script = page.split("<script>").nth(1).unwrap().split("</script>").next().unwrap();
    let hash = base64::Engine::encode(
        &base64::engine::general_purpose::STANDARD,
        <sha2::Sha256 as sha2::Digest>::digest(script),
    );
    assert!(policy.starts_with("default-src 'none'; "), "{policy}");
    assert!(policy.contains(&format!("script-src 'sha256-{hash}';")), "{policy}");
}

#[test]
fn html_is_one_page_with_nothing_to_load() {
    let page = html("Kernel <k>", &sample());
    assert!(page.starts_with("<!doctype html>"));
    assert!(page.contains("<title>Kernel &lt;k&gt;</title>"));
    assert!(page.contains("<td>k40 &lt;old&gt;</td>"));
    assert!(page.contains("<rect x=\"190\" y=\"4\" width=\"270.0\""));
    for remote in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!page.contains(remote), "{remote}");
    }
}

#[test]
fn data_never_ends_the_element_that_holds_it() {
    let data = r#"{"name": "</script><!--"}"#.to_owned();
    let page = Page { title: "p".into(), data, ..Page::default() }.html();
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(page.contains(r#"{"name": "<\/script><\u0021--"}"#));
}

#[test]
fn a_listing_shades_hot_lines_and_keeps_plain_ones() {
    let line =
        |number: u32, text: &str, cells: Vec<Cell>, heat: f64| ListedLine { number, text: text.into(), cells, heat };
    let lines = vec![line(7, "a < b", vec![Cell::Count(1200), Cell::Missing], 1.0), line(8, "// c", Vec::new(), 0.0)];
    let columns = [("executed", "executed"), ("passes", "passes")].map(|(title, key)| Column::new(title, key)).to_vec();
    let section = Section::new("l", "L").with(Block::Listing(Listing { name: "k.ptx".into(), columns, lines }));
    let page = html("p", std::slice::from_ref(&section));
    assert!(page.contains("<tr class=\"h45\"><td>7</td><td class=\"n\">1200</td><td>"), "{page}");
    assert!(page.contains(".h45{background:rgba(var(--hot),.45)}"), "{page}");
    assert!(page.contains("<tr class=\"none\"><td>8</td><td></td><td></td><td>// c</td></tr>"));
    assert_eq!(csv(&[section]), "line,executed,passes,text\n7,1200,,a < b\n8,,,// c\n");
}

#[test]
fn list_items_keep_their_marks_and_are_indented() {
    let long = "word ".repeat(30);
    let section = Section::new("list", "").note(format!("- one\n- two {long}\n- three"));
    let shown = text(&[section], Style::Plain, WIDTH);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[3]), (4, "- one", "- three"));
    assert!(lines[1].starts_with("- two word") && lines[2].starts_with("  word"), "{shown}");
}

#[test]
fn characters_that_a_terminal_obeys_are_shown_in_every_format() {
    let bad = "\u{1b}[2J\u{9b}1m\u{202e}\u{200f}\u{7f}\u{d}";
    let mut table = Table::new(&[(bad, bad)]);
    table.push(vec![Cell::text(bad)]);
    let plot = Plot { title: bad.into(), bars: vec![(bad.into(), 1.0)], unit: Unit::One, full: None };
    let line = ListedLine { number: 1, text: bad.into(), cells: vec![Cell::text(bad)], heat: 0.0 };
    let listing = Listing { name: bad.into(), columns: vec![Column::new(bad, bad)], lines: vec![line] };
    let section = Section::new("x", bad)
        .with(Block::Fields(vec![Field::new(bad, Cell::text(bad)).remark(bad)]))
        .with(Block::Table(table))
        .note(bad)
        .with(Block::Lines(bad.into()))
        .with(Block::Plot(plot))
        .with(Block::Listing(listing));
    let sections = [section];
    let texts = [text(&sections, Style::Plain, WIDTH), markdown(&sections), csv(&sections), html(bad, &sections)];
    for shown in texts {
        assert!(shown.chars().all(|c| c == '\n' || !warplens_base::is_control(c)), "{shown:?}");
        assert!(shown.contains("\\u{1b}[2J\\u{9b}1m\\u{202e}\\u{200f}\\u{7f}\\u{d}"), "{shown}");
    }
    // Colours are ours.
    let colored = text(&sections, Style::Colored, WIDTH).replace("\u{1b}[1m", "").replace("\u{1b}[2m", "");
    let colored = colored.replace("\u{1b}[36m", "").replace("\u{1b}[0m", "");
    assert!(colored.chars().all(|c| c == '\n' || !warplens_base::is_control(c)), "{colored:?}");
}
