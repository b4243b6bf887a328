//! Integer expressions over lanes, warps and loop counters.
//!
//! An expression is kept as a list of operations on a stack, so that neither a long nor a nested one needs recursion. An
//! operand that has no value (a division by zero, an overflow) makes a result that has none, unless `? :`, `&&` or `||`
//! do not ask for it.

/// A quantity that an expression may ask for.
pub(super) type Variable = u16;

pub(super) const LANE: Variable = 0;
pub(super) const WARP: Variable = 1;
pub(super) const THREAD: Variable = 2;
pub(super) const CTA: Variable = 3;
pub(super) const THREADS: Variable = 4;
/// The counters of loops and repeats follow.
pub(super) const FIRST_COUNTER: Variable = 5;

/// Names of the variables that are always there.
pub(super) const NAMES: [(&str, Variable); 5] =
    [("lane", LANE), ("warp", WARP), ("thread", THREAD), ("cta", CTA), ("threads", THREADS)];

/// An operation with two operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    And,
    Or,
    Xor,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    Both,
    Either,
}

/// Operators from the loosest to the tightest.
pub(super) const LEVELS: &[&[(&str, Binary)]] = &[
    &[("||", Binary::Either)],
    &[("&&", Binary::Both)],
    &[("|", Binary::Or)],
    &[("^", Binary::Xor)],
    &[("&", Binary::And)],
    &[("==", Binary::Equal), ("!=", Binary::NotEqual)],
    &[("<=", Binary::LessEqual), (">=", Binary::GreaterEqual), ("<", Binary::Less), (">", Binary::Greater)],
    &[("<<", Binary::Shl), (">>", Binary::Shr)],
    &[("+", Binary::Add), ("-", Binary::Sub)],
    &[("*", Binary::Mul), ("/", Binary::Div), ("%", Binary::Rem)],
];

/// An operation with one operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unary {
    Negate,
    Not,
    Invert,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    Value(i64),
    Variable(Variable),
    Unary(Unary),
    Binary(Binary),
    /// Takes condition, value if true, value if false.
    Choose,
}

/// An expression.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Expr(Vec<Op>);

impl Expr {
    pub(super) fn value(value: i64) -> Self {
        Self(vec![Op::Value(value)])
    }

    pub(super) fn variable(variable: Variable) -> Self {
        Self(vec![Op::Variable(variable)])
    }

    pub(super) fn unary(mut self, op: Unary) -> Self {
        self.0.push(Op::Unary(op));
        self
    }

    pub(super) fn binary(mut self, op: Binary, right: Self) -> Self {
        self.0.extend(right.0);
        self.0.push(Op::Binary(op));
        self
    }

    pub(super) fn choose(mut self, yes: Self, no: Self) -> Self {
        self.0.extend(yes.0);
        self.0.extend(no.0);
        self.0.push(Op::Choose);
        self
    }

    /// Operations in it.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// True when it asks for a variable of this kind.
    pub(super) fn asks(&self, of: impl Fn(Variable) -> bool) -> bool {
        self.0.iter().any(|op| matches!(op, Op::Variable(variable) if of(*variable)))
    }

    /// The value of an expression that asks for no variable.
    pub(super) fn constant(&self) -> Option<i64> {
        if self.asks(|_| true) { None } else { self.evaluate(&[], &mut Vec::new()) }
    }

    /// The value, if it has one; `stack` is scratch space.
    pub(super) fn evaluate(&self, variables: &[i64], stack: &mut Vec<Option<i64>>) -> Option<i64> {
        stack.clear();
        for op in &self.0 {
            let value = match *op {
                Op::Value(value) => Some(value),
                Op::Variable(variable) => variables.get(usize::from(variable)).copied(),
                Op::Unary(op) => pop(stack).and_then(|value| unary(op, value)),
                Op::Binary(op) => {
                    let right = pop(stack);
                    binary(op, pop(stack), right)
                }
                Op::Choose => {
                    let (no, yes) = (pop(stack), pop(stack));
                    pop(stack).and_then(|condition| if condition == 0 { no } else { yes })
                }
            };
            stack.push(value);
        }
        pop(stack)
    }
}

fn pop(stack: &mut Vec<Option<i64>>) -> Option<i64> {
    stack.pop().flatten()
}

fn unary(op: Unary, value: i64) -> Option<i64> {
    match op {
        Unary::Negate => value.checked_neg(),
        Unary::Not => Some(i64::from(value == 0)),
        Unary::Invert => Some(!value),
    }
}

fn binary(op: Binary, left: Option<i64>, right: Option<i64>) -> Option<i64> {
    match op {
        Binary::Both if left == Some(0) => return Some(0),
        Binary::Either if left.is_some_and(|left| left != 0) => return Some(1),
        _ => {}
    }
    let (left, right) = (left?, right?);
    let shift = || u32::try_from(right).ok().filter(|&by| by < 64);
    match op {
        Binary::Add => left.checked_add(right),
        Binary::Sub => left.checked_sub(right),
        Binary::Mul => left.checked_mul(right),
        Binary::Div => left.checked_div(right),
        Binary::Rem => left.checked_rem(right),
        Binary::Shl => shift().and_then(|by| left.checked_mul(1_i64.checked_shl(by)?)),
        Binary::Shr => shift().map(|by| left >> by),
        Binary::And => Some(left & right),
        Binary::Or => Some(left | right),
        Binary::Xor => Some(left ^ right),
        Binary::Less => Some(i64::from(left < right)),
        Binary::LessEqual => Some(i64::from(left <= right)),
        Binary::Greater => Some(i64::from(left > right)),
        Binary::GreaterEqual => Some(i64::from(left >= right)),
        Binary::Equal => Some(i64::from(left == right)),
        Binary::NotEqual => Some(i64::from(left != right)),
        Binary::Both | Binary::Either => Some(i64::from(right != 0)),
    }
}
