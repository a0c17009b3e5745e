"""Claims about layouts for your tests: a failure shows the expected, the found, and their difference.

    from tilewise.testing import assert_conflict_free, assert_matches, assert_same

A claim that does not hold is an `AssertionError`, under `python -O` as well. A malformed question
stays a `LayoutError`, and one whose search ended at its bound a `NotDecided`: neither passes.
"""

from __future__ import annotations

from dataclasses import replace

from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout, as_layout
from tilewise.core.shapes import as_shape, spell
from tilewise.core.vectors import ZERO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from tilewise.check import tma
    from tilewise.check.access import Access
    from tilewise.check.banks import Conflicts
    from tilewise.check.feeding import Feed
    from tilewise.check.match import Match, Mismatch
    from tilewise.check.swizzling import Choice
    from tilewise.core.compare import Comparison
    from tilewise.core.dtypes import DType
    from tilewise.core.vectors import Vector

MAX_LISTED = 1 << 12
"""The most elements that are compared one by one, to count those that are elsewhere."""

MAX_SEARCHED = 1 << 15
"""The most elements of a tile for which a better layout is searched."""

WIDE_ROWS = "row:16B"

_SHOWN = 6
_COPIES_SHOWN = 4

# -- the same map ----------------------------------------------------------------------------------


def assert_same(found: Layout, expected: Layout) -> None:
    """Claim that two layouts place every flat index alike, however they are written.

    >>> from tilewise import S, Swizzle
    >>> assert_same(S[(4, 4) : (4, 1)], S[16 : 1])
    >>> assert_same(S[(8, 64) : (64, 1)], Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)])
    Traceback (most recent call last):
    AssertionError: not the same map: they first differ at (1, 0), flat index 64
      found     S[(8, 64) : (64, 1)]
      expected  Swizzle<3,3,3> o S[(8, 64) : (64, 1)]
    <BLANKLINE>
      index   found  expected
      (1, 0)  64@m   72@m
      (1, 1)  65@m   73@m
      (1, 2)  66@m   74@m
      (1, 3)  67@m   75@m
      (1, 4)  68@m   76@m
      (1, 5)  69@m   77@m
      448 of 512 elements are elsewhere
      without the swizzles they are one map
    """
    __tracebackhide__ = True
    answer = as_layout(found).same(as_layout(expected))
    if not answer:
        raise AssertionError("\n".join(_different(found, expected, answer)))


def _different(found: Layout, expected: Layout, answer: Comparison) -> Iterator[str]:
    """Yield the message: both layouts, the first elements that differ, their number, the maps' relation."""
    comparable = found.size == expected.size and found.unit == expected.unit
    if not comparable or answer.witness is None:
        sizes = f"{found.size} elements in {spell(found.shape)}, expected {expected.size} in "
        alike = found.size == expected.size
        yield f"not the same map: {answer.reason if alike else sizes + spell(expected.shape)}"
    else:
        where = found.coordinates(answer.witness)
        flat = f", flat index {answer.witness}" if len(where) > 1 else ""
        first = "first " if answer.first else ""
        yield f"not the same map: they {first}differ at {_index(where)}{flat}"
    yield f"  found     {found}"
    yield f"  expected  {expected}"
    if comparable and answer.witness is not None:
        yield ""
        yield from _elsewhere(found, expected, answer.witness)
        yield from (f"  {cause}" for cause in _cause(found, expected))


def _elsewhere(found: Layout, expected: Layout, first: int) -> Iterator[str]:
    """Yield the first differing elements as a table, and their number where they can be listed."""
    last = min(found.size, first + MAX_LISTED)
    apart = [flat for flat in range(first, last) if _held(found, flat) != _held(expected, flat)]
    rows = [("index", "found", "expected")]
    for flat in apart[:_SHOWN]:
        index = _index(found.coordinates(flat))
        rows.append((index, _places(found.places(flat)), _places(expected.places(flat))))
    yield from _columns(rows)
    beyond = f" among the next {MAX_LISTED}" if last < found.size else ""
    yield f"  {len(apart)} of {found.size} elements are elsewhere{beyond}"


