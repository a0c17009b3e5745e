"""Choose the tile of shared memory for an operand: swizzle, TMA box, descriptor, steps, code.

  tilewise suggest wgmma --operand A --tile 128x64 --dtype bf16
  tilewise suggest tcgen05.B --tile 128x64 --dtype bf16
  tilewise suggest --operand B --tile 256x64 --dtype f16 --blas NT --stages 4
  tilewise suggest --operand A --tile 64x128 --dtype e4m3 --code cuda
  tilewise suggest --operand A --tile 128x64 --dtype bf16 --mode 64B
  tilewise suggest --engine tcgen05 --operand A --tile 128x64 --dtype bf16 --m 256 --cta-group 2
  tilewise suggest --engine tcgen05 --operand B --tile 128x768 --dtype e2m1 --kind mxf4 --k 96

The tile is rows x K: M x K for A, N x K for B; of tcgen05 with --cta-group 2 that of one CTA, half of the
rows. --major says which direction is contiguous; --blas says it by the letters of a column-major library,
A's and then B's: TN has both K-major. The mode is the widest that fits, or that of --mode.
"""

from __future__ import annotations

from tilewise.core.errors import Refused
from tilewise.questions.asking import asks, option_of
from tilewise.questions.engines import OF_TCGEN05, asked_for, reader_in
from tilewise.questions.report import Report, fields_of, refused
from tilewise.questions.texts import refuse_missing, sizes_in, with_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, Literal

    from tilewise.check.banks import Conflicts
    from tilewise.check.suggest import Suggestion
    from tilewise.hardware.operands.stepping import Digits, Step
    from tilewise.questions.asking import Number, Type, Word

LISTED = 6
"""So many steps are listed; of more the text says how they come about."""


ONLY_TCGEN05 = {
    **OF_TCGEN05,
    "n": "N: N of the product (the largest that feeds the tile)",
    "sparse": "A is sparse",
}


@asks(
    {"tcgen05": ONLY_TCGEN05},
    engine="--engine ENGINE: what reads the tile, wgmma or tcgen05 (wgmma), or with its operand wgmma.A",
    dtype="T: the type of an element, such as bf16",
    operand="A|B: A, [M, K], or B, [N, K]",
    tile="--shape RxK: rows and K of the tile, such as 128x64",
    major="the contiguous direction (k)",
    blas="XY: BLAS letters, N or T of A and of B, such as TN",
    mode="MODE: none, 32B, 64B, 128B, of tcgen05 128B_ATOM_32B (the widest that fits)",
    stages="N: tiles in flight (1)",
    code="the source text alone",
)
def suggest(
    engine: Word = "wgmma",
    dtype: Type | None = None,
    *,
    operand: str | None = None,
    tile: str | Sequence[int] | None = None,
    major: Literal["k", "mn"] | None = None,
    blas: str | None = None,
    mode: str | None = None,
    stages: int = 1,
    code: Literal["cuda", "cute"] | None = None,
    kind: str | None = None,
    m: Number | None = None,
    n: Number | None = None,
    k: Number | None = None,
    cta_group: Literal["1", "2"] | int | None = None,
    ws: bool = False,
    sparse: bool = False,
    lbo_mode: Literal["relative", "absolute"] | None = None,
    atomicity: Literal["16", "32"] | int | None = None,
) -> Report:
    """Return the tile of shared memory to take for an operand, or no where the hardware has none such.

    The report has the `mode` and `why`, the `atom` and the `tile` as layouts, the copy (`tma`), the
    descriptor (`value`), the `steps`, the `banks`, the `stages` and the `code`.

    >>> report = suggest("wgmma.A", "bf16", tile=(128, 64))
    >>> report.mode, str(report.tile), report.value
    ('128B', 'Swizzle<3,3,3> o S[(128, 64) : (64, 1)]', '0x4000004000010000')
    """
    from tilewise.check.suggest import suggest as suggested
    from tilewise.codegen.suggested import cuda_of, cute_of

    given = dict(locals())
    name, letter = reader_in(engine, operand)
    such = {"operand": "A", "tile": "128x64", "dtype": "bf16"}
    refuse_missing("suggest", {"operand": letter, "tile": tile, "dtype": dtype}, such)
    rows, depth = sizes_in("--tile", tile or "", "rows x K", "128x64: M x K for A, N x K for B")
    asked = asked_for({option: given[option] for option in ONLY_TCGEN05})
    try:
        found = suggested(
            engine=name or "wgmma",
            operand=letter or "",
            rows=rows,
            k=depth,
            dtype=dtype or "",
            major=major,
            blas=blas,
            mode=mode,
            stages=stages,
            **{"depth" if option == "k" else option: value for option, value in asked.items()},
        )
    except Refused as no:
        return refused(no, {"mode": None})
    sources = {"cuda": cuda_of(found), "cute": cute_of(found)}
    costs = list(_banks(found))
    fields = _fields(found, costs) | {name: value for name, value in asked.items() if name not in "mnk"}
    fields["code"] = sources
    if code is None:
        more = {"major": major, "blas": blas, "mode": mode, **asked}
        more |= {"stages": stages} if stages > 1 else {}
        return Report(fields, "\n".join(_lines(found, fields, costs, with_values(more))))
    source = sources[code]
    if source is not None:
        return Report(fields, source)
    reason = f"CuTe has no {found.engine} on {found.intake.name}"
    if found.intake.absolute:
        reason = "steps of 48 bytes are no sum of digits: tilewise descriptor steps lists them"
    return Report(fields | {"reason": reason}, f"no: {reason}", False)


