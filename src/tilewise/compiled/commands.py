"""Commands that show what was read: a request of lanes, a layout in the explorer, a descriptor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields

from tilewise.core.algebra.recognition import recognise
from tilewise.core.errors import Refused
from tilewise.hardware.engines import engine_of_word
from tilewise.hardware.memory.banks import WAVEFRONT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.dtypes import DType
    from tilewise.core.layout import Layout
    from tilewise.hardware.engines import Engine
    from tilewise.hardware.operands.walk import Multiplicand

PATTERN = 1024
"""Bytes after which every swizzle of shared memory repeats."""


# -- requests --------------------------------------------------------------------------------------------


def step_of(addresses: Iterable[int | None]) -> int | None:
    """Return the distance between neighbouring lanes, where it is one and the same.

    >>> step_of([0, 128, None, 384]), step_of([0, 4, 12])
    (128, None)
    """
    known = [(lane, one) for lane, one in enumerate(addresses) if one is not None]
    if len(known) < 2:
        return None
    (a, begin), (b, second) = known[0], known[1]
    step, rest = divmod(second - begin, b - a)
    if rest or any(one != begin + step * (lane - a) for lane, one in known):
        return None
    return step


def listed(addresses: Sequence[int | None]) -> str:
    """Return addresses as the command line takes them, from their lowest line on."""
    known = [one for one in addresses if one is not None]
    lowest = min(known) // WAVEFRONT * WAVEFRONT
    return ",".join("x" if one is None else str(one - lowest) for one in addresses)


def shown_by(question: str, operation: str, bytes: int, addresses: Sequence[int | None]) -> str:
    """Return the command that counts one request: lanes that are evenly spaced as a layout, others as a list.

    >>> shown_by("banks", "st", 4, [4 + 64 * lane for lane in range(32)])
    "tilewise banks 'S[1988 : 1]' --dtype u8 --access 'S[(32, 4) : (64, 1)]@st' --base 4"
    >>> shown_by("coalesce", "ld", 4, [0, None, 96])
    'tilewise coalesce --op ld --bytes 4 --addresses 0,x,96'
    """
    step = step_of(addresses)
    if step is None or step < bytes or None in addresses or operation not in ("ld", "st"):
        return f"tilewise {question} --op {operation} --bytes {bytes} --addresses {listed(addresses)}"
    lanes, begin = len(addresses), (addresses[0] or 0) % WAVEFRONT
    tile, at = f"S[{(lanes - 1) * step + bytes} : 1]", "@st" if operation == "st" else ""
    base = f" --base {begin}" if begin else ""
    return f"tilewise {question} '{tile}' --dtype u8 --access 'S[({lanes}, {bytes}) : ({step}, 1)]{at}'{base}"


# -- layouts ---------------------------------------------------------------------------------------------


def exploring(layout: Layout | None, dtype: DType | str | None = None) -> str | None:
    """Return the command that opens a layout in the explorer, or None without a layout.

    The explorer counts elements, and those of 6 bits, whose layout counts bits, have no whole swizzle.

    >>> from tilewise import S
    >>> exploring(S[(64, 16) : (128, 2)], "bf16")
    "tilewise explore 'S[(64, 16) : (128, 2)]' --dtype bf16"
    """
    if layout is None or layout.unit == "bit":
        return None
    unit = "" if layout.unit == "element" else f" --unit {layout.unit}"
    return f"tilewise explore '{layout}'{unit}{f' --dtype {dtype}' if dtype else ''}"


def exploring_lanes(bytes: int, addresses: Sequence[int | None]) -> str | None:
    """Return the command that opens the addresses of lanes, or None where they are no layout.

    An element is what a lane moves. They are counted from a multiple of 1024 bytes on, where every swizzle
    begins anew.

    >>> exploring_lanes(4, [128 * lane for lane in range(32)])
    "tilewise explore 'S[32 : 32]' --dtype b32"
    >>> exploring_lanes(4, [0, 4, 12, 16, 17 * 4])
    """
    known = [one for one in addresses if one is not None]
    if len(known) < len(addresses) or any(one % bytes for one in known):
        return None
    lowest = min(known) // PATTERN * PATTERN
    try:
        layout = recognise([(one - lowest) // bytes for one in known])
    except Refused:
        return None
    return exploring(layout, f"b{8 * bytes}")


def decoding(engine: Engine, operand: Multiplicand, word: int) -> str:
    """Return the command that takes a descriptor of an operand apart.

    >>> from tilewise.hardware.engines import engine
    >>> of = engine("wgmma")
    >>> decoding(of, of.operand("bf16", operand="A"), 0x4000004000010000)
    'tilewise descriptor 0x4000004000010000 --operand A --dtype bf16'
    """
    words = [f"tilewise descriptor {word:#018x} --operand {operand.operand} --dtype {operand.dtype}"]
    if engine_of_word(word) != engine.name:
        words.append(f"--engine {engine.name}")
    size = "m" if operand.operand == "A" else "n"
    for one in fields(operand):  # type: ignore[arg-type]
        value = getattr(operand, one.name)
        if one.name in ("operand", "dtype") or (value in (None, one.default) and one.name != size):
            continue
        words.append(f"--{one.name.replace('_', '-')}" + ("" if value is True else f" {value}"))
    return " ".join(words)
