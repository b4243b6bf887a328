//! Integer arithmetic, shifts and bit manipulation.
//!
//! Functions are generic over the integer types [`Int`]; the type argument is the instruction's type suffix.
//! Arithmetic wraps.

use warplens_isa::PrmtMode;

/// An integer type of PTX.
pub trait Int: Copy + Ord + Default + std::fmt::Debug {
    /// The type of `mul.wide` results.
    type Wide: Int;
    const BITS: u32;
    const SIGNED: bool;
    const MIN: Self;
    const MAX: Self;

    fn wrapping_add(self, other: Self) -> Self;
    fn wrapping_sub(self, other: Self) -> Self;
    fn wrapping_mul(self, other: Self) -> Self;
    fn saturating_add(self, other: Self) -> Self;
    fn saturating_sub(self, other: Self) -> Self;
    fn mul_hi(self, other: Self) -> Self;
    fn widen(self) -> Self::Wide;
    /// Shifts by less than the width.
    fn shift_left(self, n: u32) -> Self;
    /// Shifts by less than the width, with the sign for signed types.
    fn shift_right(self, n: u32) -> Self;
    fn not(self) -> Self;
    fn checked_div(self, other: Self) -> Option<Self>;
    fn checked_rem(self, other: Self) -> Option<Self>;
    /// The bits, extended with zeros.
    fn to_bits(self) -> u64;
    /// The low bits.
    fn from_bits(bits: u64) -> Self;
    /// The value, extended by its sign if signed.
    fn to_i128(self) -> i128;
    /// The nearest f32, ties to even.
    fn to_f32(self) -> f32;
    /// The nearest f64, ties to even.
    fn to_f64(self) -> f64;
    /// An integral number, clamped; NaN gives zero.
    fn from_f32(x: f32) -> Self;
    /// An integral number, clamped; NaN gives zero.
    fn from_f64(x: f64) -> Self;
}

macro_rules! int {
    ($($type:ident, $unsigned:ident, $wide:ident, $product:ident, $signed:literal;)*) => {$(
        impl Int for $type {
            type Wide = $wide;
            const BITS: u32 = $type::BITS;
            const SIGNED: bool = $signed;
            const MIN: Self = $type::MIN;
            const MAX: Self = $type::MAX;

            #[inline(always)]
            fn wrapping_add(self, other: Self) -> Self {
                $type::wrapping_add(self, other)
            }
            #[inline(always)]
            fn wrapping_sub(self, other: Self) -> Self {
                $type::wrapping_sub(self, other)
            }
            #[inline(always)]
            fn wrapping_mul(self, other: Self) -> Self {
                $type::wrapping_mul(self, other)
            }
            #[inline(always)]
            fn saturating_add(self, other: Self) -> Self {
                $type::saturating_add(self, other)
            }
            #[inline(always)]
            fn saturating_sub(self, other: Self) -> Self {
                $type::saturating_sub(self, other)
            }
            #[inline(always)]
            fn mul_hi(self, other: Self) -> Self {
                ((self as $product * other as $product) >> $type::BITS) as $type
            }
            #[inline(always)]
            fn widen(self) -> $wide {
                self as $wide
            }
            #[inline(always)]
            fn shift_left(self, n: u32) -> Self {
                $type::wrapping_shl(self, n)
            }
            #[inline(always)]
            fn shift_right(self, n: u32) -> Self {
                $type::wrapping_shr(self, n)
            }
            #[inline(always)]
            fn not(self) -> Self {
                !self
            }
            #[inline(always)]
            fn checked_div(self, other: Self) -> Option<Self> {
                if other == 0 { None } else { Some($type::wrapping_div(self, other)) }
            }
            #[inline(always)]
            fn checked_rem(self, other: Self) -> Option<Self> {
                if other == 0 { None } else { Some($type::wrapping_rem(self, other)) }
            }
            #[inline(always)]
            fn to_bits(self) -> u64 {
                self as $unsigned as u64
            }
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                bits as $type
            }
            #[inline(always)]
            fn to_i128(self) -> i128 {
                self as i128
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn from_f32(x: f32) -> Self {
                x as $type
            }
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $type
            }
        }
    )*};
}

int! {
    u8, u8, u16, u16, false;
    i8, u8, i16, i16, true;
    u16, u16, u32, u32, false;
    i16, u16, i32, i32, true;
    u32, u32, u64, u64, false;
    i32, u32, i64, i64, true;
    u64, u64, u64, u128, false;
    i64, u64, i64, i128, true;
}

