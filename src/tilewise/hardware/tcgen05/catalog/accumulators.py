"""The entries of what tcgen05.mma has in tensor memory besides scales: D, A, and the metadata of sparse A."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.hardware.catalog.entry import Built, Entry, Value
from tilewise.hardware.catalog.parameters import choice, number, of_type
from tilewise.hardware.catalog.registers import in_container
from tilewise.hardware.instructions import listed, values, where
from tilewise.hardware.mma.kinds import INDEX, MEANS
from tilewise.hardware.tcgen05.addresses import COLUMN_BITS, WARPS, Cells, allocation_for
from tilewise.hardware.tcgen05.catalog.parameters import GROUP, KIND, SPARSE, WS, of_kind
from tilewise.hardware.tcgen05.datapaths import DATA_PATHS, PTX_DATA_PATHS, DataPath
from tilewise.hardware.tcgen05.kinds import DEEP_K, KINDS, Kind, kind_of
from tilewise.hardware.tcgen05.metadata import EACH, PTX_METADATA, Metadata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ABSENT = {
    "tcgen05.C": "C is where D is: tcgen05.mma accumulates in place, and tcgen05.D has its layout",
    "tcgen05.metadata": "the metadata of a sparse A is tcgen05.E",
}
"""Names that are left out, and why."""

RESULTS = tuple(dict.fromkeys(name for kind in KINDS.values() for name in reversed(kind.results)))
INPUTS = values(KINDS.values(), "types")


# -- parameters ------------------------------------------------------------------------------------


_M = choice("m", "M of the instruction, of both CTAs of a pair", sorted(values(DATA_PATHS.values(), "m")))
_N = number("n", "N of the instruction", "8 to 256, as the kind has it")
_K = number("k", "columns of A, zeros and all", "a multiple of the instruction's", optional=True)
_SELECTOR = choice("selector", "the sparsity selector: which of two columns", (0, 1), 0)
_SLAB = choice("slab", "where half the lanes begin in each 32: at 0, or at 16", (0, 1), 0)
_SUCH = (GROUP, WS, SPARSE, _SLAB)


# -- D ---------------------------------------------------------------------------------------------


def _accumulator(m: int, n: int, dtype: str, cta_group: int, ws: bool, sparse: bool, slab: int) -> Built:
    path, element = DataPath.of(m, cta_group, ws, sparse), DType.of(dtype)
    path.check_slab(slab)
    kinds = _having(m, n, dtype, cta_group, ws, sparse)
    cells, columns = Cells.of(element, COLUMN_BITS), path.columns(n)
    facts: dict[str, Any] = {
        "instructions": [kind.words_of(cta_group, ws, sparse) for kind in kinds],
        "dtype": dtype,
        **in_container(element, cells.taken, cells.lowest),
        "columns": columns,
        "allocate": allocation_for(columns),
    }
    loaded = {f"warp_{warp}": _share(path, warp, n) for warp in range(WARPS)}
    facts = _on(path, slab, facts) | {"loaded_by": loaded}
    layout = path.accumulator(n, cells.step, slab)
    return Built(layout, facts, element, notes=_notes(path), source=path.source)


def _having(m: int, n: int, dtype: str, cta_group: int, ws: bool, sparse: bool) -> list[Kind]:
    """Return the kinds that have such a D; where none has, refuse as the one with the most shapes does."""
    refused: list[Refused] = []
    found = []
    for kind in where(KINDS.values(), results=dtype):
        try:
            kind.check_shape(m, n, cta_group, sparse, ws)
            found.append(kind)
        except Refused as no:
            refused.append(no)
    if found:
        return found
    hint = f"D is of {listed(RESULTS)}"
    no_type = f"tcgen05 does not accumulate in {dtype}"
    raise [*refused, Refused("TW602", no_type, witness={"dtype": dtype}, hint=hint)][0]


def _share(path: DataPath, warp: int, n: int) -> dict[str, int]:
    """Return what a warp reaches, of one CTA's rows."""
    share = path.share(warp, n)
    return {
        "first_row": share.rows[0],
        "last_row": share.rows[-1],
        "first_column": share.columns[0],
        "last_column": share.columns[-1],
    }


