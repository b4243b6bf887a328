"""Studies: many kernels, launches, GPUs and what-ifs, in this process or by workers of Ray."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import tempfile
import tomllib
from collections.abc import Iterator
from typing import Any

from .ask import call
from .errors import InputError, UsageError
from .progress import Watch, watching
from .result import Result

_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
_HEAD = b"warplens journal 1\n"


def sweep(
    study: str | os.PathLike[str],
    *,
    journal: str | os.PathLike[str] | None = None,
    write: Any = None,
    ray: bool = False,
    shards: int | None = None,
    files: list[str] | None = None,
    progress: bool | Watch | None = None,
    **flags: Any,
) -> Result:
    """Predicts every configuration of a study on every GPU that it names.

    study
        path of the study, a TOML file (docs/sweep.md has its grammar). What it names lies beside it.
    journal
        path of a file that keeps each configuration as soon as it is done, and from which the same study goes on.
    write
        paths of further files with the rows, by their endings: ``.parquet``, ``.csv``, ``.json``.
    ray
        True has the configurations evaluated by the workers of Ray (the package ``ray``; the cluster that
        ``ray.init`` has connected to, else this machine). A worker needs this package, of the same version. The files
        that the study names are sent to it, and ``files`` beside them, as paths beside the study: headers that are
        included by other than quotes. A worker that dies has its shard done again by another one, and the rows are
        those of one process, byte by byte.
    shards
        into how many parts the configurations are dealt: 16 for each CPU of the cluster unless given.

    Returns the document ``warplens.sweep``; ``result.rows[0].time_us`` is in microseconds.
    """
    with contextlib.ExitStack() as stack:
        asked = stack.enter_context(call("sweep", os.fspath(study)))
        if ray:
            if journal is None:
                journal = os.path.join(asked.folder, "journal")
            _evaluate_on_ray(pathlib.Path(study), pathlib.Path(journal), shards, files or [], flags, progress)
        elif shards is not None or files is not None:
            raise UsageError("shards and files are for workers", help="give ray=True")
        return asked.flags(flags).flag("journal", journal).flag("write", write).document(progress)


def _evaluate_on_ray(
    study: pathlib.Path,
    journal: pathlib.Path,
    shards: int | None,
    files: list[str],
    flags: dict[str, Any],
    progress: bool | Watch | None,
) -> None:
    """Has all shards evaluated, and adds what each found to the journal as soon as it is there."""
    try:
        import ray
    except ImportError as error:
        raise UsageError("ray=True needs the package ray", help="pip install ray") from error
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    shards = shards or 16 * max(1, int(ray.cluster_resources().get("CPU", 1)))
    known = _known(journal)
    sent = ray.put(_files_of(study, files) | ({_JOURNAL: known} if known else {}))
    # Worker processes may die at any time; what they had found is found again.
    work = ray.remote(max_retries=-1)(_shard)
    waiting = [work.remote(sent, study.name, f"{shard}/{shards}", flags) for shard in range(shards)]
    watch = watching(progress)
    try:
        while waiting:
            done, waiting = ray.wait(waiting, timeout=1.0)
            for found in ray.get(done):
                _add(journal, found)
            if watch:
                watch("shards", shards - len(waiting), shards)
    finally:
        for left in waiting:
            ray.cancel(left, force=True)
        close = getattr(watch, "close", None)
        if close:
            close()


_JOURNAL = ".warplens-journal"


def _shard(files: dict[str, bytes], study: str, shard: str, flags: dict[str, Any]) -> bytes:
    """What a worker does: the journal of one shard, without what was known before."""
    import warplens

    with tempfile.TemporaryDirectory(prefix="warplens-") as folder:
        for name, content in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        journal = pathlib.Path(folder, _JOURNAL)
        with call("sweep", os.path.join(folder, study)) as asked:
            asked.flags(flags).flag("threads", 1).flag("shard", shard).flag("journal", journal).flag("quiet", True)
            # A shard whose configurations all lack an answer is an answer to the study.
            with contextlib.suppress(warplens.NoAnswer):
                asked.document(False)
        return journal.read_bytes()[len(files.get(_JOURNAL, b"")) :]


def _known(journal: pathlib.Path) -> bytes:
    """The whole lines of a journal that is there. What was being written when somebody stopped is given up."""
    if not journal.exists():
        return b""
    content = journal.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if whole and not whole.startswith(_HEAD):
        raise InputError(f"{journal} is no journal")
    if whole != content:
        with open(journal, "r+b") as file:
            file.truncate(len(whole))
    return whole


def _add(journal: pathlib.Path, found: bytes) -> None:
    """Adds whole lines in one piece."""
    with open(journal, "ab") as file:
        file.write(found)


def _files_of(study: pathlib.Path, files: list[str]) -> dict[str, bytes]:
    """The files that a study names, by their paths beside it."""
    folder = study.parent
    try:
        table = tomllib.loads(study.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{study}: {error}") from error
    named = [study.name, *files]
    for kernel in table.get("kernel", []):
        named += [path for key in ("input", "launch") if isinstance(path := kernel.get(key), str)]
    found: dict[str, bytes] = {}
    for name in named:
        for path in _with_includes(folder, pathlib.PurePosixPath(name), set()):
            if path.is_absolute() or ".." in path.parts:
                raise UsageError(f"{path} does not lie beside the study, and cannot be sent to a worker")
            found[str(path)] = _read(folder / path)
    return found


def _read(path: pathlib.Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def _with_includes(
    folder: pathlib.Path, path: pathlib.PurePosixPath, seen: set[pathlib.PurePosixPath]
) -> Iterator[pathlib.PurePosixPath]:
    """The file, and what it includes by quotes, each once; what is not there is for the compiler to say."""
    if path in seen:
        return
    seen.add(path)
    yield path
    if path.suffix in (".cu", ".cuh", ".h", ".hpp", ".inl"):
        text = _read(folder / path).decode(errors="replace")
        for name in _INCLUDE.findall(text):
            included = path.parent / name
            if (folder / included).is_file():
                yield from _with_includes(folder, included, seen)
