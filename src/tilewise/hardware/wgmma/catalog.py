"""wgmma's entries of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.core.layout import Layout
from tilewise.hardware.catalog.entry import Built, Entry, Parameter, Value
from tilewise.hardware.catalog.registers import registers_of
from tilewise.hardware.limits import SHARED_BYTES
from tilewise.hardware.modes import CHUNK, MODES, ROWS, Mode
from tilewise.hardware.sources import PTX_ATOMS, PTX_CANONICAL, PTX_FRAGMENTS, PTX_SHAPES, PTX_STRIDES
from tilewise.hardware.wgmma.canonical import LBO_IS, SBO_IS, canonical, form_of, offsets
from tilewise.hardware.wgmma.descriptor import LIMIT, Descriptor, leading_and_stride
from tilewise.hardware.wgmma.figures import FIGURES, figure
from tilewise.hardware.wgmma.fragments import a_fragment, d_fragment
from tilewise.hardware.wgmma.instructions import INPUTS, MAJORS, OPERANDS, Input, M
from tilewise.hardware.wgmma.tiles import ORDERS, atom, extents, spacing, tile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SPARSE = (
    "sparse wgmma (wgmma.mma_async.sp) is not in the catalogue: its A is half as wide and comes "
    "with metadata; all entries are of dense wgmma"
)
ABSENT = {
    **dict.fromkeys(("wgmma.sp", "wgmma.A.sp", "wgmma.D.sp"), _SPARSE),
    "wgmma.B": "a wgmma never has B in registers: it reads B from shared memory, where it is wgmma.smem",
    "wgmma.mma_async": "the catalogue has the operands of wgmma.mma_async: wgmma.D and wgmma.A in registers, "
    "wgmma.smem in shared memory, and what goes together as wgmma.shapes",
    "wgmma.C": "a wgmma has no C of its own: it adds to D, which is wgmma.D",
}
"""Names that are left out, and why."""

_ACCUMULATORS = tuple(sorted({name for row in INPUTS.values() for name in row.accumulators}))


# -- parameters ------------------------------------------------------------------------------------


def _dtype(given: str) -> str:
    return DType.of(given).name


def _mode(given: str) -> str:
    return Mode.of(given).name


INPUT = Parameter("dtype", "the type of A's and B's elements", legal=tuple(INPUTS), normal=_dtype)
ANY = Parameter("dtype", "the type of an element", rule="any whose bits divide 128", normal=_dtype)
MODE = Parameter("mode", "the swizzle mode", legal=tuple(MODES), normal=_mode)
MAJOR = Parameter("major", "the direction in which neighbours are contiguous", legal=MAJORS)


# -- what is built ---------------------------------------------------------------------------------


def _a(dtype: str) -> Built:
    layout = a_fragment(dtype)
    row = Input.of(dtype)
    facts = {"instruction": f"m64nNk{row.k}", **registers_of(layout, row.dtype, "a")}
    return Built(layout, facts, row.dtype, "a")


def _d(dtype: str, n: int) -> Built:
    layout = d_fragment(dtype, n)
    inputs = [row for row in INPUTS.values() if dtype in row.accumulators and n in row.n]
    facts = {
        "instructions": [f"m64n{n}k{k}" for k in sorted({row.k for row in inputs})],
        "inputs": [row.name for row in inputs],
        **registers_of(layout, DType.of(dtype), "d"),
    }
    return Built(layout, facts, DType.of(dtype), "d")


def _atom(mode: str, major: str, dtype: str) -> Built:
    chosen, element = Mode.of(mode), DType.of(dtype)
    layout = atom(mode, major, dtype)
    across = (chosen.chunks, ROWS)
    facts = {
        "dtype": element.name,
        "chunks": list(across if major == "mn" else reversed(across)),
        "bytes": ROWS * chosen.width,
        "alignment": chosen.period,
        "byte_swizzle": str(chosen.swizzle) if chosen.bits else None,
    }
    known = INPUTS.get(element.name)
    return Built(layout, facts, element, measurable=known is not None and major in known.majors)


def _smem(operand: str, major: str, mode: str, dtype: str, rows: int, k: int, order: str) -> Built:
    row, chosen = Input.of(dtype), Mode.of(mode)
    row.check_major(major)
    layout = tile(mode, major, dtype, rows, k, order)
    _check_whole(operand, row, rows, k)
    deep = extents(chosen, major, row.dtype)
    many = (rows // deep[0], k // deep[1])
    strides = {}
    for each in ORDERS:
        far = spacing(chosen, major, row.dtype, rows, k, each)
        down, across = (step if count > 1 else None for step, count in zip(far, many, strict=True))
        strides[each] = leading_and_stride(chosen, major, down, across)
    lbo, sbo = strides[order]
    other = next(each for each in ORDERS if each != order)
    facts: dict[str, Any] = {
        "dtype": row.name,
        "atom": list(deep),
        "atoms": list(many),
        "lbo": lbo,
        "sbo": sbo,
        "bytes": rows * k * row.dtype.bits // 8,
        "alignment": chosen.period,
        "k_steps": k // row.k,
        "meaning": {
            "lbo": _meaning(LBO_IS[major, chosen.bits > 0], lbo, major == "k" and chosen.bits > 0),
            "sbo": _meaning(SBO_IS[major, chosen.bits > 0], sbo),
        },
    }
    if strides[other] != strides[order]:
        facts["otherwise"] = {"order": other, "lbo": strides[other][0], "sbo": strides[other][1]}
    notes = _too_far(LBO=lbo, SBO=sbo)
    if facts["bytes"] > SHARED_BYTES:
        notes = (*notes, f"a block has at most {SHARED_BYTES} bytes of shared memory")
    return Built(layout, facts, row.dtype, notes=notes)


def _meaning(said: str, count: int | None, unused: bool = False) -> str:
    return said if unused or count is not None else f"{said}, and the tile has no next: any value will do"


def _check_whole(operand: str, row: Input, rows: int, k: int) -> None:
    if operand == "A" and rows % M:
        raise Refused(
            "TW603",
            f"A has {rows} rows, and every wgmma reads 64",
            witness={"operand": "A", "rows": rows},
            hint="take a multiple of 64",
        )
    if k % row.k:
        raise Refused(
            "TW603",
            f"K = {k} is no whole number of wgmmas, which multiply {row.k} of {row.name}",
            witness={"dtype": row.name, "k": k},
            hint=f"take a multiple of {row.k}",
        )


def _too_far(**counts: int | None) -> tuple[str, ...]:
    """What does not fit the 14 bits of a descriptor's field."""
    return tuple(
        f"{name} of {count} bytes does not fit the descriptor's field, which ends at {LIMIT - CHUNK}"
        for name, count in counts.items()
        if count is not None and count >= LIMIT
    )