def _held(layout: Layout, flat: int) -> set[frozenset[tuple[str, int]]]:
    """Return the places of an element, without the axes that count 0."""
    return {frozenset(place.nonzero.as_dict().items()) for place in layout.places(flat)}


def _cause(found: Layout, expected: Layout) -> Iterator[str]:
    """Yield the cause of the difference, where a sentence can tell it."""
    if found.swizzles != expected.swizzles and _plain(found).same(_plain(expected)).answer:
        yield "without the swizzles they are one map"
        return
    try:
        related, back = expected.relation(found), found.relation(expected)
    except LayoutError:
        return
    if related.kind == "view" and "reshape" not in related.via:
        yield f"it is the expected map with its modes in the order {_index(related.via['permute'])}"
    elif related.kind == "view":
        yield "it is the expected map under another index"
    elif related.kind == "shift":
        steps = " + ".join(f"{steps}@{axis}" for axis, steps in related.via["shift"].items())
        yield f"every element is {steps} from where it is expected"
    elif related.kind == "relabel":
        names = ", ".join(f"{new} stands for {old}" for old, new in related.via["relabel"].items())
        yield f"it is the expected map under other names: {names}"
    elif "drop" in (related.kind, back.kind):
        yield f"the places are right, and copies are {'missing' if related.kind == 'drop' else 'too many'}"
    elif related.reading:
        shape, order = (_index(related.reading[way]) for way in ("reshape", "permute"))
        yield f"it is the expected map with its digits, {shape}, in the order {order}"


def _plain(layout: Layout) -> Layout:
    return replace(layout, swizzles=(), outer=ZERO)


# -- tiles for engines -----------------------------------------------------------------------------


def assert_matches(
    layout: Layout,
    *,
    dtype: DType | str,
    engine: str = "wgmma",
    operand: str | None = None,
    **asked: Any,
) -> Match | Feed | tma.Plan:
    """Claim that an engine takes a tile of shared memory; return its match.

    `asked` holds options of `tilewise.check.match`: `n`, `major`, `base`, `pattern`; of the engine tcgen05
    `kind`, `m`, `cta_group` and more, of mma `shape`, `form` and more. For the engine tma it holds options
    of `tilewise.check.tma.plan_copy`: `shape` and `strides` of the tensor in global memory.

    >>> from tilewise import S, Swizzle
    >>> tile = Swizzle(3, 3, 3) @ S[(128, 64) : (64, 1)]
    >>> assert_matches(tile, operand="B", dtype="bf16").mode.name
    '128B'
    >>> assert_matches(tile, engine="tma", dtype="bf16", shape=(4096, 4096)).count
    1
    >>> assert_matches(S[(64, 64) : (64, 1)], operand="A", dtype="bf16")
    Traceback (most recent call last):
    AssertionError: wgmma does not read it as A of bf16
      S[(64, 64) : (64, 1)]
    because
      no-swizzle: rows are 128 B apart, as in 128B mode, but the addresses are not swizzled
        128B mode is Swizzle<3,3,3> on bf16, Swizzle<3,4,3> on bytes
    nearest, in elements
      Swizzle<3,3,3> o S[(64, 64) : (64, 1)]
        128B mode, K-major: the same strides, swizzled as it is written
    """
    __tracebackhide__ = True
    if engine == "tma":
        return _assert_copied(layout, dtype, operand, asked)
    if operand is None:
        raise LayoutError("TW601", f"{engine} needs the operand of the tile", hint='such as operand="A"')
    from tilewise.check.match import Mismatch, match

    found = match(layout, engine=engine, operand=operand, dtype=dtype, **asked)
    if isinstance(found, Mismatch):
        head = f"{engine} does not read it as {operand} of {dtype}"
        if engine == "mma":
            head = f"a warp does not move it as {operand} of {dtype} for mma.sync {asked['shape']}"
        raise AssertionError("\n".join([head, f"  {layout}", *_refusal(found)]))
    return found


