"""Composition: one layout after another, for layouts of either order, mode by mode, and under swizzles.

`after` composes digit by digit. A swizzle of indices becomes one of places: A o Sw = Sw' o A wherever A
sends every bit that Sw reads or flips to a bit of its own on one storage axis, in order and at one
distance. The columns of A over GF(2) show that, so all of A's digits but the slowest are powers of
two. Otherwise a map small enough to list is recognised by its values; a larger one is not decided.

B(x) = c + sum t_j x_j are indices of A, and A(B(x)) is a layout over refinements of B's digits iff it is
a sum of maps of single digits, each of which is a layout (`levels` decides both). An accepted answer is
right by construction. A refusal carries the positions that show to any reader that no such layout exists, or
with names in it the digit or the place; only where several levels might cancel does a bounded table decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import gcd, prod

from tilewise.core import orders
from tilewise.core.algebra.levels import (
    Code,
    Failure,
    Floors,
    Form,
    beginning,
    bits_of,
    broken,
    carrying,
    digits_of,
    floors,
    is_chain,
    separate,
    value_at,
    wraps,
)
from tilewise.core.algebra.modes import as_tilers, mode_layouts, modes_of
from tilewise.core.axes import m
from tilewise.core.bits import Bits, affine_map
from tilewise.core.canonical import canonical, merged_digits, merged_replica
from tilewise.core.digits import Digit, clash, in_runs, number, place_values
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.integers import as_extent, counted
from tilewise.core.layout import Iter, Layout
from tilewise.core.polynomials import is_named
from tilewise.core.shapes import Mode, leaves, refined_mode
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import ZERO, Vector, as_vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.axes import Axis
    from tilewise.core.layout import Point
    from tilewise.core.shapes import Shape


# -- digit by digit --------------------------------------------------------------------------------

_EVERY_PLACE = "every place of the inner layout is an index of the outer one"
_ELSEWHERE = "the map exists, but not over these digits: compose pieces of it (slice), or list it (table)"

MAX_LISTED = 1 << 14
"""The most values of a digit, or a box of digits, that are listed to settle cases that levels leave open."""


@dataclass(slots=True)
class Domain:
    """The reading of B's places by A: the coordinate of every axis, and A's digits behind each of them."""

    coordinate: dict[str, int]
    digits: tuple[tuple[tuple[int, Vector], ...], ...]
    flat: bool

    def index(self, vector: Vector) -> tuple[int, ...]:
        """Return a place of B as coordinates of A."""
        terms = vector.terms
        if self.flat:
            return (terms[0][1],) if len(terms) == 1 else (sum([steps for _, steps in terms]),)
        steps = [0] * len(self.digits)
        for axis, count in terms:
            if count and axis.name in self.coordinate:  # a digit of extent 1 may name any axis
                steps[self.coordinate[axis.name]] += count
        return tuple(steps)


def domain_of(outer: Layout, inner: Layout, modes: Sequence[str] | None = None) -> Domain:
    """Return the coordinates of `outer` that `inner`'s axes are: one flat index, or one axis a mode."""
    moving = set(inner.moving)
    if not (modes is None or isinstance(modes, tuple | list)):
        raise LayoutError(
            "TW107", f"modes are a list of names, not {modes!r}", hint="a tuple of tilers goes mode by mode"
        )
    if modes is None and moving and all(map(is_basis, moving)):
        modes = [f"e{i}" for i in range(len(outer.shape))]
    if modes is not None:
        names = [str(name) for name in modes]
        if len(names) != len(outer.shape) or len(set(names)) != len(names):
            raise LayoutError(
                "TW503",
                f"{counted(len(names), 'name')} for {counted(len(outer.shape), 'mode')} of A",
                hint="name every mode once",
            )
        if not moving <= set(names):
            raise Refused(
                "TW509",
                f"B moves on {' and '.join(sorted(moving))}, and the modes of A are {', '.join(names)}",
                hint="every axis that B moves on is a coordinate of one mode",
            )
        digits = tuple(tuple((it.extent, it.stride) for it in held) for _, held in modes_of(outer))
        return Domain({name: i for i, name in enumerate(names)}, digits, False)
    if len(moving) > 1:
        spelled = ", ".join(f'"{name}"' for name in sorted(moving))
        raise Refused(
            "TW509",
            f"a flat index is one number, and B moves on {' and '.join(sorted(moving))}",
            hint=f"say which mode of A each axis is a coordinate of, such as modes=({spelled})",
        )
    return Domain({}, (outer.digits,), True)


