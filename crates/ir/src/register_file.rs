//! Functions that work on the registers of their callers.

use warplens_base::IdMap;

use crate::{CallTarget, Flow, Function, FunctionId, FunctionKind, Module};

/// The subroutines that a call may enter.
pub fn subroutines(module: &Module, target: &CallTarget) -> Vec<FunctionId> {
    let is_subroutine = |function: &FunctionId| module.functions[*function].kind == FunctionKind::Subroutine;
    match target {
        CallTarget::Direct(function) => Some(*function).filter(is_subroutine).into_iter().collect(),
        CallTarget::Indirect(_, candidates) if candidates.is_empty() => {
            module.functions.iter().map(|(id, _)| id).filter(is_subroutine).collect()
        }
        CallTarget::Indirect(_, candidates) => candidates.iter().copied().filter(is_subroutine).collect(),
    }
}

/// By function: the first of the functions with which it shares its registers; itself if there are no others.
pub fn register_files(module: &Module) -> IdMap<FunctionId, FunctionId> {
    let mut first: IdMap<FunctionId, FunctionId> = module.functions.iter().map(|(id, _)| id).collect();
    loop {
        let before: Vec<FunctionId> = first.iter().map(|(_, &id)| id).collect();
        for (caller, function) in module.functions.iter() {
            for callee in called(module, function) {
                let file = first[caller].min(first[callee]);
                (first[caller], first[callee]) = (file, file);
            }
        }
        if first.iter().map(|(_, id)| id).eq(&before) {
            return first;
        }
    }
}

/// Words of the vector bank that a subroutine may read, or one that it calls.
pub(crate) fn words_read(module: &Module, subroutine: FunctionId) -> Vec<u32> {
    let mut found = vec![subroutine];
    let mut next = 0;
    while let Some(&function) = found.get(next) {
        next += 1;
        for callee in called(module, &module.functions[function]) {
            if !found.contains(&callee) {
                found.push(callee);
            }
        }
    }
    let blocks = found.iter().flat_map(|&function| module.functions[function].block_ids());
    let mut words: Vec<u32> = blocks
        .flat_map(|block| &module.blocks[block].insts)
        .flat_map(|inst| inst.reads().collect::<Vec<_>>())
        .filter(|register| register.bank == crate::Bank::Vector)
        .flat_map(|register| register.words())
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}

fn called(module: &Module, function: &Function) -> Vec<FunctionId> {
    let flows = function.block_ids().map(|block| &module.blocks[block].flow);
    flows
        .flat_map(|flow| match flow {
            Flow::Call { target, .. } => subroutines(module, target),
            _ => Vec::new(),
        })
        .collect()
}
