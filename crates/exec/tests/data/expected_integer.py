"""Expected values of the integer, bit and packed kernels, from the definitions in the PTX manual."""

import random

from case import Case
from exact import signed, unsigned

M32, M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
EDGES32 = [0, 1, -1, 2, -2, 7, 10, 100, -100, 255, 256, 65535, 65536, 0x7FFFFFFF, -0x7FFFFFFF, 0x12345678]


def quotient(x, y):
    """Division that truncates toward zero."""
    q = abs(x) // abs(y)
    return q if (x < 0) == (y < 0) else -q


def remainder(x, y):
    return x - quotient(x, y) * y


def words(seed, edges, width, count=32):
    rng = random.Random(seed)
    return edges + [signed(rng.getrandbits(width) >> rng.choice([0, 0, width // 2, width // 4]), width) for _ in range(count - len(edges))]


def int32():
    case = Case("int32", "32-bit integer arithmetic.")
    a = words(1, EDGES32 + [-0x80000000], 32)
    b = [v or 3 for v in words(2, EDGES32[::-1], 32)]
    case.values("s32", a), case.values("s32", b)
    out = case.out("u32", 26 * 32)
    low24 = lambda v: signed(v & 0xFFFFFF, 24)

    def row(what, f):
        return what, [unsigned(f(x, y, unsigned(x), unsigned(y))) for x, y in zip(a, b)]

    case.rows(out, [
        row("add", lambda x, y, ux, uy: x + y),
        row("sub", lambda x, y, ux, uy: x - y),
        row("mul.lo", lambda x, y, ux, uy: x * y),
        row("mul.hi.s32", lambda x, y, ux, uy: (x * y) >> 32),
        row("mul.hi.u32", lambda x, y, ux, uy: (ux * uy) >> 32),
        row("div.s32", lambda x, y, ux, uy: quotient(x, y)),
        row("rem.s32", lambda x, y, ux, uy: remainder(x, y)),
        row("div.u32", lambda x, y, ux, uy: ux // uy),
        row("rem.u32", lambda x, y, ux, uy: ux % uy),
        row("min.s32", lambda x, y, ux, uy: min(x, y)),
        row("max.s32", lambda x, y, ux, uy: max(x, y)),
        row("min.u32", lambda x, y, ux, uy: min(ux, uy)),
        row("max.u32", lambda x, y, ux, uy: max(ux, uy)),
        row("abs.s32", lambda x, y, ux, uy: abs(x)),
        row("mad.lo", lambda x, y, ux, uy: x * y + 12345),
        row("sad.s32", lambda x, y, ux, uy: abs(x - y) + 7),
        row("sad.u32", lambda x, y, ux, uy: abs(ux - uy) + 7),
        row("mul24.lo.s32", lambda x, y, ux, uy: low24(x) * low24(y)),
        row("mul24.lo.u32", lambda x, y, ux, uy: (ux & 0xFFFFFF) * (uy & 0xFFFFFF)),
        row("halving add", lambda x, y, ux, uy: (x + y) >> 1),
        row("rounded halving add", lambda x, y, ux, uy: (x + y + 1) >> 1),
        row("division by 7", lambda x, y, ux, uy: quotient(x, 7)),
        row("remainder by 10", lambda x, y, ux, uy: remainder(x, 10)),
        row("unsigned division by 1000", lambda x, y, ux, uy: ux // 1000),
        row("division by 16", lambda x, y, ux, uy: quotient(x, 16)),
        row("negation", lambda x, y, ux, uy: -x),
    ])
    return case


def int64():
    case = Case("int64", "64-bit integer arithmetic.")
    edges = [0, 1, -1, 2, -3, 10, 1 << 32, (1 << 32) - 1, -(1 << 32), (1 << 63) - 1, -(1 << 63), 1 << 62, 0x123456789ABCDEF]
    a = words(3, edges, 64)
    b = [v if v not in (0, -1) else 5 for v in words(4, edges[::-1][:10], 64)]
    case.values("s64", a), case.values("s64", b)
    out = case.out("s64", 28 * 32)
    low = lambda v: signed(v, 32)

    def row(what, f):
        return what, [signed(f(x, y, unsigned(x, 64), unsigned(y, 64)), 64) for x, y in zip(a, b)]

    case.rows(out, [
        row("add", lambda x, y, ux, uy: x + y),
        row("sub", lambda x, y, ux, uy: x - y),
        row("mul.lo", lambda x, y, ux, uy: x * y),
        row("mul.hi.s64", lambda x, y, ux, uy: (x * y) >> 64),
        row("mul.hi.u64", lambda x, y, ux, uy: (ux * uy) >> 64),
        row("div.s64", lambda x, y, ux, uy: quotient(x, y)),
        row("rem.s64", lambda x, y, ux, uy: remainder(x, y)),
        row("div.u64", lambda x, y, ux, uy: ux // uy),
        row("rem.u64", lambda x, y, ux, uy: ux % uy),
        row("shl.b64", lambda x, y, ux, uy: ux << (uy & 63)),
        row("shr.u64", lambda x, y, ux, uy: ux >> (uy & 63)),
        row("shr.s64", lambda x, y, ux, uy: x >> (uy & 63)),
        row("min.s64", lambda x, y, ux, uy: min(x, y)),
        row("max.u64", lambda x, y, ux, uy: max(ux, uy)),
        row("mul.wide.s32", lambda x, y, ux, uy: low(x) * low(y)),
        row("mul.wide.u32", lambda x, y, ux, uy: (ux & M32) * (uy & M32)),
        row("mad.wide.s32", lambda x, y, ux, uy: low(x) * low(y) + 99),
        row("popc.b64", lambda x, y, ux, uy: ux.bit_count()),
        row("clz.b64", lambda x, y, ux, uy: 64 - ux.bit_length()),
        row("brev.b64", lambda x, y, ux, uy: int(f"{ux:064b}"[::-1], 2)),
        row("find first set", lambda x, y, ux, uy: (ux & -ux).bit_length()),
        row("and", lambda x, y, ux, uy: x & y),
        row("or", lambda x, y, ux, uy: x | y),
        row("xor", lambda x, y, ux, uy: x ^ y),
        row("not", lambda x, y, ux, uy: ~x),
        row("setp.lt.s64", lambda x, y, ux, uy: x < y),
        row("setp.lt.u64", lambda x, y, ux, uy: ux < uy),
        row("abs.s64", lambda x, y, ux, uy: abs(x)),
    ])
    return case


def bit_field(x, pos, length, is_signed):
    pos, length = pos & 0xFF, length & 0xFF
    fill = 0 if not is_signed or length == 0 else x >> min(pos + length - 1, 31) & 1
    return sum((x >> (pos + i) & 1 if i < length and pos + i <= 31 else fill) << i for i in range(32))


def insert_field(x, base, pos, length):
    pos, length = pos & 0xFF, length & 0xFF
    for i in range(length):
        if pos + i <= 31:
            base = base & ~(1 << (pos + i)) | (x >> i & 1) << (pos + i)
    return base


def permute(x, y, selectors, replicate=True):
    pool = y << 32 | x
    result = 0
    for i, s in enumerate(selectors):
        byte = pool >> (8 * (s & 7)) & 0xFF
        if s & 8 and replicate:
            byte = 0xFF if byte & 0x80 else 0
        result |= byte << (8 * i)
    return result


# Selectors of the byte-permute modes by control value, least significant byte first.
PERMUTE = {
    "f4e": [(0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)],
    "b4e": [(0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)],
    "rc8": [(0,) * 4, (1,) * 4, (2,) * 4, (3,) * 4],
    "ecl": [(0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3)],
    "ecr": [(0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)],
    "rc16": [(0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)],
}


def find_nth(mask, base, offset):
    if offset == 0:
        return base if mask >> base & 1 else M32
    at, left = base, abs(offset) - 1
    while 0 <= at < 32:
        if mask >> at & 1:
            if left == 0:
                return at
            left -= 1
        at += 1 if offset > 0 else -1
    return M32


def bit_mask(position, width):
    return 0 if position >= 32 else (((1 << width) - 1) << position) & M32


def sign_extend(x, bits):
    if bits >= 32:
        return x
    return 0 if bits == 0 else signed(x, bits)


def int_bits():
    case = Case("int_bits", "Shifts, bit fields, permutations and bit searches.")
    rng = random.Random(5)
    a = [0, 1, M32, 0x80000000, 0x7FFFFFFF, 0xF0F0F0F0, 0x00FF00FF, 0x80818283] + [rng.getrandbits(32) for _ in range(24)]
    b = [0, 31, 32, 255, 4, 8, 16, 0x7654] + [rng.choice([rng.getrandbits(5), rng.getrandbits(32)]) for _ in range(24)]
    c = [0, 1, 31, 32, 33, 8, 0xBA98, 64] + [rng.choice([rng.getrandbits(5), rng.getrandbits(32), rng.getrandbits(16)]) for _ in range(24)]
    for v in (a, b, c):
        case.values("u32", v, hexadecimal=True)
    out = case.out("u32", 30 * 32)

    def row(what, f):
        return what, [unsigned(f(x, y, z)) for x, y, z in zip(a, b, c)]

    def mode(name):
        return row(f"prmt.{name}", lambda x, y, z: permute(x, y, PERMUTE[name][z & 3]))

    high = lambda v: v.bit_length() - 1 if v else M32
    case.rows(out, [
        row("shl.b32", lambda x, y, z: x << z if z < 32 else 0),
        row("shr.u32", lambda x, y, z: x >> min(z, 32)),
        row("shr.s32", lambda x, y, z: signed(x) >> min(z, 31)),
        row("popc", lambda x, y, z: x.bit_count()),
        row("clz", lambda x, y, z: 32 - x.bit_length()),
        row("brev", lambda x, y, z: int(f"{x:032b}"[::-1], 2)),
        row("find first set", lambda x, y, z: (x & -x).bit_length()),
        row("bfe.u32", lambda x, y, z: bit_field(x, y, z, False)),
        row("bfe.s32", lambda x, y, z: bit_field(x, y, z, True)),
        row("bfi.b32", lambda x, y, z: insert_field(x, 0x5A5A5A5A, y, z)),
        row("shf.l.wrap", lambda x, y, z: ((y << 32 | x) << (z & 31)) >> 32),
        row("shf.r.wrap", lambda x, y, z: (y << 32 | x) >> (z & 31)),
        row("shf.l.clamp", lambda x, y, z: ((y << 32 | x) << min(z, 32)) >> 32),
        row("shf.r.clamp", lambda x, y, z: (y << 32 | x) >> min(z, 32)),
        row("prmt with 0x5140", lambda x, y, z: permute(x, y, (0, 4, 1, 5))),
        row("prmt", lambda x, y, z: permute(x, y, [z >> (4 * i) & 15 for i in range(4)])),
        mode("f4e"), mode("b4e"), mode("rc8"), mode("ecl"), mode("ecr"), mode("rc16"),
        row("lop3 0xd8", lambda x, y, z: sum((0xD8 >> ((x >> i & 1) << 2 | (y >> i & 1) << 1 | (z >> i & 1)) & 1) << i for i in range(32))),
        row("bfind.u32", lambda x, y, z: high(x)),
        row("bfind.s32", lambda x, y, z: high(~x & M32 if x >> 31 else x)),
        row("bfind.shiftamt.u32", lambda x, y, z: 31 - high(x) if x else M32),
        row("cnot", lambda x, y, z: x == 0),
        row("fns", lambda x, y, z: find_nth(x, y % 32, z % 7 - 3)),
        row("bmsk.clamp", lambda x, y, z: bit_mask(y % 40, z % 40)),
        row("szext.clamp.s32", lambda x, y, z: sign_extend(x, z % 40)),
    ])
    return case


def int_carry():
    case = Case("int_carry", "128-bit sums and products through the carry flag.", block=8)
    rng = random.Random(6)
    mask = (1 << 128) - 1
    a = [mask, 1, 0, 1 << 127] + [rng.getrandbits(128) for _ in range(4)]
    b = [1, mask, 1, 1 << 127] + [rng.getrandbits(128) for _ in range(4)]
    split = lambda vs: [v >> (32 * i) & M32 for v in vs for i in range(4)]
    case.values("u32", split(a), hexadecimal=True), case.values("u32", split(b), hexadecimal=True)
    outs = [case.out("u32", 32) for _ in range(3)]
    case.expect(outs[0], split([x + y & mask for x, y in zip(a, b)]), what="sum")
    case.expect(outs[1], split([x - y & mask for x, y in zip(a, b)]), what="difference")
    case.expect(outs[2], split([(x & M64) * (y & M64) for x, y in zip(a, b)]), what="product of the low halves")
    return case


def lanes(v, width, is_signed):
    parts = [v >> (width * i) & ((1 << width) - 1) for i in range(32 // width)]
    return [signed(p, width) for p in parts] if is_signed else parts


def pack(values, width):
    return sum(unsigned(v, width) << (width * i) for i, v in enumerate(values))


def random_words(seed, count=32):
    rng = random.Random(seed)
    return [0, M32, 0x80808080, 0x7F7F7F7F, 0x80007FFF] + [rng.getrandbits(32) for _ in range(count - 5)]


def int_dot():
    case = Case("int_dot", "Packed dot products and SIMD within a word.")
    a, b, c = random_words(7), random_words(8)[::-1], random_words(9)
    for v in (a, b, c):
        case.values("u32", v, hexadecimal=True)
    out = case.out("u32", 12 * 32)

    def row(what, f):
        return what, [unsigned(f(x, y, z)) for x, y, z in zip(a, b, c)]

    dot4 = lambda sx, sy: lambda x, y, z: sum(p * q for p, q in zip(lanes(x, 8, sx), lanes(y, 8, sy))) + z
    dot2 = lambda s, half: lambda x, y, z: sum(p * q for p, q in zip(lanes(x, 16, s), lanes(y, 8, s)[2 * half : 2 * half + 2])) + z
    each = lambda width, s, f: lambda x, y, z: pack([f(p, q) for p, q in zip(lanes(x, width, s), lanes(y, width, s))], width)
    case.rows(out, [
        row("dp4a.s32.s32", dot4(True, True)),
        row("dp4a.u32.u32", dot4(False, False)),
        row("dp2a.lo.s32.s32", dot2(True, 0)),
        row("dp2a.hi.s32.s32", dot2(True, 1)),
        row("dp2a.lo.u32.u32", dot2(False, 0)),
        row("dp2a.hi.u32.u32", dot2(False, 1)),
        row("dp4a.s32.u32", dot4(True, False)),
        row("four byte additions", each(8, False, lambda p, q: p + q)),
        row("two half-word subtractions", each(16, False, lambda p, q: p - q)),
        row("two signed maxima", each(16, True, max)),
        row("four rounded averages", each(8, False, lambda p, q: (p + q + 1) >> 1)),
        row("four comparisons", each(8, False, lambda p, q: 255 if p > q else 0)),
    ])
    return case


def int_video():
    case = Case("int_video", "Video instructions.")
    a, b, c = random_words(10), random_words(11)[::-1], random_words(12)
    for v in (a, b, c):
        case.values("u32", v, hexadecimal=True)
    out = case.out("u32", 4 * 32)

    def row(what, f):
        return what, [unsigned(f(x, y, z)) for x, y, z in zip(a, b, c)]

    half = lambda v, i: lanes(v, 16, True)[i]
    case.rows(out, [
        row("vabsdiff4 with add", lambda x, y, z: sum(abs(p - q) for p, q in zip(lanes(x, 8, False), lanes(y, 8, False))) + z),
        row("vadd with selectors", lambda x, y, z: (x >> 8 & 0xFF) + half(y, 1)),
        row("vmin with selectors", lambda x, y, z: min(x & 0xFF, y >> 24)),
        row("vmad with selectors", lambda x, y, z: half(x, 0) * half(y, 1) + z),
    ])
    return case


def int_small():
    case = Case("int_small", "8- and 16-bit integers.")
    rng = random.Random(13)
    a = [0, 1, -1, 127, -128, 100, -100, 55] + [rng.randrange(-128, 128) for _ in range(24)]
    b = [0, 65535, 32768, 32767, 1, 255, 256, 1000] + [rng.randrange(65536) for _ in range(24)]
    case.values("s8", a), case.values("u16", b)
    wide, bytes_out, words_out = case.out("s32", 14 * 32), case.out("u8", 32), case.out("s16", 32)
    clamp = lambda v, lo, hi: max(lo, min(hi, v))

    def row(what, f):
        return what, [signed(f(x, y, signed(y, 16))) for x, y in zip(a, b)]

    case.rows(wide, [
        row("sign extension of s8", lambda x, y, sy: x),
        row("zero extension of u8", lambda x, y, sy: x & 0xFF),
        row("sign extension of s16", lambda x, y, sy: sy),
        row("mul.lo.s16", lambda x, y, sy: signed(x * sy, 16)),
        row("shl.b16", lambda x, y, sy: y << 3 & 0xFFFF),
        row("shr.s16", lambda x, y, sy: sy >> 5),
        row("wrap to u8", lambda x, y, sy: x + 100 & 0xFF),
        row("mul.wide.s16", lambda x, y, sy: signed(x * 200, 16) * sy),
        row("mul.wide.u16", lambda x, y, sy: unsigned(x * 200, 16) * y),
        row("mul.hi.s16", lambda x, y, sy: sy * signed(x * 200, 16) >> 16),
        row("cvt.sat.u8.s32", lambda x, y, sy: clamp(sy, 0, 255)),
        row("cvt.sat.s8.s32", lambda x, y, sy: clamp(sy, -128, 127)),
        row("cvt.sat.s16.s32", lambda x, y, sy: clamp(x * 1000, -32768, 32767)),
        row("cvt.sat.u32.s32", lambda x, y, sy: max(x, 0)),
    ])
    case.expect(bytes_out, [y >> 4 & 0xFF for y in b], what="st.u8")
    case.expect(words_out, [signed(x * 300, 16) for x in a], what="st.s16")
    return case


CASES = [int32, int64, int_bits, int_carry, int_dot, int_video, int_small]
