//! Stalls by line: what a listing of the input or of the program shows beside the text. Which instruction a wait belongs to
//! is said by `waits`.

use std::collections::BTreeMap;
use std::path::Path;

use warplens_sim::Outcome;
use warplens_trace::{Code, Place};

use super::machine_lines::{self, MachineLine};
use super::{Spent, whole};
use crate::listing::source_text;
use crate::waits;
use warplens_base::error::{Error, Result};
use warplens_session::{Program, files};

/// Lines that count as hottest: those with the largest shares, until this much of the warp cycles is found.
const HOTTEST: f64 = 0.8;
/// At most so many.
const MOST_HOT: usize = 10;

/// Which lines stalls are shown beside.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum By {
    /// Those of machine code, with those of the program between them; else those of the program that was compiled, where
    /// the input says them and the text is found; else those of the input.
    #[default]
    Auto,
    /// Those of the program that was compiled.
    Source,
    /// Those of the input: PTX or a native listing.
    Input,
}

/// What may stand beside the numbers.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// The program; none where the machine code was read.
    pub program: Option<&'a Program>,
    /// The file that was read, in whose folder and the one above files are looked for.
    pub input: Option<&'a Path>,
    /// Which lines.
    pub by: By,
}

/// The lines of the text that was asked for.
pub(crate) fn of(text: &Text<'_>, code: &Code, outcome: &Outcome) -> Result<Annotation> {
    let by_source = || by_source(text.program?, text.input, code, outcome);
    let by_input = || {
        if let Some(program) = text.program.filter(|program| program.is_machine_code()) {
            return by_machine_code(program, text.input, code, outcome);
        }
        let file = text.input.and_then(Path::file_name).map_or_else(String::new, |name| name.to_string_lossy().into());
        match text.program {
            Some(program) => by_input(&program.text_name(), Some(&program.ptx), code, outcome),
            None => {
                let own = text.input.and_then(|path| files::read_to_string(path).ok());
                by_input(&file, own.filter(|own| holds(own, code)).as_deref(), code, outcome)
            }
        }
    };
    match text.by {
        // A listing of machine code has the lines of the program in it.
        By::Auto if text.program.is_some_and(Program::is_machine_code) => Ok(by_input()),
        By::Auto => Ok(by_source().unwrap_or_else(by_input)),
        By::Input => Ok(by_input()),
        By::Source => by_source().ok_or_else(|| {
            let error = Error::usage("--by source: the input names no source file that is found");
            error.with_help("compile with -lineinfo, and keep the source beside the PTX")
        }),
    }
}

/// True where a text has each instruction in its line, as a listing has and a trace has not.
fn holds(text: &str, code: &Code) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    let mut places = code.places.iter().filter(|place| place.line > 0);
    places.all(|place| {
        let line = lines.get(place.line as usize - 1);
        let word = place.text.split_whitespace().next().unwrap_or_default();
        line.is_some_and(|line| line.contains(word))
    })
}

/// A text with what warps spent at its lines.
#[derive(Clone, PartialEq, Debug)]
pub struct AnnotatedText {
    /// What the text is called.
    pub name: String,
    /// Lines of the text with their numbers, in order.
    pub text: Vec<(u32, String)>,
    /// What was spent, by line.
    pub lines: BTreeMap<u32, Spent>,
    /// Of a listing of machine code its instructions, by line.
    pub machine: BTreeMap<u32, MachineLine>,
    /// The lines that take most of the warp cycles together, the hottest first.
    pub hottest: Vec<u32>,
}

/// A kernel with what its warps spent.
#[derive(Clone, PartialEq, Debug)]
pub struct Annotation {
    /// The texts, most of the time a single one.
    pub texts: Vec<AnnotatedText>,
    /// All instructions.
    pub whole: Spent,
    /// What was spent at instructions that belong to no line of the texts.
    pub elsewhere: Spent,
}

/// The input's lines; its own text where it is at hand, else what the instructions say.
pub fn by_input(name: &str, text: Option<&str>, code: &Code, outcome: &Outcome) -> Annotation {
    let line = |place: &Place| (place.line > 0).then_some(place.line);
    let (lines, elsewhere) = sums(code, outcome, line);
    let text = match text {
        Some(text) => numbered(text),
        None => {
            let places = code.places.iter().filter(|place| place.line > 0);
            let by_line: BTreeMap<u32, String> = places.map(|place| (place.line, place.text.clone())).collect();
            by_line.into_iter().collect()
        }
    };
    let texts = vec![AnnotatedText::new(name.to_owned(), text, lines)];
    Annotation { texts, whole: whole(code, outcome), elsewhere }
}

/// The listing of machine code, with what it was made of.
fn by_machine_code(program: &Program, beside: Option<&Path>, code: &Code, outcome: &Outcome) -> Annotation {
    let text = machine_lines::with_sources(program, beside);
    let mut annotation = by_input(&program.text_name(), Some(&text), code, outcome);
    let machine = machine_lines::of(program);
    annotation.texts.iter_mut().for_each(|text| text.machine.clone_from(&machine));
    annotation
}

