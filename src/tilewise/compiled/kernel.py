"""A kernel with all that was read of it: the sums of its accesses, each of them, and what is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

from tilewise.compiled.commands import exploring_lanes, shown_by
from tilewise.compiled.lines import Line, line_data
from tilewise.compiled.sums import ATOMICS, SUMMED, totals, zero

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.compiled.counts import Tally
    from tilewise.compiled.engines import ProductRow, TransferRow
    from tilewise.compiled.program import KernelProgram
    from tilewise.compiled.run import Run
    from tilewise.compiled.ttgir.accesses import MemoryAccess
    from tilewise.compiled.ttgir.module import Module

NEAR = 3
"""Lines by which machine code may be off."""

UNREAD = "this instruction is not read here; what hangs on it is unknown"
UNREAD_OP = "this operation is not read here"


@dataclass(frozen=True)
class Row:
    """The accesses of one line of the source that are alike."""

    line: Line | None
    space: str
    operation: str
    bytes: int
    tallies: Sequence[Tally] = field(repr=False)

    def sum(self, name: str) -> int:
        """Return one count of all of them."""
        return sum(getattr(tally, name) for tally in self.tallies)

    @property
    def cost(self) -> int:
        """Return the wavefronts or sectors."""
        return self.sum("cost")

    @property
    def ideal(self) -> int:
        """Return the fewest that their bytes need."""
        return self.sum("ideal")

    @property
    def requests(self) -> int:
        """Return the requests that were counted."""
        return self.sum("requests")

    @property
    def counted(self) -> str:
        """Return the name of the cost."""
        return "wavefronts" if self.space == "shared" else "sectors"

    @cached_property
    def worst(self) -> Tally:
        """Return the instruction that loses most."""
        return max(self.tallies, key=lambda tally: (tally.excess, tally.cost))

    @property
    def command(self) -> str | None:
        """Return the command that counts the worst request; None without one, and for other memory."""
        side, operation = self.worst.worst_side, self.operation
        if side is None or self.space not in ("shared", "global"):
            return None
        if side is self.worst.worst_other:
            return shown_by("coalesce", "cp.async", self.bytes, side)
        if self.space == "global":
            return shown_by("coalesce", "st" if operation == "st" else "ld", self.bytes, side)
        return shown_by("banks", "atom" if operation in ATOMICS else operation, self.bytes, side)

    @property
    def explore(self) -> str | None:
        """Return the command that opens the addresses of the worst request, where they are a layout."""
        side = self.worst.worst_side
        return None if side is None else exploring_lanes(self.bytes, side[: self.worst.touch.supplied])

    def as_dict(self) -> dict[str, Any]:
        """Return the row as plain data."""
        worst = self.worst.worst
        return {
            "line": line_data(self.line),
            "space": self.space,
            "operation": self.operation,
            "bytes": self.bytes,
            "text": [tally.instruction.text for tally in self.tallies],
            "instructions": self.sum("instructions"),
            "requests": self.requests,
            self.counted: self.cost,
            "ideal": self.ideal,
            "unknown": self.sum("unknown"),
            "worst": None
            if worst is None
            else {self.counted: worst[0], "ideal": worst[1], "addresses": list(worst[2])},
            "command": self.command,
            "explore": self.explore,
        }


@dataclass(frozen=True)
class ReadKernel:
    """A kernel and what was read of it: its machine code or PTX, run for a launch, and its TTGIR."""

    name: str
    program: KernelProgram | None = None
    run: Run | None = None
    module: Module | None = None
    """Triton's own text of it."""
    let: Mapping[str, int] = field(default_factory=dict)
    """Values of the arguments of its TTGIR."""
    told: Sequence[str] = ()
    """Notes of the run: assumed arguments, the tools that were used."""
    product_lines: Sequence[Line] = ()
    """The lines of products, as PTX beside machine code has them."""

    @property
    def target(self) -> str:
        """Return the architecture, such as `sm_90`."""
        return self.program.target if self.program else (self.module.target if self.module else "")

    @property
    def source(self) -> str:
        """Return the text that is counted."""
        return self.program.source if self.program else "TTGIR"

    @cached_property
    def predicted(self) -> Sequence[MemoryAccess]:
        """Return the accesses as TTGIR alone has them."""
        return self.module.accesses(self.let) if self.module else ()

    @cached_property
    def totals(self) -> dict[str, dict[str, dict[str, int]]]:
        """Return the sums of the launch; of one pass of one block where TTGIR alone was read."""
        if self.run is not None:
            return totals(self.run.tallies, self.run.weight)
        sums = totals(())
        for access in self.predicted:
            if access.counts is not None and access.space in sums:
                kind = SUMMED[access.space, access.instruction]
                row = sums[access.space].setdefault(kind, zero(access.space))
                row["requests"] += access.requests
                row["instructions"] += access.requests
                for name, count in access.counts.items():
                    row[name] += count
        return sums

    @cached_property
    def rows(self) -> list[Row]:
        """Return the accesses by line of the source, in its order."""

        def key(tally: Tally) -> tuple[Any, ...]:
            line, touch = self.line_of(tally), tally.touch
            return (line is None, line or Line("", 0), touch.space, touch.operation, touch.bytes)

        tallies = self.run.tallies if self.run else ()
        return [
            Row(None if no_line else line, space, operation, bytes, list(alike))
            for (no_line, line, space, operation, bytes), alike in groupby(sorted(tallies, key=key), key)
        ]

    @cached_property
    def products(self) -> list[ProductRow]:
        """Return the products of matrices by line of the source."""
        known = self.module.dots if self.module else self.product_lines
        exact = self.source == "PTX"
        return self.run.products(known, exact) if self.run else []

    @cached_property
    def transfers(self) -> list[TransferRow]:
        """Return the bulk copies by line of the source."""
        return self.run.transfers() if self.run else []

    def line_of(self, tally: Tally) -> Line | None:
        """Return the line of the source of an access.

        Triton's machine code is a line or two off behind inline assembly; its TTGIR has the line of each load
        and store of global memory.
        """
        line = tally.instruction.line
        if line is None or tally.touch.space != "global":
            return line
        known = self._lines.get((line.file, tally.touch.operation), ())
        near = min(known, key=lambda number: abs(number - line.number), default=line.number)
        return Line(line.file, near) if abs(near - line.number) <= NEAR else line

    @cached_property
    def _lines(self) -> dict[tuple[str, str], set[int]]:
        lines: dict[tuple[str, str], set[int]] = {}
        for access in self.predicted:
            if access.line is not None and access.space == "global":
                lines.setdefault((access.line.file, access.instruction), set()).add(access.line.number)
        return lines

    @cached_property
    def left_out(self) -> list[dict[str, Any]]:
        """Return what the sums do not have, and why."""
        found = self.run.left_out() if self.run else []
        if self.program is not None:
            found += [left_out(None, name, times, UNREAD) for name, times in self.program.unread.items()]
        if self.module is not None:
            found += [left_out(None, name, times, UNREAD_OP) for name, times in self.module.unknown.items()]
        return found

    @property
    def notes(self) -> list[str]:
        """Return what a reader has to know of the sums."""
        notes = list(self.told)
        if self.source == "PTX":
            notes.append("counted as written, before ptxas, which merges, moves and drops accesses")
        if self.source == "TTGIR":
            notes.append(
                "predicted from the layouts, for one pass of one block: a cubin or PTX beside it counts"
            )
        if self.run is not None and self.run.sampled < self.run.launch.blocks:
            notes.append(
                f"{self.run.sampled:,} of {self.run.launch.blocks:,} blocks were run; the sums stand for all"
            )
        return notes

    def as_dict(self) -> dict[str, Any]:
        """Return the kernel as plain data, without its findings."""
        launch = self.run.launch if self.run else None
        return {
            "name": self.name,
            "target": self.target,
            "source": self.source,
            "launch": None
            if launch is None
            else {"grid": launch.grid, "block": launch.block, "shared": launch.shared},
            "totals": self.totals,
            "layouts": [use.as_dict() for use in self.module.layouts()] if self.module else [],
            "conversions": [one.as_dict() for one in self.module.conversions()] if self.module else [],
            "buffers": [one.as_dict() for one in self.module.buffers()] if self.module else [],
            "accesses": [row.as_dict() for row in self.rows] or [one.as_dict() for one in self.predicted],
            "products": [one.as_dict() for one in self.products],
            "transfers": [one.as_dict() for one in self.transfers],
            "left_out": self.left_out,
            "notes": self.notes,
        }


def left_out(line: Line | None, what: str, times: int, reason: str) -> dict[str, Any]:
    return {"line": line_data(line), "instruction": what, "times": times, "reason": reason}
