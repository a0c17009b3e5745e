"""The engines that read shared memory through a matrix descriptor: a class for all.

A descriptor is a table of fields over 64 bits. An operand is rows x K elements that one instruction reads. An
engine has both, knows its instructions, and gives the meaning of every field in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.hardware import sources
from tilewise.hardware.fields import Field, packed, reserved, unpacked
from tilewise.hardware.limits import SM_SHARED_BYTES
from tilewise.hardware.modes import CHUNK, MODES, Mode, mode_of
from tilewise.hardware.operands import stepping, tiles
from tilewise.hardware.operands.sentences import (
    START_IS,
    Said,
    base_offset_is,
    few,
    lbo_is,
    mode_is,
    never_read,
    overlapping_groups,
    past_the_end,
    sbo_is,
    shared_bytes,
    unaligned,
)
from tilewise.hardware.operands.template import (
    BASE_UNIT,
    LIMIT,
    MAJORS,
    OPERANDS,
    ORDERS,
    SWIZZLED_K_MAJOR_LBO,
    base_offset_of,
    check_base_offset,
    check_bytes,
    check_major_word,
    check_word,
)
from tilewise.hardware.operands.walk import Multiplicand, unread_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Self

    from tilewise.core.algebra.slicing import Slices
    from tilewise.hardware.operands.walk import Walk

    Shape = tuple[int | None, int | None, int]
    """(m, n, k) of an instruction; None where another operand decides it."""

MN_BITS = 16
"""Bits of the elements in sentences where no type is named."""


@dataclass(frozen=True)
class MatrixDescriptor:
    """A matrix descriptor; start, lbo and sbo count bytes.

    requires       start, lbo, sbo are multiples of 16 in [0, 2^18); base_offset in [0, 8)
    postcondition  D.decode(d.value) == d, for the descriptors D of an engine
    """

    start: int = 0
    lbo: int = 0
    sbo: int = 0
    mode: Mode = MODES["none"]
    base_offset: int = 0

    if TYPE_CHECKING:
        FIELDS: ClassVar[tuple[Field, ...]]
        """Every field, the lowest first."""
        MODES: ClassVar[Mapping[str, Mode]]
        CODES: ClassVar[Mapping[str, int]]
        """{mode: the number in its field}."""
        CHOICES: ClassVar[Mapping[str, tuple[str, ...]]]
        """{field: the words that its numbers stand for}."""

    def __post_init__(self) -> None:
        for one in self.FIELDS:
            if one.name != "mode" and one.name not in self.CHOICES:
                number = as_int(getattr(self, one.name), f"the descriptor's {one.name}")
                object.__setattr__(self, one.name, check_bytes(one.name, number) if one.unit > 1 else number)
        mode: Mode | str = self.mode
        if isinstance(mode, str):
            object.__setattr__(self, "mode", mode_of(mode, modes=self.MODES))
        check_base_offset(self.base_offset)
        if self.mode.name not in self.CODES:
            raise Refused(
                "TW602",
                f"wgmma has no mode {self.mode}",
                witness={"mode": self.mode.name},
                hint="Hopper's are " + " ".join(MODES) + "; Blackwell's tcgen05 has this one",
            )

    def __str__(self) -> str:
        return f"{self.value:#018x}"

    @property
    def encoded(self) -> dict[str, int]:
        """Return the number in every field, in the field's unit: start, lbo and sbo count 16 bytes."""
        held = {one.name: getattr(self, one.name) for one in self.FIELDS}
        held["mode"] = self.CODES[self.mode.name]
        held |= {name: words.index(held[name]) for name, words in self.CHOICES.items()}
        return {one.name: held[one.name] // one.unit for one in self.FIELDS}

    @property
    def named(self) -> dict[str, int | str]:
        """Return every field for a reader: in bytes, modes by their names."""
        return {one.name: getattr(self, one.name) for one in self.FIELDS} | {"mode": self.mode.name}

    @property
    def value(self) -> int:
        """Return the 64 bits."""
        return packed(self.FIELDS, self.encoded)

    def at(self, start: int, base_offset: int) -> Self:
        """Return the same elsewhere."""
        return replace(self, start=start, base_offset=base_offset)

    @classmethod
    def decode(cls, value: int) -> Self:
        """Return the descriptor of 64 bits; bits of no field are ignored: see `reserved_bits`."""
        held: dict[str, Any] = dict(unpacked(cls.FIELDS, check_word(value)))
        names = {code: name for name, code in cls.CODES.items()}
        if held["mode"] not in names:
            raise Refused(
                "TW604",
                f"{held['mode']} is no swizzling mode",
                witness={"mode": held["mode"]},
                hint="bits 63-61 are " + ", ".join(f"{code} for {name}" for name, code in cls.CODES.items()),
            )
        for one in cls.FIELDS:
            held[one.name] *= one.unit
        held |= {name: words[held[name]] for name, words in cls.CHOICES.items()}
        return cls(**held | {"mode": cls.MODES[names[held["mode"]]]})

    @classmethod
    def reserved_bits(cls, value: int) -> list[int]:
        """Return the bits of a value that are set, and that no field has."""
        return reserved(cls.FIELDS, check_word(value))


@dataclass(frozen=True)
class Intake:
    """The part of one operand that the instructions of an engine take from the shared memory of one CTA.

    It belongs to one type, kind and so on. `Engine.intake` makes it, or refuses options that no instruction
    has.

    >>> taken = engine("wgmma").intake("bf16", "A", n=64)
    >>> taken.rows, taken.k, taken.majors, taken.shape(64)
    ((64,), 16, ('k', 'mn'), (64, 64, 16))
    >>> [mode.name for mode in taken.modes["mn"]]
    ['none', '32B', '64B', '128B']
    """

    operand: str
    name: str
    """The type's name."""
    dtype: DType
    """The type of an element in shared memory: a byte for 4 bits that take a byte each."""
    k: int
    """Elements along K that one instruction reads."""
    rows: tuple[int, ...]
    """Rows of the operand that one instruction reads here, the fewest first.

    These are the rows of one CTA: each of a pair with M = 256 reads 128 rows of A. A given size leaves one.
    """
    modes: Mapping[str, tuple[Mode, ...]]
    """{major: the swizzle modes that are read in it, the narrowest first}; majors that are not read are left
    out.
    """
    m: int | None = None
    """M of the instructions, where it was given or only one is legal; None where there may be several."""
    n: int | None = None
    """N of them, likewise."""
    whole_k: int | None = None
    """K of the instructions, where only a part of it is stored: half of a sparse A."""
    ctas: int = 1
    """CTAs that share the rows of an instruction: 2 of a pair."""
    product: str = ""
    """The instruction, in words, where that is more than the engine's name."""
    no_major: tuple[str, str] = ("", "")
    """(Why the other major is not read, the alternative); empty where it is read."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of `Engine.descriptor` beyond start, lbo, sbo, mode and base_offset. Intakes that differ here
    read differently.
    """
    absolute: bool = False
    """True if LBO is the address of the second chunk of K, and no offset: K is 48 bytes then."""

    @property
    def majors(self) -> tuple[str, ...]:
        """Return the directions that may be contiguous."""
        return tuple(self.modes)

    @property
    def bytes(self) -> int:
        """Return the bytes of K that one instruction reads."""
        return self.k * self.dtype.bits // 8

    def shape(self, rows: int) -> Shape:
        """Return (m, n, k) of the instruction that reads so many rows of the operand here."""
        whole, k = rows * self.ctas, self.whole_k or self.k
        return (whole, self.n, k) if self.operand == "A" else (self.m, whole, k)

    def check_major(self, major: str) -> str:
        """Return the major, or refuse one that is not read."""
        if check_major_word(major) not in self.modes:
            reason, hint = self.no_major
            raise Refused("TW602", reason, witness={"dtype": self.name, "major": major}, hint=hint)
        return major


class Engine:
    """One engine: its descriptor, its instructions, and its fields in words."""

    name: str
    source: sources.Source
    descriptors: type[Any]
    """The class of its descriptors."""
    operand: type[Any]
    """The class of the operands that one instruction reads."""
    types: tuple[str, ...]
    """Every type that it multiplies, by name."""
    options: tuple[str, ...]
    """The options of an instruction besides its type and operand: the keywords of `intake`."""
    sizes: tuple[str, ...]
    """The options that choose among legal sizes, such as n: without them there is an intake too."""
    made_of: tuple[str, ...] = ()
    """Keywords of `descriptor` besides start, lbo, sbo, mode and base_offset."""
    modes: Mapping[str, Mode]
    """Every swizzle mode by name, narrowest first."""
    carries: bool
    """True if K past a row of the atom is read where the sum carries; False where no document tells."""
    usual: int = 64
    """The divisor of a number of rows that is fed in every mode."""

    entry: str
    """The catalogue's entry of its tiles, which has their confirmations."""
    transpose: Mapping[str, str]
    """{operand: the part of the instruction that gives its major}, 0 for K-major, 1 for MN-major."""
    other_home: str
    """The other storage from which A may come: reg, or TCol."""
    registers: str
    """The advice for an operand whose layout is in `other_home`."""

    majors, operands, orders, patterns = MAJORS, OPERANDS, ORDERS, stepping.PATTERNS
    shared_end = SM_SHARED_BYTES
    """The first byte past the shared memory of an SM: a window that begins with the system's 1 KiB."""
    limit = LIMIT
    """Byte offsets and addresses that a descriptor holds are below it."""
    base_unit = BASE_UNIT
    """The bytes by which one unit of the base offset moves the pattern."""
    spare: Mapping[str, int] = {"lbo": SWIZZLED_K_MAJOR_LBO, "sbo": 0}
    """{field: the number written where the field is not read}."""

    atom, tile = staticmethod(tiles.atom), staticmethod(tiles.tile)
    base_offset_of, placements = staticmethod(base_offset_of), staticmethod(stepping.placements)

    @property
    def fields(self) -> tuple[Field, ...]:
        """Return the fields of its descriptor, the lowest first."""
        found: tuple[Field, ...] = self.descriptors.FIELDS
        return found

    def descriptor(self, **fields: Any) -> Any:
        """Return a descriptor that breaks no restriction."""
        return self.descriptors(**fields)

    def intake(self, dtype: DType | str, operand: str, **asked: Any) -> Intake:
        """Return the part of an operand that its instructions take; refuse options that no
        instruction has.
        """
        raise NotImplementedError

    def default_lbo(self, mode: Mode, major: str) -> int | None:
        """Return the customary LBO of a descriptor without one, or None where LBO is read."""
        return SWIZZLED_K_MAJOR_LBO if major == "k" and mode.bits else None

    def majors_of(self, descriptor: Any) -> tuple[str, ...]:
        """Return the majors of operands that a descriptor can be for."""
        return MAJORS

    # -- the reads of a descriptor ---------------------------------------------------------------------

    def walks(self, descriptor: Any, dtype: DType, major: str, rows: int, k: int) -> list[Walk]:
        """Return the walks over rows x k elements that lie in memory as `dtype`, for legal instructions or
        not.
        """
        raise NotImplementedError

    def read(self, descriptor: Any, *, dtype: DType | str, major: str, rows: int, k: int) -> Slices:
        """Return the bytes that a descriptor reads of them, as layouts with their boxes."""
        from tilewise.hardware.operands.walk import joined

        return joined(self.walks(descriptor, DType.of(dtype), major, rows, k))

    def unread(
        self, descriptor: Any, *, dtype: DType | str, major: str, rows: int, k: int
    ) -> tuple[str, ...]:
        """Return those of lbo, sbo, base_offset of which any other value reads the same bytes."""
        return unread_fields(self.walks(descriptor, DType.of(dtype), major, rows, k))

    # -- from tile to descriptors ----------------------------------------------------------------------

    feed = stepping.fed

    def feeding(
        self,
        mode: Mode | str,
        major: str,
        dtype: DType | str,
        rows: int,
        k: int,
        order: str = "mn",
        *,
        operand: str,
        base: int = 0,
        pattern: str = "tile",
        depth: int | None = None,
        **asked: Any,
    ) -> stepping.Feeding[Any]:
        """Return the descriptors of a whole tile, as `tiles.tile` makes it, at a base in shared memory.

            requires       whole atoms, whole instructions; no instruction begins in one MN-major atom and
                           ends in another; a base that the pattern allows
            pattern        "tile": the swizzle counts from the base; "address": from address 0, as TMA writes
            depth          K of one product, where there are several

        >>> first = engine("wgmma").feeding("64B", "mn", "f16", 128, 64, operand="A").descriptor
        >>> first.lbo, first.sbo, hex(first.value)
        (512, 2048, '0x8000008000200000')
        """
        asked |= {} if depth is None else {"k": depth}
        intake = self.intake(dtype, operand, **asked)
        intake.check_major(major)
        one = intake.rows[0] if len(intake.rows) == 1 else None
        return self.feed(intake, mode_of(mode), major, rows, k, order, one, base=base, pattern=pattern)

    # -- in words --------------------------------------------------------------------------------------

    def words(
        self, descriptor: Any, major: str = "k", operand: Multiplicand | None = None
    ) -> tuple[Said, ...]:
        """Return every field in words, the lowest first; an operand decides which fields are not read.

        >>> of = engine("wgmma")
        >>> for said in of.words(of.descriptor(lbo=16, sbo=1024, mode="128B")):
        ...     print(said.name, said.bytes, said.encoded, said.says)
        start 0 0 the first byte of the operand
        lbo 16 1 not read in this mode and major; 1 is written by custom
        sbo 1024 64 from the first 8 rows to the next 8
        base_offset None 0 the swizzle pattern begins at a multiple of 1024
        mode None 1 128B: Swizzle<3,4,3> on byte addresses
        """
        major = check_major_word(major) if operand is None else operand.major
        silent, encoded = self._silent(descriptor, major, operand), descriptor.encoded
        says = self.says(descriptor, major, operand) | silent
        found = []
        for one in self.fields:
            counted = encoded[one.name] * CHUNK if one.unit == CHUNK else None
            read, says_it = one.name not in silent, says[one.name]
            found.append(Said(one.name, one.where, counted, encoded[one.name], read, says_it))
        return tuple(found)

    def says(self, descriptor: Any, major: str, operand: Multiplicand | None) -> dict[str, str]:
        """Return {field: its words}, for fields that are read."""
        mode = descriptor.mode
        in_chunk = operand.in_chunk if operand else None
        return {
            "start": START_IS,
            "lbo": lbo_is(mode, major, in_chunk, self.long(mode, operand)),
            "sbo": sbo_is(mode, major),
            "base_offset": base_offset_is(descriptor),
            "mode": mode_is(mode),
        }

    def ignored(
        self, descriptor: Any, major: str = "k", operand: Multiplicand | None = None
    ) -> tuple[str, ...]:
        """Return the fields that are not read.

        >>> of = engine("wgmma")
        >>> of.ignored(of.descriptor(mode="none"), "mn"), of.ignored(of.descriptor(sbo=1024, mode="64B"))
        (('base_offset',), ('lbo',))
        """
        return tuple([said.name for said in self.words(descriptor, major, operand) if not said.read])

    def masked(self, descriptor: Any, major: str = "k", operand: Multiplicand | None = None) -> Any:
        """Return the descriptor with 0 in every field that is not read: equal ones then read alike.

        >>> of = engine("wgmma")
        >>> hex(of.masked(of.descriptor(lbo=16, sbo=1024, mode="128B")).value)
        '0x4000004000000000'
        """
        return replace(descriptor, **dict.fromkeys(self.ignored(descriptor, major, operand), 0))

    def remarks(
        self, descriptor: Any, major: str = "k", operand: Multiplicand | None = None, value: int | None = None
    ) -> tuple[str, ...]:
        """Return remarks besides the fields: overlaps, unaligned starts, odd bits.

        >>> of = engine("wgmma")
        >>> (remark,) = of.remarks(of.descriptor(sbo=64, mode="128B"))
        >>> print(*remark.split("; "), sep="\\n")
        8 rows take 1024 bytes and the next 8 begin after 64: they overlap
        64 as the field counts is 1024 bytes
        """
        if operand is not None:
            major = operand.major
        silent = self.ignored(descriptor, major, operand)
        told = [
            *self.about_bits(descriptor, value),
            *overlapping_groups(descriptor, major, silent),
            *self.about_lbo(descriptor, major, operand),
            *unaligned(descriptor),
            *([] if "lbo" in silent else self.about_second(descriptor)),
        ]
        return tuple(told + (self._about_operand(descriptor, operand) if operand is not None else []))

    def faults(self, descriptor: Any, operand: Multiplicand, value: int) -> list[str]:
        """Return those of the remarks that are certainly faults, or why nothing is read.

        >>> of = engine("wgmma")
        >>> of.faults(of.descriptor(mode="128B"), of.operand("bf16", operand="A"), 0x4000000000000000)
        ['8 rows take 1024 bytes and the next 8 begin after 0: they overlap']
        """
        told = self.about_bits(descriptor, value)
        try:
            found = operand.pieces(descriptor)
        except Refused as refused:
            return [*told, refused.reason]
        silent = self.ignored(descriptor, operand.major, operand)
        rows = overlapping_groups(descriptor, operand.major, silent)
        told += rows or shared_bytes(found, DType.of(operand.dtype))
        return [*told, *past_the_end(operand.extremes(descriptor)[1], self.shared_end)]

    def about_bits(self, descriptor: Any, value: int | None) -> list[str]:
        """Return remarks on the bits that no field has."""
        return []

    def about_lbo(self, descriptor: Any, major: str, operand: Multiplicand | None) -> list[str]:
        """Return remarks on the use of LBO."""
        return []

    def about_second(self, descriptor: Any) -> list[str]:
        """Return remarks on the data at the address in LBO."""
        return []

    def long(self, mode: Mode, operand: Multiplicand | None) -> int:
        """Return the elements of a row of the atom."""
        return mode.width * 8 // (operand.stored_bits if operand else MN_BITS)

    def never_read(self, descriptor: Any, major: str) -> dict[str, str]:
        """Return {field: why no operand of this mode and major reads it}."""
        return never_read(descriptor.mode, major)

    def _silent(self, descriptor: Any, major: str, operand: Multiplicand | None) -> dict[str, str]:
        silent = self.never_read(descriptor, major)
        try:
            found = None if operand is None else operand.unread(descriptor)
        except Refused:  # no document defines a read
            return silent
        if operand is None or found is None:
            return silent
        why = few(descriptor, operand, self.long(descriptor.mode, operand), of_16_bits=self.name == "wgmma")
        return {
            name: silent.get(name) or f"not read: {self.why(name, descriptor, operand, why)}"
            for name in found
        }

    def why(self, name: str, descriptor: Any, operand: Multiplicand, few: str) -> str:
        """Return the reason why an operand does not read a field that others read."""
        return few

    def _about_operand(self, descriptor: Any, operand: Multiplicand) -> list[str]:
        try:
            found = operand.pieces(descriptor)
        except Refused as refused:
            return [] if refused.code == "TW604" else [refused.reason]
        told = []
        rows: Sequence[Any] = [piece for piece in found if piece.box[1][0] == 0]
        if len(rows) > 1:
            atom = self.long(descriptor.mode, operand)
            told.append(
                f"{operand.rows} rows end inside an atom of {atom}: what is read is {len(rows)} layouts"
            )
        if len(found) > len(rows):
            first, last = found[-1].box[1]
            told.append(f"k {first} to {last - 1} are read from the second chunk: what is read is 2 layouts")
        _, last = operand.extremes(descriptor)
        return [*told, *past_the_end(last, self.shared_end), *shared_bytes(found, DType.of(operand.dtype))]


VERSION = Field("version", 46, 3, 1, "a fixed constant")
"""The bits of a descriptor that distinguish Blackwell's from Hopper's, which have 0 there."""

VERSIONS = {0: "wgmma", 1: "tcgen05"}
"""{the number in these bits: the engine of the descriptor}."""

ENGINES = {"wgmma": "tilewise.hardware.wgmma.engine", "tcgen05": "tilewise.hardware.tcgen05.engine"}
"""{engine: the module that has it as ENGINE}; a module is imported only when its engine is needed."""


def engine_of_word(word: int) -> str:
    """Return the engine of a 64-bit descriptor, by its version.

    An unknown version is read as Hopper's: Hopper ignores these bits.

    >>> [engine_of_word(word) for word in (0x4000004000010000, 0x4000404000010000, 0x4000804000010000)]
    ['wgmma', 'tcgen05', 'wgmma']
    """
    return VERSIONS.get(VERSION.of(word), "wgmma")


def engine(name: str) -> Engine:
    """Return the engine of that name.

    >>> [field.name for field in engine("wgmma").fields]
    ['start', 'lbo', 'sbo', 'base_offset', 'mode']
    """
    if name not in ENGINES:
        raise LayoutError(
            "TW601", f"{name!r} is no engine with descriptors", hint="known: " + " ".join(ENGINES)
        )
    found: Engine = import_module(ENGINES[name]).ENGINE
    return found
