//! Spaces from texts, and what their points come to.

use super::*;

fn text(text: &str) -> Vec<Text> {
    if text.is_empty() { Vec::new() } else { text.split(';').map(|text| Text::new("--flag", text)).collect() }
}

fn space(lets: &str, macros: &str, block: &str, grid: &str) -> Result<Space> {
    let texts = SpaceText {
        lets: text(lets),
        macros: text(macros),
        block: text(block),
        grid: text(grid),
        ..SpaceText::default()
    };
    Space::new(&texts, &["k.ptx".to_owned()], GivenShape::default())
}

fn launches(space: &Space) -> Vec<(Extents, Extents, u64)> {
    let points = (0..space.n_points()).map(|number| space.resolve(&space.choices(number)));
    let launch = |resolved| match resolved {
        Resolved::Launch(point) => (point.grid, point.block, point.shared),
        other => panic!("{other:?}"),
    };
    points.map(launch).collect()
}

#[test]
fn deep_space_files_are_findings() {
    for text in [format!("let = {}", "[".repeat(100_000)), format!("{} = 1", ["let"; 100_000].join("."))] {
        let error = space_file::parse("deep.toml", &text).map(|_| ()).unwrap_err();
        assert!(error.message.contains("recurs"), "{}", error.message);
    }
}

#[test]
fn grids_follow_from_sizes_and_blocks() {
    let space = space("n=1000", "", "64..256*2", "ceil(n/block.x)").unwrap();
    let expected = [([16, 1, 1], [64, 1, 1], 0), ([8, 1, 1], [128, 1, 1], 0), ([4, 1, 1], [256, 1, 1], 0)];
    assert_eq!(launches(&space), expected);
    let dimensions = space.dimensions();
    assert_eq!((dimensions.len(), dimensions[0].name.as_str()), (1, "block.x"));
    assert_eq!(dimensions[0].values, ["64", "128", "256"]);
}

#[test]
fn macros_are_names_in_blocks_and_shared_memory() {
    let texts = SpaceText {
        lets: text("n=64"),
        macros: text("TILE=8,16;T=float,double"),
        axes: [text("TILE"), text("TILE, 2*TILE"), Vec::new()],
        grid: text("n/TILE, ceil(n/block.y)"),
        shared: text("4*block.x*block.y"),
        ..SpaceText::default()
    };
    let space = Space::new(&texts, &["k.cu".to_owned()], GivenShape::default()).unwrap();
    assert_eq!(space.n_points(), 8);
    assert_eq!(space.dimensions().iter().map(|own| own.name.as_str()).collect::<Vec<_>>(), ["TILE", "T", "block.y"]);
    let launches = launches(&space);
    assert_eq!(launches[0], ([8, 8, 1], [8, 8, 1], 256));
    assert_eq!(launches[7], ([4, 2, 1], [16, 32, 1], 2048));
    let (_, macros) = space.source(&space.choices(3));
    assert_eq!(macros, [("TILE".to_owned(), "8".to_owned()), ("T".to_owned(), "double".to_owned())]);
}

#[test]
fn without_a_mapping_the_threads_stay() {
    let given = GivenShape { grid: Some([10, 3, 1]), block: Some([100, 2, 1]), shared: Some(64) };
    let texts = SpaceText { block: text("256,32x4"), ..SpaceText::default() };
    let space = Space::new(&texts, &["k.ptx".to_owned()], given).unwrap();
    assert_eq!(launches(&space), [([4, 6, 1], [256, 1, 1], 64), ([32, 2, 1], [32, 4, 1], 64)]);
}

#[test]
fn constraints_exclude_and_impossible_points_say_why() {
    let texts = SpaceText {
        lets: text("n=100"),
        block: text("32..128:32"),
        grid: text("n/block.x"),
        constraints: text("block.x != 64"),
        ..SpaceText::default()
    };
    let space = Space::new(&texts, &["k.ptx".to_owned()], GivenShape::default()).unwrap();
    let resolved: Vec<Resolved> = (0..4).map(|number| space.resolve(&space.choices(number))).collect();
    assert_eq!(
        resolved[0],
        Resolved::Impossible("grid.x = n/block.x is 3.125, no whole number; ceil(...) makes it one".to_owned())
    );
    let texts = SpaceText { grid: text("ceil(n/block.x)"), ..texts };
    let space = Space::new(&texts, &["k.ptx".to_owned()], GivenShape::default()).unwrap();
    assert_eq!(space.resolve(&space.choices(1)), Resolved::Excluded);
    assert!(matches!(space.resolve(&space.choices(2)), Resolved::Launch(_)));
}

