"""Results as notebooks and interpreters show them.

Nothing here sets a colour of text or of a page: bars and marks are half transparent, so that they can be read on light
and on dark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .tables import Table

# Rows of a table that are shown.
MOST_ROWS = 60
# Lines of a listing.
MOST_LINES = 200

# Apart for eyes of every kind, and in the middle between light and dark.
_COLOURS = ["#4c8dd6", "#d98a2b", "#4fa36a", "#b565c4", "#c9b03a", "#5bb5c0", "#d0607a", "#8a8f99"]
_CELL = "padding:0.15em 0.8em;text-align:{side};vertical-align:top;white-space:nowrap"
_RULE = "border-bottom:1px solid rgba(128,128,128,0.4)"
_MONO = "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:0.9em"


def microseconds(us: float | None) -> str:
    """A time in a unit that suits it."""
    if us is None:
        return "-"
    for scale, unit in ((1e6, "s"), (1e3, "ms"), (1.0, "us")):
        if us >= scale:
            return f"{us / scale:.4g} {unit}"
    return f"{us * 1e3:.4g} ns"


def cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """A table; cells that begin with ``<`` are HTML already, by :class:`Html`."""

    def one(tag: str, value: Any, rule: str = "") -> str:
        side = "right" if isinstance(value, (int, float, Number)) else "left"
        text = value.text if isinstance(value, Html) else escape(cell(value))
        return f'<{tag} style="{_CELL.format(side=side)};{rule}">{text}</{tag}>'

    head = "".join(one("th", heading, _RULE) for heading in headings)
    body = "".join(f"<tr>{''.join(one('td', value) for value in row)}</tr>" for row in rows)
    title = f'<div style="font-weight:600;margin:0.4em 0 0.2em">{escape(caption)}</div>' if caption else ""
    style = "border-collapse:collapse;margin:0.2em 0"
    whole = f'<table style="{style}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'{title}<div style="overflow-x:auto">{whole}</div>'


class Number(str):
    """A number with its unit, which stands at the right as others do."""


class Html:
    """Text that is HTML already."""

    def __init__(self, text: str) -> None:
        self.text = text


def of_table(table_: Table) -> str:
    """A table of a result."""
    columns = table_.to_dict()
    shown = [[of_unit(key, value) for value in values[:MOST_ROWS]] for key, values in columns.items()]
    more = f"<div>... and {len(table_) - MOST_ROWS} rows more</div>" if len(table_) > MOST_ROWS else ""
    return table(table_.headings, list(zip(*shown)), table_.title) + more


def of_unit(key: str, value: Any) -> Any:
    """A cell with its unit, which the name of its column ends with."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return value
    if key.endswith("_us"):
        return Number(microseconds(value))
    if key == "share" or key.endswith("_share"):
        return Number(f"{100 * value:.1f} %")
    if key == "speedup":
        return Number(f"{value:.3g} x")
    for suffix in ("cycles", "bytes"):
        if key == suffix or key.endswith(f"_{suffix}"):
            return Number(f"{cell(value)} {suffix}")
    return value


