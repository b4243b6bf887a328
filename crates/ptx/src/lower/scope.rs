//! Names inside a function: nested scopes, registers and what else a name may stand for.

use std::collections::HashMap;

use warplens_ir::{Register, RegisterWords, VariableId, Width};
use warplens_isa::ScalarType;

use super::parameter::Words;

/// What a name in a scope stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Symbol {
    /// A register or a vector of registers: index of a [`RegisterGroup`].
    Registers(usize),
    /// A variable of the module.
    Variable(VariableId),
    /// Byte offset in the frame.
    Frame(i64),
    /// Byte offset in the parameter space of the kernel.
    KernelParameter(u32),
    /// A parameter that lives in registers.
    Words(Words),
}

/// Registers declared together. Each is allocated when it is first used, so that generous declarations cost nothing.
#[derive(Debug)]
pub(super) struct RegisterGroup {
    /// Declared type.
    pub(super) ty: ScalarType,
    /// Elements of each register: more than 1 for `.v2` and `.v4`.
    pub(super) vector: u8,
    /// Number of registers of a parameterised name.
    pub(super) count: Option<u32>,
    /// First word of each element, by number of the register times `vector` plus element.
    words: HashMap<u32, u32>,
}

/// Names declared between two braces.
#[derive(Debug, Default)]
struct Scope<'src> {
    /// Position in the text of the function, by which labels know their scope.
    number: usize,
    names: HashMap<&'src str, Symbol>,
    /// Groups of parameterised names, by prefix.
    prefixes: HashMap<&'src str, usize>,
}

/// The scopes that are open, innermost last, and the registers of the function.
#[derive(Debug, Default)]
pub(super) struct Scopes<'src> {
    open: Vec<Scope<'src>>,
    groups: Vec<RegisterGroup>,
    /// Words handed out so far.
    pub(super) used: RegisterWords,
}

/// What a lookup found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    /// One register of a group.
    Register { group: usize, number: u32 },
    /// Anything else.
    Symbol(Symbol),
}

impl<'src> Scopes<'src> {
    /// Opens the scope with this number.
    pub(super) fn enter(&mut self, number: usize) {
        self.open.push(Scope { number, ..Scope::default() });
    }

    /// Closes the innermost scope.
    pub(super) fn leave(&mut self) {
        self.open.pop();
    }

    /// Number of the innermost scope.
    pub(super) fn current(&self) -> usize {
        self.open.last().map_or(0, |scope| scope.number)
    }

    /// Declares a name in the innermost scope; false when it is taken there.
    pub(super) fn declare(&mut self, name: &'src str, symbol: Symbol) -> bool {
        let scope = self.open.last_mut().expect("a function has a scope");
        scope.names.insert(name, symbol).is_none()
    }

    /// Declares registers: `name`, or `name0` to `name<count - 1>`.
    pub(super) fn declare_registers(
        &mut self,
        name: &'src str,
        ty: ScalarType,
        vector: u8,
        count: Option<u32>,
    ) -> bool {
        let group = self.groups.len();
        self.groups.push(RegisterGroup { ty, vector, count, words: HashMap::new() });
        if count.is_none() {
            return self.declare(name, Symbol::Registers(group));
        }
        let scope = self.open.last_mut().expect("a function has a scope");
        scope.prefixes.insert(name, group).is_none()
    }

    /// Finds a name, innermost scope first.
    pub(super) fn find(&self, name: &str) -> Option<Found> {
        self.open.iter().rev().find_map(|scope| {
            if let Some(&symbol) = scope.names.get(name) {
                return Some(match symbol {
                    Symbol::Registers(group) => Found::Register { group, number: 0 },
                    other => Found::Symbol(other),
                });
            }
            let (group, number) = self.find_numbered(scope, name)?;
            Some(Found::Register { group, number })
        })
    }

    /// `name` as prefix and number. A prefix may itself end in digits, so every split is tried.
    fn find_numbered(&self, scope: &Scope<'src>, name: &str) -> Option<(usize, u32)> {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        (name.len() - digits..name.len()).find_map(|split| {
            let (prefix, number) = name.split_at(split);
            if number.len() > 1 && number.starts_with('0') {
                return None;
            }
            let &group = scope.prefixes.get(prefix)?;
            let number = number.parse().ok()?;
            (number < self.groups[group].count?).then_some((group, number))
        })
    }

    /// The declaration of a register.
    pub(super) fn group(&self, group: usize) -> &RegisterGroup {
        &self.groups[group]
    }

    /// The register of an element of a group.
    pub(super) fn register(&mut self, group: usize, number: u32, element: u8) -> Register {
        let RegisterGroup { ty, vector, ref mut words, .. } = self.groups[group];
        let key = number.saturating_mul(u32::from(vector)) + u32::from(element);
        let used = &mut self.used;
        let index = *words.entry(key).or_insert_with(|| allocate(used, Width::of_bits(ty.bits())).index);
        register_at(index, Width::of_bits(ty.bits()))
    }

    /// A register that has no name.
    pub(super) fn fresh(&mut self, width: Width) -> Register {
        allocate(&mut self.used, width)
    }

    /// Consecutive words, aligned as their number asks; the index of the first.
    pub(super) fn fresh_words(&mut self, words: u32) -> u32 {
        let align = words.next_power_of_two().clamp(1, 4);
        let first = self.used.vector.next_multiple_of(align);
        self.used.vector = first + words;
        first
    }

    /// Every name that is visible, for suggestions. Parameterised names come as their first register.
    pub(super) fn visible(&self) -> impl Iterator<Item = String> + '_ {
        self.open.iter().flat_map(|scope| {
            let plain = scope.names.keys().map(|&name| name.to_owned());
            plain.chain(scope.prefixes.keys().map(|prefix| format!("{prefix}0")))
        })
    }

    /// The parameterised declaration that `name` would belong to, were its number smaller.
    pub(super) fn beyond_range(&self, name: &str) -> Option<(&'src str, u32)> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        self.open.iter().rev().find_map(|scope| {
            let (&prefix, &group) = scope.prefixes.get_key_value(stem)?;
            Some((prefix, self.groups[group].count?))
        })
    }
}

fn allocate(used: &mut RegisterWords, width: Width) -> Register {
    if width == Width::One {
        used.predicate += 1;
        return Register::predicate(used.predicate - 1);
    }
    let index = used.vector.next_multiple_of(width.words());
    used.vector = index + width.words();
    Register::vector(index, width)
}

fn register_at(index: u32, width: Width) -> Register {
    if width == Width::One { Register::predicate(index) } else { Register::vector(index, width) }
}
