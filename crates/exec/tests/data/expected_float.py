"""Expected values of the floating-point kernels.

Arithmetic is exact: rationals rounded once. Library functions are computed in double precision and compared within the
error bounds that NVIDIA documents for each function (in units in the last place), plus one for the reference itself.
"""

import math
import random
from fractions import Fraction

from case import Case
from exact import (bits16, bits32, bits64, bits_bf16, f32, from_bits16, from_bits32, from_bits_bf16, root_to, round_to,
                   signed, unsigned)

MODES = ["rn", "rz", "ru", "rd"]
NAN, INF = math.nan, math.inf
RECENT = ["sm_80", "sm_90"]


def float_arg(case, kind, values):
    """An input buffer: decimals where they are exact and plain, bit patterns otherwise."""
    texts = [repr(v) for v in values]
    if all("e" not in t and "n" not in t and t != "-0.0" for t in texts):
        return case.arg(f"{kind}[{len(values)}]:values({','.join(texts)})")
    bits = bits32 if kind == "f32" else bits64
    return case.values("u" + kind[1:], [bits(v) for v in values], hexadecimal=True)


def sample(seed, count, lo, hi, fmt="f32", negative=True):
    """Values spread evenly over powers of two."""
    rng = random.Random(seed)
    precision = {"f32": 24, "f64": 53}[fmt]
    result = []
    for _ in range(count):
        v = (1 + Fraction(rng.getrandbits(precision - 1), 2 ** (precision - 1))) * Fraction(2) ** rng.randint(lo, hi)
        result.append(float(-v if negative and rng.random() < 0.5 else v))
    return result


def rounding(name, fmt, extreme):
    case = Case(name, f"{fmt} arithmetic in four rounding modes.")
    a = [1.0, 1.0, -1.0, 3.0, 2.0, 10.0] + extreme + sample(21, 26 - len(extreme), -20, 20, fmt)
    b = [3.0, -3.0, 3.0, 3.0, 7.0, -0.1 if fmt == "f64" else f32(-0.1)] + extreme[::-1] + sample(22, 26 - len(extreme), -20, 20, fmt)
    c = sample(23, 32, -40, 30, fmt)
    for v in (a, b, c):
        float_arg(case, fmt, v)
    out = case.out(fmt, 24 * 32)
    exact = {
        "add": lambda x, y, z: x + y,
        "mul": lambda x, y, z: x * y,
        "fma": lambda x, y, z: x * y + z,
        "div": lambda x, y, z: x / y,
        "rcp": lambda x, y, z: 1 / x,
    }

    def value(op, mode, x, y, z):
        x, y, z = Fraction(x), Fraction(y), Fraction(z)
        if op == "sqrt":
            return root_to(abs(x), fmt, mode)
        result = exact[op](x, y, z)
        # An exact zero from opposite operands is negative only when rounding down.
        return round_to(result, fmt, mode) if result != 0 else (-0.0 if mode == "rd" else 0.0)

    case.rows(out, [(f"{op}.{mode}", [value(op, mode, *v) for v in zip(a, b, c)])
                    for op in ["add", "mul", "fma", "div", "rcp", "sqrt"] for mode in MODES])
    return case


def f32_rounding():
    return rounding("f32_rounding", "f32", [f32(1e38), f32(3e38), 2.0**-126, 2.0**-149, 2.0**-130, -(2.0**-140), 2.0**127])


def f64_rounding():
    return rounding("f64_rounding", "f64", [1e308, 2.0**-1022, 2.0**-1074, -(2.0**-1060), 2.0**1023])


def ieee(op, x, y):
    """f32 operations with zeros, infinities and NaN, round to nearest."""
    if math.isnan(x) or math.isnan(y):
        return NAN
    if op == "/":
        if y == 0:
            return NAN if x == 0 else math.copysign(INF, x) * math.copysign(1, y)
        if math.isinf(x) and math.isinf(y):
            return NAN
        if math.isinf(y) or x == 0 or math.isinf(x):
            return math.copysign(0.0 if math.isinf(y) or x == 0 else INF, x) * math.copysign(1, y)
        return round_or_zero(Fraction(x) / Fraction(y))
    # Double precision holds these f32 sums and products of the table exactly enough: products are exact in 53 bits.
    exact = x + y if op == "+" else x - y if op == "-" else x * y
    if math.isinf(exact) or math.isnan(exact) or exact == 0:
        return exact
    result = Fraction(x) + Fraction(y) if op == "+" else Fraction(x) - Fraction(y) if op == "-" else Fraction(x) * Fraction(y)
    rounded = round_or_zero(result)
    return math.copysign(0.0, result) if rounded == 0 else rounded


