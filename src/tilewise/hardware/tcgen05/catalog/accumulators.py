"""The entries of what tcgen05.mma has in tensor memory besides scales: D, A, and the metadata of sparse A."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.hardware.catalog.entry import Built, Entry, Parameter, Value
from tilewise.hardware.catalog.parameters import dtype_named
from tilewise.hardware.catalog.registers import in_container
from tilewise.hardware.mma.kinds import INDEX, MEANS
from tilewise.hardware.tcgen05.addresses import COLUMN_BITS, WARPS, Cells, allocation_for
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
INPUTS = tuple(dict.fromkeys(name for kind in KINDS.values() for name in kind.types))


# -- parameters ------------------------------------------------------------------------------------


def _kind(given: str) -> str:
    return Kind.of(given).name


_M = tuple(sorted({path.m for path in DATA_PATHS.values()}))
M = Parameter("m", "M of the instruction, of both CTAs of a pair", legal=_M, number=True)
N = Parameter("n", "N of the instruction", rule="8 to 256, as the kind has it", number=True)
K = Parameter(
    "k", "columns of A, zeros and all", rule="a multiple of the instruction's", optional=True, number=True
)
RESULT = Parameter("dtype", "the type of D's elements", legal=RESULTS, normal=dtype_named)
INPUT = Parameter("dtype", "the type of A's elements", legal=INPUTS, normal=dtype_named)
KIND = Parameter("kind", "the kind of the product", legal=tuple(KINDS), optional=True, normal=_kind)
OF_SPARSE = Parameter("kind", "the kind of the product", legal=tuple(KINDS), normal=_kind)
SELECTOR = Parameter(
    "selector", "the sparsity selector: which of two columns", legal=(0, 1), default=0, number=True
)
GROUP = Parameter("cta_group", "CTAs that multiply together", legal=(1, 2), default=1, number=True)
WS = Parameter("ws", "tcgen05.mma.ws, which keeps B", flag=True)
SPARSE = Parameter("sparse", "A is sparse", flag=True)
SLAB = Parameter(
    "slab",
    "where half the lanes begin in each 32: at 0, or at 16",
    legal=(0, 1),
    default=0,
    number=True,
)
_SUCH = (GROUP, WS, SPARSE, SLAB)


# -- D ---------------------------------------------------------------------------------------------


def _accumulator(m: int, n: int, dtype: str, cta_group: int, ws: bool, sparse: bool, slab: int) -> Built:
    path = DataPath.of(m, cta_group, ws, sparse)
    path.check_slab(slab)
    element = DType.of(dtype)
    kinds = _having(m, n, dtype, cta_group, ws, sparse)
    cells = Cells.of(element, COLUMN_BITS)
    columns = path.columns(n)
    facts: dict[str, Any] = {
        **_path(path),
        "instructions": [kind.words_of(cta_group, ws, sparse) for kind in kinds],
        "dtype": dtype,
        **in_container(element, cells.taken, cells.lowest),
        **_room(columns),
        **_lanes(path, slab),
        **_ctas(path),
        "loaded_by": {f"warp_{warp}": _share(path, warp, n) for warp in range(WARPS)},
    }
    layout = path.accumulator(n, cells.step, slab)
    return Built(layout, facts, element, notes=_notes(path), source=path.source)


def _having(m: int, n: int, dtype: str, cta_group: int, ws: bool, sparse: bool) -> list[Kind]:
    """The kinds that have such a D; where none has, the refusal of the one that has the most shapes."""
    refused: Refused | None = None
    found = []
    for kind in KINDS.values():
        if dtype in kind.results:
            try:
                kind.check_shape(m, n, cta_group, sparse, ws)
                found.append(kind)
            except Refused as no:
                refused = refused or no
    if found:
        return found
    raise refused or Refused(
        "TW602",
        f"tcgen05 does not accumulate in {dtype}",
        witness={"dtype": dtype},
        hint=f"D is of {', '.join(RESULTS)}",
    )


def _accumulators() -> Iterator[dict[str, Value]]:
    """The instances of D: all paths, types and slabs, for one N."""
    for path in DATA_PATHS.values():
        for dtype in RESULTS:
            for such in _variants(path):
                yield {"m": path.m, "dtype": dtype, "cta_group": path.cta_group, **such}


def _variants(path: DataPath) -> Iterator[dict[str, Value]]:
    """What of `ws`, `sparse` and `slab` a path takes."""
    for ws in (False, True) if path.ws is None else (path.ws,):
        for sparse in (False, True) if path.sparse is None else (path.sparse,):
            for slab in path.slabs:
                yield {"ws": ws, "sparse": sparse, "slab": slab}


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
    element = this.check(dtype)
    _check_rows(this, m, cta_group, ws, sparse)
    whole = this.depth(sparse) if k is None else _checked_depth(this, k, sparse)
    stored = whole // 2 if sparse else whole
    cells = Cells.of(element, this.stored_bits(element), this.lowest(element))
    each = cells.columns(this.depth())
    columns = cells.columns(stored)
    facts: dict[str, Any] = {
        **_path(path),
        "instruction": this.words_of(cta_group, ws, sparse),
        "k": {"whole": whole, "stored": stored, "instruction": this.depth(sparse)},
        "dtype": dtype,
        **in_container(element, cells.taken, cells.lowest),
        **_room(columns),
        "step": {"columns": each, "count": columns // each},
        **_lanes(path, slab),
        **_ctas(path),
        "copies": path.folds,
    }
    layout = path.multiplicand(stored, cells.step, slab)
    notes = (*_notes(path), *_notes_of_a(path, element, cells))
    return Built(layout, facts, element, held=cells.held, notes=notes, source=path.source)


def _check_rows(kind: Kind, m: int, cta_group: int, ws: bool, sparse: bool) -> None:
    """Refuse an M that the kind does not have, whatever N is."""
    legal = kind.shapes(cta_group, sparse, ws)
    if m not in legal:
        kind.check_shape(m, min(legal[max(legal)]) if legal else 1, cta_group, sparse, ws)


def _checked_depth(kind: Kind, k: int, sparse: bool) -> int:
    depth = kind.depth(sparse)
    if k < 1 or k % depth:
        deep = f"; of K = {DEEP_K} the manual has no A in tensor memory" * (kind.packed and k == DEEP_K)
        raise Refused(
            "TW602",
            f"kind::{kind.name} has K = {depth}{' of sparse A' * sparse}, of which K = {k} is no multiple",
            witness={"kind": kind.name, "k": k, "sparse": sparse},
            hint=f"K is {depth}, {2 * depth}, {3 * depth}, ...: one instruction or several{deep}",
        )
    return k


def _multiplicands() -> Iterator[dict[str, Value]]:
    """The instances of A: all paths and types, one instruction; a kind is named if it is not the first."""
    for kind in KINDS.values():
        for path in DATA_PATHS.values():
            for such in _variants(path):
                ws, sparse = bool(such["ws"]), bool(such["sparse"])
                if path.m in kind.shapes(path.cta_group, sparse, ws):
                    for dtype in kind.types:
                        named = {"kind": kind.name} if kind_of(dtype) is not kind else {}
                        yield {"m": path.m, "dtype": dtype, **named, "cta_group": path.cta_group, **such}


# -- E ---------------------------------------------------------------------------------------------


def _metadata(m: int, kind: str, selector: int, cta_group: int, ws: bool, slab: int) -> Built:
    path, this = DataPath.of(m, cta_group, ws, sparse=True), KINDS[kind]
    path.check_slab(slab)
    _check_rows(this, m, cta_group, ws, sparse=True)
    metadata = Metadata(this, path)
    layout = metadata.layout(selector, slab)
    facts: dict[str, Any] = {
        **_path(path),
        "instruction": this.words_of(cta_group, ws, sparse=True),
        "chunk": {"columns": metadata.chunk, "stored": metadata.chunk // 2, "indices": 2},
        "means": MEANS[metadata.chunk],
        "indices": {"row": metadata.indices, "bits": INDEX.bits, "column": EACH},
        "patterns": [f"{pattern:#06b}" for pattern in metadata.patterns],
        "selectors": list(metadata.selectors),
        "columns": metadata.columns,
        "address": "an even column, whatever the selector",
        **_lanes(path, slab),
        **_ctas(path),
        "copies": path.folds,
    }
    notes = (*_notes(path), "patterns other than those, and other selectors, are undefined")
    return Built(layout, facts, INDEX, notes=notes, source=metadata.source)


def _metadatas() -> Iterator[dict[str, Value]]:
    """The instances of E: all kinds, paths and selectors."""
    for kind in KINDS.values():
        for path in DATA_PATHS.values():
            for such in _variants(path):
                ws, sparse, slab = (such[name] for name in ("ws", "sparse", "slab"))
                if sparse and path.m in kind.shapes(path.cta_group, sparse=True, ws=bool(ws)):
                    for selector in Metadata(kind, path).selectors:
                        yield {
                            "m": path.m,
                            "kind": kind.name,
                            "selector": selector,
                            "cta_group": path.cta_group,
                            "ws": ws,
                            "slab": slab,
                        }


# -- what all say ----------------------------------------------------------------------------------


def _path(path: DataPath) -> dict[str, Any]:
    return {"datapath": path.letter, "organisation": path.organisation}


def _room(columns: int) -> dict[str, Any]:
    """Columns of 32 bits, and what tcgen05.alloc gives that has so many."""
    return {"columns": columns, "allocate": allocation_for(columns)}


def _lanes(path: DataPath, slab: int) -> dict[str, Any]:
    lanes = path.lanes(slab)
    return {"lanes": {"count": len(lanes), "first": lanes[0], "of_each_warp": len(lanes) // WARPS}}


def _ctas(path: DataPath) -> dict[str, Any]:
    """The rows of each CTA of a pair: CTA 0 is the one of even rank."""
    if path.cta_group == 1:
        return {}
    return {
        "ctas": {
            f"cta_{cta}": {"first_row": cta * path.rows, "last_row": (cta + 1) * path.rows - 1}
            for cta in range(path.cta_group)
        }
    }


def _share(path: DataPath, warp: int, n: int) -> dict[str, int]:
    """What a warp reaches, of one CTA's rows."""
    share = path.share(warp, n)
    return {
        "first_row": share.rows[0],
        "last_row": share.rows[-1],
        "first_column": share.columns[0],
        "last_column": share.columns[-1],
    }


