"""The entries of tcgen05.mma: the products, and their operands in tensor memory besides scales: D, A, and E.

A build function takes the parameters `cta_group`, `ws` and `sparse` together, as `such`: they select the
products of a kind, and their data path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product

from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.hardware.catalog.entry import (
    Built,
    Parameter,
    Value,
    choice,
    entry,
    flag,
    in_container,
    number,
    of_type,
)
from tilewise.hardware.instructions import listed, values, where
from tilewise.hardware.mma.kinds import INDEX, MEANS
from tilewise.hardware.tcgen05.addresses import COLUMN_BITS, WARPS, Cells, allocation_for
from tilewise.hardware.tcgen05.datapaths import DATA_PATHS, DataPath
from tilewise.hardware.tcgen05.kinds import (
    BLOCKS,
    DEEP_K,
    KINDS,
    Kind,
    Product,
    kind_of,
    product_of,
)
from tilewise.hardware.tcgen05.metadata import EACH, Metadata
from tilewise.hardware.tcgen05.opcodes import PRODUCT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


RESULTS = tuple(dict.fromkeys(name for kind in KINDS.values() for name in reversed(kind.results)))
INPUTS = values(KINDS.values(), "types")


# -- parameters ------------------------------------------------------------------------------------


def of_kind(meaning: str, legal: Iterable[str] = KINDS, *, optional: bool = False) -> Parameter:
    """Return the parameter that is a kind of tcgen05.mma, with or without PTX's `kind::` before it.

    >>> of_kind("the kind of the product").read(".kind::MXF4")
    'mxf4'
    """
    return Parameter(
        "kind", meaning, legal=tuple(legal), normal=lambda given: Kind.of(given).name, optional=optional
    )


KIND = of_kind("the kind of the product", optional=True)
GROUP = choice("cta_group", "CTAs that multiply together", (1, 2), 1)
WS = flag("ws", "tcgen05.mma.ws, which keeps B")
SPARSE = flag("sparse", "A is sparse")
_DEEP = f"{DEEP_K} of mxf4 and mxf4nvf4"
K_OF_PRODUCT = number(
    "k", "K of the product", f"as the kind has it, with sparse A twice that; {_DEEP}", optional=True
)
_M = choice("m", "M of the instruction, of both CTAs of a pair", sorted(values(DATA_PATHS.values(), "m")))
_N = number("n", "N of the instruction", "8 to 256, as the kind has it")
_K = number("k", "columns of A, zeros and all", "a multiple of the instruction's", optional=True)
_SELECTOR = choice("selector", "the sparsity selector: which of two columns", (0, 1), 0)
_SLAB = choice("slab", "where half the lanes begin in each 32: at 0, or at 16", (0, 1), 0)
_SUCH = (GROUP, WS, SPARSE, _SLAB)


# -- the legal products ----------------------------------------------------------------------------


def _shapes(kind: str, m: int | None, n: int | None, k: int | None, **such: Any) -> Built:
    some = product_of(kind, k=k or 0, **such)
    this, legal = some.kind, some.shapes
    if m is not None or n is not None or not legal:
        first = m if m is not None else next(iter(legal), 128)
        some.check(first, n if n is not None else max(legal.get(first, (256,))))
    facts = {
        "kind": this.name,
        "types": list(this.types),
        "mixed": this.mixed,
        "accumulators": list(this.results),
        "scales": [f"{one.word} of {one.dtype} ({BLOCKS[one.word]})" for one in this.scalings],
        "k": some.k,
        "m": list(legal) if m is None else m,
        "n": list(legal[m if m is not None else next(iter(legal))]) if n is None else n,
        "architectures": str(some.needs),
        "majors": {name: list(this.majors(name)) for name in this.types},
    }
    others = [other for other in some.depths if k is None and other != some.k]
    return Built(None, facts, notes=tuple(f"there is K = {k} as well: --k {k}" for k in others))


# -- D, A and E ------------------------------------------------------------------------------------


def _accumulator(m: int, n: int, dtype: str, slab: int, **such: Any) -> Built:
    path, element = DataPath.of(m, **such), DType.of(dtype)
    path.check_slab(slab)
    having = _having(m, n, dtype, such)
    cells, columns = Cells.of(element, COLUMN_BITS), path.columns(n)
    facts = _on(
        path,
        slab,
        instructions=[some.words for some in having],
        dtype=dtype,
        **in_container(element, cells.taken, cells.lowest),
        columns=columns,
        allocate=allocation_for(columns),
    )
    shares = {f"warp_{warp}": path.share(warp, n) for warp in range(WARPS)}
    facts["loaded_by"] = {
        warp: {
            "first_row": share.rows[0],
            "last_row": share.rows[-1],
            "first_column": share.columns[0],
            "last_column": share.columns[-1],
        }
        for warp, share in shares.items()
    }
    layout = path.accumulator(n, cells.step, slab)
    return Built(layout, facts, element, notes=_notes(path), source=path.source)


def _having(m: int, n: int, dtype: str, such: dict[str, Any]) -> list[Product]:
    """Return the products that have such a D; without any, refuse as the product with the most
    shapes does.
    """
    refused: list[Refused] = []
    found = []
    for kind in where(KINDS.values(), results=dtype):
        some = product_of(kind.name, **such)
        try:
            some.check(m, n)
            found.append(some)
        except Refused as no:
            refused.append(no)
    if found:
        return found
    hint = f"D is of {listed(RESULTS)}"
    no_type = f"tcgen05 does not accumulate in {dtype}"
    raise [*refused, Refused("TW602", no_type, witness={"dtype": dtype}, hint=hint)][0]


def _multiplicand(m: int, dtype: str, kind: str | None, k: int | None, slab: int, **such: Any) -> Built:
    path = DataPath.of(m, **such)
    path.check_slab(slab)
    this = kind_of(dtype) if kind is None else KINDS[kind]
    some, element = product_of(this.name, **such), this.check(dtype)
    some.check(*some.filled(m))
    whole = some.k if k is None else k
    if whole < 1 or whole % some.k:
        deep = f"; of K = {DEEP_K} the manual has no A in tensor memory" * (this.packed and k == DEEP_K)
        of_sparse = " of sparse A" * some.sparse
        raise Refused(
            "TW602",
            f"kind::{this.name} has K = {some.k}{of_sparse}, of which K = {k} is no multiple",
            witness={"kind": this.name, "k": k, "sparse": some.sparse},
            hint=f"K is {some.k}, {2 * some.k}, {3 * some.k}, ...: one instruction or several{deep}",
        )
    stored = whole // 2 if some.sparse else whole
    cells = Cells.of(element, this.stored_bits(element), this.lowest(element))
    each, columns = cells.columns(this.k), cells.columns(stored)
    facts = _on(
        path,
        slab,
        instruction=some.words,
        k={"whole": whole, "stored": stored, "instruction": some.k},
        dtype=dtype,
        **in_container(element, cells.taken, cells.lowest),
        columns=columns,
        allocate=allocation_for(columns),
        step={"columns": each, "count": columns // each},
    )
    notes = [*_notes(path), "K is contiguous: A of tensor memory is never M-major"]
    if path.folds > 1:
        notes.append(
            f"each of the {path.folds} groups of {path.rows} lanes computes its own columns of D from the A "
            "in its own lanes, and needs all of it"
        )
    if element.bits == 6 and cells.taken == 8:
        notes.append(
            "where the 6 bits are in their byte the manual has in figures alone: bits 5..0 as for mma.sync; "
            "an example of CUTLASS says 6..1 of tcgen05.cp"
        )
    facts["copies"] = path.folds
    layout = path.multiplicand(stored, cells.step, slab)
    return Built(layout, facts, element, held=cells.held, notes=tuple(notes), source=path.source)


def _metadata(m: int, kind: str, selector: int, slab: int, **such: Any) -> Built:
    some = product_of(kind, sparse=True, **such)
    path = DataPath.of(m, sparse=True, **such)
    path.check_slab(slab)
    some.check(*some.filled(m))
    metadata = Metadata(some.kind, path)
    facts = _on(
        path,
        slab,
        instruction=some.words,
        chunk={"columns": metadata.chunk, "stored": metadata.chunk // 2, "indices": 2},
        means=MEANS[metadata.chunk],
        indices={"row": metadata.indices, "bits": INDEX.bits, "column": EACH},
        patterns=[f"{pattern:#06b}" for pattern in metadata.patterns],
        selectors=list(metadata.selectors),
        columns=metadata.columns,
        address="an even column, whatever the selector",
    )
    notes = (*_notes(path), "patterns other than those, and other selectors, are undefined")
    layout = metadata.layout(selector, slab)
    return Built(layout, facts | {"copies": path.folds}, INDEX, notes=notes, source=metadata.source)


def _on(path: DataPath, slab: int, **facts: Any) -> dict[str, Any]:
    """Return facts between those of the data path: its name, its lanes, the rows of CTAs."""
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


# -- instances -------------------------------------------------------------------------------------


def _products() -> Iterator[dict[str, Value]]:
    """Yield the options of every existing product of every kind."""
    flags = (False, True)
    for kind, cta_group, sparse, ws in product(KINDS.values(), (1, 2), flags, flags):
        if product_of(kind.name, cta_group, sparse, ws).shapes:
            yield {"kind": kind.name, "cta_group": cta_group, "sparse": sparse, "ws": ws}


def _on_paths() -> Iterator[tuple[Kind, DataPath, dict[str, Value]]]:
    """Yield every kind with every data path of it, and the options of its products."""
    for kind, path in product(KINDS.values(), DATA_PATHS.values()):
        for ws in (False, True) if path.ws is None else (path.ws,):
            for sparse in (False, True) if path.sparse is None else (path.sparse,):
                some = product_of(kind.name, path.cta_group, sparse, ws)
                for slab in path.slabs if path.m in some.shapes else ():
                    such = {"cta_group": path.cta_group, "ws": ws, "sparse": sparse, "slab": slab}
                    yield kind, path, {"m": path.m, **such}


def _accumulators() -> list[dict[str, Value]]:
    """Return the instances of D: all paths, types and slabs, for one N."""
    every = [(path, dtype, such) for kind, path, such in _on_paths() for dtype in kind.results]
    every.sort(key=lambda one: (one[0].letter, RESULTS.index(one[1])))
    return [{"dtype": dtype, **such} for _, dtype, such in every]


def _multiplicands() -> Iterator[dict[str, Value]]:
    """Yield the instances of A: all paths and types; a kind is named if it is not the first."""
    for kind, _, such in _on_paths():
        for dtype in kind.types:
            named = {"kind": kind.name} if kind_of(dtype) is not kind else {}
            yield {"dtype": dtype, **named, **such}


def _metadatas() -> Iterator[dict[str, Value]]:
    """Yield the instances of E: all kinds, paths and selectors."""
    for kind, path, such in _on_paths():
        if such.pop("sparse"):
            for selector in Metadata(kind, path).selectors:
                yield {"kind": kind.name, "selector": selector, **such}


# -- the entries -----------------------------------------------------------------------------------


ENTRIES = (
    entry("tcgen05.D", (of_type("D's elements", RESULTS), _M, _N, *_SUCH), _accumulator, _accumulators),
    entry(
        "tcgen05.A", (of_type("A's elements", INPUTS), _M, KIND, _K, *_SUCH), _multiplicand, _multiplicands
    ),
    entry(
        "tcgen05.E",
        (of_kind("the kind of the product"), _M, _SELECTOR, GROUP, WS, _SLAB),
        _metadata,
        _metadatas,
    ),
)

SHAPES = entry(
    "tcgen05.shapes",
    (
        Parameter("kind", "the kind of tcgen05.mma", legal=tuple(KINDS)),
        number("m", "asks whether this M is legal", "a number", optional=True),
        number("n", "asks whether this N is legal", "a number", optional=True),
        GROUP,
        SPARSE,
        replace(WS, meaning="tcgen05.mma.ws"),
        K_OF_PRODUCT,
    ),
    _shapes,
    _products,
    looks=PRODUCT.looks,
    said_by=PRODUCT.said,
)
