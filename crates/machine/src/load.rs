//! Reads machine files: TOML text with inheritance, checked against the parameter table.
//!
//! ```toml
//! name = "H200 SXM 141GB"
//! inherits = "sm_90"                 # everything that this file does not restate
//! chip = "GH100"
//! year = 2023                        # in which the board was announced
//! siblings = ["h100-pcie"]           # nearest first: where missing values may be derived from
//!
//! [sources]
//! stream = "te42kyfo/gpu-benches @1c36d50, gpu-stream on H200"
//!
//! [dram]
//! basis = "recalled"                 # for the values of this group that do not say otherwise
//! source = "NVIDIA H200 data sheet"
//! peak_bandwidth = { value = 4800, unit = "GB/s" }
//! achieved_bandwidth = { value = 3534, unit = "GB/s", basis = "measured", source = "stream" }
//! latency = "unknown"
//! ```

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use warplens_base::{Diagnostic, Span};

use crate::check;
use crate::key::{Key, Scaling, Shape};
use crate::machine::{ComputeCapability, Machine};
use crate::plausible;
use crate::unit::Unit;
use crate::value::{Basis, Fact, Value};
use crate::word::Word;

/// Gives the text of the machine file of a name.
pub type Resolver<'r> = &'r dyn Fn(&str) -> Option<String>;

/// A machine file that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("machine file {name}: {}", .diagnostics.first().map_or("unusable", |first| &first.message))]
pub struct LoadError {
    /// Name of the file at fault: the one asked for, or one that it names.
    pub name: String,
    /// Its text, to which the spans refer.
    pub text: String,
    /// What is wrong, at least one.
    pub diagnostics: Vec<Diagnostic>,
}

/// How many files may inherit from one another.
const MAX_DEPTH: usize = 8;

/// Loads the machine `id` from `text`; `resolve` gives the text of the files that it names.
pub fn load(id: &str, text: &str, resolve: Resolver<'_>) -> Result<Machine, LoadError> {
    let (mut machine, siblings) = load_one(id, text, resolve, 0)?;
    for (name, span) in siblings {
        let Some(sibling_text) = resolve(&name) else {
            return Err(one_error(id, text, Diagnostic::error("M009", span, format!("unknown sibling `{name}`"))));
        };
        machine.siblings.push(load_one(&name, &sibling_text, resolve, 0)?.0);
    }
    let findings = check::identities(&machine);
    if findings.is_empty() {
        return Ok(machine);
    }
    let span_of = |key: Key| find_value(text, key).unwrap_or_default();
    let diagnostics =
        findings.into_iter().map(|(key, message)| Diagnostic::error("M010", span_of(key), message)).collect();
    Err(LoadError { name: id.to_owned(), text: text.to_owned(), diagnostics })
}

type Named = (String, Span);

/// Loads a file and what it inherits, without siblings; returns their names.
fn load_one(id: &str, text: &str, resolve: Resolver<'_>, depth: usize) -> Result<(Machine, Vec<Named>), LoadError> {
    let table = DeTable::parse(text).map_err(|error| {
        let span = error.span().map_or(Span::default(), span);
        one_error(id, text, Diagnostic::error("M001", span, error.message().trim_end_matches('.')))
    })?;
    let mut file =
        File { id, sources: BTreeMap::new(), header: Header::default(), facts: BTreeMap::new(), errors: Vec::new() };
    file.read(table.get_ref());
    if !file.errors.is_empty() {
        return Err(LoadError { name: id.to_owned(), text: text.to_owned(), diagnostics: file.errors });
    }
    let File { header, facts, .. } = file;
    let parent = match &header.inherits {
        None => None,
        Some((name, span)) => {
            let error = |message: String| Diagnostic::error("M008", *span, message);
            let text_of_parent = resolve(name).ok_or_else(|| {
                let unknown = error(format!("unknown machine `{name}` to inherit from"));
                let near = crate::name::nearest(name, crate::builtin::ids().chain(crate::builtin::designs()));
                one_error(
                    id,
                    text,
                    match near {
                        Some(near) => unknown.with_help(format!("did you mean `{near}`?")),
                        None => unknown,
                    },
                )
            })?;
            if name == id || depth == MAX_DEPTH {
                let why =
                    if name == id { "inherits from itself" } else { "inherits in a circle or through too many files" };
                return Err(one_error(id, text, error(format!("`{id}` {why}"))));
            }
            Some(load_one(name, &text_of_parent, resolve, depth + 1)?)
        }
    };
    merge(id, text, header, facts, parent)
}

