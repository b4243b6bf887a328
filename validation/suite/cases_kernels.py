"""The kernels of ../kernels/, of which each is run at its smallest size."""

import sys

import numpy as np
from case import HERE, Case, Given, Launch, equal, kernel, near

FOLDER = HERE.parent / "kernels"
sys.path.append(str(FOLDER))
import cases  # noqa: E402
import fills  # noqa: E402
import references  # noqa: E402

TARGETS = ("sm_75", "sm_80", "sm_90")


def expectation(row, found, wanted):
    """What an array must hold, as near as the row says."""
    if row.share:
        allowed = int(row.share * wanted.size)
        wrong = lambda array: np.array([(array != wanted.reshape(-1)).sum()], np.float64)
        return near(found, np.zeros(1), row.why, absolute=allowed, view=wrong)
    if not row.order:
        return equal(found, np.sort(wanted, axis=None), view=np.sort)
    if row.relative or row.absolute:
        return near(found, wanted, row.why, absolute=row.absolute, relative=row.relative)
    return equal(found, wanted)


def made(row):
    """The launch of a row, and what it must leave."""
    values = [fills.value(text) for text in row.args]
    wanted = getattr(references, row.kernel)(*values)
    assert len(wanted) == len(row.check), row.kernel
    given = [Given(value, text) if isinstance(value, np.ndarray) else value for value, text in zip(values, row.args)]
    extents = [tuple(map(int, text.split(","))) for text in (row.grid, row.block)]
    launch = Launch(row.kernel, *extents, given, row.shared)
    return Case([launch], [expectation(row, values[at], result) for at, result in zip(row.check, wanted)])


def add(row):
    def make(size):
        return made(row)

    make.__name__ = row.kernel
    targets = " ".join(target for target in TARGETS if target >= row.target)
    kernel("nvcc", str((FOLDER / row.source).resolve()), row.of_class, targets)(make)


for row in cases.rows():
    if row.size == "small":
        add(row)