def _notes(path: DataPath) -> tuple[str, ...]:
    if path.half:
        return ("A in tensor memory, D and the metadata of sparse A have the same slab",)
    return ()


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


# -- the entries -----------------------------------------------------------------------------------

_WORDS = "layout tensor memory tmem data path datapath TLane TCol cta_group pair .ws slab Blackwell"

ENTRIES = (
    Entry(
        "tcgen05.D",
        "the accumulator of a tcgen05.mma, [M, N]: which lane and column of tensor memory has which element",
        (RESULT, M, N, *_SUCH),
        PTX_DATA_PATHS,
        _accumulator,
        {"m": 128, "n": 64, "dtype": "f32"},
        f"{_WORDS} accumulator result C",
        _accumulators,
    ),
    Entry(
        "tcgen05.A",
        "A of a tcgen05.mma in tensor memory, [M, K], of sparse A [M, K/2]: which lanes and columns have it",
        (INPUT, M, KIND, K, *_SUCH),
        PTX_DATA_PATHS,
        _multiplicand,
        {"m": 128, "dtype": "f16"},
        f"{_WORDS} multiplicand operand",
        _multiplicands,
    ),
    Entry(
        "tcgen05.E",
        "the metadata of a sparse A in tensor memory, [M, indices of a row]: which bits say where it was",
        (OF_SPARSE, M, SELECTOR, GROUP, WS, SLAB),
        PTX_METADATA,
        _metadata,
        {"m": 128, "kind": "f16"},
        f"{_WORDS} sparse metadata sparsity selector index 2:4 tcgen05.mma.sp",
        _metadatas,
    ),
)
