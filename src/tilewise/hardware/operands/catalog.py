"""The catalogue's facts about operands in shared memory: atoms, tiles, canonical layouts, figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.hardware.catalog.entry import Built, Entry, Parameter, Value, choice, dtype_named, entry, number
from tilewise.hardware.limits import SHARED_BYTES
from tilewise.hardware.modes import BLACKWELL, CHUNK, Mode, mode_of
from tilewise.hardware.operands.canonical import canonical, form_of, offsets
from tilewise.hardware.operands.figures import NUMBERS, figure, figures_of
from tilewise.hardware.operands.sentences import lbo_is, never_read, sbo_is
from tilewise.hardware.operands.template import LIMIT, MAJORS, check_bytes, leading_and_stride
from tilewise.hardware.operands.tiles import ORDERS, atom, extents, spacing, tile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def mode_among(modes: Mapping[str, Mode]) -> Parameter:
    """Return the parameter that is one of some swizzle modes."""
    normal: Callable[[str], str] = lambda given: mode_of(given, modes=modes).name  # noqa: E731
    return Parameter("mode", "the swizzle mode", legal=tuple(modes), normal=normal)


def one_mode(said: dict[str, Any]) -> dict[str, Any]:
    """Return values with the mode by its own name, which includes the atomicity."""
    rest = {name: value for name, value in said.items() if name != "atomicity"}
    return rest | {"mode": mode_of(said["mode"], said["atomicity"]).name}


ANY = Parameter("dtype", "the type of an element", rule="any whose bits divide 128", normal=dtype_named)
ATOMICITY = choice(
    "atomicity",
    "bytes that the swizzle keeps together: 128B with 32 is 128B_ATOM_32B",
    (16, 32),
    optional=True,
)
MAJOR = Parameter("major", "the direction in which neighbours are contiguous", legal=MAJORS)
ORDER = Parameter("order", "the direction in which atoms follow one another", legal=ORDERS, default="mn")
PATTERNS_OF_FORM = (
    number("m", "patterns along the rows", "1 or more", 2),
    number("k", "patterns along K", "1 or more", 2),
    number("lbo", "the leading dimension byte offset", "bytes; dense", optional=True),
    number("sbo", "the stride dimension byte offset", "bytes; dense", optional=True),
)


# -- builders --------------------------------------------------------------------------------------


def tile_built(
    mode: Mode, major: str, element: DType, rows: int, k: int, order: str, depth: int, name: str
) -> Built:
    """Return a tile of atoms, of elements that lie in memory as `element`, read `depth` of K at a time."""
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
            "lbo": never_read(mode, major).get("lbo")
            or _meaning(lbo_is(mode, major, None, mode.elements(element)), lbo),
            "sbo": _meaning(sbo_is(mode, major), sbo),
        },
    }
    if strides[other] != strides[order]:
        facts["otherwise"] = {"order": other, "lbo": strides[other][0], "sbo": strides[other][1]}
    notes = too_far(LBO=lbo, SBO=sbo)
    if facts["bytes"] > SHARED_BYTES:
        notes = (*notes, f"a block has at most {SHARED_BYTES} bytes of shared memory")
    return Built(layout, facts, element, notes=notes)


def _meaning(said: str, count: int | None) -> str:
    return said if count is not None else f"{said}, and the tile has no next: any value will do"


def too_far(**counts: int | None) -> tuple[str, ...]:
    """Return a note on each count that does not fit the 14 bits of a descriptor's field."""
    return tuple(
        f"{name} of {count} bytes does not fit the descriptor's field, which ends at {LIMIT - CHUNK}"
        for name, count in counts.items()
        if count is not None and count >= LIMIT
    )


_LACKING = "the document's table of canonical layouts lacks this mode: the row is that of CUTLASS"
_ALIGNED = (
    "its pattern repeats after 512 bytes; the document has 1024 for 128-byte swizzles, whatever the atom"
)


def alignment_note(mode: Mode) -> tuple[str, ...]:
    """Return a note where the pattern of a mode repeats earlier than in the document."""
    return (_ALIGNED,) * (mode.keeps != CHUNK)


