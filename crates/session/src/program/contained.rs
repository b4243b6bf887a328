//! Code in a fatbin, or in a program, a library or an object of the host: what of it a GPU runs.
//!
//! It is chosen as a driver does: of each fatbin the machine code for the newest chip that the GPU is compatible with,
//! and where there is none the newest PTX that is not newer than the GPU. What several fatbins hold, one of each part that
//! was compiled alone, is one program.

use std::collections::BTreeSet;

use warplens_base::error::{Error, ErrorKind, Result};
use warplens_launch::KernelName;
use warplens_sass::container::{self, Cubin, Image, ImageKind, Place, Target};

use super::code::is_decoded;
use super::{CodeOrigin, Program};
use crate::input::Input;
use crate::toolchain::{CodeKind, Search};

/// The section with code that is yet to be linked.
const PARTS: &str = "__nv_relfatbin";
/// Kernels that are listed of one piece of code.
const MOST_KERNELS: usize = 8;

/// The code of a GPU of this number, or without one the newest.
pub(super) fn load(input: &Input, sm: Option<u32>, search: &Search) -> Result<Program> {
    let damaged = |error: container::Error| Error::input(format!("{} cannot be read: {error}", input.name));
    let images = container::read(&input.bytes).map_err(damaged)?;
    let fatbins: Vec<&[Image<'_>]> = images.chunk_by(|left, right| fatbin_of(left) == fatbin_of(right)).collect();
    // What was linked has all that it was linked from.
    let (parts, whole): (Vec<_>, Vec<_>) = fatbins.into_iter().partition(|fatbin| is_part(&fatbin[0]));
    for fatbins in [whole, parts] {
        let asked = sm.map_or_else(|| newest_first(&fatbins), |sm| vec![sm]);
        for sm in asked {
            let pieces = pieces(input, &fatbins, sm, search)?;
            if !pieces.is_empty() {
                return joined(input, pieces, sm, search);
            }
        }
    }
    Err(nothing(input, &images, sm, search.code))
}

/// The chips that code is there for.
fn newest_first(fatbins: &[&[Image<'_>]]) -> Vec<u32> {
    let chips: BTreeSet<u32> = fatbins.iter().flat_map(|fatbin| fatbin.iter().map(architecture)).collect();
    chips.into_iter().rev().collect()
}

/// Where the fatbin of an image lies.
fn fatbin_of<'i>(image: &'i Image<'_>) -> Option<(Option<&'i str>, u64)> {
    match &image.place {
        Place::File => None,
        Place::Fatbin { section, offset, .. } => Some((section.as_deref(), *offset)),
    }
}

fn is_part(image: &Image<'_>) -> bool {
    matches!(&image.place, Place::Fatbin { section: Some(section), .. } if section == PARTS)
}

/// What was chosen of a fatbin.
enum Piece {
    Machine(Box<Cubin>),
    Ptx(String),
}

/// What is chosen of each fatbin that has kernels.
fn pieces(input: &Input, fatbins: &[&[Image<'_>]], sm: u32, search: &Search) -> Result<Vec<Piece>> {
    let damaged = |error: container::Error| Error::input(format!("{} cannot be read: {error}", input.name));
    let mut pieces = Vec::new();
    let mut known = BTreeSet::new();
    for fatbin in fatbins {
        let machine = match search.code {
            CodeKind::Generated => None,
            CodeKind::Auto | CodeKind::Machine => machine_code(fatbin, sm, search.code).map_err(damaged)?,
        };
        let piece = match machine {
            Some(cubin) => Some(Piece::Machine(Box::new(cubin))),
            None => ptx(fatbin, sm).map_err(damaged)?.map(Piece::Ptx),
        };
        match piece {
            // Templates are in every part that uses them.
            Some(Piece::Machine(cubin)) => {
                let names: Vec<&String> = cubin.kernels.iter().map(|kernel| &kernel.function.name).collect();
                if names.iter().any(|name| !known.contains(*name)) {
                    known.extend(names.into_iter().cloned());
                    pieces.push(Piece::Machine(cubin));
                }
            }
            other => pieces.extend(other),
        }
    }
    Ok(pieces)
}

/// The machine code for the newest chip that the GPU is compatible with. Where PTX would do, code that cannot be decoded
/// is passed over.
fn machine_code(
    fatbin: &[Image<'_>],
    sm: u32,
    wanted: CodeKind,
) -> std::result::Result<Option<Cubin>, container::Error> {
    let mut cubins: Vec<&Image<'_>> = fatbin.iter().filter(|image| image.kind == ImageKind::Cubin).collect();
    cubins.sort_by_key(|image| std::cmp::Reverse(architecture(image)));
    let has_ptx = fatbin.iter().any(|image| image.kind == ImageKind::Ptx);
    for image in cubins {
        let stated = Target { sm: architecture(image), variant: None };
        if !stated.runs_on(sm) || (wanted == CodeKind::Auto && has_ptx && !is_decoded(stated.sm)) {
            continue;
        }
        let cubin = image.cubin()?;
        if cubin.target.runs_on(sm) && !cubin.is_relocatable && !cubin.kernels.is_empty() {
            return Ok(Some(cubin));
        }
    }
    Ok(None)
}

/// The newest PTX that the GPU takes.
fn ptx(fatbin: &[Image<'_>], sm: u32) -> std::result::Result<Option<String>, container::Error> {
    let texts = fatbin.iter().filter(|image| image.kind == ImageKind::Ptx);
    let fitting = texts.filter(|image| architecture(image) <= sm);
    fitting.max_by_key(|image| architecture(image)).map(Image::ptx).transpose()
}

/// The number of the target in the header of an entry.
fn architecture(image: &Image<'_>) -> u32 {
    image.entry().map_or(0, |entry| entry.architecture)
}

/// The pieces as one program.
fn joined(input: &Input, pieces: Vec<Piece>, sm: u32, search: &Search) -> Result<Program> {
    let name = &input.name;
    let is_alone = pieces.len() == 1;
    let texts_alone = pieces.iter().all(|piece| matches!(piece, Piece::Ptx(_)));
    // Parts of a program may use each other; ptxas takes one text, which is a program of its own.
    if texts_alone && !is_alone && search.code != CodeKind::Machine {
        let texts = pieces.into_iter().filter_map(|piece| match piece {
            Piece::Ptx(text) => Some(text),
            Piece::Machine(_) => None,
        });
        let program = Program::linked(name, texts.collect())?;
        return Ok(Program { origin: CodeOrigin::Container, ..program });
    }
    let mut programs = Vec::with_capacity(pieces.len());
    for (number, piece) in pieces.into_iter().enumerate() {
        programs.push(match piece {
            Piece::Machine(cubin) => Program { origin: CodeOrigin::Container, ..Program::of_cubin(name, &cubin)? },
            Piece::Ptx(text) => {
                let program = match is_alone {
                    true => Program::from_ptx(name, text)?,
                    false => whole(&format!("{name}, part {}", number + 1), text, search)?,
                };
                Program { origin: CodeOrigin::Container, ..program }.in_code(&format!("sm_{sm}"), search)?
            }
        });
    }
    if is_alone { Ok(programs.swap_remove(0)) } else { Program::joined(name, programs) }
}

/// PTX that uses nothing of other parts.
fn whole(name: &str, text: String, search: &Search) -> Result<Program> {
    let needs_others = search.code == CodeKind::Machine
        && warplens_ptx::load_part(&text).0.is_some_and(|module| !module.interface.functions.is_empty());
    if needs_others {
        let what = format!("the PTX of {name} uses functions of other parts, so that it is not assembled");
        let help = "have nvcc put machine code into it: -gencode arch=compute_XX,code=sm_XX";
        return Err(Error::new(ErrorKind::Unsupported, what).with_help(help));
    }
    Program::from_ptx(name, text)
}

/// There is no code for the GPU.
fn nothing(input: &Input, images: &[Image<'_>], sm: Option<u32>, wanted: CodeKind) -> Error {
    let what = match wanted {
        CodeKind::Generated => "PTX",
        CodeKind::Auto | CodeKind::Machine => "code with kernels",
    };
    let whom = sm.map_or_else(String::new, |sm| format!(" that compute capability {}.{} runs", sm / 10, sm % 10));
    let error = Error::input(format!("{} holds no {what}{whom}", input.name));
    let error = contents(images).into_iter().fold(error, Error::with_detail);
    if wanted == CodeKind::Generated && images.iter().any(|image| image.kind == ImageKind::Cubin) {
        return error.with_help("--code machine takes the machine code that is there");
    }
    error.with_help("ask about a GPU that it has code for, or compile it with -gencode arch=compute_XX,code=compute_XX")
}

/// What a file holds, a line for each piece of code.
fn contents(images: &[Image<'_>]) -> Vec<String> {
    images.iter().filter_map(described).collect()
}

fn described(image: &Image<'_>) -> Option<String> {
    match image.kind {
        ImageKind::Ptx => Some(format!("PTX for sm_{}", architecture(image))),
        ImageKind::Other(_) => None,
        ImageKind::Cubin => {
            let Ok(cubin) = image.cubin() else {
                return Some(format!("machine code for sm_{}, which cannot be read", architecture(image)));
            };
            let link = if cubin.is_relocatable { ", yet to be linked" } else { "" };
            let names = cubin.kernels.iter().map(|kernel| KernelName::new(&kernel.function.name).demangled);
            let mut names: Vec<String> = names.collect();
            let n_more = names.len().saturating_sub(MOST_KERNELS);
            names.truncate(MOST_KERNELS);
            if n_more > 0 {
                names.push(format!("and {n_more} more"));
            }
            Some(format!("machine code for {}{link}: {}", cubin.target, names.join(", ")))
        }
    }
}
