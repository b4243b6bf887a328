//! The parts of an instruction: its mnemonic with what refines it, and its operands.
//!
//! They are read from the text that the table of forms gives, in which floats stand by their bits, so that there is one
//! account of what an instruction says.

use std::cell::Cell;
use std::str::FromStr;

use crate::decode::Instruction;

/// An instruction in parts.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Syntax {
    /// The first word of the mnemonic, and those behind its dots.
    words: Vec<String>,
    /// In the order of the text.
    pub(crate) operands: Vec<Operand>,
    /// The words behind the first that somebody has asked for, as bits.
    understood: Cell<u64>,
}

/// Words from this one on are understood or not as one.
const LAST_TRACKED: usize = 63;

/// An operand.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Operand {
    /// `!`: the predicate is complemented.
    pub(crate) not: bool,
    /// `~`: the bits are complemented.
    pub(crate) complement: bool,
    /// `-`, outside of a magnitude.
    pub(crate) negated: bool,
    /// Between bars.
    pub(crate) absolute: bool,
    pub(crate) value: Value,
    /// Words behind its dots, without `reuse`.
    pub(crate) suffixes: Vec<String>,
}

/// What an operand names. Registers without a number are those of zeros (`RZ`) and the predicates that hold (`PT`).
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    Register(Option<u32>),
    Uniform(Option<u32>),
    Predicate(Option<u32>),
    UniformPredicate(Option<u32>),
    Barrier(u32),
    Integer(i64),
    /// Bits of a binary32.
    F32(u32),
    /// The upper half of a binary64; the lower is 0.
    F64(u32),
    /// Bits of a binary16 or bfloat16.
    Half(u16),
    Constant(ConstantPlace),
    Address(Address),
    /// `gdesc[UR4]`: the first of the uniform registers that say where matrices lie.
    Descriptors(u32),
    /// A special register, a scoreboard, a word that refines the instruction.
    Word(String),
}

/// A place in a constant bank.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ConstantPlace {
    pub(crate) bank: u32,
    pub(crate) at: Address,
}

/// The sum of what stands between brackets.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Address {
    /// The register, what follows its dot, and the factor that this makes.
    pub(crate) register: Option<AddressRegister>,
    /// The uniform register; of `desc[UR4][...]` the one in the second brackets.
    pub(crate) uniform: Option<Option<u32>>,
    pub(crate) offset: i64,
}

/// A register in an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AddressRegister {
    pub(crate) number: Option<u32>,
    /// Log2 of what it is multiplied by.
    pub(crate) scale: u32,
    /// `.U32`: a word that is added to a wider base.
    pub(crate) is_word: bool,
}

impl Syntax {
    /// That of an instruction at `address` of its section. None where its text is none that is known.
    pub(crate) fn of(instruction: &Instruction, address: u64) -> Option<Self> {
        Self::read(&instruction.exact_text(address))
    }

    pub(crate) fn read(text: &str) -> Option<Self> {
        let (mnemonic, rest) = text.split_once(' ').unwrap_or((text, ""));
        let words = mnemonic.split('.').map(str::to_owned).collect();
        let mut operands = Vec::new();
        for operand in rest.split(", ").filter(|operand| !operand.is_empty()) {
            // The target of a return or a branch through a table stands behind the register without a comma.
            for part in operand.split(' ') {
                operands.push(Operand::read(part)?);
            }
        }
        Some(Self { words, operands, understood: Cell::new(0) })
    }

    /// The first word of the mnemonic.
    pub(crate) fn base(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// The words behind it.
    pub(crate) fn modifiers(&self) -> impl Iterator<Item = &str> {
        self.words.iter().skip(1).map(String::as_str)
    }

    /// The mnemonic has this word behind a dot.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.find(|other| (other == word).then_some(())).is_some()
    }

    /// What the first word means that means something, which is understood with that.
    pub(crate) fn find<T>(&self, meaning: impl FnMut(&str) -> Option<T>) -> Option<T> {
        self.meanings(meaning).next()
    }

    /// What the words mean that mean something. Those are understood with that, as far as one asks.
    pub(crate) fn meanings<T>(&self, mut meaning: impl FnMut(&str) -> Option<T>) -> impl Iterator<Item = T> {
        self.modifiers().enumerate().filter_map(move |(at, word)| {
            let found = meaning(word)?;
            self.understood.set(self.understood.get() | 1 << at.min(LAST_TRACKED));
            Some(found)
        })
    }