/// a + b
#[inline(always)]
pub fn add<T: Int>(a: T, b: T) -> T {
    a.wrapping_add(b)
}

/// a + b, clamped to the type's range (`add.sat.s32`).
#[inline(always)]
pub fn add_sat<T: Int>(a: T, b: T) -> T {
    a.saturating_add(b)
}

/// a - b
#[inline(always)]
pub fn sub<T: Int>(a: T, b: T) -> T {
    a.wrapping_sub(b)
}

/// a - b, clamped to the type's range (`sub.sat.s32`).
#[inline(always)]
pub fn sub_sat<T: Int>(a: T, b: T) -> T {
    a.saturating_sub(b)
}

/// a + b + carry-in, and the carry-out: `add.cc` and `addc`.
#[inline(always)]
pub fn add_carry<T: Int>(a: T, b: T, carry: bool) -> (T, bool) {
    let partial = a.wrapping_add(b);
    let sum = partial.wrapping_add(T::from_bits(u64::from(carry)));
    (sum, (partial.to_bits() < a.to_bits()) | (sum.to_bits() < partial.to_bits()))
}

/// a - b, less one where the carry-in is clear, and the carry-out: `sub.cc` and `subc`.
///
/// The carry is that of the sum with the complement of b, so that a borrow is a clear one. Chains of subtractions do
/// not tell it from a flag that is set, but `addc` behind `sub.cc` does: the 128-bit division that nvcc emits asks so
/// whether there was a borrow.
#[inline(always)]
pub fn sub_carry<T: Int>(a: T, b: T, carry: bool) -> (T, bool) {
    let partial = a.wrapping_sub(b);
    let difference = partial.wrapping_sub(T::from_bits(u64::from(!carry)));
    (difference, (a.to_bits() >= b.to_bits()) & (partial.to_bits() >= difference.to_bits()))
}

/// The low half of a * b.
#[inline(always)]
pub fn mul_lo<T: Int>(a: T, b: T) -> T {
    a.wrapping_mul(b)
}

/// The high half of a * b.
#[inline(always)]
pub fn mul_hi<T: Int>(a: T, b: T) -> T {
    a.mul_hi(b)
}

/// The whole of a * b, twice as wide (16- and 32-bit types).
#[inline(always)]
pub fn mul_wide<T: Int>(a: T, b: T) -> T::Wide {
    a.widen().wrapping_mul(b.widen())
}

/// The low half of a * b, plus c.
#[inline(always)]
pub fn mad_lo<T: Int>(a: T, b: T, c: T) -> T {
    a.wrapping_mul(b).wrapping_add(c)
}

/// The high half of a * b, plus c.
#[inline(always)]
pub fn mad_hi<T: Int>(a: T, b: T, c: T) -> T {
    a.mul_hi(b).wrapping_add(c)
}

/// The high half of a * b, plus c, clamped (`mad.hi.sat.s32`).
#[inline(always)]
pub fn mad_hi_sat<T: Int>(a: T, b: T, c: T) -> T {
    a.mul_hi(b).saturating_add(c)
}

/// a * b + c, twice as wide.
#[inline(always)]
pub fn mad_wide<T: Int>(a: T, b: T, c: T::Wide) -> T::Wide {
    mul_wide(a, b).wrapping_add(c)
}

/// The low half of a * b, plus c and the carry-in, and the carry-out: `mad.lo.cc` and `madc.lo`.
#[inline(always)]
pub fn mad_lo_carry<T: Int>(a: T, b: T, c: T, carry: bool) -> (T, bool) {
    add_carry(a.wrapping_mul(b), c, carry)
}

/// The high half of a * b, plus c and the carry-in, and the carry-out: `mad.hi.cc` and `madc.hi`.
#[inline(always)]
pub fn mad_hi_carry<T: Int>(a: T, b: T, c: T, carry: bool) -> (T, bool) {
    add_carry(a.mul_hi(b), c, carry)
}

/// The low 24 bits, extended by their sign for signed types.
#[inline(always)]
fn low24<T: Int>(a: T) -> i64 {
    let bits = (a.to_bits() as u32) << 8;
    if T::SIGNED { i64::from(bits as i32 >> 8) } else { i64::from(bits >> 8) }
}

