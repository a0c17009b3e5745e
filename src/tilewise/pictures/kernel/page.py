"""Kernels that were read as one page of HTML: sums, findings, and the source beside what it costs.

The page needs no other file and no network. It has no style and no script but its own, and its policy lets no
other run. All that comes from a file, such as the name of a kernel, goes through `said`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

from tilewise.compiled.findings import KernelFinding, spelled
from tilewise.compiled.kernel import ReadKernel, Row
from tilewise.compiled.lines import Line
from tilewise.compiled.words import (
    TOO_MUCH,
    access_words,
    bare,
    cost_words,
    launch_words,
    many,
    missing_of,
    place,
    product_rows,
    product_words,
    sentence,
    sums_of,
    times,
    transfer_words,
)
from tilewise.core.errors import LayoutError
from tilewise.pictures.kernel.request import picture_of
from tilewise.pictures.kernel.source import SourceFiles
from tilewise.pictures.paper.html import policy
from tilewise.pictures.paper.svg import escaped

BAR = 220
"""Pixels of the longest bar."""
AROUND = 3
"""Lines that are shown before and behind those with accesses."""
GAP = 8
"""So many lines without accesses are shown; more are left out."""
HOTTEST = 5
MOST_BESIDE = 600
"""Pixels of a picture that leaves room for a text beside it."""
MOST_PICTURES = 40
"""Pictures of requests that no finding has."""

FOOT = (
    "Counts are those that Nsight Compute has: wavefronts of shared memory, sectors of 32 bytes of global "
    "memory. They say how much work an access makes, and nothing of its time. Ideal is the fewest that the "
    "bytes need."
)


def written(
    path: Path | str,
    kernels: Sequence[ReadKernel],
    findings: Mapping[str, Sequence[KernelFinding]],
    sources: SourceFiles,
) -> None:
    """Write the page of some kernels to a file."""
    try:
        Path(path).write_text(page_of(kernels, findings, sources), encoding="utf-8")
    except OSError as error:
        raise LayoutError("TW402", f"{path} cannot be written: {error.strerror}") from None


def page_of(
    kernels: Sequence[ReadKernel], findings: Mapping[str, Sequence[KernelFinding]], sources: SourceFiles
) -> str:
    """Return the page of some kernels."""
    here = files("tilewise.pictures.kernel")
    script, style = ((here / f"page.{kind}").read_text(encoding="utf-8") for kind in ("js", "css"))
    title = ", ".join(kernel.name for kernel in kernels[:3]) + ("..." if len(kernels) > 3 else "")
    parts = [
        _Section(f"k{number}", kernel, findings[kernel.name], sources)
        for number, kernel in enumerate(kernels)
    ]
    links = "".join(f'<a href="#{part.id}">{said(part.kernel.name)}</a>' for part in parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(script, style)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{said(title)} - tilewise read</title>\n"
        '<link rel="icon" href="data:,">\n'
        f"<style>{style}</style>\n</head>\n<body>\n"
        f'<a class="skip" href="#{parts[0].id}-findings">to the findings</a>\n'
        + (f'<nav aria-label="kernels">{links}</nav>\n' if len(parts) > 1 else "")
        + "<main>\n"
        + "\n".join(line for part in parts for line in part.html())
        + f"\n</main>\n<footer>{said(FOOT)}</footer>\n<script>{script}</script>\n</body>\n</html>\n"
    )


def said(text: object) -> str:
    """Return a text for the inside of an element or of a quoted attribute.

    >>> said('<script> "x" & ')
    '&lt;script&gt; &quot;x&quot; &amp; '
    """
    return escaped(str(text)).replace('"', "&quot;").replace("'", "&#x27;")


class _Section:
    """The part of the page that one kernel has."""

    def __init__(
        self, id: str, kernel: ReadKernel, findings: Sequence[KernelFinding], sources: SourceFiles
    ) -> None:
        self.id, self.kernel, self.findings, self.sources = id, kernel, findings, sources
        self.lost = sum(map(loss, kernel.rows)) or 1
        self.worst = max((finding.weight for finding in findings), default=0)
        self.files: dict[str, dict[int, list[Row]]] = {}
        for row in kernel.rows:
            if row.line is not None:
                self.files.setdefault(row.line.file, {}).setdefault(row.line.number, []).append(row)
        self.told: dict[Line, list[int]] = {}
        for number, finding in enumerate(findings, 1):
            if finding.line is not None:
                self.told.setdefault(finding.line, []).append(number)
                self.files.setdefault(finding.line.file, {}).setdefault(finding.line.number, [])
        self.order = {file: number for number, file in enumerate(self.files)}

    def html(self) -> Iterator[str]:
        """Yield the elements, the most important first."""
        yield f'<section class="kernel" id="{self.id}">'
        yield f'<h1>{said(self.kernel.name)}</h1>\n<p class="launch">{said(launch_words(self.kernel))}</p>'
        yield from (f'<p class="note">{said(note)}</p>' for note in self.kernel.notes)
        yield from self._sums()
        yield f'<h2 id="{self.id}-findings">{_title(len(self.findings))}</h2>'
        yield '<ol class="findings">'
        for number, finding in enumerate(self.findings, 1):
            yield from self._finding(number, finding)
        yield "</ol>"
        for file in sorted(self.files, key=lambda file: -sum(map(loss, _rows_of(self.files[file])))):
            yield from self._source(file)
        yield from self._others()
        yield from self._requests()
        yield from self._engines()
        yield from self._layouts()
        yield from self._missing()
        yield "</section>"

    # -- sums --------------------------------------------------------------------------------------------

    def _sums(self) -> Iterator[str]:
        sums = sums_of(self.kernel)
        if not sums:
            yield '<p class="note">no access to memory was counted</p>'
            return
        most = max(max(one.cost, one.ideal) for one in sums) or 1
        heads = ("", "instructions", "requests", "cost", "", "ideal", "", "")
        named = ("access", "", "", "", "unit", "", "bar", "times the ideal")
        yield f'{_scroller("sums")}<table class="sums"><thead><tr>'
        yield _heads(heads, named, ["number" if head else "" for head in heads])
        yield "</tr></thead><tbody>"
        for one in sums:
            over = one.cost > one.ideal and one.cost >= TOO_MUCH * one.ideal
            local = one.name.startswith("local")
            cells = [
                f"<td>{said(one.name)}</td>",
                number(one.instructions),
                number(one.requests),
                number(one.cost),
            ]
            cells += [f'<td class="unit">{one.counted}</td>', number(one.ideal)]
            cells.append(f"<td>{bar(one.cost, 0 if local else one.ideal, most)}</td>")
            left = f'<span class="quiet">{one.unknown:,} unknown</span>' if one.unknown else ""
            cells.append(
                f'<td class="{"over" if over else "quiet"}">{times(one.cost, one.ideal)} {left}</td>'
            )
            yield f"<tr>{''.join(cells)}</tr>"
        yield "</tbody></table></div>"

    # -- findings ----------------------------------------------------------------------------------------

    def _finding(self, number: int, finding: KernelFinding) -> Iterator[str]:
        minor = "" if finding.weight * 4 >= self.worst else " minor"
        picture = picture_of(finding.row) if finding.row is not None else ""
        minor += " beside" if number == 1 and 0 < _width(picture) <= MOST_BESIDE else ""
        alike = [one for one in self.findings[: number - 1] if one.kind == finding.kind]
        before = any(one.repair == finding.repair for one in alike)
        minor += " brief" if before else ""
        yield f'<li><article class="finding{minor}" id="{self.id}-f{number}">'
        where = (
            f'<a class="code" href="#{self._anchor(finding.line)}">{said(place(finding.line))}</a>'
            if finding.line
            else ""
        )
        first, _, rest = cost_words(finding.cost).partition(" ")
        cost = f'<p class="cost"><b>{said(first)}</b> {said(rest)}</p>'
        yield f"<header><h3>{number}. {said(finding.kind)}</h3>{where}{cost}</header>"
        source = self.sources.line(finding.line)
        if source and not before:
            yield f"<pre>{said(source)}</pre>"
        yield f"<p>{said(sentence(finding.cause))}</p>"
        if not before:
            yield f'<p class="repair"><b>Repair:</b> {said(finding.repair)}</p>'
        yield from map(_command, filter(None, (finding.command, finding.explore)))
        if picture and finding.row is not None:
            yield from _drawn(finding.row, picture, "the worst request", shown=number == 1)
        yield "</article></li>"

    # -- the source --------------------------------------------------------------------------------------

    def _anchor(self, line: Line) -> str:
        return f"{self.id}-s{self.order[line.file]}-{line.number}"

    def _source(self, file: str) -> Iterator[str]:
        """Yield the lines of a file that have accesses, and those around them where the file is at hand."""
        known, lines = self.files[file], self.sources.lines(file)
        lines = lines if lines and min(known) <= len(lines) else ()  # Triton's may be off by a line or two
        yield f"<h2>{said(bare(file))}</h2>"
        heads = ("", "", "", "a lane", "requests", "cost", "ideal", "")
        named = ("line", "source", "access", "", "", "", "", "findings")
        sides = ("", "", "", *["number"] * 4, "")
        yield '<div class="source" tabindex="0" role="group" aria-label="source"><table><thead><tr>'
        yield _heads(heads, named, sides)
        yield "</tr></thead><tbody>"
        before = None
        for line in shown_lines(sorted(known), len(lines)):
            if before is not None and line > before + 1:
                left = many(line - before - 1, "lines")
                yield f'<tr class="skipped"><td colspan="8">{left}</td></tr>'
            yield from self._line(
                Line(file, line), known.get(line, ()), lines[line - 1] if line <= len(lines) else ""
            )
            before = line
        yield "</tbody></table></div>"

    def _line(self, line: Line, rows: Sequence[Row], text: str) -> Iterator[str]:
        here = [number for number in self.told.get(line, ()) if self.findings[number - 1].row not in rows]
        badges = self._badges(here)
        anchor = f' id="{self._anchor(line)}"' if rows or badges else ""
        code = f'<td class="at">{line.number}</td><td class="code">{said(text)}</td>'
        if not rows:
            hot = ' class="h2"' if badges else ""
            yield f'<tr{hot}{anchor}>{code}<td colspan="5"></td><td class="marks">{badges}</td></tr>'
        for place_in_line, row in enumerate(rows):
            first = place_in_line == 0
            heat = self._heat(row)
            role = f"{heat}{'' if first else ' again'}"
            begin = code if first else '<td class="at"></td><td class="code"></td>'
            own = [number for number in self.told.get(line, ()) if self.findings[number - 1].row is row]
            counts = self._counts(row, (badges if first else "") + self._badges(own))
            yield f'<tr class="{role}"{anchor if first else ""}>{begin}{counts}</tr>'

    def _badges(self, numbers: Iterable[int]) -> str:
        """Return links to some findings."""
        return "".join(
            f'<a class="badge" href="#{self.id}-f{number}">{number} {self.findings[number - 1].kind}</a>'
            for number in numbers
        )

    def _counts(self, row: Row, badges: str) -> str:
        over = times(row.cost, row.ideal)
        unknown = row.sum("unknown")
        marks = (
            f'<span class="over">{over}</span> ' if over and row.cost >= TOO_MUCH * row.ideal else f"{over} "
        )
        marks += f'<span class="quiet">{unknown:,} unknown</span> ' if unknown else ""
        cells = [f'<td class="what">{said(access_words(row))}</td>', f'<td class="number">{row.bytes} B</td>']
        cells += [number(count) for count in (row.requests, row.cost, row.ideal)]
        return "".join([*cells, f'<td class="marks">{marks}{badges}</td>'])

    def _heat(self, row: Row) -> str:
        """Return the class of a row: from h1 to h5, the larger its part of what the kernel loses."""
        lost = loss(row)
        return (
            f"h{max(1, round(HOTTEST * (lost / self.lost) ** 0.5))}" if lost else "ok" if row.requests else ""
        )

    def _others(self) -> Iterator[str]:
        """Yield the accesses of which no line is known."""
        rows = [row for row in self.kernel.rows if row.line is None]
        if rows:
            yield "<h2>Accesses without a line</h2>"
            yield '<p class="note">The file has no lines: nvcc -lineinfo keeps them.</p>'
            yield '<div class="source" tabindex="0" role="group" aria-label="accesses"><table><tbody>'
            for row in rows:
                names = ", ".join(dict.fromkeys(tally.instruction.name for tally in row.tallies))
                code = f'<td class="at"></td><td class="code">{said(names)}</td>'
                yield f'<tr class="{self._heat(row)}">{code}{self._counts(row, "")}</tr>'
            yield "</tbody></table></div>"

    # -- the rest ----------------------------------------------------------------------------------------

    def _requests(self) -> Iterator[str]:
        """Yield the worst request of accesses that no finding draws."""
        drawn = [finding.row for finding in self.findings]
        rows = [row for row in self.kernel.rows if row not in drawn][:MOST_PICTURES]
        pictures = [(row, picture) for row in rows if (picture := picture_of(row))]
        if pictures:
            yield "<h2>Other accesses, lane by lane</h2>"
        for row, picture in pictures:
            title = f"{access_words(row)} of {row.bytes} bytes, {place(row.line)}"
            yield from _drawn(row, picture, title, command=row.explore or row.command)

    def _engines(self) -> Iterator[str]:
        """Yield the products of matrices and the bulk copies."""
        products = [
            (place(row.line), product_words(row), f"{row.times:,}", *cells)
            for row in self.kernel.products
            for cells in product_rows(row)
        ]
        heads = ("line", "product", "times", "", "lies", "descriptors start at", "descriptor", "layout")
        yield from table("Products of matrices", heads, products, code=(6, 7))
        copies = []
        for row in self.kernel.transfers:
            what, *cells = transfer_words(row)
            copies.append((place(row.line), what, f"{row.times:,}", *cells, row.reason))
        named = ("line", "copy", "times", "bytes", "shared memory", "coordinates", "")
        yield from table("Bulk copies", named, copies, code=())

    def _layouts(self) -> Iterator[str]:
        module = self.kernel.module
        if module is None:
            return
        rows: Iterable[tuple[str, ...]] = [
            (
                place(one.line),
                one.kind,
                f"{one.bytes:,} B",
                spelled(one.source.name),
                spelled(one.target.name),
                one.needs,
            )
            for one in module.conversions()
        ]
        yield from table("Conversions of layouts", ("line", "kind", "bytes", "from", "to", ""), rows, code=())
        uses = dict.fromkeys(
            (
                spelled(use.name),
                "x".join(map(str, use.type.shape)),
                str(use.layout or use.reason),
                use.type.explore or "",
            )
            for use in module.layouts()
            if use.type.in_registers and 1 not in use.type.shape
        )
        yield from table("Layouts", ("name", "shape", "layout", ""), uses, code=(2, 3))

    def _missing(self) -> Iterator[str]:
        rows = [(", ".join(one.what), one.reason) for one in missing_of(self.kernel)]
        yield from table("Left out of the sums", ("what", "why"), rows, code=())


# -- parts -----------------------------------------------------------------------------------------------


def loss(row: Row) -> int:
    """Return what a row costs beyond its ideal; of local memory all, for registers cost nothing."""
    return row.cost if row.space == "local" else max(0, row.cost - row.ideal)


def shown_lines(known: Sequence[int], last: int) -> list[int]:
    """Return the lines to show: those with accesses, a few around them, and short gaps between them.

    >>> shown_lines([10, 30], 40), shown_lines([10, 30], 0)
    ([7, 8, 9, 10, 11, 12, 13, 27, 28, 29, 30, 31, 32, 33], [10, 30])
    """
    if not last:
        return list(known)
    near = {line + step for line in known for step in range(-AROUND, AROUND + 1)}
    shown = {*known, *(line for line in near if 1 <= line <= last)}
    ends = sorted(shown)
    for a, b in pairwise(ends):
        if b - a <= GAP:
            shown.update(range(a, min(b, last + 1)))
    return sorted(shown)


def number(count: int) -> str:
    """Return a cell with a count."""
    return f'<td class="number">{count:,}</td>'


def bar(cost: int, ideal: int, most: int) -> str:
    """Return a bar: the ideal, and what is beyond it in red."""
    wide, needed = (round(BAR * count / most) for count in (cost, min(ideal, cost)))
    return (
        f'<svg class="bar" width="{BAR}" height="12" role="img" aria-label="{cost:,}, {ideal:,} would do">'
        f'<rect class="track" width="{BAR}" height="12" rx="2"/>'
        f'<rect class="over" width="{wide}" height="12" rx="2"/>'
        f'<rect class="ideal" width="{needed}" height="12" rx="2"/></svg>'
    )


def table(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], code: Sequence[int]
) -> Iterator[str]:
    """Yield a table under a title, if it has rows."""
    rows = list(rows)
    if not rows:
        return
    yield f'<h2>{said(title)}</h2>{_scroller(title)}<table class="plain"><thead><tr>'
    yield _heads(heads, ["what it takes"] * len(heads), [""] * len(heads))
    yield "</tr></thead><tbody>"
    for row in rows:
        cells = (
            f"<code>{said(cell)}</code>" if place in code else said(cell) for place, cell in enumerate(row)
        )
        yield "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    yield "</tbody></table></div>"


def _scroller(name: str) -> str:
    """Return the start of a part that scrolls sideways, by keys as well."""
    return f'<div class="scroll" tabindex="0" role="group" aria-label="{said(name)}">'


def _width(picture: str) -> int:
    """Return the width of a picture in pixels; 0 without a picture."""
    found = re.search(r' width="(\d+)"', picture)
    return int(found[1]) if found else 0


def _heads(heads: Sequence[str], named: Sequence[str], sides: Sequence[str]) -> str:
    """Return the heads of a table; one without a text has a name that is heard, and not seen."""
    return "".join(
        f'<th scope="col" class="{side}">{head or f"<span class=unseen>{name}</span>"}</th>'
        for head, name, side in zip(heads, named, sides, strict=True)
    )


def _command(command: str) -> str:
    """Return a command with a button that copies it."""
    return (
        f'<div class="command"><code>{said(command)}</code>'
        f'<button type="button" hidden data-copy="{said(command)}">copy</button></div>'
    )


def _drawn(
    row: Row, picture: str, title: str, shown: bool = False, command: str | None = None
) -> Iterator[str]:
    """Yield a picture that opens, with what its colours mean."""
    keys: dict[str, str] = {
        "fine": "a word of a bank that gives one",
        "hot": "words of one bank: one wavefront each",
    }
    if row.space == "global":
        keys = {"fine": "bytes that lanes ask for", "moved": "the rest of the sectors, which moves too"}
    yield f"<details{' open' if shown else ''}><summary>{said(title)}</summary>"
    yield f'<div class="drawn" tabindex="0" role="group" aria-label="{said(title)}">{picture}</div>'
    yield '<p class="legend">'
    for role, words in keys.items():
        square = f'<svg width="11" height="11"><rect class="{role}" width="11" height="11"/></svg>'
        yield f"<span>{square}{words}</span>"
    yield "</p>"
    yield from map(_command, filter(None, (command,)))
    yield "</details>"


def _rows_of(lines: Mapping[int, Sequence[Row]]) -> Iterator[Row]:
    return (row for rows in lines.values() for row in rows)


def _title(number: int) -> str:
    return "No findings" if not number else f"{many(number, 'findings')}{', the worst first' * (number > 1)}"