def round_or_zero(result):
    return round_to(result, "f32") if result != 0 else 0.0


def fused(x, y, z):
    if math.isnan(x) or math.isnan(y) or math.isnan(z):
        return NAN
    if math.isinf(x) or math.isinf(y) or math.isinf(z):
        return x * y + z
    result = Fraction(x) * Fraction(y) + Fraction(z)
    return x * y + z if result == 0 else math.copysign(abs(round_to(result, "f32")), result)


def minimum(x, y, sign):
    """min for sign 1, max for sign -1: a number wins over NaN, -0 is below +0."""
    if math.isnan(x):
        return y
    if math.isnan(y):
        return x
    key = lambda v: (sign * v, sign * math.copysign(1, v))
    return min(x, y, key=key)


def f32_special():
    case = Case("f32_special", "f32 with zeros, infinities, NaN and subnormals.", block=64)
    table = [0.0, -0.0, 1.5, -2.0, INF, -INF, NAN, f32(1e-40)]
    a = [x for x in table for _ in table]
    b = [y for _ in table for y in table]
    float_arg(case, "f32", a), float_arg(case, "f32", b)
    values, flags = case.out("f32", 12 * 64), case.out("u32", 21 * 64)
    pairs = list(zip(a, b))
    root = lambda x: NAN if math.isnan(x) or x < 0 else x if x in (0, INF) else root_to(Fraction(x), "f32")
    saturate = lambda x: 0.0 if math.isnan(x) else max(0.0, min(1.0, x))
    case.rows(values, [
        ("add", [ieee("+", x, y) for x, y in pairs]),
        ("sub", [ieee("-", x, y) for x, y in pairs]),
        ("mul", [ieee("*", x, y) for x, y in pairs]),
        ("div", [ieee("/", x, y) for x, y in pairs]),
        ("fma", [fused(x, y, x) for x, y in pairs]),
        ("min", [minimum(x, y, 1) for x, y in pairs]),
        ("max", [minimum(x, y, -1) for x, y in pairs]),
        ("sqrt", [root(x) for x, _ in pairs]),
        ("copysign", [math.copysign(x, y) if not math.isnan(x) else NAN for x, y in pairs]),
        ("abs", [abs(x) for x, _ in pairs]),
        ("neg", [-x for x, _ in pairs]),
        ("saturate(x + 0.25)", [saturate(ieee("+", x, 0.25)) for x, _ in pairs]),
    ], width=64)
    unordered = lambda x, y: math.isnan(x) or math.isnan(y)
    ordered = {"eq": lambda x, y: x == y, "ne": lambda x, y: x != y and not unordered(x, y), "lt": lambda x, y: x < y,
               "le": lambda x, y: x <= y, "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y}
    tests = [(n, f) for n, f in ordered.items()]
    tests += [(n + "u", lambda x, y, f=f: f(x, y) or unordered(x, y)) for n, f in ordered.items()]
    tests += [("num", lambda x, y: not unordered(x, y)), ("nan", unordered)]
    tiny = 2.0**-126
    classes = [
        ("finite", lambda x: math.isfinite(x)), ("infinite", lambda x: math.isinf(x)),
        ("number", lambda x: not math.isnan(x)), ("notanumber", lambda x: math.isnan(x)),
        # A zero is counted among the normal numbers.
        ("normal", lambda x: math.isfinite(x) and (abs(x) >= tiny or x == 0)),
        ("subnormal", lambda x: 0 < abs(x) < tiny),
    ]
    rows = [("setp." + n, [int(f(x, y)) for x, y in pairs]) for n, f in tests]
    rows += [("testp." + n, [int(f(x)) for x, _ in pairs]) for n, f in classes]
    rows.append(("sign bit", [int(math.copysign(1, x) < 0) for x, _ in pairs]))
    case.rows(flags, rows, width=64)
    return case


def f32_ftz():
    case = Case("f32_ftz", "Flush to zero and saturation.")
    a = [f32(v) for v in [1e-40, -1e-40, 1e-20, -1e-20, 0.3, 0.9, 2.0, -3.0, NAN, INF, 1e-38, 0.5, 2.5, 3.5, -0.5, 1e-39]]
    a += sample(31, 16, -3, 1)
    b = [f32(v) for v in [1e-40, 1.0, 1e-22, 1e-22, 0.3, 0.9, 3.0, 0.25, 1.0, 1.0, -1.1e-38, -1e-40, 1e-39, 0.1, -1.0, 1e-38]]
    b += sample(32, 16, -3, 1)
    float_arg(case, "f32", a), float_arg(case, "f32", b)
    out = case.out("f32", 14 * 32)
    flush = lambda v: math.copysign(0.0, v) if 0 < abs(v) < 2.0**-126 else v
    sat = lambda v: 0.0 if math.isnan(v) or v <= 0 else min(v, 1.0)

    def nearest_integer(v):
        return v if not math.isfinite(v) else math.copysign(float(round(v)), v)

    def row(what, f, **tolerance):
        return what, [f(x, y) for x, y in zip(a, b)], tolerance

    ftz = lambda f: lambda x, y: flush(f(flush(x), flush(y)))
    case.rows(out, [
        row("add.ftz", ftz(lambda x, y: ieee("+", x, y))),
        row("sub.ftz", ftz(lambda x, y: ieee("-", x, y))),
        row("mul.ftz", ftz(lambda x, y: ieee("*", x, y))),
        row("fma.rn.ftz", ftz(lambda x, y: fused(x, y, y))),
        row("add.sat", lambda x, y: sat(ieee("+", x, y)), signed_zero=False),
        row("mul.ftz.sat", lambda x, y: sat(ftz(lambda p, q: ieee("*", p, q))(x, y)), signed_zero=False),
        row("fma.rn.sat", lambda x, y: sat(fused(x, y, x)), signed_zero=False),
        row("min.ftz", ftz(lambda x, y: minimum(x, y, 1))),
        row("max.ftz", ftz(lambda x, y: minimum(x, y, -1))),
        row("abs.ftz", lambda x, y: flush(abs(x))),
        row("neg.ftz", lambda x, y: flush(-x)),
        row("cvt.rni.ftz", lambda x, y: nearest_integer(flush(x))),
        row("cvt.sat", lambda x, y: sat(x), signed_zero=False),
        row("set.lt.ftz", lambda x, y: 1.0 if flush(x) < flush(y) else 0.0),
    ])
    return case


def half_like(name, fmt, to_bits, from_bits, canonical_nan):
    """Shared tools of the two 16-bit formats: exact operations on bit patterns."""
    def operate(f, *bits):
        values = [from_bits(b) for b in bits]
        if any(math.isnan(v) for v in values):
            return canonical_nan
        if any(math.isinf(v) for v in values):
            result = f(*values)
            return canonical_nan if math.isnan(result) else to_bits(result)
        exact = f(*[Fraction(v) for v in values])
        if exact == 0:
            return to_bits(f(*values))
        return to_bits(round_to(exact, fmt))
    return operate


def f16_arith():
    case = Case("f16_arith", "Half precision on bit patterns.")
    rng = random.Random(41)
    a = [bits16(v) for v in [1.0, -1.0, 0.5, 65504.0, 2.0**-24, 2.0**-14, 0.0, -0.0, 3.0, 1000.0, 0.1, -7.5]]
    a += [rng.randrange(0x0400, 0x7000) | rng.choice([0, 0x8000]) for _ in range(20)]
    b = [bits16(v) for v in [1.0, 2.0**-11, 0.25, 65504.0, 2.0**-24, -(2.0**-15), 0.25, 1.5, INF, NAN, 0.2, 7.5]]
    b = [0x7FFF if math.isnan(from_bits16(v)) else v for v in b]
    b += [rng.randrange(0x2000, 0x5000) | rng.choice([0, 0x8000]) for _ in range(20)]
    case.values("u16", a, hexadecimal=True), case.values("u16", b, hexadecimal=True)
    out = case.out("u16", 23 * 32)
    op = half_like("f16", "f16", bits16, from_bits16, 0x7FFF)
    value = from_bits16

    def saturate(bits):
        v = value(bits)
        return bits16(0.0 if math.isnan(v) or v <= 0 else min(v, 1.0))

    def row(what, f):
        return what, [f(x, y) for x, y in zip(a, b)]

    def scaled(mode):
        return row(f"cvt.{mode}.f16.f32", lambda x, y: 0 if value(x) == 0 and x < 0x8000 else x if value(x) == 0
                   else bits16(round_to(Fraction(round_to(Fraction(value(x)) * Fraction(f32(1.001)), "f32")), "f16", mode)))

    clamp = lambda v: max(-(2**31), min(2**31 - 1, v)) & 0xFFFF
    case.rows(out, [
        row("add", lambda x, y: op(lambda p, q: p + q, x, y)),
        row("sub", lambda x, y: op(lambda p, q: p - q, x, y)),
        row("mul", lambda x, y: op(lambda p, q: p * q, x, y)),
        row("fma", lambda x, y: op(lambda p, q: p * q + p, x, y)),
        row("neg", lambda x, y: x ^ 0x8000),
        row("abs", lambda x, y: x & 0x7FFF),
        row("add.sat", lambda x, y: saturate(op(lambda p, q: p + q, x, y))),
        row("fma.sat", lambda x, y: saturate(op(lambda p, q: p * q + q, x, y))),
        row("eq", lambda x, y: int(value(x) == value(y))),
        row("lt", lambda x, y: int(value(x) < value(y))),
        row("geu", lambda x, y: int(not value(x) < value(y))),
        row("nan", lambda x, y: 0),
        row("fma.f16x2 low", lambda x, y: op(lambda p, q: p * q + p, x, y)),
        row("fma.f16x2 high", lambda x, y: op(lambda p, q: q * p + q, x, y)),
        row("mul.f16x2 high", lambda x, y: op(lambda p, q: q * q, x, y)),
        row("cvt.rzi.s32.f16", lambda x, y: clamp(math.trunc(value(x)))),
        row("cvt.rni.s32.f16", lambda x, y: clamp(round(value(x)))),
        ("cvt.rn.f16.s32", [bits16(round_to(Fraction(x - 30000), "f16")) for x in a]),
        scaled("rn"), scaled("rz"), scaled("ru"), scaled("rd"),
        row("cvt.rn.f16.f64", lambda x, y: x if value(x) == 0 else bits16(round_to(Fraction(value(x) / 3.0), "f16"))),
    ])
    return case


def bf16_arith():
    case = Case("bf16_arith", "bfloat16 on bit patterns.", ptx=RECENT)
    rng = random.Random(42)
    number = lambda v: bits_bf16(round_to(Fraction(v), "bf16"))
    a = [number(v) for v in [1.0, -1.0, 0.5, 3e38, 2.0**-133, 1000.0, 3.0, -7.5]]
    a += [rng.randrange(0x3A00, 0x4800) | rng.choice([0, 0x8000]) for _ in range(24)]
    b = [number(v) for v in [2.0**-8, 2.0**-9, 0.25, 3e38, 2.0**-130]] + [0x7F80, 0x7FFF, number(7.5)]
    b += [rng.randrange(0x3A00, 0x4800) | rng.choice([0, 0x8000]) for _ in range(24)]
    case.values("u16", a, hexadecimal=True), case.values("u16", b, hexadecimal=True)
    out = case.out("u16", 12 * 32)
    op = half_like("bf16", "bf16", bits_bf16, from_bits_bf16, 0x7FFF)
    value = from_bits_bf16

    def row(what, f):
        return what, [f(x, y) for x, y in zip(a, b)]

    def pick(sign):
        return lambda x, y: x if math.isnan(value(y)) else bits_bf16(minimum(value(x), value(y), sign))

    def scaled(mode):
        return row(f"cvt.{mode}.bf16.f32", lambda x, y: bits_bf16(round_to(
            Fraction(f32_value), "bf16", mode)) if math.isfinite(f32_value := round_to(Fraction(value(x)) * Fraction(f32(1.003)), "f32"))
            else bits_bf16(f32_value))

    case.rows(out, [
        row("add", lambda x, y: op(lambda p, q: p + q, x, y)),
        row("sub", lambda x, y: op(lambda p, q: p - q, x, y)),
        row("mul", lambda x, y: op(lambda p, q: p * q, x, y)),
        row("fma", lambda x, y: op(lambda p, q: p * q + p, x, y)),
        row("neg", lambda x, y: x ^ 0x8000),
        row("abs", lambda x, y: x & 0x7FFF),
        row("min", pick(1)),
        row("max", pick(-1)),
        scaled("rn"), scaled("rz"),
        row("fma.bf16x2 low", lambda x, y: op(lambda p, q: p * q + p, x, y)),
        row("fma.bf16x2 high", lambda x, y: op(lambda p, q: q * p + q, x, y)),
    ])
    return case


def to_integer(x, mode, bits, is_signed, nan):
    """Float to integer: rounded, then clamped to the range of the type."""
    lo, hi = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)
    if math.isnan(x):
        return nan
    if math.isinf(x):
        return lo if x < 0 else hi
    return max(lo, min(hi, {"rn": round, "rz": math.trunc, "ru": math.ceil, "rd": math.floor}[mode](x)))


