//! What is read from cubins, fatbins and files of the host: snapshots of everything, what cuobjdump says of the same files,
//! and properties of damaged ones.
//!
//! `data/build.sh` makes the files. `UPDATE=1 cargo test -p warplens-sass --test container` writes the snapshots.
#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]

mod common;

use std::fs;
use std::path::PathBuf;

use common::describe;
use warplens_literate::check_file;
use warplens_sass::container::{Cubin, Error, Image, ImageKind, read};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn data(name: &str) -> Vec<u8> {
    fs::read(folder().join("data").join(name)).unwrap()
}

/// The first piece of device code of a file.
fn first(bytes: &[u8]) -> Result<Cubin, Error> {
    read(bytes).and_then(|images| images.first().map_or(Err(Error::Empty), Image::cubin))
}

/// Names of the files of a kind.
fn files(ending: &str) -> Vec<String> {
    let names = fs::read_dir(folder().join("data")).unwrap();
    let mut names: Vec<String> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(ending));
    names.sort();
    names
}

#[test]
fn snapshots_are_current() {
    check_file(folder().join("container.md"), |case, outcome| match read(&data(&case.title)) {
        Ok(images) => outcome.snapshot(describe(&images)),
        Err(error) => outcome.fail(case.line, error.to_string()),
    });
}

#[test]
fn every_file_has_a_snapshot() {
    let text = fs::read_to_string(folder().join("container.md")).unwrap();
    let titles: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    for name in [".cubin", ".fatbin", ".o"].iter().flat_map(|ending| files(ending)) {
        assert!(titles.contains(&name.as_str()), "{name} has none");
    }
}

/// The number behind a word such as `REG:`.
fn figure(line: &str, key: &str) -> Option<u64> {
    line.split_whitespace().find_map(|word| word.strip_prefix(key)?.parse().ok())
}

#[test]
fn resources_are_those_that_cuobjdump_prints() {
    let text = String::from_utf8(data("resource_usage.txt")).unwrap();
    let mut cubin = None;
    let (mut name, mut n_kernels) = ("", 0);
    for line in text.lines().map(str::trim) {
        if let Some(file) = line.strip_prefix("== ") {
            cubin = Some(first(&data(file)).unwrap());
        } else if let Some(function) = line.strip_prefix("Function ") {
            name = function.trim_end_matches(':');
        } else if let Some(registers) = figure(line, "REG:") {
            let cubin = cubin.as_ref().unwrap();
            let Some(kernel) = cubin.kernel(name) else {
                let function = cubin.functions.iter().find(|function| function.name == name).unwrap();
                // It takes them from the section's header, where CUDA 13 has none for sm_90 and later.
                assert!(registers == 0 || function.registers.map(u64::from) == Some(registers), "{name}");
                continue;
            };
            n_kernels += 1;
            assert_eq!(kernel.function.registers.map(u64::from), Some(registers), "{name}");
            let stack = kernel.function.min_stack_bytes.map_or(0, u64::from);
            assert_eq!(Some(stack), figure(line, "STACK:"), "{name}");
            assert_eq!(Some(kernel.shared.section_bytes), figure(line, "SHARED:"), "{name}");
            assert_eq!(Some(kernel.local_bytes), figure(line, "LOCAL:"), "{name}");
            let bank = kernel.banks.iter().find(|bank| bank.number == 0).unwrap();
            assert_eq!(Some(cubin.sections[bank.section].size), figure(line, "CONSTANT[0]:"), "{name}");
        }
    }
    assert!(n_kernels > 20, "{n_kernels}");
}

/// The same code comes out of a container however it is packed, and it is that of the cubin.
#[test]
fn entries_are_the_same_in_every_packing() {
    let alone = data("vector_add_75.cubin");
    let alone = Cubin::read(&alone).unwrap();
    let mut texts = Vec::new();
    for mode in ["none", "speed", "size"] {
        let bytes = data(&format!("vector_add_{mode}.fatbin"));
        let images = read(&bytes).unwrap();
        let cubin = images[0].cubin().unwrap();
        let kernel = cubin.kernel("vector_add").unwrap();
        assert_eq!(cubin.code(&kernel.function), alone.code(&alone.kernels[0].function), "{mode}");
        texts.push(images.iter().find(|image| image.kind == ImageKind::Ptx).unwrap().ptx().unwrap());
    }
    assert!(texts[0].contains(".entry vector_add") && texts.iter().all(|text| *text == texts[0]));
}

