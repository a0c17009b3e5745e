"""Plans for all shapes of a class: sizes are names, and one kernel takes their values as arguments.

The tile is chosen for large typical values. Facts about the names have to show that it fits all others: where
a tile takes vectors of 16 bytes, rows begin at multiples of 16 for all values. The kernel's text has a word
for each number that varies, such as `extent0` or `read1`. Its first lines compute these from the arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, permutations
from math import gcd, isqrt, prod
from typing import Any, cast

from tilewise.codegen.names import checked
from tilewise.codegen.parts.template import check_free
from tilewise.core.errors import LayoutError, NotDecided
from tilewise.core.integers import as_int
from tilewise.core.known import NOTHING, NameFacts, with_all
from tilewise.core.layout import Layout
from tilewise.core.polynomials import (
    Condition,
    Polynomial,
    Symbol,
    effort_now,
    facts_now,
    given,
    is_named,
    is_positive,
    is_same,
    is_whole,
    outside,
    replaced,
    rooted,
    symbol,
    valued,
)
from tilewise.hardware.limits import BLOCKS
from tilewise.hardware.memory.sectors import SECTOR
from tilewise.moves.kernels.spelling import INT, NAME, NUMBERS
from tilewise.moves.kernels.tile_kernel import tile_kernel
from tilewise.moves.memory import Plan, memory_plan
from tilewise.moves.pairs.digits import sides_of, simplest
from tilewise.moves.pairs.fills import spelled
from tilewise.moves.pairs.pair import Digit, Pair, pair_of
from tilewise.moves.tiles.aims import MIDDLE, MIDDLE_WHOLE, SMALL
from tilewise.moves.tiles.tile import VECTOR, Tile
from tilewise.moves.tiles.tiling import ALIGNED
from tilewise.moves.types import given_type
from tilewise.moves.ways import Bulk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.dtypes import DType
    from tilewise.core.polynomials import Facts, Quantity

TYPICAL = (SMALL // 4, MIDDLE // 2, 4 * MIDDLE_WHOLE)
"""Bytes of typical tensors: a small one, one of middle size, and a large one, which have different tiles."""

LIMITS = (SMALL, MIDDLE_WHOLE)
"""Bytes from which on a tensor is no small one, and from which on it is a large one."""

DIVISORS = (1024, 512, 256, 128, 64, 32, 16, 8, 4, 2)
"""Divisors of a number that its word in the kernel's text keeps."""

WHOLE = 128
"""Typical values lack little to a multiple of this, so that tiles of such extents stay as they are."""
STEP, LEAST_STEP, MOST_STEP = 1.25, 16, 72
"""Typical values grow by this factor, from 35 on, to 7 million."""
FOUR_AT_A_TIME, THREE_AT_A_TIME = 512, 64 * 1024
"""The threads of a block of which a multiprocessor runs four, and shared memory with which it runs three."""
_CALLED, _SIZES, _HEAD = "$called", "$sizes", "$head"
_HINT = "give the names values: --let M=4096"


