//! How the result of an operation depends on the CTA, and what its operands must keep for that.

use warplens_ir::Inst;
use warplens_isa::{CompareOp, Comparison, Op, ScalarType};

use crate::operation::{self, limits, number};
use crate::region::{Dependence, Region};
use crate::value::{Truth, Value, lanes_of};
use crate::walk::Stop;

/// Dependence of the result of `inst` on `sources`, read in `types`, in the lanes of `mask`. The region shrinks to the
/// CTAs for which it holds.
pub(crate) fn result(
    inst: &Inst,
    sources: &[Value],
    types: &[Option<ScalarType>; 4],
    mask: u32,
    region: &mut Region,
) -> Result<Dependence, Stop> {
    if sources.iter().all(|source| source.dependence.is_none()) {
        return Ok(Dependence::NONE);
    }
    let known = sources.iter().fold(mask, |known, source| known & source.known);
    if known == 0 {
        return Ok(Dependence::NONE);
    }
    let bits = inst.ty.bits();
    let follower = Follower { sources, types, known };
    let dependence = match inst.op() {
        Op::Mov => sources[0].dependence,
        Op::Add if !inst.operation.saturates() => sources[0].dependence.plus(&sources[1].dependence).in_bits(bits),
        Op::Sub if !inst.operation.saturates() => sources[0].dependence.minus(&sources[1].dependence).in_bits(bits),
        Op::Neg => Dependence::NONE.minus(&sources[0].dependence).in_bits(bits),
        Op::Not => Dependence::NONE.minus(&sources[0].dependence).in_bits(bits),
        Op::Mul => follower.product().in_bits(bits),
        Op::Mad => follower.product().plus(&sources[2].dependence).in_bits(bits),
        Op::MulWide => follower.wide_product(region),
        Op::MadWide => follower.wide_product(region).plus(&sources[2].dependence),
        Op::Shl => match sources[1].uniform(known) {
            Some(amount) if amount < 64 => sources[0].dependence.map(|step| Some(step << amount)).in_bits(bits),
            _ => follower.opaque(),
        },
        Op::Shr => match sources[1].uniform(known) {
            Some(amount) if amount < u64::from(bits) => follower.quotient(1 << amount, region)?,
            _ => follower.opaque(),
        },
        Op::Div => match follower.divisor() {
            Some(divisor) => follower.quotient(divisor, region)?,
            None => follower.opaque(),
        },
        Op::Rem => match follower.divisor() {
            Some(divisor) => follower.remainder(divisor, region)?,
            None => follower.opaque(),
        },
        Op::And => follower.masked(region)?,
        Op::Or | Op::Xor => follower.joined(region)?,
        Op::Min | Op::Max => follower.chosen(inst.op() == Op::Min, region),
        Op::Cvt if !inst.operation.saturates() => follower.converted(inst, region),
        _ => follower.opaque(),
    };
    Ok(dependence)
}

struct Follower<'a> {
    sources: &'a [Value],
    types: &'a [Option<ScalarType>; 4],
    /// Lanes in which all sources are known.
    known: u32,
}