#[test]
fn what_is_no_device_code_is_told() {
    let message = |bytes: &[u8]| first(bytes).unwrap_err().to_string();
    assert_eq!(message(b""), "the file is empty");
    assert_eq!(message(b"// text"), "it is neither an ELF file nor a fatbin: it begins with 2f 2f 20 74");
    assert_eq!(message(b"\x7fE"), "the file ends early: the ELF header would need 64 bytes, and it has 2");
    let whole = data("vector_add_75.cubin");
    assert_eq!(
        message(&whole[..2500]),
        "the file ends early: the table of sections would need 2944 bytes, and it has 2500"
    );
    let changed = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        message(&bytes)
    };
    assert_eq!(
        changed(4, 1),
        "it is an ELF file of 32 bits, and only those of 64 bits with the low byte first are read"
    );
    assert_eq!(changed(7, 0x42), "it is a cubin of an unknown layout: OS ABI 0x42, version 8");
    assert_eq!(changed(18, 62), "it is an ELF file for machine 62 without code for a GPU: no section holds a fatbin");
    let mut host = whole.clone();
    host[18] = 62;
    let error = Cubin::read(&host).unwrap_err().to_string();
    assert_eq!(error, "it is an ELF file for machine 62, and machine code of a GPU says 190");
    let fatbin = data("vector_add_size.fatbin");
    assert_eq!(message(&fatbin[..100]), "the fatbin at offset 0x0 cannot be read: it ends in the middle");
    let images = read(&fatbin).unwrap();
    assert_eq!(images[0].ptx().unwrap_err().to_string(), "it is machine code, and PTX is asked for");
}

#[test]
fn a_damaged_section_is_named() {
    let whole = data("parts_75.cubin");
    let cubin = Cubin::read(&whole).unwrap();
    let error = |section: &str, at: usize, byte: u8| {
        let start = cubin.section(section).unwrap().1.offset as usize;
        let mut bytes = whole.clone();
        bytes[start + at] = byte;
        Cubin::read(&bytes).unwrap_err().to_string()
    };
    assert_eq!(
        error(".nv.info.parts", 0, 9),
        "section `.nv.info.parts` is damaged at offset 0x8b8: a record has an unknown format"
    );
    assert_eq!(
        error(".rel.nv.constant4", 12, 0xff),
        "section `.rel.nv.constant4` is damaged at offset 0x990: it names symbol 255, and there are 22"
    );
    let symbol = 24 * 5 + 6;
    assert_eq!(
        error(".symtab", symbol, 0xee),
        "section `.symtab` is damaged at offset 0x478: symbol 5 lies in section 238, and there are 25"
    );
}

mod properties {
    use std::sync::LazyLock;

    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    static FILES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
        let names = [".cubin", ".fatbin", ".o"].iter().flat_map(|ending| files(ending));
        names.map(|name| data(&name)).collect()
    });

    /// Reads all that there is to read. What is asked for is that it ends in a value or an error.
    fn read_all(bytes: &[u8]) {
        for image in read(bytes).unwrap_or_default() {
            let _ = image.ptx();
            if let Ok(cubin) = image.cubin() {
                let kept: usize = cubin.sections.iter().map(|(_, section)| section.bytes.len()).sum();
                assert!(kept <= 16 * bytes.len().max(image.bytes().unwrap().len()));
                let _ = describe(std::slice::from_ref(&image));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn cut_files_end_in_a_value_or_an_error(file in 0..1000usize, part in 0.0..1.0f64) {
            let bytes = &FILES[file % FILES.len()];
            read_all(&bytes[..(part * bytes.len() as f64) as usize]);
        }

        #[test]
        fn changed_files_end_in_a_value_or_an_error(
            file in 0..1000usize,
            changes in prop::collection::vec(
                (any::<prop::sample::Index>(), select(vec![0, 1, 2, 3, 0x7f, 0x80, 0xfe, 0xff])),
                1..8,
            ),
        ) {
            let mut bytes = FILES[file % FILES.len()].clone();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            read_all(&bytes);
        }

        #[test]
        fn changed_headers_end_in_a_value_or_an_error(
            file in 0..1000usize, at in any::<prop::sample::Index>(), value in any::<u64>(), shift in 0..64u32,
        ) {
            // The table of sections is the end of a cubin: a number of any size in it.
            let mut bytes = FILES[file % FILES.len()].clone();
            let start = bytes.len().saturating_sub(2048);
            let at = start + at.index(bytes.len() - start - 8) / 4 * 4;
            bytes[at..at + 8].copy_from_slice(&(value >> shift).to_le_bytes());
            read_all(&bytes);
        }
    }
}