fn merge(
    id: &str,
    text: &str,
    header: Header,
    facts: BTreeMap<Key, Fact>,
    parent: Option<(Machine, Vec<Named>)>,
) -> Result<(Machine, Vec<Named>), LoadError> {
    let (parent, parent_siblings) = parent.map_or((None, Vec::new()), |(machine, siblings)| (Some(machine), siblings));
    let inherited = parent.as_ref();
    let Some(cc) = header.cc.or(inherited.map(|parent| parent.cc)) else {
        let message = "no `cc` (compute capability), and nothing to inherit it from";
        return Err(one_error(id, text, Diagnostic::error("M007", Span::default(), message)));
    };
    let siblings = header.siblings.unwrap_or_else(|| {
        // The spans of inherited names mean another file; the name alone is kept.
        parent_siblings.into_iter().map(|(name, _)| (name, Span::default())).collect()
    });
    let mut machine = Machine {
        id: id.to_owned(),
        name: header.name.or(inherited.map(|parent| parent.name.clone())).unwrap_or_else(|| id.to_owned()),
        cc,
        chip: header.chip.or(inherited.and_then(|parent| parent.chip.clone())),
        year: header.year.or(inherited.and_then(|parent| parent.year)),
        lineage: inherited.map_or_else(Vec::new, |parent| [std::slice::from_ref(&parent.id), &parent.lineage].concat()),
        aliases: header.aliases,
        facts: parent.map_or_else(BTreeMap::new, |parent| parent.facts),
        siblings: Vec::new(),
        asked_clock: None,
    };
    machine.facts.extend(facts);
    Ok((machine, siblings))
}

/// What stands before the groups.
#[derive(Default)]
struct Header {
    name: Option<String>,
    inherits: Option<Named>,
    chip: Option<String>,
    year: Option<u16>,
    cc: Option<ComputeCapability>,
    aliases: Vec<String>,
    siblings: Option<Vec<Named>>,
}

/// A file while it is read.
struct File<'t> {
    id: &'t str,
    sources: BTreeMap<&'t str, &'t str>,
    header: Header,
    facts: BTreeMap<Key, Fact>,
    errors: Vec<Diagnostic>,
}

/// Basis and source of a group's values that state none.
#[derive(Clone, Copy, Default)]
struct Defaults<'t> {
    basis: Option<Basis>,
    source: Option<&'t str>,
}

impl<'t> File<'t> {
    fn read(&mut self, table: &'t DeTable<'t>) {
        if let Some((_, sources)) = table.iter().find(|(key, _)| key.get_ref() == "sources") {
            self.read_sources(sources);
        }
        for (key, value) in table {
            let text = || value.get_ref().as_str().map(str::to_owned);
            match key.get_ref().as_ref() {
                "sources" => {}
                "name" => self.header.name = self.expect(value, "a string", text()),
                "chip" => self.header.chip = self.expect(value, "a string", text()),
                "year" => {
                    let year = number(value).filter(|year| year.fract() == 0.0 && *year <= f64::from(u16::MAX));
                    self.header.year = self.expect(value, "a year", year.map(|year| year as u16));
                }
                "inherits" => {
                    self.header.inherits =
                        self.expect(value, "the name of a machine", text()).map(|name| (name, at(value)));
                }
                "cc" => {
                    let cc = value.get_ref().as_str().and_then(ComputeCapability::parse);
                    self.header.cc = self.expect(value, "a compute capability such as \"9.0\"", cc);
                }
                "aliases" => {
                    let names = self.names(value);
                    self.header.aliases = names.into_iter().map(|(name, _)| name).collect();
                }
                "siblings" => self.header.siblings = Some(self.names(value)),
                group => self.read_group(group, key, value),
            }
        }
    }

