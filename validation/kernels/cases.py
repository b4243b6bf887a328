#!/usr/bin/env python3
"""The rows of cases.toml: every kernel at every size, with nothing left to compute.

    cases.py            a line per row, fields separated by tabs, as measure/ reads them
    cases.py --sources  the sources with the first target of each

Needs Python 3.11 and no packages.
"""

import dataclasses
import pathlib
import re
import sys
import tomllib
import zlib

HERE = pathlib.Path(__file__).resolve().parent
SIZES = ("small", "middle", "large")


@dataclasses.dataclass
class Row:
    """A launch of a kernel: `args` are texts of a launch file, `check` the positions of those that are compared."""

    kernel: str
    size: str
    source: str
    target: str
    of_class: str
    grid: str
    block: str
    shared: int
    args: list
    check: list
    relative: float
    absolute: float
    share: float
    order: bool
    why: str

    @property
    def theme(self):
        """The name of the source without its ending, which is that of its PTX."""
        return pathlib.Path(self.source).stem

    @property
    def set(self):
        """Whether models may be fitted to what a GPU takes: for half of the kernels, whatever their sizes."""
        return "held-out" if zlib.crc32(self.kernel.encode()) % 2 else "training"

    def line(self):
        order = "order" if self.order else "set"
        check = ",".join(map(str, self.check))
        fields = [self.kernel, self.size, self.theme, self.target.removeprefix("sm_"), self.of_class, self.set]
        fields += [self.grid, self.block, self.shared, "; ".join(self.args)]
        fields += [check, self.relative, self.absolute, self.share, order]
        return "\t".join(map(str, fields))


COLUMNS = "kernel size theme capability class set grid block shared args check relative absolute share order".split()


def expanded(text, names):
    """The text with its expressions in braces computed."""
    return re.sub(r"\{([^{}]*)\}", lambda found: str(eval(found[1], {}, dict(names))), str(text))


def rows():
    with open(HERE / "cases.toml", "rb") as file:
        cases = tomllib.load(file)["case"]
    for case in cases:
        assert len(case["sizes"]) == len(SIZES), case["kernel"]
        for size, names in zip(SIZES, case["sizes"]):
            number = lambda key: float(eval(str(case.get(key, 0)), {}, dict(names)))
            text = lambda key: expanded(case.get(key, 0), names)
            yield Row(
                kernel=case["kernel"],
                size=size,
                source=case["source"],
                target=case.get("target", "sm_75"),
                of_class=case["class"],
                grid=text("grid"),
                block=text("block"),
                shared=int(text("shared")),
                args=[expanded(arg, names) for arg in case["args"]],
                check=case["check"],
                relative=number("relative"),
                absolute=number("absolute"),
                share=number("share"),
                order=case.get("order", True),
                why=case.get("why", ""),
            )


def sources():
    """Paths of the sources with the first target that a kernel of each needs."""
    found = {}
    for row in rows():
        found[row.source] = max(found.get(row.source, ""), row.target)
    return found


def main():
    if sys.argv[1:] == ["--sources"]:
        for source, target in sources().items():
            print(source, target.removeprefix("sm_"))
    else:
        print("\t".join(COLUMNS))
        for row in rows():
            print(row.line())


if __name__ == "__main__":
    main()