def _refusal(found: Mismatch) -> Iterator[str]:
    """Yield the reasons, and the nearest layout."""
    yield "because"
    for reason in found.reasons:
        yield f"  {reason.rule}: {reason.message}"
        yield from ([f"    {reason.hint}"] if reason.hint else [])
    for near in found.nearest[:1]:
        yield f"nearest, in elements{' from address 0' if found.folded else ''}"
        yield f"  {near.layout}"
        yield f"    {near.message}"


def _assert_copied(
    layout: Layout, dtype: DType | str, operand: str | None, asked: dict[str, Any]
) -> tma.Plan:
    __tracebackhide__ = True
    from tilewise.check.tma import plan_copy

    if operand is not None:
        raise LayoutError("TW601", "tma copies tiles of any operand", hint="leave operand out")
    if "shape" not in asked:
        raise LayoutError("TW601", "tma needs the shape of the tensor", hint="such as shape=(4096, 4096)")
    try:
        return plan_copy(tile=layout, dtype=dtype, **asked)
    except Refused as no:
        shape = spell(as_shape(asked["shape"]))
        lines = [f"TMA does not copy it from a tensor of {shape} in {dtype}", f"  {layout}", "because"]
        lines += [f"  {no.code}: {no.reason}", *([f"    {no.hint}"] if no.hint else [])]
    raise AssertionError("\n".join(lines))


# -- bank conflicts --------------------------------------------------------------------------------


def assert_conflict_free(
    layout: Layout,
    access: str | Layout | Access,
    dtype: DType | str | None = None,
    *,
    operation: str | None = None,
    base: int = 0,
) -> Conflicts:
    """Claim that an access of a tile of shared memory takes no more wavefronts than its bytes need.

    The arguments and the result are those of `tilewise.check.banks.conflicts`.

    >>> from tilewise import S, Swizzle
    >>> tile = Swizzle(3, 3, 3) @ S[(128, 64) : (64, 1)]
    >>> assert_conflict_free(tile, "ldmatrix.x4", "bf16").wavefronts
    128
    >>> assert_conflict_free(S[(64, 16) : (16, 1)], "ldmatrix.x4", "f16")
    Traceback (most recent call last):
    AssertionError: ldmatrix.x4 of f16 takes 32 wavefronts, and 16 would do
      S[(64, 16) : (16, 1)]
    the worst request is the first, 8 wavefronts instead of 4
      phase 0: lanes 0..7, 2 wavefronts: bank 0 gives 2 words; cells number the wavefronts
         bank 0       4       8       12      16      20      24      28
      lane  0 1 1 1 1 . . . . . . . . . . . . . . . . . . . . . . . . . . . .
      lane  1 . . . . . . . . 1 1 1 1 . . . . . . . . . . . . . . . . . . . .
      lane  2 . . . . . . . . . . . . . . . . 1 1 1 1 . . . . . . . . . . . .
      lane  3 . . . . . . . . . . . . . . . . . . . . . . . . 1 1 1 1 . . . .
      lane  4 2 2 2 2 . . . . . . . . . . . . . . . . . . . . . . . . . . . .
      lane  5 . . . . . . . . 2 2 2 2 . . . . . . . . . . . . . . . . . . . .
      lane  6 . . . . . . . . . . . . . . . . 2 2 2 2 . . . . . . . . . . . .
      lane  7 . . . . . . . . . . . . . . . . . . . . . . . . 2 2 2 2 . . . .
        words 2 2 2 2 . . . . 2 2 2 2 . . . . 2 2 2 2 . . . . 2 2 2 2 . . . .
    it would take 16 and keep 16 bytes of a row together under
      Swizzle<1,3,3> o S[(64, 16) : (16, 1)]
    """
    __tracebackhide__ = True
    from tilewise.check.banks import conflicts

    try:
        found = conflicts(as_layout(layout), access, dtype=dtype, operation=operation, base=base)
    except Refused as no:
        hint = [f"    {no.hint}"] if no.hint else []
        lines = ["no instruction makes this access", f"  {layout}", "because", f"  {no.reason}", *hint]
        raise AssertionError("\n".join(lines)) from None
    if found.ways > 1:
        raise AssertionError("\n".join(_colliding(layout, found)))
    return found