    /// The first word, which is understood with that.
    pub(crate) fn first(&self) -> Option<&str> {
        self.understood.set(self.understood.get() | 1);
        self.modifiers().next()
    }

    /// Whatever the words say, it changes nothing.
    pub(crate) fn ignore_words(&self) {
        self.understood.set(u64::MAX);
    }

    /// All words, which are understood with that: for who compares them with what they can be.
    pub(crate) fn all_words(&self) -> Vec<&str> {
        self.ignore_words();
        self.modifiers().collect()
    }

    /// All words are among those that are known, and understood with that.
    pub(crate) fn has_only(&self, known: impl Fn(&str) -> bool) -> bool {
        let n_known = self.meanings(|word| known(word).then_some(())).count();
        n_known == self.modifiers().count()
    }

    /// A word that nobody has asked for.
    pub(crate) fn not_understood(&self) -> Option<&str> {
        let is_open = |at: usize| self.understood.get() >> at.min(LAST_TRACKED) & 1 == 0;
        self.modifiers().enumerate().find(|(at, _)| is_open(*at)).map(|(_, word)| word)
    }

    /// The mnemonic as it is written.
    pub(crate) fn mnemonic(&self) -> String {
        self.words.join(".")
    }
}

impl Operand {
    fn read(mut text: &str) -> Option<Self> {
        let mut operand = Self {
            not: take(&mut text, "!"),
            complement: take(&mut text, "~"),
            negated: text.starts_with("-") && !text.starts_with("-0x") && take(&mut text, "-"),
            absolute: take(&mut text, "|"),
            value: Value::Integer(0),
            suffixes: Vec::new(),
        };
        let behind;
        if operand.absolute {
            (text, behind) = text.split_once('|')?;
        } else if let Some(brackets) = text.rfind(']') {
            (text, behind) = text.split_at(brackets + 1);
        } else if let Some(dot) = text.find('.') {
            (text, behind) = text.split_at(dot);
        } else {
            behind = "";
        }
        let suffixes = behind.split('.').filter(|word| !word.is_empty() && *word != "reuse");
        operand.suffixes = suffixes.map(str::to_owned).collect();
        operand.value = Value::read(text, &mut operand.suffixes)?;
        Some(operand)
    }

    /// It has this word behind a dot.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.suffixes.iter().any(|other| other == word)
    }

    /// It is a predicate.
    pub(crate) const fn is_predicate(&self) -> bool {
        matches!(self.value, Value::Predicate(_) | Value::UniformPredicate(_))
    }

    /// It is a register of zeros, whatever its sign.
    pub(crate) fn is_zero_register(&self) -> bool {
        matches!(self.value, Value::Register(None) | Value::Uniform(None)) && !self.complement
    }

    /// Its integer, where it is one.
    pub(crate) const fn integer(&self) -> Option<i64> {
        match self.value {
            Value::Integer(value) => Some(value),
            _ => None,
        }
    }
}

impl Value {
    fn read(text: &str, suffixes: &mut Vec<String>) -> Option<Self> {
        if let Some(rest) = text.strip_prefix("c[") {
            let (bank, place) = rest.split_once("][")?;
            let at = Address::read(place.strip_suffix(']')?)?;
            return Some(Self::Constant(ConstantPlace { bank: u32::try_from(integer(bank)?).ok()?, at }));
        }
        if let Some(rest) = text.strip_prefix("gdesc[") {
            let Value::Uniform(first) = register(rest.strip_suffix(']')?)? else { return None };
            return Some(Self::Descriptors(first?));
        }
        if text.starts_with("tmem[") {
            return Some(Self::Word(text.to_owned()));
        }
        let text = match text.strip_prefix("desc[") {
            Some(rest) => rest.split_once(']')?.1,
            None => text,
        };
        if let Some(rest) = text.strip_prefix('[') {
            return Some(Self::Address(Address::read(rest.strip_suffix(']')?)?));
        }
        if let Some(value) = register(text) {
            return Some(value);
        }
        if let Some(digits) = text.strip_prefix("0f") {
            return u32::from_str_radix(digits, 16).ok().map(Self::F32);
        }
        if let Some(digits) = text.strip_prefix("0d") {
            return u32::from_str_radix(digits, 16).ok().map(Self::F64);
        }
        if let Some(digits) = text.strip_prefix("0h").or_else(|| text.strip_prefix("0b")) {
            return u16::from_str_radix(digits, 16).ok().map(Self::Half);
        }
        if let Some(value) = integer(text) {
            return Some(Self::Integer(value));
        }
        // The axis of a special register is part of its name.
        let name = suffixes.drain(..).fold(text.to_owned(), |name, suffix| format!("{name}.{suffix}"));
        Some(Self::Word(name))
    }
}

