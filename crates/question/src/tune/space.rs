//! The points of a search: every combination of the values of its dimensions.
//!
//! A dimension is a list of inputs, a macro, an axis of the block, the shapes of the block, the mappings to a grid, or
//! the sizes of the dynamic shared memory. A point picks one value of each and is then resolved to a launch. Names flow
//! one way: sizes, macros, block, grid, shared memory; a value may use every name before it.

use super::expression::Expression;
use super::space_file;
use warplens_base::error::{Error, Result};
use warplens_launch::Extents;

/// What a search varies, as users write it. Each text has a place: what messages call it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SpaceText {
    /// `NAME=EXPRESSION`.
    pub lets: Vec<Text>,
    /// `NAME=V1,V2,...`.
    pub macros: Vec<Text>,
    /// Shapes `16x16` and lists of them; or values of the x axis.
    pub block: Vec<Text>,
    /// Values per axis of the block.
    pub axes: [Vec<Text>; 3],
    /// Grids: up to three expressions each.
    pub grid: Vec<Text>,
    /// Bytes of dynamic shared memory: a list of expressions.
    pub shared: Vec<Text>,
    /// Expressions that must not be 0.
    pub constraints: Vec<Text>,
}

/// A text and what messages call it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Text {
    /// Such as `--grid`.
    pub place: String,
    /// The text.
    pub text: String,
}

/// The points of a search.
#[derive(Clone, PartialEq, Debug)]
pub struct Space {
    lets: Vec<(String, f64)>,
    /// What the variants are: inputs or kernels.
    variant: &'static str,
    inputs: Vec<String>,
    macros: Vec<Macro>,
    block: BlockSpace,
    grid: Vec<Vec<Formula>>,
    shared: Vec<Formula>,
    constraints: Vec<Formula>,
    given: GivenShape,
}

/// The shape that a launch file or the flags give; what is not varied stays like this.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GivenShape {
    /// CTAs.
    pub grid: Option<Extents>,
    /// Threads per CTA.
    pub block: Option<Extents>,
    /// Bytes of dynamic shared memory.
    pub shared: Option<u64>,
}

#[derive(Clone, PartialEq, Debug)]
struct Macro {
    name: String,
    values: Vec<String>,
}

#[derive(Clone, PartialEq, Debug)]
enum BlockSpace {
    Given,
    Shapes(Vec<Extents>),
    /// Values per axis; an axis without values is as given.
    Axes([Vec<Formula>; 3]),
}

/// An expression with its text and what messages call it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Formula {
    place: String,
    text: String,
    expression: Expression,
}

/// One thing that a search varies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dimension {
    /// `input` or `kernel`, the name of a macro, `block`, `block.x`, `grid` or `shared`.
    pub name: String,
    /// Its values, as written.
    pub values: Vec<String>,
    /// Its position in a point's choices.
    pub position: usize,
}

/// A value of each dimension, by position.
pub type Choices = Vec<usize>;

/// A point as a launch.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// Position in the list of inputs.
    pub input: usize,
    /// Macros with their values.
    pub macros: Vec<(String, String)>,
    /// CTAs.
    pub grid: Extents,
    /// Threads per CTA.
    pub block: Extents,
    /// Bytes of dynamic shared memory.
    pub shared: u64,
    /// Every number that has a name: sizes, macros, block and grid.
    pub numbers: Vec<(String, f64)>,
}

/// What a point comes to.
#[derive(Clone, PartialEq, Debug)]
pub enum Resolved {
    /// A launch.
    Launch(Point),
    /// No launch: why. What is known of the point is in its macros and input.
    Impossible(String),
    /// A constraint excludes it.
    Excluded,
}

const AXES: [&str; 3] = ["x", "y", "z"];
const BLOCK_NAMES: [&str; 3] = ["block.x", "block.y", "block.z"];
const GRID_NAMES: [&str; 3] = ["grid.x", "grid.y", "grid.z"];
/// Values of one dimension; a range that gives more is a slip of the pen.
const MOST_VALUES: usize = 4096;