def _colliding(layout: Layout, found: Conflicts) -> Iterator[str]:
    """Yield the message: the number of wavefronts, and the worst phase of the worst request as a picture."""
    from tilewise.check.banks import drawing_of, said

    access, request = found.access, found.request(found.worst)
    phase = max(range(len(request.phases)), key=lambda number: request.phases[number].wavefronts)
    yield f"{access.name} of {access.dtype} takes {found.wavefronts} wavefronts, and {found.ideal} would do"
    yield f"  {layout}"
    which = "the first" if found.worst == 0 else f"number {found.worst}"
    many = f"{request.wavefronts} wavefronts instead of {request.ideal}"
    yield f"the worst request is {which}, {many}" if found.requests > 1 else f"its one request takes {many}"
    letters = ", a after 9" if request.phases[phase].wavefronts > 9 else ""
    yield f"  {said(request, phase)}; cells number the wavefronts{letters}"
    yield from (f"  {line}" for line in drawing_of(request.phases[phase]).lines())
    yield from _fewer(layout, found)


def _fewer(layout: Layout, found: Conflicts) -> Iterator[str]:
    """Yield layouts of the tile under which the access takes fewer wavefronts, or a line that denies any.

    Bytes that lie together in a row stay so: else a transposed tile would be the answer. Where keeping 16 of
    them together costs wavefronts, as for a transpose of single elements, a lane's bytes may do.
    """
    from tilewise.check.swizzling import PROOFS

    least, own = found.wavefronts, found.access.bytes
    wide = _is_made(layout, WIDE_ROWS, found.access.dtype)
    for bytes in (16, own) if wide and own < 16 else (16,) if wide else (0,):
        best = _chosen(layout, [found.access, *([f"row:{bytes}B"] if bytes else [])])
        if best is None or least == found.ideal:
            return
        fewer = best.best.wavefronts[0]
        if fewer < least:
            together = f" and keep {bytes} bytes of a row together" if bytes else ""
            yield f"it would take {fewer}{together} under"
            yield f"  {best.best.layout}"
            least = fewer
        elif bytes == 16:
            yield f"with 16 bytes of a row together {PROOFS[best.proof]}"
        elif not bytes:
            yield PROOFS[best.proof]


def _is_made(layout: Layout, access: str, dtype: DType) -> bool:
    """Return True if an instruction makes an access."""
    from tilewise.check.access import access_of, lanes_of

    try:
        lanes_of(access_of(access, layout, dtype), layout)
    except LayoutError:
        return False
    return True


def _chosen(layout: Layout, accesses: Sequence[Any]) -> Choice | None:
    from tilewise.check.swizzling import choose

    try:
        return None if layout.size > MAX_SEARCHED else choose(layout, accesses, dtype=accesses[0].dtype)
    except LayoutError:
        return None


# -- words -----------------------------------------------------------------------------------------


def _index(index: Sequence[int]) -> str:
    return str(index[0]) if len(index) == 1 else f"({', '.join(map(str, index))})"


def _places(places: Sequence[Vector]) -> str:
    shown = " and ".join(map(str, places[:_COPIES_SHOWN]))
    return shown + (f" and {len(places) - _COPIES_SHOWN} more" if len(places) > _COPIES_SHOWN else "")


def _columns(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