def is_basis(name: str) -> bool:
    return name[0] == "e" and name[1:].isascii() and name[1:].isdigit()


@dataclass(slots=True)
class Run:
    """Neighbouring digits of one mode that step as one: their span, the step on each coordinate."""

    extent: int
    step: tuple[int, ...]
    parts: tuple[int, ...]


def after(outer: Layout, inner: Layout, modes: Sequence[str] | None) -> Layout:
    """Return the composition with an inner layout that has no swizzle."""
    domain = domain_of(outer, inner, modes)
    copies, least = merged_replica(inner.replica) if inner.replica else ([], None)
    start = domain.index(inner.offset if least is None else inner.offset + least)
    by_mode = _runs_by_mode(inner, domain)
    runs = [run for mode in by_mode for run in mode]
    runs += [Run(it.extent, domain.index(it.stride), (it.extent,)) for it in copies]
    code = _code(domain, runs, start)
    maps = [floors([(extent, code.number(stride)) for extent, stride in digits]) for digits in domain.digits]
    question = _Question(outer, inner, domain, maps, start, runs, len(runs) - len(copies), code)
    question.check_range()
    forms = question.forms()
    shape, strides = _written(inner, by_mode, forms[: question.own] if copies else forms, code)
    replica = outer.replica
    if copies:
        moved = zip(runs[question.own :], forms[question.own :], strict=True)
        digits = [digit for run, form in moved for digit in digits_of(form, run.extent)]
        replica += tuple(Iter(extent, code.vector(stride)) for extent, stride in digits)
    base = question.value(start) if any(start) else 0
    offset = outer.offset + code.vector(base) if base else outer.offset
    if len(inner.shape) == 1 and isinstance(inner.shape[0], int) and isinstance(shape[0], tuple):
        shape = shape[0]  # a lone mode of several digits: they become modes
    return outer.with_parts(shape, strides, replica, offset)


def _runs_by_mode(inner: Layout, domain: Domain) -> list[list[Run]]:
    steps = map(domain.index, inner.strides)
    return [
        [Run(mode, next(steps), (mode,))]
        if not isinstance(mode, tuple)
        else _runs(tuple(leaves(mode)), steps)
        for mode in inner.shape
    ]


def _runs(extents: tuple[int, ...], steps: Iterator[tuple[int, ...]]) -> list[Run]:
    """Return the digits of one mode, slowest first, neighbours joined where they step as one."""
    runs: list[Run] = []
    digits = [Run(extent, next(steps), (extent,)) for extent in extents]
    for slow in reversed(digits):
        fast = runs[-1] if runs else slow
        whole = tuple(step * fast.extent for step in fast.step)
        if runs and (slow.extent == 1 or fast.extent == 1 or slow.step == whole):
            joined = slow.step if fast.extent == 1 else fast.step
            runs[-1] = Run(slow.extent * fast.extent, joined, slow.parts + fast.parts)
        else:
            runs.append(slow)
    return runs[::-1]


def _code(domain: Domain, runs: Sequence[Run], start: tuple[int, ...]) -> Code:
    """Return a code with room for every coordinate that comes up: strides of A times indices of B."""
    axes = {axis.name: axis for digits in domain.digits for _, stride in digits for axis, _ in stride.terms}
    if len(axes) < 2:
        return Code(tuple(axes.values()) or (m,), 0)
    steps = [abs(s) for digits in domain.digits for _, v in digits for _, s in v.terms]
    indices = [abs(s) for run in runs for s in run.step] + [abs(s) for s in start]
    sizes = [prod([extent for extent, _ in digits]) for digits in domain.digits]
    factors = (sum(steps), *sizes, max(indices, default=0) + 2, *(run.extent for run in runs))
    return Code(tuple(axes.values()), sum(map(bits_of, factors)) + 8)