/// Bits 31..0 of the 48-bit product of the low 24 bits.
#[inline(always)]
pub fn mul24_lo<T: Int>(a: T, b: T) -> T {
    T::from_bits(low24(a).wrapping_mul(low24(b)) as u64)
}

/// Bits 47..16 of the 48-bit product of the low 24 bits.
#[inline(always)]
pub fn mul24_hi<T: Int>(a: T, b: T) -> T {
    T::from_bits((low24(a).wrapping_mul(low24(b)) >> 16) as u64)
}

/// [`mul24_lo`] plus c.
#[inline(always)]
pub fn mad24_lo<T: Int>(a: T, b: T, c: T) -> T {
    mul24_lo(a, b).wrapping_add(c)
}

/// [`mul24_hi`] plus c.
#[inline(always)]
pub fn mad24_hi<T: Int>(a: T, b: T, c: T) -> T {
    mul24_hi(a, b).wrapping_add(c)
}

/// [`mul24_hi`] plus c, clamped (`mad24.hi.sat.s32`).
#[inline(always)]
pub fn mad24_hi_sat<T: Int>(a: T, b: T, c: T) -> T {
    mul24_hi(a, b).saturating_add(c)
}

/// c + |a - b|
#[inline(always)]
pub fn sad<T: Int>(a: T, b: T, c: T) -> T {
    let difference = if a < b { b.wrapping_sub(a) } else { a.wrapping_sub(b) };
    c.wrapping_add(difference)
}

/// The quotient rounded toward zero. Division by zero gives all ones at every width: the manual leaves it open, and the
/// code that the PTX assembler emits for a division ends by selecting all ones for a zero divisor. The most negative
/// number divided by -1 wraps to itself.
#[inline(always)]
pub fn div<T: Int>(a: T, b: T) -> T {
    a.checked_div(b).unwrap_or(T::default().not())
}

/// The remainder, with the sign of the dividend. A remainder by zero gives all ones.
#[inline(always)]
pub fn rem<T: Int>(a: T, b: T) -> T {
    a.checked_rem(b).unwrap_or(T::default().not())
}

/// The magnitude; the most negative number stays itself.
#[inline(always)]
pub fn abs<T: Int>(a: T) -> T {
    if a < T::default() { neg(a) } else { a }
}

/// The two's complement.
#[inline(always)]
pub fn neg<T: Int>(a: T) -> T {
    T::default().wrapping_sub(a)
}

/// The smaller.
#[inline(always)]
pub fn min<T: Int>(a: T, b: T) -> T {
    if b < a { b } else { a }
}

/// The larger.
#[inline(always)]
pub fn max<T: Int>(a: T, b: T) -> T {
    if b > a { b } else { a }
}

/// Negative numbers become zero (`.relu`).
#[inline(always)]
pub fn relu<T: Int>(a: T) -> T {
    max(a, T::default())
}

/// One if `a` is zero, else zero.
#[inline(always)]
pub fn cnot<T: Int>(a: T) -> T {
    T::from_bits(u64::from(a == T::default()))
}

/// The number of ones.
#[inline(always)]
pub fn popc<T: Int>(a: T) -> u32 {
    a.to_bits().count_ones()
}

/// The number of leading zeros; the width for zero.
#[inline(always)]
pub fn clz<T: Int>(a: T) -> u32 {
    a.to_bits().leading_zeros() - (64 - T::BITS)
}

/// The position of the most significant non-sign bit (the highest one of unsigned and non-negative numbers, the highest
/// zero of negative ones), or all ones if there is none.
#[inline(always)]
pub fn bfind<T: Int>(a: T) -> u32 {
    let magnitude = if a < T::default() { a.not() } else { a };
    if magnitude == T::default() { u32::MAX } else { T::BITS - 1 - clz(magnitude) }
}

/// How far [`bfind`]'s bit would have to be shifted left to reach the top, or all ones if there is none.
#[inline(always)]
pub fn bfind_shiftamt<T: Int>(a: T) -> u32 {
    let position = bfind(a);
    if position == u32::MAX { position } else { T::BITS - 1 - position }
}

/// The bits in reverse order.
#[inline(always)]
pub fn brev<T: Int>(a: T) -> T {
    T::from_bits(a.to_bits().reverse_bits() >> (64 - T::BITS))
}

/// Shifts left; amounts of the width or more give zero.
#[inline(always)]
pub fn shl<T: Int>(a: T, amount: u32) -> T {
    if amount < T::BITS { a.shift_left(amount) } else { T::default() }
}

