//! The boxes and points of `fmm_ulist`, what its kernels must compute, and all of its variants.

use std::path::Path;

use warplens_launch::{Element, Launch};
use warplens_session::{ExecutionOptions, OutputRequest, Program, Progress, run};

use crate::reference::{POTENTIAL, SplitMix64, uniform};
use crate::{check_file, folder};

/// Boxes in a grid, each with the points that follow those of the box before, and with itself and the boxes that touch it
/// as its U-list. The same boxes hold the targets and the sources.
pub(crate) struct Boxes {
    start: Vec<i32>,
    count: Vec<i32>,
    u_start: Vec<i32>,
    u_list: Vec<i32>,
    n_points: usize,
}

/// How the four numbers of a point lie in memory.
#[derive(Clone, Copy)]
pub(crate) enum Layout {
    /// One array each.
    Arrays,
    /// As structures.
    Structures,
}

/// The boxes of `launch.toml`.
pub(crate) fn small() -> Boxes {
    Boxes::new([2, 2, 2], 150)
}

/// The boxes of `launch-585.toml`: as many as in the study, with as many points.
fn large() -> Boxes {
    Boxes::new([9, 13, 5], 230)
}

impl Boxes {
    /// A grid of boxes of 0 to `most` points.
    fn new(extent: [i32; 3], most: u32) -> Self {
        let mut generator = SplitMix64::new(1);
        let n: i32 = extent.iter().product();
        let count: Vec<i32> = (0..n).map(|_| (generator.draw() * f64::from(most + 1)) as i32).collect();
        let start = count.iter().scan(0, |sum, &count| Some(std::mem::replace(sum, *sum + count))).collect();
        let n_points = count.iter().sum::<i32>() as usize;
        let (mut u_start, mut u_list) = (vec![0], Vec::new());
        let place = |index: i32| [index % extent[0], index / extent[0] % extent[1], index / extent[0] / extent[1]];
        for target in 0..n {
            let touches = |&source: &i32| place(target).iter().zip(place(source)).all(|(a, b)| (a - b).abs() <= 1);
            u_list.extend((0..n).filter(touches));
            u_start.push(u_list.len() as i32);
        }
        Self { start, count, u_start, u_list, n_points }
    }

    /// `potential` where targets and sources are `uniform(0,1,1)` and `uniform(0,1,2)`.
    pub(crate) fn potentials(&self, layout: Layout) -> Vec<f32> {
        let (targets, sources) =
            (uniform(4 * self.n_points + 4, 0.0, 1.0, 1), uniform(4 * self.n_points + 4, 0.0, 1.0, 2));
        let point = |points: &[f32], i: usize| -> [f64; 4] {
            std::array::from_fn(|k| {
                f64::from(match layout {
                    Layout::Arrays => points[k * self.n_points + i],
                    Layout::Structures => points[4 * i + k],
                })
            })
        };
        let range = |b: usize| self.start[b] as usize..(self.start[b] + self.count[b]) as usize;
        let mut potentials = Vec::new();
        for b in 0..self.start.len() {
            let near = &self.u_list[self.u_start[b] as usize..self.u_start[b + 1] as usize];
            for t in range(b) {
                let target = point(&targets, t);
                let of_source = |s: usize| {
                    let source = point(&sources, s);
                    let square: f64 = (0..3).map(|k| (target[k] - source[k]).powi(2)).sum();
                    source[3] / square.sqrt()
                };
                let sources = near.iter().flat_map(|&near| range(near as usize));
                potentials.push(sources.map(of_source).sum::<f64>() as f32);
            }
        }
        potentials
    }

    /// The files that the launches name, with their little-endian content.
    fn files(&self) -> [(String, Vec<u8>); 4] {
        let n = self.start.len();
        [("start", &self.start), ("count", &self.count), ("u_start", &self.u_start), ("u_list", &self.u_list)].map(
            |(name, values)| (format!("{name}-{n}.bin"), values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        )
    }
}

/// `UPDATE=1` writes the files anew.
#[test]
fn the_files_hold_the_boxes() {
    for boxes in [small(), large()] {
        for (name, content) in boxes.files() {
            check_file(&folder("fmm_ulist").join(name), &content);
        }
        let launch = if boxes.start.len() == 585 { "launch-585.toml" } else { "launch.toml" };
        let text = std::fs::read_to_string(folder("fmm_ulist").join(launch)).expect("the launch file is there");
        for number in [boxes.n_points.to_string(), format!("f32[{}]", 4 * boxes.n_points + 4)] {
            assert!(text.contains(&number), "{launch} lacks {number}");
        }
    }
}

/// All 48 combinations and `fmm_tight`, from the PTX for sm_80 at 64, 128, 192 and 256 threads.
#[test]
fn all_variants_compute_the_same_potentials() {
    for (target, block_sizes) in [("sm_80", &[64, 128, 192, 256][..]), ("sm_90", &[64])] {
        let path = folder("fmm_ulist").join(format!("all/{target}.ptx"));
        let text = std::fs::read_to_string(&path).expect("the PTX can be read");
        let program = Program::from_ptx(&path.display().to_string(), text).unwrap_or_else(|error| panic!("{error}"));
        let kernels: Vec<String> = program.kernels().iter().map(|kernel| kernel.mangled.clone()).collect();
        assert_eq!(kernels.len(), 49, "{target}");
        let expected = [Layout::Arrays, Layout::Structures].map(|layout| small().potentials(layout));
        for kernel in &kernels {
            for &threads in block_sizes {
                check_variant(&program, &folder("fmm_ulist"), kernel, threads, &expected);
            }
        }
    }
}

fn check_variant(program: &Program, folder: &Path, kernel: &str, threads: u32, [arrays, structures]: &[Vec<f32>; 2]) {
    let flags = Launch {
        kernel: Some(kernel.to_owned()),
        block: Some([threads, 1, 1]),
        shared: Some(if kernel.contains("shmem") { u64::from(16 * threads) } else { 0 }),
        ..Launch::default()
    };
    let launches = warplens_session::source::launches(folder.join("launch.toml").to_str(), flags)
        .expect("the launch file is fine");
    let request = [OutputRequest { key: "6".to_owned(), count: None }];
    let result = run(program, &launches, &request, ExecutionOptions::new(), &Progress::default());
    let result = result.unwrap_or_else(|error| panic!("{kernel}, {threads} threads: {error}"));
    let expected = if kernel.contains("vecpack") { structures } else { arrays };
    let found: Vec<Element> = result.outputs[0].elements().collect();
    assert_eq!(found.len(), expected.len());
    for (index, (element, &expected)) in found.into_iter().zip(expected).enumerate() {
        let Element::Single(got) = element else { panic!("{element:?} is no float") };
        assert!(POTENTIAL.accepts(got, expected), "{kernel}, {threads} threads [{index}]: {got}, expected {expected}");
    }
}
