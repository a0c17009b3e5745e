"""From a layout to an encoding: encodings are proposed, the shortest first, and read back to be sure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, product

from tilewise.core.algebra.linear import held_by
from tilewise.core.axes import Axis, m
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.shapes import coordinates, extents_of
from tilewise.notation.dialects.given import Given
from tilewise.notation.dialects.triton.encodings import Context, Encoding, Setting, spelled
from tilewise.notation.dialects.triton.layouts import layout_of
from tilewise.notation.dialects.triton.tile import (
    AXES,
    BLOCK,
    COL,
    LANE,
    OFFSET,
    REGISTER,
    ROW,
    WARP,
    Basis,
    order_of,
    unit,
)

Bases = Mapping[str, tuple[Basis, ...]]
Shape = tuple[int, ...]
_PLACES = {axis: place for place, axis in AXES.items()}
_ALIGNMENT = 16
_MOST_DIMENSIONS = 5
"""The orders of more dimensions are too many to try."""


def written(layout: Layout, given: Given) -> str:
    """Return the encoding of a layout as Triton prints it."""
    return in_mlir(encoding_of(layout, given))


def encoding_of(layout: Layout, given: Given, beside: tuple[str, ...] = ()) -> Encoding:
    """Return the encoding of exactly this layout: the shortest that there is, or a list of bases.

    The kinds that are named `beside` are left out.
    """
    layout = layout.in_order("row")
    shape = extents_of(layout.shape)
    for encoding in _proposed(layout, shape, given.dtype):
        if encoding.kind not in beside and _says(encoding, layout, shape, given):
            return encoding
    raise LayoutError("TW008", "no encoding of Triton's says exactly this layout")


def _says(encoding: Encoding, layout: Layout, shape: Shape, given: Given) -> bool:
    """Return True if an encoding reads back as a layout."""
    try:
        read = layout_of(encoding, shape, None, Context.of(given.triton, given.dtype))
    except LayoutError:
        return False
    return read.same(layout).answer is True


def _proposed(layout: Layout, shape: Shape, dtype: DType | None) -> Iterator[Encoding]:
    yield from _padded(layout, shape)
    try:
        held = held_by(layout)
    except LayoutError as error:
        raise LayoutError(
            "TW008", f"Triton's encodings are linear over bits, and this layout is not: {error.message}"
        ) from None
    bases = {
        place: tuple(coordinates(move or 0, shape) for move in held.get(axis, ()))
        for place, axis in AXES.items()
    }
    inside, cluster = _cluster(bases[BLOCK], shape)
    used = [axis for axis, moves in held.items() if moves]
    places = {_PLACES.get(axis, "") for axis in used}
    if places <= {REGISTER, LANE, WARP, BLOCK} and m not in held:
        _check_registers(held, bases)
        yield from _blocked(bases, inside, cluster)
        yield _encoding("linear", {place: bases[place] for place in (REGISTER, LANE, WARP, BLOCK)})
    elif places <= {OFFSET, BLOCK}:
        if 0 in held.get(m, ()):
            raise LayoutError(
                "TW008", "elements have copies in memory, and Triton's encodings have none there"
            )
        yield from _swizzled(layout, bases[OFFSET], inside, cluster)
        if dtype is not None:
            yield from _for_mma(dtype, len(shape), cluster)
        flat: dict[str, Setting] = {OFFSET: bases[OFFSET], BLOCK: bases[BLOCK], "alignment": _ALIGNMENT}
        yield _encoding("shared_linear", flat)
    elif places <= {ROW, COL, BLOCK}:
        yield from _of_tensor_memory(inside, cluster)
    else:
        named = " ".join(sorted(axis.name for axis in used))
        raise LayoutError(
            "TW008",
            f"Triton has no encoding over the axes {named}",
            hint="it has reg, laneid, warpid with cbx; m with cbx; TLane and TCol with cbx",
        )


def _encoding(kind: str, items: Mapping[str, Setting]) -> Encoding:
    prefix = "ttng" if kind.startswith("tensor_memory") else "ttg"
    return Encoding(kind, items, name=f"#{prefix}.{kind}")


def _cluster(blocks: Sequence[Basis], shape: Shape) -> tuple[Shape, dict[str, Setting]]:
    """Return the shape of one block's part, and the key that lays the blocks over the tensor."""
    inside = shape
    for basis in blocks:
        inside = tuple(extent // 2 if x else extent for extent, x in zip(inside, basis, strict=True))
    parts = tuple(tuple(map(int.__floordiv__, basis, inside)) for basis in blocks)
    return inside, {"CGALayout": parts} if parts else {}


# -- registers -------------------------------------------------------------------------------------


def _check_registers(held: Mapping[Axis, Sequence[int | None]], bases: Bases) -> None:
    for axis, moves in held.items():
        if None in moves:
            raise LayoutError(
                "TW008",
                f"no element is at {1 << moves.index(None)}@{axis}, and in Triton's encodings every place "
                "holds one",
                hint="places that lie close say it",
            )
    if any(sum(map(int.bit_count, basis)) > 1 for moved in bases.values() for basis in moved):
        raise LayoutError(
            "TW008", "registers are XORed here, and Triton's encodings of registers permute bits alone"
        )


def _blocked(bases: Bases, inside: Shape, cluster: Mapping[str, Setting]) -> Iterator[Encoding]:
    """Yield the blocked encodings with such first bases; only reading them back can confirm the rest."""
    rank = len(inside)
    if rank > _MOST_DIMENSIONS:
        return
    for order in permutations(reversed(range(rank))):
        size = [1] * rank
        keys: dict[str, Setting] = {}
        for key, place in (("sizePerThread", REGISTER), ("threadsPerWarp", LANE), ("warpsPerCTA", WARP)):
            many, at = [1] * rank, 0
            for basis in bases[place]:
                steps = [unit(rank, d, size[d] if size[d] < inside[d] else 0) for d in order]
                if basis not in steps[at:]:
                    break
                at = steps.index(basis, at)
                many[order[at]] *= 2
                size[order[at]] *= 2
            keys[key] = tuple(many)
        yield _encoding("blocked", {**keys, "order": order, **cluster})


# -- memory ----------------------------------------------------------------------------------------


def _swizzled(
    layout: Layout, bases: Sequence[Basis], inside: Shape, cluster: Mapping[str, Setting]
) -> Iterator[Encoding]:
    """Yield the encoding whose rows are swizzled as by the swizzle with the smallest distance."""
    order = order_of(bases, len(inside))
    vector = per_phase = phases = 0
    for swizzle in sorted(layout.swizzles, key=lambda swizzle: swizzle.shift)[:1]:
        vector, phases = swizzle.base, swizzle.bits
        per_phase = vector + swizzle.shift - (inside[order[0]].bit_length() - 1)
    if order and per_phase >= 0:
        kind = "amd_rotating_shared" if len(layout.swizzles) > 1 else "swizzled_shared"
        keys = {"vec": 1 << vector, "perPhase": 1 << per_phase, "maxPhase": 1 << phases}
        yield _encoding(kind, {**keys, "order": order, **cluster})


def _for_mma(dtype: DType, rank: int, cluster: Mapping[str, Setting]) -> Iterator[Encoding]:
    """Yield the layouts of TMA for a type; one that pads fp4 comes last."""
    bits = max(8, dtype.bits)
    more = cluster if cluster or rank == 2 else {"rank": rank}
    packed: dict[str, Setting] = {"fp4Padded": True, **more}
    kinds = [(128, more), (64, more), (32, more), (0, more), (128, packed)]
    for (width, others), transposed in product(kinds if bits == 8 else kinds[:4], (False, True)):
        items = {"swizzlingByteWidth": width, "transposed": transposed, "elementBitWidth": bits, **others}
        yield _encoding("nvmma_shared", items)


def _padded(layout: Layout, shape: Shape) -> Iterator[Encoding]:
    """Yield the padded encodings that have the steps of a layout.

    Bit k of the offset is at 2^k plus its padding. That is twice the padding of bit k - 1, plus the padding
    of the interval 2^k.
    """
    steps: list[tuple[int, Basis]] = []
    element = 1
    for extent, stride in reversed(layout.digits):
        for bit in range(extent.bit_length() - 1):
            steps.append((stride[m] << bit, coordinates(element << bit, shape)))
        element *= extent
    paddings: list[tuple[int, int]] = []
    bases: list[Basis] = []
    before = 0
    for step, basis in sorted(steps):
        interval = 1 << len(bases)
        bases.append(basis)
        padding, before = step - interval - 2 * before, step - interval
        if padding > 0:
            paddings.append((interval, padding))
    if paddings:
        padded: dict[str, Setting] = {"paddings": tuple(paddings)}
        yield _encoding("padded_shared", {**padded, "order": order_of(bases, len(shape)), "shape": shape})
        yield _encoding("padded_shared", {**padded, OFFSET: tuple(bases), BLOCK: ()})


# -- tensor memory ---------------------------------------------------------------------------------


def _of_tensor_memory(inside: Shape, cluster: Mapping[str, Setting]) -> Iterator[Encoding]:
    most = inside[-1].bit_length() if inside else 0
    two: dict[str, Setting] = {"twoCTAs": True}
    for rows, bit, stride, more in product((128, 64), reversed(range(most)), (1, 2, 4), ({}, two)):
        block = {"blockM": rows, "blockN": 1 << bit, "colStride": stride}
        yield _encoding("tensor_memory_encoding", {**block, **cluster, **more})
    yield _encoding("tensor_memory_scales_encoding", cluster)


# -- spelling --------------------------------------------------------------------------------------


def in_mlir(encoding: Encoding) -> str:
    """Return an encoding as MLIR prints it.

    >>> in_mlir(_encoding("linear", {"lane": ((1, 0), (0, 1)), "warp": ()}))
    '#ttg.linear<{lane = [[1, 0], [0, 1]], warp = []}>'
    """
    items = dict(encoding.items)
    before = after = ""
    if items.pop("paddings", None):
        pairs = [f"{interval}:+{padding}" for interval, padding in encoding.bases("paddings")]
        before = f"[{', '.join(pairs)}] "
    if "alignment" in items:
        after = f", alignment = {items.pop('alignment')}"
    inner = ", ".join(f"{key} = {spelled(value, len(str(value)))}" for key, value in items.items())
    if encoding.name.startswith("#ttng."):
        return f"{encoding.name}<{inner}>"
    return f"{encoding.name}<{before}{{{inner}}}{after}>"