def convert():
    case = Case("convert", "Conversions between f32, f64 and integers.")
    a = [f32(v) for v in [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 2147483520.0, 2147483648.0, -2147483648.0, 4294967040.0, 5e9,
                          -5e9, 1e30, INF, -INF, NAN, 0.1, -1e-40, 16777217.0]] + sample(51, 12, -2, 40)
    b = [0.0, -0.0, 0.5, 1.5, 2.5, -2.5, 2147483647.5, -2147483648.5, 4294967295.5, 1e10, 9.3e18, 1e300, -1e300, INF, -INF,
         NAN, 0.1, 1 + 2.0**-24, 1 + 3 * 2.0**-24, 1e-310, 1e-42, 3.5e38] + sample(52, 10, -2, 50, "f64")
    rng = random.Random(53)
    n = [0, 1, -1, 16777217, 16777219, -16777217, 2**31 - 1, -(2**31), 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)]
    n += [signed(rng.getrandbits(64) >> rng.randrange(0, 40), 64) for _ in range(20)]
    float_arg(case, "f32", a), float_arg(case, "f64", b), case.values("s64", n)
    i32, i64 = case.out("s32", 11 * 32), case.out("s64", 5 * 32)
    out32, out64 = case.out("f32", 14 * 32), case.out("f64", 9 * 32)

    # NaN gives 0 between 32-bit types and the top bit where either side has 64 bits.
    top32, top64 = 1 << 31, 1 << 63

    def ints(what, source, mode, bits, is_signed, nan):
        return what, [signed(to_integer(v, mode, bits, is_signed, nan), bits) for v in source]

    case.rows(i32, [
        ints("cvt.rni.s32.f32", a, "rn", 32, True, 0), ints("cvt.rzi.s32.f32", a, "rz", 32, True, 0),
        ints("cvt.rpi.s32.f32", a, "ru", 32, True, 0), ints("cvt.rmi.s32.f32", a, "rd", 32, True, 0),
        ints("cvt.rni.u32.f32", a, "rn", 32, False, 0), ints("cvt.rzi.u32.f32", a, "rz", 32, False, 0),
        ints("cvt.rni.s32.f64", b, "rn", 32, True, top32), ints("cvt.rzi.s32.f64", b, "rz", 32, True, top32),
        ints("cvt.rpi.u32.f64", b, "ru", 32, False, top32),
    ])
    # The bits of a NaN input pass unchanged through the two halves.
    case.expect(i32, [signed(bits64(v) >> 32) for v in b], 9 * 32, "high word")
    case.expect(i32, [signed(bits64(v)) for v in b], 10 * 32, "low word")
    case.rows(i64, [
        ints("cvt.rni.s64.f32", a, "rn", 64, True, top64), ints("cvt.rzi.s64.f32", a, "rz", 64, True, top64),
        ints("cvt.rmi.u64.f32", a, "rd", 64, False, top64), ints("cvt.rni.s64.f64", b, "rn", 64, True, top64),
        ints("cvt.rzi.u64.f64", b, "rz", 64, False, top64),
    ])

    def rounded(v, fmt, mode):
        return v if not math.isfinite(v) or v == 0 else math.copysign(round_to(Fraction(v), fmt, mode), v)

    def integral(v, mode):
        return v if not math.isfinite(v) or v == 0 else math.copysign(float({"rn": round, "rz": math.trunc, "ru": math.ceil, "rd": math.floor}[mode](v)), v)

    low, ulow, whole = [signed(v) for v in n], [unsigned(v) for v in n], [unsigned(v, 64) for v in n]
    from_int = lambda what, source, fmt, mode: (what, [round_to(Fraction(v), fmt, mode) for v in source])
    case.rows(out32, [
        from_int("cvt.rn.f32.s32", low, "f32", "rn"), from_int("cvt.rz.f32.s32", low, "f32", "rz"),
        from_int("cvt.rp.f32.u32", ulow, "f32", "ru"), from_int("cvt.rn.f32.s64", n, "f32", "rn"),
        from_int("cvt.rm.f32.s64", n, "f32", "rd"), from_int("cvt.rn.f32.u64", whole, "f32", "rn"),
    ] + [(f"cvt.{m}.f32.f64", [rounded(v, "f32", m) for v in b]) for m in MODES]
      + [(f"integral {m}", [integral(v, m) for v in a]) for m in ["rn", "rz", "ru", "rd"]])
    case.rows(out64, [
        from_int("cvt.rn.f64.s32", low, "f64", "rn"), from_int("cvt.rn.f64.s64", n, "f64", "rn"),
        from_int("cvt.rz.f64.s64", n, "f64", "rz"), from_int("cvt.rp.f64.u64", whole, "f64", "ru"),
        ("cvt.f64.f32", a),
    ] + [(f"integral {m}", [integral(v, m) for v in b]) for m in ["rn", "rz", "ru", "rd"]])
    return case