# -- A ---------------------------------------------------------------------------------------------


def _multiplicand(
    m: int,
    dtype: str,
    kind: str | None,
    k: int | None,
    cta_group: int,
    ws: bool,
    sparse: bool,
    slab: int,
) -> Built:
    path = DataPath.of(m, cta_group, ws, sparse)
    path.check_slab(slab)
    this = kind_of(dtype) if kind is None else KINDS[kind]
    element, depth = this.check(dtype), this.depth(sparse)
    _check_rows(this, m, cta_group, ws, sparse)
    whole = depth if k is None else k
    if whole < 1 or whole % depth:
        deep = f"; of K = {DEEP_K} the manual has no A in tensor memory" * (this.packed and k == DEEP_K)
        raise Refused(
            "TW602",
            f"kind::{this.name} has K = {depth}{' of sparse A' * sparse}, of which K = {k} is no multiple",
            witness={"kind": this.name, "k": k, "sparse": sparse},
            hint=f"K is {depth}, {2 * depth}, {3 * depth}, ...: one instruction or several{deep}",
        )
    stored = whole // 2 if sparse else whole
    cells = Cells.of(element, this.stored_bits(element), this.lowest(element))
    each, columns = cells.columns(this.depth()), cells.columns(stored)
    facts: dict[str, Any] = {
        "instruction": this.words_of(cta_group, ws, sparse),
        "k": {"whole": whole, "stored": stored, "instruction": depth},
        "dtype": dtype,
        **in_container(element, cells.taken, cells.lowest),
        "columns": columns,
        "allocate": allocation_for(columns),
        "step": {"columns": each, "count": columns // each},
    }
    facts = _on(path, slab, facts) | {"copies": path.folds}
    layout = path.multiplicand(stored, cells.step, slab)
    notes = (*_notes(path), *_notes_of_a(path, element, cells))
    return Built(layout, facts, element, held=cells.held, notes=notes, source=path.source)


def _check_rows(kind: Kind, m: int, cta_group: int, ws: bool, sparse: bool) -> None:
    """Refuse an M that the kind does not have, whatever N is."""
    legal = kind.shapes(cta_group, sparse, ws)
    if m not in legal:
        kind.check_shape(m, min(legal[max(legal)]) if legal else 1, cta_group, sparse, ws)


def _notes_of_a(path: DataPath, element: DType, cells: Cells) -> Iterator[str]:
    yield "K is contiguous: A of tensor memory is never M-major"
    if path.folds > 1:
        yield (
            f"each of the {path.folds} groups of {path.rows} lanes computes its own columns of D from the A "
            "in its own lanes, and needs all of it"
        )
    if element.bits == 6 and cells.taken == 8:
        yield (
            "where the 6 bits are in their byte the manual has in figures alone: bits 5..0 as for mma.sync; "
            "an example of CUTLASS says 6..1 of tcgen05.cp"
        )


# -- E ---------------------------------------------------------------------------------------------


def _metadata(m: int, kind: str, selector: int, cta_group: int, ws: bool, slab: int) -> Built:
    path, this = DataPath.of(m, cta_group, ws, sparse=True), KINDS[kind]
    path.check_slab(slab)
    _check_rows(this, m, cta_group, ws, sparse=True)
    metadata = Metadata(this, path)
    facts = {
        "instruction": this.words_of(cta_group, ws, sparse=True),
        "chunk": {"columns": metadata.chunk, "stored": metadata.chunk // 2, "indices": 2},
        "means": MEANS[metadata.chunk],
        "indices": {"row": metadata.indices, "bits": INDEX.bits, "column": EACH},
        "patterns": [f"{pattern:#06b}" for pattern in metadata.patterns],
        "selectors": list(metadata.selectors),
        "columns": metadata.columns,
        "address": "an even column, whatever the selector",
    }
    facts = _on(path, slab, facts) | {"copies": path.folds}
    notes = (*_notes(path), "patterns other than those, and other selectors, are undefined")
    return Built(metadata.layout(selector, slab), facts, INDEX, notes=notes, source=metadata.source)


# -- what all say ----------------------------------------------------------------------------------


def _on(path: DataPath, slab: int, facts: dict[str, Any]) -> dict[str, Any]:
    """Return facts between those of the data path: what it is, its lanes, the rows of CTAs."""
    lanes = path.lanes(slab)
    ctas = {
        f"cta_{cta}": {"first_row": cta * path.rows, "last_row": (cta + 1) * path.rows - 1}
        for cta in range(path.cta_group)
    }
    return {
        "datapath": path.letter,
        "organisation": path.organisation,
        **facts,
        "lanes": {"count": len(lanes), "first": lanes[0], "of_each_warp": len(lanes) // WARPS},
        **({"ctas": ctas} if path.cta_group > 1 else {}),
    }


def _notes(path: DataPath) -> tuple[str, ...]:
    return ("A in tensor memory, D and the metadata of sparse A have the same slab",) * path.half


def _products() -> Iterator[tuple[Kind, DataPath, dict[str, Value]]]:
    """Yield every kind with every data path of it, and how its products are asked."""
    for kind, path in product(KINDS.values(), DATA_PATHS.values()):
        for ws in (False, True) if path.ws is None else (path.ws,):
            for sparse in (False, True) if path.sparse is None else (path.sparse,):
                for slab in path.slabs if path.m in kind.shapes(path.cta_group, sparse, ws) else ():
                    such = {"cta_group": path.cta_group, "ws": ws, "sparse": sparse, "slab": slab}
                    yield kind, path, {"m": path.m, **such}


def _accumulators() -> list[dict[str, Value]]:
    """Return the instances of D: all paths, types and slabs, for one N."""
    every = [(path, dtype, such) for kind, path, such in _products() for dtype in kind.results]
    every.sort(key=lambda one: (one[0].letter, RESULTS.index(one[1])))
    return [{"dtype": dtype, **such} for _, dtype, such in every]


def _multiplicands() -> Iterator[dict[str, Value]]:
    """Yield the instances of A: all paths and types; a kind is named if it is not the first."""
    for kind, _, such in _products():
        for dtype in kind.types:
            named = {"kind": kind.name} if kind_of(dtype) is not kind else {}
            yield {"dtype": dtype, **named, **such}


def _metadatas() -> Iterator[dict[str, Value]]:
    """Yield the instances of E: all kinds, paths and selectors."""
    for kind, path, such in _products():
        if such.pop("sparse"):
            for selector in Metadata(kind, path).selectors:
                yield {"kind": kind.name, "selector": selector, **such}


# -- the entries -----------------------------------------------------------------------------------

_WORDS = "layout tensor memory tmem data path datapath TLane TCol cta_group pair .ws slab Blackwell"

ENTRIES = (
    Entry(
        "tcgen05.D",
        "the accumulator of a tcgen05.mma, [M, N]: which lane and column of tensor memory has which element",
        (of_type("D's elements", RESULTS), _M, _N, *_SUCH),
        PTX_DATA_PATHS,
        _accumulator,
        {"m": 128, "n": 64, "dtype": "f32"},
        f"{_WORDS} accumulator result C",
        _accumulators,
    ),
    Entry(
        "tcgen05.A",
        "A of a tcgen05.mma in tensor memory, [M, K], of sparse A [M, K/2]: which lanes and columns have it",
        (of_type("A's elements", INPUTS), _M, KIND, _K, *_SUCH),
        PTX_DATA_PATHS,
        _multiplicand,
        {"m": 128, "dtype": "f16"},
        f"{_WORDS} multiplicand operand",
        _multiplicands,
    ),
    Entry(
        "tcgen05.E",
        "the metadata of a sparse A in tensor memory, [M, indices of a row]: which bits say where it was",
        (of_kind("the kind of the product"), _M, _SELECTOR, GROUP, WS, _SLAB),
        PTX_METADATA,
        _metadata,
        {"m": 128, "kind": "f16"},
        f"{_WORDS} sparse metadata sparsity selector index 2:4 tcgen05.mma.sp",
        _metadatas,
    ),
)
