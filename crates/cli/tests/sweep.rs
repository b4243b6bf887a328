//! Studies that stop and go on, and studies that several processes share: the same bytes come out.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use parquet::file::reader::{FileReader, SerializedFileReader};

const STUDY: &str = r#"
gpus = "h200,k40"
model = "analyzer"

[[kernel]]
name = "sum"
input = "sum.ptx"
arguments = ["f32[{n}]:iota", "f32[{grid.x}]", "{n}"]
sizes.n = "1024..16384*2"
space.block.x = [64, 128, 256]
space.grid.x = "ceil(n/block.x/4)"
"#;

struct Study {
    folder: tempfile::TempDir,
}

impl Study {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("the tests have a scratch folder and the program");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        std::fs::copy(root.join("examples/reduction_shuffle/ptx/sm_80.ptx"), folder.path().join("sum.ptx"))
            .expect("the tests have a scratch folder and the program");
        std::fs::write(folder.path().join("study.toml"), STUDY)
            .expect("the tests have a scratch folder and the program");
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warplens"));
        command
            .args(["sweep", "study.toml"])
            .args(words)
            .current_dir(self.folder.path())
            .env_clear()
            .output()
            .expect("the tests have a scratch folder and the program")
    }

    fn csv(&self, words: &[&str]) -> String {
        let output = self.run(&[words, &["--format", "csv"]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("the tests have a scratch folder and the program")
    }
}

#[test]
fn a_study_goes_on_where_it_stopped() {
    let study = Study::new();
    let whole = study.csv(&[]);
    assert_eq!(whole.lines().count(), 1 + 5 * 3 * 2);
    assert_eq!(study.csv(&["--journal", "j", "--threads", "1"]), whole);
    let journal = std::fs::read_to_string(study.path("j")).unwrap();
    // As if the process had been killed while it wrote the eighth entry.
    let seven: usize = journal.lines().take(8).map(|line| line.len() + 1).sum();
    std::fs::write(study.path("j"), &journal[..seven + 20]).unwrap();
    let output = study.run(&["--journal", "j", "--format", "csv"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), whole);
    assert!(String::from_utf8_lossy(&output.stderr).contains("7 of 15 configurations are in the journal"));
    // A kernel that changed is asked anew.
    let text = std::fs::read_to_string(study.path("sum.ptx")).unwrap();
    std::fs::write(study.path("sum.ptx"), format!("{text}\n// changed\n")).unwrap();
    let output = study.run(&["--journal", "j", "--format", "csv"]);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("in the journal"));
}

#[test]
fn workers_share_a_study() {
    let study = Study::new();
    let whole = study.csv(&[]);
    let mut joined = String::new();
    for shard in ["0/3", "2/3", "1/3"] {
        let rows = study.csv(&["--shard", shard, "--journal", "part", "--force"]);
        assert_eq!(rows.lines().count(), 1 + 5 * 2, "{shard}");
        joined.push_str(&std::fs::read_to_string(study.path("part")).unwrap());
        std::fs::remove_file(study.path("part")).unwrap();
    }
    std::fs::write(study.path("j"), joined).unwrap();
    assert_eq!(study.csv(&["--journal", "j"]), whole);
}

#[test]
fn rows_are_written_as_parquet() {
    let study = Study::new();
    let rows = |name: &str, threads: &str| {
        study.csv(&["--write", name, "--threads", threads]);
        std::fs::read(study.path(name)).unwrap()
    };
    let (one, two) = (rows("one.parquet", "1"), rows("two.parquet", "2"));
    assert_eq!(one, two);
    let reader = SerializedFileReader::new(bytes::Bytes::from(one)).unwrap();
    assert_eq!(reader.metadata().file_metadata().num_rows(), 30);
    let row = reader.get_row_iter(None).unwrap().next().unwrap().unwrap();
    let names: Vec<&str> = row.get_column_iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[..4], ["configuration", "kernel", "n", "grid_x"]);
}