def inputs(count_a, lo, hi, seed):
    """Positive a over several powers of two and b spread over [lo, hi], both exact in f32."""
    rng = random.Random(seed)
    a = [1.0, 2.0, 0.5, 10.0] + sample(seed, count_a - 4, -6, 6, negative=False)
    b = [0.0, 1.0, -1.0, 0.5] + [f32(rng.uniform(lo, hi)) for _ in range(count_a - 4)]
    return a, b


def approx():
    case = Case("approx", "Approximate instructions within their documented bounds.")
    a, b = inputs(32, -3.0, 3.0, 61)
    # The tangent needs arguments away from its poles.
    b = [v if abs(abs(v) - math.pi / 2) > 0.2 else f32(v / 2) for v in b]
    float_arg(case, "f32", a), float_arg(case, "f32", b)
    out = case.out("f32", 13 * 32)
    f = lambda g: [f32(g(x, y)) for x, y in zip(a, b)]
    case.rows(out, [
        ("sin", f(lambda x, y: math.sin(y)), dict(abs=2.0**-20.5)),
        ("cos", f(lambda x, y: math.cos(y)), dict(abs=2.0**-20.5)),
        ("exp", f(lambda x, y: math.exp(y)), dict(ulp=6)),
        ("log", f(lambda x, y: math.log(x)), dict(ulp=4, abs=2.0**-21)),
        ("log2", f(lambda x, y: math.log2(x)), dict(ulp=3, abs=2.0**-21.5)),
        ("ex2", f(lambda x, y: 2.0**y), dict(ulp=3)),
        ("rcp", f(lambda x, y: 1 / x), dict(ulp=2)),
        ("sqrt", f(lambda x, y: math.sqrt(x)), dict(ulp=3)),
        ("rsqrt", f(lambda x, y: 1 / math.sqrt(x)), dict(ulp=3)),
        ("fdividef", f(lambda x, y: y / x), dict(ulp=3)),
        ("tanh", f(lambda x, y: math.tanh(y)), dict(rel=2.0**-10.9)),
        ("pow", f(lambda x, y: x**y), dict(rel=2e-5)),
        ("tan", f(lambda x, y: math.tan(y)), dict(abs=1e-4)),
    ])
    return case


