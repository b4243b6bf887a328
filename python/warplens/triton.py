"""Kernels of Triton, compiled for a GPU that is not there.

>>> import warplens.triton  # doctest: +SKIP
>>> warplens.triton.predict(add, x, y, out, n, grid=lambda meta: (triton.cdiv(n, meta["TILE"]),), TILE=1024)  # doctest: +SKIP

A kernel is compiled as Triton's own launcher would have it compiled: numbers equal to 1 are constants, pointers and
numbers that are multiples of 16 are known to be. PyTorch is not needed: an array of NumPy or a
:class:`warplens.Buffer` is a tensor, and of tensors on a GPU or on the device ``meta`` the size and the type are taken.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from . import verbs
from .errors import Error, UnsupportedError, UsageError
from .kernel import Kernel
from .parallel import in_parallel
from .progress import Watch
from .result import Result, Results
from .targets import by_target, registers_in
from .values import TYPES, Buffer, word

__all__ = ["Ranking", "kernel", "predict", "prune", "rank"]

# The oldest target that Triton makes code for.
LEAST = 75
_WARP = 32

# Triton's words for the command's types.
_WORDS = {
    "u8": "u8",
    "s8": "i8",
    "u16": "u16",
    "s16": "i16",
    "u32": "u32",
    "s32": "i32",
    "u64": "u64",
    "s64": "i64",
    "f16": "fp16",
    "bf16": "bf16",
    "f32": "fp32",
    "f64": "fp64",
}
# Where NumPy, or a package that adds to it, knows more types than the command.
_OWN = {"bool": "i1", "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5"}


def kernel(
    fn: Any, *args: Any, grid: Any, gpus: str | Sequence[str] | None = None, config: Any = None, **constants: Any
) -> Kernel:
    """Compiles a JIT function for GPUs of one target.

    ``fn`` is what ``triton.jit`` made; heuristics around it are applied, and of ``triton.autotune`` the ``config`` that
    is given. ``args`` and ``constants`` are those of a launch, constants of compilation (``tl.constexpr``) and options
    (``num_warps``, ``num_stages``, ...) by their names; ``grid`` is a tuple or a function of them. Shared memory, warps,
    cluster, registers and scratch memory come from what the compiler says. Every verb takes the kernel:
    ``warplens.annotate(warplens.triton.kernel(...))`` lists the lines of the Triton source.
    """
    groups = by_target(gpus, LEAST)
    if len(groups) > 1:
        shown = ", ".join(f"{', '.join(names)} (sm_{target})" for target, names in groups.items())
        raise UsageError(
            f"the GPUs run code of several targets: {shown}", help="warplens.triton.predict serves them all"
        )
    ((target, names),) = groups.items()
    return _kernel(fn, args, grid, (target, names), config, constants)


def predict(
    fn: Any,
    *args: Any,
    grid: Any,
    gpus: str | Sequence[str] | None = None,
    config: Any = None,
    model: str | None = None,
    progress: bool | Watch | None = None,
    flags: Mapping[str, Any] | None = None,
    **constants: Any,
) -> Result | Results:
    """Predicts the time of a launch of a JIT function, compiled for each GPU that is named.

    Parameters as of :func:`kernel`; ``model``, ``progress`` and ``flags`` as of :func:`warplens.predict`. GPUs of one
    target give one document, those of several a list of them, one for each target.
    """
    made = [_kernel(fn, args, grid, group, config, constants) for group in by_target(gpus, LEAST).items()]
    results = [verbs.predict(of, model=model, progress=progress, **(flags or {})) for of in made]
    return results[0] if len(results) == 1 else Results(results)


@dataclass
class Ranking:
    """Configurations of an autotuner by their predicted time, the fastest first.

    ``times_us`` has the time of each configuration of ``configs``; ``refused`` are those that have none, with the
    reason. ``seconds`` is how long compiling and predicting took.
    """

    configs: list[Any]
    times_us: list[float]
    refused: list[tuple[Any, Error]]
    seconds: float
    gpu: str

    @property
    def best(self) -> Any:
        """The fastest configuration."""
        return self.configs[0]

    def __repr__(self) -> str:
        lines = [f"{len(self.configs)} configurations on {self.gpu}, ranked in {self.seconds:.1f} s"]
        lines += [f"  {time:10.4g} us  {config}" for config, time in list(zip(self.configs, self.times_us))[:10]]
        lines += [f"  {len(self.refused)} have no answer"] if self.refused else []
        return "\n".join(lines)


def rank(
    fn: Any,
    configs: Sequence[Any] | None,
    *args: Any,
    grid: Any,
    gpu: str = "h200",
    model: str | None = None,
    progress: bool | Watch | None = None,
    flags: Mapping[str, Any] | None = None,
    **constants: Any,
) -> Ranking:
    """Ranks configurations (``triton.Config``) of a kernel by their predicted time on a GPU.

    ``configs`` are those of the autotuner ``fn`` where None is given. A configuration that cannot be compiled or
    launched is no failure: it stands under ``refused``.
    """
    start = time.monotonic()
    if configs is None:
        configs = getattr(fn, "configs", None)
        if configs is None:
            raise UsageError("there are no configurations: give some, or a kernel of triton.autotune")
    groups = by_target(gpu, LEAST)
    if sum(map(len, groups.values())) != 1:
        raise UsageError(f"a ranking is of one GPU, not of {gpu}")
    (group,) = groups.items()

    def asked() -> Iterator[Callable[[], float | Error]]:
        # Triton compiles one kernel after the other; meanwhile those before are predicted.
        for config in configs:
            try:
                made = _kernel(fn, args, grid, group, config, dict(constants))
                yield partial(_time_of, made, model, flags or {})
            except Error as error:
                yield partial(_same, error)

    found = list(zip(in_parallel(asked(), "configurations", progress, len(configs)), configs))
    timed = sorted(((of, config) for of, config in found if isinstance(of, float)), key=lambda one: one[0])
    refused = [(config, of) for of, config in found if isinstance(of, Error)]
    seconds = time.monotonic() - start
    return Ranking([config for _, config in timed], [of for of, _ in timed], refused, seconds, group[1][0])


def _time_of(made: Kernel, model: str | None, flags: Mapping[str, Any]) -> float | Error:
    try:
        return float(verbs.predict(made, model=model, progress=False, **flags).predictions[0].time_us)
    except Error as error:
        return error


def _same(error: Error) -> Error:
    return error


@dataclass
class Pruner:
    """What :func:`prune` makes; ``last`` is the ranking behind its last answer."""

    fn: Any
    gpu: str
    keep: int | float
    grid: Any
    options: dict[str, Any]
    last: Ranking | None = field(default=None, repr=False)

    def __call__(self, configs: Sequence[Any], named_args: Mapping[str, Any], **kwargs: Any) -> list[Any]:
        fn = self.fn
        if not hasattr(_inner(fn), "arg_names") and callable(fn):
            fn = fn()
        kwargs = dict(kwargs)
        grid = kwargs.pop("grid", None) or self.grid
        if grid is None:
            raise UsageError("which grid? give prune(..., grid=...)")
        kwargs.pop("warmup", None)
        given = {name: value for name, value in named_args.items() if name not in kwargs}
        self.last = rank(fn, configs, grid=grid, gpu=self.gpu, **self.options, **given, **kwargs)
        kept = self.last.configs[: self.count(len(configs))]
        # Where nothing can be told, nothing is left out.
        return kept or list(configs)

    def count(self, total: int) -> int:
        """How many of so many configurations stay."""
        if isinstance(self.keep, float):
            return max(1, math.ceil(self.keep * total))
        return max(1, self.keep)


def prune(
    fn: Any = None,
    *,
    gpu: str = "h200",
    keep: int | float = 0.25,
    grid: Any = None,
    model: str | None = None,
    flags: Mapping[str, Any] | None = None,
) -> Pruner:
    """A function for ``triton.autotune(prune_configs_by={"early_config_prune": ...})``: it ranks the configurations by
    their predicted time and keeps the fastest.

    ``fn`` is the JIT function, or a function that returns it where it is still to be made:
    ``prune(lambda: kernel.fn)``. ``keep`` is a number of configurations, or a share of them. ``grid`` is that of the
    launch where the autotuner does not say it. The pruner's ``last`` is the whole ranking, with the time that it took.
    """
    if keep <= 0 or (isinstance(keep, float) and keep > 1):
        raise UsageError(f"keep is {keep}", help="a number of configurations, or a share of them up to 1.0")
    return Pruner(fn, gpu, keep, grid, {"model": model, "flags": flags})


def _inner(fn: Any) -> Any:
    """The JIT function inside of autotuners and heuristics."""
    while not hasattr(fn, "params") and hasattr(fn, "fn"):
        fn = fn.fn
    return fn


def _with_heuristics(fn: Any, named: dict[str, Any]) -> None:
    """Adds what heuristics around a function say, the outer ones first."""
    while not hasattr(fn, "params"):
        for name, heuristic in getattr(fn, "values", {}).items():
            named[name] = heuristic(named)
        fn = fn.fn


def _kernel(
    fn: Any, args: Sequence[Any], grid: Any, group: tuple[int, list[str]], config: Any, given: dict[str, Any]
) -> Kernel:
    target, gpus = group
    jit = _inner(fn)
    if not hasattr(jit, "params"):
        raise UsageError(f"{fn!r} is no kernel of Triton", help="give what triton.jit made")
    names = [param.name for param in jit.params]
    if len(args) > len(names):
        raise UsageError(f"{jit.__name__} has {len(names)} parameters, not {len(args)}")
    named = dict(zip(names, args))
    for name, value in given.items():
        if name in named:
            raise UsageError(f"{name} is given twice")
        named[name] = value
    if config is not None:
        named.update(config.all_kwargs())
    elif fn is not jit and getattr(fn, "configs", None):
        raise UsageError("the kernel has configurations to choose from: give config=..., or ask warplens.triton.rank")
    _with_heuristics(fn, named)
    for param in jit.params:
        if param.name not in named:
            if not param.has_default:
                raise UsageError(f"{jit.__name__} has no value for {param.name}")
            named[param.name] = param.default
    options = {name: value for name, value in named.items() if name not in names and value is not None}
    told = _specialized(jit.params, named)
    return _launched(_compiled(jit, told, options, target), told, grid, named, gpus, target)


@dataclass
class Told:
    """What the compiler is told of the arguments, and those that the compiled kernel still has, by their positions."""

    signature: dict[str, str] = field(default_factory=dict)
    constants: dict[tuple[int], Any] = field(default_factory=dict)
    attributes: dict[tuple[int], Any] = field(default_factory=dict)
    launched: dict[int, Any] = field(default_factory=dict)


def _specialized(params: Sequence[Any], named: Mapping[str, Any]) -> Told:
    told = Told()
    for number, param in enumerate(params):
        value = named[param.name]
        kind, argument = ("constexpr", None) if param.is_constexpr else _argument(param, value)
        told.signature[param.name] = kind
        if kind == "constexpr":
            told.constants[(number,)] = getattr(value, "value", value) if param.is_constexpr else value
            continue
        told.launched[number] = argument
        is_aligned = kind.startswith("*") or (isinstance(argument, int) and argument % 16 == 0)
        if is_aligned and not (param.do_not_specialize or param.do_not_specialize_on_alignment):
            told.attributes[(number,)] = [["tt.divisibility", 16]]
    return told


def _argument(param: Any, value: Any) -> tuple[str, Any]:
    """Triton's word for the type of an argument, and the argument as the command has it."""
    declared = param.annotation_type
    if value is None:
        return "constexpr", None
    if isinstance(value, (bool, np.bool_)):
        return declared or "i1", int(value)
    if isinstance(value, (int, np.integer)):
        value = int(value)
        if value == 1 and not param.do_not_specialize and not declared:
            return "constexpr", None
        fits = -(2**31) <= value < 2**31
        return declared or ("i32" if fits else "i64" if value < 2**63 else "u64"), value
    if isinstance(value, (float, np.floating)):
        return declared or "fp32", float(value)
    kind, argument = tensor(param.name, value)
    return ("*k" if param.is_const else "*") + kind, argument