@dataclass(frozen=True, repr=False)
class ShapesPlan:
    """A plan between two layouts of memory with names in them, for all values that the facts admit.

    >>> from tilewise import S, name
    >>> m, n = name("M", multiple=8, least=8), name("N", multiple=8, least=8)
    >>> turned = shapes_plan(S[m, n], S[(m, n) : (1, m)], "bf16")
    >>> turned.names, turned.kind, turned.blocks_of({"M": 64, "N": 256})
    (('M', 'N'), 'tile', 2)
    """

    layouts: tuple[Layout, Layout]
    dtype: DType
    device: str
    aligned: int
    facts: Facts = field(compare=False)
    typical: Plan
    """The plan of typical values."""
    way: Tile | Bulk
    """The tile of the typical plan, or the bytes that stay together, in names."""
    sizes: tuple[Quantity, Quantity]
    """The bytes of the source and of the target."""
    fills: bool
    """True if the target has places that no element takes."""
    size: int
    """The bytes of a tensor for which the tile is chosen."""
    blocks: Quantity = 0
    """The blocks of a launch."""
    limits: tuple[tuple[Quantity, int], ...] = ()
    """Numbers that the kernel counts in 32 bits, each with the most that it may be."""
    edges: tuple[tuple[Quantity, int], ...] = ()
    """Extents that vary, each with that of a tile: where no tile is cut, the first is a multiple."""
    text: str = field(default="", compare=False)

    checked, fill_from = False, 0

    @property
    def source(self) -> Layout:
        """Return the layout from which elements move."""
        return self.layouts[0]

    @property
    def target(self) -> Layout:
        """Return the layout to which elements move."""
        return self.layouts[1]

    @property
    def fill(self) -> bytes:
        """Return the bytes of an element for places that no element takes."""
        return self.typical.fill

    @property
    def launch(self) -> tuple[Quantity, int, int]:
        """Return the blocks, in names, the threads of a block, and the bytes of shared memory."""
        return self.blocks, self.way.threads, self.way.shared_bytes

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the layouts, and of facts on these, in the order of the kernel's arguments."""
        numbers = [rooted(number)[0] for layout in self.layouts for number in layout.named_numbers]
        found = {own.name for number in numbers if isinstance(number, Polynomial) for own in number.symbols}
        for _ in self.facts.meanings:
            found |= {own for fact, _ in self.facts.said if fact.names & found for own in fact.names}
        return tuple(own for own in self.facts.meanings if own in found)

    @property
    def conditions(self) -> list[tuple[Condition, bool]]:
        """Return all facts about the names, with those that go without saying: names are 0 or more."""
        said = [(fact, truth) for fact, truth in self.facts.said if fact.names & {*self.names}]
        plain = {(fact.kind, str(fact.over)) for fact, truth in said if truth}
        for own in self.names:
            low, _ = self.facts.reach_of(self.facts.meanings[own])
            if low == 0 and (">=", own) not in plain:
                said.append((Condition(">=", symbol(Symbol(own))), True))
        return said

    @property
    def kind(self) -> str:
        """Return `tile`: by shared memory; `copy`: all together; or `view`: nothing moves."""
        return "view" if self.way.stays and not self.fills else self.way.kind

    @property
    def kernel(self) -> str:
        """Return the source of the kernel, CUDA C++; empty if a copy of memory is enough."""
        return self.code()

    def code(self, called: str = NAME) -> str:
        """Return the kernel under that name."""
        return self.text.replace(_CALLED, checked(called, "a kernel"))

    @property
    def where(self) -> str:
        """Return the facts in words."""
        return ", ".join(condition.text(truth) for condition, truth in self.conditions)

    @staticmethod
    def size_class(size: int) -> int:
        """Return 0 for a tensor of few bytes, 1 for one of middle size, 2 for a large one."""
        return sum(size >= most for most in LIMITS)

    def sized(self, size_class: int) -> ShapesPlan:
        """Return the plan whose tile is for tensors of that size."""
        return self._again(self.facts, TYPICAL[size_class])

    def _again(self, facts: Facts, size: int) -> ShapesPlan:
        with given(facts):
            return shapes_plan(
                *self.layouts,
                self.dtype,
                device=self.device,
                fill=self.fill,
                aligned=self.aligned,
                size=size,
            )

    @property
    def of_whole_tiles(self) -> ShapesPlan | None:
        """Return the plan for the shapes that whole tiles fill, or None if the facts leave no such one."""
        facts: NameFacts | None = cast(NameFacts, self.facts)
        for extent, by in self.edges:
            facts = facts and facts.with_fact(Condition("%", extent, by))
        try:
            return None if facts is None else self._again(facts, self.size)
        except NotDecided:
            return None

    # -- for values --------------------------------------------------------------------------------

    def of(self, values: Mapping[str, int]) -> Plan:
        """Return the plan for values of the names; refuse values that the facts do not admit."""
        values = self.admitted(values)
        source, target = (layout.with_numbers(lambda own: valued(own, values)) for layout in self.layouts)
        return memory_plan(
            source,
            target,
            self.dtype,
            device=self.device,
            fill=self.fill,
            aligned=self.aligned,
        )

    def admitted(self, values: Mapping[str, int]) -> dict[str, int]:
        """Return values of the names; refuse those that are not one for each, or that a fact excludes."""
        if {*values} != {*self.names}:
            raise LayoutError(
                "TW007",
                f"the names are {', '.join(self.names)}, and {', '.join(values) or 'none'} have values",
                hint="one for each: {" + ", ".join(f'"{own}": 4096' for own in self.names) + "}",
            )
        found = {own: as_int(values[own], own) for own in self.names}
        for condition, truth in self.conditions:
            if condition.holds(found) is not truth:
                given_ = ", ".join(f"{own} = {found[own]}" for own in sorted(condition.names))
                raise LayoutError(
                    "TW007",
                    f"the plan is for {condition.text(truth)}, and {given_}",
                    hint="a plan without names, of these values, has no such fact",
                )
        return found

    def blocks_of(self, values: Mapping[str, int]) -> int:
        """Return the blocks of a launch for values."""
        return valued(self.blocks, values)

    def takes(self, values: Mapping[str, int]) -> bool:
        """Return True if the kernel counts as far as these values need; beyond, each has its own kernel."""
        small = all(valued(number, values) <= most for number, most in self.limits)
        return small and self.blocks_of(values) <= BLOCKS

    def spare_of(self, own: Plan) -> int:
        """Return the bytes of shared memory that a launch takes beyond the tile's for the shape of a plan.

        With them a multiprocessor has three blocks at a time, and four without. Three are faster where the
        target's runs of bytes begin between sectors (docs/reference/move-figures.md).
        """
        way = own.way
        if not isinstance(way, Tile) or way.unit > 1 or self.way.threads != FOUR_AT_A_TIME:
            return 0
        between = any(digit.write % SECTOR for i, digit in enumerate(way.digits) if i not in way.write_run)
        return max(0, THREE_AT_A_TIME - self.way.shared_bytes) if between else 0

    def fits(self, values: Mapping[str, int]) -> bool:
        """Return True if whole tiles fill the shape of these values."""
        return all(valued(extent, values) % by == 0 for extent, by in self.edges)

    # -- what it says ------------------------------------------------------------------------------

    @property
    def steps(self) -> list[str]:
        """Return the plan in sentences."""
        return list(self._steps())

    def _steps(self) -> Iterator[str]:
        if self.fills:
            value = spelled(self.fill, self.dtype)
            yield f"fill the target with {value}: it has places that no element takes"
        if self.kind == "copy":
            way = self.way
            assert isinstance(way, Bulk)
            yield f"copy {way.bytes} bytes from byte {way.read} to byte {way.write}, all together"
            return
        for step in self.typical.steps:
            if not step.startswith("fill"):
                yield step.replace(f"{self.typical.launch[0]} blocks", f"{self.blocks} blocks")

    def data(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        blocks, threads, shared = self.launch
        return {
            "class": self.kind,
            "kernel": {"view": "none", "copy": "memory copy"}.get(self.kind, self.kind),
            "names": list(self.names),
            "where": [condition.text(truth) for condition, truth in self.conditions],
            "tile": self.way.named_extents,
            "vector": self.typical.vector,
            "swizzle": self.way.swizzle,
            "blocks": str(blocks) if is_named(blocks) else blocks,
            "threads": threads,
            "shared_bytes": shared,
            "steps": self.steps,
            "source": str(self.layouts[0]),
            "target": str(self.layouts[1]),
            "dtype": str(self.dtype),
            "device": self.device,
        }

    def __str__(self) -> str:
        ways = {"tile": "one kernel", "copy": "one copy of memory", "view": "nothing moves"}
        head = f"{self.kind}: {ways[self.kind]}, for all {', '.join(self.names)} with {self.where}"
        return "\n".join([head, *(f"  {number}  {step}" for number, step in enumerate(self.steps, 1))])

    def __repr__(self) -> str:
        return f"<ShapesPlan {self.kind}: {self.dtype} from {self.layouts[0]} to {self.layouts[1]}>"


def shapes_plan(
    source: Layout,
    target: Layout,
    dtype: DType | str | None,
    *,
    shape: Any = None,
    device: str = "h200",
    fill: bytes | float = 0,
    aligned: int = ALIGNED,
    checked: bool | None = None,
    size: int = TYPICAL[-1],
) -> ShapesPlan:
    """Return the plan for all values of the names in two layouts of memory; for the options see `plan`.

    Its tile is the one for tensors of about `size` bytes, or of as many as the facts admit.

    not decided  TW303 where the facts do not tell how digits of the two meet, that elements do not meet, or
                 where rows begin; and for moves that take no tile, as those of elements of 4 bits, for
                 boxes, and for kernels that test their accesses
    """
    if shape is not None or checked:
        option = "takes no box" if shape is not None else "tests no accesses"
        raise NotDecided(f"a kernel for all values {option}", hint=_HINT)
    element = given_type(dtype)
    said = _with_extents(facts_now([*source.named_numbers, *target.named_numbers]), (source, target), 1)
    facts = _with_extents(said, (source, target), 2)  # what is decided so holds for 1 as well
    with given(facts, effort_now()):
        before, after = source.with_numbers(facts.now), target.with_numbers(facts.now)
        pair = simplest(pair_of(before, after, element), 8 * aligned)
        usual = {"device": device, "fill": fill, "aligned": aligned}
        typical = _typical((source, target), element, pair, facts, size, usual)
        read, written = (-(-side.size * pair.bits // 8) for side in (pair.source, pair.target))
        made = ShapesPlan(
            layouts=(source, target),
            dtype=element,
            device=device,
            aligned=aligned,
            facts=said,
            typical=typical,
            way=_way(typical, pair),
            sizes=(read, written),
            fills=not is_same(after.size * element.bits, written * 8),
            size=size,
        )
        way = made.way
        if isinstance(way, Bulk):
            return made
        return replace(
            made,
            blocks=_blocks(way, pair),
            limits=_limits(way, pair),
            edges=tuple(
                (own.extent, way.extents[i])
                for i, own in enumerate(pair.digits or ())
                if is_named(own.extent) and way.extents[i] > 1
            ),
            text=_text(way, pair, typical, made.names),
        )


def _with_extents(facts: Facts, layouts: tuple[Layout, Layout], least: int) -> Facts:
    """Return the facts with a least value for each extent that varies, unless the facts give it one value."""
    known = cast(NameFacts, facts)
    for extent in {str(it.extent): it.extent for layout in layouts for it in layout.shard}.values():
        more = known.with_fact(Condition(">=", extent - least)) if is_named(extent) else None
        if more is not None and more.meanings == known.meanings:
            known = more
    return known


def _way(typical: Plan, pair: Pair) -> Tile | Bulk:
    """Return the way for all values, in names; refuse one that is not that of all."""
    if isinstance(typical.way, Tile):
        _refuse_others(typical.way, pair)
        return typical.way
    digits, unit = pair.digits or (), pair.bits // 8
    if len(digits) > 1 or not all(is_same(own.read, 1) and is_same(own.write, 1) for own in digits):
        raise NotDecided("elements stay together for some values, and not for others", hint=_HINT)
    together: Any = prod(own.extent for own in digits) * unit
    return Bulk(pair.source.start * unit, pair.target.start * unit, together)


# -- typical values --------------------------------------------------------------------------------


def _typical(
    layouts: tuple[Layout, Layout],
    element: DType,
    pair: Pair,
    facts: Facts,
    size: int,
    usual: dict[str, Any],
) -> Plan:
    """Return the plan of typical values; refuse a class whose digits or ways these do not stand for."""
    values = _typical_values(facts, lambda names: valued(layouts[0].size, names) * element.bits // 8 >= size)
    names = {own: _number(value, values) for own, value in facts.meanings.items()}
    source, target = (layout.with_numbers(lambda own: valued(own, names)) for layout in layouts)
    plan = memory_plan(source, target, element, **usual)
    if element.bits < 8 or not isinstance(plan.way, Tile | Bulk):
        raise NotDecided("this move takes no tile: it has no kernel for all values", hint=_HINT)
    if isinstance(plan.way, Tile):
        parts = [(own.extent, own.read, own.write) for own in pair.digits or ()]
        typical = [(own.extent, own.read, own.write) for own in plan.way.digits]
        if [tuple(_number(part, values) for part in own) for own in parts] != typical:
            raise NotDecided("values of the names differ in how the digits of both layouts meet", hint=_HINT)
    return plan


def _typical_values(facts: Facts, is_enough: Callable[[dict[str, int]], bool]) -> dict[str, int]:
    """Return values of the symbols that all facts admit: primes, which have no divisor that others lack."""
    meant = [value for value in facts.meanings.values() if isinstance(value, Polynomial)]
    symbols = sorted({own for value in meant for own in value.symbols}, key=str)
    found: dict[str, int] | None = None
    for step in range(LEAST_STEP, MOST_STEP):
        about = int(STEP**step)
        for order in permutations(range(len(symbols))):
            values = {}
            for own, place in zip(symbols, order, strict=True):
                low, high = facts.bounds_of(own)
                least = max(low + 1, about // own.by) + 2 * place
                values[own.key] = min(high, _prime(least, WHOLE // gcd(own.by, WHOLE)))
            names = {own: _number(value, values) for own, value in facts.meanings.items()}
            if all(condition.holds(names) is truth for condition, truth in facts.said):
                found = values
                break
        if found is not None and is_enough(names):
            break
    if found is None:
        raise NotDecided("no typical values were found that all facts admit", hint=_HINT)
    return found


def _prime(least: int, step: int) -> int:
    """Return the first prime from a number on that lacks 1 to a multiple of `step`.

    >>> _prime(24, 8), _prime(32, 8)
    (31, 47)
    """
    first = least + -(least + 1) % step
    return next(own for own in count(first, step) if all(own % by for by in range(2, isqrt(own) + 1)))


def _number(value: Quantity, values: Mapping[str, int]) -> int:
    return cast(int, replaced(value, lambda own: values[own.key]))


# -- the tile, for all values ----------------------------------------------------------------------


def _refuse_others(way: Tile, pair: Pair) -> None:
    """Refuse a tile whose vectors do not begin at multiples of 16 bytes for all values, or that takes all of
    a digit that varies."""
    shifts = way.read_shift, way.write_shift
    for run, shift, (side, step) in zip((way.read_run, way.write_run), shifts, sides_of(pair), strict=True):
        begins = [side.start, side.outer]
        for i, own in enumerate(pair.digits or ()):
            if is_named(own.extent) and way.extents[i] >= way.digits[i].extent:
                raise NotDecided(f"a tile would take all {own.extent} elements of a digit", hint=_HINT)
            if i not in run or way.extents[i] != way.digits[i].extent:
                begins.append(getattr(own, step) * (way.extents[i] if i in run else 1))
        if step == "read" and way.halo and way.write_run[-1] in run:
            begins.append(way.halo * getattr((pair.digits or ())[way.write_run[-1]], step))
        wrong = [own for own in begins if not is_whole(own * way.unit, VECTOR)]
        if not shift and way.unit < VECTOR and wrong:
            raise NotDecided(f"{wrong[0] * way.unit} bytes may be no multiple of {VECTOR}", hint=_HINT)


def _blocks(way: Tile, pair: Pair) -> Quantity:
    """Return the number of tiles, in names."""

    def plain(value: Any) -> Any:
        over, by = rooted(value)
        return over // by

    digits = tuple(replace(own, extent=plain(own.extent)) for own in pair.digits or ())
    with outside():  # rounded up as it stands, whatever divides it
        counts = replace(way, pair=replace(pair, digits=digits), order=way.block_order).counts
    return prod([counts[i] for i in way.block_order])


def _limits(way: Tile, pair: Pair) -> tuple[tuple[Quantity, int], ...]:
    """Return the numbers that the kernel counts in 32 bits, each with the most that it may be."""
    inner = {run[-1]: prod(way.held[i] for i in run[:-1]) for run in (way.read_run, way.write_run) if run}
    found: dict[str, tuple[Quantity, int]] = {}
    for i, own in enumerate(pair.digits or ()):
        ends = (own.extent, inner.get(i, 1)), (own.read, way.held[i]), (own.write, way.held[i])
        for number, times in ends:
            most = INT // 4 // (times * way.unit)
            if is_named(number):
                _, before = found.get(str(number), (number, most))
                found[str(number)] = number, min(most, before)
            elif abs(number) > most:
                raise NotDecided(f"{number} elements of a digit are too many for 32 bits", hint=_HINT)
    return tuple(found.values())


# -- the kernel ------------------------------------------------------------------------------------


class _Words:
    """Words of the kernel's text for numbers that vary, each with its type and its meaning in names."""

    def __init__(self) -> None:
        self.meant: dict[str, tuple[str, Quantity]] = {}
        self.known = NOTHING
        """Facts of the words: least values, and known rests."""

    def word(self, called: str, value: Any, kind: str = "long long", least: int = 0) -> Any:
        """Return a number as it stands, or a word for it."""
        if not is_named(value):
            return value
        if not is_positive(value + 1 - least):
            raise NotDecided(f"{value} may be below {least}", hint="say more of its names")
        self.meant[called] = kind, value
        by, rest = next((by, value % by) for by in (*DIVISORS, 1) if not is_named(value % by))
        self.known = with_all(self.known.with_names(called), Condition(">=", symbol(Symbol(called)) - least))
        self.known = with_all(self.known, Condition("%", symbol(Symbol(called)) - rest, by))
        return symbol(Symbol(called))

    def head(self, text: str) -> list[str]:
        """Return the lines that compute the words that a text has."""
        return [
            f"const {kind} {called} = {'(int)' * (kind == 'int')}{NUMBERS.number(value)};"
            for called, (kind, value) in self.meant.items()
            if re.search(rf"\b{called}\b", text)
        ]


def _text(way: Tile, pair: Pair, typical: Plan, names: Sequence[str]) -> str:
    """Return the kernel of the tile, with words for the numbers that vary."""
    words = _Words()
    parts = [
        (
            words.word(f"extent{i}", own.extent, "int", 1),
            words.word(f"read{i}", own.read, "int"),
            words.word(f"write{i}", own.write, "int"),
        )
        for i, own in enumerate(pair.digits or ())
    ]
    ends = [
        (words.word(f"{step}_from", side.start), words.word(f"{step}_size", side.size, least=1))
        for side, step in sides_of(pair)
    ]
    now: Any = words.known.now
    digits = tuple(Digit(*map(now, own)) for own in parts)
    source, target = (
        replace(side, start=now(start), size=now(size))
        for (side, _), (start, size) in zip(sides_of(pair), ends, strict=True)
    )
    tile = replace(
        way, pair=replace(pair, digits=digits, source=source, target=target), order=way.block_order
    )
    with given(words.known):
        _refuse_unlike(way, tile)
        storage = source.size * way.unit
        text = tile_kernel(tile, storage, typical.fill, _CALLED, [_SIZES], _HEAD)
    for own in names:
        check_free(checked(own, "an argument"), text, "an argument of a kernel")
    lines = "".join(f"    {line}\n" for line in words.head(text))
    sizes = ", ".join(f"long long {own}" for own in names)
    return text.replace(_SIZES, sizes).replace(f"    {_HEAD}\n", lines)


def _refuse_unlike(way: Tile, tile: Tile) -> None:
    """Refuse a tile that lies in shared memory otherwise where its sizes are names."""
    for part in ("halo", "held", "words", "pitches", "partial", "nested", "swizzle_shift"):
        typical, own = getattr(way, part), getattr(tile, part)
        if any(map(is_named, own if isinstance(own, tuple) else [own])) or typical != own:
            raise NotDecided(
                "the facts do not tell where rows begin within 16 bytes",
                hint="say which sizes are multiples: --where 'M % 8 == 0'",
            )
