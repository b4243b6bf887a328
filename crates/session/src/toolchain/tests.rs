//! The search order with a fake nvcc, and the real compilers where there are any.

use std::path::{Path, PathBuf};

use super::*;
use crate::input::Input;

pub(crate) const SOURCE: &str = "extern \"C\" __global__ void twice(float *x) { x[threadIdx.x] *= 2.0f; }\n";

/// A script that is still open for writing when another thread forks cannot be run: one test at a time.
pub(crate) static SCRIPTS: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn source() -> Input {
    Input::new("twice.cu", None, SOURCE.as_bytes().to_vec()).unwrap()
}

pub(crate) fn nowhere() -> Search {
    let search = Search::default();
    search.sites.set(Vec::new()).expect("not asked for yet");
    search
}

/// A folder `bin` under `root` with an nvcc that writes its own name as PTX.
#[cfg(unix)]
pub(crate) fn fake_nvcc(root: &Path, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let nvcc = root.join("bin/nvcc");
    std::fs::create_dir_all(root.join("bin")).unwrap();
    std::fs::write(&nvcc, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&nvcc, std::fs::Permissions::from_mode(0o755)).unwrap();
    nvcc
}

#[cfg(unix)]
const WRITE_OWN_NAME: &str = r#"while [ "$1" != -o ]; do shift; done; echo "$0" > "$2"; echo careful >&2"#;

