"""What code a GPU runs."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from .errors import UsageError
from .verbs import gpu_list, gpu_show


@functools.cache
def _all() -> tuple[tuple[str, int], ...]:
    return tuple((gpu.gpu, number(gpu.target)) for gpu in gpu_list().gpus)


def number(target: str) -> int:
    """90 of ``sm_90`` and ``sm_90a``."""
    return int(target.removeprefix("sm_").rstrip("af"))


def by_target(gpus: str | Sequence[str] | None, least: int) -> dict[int, list[str]]:
    """GPUs by the number of the target that they run, in the order in which they were named. ``least`` is the oldest
    target that a compiler still serves."""
    names = gpus or "h200"
    names = names.split(",") if isinstance(names, str) else list(names)
    groups: dict[int, list[str]] = {}
    for name in names:
        for gpu, target in _resolved(str(name).strip(), least):
            groups.setdefault(target, []).append(gpu)
    return groups


def _resolved(name: str, least: int) -> list[tuple[str, int]]:
    if name == "all":
        return [(gpu, target) for gpu, target in _all() if target >= least]
    if name.startswith("sm_"):
        of_target = [(gpu, target) for gpu, target in _all() if f"sm_{target}" == name]
        if of_target:
            return _served(of_target, least)
    return _served([(name, number(gpu_show(name).target))], least)


def _served(found: list[tuple[str, int]], least: int) -> list[tuple[str, int]]:
    for gpu, target in found:
        if target < least:
            raise UsageError(f"{gpu} runs code for sm_{target}, and the compiler makes none before sm_{least}")
    return found


def registers_in(cubin: bytes, kernel: str) -> int | None:
    """Registers of a thread, as a cubin has them: in the header of the kernel's section, or since compute capability 7.0
    in the records of `.nv.info`, each for a symbol."""
    if cubin[:5] != b"\x7fELF\x02":
        return None

    def word(at: int, size: int) -> int:
        return int.from_bytes(cubin[at : at + size], "little")

    table, size, count, names = word(0x28, 8), word(0x3A, 2), word(0x3C, 2), word(0x3E, 2)
    text_at = word(table + names * size + 0x18, 8)
    info, symbol = b"", None
    for at in range(table, table + count * size, size):
        name_at = text_at + word(at, 4)
        name = cubin[name_at : cubin.index(b"\0", name_at)]
        if name == b".nv.info":
            start = word(at + 0x18, 8)
            info = cubin[start : start + word(at + 0x20, 8)]
        elif name == b".text." + kernel.encode():
            symbol = word(at + 0x2C, 4)
    if symbol is None:
        return None
    record = info.find(_REGISTERS + (symbol & 0xFFFFFF).to_bytes(4, "little"))
    if record >= 0:
        return int.from_bytes(info[record + 8 : record + 12], "little")
    return symbol >> 24 or None


# A record of eight bytes (format 4) that says how many registers a symbol has (attribute 0x2f).
_REGISTERS = b"\x04\x2f\x08\x00"
