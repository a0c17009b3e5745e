"""From tile to descriptors of tcgen05: the first one, and what every step along M, N and K adds to it.

How the steps follow is said in `tilewise.hardware.operands.stepping`. A K of 48 bytes is another matter: in
mode 128B eight of them fill three rows of the atom, and two of them begin in one atom and end in the next.

    step        0    1    2         3     4     5          6     7
    begins at   0    48   96        16    64    112        32    80      of its row of 128 bytes
    in atom     0    0    0 and 1   1     1     1 and 2    2     2

All of them are in absolute mode, and LBO is where the last atom begins that they read of.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import lcm

from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.core.layout import Layout
from tilewise.hardware.modes import CHUNK, Mode, mode_of
from tilewise.hardware.operands import stepping
from tilewise.hardware.operands.majors import check_major_word, check_operand
from tilewise.hardware.operands.stepping import PATTERNS, Digits, Placement, Taken, fed, placements
from tilewise.hardware.operands.tiles import spacing
from tilewise.hardware.operands.walk import steps
from tilewise.hardware.tcgen05.descriptor import ABSOLUTE, Descriptor, check_absolute
from tilewise.hardware.tcgen05.kinds import Kind, kind_of
from tilewise.hardware.tcgen05.operand import Operand, check_major, check_mode, legal_rows
from tilewise.hardware.tcgen05.reads import DEEP_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["PATTERNS", "Digits", "Feeding", "Placement", "Stages", "Step", "feed", "feeding", "placements"]

Step = stepping.Step[Descriptor]
Feeding = stepping.Feeding[Descriptor]
Stages = stepping.Stages[Descriptor]

USUAL = 64
"""Rows of which a multiple is fed in every mode."""


def feeding(
    mode: Mode | str,
    major: str,
    dtype: DType | str,
    rows: int,
    k: int,
    order: str = "mn",
    *,
    operand: str,
    m: int | None = None,
    n: int | None = None,
    kind: str = "",
    cta_group: int = 1,
    sparse: bool = False,
    ws: bool = False,
    depth: int | None = None,
    base: int = 0,
    pattern: str = "tile",
) -> Feeding:
    """The descriptors of a whole tile of one CTA, as `tiles.tile` makes it, at a base in shared memory.

        requires       whole atoms, whole instructions; no instruction begins in one MN-major atom and
                       ends in another; a base that the pattern allows
        pattern        "tile": the swizzle counts from the base; "address": from address 0, as TMA writes
        depth          K of one product, where the kind has several: 64 or 96

    >>> whole = feeding("128B", "k", "bf16", 256, 64, operand="A", m=128)
    >>> print(whole.descriptor, [step.bytes for step in whole.steps])
    0x4000404000010000 [0, 32, 64, 96, 16384, 16416, 16448, 16480]
    """
    of = taken(dtype, operand, m=m, n=n, kind=kind, cta_group=cta_group, sparse=sparse, ws=ws, depth=depth)
    check_major(_kind(kind, dtype), dtype, major)
    return feed(of, mode_of(mode), major, rows, k, order, base=base, pattern=pattern)


def taken(
    dtype: DType | str,
    operand: str,
    *,
    m: int | None = None,
    n: int | None = None,
    kind: str = "",
    cta_group: int = 1,
    sparse: bool = False,
    ws: bool = False,
    depth: int | None = None,
) -> Taken:
    """What the products of a kind take of an operand in one CTA.

    >>> taken("bf16", "A", cta_group=2).legal, taken("e2m1", "B", kind="mxf4", n=64, depth=96).bytes
    ((64, 128), 48)
    """
    of = _kind(kind, dtype)
    check_operand(operand)
    rows = legal_rows(of, operand, m=m, n=n, cta_group=cta_group, sparse=sparse, ws=ws, k=depth)
    whole = rows[0] * cta_group
    m, n = (whole, n) if operand == "A" else (m, whole)
    one = Operand(str(dtype), "k", operand, m, n, of.name, cta_group, sparse, ws, depth)
    return Taken(operand, one.dtype, one.element, one.depth, rows, USUAL)


def _kind(kind: str, dtype: DType | str) -> Kind:
    return Kind.of(kind) if kind else kind_of(dtype)


def feed(
    of: Taken,
    mode: Mode,
    major: str,
    rows: int,
    k: int,
    order: str = "mn",
    *,
    one: int | None = None,
    base: int = 0,
    pattern: str = "tile",
) -> Feeding:
    """The descriptors of a tile for products of `one` row count, or of the most rows that feed it."""
    check_mode(of.dtype, check_major_word(major), mode)
    if of.operand == "B" and major == "mn" and of.dtype.bits == 8:
        of = _in_whole_chunks(of)
    check_depth(of, mode, major)
    if major == "mn" or of.bytes != DEEP_BYTES:
        return fed(of, Descriptor, mode, major, rows, k, order, one=one, base=base, pattern=pattern)
    _check_turns(of, mode, k)
    whole = fed(of, Descriptor, mode, major, rows, k, order, one=one, base=base, pattern=pattern)
    held: dict[str, Any] = {field.name: getattr(whole, field.name) for field in fields(whole)}
    far = spacing(mode, major, of.dtype, rows, k, order)[1]
    first = check_absolute(replace(whole.descriptor, lbo=base, lbo_mode=ABSOLUTE), major)
    return Deep(**held | {"descriptor": first, "along_k": (), "far_k": far})


def check_depth(of: Taken, mode: Mode, major: str) -> Mode:
    """The mode, or a refusal where a product goes on past a row of its atom, K-major.

    >>> check_depth(taken("bf16", "B", sparse=True), mode_of("32B"), "k")
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


