//! Expressions over named sizes: `ceil(n/block.x)`, `block.x*block.y <= 1024`.
//!
//! Values are double-precision numbers, so that a quotient keeps its fraction until `ceil` or `floor` takes it; whole
//! numbers are exact up to 2^53. A comparison is 1 where it holds and 0 where it does not.

use warplens_base::{Span, nearest};

use warplens_base::error::{Error, ErrorKind};

/// An expression that was read.
#[derive(Clone, PartialEq, Debug)]
pub struct Expression {
    node: Node,
}

/// What is wrong with an expression, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExpressionError {
    /// The place in the text.
    pub span: Span,
    /// What is wrong: a clause without a final period.
    pub message: String,
    /// The way out, where one is known.
    pub help: Option<String>,
}

#[derive(Clone, PartialEq, Debug)]
struct Node {
    span: Span,
    kind: Kind,
}

#[derive(Clone, PartialEq, Debug)]
enum Kind {
    Number(f64),
    Name(String),
    Negate(Box<Node>),
    Not(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Function {
    Ceil,
    Floor,
    Round,
    Min,
    Max,
}

/// Every function with its name and the most arguments that it takes.
const FUNCTIONS: [(&str, Function, usize); 5] = [
    ("ceil", Function::Ceil, 1),
    ("floor", Function::Floor, 1),
    ("round", Function::Round, 1),
    ("min", Function::Min, usize::MAX),
    ("max", Function::Max, usize::MAX),
];

/// Operators by how tightly they bind, loosest first. A longer sign stands before the shorter one that it begins with.
const LEVELS: [&[(&str, Operator)]; 6] = [
    &[("||", Operator::Or)],
    &[("&&", Operator::And)],
    &[
        ("==", Operator::Equal),
        ("!=", Operator::Unequal),
        ("<=", Operator::LessEqual),
        (">=", Operator::GreaterEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ],
    &[("<<", Operator::ShiftLeft), (">>", Operator::ShiftRight)],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)],
];

/// Parentheses and signs within each other; more is no expression that a person wrote.
const DEEPEST: usize = 64;
/// Bytes of an expression; a chain of operators is a tree as deep as the chain is long.
const LONGEST: usize = 2048;

type Result<T> = std::result::Result<T, ExpressionError>;

impl Expression {
    /// Reads the whole of `text`.
    pub fn parse(text: &str) -> Result<Self> {
        if text.len() > LONGEST {
            let message = format!("the expression is longer than {LONGEST} bytes");
            return Err(ExpressionError { span: Span::new(0, 1), message, help: None });
        }
        let mut parser = Parser { text, at: 0, depth: 0 };
        let node = parser.level(0)?;
        match parser.peek() {
            None => Ok(Self { node }),
            Some('=') => Err(parser.error_here("`=` is no operator", Some("a comparison is written =="))),
            Some(found) => Err(parser.error_here(&format!("expected an operator or the end, found `{found}`"), None)),
        }
    }

    /// The names in it, in order of appearance, each with its place.
    pub fn names(&self) -> Vec<(&str, Span)> {
        let mut names = Vec::new();
        self.node.collect_names(&mut names);
        names
    }

    /// Its value, where `value_of` knows the names.
    pub fn evaluate(&self, value_of: &dyn Fn(&str) -> Option<f64>) -> Result<f64> {
        let value = self.node.evaluate(value_of)?;
        if value.is_finite() { Ok(value) } else { Err(self.node.error(format!("the value is {value}"))) }
    }

    /// Refuses names that are not among `known`.
    pub fn check_names(&self, known: &[&str]) -> Result<()> {
        let Some((name, span)) = self.names().into_iter().find(|(name, _)| !known.contains(name)) else {
            return Ok(());
        };
        let help = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if name.contains('.') => format!("the names here are {}", known.join(", ")),
            None => format!("give the size with --let {name}=NUMBER"),
        };
        Err(ExpressionError { span, message: format!("there is no value `{name}`"), help: Some(help) })
    }
}

impl ExpressionError {
    /// The same as a failure of the request; `place` is what messages call the text.
    pub(crate) fn within(self, place: &str, text: &str) -> Error {
        let mut error = Error::at(ErrorKind::Usage, place, text, "T001", self.span, self.message);
        if let (Some(findings), Some(help)) = (&mut error.findings, self.help) {
            findings.diagnostics[0].help = Some(help);
        }
        error
    }
}

impl Node {
    fn error(&self, message: String) -> ExpressionError {
        ExpressionError { span: self.span, message, help: None }
    }

