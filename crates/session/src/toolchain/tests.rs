//! The search order with a fake nvcc, and the real compilers where there are any.

use std::path::PathBuf;

use super::*;
use crate::input::Input;

const SOURCE: &str = "extern \"C\" __global__ void twice(float *x) { x[threadIdx.x] *= 2.0f; }\n";

/// A script that is still open for writing when another thread forks cannot be run: one test at a time.
static SCRIPTS: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn source() -> Input {
    Input::new("twice.cu", None, SOURCE.as_bytes().to_vec()).unwrap()
}

fn nowhere() -> Search {
    let search = Search::default();
    search.sites.set(Vec::new()).expect("not asked for yet");
    search
}

/// A folder `bin` under `root` with an nvcc that writes its own name as PTX.
#[cfg(unix)]
fn fake_nvcc(root: &Path, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let nvcc = root.join("bin/nvcc");
    std::fs::create_dir_all(root.join("bin")).unwrap();
    std::fs::write(&nvcc, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&nvcc, std::fs::Permissions::from_mode(0o755)).unwrap();
    nvcc
}

#[cfg(unix)]
const WRITE_OWN_NAME: &str = r#"while [ "$1" != -o ]; do shift; done; echo "$0" > "$2"; echo careful >&2"#;

#[test]
#[cfg(unix)]
fn macros_are_handed_to_the_compiler() {
    let _guard = SCRIPTS.lock();
    let folder = tempfile::tempdir().unwrap();
    let script = r#"all="$*"; while [ "$1" != -o ]; do shift; done; echo "$all" > "$2""#;
    fake_nvcc(folder.path(), script);
    let search = Search { homes: vec![folder.path().to_owned()], ..nowhere() };
    let macros = [("TILE".to_owned(), "8".to_owned()), ("TYPE".to_owned(), "unsigned int".to_owned())];
    let words = compile(&source(), "sm_80", &macros, &search).unwrap().ptx;
    assert!(words.contains(" -DTILE=8 -DTYPE=unsigned int "), "{words}");
}

#[test]
#[cfg(unix)]
fn homes_come_before_the_path_and_python() {
    let _guard = SCRIPTS.lock();
    let folder = tempfile::tempdir().unwrap();
    let [home, path, site] = ["home", "path", "site"].map(|name| folder.path().join(name));
    fake_nvcc(&site.join("nvidia/cu12"), WRITE_OWN_NAME);
    let in_site = fake_nvcc(&site.join("nvidia/cu13"), WRITE_OWN_NAME);
    let mut search = Search { sites: vec![site].into(), ..Search::default() };
    let made_by = |search: &Search| {
        let compiled = compile(&source(), "sm_80", &[], search).unwrap();
        assert_eq!(compiled.messages, "careful\n");
        compiled.ptx.trim().to_owned()
    };
    assert_eq!(made_by(&search), in_site.display().to_string());
    let on_path = fake_nvcc(&path, WRITE_OWN_NAME);
    search.path = vec![path.join("bin")];
    assert_eq!(made_by(&search), on_path.display().to_string());
    let in_home = fake_nvcc(&home, WRITE_OWN_NAME);
    search.homes = vec![home];
    assert_eq!(made_by(&search), in_home.display().to_string());
}

#[test]
#[cfg(unix)]
fn what_the_compiler_says_is_passed_on() {
    let _guard = SCRIPTS.lock();
    let folder = tempfile::tempdir().unwrap();
    fake_nvcc(folder.path(), "echo 'twice.cu(1): error: expected a \";\"' >&2; exit 2");
    let search = Search { homes: vec![folder.path().to_owned()], ..nowhere() };
    let error = compile(&source(), "sm_80", &[], &search).unwrap_err();
    assert!(error.message.ends_with("nvcc could not compile twice.cu"), "{}", error.message);
    assert_eq!(error.details, ["twice.cu(1): error: expected a \";\""]);
}

#[test]
fn without_a_compiler_the_error_says_how_to_get_one() {
    let error = compile(&source(), "sm_80", &[], &nowhere()).unwrap_err();
    assert_eq!(error.message, "twice.cu is CUDA C++, and no CUDA compiler was found to make PTX of it");
    assert!(error.help.unwrap().contains("pip install nvidia-cuda-nvcc"));
    assert_eq!(registers("", "sm_80", &nowhere()), None);
}

#[test]
fn real_compilers_agree() {
    let _guard = SCRIPTS.lock();
    let search = Search::from_environment();
    match search.program("nvcc") {
        None => println!("skipped: no nvcc on this machine"),
        Some(_) => {
            let compiled = compile(&source(), "sm_80", &[], &search).unwrap();
            assert!(compiled.ptx.contains(".visible .entry twice("), "{}", compiled.ptx);
            assert!(compiled.ptx.contains(".target sm_80"));
            if let Some(registers) = registers(&compiled.ptx, "sm_80", &search) {
                assert!(registers["twice"] >= 4, "{registers:?}");
            }
        }
    }
    match search.nvrtc() {
        None => println!("skipped: no NVRTC on this machine"),
        Some(library) => {
            let compiled = nvrtc::compile(&library, &source(), Path::new("."), "sm_80", &[], &[]).unwrap();
            assert!(compiled.ptx.contains(".visible .entry twice("), "{}", compiled.ptx);
            let broken = Input::new("broken.cu", None, b"__global__ void f() { x }".to_vec()).unwrap();
            let error = nvrtc::compile(&library, &broken, Path::new("."), "sm_80", &[], &[]).unwrap_err();
            assert_eq!(error.message, "NVRTC could not compile broken.cu");
            assert!(error.details.iter().any(|line| line.contains("broken.cu(1): error")), "{:?}", error.details);
        }
    }
}
