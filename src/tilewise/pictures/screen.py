"""All there is to say of a layout on one screen: what it is, what it costs, what takes it, what to change.

formula, prose   the map as arithmetic, and in a sentence
corner           its first elements, coloured by banks
page             all of it as lines for a terminal
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace

from tilewise.check.access.access import MOST_LISTED
from tilewise.check.banks import conflicts
from tilewise.check.engines import Taken, engines_of
from tilewise.check.swizzling import PROOFS, choose
from tilewise.core.axes import STORAGE
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.layout import Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import extents_of
from tilewise.hardware.catalog.sheet import in_cute
from tilewise.pictures.corner import chunks_of, corner_of
from tilewise.pictures.grid import Grid
from tilewise.pictures.prose import facts_of, formulas_of, prose_of
from tilewise.pictures.registers import Holder, holders_of, known_as

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


FREE = "no conflicts"

MOST = 1 << 15
"""So many elements of a tile are searched a layout for."""

LISTED = 1 << 19
"""The most addresses listed for a natural access that no closed form answers: half a second of work."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of an access of a tile."""

    access: str
    wavefronts: int | None = None
    """None where no instruction makes the access."""
    ideal: int | None = None
    ways: int | None = None
    said: str = ""
    instead: bool = False
    """True for an access that stands in for a wider one, which no instruction makes."""
    lanes: int | None = None
    """Lanes that ask in each request."""
    idle: int = 0
    """Lanes of a warp that ask for nothing."""


@dataclass(frozen=True, slots=True)
class Change:
    """A better layout, and what it is better for."""

    layout: Layout
    serves: tuple[str, ...]
    """Engines, and banks."""
    said: tuple[str, ...]


