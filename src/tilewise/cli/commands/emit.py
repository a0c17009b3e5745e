"""A kernel as source, every address out of a layout: around the tensor cores, or one that moves a tensor.

  tilewise emit wgmma --tile 128x128x64 --dtype bf16
  tilewise emit wgmma --tile 128x256x64 --dtype bf16 --stages 4 --host
  tilewise emit wgmma --tile 64x64x64 --dtype f16 --major-a mn --major-b mn --load copy
  tilewise emit wgmma --tile 64x96x128 --dtype-a e4m3 --dtype-b e5m2 --mode-b 64B --a reg
  tilewise emit wgmma --tile 64x128x64 --dtype bf16 --style constants
  tilewise emit mma --tile 128x128x32 --dtype bf16 --stages 3
  tilewise emit mma --tile 64x64x32 --dtype f16 --layout-a 'S[(64, 32) : (40, 1)]' --warps 2x2
  tilewise emit mma --tile 64x64x32 --dtype f16 --out f16 --store stmatrix --arch sm_90
  tilewise emit move 'S[8192, 4096]' 'S[(8192, 4096) : (1, 8192)]' --dtype bf16 --host
  tilewise emit move --help

D [M, N] = A [M, K] B [N, K]^T, row-major D. A block of threads has the tile of D, and goes along K tile by
tile; M, N and K of the problem are multiples of the tile's, and K of the tile of the instruction's. The
kernel is CUDA C++ with plain PTX and includes nothing; with --host a function that launches it follows, for
nvcc.

wgmma: M of the tile is a multiple of 64, N one that wgmma has for the type. A mode that is not asked for is
the widest that fits; --layout-a and --layout-b take any layout that wgmma reads instead.

mma: warps share the tile as a grid, each with whole instructions of --shape. The tiles of A and B lie in any
layout of shared memory from which a warp can fill its registers; those that are not asked for have no bank
conflicts. How they are read is what `tilewise match --engine mma` says.

move: the kernel that `tilewise plan` plans, from layout SRC to layout DST. It has options of its own.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace

from tilewise.cli.answer import Answer, fields, misused, refuse_given, refused
from tilewise.cli.arguments import Parser, add_options, note_doubts, sizes_from, text_from
from tilewise.core.errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tilewise.cli.arguments import Told
    from tilewise.core.layout import Layout
    from tilewise.emit import mma
    from tilewise.emit.wgmma import Operand, Plan
    from tilewise.moves import Exchange

MOVE = "move"
ENGINES = ("wgmma", "mma", MOVE)
STYLES = ("kernel", "constants", "cute")
ONLY = {
    "wgmma": ("mode_a", "mode_b", "order_a", "order_b", "a_from"),
    "mma": ("shape", "warps", "out", "store", "layout_d", "form", "op", "arch"),
}
"""What one engine alone is asked, of those that multiply."""
HOPPERS = 90
HOPPER = "sm_90a has wgmma besides, which is faster there: tilewise emit wgmma"
_OF_MOVES = """\
A kernel that moves a tensor from layout SRC to layout DST, as source.

  tilewise emit move 'S[8192, 4096]' 'S[(8192, 4096) : (1, 8192)]' --dtype bf16
  tilewise emit move 'S[300, 5]' 'S[(384, 8) : (8, 1)]' --dtype u8 --shape 300,5 --fill 0x7f --host
  tilewise emit move 'transpose(1021, 1031)' --dtype u8 --name turn
  tilewise emit move 'wgmma.D(f32, n=32)' 'S[(64, 32) : (1@reg, 1@tx)]' --dtype f16 --arch sm_80

The kernel is the one that tilewise plan SRC DST plans, whose help says how both are written. It is CUDA C++
and includes nothing; above it stands what it does, and with how many blocks and threads it is launched. With
--host a function follows that fills the target where it has to be, and launches the kernel, for nvcc. With
--checked every access is tested, and the first that is not of its storage is kept for the host.

