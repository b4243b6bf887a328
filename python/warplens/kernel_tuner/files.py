"""Files with times of configurations: caches, and results of the form T4."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, UsageError

if TYPE_CHECKING:
    from . import Configuration, Entry, Ranking


@dataclass
class Timed:
    """Times of configurations, as a file holds them: in milliseconds, and None where a configuration failed."""

    configurations: list[Configuration]
    times_ms: list[float | None]
    device_name: str | None = None
    kernel_name: str | None = None
    problem_size: Any = None
    tune_params: Mapping[str, Sequence[Any]] | None = None

    def best(self) -> Configuration:
        """The fastest configuration."""
        timed = [(of, at) for at, of in enumerate(self.times_ms) if of is not None]
        if not timed:
            raise UsageError("no configuration has a time")
        return self.configurations[min(timed)[1]]


def to_t4(ranking: Ranking) -> dict[str, Any]:
    """The ranking as a document of the form T4, with times in milliseconds, the fastest first."""
    now = datetime.datetime.now(datetime.timezone.utc).isoformat()
    failed = [of for of in ranking.entries if of.time_us is None]
    results = [_t4_of(of, ranking.space.objective, now) for of in [*ranking.ranked(), *failed]]
    return {"results": results, "schema_version": "1.0.0", "metadata": {"timeunit": "milliseconds"}}


def to_cache(ranking: Ranking) -> dict[str, Any]:
    """The ranking as a cache, from which Kernel Tuner goes on, or which it takes for a simulation."""
    size = ranking.space.problem_size
    return {
        "device_name": ranking.gpu,
        "kernel_name": ranking.space.kernel_name,
        "problem_size": list(size) if isinstance(size, tuple) else size,
        "tune_params_keys": list(ranking.space.tune_params),
        "tune_params": {name: list(values) for name, values in ranking.space.tune_params.items()},
        "objective": ranking.space.objective,
        "cache": {_key(of.configuration): _cached(of, ranking.space.objective) for of in ranking.entries},
    }


def write_t4(ranking: Ranking, path: Any) -> None:
    """Writes the document of the form T4."""
    _write(path, json.dumps(to_t4(ranking), indent=1, default=_plain))


def write_cache(ranking: Ranking, path: Any) -> None:
    """Writes the cache. Kernel Tuner looks for brackets at the very end of it."""
    head = to_cache(ranking)
    entries = head.pop("cache")
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(of, default=_plain)}" for key, of in entries.items())
    body = json.dumps(head, indent="", default=_plain)[:-2]
    _write(path, f'{body},\n"cache": {{\n{lines}}}\n}}')


def read_t4(path: Any) -> Timed:
    """Reads results of the form T4."""
    document = load(path)
    try:
        results = document["results"]
        unit = {"milliseconds": 1.0, "microseconds": 1e-3, "nanoseconds": 1e-6, "seconds": 1e3}
        scale = unit[(document.get("metadata") or {}).get("timeunit", "milliseconds").lower()]
        times = [_time_of(result, scale) for result in results]
        return Timed([dict(result["configuration"]) for result in results], times)
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} holds no results of the form T4: {error}") from error


def read_cache(path: Any) -> Timed:
    """Reads a cache of Kernel Tuner, also one whose end is missing, as it is while tuning goes on."""
    document = load(path, is_cache=True)
    try:
        names, objective = document["tune_params_keys"], document.get("objective", "time")
        entries = list(document["cache"].values())
        times = [_number(entry.get(objective, entry.get("time"))) for entry in entries]
        return Timed(
            [{name: entry[name] for name in names} for entry in entries],
            times,
            document.get("device_name"),
            document.get("kernel_name"),
            document.get("problem_size"),
            document.get("tune_params"),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is no cache of Kernel Tuner: {error}") from error


def _t4_of(entry: Entry, objective: str, now: str) -> dict[str, Any]:
    failed = entry.time_us is None
    ms = None if entry.time_us is None else entry.time_us / 1e3
    times = {"compilation": 0, "benchmark": 0, "framework": entry.seconds * 1e3, "search_algorithm": 0, "validation": 0}
    measured = [] if failed else [{"name": objective, "value": ms, "unit": "ms"}]
    return {
        "timestamp": now,
        "configuration": dict(entry.configuration),
        "times": times | {"runtimes": [] if failed else [ms]},
        "invalidity": entry.invalidity,
        "correctness": 1,
        "measurements": measured,
        "objectives": [objective],
    }


_FAILED = {"compile": "CompilationFailedConfig", "runtime": "RuntimeFailedConfig"}


def _cached(entry: Entry, objective: str) -> dict[str, Any]:
    ms = _FAILED[entry.invalidity] if entry.time_us is None else entry.time_us / 1e3
    times = {"compile_time": 0, "verification_time": 0, "benchmark_time": 0, "strategy_time": 0}
    now = datetime.datetime.now(datetime.timezone.utc).isoformat()
    return {
        **entry.configuration,
        objective: ms,
        "times": [] if entry.time_us is None else [ms],
        **times,
        "framework_time": entry.seconds * 1e3,
        "timestamp": now,
    }


def _key(configuration: Configuration) -> str:
    return ",".join(str(value) for value in configuration.values())


def _time_of(result: dict[str, Any], scale: float) -> float | None:
    if result.get("invalidity", "correct") != "correct":
        return None
    objective = (result.get("objectives") or ["time"])[0]
    for measured in result.get("measurements", []):
        if measured["name"] == objective:
            value = _number(measured["value"])
            return None if value is None else value * scale
    return None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def plain(value: Any) -> Any:
    """A number of Python, also where it is one of NumPy."""
    return value.item() if isinstance(value, np.generic) else value


def _plain(value: Any) -> Any:
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no value of JSON")


def load(path: Any, is_cache: bool = False) -> Any:
    """The JSON in a file; a cache may have been left open."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if is_cache:
            try:
                return json.loads(text.strip().rstrip(",") + "}}")
            except json.JSONDecodeError:
                pass
        raise InputError(f"{path}, line {error.lineno}: it is no JSON: {error.msg}") from error


def _write(path: Any, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
