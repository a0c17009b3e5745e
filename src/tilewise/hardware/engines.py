"""The engines that read shared memory through a matrix descriptor, each a table of fields plus functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.hardware import sources
from tilewise.hardware.fields import Field
from tilewise.hardware.modes import Mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from tilewise.core.algebra.slicing import Slices
    from tilewise.core.layout import Layout

    Shape = tuple[int | None, int | None, int]
    """(m, n, k) of an instruction; None where another operand decides it."""

    class Descriptor(Protocol):
        """A matrix descriptor of any engine, in bytes."""

        @property
        def start(self) -> int:
            """The first byte of the operand."""

        @property
        def lbo(self) -> int:
            """The leading dimension's offset, or the address of the second chunk."""

        @property
        def sbo(self) -> int:
            """The stride dimension's offset."""

        @property
        def mode(self) -> Mode:
            """The swizzle mode."""

        @property
        def base_offset(self) -> int:
            """Units of 128 bytes by which the pattern is moved."""

        @property
        def value(self) -> int:
            """The 64 bits."""


@dataclass(frozen=True)
class Intake:
    """What the instructions of an engine take of one operand from the shared memory of one CTA.

    One of a type, a kind and so on, as they were asked: `Engine.intake` makes it, or refuses what no
    instruction has.

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
    """As which an element lies in shared memory: a byte for 4 bits that are kept in a byte each."""
    k: int
    """Elements along K that one instruction reads."""
    rows: tuple[int, ...]
    """Rows of the operand that one instruction reads here, the fewest first.

    Those of one CTA: of a pair with M = 256 each reads 128 rows of A. A size that was asked for leaves one.
    """
    modes: Mapping[str, tuple[Mode, ...]]
    """{major: the swizzle modes that are read in it}, the narrowest first; a major that is not read is not
    in it."""
    m: int | None = None
    """M of the instructions, where it was asked for or there is one; None where it may be several."""
    n: int | None = None
    """N of them, likewise."""
    whole_k: int | None = None
    """K of the instructions, where less of it is stored: half of a sparse A."""
    ctas: int = 1
    """CTAs that share the rows of an instruction: 2 of a pair."""
    product: str = ""
    """What takes it, in words, where that is more than the engine's name."""
    no_major: tuple[str, str] = ("", "")
    """Why the other major is not read, and what to do; for one that is read nothing."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """What was asked of a descriptor beyond start, lbo, sbo, mode and base_offset: arguments of
    `Engine.descriptor`. Two of them that differ here read differently."""
    absolute: bool = False
    """Whether LBO is the address of the second chunk of K, and no offset: K is 48 bytes then."""

    @property
    def majors(self) -> tuple[str, ...]:
        """The directions that may be contiguous."""
        return tuple(self.modes)

    def shape(self, rows: int) -> Shape:
        """(m, n, k) of the instruction that reads so many rows of the operand here."""
        whole, k = rows * self.ctas, self.whole_k or self.k
        return (whole, self.n, k) if self.operand == "A" else (self.m, whole, k)


@dataclass(frozen=True)
class Engine:
    """One engine: the fields of its descriptor, what can be asked of one, and what its instructions take.

    The functions take and give what the engine's own modules define; they agree on their arguments, so
    that a command asks all engines alike.
    """

    name: str
    fields: tuple[Field, ...]
    source: sources.Source
    majors: tuple[str, ...]
    operands: tuple[str, ...]
    shared_end: int
    """The first byte past the shared memory of an SM."""
    descriptor: Callable[..., Any]
    made_of: tuple[str, ...]
    """Keywords of `descriptor` besides start, lbo, sbo, mode and base_offset."""
    decode: Callable[[int], Any]
    reserved: Callable[[int], list[int]]
    default_lbo: Callable[[Mode, str], int | None]
    operand: Callable[..., Any]
    words: Callable[..., Any]
    ignored: Callable[..., Any]
    remarks: Callable[..., Any]
    pieces: Callable[..., Any]
    addresses: Callable[..., Any]
    extremes: Callable[..., Any]
    stages: Callable[..., Any]
    placements: Callable[..., Any]

    # -- what its instructions take --------------------------------------------------------------------

    types: tuple[str, ...]
    """Every type that it multiplies, by name."""
    options: tuple[str, ...]
    """What an instruction is asked for besides its type and operand: the keywords of `intake`."""
    sizes: tuple[str, ...]
    """Those of the options that choose among legal sizes, such as n: without them there is an intake too."""
    intake: Callable[..., Intake]
    """intake(dtype, operand, ...) -> Intake, with the keywords of `options`; Refused for what no instruction
    has."""
    modes: Mapping[str, Mode]
    """Every swizzle mode by name, narrowest first."""
    orders: tuple[str, ...]
    """The orders in which the atoms of a tile follow one another."""
    patterns: tuple[str, ...]
    """Where a swizzle counts from."""

    # -- the descriptor in numbers -----------------------------------------------------------------------

    limit: int
    """Byte offsets and addresses that a descriptor holds are below it."""
    base_unit: int
    """Bytes that one unit of the base offset moves the pattern by."""
    carries: bool
    """Whether K that goes on past a row of the atom is read where the sum carries; else nobody says where."""
    spare: Mapping[str, int]
    """{"lbo": bytes, "sbo": bytes}: what is written to a field that is not read."""
    base_offset_of: Callable[[int, Mode], int]
    """base_offset_of(pattern, mode): the base offset of a pattern that starts at an address; Refused where
    there is none."""
    read: Callable[..., Slices]
    """read(descriptor, dtype=, major=, rows=, k=) -> Slices: the bytes that it reads of rows x k elements
    lying in memory as `dtype`, as `pieces` gives them; no question of which instructions there are."""
    unread: Callable[..., tuple[str, ...]]
    """unread(descriptor, dtype=, major=, rows=, k=): the fields of lbo, sbo, base_offset that say nothing."""

    # -- tiles of atoms ----------------------------------------------------------------------------------

    atom: Callable[[Mode, str, DType], Layout]
    """atom(mode, major, dtype): the swizzle atom [rows, K], in elements that lie in memory as `dtype`."""
    tile: Callable[[Mode, str, DType, int, int, str], Layout]
    """tile(mode, major, dtype, rows, k, order): a whole tile of atoms, in elements; Refused where they are
    no whole ones."""
    feed: Callable[..., Any]
    """feed(intake, mode, major, rows, k, order, one=None, base=0, pattern="tile") -> a `Feeding`: the
    descriptors of such a tile, by instructions of `one` rows, or of the most that feed it. It has mode,
    major, dtype, rows, k, order, operand, n (rows of one instruction), depth, base, pattern, bytes,
    descriptor, along_mn, along_k, steps and tile, as wgmma's has."""

    # -- in words ----------------------------------------------------------------------------------------

    entry: str
    """The entry of the catalogue that has its tiles: how they are confirmed is known by it."""
    transpose: Mapping[str, str]
    """{operand: what of the instruction says its major}, 0 for K-major, 1 for MN-major."""
    other_home: str
    """The storage from which A may come besides shared memory: reg, or TCol."""
    registers: str
    """What to do with an operand that is a layout of it."""
    majors_of: Callable[[Any], tuple[str, ...]] | None = None
    """majors_of(descriptor): the majors in which it is read; where the engine has none, all are."""