    fn read_sources(&mut self, sources: &'t Spanned<DeValue<'t>>) {
        let Some(table) = sources.get_ref().as_table() else {
            self.error("M002", at(sources), "`sources` is not a table of descriptions");
            return;
        };
        for (tag, text) in table {
            match text.get_ref().as_str() {
                Some(text) => drop(self.sources.insert(tag.get_ref(), text)),
                None => self.error("M002", at(text), "a source is described by a string"),
            }
        }
    }

    fn read_group(&mut self, group: &str, key: &Spanned<impl Sized>, value: &'t Spanned<DeValue<'t>>) {
        let fields: Vec<&str> = Key::ALL.iter().filter(|key| key.group() == group).map(|key| key.field()).collect();
        if fields.is_empty() {
            let groups: Vec<&str> = Key::ALL.iter().map(|key| key.group()).collect();
            self.unknown(span(key.span()), "group", group, &groups);
            return;
        }
        let Some(table) = value.get_ref().as_table() else {
            self.error("M002", at(value), format!("`{group}` is not a table of parameters"));
            return;
        };
        let defaults = Defaults { basis: self.basis(table), source: self.source(table) };
        for (field, value) in table {
            let name: &str = field.get_ref();
            if matches!(name, "basis" | "source") {
                continue;
            }
            let dotted = format!("{group}.{name}");
            match (Key::from_name(&dotted), Key::renamed(&dotted)) {
                (Some(key), _) => self.read_fact(key, value, defaults),
                (None, Some(key)) => {
                    let message = format!("`{dotted}` is called `{key}` now");
                    let help = format!("state it as `{}` in `[{}]`", key.field(), key.group());
                    self.errors.push(Diagnostic::error("M003", span(field.span()), message).with_help(help));
                }
                (None, None) => self.unknown(span(field.span()), "parameter", name, &fields),
            }
        }
    }

    fn read_fact(&mut self, key: Key, value: &'t Spanned<DeValue<'t>>, defaults: Defaults<'t>) {
        let table = value.get_ref().as_table().filter(|table| table.contains_key("value"));
        for (field, _) in table.into_iter().flatten() {
            const FIELDS: &[&str] = &["value", "unit", "basis", "source", "note", "at"];
            if !FIELDS.contains(&field.get_ref().as_ref()) {
                self.unknown(span(field.span()), "field", field.get_ref(), FIELDS);
            }
        }
        let field = |name: &str| table.and_then(|table| table.get(name));
        let clock = field("at").and_then(|at| self.clock(at));
        let unit = field("unit");
        let raw = field("value").unwrap_or(value);
        let Some(parsed) = self.value(key, raw, unit, clock) else { return };
        let basis = self.own_basis(table).or(defaults.basis);
        let source = self.own_source(table).or(defaults.source);
        let unknown = parsed == Value::Unknown;
        if basis.is_none() && !unknown {
            self.error("M006", at(value), format!("`{key}` has no basis"));
        }
        if source.is_none() && !unknown {
            self.error("M006", at(value), format!("`{key}` has no source"));
        }
        let note = field("note").and_then(|note| note.get_ref().as_str()).map(str::to_owned);
        let fact = Fact {
            value: parsed,
            basis: basis.unwrap_or(Basis::Inferred),
            source: source.unwrap_or_default().to_owned(),
            note,
            clock,
            stated_in: self.id.to_owned(),
        };
        self.facts.insert(key, fact);
    }

    fn own_basis(&mut self, table: Option<&'t DeTable<'t>>) -> Option<Basis> {
        table.and_then(|table| self.basis(table))
    }