impl Follower<'_> {
    fn ty(&self, source: usize) -> ScalarType {
        self.types[source].unwrap_or(ScalarType::B64)
    }

    /// Depends on everything that the sources depend on, in a way that is not followed.
    fn opaque(&self) -> Dependence {
        Dependence::opaque(self.sources.iter().fold(0, |axes, source| axes | source.dependence.axes()))
    }

    /// Smallest and largest number of a source.
    fn extent(&self, source: usize) -> (i128, i128) {
        extent(self.ty(source), &self.sources[source], self.known)
    }

    /// Keeps a source from leaving the range of its type.
    fn keep_in_type(&self, source: usize, region: &mut Region) {
        let (least, most) = self.extent(source);
        let (low, high) = limits(self.ty(source));
        region.keep(&self.sources[source].dependence, least, most, low, high);
    }

    /// A factor that is the same in all lanes and CTAs, and the other source.
    fn factor(&self) -> Option<(usize, i128)> {
        [(0, 1), (1, 0)].into_iter().find_map(|(other, factor)| {
            let value = self.sources[factor].uniform(self.known)?;
            Some((other, number(self.ty(factor), value)))
        })
    }

    fn product(&self) -> Dependence {
        match self.factor() {
            Some((other, factor)) => self.sources[other].dependence.map(|step| Some(step.wrapping_mul(factor as i64))),
            None => self.product_opaque(),
        }
    }

    fn product_opaque(&self) -> Dependence {
        Dependence::opaque(self.sources[0].dependence.axes() | self.sources[1].dependence.axes())
    }

    fn wide_product(&self, region: &mut Region) -> Dependence {
        match self.factor() {
            Some((other, factor)) => {
                self.keep_in_type(other, region);
                let factor = factor as i64;
                self.sources[other].dependence.map(|step| step.checked_mul(factor))
            }
            None => self.product_opaque(),
        }
    }

    /// A positive divisor that is the same in all lanes and CTAs, where the dividend is not negative.
    fn divisor(&self) -> Option<u64> {
        let divisor = number(self.ty(1), self.sources[1].uniform(self.known)?);
        (divisor > 0 && self.extent(0).0 >= 0).then_some(divisor as u64)
    }

    /// The first source divided by a number: one that divides its steps, or each lane keeps its quotient.
    fn quotient(&self, divisor: u64, region: &mut Region) -> Result<Dependence, Stop> {
        let value = &self.sources[0];
        if value.dependence.opaque == 0 && !region.can_keep_modulo(&value.dependence, divisor) {
            self.keep_quotients(divisor, region);
            return Ok(Dependence::NONE);
        }
        region.keep_modulo(&value.dependence, divisor)?;
        let (least, most) = self.extent(0);
        let (low, high) = limits(self.ty(0));
        // A negative number is rounded the other way by a division.
        region.keep(&value.dependence, least, most, if least >= 0 { 0 } else { low }, high);
        let divisor = i64::try_from(divisor).unwrap_or(i64::MAX);
        Ok(value.dependence.map(|step| (step % divisor == 0).then_some(step / divisor)))
    }

    fn remainder(&self, divisor: u64, region: &mut Region) -> Result<Dependence, Stop> {
        let value = &self.sources[0];
        if value.dependence.opaque == 0 && !region.can_keep_modulo(&value.dependence, divisor) {
            self.keep_quotients(divisor, region);
            return Ok(value.dependence);
        }
        region.keep_modulo(&value.dependence, divisor)?;
        let (least, most) = self.extent(0);
        region.keep(&value.dependence, least, most, 0, limits(self.ty(0)).1);
        Ok(Dependence::NONE)
    }

    /// Keeps the quotient of each lane.
    fn keep_quotients(&self, divisor: u64, region: &mut Region) {
        let divisor = i128::from(divisor);
        for lane in lanes_of(self.known) {
            let value = number(self.ty(0), self.sources[0].lanes[lane]);
            let low = value.div_euclid(divisor) * divisor;
            region.keep(&self.sources[0].dependence, value, value, low, low + divisor - 1);
        }
    }

    /// Two to the power of the number of bits that a source without dependence needs, and the other source.
    fn low_bits(&self) -> Option<(usize, u64)> {
        [(0, 1), (1, 0)].into_iter().find_map(|(other, constant)| {
            let constant = &self.sources[constant];
            let all = lanes_of(self.known).fold(0, |bits, lane| bits | constant.lanes[lane]);
            (constant.dependence.is_none() && all < 1 << 32).then(|| (other, (all + 1).next_power_of_two()))
        })
    }

    /// And with a mask: only the bits below its highest matter.
    fn masked(&self, region: &mut Region) -> Result<Dependence, Stop> {
        let bits = self.ty(0).bits();
        for (other, constant) in [(0, 1), (1, 0)] {
            let Some(mask) = self.sources[constant].uniform(self.known) else { continue };
            // A mask that clears low bits only keeps the steps that do not touch them.
            let cleared = (!mask & (u64::MAX >> (64 - bits))).checked_add(1);
            if let Some(unit) = cleared
                && unit.is_power_of_two()
                && mask != 0
            {
                region.keep_modulo(&self.sources[other].dependence, unit)?;
                return Ok(self.sources[other].dependence);
            }
        }
        let Some((other, modulus)) = self.low_bits() else { return Ok(self.opaque()) };
        let value = &self.sources[other];
        let is_whole = self.sources[1 - other].uniform(self.known) == Some(modulus - 1);
        let (least, most) = self.extent(other);
        if is_whole && value.dependence.opaque == 0 && least >= 0 && most < i128::from(modulus) {
            // Nothing is masked away, as long as the value does not grow.
            if !region.can_keep_modulo(&value.dependence, modulus) {
                region.keep(&value.dependence, least, most, 0, i128::from(modulus) - 1);
                return Ok(value.dependence);
            }
        }
        region.keep_modulo(&value.dependence, modulus)?;
        Ok(Dependence::NONE)
    }

    /// Or and exclusive or with bits below those that the steps touch.
    fn joined(&self, region: &mut Region) -> Result<Dependence, Stop> {
        match self.low_bits() {
            Some((other, modulus)) => {
                region.keep_modulo(&self.sources[other].dependence, modulus)?;
                Ok(self.sources[other].dependence)
            }
            None => Ok(self.opaque()),
        }
    }

    /// Minimum or maximum, where each lane keeps choosing what it chooses here.
    fn chosen(&self, least: bool, region: &mut Region) -> Dependence {
        let (a, b) = (&self.sources[0], &self.sources[1]);
        self.keep_in_type(0, region);
        self.keep_in_type(1, region);
        keep_signs(self.ty(0), a, b, self.known, &[Sign::Negative, Sign::NotNegative], region);
        let ty = self.ty(0);
        let is_first = |lane: usize| (number(ty, a.lanes[lane]) < number(ty, b.lanes[lane])) == least;
        match (lanes_of(self.known).any(is_first), lanes_of(self.known).any(|lane| !is_first(lane))) {
            (true, false) => a.dependence,
            (false, true) => b.dependence,
            _ => a.dependence.of_either(&b.dependence),
        }
    }

    fn converted(&self, inst: &Inst, region: &mut Region) -> Dependence {
        // A wider type sees the number, a narrower one its low bits.
        if inst.ty.bits() > inst.source_ty.bits() {
            self.keep_in_type(0, region);
        }
        self.sources[0].dependence.in_bits(inst.ty.bits())
    }
}

