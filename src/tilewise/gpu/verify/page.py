"""The report as one page of HTML that needs nothing besides itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

from tilewise.gpu.verify.run import Outcome, Verification
from tilewise.hardware.catalog.confirmed import grouped

_HEAD = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>
{style}</style></head>
<body>
"""


def page(report: Verification) -> str:
    """The whole page."""
    name = escape(str(report.device.get("name", "a device")))
    tone = "good" if report.right else "bad"
    body = [
        f"<h1>tilewise verify: {name}</h1>",
        f'<p class="verdict {tone}">{escape(report.verdict)}</p>',
        _pairs(report.device),
        _overview(report),
        *map(_section, report.outcomes),
    ]
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    head = _HEAD.format(title=f"tilewise verify: {name}", style=style)
    return head + "\n".join(body) + "\n</body></html>\n"


def _pairs(values: Mapping[str, object]) -> str:
    rows = "".join(
        f"<dt>{escape(str(key))}</dt><dd>{escape(str(value))}</dd>" for key, value in values.items()
    )
    return f"<dl>{rows}</dl>"


def _overview(report: Verification) -> str:
    rows: list[HtmlCells] = []
    for outcome in report.outcomes:
        found, name = outcome.comparison, escape(outcome.part.name)
        numbers = [(f"{count:,}",) for count in (found.cases, found.numbers, found.different)]
        rows.append([f'<a href="#{name}">{name}</a>', _word(outcome), *numbers, (f"{outcome.seconds:.1f}",)])
    return _table(["part", "", ("cases",), ("answers",), ("differ",), ("seconds",)], rows)


def _word(outcome: Outcome) -> str:
    if outcome.failed:
        return '<span class="bad">not answered</span>'
    if outcome.comparison.different:
        return '<span class="bad">differs</span>'
    return '<span class="good">as the catalogue says</span>'


def _section(outcome: Outcome) -> str:
    found = outcome.comparison
    kept = " Answers of an earlier run." if outcome.resumed else ""
    confirms = escape("; ".join(grouped(outcome.part.confirms)))
    parts = [
        f'<h2 id="{escape(outcome.part.name)}">{escape(outcome.part.name)}</h2>',
        f'<p class="about">{escape(outcome.part.title)}. Confirms {confirms}.{kept}</p>',
    ]
    if outcome.failed:
        parts.append(f'<p class="bad">{escape(outcome.failed)}</p>')
    for difference in found.differences:
        parts.append(
            f'<div class="case"><code>{escape(difference.case)}</code><br>{escape(difference.message)}'
            f"{_pairs(difference.witness)}</div>"
        )
    hidden = found.different - len(found.differences)
    if hidden:
        parts.append(f"<p>{hidden:,} more are not listed.</p>")
    if found.covered:
        parts.append(_coverage(found.in_order()))
    return "\n".join(parts)


def _coverage(covered: Mapping[str, Mapping[str, int]]) -> str:
    rows: list[HtmlCells] = []
    for aspect, tally in covered.items():
        values = " ".join(
            f'<span class="value">{escape(value)} <i>{count:,}</i></span>' for value, count in tally.items()
        )
        rows.append([escape(aspect), values])
    table = _table(["what was covered", "value and cases"], rows)
    return f"<details open><summary>Coverage</summary>{table}</details>"


HtmlCells = Sequence[str | tuple[str]]
"""A row of cells; a number stands in a tuple and is set to the right."""


def _table(head: HtmlCells, rows: Iterable[HtmlCells]) -> str:
    lines = [_row("th", head), *(_row("td", row) for row in rows)]
    return f'<div class="scroll"><table>{"".join(lines)}</table></div>'


def _row(tag: str, cells: HtmlCells) -> str:
    written = (
        f'<{tag} class="n">{cell[0]}</{tag}>' if isinstance(cell, tuple) else f"<{tag}>{cell}</{tag}>"
        for cell in cells
    )
    return f"<tr>{''.join(written)}</tr>"
