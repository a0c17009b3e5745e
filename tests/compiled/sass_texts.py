"""Small texts of machine code, as nvdisasm prints them, and the registers that they leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tilewise.compiled.lanes import Lanes, Value
from tilewise.compiled.launch import Launch
from tilewise.compiled.machine import Event, Trace
from tilewise.compiled.program import KernelProgram
from tilewise.compiled.sass.reader import programs_of
from tilewise.compiled.trace import words_of

ONE_WARP = Launch((1, 1, 1), (32, 1, 1))


def text_of(*lines: str, name: str = "kernel") -> str:
    """Return the text of a kernel: instructions, and labels that end in a colon."""
    rows, at = [f"//--------------------- .text.{name}  ---------", f".text.{name}:"], 0
    for line in lines:
        if line.endswith(":") or line.lstrip().startswith("//##"):
            rows.append(line)
        else:
            rows.append(f"        /*{at:04x}*/                   {line} ;")
            at += 16
    return "\n".join(["\t.target\tsm_90", "", *rows, ""])


def program_of(*lines: str) -> KernelProgram:
    """Return the program of some instructions."""
    return next(programs_of(text_of(*lines)))


def ran(
    lines: Sequence[str],
    registers: Mapping[str, Sequence[int] | int] = {},
    launch: Launch = ONE_WARP,
) -> tuple[Lanes, list[Event], Trace]:
    """Return the lanes after some instructions, the events, and the trace; registers are preset."""
    program = program_of(*lines)
    lanes = Lanes(launch, range(launch.blocks), words_of(program, launch))
    for name, numbers in registers.items():
        kind = np.bool_ if name.lstrip("U")[0] == "P" else np.uint32
        lanes.registers[name] = Value(np.array(numbers).astype(np.int64).astype(kind).reshape(-1))
    trace = Trace(program, lanes)
    return lanes, [event for event in trace if isinstance(event, Event)], trace


def number(lanes: Lanes, register: str, lane: int = 0) -> int:
    """Return a register of a lane, which is known."""
    value = lanes.read(register)
    assert value.unknown is None or not lanes.spread(value.unknown)[lane]
    return int(lanes.spread(value.bits)[lane])
