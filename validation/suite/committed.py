"""Writes the cases that the tests of the workspace run: PTX of one kernel each, and what it must leave."""

import re
import shutil

import numpy as np

import case
import compilers
from case import HERE

FOLDER = HERE / "committed"


def write(suite):
    shutil.rmtree(FOLDER, ignore_errors=True)
    for kernel in case.KERNELS:
        if kernel.committed:
            made = kernel.case(False, kernel.committed)
            ptx = only(
                compilers.plain(suite.program(kernel, kernel.committed).read_text()),
                {launch.kernel for launch in made.launches},
            )
            name = f"{kernel.compiler}_{kernel.name}"
            path = FOLDER / "ptx" / kernel.committed / f"{name}.ptx"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(ptx)
            (FOLDER / f"{name}.toml").write_text(document(kernel, made))


def only(ptx, kernels):
    """The kernels, with the functions and variables that they use."""
    entities = re.split(r"(?m)^(?=\.(?:visible |extern |weak |common )?\.?(?:entry|func|global|const|shared)\b)", ptx)
    head, entities = entities[0], entities[1:]
    names = [
        re.search(r"(?:\.entry|\.func(?:\s*\([^)]*\))?)\s+([\w$]+)|([\w$]+)(?:\[[^\]]*\])*\s*(?:=|;)", entity)
        for entity in entities
    ]
    names = [match[1] or match[2] for match in names]
    kept = {i for i, name in enumerate(names) if name in kernels}
    while True:
        text = "".join(entities[i] for i in kept)
        words = set(re.findall(r"[\w$]+", text))
        more = {
            i for i, (name, entity) in enumerate(zip(names, entities)) if name in words and ".entry" not in entity
        } - kept
        if not more:
            return head + "".join(entities[i] for i in sorted(kept))
        kept |= more


def document(kernel, made):
    """A case as the conformance kernels have them: launches with their arrays, and expectations."""
    lines = [f"# Written by run.py --commit. {kernel.feature}, by {compilers.version(kernel.compiler)}."]
    lines.append(f'ptx = ["{kernel.committed}"]')
    if made.stdout:
        lines.append(f"stdout = '''\n{made.stdout}'''")
    launches, brought = made.launch_file(lambda array, _: f"values({','.join(map(text, array.reshape(-1)))})")
    lines += ["", launches.rstrip()]
    for expectation in made.expectations:
        number, index = brought[id(expectation.of)]
        assert number == 0 and expectation.view is None, (
            f"{kernel.name}: the tests compare arrays of the first launch as they are"
        )
        lines += ["", "[[expect]]", f"buffer = {index}"]
        for key, bound in (("abs", expectation.absolute), ("rel", expectation.relative)):
            if np.any(bound):
                lines.append(f"{key} = {float(np.max(bound))!r}")
        if np.asarray(expectation.wanted).dtype.kind == "f":
            lines.append("signed_zero = false")
        if expectation.why:
            lines.append(f"# {expectation.why}")
        lines.append("values = [")
        # Written as doubles, as which they are compared.
        wanted = np.asarray(expectation.wanted).reshape(-1)
        values = [text(value) for value in (wanted.astype(np.float64) if wanted.dtype.kind == "f" else wanted)]
        lines += ["    " + ", ".join(values[i : i + 16]) + "," for i in range(0, len(values), 16)] + ["]"]
    return "\n".join(lines) + "\n"


def text(value):
    """A number; the shortest text that gives a float of its type back."""
    if isinstance(value, (float, np.floating)):
        short = str(value) if isinstance(value, np.floating) else repr(value)
        return short if any(c in short for c in ".en") else short + ".0"
    return str(int(value))