/// Its words, then the source. As nvcc does, it lets a shell read the words, and takes a word with a dash for an option.
#[cfg(unix)]
const WRITE_WHAT_IT_READS: &str = r#"
words="$*"
for word; do case "$word" in -optf=*) words="$words $(cat "${word#-optf=}")";; esac; done
sh -c "true $words"
while [ "$1" != -o ]; do shift; done
{ echo "$words"; cat "$3"; echo; cat include/header.h 2>/dev/null; } > "$2"
echo "$(pwd -P)/include/header.h(1): warning: careful" >&2
"#;

#[test]
#[cfg(unix)]
fn macros_are_handed_to_the_compiler() {
    let _guard = SCRIPTS.lock();
    let folder = tempfile::tempdir().unwrap();
    fake_nvcc(folder.path(), WRITE_WHAT_IT_READS);
    let search = Search { homes: vec![folder.path().to_owned()], ..nowhere() };
    let macros = [("TILE".to_owned(), "8".to_owned()), ("TYPE".to_owned(), "unsigned int".to_owned())];
    let text = compile(&source(), "sm_80", &macros, &search).unwrap().ptx;
    assert!(text.contains("\n#define TILE 8\n#define TYPE unsigned int\n#line 1 \"twice.cu\"\n"), "{text}");
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

/// Names that a shell, nvcc or a line of C++ would read as something else.
#[cfg(unix)]
const NAMES: &[&str] =
    &["a$(touch Y)", "a`touch Y`", "a;touch Y;", "a\"b", "a'b", "a\nb", "-optf=a", "a b", "a\\b", "a&b|c>d"];

#[test]
#[cfg(unix)]
fn names_of_files_and_folders_are_no_commands() {
    let _guard = SCRIPTS.lock();
    let root = tempfile::tempdir().unwrap();
    fake_nvcc(root.path(), WRITE_WHAT_IT_READS);
    let search = Search { homes: vec![root.path().to_owned()], ..nowhere() };
    for folder in NAMES {
        let folder = root.path().join(folder);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("header.h"), "// a header").unwrap();
        for name in NAMES {
            let path = folder.join(format!("{name}.cu"));
            std::fs::write(&path, SOURCE).unwrap();
            let compiled = compile(&Input::read(&path).unwrap(), "sm_80", &[], &search).unwrap();
            let words = compiled.ptx.lines().next().unwrap();
            assert_eq!(words, "-ptx -lineinfo -arch=sm_80 -I include -o kernel.ptx kernel.cu");
            assert!(compiled.ptx.contains(SOURCE), "{}", compiled.ptx);
            assert!(compiled.ptx.contains("// a header"), "{}", compiled.ptx);
            let header = folder.join("header.h");
            assert_eq!(compiled.messages, format!("{}(1): warning: careful\n", header.display()));
        }
        assert!(!folder.join("Y").exists());
    }
    assert!(!Path::new("Y").exists() && !root.path().join("Y").exists());
}

#[test]
#[cfg(unix)]
fn flags_and_folders_of_the_user_reach_the_compiler() {
    let _guard = SCRIPTS.lock();
    let root = tempfile::tempdir().unwrap();
    fake_nvcc(root.path(), WRITE_WHAT_IT_READS);
    for name in NAMES {
        let folder = root.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        let flags = CompilerFlags::new(&[folder], &["-std=c++17".to_owned(), "-DTILE=8".to_owned()]).unwrap();
        let search = Search { homes: vec![root.path().to_owned()], flags, ..nowhere() };
        let ptx = compile(&source(), "sm_80", &[], &search).unwrap().ptx;
        let words = "-ptx -lineinfo -arch=sm_80 -std=c++17 -DTILE=8 -I include -I headers0 -o kernel.ptx kernel.cu";
        assert_eq!(ptx.lines().next(), Some(words));
    }
    assert!(!Path::new("Y").exists() && !root.path().join("Y").exists());
}

#[test]
#[cfg(unix)]
fn values_of_macros_and_targets_are_no_commands() {
    let _guard = SCRIPTS.lock();
    let root = tempfile::tempdir().unwrap();
    fake_nvcc(root.path(), WRITE_WHAT_IT_READS);
    let search = Search { homes: vec![root.path().to_owned()], ..nowhere() };
    let mark = root.path().join("Y").display().to_string();
    let of = |value: String| compile(&source(), "sm_80", &[("TILE".to_owned(), value)], &search);
    for value in [format!("$(touch {mark})"), format!("`touch {mark}`"), format!("1; touch {mark}"), "\"'".into()] {
        let text = of(value.clone()).unwrap().ptx;
        assert!(text.contains(&format!("#define TILE {value}\n")), "{text}");
    }
    assert!(of("1\n#include \"/etc/passwd\"".into()).is_err());
    let target = format!("sm_80;touch {mark};");
    let error = compile(&source(), &target, &[], &search).unwrap_err();
    assert!(error.message.ends_with("is no target to compile for; write one such as sm_80"), "{}", error.message);
    assert!(!Path::new(&mark).exists());
}

#[test]
#[cfg(unix)]
fn a_compiler_in_a_folder_that_a_shell_reads_is_refused() {
    let _guard = SCRIPTS.lock();
    let root = tempfile::tempdir().unwrap();
    let home = root.path().join("a$(touch Y)");
    fake_nvcc(&home, WRITE_OWN_NAME);
    let search = Search { homes: vec![home], ..nowhere() };
    let error = compile(&source(), "sm_80", &[], &search).unwrap_err();
    assert!(error.message.ends_with("and nvcc hands that to a shell"), "{}", error.message);
}

#[test]
#[cfg(unix)]
fn a_compiler_that_does_not_end_is_ended_with_all_that_it_started() {
    let _guard = SCRIPTS.lock();
    let root = tempfile::tempdir().unwrap();
    let alive = root.path().join("alive");
    // The child would write into the file for a minute.
    let script = format!(
        "sh -c 'i=0; while [ $i -lt 600 ]; do echo x >> {}; i=$((i+1)); sleep 0.1; done' & wait",
        alive.display()
    );
    fake_nvcc(root.path(), &script);
    let ptxas = root.path().join("bin/ptxas");
    std::fs::copy(root.path().join("bin/nvcc"), &ptxas).unwrap();
    let limit = TimeLimit::of_seconds(1);
    let search = Search { homes: vec![root.path().to_owned()], limit, ..nowhere() };
    let nvcc = compile(&source(), "sm_80", &[], &search).unwrap_err();
    assert!(nvcc.message.ends_with("bin/nvcc was ended: it took more than 1 s"), "{}", nvcc.message);
    assert_eq!(nvcc.help.as_deref(), Some("WARPLENS_COMPILER_SECONDS=SECONDS gives it more time"));
    let ptxas = registers("", "sm_80", &search).unwrap_err();
    assert!(ptxas.message.ends_with("bin/ptxas was ended: it took more than 1 s"), "{}", ptxas.message);
    let size = || std::fs::metadata(&alive).map(|data| data.len()).unwrap_or(0);
    let before = size();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(before > 0 && size() == before, "a process is left");
}

/// A library with NVRTC's functions: its PTX is the number of its options, and the source `endless` takes a minute.
#[cfg(target_os = "linux")]
const FAKE_NVRTC: &str = r#"
use std::ffi::{CStr, c_char, c_int, c_void};
struct Program { source: Vec<u8>, ptx: Vec<u8> }
type Handle = *mut c_void;
fn of<'a>(handle: Handle) -> &'a mut Program { unsafe { &mut *handle.cast() } }
fn get(text: &[u8], to: *mut c_char) -> c_int {
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), text.len()) };
    0
}
#[no_mangle]
pub extern "C" fn nvrtcCreateProgram(to: *mut Handle, source: *const c_char, _name: *const c_char, _n: c_int,
    _headers: *const *const c_char, _names: *const *const c_char) -> c_int {
    let source = unsafe { CStr::from_ptr(source) }.to_bytes().to_vec();
    unsafe { *to = Box::into_raw(Box::new(Program { source, ptx: Vec::new() })).cast() };
    0
}
#[no_mangle]
pub extern "C" fn nvrtcCompileProgram(handle: Handle, n: c_int, _options: *const *const c_char) -> c_int {
    let program = of(handle);
    if program.source.ends_with(b"endless") { std::thread::sleep(std::time::Duration::from_secs(60)); }
    program.ptx = format!("{n} options\0").into_bytes();
    program.source.ends_with(b"wrong") as c_int
}
#[no_mangle]
pub extern "C" fn nvrtcDestroyProgram(handle: *mut Handle) -> c_int {
    drop(unsafe { Box::from_raw((*handle).cast::<Program>()) });
    0
}
#[no_mangle]
pub extern "C" fn nvrtcGetProgramLogSize(_: Handle, size: *mut usize) -> c_int { unsafe { *size = 8 }; 0 }
#[no_mangle]
pub extern "C" fn nvrtcGetProgramLog(_: Handle, to: *mut c_char) -> c_int { get(b"careful\0", to) }
#[no_mangle]
pub extern "C" fn nvrtcGetPTXSize(handle: Handle, size: *mut usize) -> c_int {
    unsafe { *size = of(handle).ptx.len() };
    0
}
#[no_mangle]
pub extern "C" fn nvrtcGetPTX(handle: Handle, to: *mut c_char) -> c_int { get(&of(handle).ptx, to) }
"#;

