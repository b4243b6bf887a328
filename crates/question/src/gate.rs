//! Gates: `time_us>100` breaches when an answer is like that, `time_us>+5%` when it grew by more than that against the
//! answer of an earlier time.
//!
//! A gate looks at [`Row`]s, which every document that a gate can judge is made into. What cannot be judged is no pass:
//! an answer whose model is another than that of the earlier answer is an error, and a row that a gate cannot be applied to
//! is said to be so.

use warplens_base::error::{Error, Result};
use warplens_base::nearest;

/// A condition that must not hold.
#[derive(Clone, PartialEq, Debug)]
pub struct Gate {
    text: String,
    quantity: String,
    compare: Compare,
    limit: Limit,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Compare {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Limit {
    /// The value itself.
    Value(f64),
    /// The change against the earlier value, as a share of it.
    Change(f64),
}

/// An answer as gates see it.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The kernel or variant, with what tells several launches of it apart.
    pub subject: String,
    /// Label of the GPU.
    pub gpu: String,
    /// The model that answered.
    pub model: String,
    /// Quantities by name.
    pub values: Vec<(String, f64)>,
}

/// Rows now, and what they are held against.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Judgement {
    /// One for each row, in order.
    pub rows: Vec<Judged>,
    /// Rows of the earlier answers that are not there any more, by subject and GPU.
    pub gone: Vec<(String, String)>,
    /// The answers were held against earlier ones.
    pub has_baseline: bool,
    /// What the gates found, in their order.
    pub breaches: Vec<Breach>,
    /// Where gates could not be applied, in the same order.
    pub unjudged: Vec<Unjudged>,
}

/// A row with the time of the earlier answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Judged {
    /// The kernel or variant.
    pub subject: String,
    /// Label of the GPU.
    pub gpu: String,
    /// The time now in microseconds.
    pub time_us: Option<f64>,
    /// The time of the earlier answer; none where it has no such row.
    pub before_us: Option<f64>,
}

impl Judged {
    /// The change of the time as a share of the earlier one.
    pub fn change(&self) -> Option<f64> {
        change(self.time_us?, self.before_us?)
    }
}

/// A gate that is breached.
#[derive(Clone, PartialEq, Debug)]
pub struct Breach {
    /// The gate as it was written.
    pub gate: String,
    /// The kernel or variant.
    pub subject: String,
    /// Label of the GPU.
    pub gpu: String,
    /// The value of the quantity; of a gate on a change, the change as a share.
    pub value: f64,
    /// True where the value is a change.
    pub is_change: bool,
}

impl Breach {
    /// What is said of it.
    pub fn message(&self) -> String {
        let value = match self.is_change {
            true => format!("{:+} %", short(100.0 * self.value)),
            false => short(self.value).to_string(),
        };
        format!("gate {} is breached on {}: {value}", self.gate, self.gpu)
    }
}

/// A gate that could not be applied to an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unjudged {
    /// The gate as it was written.
    pub gate: String,
    /// The kernel or variant.
    pub subject: String,
    /// Label of the GPU.
    pub gpu: String,
    /// Why, as a clause.
    pub why: String,
}

impl Unjudged {
    /// What is said of it.
    pub fn message(&self) -> String {
        format!("gate {} was not applied to {} on {}: {}", self.gate, self.subject, self.gpu, self.why)
    }
}

/// The time, which is what most gates are about.
const TIME: &str = "time_us";
/// Share of the warp slots that warps were in, where the kernel was simulated.
pub const ACHIEVED_OCCUPANCY: &str = "achieved_occupancy";
/// Share of the warp slots that the launch can fill.
pub const THEORETICAL_OCCUPANCY: &str = "theoretical_occupancy";
/// Quantities of predictions.
const QUANTITIES: [&str; 8] = [
    TIME,
    "cycles",
    "band_low_us",
    "band_high_us",
    ACHIEVED_OCCUPANCY,
    THEORETICAL_OCCUPANCY,
    "compute_throughput",
    "memory_throughput",
];

impl Gate {
    /// Reads `QUANTITY OP LIMIT`: OP one of `<`, `<=`, `>`, `>=`, and the limit a number, or a change such as `+5%`.
    pub fn parse(text: &str) -> Result<Self> {
        let usage = || {
            Error::usage(format!("--fail-on {text}: write QUANTITY>NUMBER or QUANTITY<NUMBER"))
                .with_help("for example --fail-on 'time_us>100', or --fail-on 'time_us>+5%' with --against FILE.json")
        };
        let at = text.find(['<', '>']).ok_or_else(usage)?;
        let (quantity, rest) = text.split_at(at);
        let (compare, number) = match rest {
            rest if rest.starts_with("<=") => (Compare::LessEqual, &rest[2..]),
            rest if rest.starts_with(">=") => (Compare::GreaterEqual, &rest[2..]),
            rest if rest.starts_with('<') => (Compare::Less, &rest[1..]),
            rest => (Compare::Greater, &rest[1..]),
        };
        let number = number.trim();
        let read = |number: &str| number.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(usage);
        let limit = match number.strip_suffix('%') {
            // Without a sign it might be meant as a share of something.
            Some(change) if change.starts_with(['+', '-']) => Limit::Change(read(change.trim())? / 100.0),
            Some(_) => return Err(usage()),
            None => Limit::Value(read(number)?),
        };
        // A model's own quantities begin with a letter too; what no model has is found when the answers are there.
        let quantity = match quantity.trim() {
            "" => return Err(usage()),
            "time" => TIME,
            // A gate on what the launch allows would pass where tables show that few warps were there.
            "occupancy" => {
                return Err(Error::usage(format!("--fail-on {text}: there are two kinds of occupancy")).with_help(
                    format!("write {ACHIEVED_OCCUPANCY} for what is reached, {THEORETICAL_OCCUPANCY} for what the launch allows"),
                ));
            }
            quantity => quantity,
        };
        Ok(Self { text: text.to_owned(), quantity: quantity.to_owned(), compare, limit })
    }