    fn collect_names<'n>(&'n self, names: &mut Vec<(&'n str, Span)>) {
        match &self.kind {
            Kind::Number(_) => {}
            Kind::Name(name) => names.push((name, self.span)),
            Kind::Negate(inner) | Kind::Not(inner) => inner.collect_names(names),
            Kind::Binary(_, left, right) => {
                left.collect_names(names);
                right.collect_names(names);
            }
            Kind::Call(_, arguments) => arguments.iter().for_each(|argument| argument.collect_names(names)),
        }
    }

    fn evaluate(&self, value_of: &dyn Fn(&str) -> Option<f64>) -> Result<f64> {
        match &self.kind {
            Kind::Number(number) => Ok(*number),
            Kind::Name(name) => value_of(name).ok_or_else(|| self.error(format!("there is no number `{name}`"))),
            Kind::Negate(inner) => Ok(-inner.evaluate(value_of)?),
            Kind::Not(inner) => Ok(f64::from(inner.evaluate(value_of)? == 0.0)),
            Kind::Binary(operator, left, right) => {
                let (a, b) = (left.evaluate(value_of)?, right.evaluate(value_of)?);
                if matches!(operator, Operator::Divide | Operator::Remainder) && b == 0.0 {
                    return Err(right.error("this is 0, and nothing can be divided by it".to_owned()));
                }
                Ok(operator.apply(a, b))
            }
            Kind::Call(function, arguments) => {
                let values = arguments.iter().map(|argument| argument.evaluate(value_of));
                Ok(function.apply(&values.collect::<Result<Vec<f64>>>()?))
            }
        }
    }
}

impl Operator {
    fn apply(self, a: f64, b: f64) -> f64 {
        let truth = |holds: bool| f64::from(holds);
        match self {
            Self::Or => truth(a != 0.0 || b != 0.0),
            Self::And => truth(a != 0.0 && b != 0.0),
            Self::Equal => truth(a == b),
            Self::Unequal => truth(a != b),
            Self::Less => truth(a < b),
            Self::LessEqual => truth(a <= b),
            Self::Greater => truth(a > b),
            Self::GreaterEqual => truth(a >= b),
            Self::ShiftLeft => a * b.exp2(),
            Self::ShiftRight => (a / b.exp2()).floor(),
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide => a / b,
            Self::Remainder => a % b,
        }
    }
}