/// The lines of the files that the input was compiled from, those whose text is found. None without any. `beside` is the
/// file that was read, in whose folder and the one above files are looked for.
pub fn by_source(program: &Program, beside: Option<&Path>, code: &Code, outcome: &Outcome) -> Option<Annotation> {
    let mut names: Vec<&String> =
        code.places.iter().filter_map(|place| place.source.as_ref().map(|(file, _)| file)).collect();
    names.sort_unstable();
    names.dedup();
    let found = names.into_iter().filter_map(|name| Some((name, source_text(program, beside, name)?)));
    let found: Vec<(&String, String)> = found.collect();
    if found.is_empty() {
        return None;
    }
    let is_found = |file: &String| found.iter().any(|(name, _)| *name == file);
    let anywhere = |place: &Place| place.source.as_ref().filter(|(file, _)| is_found(file)).map(|&(_, line)| line);
    let (_, elsewhere) = sums(code, outcome, anywhere);
    let annotated = |(name, text): &(&String, String)| {
        let line = |place: &Place| place.source.as_ref().filter(|(file, _)| file == *name).map(|&(_, line)| line);
        AnnotatedText::new((*name).clone(), numbered(text), sums(code, outcome, line).0)
    };
    let mut texts: Vec<AnnotatedText> = found.iter().map(annotated).collect();
    texts.retain(|text| !text.lines.is_empty());
    Some(Annotation { texts, whole: whole(code, outcome), elsewhere })
}

impl AnnotatedText {
    fn new(name: String, text: Vec<(u32, String)>, lines: BTreeMap<u32, Spent>) -> Self {
        let mut ranked: Vec<(u32, f64)> = lines.iter().map(|(&line, spent)| (line, spent.share)).collect();
        ranked.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
        let mut found = 0.0;
        let mut hottest = Vec::new();
        for (line, share) in ranked.into_iter().filter(|&(_, share)| share > 0.0).take(MOST_HOT) {
            if found >= HOTTEST {
                break;
            }
            hottest.push(line);
            found += share;
        }
        Self { name, text, lines, machine: BTreeMap::new(), hottest }
    }

    /// The text of a line, without blanks around it.
    pub fn line(&self, number: u32) -> &str {
        let at = self.text.binary_search_by_key(&number, |&(number, _)| number);
        at.map_or("", |at| self.text[at].1.trim())
    }

    /// The largest share of a line.
    pub fn largest_share(&self) -> f64 {
        self.lines.values().map(|spent| spent.share).fold(0.0, f64::max)
    }
}

fn numbered(text: &str) -> Vec<(u32, String)> {
    (1u32..).zip(text.lines().map(str::to_owned)).collect()
}

/// What was spent by line, and at instructions without one.
fn sums(code: &Code, outcome: &Outcome, line: impl Fn(&Place) -> Option<u32>) -> (BTreeMap<u32, Spent>, Spent) {
    let mut lines: BTreeMap<u32, Spent> = BTreeMap::new();
    let mut elsewhere = Spent::default();
    let waits = waits::of(code, outcome);
    for (at, inst) in code.insts.iter().enumerate() {
        let (issued, stalls) = (outcome.executions[at], &waits[at]);
        let number = code.places.get(inst.place as usize).and_then(&line);
        match number {
            // What never ran has no numbers, like a declaration.
            _ if issued == 0 && stalls.total() == 0 => {}
            Some(number) => lines.entry(number).or_default().add(issued, stalls),
            None => elsewhere.add(issued, stalls),
        }
    }
    let all = lines.values().chain([&elsewhere]).map(|spent| spent.stalls.total()).sum();
    (lines.into_iter().map(|(line, spent)| (line, spent.of_whole(all))).collect(), elsewhere.of_whole(all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use warplens_sim::{Stall, StallCycles};
    use warplens_trace::{MachineClass, MachineInst};

    fn place(line: u32, text: &str) -> Place {
        Place { line, text: text.to_owned(), source: None }
    }

    fn spent(stall: Stall, cycles: u64) -> StallCycles {
        let mut stalls = StallCycles::default();
        stalls.add(Stall::Selected, 10);
        stalls.add(stall, cycles);
        stalls
    }

    #[test]
    fn instructions_of_a_line_add_up() {
        let inst = |place| MachineInst::new(MachineClass::Fp32, place);
        let code = Code {
            insts: vec![inst(0), inst(1), inst(1), inst(2), inst(3)],
            places: vec![place(3, "ld"), place(4, "fma"), place(0, ""), place(9, "ret")],
            ..Code::default()
        };
        let outcome = Outcome {
            executions: vec![10, 10, 10, 10, 0],
            stalls: vec![
                spent(Stall::LongScoreboard, 60),
                spent(Stall::MathPipeThrottle, 5),
                spent(Stall::Wait, 0),
                spent(Stall::Wait, 5),
                StallCycles::default(),
            ],
            ..Outcome::default()
        };
        let annotation = by_input("k.ptx", Some("a\nb\nld\nfma\n"), &code, &outcome);
        let [text] = annotation.texts.as_slice() else { panic!("one text") };
        assert_eq!(text.lines.keys().copied().collect::<Vec<_>>(), [3, 4]);
        let fma = &text.lines[&4];
        assert_eq!((fma.instructions, fma.issued, fma.stalls.total()), (2, 20, 25));
        assert_eq!(fma.stalls.ranked(), [(Stall::Selected, 0.8), (Stall::MathPipeThrottle, 0.2)]);
        assert_eq!(annotation.elsewhere.stalls.total(), 15);
        let shares = text.lines.values().map(|spent| spent.share).sum::<f64>() + annotation.elsewhere.share;
        assert!((shares - 1.0).abs() < 1e-12);
        // 70 of 110 are less than most, and with 25 more they are.
        assert_eq!(text.hottest, [3, 4]);
        assert_eq!(annotation.whole.stalls.total(), 110);
        assert!(holds("a\nb\nld\nfma\n\n\n\n\nret", &code) && !holds("a\nb\nld\nadd\n", &code));
        // Without a text at hand the instructions speak for themselves.
        let alone = by_input("trace", None, &code, &outcome);
        assert_eq!(alone.texts[0].text, [(3, "ld".to_owned()), (4, "fma".to_owned()), (9, "ret".to_owned())]);
    }
}