def _written(
    inner: Layout, by_mode: list[list[Run]], forms: Sequence[Form], code: Code
) -> tuple[Shape, tuple[Vector, ...]]:
    """Return shape and strides: inner's nesting where the digits allow it, else a flat mode."""
    if len(forms) == len(inner.strides) and max(map(len, forms), default=0) < 2:
        return inner.shape, tuple([code.vector(form.get(1, 0)) for form in forms])
    shape: list[Mode] = []
    strides: list[Vector] = []
    following = iter(forms)
    for mode, runs in zip(inner.shape, by_mode, strict=True):
        parts = [part for run in runs for part in _in_parts(run, next(following))]
        digits = [digit for part in parts for digit in part]
        fitting = len(parts) == sum([len(run.parts) for run in runs])
        shape.append(refined_mode(mode, iter(parts)) if fitting else refined_mode(1, iter([digits])))
        strides += [code.vector(stride) for _, stride in digits]
    return tuple(shape), tuple(strides)


def _in_parts(run: Run, form: Form) -> list[list[Digit]]:
    """Return the digits of a form for every part of the run; all in one list if they do not fit the parts."""
    digits = digits_of(form, run.extent)
    if len(run.parts) == 1 or clash(place_values(extent for extent, _ in digits), place_values(run.parts)):
        return [digits]
    return [part or [(1, 0)] for part in in_runs(digits, run.parts)]


# -- the decision ----------------------------------------------------------------------------------