def launches(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of a document, one for each launch."""
    return document.get("launches") or [document]


def heading(part: dict[str, Any]) -> str:
    launch = part.get("launch") or {}
    name = short_name(part)
    shape = ", ".join(
        f"{key} {'x'.join(str(n) for n in trimmed(launch[key]))}" for key in ("grid", "block") if key in launch
    )
    return f"{name}  {shape}" if shape else name


def short_name(part: dict[str, Any]) -> str:
    """The name of a kernel without its parameters, and without what numba adds to it."""
    name = part.get("kernel_demangled") or part.get("kernel") or ""
    return re.split(r"\[abi:|\((?!anonymous)", name)[0]


def trimmed(axes: Sequence[int]) -> Sequence[int]:
    axes = list(axes)
    while len(axes) > 1 and axes[-1] == 1:
        axes.pop()
    return axes


def by_resource(entry: dict[str, Any]) -> list[tuple[str, float]]:
    """What the time goes to: resources with their cycles, the largest first."""
    cycles: dict[str, float] = {}
    for term in entry.get("terms") or []:
        if isinstance(term["cycles"], (int, float)):
            cycles[term["resource"]] = cycles.get(term["resource"], 0.0) + term["cycles"]
    return sorted(cycles.items(), key=lambda pair: -pair[1])


def bar(parts: Sequence[tuple[str, float]]) -> Html:
    """Parts of a whole, side by side, with their names where there is room."""
    whole = sum(part for _, part in parts) or 1.0
    pieces = []
    for number, (name, part) in enumerate(parts):
        share = 100 * part / whole
        colour = _COLOURS[min(number, len(_COLOURS) - 1)]
        label = escape(name) if share > 18 else ""
        title = escape(f"{name}: {share:.1f} %")
        pieces.append(
            f'<div title="{title}" style="width:{share:.2f}%;background:{colour}88;overflow:hidden;white-space:nowrap;'
            f'font-size:0.8em;padding:0.1em 0;text-indent:0.3em">{label}&nbsp;</div>'
        )
    return Html(f'<div style="display:flex;width:26em">{"".join(pieces)}</div>')


def of_predictions(document: dict[str, Any]) -> str:
    pages = []
    for part in launches(document):
        gpus = {gpu["gpu"]: gpu for gpu in part.get("gpus", [])}
        rows = []
        for entry in part["predictions"]:
            gpu = gpus.get(entry["gpu"], {})
            if entry["time_us"] is None:
                reason = (entry.get("refused") or {}).get("reason", "")
                rows.append([entry["gpu"], entry["model"], "-", "-", f"no answer: {reason}", ""])
                continue
            range_ = gpu.get("range")
            between = f"{microseconds(range_['low_us'])} to {microseconds(range_['high_us'])}" if range_ else "-"
            time = microseconds(entry["time_us"])
            rows.append([entry["gpu"], entry["model"], time, between, entry.get("limiter"), bar(by_resource(entry))])
        headings = ["GPU", "model", "time", "range", "bound by", "where the cycles go"]
        pages.append(table(headings, rows, heading(part)))
    return "".join(pages)


def of_explanations(document: dict[str, Any]) -> str:
    pages = []
    for part in launches(document):
        pages.append(f'<div style="font-weight:600;margin-top:0.4em">{escape(heading(part))}</div>')
        for gpu in part["gpus"]:
            prediction = gpu.get("prediction") or {}
            time = microseconds(prediction.get("time_us"))
            pages.append(f"<div style='margin-top:0.4em'><b>{escape(gpu['name'])}</b>: {time}</div>")
            sentences = "".join(f"<li>{escape(of['text'])}</li>" for of in gpu.get("evidence", []))
            pages.append(f"<ul style='margin:0.2em 0'>{sentences}</ul>")
            rows = [
                [of["title"], f"{of['speedup']:.2f}x", microseconds(of["after_us"]), of["how"]]
                for of in gpu.get("advice", [])
            ]
            if rows:
                pages.append(wrapped(table(["change", "speedup", "time", "how"], rows)))
    return "".join(pages)


def wrapped(text: str) -> str:
    """A table whose cells may break their lines."""
    return text.replace("white-space:nowrap", "white-space:normal;max-width:40em")


def of_annotations(document: dict[str, Any]) -> str:
    pages = []
    for part in document["annotations"]:
        time = microseconds(part.get("time_us"))
        title = f"{short_name(part)} on {part['gpu']}: {time}"
        pages.append(f'<div style="font-weight:600;margin-top:0.4em">{escape(title)}</div>')
        if part.get("refused"):
            pages.append(f"<div>{escape(part['refused']['reason'])}</div>")
        for text in part.get("texts") or []:
            pages.append(f"<div>{escape(text['name'])}</div>{listing(text['lines'])}")
    return "".join(pages)


def listing(lines: Sequence[dict[str, Any]]) -> str:
    """Lines with the share of the warp cycles that they take, and what warps wait for there."""
    most = max((line["share"] for line in lines), default=0.0) or 1.0
    rows = []
    for line in lines[:MOST_LINES]:
        stalls = sorted(line["stalls"].items(), key=lambda pair: -pair[1])[:2]
        total = sum(line["stalls"].values()) or 1
        said = ", ".join(f"{name} {100 * count / total:.0f} %" for name, count in stalls if count)
        heat = 0.55 * line["share"] / most
        rows.append(
            f'<tr style="background:rgba(217,106,43,{heat:.2f})">'
            f'<td style="text-align:right;padding:0 0.8em;opacity:0.7">{line["line"]}</td>'
            f'<td style="text-align:right;padding:0 0.8em">{100 * line["share"]:.1f} %</td>'
            f'<td style="text-align:left;padding:0 0.8em;white-space:nowrap;opacity:0.85">{escape(said)}</td>'
            f'<td style="text-align:left;white-space:pre">{escape(line["text"])}</td></tr>'
        )
    more = f"<div>... and {len(lines) - MOST_LINES} lines more</div>" if len(lines) > MOST_LINES else ""
    style = f"border-collapse:collapse;{_MONO}"
    return f'<div style="overflow-x:auto"><table style="{style}">{"".join(rows)}</table></div>{more}'


_OWN = {
    "warplens.predict": of_predictions,
    "warplens.explain": of_explanations,
    "warplens.annotate": of_annotations,
}


def of_document(document: dict[str, Any], tables: Sequence[Table]) -> str:
    """A document in HTML."""
    own = _OWN.get(str(document.get("schema", "")).partition("/")[0])
    if own:
        return own(document)
    return "".join(of_table(of) for of in tables) or f"<code>{escape(in_words(document, tables))}</code>"


def in_words(document: dict[str, Any], tables: Sequence[Table]) -> str:
    """A document in a few lines."""
    schema = document.get("schema", "document")
    if str(schema).startswith("warplens.predict/"):
        lines = []
        for part in launches(document):
            lines.append(heading(part))
            for entry in part["predictions"]:
                bound = f"bound by {entry['limiter']}" if entry.get("limiter") else "no answer"
                lines.append(f"  {entry['gpu']:<12} {microseconds(entry['time_us']):>10}  {bound} ({entry['model']})")
        return "\n".join(lines)
    shown = "; ".join(f"{len(of)} rows of {', '.join(of.columns[:6])}" for of in tables)
    return f"<warplens.Result {schema}{': ' + shown if shown else ''}>"