impl Text {
    /// A text and what messages call it.
    pub fn new(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self { place: place.into(), text: text.into() }
    }
}

impl SpaceText {
    /// Reads a search-space file. `name` is what messages call it.
    pub fn parse_file(name: &str, text: &str) -> Result<Self> {
        space_file::parse(name, text)
    }

    /// This space with everything that `over` says put over it: a list over a list, a name over a name.
    pub fn overridden_by(mut self, over: Self) -> Self {
        let over_names = |own: &mut Vec<Text>, over: Vec<Text>| {
            let name = |text: &Text| text.text.split('=').next().unwrap_or_default().trim().to_owned();
            own.retain(|text| over.iter().all(|other| name(other) != name(text)));
            own.extend(over);
        };
        over_names(&mut self.lets, over.lets);
        over_names(&mut self.macros, over.macros);
        if !over.block.is_empty() || over.axes.iter().any(|axis| !axis.is_empty()) {
            (self.block, self.axes) = (over.block, over.axes);
        }
        if !over.grid.is_empty() {
            self.grid = over.grid;
        }
        if !over.shared.is_empty() {
            self.shared = over.shared;
        }
        self.constraints.extend(over.constraints);
        self
    }
}

impl Space {
    /// Reads every text and checks every name. `inputs` are the names of the inputs to choose from.
    pub fn new(text: &SpaceText, inputs: &[String], given: GivenShape) -> Result<Self> {
        let lets = read_lets(&text.lets)?;
        let macros = read_macros(&text.macros, &lets)?;
        let mut known: Vec<String> = lets.iter().map(|(name, _)| name.clone()).collect();
        known.extend(macros.iter().map(|own| own.name.clone()));
        let block = read_block(text, &known, &lets, given)?;
        known.extend(BLOCK_NAMES.map(str::to_owned));
        let grid = text.grid.iter().map(|text| read_grid(text, &known)).collect::<Result<Vec<_>>>()?;
        known.extend(GRID_NAMES.map(str::to_owned));
        let shared = text.shared.iter().map(|text| read_list(text, &known, &lets)).collect::<Result<Vec<_>>>()?;
        known.push("shared".to_owned());
        let constraints = text.constraints.iter().map(|text| Formula::read(text, &known)).collect::<Result<_>>()?;
        let space = Self {
            lets,
            variant: "input",
            inputs: inputs.to_vec(),
            macros,
            block,
            grid,
            shared: shared.concat(),
            constraints,
            given,
        };
        if space.grid.is_empty() && (given.grid.is_none() || given.block.is_none()) {
            return Err(Error::usage("nothing says how many blocks a point has").with_help(
                "give --grid EXPRESSION, such as --grid 'ceil(n/block.x)' with --let n=NUMBER, or a launch file",
            ));
        }
        Ok(space)
    }

    /// The same space with another name for its variants, such as `kernel`.
    pub fn of_variants(self, variant: &'static str) -> Self {
        Self { variant, ..self }
    }

    /// What is varied; a dimension with one value is none.
    pub fn dimensions(&self) -> Vec<Dimension> {
        self.all_dimensions().into_iter().filter(|dimension| dimension.values.len() > 1).collect()
    }