@dataclass(frozen=True)
class Screen:
    """The facts of a layout that its screen shows."""

    layout: Layout
    dtype: DType | None
    sentence: str
    formulas: tuple[str, ...]
    canonical: str
    cute: str | None
    facts: tuple[str, ...]
    corner: Grid = field(repr=False)
    chunks: Grid | None = field(repr=False)
    entries: tuple[str, ...]
    """Calls of the catalogue that are this map, of registers."""
    holders: tuple[Holder, ...]
    """The elements that the first lanes hold, of registers."""
    accesses: tuple[Cost, ...]
    engines: tuple[Taken, ...]
    changes: tuple[Change, ...]
    verdict: str
    """The sentence that stands where no change is better."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "layout": str(self.layout),
            "dtype": None if self.dtype is None else self.dtype.name,
            "sentence": self.sentence,
            "formulas": self.formulas,
            "text": {"canonical": self.canonical, "cute": self.cute},
            "facts": self.facts,
            "corner": asdict(self.corner),
            "chunks": None if self.chunks is None else asdict(self.chunks),
            "entries": self.entries,
            "holders": [asdict(holder) for holder in self.holders],
            "accesses": [asdict(cost) for cost in self.accesses],
            "engines": [_engine(taken) for taken in self.engines],
            "changes": [
                {"layout": str(change.layout), "serves": change.serves, "said": change.said}
                for change in self.changes
            ],
            "verdict": self.verdict,
        }


def _engine(taken: Taken) -> dict[str, Any]:
    return {
        "engine": taken.engine,
        "legal": taken.legal,
        "said": taken.said,
        "hint": taken.hint,
        "descriptor": None if taken.descriptor is None else f"{taken.descriptor:#018x}",
        "nearest": None if taken.near is None else str(taken.near.layout),
    }


def screen_of(
    layout: Layout, dtype: DType | str | None = None, accesses: Sequence[str] = (), base: int = 0
) -> Screen:
    """Return the screen of a layout; with the type of an element it has banks and engines.

    `accesses` take the place of the natural ones, as `tilewise.check.access` spells them.

    >>> from tilewise import S, Swizzle
    >>> screen = screen_of(Swizzle(3, 3, 3) @ S[(128, 64) : (64, 1)], "bf16")
    >>> [(cost.access, cost.ways) for cost in screen.accesses]
    [('row:16B', 1), ('col:16B', 1), ('col:2B', 4), ('ldmatrix.x4', 1), ('tma', 1)]
    >>> all(taken.legal for taken in screen.engines)
    True
    """
    element = None if dtype is None else DType.of(dtype)
    if accesses and (element is None or not is_tile(layout)):
        missing = "needs --dtype" if element is None else "is of a tile of shared memory"
        raise LayoutError(
            "TW401", f"--access {missing}", hint="such as --dtype bf16, of a layout [rows, columns]"
        )
    costs: list[Cost] = []
    engines: list[Taken] = []
    changes: tuple[Change, ...] = ()
    verdict = ""
    if element is not None and is_tile(layout):
        engines = list(engines_of(layout, element, base))
        costs = [cost_of(layout, element, access, base) for access in accesses]
        costs = costs or [*natural_costs(layout, element, any(taken.rows for taken in engines), base)]
        changes, verdict = changes_of(layout, element, costs, engines)
    return Screen(
        layout,
        element,
        prose_of(layout, element),
        formulas_of(layout),
        str(layout.canonical()),
        in_cute(layout),
        tuple(facts_of(layout, element)),
        corner_of(layout, element, base),
        None if element is None else chunks_of(layout, element, base),
        known_as(layout),
        tuple(holders_of(layout)),
        tuple(costs),
        tuple(engines),
        changes,
        verdict,
    )


def is_tile(layout: Layout) -> bool:
    """Return whether it can be a tile of shared memory: two modes, one axis of storage that holds no
    registers.
    """
    axes = layout.axes
    memory = len(axes) == 1 and axes[0].kind == STORAGE and axes[0].name not in ("reg", "TCol")
    return memory and len(extents_of(layout.shape)) == 2


# -- banks -------------------------------------------------------------------------------------------


def natural(layout: Layout, dtype: DType, by_tma: bool = False) -> tuple[str, ...]:
    """Return the accesses that most tiles meet: rows, columns, matrices, and TMA's where it writes row by
    row.

    >>> from tilewise import S
    >>> natural(S[(64, 64) : (64, 1)], DType.of("bf16"), by_tma=True)
    ('row:16B', 'col:16B', 'col:2B', 'ldmatrix.x4', 'tma')
    """
    each = f"{max(1, dtype.bits // 8)}B"
    lines = (f"row:{each}", f"col:{each}") if _column_major(layout) else ("row:16B", "col:16B", f"col:{each}")
    return (*dict.fromkeys(lines), "ldmatrix.x4", *(["tma"] if by_tma else []))


def natural_costs(layout: Layout, dtype: DType, by_tma: bool = False, base: int = 0) -> Iterator[Cost]:
    """Yield the costs of natural accesses; narrow rows stand beside wide ones that no instruction makes."""
    accesses = natural(layout, dtype, by_tma)
    each = f"row:{max(1, dtype.bits // 8)}B"
    for access in accesses:
        try:
            cost = cost_of(layout, dtype, access, base, LISTED)
        except NotDecided:
            raise
        except LayoutError as no:  # the tile is such that nothing of the kind can be asked, or is too large
            listed = no.code == "TW301"
            cost = Cost(
                access, said=f"not counted here: {no.message}; --access counts more" if listed else no.message
            )
        yield cost
        if access == "row:16B" and cost.wavefronts is None and each not in accesses:
            with suppress(LayoutError):
                yield replace(cost_of(layout, dtype, each, base, LISTED), instead=True)


def _column_major(layout: Layout) -> bool:
    """Return whether the first step down is to the neighbour in memory, and that along is not."""
    layout = by_coordinates(layout)
    rows, columns = extents_of(layout.shape)
    start, down, along = (layout.points(flat)[0][0] for flat in (0, columns * (rows > 1), int(columns > 1)))
    return down - start == 1 != along - start


def cost_of(layout: Layout, dtype: DType, access: str, base: int = 0, most: int = MOST_LISTED) -> Cost:
    """Return the cost of an access; of one that no instruction makes it has the reason.

    refused  TW301 one for which more than `most` addresses would be computed one by one
    """
    try:
        found = conflicts(layout, access, dtype=dtype, base=base, most=most)
    except Refused as no:
        return Cost(access, said=no.reason)
    said = FREE if found.ways <= 1 else f"{found.ways} ways"
    own = found.access
    return Cost(own.name, found.wavefronts, found.ideal, found.ways, said, lanes=own.lanes, idle=own.idle)


# -- what to change ----------------------------------------------------------------------------------


def changes_of(
    layout: Layout, dtype: DType, costs: Sequence[Cost], engines: Sequence[Taken]
) -> tuple[tuple[Change, ...], str]:
    """Return the layouts that serve better, each once, and a sentence where no layout does.

    The nearest ones of the engines that do not take this one, and the one with the fewest wavefronts for all
    accesses together.
    """
    better: dict[Layout, tuple[list[str], list[str]]] = {}
    for taken in engines:
        if taken.near is not None:
            serves, said = better.setdefault(taken.near.layout, ([], []))
            serves.append(taken.engine)
            said += [] if said else [taken.near.message]
    found = _fewer_wavefronts(layout, dtype, costs)
    verdict = "" if found is None else found.said[0]
    if found is not None and found.layout != layout:
        serves, said = better.setdefault(found.layout, ([], []))
        serves += found.serves
        said += found.said
    if better:
        return tuple(Change(near, tuple(serves), tuple(said)) for near, (serves, said) in better.items()), ""
    if not verdict and all(taken.legal for taken in engines):
        verdict = "no access has conflicts, and every engine takes the tile"
    return (), verdict


def _fewer_wavefronts(layout: Layout, dtype: DType, costs: Sequence[Cost]) -> Change | None:
    """Return the layout with the fewest wavefronts for all accesses together, or this one where none has
    fewer.

    None where nothing conflicts, or no layout was found.
    """
    asked = [cost for cost in costs if cost.access != "tma" and not cost.instead]
    if layout.size > MOST or all(cost.said == FREE for cost in asked):
        return None
    names = [cost.access for cost in asked]
    try:
        found = choose(layout, names, dtype=dtype)
    except LayoutError:
        return None
    now = sum(cost.wavefronts or 0 for cost in asked)
    better = found.cost < now or any(cost.wavefronts is None for cost in asked)
    here = f", {now} now" if better and all(cost.wavefronts for cost in asked) else ""
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    said = f"{found.cost} wavefronts for {listed} together, ideal {found.ideal}{here}"
    return Change(found.best.layout if better else layout, ("banks",), (f"{said}; {PROOFS[found.proof]}",))
