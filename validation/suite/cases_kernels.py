"""The kernels of ../kernels/, each at its small size, and for one target at its middle one, which take minutes."""

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


def add(small, middle, large):
    def make(size):
        return made(middle if size.full and size.target == TARGETS[-1] else small)

    make.__name__ = small.kernel
    targets = " ".join(target for target in TARGETS if target >= small.target)
    kernel("nvcc", str((FOLDER / small.source).resolve()), small.of_class, targets)(make)


for of_kernel in zip(*[iter(cases.rows())] * len(cases.SIZES)):
    add(*of_kernel)