def _fields(found: Suggestion, costs: Sequence[tuple[str, Conflicts]]) -> dict[str, Any]:
    from tilewise.check.suggest import global_words
    from tilewise.core.shapes import extents_of

    dims, strides = global_words(found)
    arguments = found.plan.tensor_map.arguments
    absolute = found.intake.absolute
    return {
        **fields_of(found, "engine", "operand", "major", "trans", "alignment", "bytes"),
        "dtype": found.intake.name,
        **({"product": found.intake.product} if found.intake.product else {}),
        "shape": [found.rows, found.k],
        **found.intake.fixed,
        "mode": found.mode.name,
        "why": [{"mode": choice.mode.name, **fields_of(choice, "fits", "why")} for choice in found.choices],
        "atom": {"shape": extents_of(found.atom.shape), "layout": found.atom},
        "tile": found.tile.coalesce(by_mode=True),
        "order": {"first": found.order, "why": found.why_order},
        "tma": {
            "boxes": found.plan.count,
            "globalDim": dims,
            "globalStrides": strides,
            **{name: value for name, value in arguments.items() if not name.startswith("global")},
            "bytes": found.plan.bytes,
        },
        "lbo": None if "lbo" in found.ignored or absolute else found.descriptor.lbo,
        "sbo": None if "sbo" in found.ignored else found.descriptor.sbo,
        "ignored": [name for name in found.ignored if name != "lbo" or not absolute],
        "value": f"{found.value:#018x}",
        "instruction": dict(zip("mnk", found.instruction, strict=True)),
        "steps": [fields_of(step, "mn", "k", "bytes", "encoded") for step in found.steps],
        "banks": [
            {
                "access": cost.access.name,
                **({"view": view} if view else {}),
                **fields_of(cost, "wavefronts", "ideal", "ways"),
            }
            for view, cost in costs
        ],
        "stages": fields_of(found.stages, "count", "stride", "bytes"),
        "notes": found.notes,
        "confirmed": found.confirmed,
    }


def _banks(found: Suggestion) -> Iterator[tuple[str, Conflicts]]:
    """Yield the view of the tile that threads write or read, and the cost, where its layout lets them.

    Of tcgen05 they write alone, along what is contiguous: no operand of its comes from a thread's registers.
    """
    from tilewise.check.banks import conflicts

    tile, view, accesses = found.tile, "", ["row:16B@st", "ldmatrix.x4"]
    if found.engine == "tcgen05":
        accesses = accesses[:1]
        if found.major != "k":
            tile, view = tile.permute(1, 0), f"[K, {'M' if found.operand == 'A' else 'N'}]"
    for access in accesses:
        try:
            yield view, conflicts(tile, access, dtype=found.dtype)
        except Refused:
            continue


# -- for people ------------------------------------------------------------------------------------