@dataclass(frozen=True)
class Documented:
    """The facts of one engine's document about its operands in shared memory, for the catalogue."""

    engine: str
    table: str
    """The table of its atoms."""
    modes: Mapping[str, Mode]
    types: tuple[str, ...]
    """The types whose patterns are counted."""
    read: Callable[[Mode, str, str], bool]
    """A function: True if an instruction reads a mode, a major and a type."""

    @property
    def atomicity(self) -> bool:
        """Return True if modes differ in the bytes that they keep together."""
        return len({mode.keeps for mode in self.modes.values()}) > 1

    def patterns(self) -> Iterator[Mapping[str, Value]]:
        """Yield every mode, major and type that an instruction reads."""
        for dtype, major, mode in product(self.types, MAJORS, self.modes.values()):
            if self.read(mode, major, dtype):
                yield {"mode": mode.name, "major": major, "dtype": dtype}

    def atom(self, mode: str, major: str, dtype: str) -> Built:
        """Return a swizzle atom."""
        chosen, element = atom_mode(mode, major), DType.of(dtype)
        across = (chosen.chunks, chosen.rows)
        facts = {
            "dtype": element.name,
            "chunks": list(across if major == "mn" else reversed(across)),
            "bytes": chosen.rows * chosen.width,
            "alignment": chosen.period,
            "byte_swizzle": str(chosen.swizzle) if chosen.bits else None,
        }
        layout, known = atom(chosen, major, dtype), self.read(chosen, major, dtype)
        return Built(layout, facts, element, measurable=known, notes=alignment_note(chosen))

    def canonical(
        self, mode: str, major: str, dtype: str, m: int, k: int, lbo: int | None, sbo: int | None
    ) -> Built:
        """Return a canonical layout with numbers."""
        from tilewise.notation import to_cute

        chosen = atom_mode(mode, major)
        form, element = form_of(chosen, major), DType.of(dtype)
        for name, count in (("lbo", lbo), ("sbo", sbo)):
            check_bytes(name, count or 0)
        layout = canonical(chosen, major, dtype, m, k, lbo, sbo)
        dense = offsets(chosen, major, m)
        used = (dense[0] if lbo is None else lbo) if form.uses_lbo else None
        step = dense[1] if sbo is None else sbo
        plain, verdict = to_cute(layout).rpartition(" o ")[2], layout.injective
        facts = {
            "dtype": element.name,
            "form": str(form),
            "form_cute": form.cute,
            "T": CHUNK * 8 // element.bits,
            "m": m,
            "k": k,
            "lbo": used,
            "sbo": step,
            "encoded": {"lbo": 1 if used is None else used // CHUNK, "sbo": step // CHUNK},
            "as_printed": f"{form.mode.swizzle} o {plain}",
        }
        overlaps = (f"it overlaps itself: {verdict.reason}",) * (verdict.answer is False)
        notes = (*overlaps, *too_far(LBO=used, SBO=step), *((_LACKING,) * (chosen.keeps != CHUNK)))
        return Built(layout, facts, element, notes=notes, measurable=self.read(chosen, major, dtype))

    def figure(self, number: int) -> Built:
        """Return a figure; figures without their own numbers follow from the table of atoms."""
        drawn = figure(self.engine, number)
        where = (
            "the numbers printed beside it" if drawn.printed else f"{self.table}, in the figure's elements"
        )
        facts: dict[str, Any] = {
            "figure": drawn.number,
            "caption": drawn.caption,
            "major": drawn.major,
            "mode": drawn.mode.name,
            "dtype": drawn.dtype.name,
            "taken_from": where,
        }
        if drawn.printed:
            facts |= {
                "printed": drawn.printed,
                "canonical": form_of(drawn.mode, drawn.major).cute,
                "T": CHUNK * 8 // drawn.dtype.bits,
                **{name: getattr(drawn, name) for name in ("m", "k", "lbo", "sbo")},
                "encoded": dict(zip(("lbo", "sbo"), drawn.encoded, strict=True)),
            }
        facts |= {"atomicity": drawn.mode.keeps} if self.atomicity else {}
        known = self.read(drawn.mode, drawn.major, drawn.dtype.name)
        return Built(
            drawn.layout, facts, drawn.dtype, notes=drawn.notes, source=drawn.source, measurable=known
        )

    def entries(self, example: dict[str, Value], drawn: int) -> tuple[Entry, ...]:
        """Return the entries of its atoms, with an example, its canonical layouts and its figures."""
        pattern, more = (mode_among(self.modes), MAJOR, ANY), (ATOMICITY,) * self.atomicity
        settled = one_mode if self.atomicity else None
        numbers = NUMBERS[self.engine]
        return (
            entry(f"{self.engine}.atom", (*pattern, *more), self.atom, self.patterns, settled=settled),
            entry(
                f"{self.engine}.canonical",
                (*pattern, *PATTERNS_OF_FORM, *more),
                self.canonical,
                self.patterns,
                settled=settled,
            ),
            entry(
                f"{self.engine}.figure",
                (number("number", "the number of the figure", numbers),),
                self.figure,
                lambda: ({"number": number} for number in figures_of(self.engine)),
            ),
        )


def atom_mode(mode: str, major: str) -> Mode:
    """Return the mode of that name, or refuse one for which the document has no atom in a major."""
    chosen = BLACKWELL[mode]
    if chosen.keeps != CHUNK and major == "k":
        raise Refused(
            "TW602",
            f"there is no K-major atom of {mode}",
            witness={"mode": mode, "major": major},
            hint="take 128B, or the MN-major one",
        )
    return chosen


def check_whole(
    operand: str, dtype: str, rows: int, k: int, fewest: int, depth: int, reader: str, multiplied: str
) -> None:
    """Refuse a tile that is no whole number of instructions."""
    if operand == "A" and rows % fewest:
        raise Refused(
            "TW603",
            f"A has {rows} rows, and {reader}",
            witness={"operand": "A", "rows": rows},
            hint=f"take a multiple of {fewest}",
        )
    if k % depth:
        raise Refused(
            "TW603",
            f"K = {k} is no whole number of {multiplied}",
            witness={"dtype": dtype, "k": k},
            hint=f"take a multiple of {depth}",
        )


DEEP: dict[str, Value] = {"rows": 1024, "k": 1024}
"""Rows and columns that make whole atoms of every mode, and whole instructions of every type."""
