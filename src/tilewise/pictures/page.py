"""The screen of a layout as lines: sections, each with its name at the left, with colours or without."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from textwrap import wrap

from tilewise.check.engines import Taken
from tilewise.pictures.grid import grid_lines
from tilewise.pictures.registers import Holder
from tilewise.pictures.screen import Cost, Screen, is_tile
from tilewise.pictures.terminal import Line, Piece, beside, hanging, paragraph

WIDTH = 100
"""Columns of the screen, where the terminal has them."""

_SIDE = 11
"""Columns of the names of sections."""


def page_of(screen: Screen, width: int = WIDTH) -> list[Line]:
    """Return the lines of a screen, at most `width` columns each where words can be parted.

    >>> from tilewise import S
    >>> from tilewise.pictures.screen import screen_of
    >>> for line in page_of(screen_of(S[(2, 4) : (4, 1)]))[:4]:
    ...     print("".join(piece.text for piece in line).rstrip())
    S[(2, 4) : (4, 1)]
    <BLANKLINE>
    is         2 x 4, row-major
    map        m = 4*i + j
    """
    return [*_Page(width - _SIDE).lines(screen)]


@dataclass(frozen=True, slots=True)
class _Page:
    room: int
    """Columns beside the names of sections."""

    def lines(self, screen: Screen) -> Iterator[Line]:
        unit = "" if screen.layout.unit == "element" else f"in {screen.layout.unit}s"
        counted = ", ".join(filter(None, (str(screen.dtype or ""), unit)))
        yield (Piece(str(screen.layout), "head"), Piece(f"   {counted}" if counted else "", "dim"))
        yield ()
        yield from self.section("is", [screen.sentence])
        yield from self.section("map", screen.formulas)
        yield from self.section("facts", screen.facts)
        yield from self.section("CuTe", [screen.cute or "cannot say this"])
        if screen.canonical != str(screen.layout):
            yield from self.section("canonical", [screen.canonical])
        yield from self.section("catalogue", _by_entry(screen.entries))
        yield ()
        yield from self.pictures(screen)
        yield from self.block("holds", self.holders(screen.holders))
        yield from self.block("banks", self.costs(screen.accesses))
        yield from self.block("engines", self.engines(screen))
        yield from self.block("change", self.changes(screen))

    # -- sections ------------------------------------------------------------------------------------

    def section(self, name: str, texts: Iterable[str]) -> Iterator[Line]:
        """Yield a name, and texts beside it that are wrapped."""
        lines = [line for text in texts for line in wrap(text, self.room, break_long_words=False)]
        yield from self.named(name, ((Piece(line),) for line in lines))

    def named(self, name: str, lines: Iterable[Line]) -> Iterator[Line]:
        """Lines with a name before the first one."""
        for line in lines:
            yield (Piece(f"{name:<{_SIDE}}", "name"), *line)
            name = ""

    def block(self, name: str, lines: Iterable[Line]) -> Iterator[Line]:
        """Yield a section after an empty line, where there is something in it."""
        listed = [*self.named(name, lines)]
        if listed:
            yield ()
            yield from listed

    # -- pictures ------------------------------------------------------------------------------------

    def pictures(self, screen: Screen) -> Iterator[Line]:
        """Yield the corner, and beside it the chunks, where there is room for both."""
        grids = [grid for grid in (screen.corner, screen.chunks) if grid is not None]
        drawn = [[*paragraph(grid.key, self.room, "dim"), *grid_lines(grid, self.room)] for grid in grids]
        yield from self.named("corner", beside(drawn, self.room))

    # -- tables --------------------------------------------------------------------------------------

    def holders(self, holders: Sequence[Holder]) -> Iterator[Line]:
        """Yield a line an owner, with as many elements as there is room for."""
        for holder in holders:
            owner = ", ".join(f"{name} {number}" for name, number in holder.owner.items()) + ": "
            held = [f"({','.join(map(str, element))})" for element in holder.elements]
            room = self.room - len(owner) - len(" and 9999 more")
            while len(held) > 1 and len(" ".join(held)) > room:
                held.pop()
            more = holder.more + len(holder.elements) - len(held)
            yield (Piece(owner, "dim"), Piece(" ".join(held) + (f" and {more} more" if more else "")))

    def costs(self, costs: Sequence[Cost]) -> Iterator[Line]:
        """Yield a table of accesses: wavefronts, the fewest, and how many ways."""
        if not costs:
            return
        side = max(len(cost.access) for cost in costs)
        yield (Piece(f"{'access':<{side}}  wavefronts  ideal", "dim"),)
        for cost in costs:
            if cost.wavefronts is None:
                yield from hanging((Piece(f"{cost.access:<{side}}  "),), cost.said, self.room, "no")
                continue
            numbers = f"{cost.access:<{side}}  {cost.wavefronts:>10}  {cost.ideal:>5}  "
            idle = f"; {cost.idle} of {cost.idle + (cost.lanes or 0)} lanes idle" if cost.idle else ""
            yield (Piece(numbers), Piece(cost.said, "yes" if (cost.ways or 0) <= 1 else "no"), Piece(idle))

    def engines(self, screen: Screen) -> Iterator[Line]:
        """Yield a line an engine: yes and how, or why not."""
        answers = [*_as_one(screen.engines)]
        side = max((len(name) for name, _ in answers), default=0)
        words = {True: ("yes", "yes"), False: ("no", "no"), None: ("?", "open")}
        for name, taken in answers:
            word, role = words[taken.legal]
            alone = taken.legal is False and taken.near is None and taken.hint
            said = f"{taken.said}: {taken.hint}" if alone else taken.said
            head = Piece(f"{name:<{side}}  "), Piece(f"{word:<3}", role), Piece("  ")
            yield from hanging(head, said, self.room)
        if not screen.engines and screen.dtype is None and is_tile(screen.layout):
            yield (Piece("--dtype bf16, or another, asks the banks and the engines", "dim"),)

    def changes(self, screen: Screen) -> Iterator[Line]:
        for change in screen.changes:
            yield (Piece(str(change.layout), "head"),)
            for text in (f"for {', '.join(change.serves)}", *change.said):
                for line in wrap(text, self.room - 4, subsequent_indent="  "):
                    yield (Piece(f"  {line}"),)
        if screen.verdict:
            yield from paragraph(f"nothing: {screen.verdict}", self.room, "dim")


def _by_entry(calls: Sequence[str]) -> Iterator[str]:
    """Yield the first call of every entry, and how many more of its calls there are."""
    for entry, own in groupby(calls, lambda call: call.partition("(")[0]):
        first, *more = own
        yield first + (f", and {len(more)} more of {entry}" if more else "")


def _as_one(engines: Sequence[Taken]) -> Iterator[tuple[str, Taken]]:
    """Operands of an engine with one answer on one line, `wgmma A B`, and engines with one no to both."""
    lines: list[tuple[str, str, Taken]] = []
    for _, own in groupby(engines, lambda taken: (taken.engine.rpartition(" ")[0], taken.legal, taken.said)):
        first, *more = own
        name, _, operand = first.engine.rpartition(" ")
        operands = " ".join([operand, *(taken.engine.rpartition(" ")[2] for taken in more)])
        before = lines[-1] if lines else ("", "", first)
        if first.legal is False and (before[1], before[2].said) == (operands, first.said):
            lines[-1] = (f"{before[0]} {name}", operands, first)
        else:
            lines.append((name, operands, first))
    for name, operands, taken in lines:
        yield f"{name} {operands}".strip(), taken