    /// True where it needs earlier answers.
    pub const fn is_on_change(&self) -> bool {
        matches!(self.limit, Limit::Change(_))
    }

    fn judge(&self, rows: &[(&Row, Option<&Row>)], found: &mut Judgement) -> Result<()> {
        let mut is_known = rows.is_empty();
        for (row, before) in rows {
            let place = || (self.text.clone(), row.subject.clone(), row.gpu.clone());
            let now = row.value(&self.quantity);
            is_known |= now.is_some();
            match self.apply(now, *before) {
                Ok(None) => {}
                Ok(Some(value)) => {
                    let ((gate, subject, gpu), is_change) = (place(), self.is_on_change());
                    found.breaches.push(Breach { gate, subject, gpu, value, is_change });
                }
                Err(why) => {
                    let (gate, subject, gpu) = place();
                    found.unjudged.push(Unjudged { gate, subject, gpu, why });
                }
            }
        }
        if is_known { Ok(()) } else { Err(self.unknown(rows)) }
    }

    /// The value or change that breaches it, if one does; an error says why that is not known.
    fn apply(&self, now: Option<f64>, before: Option<&Row>) -> std::result::Result<Option<f64>, String> {
        let now = now.ok_or_else(|| format!("the answer has no {}", self.quantity))?;
        let (value, limit) = match self.limit {
            Limit::Value(limit) => (now, limit),
            Limit::Change(limit) => {
                let before = before.ok_or("the earlier answer does not have it")?;
                let before = before.value(&self.quantity);
                let before = before.ok_or_else(|| format!("the earlier answer has no {}", self.quantity))?;
                let change = change(now, before).ok_or_else(|| format!("{} was 0 before", self.quantity))?;
                // Five percent more than 100 are 105, which a quotient of the two would miss by a digit.
                (change, before * (1.0 + limit))
            }
        };
        Ok(self.compare.holds(now, limit).then_some(value))
    }

    fn unknown(&self, rows: &[(&Row, Option<&Row>)]) -> Error {
        let error = Error::usage(format!("--fail-on {}: no prediction has a quantity `{}`", self.text, self.quantity));
        let names = || rows.iter().flat_map(|(row, _)| row.values.iter().map(|(name, _)| name.as_str()));
        match nearest(&self.quantity, QUANTITIES.into_iter().chain(names())) {
            Some(near) => error.with_help(format!("did you mean `{near}`?")),
            None => error.with_help(format!("predictions have {}", QUANTITIES.join(", "))),
        }
    }
}

impl Compare {
    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Less => value < limit,
            Self::LessEqual => value <= limit,
            Self::Greater => value > limit,
            Self::GreaterEqual => value >= limit,
        }
    }
}

impl Row {
    fn value(&self, quantity: &str) -> Option<f64> {
        self.values.iter().find(|(name, _)| name == quantity).map(|(_, value)| *value)
    }

    fn is_of(&self, other: &Self) -> bool {
        (&self.subject, &self.gpu) == (&other.subject, &other.gpu)
    }
}

/// The change as a share of the value before.
fn change(now: f64, before: f64) -> Option<f64> {
    (before != 0.0).then(|| now / before - 1.0)
}

/// Holds rows against gates, and against the rows of an earlier answer.
pub fn judge(gates: &[Gate], rows: &[Row], before: Option<&[Row]>) -> Result<Judgement> {
    if let Some(gate) = gates.iter().find(|gate| gate.is_on_change() && before.is_none()) {
        return Err(without_baseline(gate));
    }
    let earlier = |row: &Row| before.and_then(|before| before.iter().find(|own| own.is_of(row)));
    let pairs: Vec<(&Row, Option<&Row>)> = rows.iter().map(|row| (row, earlier(row))).collect();
    if let Some((row, before)) = pairs
        .iter()
        .find_map(|(row, before)| before.filter(|before| before.model != row.model).map(|before| (row, before)))
    {
        let message = format!(
            "{} on {} was answered by {} and is now by {}: two models are no change of a kernel",
            row.subject, row.gpu, before.model, row.model
        );
        return Err(Error::input(message).with_help("name one with --model, and make the baseline anew with it"));
    }
    let is_gone = |own: &&Row| !rows.iter().any(|row| row.is_of(own));
    let gone = before.into_iter().flatten().filter(is_gone).map(|row| (row.subject.clone(), row.gpu.clone()));
    let mut found = Judgement {
        rows: pairs.iter().map(|(row, before)| row.judged(*before)).collect(),
        gone: gone.collect(),
        has_baseline: before.is_some(),
        ..Judgement::default()
    };
    gates.iter().try_for_each(|gate| gate.judge(&pairs, &mut found))?;
    Ok(found)
}

