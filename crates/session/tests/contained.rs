//! Files that hold code of several parts and several chips: what of it a GPU runs.
#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]

use std::path::Path;

use warplens_base::error::ErrorKind;
use warplens_session::toolchain::{CodeKind, Search};
use warplens_session::{CodeForm, CodeOrigin, Input, Program, Targets, machines};

/// A kind of code in a fatbin.
#[derive(Clone, Copy)]
enum Kind {
    Ptx = 1,
    Cubin = 2,
}

fn example(path: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(path)).unwrap()
}

/// A fatbin of some entries, as `fatbinary` packs them without compression.
fn fatbin(entries: &[(Kind, u32, Vec<u8>)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (kind, sm, bytes) in entries {
        let padded = bytes.len().next_multiple_of(8);
        let mut head = vec![0_u8; 64];
        head[..2].copy_from_slice(&(*kind as u16).to_le_bytes());
        head[2..4].copy_from_slice(&0x0101_u16.to_le_bytes());
        head[4..8].copy_from_slice(&64_u32.to_le_bytes());
        head[8..16].copy_from_slice(&(padded as u64).to_le_bytes());
        head[28..32].copy_from_slice(&sm.to_le_bytes());
        body.extend(head);
        body.extend(bytes);
        body.resize(body.len() + padded - bytes.len(), 0);
    }
    let mut whole = 0xBA55_ED50_u32.to_le_bytes().to_vec();
    whole.extend([1, 0, 16, 0]);
    whole.extend((body.len() as u64).to_le_bytes());
    whole.extend(body);
    whole
}

/// An object of the host with fatbins in their section.
fn object(fatbins: &[Vec<u8>]) -> Vec<u8> {
    const NAMES: &[u8] = b"\0.nv_fatbin\0.shstrtab\0";
    let section: Vec<u8> = fatbins.concat();
    let names_at = 64 + section.len() as u64;
    let heads_at = (names_at + NAMES.len() as u64).next_multiple_of(8);
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    // An object for x86-64, without segments, with three sections of which the last has the names.
    bytes.extend([1, 0, 62, 0, 1, 0, 0, 0]);
    bytes.extend([0; 16]);
    bytes.extend(heads_at.to_le_bytes());
    bytes.extend([0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 64, 0, 3, 0, 2, 0]);
    bytes.extend(&section);
    bytes.extend(NAMES);
    bytes.resize(heads_at as usize, 0);
    let head = |name: u32, kind: u32, at: u64, size: usize| {
        let mut head = [name.to_le_bytes(), kind.to_le_bytes()].concat();
        head.extend([0; 16]);
        head.extend(at.to_le_bytes());
        head.extend((size as u64).to_le_bytes());
        head.resize(64, 0);
        head
    };
    bytes.extend(head(0, 0, 0, 0));
    bytes.extend(head(1, 1, 64, section.len()));
    bytes.extend(head(12, 3, names_at, NAMES.len()));
    bytes
}

/// Two parts of a program: a product for two chips, and a sum for one and in PTX.
fn program() -> Input {
    let product = fatbin(&[
        (Kind::Cubin, 75, example("matmul_tiled/cubin/sm_75.cubin")),
        (Kind::Cubin, 90, example("matmul_tiled/cubin/sm_90.cubin")),
    ]);
    let sum = fatbin(&[
        (Kind::Cubin, 75, example("vector_add/cubin/sm_75.cubin")),
        (Kind::Ptx, 80, example("vector_add/ptx/sm_80.ptx")),
    ]);
    Input::new("program.o", None, object(&[product, sum])).unwrap()
}

fn load(gpus: &str, code: CodeKind) -> warplens_session::Result<Program> {
    load_with(&program(), gpus, &Search { code, ..Search::default() })
}

fn load_with(input: &Input, gpus: &str, search: &Search) -> warplens_session::Result<Program> {
    let gpus = if gpus.is_empty() { Vec::new() } else { machines::select(gpus).unwrap() };
    Program::load_for(input, &Targets::of(&gpus), search)
}

/// What is executed of the two kernels.
fn codes(program: &Program) -> Vec<(CodeForm, String)> {
    let code = |name| program.code(program.kernel(Some(name)).unwrap());
    let codes = ["matmul_tiled", "vector_add"].map(code);
    assert!(codes.iter().all(|code| code.origin == CodeOrigin::Container));
    codes.map(|code| (code.form, code.target)).to_vec()
}

#[test]
fn each_part_gives_a_gpu_what_it_runs() {
    let machine = |target: &str| (CodeForm::Machine, target.to_owned());
    let ptx = (CodeForm::Ptx, "sm_80".to_owned());
    assert_eq!(codes(&load("rtx2080ti", CodeKind::Auto).unwrap()), [machine("sm_75"), machine("sm_75")]);
    assert_eq!(codes(&load("h200", CodeKind::Auto).unwrap()), [machine("sm_90"), ptx.clone()]);
    // Without a GPU the newest code counts.
    assert_eq!(codes(&load("", CodeKind::Auto).unwrap()), [machine("sm_90"), ptx]);
    let both = load("h200,rtx2080ti", CodeKind::Auto).unwrap();
    let on = |gpu: &str| codes(both.on(&machines::select(gpu).unwrap()[0]));
    assert_eq!([on("rtx2080ti")[1].0, on("h200")[1].0], [CodeForm::Machine, CodeForm::Ptx]);
}

#[test]
fn what_runs_nowhere_is_listed() {
    let error = load("rtx5090", CodeKind::Auto);
    // The sum is there in PTX, the product is not.
    assert_eq!(error.unwrap().kernels().len(), 1);
    let error = load("rtx2080ti", CodeKind::Generated).unwrap_err();
    assert_eq!(error.message, "program.o holds no PTX that compute capability 7.5 runs");
    assert_eq!(
        error.details,
        [
            "machine code for sm_75: matmul_tiled",
            "machine code for sm_90: matmul_tiled",
            "machine code for sm_75: vector_add",
            "PTX for sm_80"
        ]
    );
}

/// A program of two parts, which holds PTX alone.
fn parts(texts: [Vec<u8>; 2]) -> Input {
    let fatbins = texts.map(|text| fatbin(&[(Kind::Ptx, 75, text)]));
    Input::new("program.o", None, object(&fatbins)).unwrap()
}

/// A folder `bin` with a ptxas that answers with examples for sm_75, and notes each text that it is given.
#[cfg(unix)]
fn fake_ptxas(root: &Path) -> Search {
    use std::os::unix::fs::PermissionsExt;
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").canonicalize().unwrap();
    let (root, examples) = (root.display(), examples.display());
    let script = format!(
        "#!/bin/sh\n\
         [ \"$1\" = --version ] && echo version >> {root}/asked && echo 'Cuda compilation tools, release 99.1, V99.1.2' && exit\n\
         [ -e {root}/full ] && rm {root}/full && exit\n\
         grep -q 'entry refused' kernel.ptx && echo 'ptxas: Unsupported .version 9.9' >&2 && exit 255\n\
         name=vector_add; grep -q matmul_tiled kernel.ptx && name=matmul_tiled\n\
         echo $name >> {root}/asked\n\
         cp {examples}/$name/cubin/sm_75.cubin kernel.cubin\n"
    );
    let ptxas = Path::new(&root.to_string()).join("bin/ptxas");
    std::fs::create_dir_all(ptxas.parent().unwrap()).unwrap();
    std::fs::write(&ptxas, script).unwrap();
    std::fs::set_permissions(&ptxas, std::fs::Permissions::from_mode(0o755)).unwrap();
    let search = Search { homes: vec![root.to_string().into()], code: CodeKind::Machine, ..Search::default() };
    search.sites.set(Vec::new()).unwrap();
    search
}

#[test]
#[cfg(unix)]
fn ptxas_makes_machine_code_of_each_part_once() {
    let folder = tempfile::tempdir().unwrap();
    let search = fake_ptxas(folder.path());
    let input = parts([example("matmul_tiled/ptx/sm_75.ptx"), example("vector_add/ptx/sm_75.ptx")]);
    // What is no verdict is not kept.
    std::fs::write(folder.path().join("full"), "").unwrap();
    let error = load_with(&input, "rtx2080ti", &search).unwrap_err();
    assert!(error.message.starts_with("cannot assemble program.o, part 1: "), "{error:?}");
    for _ in 0..2 {
        let program = load_with(&input, "rtx2080ti", &search.clone()).unwrap();
        for kernel in ["matmul_tiled", "vector_add"] {
            let code = program.code(program.kernel(Some(kernel)).unwrap());
            assert_eq!((code.form, code.origin), (CodeForm::Machine, CodeOrigin::Ptxas), "{kernel}");
            assert_eq!(code.to_string(), "machine code for sm_75 by ptxas 99.1, made here");
        }
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("asked")).unwrap(), "matmul_tiled\nversion\nvector_add\n");
    // Without being asked for machine code, the PTX of the parts is linked.
    let linked = load_with(&input, "rtx2080ti", &Search { code: CodeKind::Auto, ..search.clone() }).unwrap();
    assert_eq!(linked.code(linked.kernel(Some("vector_add")).unwrap()).form, CodeForm::Ptx);

    let header = ".version 8.0\n.target sm_75\n.address_size 64\n";
    let refused = format!("{header}.visible .entry refused() {{ ret; }}\n").into_bytes();
    let other = example("vector_add/ptx/sm_75.ptx");
    for (parts, name) in [(parts([refused.clone(), other.clone()]), "part 1"), (parts([other, refused]), "part 2")] {
        // The verdict is known the second time, and is about the text that is asked for now.
        let error = load_with(&parts, "rtx2080ti", &search).unwrap_err();
        assert_eq!(error.message, format!("ptxas makes no machine code of program.o, {name} for sm_75"));
        assert_eq!(error.details, ["ptxas: Unsupported .version 9.9"]);
        assert!(error.help.unwrap().contains("is older than the compiler of the PTX"));
    }

    let caller = format!("{header}.extern .func f;\n.visible .entry k() {{ call f; ret; }}\n").into_bytes();
    let callee = format!("{header}.visible .func f {{ ret; }}\n").into_bytes();
    let error = load_with(&parts([caller, callee]), "rtx2080ti", &search).unwrap_err();
    let what = "the PTX of program.o, part 1 uses functions of other parts, so that it is not assembled";
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Unsupported, what));
}
