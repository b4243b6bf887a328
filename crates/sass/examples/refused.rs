//! Counts the kernels that hold instructions which cannot be executed, by the first words of the instructions.
//!
//! `cargo run --release -p warplens-sass --example refused -- FILE...`: cubins, fatbins, objects and programs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use warplens_isa::Operation;
use warplens_sass::container::{Cubin, ImageKind, read};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let (mut n_kernels, mut n_refused) = (0, 0);
    let mut by_word: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path)?;
        let Ok(images) = read(&bytes) else {
            writeln!(out, "{path}: no device code")?;
            continue;
        };
        for image in images.iter().filter(|image| matches!(image.kind, ImageKind::Cubin)) {
            let Ok(cubin) = image.cubin() else { continue };
            match refused(&cubin) {
                Ok(kernels) => {
                    for (name, words) in kernels {
                        n_kernels += 1;
                        n_refused += usize::from(!words.is_empty());
                        for word in words {
                            by_word.entry(word).or_default().insert(format!("{path} {name}"));
                        }
                    }
                }
                Err(error) => writeln!(out, "{path}: {error}")?,
            }
        }
    }
    writeln!(out, "{n_refused} of {n_kernels} kernels are refused")?;
    let mut words: Vec<_> = by_word.into_iter().collect();
    words.sort_by_key(|(_, kernels)| std::cmp::Reverse(kernels.len()));
    for (word, kernels) in words {
        let first = kernels.first().map_or("", String::as_str);
        writeln!(out, "{:6}  {word}  ({first})", kernels.len())?;
    }
    Ok(())
}

/// Of each kernel the instructions that are not executed.
fn refused(cubin: &Cubin) -> Result<Vec<(String, BTreeSet<String>)>, Failure> {
    let lowered = warplens_sass::lower::lower(cubin)?;
    let module = &lowered.module;
    let mut kernels = Vec::new();
    for (_, function) in module.functions.iter() {
        let mut words = BTreeSet::new();
        let insts = function.block_ids().flat_map(|block| &module.blocks[block].insts);
        for inst in insts.filter(|inst| inst.operation == Operation::Unsupported) {
            let span = module.pcs[inst.pc].span;
            let text = lowered.listing.get(span.start as usize..span.end as usize).unwrap_or_default();
            // Behind its address and its control code.
            let word = text.split_whitespace().skip(2).find(|word| !word.starts_with('@'));
            words.insert(word.unwrap_or("?").to_owned());
        }
        kernels.push((function.name.clone(), words));
    }
    Ok(kernels)
}
