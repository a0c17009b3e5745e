"""The canonical layouts, as the documents' table has them, and with numbers for the symbols.

T is the number of elements in 16 bytes; m and k count the patterns along the rows and along K; LBO and SBO
are the strides of a descriptor. A K-major row of the table:

    Swizzle<3,4,3> o ((8,m),(T,2k)):((8T,SBO),(1,T))       CuTe's order of digits, the fastest first
    S[((m, 8), (2k, T)) : ((SBO, 8T), (T, 1))]             ours, the slowest first

The swizzle of the table counts bytes and its strides count elements; a layout made of it has both in
elements.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.core.vectors import Vector, as_vector
from tilewise.hardware.modes import CHUNK, MODES, Mode
from tilewise.hardware.operands.template import (
    MAJORS,
    SWIZZLED_K_MAJOR_LBO,
    check_major_word,
    leading_and_stride,
)

Digits = tuple[str, ...]
"""The symbols of one mode, fastest first, as the document writes them."""

_SYMBOL = re.compile(r"(\d*)([TmkLS]\w*)?")


@dataclass(frozen=True, slots=True)
class Form:
    """One row of the table.

    >>> form = FORMS["k", "128B"]
    >>> print(form.cute)
    Swizzle<3,4,3> o ((8,m),(T,2k)):((8T,SBO),(1,T))
    >>> print(form)
    S[((m, 8), (2k, T)) : ((SBO, 8T), (T, 1))]
    """

    major: str
    mode: Mode
    shape: tuple[Digits, Digits]
    strides: tuple[Digits, Digits]

    @property
    def cute(self) -> str:
        """Return the layout in the document's notation, the swizzle before it."""
        return f"{self.mode.swizzle} o {self.plain}"

    @property
    def plain(self) -> str:
        """Return the layout in the document's notation, without the swizzle."""
        return f"{_cute(self.shape)}:{_cute(self.strides)}"

    def __str__(self) -> str:
        return f"S[{_ours(self.shape)} : {_ours(self.strides)}]"

    @property
    def uses_lbo(self) -> bool:
        """Return True if the layout has the leading dimension's offset."""
        return any("LBO" in digits for digits in self.strides)

    def numbers(self, values: Mapping[str, int]) -> Layout:
        """Return the layout, counted in elements, for values of T, m, k, LBO and SBO in elements."""
        shape = tuple(tuple(_number(symbol, values) for symbol in reversed(digits)) for digits in self.shape)
        steps = [symbol for digits in self.strides for symbol in reversed(digits)]
        strides = tuple(as_vector(_number(symbol, values)) for symbol in steps)
        layout = Layout(shape, strides)
        if not self.mode.bits:
            return layout
        return layout.swizzled((self.mode.swizzle.scaled(8, CHUNK * 8 // values["T"]),), Vector(()))


def _form(major: str, mode: Mode) -> Form:
    """Return the row of a major and a mode, by the rule that all rows of the table follow."""
    row = f"{mode.chunks}T"
    if major == "k":
        along = "T" if mode.bits else "LBO"
        return Form(major, mode, ((str(mode.rows), "m"), ("T", "2k")), ((row, "SBO"), ("1", along)))
    leading, stride = ("LBO", "SBO") if mode.bits else ("SBO", "LBO")
    shape = ("T", str(mode.chunks), "m"), (str(mode.rows), "k")
    return Form(major, mode, shape, (("1", "T", leading), (row, stride)))


FORMS = {(major, mode.name): _form(major, mode) for mode in MODES.values() for major in MAJORS}
"""The eight rows of the table by major and mode."""


def canonical(
    mode: Mode | str,
    major: str,
    dtype: DType | str,
    m: int = 2,
    k: int = 2,
    lbo: int | None = None,
    sbo: int | None = None,
) -> Layout:
    """Return a canonical layout with numbers; lbo and sbo in bytes, by default those of dense patterns.

    >>> print(canonical("none", "k", "tf32"))
    S[((2, 8), (4, 4)) : ((32, 4), (64, 1))]
    >>> print(canonical("64B", "mn", "bf16"))
    Swizzle<2,3,3> o S[((2, 4, 8), (2, 8)) : ((256, 8, 1), (512, 32))]
    """
    form, element = form_of(mode, major), DType.of(dtype)
    if element.bits > CHUNK * 8 or CHUNK * 8 % element.bits:
        raise Refused(
            "TW602",
            f"{element} has {element.bits} bits, which do not fill 16 bytes",
            witness={"dtype": element.name},
            hint="T = 128 / bits has to be a whole number",
        )
    for name, count in (("m", m), ("k", k)):
        if as_int(count, name) < 1:
            raise LayoutError("TW601", f"{name} = {count} counts no pattern", hint=f"{name} is 1 or more")
    dense = offsets(mode, major, m)
    values = {"T": CHUNK * 8 // element.bits, "m": m, "k": k}
    for name, given, packed in (("LBO", lbo, dense[0]), ("SBO", sbo, dense[1])):
        count = packed if given is None else as_int(given, name)
        if count * 8 % element.bits:
            raise LayoutError(
                "TW106",
                f"{name} of {count} bytes is no whole number of {element} elements",
                hint="it counts bytes, and is a multiple of 16",
            )
        values[name] = count * 8 // element.bits
    return form.numbers(values)


def form_of(mode: Mode | str, major: str) -> Form:
    """Return the row of the table, or CUTLASS's row for a mode that the table lacks.

    CUTLASS has Blackwell's mode that keeps 32 bytes together; the document does not.
    """
    mode = Mode.of(mode)
    if mode.keeps != CHUNK and check_major_word(major) == "k":
        raise Refused(
            "TW602",
            f"{mode} has no K-major atom",
            witness={"mode": mode.name, "major": major},
            hint="128B is the K-major mode as wide",
        )
    return FORMS.get((check_major_word(major), mode.name)) or _form(major, mode)


def offsets(mode: Mode | str, major: str, m: int) -> tuple[int, int]:
    """Return (LBO, SBO) in bytes where the patterns are dense, those along the rows first.

    >>> offsets("none", "mn", 2), offsets("32B", "mn", 2), offsets("128B", "k", 4)
    ((256, 128), (256, 512), (16, 1024))
    """
    mode = Mode.of(mode)
    pattern = mode.rows * mode.width
    lbo, sbo = leading_and_stride(mode, major, pattern, m * pattern)
    return (SWIZZLED_K_MAJOR_LBO if lbo is None else lbo), sbo


def _number(symbol: str, values: Mapping[str, int]) -> int:
    found = _SYMBOL.fullmatch(symbol)
    assert found is not None
    factor, name = found.groups()
    return int(factor or 1) * (values[name] if name else 1)


def _cute(modes: tuple[Digits, ...]) -> str:
    return "(" + ",".join(f"({','.join(digits)})" for digits in modes) + ")"


def _ours(modes: tuple[Digits, ...]) -> str:
    return "(" + ", ".join(f"({', '.join(reversed(digits))})" for digits in modes) + ")"