def _lines(
    found: Suggestion,
    fields: Mapping[str, Any],
    costs: Sequence[tuple[str, Conflicts]],
    given: Mapping[str, Any],
) -> Iterator[str]:
    name, letter = found.intake.name, "M" if found.operand == "A" else "N"
    major = "K-major" if found.major == "k" else f"{letter}-major"
    blas = f" ({given['blas'].upper()} in BLAS)" if "blas" in given else ""
    trans = "imm-trans" if found.engine == "wgmma" else "transpose"
    yield f"{found.operand} [{found.rows}, {found.k}] {name}, {major}{blas}, {trans} {found.trans}"
    for head, words in _rows(found, fields, costs):
        yield f"  {head:<10}  {words}"
    if not found.intake.absolute:
        engine = [] if found.engine == "wgmma" else ["--engine", found.engine]
        words = [*engine, "--operand", found.operand, "--tile", f"{found.rows}x{found.k}", "--dtype", name]
        for option, value in given.items():
            words += [option_of(option), *([] if value is True else [str(value)])]
        yield f"  the code: tilewise suggest {' '.join(words)} --code cuda, or cute"


def _rows(
    found: Suggestion, fields: Mapping[str, Any], costs: Sequence[tuple[str, Conflicts]]
) -> Iterator[tuple[str, object]]:
    """Yield what stands at the head of each row, and the row."""
    *passed_over, taken = found.choices
    yield "mode", f"{found.mode}: {taken.why}"
    for choice in passed_over:
        wider = f"{choice.mode}, wider, would fit" if choice.fits else f"not {choice.mode}"
        yield "", f"{wider}: {choice.why}"
    yield "atom", fields["atom"]["layout"]
    yield "tile", fields["tile"]
    yield from zip(("order", ""), found.why_order.split("; "), strict=False)
    tma = fields["tma"]
    boxes = "1 box" if found.plan.count == 1 else f"{found.plan.count} boxes"
    kind = tma["tensorDataType"].removeprefix("CU_TENSOR_MAP_DATA_TYPE_")
    dims, strides = ", ".join(tma["globalDim"]), ", ".join(tma["globalStrides"])
    room = f"dims {{{dims}}}, strides {{{strides}}} bytes, {tma['bytes']} on the mbarrier"
    yield "TMA", f"{boxes} of {{{_listed(tma['boxDim'])}}} {kind}, {room}"
    lbo, sbo = (
        f"{name} {getattr(found.descriptor, name)}" + (" (not read)" if name in found.ignored else "")
        for name in ("lbo", "sbo")
    )
    lbo = "lbo each step's own address" if found.intake.absolute else lbo
    yield "descriptor", f"{fields['value']}, {lbo}, {sbo} bytes; + address / 16"
    yield found.engine, _instruction(found)
    along_k = [step for step in found.steps if step.mn == 0]
    along_mn = [step for step in found.steps if step.k == 0]
    if len(along_k) > 1:
        yield "K steps", _deltas(along_k, found.feeding.along_k)
    if len(along_mn) > 1:
        yield "row steps", _deltas(along_mn, found.feeding.along_mn)
    if found.intake.absolute:
        yield "lbo", f"{_listed(step.descriptor.lbo for step in along_k)} bytes"
    stages, shared = found.stages, f"{found.bytes} bytes, aligned to {found.alignment}"
    if stages.count > 1:
        shared += f"; {stages.count} stages {stages.stride} apart, {stages.bytes} in all"
    yield "shared", shared
    banks = (f"of {view}, {cost}" if view else str(cost) for view, cost in costs)
    yield from zip(("banks", ""), banks, strict=False)
    for note in found.notes:
        yield "note", note
    yield "confirmed", ", ".join(found.confirmed)


def _instruction(found: Suggestion) -> str:
    """Return the instruction, what else there is to say of it, and how many a tile takes."""
    m, n, k = found.instruction
    which = f" of {found.intake.product.partition(' of ')[2]}"
    if found.engine == "wgmma":
        which = "" if n else " with N up to 256"
    last = found.steps[-1]
    down = f" x {last.mn + 1} down the rows" if last.mn else ""
    return f"m{m or 'M'}n{n or 'N'}k{k}{which}, {len(found.steps)} a tile: {last.k + 1} along K{down}"


def _deltas(steps: Sequence[Step[Any]], digits: Digits) -> str:
    if len(steps) > LISTED and digits:
        from tilewise.hardware.modes import CHUNK

        turns = [f"{count} of {far} bytes (encoded {far // CHUNK})" for count, far in digits if count > 1]
        return ", then ".join(reversed(turns))
    return f"+ {_listed(s.bytes for s in steps)} bytes, encoded + {_listed(s.encoded for s in steps)}"


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