#[test]
#[cfg(target_os = "linux")]
fn the_library_compiles_for_no_longer_than_a_compiler_may() {
    let _guard = SCRIPTS.lock();
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("lib64");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("fake.rs"), FAKE_NVRTC).unwrap();
    let mut rustc = std::process::Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition=2021", "--crate-type=cdylib", "-Cpanic=abort", "-o", "libnvrtc.so.0", "fake.rs"]);
    let built = rustc.current_dir(&folder).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let search = Search { homes: vec![root.path().to_owned()], limit: TimeLimit::of_seconds(2), ..nowhere() };
    let of =
        |source: &str| compile(&Input::new("a.cu", None, source.as_bytes().to_vec()).unwrap(), "sm_80", &[], &search);
    let compiled = of("fine").unwrap();
    assert_eq!((compiled.ptx.as_str(), compiled.messages.as_str()), ("3 options", "careful"));
    let wrong = of("wrong").unwrap_err();
    assert_eq!(
        (wrong.message.as_str(), &*wrong.details),
        ("NVRTC could not compile a.cu", &["careful".to_owned()][..])
    );
    let begin = std::time::Instant::now();
    let endless = of("endless").unwrap_err();
    assert!(endless.message.ends_with("libnvrtc.so.0 was given up: it took more than 2 s"), "{}", endless.message);
    assert_eq!(endless.help.as_deref(), Some("WARPLENS_COMPILER_SECONDS=SECONDS gives it more time"));
    assert!(begin.elapsed().as_secs() < 30);
}

#[test]
#[cfg(unix)]
fn what_a_compiler_says_is_kept_up_to_a_limit() {
    let _guard = SCRIPTS.lock();
    let root = tempfile::tempdir().unwrap();
    fake_nvcc(root.path(), "head -c 3000000 /dev/zero | tr '\\0' x >&2; exit 1");
    let search = Search { homes: vec![root.path().to_owned()], ..nowhere() };
    let error = compile(&source(), "sm_80", &[], &search).unwrap_err();
    let n_bytes: usize = error.details.iter().map(String::len).sum();
    assert!(n_bytes < 1_100_000, "{n_bytes}");
    assert_eq!(error.details.last().map(String::as_str), Some("... and 1951424 bytes more"));
}

#[test]
fn without_a_compiler_the_error_says_how_to_get_one() {
    let error = compile(&source(), "sm_80", &[], &nowhere()).unwrap_err();
    assert_eq!(error.message, "twice.cu is CUDA C++, and no CUDA compiler was found to make PTX of it");
    assert!(error.help.unwrap().contains("pip install nvidia-cuda-nvcc"));
    assert_eq!(registers("", "sm_80", &nowhere()).unwrap(), None);
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
            if let Some(registers) = registers(&compiled.ptx, "sm_80", &search).unwrap() {
                assert!(registers["twice"] >= 4, "{registers:?}");
            }
        }
    }
    match search.nvrtc() {
        None => println!("skipped: no NVRTC on this machine"),
        Some(library) => {
            let compiled = nvrtc::compile(&library, &source(), "sm_80", &[], &search).unwrap();
            assert!(compiled.ptx.contains(".visible .entry twice("), "{}", compiled.ptx);
            let broken = Input::new("broken.cu", None, b"__global__ void f() { x }".to_vec()).unwrap();
            let error = nvrtc::compile(&library, &broken, "sm_80", &[], &search).unwrap_err();
            assert_eq!(error.message, "NVRTC could not compile broken.cu");
            assert!(error.details.iter().any(|line| line.contains("broken.cu(1): error")), "{:?}", error.details);
        }
    }
}