impl Row {
    fn judged(&self, before: Option<&Self>) -> Judged {
        Judged {
            subject: self.subject.clone(),
            gpu: self.gpu.clone(),
            time_us: self.value(TIME),
            before_us: before.and_then(|before| before.value(TIME)),
        }
    }
}

/// What is wrong with a gate on a change that nothing is held against.
pub fn without_baseline(gate: &Gate) -> Error {
    let error = Error::usage(format!("--fail-on {}: a change needs an earlier answer", gate.text));
    match nearest(&gate.quantity, QUANTITIES) {
        Some(near) if !QUANTITIES.contains(&gate.quantity.as_str()) => {
            error.with_help(format!("and did you mean `{near}`?"))
        }
        _ => error.with_help("give --against FILE.json, which the same command writes with --format json -o FILE.json"),
    }
}

/// Six significant digits; a gate may be breached by less than what tables show.
fn short(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(gpu: &str, model: &str, time_us: f64) -> Row {
        let values = vec![(TIME.to_owned(), time_us), (ACHIEVED_OCCUPANCY.to_owned(), 0.5)];
        Row { subject: "k".to_owned(), gpu: gpu.to_owned(), model: model.to_owned(), values }
    }

    fn breached(gate: &str, now: f64, before: Option<f64>) -> Option<bool> {
        let before = before.map(|before| vec![row("a", "teg", before)]);
        let judgement = judge(&[Gate::parse(gate).ok()?], &[row("a", "teg", now)], before.as_deref());
        Some(!judgement.ok()?.breaches.is_empty())
    }

    #[test]
    fn gates_compare_with_a_number() {
        assert_eq!(breached("time_us>100", 100.0, None), Some(false));
        assert_eq!(breached("time>100", 100.5, None), Some(true));
        assert_eq!(breached("time_us >= 100", 100.0, None), Some(true));
        assert_eq!(breached("achieved_occupancy<0.5", 1.0, None), Some(false));
        assert_eq!(breached("achieved_occupancy<=0.5", 1.0, None), Some(true));
        for wrong in [
            "time_us",
            ">1",
            "time_us>",
            "time_us>fast",
            "time_us>inf",
            "time_us>5%",
            "time>+%",
            "speed>1",
            "occupancy<2",
        ] {
            assert_eq!(breached(wrong, 0.0, Some(1.0)), None, "{wrong}");
        }
    }

    #[test]
    fn gates_compare_with_an_earlier_answer() {
        assert_eq!(breached("time>+5%", 105.0, Some(100.0)), Some(false));
        assert_eq!(breached("time>+5%", 105.1, Some(100.0)), Some(true));
        assert_eq!(breached("time<-10%", 89.0, Some(100.0)), Some(true));
        assert_eq!(breached("time>+5%", 1.0, Some(0.0)), Some(false), "a change of nothing is no number");
        assert_eq!(breached("time>+5%", 1.0, None), None, "there is nothing to compare with");
    }

    #[test]
    fn what_is_new_or_gone_is_said() {
        let gate = Gate::parse("time>+5%").unwrap();
        let (now, before) = ([row("new", "teg", 9.0)], [row("old", "teg", 1.0)]);
        let judgement = judge(&[gate], &now, Some(&before)).unwrap();
        assert!(judgement.breaches.is_empty());
        assert_eq!(judgement.rows[0].before_us, None);
        assert_eq!(judgement.gone, [("k".to_owned(), "old".to_owned())]);
        let said: Vec<String> = judgement.unjudged.iter().map(Unjudged::message).collect();
        assert_eq!(said, ["gate time>+5% was not applied to k on new: the earlier answer does not have it"]);
    }

    #[test]
    fn a_row_without_the_quantity_is_not_judged() {
        let mut without = row("b", "analyzer", 1.0);
        without.values.truncate(1);
        let gates = [Gate::parse("achieved_occupancy<0.1").unwrap()];
        let judgement = judge(&gates, &[row("a", "teg", 1.0), without], None).unwrap();
        assert!(judgement.breaches.is_empty());
        assert_eq!(judgement.unjudged.len(), 1);
        assert_eq!(judgement.unjudged[0].gpu, "b");
    }

    #[test]
    fn another_model_is_no_change_of_the_kernel() {
        let gate = Gate::parse("time>+5%").unwrap();
        let error = judge(&[gate], &[row("a", "teg", 9.0)], Some(&[row("a", "analyzer", 1.0)])).unwrap_err();
        assert!(error.message.contains("was answered by analyzer and is now by teg"), "{}", error.message);
    }
}