    /// Every dimension, also those with one value: what [`Choices`] count.
    pub(crate) fn all_dimensions(&self) -> Vec<Dimension> {
        let texts = |formulas: &[Formula]| formulas.iter().map(|formula| formula.text.clone()).collect::<Vec<_>>();
        let mut dimensions: Vec<Dimension> = Vec::new();
        let mut add = |name: &str, values: Vec<String>| {
            dimensions.push(Dimension { name: name.to_owned(), values, position: dimensions.len() });
        };
        add(self.variant, self.inputs.clone());
        for own in &self.macros {
            add(&own.name, own.values.clone());
        }
        match &self.block {
            BlockSpace::Given => {}
            BlockSpace::Shapes(shapes) => {
                add("block", shapes.iter().map(|&shape| show_extents(shape)).collect());
            }
            BlockSpace::Axes(axes) => {
                for (axis, name) in axes.iter().zip(BLOCK_NAMES).filter(|(axis, _)| !axis.is_empty()) {
                    add(name, texts(axis));
                }
            }
        }
        if !self.grid.is_empty() {
            add("grid", self.grid.iter().map(|grid| texts(grid).join(", ")).collect());
        }
        if !self.shared.is_empty() {
            add("shared", texts(&self.shared));
        }
        dimensions
    }

    /// Combinations, those that constraints exclude included.
    pub fn n_points(&self) -> u64 {
        let sizes = self.all_dimensions().into_iter().map(|dimension| dimension.values.len() as u64);
        sizes.fold(1, u64::saturating_mul)
    }

    /// The combination with this number: the last dimension changes fastest.
    pub fn choices(&self, mut number: u64) -> Choices {
        let sizes: Vec<u64> = self.all_dimensions().iter().map(|dimension| dimension.values.len() as u64).collect();
        let mut choices = vec![0; sizes.len()];
        for (choice, size) in choices.iter_mut().zip(sizes).rev() {
            *choice = usize::try_from(number % size).expect("a dimension's values fit memory");
            number /= size;
        }
        choices
    }

    /// Names of inputs.
    pub fn inputs(&self) -> &[String] {
        &self.inputs
    }

    /// The input and the macros that a combination picks.
    pub(crate) fn source(&self, choices: &[usize]) -> (usize, Vec<(String, String)>) {
        let values = self.macros.iter().zip(&choices[1..]);
        (choices[0], values.map(|(own, &value)| (own.name.clone(), own.values[value].clone())).collect())
    }

    /// The launch that a combination means.
    pub fn resolve(&self, choices: &[usize]) -> Resolved {
        match self.launch(choices) {
            Err(reason) => Resolved::Impossible(reason),
            Ok(None) => Resolved::Excluded,
            Ok(Some(point)) => Resolved::Launch(point),
        }
    }

    fn launch(&self, choices: &[usize]) -> std::result::Result<Option<Point>, String> {
        let (input, macros) = self.source(choices);
        let mut rest = choices[1 + macros.len()..].iter().copied();
        let mut next = || rest.next().expect("a combination has a value for each dimension");
        let mut numbers = self.lets.clone();
        numbers.extend(macros.iter().filter_map(|(name, value)| Some((name.clone(), value.trim().parse().ok()?))));
        let block = match &self.block {
            BlockSpace::Given => self.given.block.expect("a space without block sizes has a given one"),
            BlockSpace::Shapes(shapes) => shapes[next()],
            BlockSpace::Axes(axes) => {
                let mut block = self.given.block.unwrap_or([1; 3]);
                for (at, axis) in axes.iter().enumerate().filter(|(_, axis)| !axis.is_empty()) {
                    block[at] = axis[next()].extent(BLOCK_NAMES[at], &numbers)?;
                }
                block
            }
        };
        numbers.extend(BLOCK_NAMES.iter().zip(block).map(|(name, value)| ((*name).to_owned(), f64::from(value))));
        let grid = match self.grid.len() {
            0 => self.same_threads(block)?,
            _ => {
                let mapping = &self.grid[next()];
                let mut grid = [1; 3];
                for (at, formula) in mapping.iter().enumerate() {
                    grid[at] = formula.extent(GRID_NAMES[at], &numbers)?;
                }
                grid
            }
        };
        numbers.extend(GRID_NAMES.iter().zip(grid).map(|(name, value)| ((*name).to_owned(), f64::from(value))));
        let shared = match self.shared.len() {
            0 => self.given.shared.unwrap_or(0),
            _ => self.shared[next()].whole("shared", u64::from(u32::MAX), &numbers)?,
        };
        numbers.push(("shared".to_owned(), shared as f64));
        for constraint in &self.constraints {
            if constraint.evaluate(&numbers)? == 0.0 {
                return Ok(None);
            }
        }
        Ok(Some(Point { input, macros, grid, block, shared, numbers }))
    }

