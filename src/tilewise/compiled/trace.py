"""From a program and a launch to its runs, some blocks at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewise.compiled.generic import WINDOWS
from tilewise.compiled.lanes import Lanes, Value
from tilewise.compiled.launch import MOST_STEPS, POINTER_STEP, Launch
from tilewise.compiled.machine import Trace
from tilewise.compiled.program import KernelProgram
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
