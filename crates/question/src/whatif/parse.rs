//! Questions as users write them.

use warplens_machine::{Key, Scaling, Shape, Unit};
use warplens_model::scenario::{ALIASES, COUNTS, EFFECTS, Effect, LAUNCH_FIELDS, Parameter, Setting};
use warplens_model::{Change, KnobSpec, MODELS};

use super::Scenario;
use warplens_base::error::{Error, Result};
use warplens_base::nearest;
use warplens_launch::{Extents, parse_extents};

/// A change of a grid or a block.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ExtentChange {
    /// Other extents.
    Extents(Extents),
    /// This times as many along X.
    Factor(f64),
}

impl ExtentChange {
    /// What becomes of `now`; `name` is what messages call it.
    pub fn of(self, name: &str, now: Extents) -> Result<Extents> {
        match self {
            Self::Extents(extents) => Ok(extents),
            Self::Factor(factor) => {
                let x = f64::from(now[0]) * factor;
                if x.fract() != 0.0 || !(1.0..=f64::from(i32::MAX)).contains(&x) {
                    return Err(Error::usage(format!("--set {name}={factor}x: {} x {factor} is {x}", now[0]))
                        .with_help("an extent is a whole number of at least 1"));
                }
                Ok([x as u32, now[1], now[2]])
            }
        }
    }
}

impl Scenario {
    /// Reads `NAME=VALUE` or `NAME=FACTORx` for each of `settings`, and names of effects.
    pub fn parse(settings: &[String], without: &[String]) -> Result<Self> {
        let mut scenario = Self::default();
        for text in settings {
            scenario.set(text)?;
        }
        for name in without {
            let effect = effect(name)?;
            if !scenario.edits.without.contains(&effect) {
                scenario.edits.without.push(effect);
                scenario.texts.push(format!("without {name}"));
            }
        }
        Ok(scenario)
    }

    fn set(&mut self, text: &str) -> Result<()> {
        let split = text.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
        let Some((name, value)) = split.filter(|(name, value)| !name.is_empty() && !value.is_empty()) else {
            return Err(Error::usage(format!("--set {text}: write NAME=VALUE or NAME=FACTORx"))
                .with_help("for example --set dram.bandwidth=2x or --set registers=32"));
        };
        let parameter = parameter(name).ok_or_else(|| unknown(name))?;
        if let Parameter::Launch(field) = parameter
            && field.runs_again
        {
            let change = match value.strip_suffix('x').map(str::parse::<f64>) {
                Some(Ok(factor)) if factor.is_finite() && factor > 0.0 => ExtentChange::Factor(factor),
                Some(Err(_)) | None => ExtentChange::Extents(parse_extents(&format!("--set {name}"), value)?),
                Some(Ok(factor)) => return Err(Error::usage(format!("--set {text}: {factor} is no factor"))),
            };
            let slot = if name == "grid" { &mut self.grid } else { &mut self.block };
            *slot = Some(change);
        } else {
            self.edits.settings.push(setting(parameter, name, value)?);
        }
        self.texts.push(text.to_owned());
        Ok(())
    }
}

/// The parameter called `name`: a machine parameter, a field of the launch, a count, a knob.
fn parameter(name: &str) -> Option<Parameter> {
    let key = || Key::from_name(name).map(Parameter::Machine);
    let alias = || ALIASES.iter().find(|alias| alias.name == name).map(Parameter::Alias);
    let field = || LAUNCH_FIELDS.iter().find(|field| field.name == name).map(Parameter::Launch);
    let count = || COUNTS.iter().find(|count| count.name == name).map(Parameter::Count);
    let knob = || knobs().find(|knob| knob.name == name).map(Parameter::Knob);
    key().or_else(alias).or_else(field).or_else(count).or_else(knob)
}

fn knobs() -> impl Iterator<Item = &'static KnobSpec> {
    MODELS.iter().flat_map(|model| model.knobs())
}

/// Every name that a setting may have.
pub fn names() -> impl Iterator<Item = &'static str> {
    let names = Key::ALL.iter().map(|key| key.name());
    let names = names.chain(ALIASES.iter().map(|alias| alias.name));
    let names = names.chain(LAUNCH_FIELDS.iter().map(|field| field.name));
    names.chain(COUNTS.iter().map(|count| count.name)).chain(knobs().map(|knob| knob.name))
}

fn unknown(name: &str) -> Error {
    let error = Error::usage(format!("--set {name}: there is no such parameter"));
    match nearest(name, names()) {
        Some(near) => error.with_help(format!("did you mean `{near}`?")),
        None => {
            error.with_help("docs/whatif.md lists them: machine parameters, launch fields, counts, model quantities")
        }
    }
}

/// The effect called `name`.
fn effect(name: &str) -> Result<&'static Effect> {
    Effect::find(name).ok_or_else(|| {
        let names = || EFFECTS.iter().map(|effect| effect.name());
        let error = Error::usage(format!("--without {name}: there is no such effect"));
        match nearest(name, names()) {
            Some(near) => error.with_help(format!("did you mean `{near}`?")),
            None => error.with_help(format!("the effects are {}", names().collect::<Vec<_>>().join(", "))),
        }
    })
}