Between registers it is a device function, which all threads of a warp, a warpgroup or a block call together.
"""


def arguments(parser: Parser) -> None:
    """ENGINE --tile MxNxK --dtype T [--acc T] [--major-a ...] [--layout-a ...], or move SRC DST."""
    if list(parser.words)[:1] == [MOVE]:
        _arguments_of_moves(parser)
        return
    parser.add_argument("engine", choices=ENGINES, metavar="ENGINE", help="wgmma, mma, or move")
    parser.add_argument("--tile", required=True, metavar="MxNxK", help="the tile of a block of threads")
    layout = "any layout of {}'s tile that the engine reads, instead of what is usual"
    load = "tiles are loaded by tma or copy (tma); of mma cp.async or copy (cp.async)"
    stages = "tiles in flight along K, not by copy (1; of mma 3, or as many as there is room for)"
    add_options(
        parser,
        {
            "--dtype": ("T", "the type of A and B, such as bf16"),
            "--dtype-a": ("T", "the type of A, where B has another"),
            "--dtype-b": ("T", "the type of B"),
            "--acc": ("T", "the type of D: f32 (where the types have it), f16, s32"),
        },
        "types",
    )
    add_options(
        parser,
        {
            **_of_sides("--major", "M", "how {} lies in global memory: k, contiguous along K, or mn (k)"),
            **_of_sides("--layout", "LAYOUT", layout),
            "--load": ("WAY", load),
            "--stages": {"type": int, "metavar": "S", "help": stages},
        },
        "where the operands lie",
    )
    add_options(
        parser,
        {
            **_of_sides("--mode", "MODE", "the swizzle of {}'s tile: none, 32B, 64B, 128B"),
            **_of_sides("--order", "ORDER", "which way its atoms follow one another first: mn or k (mn)"),
            "--a": {"dest": "a_from", "metavar": "PLACE", "help": "A is read from smem or reg (smem)"},
        },
        "wgmma",
    )
    add_options(
        parser,
        {
            "--shape": ("S", "the instruction, such as m16n8k16 (the largest)"),
            "--warps": ("RxC", "warps down M and along N (four or more, that hold D)"),
            "--out": ("T", "the type of D in memory, where it is rounded: f16, bf16"),
            "--store": ("WAY", "D leaves direct, shared or by stmatrix (direct)"),
            "--layout-d": ("LAYOUT", "of D's tile in shared memory, on its way out"),
            "--form": ("F", "A and B by nothing but matrices, vectors, x4, ... (any)"),
            "--op": ("OP", "of single bits: and.popc or xor.popc (and.popc)"),
            "--arch": ("A", "the architecture, such as sm_80 (the first that can)"),
        },
        "mma",
    )
    style = "a kernel; of wgmma bare constants, or CuTe (kernel)"
    add_options(
        parser,
        {
            "--style": {"choices": STYLES, "default": "kernel", "help": style},
            "--host": "the host's part as well",
            "--name": {"metavar": "F", "default": "", "help": "the name of the kernel"},
        },
        "the text",
    )


def _of_sides(option: str, metavar: str, about: str) -> dict[str, Told]:
    """Return an option of A and one of B, with their names in the help."""
    return {f"{option}-{side.lower()}": (metavar, about.format(side)) for side in "AB"}


def _arguments_of_moves(parser: Parser) -> None:
    from tilewise.cli.moving import pair_arguments

    parser.subject = lambda words: MOVE
    parser.description = _OF_MOVES
    parser.usage = "tilewise emit move SRC DST --dtype T [options]"
    parser.add_argument("engine", choices=ENGINES, metavar=MOVE, help=argparse.SUPPRESS)
    pair_arguments(parser)
    name = "its name (move_ and the type; between registers exchange)"
    add_options(
        parser,
        {
            "--host": "the host's part as well",
            "--checked": "a kernel that tests every access",
            "--name": {"metavar": "F", "default": "", "help": name},
        },
        "the text",
    )


def answer(args: argparse.Namespace) -> Answer:
    """The source and its facts; no where the engine, the tile or the style does not allow it."""
    if args.engine == MOVE:
        return _of_a_move(args)
    if args.host and args.style != "kernel":
        raise misused(f"--host launches a kernel, and --style is {args.style}")
    _check_asked(args)
    try:
        data, code, note = _of_mma(args) if args.engine == "mma" else _of_wgmma(args)
    except Refused as no:
        return refused(no, {"code": None}, instead=True)
    return Answer({"engine": args.engine, "style": args.style, **data, "code": code}, code).noted(note)


def _check_asked(args: argparse.Namespace) -> None:
    """Refuse what another engine alone is asked."""
    for engine, names in ONLY.items():
        asked = next((name for name in names if engine != args.engine and getattr(args, name)), None)
        if asked is not None:
            flag = "--a" if asked == "a_from" else f"--{asked.replace('_', '-')}"
            raise misused(f"{flag} is for {engine}", f"tilewise emit {engine} has it")
    if args.engine != "wgmma" and args.style != "kernel":
        raise misused(f"--style {args.style} is for wgmma", "mma has kernels")


def _of_a_move(args: argparse.Namespace) -> Answer:
    from tilewise.cli.moving import no_move, planned

    if not hasattr(args, "source"):
        raise misused("move is the first word", "tilewise emit move SRC DST --dtype T")
    plan = planned(args)
    if isinstance(plan, Answer):
        return replace(plan, instead=True)
    from tilewise.moves import Plan

    if not isinstance(plan, Plan):
        return _between_registers(plan, args)
    plan = replace(plan, checked=plan.checked or args.checked)
    from tilewise.moves.source import host_source, kernel_source, name_of

    try:
        code = (host_source if args.host else kernel_source)(plan, args.name).rstrip("\n")
    except Refused as no:
        return replace(no_move(no, plan.kind), instead=True)
    data = {"engine": MOVE, "style": "kernel", "name": name_of(plan, args.name)}
    return Answer(data | plan.data() | {"code": code}, code)


def _between_registers(plan: Exchange, args: argparse.Namespace) -> Answer:
    why = "is of kernels: between registers it is a device function, which no host launches"
    refuse_given(args, ("host", "checked"), why, "leave out --{}")
    name = args.name or "exchange"
    code = plan.code(name)
    data = {"engine": MOVE, "style": "device function", "name": name}
    return Answer(data | plan.data() | {"code": code}, code)


def _asked(args: argparse.Namespace) -> dict[str, Any]:
    """Return what both engines are asked, as their plans take it."""
    a, b = args.dtype_a or args.dtype, args.dtype_b or args.dtype
    if not (a and b):
        raise misused(
            "the types of A and B are not given", "such as --dtype bf16, or --dtype-a and --dtype-b"
        )
    return {
        "dtype_a": a,
        "dtype_b": b,
        "accumulator": args.acc,
        "majors": (args.major_a, args.major_b),
        "layouts": (_layout(args.layout_a, args, a), _layout(args.layout_b, args, b)),
        "name": args.name,
    }


def _of_wgmma(args: argparse.Namespace) -> tuple[dict[str, Any], str, str]:
    from tilewise.emit.wgmma import kernel_source, planned
    from tilewise.emit.wgmma.kernel import host_source
    from tilewise.emit.wgmma.styles import constants_source, cute_source

    plan = planned(
        sizes_from("--tile", args.tile, "MxNxK", "--tile 128x128x64"),
        **_asked(args),
        modes=(args.mode_a, args.mode_b),
        orders=(args.order_a, args.order_b),
        load=args.load or "tma",
        a_from=args.a_from or "smem",
        stages=1 if args.stages is None else args.stages,
    )
    kernel = host_source if args.host else kernel_source
    sources = {"kernel": kernel, "constants": constants_source, "cute": cute_source}
    return _data(plan), sources[args.style](plan), ""


def _of_mma(args: argparse.Namespace) -> tuple[dict[str, Any], str, str]:
    """The facts, the source, and what a reader should know of it."""
    from tilewise.emit.mma import kernel_source, planned
    from tilewise.emit.mma.kernel import host_source

    plan = planned(
        sizes_from("--tile", args.tile, "MxNxK", "--tile 128x128x64"),
        **_asked(args),
        **fields(args, "shape", "out", "load", "stages", "form", "op", "arch"),
        warps=None if args.warps is None else sizes_from("--warps", args.warps, "RxC", "--warps 2x2"),
        store=args.store or "direct",
        layout_d=_layout(args.layout_d, args, args.out),
    )
    beside = [HOPPER] if plan.asked and plan.arch.number == HOPPERS else []
    note = "; ".join([*plan.notes, *beside, *_conflicts(plan)])
    return _mma_data(plan), (host_source if args.host else kernel_source)(plan), note


def _conflicts(plan: mma.Plan) -> Iterator[str]:
    """The operands whose loads have bank conflicts, and D, where it is stored through shared memory."""
    from tilewise.check.feeding.banks import wavefronts_of

    for own in plan.tiles:
        found = wavefronts_of(own.fill)
        if found.ways > 1:
            verb = "stores" if own.name == "D" else "loads"
            yield f"a warp {verb} {own.name} in {found}; tilewise swizzle looks for a layout with fewer"


def _layout(text: str | None, args: argparse.Namespace, dtype: str | None) -> Layout | None:
    from tilewise.hardware.calls import parse

    if text is None:
        return None
    text = text_from(text)
    layout = parse(text)
    note_doubts(text, layout, args, dtype=dtype)
    return layout


# -- the facts as JSON ------------------------------------------------------------------------------


def _data(plan: Plan) -> dict[str, Any]:
    return {
        "name": plan.called,
        "tile": [plan.m, plan.n, plan.k],
        **fields(plan, "instruction", "threads", "shared_bytes", "stages"),
        "A": _operand(plan, plan.a),
        "B": _operand(plan, plan.b),
        "D": {"dtype": str(plan.accumulator), "layout": str(plan.fragment)},
    }


def _operand(plan: Plan, own: Operand) -> dict[str, Any]:
    data: dict[str, Any] = {"dtype": own.input.name, "major": own.major, "load": own.load}
    if own.in_registers:
        return data | {"layout": str(own.tile)}
    descriptor = own.descriptor
    data |= {
        "mode": own.mode.name,
        "order": own.order,
        "layout": str(own.tile),
        "offset": plan.offsets[own.name],
        "descriptor": {"value": f"{descriptor.value:#018x}", **fields(descriptor, "lbo", "sbo")},
        "steps": {"k": list(own.along_k), "mn": list(own.along_rows), "unit": 16},
    }
    if own.load == "tma":
        from tilewise.emit.wgmma.boxes import Symbolic

        made = Symbolic(own)
        words = made.map.arguments
        data["tensor_map"] = {
            "tensorDataType": words["tensorDataType"],
            "globalDim": list(made.sizes),
            "globalStrides": list(made.strides),
            "boxDim": list(made.box),
            "swizzle": words["swizzle"],
        }
    return data


def _mma_data(plan: mma.Plan) -> dict[str, Any]:
    from tilewise.check.feeding.banks import wavefronts_of

    d: dict[str, Any] = {"dtype": str(plan.out), "fragment": str(plan.fragment), "store": "direct"}
    if plan.result is not None:
        moves = plan.moves(plan.result)
        d |= {"store": str(moves.form), "layout": str(plan.result.tile)}
        d |= {"banks": asdict(wavefronts_of(moves.fill)), "addresses": str(moves.place)}
    return {
        "name": plan.called,
        "instruction": str(plan.instruction),
        "arch": str(plan.arch),
        "tile": [plan.m, plan.n, plan.k],
        "warps": list(plan.warps),
        **fields(plan, "threads", "shared_bytes", "stages", "load"),
        "A": _mma_operand(plan, plan.a),
        "B": _mma_operand(plan, plan.b),
        "D": d,
    }


def _mma_operand(plan: mma.Plan, own: mma.Operand) -> dict[str, Any]:
    """An operand; its addresses are bytes of its tile, and their modes what `arguments` says."""
    from tilewise.check.feeding.banks import wavefronts_of

    moves = plan.moves(own)
    return {
        "dtype": str(own.dtype),
        "major": own.major,
        "layout": str(own.tile),
        "offset": plan.offsets[own.name],
        "fragment": str(own.fragment),
        "copied_bytes": own.width,
        "form": str(moves.form),
        "banks": asdict(wavefronts_of(moves.fill)),
        "addresses": str(moves.place),
        "arguments": list(moves.extents),
    }
