//! The video instructions: scalar `vadd vsub vabsdiff vmin vmax vshl vshr vmad vset` on selected parts of registers, and
//! the SIMD `v...2` and `v...4` on all halves or bytes.

use super::compare::{self, CmpOp};

/// A part of a register that a scalar video operand selects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Part {
    Word,
    /// Byte 0 to 3.
    Byte(u8),
    /// Half 0 or 1.
    Half(u8),
}

impl Part {
    const fn bits(self) -> u32 {
        match self {
            Self::Word => 32,
            Self::Half(_) => 16,
            Self::Byte(_) => 8,
        }
    }

    const fn offset(self) -> u32 {
        match self {
            Self::Word => 0,
            Self::Half(i) => 16 * (i as u32 & 1),
            Self::Byte(i) => 8 * (i as u32 & 3),
        }
    }

    /// The part's value, extended by its sign if signed.
    #[inline(always)]
    pub fn extract(self, register: u32, signed: bool) -> i64 {
        extend(register >> self.offset(), self.bits(), signed)
    }

    /// The register `base` with this part replaced by the low bits of `value`.
    #[inline(always)]
    fn insert(self, value: i64, base: u32) -> u32 {
        let mask = ((1u64 << self.bits()) - 1) as u32;
        (value as u32 & mask) << self.offset() | base & !(mask << self.offset())
    }
}

#[inline(always)]
fn extend(value: u32, bits: u32, signed: bool) -> i64 {
    let up = 64 - bits;
    let shifted = u64::from(value) << up;
    if signed { shifted as i64 >> up } else { (shifted >> up) as i64 }
}

#[inline(always)]
fn saturate(value: i64, bits: u32, signed: bool) -> i64 {
    if signed { value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { value.clamp(0, (1 << bits) - 1) }
}

/// An operation on two extended values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum VideoOp {
    Add,
    Sub,
    AbsDiff,
    Min,
    Max,
    /// The mean, halves rounded away from zero (SIMD only).
    Average,
    /// Shift left, the amount limited to 32.
    ShlClamp,
    /// Shift left by the amount modulo 32.
    ShlWrap,
    /// Shift right, the amount limited to 32.
    ShrClamp,
    /// Shift right by the amount modulo 32.
    ShrWrap,
    /// One if the comparison holds, else zero.
    Set(CmpOp),
}

#[inline(always)]
fn evaluate(op: VideoOp, a: i64, b: i64) -> i64 {
    match op {
        VideoOp::Add => a + b,
        VideoOp::Sub => a - b,
        VideoOp::AbsDiff => (a - b).abs(),
        VideoOp::Min => a.min(b),
        VideoOp::Max => a.max(b),
        VideoOp::Average => (a + b + i64::from(a + b >= 0)) >> 1,
        VideoOp::ShlClamp => a << b.clamp(0, 32),
        VideoOp::ShlWrap => a << (b & 31),
        VideoOp::ShrClamp => a >> b.clamp(0, 32),
        VideoOp::ShrWrap => a >> (b & 31),
        VideoOp::Set(cmp) => i64::from(compare::integer(cmp, a, b)),
    }
}

/// What a scalar video instruction does with its result and `c`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Secondary {
    /// Nothing: the result is the answer.
    None,
    Add,
    Min,
    Max,
    /// The result replaces this part of `c`.
    Merge(Part),
}

/// The types and modifiers of a scalar video instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct VideoMods {
    pub signed_result: bool,
    pub sat: bool,
    pub secondary: Secondary,
}

/// A scalar video instruction on operands already extracted with [`Part::extract`].
#[inline]
pub fn scalar(op: VideoOp, a: i64, b: i64, c: u32, mods: VideoMods) -> u32 {
    let signed = mods.signed_result;
    let destination = match mods.secondary {
        Secondary::Merge(part) => part,
        _ => Part::Word,
    };
    let result = evaluate(op, a, b);
    let result = if mods.sat { saturate(result, destination.bits(), signed) } else { result };
    let low = result as u32;
    let lower = if signed { (low as i32) < c as i32 } else { low < c };
    match mods.secondary {
        Secondary::None => low,
        Secondary::Add => low.wrapping_add(c),
        Secondary::Min => {
            if lower {
                low
            } else {
                c
            }
        }
        Secondary::Max => {
            if lower {
                c
            } else {
                low
            }
        }
        Secondary::Merge(part) => part.insert(result, c),
    }
}

/// The modifiers of `vmad`. The signs of the operands decide whether the sum is signed: it is if `signed`, which the
/// caller sets if `a` or `b` is signed or any operand is negated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct VmadMods {
    pub signed: bool,
    /// The product is negated.
    pub negate_product: bool,
    /// The addend is negated.
    pub negate_c: bool,
    /// One is added to the sum.
    pub plus_one: bool,
    /// The sum is shifted right by 0, 7 or 15.
    pub shift: u32,
    pub sat: bool,
}