    /// The grid that has the threads of the given launch, axis by axis.
    fn same_threads(&self, block: Extents) -> std::result::Result<Extents, String> {
        let (Some(grid), Some(given)) = (self.given.grid, self.given.block) else {
            unreachable!("a space without a grid has a given launch");
        };
        let mut extents = [1; 3];
        for (at, extent) in extents.iter_mut().enumerate() {
            let threads = u64::from(grid[at]) * u64::from(given[at]);
            let blocks = threads.div_ceil(u64::from(block[at].max(1)));
            *extent = u32::try_from(blocks).map_err(|_| format!("{} is {blocks}: too large", GRID_NAMES[at]))?;
        }
        Ok(extents)
    }
}

impl Formula {
    fn read(text: &Text, known: &[String]) -> Result<Self> {
        let Text { place, text } = text;
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let expression = Expression::parse(text).and_then(|read| read.check_names(&known).map(|()| read));
        let expression = expression.map_err(|error| error.within(place, text))?;
        Ok(Self { place: place.clone(), text: text.clone(), expression })
    }

    fn evaluate(&self, numbers: &[(String, f64)]) -> std::result::Result<f64, String> {
        let value_of = |name: &str| numbers.iter().find(|(own, _)| own == name).map(|(_, value)| *value);
        self.expression
            .evaluate(&value_of)
            .map_err(|error| format!("{} `{}`: {}", self.place, self.text, error.message))
    }

    fn whole(&self, what: &str, most: u64, numbers: &[(String, f64)]) -> std::result::Result<u64, String> {
        let value = self.evaluate(numbers)?;
        if value.fract() != 0.0 {
            return Err(format!("{what} = {} is {value}, no whole number; ceil(...) makes it one", self.text));
        }
        if value < 0.0 || value > most as f64 {
            return Err(format!("{what} = {} is {value}, which is out of range", self.text));
        }
        Ok(value as u64)
    }

    fn extent(&self, what: &str, numbers: &[(String, f64)]) -> std::result::Result<u32, String> {
        let value = self.whole(what, u64::from(u32::MAX), numbers)?;
        if value == 0 {
            return Err(format!("{what} = {} is 0", self.text));
        }
        u32::try_from(value).map_err(|error| error.to_string())
    }
}

/// A shape without the axes at its end that are 1.
pub fn show_extents([x, y, z]: Extents) -> String {
    match (y, z) {
        (1, 1) => x.to_string(),
        (_, 1) => format!("{x}x{y}"),
        _ => format!("{x}x{y}x{z}"),
    }
}

/// `NAME=REST` with a name that expressions can use.
fn named(text: &Text, what: &str) -> Result<(String, Text)> {
    let usage = || Error::usage(format!("{} {}: write NAME={what}", text.place, text.text));
    let (name, rest) = text.text.split_once('=').ok_or_else(usage)?;
    let name = name.trim();
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !is_name {
        return Err(Error::usage(format!("{}: `{name}` is no name; letters, digits and _ make one", text.place)));
    }
    if rest.trim().is_empty() {
        return Err(usage());
    }
    Ok((name.to_owned(), Text::new(format!("{} {name}", text.place), rest.trim())))
}

fn taken(place: &str, name: &str) -> Error {
    Error::usage(format!("{place}: the name `{name}` is given twice"))
}

fn read_lets(texts: &[Text]) -> Result<Vec<(String, f64)>> {
    let mut lets: Vec<(String, f64)> = Vec::new();
    for text in texts {
        let (name, rest) = named(text, "NUMBER")?;
        if lets.iter().any(|(own, _)| *own == name) {
            return Err(taken(&text.place, &name));
        }
        let known: Vec<String> = lets.iter().map(|(name, _)| name.clone()).collect();
        let value = Formula::read(&rest, &known)?.evaluate(&lets).map_err(Error::usage)?;
        lets.push((name, value));
    }
    Ok(lets)
}

