"""tcgen05 as an engine of shared-memory descriptors, and its steps of 48 bytes of K.

In mode 128B eight such steps fill three rows of the atom, and two of them begin in one atom and end in the
next.

    step        0    1    2         3     4     5          6     7
    begins at   0    48   96        16    64    112        32    80      of its row of 128 bytes
    in atom     0    0    0 and 1   1     1     1 and 2    2     2

All of them are in absolute mode. LBO is the start of the last atom that a step reads.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import lcm

from tilewise.core.digits import value
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.hardware.engines import Engine, Intake
from tilewise.hardware.modes import BLACKWELL, CHUNK, Mode
from tilewise.hardware.operands import stepping, walk
from tilewise.hardware.operands.sentences import bits_set
from tilewise.hardware.operands.stepping import Step
from tilewise.hardware.operands.template import MAJORS, check_major_word, check_operand, spacing
from tilewise.hardware.operands.walk import inside_a_chunk
from tilewise.hardware.tcgen05.descriptor import (
    ABSOLUTE,
    LBO_MODES,
    RELATIVE,
    SOURCE,
    VERSION,
    Descriptor,
    check_absolute,
    made,
)
from tilewise.hardware.tcgen05.kinds import DEEP_K, KINDS, Kind, kind_of, product_of
from tilewise.hardware.tcgen05.operand import (
    DEEP_BYTES,
    Operand,
    check_mode,
    modes_of,
    no_major,
    stored_as,
    walks_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def deep(whole: stepping.Feeding[Descriptor], far_k: int) -> Deep:
    """Return a tile whose K is read 48 bytes at a time, `far_k` from an atom along K to the next."""
    held: dict[str, Any] = {one.name: getattr(whole, one.name) for one in fields(whole)}
    first = check_absolute(replace(whole.descriptor, lbo=whole.base, lbo_mode=ABSOLUTE), whole.major)
    return Deep(**held | {"descriptor": first, "along_k": (), "far_k": far_k})


def check_depth(of: Intake, mode: Mode, major: str) -> Mode:
    """Return the mode, or refuse it where a K-major product goes on past a row of its atom.

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
    """Return the intake with only the rows that fill 16 bytes: an N-major B of 8 bits has no others."""
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
        """Return False: LBO changes too."""
        return False

    @cached_property
    def advance(self) -> Layout:
        """Refuse: the steps along K differ."""
        raise Refused(
            "TW501",
            "steps of 48 bytes through rows of 128 are no layout",
            hint="take them one by one: each has its start and its LBO",
        )

    def step(self, mn: int, k: int) -> Step[Descriptor]:
        """Return the step at these places along M or N and along K."""
        rows, byte = value(self.along_mn, mn, 0), DEEP_BYTES * k
        begins, ends = (self._along_k(at) for at in (byte, byte + DEEP_BYTES - 1))
        last = ends - (byte + DEEP_BYTES - 1) % self.mode.width
        start, second = (self.base + rows + far for far in (begins, last))
        return Step(mn, k, rows + begins, replace(self.descriptor, start=start, lbo=second))

    def _along_k(self, byte: int) -> int:
        atom, inside = divmod(byte, self.mode.width)
        return atom * self.far_k + inside

    def moved(self, base: int, base_offset: int) -> Deep:
        """Return the same tile elsewhere."""
        first = replace(self.descriptor, start=base, lbo=base, base_offset=base_offset)
        return replace(self, base=base, descriptor=check_absolute(first))


_TRANSPOSE = {"A": "transpose A (idesc bit 15)", "B": "transpose B (idesc bit 16)"}