def tensor(name: str, value: Any) -> tuple[str, Any]:
    """Triton's word for the type of the elements of a tensor, and the tensor as the command has it."""
    if isinstance(value, Buffer):
        return _WORDS[word(value.dtype)], value
    if isinstance(value, str):
        kind = value.partition("[")[0]
        if kind in _WORDS:
            return _WORDS[kind], value
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        if type(value).__name__ == "TensorDescriptor":
            raise UnsupportedError(f"{name} is a descriptor of a tensor, which the adapter of Triton does not know")
        raise UsageError(f"{name} is a {type(value).__name__}", help="give an array, warplens.Buffer or a number")
    own = str(dtype).removeprefix("torch.")
    if own not in TYPES:
        raise UsageError(f"{name} is of type {own}", help=f"types are {', '.join(sorted(TYPES))}")
    kind = _OWN.get(own) or _WORDS[TYPES[own]]
    if isinstance(value, np.ndarray):
        return kind, value
    return kind, of_size(value, own)


def of_size(value: Any, dtype: str) -> Any:
    """A tensor of another library: its elements where they are here, else as many: numbers from -1 to 1, or zeros."""
    device = getattr(getattr(value, "device", None), "type", "cpu")
    if device == "cpu" and hasattr(value, "numpy") and dtype != "bfloat16":
        return value.numpy()
    count = math.prod(getattr(value, "shape", ())) or 1
    storage = getattr(value, "untyped_storage", None)
    if storage is not None:
        count = max(count, storage().nbytes() // value.element_size())
    is_float = TYPES[dtype][0] in "fb"
    return Buffer(TYPES[dtype], count, "uniform(-1,1)" if is_float else "zeros")


def _compiled(jit: Any, told: Told, options: Mapping[str, Any], target: int) -> Any:
    try:
        import triton
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource
    except ImportError as error:
        raise UsageError("Triton is not installed", help="pip install 'warplens[triton]'") from error
    source = ASTSource(fn=jit, signature=told.signature, constexprs=told.constants, attrs=told.attributes)
    try:
        return triton.compile(source, target=GPUTarget("cuda", target, _WARP), options=dict(options))
    except Exception as error:
        # Whatever the compiler raises is about the kernel, its constants or its options.
        raise UsageError(f"Triton does not compile {jit.__name__}: {error}") from error


def _launched(compiled: Any, told: Told, grid: Any, named: Mapping[str, Any], gpus: list[str], target: int) -> Kernel:
    about = compiled.metadata
    ptx = compiled.asm["ptx"]
    extents = grid(named) if callable(grid) else grid
    extents = [int(of) for of in ([extents] if isinstance(extents, (int, np.integer)) else extents)]
    extents += [1] * (3 - len(extents))
    n_ctas = getattr(about, "num_ctas", 1)
    blocks = math.prod(extents) * n_ctas
    # Behind its arguments a kernel has scratch memory of the launch, and of a profiler.
    n_hidden = len(re.findall(r"\.param\s+\.", ptx.partition(".entry")[2].partition(")")[0])) - len(told.launched)
    size = getattr(about, "global_scratch_size", 0)
    hidden = [Buffer("u8", size * blocks) if size else None, None][: max(n_hidden, 0)]
    return Kernel(
        ptx,
        name=about.name,
        grid=(extents[0] * n_ctas, *extents[1:]),
        block=about.num_warps * _WARP,
        cluster=(n_ctas, 1, 1) if n_ctas > 1 else None,
        shared=about.shared,
        registers=registers_in(compiled.asm.get("cubin", b""), about.name),
        args=[*told.launched.values(), *hidden],
        gpus=gpus,
        positions={given: at for at, given in enumerate(told.launched)},
        about={
            "target": f"sm_{target}",
            "num_warps": about.num_warps,
            "num_stages": getattr(about, "num_stages", None),
        },
    )