impl Address {
    fn read(text: &str) -> Option<Self> {
        let mut address = Self::default();
        for term in text.split('+').filter(|term| !term.is_empty()) {
            let (name, suffix) = term.split_once('.').unwrap_or((term, ""));
            match register(name) {
                Some(Value::Register(number)) => {
                    let scale = match suffix {
                        "X4" => 2,
                        "X8" => 3,
                        "X16" => 4,
                        _ => 0,
                    };
                    address.register = Some(AddressRegister { number, scale, is_word: suffix == "U32" });
                }
                Some(Value::Uniform(number)) => address.uniform = Some(number),
                Some(_) => return None,
                None => address.offset = address.offset.wrapping_add(integer(term)?),
            }
        }
        Some(address)
    }
}

fn take(text: &mut &str, prefix: &str) -> bool {
    match text.strip_prefix(prefix) {
        Some(rest) => {
            *text = rest;
            true
        }
        None => false,
    }
}

fn register(text: &str) -> Option<Value> {
    Some(match text {
        "RZ" => Value::Register(None),
        "URZ" => Value::Uniform(None),
        "PT" => Value::Predicate(None),
        "UPT" => Value::UniformPredicate(None),
        _ => {
            let number = |digits: &str| u32::from_str(digits).ok();
            if let Some(digits) = text.strip_prefix("UR") {
                Value::Uniform(Some(number(digits)?))
            } else if let Some(digits) = text.strip_prefix("UP") {
                Value::UniformPredicate(Some(number(digits)?))
            } else if let Some(digits) = text.strip_prefix('R') {
                Value::Register(Some(number(digits)?))
            } else if let Some(digits) = text.strip_prefix('P') {
                Value::Predicate(Some(number(digits)?))
            } else {
                Value::Barrier(number(text.strip_prefix('B')?)?)
            }
        }
    })
}

fn integer(text: &str) -> Option<i64> {
    let (digits, is_negative) = match text.strip_prefix('-') {
        Some(digits) => (digits, true),
        None => (text, false),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => u64::from_str(digits).ok()?,
    };
    Some(if is_negative { (value as i64).wrapping_neg() } else { value as i64 })
}

#[cfg(test)]
mod tests {
    use super::{Address, AddressRegister, ConstantPlace, Syntax, Value};

    #[test]
    fn operands_are_read() {
        let syntax = Syntax::read("LDG.E.64.CONSTANT R4, desc[UR4][R2.64+UR6+-0x8]").unwrap();
        assert_eq!((syntax.base(), syntax.has("64"), syntax.has("CONSTANT")), ("LDG", true, true));
        let register = AddressRegister { number: Some(2), scale: 0, is_word: false };
        let address = Address { register: Some(register), uniform: Some(Some(6)), offset: -8 };
        assert_eq!(syntax.operands[1].value, Value::Address(address));
        let syntax = Syntax::read("FFMA.FTZ R0, -|R1|.reuse, c[0x0][R2+0x160], 0fbf800000").unwrap();
        let [_, a, b, c] = &syntax.operands[..] else { panic!("four operands") };
        assert_eq!((a.negated, a.absolute, &a.value), (true, true, &Value::Register(Some(1))));
        let register = AddressRegister { number: Some(2), scale: 0, is_word: false };
        let at = Address { register: Some(register), uniform: None, offset: 0x160 };
        assert_eq!(b.value, Value::Constant(ConstantPlace { bank: 0, at }));
        assert_eq!(c.value, Value::F32(0xbf80_0000));
        let syntax = Syntax::read("RET.REL.NODEC R4 0x0").unwrap();
        assert_eq!(syntax.operands[1].value, Value::Integer(0));
        let syntax = Syntax::read("S2R R0, SR_TID.X").unwrap();
        assert_eq!(syntax.operands[1].value, Value::Word("SR_TID.X".into()));
        let syntax = Syntax::read("HADD2 R6, -R0.reuse.H0_H0, |R7|.reuse.H1_H1").unwrap();
        assert!(syntax.operands[1].has("H0_H0") && syntax.operands[1].negated && syntax.operands[2].has("H1_H1"));
        let syntax = Syntax::read("IADD3 R2, P0, R2, -0x32, ~R13").unwrap();
        assert_eq!(syntax.operands[3].integer(), Some(-0x32));
        assert!(syntax.operands[1].is_predicate() && syntax.operands[4].complement);
    }
}
