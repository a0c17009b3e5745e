"""From tile to descriptors of tcgen05, 48 bytes of K at a time; `operands.stepping` has all other steps.

In mode 128B eight steps of 48 bytes fill three rows of the atom, and two of them begin in one atom and end
in the next.

    step        0    1    2         3     4     5          6     7
    begins at   0    48   96        16    64    112        32    80      of its row of 128 bytes
    in atom     0    0    0 and 1   1     1     1 and 2    2     2

All of them are in absolute mode, and LBO is where the last atom begins that they read of.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import lcm

from tilewise.core.digits import value
from tilewise.core.errors import Refused
from tilewise.core.layout import Layout
from tilewise.hardware.modes import CHUNK, Mode
from tilewise.hardware.operands import stepping
from tilewise.hardware.operands.stepping import Step
from tilewise.hardware.tcgen05.descriptor import ABSOLUTE, Descriptor, check_absolute
from tilewise.hardware.tcgen05.reads import DEEP_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.hardware.engines import Intake


def deep(whole: stepping.Feeding[Descriptor], far_k: int) -> Deep:
    """Return a tile whose K is read 48 bytes at a time, `far_k` from an atom along K to the next."""
    held: dict[str, Any] = {one.name: getattr(whole, one.name) for one in fields(whole)}
    first = check_absolute(replace(whole.descriptor, lbo=whole.base, lbo_mode=ABSOLUTE), whole.major)
    return Deep(**held | {"descriptor": first, "along_k": (), "far_k": far_k})


def check_depth(of: Intake, mode: Mode, major: str) -> Mode:
    """The mode, or a refusal where a product goes on past a row of its atom, K-major.

    >>> from tilewise.hardware.engines import engine
    >>> check_depth(engine("tcgen05").intake("bf16", "B", sparse=True), Mode.of("32B"), "k")
    Traceback (most recent call last):
    tilewise.Refused: TW602: K of 64 bytes is not read in mode 32B, whose rows have 32
      hint: take mode 128B or 64B
    """
    deep = of.bytes == DEEP_BYTES
    evenly = mode.width % of.bytes == 0 if mode.bits else not deep
    if major == "mn" or evenly or (deep and mode.name == "128B"):
        return mode
    raise Refused(
        "TW602",
        f"K of {of.bytes} bytes is not read in mode {mode}, whose rows have {mode.width}",
        witness={"k_bytes": of.bytes, "row": mode.width},
        hint="take mode 128B" + (" or 64B" if of.bytes == 64 else ""),
    )


def check_turns(of: Intake, mode: Mode, k: int) -> None:
    """Refuse a K that does not end where both a product and an atom do."""
    turn = lcm(of.k, mode.elements(of.dtype))
    if k < 1 or k % turn:
        raise Refused(
            "TW603",
            f"K = {k} does not end with a product of {of.k} and an atom of {mode.elements(of.dtype)}",
            witness={"k": k, "instruction": of.k, "atom": mode.elements(of.dtype)},
            hint=f"take a multiple of {turn}",
        )


def in_whole_chunks(of: Intake) -> Intake:
    """Return the intake with the rows alone that fill 16 bytes: an N-major B of 8 bits has no other."""
    legal = tuple(rows for rows in of.rows if rows % CHUNK == 0)
    if not legal:
        raise Refused(
            "TW602",
            f"{of.rows[0]} rows of an N-major B of {of.name} do not fill 16 bytes",
            witness={"dtype": of.name, "rows": [*of.rows]},
            hint="N is a multiple of 16, of a pair of CTAs of 32",
        )
    return replace(of, rows=legal)


@dataclass(frozen=True)
class Deep(stepping.Feeding[Descriptor]):
    """A tile that is read 48 bytes of K at a time, in one chunk or in two.

    >>> from tilewise.hardware.engines import engine
    >>> asked = {"operand": "A", "m": 128, "kind": "mxf4", "depth": 96}
    >>> whole = engine("tcgen05").feeding("128B", "k", "e2m1", 128, 768, **asked)
    >>> for step in whole.steps[:4]:
    ...     print(step.k, step.descriptor.start, step.descriptor.lbo)
    0 0 0
    1 48 0
    2 96 16384
    3 16400 16384
    """

    far_k: int = 0
    """Bytes from an atom to the next along K."""

    @property
    def start_alone(self) -> bool:
        """False: LBO moves too."""
        return False

    @cached_property
    def advance(self) -> Layout:
        """None: the steps along K differ."""
        raise Refused(
            "TW501",
            "steps of 48 bytes through rows of 128 are no layout",
            hint="take them one by one: each has its start and its LBO",
        )

    def step(self, mn: int, k: int) -> Step[Descriptor]:
        """The step at these places along M or N and along K."""
        rows, byte = value(self.along_mn, mn, 0), DEEP_BYTES * k
        begins, ends = (self._along_k(at) for at in (byte, byte + DEEP_BYTES - 1))
        last = ends - (byte + DEEP_BYTES - 1) % self.mode.width
        start, second = (self.base + rows + far for far in (begins, last))
        return Step(mn, k, rows + begins, replace(self.descriptor, start=start, lbo=second))

    def _along_k(self, byte: int) -> int:
        atom, inside = divmod(byte, self.mode.width)
        return atom * self.far_k + inside

    def moved(self, base: int, base_offset: int) -> Deep:
        """The same tile elsewhere."""
        first = replace(self.descriptor, start=base, lbo=base, base_offset=base_offset)
        return replace(self, base=base, descriptor=check_absolute(first))