/// `vmad` on operands already extracted with [`Part::extract`].
#[inline]
pub fn vmad(a: i64, b: i64, c: u32, mods: VmadMods) -> u32 {
    let sign = |value: i128, negate: bool| if negate { -value } else { value };
    let product = sign(i128::from(a) * i128::from(b), mods.negate_product);
    // The addend is complemented before it is extended, so the most negative one stays itself.
    let addend = if mods.negate_c { !c } else { c };
    let addend = i128::from(extend(addend, 32, mods.signed)) + i128::from(mods.negate_c);
    let sum = (product + addend + i128::from(mods.plus_one)) >> mods.shift;
    if !mods.sat {
        return sum as u32;
    }
    if mods.signed {
        sum.clamp(i128::from(i32::MIN), i128::from(i32::MAX)) as u32
    } else {
        sum.clamp(0, i128::from(u32::MAX)) as u32
    }
}

/// The lane width of a SIMD video instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum SimdWidth {
    /// Two halves.
    Two,
    /// Four bytes.
    Four,
}

impl SimdWidth {
    const fn lanes(self) -> u32 {
        match self {
            Self::Two => 2,
            Self::Four => 4,
        }
    }

    const fn bits(self) -> u32 {
        32 / self.lanes()
    }
}

/// The operands' types and the modifiers of a SIMD video instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct SimdMods {
    pub width: SimdWidth,
    /// For each result lane the element of `b:a` that is the first operand, lowest lane first: 0, 1 (, 2, 3) in order is
    /// the usual choice.
    pub select_a: [u8; 4],
    /// Likewise for the second operand: 2, 3 for halves and 4, 5, 6, 7 for bytes is the usual choice.
    pub select_b: [u8; 4],
    pub signed_a: bool,
    pub signed_b: bool,
    pub signed_result: bool,
    pub sat: bool,
    /// Lanes to write, or to add up.
    pub mask: u8,
    /// The lanes' results are added to `c`; otherwise lanes outside the mask are copied from `c`.
    pub accumulate: bool,
}