def _check_turns(of: Taken, mode: Mode, k: int) -> None:
    """Refuse a K that does not end where both a product and an atom do."""
    turn = lcm(of.depth, mode.elements(of.dtype))
    if k < 1 or k % turn:
        raise Refused(
            "TW603",
            f"K = {k} does not end with a product of {of.depth} and an atom of {mode.elements(of.dtype)}",
            witness={"k": k, "instruction": of.depth, "atom": mode.elements(of.dtype)},
            hint=f"take a multiple of {turn}",
        )


def _in_whole_chunks(of: Taken) -> Taken:
    """With the row counts alone that fill 16 bytes: an N-major B of 8 bits has no other."""
    legal = tuple(rows for rows in of.legal if rows % CHUNK == 0)
    if not legal:
        raise Refused(
            "TW602",
            f"{of.legal[0]} rows of an N-major B of {of.name} do not fill 16 bytes",
            witness={"dtype": of.name, "rows": [*of.legal]},
            hint="N is a multiple of 16, of a pair of CTAs of 32",
        )
    return replace(of, legal=legal)


@dataclass(frozen=True)
class Deep(stepping.Feeding[Descriptor]):
    """A tile that is read 48 bytes of K at a time, in one chunk or in two.

    >>> whole = feeding("128B", "k", "e2m1", 128, 768, operand="A", m=128, kind="mxf4", depth=96)
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

    def step(self, mn: int, k: int) -> Step:
        """The step at these places along M or N and along K."""
        rows, byte = steps(mn, [*self.along_mn]), DEEP_BYTES * k
        begins, ends = (self._along_k(at) for at in (byte, byte + DEEP_BYTES - 1))
        last = ends - (byte + DEEP_BYTES - 1) % self.mode.width
        start, second = (self.base + rows + far for far in (begins, last))
        return stepping.Step(mn, k, rows + begins, replace(self.descriptor, start=start, lbo=second))

    def _along_k(self, byte: int) -> int:
        atom, inside = divmod(byte, self.mode.width)
        return atom * self.far_k + inside

    def moved(self, base: int, base_offset: int) -> Deep:
        """The same tile elsewhere."""
        first = replace(self.descriptor, start=base, lbo=base, base_offset=base_offset)
        return replace(self, base=base, descriptor=check_absolute(first))