    fn own_source(&self, table: Option<&'t DeTable<'t>>) -> Option<&'t str> {
        table.and_then(|table| self.source(table))
    }

    fn basis(&mut self, table: &'t DeTable<'t>) -> Option<Basis> {
        let value = table.get("basis")?;
        let basis = value.get_ref().as_str().and_then(Basis::from_name);
        // A file states facts: what was asked for or supposed is none.
        let basis = basis.filter(|basis| !matches!(basis, Basis::Given | Basis::WhatIf));
        self.expect(value, "one of vendor, measured, fitted, compiler, simulator, simulated, recalled, inferred", basis)
    }

    /// The source in words: a tag stands for its description.
    fn source(&self, table: &'t DeTable<'t>) -> Option<&'t str> {
        let text = table.get("source")?.get_ref().as_str()?;
        Some(self.sources.get(text).copied().unwrap_or(text))
    }

    fn clock(&mut self, value: &'t Spanned<DeValue<'t>>) -> Option<f64> {
        let hertz = value.get_ref().as_str().and_then(|text| {
            let (number, unit) = text.split_once(' ')?;
            let (dimension, factor) = Unit::parse(unit)?;
            let hertz = number.parse::<f64>().ok()? * factor;
            (dimension == Unit::Hertz && hertz.is_finite() && hertz > 0.0).then_some(hertz)
        });
        self.expect(value, "a clock such as \"1380 MHz\"", hertz)
    }

    fn value(
        &mut self,
        key: Key,
        raw: &'t Spanned<DeValue<'t>>,
        unit: Option<&'t Spanned<DeValue<'t>>>,
        clock: Option<f64>,
    ) -> Option<Value> {
        if raw.get_ref().as_str() == Some("unknown") {
            return Some(Value::Unknown);
        }
        match key.shape() {
            Shape::Number => {
                let number = self.expect(raw, "a number, 0 or above", number(raw))?;
                let factor = self.factor(key, raw, unit, clock)?;
                self.plausible(key, raw, number * factor).map(Value::Number)
            }
            Shape::List => {
                let numbers =
                    raw.get_ref().as_array().and_then(|list| list.iter().map(number).collect::<Option<Vec<f64>>>());
                let ascending = numbers.filter(|list| list.is_sorted() && !list.is_empty());
                let list = self.expect(raw, "a list of numbers in ascending order", ascending)?;
                let factor = self.factor(key, raw, unit, clock)?;
                let plausible = list.into_iter().map(|number| self.plausible(key, raw, number * factor));
                plausible.collect::<Option<_>>().map(Value::List)
            }
            Shape::Word(words) => {
                let word = raw.get_ref().as_str().and_then(|text| Word::parse(key, text));
                self.expect(raw, &format!("one of {}", words.join(", ")), word).map(Value::Word)
            }
            Shape::Mix => self.mix(key, raw),
        }
    }

    /// The number, unless no GPU could have it.
    fn plausible(&mut self, key: Key, value: &Spanned<DeValue<'_>>, number: f64) -> Option<f64> {
        let checked = plausible::check(key, number);
        checked.map_err(|message| self.error("M010", at(value), message)).ok().map(|()| number)
    }

    fn mix(&mut self, key: Key, raw: &'t Spanned<DeValue<'t>>) -> Option<Value> {
        let table = raw.get_ref().as_table();
        let table = self.expect(raw, "a table of instructions per lane kind", table)?;
        let mut mix = Vec::new();
        for (kind, count) in table {
            let name: &str = kind.get_ref();
            let lanes = match name {
                "issue" => Some(Key::SmIssuePerClk),
                name => Key::from_name(&format!("lanes.{name}")),
            };
            let Some(lanes) = lanes else {
                let mut kinds: Vec<&str> =
                    Key::ALL.iter().filter(|key| key.group() == "lanes").map(|key| key.field()).collect();
                kinds.push("issue");
                self.unknown(span(kind.span()), "lane kind", name, &kinds);
                return None;
            };
            let number = self.expect(count, "a number, 0 or above", number(count))?;
            mix.push((lanes, self.plausible(key, count, number)?));
        }
        mix.sort_by_key(|&(key, _)| key);
        Some(Value::Mix(mix))
    }

    /// The factor from the stated unit to the canonical one; durations that follow the clock become seconds.
    fn factor(
        &mut self,
        key: Key,
        raw: &'t Spanned<DeValue<'t>>,
        unit: Option<&'t Spanned<DeValue<'t>>>,
        clock: Option<f64>,
    ) -> Option<f64> {
        let wanted = key.unit();
        let Some(unit) = unit else {
            if matches!(wanted, Unit::Count | Unit::PerCycle) {
                return Some(1.0);
            }
            let spellings: Vec<&str> = allowed_spellings(key);
            self.error("M005", at(raw), format!("`{key}` needs a unit: {}", spellings.join(", ")));
            return None;
        };
        let parsed = unit.get_ref().as_str().and_then(Unit::parse);
        match (parsed, key.scaling()) {
            (Some((Unit::Seconds, factor)), Scaling::WallTime) => Some(factor),
            (Some((Unit::Cycles, factor)), Scaling::WallTime) => {
                if clock.is_none() {
                    self.error("M005", at(unit), format!("cycles of `{key}` need the clock: at = \"1380 MHz\""));
                }
                clock.map(|hertz| factor / hertz)
            }
            (Some((dimension, factor)), _) if dimension == wanted => Some(factor),
            _ => {
                let spellings = allowed_spellings(key).join(", ");
                self.error("M005", at(unit), format!("not a unit of `{key}`; it is stated in {spellings}"));
                None
            }
        }
    }

    fn names(&mut self, value: &'t Spanned<DeValue<'t>>) -> Vec<Named> {
        let names = value.get_ref().as_array().and_then(|list| {
            list.iter()
                .map(|name| Some((name.get_ref().as_str()?.to_owned(), at(name))))
                .collect::<Option<Vec<Named>>>()
        });
        self.expect(value, "a list of names", names).unwrap_or_default()
    }

    fn expect<T>(&mut self, value: &Spanned<DeValue<'_>>, wanted: &str, parsed: Option<T>) -> Option<T> {
        if parsed.is_none() {
            self.error("M002", at(value), format!("expected {wanted}"));
        }
        parsed
    }

    fn unknown(&mut self, span: Span, kind: &str, name: &str, known: &[&str]) {
        let mut error = Diagnostic::error("M003", span, format!("unknown {kind} `{name}`"));
        if let Some(near) = crate::name::nearest(name, known.iter().copied()) {
            error = error.with_help(format!("did you mean `{near}`?"));
        }
        self.errors.push(error);
    }

    fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.errors.push(Diagnostic::error(code, span, message));
    }
}

