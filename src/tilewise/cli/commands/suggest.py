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

from tilewise.cli.answer import NO, YES, Answer, witness_data
from tilewise.cli.commands.match import asked_of_tcgen05, number, of_tcgen05
from tilewise.cli.hints import in_a_shell
from tilewise.core.errors import LayoutError, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tilewise.check.banks import Conflicts
    from tilewise.check.suggest import Choice, Suggestion
    from tilewise.hardware.wgmma.stepping import Digits, Step

LISTED = 6
"""So many steps are listed; of more it is said how they come about."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """--operand A|B --tile RxK --dtype T [--engine E] [--major M | --blas XY] [--mode W] ..."""
    parser.add_argument(
        "--engine", type=str.lower, default="wgmma", help="what reads the tile: wgmma or tcgen05 (wgmma)"
    )
    parser.add_argument("--operand", required=True, metavar="A|B", help="A, [M, K], or B, [N, K]")
    parser.add_argument("--tile", required=True, metavar="RxK", help="rows and K of the tile, such as 128x64")
    parser.add_argument("--dtype", required=True, help="the type of an element, such as bf16")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--major", choices=("k", "mn"), help="the contiguous direction (k)")
    way.add_argument("--blas", metavar="XY", help="BLAS letters, N or T of A and of B, such as TN")
    parser.add_argument(
        "--mode", metavar="MODE", help="none, 32B, 64B, 128B, of tcgen05 128B_ATOM_32B (the widest that fits)"
    )
    parser.add_argument("--stages", type=int, default=1, metavar="N", help="tiles in flight (1)")
    parser.add_argument("--code", choices=("cuda", "cute"), help="the source text alone")
    only = parser.add_argument_group("tcgen05")
    of_tcgen05(only)
    only.add_argument("--n", metavar="N", help="N of the product (the largest that feeds the tile)")
    only.add_argument("--k", metavar="K", help="K of the product, where the kind has several: 64 or 96")
    only.add_argument("--sparse", action="store_true", default=None, help="A is sparse")


def answer(args: argparse.Namespace) -> Answer:
    """The suggestion; no where the hardware has no such tile."""
    from tilewise.check.suggest import suggest

    rows, k = _tile(args.tile)
    try:
        found = suggest(
            engine=args.engine,
            operand=args.operand.upper(),
            rows=rows,
            k=k,
            dtype=args.dtype,
            major=args.major,
            blas=args.blas,
            mode=args.mode,
            stages=args.stages,
            **{"depth" if name == "k" else name: value for name, value in _asked(args).items()},
        )
    except Refused as no:
        hint = in_a_shell(no.hint)
        data = {"mode": None, "code": no.code, "reason": no.reason}
        data |= {"witness": witness_data(no.witness), "hint": hint}
        return Answer(data, f"no: {no.reason}" + (f"\n  hint: {hint}" if hint else ""), NO)
    return _answered(found, args)


def _asked(args: argparse.Namespace) -> dict[str, Any]:
    """What was said of the instruction."""
    n = {} if args.n is None else {"n": number(args.n, "--n", "128")}
    return asked_of_tcgen05(args) | n


def _tile(text: str) -> tuple[int, int]:
    parts = text.lower().replace("×", "x").replace(",", "x").split("x")
    try:
        rows, k = (int(part, 0) for part in parts)
    except ValueError:
        raise LayoutError(
            "TW401", f"--tile {text} is not rows x K", hint="such as 128x64: M x K for A, N x K for B"
        ) from None
    return rows, k


def _answered(found: Suggestion, args: argparse.Namespace) -> Answer:
    from tilewise.emit.suggested import cuda_of, cute_of

    code = {"cuda": cuda_of(found), "cute": cute_of(found)}
    data = _data(found) | {name: value for name, value in _asked(args).items() if name not in "mnk"}
    data |= {"code": code}
    if args.code is None:
        return Answer(data, _text(found, args), YES)
    if code[args.code] is None:
        reason = f"CuTe has no {found.engine} on {found.intake.name}"
        if found.intake.absolute:
            reason = "steps of 48 bytes are no sum of digits: tilewise descriptor steps lists them"
        return Answer(data | {"reason": reason}, f"no: {reason}", NO)
    return Answer(data, code[args.code] or "", YES)


def _data(found: Suggestion) -> dict[str, Any]:
    from tilewise.check.suggest import global_words

    dims, strides = global_words(found)
    arguments = found.plan.tensor_map.arguments
    descriptor = found.descriptor
    return {
        "engine": found.engine,
        "operand": found.operand,
        "dtype": found.intake.name,
        **({"product": found.intake.product} if found.intake.product else {}),
        "shape": [found.rows, found.k],
        "major": found.major,
        "trans": found.trans,
        **found.intake.fixed,
        "mode": found.mode.name,
        "why": [
            {"mode": choice.mode.name, "fits": choice.fits, "why": choice.why} for choice in found.choices
        ],
        "atom": {"shape": list(map(_extent, found.atom.shape)), "layout": str(found.atom)},
        "tile": str(found.tile.coalesce(by_mode=True)),
        "order": {"first": found.order, "why": found.why_order},
        "tma": {
            "boxes": found.plan.count,
            "globalDim": dims,
            "globalStrides": strides,
            **{name: value for name, value in arguments.items() if not name.startswith("global")},
            "bytes": found.plan.bytes,
        },
        "lbo": None if "lbo" in found.ignored or found.intake.absolute else descriptor.lbo,
        "sbo": None if "sbo" in found.ignored else descriptor.sbo,
        "ignored": [name for name in found.ignored if name != "lbo" or not found.intake.absolute],
        "value": f"{found.value:#018x}",
        "instruction": dict(zip("mnk", found.instruction, strict=True)),
        "steps": [
            {"mn": step.mn, "k": step.k, "bytes": step.bytes, "encoded": step.encoded} for step in found.steps
        ],
        "alignment": found.alignment,
        "banks": [
            {
                "access": cost.access.name,
                **({"view": view} if view else {}),
                "wavefronts": cost.wavefronts,
                "ideal": cost.ideal,
                "ways": cost.ways,
            }
            for view, cost in _banks(found)
        ],
        "bytes": found.bytes,
        "stages": {
            "count": found.stages.count, "stride": found.stages.stride, "bytes": found.stages.bytes,
        },
        "notes": list(found.notes),
        "confirmed": list(found.confirmed),
    }  # fmt: skip


def _banks(found: Suggestion) -> Iterator[tuple[str, Conflicts]]:
    """What it costs threads to write the tile and to read it, and of which view, where its layout lets them.

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