@dataclass(slots=True)
class _Question:
    """The question: is A(c + sum t_j x_j) a sum of layouts of the digits? The first `own` are no copies."""

    outer: Layout
    inner: Layout
    domain: Domain
    maps: list[Floors]
    start: tuple[int, ...]
    runs: list[Run]
    own: int
    code: Code

    def value(self, index: Sequence[int]) -> int:
        """Return A at an index, without its offset."""
        return sum([part(n) for part, n in zip(self.maps, index, strict=True)])

    def at(self, digits: Sequence[int]) -> int:
        """Return A o B at some digits."""
        index = list(self.start)
        for digit, run in zip(digits, self.runs, strict=True):
            for i, step in enumerate(run.step):
                index[i] += digit * step
        return self.value(index)

    def check_range(self) -> None:
        """Refuse where B names an index that A has not; the witness is that corner of B."""
        for i, part in enumerate(self.maps):
            low = high = self.start[i]
            for run in self.runs:
                reach = (run.extent - 1) * run.step[i]
                if reach > 0:
                    high += reach
                else:
                    low += reach
            if low < 0 or high >= part.size:
                sign = 1 if high >= part.size else -1
                corner = [run.extent - 1 if run.step[i] * sign > 0 else 0 for run in self.runs]
                asked, size = high if sign > 0 else low, part.size
                what = "A" if self.domain.flat else f"mode {i} of A"
                raise Refused(
                    "TW502",
                    f"B names index {asked}, and {what} has {size} elements",
                    witness={"index": self.flat(corner), "asked": asked, "size": size},
                    hint=_EVERY_PLACE,
                )

    def flat(self, digits: Sequence[int]) -> int:
        """Return the flat index of B with the given digits."""
        return number([run.extent for run in self.runs[: self.own]], digits)

    def forms(self) -> list[Form]:
        """Return the form of every digit, or refuse."""
        forms: list[Form] = [{} for _ in self.runs]
        failures: list[tuple[int, Failure]] = []
        for i, part in enumerate(self.maps):
            digits = [(run.extent, run.step[i]) for run in self.runs]
            failures += [(i, f) for f in separate(part, self.start[i], digits, forms)]
        if failures or max(map(len, forms), default=0) > 1:
            doubtful = {failure.digit for _, failure in failures if failure.digit is not None}
            for j, run in enumerate(self.runs):
                forms[j] = {place: w for place, w in forms[j].items() if w or place == 1}
                if not is_chain(forms[j], run.extent):
                    doubtful.add(j)
            if (failures or doubtful) and self.has_names:
                self._refuse_by_levels(forms, failures, doubtful)
            for j in sorted(doubtful):  # levels alone leave these open, since they may cancel one another
                forms[j] = self._settled_digit(j, forms[j])
            if failures:
                self._settle_carries(forms, [(i, f.place) for i, f in failures if f.digit is None])
        return forms

    @property
    def has_names(self) -> bool:
        return self.outer.has_names or self.inner.has_names

    def _refuse_by_levels(
        self, forms: list[Form], failures: list[tuple[int, Failure]], doubtful: set[int]
    ) -> None:
        """Refuse where no level can cancel the one that fails, or that parts a chain; it takes no positions.

        Steps into the multiples of p are no sum of such steps for other places. So a form whose places are no
        chain is no layout, and neither is one level that wraps unevenly beside levels that are linear.
        """
        for j in sorted(doubtful):
            uneven = [failure for _, failure in failures if failure.digit == j]
            if len(uneven) > 1 or (uneven and forms[j].keys() != {1}):
                continue
            if any(one == other for one, other in combinations(forms[j], 2)):
                continue  # the weights of one place may cancel
            whose = f"digit {j} of B" if j < self.own else "the copies of B"
            how = "wraps unevenly" if uneven else "wraps at places that are no chain"
            raise Refused("TW501", f"A along {whose} {how}, as no layout does", hint=_ELSEWHERE)
        if not doubtful and len(failures) == 1:
            ((_, carry),) = failures
            raise Refused("TW501", f"the digits of B carry in A, at place {carry.place}", hint=_ELSEWHERE)

    def _settled_digit(self, j: int, form: Form) -> Form:
        run = self.runs[j]

        def values(x: int) -> int:
            return self.value([c + x * step for c, step in zip(self.start, run.step, strict=True)])

        is_short = not is_named(run.extent) and run.extent <= MAX_LISTED
        found = None if self.has_names else broken(values, run.extent, self._telling(run, form))
        if found is None and is_short:
            reached, positions, listed = beginning([values(x) for x in range(run.extent)])
            if reached == run.extent:
                return listed
            found = (positions[1], reached) if len(positions) > 2 else (reached, run.extent)
        if found is None:
            raise NotDecided(f"whether a digit of {run.extent} is a layout was not decided within the bound")
        raise self._no_layout(j, values, *found)

    def _telling(self, run: Run, form: Form) -> set[int]:
        """Return positions along a digit that decide the gcd law: if it fails, it fails at some of them."""
        positions = set(form)
        for i, part in enumerate(self.maps):
            for place in part.places:
                if run.step[i] % place:
                    positions |= wraps(place, run.step[i], self.start[i] % place, run.extent)
        near = {m + d for m in positions for d in (-1, 0, 1)}
        near |= {run.extent - m for m in near}
        return near | {gcd(m, run.extent) for m in near}

    def _no_layout(self, j: int, values: Callable[[int], int], m: int, other: int) -> Refused:
        extent, g = self.runs[j].extent, gcd(m, other)
        steps = {p: self.code.vector(values(p) - values(p - 1)) for p in (g, m, other) if p < extent}
        shown = " and ".join(f"by {step} into position {p}" for p, step in sorted(steps.items()))
        unit = prod([run.extent for run in self.runs[j + 1 : self.own]]) if j < self.own else None
        whose = f"digit {j} of B" if j < self.own else "the copies of B"
        return Refused(
            "TW501",
            f"along {whose} (extent {extent}) A o B steps {shown}, as no layout of extent {extent} does",
            witness={"digit": j, "extent": extent, "unit": unit, "positions": (m, other)},
            hint=_ELSEWHERE,
        )

    def _settle_carries(self, forms: list[Form], levels: list[tuple[int, int]]) -> None:
        for i, place in levels:
            digits = [(run.extent, run.step[i]) for run in self.runs]
            for corner in carrying(self.maps[i], self.start[i], digits, place):
                self._check_corner(forms, corner)
        count = prod([run.extent for run in self.runs])
        if is_named(count) or count > MAX_LISTED:
            raise NotDecided("whether the digits of B carry in A was not decided within the bound")
        for box in product(*(range(run.extent) for run in self.runs)):
            self._check_corner(forms, box)

    def _check_corner(self, forms: list[Form], digits: Sequence[int]) -> None:
        """Refuse where digits together move otherwise than one by one."""
        together = self.at(digits) - self.value(self.start)
        alone = sum([value_at(form, x) for form, x in zip(forms, digits, strict=True)])
        if together != alone:
            raise Refused(
                "TW501",
                f"the digits of B carry in A: digits {tuple(digits)} together move by "
                f"{self.code.vector(together)}, one by one by {self.code.vector(alone)}",
                witness={"digits": tuple(digits), "index": self.flat(digits)},
                hint=_ELSEWHERE,
            )


# -- composition in every form ---------------------------------------------------------------------