fn read_macros(texts: &[Text], lets: &[(String, f64)]) -> Result<Vec<Macro>> {
    let mut macros: Vec<Macro> = Vec::new();
    for text in texts {
        let (name, rest) = named(text, "VALUE,VALUE,...")?;
        if macros.iter().any(|own| own.name == name) || lets.iter().any(|(own, _)| *own == name) {
            return Err(taken(&text.place, &name));
        }
        let values = values_of(&rest, lets)?;
        if let Some(empty) = values.iter().position(String::is_empty) {
            return Err(Error::usage(format!("{} {}: value {} is empty", text.place, text.text, empty + 1)));
        }
        if let Some(twice) = (1..values.len()).find(|&at| values[..at].contains(&values[at])) {
            return Err(Error::usage(format!("{}: the value `{}` is given twice", rest.place, values[twice])));
        }
        macros.push(Macro { name, values });
    }
    Ok(macros)
}

/// The values of a list; ranges become their numbers.
pub(crate) fn values_of(list: &Text, lets: &[(String, f64)]) -> Result<Vec<String>> {
    let mut values = Vec::new();
    for item in split_list(&list.text) {
        match range(&Text::new(list.place.clone(), item), lets)? {
            Some(numbers) => values.extend(numbers.into_iter().map(|number| number.to_string())),
            None => values.push(item.trim().to_owned()),
        }
    }
    Ok(values)
}

fn read_block(text: &SpaceText, known: &[String], lets: &[(String, f64)], given: GivenShape) -> Result<BlockSpace> {
    let has_axes = text.axes.iter().any(|axis| !axis.is_empty());
    if let (Some(shape), true) = (text.block.first(), has_axes) {
        return Err(Error::usage(format!("{}: shapes and single axes of the block exclude each other", shape.place)));
    }
    if has_axes {
        let axis = |texts: &Vec<Text>| -> Result<Vec<Formula>> {
            let lists = texts.iter().map(|text| read_list(text, known, lets)).collect::<Result<Vec<_>>>()?;
            Ok(lists.concat())
        };
        let [x, y, z] = &text.axes;
        let axes = [axis(x)?, axis(y)?, axis(z)?];
        return Ok(BlockSpace::Axes(axes));
    }
    let items: Vec<(&Text, &str)> =
        text.block.iter().flat_map(|text| split_list(&text.text).into_iter().map(move |item| (text, item))).collect();
    let shapes: Option<Vec<Extents>> = items.iter().map(|(_, item)| shape(item)).collect();
    match shapes {
        _ if items.is_empty() => match given.block {
            Some(_) => Ok(BlockSpace::Given),
            None => Err(Error::usage("nothing says how many threads a block has")
                .with_help("give --block 64,128,256, or --block-x and --block-y, or a launch file with a block")),
        },
        Some(shapes) => match (1..shapes.len()).find(|&at| shapes[..at].contains(&shapes[at])) {
            Some(twice) => {
                let (text, shown) = (items[twice].0, show_extents(shapes[twice]));
                Err(Error::usage(format!("{}: the block {shown} is given twice", text.place)))
            }
            None => Ok(BlockSpace::Shapes(shapes)),
        },
        // A list with anything but shapes is one of values of the x axis.
        None => {
            let lists = text.block.iter().map(|text| read_list(text, known, lets)).collect::<Result<Vec<_>>>()?;
            Ok(BlockSpace::Axes([lists.concat(), Vec::new(), Vec::new()]))
        }
    }
}