def _bank_words(found: Suggestion) -> Iterator[str]:
    for view, cost in _banks(found):
        yield f"of {view}, {cost}" if view else str(cost)


def _extent(mode: Any) -> int:
    from tilewise.core.shapes import size_of

    return size_of((mode,))


# -- for people ------------------------------------------------------------------------------------


def _text(found: Suggestion, args: argparse.Namespace) -> str:
    m, n, k = found.instruction
    rows = [
        ("mode", f"{found.mode}: {found.choices[-1].why}"),
        *(("", _passed_over(choice)) for choice in found.choices[:-1]),
        ("atom", f"{found.atom}"),
        ("tile", f"{found.tile.coalesce(by_mode=True)}"),
        *zip(("order", ""), found.why_order.split("; "), strict=False),
        ("TMA", _tma_words(found)),
        ("descriptor", _descriptor_words(found)),
        (found.engine, f"{_instruction(m, n, k)}{_way_of(found)}, {_steps_words(found)}"),
        *_step_rows(found),
        ("shared", _shared_words(found)),
        *zip(("banks", ""), _bank_words(found), strict=False),
        *(("note", note) for note in found.notes),
        ("confirmed", ", ".join(found.confirmed)),
    ]
    major = "K-major" if found.major == "k" else f"{'M' if found.operand == 'A' else 'N'}-major"
    blas = f" ({args.blas.upper()} in BLAS)" if args.blas else ""
    trans = "imm-trans" if found.engine == "wgmma" else "transpose"
    name = found.intake.name
    head = f"{found.operand} [{found.rows}, {found.k}] {name}, {major}{blas}, {trans} {found.trans}"
    engine = "" if found.engine == "wgmma" else f"--engine {found.engine} "
    asked = f"{engine}--operand {found.operand} --tile {args.tile} --dtype {name}"
    foot = f"  the code: tilewise suggest {asked}{_way(args)} --code cuda, or cute"
    lines = [head, *(f"  {name:<10}  {words}" for name, words in rows)]
    return "\n".join([*lines, *([] if found.intake.absolute else [foot])])


