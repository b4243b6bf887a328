"""Exact arithmetic for the expected values: rational numbers rounded once to a binary format."""

import math
import struct
from fractions import Fraction

# Precision in bits and smallest normal exponent of each format; the largest exponent is 1 - emin.
FORMATS = {"f16": (11, -14), "bf16": (8, -126), "f32": (24, -126), "f64": (53, -1022)}


def round_to(value, fmt, mode="rn", sticky=0):
    """Rounds a Fraction to a format as a Python float; `sticky` is the sign of an unrepresented remainder."""
    precision, emin = FORMATS[fmt]
    if value == 0:
        return 0.0
    sign = -1 if value < 0 else 1
    value, sticky = abs(value), sign * sticky
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** exponent > value:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, emin) - precision + 1)
    whole, rest = divmod(value / unit, 1)
    inexact = rest != 0 or sticky != 0
    if rest == 0 and sticky < 0:
        whole, above_half, half = whole - 1, True, False
    else:
        above_half = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and sticky > 0)
        half = rest == Fraction(1, 2) and sticky == 0
    up = {
        "rn": above_half or (half and whole % 2 == 1),
        "rz": False,
        "ru": sign > 0 and inexact,
        "rd": sign < 0 and inexact,
    }[mode]
    result = (whole + up) * unit
    largest = (2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** (1 - emin)
    if result > largest:
        to_infinity = mode == "rn" or (mode == "ru" and sign > 0) or (mode == "rd" and sign < 0)
        return sign * (math.inf if to_infinity else float(largest))
    return math.copysign(float(result), sign)


def root_to(value, fmt, mode="rn"):
    """Square root of a non-negative Fraction, rounded once."""
    if value == 0:
        return 0.0
    scale = 2 ** 1400
    floor = math.isqrt(value.numerator * scale * scale // value.denominator)
    exact = Fraction(floor, scale) ** 2 == value
    return round_to(Fraction(floor, scale), fmt, mode, 0 if exact else 1)


def f32(x):
    """The nearest f32 of a Python float, as a Python float."""
    if math.isnan(x) or math.isinf(x):
        return x
    if x == 0:
        return x
    return round_to(Fraction(x), "f32")


def bits32(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def from_bits32(b):
    return struct.unpack("<f", struct.pack("<I", b))[0]


def bits64(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def bits16(x):
    return struct.unpack("<H", struct.pack("<e", x))[0]


def from_bits16(b):
    return struct.unpack("<e", struct.pack("<H", b))[0]


def bits_bf16(x):
    return bits32(x) >> 16


def from_bits_bf16(b):
    return from_bits32(b << 16)


def signed(value, width=32):
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def unsigned(value, width=32):
    return value & ((1 << width) - 1)