/// Shifts right, filling with the sign for signed types; amounts of the width or more leave only the filling.
#[inline(always)]
pub fn shr<T: Int>(a: T, amount: u32) -> T {
    let clamped = if amount < T::BITS { amount } else { T::BITS - 1 };
    let shifted = a.shift_right(clamped);
    if T::SIGNED || amount < T::BITS { shifted } else { T::default() }
}

/// Funnel shift left: the high word of `high:low` shifted left, by the amount limited to 32 (`shf.l.clamp`).
#[inline(always)]
pub fn shf_l_clamp(low: u32, high: u32, amount: u32) -> u32 {
    let pair = u64::from(high) << 32 | u64::from(low);
    ((pair << amount.min(32)) >> 32) as u32
}

/// Funnel shift left by the amount modulo 32 (`shf.l.wrap`).
#[inline(always)]
pub fn shf_l_wrap(low: u32, high: u32, amount: u32) -> u32 {
    shf_l_clamp(low, high, amount & 31)
}

/// Funnel shift right: the low word of `high:low` shifted right, by the amount limited to 32 (`shf.r.clamp`).
#[inline(always)]
pub fn shf_r_clamp(low: u32, high: u32, amount: u32) -> u32 {
    let pair = u64::from(high) << 32 | u64::from(low);
    (pair >> amount.min(32)) as u32
}

/// Funnel shift right by the amount modulo 32 (`shf.r.wrap`).
#[inline(always)]
pub fn shf_r_wrap(low: u32, high: u32, amount: u32) -> u32 {
    shf_r_clamp(low, high, amount & 31)
}

/// Where a field starts and how long it is. Both operands count modulo 256, as the manual says, but for fields of 64 bits:
/// what ptxas makes of those takes the operands as they are.
#[inline(always)]
fn field<T: Int>(position: u32, length: u32) -> (u32, u32) {
    if T::BITS == 64 { (position, length) } else { (position & 0xff, length & 0xff) }
}

/// Extracts `length` bits from `position`. Positions past the top read zeros, or the sign bit for signed types; a signed
/// field is extended by its top bit, or by the number's where the field ends beyond it.
#[inline(always)]
pub fn bfe<T: Int>(a: T, position: u32, length: u32) -> T {
    let (position, length) = field::<T>(position, length);
    let top = T::BITS - 1;
    let bits = a.to_bits();
    let last = position.saturating_add(length).wrapping_sub(1).min(top);
    let sign = if T::SIGNED && length != 0 { (bits >> last) & 1 } else { 0 };
    let moved = if position > top { 0 } else { bits >> position };
    let valid = if position > top { 0 } else { length.min(T::BITS - position) };
    let mask = low_ones(valid);
    T::from_bits((moved & mask) | if sign == 1 { !mask } else { 0 })
}

/// Inserts the low `length` bits of `a` into `b` at `position`; bits past the top are dropped.
#[inline(always)]
pub fn bfi<T: Int>(a: T, b: T, position: u32, length: u32) -> T {
    let (position, length) = field::<T>(position, length);
    let mask = if position < 64 { low_ones(length) << position } else { 0 };
    let field = if position < 64 { a.to_bits() << position } else { 0 };
    T::from_bits((field & mask) | (b.to_bits() & !mask))
}

#[inline(always)]
fn low_ones(length: u32) -> u64 {
    if length >= 64 { u64::MAX } else { (1 << length) - 1 }
}

/// A mask of `width` ones from `position` (`bmsk.clamp`): positions and widths past 32 give what is left of it.
#[inline(always)]
pub fn bmsk_clamp(position: u32, width: u32) -> u32 {
    (low_ones(width.min(32)) << position.min(32)) as u32
}

/// A mask of `width` ones from `position`, both modulo 32 (`bmsk.wrap`).
#[inline(always)]
pub fn bmsk_wrap(position: u32, width: u32) -> u32 {
    bmsk_clamp(position & 31, width & 31)
}

/// Extends the low `width` bits of `a`, by their sign for signed types; widths of 32 and more keep the number
/// (`szext.clamp`).
#[inline(always)]
pub fn szext_clamp<T: Int>(a: T, width: u32) -> T {
    let width = width.min(T::BITS);
    let bits = a.to_bits() & low_ones(width);
    let negative = T::SIGNED && width != 0 && bits >> (width.max(1) - 1) == 1;
    T::from_bits(bits | if negative { !low_ones(width) } else { 0 })
}