def approx_special():
    case = Case("approx_special", "Edge values of the approximate instructions.", block=16)
    a = [0.0, -0.0, INF, -INF, NAN, f32(1e-40), -f32(1e-40), f32(5e-39), 1.0, -1.0, 0.25, 4.0, 2.0, -2.0, 3.0, 0.5]
    float_arg(case, "f32", a)
    out = case.out("f32", 12 * 16)
    flush = lambda v: math.copysign(0.0, v) if 0 < abs(v) < 2.0**-126 else v
    bad = lambda f: lambda v: NAN if math.isnan(v) or math.isinf(v) else f(v)

    def ex2(v):
        return v if math.isnan(v) else INF if v == INF else 0.0 if v == -INF else 2.0**v

    def lg2(v):
        return v if math.isnan(v) or v == INF else -INF if v == 0 else NAN if v < 0 else math.log2(v)

    def rcp(v):
        return v if math.isnan(v) else math.copysign(INF, v) if v == 0 else math.copysign(0.0, v) if math.isinf(v) else 1 / v

    def rsqrt(v):
        return v if math.isnan(v) else math.copysign(INF, v) if v == 0 else NAN if v < 0 else 0.0 if v == INF else v**-0.5

    def root(v):
        return v if math.isnan(v) or v == 0 or v == INF else NAN if v < 0 else math.sqrt(v)

    def row(what, f, **tolerance):
        results = []
        for v in a:
            r = f(v)
            results.append(math.copysign(INF, r) if math.isfinite(r) and abs(r) > 3.4028235677973366e38 else f32(r))
        return what, results, tolerance

    case.rows(out, [
        row("sin.ftz", lambda v: bad(math.sin)(flush(v)), abs=2.0**-20.5),
        row("cos.ftz", lambda v: bad(math.cos)(flush(v)), abs=2.0**-20.5),
        row("ex2", ex2, ulp=3),
        row("ex2.ftz", lambda v: ex2(flush(v)), ulp=3),
        row("lg2", lg2, ulp=3, abs=2.0**-21.5),
        row("lg2.ftz", lambda v: lg2(flush(v)), ulp=3, abs=2.0**-21.5),
        row("rcp", rcp, ulp=2),
        row("rcp.ftz", lambda v: rcp(flush(v)), ulp=2),
        row("rsqrt", rsqrt, ulp=3),
        row("rsqrt.ftz", lambda v: rsqrt(flush(v)), ulp=3),
        row("sqrt", root, ulp=3),
        row("sqrt.ftz", lambda v: root(flush(v)), ulp=3),
    ], width=16)
    return case


