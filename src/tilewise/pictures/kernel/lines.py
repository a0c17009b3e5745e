"""A kernel that was read as lines of a terminal: its sums, its findings, its accesses, what is left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tilewise.compiled.findings import KernelFinding, spelled
from tilewise.compiled.kernel import ReadKernel, Row
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
from tilewise.pictures.kernel.source import SourceFiles
from tilewise.pictures.terminal import Line, Piece, hanging, length

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.compiled.engines import ProductRow, TransferRow

WIDTH = 100
"""Columns, where the terminal has them."""
FULL = 5
"""Findings that are shown with all that they say."""
SHOWN = 12
"""Rows of a table."""
NAMED = 6
"""Instructions that are named for one reason to leave them out."""

RowCells = Sequence[str | Piece]


def lines_of(
    kernel: ReadKernel, findings: Sequence[KernelFinding], sources: SourceFiles, width: int
) -> Iterator[Line]:
    """Yield the lines of a kernel, the most important first."""
    yield from hanging((Piece(f"{kernel.name}  ", "head"),), launch_words(kernel), max(width, 72), "dim")
    for note in kernel.notes:
        yield from hanging((Piece("  note: ", "dim"),), note, width, "dim")
    yield ()
    yield from _sums(kernel, width)
    yield ()
    yield from _findings(findings, sources, width)
    if kernel.rows:
        yield ()
        yield from _accesses(kernel.rows, sources, width)
    yield from _products(kernel.products, width)
    yield from _transfers(kernel.transfers, width)
    if kernel.module is not None:
        yield from _conversions(kernel, width)
        yield from _layouts(kernel)
    yield from _missing(kernel, width)


def _sums(kernel: ReadKernel, width: int) -> Iterator[Line]:
    sums = sums_of(kernel)
    if not sums:
        yield (Piece("  no access to memory was counted", "note"),)
        return
    rows: list[RowCells] = [["", "instructions", "requests", "cost", "", "ideal", "", ""]]
    for one in sums:
        over = times(one.cost, one.ideal)
        left = f"{one.unknown:,} unknown" if one.unknown else ""
        counts = [f"{count:,}" for count in (one.instructions, one.requests, one.cost, one.ideal)]
        marked = Piece(over, "no" if one.cost >= TOO_MUCH * one.ideal else "")
        rows.append([one.name, *counts[:3], one.counted, counts[3], marked, Piece(left, "open")])
    yield from columns(rows, "<>>><>><", width, optional=(1, 2, 4))


# -- findings --------------------------------------------------------------------------------------------


def _findings(findings: Sequence[KernelFinding], sources: SourceFiles, width: int) -> Iterator[Line]:
    if not findings:
        yield (Piece("  no findings", "yes"),)
    said: dict[tuple[str, str], int] = {}
    full = 0
    for number, finding in enumerate(findings[:SHOWN], 1):
        before = said.setdefault((finding.kind, finding.repair), number)
        full += before == number
        if before != number or full > FULL:
            yield _briefly(number, finding, width)
            continue
        if number > 1:
            yield ()
        yield from _finding(number, finding, sources, width)
    if len(findings) > SHOWN:
        yield (Piece(f"  and {len(findings) - SHOWN} more: --json has all", "dim"),)


def _briefly(number: int, finding: KernelFinding, width: int) -> Line:
    """Return one line for a finding whose repair was shown before, or that is one of many."""
    head = (Piece(f" {number:>2}. "), Piece(finding.kind, "no"), Piece(f"  {place(finding.line)}", "name"))
    text = f"{cost_words(finding.cost)}: {finding.cause}"
    return (*head, Piece(f"  {shortened(text, max(16, width - length(head) - 2))}"))


def _finding(number: int, finding: KernelFinding, sources: SourceFiles, width: int) -> Iterator[Line]:
    where = place(finding.line)
    source = sources.line(finding.line)
    head = (Piece(f" {number:>2}. "), Piece(finding.kind, "no"), Piece(f"  {where}" if where else "", "name"))
    room = width - length(head) - 2
    yield (*head, Piece(f"  {shortened(source, room)}" if source and room >= 20 else "", "dim"))
    yield from _said("", sentence(finding.cause), width)
    yield from _said("cost", cost_words(finding.cost), width)
    yield from _said("repair", finding.repair, width)
    for name, command in (("see", finding.command), ("open", finding.explore)):
        if command:
            yield (Piece(f"     {name:<8}", "dim"), Piece(command))


def _said(name: str, text: str, width: int) -> Iterator[Line]:
    yield from hanging((Piece(f"     {name:<8}" if name else "     ", "dim"),), text, width)


# -- accesses --------------------------------------------------------------------------------------------


def _accesses(rows: Sequence[Row], sources: SourceFiles, width: int) -> Iterator[Line]:
    """Yield the accesses by line of the source; of many those that lose most."""
    kept = rows
    if len(rows) > SHOWN:
        worst = sorted(rows, key=lambda row: (row.ideal - row.cost, -row.cost))[:SHOWN]
        kept = [row for row in rows if row in worst]
    files = {row.line.file for row in rows if row.line is not None}
    alone = next(iter(files)) if len(files) == 1 else None
    more = f"; {len(rows) - len(kept)} more lose less" if len(kept) < len(rows) else ""
    yield (Piece("  accesses", "name"), Piece(f" by line of {bare(alone)}{more}" if alone else more, "dim"))
    table: list[RowCells] = [["line", "", "a lane", "requests", "cost", "ideal", "", "", ""]]
    before: object = None
    for row in kept:
        again, before = row.line is not None and row.line == before, row.line
        where = "" if row.line is None else str(row.line.number) if alone else place(row.line)
        over = Piece(times(row.cost, row.ideal), "no" if row.cost >= TOO_MUCH * row.ideal else "")
        unknown = row.sum("unknown")
        counts = [f"{row.bytes} B", *(f"{count:,}" for count in (row.requests, row.cost, row.ideal))]
        source = "" if again else sources.line(row.line)
        left = Piece(f"{unknown:,} unknown" if unknown else "", "open")
        table.append(["" if again else where, access_words(row), *counts, over, left, Piece(source, "dim")])
    yield from columns(table, f"{'>' if alone else '<'}<>>>>><<", width, optional=(8, 2, 3))


# -- engines ---------------------------------------------------------------------------------------------


def _products(products: Sequence[ProductRow], width: int) -> Iterator[Line]:
    """Yield the products of matrices, each with its operands."""
    if products:
        yield ()
        yield (Piece("  products of matrices", "name"), Piece(_more(len(products)), "dim"))
    for one in products[:SHOWN]:
        head = (Piece(f"    {place(one.line)}  ", "name"),)
        yield from hanging(head, f"{product_words(one)}: {many(one.times, 'times')}", width)
        for letter, lies, starts, *_ in product_rows(one):
            text = f"{lies}; from byte {starts}" if starts else lies
            yield from hanging((Piece(f"      {letter}  "),), text, width)


def _transfers(transfers: Sequence[TransferRow], width: int) -> Iterator[Line]:
    """Yield the bulk copies, and why their bytes are not known."""
    if transfers:
        yield ()
        yield (Piece("  bulk copies", "name"), Piece(_more(len(transfers)), "dim"))
    for one in transfers[:SHOWN]:
        what, bytes, shared, coordinates = transfer_words(one)
        head = (Piece(f"    {place(one.line)}  ", "name"),)
        yield from hanging(head, f"{what}: {many(one.times, 'times')}, {bytes}", width)
        for name, text in (("shared memory", shared), ("coordinates", coordinates)):
            if text:
                yield from hanging((Piece(f"      {name:<13}  ", "dim"),), text, width)
    for reason in dict.fromkeys(one.reason for one in transfers if one.reason):
        yield from hanging((Piece("    "),), f"bytes that are not known: {reason}", width, "dim")


# -- Triton's layouts ------------------------------------------------------------------------------------


def _conversions(kernel: ReadKernel, width: int) -> Iterator[Line]:
    assert kernel.module is not None
    moved = kernel.module.conversions()
    if moved:
        yield ()
        yield (Piece("  conversions", "name"), Piece(_more(len(moved)), "dim"))
        rows = [
            [
                place(one.line),
                one.kind or "not read",
                f"{one.bytes:,} B",
                f"{spelled(one.source.name)} -> {spelled(one.target.name)}",
            ]
            for one in moved[:SHOWN]
        ]
        yield from columns(rows, "<<><", width)


def _layouts(kernel: ReadKernel) -> Iterator[Line]:
    """Yield the layouts in registers, each once; those of rows, columns and slices follow from the others."""
    assert kernel.module is not None
    rows = dict.fromkeys(
        (
            spelled(use.name),
            "x".join(map(str, use.type.shape)),
            str(use.layout) if use.layout is not None else use.reason,
        )
        for use in kernel.module.layouts()
        if use.type.in_registers and 1 not in use.type.shape and ".slice<" not in use.name
    )
    if rows:
        yield ()
        yield (Piece("  layouts", "name"), Piece(_more(len(rows)), "dim"))
        yield from columns([*rows][:SHOWN], "<<<", None)


def _more(number: int) -> str:
    return f", {SHOWN} of {number}" if number > SHOWN else ""


# -- what is left out ------------------------------------------------------------------------------------


def _missing(kernel: ReadKernel, width: int) -> Iterator[Line]:
    missing = missing_of(kernel)
    if not missing:
        return
    yield ()
    yield (Piece("  left out of the sums", "name"),)
    for one in missing:
        named = ", ".join(one.what[:NAMED])
        more = f" and {many(len(one.what) - NAMED, 'others')}" if len(one.what) > NAMED else ""
        yield from hanging((Piece("    "),), f"{named}{more}: {one.reason}", width)


# -- two versions ----------------------------------------------------------------------------------------


def difference(rows: Sequence[Mapping[str, Any]], width: int) -> Iterator[Line]:
    """Yield what became better or worse."""
    changed = [row for row in rows if row["old"] != row["new"]]
    if not changed:
        yield (Piece("nothing that is counted has changed", "dim"),)
        return
    several = len({row["kernel"] for row in changed}) > 1
    table = [
        [
            row["kernel"] if several else "",
            row["what"],
            f"{row['old']:,}",
            "->",
            f"{row['new']:,}",
            Piece(row["verdict"], "yes" if row["verdict"] == "better" else "no"),
        ]
        for row in changed
    ]
    yield from columns(table, "<<><><", width, indent="")


# -- columns ---------------------------------------------------------------------------------------------


def columns(
    rows: Iterable[RowCells],
    sides: str,
    width: int | None,
    optional: Sequence[int] = (),
    indent: str = "    ",
) -> Iterator[Line]:
    """Yield rows with aligned columns; where room lacks, the last is shortened, or those of `optional` go.

    >>> from tilewise.pictures.terminal import as_text
    >>> print(as_text(columns([["a", "bb", "a long text"], ["c", "d", ""]], "<><", 14, indent="")))
    a  bb  a lon...
    c   d
    """
    table = [[cell if isinstance(cell, Piece) else Piece(cell) for cell in row] for row in rows]
    kept = [column for column in range(len(table[0])) if any(row[column].text for row in table)]
    wide = {column: max(len(row[column].text) for row in table) for column in kept}
    if width is not None:
        leave = [column for column in optional if column in kept]
        last = kept[-1]
        while sum(wide[one] + 2 for one in kept) - 2 + len(indent) > width:
            rest = width - len(indent) - sum(wide[one] + 2 for one in kept if one != last)
            if (sides[last] == "<" and rest >= 16) or not leave:
                if sides[last] == "<":
                    wide[last] = max(rest, 8)
                break
            kept.remove(leave.pop(0))
            last = kept[-1]
    for row in table:
        line = [Piece(indent)]
        for number, column in enumerate(kept):
            text, role = shortened(row[column].text, wide[column]), row[column].role
            gap = "  " if number else ""
            pad = " " * (wide[column] - len(text))
            line += [Piece(f"{gap}{pad if sides[column] == '>' else ''}"), Piece(text, role)]
            line.append(Piece("" if sides[column] == ">" else pad))
        while not line[-1].text.strip():
            line.pop()
        yield tuple(line)


def shortened(text: str, room: int) -> str:
    """Return a text that fits, with points where its end was.

    >>> shortened("a text", 6), shortened("a text", 5)
    ('a text', 'a ...')
    """
    return text if len(text) <= room else f"{text[: max(0, room - 3)]}..."