def compose(outer: Layout, inner: Any, *more: Any, modes: Sequence[str] | None = None) -> Layout:
    """Return `outer o inner`: the layout of x -> outer(inner(x)), with inner's modes.

    `inner` places its elements at flat indices of `outer`, on one axis. With `modes`, the axes named
    there are coordinates of outer's modes, one name a mode; CuTe's e0, e1, ... are coordinates without being
    named. A tuple composes mode by mode: a layout, an extent n (for n : 1), or None to keep the mode;
    `...` keeps all that are not named. The result counts as `inner` does; in CuTe's order outer's last mode
    goes on beyond its extent, as CuTe's does.

        requires       every index that inner names is one of outer's
        postcondition  compose(A, B).places(x) == union of A.places(i) over the indices i at B.places(x)
        refused        TW502 an index outside; TW501 no layout over B's digits, with its proof;
                       TW504 a swizzle on B that A does not carry on; TW509 axes that are no index

    >>> from tilewise import S, laneid, reg
    >>> compose(S[(2, 6) : (2, 8)], S[(3, 4) : (1, 3)])
    S[(3, (2, 2)) : (8, (2, 24))]
    >>> compose(S[(8, 8) : (8, 1)], (4, S[2 : 4]))
    S[(4, 2) : (8, 4)]
    >>> compose(S[(16, 8) : (8, 1)], S[(8, 2) : (2@laneid, 1@reg)], modes=("laneid", "reg"))
    S[(8, 2) : (16, 1)]
    """
    inner = as_tilers(inner, more)
    if not isinstance(inner, Layout):
        if isinstance(inner, tuple | list):
            return _by_mode(outer, tuple(inner))
        inner = as_tiler(inner)
    if orders.in_cute((outer, inner)):
        return _in_their_orders(outer, inner, modes)
    if inner.unit != "element":
        raise LayoutError(
            "TW106", f"indices are counted in elements, and the inner layout counts {inner.unit}s"
        )
    if inner.swizzles and any(swizzle.bits for swizzle in inner.swizzles):
        return through_swizzles(outer, inner, modes)
    return after(outer, inner, modes)


def as_tiler(value: Any) -> Layout:
    """Return the layout that a value stands for: itself, or n : 1 for n.

    >>> as_tiler(4)
    S[4 : 1]
    """
    if isinstance(value, Layout):
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise LayoutError(
            "TW107",
            f"a layout or an extent belongs here, not the {type(value).__name__} {value!r}",
            hint="parse(text) makes a layout of text",
        )
    return Layout((as_extent(value),), (as_vector(1),))


def _in_their_orders(outer: Layout, inner: Layout, modes: Sequence[str] | None) -> Layout:
    """Return the composition where a layout counts in CuTe's order: each is indexed in its own order."""
    several = len(inner.shape) > 1  # a result of one mode may have its digits for modes
    rows = orders.by_coordinates(inner) if several else orders.by_flat_index(inner)
    by_name = modes is not None or (inner.moving and all(map(is_basis, inner.moving)))
    if by_name:
        made = compose(orders.by_coordinates(outer), rows, modes=modes)
    else:
        whole = orders.by_flat_index(outer)
        made = compose(_endless(whole, rows) if outer.order == "cute" else whole, rows)
    if inner.order == "row":
        return made
    return orders.mirrored(made) if several else orders.turned(made)