fn setting(parameter: Parameter, name: &str, value: &str) -> Result<Setting> {
    let text = format!("{name}={value}");
    let wrong = |why: String| Error::usage(format!("--set {text}: {why}"));
    let bad = || wrong(format!("`{value}` is neither a number nor a factor such as 2x; neither is negative"));
    let made = |change: Change, in_cycles: bool| Setting { parameter, change, in_cycles, text: text.clone() };
    if let Some(key) = parameter.key()
        && key.shape() != Shape::Number
    {
        return Err(wrong(format!("{key} is not one number")));
    }
    if let Some(change) = Change::parse(value) {
        // Only plain numbers go without a unit.
        let needs_unit = parameter.key().filter(|key| !matches!(key.unit(), Unit::Count | Unit::PerCycle));
        return match (needs_unit, change) {
            (Some(key), Change::Value(_)) => Err(wrong(format!("{key} needs a unit: {}", spellings(key)))
                .with_help(format!("for example --set {name}={value}{}", example(key)))),
            _ => Ok(made(change, false)),
        };
    }
    let Some(key) = parameter.key() else { return Err(bad()) };
    let Some((number, Some(unit))) = Unit::parse_quantity(value) else {
        return Err(bad().with_help(format!("a value of {key} is stated in {}", spellings(key))));
    };
    match (unit, key.scaling()) {
        (Unit::Seconds, Scaling::WallTime) => Ok(made(Change::Value(number), false)),
        (Unit::Cycles, Scaling::WallTime) => Ok(made(Change::Value(number), true)),
        (unit, _) if unit == key.unit() => Ok(made(Change::Value(number), false)),
        _ => Err(wrong(format!("not a unit of {key}; it is stated in {}", spellings(key)))),
    }
}

fn spellings(key: Key) -> String {
    let mut spellings: Vec<&str> = key.unit().spellings().collect();
    if key.scaling() == Scaling::WallTime {
        spellings.extend(Unit::Seconds.spellings());
    }
    if spellings.is_empty() { "plain numbers".to_owned() } else { spellings.join(", ") }
}

fn example(key: Key) -> &'static str {
    match key.unit() {
        Unit::BytesPerSecond => "GB/s",
        Unit::Hertz => "MHz",
        unit => unit.symbol(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warplens_base::error::ErrorKind;

    fn message(settings: &[&str], without: &[&str]) -> (String, String) {
        let own = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let error = Scenario::parse(&own(settings), &own(without)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Usage);
        (error.message, error.help.unwrap_or_default())
    }

    fn change(text: &str) -> Change {
        Scenario::parse(&[text.to_owned()], &[]).unwrap_or_else(|error| panic!("{text}: {error}")).edits.settings[0]
            .change
    }

    #[test]
    fn values_have_units_and_factors_have_none() {
        assert_eq!(change("dram.bandwidth=2x"), Change::Factor(2.0));
        assert_eq!(change("dram.achieved_bandwidth=4TB/s"), Change::Value(4e12));
        assert_eq!(change("clock = 1.5 GHz"), Change::Value(1.5e9));
        let Change::Value(latency) = change("dram.latency=400ns") else { panic!("a value") };
        assert!((latency / 400e-9 - 1.0).abs() < 1e-15);
        assert_eq!(change("sm.count=66"), Change::Value(66.0));
        assert_eq!(change("registers=32"), Change::Value(32.0));
        assert_eq!(change("instructions.fp32=0.5x"), Change::Factor(0.5));
        let cycles = Scenario::parse(&["dram.latency=400cycles".to_owned()], &[]).unwrap();
        assert!(cycles.edits.settings[0].in_cycles);
        let again = Scenario::parse(&["block=128".to_owned(), "grid=2x".to_owned()], &[]).unwrap();
        assert_eq!(
            (again.block, again.grid),
            (Some(ExtentChange::Extents([128, 1, 1])), Some(ExtentChange::Factor(2.0)))
        );
        assert!(again.runs_again() && again.edits.is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_named_with_a_way_out() {
        let (error, help) = message(&["dram.bandwith=2x"], &[]);
        assert_eq!(
            (error.as_str(), help.as_str()),
            ("--set dram.bandwith: there is no such parameter", "did you mean `dram.bandwidth`?")
        );
        let (error, _) = message(&["dram.bandwidth=4"], &[]);
        assert_eq!(error, "--set dram.bandwidth=4: dram.peak_bandwidth needs a unit: B/s, MB/s, GB/s, TB/s");
        let (error, _) = message(&["dram.bandwidth=4GHz"], &[]);
        assert_eq!(
            error,
            "--set dram.bandwidth=4GHz: not a unit of dram.peak_bandwidth; it is stated in B/s, MB/s, GB/s, TB/s"
        );
        assert!(message(&["registers=-3"], &[]).0.contains("neither a number nor a factor"));
        assert!(message(&["dram.type=GDDR5"], &[]).0.ends_with("dram.type is not one number"));
        assert!(message(&["registers"], &[]).0.ends_with("write NAME=VALUE or NAME=FACTORx"));
        assert!(message(&["grid=0x"], &[]).0.contains("is no factor"));
        let (error, help) = message(&[], &["bank-conflict"]);
        assert_eq!(
            (error.as_str(), help.as_str()),
            ("--without bank-conflict: there is no such effect", "did you mean `bank-conflicts`?")
        );
    }

    #[test]
    fn a_factor_of_a_grid_keeps_it_whole() {
        assert_eq!(ExtentChange::Factor(0.5).of("block", [256, 2, 1]).unwrap(), [128, 2, 1]);
        assert!(ExtentChange::Factor(0.5).of("block", [3, 1, 1]).is_err());
    }

    #[test]
    fn names_of_all_tables_are_distinct() {
        let mut names: Vec<&str> = names().collect();
        let n = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), n);
    }
}