def _canonical(mode: str, major: str, dtype: str, m: int, k: int, lbo: int | None, sbo: int | None) -> Built:
    form, element = form_of(mode, major), DType.of(dtype)
    Descriptor(lbo=lbo or 0, sbo=sbo or 0)  # refuses what its fields do not hold
    layout = canonical(mode, major, dtype, m, k, lbo, sbo)
    dense = offsets(mode, major, m)
    used = (dense[0] if lbo is None else lbo) if form.uses_lbo else None
    step = dense[1] if sbo is None else sbo
    facts = {
        "dtype": element.name,
        "form": str(form),
        "form_cute": form.cute,
        "T": CHUNK * 8 // element.bits,
        "m": m,
        "k": k,
        **_encoded(used, step),
        "as_printed": _as_printed(layout, form.mode),
    }
    known = INPUTS.get(element.name)
    return Built(
        layout,
        facts,
        element,
        notes=(*_overlap(layout), *_too_far(LBO=used, SBO=step)),
        measurable=known is not None and major in known.majors,
    )


def _encoded(lbo: int | None, sbo: int) -> dict[str, Any]:
    """LBO and SBO in bytes and as a descriptor holds them; where LBO is not used, the field is 1."""
    return {
        "lbo": lbo,
        "sbo": sbo,
        "encoded": {"lbo": 1 if lbo is None else lbo // CHUNK, "sbo": sbo // CHUNK},
    }


def _as_printed(layout: Layout, mode: Mode) -> str:
    """The layout as the document prints such: CuTe's digits in elements after a swizzle of bytes."""
    from tilewise.notation import to_cute

    plain = to_cute(layout).rpartition(" o ")[2]
    return f"{mode.swizzle} o {plain}"


def _overlap(layout: Layout) -> tuple[str, ...]:
    verdict = layout.injective
    return (f"it overlaps itself: {verdict.reason}",) if verdict.answer is False else ()


def _figure(number: int) -> Built:
    drawn = figure(number)
    facts: dict[str, Any] = {
        "figure": number,
        "caption": drawn.caption,
        "major": drawn.major,
        "mode": drawn.mode.name,
        "dtype": drawn.dtype.name,
        "taken_from": "the numbers printed beside it"
        if drawn.printed
        else "Table 38, in the figure's elements",
    }
    if drawn.printed:
        facts |= {"printed": drawn.printed, "canonical": drawn.canonical, "T": drawn.t}
        facts |= {"m": drawn.m, "k": drawn.k, "lbo": drawn.lbo, "sbo": drawn.sbo}
        facts |= {"encoded": {"lbo": drawn.lbo_encoded, "sbo": drawn.sbo_encoded}}
    known = INPUTS.get(drawn.dtype.name)
    return Built(
        drawn.layout,
        facts,
        drawn.dtype,
        notes=drawn.notes,
        source=drawn.source,
        measurable=known is not None and drawn.major in known.majors,
    )


def _shapes(dtype: str, n: int | None) -> Built:
    row = Input.of(dtype)
    if n is not None:
        row.check_n(n)
    every = range(8, 257, 8)
    facts = {
        "dtype": row.name,
        "instruction": f"m64n{'N' if n is None else n}k{row.k}",
        "m": M,
        "k": row.k,
        "n": list(row.n) if n is None else n,
        "illegal": [count for count in every if count not in row.n],
        "partners": list(row.partners),
        "accumulators": list(row.accumulators),
        "majors": list(row.majors),
    }
    return Built(None, facts, row.dtype)


# -- instances -------------------------------------------------------------------------------------

_DEEP = 1024
"""Rows and columns that are whole atoms of every mode, and whole wgmmas of every type."""


def _accumulators() -> Iterator[Mapping[str, Value]]:
    for name in _ACCUMULATORS:
        legal = {n for row in INPUTS.values() if name in row.accumulators for n in row.n}
        for n in sorted(legal):
            yield {"dtype": name, "n": n}


def _patterns() -> Iterator[Mapping[str, Value]]:
    for mode, row in product(MODES, INPUTS.values()):
        for major in row.majors:
            yield {"mode": mode, "major": major, "dtype": row.name}


def _tiles() -> Iterator[Mapping[str, Value]]:
    for operand, pattern in product(OPERANDS, _patterns()):
        yield {"operand": operand, **pattern, "rows": _DEEP, "k": _DEEP}


def _figures() -> Iterator[Mapping[str, Value]]:
    yield from ({"number": number} for number in FIGURES)


# -- the entries -----------------------------------------------------------------------------------

_EVEN = "8, 16, ..., 256; of s32 8, 16, 24, 32, 48, 64, ..., 256"
_TILE: dict[str, Value] = {
    "operand": "B",
    "major": "k",
    "mode": "128B",
    "dtype": "bf16",
    "rows": 128,
    "k": 64,
}

ENTRIES = (
    Entry(
        "wgmma.A",
        "the A operand of a wgmma in registers: which thread holds which element",
        (INPUT,),
        PTX_FRAGMENTS,
        _a,
        {"dtype": "bf16"},
        "layout fragment register warpgroup multiplicand",
    ),
    Entry(
        "wgmma.D",
        "the accumulator D of a wgmma in registers: which thread holds which element",
        (
            Parameter("dtype", "the type of D's elements", legal=_ACCUMULATORS, normal=_dtype),
            Parameter("n", "columns of D", rule=_EVEN, number=True),
        ),
        PTX_FRAGMENTS,
        _d,
        {"dtype": "f32", "n": 64},
        "layout fragment register warpgroup result C",
        _accumulators,
    ),
    Entry(
        "wgmma.smem",
        "a tile in shared memory that wgmma reads: swizzled, with LBO, SBO and alignment",
        (
            Parameter("operand", "A is [M, K], B is [N, K]", legal=OPERANDS),
            MAJOR,
            MODE,
            INPUT,
            Parameter("rows", "rows of the tile: M of A, N of B", rule="whole atoms; of A 64s", number=True),
            Parameter("k", "columns of the tile, along K", rule="whole atoms and whole wgmmas", number=True),
            Parameter("order", "the direction in which atoms follow one another", legal=ORDERS, default="mn"),
        ),
        PTX_STRIDES,
        _smem,
        _TILE,
        "layout shared memory leading stride dimension byte offset descriptor swizzle",
        _tiles,
    ),
    Entry(
        "wgmma.atom",
        "a swizzle atom of Table 38: the smallest block that repeats, [rows, K]",
        (MODE, MAJOR, ANY),
        PTX_ATOMS,
        _atom,
        {"mode": "128B", "major": "k", "dtype": "bf16"},
        "layout shared memory core matrix",
        _patterns,
    ),
    Entry(
        "wgmma.canonical",
        "a canonical layout, with symbols and with numbers, in both notations",
        (
            MODE,
            MAJOR,
            ANY,
            Parameter("m", "patterns along the rows", rule="1 or more", default=2, number=True),
            Parameter("k", "patterns along K", rule="1 or more", default=2, number=True),
            Parameter(
                "lbo", "the leading dimension byte offset", rule="bytes; dense", optional=True, number=True
            ),
            Parameter(
                "sbo", "the stride dimension byte offset", rule="bytes; dense", optional=True, number=True
            ),
        ),
        PTX_CANONICAL,
        _canonical,
        {"mode": "64B", "major": "mn", "dtype": "bf16"},
        "layout shared memory CuTe T LBO SBO",
        _patterns,
    ),
    Entry(
        "wgmma.figure",
        "figures 156 to 170 of the PTX manual, with the numbers printed beside them",
        (
            Parameter(
                "number", "the number of the figure", rule=f"{min(FIGURES)} to {max(FIGURES)}", number=True
            ),
        ),
        PTX_CANONICAL,
        _figure,
        {"number": 170},
        "layout shared memory example",
        _figures,
    ),
    Entry(
        "wgmma.shapes",
        "which wgmma there are: K, the legal N, majors and accumulators of a type",
        (
            INPUT,
            Parameter("n", "asks whether this N is legal", rule="a number", optional=True, number=True),
        ),
        PTX_SHAPES,
        _shapes,
        {"dtype": "s8"},
        "instructions types illegal",
    ),
)