def _endless(outer: Layout, inner: Layout) -> Layout:
    """Return the layout with its slowest digit as long as `inner` asks: so CuTe's last mode goes on."""
    last = inner.max() if inner.moving == (m.name,) else 0
    if last < outer.size or not outer.shape:
        return outer
    first, *others = leaves(outer.shape)
    extents = -(-(last + 1) // (outer.size // first)), *others
    return outer.with_parts(extents, outer.strides, outer.replica, outer.offset)


# -- mode by mode ----------------------------------------------------------------------------------


def _by_mode(outer: Layout, tilers: tuple[Any, ...]) -> Layout:
    parts = mode_layouts(outer)
    tilers = tilers_of(tilers, len(parts))
    shape: list[Mode] = []
    strides: list[Vector] = []
    replica, offset = list(outer.replica), outer.offset
    for part, tiler in zip(parts, tilers + (None,) * (len(parts) - len(tilers)), strict=True):
        tiled = part if tiler is None else compose(part, tiler)
        if tiled.order != outer.order:
            tiled = orders.turned(tiled)
        if tiled.swizzles:
            raise Refused(
                "TW504",
                f"the tiler {tiler} swizzles one mode, and a swizzle acts on the whole address",
                hint="compose the whole layout with one swizzled layout instead",
            )
        shape.append(tiled.shape[0] if len(tiled.shape) == 1 else tiled.shape or 1)
        strides += tiled.strides if tiled.shape else (Vector(),)
        replica += tiled.replica
        offset = offset + tiled.offset
    return replace(outer, shape=tuple(shape), strides=tuple(strides), replica=tuple(replica), offset=offset)


def tilers_of(given: Sequence[Any], rank: int) -> tuple[Any, ...]:
    """Return the tilers of the first modes, None where a mode is kept."""
    tilers = by_mode(given, rank)
    if len(tilers) > rank:
        raise LayoutError(
            "TW503",
            f"{counted(len(tilers), 'tiler')} for {counted(rank, 'mode')}",
            hint="give at most one a mode; modes without one are kept",
        )
    return tilers


def by_mode(given: Sequence[Any], rank: int) -> tuple[Any, ...]:
    """Return the entries for the modes, one by one; None, or `slice(None)`, keeps a mode.

    One `...` stands for all modes that are not named.

    >>> by_mode((8, slice(None)), 3), by_mode((..., 8), 3)
    ((8, None), (None, None, 8))
    """
    parts = [None if isinstance(part, slice) and part == slice(None) else part for part in given]
    open_at = [number for number, part in enumerate(parts) if part is Ellipsis]
    if len(open_at) > 1:
        raise LayoutError(
            "TW201", "'...' stands once: for all modes that are not named", hint="or write None"
        )
    if open_at:
        parts[open_at[0] : open_at[0] + 1] = [None] * (rank - len(parts) + 1)
    return tuple(parts)


# -- inner layouts with swizzles -------------------------------------------------------------------


def through_swizzles(outer: Layout, inner: Layout, modes: Sequence[str] | None = None) -> Layout:
    """Return `outer o inner` for an inner layout with swizzles, on its flat index.

    >>> from tilewise import S
    >>> through_swizzles(S[64 : 4], Swizzle(1, 0, 3) @ S[(4, 8) : (8, 1)])
    Swizzle(1, 2, 3) @ S[(4, 8) : (32, 4)]
    """
    form = canonical(inner)
    plain = replace(inner, swizzles=(), outer=ZERO, replica=form.replica, offset=form.offset)
    if not form.swizzles:
        return compose(outer, plain, modes=modes)
    if not domain_of(outer, plain, modes).flat:
        raise Refused(
            "TW504", "coordinates that are swizzled are no flat index", hint="swizzle one flat index"
        )
    low, high = form.extremes(form.swizzles[0].axis)
    if low < 0 or high >= outer.size:
        asked = high if high >= outer.size else low
        raise Refused(
            "TW502",
            f"B names index {asked}, and A has {outer.size} elements",
            witness={"asked": asked, "size": outer.size},
            hint=_EVERY_PLACE,
        )
    carried = [carried_by(outer, swizzle) for swizzle in form.swizzles] if not form.outer else []
    chain = tuple(swizzle for swizzle in carried if swizzle is not None)
    if chain and len(chain) == len(form.swizzles) and len({s.axis for s in (*outer.swizzles, *chain)}) == 1:
        try:
            around = compose(replace(outer, swizzles=(), outer=ZERO), plain)
        except Refused:
            pass  # true of the indices before the swizzle, and no word about those after it
        else:
            return replace(around, swizzles=outer.swizzles + chain, outer=outer.outer)
    return _recognised(outer, inner)


def carried_by(outer: Layout, swizzle: Swizzle) -> Swizzle | None:
    """Return the swizzle Sw' of places with outer o swizzle == Sw' o outer on outer's indices, or None.

    >>> from tilewise import S, laneid
    >>> carried_by(S[(3, 16, 8) : (512, 4, 64)], Swizzle(2, 0, 4))
    Swizzle(2, 3, -3)
    >>> carried_by(S[(4, 8) : (1@laneid, 1)], Swizzle(2, 0, 3)) is None
    True
    """
    found = _columns(outer)
    if found is None:
        return None
    columns = found.columns
    low = swizzle.base + max(swizzle.shift, 0)
    bits = min(swizzle.bits, len(columns) - low)  # an index of `outer` has no higher bits
    if bits <= 0:
        return Swizzle(0, 0, 0, swizzle.axis)
    if low - swizzle.shift + bits > len(columns):
        return None
    read = [_one_bit(found.axes, columns[low + bit]) for bit in range(bits)]
    flipped = [_one_bit(found.axes, columns[low + bit - swizzle.shift]) for bit in range(bits)]
    axes = {bit and bit[0] for bit in (*read, *flipped)}
    if None in axes or len(axes) > 1:
        return None
    (axis,), sources = axes, [bit[1] for bit in read if bit]
    distances = {r[1] - f[1] for r, f in zip(read, flipped, strict=True) if r and f}
    first, distance = sources[0], next(iter(distances))
    if len(distances) > 1 or sources != [*range(first, first + bits)] or abs(distance) < bits:
        return None
    placed = Swizzle(bits, first - max(distance, 0), distance, axis or swizzle.axis)
    # offset and copies are to be added before the swizzle as well as after it
    steps = [outer.offset[placed.axis], *(it.stride[placed.axis] for it in outer.replica)]
    return None if any(step % placed.period for step in steps) else placed


def _columns(outer: Layout) -> Bits | None:
    """Return the column of every bit of the index, the slowest digit taken to the next power of two."""
    digits = merged_digits(outer.digits)
    shape, strides = tuple(extent for extent, _ in digits), tuple(stride for _, stride in digits)
    if shape:
        shape = (1 << (shape[0] - 1).bit_length(), *shape[1:])
    return affine_map(replace(outer.with_parts(shape, strides, (), ZERO), swizzles=(), outer=ZERO))


def _one_bit(axes: tuple[Axis, ...], column: Point) -> tuple[Axis, int] | None:
    """Return (axis, bit) of a column that is one bit of one storage axis, or None."""
    moved = [(axis, steps) for axis, steps in zip(axes, column, strict=True) if steps]
    if len(moved) != 1 or moved[0][0].kind != "storage" or moved[0][1].bit_count() != 1:
        return None
    return moved[0][0], moved[0][1].bit_length() - 1


def _recognised(outer: Layout, inner: Layout) -> Layout:
    """Return the composition, recognised in its values: copies of B as slow digits, copies of A added."""
    copies, least = merged_replica(inner.replica)
    count = prod(it.extent for it in copies)
    if inner.size * count > MAX_LISTED:
        raise _undecided()
    shard = (*copies, *inner.shard)
    listed = inner.with_parts(
        tuple(it.extent for it in shard), tuple(it.stride for it in shard), (), inner.offset + least
    )
    shape = (count, *inner.shape) if copies else inner.shape
    single = replace(outer, replica=())
    indices = [sum(listed.points(flat)[0]) for flat in range(listed.size)]
    columns = zip(*[single.points(index)[0] for index in indices], strict=True)
    from tilewise.core.algebra.recognition import recognise

    try:
        found = recognise(dict(zip(single.axes, map(list, columns), strict=True)))
        found = replace(found, unit=outer.unit).reshape(shape)
    except Refused as no:
        raise Refused(
            "TW504",
            f"A does not carry the swizzle of B on: {no.reason}",
            witness=no.witness,
            hint="list the map (table)",
        ) from None
    if outer.replica and (outer.swizzles or found.swizzles):
        # A's copies, which stand outside its own map, are to be added inside the swizzles found
        passes = not outer.swizzles and bool(found.swizzles)
        passes = passes and all(it.stride[found.swizzles[0].axis] % found.period == 0 for it in outer.replica)
        if not passes:
            raise _undecided()
    if not copies:
        return found.with_parts(found.shape, found.strides, outer.replica, found.offset)
    first = sum(1 for _ in leaves(found.shape[0]))
    replica = tuple(it for it in found.shard[:first] if it.extent > 1)
    return found.with_parts(found.shape[1:], found.strides[first:], outer.replica + replica, found.offset)


def _undecided() -> NotDecided:
    return NotDecided(
        "whether the swizzle of the indices is one of the places was not decided within the bound",
        hint="compose without the swizzle, or list the map (table)",
    )
