"""Single calls of engines, in PTX and as ptxas spells them in machine code."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from tests.compiled import ptx_texts, sass_texts

from tilewise.compiled.launch import Launch
from tilewise.compiled.run import Run, counted
from tilewise.questions.explore import _fragment
from tilewise.questions.texts import Texts

WARPGROUP = Launch((1, 1, 1), (128, 1, 1))
ONE_LANE = Launch((1, 1, 1), (1, 1, 1))

A, B = 0x4000004000010040, 0x8000004000010080
BLACKWELL_A, BLACKWELL_B = 0x4000404000010040, 0x8000404000010080
IDESC = 0x08400490


def in_code(line: str, registers: Mapping[str, Sequence[int] | int], launch: Launch = WARPGROUP) -> Run:
    """Return the run of an instruction of machine code, behind those that set its registers."""
    return counted(sass_texts.program_of(*moved(registers), line, "EXIT"), launch)


def moved(registers: Mapping[str, Sequence[int] | int]) -> list[str]:
    """Return instructions that set registers of 32 bits, several from one on."""
    lines = []
    for name, number in registers.items():
        numbers = [number] if isinstance(number, int) else [*number]
        at = int(re.sub(r"\D", "", name))
        for step, one in enumerate(numbers):
            move = "UMOV UR" if name.startswith("U") else "MOV R"
            lines.append(f"{move}{at + step}, {one:#x}")
    return lines


def halves(*words: int) -> list[int]:
    """Return the halves of words of 64 bits, the low one first."""
    return [half for word in words for half in (word & 0xFFFFFFFF, word >> 32)]


def in_ptx(*lines: str, launch: Launch = WARPGROUP) -> Run:
    """Return the run of some statements of PTX."""
    return counted(ptx_texts.program_of(*lines), launch)


def opened(command: str) -> str:
    """Return the address that the explorer has for a command."""
    _, question, text, *options = shlex.split(command)
    assert question == "explore"
    pairs = dict(zip(options[::2], options[1::2], strict=True))
    assert pairs.keys() <= {"--unit", "--dtype"}
    return _fragment(Texts(pairs.get("--dtype"), unit=pairs.get("--unit", "element")), text)
