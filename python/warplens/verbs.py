"""The verbs of the command as functions. Each asks the command itself, in words that ``warplens VERB --help`` lists.

What the parameters of a function do not name is a flag of the command: ``fail_on="time_us>100"`` is
``--fail-on 'time_us>100'``, ``strict=True`` is ``--strict``, a list repeats the flag. ``from`` and ``print`` are written
``from_`` and ``print_``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .ask import Call, call, default, extents
from .errors import InputError, UsageError
from .kernel import Kernel, Source
from .progress import Watch
from .result import Executed, Page, Picture, Ran, Result
from .values import Argument, Buffer, Given

Gpus = str | Sequence[str] | None
Extents = int | str | Sequence[int] | None
Args = Sequence[Argument] | Mapping[str, Argument] | None
Progress = bool | Watch | None

_LAUNCH = ("kernel", "grid", "block", "cluster", "shared", "registers", "args", "symbols", "launch")


def _about_kernel(call_: Call, source: Source, gpus: Gpus, model: str | None, flags: dict[str, Any]) -> Call:
    """What all verbs that ask models about a launch have in common."""
    launch = {name: flags.pop(name) for name in _LAUNCH if name in flags}
    if isinstance(source, Kernel):
        gpus = default(gpus, source.gpus)
    return call_.launch(source, **launch).gpus(gpus).flag("model", model).flags(flags)


def predict(
    source: Source, *, gpus: Gpus = None, model: str | None = None, progress: Progress = None, **flags: Any
) -> Result:
    """Predicts the run time of a kernel on GPUs, and what bounds it.

    source
        a path, a text of PTX or CUDA C++ (which a compiler is needed for: NVRTC or nvcc), bytes of a cubin, or a
        :class:`warplens.Kernel`.
    kernel, grid, block, cluster, shared, registers, args, symbols, launch
        the launch: the kernel's name; blocks per axis and threads per axis, a number or up to three; blocks of a
        cluster; bytes of dynamic shared memory; registers of a thread; one argument for each parameter; contents of
        variables by name; or the path of a launch file. An argument is a number, a contiguous NumPy array (copied to
        the emulated device, and not changed), :class:`warplens.Buffer`, None for the null pointer, or the text of a
        value as ``--arg`` takes it. Arrays that share memory do so on the device.
    gpus
        names (``h200``, ``sm_90``, ``all``, ``h200@1500``), or paths of machine files; ``h200`` unless given.
    model
        ``auto``, ``all``, or names of models.
    progress
        True shows how far the emulation is, False does not; a function hears what is counted, how much is done, and how
        much there is. Without it progress is shown in notebooks and terminals where work takes more than a second.

    Returns the document ``warplens.predict``: ``result.predictions[0].time_us`` is in microseconds, without launch
    overhead. Raises :class:`UsageError`, :class:`InputError`, :class:`UnsupportedError`, :class:`NoAnswer`, and
    :class:`GateBreached` for ``fail_on``.

    >>> ptx = '''
    ... .version 7.0
    ... .target sm_80
    ... .address_size 64
    ... .visible .entry twice(.param .u64 data)
    ... {
    ...     .reg .b64 %d<4>; .reg .b32 %r<3>; .reg .f32 %f<3>;
    ...     ld.param.u64 %d1, [data];
    ...     mov.u32 %r1, %tid.x;
    ...     mul.wide.u32 %d2, %r1, 4;
    ...     add.s64 %d3, %d1, %d2;
    ...     ld.global.f32 %f1, [%d3];
    ...     add.f32 %f2, %f1, %f1;
    ...     st.global.f32 [%d3], %f2;
    ...     ret;
    ... }
    ... '''
    >>> result = predict(ptx, grid=1, block=32, args=[np.ones(32, np.float32)], gpus=["h200", "a100-80"])
    >>> [entry.gpu for entry in result.predictions]
    ['h200', 'a100-80']
    >>> result.predictions[0].time_us > 0
    True
    """
    with call("predict") as asked:
        return _about_kernel(asked, source, gpus, model, flags).document(progress)


def explain(
    source: Source, *, gpus: Gpus = None, model: str | None = None, progress: Progress = None, **flags: Any
) -> Result:
    """Says what bounds a kernel, and ranks what to change about it. Parameters as of :func:`predict`."""
    with call("explain") as asked:
        return _about_kernel(asked, source, gpus, model, flags).document(progress)


def annotate(
    source: Source, *, gpus: Gpus = None, by: str | None = None, progress: Progress = None, **flags: Any
) -> Result:
    """Lists a kernel with what its warps wait for at each line. Parameters as of :func:`predict`; ``by`` is ``auto``,
    ``source`` or ``input``."""
    with call("annotate") as asked:
        return _about_kernel(asked.flag("by", by), source, gpus, None, flags).document(progress)


def scale(
    source: Source, *, gpus: Gpus = None, model: str | None = None, progress: Progress = None, **flags: Any
) -> Result:
    """Predicts the cycles from one warp to a full SM, and what stops the scaling. Parameters as of :func:`predict`."""
    with call("scale") as asked:
        return _about_kernel(asked, source, gpus, model, flags).document(progress)


def whatif(
    source: Source,
    *,
    set: Sequence[str] | Mapping[str, Any] | str | None = None,
    without: Sequence[str] | str | None = None,
    each: bool = False,
    gpus: Gpus = None,
    model: str | None = None,
    progress: Progress = None,
    **flags: Any,
) -> Result:
    """Asks the models again under other circumstances: ``set`` gives parameters other values or factors
    (``{"dram.bandwidth": "2x"}``), ``without`` names effects that shall cost nothing, ``each`` prices every effect.
    Parameters besides as of :func:`predict`."""
    with call("whatif") as asked:
        asked.flag("set", set).flag("without", without).flag("each", each)
        return _about_kernel(asked, source, gpus, model, flags).document(progress)


def profile(source: Source, *, record: Gpus = None, progress: Progress = None, **flags: Any) -> Result:
    """Executes a kernel and shows every count of the launch. Parameters as of :func:`predict`; ``record`` names the
    GPUs for which the document keeps what the timing simulation needs (``none`` for counts alone). The document is a
    source again: ``predict(result.text.encode())``."""
    with call("profile") as asked:
        launch = {name: flags.pop(name) for name in _LAUNCH if name in flags}
        asked.launch(source, **launch).gpus(record, "record").flags(flags)
        return asked.document(progress)


def run(source: Source, *, progress: Progress = None, **flags: Any) -> Ran:
    """Executes a kernel. Parameters as of :func:`predict`, without GPUs and models.

    ``result.arrays[i]`` is what the kernels left in the array or the :class:`warplens.Buffer` of argument ``i``, in its
    shape and type; what was given stays as it was. ``print_`` names buffers whose elements the document shall hold.
    """
    with call("run") as asked:
        launch = {name: flags.pop(name) for name in _LAUNCH if name in flags}
        asked.launch(source, **launch).flags(flags)
        args = launch.get("args")
        if args is None and isinstance(source, Kernel):
            args = source.args
        outputs = _outputs(asked, args if args is not None else [])
        for position, (key, _) in outputs.items():
            asked.flag("save", f"{key}={_file_of(asked, position)}")
        result = asked.made(Ran, progress)
        result.arrays = {
            position: _left(np.load(_file_of(asked, position)), shape) for position, (_, shape) in outputs.items()
        }
        for position, (first, offset) in asked.given.aliases.items():
            given = asked.given.arrays[position]
            memory = result.arrays[first].reshape(-1).view(np.uint8)[offset : offset + given.nbytes]
            result.arrays[position] = memory.view(given.dtype).reshape(given.shape)
        if isinstance(source, Kernel) and source.positions is not None and launch.get("args") is None:
            places = source.positions.items()
            result.arrays = {given: result.arrays[at] for given, at in places if at in result.arrays}
        return result


def _outputs(asked: Call, args: Any) -> dict[int, tuple[str, Any]]:
    """By the position of an argument: what the command calls its buffer, and what it was given as."""
    names = list(args) if isinstance(args, Mapping) else None
    values = list(args.values()) if isinstance(args, Mapping) else list(args)
    outputs = {}
    for position, value in enumerate(values):
        given = asked.given.arrays.get(position, value if isinstance(value, Buffer) else None)
        if given is not None and position not in asked.given.aliases:
            outputs[position] = (names[position] if names else str(position), given)
    return outputs


def _file_of(asked: Call, position: int) -> str:
    return os.path.join(asked.folder, f"left-{position}.npy")


def _left(found: np.ndarray, given: Any) -> np.ndarray:
    """What a kernel left, in the shape and type of what was given."""
    if isinstance(given, Buffer):
        return found
    return found.view(given.dtype).reshape(given.shape)


def compare(
    *sources: Source, gpus: Gpus = None, model: str | None = None, progress: Progress = None, **flags: Any
) -> Result:
    """Compares kernels, variants or GPUs side by side. A source is a path, a text, or a pair of a name and one of these;
    ``kernels`` and ``launches`` are lists, one for all sources or one for each. ``grid``, ``block``, ``shared``,
    ``registers``, ``args``, ``symbols`` as of :func:`predict` hold for all."""
    if not sources:
        raise UsageError("nothing to compare: give sources")
    with call("compare") as asked:
        for number, source in enumerate(sources):
            name, source = source if isinstance(source, tuple) else (None, source)
            if isinstance(source, Kernel):
                raise UsageError("a Kernel has a launch of its own", help="predict each, and compare the results")
            part = os.path.join(asked.folder, str(number))
            os.mkdir(part)
            inner = Call(part)
            inner.source(source)
            asked.words.append(f"{name}={inner.words[0]}" if name else inner.words[0])
        for name, flag in (("kernels", "kernel"), ("launches", "launch")):
            asked.flag(flag, flags.pop(name, None))
        return _shared_launch(asked, flags).gpus(gpus).flag("model", model).flags(flags).document(progress)


def tune(
    *sources: Source, gpus: Gpus = None, model: str | None = None, progress: Progress = None, **flags: Any
) -> Result:
    """Searches for the fastest block size, grid, shared memory and macros.

    ``block``, ``grid``, ``shared`` and others are texts of the search space (``block="64,128,256"``,
    ``grid="ceil(n/block.x)"``), ``let`` and ``macro`` dicts or lists, ``kernels`` a list, ``args`` and ``symbols`` as of
    :func:`predict`. Several sources are variants to choose from.
    """
    if not sources:
        raise UsageError("nothing to tune: give a source")
    with call("tune") as asked:
        for number, source in enumerate(sources):
            part = os.path.join(asked.folder, str(number))
            os.mkdir(part)
            inner = Call(part)
            inner.input(source)
            asked.words.append(inner.words[0])
        asked.flag("kernel", flags.pop("kernels", flags.pop("kernel", None)))
        args, symbols = flags.pop("args", None), flags.pop("symbols", None)
        _arguments(asked, args).flag("symbol", symbols)
        return asked.gpus(gpus).flag("model", model).flags(flags).document(progress)


def _arguments(asked: Call, args: Args) -> Call:
    asked.given = Given.of(args if args is not None else [], asked.folder)
    asked.words.extend(f"--arg={text}" for text in asked.given.texts)
    return asked


def _shared_launch(asked: Call, flags: dict[str, Any]) -> Call:
    for name in ("grid", "block"):
        asked.flag(name, extents(name, flags.pop(name, None)))
    for name in ("shared", "registers"):
        asked.flag(name, flags.pop(name, None))
    return _arguments(asked, flags.pop("args", None)).flag("symbol", flags.pop("symbols", None))


def plot(
    kind: str,
    source: Source | None = None,
    *,
    gpus: Gpus = None,
    model: str | None = None,
    format: str = "svg",
    progress: Progress = None,
    **flags: Any,
) -> Picture | Result | bytes:
    """Draws a picture: ``roofline``, ``occupancy``, ``cpi``, ``timeline``, ``stalls``, ``scale``, ``x-graph``,
    ``f-family``, ``architecture`` (which takes no source) or ``accuracy`` (whose source is a table of measured times).
    Parameters besides as of :func:`predict`.

    Returns a :class:`Picture`, which notebooks show; with ``format="png"`` bytes, with ``format="json"`` the document
    ``warplens.figure``.
    """
    with call("plot", kind) as asked:
        if kind == "architecture":
            if source is not None:
                raise UsageError("architecture is about GPUs, and takes no source")
            asked.gpus(gpus).flags(flags)
        elif kind == "accuracy":
            asked.input(source).flag("model", model).flags(flags)
        elif source is None:
            raise UsageError(f"what shall the {kind} show? give a source")
        else:
            _about_kernel(asked, source, gpus, model, flags)
        if format == "json":
            return asked.document(progress)
        answer = asked.flag("format", format).ask(progress)
        return answer.output if format != "svg" else Picture(answer.output.decode(), answer.tables)


def report(
    source: Source, *, gpus: Gpus = None, model: str | None = None, progress: Progress = None, **flags: Any
) -> Page:
    """Writes a page with the answer, pictures, counts and listing, which loads nothing. Parameters as of
    :func:`predict`."""
    with call("report") as asked:
        answer = _about_kernel(asked, source, gpus, model, flags).ask(progress)
        return Page(asked.said(answer.output.decode()))


def validate(*tables: Any, gpus: Gpus = None, progress: Progress = None, **flags: Any) -> Result:
    """Compares predictions with measured times: of the project, or of tables of yours (paths of CSV files)."""
    with call("validate", *map(os.fspath, tables)) as asked:
        return asked.gpus(gpus).flags(flags).document(progress)


def calibrate(*, gpu: str, progress: Progress = None, **flags: Any) -> Result:
    """Finds the parameters of a GPU by measured times of micro-benchmarks (``from_`` is the path of their table)."""
    with call("calibrate") as asked:
        return asked.flag("gpu", gpu).flags(flags).document(progress)


def calibration_plan(gpu: str) -> str:
    """The launches that :func:`calibrate` needs the times of, as CSV."""
    with call("calibrate") as asked:
        return asked.flag("gpu", gpu).flag("plan", True).ask().output.decode()


def measure(table: Any, *, progress: Progress = None, **flags: Any) -> str:
    """Times the launches of a table on a GPU that is there; the table comes back as CSV."""
    with call("measure", os.fspath(table)) as asked:
        return asked.flags(flags).ask(progress).output.decode()


def exec(command: Sequence[str], *, gpus: Gpus = None, progress: Progress = None, **flags: Any) -> Executed:
    """Runs a program that uses CUDA, without a GPU, and predicts the time of its kernels. The libraries that it needs
    come with the command, not with this package: ``WARPLENS_LIBRARIES`` names their folder.

    ``result.messages`` holds what the program and the command wrote to standard error, ``result.output`` what the
    program wrote to standard output, ``result.exit_code`` is that of the program.
    """
    with call("exec") as asked:
        path = os.path.join(asked.folder, "report.json")
        asked.gpus(gpus).flags(flags).flag("format", "json").flag("output", path)
        asked.words += ["--", *map(os.fspath, command)]
        answer = asked.ask(progress)
        if not os.path.exists(path):
            raise InputError(
                answer.messages.strip().removeprefix("error: ") or "the program called no function of CUDA"
            )
        with open(path, encoding="utf-8") as file:
            text = file.read()
        result = Executed(json.loads(text), text=text, messages=answer.messages, tables=answer.tables)
        result.output, result.exit_code = answer.output.decode(errors="replace"), answer.exit_code
        return result


def model(
    name: str, input: Mapping[str, Any] | Any, *, gpu: str | None = None, progress: Progress = None, **flags: Any
) -> Result:
    """Evaluates a model on given counts, without a kernel. ``input`` is a path, or a dict with a table ``inputs`` of
    numbers by field name."""
    with call("model", name) as asked:
        if isinstance(input, Mapping):
            path = os.path.join(asked.folder, "input.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(input, file)
            input = path
        return asked.flag("input", os.fspath(input)).flag("gpu", gpu).flags(flags).document(progress)


def gpu_list() -> Result:
    """The GPUs that are built in.

    >>> "h200" in [gpu.gpu for gpu in gpu_list().gpus]
    True
    """
    with call("gpu", "list") as asked:
        return asked.document()


def gpu_show(name: str, **flags: Any) -> Result:
    """Every parameter of a GPU with its unit, basis and source."""
    with call("gpu", "show", name) as asked:
        return asked.flags(flags).document()


def gpu_diff(left: str, right: str, **flags: Any) -> Result:
    """The parameters in which two GPUs differ."""
    with call("gpu", "diff", left, right) as asked:
        return asked.flags(flags).document()


def which(
    source: Source,
    *,
    prices: Mapping[str, float] | Any = None,
    currency: str = "",
    gpus: Gpus = None,
    model: str | None = None,
    progress: Progress = None,
    **flags: Any,
) -> Result:
    """Ranks GPUs by the time of a kernel, and by what a run costs there. ``prices`` are of an hour, by GPU, in
    ``currency``; or the path of a price file. Other parameters as of :func:`predict`; without ``gpus`` those with a price
    are asked. ``result.gpus[0].price_per_million`` is the price of a million runs."""
    with call("which") as asked:
        if isinstance(prices, Mapping):
            path = os.path.join(asked.folder, "prices.toml")
            with open(path, "w", encoding="utf-8") as file:
                # A string of JSON is one of TOML.
                rows = [f"{json.dumps(gpu)} = {float(price)!r}\n" for gpu, price in prices.items()]
                file.writelines([f"currency = {json.dumps(currency)}\n[per_hour]\n", *rows])
            prices = path
        asked.flag("prices", None if prices is None else os.fspath(prices))
        return _about_kernel(asked, source, gpus, model, flags).document(progress)


def glossary(term: str | None = None) -> Result:
    """What a term of the field means; all terms unless one is given.

    >>> glossary("warp").terms[0].meaning
    '32 threads of a CTA that execute together'
    """
    with call("glossary", *([] if term is None else [term])) as asked:
        return asked.document()


def metrics(text: str | None = None, *, document: str | None = None) -> Result:
    """What the keys of documents mean, and what Nsight Compute calls them: those that have ``text`` in their name or
    meaning, of one document or of all."""
    with call("metrics", *([] if text is None else [text])) as asked:
        return asked.flag("document", document).document()


def config_show() -> Result:
    """The defaults of flags, and the files ``warplens.toml`` that say so."""
    with call("config", "show") as asked:
        return asked.document()


def schema(document: str) -> dict[str, Any]:
    """The JSON Schema of a document, such as ``predict``."""
    with call("dev", "schema", document) as asked:
        return json.loads(asked.ask().output)


def command(*words: str, progress: Progress = None) -> str:
    """What the command says to words as a shell has them; for what has no function here.

    >>> command("gpu", "list", "--format", "csv").splitlines()[0].startswith("gpu,")
    True
    """
    with call(*words) as asked:
        return asked.ask(progress).output.decode(errors="replace")