/// [`szext_clamp`] with the width modulo 32 (`szext.wrap`).
#[inline(always)]
pub fn szext_wrap<T: Int>(a: T, width: u32) -> T {
    szext_clamp(a, width & 31)
}

/// Any function of three bits, for every bit: bit `4a + 2b + c` of the table.
#[inline(always)]
pub fn lop3(a: u32, b: u32, c: u32, table: u8) -> u32 {
    let term = |index: u32, bits: u32| if table >> index & 1 == 1 { bits } else { 0 };
    term(0, !a & !b & !c)
        | term(1, !a & !b & c)
        | term(2, !a & b & !c)
        | term(3, !a & b & c)
        | term(4, a & !b & !c)
        | term(5, a & !b & c)
        | term(6, a & b & !c)
        | term(7, a & b & c)
}

/// The position of the n-th set bit counted from `base`, upward for positive `offset` (1 is the first), downward for
/// negative; offset 0 asks for the bit at `base` itself. All ones if there is no such bit, and zero for the least offset,
/// as ptxas counts its magnitude in 32 bits.
#[inline(always)]
pub fn fns(mask: u32, base: u32, offset: i32) -> u32 {
    if offset == i32::MIN {
        return 0;
    }
    let mut left = offset.unsigned_abs().max(1);
    let mut position = i64::from(base);
    while (0..32).contains(&position) {
        if mask >> position & 1 == 1 {
            left -= 1;
            if left == 0 {
                return position as u32;
            }
        }
        if offset == 0 {
            break;
        }
        position += i64::from(offset.signum());
    }
    u32::MAX
}

/// Picks four of the eight bytes of `b:a`.
#[inline(always)]
pub fn prmt(a: u32, b: u32, control: u32, mode: PrmtMode) -> u32 {
    let n = control & 3;
    let selectors = match mode {
        PrmtMode::Default => control,
        PrmtMode::F4e => [0x3210, 0x4321, 0x5432, 0x6543][n as usize],
        PrmtMode::B4e => [0x5670, 0x6701, 0x7012, 0x0123][n as usize],
        PrmtMode::Rc8 => n * 0x1111,
        PrmtMode::Ecl => [0x3210, 0x3211, 0x3222, 0x3333][n as usize],
        PrmtMode::Ecr => [0x0000, 0x1110, 0x2210, 0x3210][n as usize],
        PrmtMode::Rc16 => (n & 1) * 0x2222 + 0x1010,
    };
    let pair = u64::from(b) << 32 | u64::from(a);
    let byte = |position: u32| {
        let selector = selectors >> (4 * position);
        let value = (pair >> (8 * (selector & 7))) as u32 & 0xff;
        let sign = if value & 0x80 != 0 { 0xff } else { 0 };
        (if selector & 8 != 0 { sign } else { value }) << (8 * position)
    };
    byte(0) | byte(1) | byte(2) | byte(3)
}

#[inline(always)]
fn byte_of(word: u32, index: u32, signed: bool) -> i32 {
    let byte = (word >> (8 * index)) as u8;
    if signed { i32::from(byte as i8) } else { i32::from(byte) }
}

/// Dot product of four bytes plus c; signedness of `a` and of `b`.
#[inline(always)]
pub fn dp4a(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool) -> u32 {
    let term = |i| byte_of(a, i, a_signed) * byte_of(b, i, b_signed);
    c.wrapping_add((term(0) + term(1) + term(2) + term(3)) as u32)
}

/// Dot product of the two 16-bit halves of `a` with two bytes of `b`, the upper two if `high`, plus c.
#[inline(always)]
pub fn dp2a(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool, high: bool) -> u32 {
    let half = |i: u32| {
        let half = (a >> (16 * i)) as u16;
        if a_signed { i32::from(half as i16) } else { i32::from(half) }
    };
    let first = if high { 2 } else { 0 };
    let term = |i| half(i).wrapping_mul(byte_of(b, first + i, b_signed));
    c.wrapping_add(term(0).wrapping_add(term(1)) as u32)
}

/// a + b in each 16-bit half.
#[inline(always)]
pub fn add_x2(a: u32, b: u32) -> u32 {
    super::half::map2(a, b, u16::wrapping_add)
}

/// a + b in each half, clamped to the range of `u16` or `i16`.
#[inline(always)]
pub fn add_sat_x2<T: Int>(a: u32, b: u32) -> u32 {
    map_x2::<T>(a, b, add_sat)
}