def libm_f32():
    case = Case("libm_f32", "The precise single-precision library.")
    a, b = inputs(32, -8.0, 8.0, 62)
    float_arg(case, "f32", a), float_arg(case, "f32", b)
    out = case.out("f32", 22 * 32)
    f = lambda g: [f32(g(x, y)) for x, y in zip(a, b)]
    root3 = lambda v: math.copysign(abs(v) ** (1 / 3), v)
    case.rows(out, [
        ("sinf", f(lambda x, y: math.sin(y)), dict(ulp=3)),
        ("cosf", f(lambda x, y: math.cos(y)), dict(ulp=3)),
        ("tanf", f(lambda x, y: math.tan(y)), dict(ulp=5)),
        ("expf", f(lambda x, y: math.exp(y)), dict(ulp=3)),
        ("exp2f", f(lambda x, y: 2.0**y), dict(ulp=3)),
        ("exp10f", f(lambda x, y: 10.0**y), dict(ulp=3)),
        ("expm1f", f(lambda x, y: math.expm1(y)), dict(ulp=2)),
        ("logf", f(lambda x, y: math.log(x)), dict(ulp=2)),
        ("log2f", f(lambda x, y: math.log2(x)), dict(ulp=2)),
        ("log10f", f(lambda x, y: math.log10(x)), dict(ulp=3)),
        ("log1pf", f(lambda x, y: math.log1p(x)), dict(ulp=2)),
        ("powf", f(lambda x, y: x**y), dict(ulp=9)),
        ("sinhf", f(lambda x, y: math.sinh(y)), dict(ulp=4)),
        ("coshf", f(lambda x, y: math.cosh(y)), dict(ulp=3)),
        ("tanhf", f(lambda x, y: math.tanh(y)), dict(ulp=3)),
        ("atanf", f(lambda x, y: math.atan(y)), dict(ulp=3)),
        ("atan2f", f(lambda x, y: math.atan2(y, x)), dict(ulp=4)),
        ("erff", f(lambda x, y: math.erf(y)), dict(ulp=3)),
        ("cbrtf", f(lambda x, y: root3(y)), dict(ulp=2)),
        ("hypotf", f(lambda x, y: math.hypot(x, y)), dict(ulp=4)),
        ("asinhf", f(lambda x, y: math.asinh(y)), dict(ulp=4)),
        ("rsqrtf", f(lambda x, y: x**-0.5), dict(ulp=3)),
    ])
    return case


