//! `warplens measure` and `calibrate` with a driver that is a stub, whose times are known, and without any.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

const KERNELS: &str = "\
.version 8.0\n.target sm_80\n.address_size 64\n\
.visible .entry scale(.param .u64 out, .param .u32 n) { ret; }\n\
.visible .entry brief(.param .u64 out, .param .u32 n) { ret; }\n";

const TABLE: &str = "\
# A comment.\n\
gpu,class,kernel,input,grid,block,args,measured_us,read\n\
a100-80,mine,scale,k.ptx,30,64,f32[4];5,,0:2\n\
h200,kept,scale,k.ptx,1,64,f32[4];5,3.25,\n\
h200,short,brief,k.ptx,1,64,f32[4];5,,\n\
h200,\"new, newer\",scale,new.ptx,1,64,f32[4];5,,\n";

/// Builds the stub driver into a folder, with what marks an emulator if so.
fn build(folder: &Path, is_emulator: bool) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/stub_driver.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-w", "-o"]).arg(folder.join("libcuda.so.1")).arg(source);
    if is_emulator {
        compiler.arg("-DEMULATOR");
    }
    assert!(compiler.status().expect("there is a C compiler, as for every Rust program").success());
}

fn scratch() -> TempDir {
    let folder = tempfile::tempdir().expect("a scratch folder can be made");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("a scratch file can be written");
    };
    write("k.ptx", KERNELS);
    write("new.ptx", &KERNELS.replace("sm_80", "sm_100").replace("8.0", "8.6"));
    write("t.csv", TABLE);
    folder
}

fn warplens(folder: &TempDir, arguments: &[&str]) -> (i32, String, String) {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_warplens"));
    let output: Output = Command::new(program)
        .args(arguments)
        .current_dir(folder.path())
        .env("LD_LIBRARY_PATH", folder.path())
        .output()
        .expect("the program can be started");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().expect("the program ends by itself"), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_table_is_filled_in_with_what_the_kernel_alone_takes() {
    let folder = scratch();
    build(folder.path(), false);
    let (code, table, said) =
        warplens(&folder, &["measure", "t.csv", "--gpu", "h200", "--repeats", "3", "--seconds", "0"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(code, 1, "{said}");
    assert!(
        lines[0].starts_with("# Stub, compute capability 9.0, 132 SMs, 1024 KiB of L2 cache; measured on 20"),
        "{table}"
    );
    assert!(lines[0].ends_with("by: warplens measure t.csv --cache cold --repeats 3 --seconds 0"), "{table}");
    assert!(lines[1].ends_with("(at most 1980; counted: 1980) and unknown MHz of memory (at most 3201)."), "{table}");
    assert!(
        lines[2].ends_with("measured_us is that with 2.000 us instead of the 2.500 us of an empty kernel."),
        "{table}"
    );
    let heading = "gpu,class,kernel,input,grid,block,args,measured_us,read,\
                   event_us,least_us,most_us,repeats,sm_mhz,registers,values";
    assert_eq!(lines[3], heading);
    assert_eq!(lines[4], "h200,mine,scale,k.ptx,30,64,f32[4];5,42.000,0:2,42.500,42.500,42.500,3,,40,7.5;0");
    assert_eq!(lines[5], "h200,kept,scale,k.ptx,1,64,f32[4];5,3.25,,,,,,,,");
    assert_eq!(lines[6], "h200,short,brief,k.ptx,1,64,f32[4];5,,,,,,,,,");
    assert_eq!(lines[7], "h200,\"new, newer\",scale,new.ptx,1,64,f32[4];5,,,,,,,,,");
    for part in [
        "t.csv, line 5: 2.600 us are hardly more than the 2.500 us of an empty kernel",
        "t.csv, line 6: the CUDA driver refused the PTX of new.ptx: the stub refuses (CUDA_ERROR_STUB, 218)",
        "  ptxas error: a line of the log",
        "1 launches timed, 2 failed",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
}

#[test]
fn another_gpu_than_the_one_that_is_named_is_refused() {
    let folder = scratch();
    build(folder.path(), false);
    let (code, table, said) = warplens(&folder, &["measure", "t.csv", "--gpu", "a100-80"]);
    assert_eq!((code, table.as_str()), (2, ""));
    assert!(said.contains("Stub is not a100-80: its compute capability is 80, that of this GPU 90"), "{said}");
    let (code, _, said) = warplens(&folder, &["measure", "t.csv", "--device", "3"]);
    assert_eq!(code, 2);
    assert!(said.contains("there is no GPU 3: the CUDA driver finds 1"), "{said}");
}

#[test]
fn a_driver_that_emulates_is_refused() {
    let folder = scratch();
    build(folder.path(), true);
    for arguments in [["measure", "t.csv", "--repeats", "1"], ["calibrate", "--gpu", "h200", "--quiet"]] {
        let (code, _, said) = warplens(&folder, &arguments);
        assert_eq!(code, 1);
        assert!(said.contains("emulates its GPU, which has no time to measure"), "{said}");
    }
}

#[test]
fn without_a_driver_nothing_is_measured() {
    if Path::new("/dev/nvidiactl").exists() || Path::new("/dev/dxg").exists() {
        return;
    }
    let folder = scratch();
    for arguments in [["measure", "t.csv", "--repeats", "1"], ["calibrate", "--gpu", "h200", "--quiet"]] {
        let (code, table, said) = warplens(&folder, &arguments);
        assert_eq!((code, table.as_str()), (1, ""));
        assert!(said.contains("there is no CUDA driver on this machine (libcuda.so.1)"), "{said}");
        assert!(said.contains("help: a table that was measured elsewhere can be read"), "{said}");
    }
}
