"""What warps do between shared memory and their registers: the instructions that `check.feeding` chose, done.

Of several warps each has 16 rows, and the next one the 16 rows behind them, as wgmma deals them. A warp's
registers hold its fragments row by row of 16, and of each row fragment by fragment along the columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewise.check.feeding import Feed, feed
from tilewise.check.feeding.banks import given
from tilewise.check.feeding.forms import Step as Issued
from tilewise.check.feeding.forms import Vector
from tilewise.core.axes import Axis
from tilewise.core.builders import S
from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.hardware.limits import LANES
from tilewise.hardware.mma.fragments import a_fragment, b_fragment, d_fragment
from tilewise.hardware.wgmma.instructions import K_BITS
from tilewise.simulate.faults import Step
from tilewise.simulate.journey.stops import Issue
from tilewise.simulate.matrices import ldmatrix, stmatrix
from tilewise.simulate.memory import Memory
from tilewise.simulate.registers import Registers
from tilewise.simulate.warp import load, store
from tilewise.tables import table

Array = np.ndarray[Any, Any]

ROWS = 16
"""Rows of a warp's fragment of A and of D."""

WARP, REG = Axis("wid_in_wg"), Axis("reg")


def shape_of(dtype: DType) -> str:
    """The mma.sync whose A and B have a type, 32 bytes deep as wgmma's are.

    >>> shape_of(DType.of("bf16")), shape_of(DType.of("e4m3")), shape_of(DType.of("tf32"))
    ('m16n8k16', 'm16n8k32', 'm16n8k8')
    """
    return f"m16n8k{K_BITS // dtype.bits}"


def held(shape: tuple[int, int], operand: str, dtype: DType, warps: int) -> Layout:
    """Who holds which element of a tile: its warp, its lane, which element of that lane.

    >>> print(held((32, 16), "D", DType.of("f32"), 1))
    S[((2, (2, 8)), (2, (1, 4, 2))) : ((8@reg, (2@reg, 4@laneid)), (4@reg, (4@reg, 1@laneid, 1@reg)))]
    """
    if operand == "D":
        fragment = d_fragment("m16n8k16", f"f{max(16, dtype.bits)}")
    else:
        fragment = (a_fragment if operand == "A" else b_fragment)(shape_of(dtype), dtype)
    rows, columns = extents_of(fragment.shape)
    down, along = (count // one for count, one in zip(shape, (rows, columns), strict=True))
    if shape != (rows * down, columns * along) or down % warps:
        raise Refused(
            "TW603",
            f"{shape[0]} x {shape[1]} is no whole number of {operand} fragments, {rows * warps} x {columns}",
            witness={"shape": list(shape), "fragment": [rows * warps, columns]},
            hint="cut the tile into whole fragments",
        )
    if warps == 1:
        return fragment.tile(S[(down, along) : (along @ REG, 1 @ REG)])
    return fragment.tile(S[((down // warps, warps), along) : ((along @ REG, 1 @ WARP), 1 @ REG)])


@dataclass(frozen=True)
class Part:
    """The rows of a tile that one feed moves: whose they are, and which of the warp's rows of fragments."""

    warp: int
    block: int
    feed: Feed

    @property
    def each(self) -> int:
        """Bytes of a lane in one fragment."""
        return self.feed.fragment.size * self.feed.bits // 8 // LANES

    def bytes_of(self, issued: Issued) -> Array:
        """Which bytes of a lane's registers an instruction moves, in the order in which it does."""
        columns = self.feed.counts[1]
        starts = [
            ((self.block + part.row) * columns + part.column) * self.each + part.byte for part in issued.parts
        ]
        return np.concatenate(
            [start + np.arange(part.bytes) for start, part in zip(starts, issued.parts, strict=True)]
        )


def parts(layout: Layout, operand: str, dtype: DType, warps: int) -> list[Part]:
    """The feeds of a tile of shared memory, warp after warp; refused where nothing moves it (TW610)."""
    return [Part(warp, block, _feed(rows, operand, dtype)) for warp, block, rows in _blocks(layout, warps)]


def _blocks(layout: Layout, warps: int) -> Iterator[tuple[int, int, Layout]]:
    if warps == 1:
        yield 0, 0, layout
        return
    for number in range(extents_of(layout.shape)[0] // ROWS):
        block, warp = divmod(number, warps)
        yield warp, block, layout.slice((ROWS * number, ROWS * number + ROWS)).layout


def _feed(layout: Layout, operand: str, dtype: DType) -> Feed:
    own = f"f{dtype.bits}" if operand == "D" else dtype
    shape = "m16n8k16" if operand == "D" else shape_of(dtype)
    found = feed(layout, operand=operand, shape=shape, dtype=own)
    if isinstance(found, Feed):
        return found
    first = found.reasons[0]
    raise Refused("TW610", f"{first.rule}: {first.message}", witness=first.witness, hint=first.hint)


def gather(every: list[Part], count: int, memory: Memory) -> tuple[Registers, tuple[Issue, ...]]:
    """Load a tile of shared memory into `count` registers a lane, and what was issued for it."""
    held = np.zeros((1 + max(part.warp for part in every), LANES, 4 * count), np.uint8)
    issues = []
    for part in every:
        for issued in part.feed.steps:
            addresses = _addresses(issued)
            own = part.bytes_of(issued)
            held[part.warp][:, own] = _loaded(part, addresses, memory)[:, : len(own)]
            issues.append(_issue(part, addresses))
    return Registers.of(held.view("<u4")), tuple(issues)


def scatter(every: list[Part], registers: Registers, memory: Memory) -> tuple[Issue, ...]:
    """Store registers into a tile of shared memory, and what was issued for it."""
    issues = []
    for part in every:
        words = registers.warp(part.warp).held(Step(str(part.feed.form), warp=part.warp))
        held = np.ascontiguousarray(words[0], "<u4").view(np.uint8)
        for issued in part.feed.steps:
            addresses = _addresses(issued)
            _stored(part, addresses, held[:, part.bytes_of(issued)], memory)
            issues.append(_issue(part, addresses))
    return tuple(issues)


def _addresses(issued: Issued) -> Array:
    return table(issued.addresses).array.ravel()


def _issue(part: Part, addresses: Array) -> Issue:
    form = part.feed.form
    bytes, lanes = given(form)
    return Issue(form.instruction, part.warp, bytes, tuple(map(int, addresses[:lanes])))


def _loaded(part: Part, addresses: Array, memory: Memory) -> Array:
    """The bytes that each lane gets, [lane, byte]."""
    form = part.feed.form
    if isinstance(form, Vector):
        found = load(memory, addresses, form.bits // 8, step=Step(str(form), warp=part.warp))
    else:
        found = ldmatrix(memory, form, addresses, warp=part.warp)
    return np.ascontiguousarray(found.words[0], "<u4").view(np.uint8)


def _stored(part: Part, addresses: Array, data: Array, memory: Memory) -> None:
    """Write the bytes of each lane, [lane, byte]."""
    form = part.feed.form
    filled = np.pad(data, ((0, 0), (0, -data.shape[1] % 4)))  # a store of 2 bytes takes a whole register
    registers = Registers.of(np.ascontiguousarray(filled).view("<u4"))
    if isinstance(form, Vector):
        store(memory, addresses, registers, form.bits // 8, step=Step(str(form), warp=part.warp))
    else:
        stmatrix(memory, form, addresses, registers, warp=part.warp)
