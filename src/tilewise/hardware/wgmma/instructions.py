"""The wgmma instructions: types, K, the legal N, majors.

m64nNk16   f16 x f16 -> f16, f32;  bf16 x bf16 -> f32           N = 8, 16, ..., 256; both majors
m64nNk8    tf32 x tf32 -> f32                                   the same N; K-major alone
m64nNk32   e4m3, e5m2 in any mix -> f16, f32                    the same N; K-major alone
m64nNk32   s8, u8 in any mix -> s32                             N = 8, 16, 24, 32, 48, ..., 256; K-major
m64nNk256  b1 x b1 -> s32 (and.popc)                            N as for s8; K-major alone
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.core.integers import as_int
from tilewise.hardware.instructions import nearest
from tilewise.hardware.operands.template import MAJORS, check_major_word

M = 64
"""Rows of A and D in every wgmma."""

K_BITS = 256
"""Every dense wgmma multiplies 32 bytes of K, whatever the type."""

EVERY_8 = tuple(range(8, 257, 8))
INTEGER_N = (8, 16, 24, *range(32, 257, 16))


@dataclass(frozen=True, slots=True)
class Input:
    """A type of A and B: its partners, its results, and its legal majors.

    >>> bf16 = Input.of("bf16")
    >>> bf16.k, bf16.majors, bf16.accumulators
    (16, ('k', 'mn'), ('f32',))
    >>> 40 in Input.of("e4m3").n, 40 in Input.of("s8").n
    (True, False)
    """

    name: str
    partners: tuple[str, ...]
    """Types of the other operand."""
    accumulators: tuple[str, ...]
    """Types of D."""
    n: tuple[int, ...]
    """The legal N."""
    majors: tuple[str, ...]

    @classmethod
    def of(cls, dtype: DType | str) -> Input:
        """Return the row of a type that wgmma multiplies."""
        name = DType.of(dtype).name
        if name not in INPUTS:
            hint = f"it takes {', '.join(INPUTS)}{_INSTEAD.get(name, '')}"
            raise Refused("TW602", f"wgmma does not multiply {name}", witness={"dtype": name}, hint=hint)
        return INPUTS[name]

    def __repr__(self) -> str:
        return f"Input.of({self.name!r})"

    @property
    def dtype(self) -> DType:
        """Return the element type."""
        return DType.of(self.name)

    @property
    def k(self) -> int:
        """Return K of one instruction, in elements."""
        return K_BITS // self.dtype.bits

    def check_major(self, major: str) -> str:
        """Return `major`, or refuse it where the type is not read so."""
        if check_major_word(major) not in self.majors:
            why, instead = self.no_major
            raise Refused("TW602", why, witness={"dtype": self.name, "major": major}, hint=instead)
        return major

    @property
    def no_major(self) -> tuple[str, str]:
        """Return why it is not read MN-major, and the alternative; two empty strings where it is."""
        if self.majors == MAJORS:
            return "", ""
        return (
            f"wgmma reads {self.name} K-major alone",
            "only f16 and bf16 have the transpose bit; lay the tile out with K contiguous",
        )

    def check_product(self, b: str, d: str, n: int, a_major: str = "k", b_major: str = "k") -> None:
        """Refuse types that it is not multiplied by or into, and illegal N or majors.

        >>> Input.of("bf16").check_product("f16", "f32", 64)
        Traceback (most recent call last):
        tilewise.Refused: TW602: wgmma does not multiply bf16 by f16 into f32
          hint: bf16 goes with bf16 into f32
        """
        other = Input.of(b)
        if other.name not in self.partners or d not in self.accumulators:
            raise Refused(
                "TW602",
                f"wgmma does not multiply {self.name} by {b} into {d}",
                hint=f"{self.name} goes with {', '.join(self.partners)} into {', '.join(self.accumulators)}",
            )
        self.check_n(n)
        self.check_major(a_major)
        other.check_major(b_major)

    def check_n(self, n: int) -> int:
        """Return `n`, or refuse it with the nearest legal ones."""
        if as_int(n, "N") not in self.n:
            raise Refused(
                "TW602",
                f"m64n{n}k{self.k} does not exist for {self.name}",
                witness={"dtype": self.name, "n": n},
                hint=nearest(self.n, n),
            )
        return n


_INSTEAD = {"f32": "; 32-bit floats are multiplied as tf32", "u1": "; one-bit elements are b1"}
_F8 = ("e4m3", "e5m2")
_I8 = ("s8", "u8")

INPUTS = {
    row.name: row
    for row in (
        Input("f16", ("f16",), ("f16", "f32"), EVERY_8, ("k", "mn")),
        Input("bf16", ("bf16",), ("f32",), EVERY_8, ("k", "mn")),
        Input("tf32", ("tf32",), ("f32",), EVERY_8, ("k",)),
        Input("e4m3", _F8, ("f16", "f32"), EVERY_8, ("k",)),
        Input("e5m2", _F8, ("f16", "f32"), EVERY_8, ("k",)),
        Input("s8", _I8, ("s32",), INTEGER_N, ("k",)),
        Input("u8", _I8, ("s32",), INTEGER_N, ("k",)),
        Input("b1", ("b1",), ("s32",), INTEGER_N, ("k",)),
    )
}
"""Every type of A and B by name."""