def trig_large():
    case = Case("trig_large", "Sine and cosine of large arguments.")
    a = [f32(v) for v in [105616.0, -105616.0, 1e6, 1e8, 1e10, -1e12, 1e20, 1e30, 3e38, 2.0**100, 2.0**60, 105615.0, 100.0]]
    a += sample(63, 19, 17, 127)
    float_arg(case, "f32", a)
    sine, cosine = case.out("f32", 32), case.out("f32", 32)
    case.expect(sine, [f32(math.sin(v)) for v in a], what="sinf", ulp=3)
    case.expect(cosine, [f32(math.cos(v)) for v in a], what="cosf", ulp=3)
    return case


def libm_fast():
    case = Case("libm_fast", "Library calls under fast math.")
    a, b = inputs(32, -3.0, 3.0, 64)
    b = [v if abs(abs(v) - math.pi / 2) > 0.2 else f32(v / 2) for v in b]
    float_arg(case, "f32", a), float_arg(case, "f32", b)
    out = case.out("f32", 9 * 32)
    f = lambda g: [f32(g(x, y)) for x, y in zip(a, b)]
    case.rows(out, [
        ("sinf", f(lambda x, y: math.sin(y)), dict(abs=2.0**-20.5)),
        ("cosf", f(lambda x, y: math.cos(y)), dict(abs=2.0**-20.5)),
        ("expf", f(lambda x, y: math.exp(y)), dict(ulp=6)),
        ("logf", f(lambda x, y: math.log(x)), dict(ulp=4, abs=2.0**-21)),
        ("powf", f(lambda x, y: x**y), dict(rel=2e-5)),
        ("division", f(lambda x, y: y / x), dict(ulp=3)),
        ("sqrtf", f(lambda x, y: math.sqrt(x)), dict(ulp=4)),
        ("tanf", f(lambda x, y: math.tan(y)), dict(abs=1e-4)),
        # Both constants are subnormal and flushed.
        ("flush to zero", [0.0] * 32),
    ])
    return case