/// A SIMD video instruction.
#[inline]
pub fn simd(op: VideoOp, a: u32, b: u32, c: u32, mods: SimdMods) -> u32 {
    let bits = mods.width.bits();
    let element_mask = (1u32 << bits) - 1;
    let pair = u64::from(b) << 32 | u64::from(a);
    let element = |index: u8, signed: bool| {
        let index = u32::from(index) % (2 * mods.width.lanes());
        extend((pair >> (bits * index)) as u32, bits, signed)
    };
    let mut result = if mods.accumulate { c } else { 0 };
    for lane in 0..mods.width.lanes() {
        let i = lane as usize;
        let value = evaluate(op, element(mods.select_a[i], mods.signed_a), element(mods.select_b[i], mods.signed_b));
        let value = if mods.sat { saturate(value, bits, mods.signed_result) } else { value };
        let chosen = mods.mask >> lane & 1 == 1;
        if mods.accumulate {
            result = result.wrapping_add(if chosen { value as u32 } else { 0 });
        } else {
            let old = c >> (bits * lane);
            result |= (if chosen { value as u32 } else { old } & element_mask) << (bits * lane);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: VideoMods = VideoMods { signed_result: true, sat: false, secondary: Secondary::None };

    #[test]
    fn parts_extend_by_their_type() {
        let register = 0x80ff_7f01;
        let table = [
            (Part::Byte(0), true, 1),
            (Part::Byte(1), true, 0x7f),
            (Part::Byte(2), true, -1),
            (Part::Byte(2), false, 255),
            (Part::Half(1), true, -0x7f01),
            (Part::Half(1), false, 0x80ff),
            (Part::Word, true, -0x7f00_80ff),
            (Part::Word, false, 0x80ff_7f01),
        ];
        for (part, signed, expected) in table {
            assert_eq!(part.extract(register, signed), expected, "{part:?} {signed}");
        }
    }

    #[test]
    fn scalar_operations() {
        let table = [
            (VideoOp::Add, 0x7fff_ffff, 1, 0x8000_0000),
            (VideoOp::Sub, 1, 3, 0xffff_fffe),
            (VideoOp::AbsDiff, -5, 3, 8),
            (VideoOp::Min, -5, 3, 0xffff_fffb),
            (VideoOp::Max, -5, 3, 3),
            (VideoOp::ShlClamp, 1, 40, 0),
            (VideoOp::ShlWrap, 1, 40, 0x100),
            (VideoOp::ShrClamp, -256, 40, 0xffff_ffff),
            (VideoOp::ShrWrap, -256, 36, 0xffff_fff0),
            (VideoOp::Set(CmpOp::Lt), -1, 0, 1),
            (VideoOp::Set(CmpOp::Ge), -1, 0, 0),
        ];
        for (op, a, b, expected) in table {
            assert_eq!(scalar(op, a, b, 0, PLAIN), expected, "{op:?} {a} {b}");
        }
    }

    #[test]
    fn saturation_follows_the_destination() {
        let sat = |signed_result, secondary| VideoMods { signed_result, sat: true, secondary };
        assert_eq!(scalar(VideoOp::Add, 0x7fff_ffff, 1, 0, sat(true, Secondary::None)), 0x7fff_ffff);
        assert_eq!(scalar(VideoOp::Sub, 0, 1, 0, sat(false, Secondary::None)), 0);
        let byte = Secondary::Merge(Part::Byte(2));
        assert_eq!(scalar(VideoOp::Add, 200, 100, 0x1122_3344, sat(false, byte)), 0x11ff_3344);
        assert_eq!(scalar(VideoOp::Add, 200, 100, 0x1122_3344, sat(true, byte)), 0x117f_3344);
        let half = Secondary::Merge(Part::Half(1));
        assert_eq!(scalar(VideoOp::Sub, 0, 0x9000, 0x1122_3344, sat(true, half)), 0x8000_3344);
    }

    #[test]
    fn secondary_operations() {
        let with = |secondary| VideoMods { secondary, ..PLAIN };
        assert_eq!(scalar(VideoOp::AbsDiff, 3, 10, 5, with(Secondary::Add)), 12);
        assert_eq!(scalar(VideoOp::Sub, 0, 1, 5, with(Secondary::Min)), u32::MAX);
        assert_eq!(scalar(VideoOp::Sub, 0, 1, 5, with(Secondary::Max)), 5);
        let unsigned = VideoMods { signed_result: false, ..with(Secondary::Max) };
        assert_eq!(scalar(VideoOp::Sub, 0, 1, 5, unsigned), u32::MAX);
    }

    #[test]
    fn multiply_add() {
        let plain =
            VmadMods { signed: false, negate_product: false, negate_c: false, plus_one: false, shift: 0, sat: false };
        assert_eq!(vmad(0xffff_ffff, 2, 3, plain), 1);
        assert_eq!(vmad(0xffff_ffff, 2, 3, VmadMods { sat: true, ..plain }), u32::MAX);
        assert_eq!(vmad(256, 256, 128, VmadMods { shift: 7, ..plain }), 513);
        assert_eq!(vmad(256, 256, 0x8000, VmadMods { shift: 15, ..plain }), 3);
        assert_eq!(vmad(3, 4, 5, VmadMods { plus_one: true, ..plain }), 18);
        let signed = VmadMods { signed: true, ..plain };
        assert_eq!(vmad(3, 4, 5, VmadMods { negate_product: true, ..signed }), -7i32 as u32);
        assert_eq!(vmad(3, 4, 5, VmadMods { negate_c: true, ..signed }), 7);
        assert_eq!(vmad(-0x8000_0000, 0x7fff_ffff, 0, VmadMods { sat: true, ..signed }), 0x8000_0000);
    }

    #[test]
    fn simd_halves_and_bytes() {
        let two = SimdMods {
            width: SimdWidth::Two,
            select_a: [0, 1, 0, 0],
            select_b: [2, 3, 0, 0],
            signed_a: true,
            signed_b: true,
            signed_result: true,
            sat: false,
            mask: 0b11,
            accumulate: false,
        };
        assert_eq!(simd(VideoOp::Add, 0x7fff_0001, 0x0001_ffff, 0, two), 0x8000_0000);
        assert_eq!(simd(VideoOp::Add, 0x7fff_0001, 0x0001_ffff, 0, SimdMods { sat: true, ..two }), 0x7fff_0000);
        assert_eq!(
            simd(VideoOp::Add, 0x0001_0002, 0x0003_0004, 0xaaaa_bbbb, SimdMods { mask: 0b01, ..two }),
            0xaaaa_0006
        );
        assert_eq!(simd(VideoOp::AbsDiff, 0x0001_0009, 0x0004_0002, 100, SimdMods { accumulate: true, ..two }), 110);
        // Crossed selection: the first operand's lanes swapped.
        assert_eq!(simd(VideoOp::Sub, 0x0001_0009, 0, 0, SimdMods { select_a: [1, 0, 0, 0], ..two }), 0x0009_0001);
        assert_eq!(simd(VideoOp::Average, 0x0003_fffd, 0x0002_fffe, 0, two), 0x0003_fffd);
        let four = SimdMods {
            width: SimdWidth::Four,
            select_a: [0, 1, 2, 3],
            select_b: [4, 5, 6, 7],
            signed_a: false,
            signed_b: false,
            signed_result: false,
            mask: 0b1111,
            ..two
        };
        assert_eq!(simd(VideoOp::Add, 0xff01_0203, 0x0101_0101, 0, SimdMods { sat: true, ..four }), 0xff02_0304);
        assert_eq!(simd(VideoOp::Set(CmpOp::Gt), 0xff01_0203, 0x0101_0303, 0, four), 0x0100_0000);
        assert_eq!(
            simd(VideoOp::AbsDiff, 0xff01_0203, 0x0103_0303, 7, SimdMods { accumulate: true, ..four }),
            7 + 254 + 3
        );
    }
}
