"""How far work is, shown while it lasts."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

Watch = Callable[[str, int, int], object]

# Work that lasts less shows nothing, and what is shown changes no more often than this. In seconds.
PATIENCE = 1.0
INTERVAL = 0.25


class Shown:
    """A line that says how far work is: in a notebook a display that is taken away at the end, else a line on stderr."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._last = 0.0
        self._display = None
        self._width = 0

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._start < PATIENCE or now - self._last < INTERVAL:
            return
        self._last = now
        share = f" ({100 * done / total:.0f} %)" if total else ""
        self.show(f"warplens: {done:,} of {total:,} {what}{share}" if total else f"warplens: {done:,} {what}")

    def show(self, text: str) -> None:
        if in_notebook():
            from IPython.display import HTML, display

            line = HTML(f"<small>{text}</small>")
            if self._display is None:
                self._display = display(line, display_id=True)
            else:
                self._display.update(line)
            return
        print(f"\r{text:<{self._width}}", end="", file=sys.stderr, flush=True)
        self._width = len(text)

    def close(self) -> None:
        if self._display is not None:
            from IPython.display import HTML

            self._display.update(HTML(""))
        elif self._width:
            print(f"\r{'':<{self._width}}\r", end="", file=sys.stderr, flush=True)


def in_notebook() -> bool:
    """True where a display can be changed after it was shown."""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None


def watching(progress: bool | Watch | None) -> Watch | None:
    """Who is told: nobody, a function of the user's, or a line that is shown where somebody would see it."""
    if progress is None:
        progress = in_notebook() or (sys.stderr is not None and sys.stderr.isatty())
    if progress is True:
        return Shown()
    return progress or None