def _passed_over(choice: Choice) -> str:
    """Why a mode was not taken; one that fits was not asked for."""
    return (
        f"{choice.mode}, wider, would fit: {choice.why}"
        if choice.fits
        else f"not {choice.mode}: {choice.why}"
    )


def _instruction(m: int | None, n: int | None, k: int) -> str:
    return f"m{m or 'M'}n{n or 'N'}k{k}"


def _way_of(found: Suggestion) -> str:
    """What else there is to say of the instruction."""
    _, n, _ = found.instruction
    if found.engine == "wgmma":
        return "" if n else " with N up to 256"
    return f" of {found.intake.product.partition(' of ')[2]}"


def _way(args: argparse.Namespace) -> str:
    named = ("major", "blas", "mode", "kind", "m", "n", "k", "cta_group", "lbo_mode", "atomicity")
    parts = [f" --{name.replace('_', '-')} {getattr(args, name)}" for name in named if getattr(args, name)]
    parts += [f" --{name}" for name in ("sparse", "ws") if getattr(args, name)]
    return "".join(parts) + (f" --stages {args.stages}" if args.stages > 1 else "")


def _tma_words(found: Suggestion) -> str:
    from tilewise.check.suggest import global_words

    dims, strides = (", ".join(words) for words in global_words(found))
    arguments = found.plan.tensor_map.arguments
    box = ", ".join(map(str, arguments["boxDim"]))
    boxes = "1 box" if found.plan.count == 1 else f"{found.plan.count} boxes"
    kind = arguments["tensorDataType"].removeprefix("CU_TENSOR_MAP_DATA_TYPE_")
    return (
        f"{boxes} of {{{box}}} {kind}, dims {{{dims}}}, strides {{{strides}}} bytes, "
        f"{found.plan.bytes} on the mbarrier"
    )


def _descriptor_words(found: Suggestion) -> str:
    fields = [
        f"{name} {getattr(found.descriptor, name)}" + (" (not read)" if name in found.ignored else "")
        for name in ("lbo", "sbo")
    ]
    if found.intake.absolute:
        fields[0] = "lbo each step's own address"
    return f"{found.value:#018x}, {', '.join(fields)} bytes; + address / 16"


def _steps_words(found: Suggestion) -> str:
    along = 1 + max(step.k for step in found.steps)
    down = 1 + max(step.mn for step in found.steps)
    times = f"{along} along K" + (f" x {down} down the rows" if down > 1 else "")
    return f"{len(found.steps)} a tile: {times}"


def _step_rows(found: Suggestion) -> list[tuple[str, str]]:
    ways = {
        "K steps": ([step for step in found.steps if step.mn == 0], found.feeding.along_k),
        "row steps": ([step for step in found.steps if step.k == 0], found.feeding.along_mn),
    }
    rows = [(name, _deltas(*steps)) for name, steps in ways.items() if len(steps[0]) > 1]
    if found.intake.absolute:
        rows.append(("lbo", f"{_listed([step.descriptor.lbo for step in ways['K steps'][0]])} bytes"))
    return rows


def _deltas(steps: list[Step], digits: Digits) -> str:
    if len(steps) > LISTED and digits:
        from tilewise.hardware.modes import CHUNK

        turns = [f"{count} of {far} bytes (encoded {far // CHUNK})" for count, far in digits if count > 1]
        return ", then ".join(reversed(turns))
    in_bytes, encoded = (_listed([getattr(step, name) for step in steps]) for name in ("bytes", "encoded"))
    return f"+ {in_bytes} bytes, encoded + {encoded}"


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def _shared_words(found: Suggestion) -> str:
    words = f"{found.bytes} bytes, aligned to {found.alignment}"
    stages = found.stages
    if stages.count > 1:
        words += f"; {stages.count} stages {stages.stride} apart, {stages.bytes} in all"
    return words
