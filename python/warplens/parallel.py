"""Several questions at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from .progress import Watch, watching

T = TypeVar("T")


def in_parallel(work: Iterable[Callable[[], T]], what: str, progress: bool | Watch | None, total: int) -> list[T]:
    """Results of pieces of work in their order, as many at once as the machine has cores.

    The pieces are taken from their iterable in the thread that asks, as there is room: what has to be prepared one after
    the other is prepared there. An exception, an interrupt among them, leaves out what has not begun.
    """
    watch = watching(progress)
    results: list[T] = []
    pool = ThreadPoolExecutor(os.cpu_count() or 1)
    try:
        futures = []
        for piece in work:
            futures.append(pool.submit(piece))
            if watch:
                watch(what, sum(future.done() for future in futures), total)
        for future in futures:
            results.append(future.result())
            if watch:
                watch(what, len(results), total)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        close = getattr(watch, "close", None)
        if close:
            close()
    return results
