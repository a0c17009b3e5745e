"""The swizzle modes of shared memory, one table for descriptors and tensor maps.

mode     bytes of a row    on byte addresses    the pattern repeats by
none     16                Swizzle<0,4,3>       16 B (128 B for TMA's address)
32B      32                Swizzle<1,4,3>       256 B
64B      64                Swizzle<2,4,3>       512 B
128B     128               Swizzle<3,4,3>       1024 B

Blackwell has one more, which keeps 32 bytes together where the others keep 16:

128B_ATOM_32B   128        Swizzle<2,5,2>       512 B
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.swizzles import Swizzle
from tilewise.core.units import unit_bits

CHUNK = 16
"""Bytes that every mode keeps together: a row of a core matrix."""

ROWS = 8
"""Rows of a core matrix, and of a swizzle atom."""


@dataclass(frozen=True, slots=True)
class Mode:
    """A swizzle mode of shared memory.

    >>> mode = Mode.of("128B")
    >>> mode.swizzle, mode.period, mode.chunks, mode.elements("bf16")
    (Swizzle(3, 4, 3), 1024, 8, 64)
    """

    name: str
    width: int
    """Bytes of one row of the atom along the major direction."""
    bits: int
    """B of Swizzle<B, M, S>."""
    wgmma_code: int | None
    """Bits 63-62 of a wgmma descriptor; None where Hopper has no such mode."""
    tma_name: str
    """The enumerator of CUtensorMapSwizzle."""
    base: int = 4
    """M of Swizzle<B, M, S>: 2^M bytes stay together."""
    shift: int = 3
    """S of Swizzle<B, M, S>."""
    swizzle: Swizzle = field(init=False, compare=False)
    """The permutation of byte addresses."""
    period: int = field(init=False, compare=False)
    """The period of the pattern in bytes, and the alignment of an atom."""
    rows: int = field(init=False, compare=False)
    """Rows of the atom, across the major direction."""
    chunks: int = field(init=False, compare=False)
    """Chunks of 16 bytes in a row of the atom."""

    @classmethod
    def of(cls, name: Mode | str) -> Mode:
        """Return Hopper's mode of that name: none, 32B, 64B or 128B, in any spelling of `mode_named`."""
        return mode_of(name, modes=MODES)

    def __post_init__(self) -> None:
        period = 1 << self.base + self.bits + self.shift if self.bits else CHUNK
        for name, value in (
            ("swizzle", Swizzle(self.bits, self.base, self.shift)),
            ("period", period),
            ("rows", period // self.width if self.bits else ROWS),
            ("chunks", self.width // CHUNK),
        ):
            object.__setattr__(self, name, value)

    @property
    def keeps(self) -> int:
        """Return the bytes that the swizzle leaves together."""
        return 1 << self.base

    @property
    def plain(self) -> bool:
        """Return True if its name is its width alone, which other modes may have too."""
        return self.name in MODES

    def elements(self, dtype: DType | str) -> int:
        """Return the elements in a row of the atom."""
        return self.width * 8 // DType.of(dtype).bits

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Mode.of({self.name!r})" if self.plain else f"BLACKWELL[{self.name!r}]"


MODES = {
    mode.name: mode
    for mode in (
        Mode("none", 16, 0, 0, "CU_TENSOR_MAP_SWIZZLE_NONE"),
        Mode("32B", 32, 1, 3, "CU_TENSOR_MAP_SWIZZLE_32B"),
        Mode("64B", 64, 2, 2, "CU_TENSOR_MAP_SWIZZLE_64B"),
        Mode("128B", 128, 3, 1, "CU_TENSOR_MAP_SWIZZLE_128B"),
    )
}
"""Every mode of Hopper by name, narrowest first."""

BLACKWELL = {
    **MODES,
    "128B_ATOM_32B": Mode(
        "128B_ATOM_32B", 128, 2, None, "CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B", base=5, shift=2
    ),
}
"""Every mode of Blackwell's descriptors by name; the last is the widest in other atoms."""


@dataclass(frozen=True, slots=True)
class OtherUnit:
    """A swizzle that would be a mode of the hardware in the other unit, bytes or elements."""

    meant: Swizzle
    """On bytes."""
    mode: Mode
    message: str
    hint: str

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}"


def other_unit(
    read: Swizzle, unit: str, dtype: DType, modes: Iterable[Mode] = BLACKWELL.values()
) -> OtherUnit | None:
    """Return a remark if a swizzle seems to count bytes among elements, or elements among bytes; else None.

    `read` is the swizzle on bytes of a text that counts `unit`.

    >>> found = other_unit(Swizzle(3, 5, 3), "element", DType.of("f16"))
    >>> print(found.meant, found.mode, found.hint.rpartition(":")[2])
    Swizzle<3,4,3> 128B  for f16 write Swizzle<3,3,3>
    >>> other_unit(Swizzle(3, 5, 3), "element", DType.of("f32"))
    """
    ratio = {"element": (8, dtype.bits), "byte": (dtype.bits, 8)}.get(unit)
    if ratio is None or dtype.bits == 8:
        return None
    try:
        meant = read.scaled(*ratio)
        right = meant.scaled(8, dtype.bits)
    except LayoutError:
        return None
    mode = next((mode for mode in modes if mode.bits and mode.swizzle == meant), None)
    if mode is None:
        return None
    if unit == "element":
        message = (
            f"{meant} counts elements here, which is {read} on bytes and no mode of the hardware; on bytes it"
        )
        hint = f"PTX and CuTe print byte swizzles before element strides: for {dtype} write {right}"
    else:
        message = f"{read} counts bytes here and is no mode of the hardware; on {dtype} elements it"
        hint = f"on bytes write {meant}"
    return OtherUnit(meant, mode, f"{message} is that of {mode} mode", hint)


def other_unit_of(layout: Layout, unit: str, dtype: DType) -> OtherUnit | None:
    """Return the same remark for the one swizzle of a layout whose text counts `unit`."""
    swizzles = [swizzle for swizzle in layout.swizzles if swizzle.bits]
    if len(swizzles) != 1:
        return None
    try:
        return other_unit(swizzles[0].scaled(unit_bits(layout.unit, dtype), 8), unit, dtype)
    except LayoutError:
        return None


_NONE = ("NONE", "0", "INTERLEAVE", "INTER")
_OF_32_BYTES = ("_ATOM_32B", "_BASE32B", "_32B")
"""The suffixes for 32 bytes kept together: CUDA's, those of CUTLASS's descriptors, those of its layouts."""


def mode_named(name: str) -> str:
    """Return the one name of a mode for a word of CUDA or CUTLASS; an unknown word gives a name of no mode.

    >>> [mode_named(word) for word in ("CU_TENSOR_MAP_SWIZZLE_128B", "sw128", "64", "INTERLEAVE")]
    ['128B', '128B', '64B', 'none']
    >>> {mode_named(f"128B{word}") for word in ("_ATOM_32B", "_BASE32B", "_32b")} | {mode_named("SW128_32B")}
    {'128B_ATOM_32B'}
    """
    word = name.upper().removeprefix("CU_TENSOR_MAP_").removeprefix("SWIZZLE_").removeprefix("SW")
    if word in _NONE:
        return "none"
    whole = next((word.removesuffix(end) for end in _OF_32_BYTES if word.endswith(end)), None)
    return f"{word.removesuffix('B')}B" if whole is None else f"{whole.removesuffix('B')}B_ATOM_32B"


def mode_of(name: Mode | str, atomicity: int | None = None, modes: Mapping[str, Mode] = BLACKWELL) -> Mode:
    """Return the mode of that name among some, whose swizzle keeps so many bytes together: 16, or 32.

    Two modes may share a plain name; 128B_ATOM_32B names one of them.

    >>> mode_of("128B", 32) == BLACKWELL["128B_ATOM_32B"], mode_of("64B").keeps
    (True, 16)
    >>> mode_of("64B", 32)
    Traceback (most recent call last):
    tilewise.Refused: TW602: no mode 64B keeps 32 bytes together
      hint: known: none 32B 64B 128B 128B_ATOM_32B
    """
    mode = name if isinstance(name, Mode) else modes.get(mode_named(str(name)))
    if mode is None:
        raise LayoutError(
            "TW601", f"{name!r} is no swizzle mode of shared memory", hint="known: " + " ".join(modes)
        )
    if atomicity is None or mode.keeps == atomicity:
        return mode
    for other in modes.values():
        if (other.width, other.keeps) == (mode.width, atomicity) and mode.plain:
            return other
    raise Refused(
        "TW602",
        f"no mode {mode} keeps {atomicity} bytes together",
        witness={"mode": mode.name, "atomicity": atomicity},
        hint="known: " + " ".join(modes),
    )