def libm_f64():
    case = Case("libm_f64", "The double-precision library.")
    a, b = inputs(32, -8.0, 8.0, 65)
    float_arg(case, "f64", a), float_arg(case, "f64", b)
    out = case.out("f64", 15 * 32)
    f = lambda g: [g(x, y) for x, y in zip(a, b)]
    case.rows(out, [
        ("sin", f(lambda x, y: math.sin(y)), dict(ulp=3)),
        ("cos", f(lambda x, y: math.cos(y)), dict(ulp=3)),
        ("tan", f(lambda x, y: math.tan(y)), dict(ulp=3)),
        ("exp", f(lambda x, y: math.exp(y)), dict(ulp=2)),
        ("log", f(lambda x, y: math.log(x)), dict(ulp=2)),
        ("pow", f(lambda x, y: x**y), dict(ulp=3)),
        ("atan", f(lambda x, y: math.atan(y)), dict(ulp=3)),
        ("tanh", f(lambda x, y: math.tanh(y)), dict(ulp=3)),
        ("cbrt", f(lambda x, y: math.cbrt(y)), dict(ulp=2)),
        ("rsqrt", f(lambda x, y: root_to(1 / Fraction(x), "f64")), dict(ulp=2)),
        ("division", f(lambda x, y: y / x)),
        ("sqrt", f(lambda x, y: math.sqrt(x))),
        ("erf", f(lambda x, y: math.erf(y)), dict(ulp=3)),
        ("log1p", f(lambda x, y: math.log1p(x)), dict(ulp=2)),
        ("sin of large arguments", f(lambda x, y: math.sin(y * 1e12)), dict(ulp=3)),
    ])
    return case


def next_after(x, y):
    if x == y:
        return y
    step = 1 if (y > x) == (x > 0) else -1
    return from_bits32(bits32(x) + step) if x != 0 else math.copysign(2.0**-149, y)


def float_parts():
    case = Case("float_parts", "fmod, remainder, ldexp, frexp, modf, nextafter.")
    a = [5.5, -5.5, 1e10, 0.0, f32(0.3), 2.5, -3.5, 1.0] + sample(66, 24, -10, 30)
    b = [2.0, 2.0, 3.0, 1.5, f32(0.1), -1.0, f32(1e-3), 2.0] + sample(67, 24, -5, 5)
    a = [f32(v) for v in a]
    float_arg(case, "f32", a), float_arg(case, "f32", b)
    out, parts = case.out("f32", 9 * 32), case.out("s32", 4 * 32)
    pairs = list(zip(a, b))
    scaled = lambda x, e: x if x == 0 else math.copysign(round_to(Fraction(x) * Fraction(2) ** e, "f32"), x)
    away = lambda x: math.copysign(float(math.floor(abs(Fraction(x)) + Fraction(1, 2))), x)
    case.rows(out, [
        ("fmodf", [math.fmod(x, y) for x, y in pairs]),
        ("remainderf", [math.remainder(x, y) for x, y in pairs]),
        ("ldexpf", [scaled(x, i - 16) for i, x in enumerate(a)]),
        ("frexpf", [math.frexp(x)[0] for x in a]),
        ("modff", [math.modf(x)[0] for x in a]),
        ("modff whole", [math.modf(x)[1] for x in a]),
        ("nextafterf", [next_after(x, y) for x, y in pairs]),
        ("roundf", [away(x) for x in a]),
        ("fdimf", [round_or_zero(max(Fraction(0), Fraction(x) - Fraction(y))) for x, y in pairs]),
    ])
    case.rows(parts, [
        ("frexpf exponent", [math.frexp(x)[1] for x in a]),
        ("ilogbf", [math.frexp(x)[1] - 1 if x != 0 else -(2**31) for x in a]),
        ("bits of f32", [signed(bits32(x)) for x in a]),
        ("high word of f64", [signed(bits64(y) >> 32) for y in b]),
    ])
    return case


CASES = [f32_rounding, f64_rounding, f32_special, f32_ftz, f16_arith, bf16_arith, convert, approx, approx_special, libm_f32,
         trig_large, libm_fast, libm_f64, float_parts]
