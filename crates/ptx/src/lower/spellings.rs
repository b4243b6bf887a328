//! The distinct opcodes of a module, each with its key.

use std::collections::HashMap;

use warplens_base::IdMap;
use warplens_ir::{Module, SpellingId};
use warplens_isa::Spelling;

use super::key::{key, spelling};
use crate::syntax::ast::Instruction;

/// Spellings by text. They are numbered as they come; [`Spellings::place`] puts them in order.
#[derive(Debug, Default)]
pub(super) struct Spellings<'src> {
    ids: HashMap<&'src str, SpellingId>,
    known: IdMap<SpellingId, Spelling>,
}

impl<'src> Spellings<'src> {
    /// The spelling of an instruction whose opcode is written as `text`.
    pub(super) fn of(&mut self, text: &'src str, instruction: &Instruction<'_>) -> SpellingId {
        let known = &mut self.known;
        *self
            .ids
            .entry(text)
            .or_insert_with(|| known.push(Spelling::new(key(instruction.opcode, &instruction.modifiers), text)))
    }

    /// The spelling of an instruction that the lowering adds.
    pub(super) fn of_text(&mut self, text: &'static str) -> SpellingId {
        let known = &mut self.known;
        *self.ids.entry(text).or_insert_with(|| known.push(spelling(text)))
    }

    /// Gives the module its spellings, numbered in the order of their texts.
    pub(super) fn place(self, module: &mut Module) {
        let mut ordered: Vec<(&str, SpellingId)> = self.ids.into_iter().collect();
        ordered.sort_unstable();
        let mut new_ids = vec![SpellingId(0); ordered.len()];
        for (_, old) in ordered {
            new_ids[old.0 as usize] = module.spellings.push(self.known[old].clone());
        }
        for (_, info) in module.pcs.iter_mut() {
            info.spelling = new_ids[info.spelling.0 as usize];
        }
    }
}