class Tcgen05Engine(Engine):
    """Blackwell's tcgen05.mma: the parts of A and of B in the shared memory of one CTA."""

    name = "tcgen05"
    source = SOURCE
    descriptors, operand = Descriptor, Operand
    made_of = ("lbo_mode", "atomicity", "major")
    types = tuple(dict.fromkeys(name for kind in KINDS.values() for name in kind.types))
    options = ("kind", "m", "n", "cta_group", "sparse", "ws", "k", "lbo_mode", "atomicity")
    sizes = ("m", "n")
    modes = BLACKWELL
    carries = False
    entry = "tcgen05.smem"
    transpose = _TRANSPOSE
    other_home = "TCol"
    registers = "A may come from tensor memory, as tilewise catalog tcgen05.A lays it out"

    def descriptor(self, **fields: Any) -> Descriptor:
        """Return a descriptor that breaks no restriction."""
        return made(**fields)

    def intake(  # type: ignore[override]
        self,
        dtype: DType | str,
        operand: str,
        kind: str = "",
        m: int | None = None,
        n: int | None = None,
        cta_group: int = 1,
        sparse: bool = False,
        ws: bool = False,
        k: int | None = None,
        lbo_mode: str | None = None,
        atomicity: int | None = None,
    ) -> Intake:
        """Return the part of an operand that a product takes in one CTA.

        LBO mode absolute is that of K = 96, and requires it; an atomicity leaves the modes that have it.

        >>> of = Tcgen05Engine()
        >>> of_a = of.intake("bf16", "A", cta_group=2)
        >>> of_a.rows, of_a.k, of_a.shape(128), of_a.majors
        ((64, 128), 16, (256, None, 16), ('k', 'mn'))
        >>> of.intake("e2m1", "B", kind="mxf4", n=64, k=96).absolute
        True
        >>> of.intake("tf32", "A", atomicity=32).majors
        ('mn',)
        """
        which = Kind.of(kind) if kind else kind_of(dtype)
        product = product_of(which.name, cta_group, sparse, ws, _deep(which, k, lbo_mode))
        rows = product.rows(check_operand(operand), m, n)
        element, depth = stored_as(which, dtype), product.stored(operand)
        bytes = depth * element.bits // 8
        absolute = bytes == DEEP_BYTES
        modes = {major: _modes(element, bytes, major) for major in which.majors(dtype)}
        return Intake(
            operand=operand,
            name=which.check(dtype).name,
            dtype=element,
            k=depth,
            rows=rows,
            modes=_of_atomicity(modes, atomicity),
            m=m,
            n=n,
            whole_k=product.k,
            ctas=cta_group,
            product=f"tcgen05.mma of kind::{which.name}",
            no_major=_no_major(which, dtype, atomicity),
            fixed={"lbo_mode": ABSOLUTE} if absolute else {},
            absolute=absolute,
        )

    def majors_of(self, descriptor: Descriptor) -> tuple[str, ...]:
        """Return the majors of operands that a descriptor is for: absolute mode is K-major alone.

        >>> of = Tcgen05Engine()
        >>> of.majors_of(Descriptor(mode="128B")), of.majors_of(Descriptor(mode="128B", lbo_mode="absolute"))
        (('k', 'mn'), ('k',))
        """
        return MAJORS[:1] if descriptor.absolute else MAJORS

    def walks(self, descriptor: Descriptor, dtype: DType, major: str, rows: int, k: int) -> list[walk.Walk]:
        """Return the walks over rows x k elements, without regard to instructions."""
        return walks_of(descriptor, major, inside_a_chunk(dtype), rows, k * dtype.bits // 8 // CHUNK)

    def feed(
        self,
        intake: Intake,
        mode: Mode,
        major: str,
        rows: int,
        k: int,
        order: str = "mn",
        one: int | None = None,
        **at: Any,
    ) -> stepping.Feeding[Any]:
        """Return the descriptors of a tile for products of `one` row count, or of the most rows that feed it.

        >>> of = Tcgen05Engine()
        >>> whole = of.feeding("128B", "k", "bf16", 256, 64, operand="A", m=128)
        >>> print(whole.descriptor, [step.bytes for step in whole.steps])
        0x4000404000010000 [0, 32, 64, 96, 16384, 16416, 16448, 16480]
        """
        check_mode(intake.dtype, check_major_word(major), mode)
        if intake.operand == "B" and major == "mn" and intake.dtype.bits == 8:
            intake = in_whole_chunks(intake)
        check_depth(intake, mode, major)
        two_chunks = major == "k" and intake.bytes == DEEP_BYTES
        if two_chunks:
            check_turns(intake, mode, k)
        whole = super().feed(intake, mode, major, rows, k, order, one, **at)
        return deep(whole, spacing(mode, major, intake.dtype, rows, k, order)[1]) if two_chunks else whole

    # -- in words --------------------------------------------------------------------------------------

    def says(self, descriptor: Descriptor, major: str, operand: walk.Multiplicand | None) -> dict[str, str]:
        """Return {field: its words}, for fields that are read."""
        mode, held = descriptor.mode, descriptor.version
        found = super().says(descriptor, major, operand)
        if descriptor.absolute:
            found["lbo"] = (
                "the address of a second chunk, which mode 128B alone has"
                if mode.name != "128B"
                else f"the address of the second chunk: K past the end of a row of {mode.width} bytes"
            )
        found["version"] = "the constant of Blackwell's descriptors"
        if held != VERSION:
            hopper = "; Hopper's have 0" if held == 0 else ""
            found["version"] = f"Blackwell's descriptors have {VERSION} here{hopper}"
        found["lbo_mode"] = (
            "absolute: LBO is an address" if descriptor.absolute else "relative: LBO is an offset"
        )
        found["mode"] += "" if mode.keeps == CHUNK or not mode.bits else ", in atoms of 32 bytes"
        return found

    def never_read(self, descriptor: Descriptor, major: str) -> dict[str, str]:
        """Return {field: why no operand of this mode and major reads it}: an address is read."""
        silent = super().never_read(descriptor, major)
        return {name: why for name, why in silent.items() if name != "lbo" or not descriptor.absolute}

    def why(self, name: str, descriptor: Descriptor, operand: walk.Multiplicand, few: str) -> str:
        """Return the reason why an operand does not read a field that others read."""
        if name == "lbo" and descriptor.absolute:
            many = operand.depth * operand.stored_bits // 8
            return f"K of {many} bytes ends in the row of {descriptor.mode.width} where it begins"
        return few

    def about_bits(self, descriptor: Descriptor, value: int | None) -> list[str]:
        """Return remarks on bits that are constants in every descriptor of Blackwell."""
        told, held = [], descriptor.version
        if held != VERSION:
            hopper = ": it is one of Hopper's, which --engine wgmma reads" if not held else ""
            told.append(f"bits 48-46 are {held:#05b}, and {VERSION:#05b} in Blackwell's descriptors{hopper}")
        bits = [] if value is None else Descriptor.reserved_bits(value)
        return [*told, f"{bits_set(bits)[0]}, and 0 in Blackwell's descriptors"] if bits else told

    def about_lbo(self, descriptor: Descriptor, major: str, operand: walk.Multiplicand | None) -> list[str]:
        """Return the restriction of absolute mode that is broken, or the purpose of the mode.

        >>> d = Descriptor(lbo=1024, mode="64B", lbo_mode="absolute", base_offset=2)
        >>> for remark in Tcgen05Engine().remarks(d)[:2]:
        ...     print(remark)
        8 rows take 512 bytes and the next 8 begin after 0: they overlap
        absolute LBO mode is of 128B in 16-byte atoms alone, and the mode is 64B
        """
        if not descriptor.absolute:
            return []
        try:
            check_absolute(descriptor, major)
        except Refused as broken:
            return [broken.reason]
        if operand is None:
            return [f"absolute LBO mode is of sm_103a, for a K of {DEEP_BYTES} bytes"]
        many = operand.depth * operand.stored_bits // 8
        if many == DEEP_BYTES:
            return ["absolute LBO mode is of sm_103a"]
        return [f"the document has absolute LBO mode for a K of {DEEP_BYTES} bytes, and this one has {many}"]

    def about_second(self, descriptor: Descriptor) -> list[str]:
        """Return a remark on a second chunk elsewhere than its pattern,
        which begins at a multiple of the period."""
        mode = descriptor.mode
        past = descriptor.lbo % mode.period
        if not descriptor.absolute or mode.name != "128B" or descriptor.base_offset or not past:
            return []
        return [
            f"the second chunk begins {past} past a multiple of {mode.period}, where its pattern begins: "
            "of a tile that begins at one, LBO is one too"
        ]


def _deep(kind: Kind, k: int | None, lbo_mode: str | None) -> int:
    """Return K of a product in that mode of LBO, 0 where nothing decides it."""
    if lbo_mode not in (None, *LBO_MODES):
        raise LayoutError("TW601", f"{lbo_mode!r} is no mode of LBO", hint="known: " + " ".join(LBO_MODES))
    if lbo_mode == ABSOLUTE and k is None:
        return DEEP_K
    if lbo_mode is not None and (lbo_mode == ABSOLUTE) != (k == DEEP_K):
        raise Refused(
            "TW602",
            f"a product of kind::{kind.name} with K = {k or kind.depth()} is not in LBO mode {lbo_mode}",
            witness={"kind": kind.name, "k": k or kind.depth(), "lbo_mode": lbo_mode},
            hint=f"K = {DEEP_K}, which is 48 bytes, is in mode {ABSOLUTE}, and every other in {RELATIVE}",
        )
    return k or 0


def _of_atomicity(modes: dict[str, tuple[Mode, ...]], atomicity: int | None) -> dict[str, tuple[Mode, ...]]:
    """Return the modes that keep so many bytes together, by the majors that have any."""
    if atomicity is None:
        return modes
    kept = {major: tuple(mode for mode in own if mode.keeps == atomicity) for major, own in modes.items()}
    if not any(kept.values()):
        raise Refused(
            "TW602",
            f"no mode that is read here keeps {atomicity} bytes together",
            witness={"atomicity": atomicity},
            hint="32 bytes are kept together in MN-major operands of 32 bits, and 16 in all others",
        )
    return {major: own for major, own in kept.items() if own}


def _no_major(kind: Kind, dtype: DType | str, atomicity: int | None) -> tuple[str, str]:
    """Return why a major is not read, in this atomicity or at all, and the alternative."""
    reason, instead = no_major(kind, dtype)
    if reason or atomicity is None:
        return reason, instead
    other = "MN-major" if atomicity == CHUNK else "K-major"
    return f"tcgen05 reads {dtype} {other} in no mode that keeps {atomicity} bytes together", (
        "32 bytes are kept together in MN-major operands of 32 bits, and 16 in all others"
    )


def _modes(dtype: DType, bytes: int, major: str) -> tuple[Mode, ...]:
    """Return the modes that read a K so deep: K-major, those with room for it in a row of the atom."""
    legal = modes_of(dtype, major)
    if major == "mn":
        return legal
    if bytes == DEEP_BYTES:
        return tuple(mode for mode in legal if mode.name == "128B")
    return tuple(mode for mode in legal if not mode.bits or bytes <= mode.width)


ENGINE = Tcgen05Engine()
"""The engine tcgen05 for commands and checks."""