#[test]
fn wrong_texts_are_refused() {
    let message = |lets, macros, block, grid| space(lets, macros, block, grid).map(|_| ()).unwrap_err().message;
    let cases = [
        (("n", "", "32", "1"), "--flag n: write NAME=NUMBER"),
        (("n=", "", "32", "1"), "--flag n=: write NAME=NUMBER"),
        (("2n=4", "", "32", "1"), "--flag: `2n` is no name; letters, digits and _ make one"),
        (("n=4;n=5", "", "32", "1"), "--flag: the name `n` is given twice"),
        (("n=m", "", "32", "1"), "--flag n, column 1: there is no value `m`"),
        (("n=4", "n=1,2", "32", "1"), "--flag: the name `n` is given twice"),
        (("", "T=1,,2", "32", "1"), "--flag T=1,,2: value 2 is empty"),
        (("", "T=1,1", "32", "1"), "--flag T: the value `1` is given twice"),
        (("", "", "", "1"), "nothing says how many threads a block has"),
        (("", "", "32", ""), "nothing says how many blocks a point has"),
        (("", "", "32,64,32", "1"), "--flag: the block 32 is given twice"),
        (("", "", "64..32", "1"), "--flag 64..32: the range is empty"),
        (("", "", "32..64:0", "1"), "--flag 32..64:0: the step is 0"),
        (("", "", "32..64*1", "1"), "--flag 32..64*1: the factor is not above 1"),
        (("", "", "1..100000", "1"), "--flag 1..100000: these are too many values"),
        (("", "", "32", "1,1,1,1"), "--flag 1,1,1,1: a grid has one to three extents, not 4"),
        (("", "", "32", "ceil(n/block.x)"), "--flag, column 6: there is no value `n`"),
        (("", "", "32", "ceil(8/blok.x)"), "--flag, column 8: there is no value `blok.x`"),
    ];
    for ((lets, macros, block, grid), expected) in cases {
        assert_eq!(message(lets, macros, block, grid), expected);
    }
}

#[test]
fn a_file_says_what_the_flags_say() {
    let file = "constraints = [\"block.x*block.y <= 256\"]\nshared = \"4*block.x\"\n[let]\nn = \"1<<10\"\nm = 2\n\
                [block]\nx = [16, \"TILE\"]\ny = \"1..4*2\"\n[grid]\nx = \"ceil(n/block.x)\"\ny = 3\n\
                [macros]\nTILE = [32, 64]\n";
    let texts = SpaceText::parse_file("s.toml", file).unwrap();
    let space = Space::new(&texts, &["k.cu".to_owned()], GivenShape::default()).unwrap();
    assert_eq!(space.n_points(), 12);
    assert_eq!(launches(&Space { constraints: Vec::new(), ..space })[3], ([32, 3, 1], [32, 1, 1], 128));
    let over = SpaceText { lets: text("n=64"), block: text("8"), ..SpaceText::default() };
    let both = texts.overridden_by(over);
    let space = Space::new(&both, &["k.cu".to_owned()], GivenShape::default()).unwrap();
    assert_eq!(launches(&space)[0], ([8, 3, 1], [8, 1, 1], 32));
    let message = |text| SpaceText::parse_file("s.toml", text).map(|_| ()).unwrap_err().message;
    assert!(message("blok = 2").starts_with("s.toml, line 1: unknown field `blok`, expected one of `let`"));
    assert!(message("[grid]\nx = 1\nmappings = [\"2\"]").ends_with("exclude each other"));
    assert!(message("[let]\nn = [1]").ends_with("`n` is neither a number nor a string"));
    assert!(message("[block]\nx = {}").starts_with("s.toml, line 2: expected a number, a string or a list"));
}