/// Smallest and largest number of a value in the lanes of `mask`, which is not empty.
fn extent(ty: ScalarType, value: &Value, mask: u32) -> (i128, i128) {
    let numbers = || lanes_of(mask).map(|lane| number(ty, value.lanes[lane]));
    (numbers().min().unwrap_or(0), numbers().max().unwrap_or(0))
}

/// Signs of a difference that a decision tells apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Negative,
    NotNegative,
    NotPositive,
    Positive,
    Zero,
}

impl Sign {
    fn holds(self, difference: i128) -> bool {
        match self {
            Self::Negative => difference < 0,
            Self::NotNegative => difference >= 0,
            Self::NotPositive => difference <= 0,
            Self::Positive => difference > 0,
            Self::Zero => difference == 0,
        }
    }

    fn range(self) -> (i128, i128) {
        const FAR: i128 = 1 << 100;
        match self {
            Self::Negative => (-FAR, -1),
            Self::NotNegative => (0, FAR),
            Self::NotPositive => (-FAR, 0),
            Self::Positive => (1, FAR),
            Self::Zero => (0, 0),
        }
    }
}

/// Keeps the sign of `a` minus `b` in each lane, as far as `signs` tell them apart.
fn keep_signs(ty: ScalarType, a: &Value, b: &Value, mask: u32, signs: &[Sign], region: &mut Region) {
    let dependence = a.dependence.minus(&b.dependence);
    if dependence.is_none() {
        return;
    }
    let differences: Vec<i128> =
        lanes_of(mask).map(|lane| number(ty, a.lanes[lane]) - number(ty, b.lanes[lane])).collect();
    for sign in signs {
        let of_sign = || differences.iter().copied().filter(|&difference| sign.holds(difference));
        if let (Some(least), Some(most)) = (of_sign().min(), of_sign().max()) {
            let (low, high) = sign.range();
            region.keep(&dependence, least, most, low, high);
        }
    }
}

/// Truth of a comparison, the same in all CTAs of the region.
pub(crate) fn compared(
    inst: &Inst,
    comparison: &Comparison,
    a: &Value,
    b: &Value,
    mask: u32,
    region: &mut Region,
) -> Truth {
    let op = comparison.op;
    let Some(compare) = operation::comparison(inst.source_ty, op) else { return Truth::UNKNOWN };
    let known = mask & a.known & b.known;
    let bits =
        lanes_of(known).fold(0, |bits, lane| bits | u32::from(compare(op, a.lanes[lane], b.lanes[lane])) << lane);
    let opaque = a.dependence.opaque | b.dependence.opaque;
    if opaque != 0 {
        return Truth { bits, known, opaque: a.dependence.axes() | b.dependence.axes() };
    }
    if known != 0 && !(a.dependence.is_none() && b.dependence.is_none()) {
        let ty = operation::unsigned_if(inst.source_ty, op);
        let follower = Follower { sources: &[a.clone(), b.clone()], types: &[Some(ty), Some(ty), None, None], known };
        follower.keep_in_type(0, region);
        follower.keep_in_type(1, region);
        keep_signs(ty, a, b, known, signs_of(op), region);
    }
    Truth { bits, known, opaque: 0 }
}

fn signs_of(op: CompareOp) -> &'static [Sign] {
    use CompareOp as C;
    match op {
        C::Lt | C::Lo | C::Ge | C::Hs => &[Sign::Negative, Sign::NotNegative],
        C::Le | C::Ls | C::Gt | C::Hi => &[Sign::NotPositive, Sign::Positive],
        _ => &[Sign::Negative, Sign::Zero, Sign::Positive],
    }
}
