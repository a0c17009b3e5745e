"""From a text and a launch to the accesses, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilewise.compiled.generic import WINDOWS
from tilewise.compiled.lanes import Lanes, Value
from tilewise.compiled.launch import MOST_STEPS, POINTER_STEP, Launch
from tilewise.compiled.lines import Line
from tilewise.compiled.machine import Event, Trace
from tilewise.compiled.program import KernelProgram
from tilewise.compiled.texts import programs_of
from tilewise.core.errors import LayoutError
from tilewise.hardware.limits import LANES

AT_ONCE = 1 << 15
"""Lanes that run together."""

EXTENTS = {100: (0x360, 0x370), 0: (0x0, 0xC)}
"""{least architecture: where the extents of the block and of the grid stand in bank 0}."""


BEGINS = {100: {"local": 0x2F8}, 90: {"local": 0x20}, 0: {"shared": 0x18, "local": 0x20}}
"""{least architecture: {space: where the begin of its window stands in bank 0}}."""


def words_of(program: KernelProgram, launch: Launch) -> dict[tuple[int, int], Value]:
    """Return the constants of a launch: {(bank, offset): word}."""
    constants: dict[tuple[int, int], Value] = {}
    for bank, content in program.constants.items():
        for offset in range(0, len(content) - 3, 4):
            constants[bank, offset] = Value.of(int.from_bytes(content[offset : offset + 4], "little"))
    architecture = int("".join(letter for letter in program.target if letter.isdigit()) or 0)
    block, grid = next(places for least, places in EXTENTS.items() if architecture >= least)
    for begin, extents in ((block, launch.block), (grid, launch.grid)):
        for step, extent in enumerate(extents):
            constants[0, begin + 4 * step] = Value.of(extent)
    constants[0, 0x28] = constants[0, 0x37C] = Value.of(0)
    for space, place in next(places for least, places in BEGINS.items() if architecture >= least).items():
        for step in (0, 4):
            constants[0, place + step] = Value.of(WINDOWS[space] >> 8 * step)
    for number, parameter in enumerate(program.parameters):
        given = launch.args[number] if number < len(launch.args) else None
        if given is None and parameter.size == 8:
            given = pointer(number)
        if given is None:
            continue
        for step in range(0, max(4, parameter.size), 4):
            constants[0, parameter.offset + step] = Value.of(given >> 8 * step)
    return constants


def pointer(number: int) -> int:
    """Return the address that stands for a parameter which nobody gave."""
    return POINTER_STEP * (number + 16)


def traces(
    program: KernelProgram,
    launch: Launch,
    blocks: Sequence[int],
    steps: int = MOST_STEPS,
    at_once: bool = False,
) -> Iterator[Trace]:
    """Return the runs of some blocks of a launch, several at once; `at_once` counts turns that are alike."""
    constants = words_of(program, launch)
    threads = -(-launch.threads // LANES) * LANES
    together = max(1, AT_ONCE // threads)
    for first in range(0, len(blocks), together):
        yield Trace(program, Lanes(launch, blocks[first : first + together], constants), steps, at_once)


# -- lane by lane ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Accessed:
    """The instruction of an access: its words, its line, and the bytes of one lane."""

    name: str
    line: Line | None
    space: str
    operation: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Issue:
    """One access of one instruction by the lanes of some blocks that take part."""

    instruction: Accessed
    blocks: NDArray[np.int64]
    threads: NDArray[np.int64]
    addresses: NDArray[np.int64]
    known: NDArray[np.bool_]
    """False for a lane whose address, or part in the access, hangs on loaded data."""


def traced(text: str, kernel: str, launch: Launch, blocks: Sequence[int] | None = None) -> Iterator[Issue]:
    """Return every access of a launch of one kernel of a text, lane by lane, in the order of the program."""
    program = next(programs_of(text, kernel), None)
    if program is None:
        raise LayoutError("TW802", f"the text has no kernel {kernel}")
    for trace in traces(program, launch, range(launch.blocks) if blocks is None else blocks):
        for event in trace:
            if not isinstance(event, Event):
                continue
            active = np.flatnonzero(event.active)
            touch, lanes = event.touch, trace.lanes
            known = np.full(lanes.count, not event.unsure)
            if event.address.unknown is not None:
                known &= ~event.address.unknown
            yield Issue(
                Accessed(
                    event.instruction.name, event.instruction.line, touch.space, touch.operation, touch.bytes
                ),
                lanes.blocks[active],
                lanes.threads[active],
                lanes.spread(event.address.bits)[active].astype(np.int64),
                known[active],
            )
        if trace.cut is not None:
            raise LayoutError("TW803", f"{kernel} runs more than {trace.most_steps} instructions a lane")
