"""What the catalogue says of operands in shared memory: atoms, tiles, canonical layouts, figures."""

from __future__ import annotations

from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.hardware.catalog.entry import Built, Parameter
from tilewise.hardware.catalog.parameters import dtype_named
from tilewise.hardware.limits import SHARED_BYTES
from tilewise.hardware.modes import CHUNK, MODES, ROWS, Mode
from tilewise.hardware.operands.canonical import LBO_IS, SBO_IS, canonical, form_of, offsets
from tilewise.hardware.operands.figures import Figure
from tilewise.hardware.operands.template import LIMIT, MAJORS, check_bytes, leading_and_stride
from tilewise.hardware.operands.tiles import ORDERS, atom, extents, spacing, tile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _mode(given: str) -> str:
    return Mode.of(given).name


ANY = Parameter("dtype", "the type of an element", rule="any whose bits divide 128", normal=dtype_named)
MODE = Parameter("mode", "the swizzle mode", legal=tuple(MODES), normal=_mode)
MAJOR = Parameter("major", "the direction in which neighbours are contiguous", legal=MAJORS)
ORDER = Parameter("order", "the direction in which atoms follow one another", legal=ORDERS, default="mn")
PATTERNS_OF_FORM = (
    Parameter("m", "patterns along the rows", rule="1 or more", default=2, number=True),
    Parameter("k", "patterns along K", rule="1 or more", default=2, number=True),
    Parameter("lbo", "the leading dimension byte offset", rule="bytes; dense", optional=True, number=True),
    Parameter("sbo", "the stride dimension byte offset", rule="bytes; dense", optional=True, number=True),
)


# -- what is built ---------------------------------------------------------------------------------


def atom_built(mode: Mode, major: str, dtype: str, measurable: bool) -> Built:
    """A swizzle atom."""
    element = DType.of(dtype)
    across = (mode.chunks, mode.rows)
    facts = {
        "dtype": element.name,
        "chunks": list(across if major == "mn" else reversed(across)),
        "bytes": mode.rows * mode.width,
        "alignment": mode.period,
        "byte_swizzle": str(mode.swizzle) if mode.bits else None,
    }
    return Built(atom(mode, major, dtype), facts, element, measurable=measurable)


def tile_built(
    mode: Mode, major: str, element: DType, rows: int, k: int, order: str, depth: int, name: str
) -> Built:
    """A tile of atoms, of elements that lie in memory as `element`, read `depth` of K at a time."""
    layout = tile(mode, major, element, rows, k, order)
    deep = extents(mode, major, element)
    many = (rows // deep[0], k // deep[1])
    strides = {}
    for each in ORDERS:
        far = spacing(mode, major, element, rows, k, each)
        down, across = (step if count > 1 else None for step, count in zip(far, many, strict=True))
        strides[each] = leading_and_stride(mode, major, down, across)
    lbo, sbo = strides[order]
    other = next(each for each in ORDERS if each != order)
    facts: dict[str, Any] = {
        "dtype": name,
        "atom": list(deep),
        "atoms": list(many),
        "lbo": lbo,
        "sbo": sbo,
        "bytes": rows * k * element.bits // 8,
        "alignment": mode.period,
        "k_steps": k // depth,
        "meaning": {
            "lbo": _meaning(LBO_IS[major, mode.bits > 0], lbo, major == "k" and mode.bits > 0),
            "sbo": _meaning(_sbo(mode, major), sbo),
        },
    }
    if strides[other] != strides[order]:
        facts["otherwise"] = {"order": other, "lbo": strides[other][0], "sbo": strides[other][1]}
    notes = too_far(LBO=lbo, SBO=sbo)
    if facts["bytes"] > SHARED_BYTES:
        notes = (*notes, f"a block has at most {SHARED_BYTES} bytes of shared memory")
    return Built(layout, facts, element, notes=notes)


def _sbo(mode: Mode, major: str) -> str:
    """What the stride dimension byte offset is, also of atoms that are 4 deep."""
    said = SBO_IS[major, mode.bits > 0]
    return said if mode.rows == ROWS else f"from {mode.rows} columns of K to the next {mode.rows}"


def _meaning(said: str, count: int | None, unused: bool = False) -> str:
    return said if unused or count is not None else f"{said}, and the tile has no next: any value will do"


def too_far(**counts: int | None) -> tuple[str, ...]:
    """What does not fit the 14 bits of a descriptor's field."""
    return tuple(
        f"{name} of {count} bytes does not fit the descriptor's field, which ends at {LIMIT - CHUNK}"
        for name, count in counts.items()
        if count is not None and count >= LIMIT
    )


def canonical_built(
    mode: Mode,
    major: str,
    dtype: str,
    m: int,
    k: int,
    lbo: int | None,
    sbo: int | None,
    measurable: bool,
) -> Built:
    """A canonical layout with numbers."""
    form, element = form_of(mode, major), DType.of(dtype)
    for name, count in (("lbo", lbo), ("sbo", sbo)):
        check_bytes(name, count or 0)
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
    notes = (*_overlap(layout), *too_far(LBO=used, SBO=step))
    return Built(layout, facts, element, notes=notes, measurable=measurable)


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


def figure_built(drawn: Figure, atoms: str, measurable: bool) -> Built:
    """A figure; those without numbers of their own follow from the table of `atoms`."""
    facts: dict[str, Any] = {
        "figure": drawn.number,
        "caption": drawn.caption,
        "major": drawn.major,
        "mode": drawn.mode.name,
        "dtype": drawn.dtype.name,
        "taken_from": "the numbers printed beside it"
        if drawn.printed
        else f"{atoms}, in the figure's elements",
    }
    if drawn.printed:
        facts |= {"printed": drawn.printed, "canonical": drawn.canonical, "T": drawn.t}
        facts |= {"m": drawn.m, "k": drawn.k, "lbo": drawn.lbo, "sbo": drawn.sbo}
        facts |= {"encoded": {"lbo": drawn.lbo_encoded, "sbo": drawn.sbo_encoded}}
    return Built(
        drawn.layout,
        facts,
        drawn.dtype,
        notes=drawn.notes,
        source=drawn.source,
        measurable=measurable,
    )