fn allowed_spellings(key: Key) -> Vec<&'static str> {
    let mut spellings: Vec<&str> = key.unit().spellings().collect();
    if key.scaling() == Scaling::WallTime {
        spellings.extend(Unit::Seconds.spellings());
    }
    spellings
}

fn number(value: &Spanned<DeValue<'_>>) -> Option<f64> {
    let number = match value.get_ref() {
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix()).ok()? as f64,
        DeValue::Float(float) => float.as_str().parse().ok()?,
        _ => return None,
    };
    (number.is_finite() && number >= 0.0).then_some(number)
}

/// The place where `text` states `key`, if it does.
fn find_value(text: &str, key: Key) -> Option<Span> {
    let table = DeTable::parse(text).ok()?;
    let value = table.get_ref().get(key.group())?.get_ref().as_table()?.get(key.field())?;
    Some(at(value))
}

fn at(value: &Spanned<DeValue<'_>>) -> Span {
    span(value.span())
}

fn span(range: std::ops::Range<usize>) -> Span {
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span::new(offset(range.start), offset(range.end))
}

fn one_error(name: &str, text: &str, diagnostic: Diagnostic) -> LoadError {
    LoadError { name: name.to_owned(), text: text.to_owned(), diagnostics: vec![diagnostic] }
}
