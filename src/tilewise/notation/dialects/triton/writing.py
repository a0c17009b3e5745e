"""From a layout to an encoding: encodings are proposed, the shortest first, and read back to be sure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from tilewise.core.algebra.placebits import held_by
from tilewise.core.axes import Axis, m
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.notation.dialects.given import Given
from tilewise.notation.dialects.triton.attributes import Encoding, spelled
from tilewise.notation.dialects.triton.context import Context
from tilewise.notation.dialects.triton.layouts import CBX, LANEID, REG, TCOL, TLANE, WARPID, layout_of
from tilewise.notation.dialects.triton.tile import BLOCK, LANE, REGISTER, WARP, Basis, unit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.notation.dialects.triton.attributes import Value

Moves = Mapping[Axis, Sequence[int | None]]
_ALIGNMENT = 16
_MOST_DIMENSIONS = 5
"""The orders of more dimensions are too many to try."""


def written(layout: Layout, given: Given) -> str:
    """Return the encoding of a layout as Triton prints it."""
    return in_mlir(encoding_of(layout, given))


def encoding_of(layout: Layout, given: Given, beside: tuple[str, ...] = ()) -> Encoding:
    """Return the encoding that says exactly this layout: the shortest that there is, or a list of bases.

    The kinds that are named `beside` are left out.
    """
    layout = layout.in_order("row")
    shape = tuple(extents_of(layout.shape))
    found = _padded(layout)
    if found is not None and _says(found, layout, shape, given):
        return found
    try:
        moves = held_by(layout)
    except LayoutError as error:
        raise LayoutError(
            "TW008", f"Triton's encodings are linear over bits, and this layout is not: {error.message}"
        ) from None
    axes = {axis for axis, moved in moves.items() if moved}
    if axes <= {REG, LANEID, WARPID, CBX} and (m not in moves):
        proposals = _of_registers(moves, shape)
    elif axes <= {m, CBX}:
        proposals = _of_memory(layout, moves, shape, given.dtype)
    elif axes <= {TLANE, TCOL, CBX}:
        proposals = _of_tensor_memory(moves, shape)
    else:
        named = " ".join(sorted(axis.name for axis in axes))
        raise LayoutError(
            "TW008",
            f"Triton has no encoding over the axes {named}",
            hint="it has reg, laneid, warpid with cbx; m with cbx; TLane and TCol with cbx",
        )
    for encoding in proposals:
        if encoding.kind not in beside and _says(encoding, layout, shape, given):
            return encoding
    raise LayoutError("TW008", "no encoding of Triton's says exactly this layout")


def _says(encoding: Encoding, layout: Layout, shape: Sequence[int], given: Given) -> bool:
    """Return whether an encoding is read as a layout."""
    try:
        read = layout_of(encoding, shape, None, Context.of(given.triton, given.dtype))
    except LayoutError:
        return False
    return read.same(layout).answer is True


def _encoding(kind: str, items: Mapping[str, Value]) -> Encoding:
    prefix = "ttng" if kind.startswith("tensor_memory") else "ttg"
    return Encoding(kind, items, {}, (0, 0), "", f"#{prefix}.{kind}")


def _cluster(bases: Sequence[Basis], shape: Sequence[int]) -> tuple[list[int], dict[str, Value]]:
    """Return the shape of what one block holds, and the key that says how the blocks lie over the tensor."""
    inside = list(shape)
    for basis in bases:
        inside = [extent // 2 if x else extent for extent, x in zip(inside, basis, strict=True)]
    if not bases:
        return inside, {}
    parts = tuple(tuple(x // part for x, part in zip(basis, inside, strict=True)) for basis in bases)
    return inside, {"CGALayout": parts}


def _basis(move: int, shape: Sequence[int]) -> Basis:
    found = []
    for extent in reversed(shape):
        move, x = divmod(move, extent)
        found.append(x)
    return tuple(reversed(found))


# -- registers -------------------------------------------------------------------------------------


def _of_registers(moves: Moves, shape: Sequence[int]) -> Iterator[Encoding]:
    bases: dict[str, tuple[Basis, ...]] = {}
    for place, axis in ((REGISTER, REG), (LANE, LANEID), (WARP, WARPID), (BLOCK, CBX)):
        moved = moves.get(axis, ())
        if None in moved:
            first = 1 << list(moved).index(None)
            raise LayoutError(
                "TW008",
                f"no element is at {first}@{axis}, and in Triton's encodings every place holds one",
                hint="places that lie close say it",
            )
        bases[place] = tuple(_basis(move or 0, shape) for move in moved)
    if any(
        len([x for x in basis if x]) > 1 or any(x & x - 1 for x in basis)
        for moved in bases.values()
        for basis in moved
    ):
        raise LayoutError(
            "TW008", "registers are XORed here, and Triton's encodings of registers permute bits alone"
        )
    if len(shape) <= _MOST_DIMENSIONS:
        orders = permutations(reversed(range(len(shape))))
        yield from (found for order in orders if (found := _blocked(bases, shape, order)) is not None)
    yield _encoding("linear", bases)


def _blocked(
    bases: Mapping[str, Sequence[Basis]], shape: Sequence[int], order: Sequence[int]
) -> Encoding | None:
    """Return the blocked encoding that begins so; reading it back says whether it goes on so too."""
    rank = len(shape)
    size = [1] * rank
    inside, cluster = _cluster(bases[BLOCK], shape)
    keys: dict[str, Value] = {}
    for key, place in (("sizePerThread", REGISTER), ("threadsPerWarp", LANE), ("warpsPerCTA", WARP)):
        many = [1] * rank
        at = 0
        for basis in bases[place]:
            position = next(
                (
                    p
                    for p in range(at, rank)
                    if basis == _stepped(rank, order[p], size[order[p]], inside[order[p]])
                ),
                None,
            )
            if position is None:
                if place == REGISTER:
                    break
                return None
            at = position
            many[order[at]] *= 2
            size[order[at]] *= 2
        keys[key] = tuple(many)
    return _encoding("blocked", {**keys, "order": tuple(order), **cluster})


def _stepped(rank: int, dimension: int, step: int, extent: int) -> Basis:
    """Return the basis of a step, which is 0 beyond the shape."""
    return unit(rank, dimension, step if step < extent else 0)


# -- memory ----------------------------------------------------------------------------------------


def _of_memory(layout: Layout, moves: Moves, shape: Sequence[int], dtype: DType | None) -> Iterator[Encoding]:
    offsets, blocks = moves.get(m, ()), tuple(_basis(move or 0, shape) for move in moves.get(CBX, ()))
    if 0 in offsets:
        raise LayoutError("TW008", "elements have copies in memory, and Triton's encodings have none there")
    bases = tuple(_basis(move or 0, shape) for move in offsets)
    inside, cluster = _cluster(blocks, shape)
    if shape:
        yield from _swizzled(layout, bases, inside, cluster)
    if dtype is not None:
        yield from _for_mma(dtype, len(shape), cluster)
    yield _encoding("shared_linear", {"offset": bases, "block": blocks, "alignment": _ALIGNMENT})


def _swizzled(
    layout: Layout, bases: Sequence[Basis], inside: Sequence[int], cluster: Mapping[str, Value]
) -> Iterator[Encoding]:
    rank = len(inside)
    order = list(dict.fromkeys(d for basis in bases for d in range(rank) if basis[d]))
    order += [d for d in reversed(range(rank)) if d not in order]
    last: dict[str, Value] = {"order": tuple(order), **cluster}
    if not layout.swizzles:
        yield _encoding("swizzled_shared", {"vec": 1, "perPhase": 1, "maxPhase": 1, **last})
        return
    first = min(layout.swizzles, key=lambda swizzle: swizzle.shift)
    per_phase = first.base + first.shift - (inside[order[0]].bit_length() - 1)
    if first.shift > 0 and per_phase >= 0:
        kind = "swizzled_shared" if len(layout.swizzles) == 1 else "amd_rotating_shared"
        phases = {"vec": 1 << first.base, "perPhase": 1 << per_phase, "maxPhase": 1 << first.bits}
        yield _encoding(kind, {**phases, **last})


def _for_mma(dtype: DType, rank: int, cluster: Mapping[str, Value]) -> Iterator[Encoding]:
    """Yield the layouts of TMA for a type; one that pads fp4 comes last."""
    more: dict[str, Value] = dict(cluster) if cluster or rank == 2 else {"rank": rank}
    kinds = [(width, max(8, dtype.bits), False) for width in (128, 64, 32, 0)]
    if dtype.bits <= 8:
        kinds.append((128, 8, True))
    for width, bits, padded in kinds:
        for transposed in (False, True):
            items: dict[str, Value] = {"swizzlingByteWidth": width, "transposed": transposed}
            items |= {"elementBitWidth": bits, **({"fp4Padded": True} if padded else {}), **more}
            yield _encoding("nvmma_shared", items)


def _padded(layout: Layout) -> Encoding | None:
    """Return the padded encoding of a layout in memory, if it is one.

    Bit k of the offset is at 2^k and what pads it: twice what pads bit k - 1, and the padding of the
    interval 2^k.
    """
    layout = layout.in_order("row")
    shape = tuple(extents_of(layout.shape))
    if layout.swizzles or layout.replica or layout.offset or layout.outer:
        return None
    steps: list[tuple[int, Basis]] = []
    element = 1
    for extent, stride in reversed(layout.digits):
        if extent & extent - 1 or any(axis != m for axis in stride.axes):
            return None
        for bit in range(extent.bit_length() - 1):
            steps.append((stride[m] << bit, _basis(element << bit, shape)))
        element *= extent
    steps.sort()
    paddings: list[tuple[int, int]] = []
    before = 0
    for bit, (step, _) in enumerate(steps):
        beyond = step - (1 << bit)
        padding = beyond - 2 * before
        if padding < 0 or padding & padding - 1:
            return None
        if padding:
            paddings.append((1 << bit, padding))
        before = beyond
    if not paddings:
        return None
    bases = tuple(basis for _, basis in steps)
    order = _order_of(bases, shape)
    if order is None:
        return _encoding("padded_shared", {"paddings": tuple(paddings), "offset": bases, "block": ()})
    return _encoding("padded_shared", {"paddings": tuple(paddings), "order": order, "shape": shape})


def _order_of(bases: Sequence[Basis], shape: Sequence[int]) -> tuple[int, ...] | None:
    """Return the order in which bases go through the dimensions, one after the other."""
    rank = len(shape)
    order = list(dict.fromkeys(next(d for d in range(rank) if basis[d]) for basis in bases))
    order += [d for d in reversed(range(rank)) if d not in order]
    wanted = [unit(rank, d, 1 << bit) for d in order for bit in range(shape[d].bit_length() - 1)]
    return tuple(order) if wanted == [*bases] else None


# -- tensor memory ---------------------------------------------------------------------------------


def _of_tensor_memory(moves: Moves, shape: Sequence[int]) -> Iterator[Encoding]:
    if len(shape) != 2:
        raise LayoutError(
            "TW008", f"tensor memory has matrices in Triton, and no tensors of {len(shape)} dimensions"
        )
    inside, cluster = _cluster([_basis(move or 0, shape) for move in moves.get(CBX, ())], shape)
    for rows in (128, 64):
        for bit in reversed(range(inside[1].bit_length())):
            for stride in (1, 2, 4):
                block: dict[str, Value] = {"blockM": rows, "blockN": 1 << bit, "colStride": stride, **cluster}
                yield _encoding("tensor_memory_encoding", block)
                if cluster and rows == 64:
                    yield _encoding("tensor_memory_encoding", {**block, "twoCTAs": True})
    yield _encoding("tensor_memory_scales_encoding", cluster)


# -- spelling --------------------------------------------------------------------------------------


def in_mlir(encoding: Encoding) -> str:
    """Return an encoding as MLIR prints it.

    >>> in_mlir(_encoding("linear", {"lane": ((1, 0), (0, 1)), "warp": ()}))
    '#ttg.linear<{lane = [[1, 0], [0, 1]], warp = []}>'
    """
    items = dict(encoding.items)
    paddings = items.pop("paddings", None)
    before, after = "", ""
    if isinstance(paddings, tuple):
        before = (
            "[" + ", ".join(f"{pair[0]}:+{pair[1]}" for pair in paddings if isinstance(pair, tuple)) + "] "
        )
    if encoding.kind == "shared_linear":
        after = f", alignment = {spelled(items.pop('alignment'))}"
    inner = ", ".join(f"{key} = {_in_full(value)}" for key, value in items.items())
    if encoding.name.startswith("#ttng."):
        return f"{encoding.name}<{inner}>"
    return f"{encoding.name}<{before}{{{inner}}}{after}>"


def _in_full(value: Value) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_in_full, value)) + "]"
    return in_mlir(value) if isinstance(value, Encoding) else spelled(value)