VERSION = Field("version", 46, 3, 1, "a fixed constant")
"""The bits of a descriptor that tell Blackwell's from Hopper's, which have 0 there."""

VERSIONS = {0: "wgmma", 1: "tcgen05"}
"""{what they hold: whose descriptor it is}."""

ENGINES = {"wgmma": "tilewise.hardware.wgmma.engine", "tcgen05": "tilewise.hardware.tcgen05.engine"}
"""{engine: the module that has it as ENGINE}; only the one that is asked for is imported."""


def engine_of_word(word: int) -> str:
    """The engine whose descriptor 64 bits are, by their version.

    A version that no engine has is read as Hopper reads it, which passes these bits over.

    >>> [engine_of_word(word) for word in (0x4000004000010000, 0x4000404000010000, 0x4000804000010000)]
    ['wgmma', 'tcgen05', 'wgmma']
    """
    return VERSIONS.get(VERSION.of(word), "wgmma")


def engine(name: str) -> Engine:
    """The engine of that name.

    >>> [field.name for field in engine("wgmma").fields]
    ['start', 'lbo', 'sbo', 'base_offset', 'mode']
    """
    if name not in ENGINES:
        raise LayoutError(
            "TW601", f"{name!r} is no engine with descriptors", hint="known: " + " ".join(ENGINES)
        )
    found: Engine = import_module(ENGINES[name]).ENGINE
    return found