impl Function {
    fn apply(self, values: &[f64]) -> f64 {
        let fold = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick);
        let value = match self {
            Self::Ceil => values.first().map(|value| value.ceil()),
            Self::Floor => values.first().map(|value| value.floor()),
            Self::Round => values.first().map(|value| value.round()),
            Self::Min => fold(f64::min),
            Self::Max => fold(f64::max),
        };
        value.expect("the parser gives every function an argument")
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&mut self) -> Option<char> {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        self.rest().chars().next()
    }

    fn span_from(&self, start: usize) -> Span {
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Span::new(offset(start), offset(self.at))
    }

    fn error_here(&mut self, message: &str, help: Option<&str>) -> ExpressionError {
        let width = self.peek().map_or(0, char::len_utf8);
        let start = self.at;
        self.at += width;
        ExpressionError { span: self.span_from(start), message: message.to_owned(), help: help.map(str::to_owned) }
    }

    fn level(&mut self, level: usize) -> Result<Node> {
        let Some(operators) = LEVELS.get(level) else { return self.prefixed() };
        self.peek();
        let start = self.at;
        let mut left = self.level(level + 1)?;
        while let Some(operator) = self.operator(operators) {
            let right = self.level(level + 1)?;
            let kind = Kind::Binary(operator, Box::new(left), Box::new(right));
            left = Node { span: self.span_from(start), kind };
        }
        Ok(left)
    }

    /// Takes one of the operators, if it comes next.
    fn operator(&mut self, operators: &[(&str, Operator)]) -> Option<Operator> {
        self.peek();
        let rest = self.rest();
        // `<` of a shift is no comparison.
        let is_shift = rest.starts_with("<<") || rest.starts_with(">>");
        let found = operators.iter().find(|(sign, _)| rest.starts_with(sign) && !(is_shift && sign.len() == 1));
        let &(sign, operator) = found?;
        self.at += sign.len();
        Some(operator)
    }

    fn prefixed(&mut self) -> Result<Node> {
        let first = self.peek();
        let start = self.at;
        if !matches!(first, Some('-' | '!' | '+')) {
            return self.atom();
        }
        self.at += 1;
        let inner = self.deeper(Self::prefixed)?;
        let kind = match first {
            Some('-') => Kind::Negate(Box::new(inner)),
            Some('!') => Kind::Not(Box::new(inner)),
            _ => return Ok(inner),
        };
        Ok(Node { span: self.span_from(start), kind })
    }

    fn deeper(&mut self, parse: impl FnOnce(&mut Self) -> Result<Node>) -> Result<Node> {
        if self.depth == DEEPEST {
            return Err(self.error_here("the expression is nested too deeply", None));
        }
        self.depth += 1;
        let node = parse(self)?;
        self.depth -= 1;
        Ok(node)
    }

    fn atom(&mut self) -> Result<Node> {
        match self.peek() {
            Some('(') => {
                let open = self.at;
                self.at += 1;
                let inner = self.deeper(|parser| parser.level(0))?;
                self.close(open)?;
                Ok(inner)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => self.named(),
            Some(found) => Err(self.error_here(&format!("expected a number, a name or `(`, found `{found}`"), None)),
            None => Err(self.error_here("expected a number, a name or `(`, but the expression ends", None)),
        }
    }

    fn close(&mut self, open: usize) -> Result<()> {
        if self.peek() == Some(')') {
            self.at += 1;
            return Ok(());
        }
        let found = self.peek().map_or("but the expression ends".to_owned(), |found| format!("found `{found}`"));
        let at = u32::try_from(open).unwrap_or(u32::MAX);
        let message = format!("this `(` is not closed: expected `)`, {found}");
        Err(ExpressionError { span: Span::new(at, at.saturating_add(1)), message, help: None })
    }

    fn number(&mut self) -> Result<Node> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let is_hex = self.rest().starts_with("0x") || self.rest().starts_with("0X");
        while let Some(&byte) = bytes.get(self.at) {
            let is_exponent_sign = !is_hex && matches!(byte, b'+' | b'-') && matches!(bytes[self.at - 1], b'e' | b'E');
            if !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_') || is_exponent_sign && self.at > start) {
                break;
            }
            self.at += 1;
        }
        let span = self.span_from(start);
        let digits = self.text[start..self.at].replace('_', "");
        let number = match digits.get(2..) {
            Some(hex) if is_hex => u64::from_str_radix(hex, 16).ok().map(|number| number as f64),
            _ => digits.parse().ok().filter(|number: &f64| number.is_finite()),
        };
        match number {
            Some(number) => Ok(Node { span, kind: Kind::Number(number) }),
            None => {
                let message = format!("`{}` is no number", &self.text[start..self.at]);
                Err(ExpressionError { span, message, help: None })
            }
        }
    }

    fn named(&mut self) -> Result<Node> {
        let start = self.at;
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        self.at += self.rest().find(|c| !is_part(c)).unwrap_or(self.rest().len());
        let name = &self.text[start..self.at];
        let span = self.span_from(start);
        if self.peek() != Some('(') {
            return Ok(Node { span, kind: Kind::Name(name.to_owned()) });
        }
        let Some(&(_, function, most)) = FUNCTIONS.iter().find(|(own, ..)| *own == name) else {
            let names = FUNCTIONS.map(|(name, ..)| name);
            let help = match nearest(name, names) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the functions are {}", names.join(", ")),
            };
            return Err(ExpressionError { span, message: format!("there is no function `{name}`"), help: Some(help) });
        };
        let open = self.at;
        self.at += 1;
        let mut arguments = vec![self.deeper(|parser| parser.level(0))?];
        while self.peek() == Some(',') {
            self.at += 1;
            arguments.push(self.deeper(|parser| parser.level(0))?);
        }
        self.close(open)?;
        let span = self.span_from(start);
        if arguments.len() > most {
            let message = format!("`{name}` takes one argument, not {}", arguments.len());
            return Err(ExpressionError { span, message, help: None });
        }
        Ok(Node { span, kind: Kind::Call(function, arguments) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(text: &str) -> f64 {
        let known = |name: &str| match name {
            "n" => Some(1000.0),
            "block.x" => Some(256.0),
            "TILE" => Some(16.0),
            _ => None,
        };
        Expression::parse(text)
            .and_then(|expression| expression.evaluate(&known))
            .unwrap_or_else(|error| panic!("{text}: {error:?}"))
    }

    #[test]
    fn values() {
        let cases = [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("10 - 4 - 3", 3.0),
            ("100 / 8 / 2", 6.25),
            ("7 % 4", 3.0),
            ("-2 * -3", 6.0),
            ("1<<20", 1_048_576.0),
            ("1 << 2 + 1", 8.0),
            ("17 >> 2", 4.0),
            ("0x10 + 1e3 + 1_000 + .5", 2016.5),
            ("1e-3*1000", 1.0),
            ("ceil(n/block.x)", 4.0),
            ("floor(n/block.x)", 3.0),
            ("round(2.5)", 3.0),
            ("min(n, block.x, TILE)", 16.0),
            ("max(n,block.x)", 1000.0),
            ("block.x*TILE <= 4096", 1.0),
            ("block.x < 256 || TILE == 16 && !(n != 1000)", 1.0),
            ("block.x>=257", 0.0),
            ("2 > 1", 1.0),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn errors_have_their_place() {
        let cases = [
            ("", 0, 0, "expected a number, a name or `(`, but the expression ends"),
            ("n +", 3, 3, "expected a number, a name or `(`, but the expression ends"),
            ("n / / 2", 4, 5, "expected a number, a name or `(`, found `/`"),
            ("ceil(n/2", 4, 5, "this `(` is not closed: expected `)`, but the expression ends"),
            ("n 2", 2, 3, "expected an operator or the end, found `2`"),
            ("n = 2", 2, 3, "`=` is no operator"),
            ("12monkeys", 0, 9, "`12monkeys` is no number"),
            ("cell(n)", 0, 4, "there is no function `cell`"),
            ("ceil(n, 2)", 0, 10, "`ceil` takes one argument, not 2"),
            ("n / é", 4, 6, "expected a number, a name or `(`, found `é`"),
        ];
        for (text, start, end, message) in cases {
            let error = Expression::parse(text).unwrap_err();
            assert_eq!((error.span, error.message.as_str()), (Span::new(start, end), message), "{text}");
        }
        let help = |text: &str| Expression::parse(text).unwrap_err().help;
        assert_eq!(help("cell(n)").as_deref(), Some("did you mean `ceil`?"));
        assert_eq!(help("n = 2").as_deref(), Some("a comparison is written =="));
    }

    #[test]
    fn values_that_do_not_exist_have_their_place() {
        let evaluate = |text: &str| Expression::parse(text).unwrap().evaluate(&|_| Some(0.0)).unwrap_err();
        assert_eq!(evaluate("1 + 4/(n*2)").span, Span::new(7, 10));
        assert_eq!(evaluate("1e308*10").message, "the value is inf");
        let unknown = Expression::parse("ceil(m/2)").unwrap();
        let error = unknown.check_names(&["n", "block.x"]).unwrap_err();
        assert_eq!((error.span, error.message.as_str()), (Span::new(5, 6), "there is no value `m`"));
        assert_eq!(error.help.as_deref(), Some("give the size with --let m=NUMBER"));
        let typo = Expression::parse("blok.x").unwrap().check_names(&["n", "block.x"]).unwrap_err();
        assert_eq!(typo.help.as_deref(), Some("did you mean `block.x`?"));
    }

    #[test]
    fn a_long_chain_is_no_way_to_use_the_stack_up() {
        let error = Expression::parse(&format!("{}1", "1+".repeat(1_000_000))).unwrap_err();
        assert_eq!(error.message, "the expression is longer than 2048 bytes");
        let longest = Expression::parse(&format!("{}1", "1+".repeat(1023))).unwrap();
        assert_eq!(longest.evaluate(&|_| None), Ok(1024.0));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            if let Ok(expression) = Expression::parse(&text) {
                let _ = expression.evaluate(&|_| Some(3.0));
            }
        }

        #[test]
        fn nothing_like_an_expression_makes_it_panic(
            parts in proptest::collection::vec(
                prop_oneof!["[0-9]{1,3}", "[a-z]{1,4}", Just("block.x".to_owned()), Just("ceil(".to_owned()),
                    Just("min(".to_owned()), "[-+*/%()<>=!&|,. é]"], 0..24)
        ) {
            let text = parts.concat();
            match Expression::parse(&text) {
                Ok(expression) => { let _ = expression.evaluate(&|_| Some(0.0)); }
                Err(error) => prop_assert!(error.span.end as usize <= text.len()),
            }
        }

        #[test]
        fn ceil_of_a_quotient_is_exact(n in 1u64..1 << 40, d in 1u64..1 << 11) {
            let expression = Expression::parse("ceil(n/d)").unwrap();
            let value = expression.evaluate(&|name| Some(if name == "n" { n as f64 } else { d as f64 }));
            prop_assert_eq!(value, Ok(n.div_ceil(d) as f64));
        }

        #[test]
        fn deep_nesting_is_refused(depth in 65usize..5000) {
            prop_assert!(Expression::parse(&"(".repeat(depth)).is_err());
            prop_assert!(Expression::parse(&"-".repeat(depth)).is_err());
            if let Ok(chain) = Expression::parse(&format!("{}1", "1-".repeat(depth))) {
                prop_assert!(chain.evaluate(&|_| None).is_ok());
            }
        }
    }
}
