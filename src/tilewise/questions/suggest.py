"""Which tile of shared memory to take for an operand: swizzle, TMA box, descriptor, steps, code.

  tilewise suggest --engine wgmma --operand A --tile 128x64 --dtype bf16
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

import argparse

from tilewise.cli.answer import NO, Answer, fields, refused
from tilewise.cli.arguments import add_options, sizes_from
from tilewise.cli.commands.match import asked_of_tcgen05, number, of_tcgen05
from tilewise.core.errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from tilewise.check.banks import Conflicts
    from tilewise.check.suggest import Suggestion
    from tilewise.hardware.operands.stepping import Digits, Step

LISTED = 6
"""So many steps are listed; of more it is said how they come about."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """--operand A|B --tile RxK --dtype T [--engine E] [--major M | --blas XY] [--mode W] ..."""
    needed = {"required": True}
    engines = {"type": str.lower, "default": "wgmma"}
    add_options(
        parser,
        {
            "--engine": {"help": "what reads the tile: wgmma or tcgen05 (wgmma)", **engines},
            "--operand": {"metavar": "A|B", "help": "A, [M, K], or B, [N, K]", **needed},
            "--tile": {"metavar": "RxK", "help": "rows and K of the tile, such as 128x64", **needed},
            "--dtype": {"help": "the type of an element, such as bf16", **needed},
        },
    )
    add_options(
        parser.add_mutually_exclusive_group(),
        {
            "--major": (("k", "mn"), "the contiguous direction (k)"),
            "--blas": ("XY", "BLAS letters, N or T of A and of B, such as TN"),
        },
    )
    add_options(
        parser,
        {
            "--mode": ("MODE", "none, 32B, 64B, 128B, of tcgen05 128B_ATOM_32B (the widest that fits)"),
            "--stages": {"type": int, "default": 1, "metavar": "N", "help": "tiles in flight (1)"},
            "--code": (("cuda", "cute"), "the source text alone"),
        },
    )
    only = parser.add_argument_group("tcgen05")
    of_tcgen05(only)
    add_options(
        only,
        {
            "--n": ("N", "N of the product (the largest that feeds the tile)"),
            "--k": ("K", "K of the product, where the kind has several: 64 or 96"),
        },
    )
    only.add_argument("--sparse", action="store_true", default=None, help="A is sparse")


def answer(args: argparse.Namespace) -> Answer:
    """The suggestion; no where the hardware has no such tile."""
    from tilewise.check.suggest import suggest
    from tilewise.emit.suggested import cuda_of, cute_of

    rows, k = sizes_from("--tile", args.tile, "rows x K", "128x64: M x K for A, N x K for B")
    asked = asked_of_tcgen05(args)
    asked |= {} if args.n is None else {"n": number(args.n, "--n", "128")}
    try:
        found = suggest(
            operand=args.operand.upper(),
            rows=rows,
            k=k,
            **fields(args, "engine", "dtype", "major", "blas", "mode", "stages"),
            **{"depth" if name == "k" else name: value for name, value in asked.items()},
        )
    except Refused as no:
        return refused(no, {"mode": None})
    code = {"cuda": cuda_of(found), "cute": cute_of(found)}
    data = _data(found) | {name: value for name, value in asked.items() if name not in "mnk"} | {"code": code}
    if args.code is None:
        return Answer(data, "\n".join(_lines(found, data, args)))
    if code[args.code] is None:
        reason = f"CuTe has no {found.engine} on {found.intake.name}"
        if found.intake.absolute:
            reason = "steps of 48 bytes are no sum of digits: tilewise descriptor steps lists them"
        return Answer(data | {"reason": reason}, f"no: {reason}", NO)
    return Answer(data, code[args.code] or "")


def _data(found: Suggestion) -> dict[str, Any]:
    from tilewise.check.suggest import global_words
    from tilewise.core.shapes import extents_of

    dims, strides = global_words(found)
    arguments = found.plan.tensor_map.arguments
    absolute = found.intake.absolute
    return {
        **fields(found, "engine", "operand", "major", "trans", "alignment", "bytes"),
        "dtype": found.intake.name,
        **({"product": found.intake.product} if found.intake.product else {}),
        "shape": [found.rows, found.k],
        **found.intake.fixed,
        "mode": found.mode.name,
        "why": [{"mode": choice.mode.name, **fields(choice, "fits", "why")} for choice in found.choices],
        "atom": {"shape": extents_of(found.atom.shape), "layout": str(found.atom)},
        "tile": str(found.tile.coalesce(by_mode=True)),
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
        "steps": [fields(step, "mn", "k", "bytes", "encoded") for step in found.steps],
        "banks": [
            {
                "access": cost.access.name,
                **({"view": view} if view else {}),
                **fields(cost, "wavefronts", "ideal", "ways"),
            }
            for view, cost in _banks(found)
        ],
        "stages": fields(found.stages, "count", "stride", "bytes"),
        "notes": list(found.notes),
        "confirmed": list(found.confirmed),
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


def _lines(found: Suggestion, data: Mapping[str, Any], args: argparse.Namespace) -> Iterator[str]:
    name, letter = found.intake.name, "M" if found.operand == "A" else "N"
    major = "K-major" if found.major == "k" else f"{letter}-major"
    blas = f" ({args.blas.upper()} in BLAS)" if args.blas else ""
    trans = "imm-trans" if found.engine == "wgmma" else "transpose"
    yield f"{found.operand} [{found.rows}, {found.k}] {name}, {major}{blas}, {trans} {found.trans}"
    for head, words in _rows(found, data):
        yield f"  {head:<10}  {words}"
    if not found.intake.absolute:
        engine = "" if found.engine == "wgmma" else f"--engine {found.engine} "
        asked = f"{engine}--operand {found.operand} --tile {args.tile} --dtype {name}{_options(args)}"
        yield f"  the code: tilewise suggest {asked} --code cuda, or cute"


def _rows(found: Suggestion, data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what stands at the head of each row, and the row."""
    *passed_over, taken = found.choices
    yield "mode", f"{found.mode}: {taken.why}"
    for choice in passed_over:
        wider = f"{choice.mode}, wider, would fit" if choice.fits else f"not {choice.mode}"
        yield "", f"{wider}: {choice.why}"
    yield "atom", data["atom"]["layout"]
    yield "tile", data["tile"]
    yield from zip(("order", ""), found.why_order.split("; "), strict=False)
    tma = data["tma"]
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
    yield "descriptor", f"{data['value']}, {lbo}, {sbo} bytes; + address / 16"
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
    banks = (f"of {view}, {cost}" if view else str(cost) for view, cost in _banks(found))
    yield from zip(("banks", ""), banks, strict=False)
    for note in found.notes:
        yield "note", note
    yield "confirmed", ", ".join(found.confirmed)


def _options(args: argparse.Namespace) -> str:
    """Return the options that were given, as a shell has them."""
    named = ("major", "blas", "mode", "kind", "m", "n", "k", "cta_group", "lbo_mode", "atomicity")
    given = fields(args, *named, "sparse", "ws").items()
    parts = [
        f" --{name.replace('_', '-')}" + ("" if value is True else f" {value}")
        for name, value in given
        if value
    ]
    return "".join(parts) + (f" --stages {args.stages}" if args.stages > 1 else "")


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