/// a - b in each 16-bit half.
#[inline(always)]
pub fn sub_x2(a: u32, b: u32) -> u32 {
    super::half::map2(a, b, u16::wrapping_sub)
}

/// a - b in each half, clamped to the range of `u16` or `i16`.
#[inline(always)]
pub fn sub_sat_x2<T: Int>(a: u32, b: u32) -> u32 {
    map_x2::<T>(a, b, sub_sat)
}

/// The two's complement in each 16-bit half.
#[inline(always)]
pub fn neg_x2(a: u32) -> u32 {
    super::half::map1(a, u16::wrapping_neg)
}

/// The smaller in each half, as `u16` or `i16`.
#[inline(always)]
pub fn min_x2<T: Int>(a: u32, b: u32) -> u32 {
    map_x2::<T>(a, b, min)
}

/// The larger in each half, as `u16` or `i16`.
#[inline(always)]
pub fn max_x2<T: Int>(a: u32, b: u32) -> u32 {
    map_x2::<T>(a, b, max)
}

/// Negative halves become zero (`.relu` of the s16x2 instructions).
#[inline(always)]
pub fn relu_x2(a: u32) -> u32 {
    map_x2::<i16>(a, a, |a, _| relu(a))
}

#[inline(always)]
fn map_x2<T: Int>(a: u32, b: u32, f: impl Fn(T, T) -> T) -> u32 {
    super::half::map2(a, b, |a, b| f(T::from_bits(u64::from(a)), T::from_bits(u64::from(b))).to_bits() as u16)
}

/// a + b in each byte.
#[inline(always)]
pub fn add_x4(a: u32, b: u32) -> u32 {
    map_x4::<u8>(a, b, add)
}

/// a + b in each byte, clamped to the range of `u8` or `i8`.
#[inline(always)]
pub fn add_sat_x4<T: Int>(a: u32, b: u32) -> u32 {
    map_x4::<T>(a, b, add_sat)
}

/// a - b in each byte.
#[inline(always)]
pub fn sub_x4(a: u32, b: u32) -> u32 {
    map_x4::<u8>(a, b, sub)
}

/// a - b in each byte, clamped to the range of `u8` or `i8`.
#[inline(always)]
pub fn sub_sat_x4<T: Int>(a: u32, b: u32) -> u32 {
    map_x4::<T>(a, b, sub_sat)
}

/// The two's complement in each byte.
#[inline(always)]
pub fn neg_x4(a: u32) -> u32 {
    map_x4::<u8>(0, a, sub)
}

/// The smaller in each byte, as `u8` or `i8`.
#[inline(always)]
pub fn min_x4<T: Int>(a: u32, b: u32) -> u32 {
    map_x4::<T>(a, b, min)
}

/// The larger in each byte, as `u8` or `i8`.
#[inline(always)]
pub fn max_x4<T: Int>(a: u32, b: u32) -> u32 {
    map_x4::<T>(a, b, max)
}

/// Negative bytes become zero (`.relu` of the s8x4 instructions).
#[inline(always)]
pub fn relu_x4(a: u32) -> u32 {
    map_x4::<i8>(a, a, |a, _| relu(a))
}

#[inline(always)]
fn map_x4<T: Int>(a: u32, b: u32, f: impl Fn(T, T) -> T) -> u32 {
    let byte = |word: u32, at: u32| T::from_bits(u64::from(word >> (8 * at) & 0xff));
    (0..4).fold(0, |all, at| all | (f(byte(a, at), byte(b, at)).to_bits() as u32 & 0xff) << (8 * at))
}

/// The low word of the product of a and b as polynomials over two elements, with c added to it.
#[inline(always)]
pub fn clmad_lo(a: u64, b: u64, c: u64) -> u64 {
    carryless(a, b) as u64 ^ c
}

/// The high word of the product of a and b as polynomials over two elements, with c added to it.
#[inline(always)]
pub fn clmad_hi(a: u64, b: u64, c: u64) -> u64 {
    (carryless(a, b) >> 64) as u64 ^ c
}

/// The product without carries.
#[inline(always)]
fn carryless(a: u64, b: u64) -> u128 {
    (0..64).fold(0, |sum, at| sum ^ (u128::from(a) << at & 0u128.wrapping_sub(u128::from(b >> at & 1))))
}
