"""Kernel Tuner's spaces and files: a space is ranked by predicted times, and Kernel Tuner takes the ranking.

Files of the forms T1 (a space), T4 (results) and of caches are read and written; Kernel Tuner itself is not needed.

>>> space = Space("k", "__global__ void k() {}\\n", 1024, [], {"block_size_x": [32, 64], "UNROLL": [1, 2, 4]})
>>> len(space.configurations())
6
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .. import verbs
from ..errors import Error, InputError, UsageError
from ..expressions import evaluate, whole
from ..parallel import in_parallel
from ..progress import Watch
from ..targets import by_target
from . import files, t1
from .files import Timed, read_cache, read_t4

__all__ = ["Ranking", "Space", "Timed", "rank", "read_cache", "read_t4"]

_AXES = "xyz"
Configuration = dict[str, Any]


@dataclass
class Space:
    """A kernel with parameters to choose, as ``kernel_tuner.tune_kernel`` takes them.

    ``source`` is a text of CUDA C++ or its path, ``problem_size`` threads per axis (a number, a list, or expressions of
    parameters), ``arguments`` NumPy arrays, numbers and :class:`warplens.Buffer`, ``tune_params`` the values of each
    parameter, ``restrictions`` expressions, or one function of a configuration. ``grid_div_x`` and its siblings are
    expressions by whose product the problem size is divided, ``block_size_x`` and its siblings unless they say
    otherwise; with ``blocks`` the problem size counts blocks. Parameters are macros to the source, as there.
    """

    kernel_name: str
    source: Any
    problem_size: Any
    arguments: Sequence[Any]
    tune_params: Mapping[str, Sequence[Any]]
    restrictions: Sequence[str] | Callable[[Configuration], bool] = ()
    grid_div_x: Sequence[str] | None = None
    grid_div_y: Sequence[str] | None = None
    grid_div_z: Sequence[str] | None = None
    blocks: bool = False
    block_size: Sequence[str] | None = None
    smem: str | int | None = None
    symbols: Mapping[str, Any] = field(default_factory=dict)
    compiler_options: Sequence[str] = ()
    objective: str = "time"

    def configurations(self) -> list[Configuration]:
        """The configurations that the restrictions let through, in the order of Kernel Tuner: the last parameter is the
        fastest to change."""
        names = list(self.tune_params)
        every = (dict(zip(names, values)) for values in itertools.product(*self.tune_params.values()))
        return [configuration for configuration in every if self.allows(configuration)]

    def allows(self, configuration: Configuration) -> bool:
        """True where all restrictions hold."""
        if callable(self.restrictions):
            return bool(self.restrictions(configuration))
        return all(evaluate(text, configuration) for text in self.restrictions)

    def block(self, configuration: Configuration) -> list[int]:
        """Threads of a block per axis."""
        if self.block_size is not None:
            return [whole(text, configuration) for text in self.block_size]
        default = {"x": 256, "y": 1, "z": 1}
        return [int(configuration.get(f"block_size_{axis}", default[axis])) for axis in _AXES]

    def grid(self, configuration: Configuration) -> list[int]:
        """Blocks per axis."""
        size = self.problem_size
        sizes = list(size) if isinstance(size, (list, tuple)) else [size]
        sizes = [whole(text, configuration) for text in sizes] + [1] * (3 - len(sizes))
        if self.blocks:
            return sizes
        block = self.block(configuration)
        grid = []
        for number, (divisors, axis) in enumerate(zip((self.grid_div_x, self.grid_div_y, self.grid_div_z), _AXES)):
            if divisors is None:
                # As there: the block's extent where it is a parameter, or the axis x.
                divisor = block[number] if axis == "x" or f"block_size_{axis}" in configuration else 1
            else:
                divisor = math.prod(whole(text, configuration) for text in divisors)
            if divisor < 1:
                raise InputError(f"the grid's axis {axis} is divided by {divisor}")
            grid.append(max(1, math.ceil(sizes[number] / divisor)))
        return grid

    def macros(self, configuration: Configuration) -> list[str]:
        """Flags that make the configuration known to the source."""
        values = configuration | {f"grid_size_{axis}": of for axis, of in zip(_AXES, self.grid(configuration))}
        texts = {name: int(value) if isinstance(value, bool) else value for name, value in values.items()}
        return ["-Dkernel_tuner=1", *(f"-D{name}={value}" for name, value in texts.items())]

    @classmethod
    def from_t1(cls, path: Any) -> Space:
        """Reads a file of the form T1. The path of its source is relative to it, its folder, or the one above."""
        return t1.read(path)

    def to_t1(self, device: str | None = None) -> dict[str, Any]:
        """The space as a document of the form T1; arguments that are arrays become constants or random numbers."""
        return t1.document(self, device)


def rank(
    space: Space | Any,
    *,
    gpu: str = "h200",
    model: str | None = None,
    configurations: Sequence[Configuration] | None = None,
    progress: bool | Watch | None = None,
    flags: Mapping[str, Any] | None = None,
) -> Ranking:
    """Ranks the configurations of a space (or of a T1 file by its path) by their predicted time on a GPU.

    ``configurations`` are some of the space's; all of them unless given. ``flags`` are those of
    :func:`warplens.predict`.
    """
    if not isinstance(space, Space):
        space = Space.from_t1(space)
    if sum(map(len, by_target(gpu, 0).values())) != 1:
        raise UsageError(f"a ranking is of one GPU, not of {gpu}")
    start = time.monotonic()
    todo = space.configurations() if configurations is None else list(configurations)
    if not todo:
        raise UsageError("the restrictions let no configuration through")
    work = [partial(_entry, space, configuration, gpu, model, dict(flags or {})) for configuration in todo]
    return Ranking(space, gpu, in_parallel(work, "configurations", progress, len(work)), time.monotonic() - start)


@dataclass
class Entry:
    """A configuration with its predicted time in microseconds, or what kept it from having one."""

    configuration: Configuration
    time_us: float | None
    limiter: str | None
    seconds: float
    error: Error | None = None

    @property
    def invalidity(self) -> str:
        """What files of the form T4 call how it went."""
        if self.error is None:
            return "correct"
        return "compile" if "compil" in self.error.message or self.error.findings else "runtime"


@dataclass
class Ranking:
    """Configurations of a space with their predicted times; ``seconds`` is how long that took."""

    space: Space
    gpu: str
    entries: list[Entry]
    seconds: float

    def ranked(self) -> list[Entry]:
        """Those that have a time, the fastest first."""
        return sorted((of for of in self.entries if of.time_us is not None), key=lambda of: of.time_us or 0.0)

    @property
    def best(self) -> Configuration:
        """The fastest configuration."""
        ranked = self.ranked()
        if not ranked:
            raise self.entries[0].error or UsageError("no configuration has a time")
        return ranked[0].configuration

    def to_t4(self) -> dict[str, Any]:
        """The ranking as a document of the form T4, with times in milliseconds, the fastest first."""
        return files.to_t4(self)

    def to_cache(self) -> dict[str, Any]:
        """The ranking as a cache, from which Kernel Tuner goes on, or which it takes for a simulation."""
        return files.to_cache(self)

    def write_t4(self, path: Any) -> None:
        """Writes the document of the form T4."""
        files.write_t4(self, path)

    def write_cache(self, path: Any) -> None:
        """Writes the cache."""
        files.write_cache(self, path)

    def __repr__(self) -> str:
        ranked = self.ranked()
        lines = [f"{len(ranked)} of {len(self.entries)} configurations on {self.gpu}, in {self.seconds:.1f} s"]
        lines += [f"  {of.time_us:10.4g} us  {of.configuration}" for of in ranked[:10]]
        return "\n".join(lines)


def _entry(space: Space, configuration: Configuration, gpu: str, model: str | None, flags: dict[str, Any]) -> Entry:
    start = time.monotonic()
    try:
        shared = space.smem if space.smem is None else whole(space.smem, configuration)
        options = [*space.compiler_options, *space.macros(configuration)]
        result = verbs.predict(
            space.source,
            kernel=space.kernel_name,
            grid=space.grid(configuration),
            block=space.block(configuration),
            shared=shared,
            args=list(space.arguments),
            symbols=dict(space.symbols),
            gpus=gpu,
            model=model,
            progress=False,
            nvcc_flag=options,
            **flags,
        )
    except Error as error:
        return Entry(configuration, None, None, time.monotonic() - start, error)
    prediction = result.predictions[0]
    return Entry(configuration, prediction.time_us, prediction.limiter, time.monotonic() - start)