/// `256` or `16x16`.
fn shape(item: &str) -> Option<Extents> {
    let parts: Vec<&str> = item.trim().split('x').collect();
    let numbers: Vec<u32> = parts.iter().map(|part| part.trim().parse().ok()).collect::<Option<_>>()?;
    if numbers.len() > AXES.len() || numbers.contains(&0) {
        return None;
    }
    let mut shape = [1; 3];
    shape[..numbers.len()].copy_from_slice(&numbers);
    Some(shape)
}

fn read_grid(text: &Text, known: &[String]) -> Result<Vec<Formula>> {
    let parts = split_list(&text.text);
    if parts.len() > AXES.len() {
        let message = format!("{} {}: a grid has one to three extents, not {}", text.place, text.text, parts.len());
        return Err(Error::usage(message).with_help("each further mapping is a --grid of its own"));
    }
    parts.iter().map(|part| Formula::read(&Text::new(text.place.clone(), part.trim()), known)).collect()
}

/// The expressions of a list; ranges become their numbers.
fn read_list(text: &Text, known: &[String], lets: &[(String, f64)]) -> Result<Vec<Formula>> {
    let mut formulas: Vec<Formula> = Vec::new();
    for item in split_list(&text.text) {
        let item = Text::new(text.place.clone(), item.trim());
        let items = match range(&item, lets)? {
            Some(numbers) => numbers.iter().map(|number| Text::new(text.place.clone(), number.to_string())).collect(),
            None => vec![item],
        };
        for item in &items {
            let formula = Formula::read(item, known)?;
            if formulas.iter().any(|before| before.text == formula.text) {
                return Err(Error::usage(format!("{}: the value {} is given twice", text.place, formula.text)));
            }
            formulas.push(formula);
        }
    }
    if formulas.len() > MOST_VALUES {
        return Err(Error::usage(format!("{}: {} values are too many", text.place, formulas.len())));
    }
    Ok(formulas)
}

/// Splits at commas outside of parentheses.
fn split_list(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// The number that comes after another.
type Step = Box<dyn Fn(u64) -> Option<u64>>;

/// The numbers of `A..B`, `A..B:STEP` or `A..B*FACTOR`, both ends included; `None` where there is no range.
fn range(item: &Text, lets: &[(String, f64)]) -> Result<Option<Vec<u64>>> {
    let Some((low, rest)) = item.text.split_once("..") else { return Ok(None) };
    let wrong = |why: &str| {
        Error::usage(format!("{} {}: {why}", item.place, item.text))
            .with_help("ranges are written 32..1024, 32..1024:32 (steps) or 32..1024*2 (factors)")
    };
    let known: Vec<String> = lets.iter().map(|(name, _)| name.clone()).collect();
    let number = |text: &str| -> Result<u64> {
        let formula = Formula::read(&Text::new(item.place.clone(), text.trim()), &known)?;
        formula.whole("a range's end", 1 << 53, lets).map_err(|reason| wrong(&reason))
    };
    let (high, next): (&str, Step) = match (rest.split_once(':'), rest.split_once('*')) {
        (Some((high, step)), _) => match number(step)? {
            0 => return Err(wrong("the step is 0")),
            step => (high, Box::new(move |value: u64| value.checked_add(step))),
        },
        (None, Some((high, factor))) => match number(factor)? {
            0 | 1 => return Err(wrong("the factor is not above 1")),
            factor => (high, Box::new(move |value: u64| value.checked_mul(factor))),
        },
        (None, None) => (rest, Box::new(|value: u64| value.checked_add(1))),
    };
    let (low, high) = (number(low)?, number(high)?);
    if low > high || (low == 0 && rest.contains('*')) {
        return Err(wrong("the range is empty"));
    }
    let numbers: Vec<u64> = std::iter::successors(Some(low), |&value| next(value))
        .take_while(|&value| value <= high)
        .take(MOST_VALUES + 1)
        .collect();
    if numbers.len() > MOST_VALUES {
        return Err(wrong("these are too many values"));
    }
    Ok(Some(numbers))
}

#[cfg(test)]
mod tests;
