"""Formats of numbers that NumPy lacks, as functions on its arrays."""

import numpy as np


def to_bfloat(x):
    """Bits of the nearest bfloat16, ties to even."""
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bfloat(bits):
    return (np.asarray(bits, np.uint16).astype(np.uint32) << 16).view(np.float32)


def values_of_fp8(exponent_bits):
    """The numbers of all 256 bytes: e4m3, which has no infinity, or e5m2."""
    fraction_bits = 7 - exponent_bits
    bias = (1 << exponent_bits - 1) - 1
    byte = np.arange(256)
    exponent, fraction = byte >> fraction_bits & (1 << exponent_bits) - 1, byte & (1 << fraction_bits) - 1
    scale = 2.0**-fraction_bits
    value = np.where(
        exponent == 0, fraction * scale * 2.0 ** (1 - bias), (1 + fraction * scale) * 2.0 ** (exponent - bias)
    )
    if exponent_bits == 4:
        value[byte & 0x7F == 0x7F] = np.nan
    else:
        top = exponent == 31
        value[top] = np.where(fraction[top] == 0, np.inf, np.nan)
    return np.where(byte >> 7, -value, value).astype(np.float32)


E4M3, E5M2 = values_of_fp8(4), values_of_fp8(5)


def to_e4m3(x):
    """Bytes of the nearest e4m3, ties to even; beyond the greatest, the greatest."""
    table = np.sort(E4M3[:127]).astype(np.float64)
    size = np.minimum(np.abs(np.asarray(x, np.float64)), 448)
    high = np.clip(np.searchsorted(table, size), 1, 126)
    low = high - 1
    up, down = table[high] - size, size - table[low]
    code = np.where((up < down) | ((up == down) & (high % 2 == 0)), high, low)
    return (code | np.signbit(x).astype(np.int64) << 7).astype(np.uint8)


def to_tf32(x):
    """The nearest number of 10 bits of fraction, ties away from zero."""
    bits = np.asarray(x, np.float32).view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
