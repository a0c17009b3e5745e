"""Small texts of PTX, and the registers that they leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tilewise.compiled.lanes import ALL, Lanes, Value
from tilewise.compiled.launch import Launch
from tilewise.compiled.machine import Event, Trace
from tilewise.compiled.program import KernelProgram
from tilewise.compiled.ptx.reader import programs_of
from tilewise.compiled.trace import words_of

ONE_WARP = Launch((1, 1, 1), (32, 1, 1))


def text_of(*lines: str, parameters: str = "", before: str = "", target: str = "sm_90") -> str:
    """Return the text of a kernel: its statements, without the ends of them."""
    rows = [line if line.endswith((":", ";")) or line in "{}" else f"{line};" for line in lines]
    head = (
        f".version 9.0\n.target {target}\n.address_size 64\n{before}\n.visible .entry kernel({parameters})\n"
    )
    return head + "{\n" + "\n".join(rows) + "\n}\n"


def program_of(*lines: str, **more: str) -> KernelProgram:
    """Return the program of some statements."""
    return next(programs_of(text_of(*lines, **more)))


def ran(
    lines: Sequence[str],
    registers: Mapping[str, Sequence[int | None] | int] | None = None,
    launch: Launch = ONE_WARP,
    **more: str,
) -> tuple[Lanes, list[Event], Trace]:
    """Return the lanes after some statements, the events, and the trace; None is an unknown number."""
    program = program_of(*lines, **more)
    lanes = Lanes(launch, range(launch.blocks), words_of(program, launch))
    for name, numbers in (registers or {}).items():
        lanes.registers[name] = value_of(name, numbers)
    trace = Trace(program, lanes)
    return lanes, [event for event in trace if isinstance(event, Event)], trace


def value_of(name: str, numbers: Sequence[int | None] | int) -> Value:
    """Return the numbers of a register; its name says if they are predicates, or of 16, 32 or 64 bits."""
    kinds = {"%p": np.bool_, "%rs": np.uint16, "%rd": np.uint64, "%fd": np.uint64}
    kind = kinds.get(name.rstrip("0123456789"), np.uint32)
    each = [numbers] if isinstance(numbers, int) else numbers
    width = 8 * np.dtype(kind).itemsize
    bits = np.array([(number or 0) & (1 << width) - 1 for number in each], np.uint64).astype(kind)
    unknown = np.array([number is None for number in each])
    return Value(bits, unknown if unknown.any() else None)


def numbers(lanes: Lanes, register: str) -> list[int | None]:
    """Return a register of all lanes; None where nobody knows it."""
    value = lanes.read(register)
    unknown = lanes.spread(~ALL if value.unknown is None else value.unknown)
    bits = lanes.spread(value.bits)
    return [None if blind else int(number) for number, blind in zip(bits, unknown, strict=True)]


def addresses(event: Event) -> dict[int, int]:
    """Return {lane: address} of the lanes that take part."""
    bits = np.broadcast_to(event.address.bits, event.active.shape)
    return {int(lane): int(bits[lane]) for lane in np.flatnonzero(event.active)}
