"""What arguments of a launch file hold, in NumPy: the same numbers that the program and measure/ make."""

import re

import numpy as np

TYPES = {
    "u8": np.uint8, "s8": np.int8, "u32": np.uint32, "s32": np.int32, "u64": np.uint64, "s64": np.int64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip


# Elements that are made at once: a large buffer and its numbers in between would not fit into memory together.
CHUNK = 1 << 22


def splitmix(seed, first, count):
    """Outputs of SplitMix64 for a seed, as docs/decisions/0004-random-generator.md has them, from number `first` on."""
    with np.errstate(over="ignore"):
        numbers = np.arange(first + 1, first + count + 1, dtype=np.uint64)
        z = np.uint64(seed) + numbers * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def unit(seed, first, count):
    """Numbers from 0 to below 1."""
    return (splitmix(seed, first, count) >> np.uint64(11)) * 2.0**-53


def chunks(count):
    """Where chunks begin, and their lengths."""
    return ((first, min(CHUNK, count - first)) for first in range(0, count, CHUNK))


def uniform(kind, low, high, seed, count):
    result = np.empty(count, kind)
    for first, length in chunks(count):
        drawn = unit(seed, first, length)
        if np.issubdtype(kind, np.integer):
            result[first : first + length] = np.floor(low + drawn * (high - low + 1)).astype(kind)
        else:
            result[first : first + length] = low + drawn * (high - low)
    return result


def value(text):
    """The array or the number that a text stands for."""
    found = re.fullmatch(r"(\w+)\[(\d+)\](?::(\w+)\(([^)]*)\))?", text)
    if not found:
        return float(text) if re.search(r"[.e]", text) else int(text)
    kind, count, content = TYPES[found[1]], int(found[2]), found[3] or "zeros"
    words = [word.strip() for word in (found[4] or "").split(",")]
    if content == "zeros":
        return np.zeros(count, kind)
    if content == "uniform":
        return uniform(kind, float(words[0]), float(words[1]), int(words[2]), count)
    if content == "values":
        return np.array([float(word) for word in words]).astype(kind)
    raise ValueError(f"{text}: no such content")
